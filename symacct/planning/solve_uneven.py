"""Quantities under checkpoints in one formula for all counts: segments whose last one may be shorter.

A formula over equal segments holds where their length divides the count, and that of ``sqrt`` for squares.
The same step with a shorter last segment has one formula with roundings, for every count that is cut at all.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from sympy import ceiling, sqrt

from symacct.account import Account
from symacct.algebra.normal import normal
from symacct.algebra.symbols import symbol
from symacct.errors import SymacctError
from symacct.peaks.layers import structure
from symacct.peaks.placement import outermost
from symacct.policy import Checkpoint

if TYPE_CHECKING:
    from sympy import Expr

    from symacct.quantity import Quantity

_OTHERS: WeakKeyDictionary[Account, tuple[Account, dict[str, Expr]] | None] = WeakKeyDictionary()
LENGTH = "length__"


def uneven(account: Account, name: str) -> Quantity:
    """Return a quantity in the form that holds for more sizes where there is one; else as it is.

    >>> from symacct.account import derive
    >>> from symacct.readers.files import load
    >>> account = derive(load("mlp"), checkpoint="sqrt", sizes={"B": 64, "D": 64})
    >>> print(*uneven(account, "memory.peak").when, sep=", ")
    ceil(L/ceil(sqrt(L))) >= 2
    """
    if not account.recomputes:
        return account[name]
    try:
        other = _other(account)
        return account[name] if other is None else other[0][name].subs(**other[1])
    except SymacctError:
        return account[name]


def _other(account: Account) -> tuple[Account, dict[str, Expr]] | None:
    """Return the account that allows a shorter last segment, and what stands for its length; derived once."""
    if account not in _OTHERS:
        _OTHERS[account] = _made(account)
    return _OTHERS[account]


def _made(account: Account) -> tuple[Account, dict[str, Expr]] | None:
    kind = account.policy.checkpoint.kind
    if kind == "every":
        return account.uneven, {}
    repeats = outermost(account.graph)
    if kind != "sqrt" or len(repeats) != 1 or structure(account.graph).several:
        return None
    every = Checkpoint("every", symbol(LENGTH), (), account.policy.checkpoint.recompute)
    policy = replace(account.policy, checkpoint=every)
    length = ceiling(sqrt(normal(repeats[0].count)))
    return Account(account.source, policy, account.convention).uneven, {LENGTH: length}
