"""What a verdict comes to, worked out for a reader: limits, signs of differences, crossings, places."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sympy import Add, Max, Min

from symacct.algebra.evaluate import names_of, substitute
from symacct.algebra.normal import is_zero, normal
from symacct.algebra.sign import sign_on_box
from symacct.algebra.symbols import symbol
from symacct.errors import FormulaError, SymacctError
from symacct.proof.decide import ratio_limit
from symacct.proof.threshold import FLIPPED, crossing

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sympy import Expr

    from symacct.algebra.domain import Domain
    from symacct.proof.threshold import Crossing
    from symacct.proof.verdict import Verdict

NOT_POSITIVE = ("negative", "nonpositive")
NOT_NEGATIVE = ("positive", "nonnegative")


def limit_of(above: Expr, below: Expr, verdict: Verdict) -> Expr | None:
    """Return the limit of a quotient of two formulas that are no maxima; None where there is none."""
    if above.has(Max, Min) or below.has(Max, Min):
        return None
    try:
        return ratio_limit(above, below, verdict.growing)
    except SymacctError:
        return None


@dataclass(frozen=True, slots=True)
class Shifted:
    """A difference counted from the least sizes, all of whose coefficients have one sign then.

    Attributes:
        expr: the difference, each size less its least value.
        starts: the least values.
        positive: the sign.
    """

    expr: Expr
    starts: Mapping[str, int]
    positive: bool


def shifted(gap: Expr, domain: Domain) -> Shifted | None:
    """Return a sum counted from the least sizes of a domain; None where its signs differ.

    >>> from symacct.algebra.domain import Domain
    >>> from symacct.algebra.symbols import symbol
    >>> shifted(symbol("L") ** 2 - symbol("L"), Domain({"L": 2}))
    Shifted(expr=L**2 + 3*L + 2, starts={'L': 2}, positive=True)
    """
    sign, _ = ("unknown", None) if gap.has(Max, Min) else sign_on_box(gap, domain.corner)
    if sign not in (*NOT_POSITIVE, *NOT_NEGATIVE) or not gap.is_Add:
        return None
    starts = {name: domain.corner.get(name, 1) for name in names_of(gap)}
    moved = normal(substitute(gap, {name: symbol(name) + least for name, least in starts.items()}))
    numbers = [term.as_coeff_Mul()[0] for term in Add.make_args(moved)]
    if not all(one.is_Rational for one in numbers) or len({one >= 0 for one in numbers}) > 1:
        return None
    return Shifted(moved, starts, bool(numbers[0] >= 0))


def crossing_of(verdict: Verdict) -> Crossing | None:
    """Return where both sides of a claim about a threshold are equal; None where that is not known.

    Raises:
        FormulaError: they are not equal there.
    """
    threshold, left, right = verdict.threshold, verdict.left, verdict.right
    if threshold is None or left is None or right is None or left.has(Max, Min) or right.has(Max, Min):
        return None
    found = threshold.crossing or crossing(left, right, threshold.name, verdict.box)
    if found is not None and not is_zero(substitute(left - right, {found.name: found.value})):
        what = "the sides of a claim are not equal where they were solved to be"
        raise FormulaError(what, expected="0", got=str(found.value)[:200])
    return found


def holds_above(verdict: Verdict, found: Crossing) -> str | None:
    """Return how the size compares with the crossing where the claim's condition holds."""
    relation = verdict.claim.relation
    return None if found.above is None else relation if found.above else FLIPPED[relation]


def value_at_place(verdict: Verdict) -> Expr | None:
    """Return the least value at the place that is claimed; None for a claim about something else."""
    extremum, left, right = verdict.extremum, verdict.left, verdict.right
    if extremum is None or left is None or right is None or extremum.form != "argmin":
        return None
    return normal(substitute(left, {extremum.name: right}))
