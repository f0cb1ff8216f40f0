"""What a sweep evaluates: formulas with their units and conditions, once for each machine and policy."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from symacct.algebra.condition import Condition, merge
from symacct.algebra.evaluate import names_of
from symacct.claims import read_claim, resolve
from symacct.errors import SymacctError
from symacct.evaluation.doubled import doubled, undoubled
from symacct.evaluation.machine_names import machine_lets
from symacct.evaluation.on_machine import QUANTITIES, OnMachine
from symacct.machines import load

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sympy import Expr

    from symacct.account import Account
    from symacct.machines.machine import Machine
    from symacct.units import Unit


@dataclass(frozen=True, slots=True)
class Column:
    """One formula of a case.

    Attributes:
        text: as it was written.
        expr: the formula, in base units.
        unit: its unit.
        when: conditions under which it holds.
    """

    text: str
    expr: Expr
    unit: Unit
    when: tuple[Condition, ...] = ()


@dataclass(frozen=True, slots=True)
class Case:
    """One choice of machine and policies.

    Attributes:
        labels: what is chosen, by the name of its column: ``{"precision": "bf16"}``.
        account: the derivation; None for formulas alone.
        columns: the formulas.
        notes: sources of figures.
        lets: what names stand for.
        machine: where times are meant.
        names: words that are names, beside the sizes.
    """

    labels: Mapping[str, str]
    account: Account | None
    columns: tuple[Column, ...]
    notes: tuple[str, ...] = ()
    lets: tuple[str, ...] = field(default=(), repr=False)
    machine: Machine | None = field(default=None, repr=False)
    names: tuple[str, ...] = field(default=(), repr=False)

    @property
    def when(self) -> tuple[Condition, ...]:
        """The conditions of all columns."""
        return merge(one for column in self.columns for one in column.when)

    def bound(self, sizes: Mapping[str, int]) -> Case:
        """Return the case with sizes bound from the start, so that small counts get their exact formulas.

        Raises:
            SymacctError: it cannot be derived at these sizes.
        """
        if self.account is None:
            return self
        account = self.account.bind(sizes)
        texts = [one.text for one in self.columns]
        columns = _columns(account, texts, self.lets, OnMachine(self.machine), self.names)
        return Case(self.labels, account, columns, machine=self.machine)


def make_case(
    account: Account | None,
    texts: Sequence[str],
    *,
    labels: Mapping[str, str] | None = None,
    machine: str | None = None,
    lets: Sequence[str] = (),
    dirs: Sequence[str] = (),
    names: Sequence[str] = (),
) -> Case:
    """Return a case: each text a quantity, or a formula of quantities, sizes and figures of a machine.

    `names` are words that are names, beside the sizes of the graph.

    Raises:
        SymacctError: a formula cannot be read, or its units disagree.

    >>> case = make_case(None, ["2*B*D^2", "B*D/D"])
    >>> [(str(one.expr), one.text) for one in case.columns]
    [('2*B*D**2', '2*B*D^2'), ('B', 'B*D/D')]
    """
    notes: list[str] = []
    more: list[str] = []
    if machine is not None:
        dtype = "bf16" if account is None else account.policy.precision.activations
        taken = () if account is None else tuple(account.source.sizes)
        more, notes = machine_lets(machine, " ".join([*texts, *lets]), dtype, taken, dirs)
    given = (*lets, *more)
    found = None if machine is None else load(machine, dirs)
    find = OnMachine(found)
    columns = _columns(account, texts, given, find, names)
    said = tuple(dict.fromkeys((*notes, *find.notes)))
    return Case(labels or {}, account, columns, said, given, found, tuple(names))


def _columns(
    account: Account | None,
    texts: Sequence[str],
    lets: Sequence[str],
    find: OnMachine,
    declared: Sequence[str] = (),
) -> tuple[Column, ...]:
    return tuple(_column(account, text, lets, find, declared) for text in texts)


def _column(
    account: Account | None, text: str, lets: Sequence[str], find: OnMachine, declared: Sequence[str]
) -> Column:
    if account is not None and text.strip() in QUANTITIES:
        quantity = find(account, text.strip())
        return Column(text.strip(), quantity.expr, quantity.unit, quantity.when)
    names = None if account is None else [*account.source.sizes, *account.policy.names]
    try:
        quantities = QUANTITIES if account is not None else ()
        claim = read_claim(doubled(text), names, quantities, lets, declared=declared)
    except SymacctError as error:
        raise undoubled(error, doubled(text), text) from None
    side = resolve(claim, None if account is None else partial(find, account)).left
    return Column(text.strip(), side.expr, side.unit, side.when)


def needed(cases: Sequence[Case]) -> list[str]:
    """Return the names of the sizes that formulas and conditions need, sorted."""
    found: set[str] = set()
    for case in cases:
        for column in case.columns:
            found |= set(names_of(column.expr))
        found |= {name for one in case.when for name in one.names}
    return sorted(found)
