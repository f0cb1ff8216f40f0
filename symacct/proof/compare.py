"""Two formulas side by side: difference, ratio, where they cross, which is the larger, and by op."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from symacct.account import Account
from symacct.algebra.budget import within
from symacct.algebra.condition import Condition, merge
from symacct.algebra.domain import Domain, domain_of
from symacct.algebra.evaluate import names_of
from symacct.algebra.normal import is_zero, normal, total
from symacct.algebra.sign import sign_on_box
from symacct.claims import read_claim, resolve
from symacct.errors import LimitError, SizeError
from symacct.proof.beside import conditions_beside
from symacct.proof.conditions import read_conditions
from symacct.proof.decide import Counterexample, is_shown, ratio_limit, try_points
from symacct.proof.lookup import lookup, place
from symacct.proof.sources import NUMBERED
from symacct.proof.threshold import Crossing, crossing

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from sympy import Expr

    from symacct.proof.lookup import Place
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
    said = conditions_beside(claim, (), assume)
    sides = resolve(claim)
    notes = (*claim.notes, *sides.notes, *said.notes, *(f"assuming {text}" for text in said.texts))
    return _compared(sides.left.expr, sides.right.expr, sides.left.unit, domain_of(said.conditions), notes)


def compare_accounts(
    first: Account, second: Account, quantity: str = "flops.model", assume: Iterable[str] = ()
) -> Comparison:
    """Compare one quantity of two accounts, or of a region of each; sizes of the same name are the same.

    Raises:
        SymacctError: there is no such quantity or region, or no sizes satisfy what is assumed.
    """
    names = list(dict.fromkeys((*first.source.sizes, *second.source.sizes)))
    said = read_conditions(assume, names)
    known = {
        name: size for name, size in {**second.graph.bound, **first.graph.bound}.items() if size.is_Integer
    }
    assumed = [_holding(one, known) for one in said.conditions]
    sides = [lookup(account)(quantity) for account in (first, second)]  # type: ignore[misc]
    domain = domain_of((*assumed, *merge((*sides[0].when, *sides[1].when))))
    notes = tuple(f"assuming {text}" for text in said.texts)
    parts: tuple[Apart, ...] = ()
    if quantity != "tokens" and not quantity.startswith("intensity"):
        parts = tuple(_apart(place(first, quantity), place(second, quantity), domain))
    return _compared(sides[0].expr, sides[1].expr, sides[0].unit, domain, notes, parts)


def _holding(one: Condition, known: Mapping[str, Expr]) -> Condition:
    """Return an assumption with the sizes put in that are known.

    Raises:
        SizeError: it fails at these.
    """
    found = one.substitute(known)
    if not found.names and not found.holds({}):
        got = ", ".join(f"{name} = {known[name]}" for name in one.names)
        raise SizeError("an assumption fails at these sizes", expected=str(one), got=got)
    return found


def put_in(accounts: Iterable[Account], assume: Iterable[str]) -> list[Account]:
    """Return accounts with what is assumed equal put in, before any size is: derived again, as formulas.

    An equality is put into each graph that has all of its sizes, free.

    >>> from symacct.account import derive
    >>> from symacct.readers.files import load
    >>> [str(one["params"]) for one in put_in([derive(load("mlp"))], ["L = 3*D"])]
    ['3*D^3 parameter']
    """
    accounts = list(accounts)
    names = list(dict.fromkeys(name for account in accounts for name in account.source.sizes))
    equal = [one for one in read_conditions(assume, names).conditions if one.kind == "equal"]
    return [_with(account, domain_of(equal).replaced) for account in accounts]


def _with(account: Account, replaced: Mapping[str, Expr]) -> Account:
    graph = account.source
    for name, formula in replaced.items():
        if name in graph.order and set(names_of(formula)) <= set(graph.order):
            graph = graph.bind({name: formula})
    return account if graph is account.source else Account(graph, account.policy, account.convention)


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
    answer = sign_on_box(made.difference, domain.corner)[0]
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
    return sign_on_box(one.value - domain.least(one.name), domain.corner)[0] != "negative"


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


def _apart(first: Place, second: Place, domain: Domain) -> Iterator[Apart]:
    """Yield the ops that differ; an op of one account alone counts 0 in the other."""
    found: dict[str, tuple[list[Expr], list[Expr]]] = {}
    for side, one in enumerate((first, second)):
        for term in one.terms():
            label = NUMBERED.sub("", term.label).partition(GRADIENT)[0]
            found.setdefault(label, ([], []))[side].append(domain.apply(term.expr))
    for label, sides in found.items():
        left, right = (total(exprs) for exprs in sides)
        if not is_zero(left - right):
            yield Apart(label, left, right)
