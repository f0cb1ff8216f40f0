"""Deciding a relation between two formulas: proved, refuted by a point, or undecided."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from sympy import Max, Min

from symacct.algebra.evaluate import names_of
from symacct.algebra.leading import degree_in, leading_term
from symacct.algebra.normal import is_zero, normal
from symacct.algebra.sign import sign_on_box
from symacct.errors import RuleError, UsageError
from symacct.proof.certified import is_provable
from symacct.proof.search import MOST_POINTS, Counterexample, counterexample

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from fractions import Fraction

    from sympy import Expr

    from symacct.algebra.condition import Condition

Outcome = Literal["proved", "refuted", "undecided"]
Relation = Literal["=", "<=", ">=", "<", ">", "~", "O", "Theta"]
RELATIONS: tuple[str, ...] = ("=", "<=", ">=", "<", ">", "~", "O", "Theta")

AT_MOST = frozenset({"zero", "negative", "nonpositive"})
BELOW = frozenset({"negative"})
ONE_SIGN = "with sizes counted from their least values all coefficients have one sign"
A_NUMBER, OTHER_NUMBER = (
    "the difference is a number, with that sign",
    "the difference is a number, without that sign",
)


@dataclass(frozen=True, slots=True)
class Box:
    """Where a relation is judged: integer sizes from a corner on, that satisfy conditions."""

    lower: Mapping[str, int] = field(default_factory=dict)
    conditions: tuple[Condition, ...] = ()

    def least(self, name: str) -> int:
        """Return the least value of a size."""
        return self.lower.get(name, 1)


@dataclass(frozen=True, slots=True)
class Decision:
    """What was decided, why, and a point where the relation fails if it does.

    ``limit`` is, for asymptotic relations, the ratio of the two sides in the limit, where there is one.
    """

    outcome: Outcome
    reason: str
    point: Counterexample | None = None
    limit: Expr | None = None


def decide(
    left: Expr,
    relation: str,
    right: Expr,
    box: Box | None = None,
    growing: tuple[str, ...] = (),
    most: int = MOST_POINTS,
) -> Decision:
    """Decide ``left relation right`` for all sizes in a box, or as some sizes grow.

    At most so many sizes are looked at for a counterexample.

    >>> from symacct.algebra.symbols import symbol
    >>> B, L = symbol("B"), symbol("L")
    >>> decide(6 * B * L - 2 * B, "=", 6 * B * L).point.describe()
    'B = 1, L = 1: 4 against 6'
    >>> decide(6 * B * L - 2 * B, "<=", 6 * B * L).outcome
    'proved'
    >>> decide(6 * B * L - 2 * B, "~", 6 * B * L, growing=("L",)).outcome
    'proved'
    """
    where = box or Box()
    if relation == "=":
        return _equal(left, right, where, most)
    if relation in ("<=", ">=", "<", ">"):
        return _ordered(left, relation, right, where, most)
    if relation in ("~", "O", "Theta"):
        return _asymptotic(left, relation, right, growing, where)
    raise UsageError(f"unknown relation {relation!r}", expected=" ".join(RELATIONS), got=relation)


def _equal(left: Expr, right: Expr, box: Box, most: int) -> Decision:
    if is_zero(left - right):
        return Decision("proved", "the difference is 0 in normal form")
    point = counterexample(left, right, lambda value: value == 0, box.lower, box.conditions, most)
    if point is not None:
        return Decision("refuted", "the two sides differ", point)
    return Decision("undecided", "the difference is not 0 in normal form, but no sizes show it")


def _ordered(left: Expr, relation: str, right: Expr, box: Box, most: int) -> Decision:
    gap = normal(left - right) if relation in ("<=", "<") else normal(right - left)
    strict = relation in ("<", ">")
    answer, _ = ("unknown", None) if gap.has(Max, Min) else sign_on_box(gap, box.lower)
    if answer in (BELOW if strict else AT_MOST):
        return Decision("proved", ONE_SIGN if names_of(gap) else A_NUMBER)
    test = _comparison(relation)
    point = counterexample(left, right, test, box.lower, box.conditions, most)
    if point is not None:
        return Decision("refuted", "it fails at a point" if names_of(gap) else OTHER_NUMBER, point)
    return Decision("undecided", "no sign of the difference could be shown, and no failing sizes found")


def _comparison(relation: str) -> Callable[[Fraction], bool]:
    return {
        "<=": lambda value: value <= 0,
        ">=": lambda value: value >= 0,
        "<": lambda value: value < 0,
        ">": lambda value: value > 0,
    }[relation]


def _asymptotic(left: Expr, relation: str, right: Expr, growing: tuple[str, ...], box: Box) -> Decision:
    if not growing:
        return Decision("undecided", "nothing is said to grow")
    try:
        if relation == "~":
            return _equivalent(left, right, growing, box)
        return _bounded(left, relation, right, growing)
    except RuleError as error:
        return Decision("undecided", error.what)


def _equivalent(left: Expr, right: Expr, growing: tuple[str, ...], box: Box) -> Decision:
    if left.has(Max, Min) or right.has(Max, Min):
        return _same_leading(left, right, growing, box)
    limit = ratio_limit(left, right, growing)
    if limit is not None and is_zero(limit - 1):
        return Decision("proved", f"the ratio tends to 1 as {together(growing)}", limit=limit)
    return Decision("refuted", f"the ratio does not tend to 1 as {together(growing)}", limit=limit)


def _same_leading(left: Expr, right: Expr, growing: tuple[str, ...], box: Box) -> Decision:
    """Decide whether the ratio tends to 1 by the leading terms, each perhaps the largest of several."""
    grown = together(growing)
    if degree_in(left, growing) != degree_in(right, growing):
        return Decision("refuted", f"the ratio does not tend to 1 as {grown}")
    leads = [leading_term(side, growing)[0] for side in (left, right)]
    if is_zero(leads[0] - leads[1]) or is_provable(leads[0], "=", leads[1], box):
        return Decision("proved", f"the leading terms are equal, and the ratio tends to 1 as {grown}")
    point = counterexample(leads[0], leads[1], lambda value: value == 0, box.lower, box.conditions)
    if point is not None:
        return Decision("refuted", f"the leading terms differ as {grown}: at {point.describe()}")
    return Decision("undecided", f"it is not seen whether the leading terms are equal as {grown}")


def _bounded(left: Expr, relation: str, right: Expr, growing: tuple[str, ...]) -> Decision:
    named = ", ".join(growing)
    grown = together(growing)
    gap = degree_in(left, growing) - degree_in(right, growing)
    if gap < 0 and relation == "O":
        return Decision("proved", f"the ratio tends to 0 as {grown}")
    if gap > 0:
        return Decision("refuted", f"the ratio grows like a power of {named}")
    if gap < 0:
        return Decision("refuted", f"the ratio tends to 0 as {grown}")
    return Decision("proved", f"both grow alike as {grown}")


def together(growing: tuple[str, ...]) -> str:
    """Return what grows, in words: several sizes grow in fixed proportion.

    >>> together(("L",)), together(("B", "L"))
    ('L -> oo', 'B, L -> oo together, in fixed proportion')
    """
    named = f"{', '.join(growing)} -> oo"
    return f"{named} together, in fixed proportion" if len(growing) > 1 else named


def ratio_limit(left: Expr, right: Expr, growing: tuple[str, ...]) -> Expr | None:
    """Return the limit of the ratio as the growing sizes go to infinity together; None if it grows or is 0/0.

    The limit may hold the sizes that do not grow.

    Raises:
        RuleError: a side has no leading term.
    """
    if is_zero(right):
        return None
    if is_zero(left):
        return normal(left)
    gap = degree_in(left, growing) - degree_in(right, growing)
    if gap > 0:
        return None
    if gap < 0:
        return normal(left - left)
    limit = normal(leading_term(left, growing)[0] / leading_term(right, growing)[0])
    return limit if not set(names_of(limit)) & set(growing) else None
