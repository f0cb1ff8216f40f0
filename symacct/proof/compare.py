"""Two formulas side by side: difference, ratio, where they cross, which is the larger, and by op."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from symacct.algebra.budget import within
from symacct.algebra.condition import Condition, merge
from symacct.algebra.domain import Domain, domain_of
from symacct.algebra.evaluate import names_of
from symacct.algebra.normal import is_zero, normal, total
from symacct.algebra.sign import sign_on_box
from symacct.claims import read_claim, resolve
from symacct.errors import LimitError
from symacct.proof.conditions import read_conditions
from symacct.proof.decide import Counterexample, is_shown, ratio_limit, try_points
from symacct.proof.sources import NUMBERED
from symacct.proof.threshold import Crossing, crossing
from symacct.terms import unit_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from sympy import Expr

    from symacct.account import Account
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
    first: str, second: str, lets: Iterable[str] = (), assume: Iterable[str] = ()
) -> Comparison:
    """Compare two formulas; their units are read as those of a claim that they are equal.

    >>> found = compare_formulas("6*n*k", "2*n*k + 4*k")
    >>> found.difference, found.larger, found.crossings[0].value
    (4*k*n - 4*k, 'A or equal', 1)
    """
    claim = read_claim(f"{first} = {second}", None, (), lets)
    said = read_conditions(assume, claim.names)
    sides = resolve(claim)
    notes = (*claim.notes, *sides.notes, *(f"assuming {text}" for text in said.texts))
    return _compared(sides.left.expr, sides.right.expr, sides.left.unit, domain_of(said.conditions), notes)


def compare_accounts(
    first: Account, second: Account, quantity: str = "flops.model", assume: Iterable[str] = ()
) -> Comparison:
    """Compare one quantity of two accounts; sizes of the same name are the same."""
    names = dict.fromkeys((*first.source.sizes, *second.source.sizes))
    said = read_conditions(assume, names)
    sides = [account[quantity] for account in (first, second)]
    domain = domain_of((*said.conditions, *merge((*sides[0].when, *sides[1].when))))
    notes = tuple(f"assuming {text}" for text in said.texts)
    parts: tuple[Apart, ...] = ()
    if quantity != "tokens" and not quantity.startswith("intensity"):
        parts = tuple(_apart(first, second, quantity, domain))
    return _compared(sides[0].expr, sides[1].expr, unit_of(quantity), domain, notes, parts)


def _compared(
    left: Expr,
    right: Expr,
    unit: Unit,
    domain: Domain,
    notes: tuple[str, ...],
    parts: tuple[Apart, ...] = (),
) -> Comparison:
    left, right = domain.apply(left), domain.apply(right)
    notes = tuple(dict.fromkeys(notes))
    difference = normal(left - right)
    ratio = None if is_zero(right) else normal(left / right)
    made = Comparison(left, right, unit, domain.conditions, difference, ratio, parts=parts, notes=notes)
    try:
        with within(SECONDS):
            return _judged(made, domain)
    except LimitError as error:
        return replace(made, notes=(*notes, f"which is the larger is not worked out: {error.what}"))


def _judged(made: Comparison, domain: Domain) -> Comparison:
    """Add which is the larger one, and where they cross."""
    answer = sign_on_box(made.difference, domain.lower)[0]
    if answer == "zero":
        return replace(made, larger="equal")
    names = names_of(made.difference)
    found = (crossing(made.left, made.right, name, domain) for name in names)
    reached = tuple(one for one in found if one is not None and _is_reached(one, domain))
    made = replace(made, limits=tuple(_limits(made)), crossings=reached)
    if answer in LARGER:
        return replace(made, larger=LARGER[answer])
    above = try_points(made.left, made.right, (-1, 0), domain).point
    below = try_points(made.left, made.right, (0, 1), domain).point
    larger = "either" if above and below else "unknown"
    if above is None and is_shown(made.left, "<=", made.right, domain):
        larger = LARGER["nonpositive"]
    elif below is None and is_shown(made.right, "<=", made.left, domain):
        larger = LARGER["nonnegative"]
    return replace(made, a_larger=above, b_larger=below, larger=larger)


def _is_reached(one: Crossing, domain: Domain) -> bool:
    """Say whether a size may be what it is at a crossing: not where that is surely below its least value."""
    return sign_on_box(one.value - domain.least(one.name), domain.lower)[0] != "negative"


def _limits(made: Comparison) -> Iterator[tuple[str, Expr]]:
    """Yield the limit of the ratio as each size grows alone; one that divides another does not."""
    if made.ratio is None:
        return
    bounded = {name for one in made.when if one.kind == "divides" for name in names_of(one.left)}
    for name in names_of(made.ratio):
        if name in bounded:
            continue
        limit = ratio_limit(made.left, made.right, (name,))
        if limit is not None:
            yield name, limit


def _apart(first: Account, second: Account, quantity: str, domain: Domain) -> Iterator[Apart]:
    """Yield the ops that differ; an op of one account alone counts 0 in the other."""
    found: dict[str, tuple[list[Expr], list[Expr]]] = {}
    for place, account in enumerate((first, second)):
        for term in account.terms(quantity):
            label = NUMBERED.sub("", term.label).partition(GRADIENT)[0]
            found.setdefault(label, ([], []))[place].append(domain.apply(term.expr))
    for label, sides in found.items():
        left, right = (total(exprs) for exprs in sides)
        if not is_zero(left - right):
            yield Apart(label, left, right)
