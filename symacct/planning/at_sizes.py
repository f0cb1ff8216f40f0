"""An account at sizes: where these break a condition of its formulas, the exact small case, derived apart."""

from __future__ import annotations

from typing import TYPE_CHECKING

from symacct.algebra.condition import Condition
from symacct.algebra.evaluate import check_sizes
from symacct.algebra.symbols import as_expr, symbol
from symacct.counts import may_be_zero

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from symacct.account import Account

Conditions = tuple[Condition, ...]


def checked(account: Account, sizes: Mapping[str, int]) -> dict[str, int]:
    """Return sizes, each in its range.

    Raises:
        SizeError: a size is out of range, or breaks a condition of the graph itself.
    """
    return dict(check_sizes(sizes, account.graph.order, frozenset(may_be_zero(account.graph))))


def settled(account: Account, sizes: Mapping[str, int]) -> Account:
    """Return an account with the sizes bound that the segments of its policy cannot do without.

    >>> from symacct.account import derive
    >>> from symacct.readers.files import load
    >>> account = derive(load("mlp"), checkpoint="binomial:2")
    >>> settled(account, {"B": 2, "L": 5}).graph.order
    ('B', 'D')
    """
    known = {name: size for name, size in sizes.items() if name in account.wanted}
    return account.bind(known) if known else account


def exact_case(
    account: Account, sizes: Mapping[str, int], conditions: Callable[[Account], Iterable[Condition]]
) -> tuple[Account, Conditions]:
    """Return an account whose formulas hold at sizes, and the conditions of the general ones that fail.

    Args:
        account: what was derived.
        sizes: sizes, each in its range.
        conditions: what must hold for the formulas of an account that are looked at.
    """
    account = settled(account, sizes)
    small = [Condition("at_least", symbol(name), as_expr(1)) for name, size in sizes.items() if size == 0]
    if small:
        account = account.bind({name: 0 for name, size in sizes.items() if size == 0})
    while broken := [
        one for one in conditions(account) if set(one.names) <= sizes.keys() and not one.holds(sizes)
    ]:
        small += broken
        account = account.bind({name: sizes[name] for one in broken for name in one.names})
    return account, tuple(small)
