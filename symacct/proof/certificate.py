"""Certificates from formulas: each builder finds a proof, lets the kernel check it, or returns None."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from sympy import Integer, Max, Min

from symacct import kernel
from symacct.algebra.condition import Condition
from symacct.algebra.evaluate import names_of
from symacct.algebra.leading import degree_in, leading_term
from symacct.algebra.normal import normal
from symacct.errors import RuleError
from symacct.proof.limits import constant_for, rate_for
from symacct.proof.prefix import from_prefix, number, to_prefix
from symacct.proof.sizes import made
from symacct.proof.witness import Finder, words_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from sympy import Expr

    from symacct.kernel import Box

__all__ = [
    "accepted", "certify_asymptotic", "certify_identity", "certify_inequality", "certify_order",
    "certify_refutation", "certify_refuted_limit", "certify_square", "from_prefix", "number", "seal",
    "to_prefix",
]  # fmt: skip

Certificate = dict[str, Any]
Bounds = Mapping[str, int] | int
STARTS = (None, 2, 3, 4, 8, 16, 64, 1024)
MOST_POINTS = 4_000


def seal(certificate: Certificate) -> Certificate:
    """Return the certificate with the digest of its statement, bounds, hypotheses and ledger."""
    return {**certificate, "digest": kernel.digest(certificate)}


def accepted(certificate: Certificate) -> bool:
    """Say whether the kernel accepts a certificate."""
    try:
        kernel.check(certificate)
    except kernel.Refused:
        return False
    return True


def certify_identity(
    lhs: Expr, rhs: Expr, bounds: Bounds = 1, hypotheses: Sequence[Condition] = ()
) -> Certificate | None:
    """Return a certificate that both sides are equal: the same fraction, or each at most the other.

    >>> from symacct.algebra.symbols import symbol
    >>> B, D = symbol("B"), symbol("D")
    >>> certify_identity(B * (D + 1), B * D + B)["proof"]["rule"]
    'identity'
    """
    return _Case(lhs, "=", rhs, bounds, hypotheses).first(_equal)


def certify_inequality(
    lhs: Expr, relation: str, rhs: Expr, bounds: Bounds = 1, hypotheses: Sequence[Condition] = ()
) -> Certificate | None:
    """Return a certificate of ``<=``, ``>=``, ``<`` or ``>`` with a witness found here, or None."""
    return _Case(lhs, relation, rhs, bounds, hypotheses).first(_ordered)


def certify_asymptotic(
    lhs: Expr,
    rhs: Expr,
    growing: Sequence[str],
    bounds: Bounds = 1,
    hypotheses: Sequence[Condition] = (),
) -> Certificate | None:
    """Return a certificate that the ratio of the sides tends to 1, with a constant and a threshold."""
    return _Case(lhs, "~", rhs, bounds, hypotheses, growing).first(_rate)


def certify_order(
    lhs: Expr,
    rhs: Expr,
    growing: Sequence[str],
    *,
    both: bool = False,
    bounds: Bounds = 1,
    hypotheses: Sequence[Condition] = (),
) -> Certificate | None:
    """Return a certificate that lhs is O(rhs), or Theta(rhs) when `both`."""
    return _Case(lhs, "Theta" if both else "O", rhs, bounds, hypotheses, growing).first(_bounded)


def certify_refutation(
    lhs: Expr,
    relation: str,
    rhs: Expr,
    point: Mapping[str, int],
    bounds: Bounds = 1,
    hypotheses: Sequence[Condition] = (),
) -> Certificate | None:
    """Return a certificate that the claim is false at a point, or None where it is true there."""
    case = _Case(lhs, relation, rhs, bounds, hypotheses, refuted=True)
    values = {name: str(point.get(name, low)) for name, low in case.bounds.items()}
    return case.made({"rule": "point", "uses": {}, "point": values})


def certify_refuted_limit(
    lhs: Expr,
    relation: str,
    rhs: Expr,
    growing: Sequence[str],
    bounds: Bounds = 1,
    hypotheses: Sequence[Condition] = (),
) -> Certificate | None:
    """Return a certificate that a limit is false: the ratio tends elsewhere, or has no bound."""
    case = _Case(lhs, relation, rhs, bounds, hypotheses, growing, refuted=True)
    return case.first(lambda one, uses: _elsewhere(one, uses) or _unbounded(one, uses))


def certify_square(
    lhs: Expr, least: Expr, root: Expr, name: str, bounds: Bounds = 1, hypotheses: Sequence[Condition] = ()
) -> Certificate | None:
    """Return a certificate of ``lhs >= least``, where the difference is a square over a size."""
    case = _Case(lhs, ">=", least, bounds, hypotheses)
    found = case.box({}, {})
    if found is None:
        return None
    box, finder = found
    below = box.minus(*(box.read(case.said[side]) for side in ("left", "right")))[1]
    scale = finder.written(below)
    term = {"times": ["/", scale, ["var", name]], "factors": [{"square": to_prefix(root)}]}
    return case.made(
        {"rule": "nonnegative", "uses": {}, "witness": {"kind": "sum", "scale": scale, "terms": [term]}}
    )


class _Case:
    """A statement on the way to a certificate."""

    def __init__(
        self,
        lhs: Expr,
        relation: str,
        rhs: Expr,
        bounds: Bounds,
        hypotheses: Sequence[Condition],
        growing: Sequence[str] = (),
        *,
        refuted: bool = False,
    ) -> None:
        self.sides = normal(lhs), normal(rhs)
        self.relation, self.growing = relation, list(growing)
        self.conditions = [_turned(one) for one in hypotheses]
        used = {name for side in self.sides for name in names_of(side)} | set(growing)
        used |= {name for one in hypotheses for name in one.names}
        given = {} if isinstance(bounds, int) else dict(bounds)
        default = bounds if isinstance(bounds, int) else 1
        self.bounds = {name: given.get(name, default) for name in sorted(used)}
        said: dict[str, Any] = {
            "relation": relation, "left": to_prefix(self.sides[0]), "right": to_prefix(self.sides[1])
        }  # fmt: skip
        said |= {"growing": self.growing} if growing else {}
        self.said = said
        self.statement = {"relation": "refuted", "claim": said} if refuted else said
        self.refuted = refuted

    @property
    def hypotheses(self) -> list[dict[str, Any]]:
        """The hypotheses as the kernel reads them."""
        return [
            {"name": f"h{n}", "kind": c.kind, "left": to_prefix(c.left), "right": to_prefix(c.right)}
            for n, c in enumerate(self.conditions, 1)
        ]

    def first(self, way: Callable[[_Case, dict[str, str]], Certificate | None]) -> Certificate | None:
        """Return the first certificate of a way, with no hypothesis in use or with those that can be."""
        ways = [{}, uses] if (uses := self.usable()) else [uses]
        if any(side.has(Max, Min) for side in self.sides):  # seldom decided without them
            ways.reverse()
        for one in ways:
            try:
                if made := way(self, one):
                    return made
            except kernel.Refused:  # a search that takes more work than the kernel allows
                continue
        return None

    def usable(self) -> dict[str, str]:
        """Return how each hypothesis can be used: as a bound, a definition, or a fact."""
        ways: dict[str, str] = {}
        bounded, defined = set(self.growing), dict[str, set[str]]()
        for n, c in enumerate(self.conditions, 1):
            if c.kind == "at_least" and c.left.is_Symbol and c.right.is_Integer:
                ways[f"h{n}"] = "bound"
                bounded.add(c.left.name)
        for n, c in enumerate(self.conditions, 1):
            if f"h{n}" in ways:
                continue
            target, source = (c.right, c.left) if c.kind == "divides" else (c.left, c.right)
            inside = set(names_of(source))
            reached = inside | {deep for name in inside for deep in defined.get(name, set())}
            plain = target.is_Symbol and target.name not in bounded and target.name not in defined
            if plain and target.name not in reached:
                ways[f"h{n}"] = "substitution"
                defined[target.name] = reached
                for name, deep in defined.items():
                    if target.name in deep:
                        defined[name] = deep | reached
            elif c.kind == "at_least":
                ways[f"h{n}"] = "fact"
        return ways

    def draft(self, proof: dict[str, Any]) -> Certificate:
        """Return the sealed certificate with a proof, unchecked."""
        if self.conditions and proof["rule"] != "point":
            proof = {**proof, "example": self.example()}
        return seal(
            {
                "format": kernel.FORMAT,
                "statement": self.statement,
                "variables": {name: str(low) for name, low in self.bounds.items()},
                "hypotheses": self.hypotheses,
                "proof": proof,
            }
        )

    def made(self, proof: dict[str, Any]) -> Certificate | None:
        """Return the certificate if the kernel accepts it."""
        made = self.draft(proof)
        return made if accepted(made) else None

    def box(self, uses: dict[str, str], starts: Mapping[str, int]) -> tuple[Box, Finder] | None:
        """Return the kernel's own box for these hypotheses, and a finder in it."""
        draft = self.draft({"rule": "", "uses": uses, "from": {g: str(n) for g, n in starts.items()}})
        try:
            claim = kernel.Claim(draft)
        except kernel.Refused:
            return None
        open_ = {
            f"what h{n} leaves open": to_prefix(c.right / c.left if c.kind == "divides" else c.left - c.right)
            for n, c in enumerate(self.conditions, 1)
        }
        sides = [claim.said["left"], claim.said["right"]]
        return claim.box, Finder(claim.box, words_of(claim.box, sides, open_))

    def example(self) -> dict[str, str]:
        """Return sizes that satisfy all hypotheses, or nothing where a short search finds none."""
        space = made(list(self.bounds), self.bounds, self.conditions)
        found = next(space.valid(MOST_POINTS), {})
        return {name: str(found[name]) for name in self.bounds} if found else {}


def _turned(condition: Condition) -> Condition:
    """Return an equation with a bare name on its left, where it has one on its right."""
    turn = condition.kind == "equal" and not condition.left.is_Symbol and condition.right.is_Symbol
    return Condition("equal", condition.right, condition.left) if turn else condition


def _equal(case: _Case, uses: dict[str, str]) -> Certificate | None:
    if made := case.made({"rule": "identity", "uses": uses}):
        return made
    found = case.box(uses, {})
    if found is None:
        return None
    box, finder = found
    left, right = (box.read(case.said[side]) for side in ("left", "right"))
    below = finder.find(box.minus(right, left))
    above = finder.find(box.minus(left, right)) if below else None
    return case.made({"rule": "both", "uses": uses, "below": below, "above": above}) if above else None


def _ordered(case: _Case, uses: dict[str, str]) -> Certificate | None:
    found = case.box(uses, {})
    if found is None:
        return None
    box, finder = found
    left, right = (box.read(case.said[side]) for side in ("left", "right"))
    gap = box.minus(right, left) if case.relation[0] == "<" else box.minus(left, right)
    witness = finder.find(gap, strict=case.relation in "<>")
    return case.made({"rule": "nonnegative", "uses": uses, "witness": witness}) if witness else None


def _starts(case: _Case) -> Iterator[dict[str, int]]:
    for start in STARTS:
        if start is None:
            yield {}
        else:
            yield {name: max(start, case.bounds[name]) for name in case.growing}


def _rate(case: _Case, uses: dict[str, str], factor: Expr | None = None) -> Certificate | None:
    for starts in _starts(case):
        found = case.box(uses, starts)
        if found is None:
            return None
        box, finder = found
        left, right = (box.read(case.said[side]) for side in ("left", "right"))
        target = right if factor is None else box.product(right, box.read(to_prefix(factor)))
        gap = box.minus(left, target)
        if not box.sure(right, strict=True):
            continue
        rate = rate_for(finder, box.over(gap, right), case.growing, box.moving)
        if rate is None:
            return None
        for times in (1, 2, 4):
            constant = rate.constant if times == 1 else ["*", str(times), rate.constant]
            room = box.product(box.product(box.read(constant), rate.falling(box)), right)
            below = finder.find(box.minus(room, gap))
            above = finder.find(box.plus(room, gap)) if below else None
            if not above:
                continue
            proof = {
                "rule": "rate", "uses": uses, "constant": constant, "over": rate.over,
                "from": {g: str(n) for g, n in starts.items()}, "below": below, "above": above,
            }  # fmt: skip
            proof |= {} if factor is None else {"factor": to_prefix(factor)}
            if made := case.made(proof):
                return made
    return None


def _bounded(case: _Case, uses: dict[str, str]) -> Certificate | None:
    for starts in _starts(case):
        found = case.box(uses, starts)
        if found is None:
            return None
        box, finder = found
        left, right = (box.read(case.said[side]) for side in ("left", "right"))
        if not box.sure(right, strict=True):
            continue
        most = constant_for(finder, box.over(left, right), case.growing, box.moving)
        if most is None:
            return None
        for times in (1, 2, 4):
            constant = most if times == 1 else ["*", str(times), most]
            room = box.product(box.read(constant), right)
            proof = {
                "rule": "constants", "uses": uses, "constant": constant,
                "from": {g: str(n) for g, n in starts.items()},
                "below": finder.find(box.minus(room, left)), "above": finder.find(box.plus(room, left)),
            }  # fmt: skip
            if case.relation == "Theta":
                proof |= _under(case, box, finder) or {}
            if proof["below"] and proof["above"] and (made := case.made(proof)):
                return made
    return None


def _under(case: _Case, box: Box, finder: Finder) -> dict[str, Any] | None:
    left, right = (box.read(case.said[side]) for side in ("left", "right"))
    if not box.sure(left, strict=True):
        return None
    for smaller in finder.lowered(left):
        if not box.sure(smaller, strict=True):
            continue
        most = constant_for(finder, box.over(right, smaller), case.growing, box.moving)
        for times in (1, 2, 4) if most is not None else ():
            least = ["/", "1", ["*", str(times), most]]
            witness = finder.find(box.minus(left, box.product(box.read(least), right)))
            if witness:
                return {"least": least, "witness": witness}
    return None


def _elsewhere(case: _Case, uses: dict[str, str]) -> Certificate | None:
    """Refute by the limit of the ratio."""
    if case.relation == "O":
        return None
    left, right = (_under_definitions(case, uses, side) for side in case.sides)
    try:
        gap = degree_in(left, case.growing) - degree_in(right, case.growing)
        leads = [leading_term(side, case.growing)[0] for side in (left, right)]
    except RuleError:
        return None
    if gap > 0:
        return None
    factor = normal(leads[0] / leads[1]) if gap == 0 and leads[1] != 0 else Integer(0)
    return _rate(case, uses, factor)


def _unbounded(case: _Case, uses: dict[str, str]) -> Certificate | None:
    """Refute by growth without bound."""
    for starts in _starts(case):
        found = case.box(uses, starts)
        if found is None:
            return None
        box, finder = found
        left, right = (box.read(case.said[side]) for side in ("left", "right"))
        if not (box.sure(left, strict=True) and box.sure(right, strict=True)):
            continue
        for over in (word for g in case.growing for word in (["var", g], ["sqrt", ["var", g]])):
            grown = box.product(right, box.read(over))
            most = constant_for(finder, box.over(grown, left), case.growing, box.moving)
            for times in (1, 2, 4) if most is not None else ():
                slope = ["/", "1", ["*", str(times), most]]
                witness = finder.find(box.minus(left, box.product(box.read(slope), grown)))
                proof = {
                    "rule": "growth", "uses": uses, "constant": slope, "over": [over],
                    "from": {g: str(n) for g, n in starts.items()}, "witness": witness,
                }  # fmt: skip
                if witness and (made := case.made(proof)):
                    return made
    return None


def _under_definitions(case: _Case, uses: dict[str, str], side: Expr) -> Expr:
    for _ in case.conditions:
        for n, c in enumerate(case.conditions, 1):
            if uses.get(f"h{n}") == "substitution" and c.kind == "equal":
                side = normal(side.xreplace({c.left: c.right}))
    return side


def as_fraction(value: Expr) -> Fraction:
    """Return a rational number of sympy as a fraction."""
    return Fraction(int(value.p), int(value.q))
