"""What is true instead: leading order with its error, bounds, difference and ratio."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sympy import Integer, Max, Min, Rational, fraction

from symacct.algebra.condition import Condition
from symacct.algebra.evaluate import evaluate, names_of, substitute
from symacct.algebra.leading import leading_term
from symacct.algebra.normal import is_zero, normal
from symacct.algebra.sign import sign_on_box
from symacct.algebra.symbols import symbol
from symacct.errors import RuleError
from symacct.proof.decide import is_shown, ratio_limit

if TYPE_CHECKING:
    from sympy import Expr

    from symacct.algebra.domain import Domain

TOLERANCES = (Rational(1, 100), Rational(1, 10))
LARGEST_START, ZERO = 10**12, Integer(0)
SIGNS = {"upper": ">=", "lower": "<="}
OTHER = {"upper": "lower", "lower": "upper"}
NOT_NEGATIVE = ("positive", "nonnegative", "zero")


@dataclass(frozen=True, slots=True)
class Threshold:
    """From where on the error is below a tolerance.

    Attributes:
        tolerance: 1/100 or 1/10.
        name: the size that grows.
        start: an integer from which on the error is below, a formula in the other sizes, or None where the
            condition could not be solved.
        condition: what must not be negative for the error to be below.
    """

    tolerance: Expr
    name: str
    start: Expr | None
    condition: Expr

    @property
    def where(self) -> Condition:
        """Where the error is below."""
        return Condition("at_least", self.condition, ZERO)


@dataclass(frozen=True, slots=True)
class LeadingOrder:
    """A claim that is the leading term of the exact formula.

    Attributes:
        growing: the sizes that grow.
        leading: the exact formula's leading term.
        remainder: exact formula less leading term.
        error: (claim - exact) / exact, signed.
        thresholds: from where on the error is small, for a single growing size.
    """

    growing: tuple[str, ...]
    leading: Expr
    remainder: Expr
    error: Expr
    thresholds: tuple[Threshold, ...]


@dataclass(frozen=True, slots=True)
class Instead:
    """What holds between an exact formula and a claim of it.

    Attributes:
        difference: claim - exact; 0 where both are maxima that are seen to be equal.
        ratio: claim / exact where that is simple (a number, or a formula without a sum below the line).
        bound: ``upper``, ``lower`` or None: what the claim is for every size in the box.
        leading: every way of growing in which the claim is the leading term.
    """

    difference: Expr
    ratio: Expr | None
    bound: str | None
    leading: tuple[LeadingOrder, ...]

    @property
    def equal(self) -> bool:
        """Whether the two sides are equal."""
        return is_zero(self.difference)


def instead(exact: Expr, claim: Expr, box: Domain, ways: tuple[tuple[str, ...], ...]) -> Instead:
    """Return what holds between an exact formula and a claim that is not equal to it.

    Args:
        exact: the derived side.
        claim: the stated side.
        box: the sizes that are looked at.
        ways: which sizes may grow together.

    >>> from symacct.algebra.domain import Domain
    >>> from symacct.algebra.symbols import symbol
    >>> B, L = symbol("B"), symbol("L")
    >>> found = instead(6 * B * L - 2 * B, 6 * B * L, Domain(), (("L",),))
    >>> found.bound, found.leading[0].error, found.leading[0].thresholds[0].start
    ('upper', 1/(3*L - 1), 34)
    """
    difference = normal(claim - exact)
    bound = _bound(difference, box)
    if exact.has(Max, Min) and bound is not None and _is_equal(difference, bound, box):
        return Instead(ZERO, None, bound, ())
    return Instead(
        difference,
        _ratio(exact, claim),
        bound,
        tuple(found for way in ways if (found := leading_order(exact, claim, box, way)) is not None),
    )


def _ratio(exact: Expr, claim: Expr) -> Expr | None:
    if is_zero(exact):
        return None
    ratio = normal(claim / exact)
    simple = not fraction(ratio)[1].is_Add and not ratio.has(Max, Min)
    return ratio if ratio.is_number or simple else None


def _bound(difference: Expr, box: Domain) -> str | None:
    if difference.has(Max, Min):
        return next((word for word, sign in SIGNS.items() if is_shown(difference, sign, ZERO, box)), None)
    answer, _ = sign_on_box(difference, box.corner)
    if answer in NOT_NEGATIVE:
        return "upper"
    if answer in ("negative", "nonpositive"):
        return "lower"
    return next((word for word, sign in SIGNS.items() if is_shown(difference, sign, ZERO, box)), None)


def _is_equal(difference: Expr, bound: str, box: Domain) -> bool:
    """Say whether a claim that is a bound of one kind is seen to be one of the other kind too."""
    return is_zero(difference) or (
        difference.has(Max, Min) and is_shown(difference, SIGNS[OTHER[bound]], ZERO, box)
    )


def leading_order(exact: Expr, claim: Expr, box: Domain, growing: tuple[str, ...]) -> LeadingOrder | None:
    """Return how the claim is the leading term of the exact formula as sizes grow, or None."""
    if not set(growing) & {*names_of(exact), *names_of(claim)}:
        return None
    try:
        limit = ratio_limit(claim, exact, growing)
        leading, remainder = leading_term(exact, growing)
    except RuleError:
        return None
    if limit is None or not is_zero(limit - 1):
        return None
    error = normal((claim - exact) / exact)
    if error.has(Max, Min):
        return LeadingOrder(growing, leading, remainder, error, ())
    thresholds = [t for tolerance in TOLERANCES if (t := threshold(error, tolerance, growing, box))]
    return LeadingOrder(growing, leading, remainder, error, tuple(thresholds))


def threshold(error: Expr, tolerance: Expr, growing: tuple[str, ...], box: Domain) -> Threshold | None:
    """Return from where on the absolute error is at most a tolerance; None for several growing sizes.

    What the error divides by is taken with the sign that it has far out, where the condition holds.

    >>> from symacct.algebra.domain import Domain
    >>> from symacct.algebra.symbols import symbol
    >>> N, V = symbol("N"), symbol("V")
    >>> threshold(V / (N - V), Rational(1, 10), ("N",), Domain()).start
    11*V
    """
    if len(growing) != 1 or is_zero(error):
        return None
    name = growing[0]
    above, below = fraction(normal(error).together())
    sign = _sign_far_out(below, name, box)
    if sign is None:
        return None
    above, below = above * sign, below * sign
    if sign_on_box(above, box.corner)[0] not in NOT_NEGATIVE:
        if sign_on_box(-above, box.corner)[0] not in NOT_NEGATIVE:
            return None
        above = -above
    condition = normal(below * tolerance - above)
    return Threshold(tolerance, name, _start(condition, name, box), condition)


def _sign_far_out(expr: Expr, name: str, box: Domain) -> int | None:
    """Return the sign that a formula has for large values of a size, 1 or -1; None where it is not seen."""
    try:
        leading, _ = leading_term(expr, (name,))
    except RuleError:
        return None
    return {"positive": 1, "negative": -1}.get(sign_on_box(leading, box.corner)[0])


def _start(condition: Expr, name: str, box: Domain) -> Expr | None:
    """Return the least value of a size from which on a condition holds, as a number or a formula."""
    others = [other for other in names_of(condition) if other != name]
    if not others:
        return _least(condition, name, box)
    at = symbol(name)
    slope = normal(condition.diff(at))
    rest = normal(substitute(condition, {name: 0}))
    if name in names_of(slope) or sign_on_box(slope, box.corner)[0] != "positive":
        return None
    return normal(-rest / slope)


def _least(condition: Expr, name: str, box: Domain) -> Expr | None:
    """Return the least integer from which on a polynomial in one size is not negative, by bisection."""

    def good(start: int) -> bool:
        return sign_on_box(condition, {name: start})[0] in NOT_NEGATIVE

    low, high = box.least(name), box.least(name)
    while not good(high):
        low, high = high + 1, high * 2
        if high > LARGEST_START:
            return None
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if good(middle) else (middle + 1, high)
    at_least = box.least(name)
    if high > at_least and evaluate(condition, {name: high - 1}) >= 0:
        return None
    return Integer(high)
