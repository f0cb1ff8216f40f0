"""Rows of derived quantities that can be computed, under the choices that change them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sympy import Add

from symacct.algebra.normal import normal, total
from symacct.errors import RuleError, SymacctError
from symacct.printers import text
from symacct.sheet.from_accounts import cell_of
from symacct.sheet.page.choices import AXES, Accounts, combinations, limited, offered
from symacct.sheet.page.parts import Calculator, Result, Variant
from symacct.terms import PEAKS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from sympy import Expr

    from symacct.account import Account
    from symacct.sheet.data import Cell

MOST, MOST_OF_PEAKS = 12, 3
"""How many combinations of choices a row has at most; a peak takes longer to derive."""

AGAIN = " (again)"
BY_PHASE = ("memory.static",)
"""Quantities whose terms are those of categories: by weight they would all look alike."""


def of_quantity(account: Account, name: str, accounts: Accounts, shown: Callable[[Cell], str]) -> Calculator:
    """Return the calculator of a quantity.

    Args:
        account: the account of the row.
        name: the quantity.
        accounts: those under other choices.
        shown: sets a cell, and reads it back.
    """
    here = account[name]

    def differs(given: dict[str, str]) -> bool | None:
        try:
            other = accounts.under(account, given)[name]
        except SymacctError:
            return None
        return other.expr != here.expr or other.when != here.when

    axes = (
        offered(account.policy, axis, lambda value, axis=axis: differs({axis: value}))  # type: ignore[misc]
        for axis in AXES
    )
    choices = limited(axes, MOST_OF_PEAKS if name in PEAKS else MOST)
    variants = {key: _variant(account, name, given, accounts, shown) for key, given in combinations(choices)}
    return Calculator(account.source.name, variants, choices, account.graph.order)


def _variant(
    account: Account, name: str, given: dict[str, str], accounts: Accounts, shown: Callable[[Cell], str]
) -> Variant:
    try:
        other = accounts.under(account, given)
        quantity = other[name]
    except SymacctError as error:
        return Variant(note=error.what)
    result = Result("", str(quantity.unit), quantity.expr, terms_of(other, name))
    formula = "" if other is account else shown(cell_of(other, name))
    return Variant((result,), quantity.when, formula)


def terms_of(account: Account, name: str) -> tuple[tuple[str, Expr], ...]:
    """Return what a quantity is the sum of, by op; else the terms of its formula.

    >>> from symacct.account import derive
    >>> from symacct.readers.files import load
    >>> [label for label, _ in terms_of(derive(load("linear")), "flops.model")]
    ['linear/matmul', 'linear/matmul/grad.weight']
    """
    try:
        found = account.terms(name)
    except RuleError:
        return addends(account[name].expr, account.graph.order)
    joined: dict[str, list[Expr]] = {}
    for term in found:
        label = f"{term.label}{AGAIN}" if term.phase == "recompute" else term.label
        label = term.phase if name in BY_PHASE else label
        joined.setdefault(label, []).append(term.expr)
    made = tuple((label, total(exprs)) for label, exprs in joined.items())
    return made if len(made) > 1 else ()


def addends(expr: Expr, order: Sequence[str] = ()) -> tuple[tuple[str, Expr], ...]:
    """Return the terms of a formula, where there are several and none is negative.

    >>> from symacct.algebra.symbols import symbol
    >>> sorted(label for label, _ in addends(symbol("B") * 2 + 1))
    ['1', '2*B']
    """
    parts = Add.make_args(normal(expr))
    if len(parts) < 2 or any(part.could_extract_minus_sign() for part in parts):
        return ()
    return tuple((text(part, order), part) for part in parts)
