"""Two formulas side by side: difference, ratio, where they cross, which is the larger, and by op."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from symacct.algebra.budget import within
from symacct.algebra.condition import Condition, merge
from symacct.algebra.evaluate import names_of
from symacct.algebra.normal import is_zero, normal, total
from symacct.algebra.sign import sign_on_box
from symacct.claims import read_claim, resolve
from symacct.errors import LimitError, RuleError
from symacct.proof.assume import Assumptions, read_assumptions
from symacct.proof.certified import is_provable
from symacct.proof.decide import ratio_limit
from symacct.proof.search import Counterexample, counterexample
from symacct.proof.sources import NUMBERED
from symacct.proof.threshold import Crossing, crossing
from symacct.terms import unit_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from fractions import Fraction

    from sympy import Expr

    from symacct.account import Account
    from symacct.proof.decide import Box
    from symacct.units import Unit

SECONDS = 5.0
GRADIENT = "/grad."
LARGER = {
    "zero": "equal",
    "positive": "A",
    "nonnegative": "A or equal",
    "negative": "B",
    "nonpositive": "B or equal",
}


@dataclass(frozen=True, slots=True)
class Apart:
    """What one op has of both: forward and backward together."""

    label: str
    left: Expr
    right: Expr


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two formulas of one unit.

    Attributes:
        left: the first, A.
        right: the second, B.
        unit: the unit of both.
        when: conditions under which both hold.
        difference: A - B.
        ratio: A / B; None where B is 0, or it is too large.
        limits: for each size, the limit of the ratio as it grows, where there is one.
        larger: which is the larger one for all sizes, or ``either``, or ``unknown``.
        crossings: where they are equal, for each size in which the difference is linear.
        a_larger: the first sizes at which A is the larger one, with both values.
        b_larger: the first sizes at which B is.
        parts: the ops that differ.
        notes: how formulas were read, what is assumed, what was too much.
    """

    left: Expr
    right: Expr
    unit: Unit
    when: tuple[Condition, ...]
    difference: Expr
    ratio: Expr | None
    limits: tuple[tuple[str, Expr], ...] = ()
    larger: str = "unknown"
    crossings: tuple[Crossing, ...] = ()
    a_larger: Counterexample | None = None
    b_larger: Counterexample | None = None
    parts: tuple[Apart, ...] = ()
    notes: tuple[str, ...] = ()


def compare_formulas(
    first: str,
    second: str,
    lets: Iterable[str] = (),
    assume: Iterable[str] = (),
    names: Iterable[str] = (),
) -> Comparison:
    """Compare two formulas; their units are read as those of a claim that they are equal.

    >>> found = compare_formulas("6*n*k", "2*n*k + 4*k")
    >>> found.difference, found.larger, found.crossings[0].value
    (4*k*n - 4*k, 'A or equal', 1)
    """
    assume = tuple(assume)
    claim = read_claim(f"{first} = {second}", None, (), lets, declared=names, beside=assume)
    assumptions = read_assumptions(assume, claim.names)
    sides = resolve(claim)
    left, right = (assumptions.apply(side.expr) for side in (sides.left, sides.right))
    return _compared(left, right, sides.left.unit, (), assumptions, (*claim.notes, *sides.notes))


def compare_accounts(
    first: Account, second: Account, quantity: str = "flops.model", assume: Iterable[str] = ()
) -> Comparison:
    """Compare one quantity of two accounts; sizes of the same name are the same."""
    names = dict.fromkeys((*first.source.sizes, *second.source.sizes))
    assumptions = read_assumptions(assume, names)
    sides = [account[quantity] for account in (first, second)]
    left, right = (assumptions.apply(side.expr) for side in sides)
    when = merge((*sides[0].when, *sides[1].when))
    parts: tuple[Apart, ...] = ()
    if quantity != "tokens" and not quantity.startswith("intensity"):
        parts = tuple(_apart(first, second, quantity, assumptions))
    return _compared(left, right, unit_of(quantity), when, assumptions, (), parts)


def _compared(
    left: Expr,
    right: Expr,
    unit: Unit,
    when: tuple[Condition, ...],
    assumptions: Assumptions,
    notes: tuple[str, ...],
    parts: tuple[Apart, ...] = (),
) -> Comparison:
    box = assumptions.box(when)
    notes = (*dict.fromkeys(notes), *(f"assuming {text}" for text in assumptions.texts))
    difference = normal(left - right)
    ratio = None if is_zero(right) else normal(left / right)
    made = Comparison(left, right, unit, box.conditions, difference, ratio, parts=parts, notes=notes)
    try:
        with within(SECONDS):
            return _judged(made, box)
    except LimitError as error:
        return replace(made, notes=(*notes, f"which is the larger is not worked out: {error.what}"))


def _judged(made: Comparison, box: Box) -> Comparison:
    """Add which is the larger one, and where they cross."""
    answer = sign_on_box(made.difference, box.lower)[0]
    if answer == "zero":
        return replace(made, larger="equal")
    names = names_of(made.difference)
    found = (crossing(made.left, made.right, name, box) for name in names)
    reached = tuple(one for one in found if one is not None and _is_reached(one, box))
    made = replace(made, limits=tuple(_limits(made)), crossings=reached)
    if answer in LARGER:
        return replace(made, larger=LARGER[answer])
    above = _point(made, box, lambda value: value <= 0)
    below = _point(made, box, lambda value: value >= 0)
    larger = "either" if above and below else "unknown"
    if above is None and is_provable(made.left, "<=", made.right, box):
        larger = LARGER["nonpositive"]
    elif below is None and is_provable(made.right, "<=", made.left, box):
        larger = LARGER["nonnegative"]
    return replace(made, a_larger=above, b_larger=below, larger=larger)


def _is_reached(one: Crossing, box: Box) -> bool:
    """Say whether a size may be what it is at a crossing: not where that is surely below its least value."""
    return sign_on_box(one.value - box.least(one.name), box.lower)[0] != "negative"


def _point(made: Comparison, box: Box, holds: Callable[[Fraction], bool]) -> Counterexample | None:
    return counterexample(made.left, made.right, holds, box.lower, box.conditions)


def _limits(made: Comparison) -> Iterator[tuple[str, Expr]]:
    """Yield the limit of the ratio as each size grows alone; one that divides another does not."""
    if made.ratio is None:
        return
    bounded = {name for one in made.when if one.kind == "divides" for name in names_of(one.left)}
    for name in names_of(made.ratio):
        if name in bounded:
            continue
        try:
            limit = ratio_limit(made.left, made.right, (name,))
        except RuleError:
            continue
        if limit is not None:
            yield name, limit


def _apart(first: Account, second: Account, quantity: str, assumptions: Assumptions) -> Iterator[Apart]:
    """Yield the ops that differ; an op of one account alone counts 0 in the other."""
    found: dict[str, tuple[list[Expr], list[Expr]]] = {}
    for place, account in enumerate((first, second)):
        for term in account.terms(quantity):
            label = NUMBERED.sub("", term.label).partition(GRADIENT)[0]
            found.setdefault(label, ([], []))[place].append(assumptions.apply(term.expr))
    for label, sides in found.items():
        left, right = (total(exprs) for exprs in sides)
        if not is_zero(left - right):
            yield Apart(label, left, right)
