"""Rows of claims that can be computed: both sides as formulas, general again where the claim is at sizes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from symacct.algebra.budget import within
from symacct.algebra.condition import Condition, merge
from symacct.algebra.domain import Domain, domain_of
from symacct.algebra.symbols import as_expr, symbol
from symacct.claims import read_claim, resolve
from symacct.errors import LimitError
from symacct.policy import precision
from symacct.proof.beside import conditions_beside, place_beside
from symacct.proof.conditions import cut_conditions
from symacct.proof.extremum import read_extremum
from symacct.proof.lookup import lookup, names_under
from symacct.proof.machine_facts import read_facts
from symacct.proof.threshold import is_threshold, read_threshold
from symacct.sheet.page.parts import Calculator, Result, Variant
from symacct.sheet.page.quantities import addends
from symacct.syntax import walk

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from sympy import Expr

    from symacct.account import Account
    from symacct.claims.sides import Sides
    from symacct.proof.extremum import Extremum
    from symacct.proof.machine_facts import Facts
    from symacct.proof.threshold import Written
    from symacct.readers.stated import Stated
    from symacct.sheet.data import Origin

SECONDS = 5.0
ABOUT = ("=", "~")
ORDERS = ("O", "Theta")
ROUNDED = frozenset({"floor", "ceil", "ceiling", "binomial", "factorial"})


class Read:
    """A claim, read as it was when it was judged, but for no sizes put in.

    Attributes:
        calculator: the row that can be computed.
        reals: the names that need not be integers: rates of a machine, and in plain algebra all of them.
    """

    def __init__(self, stated: Stated, origin: Origin, scope: str) -> None:
        """Read a claim.

        Raises:
            SymacctError: it cannot be read, or is too large to expand.
        """
        account = origin.account
        names = (
            None if account is None else [*account.source.sizes, *names_under(stated.claim, account.policy)]
        )
        dtype = precision(dict(stated.choices).get("precision", "bf16")).activations
        facts = read_facts(
            stated.claim, stated.let, account, on=origin.machine, dtype=dtype if account is None else None
        )
        bare, where = cut_conditions(facts.text)
        self.written = read_threshold(bare, names) if is_threshold(bare) else None
        self.extremum = read_extremum(bare)
        text = self.written.condition if self.written else self.extremum.equation if self.extremum else bare
        self.claim = facts.claim(text, names, account)
        find = lookup(account, facts.quantity)
        assumed = conditions_beside(self.claim, (), stated.assume, find).conditions
        self.domain = _put_in(assumed, account)
        with within(SECONDS):
            sides = resolve(self.claim, find)
            results = tuple(self._results(sides, () if account is None else account.graph.order))
        given = (
            *(one for one in assumed if one.kind != "equal"),
            *conditions_beside(self.claim, where, (), find).conditions,
            *sides.left.when,
            *sides.right.when,
        )
        put = (one.substitute(self.domain.replaced) for one in given)
        order = () if account is None else account.graph.order
        self.calculator = Calculator(scope, {"": Variant(results, merge(put))}, order=order)
        self.reals = frozenset(self._reals(facts, where, account))

    def _results(self, sides: Sides, order: tuple[str, ...]) -> Iterator[Result]:
        left, right = (self.domain.apply(side.expr) for side in (sides.left, sides.right))
        unit = str(sides.left.unit)
        if self.extremum is not None:
            yield from self._of_extremum(self.extremum, left, right, unit)
            return
        pair = [(left, "left side"), (right, "order" if self.claim.relation in ORDERS else "right side")]
        if self.claim.relation in ABOUT and self.claim.left.form == "quantity":
            pair = [(right, "claimed"), (left, "right")]
        elif self.claim.relation in ABOUT and self.claim.right.form == "quantity":
            pair = [(left, "claimed"), (right, "right")]
        for expr, label in pair:
            yield Result(label, "1" if label == "order" else unit, expr, addends(expr, order))
        if self.written is not None:
            yield Result("threshold", "1", self._threshold(self.written))

    def _of_extremum(self, extremum: Extremum, left: Expr, right: Expr, unit: str) -> Iterator[Result]:
        claimed = right
        if extremum.form == "argmin":
            claimed = self.domain.apply(place_beside(self.claim, extremum.claimed))
        yield Result("formula", unit, left, addends(left))
        yield Result("claimed", "1" if extremum.form == "argmin" else unit, claimed)

    def _threshold(self, written: Written) -> Expr:
        """Return what a size is compared with."""
        stated = read_claim(written.threshold, self.claim.names, ())
        found = resolve(stated)
        alone = stated.left.form == "name" and found.left.expr == symbol(stated.left.name)
        return self.domain.apply(found.right.expr if alone else found.left.expr)

    def _reals(self, facts: Facts, where: Iterable[str], account: Account | None) -> Iterator[str]:
        yield from facts.rates
        trees = (self.claim.left, self.claim.right, *(one.tree for one in self.claim.where))
        rounds = any(part.form == "call" and part.name in ROUNDED for tree in trees for part in walk(tree))
        if account is None and not rounds and not any(where):
            yield from self.calculator.uses


def _put_in(assumed: Iterable[Condition], account: Account | None) -> Domain:
    """Return a domain that puts in bound sizes, and what is assumed equal."""
    bound = {} if account is None else account.graph.bound
    known = [Condition("equal", symbol(name), as_expr(value)) for name, value in bound.items()]
    return domain_of((*(one for one in assumed if one.kind == "equal"), *known))


def of_claim(stated: Stated, origin: Origin, scope: str) -> Read | None:
    """Return a claim that can be computed; None where it is too large to expand.

    Raises:
        SymacctError: it cannot be read any more.
    """
    try:
        return Read(stated, origin, scope)
    except LimitError:
        return None
