"""Why a fraction is at least 0 on a box: found here, checked by the kernel.

Tried in order: the shift, the cases of a min or max, and then one linear program over what is known to be at
least 0 (squares, facts of atoms, hypotheses, bounds), each times a monomial.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

from symacct import kernel
from symacct.algebra.budget import check_time
from symacct.algebra.feasible import weights
from symacct.kernel.facts import fact
from symacct.proof.apart import apart
from symacct.proof.ground import Ground
from symacct.proof.linear import combined, moved_poly
from symacct.proof.prefix import Prefix, number

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from symacct.kernel import Box, Monomial, Poly, Ratio

SHIFT: dict[str, Any] = {"kind": "shift"}
MOST_TERMS, MOST_SQUARES, MOST_SCALED, DEEPEST, MOST_OPERANDS = 60, 60, 600, 3, 2
FACTS = {"floor": 2, "ceil": 2, "log": 2, "factorial": 7, "binomial": 12}
"""How many facts of an atom are looked at; of a min or max, one for each operand."""
Moved = dict[object, Fraction]
Known = tuple[Prefix, dict[str, Any], Moved | None]
KEPT = ("floor", "ceil", "min", "max", "log")
ATOMS = (*KEPT, "binomial", "factorial")


class Finder:
    """Finds witnesses in one box; `words` are prefix forms of the box's variables."""

    def __init__(
        self,
        box: Box,
        words: dict[str, Prefix],
        hints: Sequence[Prefix] = (),
        points: Sequence[dict[str, float]] = (),
    ) -> None:
        """Keep the box and its words; ``words`` maps a generator of the kernel to what it stands for.

        ``hints`` are expressions whose squares may help; ``points`` are sizes to try what is looked for at.
        """
        self.box, self.words, self.hints, self.points = box, words, hints, points
        self.seen: dict[str, tuple[Ratio, bool]] = {}
        self.grounds = (Ground(self, shifted=False), Ground(self, shifted=True))

    def find(self, value: Ratio, *, strict: bool = False, depth: int = 0) -> dict[str, Any] | None:
        """Return a witness that the kernel accepts, or None."""
        check_time()
        if depth == 0:
            self.box.meter.work = self.box.meter.parts = 0
        if self.box.sure(value, strict=strict):
            return SHIFT
        found = self._direct(value, strict=strict, depth=depth)
        return found or self._whole(value, strict=strict, depth=depth)

    def _whole(self, value: Ratio, *, strict: bool, depth: int) -> dict[str, Any] | None:
        """Find one for an integer by showing that it is more than -1."""
        if strict or depth >= DEEPEST or not value[0] or not self.box.integral(value):
            return None
        if not self._atoms(value, ("floor", "ceil")) and not self.box.strict:
            return None
        above = self.box.plus(value, kernel.constant(1))
        found = self.find(above, strict=True, depth=depth + 1)
        return {"kind": "whole", "witness": found} if found else None

    def _direct(self, value: Ratio, *, strict: bool, depth: int) -> dict[str, Any] | None:
        for ground in self.grounds:
            if found := ground.find(value, strict=strict):
                return found
        if depth == 0 and self._atoms(value, ("min", "max")) and (found := apart(self, value, strict=strict)):
            return found
        if depth < DEEPEST:
            for name in self._atoms(value, ("min", "max")):
                if self._bounds_it(value, name) and (
                    found := self._cases(value, name, strict=strict, depth=depth)
                ):
                    return found
        operands = sum(len(self.words[name]) - 1 for name in self._atoms(value, ("min", "max")))
        if operands > (0 if depth else MOST_OPERANDS):
            return None
        return (
            self._combined(value, strict=strict)
            or self._unrounded(value, strict=strict, depth=depth)
            or (combined(self, value, strict=strict) if depth <= 1 else None)
        )

    def fact(self, factor: dict[str, Any]) -> tuple[Ratio, bool]:
        """Return what the kernel says of a factor, and whether it is more than 0; asked once."""
        key = str(factor)
        if key not in self.seen:
            self.seen[key] = fact(self.box, factor)
        return self.seen[key]

    def atoms_of(self, value: Ratio) -> list[Prefix]:
        """Return what is rounded, or the least or largest of several, in a fraction."""
        return [self.words[name] for name in self._atoms(value, ATOMS)]

    # ---- cases ----

    def _bounds_it(self, value: Ratio, name: str) -> bool:
        """Say whether all operands matter: of a max with a minus, a min with a plus, or a power."""
        sign = 1 if self.words[name][0] == "max" else -1
        return any(c * sign < 0 or power > 1 for m, c in value[0].items() for g, power in m if g == name)

    def _atoms(self, value: Ratio, heads: tuple[str, ...]) -> list[str]:
        found = {g for m in value[0] for g, _ in m if g in self.words and self.words[g][0] in heads}
        return sorted(found)

    def _unrounded(self, value: Ratio, *, strict: bool, depth: int) -> dict[str, Any] | None:
        """Find one with a ceil or floor that stands alone in its terms replaced by what it is at least."""
        for name in self._atoms(value, ("ceil", "floor")) if depth < DEEPEST else ():
            parts = {m: c for m, c in value[0].items() if name in dict(m)}
            if any(dict(m)[name] > 1 for m in parts) or len({c > 0 for c in parts.values()}) > 1:
                continue
            word, above = self.words[name], next(iter(parts.values())) > 0
            inside = self.box.read(word[1])
            if above != (word[0] == "ceil"):
                inside = self.box.plus(inside, kernel.constant(1), 1 if word[0] == "ceil" else -1)
            bare: Poly = {tuple(pair for pair in m if pair[0] != name): abs(c) for m, c in parts.items()}
            rest: Ratio = {m: c for m, c in value[0].items() if m not in parts}, value[1]
            lower = self.box.plus(rest, self.box.product((bare, value[1]), inside), 1 if above else -1)
            found = self.find(lower, strict=strict, depth=depth + 1)
            if found is None or found["kind"] == "cases" or not self.box.sure((bare, kernel.ONE)):
                continue
            scale = found.get("scale", "1")
            times = ["/", ["*", scale, self.written(bare)], self.written(value[1])]
            side = "0" if above == (word[0] == "ceil") else "1"
            term = {"times": times, "factors": [{"atom": word, "side": side}]}
            return {"kind": "sum", "scale": scale, "terms": [*found.get("terms", []), term]}
        return None

    def lowered(self, value: Ratio) -> Iterator[Ratio]:
        """Yield a fraction, and what it is at least: with each operand in the place of one max."""
        yield value
        for name in self._atoms(value, ("max",)):
            for operand in self.words[name][1:]:
                yield self.replaced(value, name, operand)

    def _cases(self, value: Ratio, name: str, *, strict: bool, depth: int) -> dict[str, Any] | None:
        each = []
        if any(g == name for m in value[1] for g, _ in m):
            return None
        for operand in self.words[name][1:]:
            one = self.find(self.replaced(value, name, operand), strict=strict, depth=depth + 1)
            if one is None:
                return None
            each.append(one)
        return {"kind": "cases", "atom": self.words[name], "each": each}

    def replaced(self, value: Ratio, name: str, operand: Prefix) -> Ratio:
        """Return a fraction with an operand in the place of a min or max."""
        part, result = self.box.read(operand), kernel.constant(0)
        for monomial, c in value[0].items():
            term: Ratio = {tuple(pair for pair in monomial if pair[0] != name): c}, value[1]
            for _ in range(dict(monomial).get(name, 0)):
                term = self.box.product(term, part)
            result = self.box.plus(result, term)
        return result

    # ---- one linear program ----

    def _combined(self, value: Ratio, *, strict: bool) -> dict[str, Any] | None:
        """Subtract weighted squares and facts, so that the shift shows what is left."""
        if len(value[0]) > MOST_TERMS:
            return None
        known = [(times, factor, self.moved(worth)) for times, factor, worth in self._known(value)]
        target = self.moved((value[0], kernel.ONE))
        usable = [one for one in known if one[2] is not None]
        if target is None or not usable:
            return None
        right = {m: -c for m, c in target.items()}
        if strict:
            right[()] = right.get((), Fraction(0)) + Fraction(1, 1000)
        columns = [{m: -c for m, c in (worth or {}).items()} for _, _, worth in usable]
        wide = len(value[0]) * len(usable) < MOST_SCALED
        for scales in ([], self.multipliers(value[0])[1:] if wide else []):
            stretched = [self.moved((self.box.times(m, value[0]), kernel.ONE)) or {} for m in scales]
            if found := weights([*columns, *stretched], right):
                return self._sum(value, found, usable, scales)
        return None

    def _sum(
        self, value: Ratio, found: list[Fraction], usable: list[Known], scales: list[Poly]
    ) -> dict[str, Any]:
        """Return the witness that weights of facts and of scales make."""
        terms = [
            {"times": _times(number(w), times), "factors": [factor]}
            for w, (times, factor, _) in zip(found, usable, strict=False)
            if w
        ]
        scale = dict(kernel.ONE)
        for w, monomial in zip(found[len(usable) :], scales, strict=True):
            kernel.put(scale, dict.fromkeys(monomial, w) if w else {})
        return {"kind": "sum", "scale": self.written(self.box.times(scale, value[1])), "terms": terms}

    def moved(self, value: Ratio) -> Moved | None:
        """Return the coefficients after the shift, or None where a variable has no bound."""
        names = {g for m in value[0] for g, _ in m}
        if not names <= self.box.lower.keys():
            return None
        moved = moved_poly(value[0], {g: self.box.lower[g] for g in names})
        return {monomial: c for monomial, c in moved.items()}  # noqa: C416 (keys of a wider type)

    def _known(self, value: Ratio) -> Iterator[tuple[Prefix, dict[str, Any], Ratio]]:
        """Yield (weight, factor, value of both): what is at least 0 and might help."""
        box = self.box
        bases = [*self._squares(value[0])]
        for times, base in bases[:MOST_SQUARES]:
            square = self.box.product(base, base)
            worth = box.product((times, kernel.ONE), square)
            yield self.written(times), {"square": self.written(base[0])}, worth
        facts: list[tuple[dict[str, Any], Ratio]] = [
            ({"hypothesis": h}, given) for h, given in box.facts.items()
        ]
        for name in self._atoms(value, ATOMS):
            word = self.words[name]
            facts += [({"atom": word, "side": str(side)}, worth) for side, worth in self.sides(word)]
        for factor, given in facts:
            for monomial in self.multipliers(value[0]):
                worth = box.product((monomial, kernel.ONE), given)
                cleared = box.product(worth, (given[1], kernel.ONE))
                if cleared[1] == kernel.ONE:
                    times = box.times(monomial, given[1])
                    yield self.written(times), factor, cleared

    def sides(self, word: Prefix) -> Iterator[tuple[int, Ratio]]:
        """Yield the facts of an atom by their side; of a binomial those that are seen to hold."""
        count = FACTS.get(word[0], len(word) - 1)
        for side in range(count):
            try:
                yield side, self.fact({"atom": word, "side": str(side)})[0]
            except kernel.Refused:
                if word[0] != "binomial":
                    raise

    def multipliers(self, top: Poly) -> list[Poly]:
        """Return the monomials that divide one of a sum, the small ones first."""
        found: dict[Monomial, None] = {(): None}
        for monomial in top:
            for name, _ in monomial:
                for before in [m for m in found if sum(e for _, e in m) < 3]:
                    found.setdefault(kernel.join(before, ((name, 1),)))
        ordered = sorted(found, key=lambda m: (sum(e for _, e in m), m))
        return [{m: Fraction(1)} for m in ordered[:20] if all(g in self.box.lower for g, _ in m)]

    def _squares(self, top: Poly) -> Iterator[tuple[Poly, Ratio]]:
        """Yield (g, u - t*v): g*u^2 and g*v^2 occur with a plus, g*u*v with a minus."""
        rooted = {self.rooted(m): c for m, c in top.items()}
        positive = [(m, c) for m, c in rooted.items() if c > 0]
        for middle, c in rooted.items():
            if c > 0:
                continue
            for at, (first, a) in enumerate(positive):
                for second, b in positive[at + 1 :]:
                    if kernel.join(first, second) == kernel.join(middle, middle):
                        shared = _common(first, second)
                        u, v = (_half(_without(m, shared)) for m in (first, second))
                        for t in {Fraction(1), -c / (2 * a), 2 * b / -c}:
                            yield (
                                {shared: Fraction(1)},
                                (kernel.put({u: Fraction(1)}, {v: t}, -1), kernel.ONE),
                            )

    def rooted(self, monomial: Monomial) -> Monomial:
        """Return a monomial with sizes whose root is in play written as squares of it."""
        roots = {
            m[0][0]: name for name, p in self.box.roots.items() for m in p if len(p) == 1 and len(m) == 1
        }
        result: Monomial = ()
        for name, power in monomial:
            pair = (roots[name], 2 * power) if name in roots else (name, power)
            result = kernel.join(result, (pair,))
        return result

    def written(self, poly: Poly) -> Prefix:
        """Return a polynomial of the kernel in prefix form."""
        return written(self.words, poly)


def written(words: dict[str, Prefix], poly: Poly) -> Prefix:
    """Return a polynomial of the kernel in prefix form."""
    terms = [_times(number(c), _monomial(words, m)) for m, c in sorted(poly.items())]
    return terms[0] if len(terms) == 1 else ["+", *terms] if terms else "0"


def _monomial(words: dict[str, Prefix], monomial: Monomial) -> Prefix:
    powers = [words[g] if e == 1 else ["^", words[g], str(e)] for g, e in monomial]
    return powers[0] if len(powers) == 1 else ["*", *powers] if powers else "1"


class Words(dict[str, Prefix]):
    """What each variable of a box stands for: a name, an atom, what a hypothesis leaves open."""

    def __init__(self, box: Box, left_open: dict[str, Prefix]) -> None:
        """Start with the names; atoms are written when they are asked for."""
        super().__init__({name: ["var", name] for name in box.names} | left_open)
        self.box = box

    def __contains__(self, name: object) -> bool:
        """Say whether a variable is known to the box."""
        return super().__contains__(name) or name in self.box.made

    def get(self, name: str, default: Prefix = None) -> Prefix:
        """Return what a variable stands for, or a default."""
        return self[name] if name in self else default  # noqa: SIM401 (which this is)

    def __missing__(self, name: str) -> Prefix:
        """Write an atom from what it was made of."""
        head, parts = self.box.made[name]
        self[name] = [head, *(self.fraction(part) for part in parts)]
        return self[name]

    def keep(self, expr: Prefix) -> None:
        """Keep the atoms in an expression as they are written there."""
        if not isinstance(expr, list) or expr[0] in {"var", "sum"}:
            return
        for part in expr[1:]:
            self.keep(part)
        if expr[0] in KEPT:
            top, below = self.box.read(expr)
            names = (
                [g for m in top for g, power in m if power == 1]
                if len(top) == 1 and below == kernel.ONE
                else []
            )
            if len(names) == 1 and names[0] in self.box.made and not dict.__contains__(self, names[0]):
                self[names[0]] = expr

    def fraction(self, value: Ratio) -> Prefix:
        """Return a fraction in prefix form."""
        top = written(self, value[0])
        return top if value[1] == kernel.ONE else ["/", top, written(self, value[1])]


def _times(left: Prefix, right: Prefix) -> Prefix:
    if left == "1" or right == "1":
        return right if left == "1" else left
    return ["*", left, *(right[1:] if right[0] == "*" else [right])]


def _common(left: Monomial, right: Monomial) -> Monomial:
    powers = dict(right)
    return tuple((g, min(e, powers[g])) for g, e in left if g in powers)


def _without(monomial: Monomial, part: Monomial) -> Monomial:
    powers = dict(part)
    return tuple((g, e - powers.get(g, 0)) for g, e in monomial if e > powers.get(g, 0))


def _half(monomial: Monomial) -> Monomial:
    return tuple((g, e // 2) for g, e in monomial)
