"""Looking quantities up: those of the graph at hand, and those of another one by its name."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from symacct.account import Account
from symacct.readers.files import load

if TYPE_CHECKING:
    from collections.abc import Callable

    from symacct.quantity import Quantity

ELSEWHERE = re.compile(r"([\w.]+)\((.+)\)")


def lookup(account: Account | None) -> Callable[[str], Quantity] | None:
    """Return what finds quantities by name: ``flops.model``, or ``flops.model(gelu)`` of another graph.

    Another graph is derived under the same policy and convention; sizes of one name are the same size.

    >>> from symacct.account import derive
    >>> find = lookup(derive(load("relu"), workload="forward"))
    >>> print(find("flops.forward.all"), find("flops.forward.all(gelu)"))
    B*D FLOP 5*B*D FLOP
    """
    if account is None:
        return None

    def find(name: str) -> Quantity:
        elsewhere = ELSEWHERE.fullmatch(name)
        if elsewhere is None:
            return account[name]
        return Account(load(elsewhere.group(2)), account.policy, account.convention)[elsewhere.group(1)]

    return find
