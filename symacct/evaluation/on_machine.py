"""Quantities by their names: those of a graph, and the times that a machine gives it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from symacct.account import Account
from symacct.errors import UsageError
from symacct.evaluation import timing
from symacct.quantity import Quantity
from symacct.terms import QUANTITIES as OF_GRAPHS

if TYPE_CHECKING:
    from collections.abc import Callable

    from symacct.machines.machine import Machine

QUANTITIES = (*OF_GRAPHS, *timing.QUANTITIES)
"""Every quantity that a condition or a sweep may name."""


class OnMachine:
    """Gives the quantities of an account, times on a machine among them.

    Args:
        machine: where times are meant; None where there is none.
        of: gives the quantities that a graph alone has.

    >>> from symacct.account import derive
    >>> from symacct.machines import load as machine
    >>> from symacct.readers.files import load
    >>> find = OnMachine(machine("lecture:h100"))
    >>> print(find(derive(load("relu"), convention="lecture"), "time.forward"))
    B*D/837500000000 second
    """

    def __init__(
        self, machine: Machine | None, of: Callable[[Account, str], Quantity] = Account.__getitem__
    ) -> None:
        """Begin without notes: they come with the times that are asked for."""
        self.machine = machine
        self.of = of
        self.notes: dict[str, None] = {}

    def __call__(self, account: Account, name: str) -> Quantity:
        """Return a quantity of an account.

        Raises:
            UsageError: it is one on a machine, and there is none.
        """
        if name not in timing.QUANTITIES:
            return self.of(account, name)
        if self.machine is None:
            raise UsageError(
                f"{name} is what a graph takes on a machine",
                where=f"graph {account.graph.name}",
                expected="a machine",
                got="none",
                fix="name one: --on h100-sxm (symacct list machines)",
            )
        made = timing.quantity(account, self.machine, name)
        self.notes |= dict.fromkeys(made.notes)
        return Quantity(made.expr, made.unit, made.when)
