"""Deciding a relation: refuted by sizes or along a ray, proved by a certificate, or undecided."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from sympy import Abs, Max, Min, log, preorder_traversal

from symacct.algebra.budget import check_time
from symacct.algebra.domain import Domain
from symacct.algebra.evaluate import evaluate, names_of
from symacct.algebra.leading import degree_in, leading_term
from symacct.algebra.normal import is_zero, normal
from symacct.algebra.symbols import as_expr
from symacct.algebra.terms import read
from symacct.errors import DisagreementError, RuleError, SizeError
from symacct.messages import Message
from symacct.proof.certified import certify_growth, certify_relation, certify_together
from symacct.proof.enclosure import UndefinedError, sign_between
from symacct.proof.growth import Regime, Trend, rays, together
from symacct.proof.points import Space, sample, smallest

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from fractions import Fraction

    from sympy import Expr

    from symacct.proof.case import Rest
    from symacct.proof.growth import Ray
    from symacct.proof.points import Point

Outcome = Literal["proved", "refuted", "undecided"]
EXACT: Mapping[str, frozenset[int]] = {
    "=": frozenset({0}),
    "<=": frozenset({-1, 0}),
    ">=": frozenset({0, 1}),
    "<": frozenset({-1}),
    ">": frozenset({1}),
}
"""The signs of left - right at which a relation holds."""
ASYMPTOTIC = ("~", "O", "Theta")
MORE_POINTS, LIGHT = 3000, 40
IDENTITY, ONE_SIGN = Message("same_form"), Message("one_sign")
A_NUMBER, OTHER_NUMBER = Message("a_number"), Message("other_number")
WITNESS, ONE_BY_ONE, NO_SIZES = Message("witness"), Message("one_by_one"), Message("no_sizes")


@dataclass(frozen=True, slots=True)
class Counterexample:
    """Sizes at which a relation fails, and the values of its two sides there.

    Attributes:
        sizes: by name.
        left: the value of one side.
        right: the value of the other one.
        places: for the place of a minimum, what is claimed, which gives ``left``, and what gives ``right``.
        smallest: whether no sizes of a smaller sum fail.
    """

    sizes: tuple[tuple[str, int | Fraction], ...]
    left: Expr
    right: Expr
    places: tuple[Expr, ...] = ()
    smallest: bool = False

    def describe(self) -> str:
        """Return the sizes and both values in one line."""
        at = ", ".join(f"{name} = {size}" for name, size in self.sizes)
        return f"{at}: {self.left} against {self.right}" if at else f"{self.left} against {self.right}"


@dataclass(frozen=True, slots=True)
class Decision:
    """What was decided, and why.

    Attributes:
        outcome: proved only where a certificate is at hand.
        reason: why, in words.
        point: sizes at which the relation fails.
        limit: for claims about growth, the ratio of the two sides in the limit, where there is one.
        certificate: what the kernel accepted.
        ray: for a refuted claim about growth, the ray along which it fails, in words.
    """

    outcome: Outcome
    reason: str
    point: Counterexample | None = None
    limit: Expr | None = None
    certificate: dict[str, Any] | None = None
    ray: str = ""


def decide(left: Expr, relation: str, right: Expr, domain: Domain | None = None) -> Decision:
    """Decide ``left relation right`` for all sizes of a domain.

    >>> from symacct.algebra.symbols import symbol
    >>> B, L = symbol("B"), symbol("L")
    >>> decide(6 * B * L - 2 * B, "=", 6 * B * L).point.describe()
    'B = 1, L = 1: 4 against 6'
    >>> decide(6 * B * L - 2 * B, "<=", 6 * B * L).outcome
    'proved'
    """
    where = domain or Domain()
    tried = try_points(left, right, EXACT[relation], where)
    if tried.point is not None:
        known = names_of(normal(where.apply(left - right)))
        other = Message("fails_at_point") if known else OTHER_NUMBER
        reason = Message("differ") if relation == "=" else other
        return Decision("refuted", reason, tried.point)
    if tried.undefined:
        return Decision("undecided", tried.undefined)
    if not tried.points:
        return Decision("undecided", NO_SIZES)
    made = certify_relation(left, relation, right, where)
    if made is not None:
        return Decision("proved", _why(made, left, right), certificate=made)
    return Decision("undecided", Message("holds_at_points", points=tried.points))


def decide_within(claimed: Expr, exact: Expr, share: Fraction, domain: Domain) -> Decision:
    """Decide whether a formula is within a share of the exact one: ``|claimed - exact| <= share*|exact|``.

    >>> from fractions import Fraction
    >>> from symacct.algebra.symbols import symbol
    >>> n = symbol("n")
    >>> decide_within(100 * n, 100 * n + 1, Fraction(1, 100), Domain()).outcome
    'proved'
    >>> decide_within(100 * n, 100 * n + 2, Fraction(1, 100), Domain()).point.describe()
    'n = 1: 100 against 102'
    """
    part = as_expr(share)
    tried = try_points(Abs(claimed - exact), part * Abs(exact), EXACT["<="], domain)
    if tried.point is not None:
        sizes = dict(tried.point.sizes)
        left, right = (_value(side, sizes) for side in (claimed, exact))
        point = Counterexample(tried.point.sizes, left, right, smallest=tried.point.smallest)
        return Decision("refuted", Message("differ_by_more", share=f"{float(share):.4g}"), point)
    if tried.undefined or not tried.points:
        return Decision("undecided", tried.undefined or NO_SIZES)
    for sign, relation in ((1, ">="), (-1, "<=")):
        room = sign * part * exact
        made = certify_together(
            [(claimed, "<=", exact + room), (claimed, ">=", exact - room), (exact, relation, as_expr(0))],
            domain,
        )
        if made is not None:
            return Decision("proved", WITNESS, certificate=made)
    return Decision("undecided", Message("holds_at_points", points=tried.points))


def is_shown(left: Expr, relation: str, right: Expr, domain: Domain) -> bool:
    """Say whether a relation is proved; a few sizes are tried first."""
    tried = try_points(left, right, EXACT[relation], domain, most=24)
    if tried.point is not None or tried.undefined or not tried.points:
        return False
    return certify_relation(left, relation, right, domain) is not None


def _why(made: Mapping[str, Any], left: Expr, right: Expr) -> str:
    """Return why a relation holds, by the rule of its certificate."""
    proof = made["proof"]
    gap = normal(left - right)
    if proof["rule"] == "identity" or gap == 0:
        return IDENTITY
    if not names_of(gap):
        return A_NUMBER
    if proof.get("witness") == {"kind": "shift"}:
        return ONE_SIGN
    return ONE_BY_ONE if left.has(Max, Min) or right.has(Max, Min) else WITNESS


# ---- points ----


@dataclass(frozen=True, slots=True)
class Tried:
    """What came of points: how many held, the first that failed, where the relation has no value."""

    points: int
    point: Counterexample | None = None
    undefined: str = ""


def try_points(
    left: Expr,
    right: Expr,
    good: Iterable[int],
    domain: Domain,
    *,
    most: int | None = None,
    names: Sequence[str] = (),
) -> Tried:
    """Try whether the sign of ``left - right`` is a good one at points of a domain.

    Args:
        left: one side.
        right: the other side.
        good: the signs at which the relation holds.
        domain: the sizes.
        most: only so many points; else those of a sample, and small ones beyond it where that is cheap.
        names: further names to show.

    Raises:
        DisagreementError: two ways to evaluate disagree.
    """
    wanted = frozenset(good)
    shown = tuple(sorted({*names_of(left), *names_of(right), *names}))
    space = Space(shown, domain)
    sign = sign_between(left, right)
    undefined, seen = "", 0
    first: Point | None = None

    def fails(point: Mapping[str, int | Fraction]) -> bool:
        try:
            found = sign(point)
        except UndefinedError:
            return False
        return found is not None and found not in wanted

    for point in _tried(space, normal(domain.apply(left - right)), _cost(left, right), most):
        check_time()
        try:
            found = sign(point)
        except UndefinedError as error:
            undefined = undefined or Message("no_value", at=_at(point, shown), part=str(error))
            continue
        if found is not None and found not in wanted:
            first = point
            break
        seen += found is not None
    if first is None:
        return Tried(seen, None, undefined)
    best, least = smallest(space, fails, first, _cost(left, right)) if most is None else (first, False)
    return Tried(seen, counterexample_at(left, right, best, shown, wanted, smallest=least), undefined)


def _tried(space: Space, gap: Expr, cost: int, most: int | None) -> Iterable[Point]:
    """Yield the points of a sample, and more small ones where a look is cheap."""
    if most is not None:
        yield from sample(space, (), most)
        return
    yield from sample(space, [gap] if cost < 4 * LIGHT else [])
    if not any(one.has(log) or (one.is_Pow and not one.exp.is_Integer) for one in preorder_traversal(gap)):
        yield from space.small(MORE_POINTS // max(1, cost // 4))


def _cost(*exprs: Expr) -> int:
    """Return how many terms formulas have, those inside a maximum too."""
    inside = [part for expr in exprs for atom in expr.atoms(Max, Min) for part in atom.args]
    return sum(len(read(one)) for one in (*exprs, *inside))


def _at(point: Mapping[str, object], shown: Sequence[str]) -> str:
    return (
        ", ".join(f"{name} = {value}" for name, value in sorted(point.items()) if name in shown)
        or "all sizes"
    )


def counterexample_at(
    left: Expr,
    right: Expr,
    point: Mapping[str, int | Fraction],
    shown: Sequence[str],
    good: Iterable[int],
    *,
    smallest: bool = False,
) -> Counterexample:
    """Return a failing point with both values, worked out a second time.

    Raises:
        DisagreementError: the second time it holds.
    """
    values = [_value(side, point) for side in (left, right)]
    found = sign_between(*values)({})
    if found is not None and found in frozenset(good):
        what = f"internal error: two ways to evaluate a claim disagree at {_at(point, list(point))}"
        got = f"{values[0]} against {values[1]}"
        raise DisagreementError(what, got=got, fix="please report this claim")
    sizes = tuple(
        (name, value) for name, value in sorted(point.items()) if name in {*shown, *_more(point, shown)}
    )
    return Counterexample(sizes, values[0], values[1], smallest=smallest)


def _more(point: Mapping[str, object], shown: Sequence[str]) -> Iterable[str]:
    """Return all names of a point: those of conditions say that it lies inside the domain."""
    return point if len(point) <= len(shown) + 4 else shown


def _value(side: Expr, point: Mapping[str, int | Fraction]) -> Expr:
    return evaluate(side, {name: point[name] for name in names_of(side)})


# ---- growth ----


def decide_growth(
    left: Expr, relation: str, right: Expr, regime: Regime, rests: Sequence[Rest] = ()
) -> Decision:
    """Decide ``~``, ``O`` or ``Theta`` as sizes grow: along rays, then by a certificate.

    Raises:
        SizeError: a condition holds fast what should grow.

    >>> from symacct.algebra.symbols import symbol
    >>> from symacct.proof.growth import regimes_of
    >>> B, L = symbol("B"), symbol("L")
    >>> decide_growth(6 * B * L - 2 * B, "~", 6 * B * L, regimes_of([], {}, ("L",), frozenset())).outcome
    'proved'
    """
    sides = [regime.domain.apply(side) for side in (left, right)]
    grown = together(regime.growing)
    ways = rays(regime, sides)
    if not ways:
        return Decision("undecided", NO_SIZES)
    limit = ratio_limit(sides[0], sides[1], regime.growing) if relation == "~" else None
    seen, why, ray = along_rays(sides, relation, ways)
    if ray is not None:
        reason = Message(why, grown=grown, powers=", ".join(regime.growing))
        return Decision("refuted", reason, limit=limit, ray=ray.describe())
    made = certify_growth(left, relation, right, regime, rests)
    if made is not None:
        return Decision(
            "proved", _grown(relation, trends_of(sides, ways), grown), limit=limit, certificate=made
        )
    return Decision("undecided", seen_along(seen, grown))


def seen_along(rays: int, grown: str) -> str:
    """Return the reason of a verdict on growth that has no certificate.

    >>> seen_along(0, "n -> oo")
    'how the formulas grow as n -> oo is not worked out'
    """
    if not rays:
        return Message("growth_unknown", grown=grown)
    return Message("holds_along_rays", rays=rays, grown=grown)


def along_rays(sides: Sequence[Expr], relation: str, ways: Sequence[Ray]) -> tuple[int, str, Ray | None]:
    """Return along how many rays a relation is seen to hold, the code of why it first fails, and where."""
    seen = 0
    for ray in ways:
        left, right = (ray.trend(side) for side in sides)
        if left is None or right is None:
            continue
        why = _fails(left, relation, right)
        if why:
            return seen, why, ray
        seen += 1
    return seen, "", None


def trends_of(sides: Sequence[Expr], ways: Sequence[Ray]) -> tuple[Trend | None, ...]:
    """Return how both sides grow along the first ray."""
    return tuple(ways[0].trend(side) for side in sides)


def _grown(relation: str, trends: Sequence[Trend | None], grown: str) -> str:
    if relation == "~":
        return Message("ratio_to_one", grown=grown)
    left, right = trends
    falls = left is not None and right is not None and (left.factor == 0 or left.order < right.order)
    return Message("ratio_to_zero" if falls else "both_grow", grown=grown)


def _fails(left: Trend, relation: str, right: Trend) -> str:
    """Return the code of why a relation fails along a ray, or nothing."""
    if right.factor == 0 or left.factor == 0:
        both = left.factor == 0 and (right.factor == 0 or relation == "O")
        return "" if both else "one_is_zero"
    if left.order > right.order:
        return "ratio_not_one" if relation == "~" else "ratio_grows"
    if left.order < right.order:
        return {"O": "", "Theta": "ratio_to_zero"}.get(relation, "ratio_not_one")
    apart = relation == "~" and are_apart(left.factor, right.factor)
    return "ratio_not_one" if apart else ""


def are_apart(left: Expr, right: Expr) -> bool:
    """Say whether two numbers are seen to differ: one of roots or logarithms may be written in several ways.

    >>> from sympy import Integer, log
    >>> are_apart(log(Integer(4)), 2 * log(Integer(2))), are_apart(log(Integer(5)), 2 * log(Integer(2)))
    (False, True)
    """
    try:
        return sign_between(left, right)({}) in (-1, 1)
    except UndefinedError:
        return False


def ratio_limit(left: Expr, right: Expr, growing: Sequence[str]) -> Expr | None:
    """Return the limit of the ratio as sizes go to infinity together; None where it grows, or is not seen.

    The limit may hold the sizes that do not grow.
    """
    try:
        if is_zero(right):
            return None
        if is_zero(left):
            return normal(left)
        gap = degree_in(left, growing) - degree_in(right, growing)
        if gap:
            return None if gap > 0 else normal(left - left)
        limit = normal(leading_term(left, growing)[0] / leading_term(right, growing)[0])
    except (RuleError, SizeError):
        return None
    return None if set(names_of(limit)) & set(growing) else limit
