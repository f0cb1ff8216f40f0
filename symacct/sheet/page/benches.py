"""Benches: a graph under choices, with its quantities and its ops, to be set against a machine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from symacct.algebra.condition import merge
from symacct.algebra.evaluate import names_of
from symacct.alternatives import OFFERED
from symacct.errors import SymacctError
from symacct.evaluation.operations import operations
from symacct.report.names import MEANINGS
from symacct.sheet.page.choices import Accounts, combinations, value_of
from symacct.sheet.page.expression import prefix
from symacct.sheet.page.parts import Choice, ordered

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from sympy import Expr

    from symacct.account import Account
    from symacct.algebra.condition import Condition
    from symacct.evaluation.operations import Operation
    from symacct.quantity import Quantity
    from symacct.sheet.data import Bench

AXES: Mapping[str, tuple[str, ...]] = {
    "workload": OFFERED["workload"],
    "precision": OFFERED["precision"][:2],
    "checkpoint": OFFERED["checkpoint"],
}
"""The choices that a bench offers; each further one would double the time that a page takes to make."""
TRAINING = (
    "params", "tokens", "flops.model", "flops.hardware", "bytes.step", "intensity.step", "memory.static",
    "memory.activations", "memory.peak",
)  # fmt: skip
OTHERWISE = (
    "params", "tokens", "flops.forward", "bytes.forward", "intensity.forward", "memory.parameters",
    "memory.kv_cache",
)  # fmt: skip
MEMORY = (("memory.peak",), ("memory.static", "memory.activations"), ("memory.parameters", "memory.kv_cache"))
"""What is held against the capacity: the first of these whose quantities are all there."""
LONGEST = 20_000
"""Characters of the longest formula of a quantity that a bench computes."""


@dataclass(frozen=True, slots=True)
class Setting:
    """A graph under one combination of choices; with a note and nothing else where that is refused."""

    account: Account | None = None
    quantities: tuple[tuple[str, Quantity], ...] = ()
    ops: tuple[Operation, ...] = ()
    conditions: tuple[Condition, ...] = ()
    note: str = ""

    @property
    def exprs(self) -> Iterator[Expr]:
        """Every formula in it."""
        yield from (quantity.expr for _, quantity in self.quantities)
        for op in self.ops:
            yield op.moved
            yield from (load.flops for load in op.loads)
        for one in (*self.conditions, *(one for _, quantity in self.quantities for one in quantity.when)):
            yield from (one.left, one.right)

    @property
    def memory(self) -> tuple[str, ...]:
        """Names of the quantities that are held against a capacity together."""
        known = {name for name, _ in self.quantities}
        found = (tuple(name for name in names if name in known) for names in MEMORY)
        return next(
            (names for names, all_ in zip(found, MEMORY, strict=True) if names and _fits(names, all_)), ()
        )

    @property
    def tokens(self) -> Expr | None:
        """Tokens of a pass; None where the graph states none."""
        return dict(self.quantities)["tokens"].expr if "tokens" in dict(self.quantities) else None

    @property
    def work(self) -> Expr | None:
        """Contractions of the model, which an MFU counts."""
        name = (
            "flops.model.matmul"
            if self.account is not None and self.account.trains
            else "flops.forward.matmul"
        )
        return None if self.account is None else self.account[name].expr


def _fits(names: tuple[str, ...], wanted: tuple[str, ...]) -> bool:
    """Say whether quantities make up a memory: all of them, and parameters where there is no cache."""
    return names in {wanted, ("memory.parameters",)}


@dataclass(frozen=True, slots=True)
class Table:
    """A bench, derived: its choices, and what its graph is under each combination."""

    title: str
    scope: str
    choices: tuple[Choice, ...]
    settings: Mapping[str, Setting]
    order: tuple[str, ...]

    @property
    def uses(self) -> tuple[str, ...]:
        """Names of all sizes in it, in the order of its graph."""
        exprs = (expr for setting in self.settings.values() for expr in setting.exprs)
        return ordered({name for expr in exprs for name in names_of(expr)}, self.order)


def table_of(bench: Bench, accounts: Accounts) -> Table:
    """Return a bench, derived under every combination of its choices.

    Args:
        bench: what the sheet says of it.
        accounts: those that were derived already.
    """
    choices = tuple(_choices(bench, accounts))
    settings = {key: _setting(bench.account, given, accounts) for key, given in combinations(choices)}
    return Table(bench.title, bench.account.source.name, choices, settings, bench.account.source.order)


def _choices(bench: Bench, accounts: Accounts) -> Iterator[Choice]:
    """Yield the choices, each with the values that are not refused by themselves."""
    for axis, values in (dict(bench.axes) or AXES).items():
        start = value_of(bench.account.policy, axis)
        kept = [value for value in values if value == start or _works(bench, {axis: value}, accounts)]
        kept = kept if start in kept else [start, *kept]
        if len(kept) > 1:
            yield Choice(axis, tuple(kept), start)


def _works(bench: Bench, given: Mapping[str, str], accounts: Accounts) -> bool:
    try:
        account = accounts.under(bench.account, given)
        operations(account, step=account.trains)
    except SymacctError:
        return False
    return True


def _setting(account: Account, given: Mapping[str, str], accounts: Accounts) -> Setting:
    try:
        here = accounts.under(account, given)
        ops = operations(here, step=here.trains)
        found = tuple(_quantities(here))
        moved = here["bytes.step" if here.trains else "bytes.forward"]
        when = merge((*here.conditions, *moved.when))
    except SymacctError as error:
        return Setting(note=error.what)
    return Setting(here, found, ops, when)


def _quantities(account: Account) -> Iterator[tuple[str, Quantity]]:
    """Yield the quantities that this account has, but for formulas too long for a page."""
    for name in TRAINING if account.trains else OTHERWISE:
        if not account.has(name):
            continue
        try:
            quantity = account[name]
        except SymacctError:
            continue
        if len(str(prefix(quantity.expr).plain())) <= LONGEST:
            yield name, quantity


def meaning(name: str) -> str:
    """Return what a quantity is, in words."""
    return MEANINGS.get(name, name)
