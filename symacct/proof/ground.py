"""Witnesses by the shift, with hypotheses: bounds that they give, and products of what they say.

A hypothesis such as ``q >= 3`` about one variable moves the point from which it is counted; others are taken
times the monomials that cancel a coefficient of the wrong sign. What is left must have no such coefficient.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from symacct import kernel
from symacct.algebra.feasible import weights
from symacct.proof.prefix import Prefix, number

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from symacct.kernel import Monomial, Poly, Ratio
    from symacct.proof.witness import Finder

Shifted = dict["Monomial", Fraction]
MOST_COLUMNS, ROUNDS, MOST_TERMS = 70, 3, 400
STRICT = Fraction(1, 1000)


@dataclass(frozen=True, slots=True)
class Known:
    """What is at least 0: the atom that it bounds, if that is a max or min, the factor, and the polynomial.

    The polynomial is the fact times its divisor `scale`, which is positive.
    """

    atom: str
    factor: dict[str, Any]
    poly: Shifted
    scale: Poly

    def multipliers(self, wrong: list[Monomial], target: Shifted) -> Iterator[Monomial]:
        """Yield what the fact is taken times: a max or min stands with its atom in the target."""
        if not self.atom:
            yield from _quotients(wrong, [m for m, c in sorted(self.poly.items()) if c < 0])
            return
        top = self.top
        sign = self.poly[top]
        wanted = [m for m, c in sorted(target.items()) if c * sign > 0 and self.atom in dict(m)]
        yield from _quotients(wanted, [top])

    @property
    def top(self) -> Monomial:
        """Return the largest term in which the max or min stands."""
        return max((m for m in self.poly if self.atom in dict(m)), key=lambda m: (sum(e for _, e in m), m))


@dataclass(frozen=True, slots=True)
class Column:
    """A fact times a monomial, as a column of the linear program; `top` is where a max stands in it."""

    factor: dict[str, Any]
    monomial: Monomial
    poly: Shifted
    scale: Poly
    top: Monomial


class Ground:
    """The box of a statement seen from the largest bounds that its hypotheses give."""

    def __init__(self, finder: Finder, *, shifted: bool) -> None:
        """Read the bounds off the hypotheses; what has none is counted from its least value, or from 0.

        Counted from 0 the tables stay short, and what has no negative coefficient is at least 0 as well.
        """
        self.finder, self.box, self.shifted = finder, finder.box, shifted
        self.tight: dict[str, tuple[Fraction, str, Fraction]] = {}
        for name, given in sorted(self.box.facts.items()):
            self._raise(name, given)
        used = {name for _, name, _ in self.tight.values()}
        rest = [name for name in sorted(self.box.facts) if name not in used]
        self.given = self._moved_all([({"hypothesis": name}, self.box.facts[name]) for name in rest])
        self.atoms: dict[str, tuple[Known, ...]] = {}

    def _raise(self, name: str, given: Ratio) -> None:
        """Note ``c*g >= d`` as a bound of g."""
        terms = {m: c for m, c in given[0].items() if m}
        if len(terms) != 1 or given[1] != kernel.ONE:
            return
        ((monomial, slope),) = terms.items()
        if len(monomial) == 1 and monomial[0][1] == 1 and slope > 0:
            generator, least = monomial[0][0], -given[0].get((), Fraction(0)) / slope
            known = self.box.lower.get(generator)
            if known is None or least > known:
                self.tight[generator] = (least, name, slope)

    def start(self, generator: str) -> Fraction | None:
        """Return the largest known bound of a generator."""
        if generator in self.tight:
            return self.tight[generator][0]
        low = self.box.lower.get(generator)
        return None if low is None else Fraction(low if self.shifted else 0)

    def moved(self, poly: Poly) -> Shifted | None:
        """Return a polynomial in the generators counted from their bounds; None where one has no bound."""
        result: Shifted = {}
        for monomial, c in poly.items():
            piece: Shifted = {(): c}
            for generator, power in self.finder.rooted(monomial):
                start = self.start(generator)
                if start is None:
                    return None
                for _ in range(power):
                    piece = _times(piece, generator, start)
            kernel.put(result, piece)
            if len(result) > MOST_TERMS:
                return None
        return result

    def find(self, value: Ratio, *, strict: bool = False) -> dict[str, Any] | None:
        """Return a witness that a fraction is at least 0 (more than 0), or None."""
        target = self.moved(value[0])
        if target is None:
            return None
        if all(c > 0 for c in target.values()):
            return None if strict and () not in target else self.witness(value[1], [], target)
        columns = self.columns(value, target)
        for one in columns:
            weight = target.get(one.top, Fraction(0)) / one.poly[one.top] if one.top else Fraction(0)
            left: Shifted = {}
            if weight > 0:
                left = kernel.put(dict(target), {m: c * weight for m, c in one.poly.items()}, -1)
            if left and all(c > 0 for c in left.values()) and (not strict or () in left):
                return self.witness(value[1], [(weight, one)], left)
        right: dict[object, Fraction] = {m: -c for m, c in target.items()}
        if strict:
            right[()] = right.get((), Fraction(0)) + STRICT
        found = weights([{m: -c for m, c in one.poly.items()} for one in columns], right) if columns else None
        if found is None:
            return None
        chosen = [(w, one) for w, one in zip(found, columns, strict=True) if w]
        for w, one in chosen:
            kernel.put(target, {m: c * w for m, c in one.poly.items()}, -1)
        return self.witness(value[1], chosen, target)

    # ---- what may be subtracted ----

    def columns(self, value: Ratio, target: Shifted) -> list[Column]:
        """Return facts times the monomials that cancel a negative coefficient, or what that leaves."""
        facts = list(self._known(value))
        wrong = [m for m, c in sorted(target.items()) if c < 0]
        found: dict[tuple[int, Monomial], Column] = {}
        for _ in range(ROUNDS):
            fresh: list[Monomial] = []
            for at, one in enumerate(facts):
                for monomial in one.multipliers(wrong, target):
                    if (at, monomial) in found or len(found) >= MOST_COLUMNS:
                        continue
                    poly = {kernel.join(m, monomial): c for m, c in one.poly.items()}
                    top = kernel.join(monomial, one.top) if one.atom else ()
                    found[at, monomial] = Column(one.factor, monomial, poly, one.scale, top)
                    fresh += [m for m, c in poly.items() if c > 0 and target.get(m, 0) <= 0]
            wrong = sorted(set(fresh))
        return list(found.values())

    def _known(self, value: Ratio) -> Iterator[Known]:
        yield from self.given
        for word in self.finder.atoms_of(value):
            yield from self._of_atom(word)

    def _of_atom(self, word: Prefix) -> tuple[Known, ...]:
        """Return what holds of a rounding, or of the largest or least of several; worked out once."""
        if str(word) not in self.atoms:
            extreme = word[0] in {"min", "max"}
            generator = max(g for m in self.box.read(word)[0] for g, _ in m if "[" in g)
            sides = range(len(word) - 1 if extreme else 2)
            facts = [
                ({"atom": word, "side": str(side)}, self.finder.fact({"atom": word, "side": str(side)})[0])
                for side in sides
            ]
            self.atoms[str(word)] = self._moved_all(facts, generator if extreme else "")
        return self.atoms[str(word)]

    def _moved_all(self, facts: list[tuple[dict[str, Any], Ratio]], atom: str = "") -> tuple[Known, ...]:
        found = ((factor, self.moved(worth[0]), worth[1]) for factor, worth in facts)
        return tuple(Known(atom, factor, poly, scale) for factor, poly, scale in found if poly is not None)

    # ---- writing it down ----

    def witness(self, below: Poly, chosen: list[tuple[Fraction, Column]], rest: Shifted) -> dict[str, Any]:
        """Return the witness: weighted facts, and what is left in powers of what a hypothesis bounds."""
        terms = []
        for weight, one in chosen:
            plain, factors, slope = self.split(one.monomial)
            times = product([number(weight * slope), *self.words(plain), self.finder.written(one.scale)])
            terms.append({"times": times, "factors": [one.factor, *factors]})
        groups: dict[str, tuple[list[dict[str, Any]], list[Prefix]]] = {}
        for monomial, c in sorted(rest.items()):
            plain, factors, slope = self.split(monomial)
            if factors:
                group = groups.setdefault(str(factors), (factors, []))
                group[1].append(product([number(c * slope), *self.words(plain)]))
        for factors, parts in groups.values():
            times = parts[0] if len(parts) == 1 else ["+", *parts]
            terms.append({"times": times, "factors": factors})
        return {"kind": "sum", "scale": self.finder.written(below), "terms": terms}

    def split(self, monomial: Monomial) -> tuple[Monomial, list[dict[str, Any]], Fraction]:
        """Return what of a monomial the kernel's shift sees, the factors for the rest, and their scale."""
        plain: list[tuple[str, int]] = []
        factors: list[dict[str, Any]] = []
        slope = Fraction(1)
        for generator, power in monomial:
            if generator in self.tight:
                _, name, steep = self.tight[generator]
                factors += [{"hypothesis": name}] * power
                slope /= steep**power
                continue
            if generator in self.box.roots:
                factors += [{"square": self.word(generator)}] * (power // 2)
                power %= 2  # noqa: PLW2901 (the rest)
            plain += [(generator, power)] if power else []
        return tuple(plain), factors, slope

    def word(self, generator: str) -> Prefix:
        """Return a generator less its bound."""
        word, low = self.finder.words[generator], self.box.lower[generator]
        return ["+", word, str(-low)] if low and self.shifted else word

    def words(self, monomial: Monomial) -> Iterator[Prefix]:
        """Yield the factors of a monomial of counted generators."""
        for generator, power in monomial:
            yield self.word(generator) if power == 1 else ["^", self.word(generator), str(power)]


def product(parts: list[Prefix]) -> Prefix:
    """Return a product in prefix form, without ones.

    >>> product(["1", "2", ["var", "B"]])
    ['*', '2', ['var', 'B']]
    """
    kept = [part for part in parts if part != "1"]
    return kept[0] if len(kept) == 1 else ["*", *kept] if kept else "1"


def _times(poly: Mapping[Monomial, Fraction], generator: str, start: Fraction) -> Shifted:
    """Return a polynomial times ``start + generator``."""
    result: Shifted = {}
    for monomial, c in poly.items():
        kernel.put(result, {kernel.join(monomial, ((generator, 1),)): c})
        if start:
            kernel.put(result, {monomial: c * start})
    return result


def _quotients(above: list[Monomial], below: list[Monomial]) -> Iterator[Monomial]:
    """Yield the monomials by which one of the second list must be multiplied to be one of the first."""
    for monomial in above:
        powers = dict(monomial)
        for divisor in below:
            if all(powers.get(generator, 0) >= power for generator, power in divisor):
                under = dict(divisor)
                left = ((g, p - under.get(g, 0)) for g, p in monomial)
                yield tuple((g, p) for g, p in left if p)
