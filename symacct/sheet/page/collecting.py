"""From the rows of a sheet to calculators, benches, and the sizes that they share."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from symacct.counts import may_be_zero
from symacct.errors import SizeError, SymacctError, unknown
from symacct.evaluation.operations import TENSOR, VECTOR
from symacct.evaluation.rates import Rates
from symacct.proof.machine_facts import RATE
from symacct.sheet.broken import in_pieces
from symacct.sheet.cells import Setter
from symacct.sheet.page.benches import Table, table_of
from symacct.sheet.page.calculation import of_calculation
from symacct.sheet.page.choices import Accounts
from symacct.sheet.page.parts import Calculator, Scope, Size
from symacct.sheet.page.quantities import of_quantity
from symacct.sheet.page.starts import start_of
from symacct.sheet.page.stated import of_claim
from symacct.syntax import read_sizes

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from symacct.account import Account
    from symacct.machines import Machine
    from symacct.readers.stated import Stated
    from symacct.sheet.data import Cell, Origin, Row, Sheet

OF_POLICY = "a choice of the policy"
OF_MACHINE = {"P": "peak of contractions", "V": "rate of all other work", "W": "bandwidth of memory"}
UNIT_OF = {"P": "FLOP/second", "V": "FLOP/second", "W": "byte/second"}


class Collected:
    """What a page computes, before it is written.

    Attributes:
        scopes: sizes that rows share, by the name of their graph; a row without a graph has its own.
        rows: what can be computed, by the row's id.
        benches: graphs to be set against a machine, by their id.
    """

    def __init__(self, sheet: Sheet, machine: Machine) -> None:
        """Make a calculator for each row that can have one, and derive the benches.

        Args:
            sheet: the sheet.
            machine: the one that the page starts with.

        Raises:
            FormulaError: a formula does not read back.
            RuleError: a formula holds something that no script evaluates.
        """
        self.rates = Rates(machine)
        self.scopes: dict[str, Scope] = {}
        self.rows: dict[str, Calculator] = {}
        self.benches: dict[str, Table] = {}
        self._accounts = Accounts()
        self._setter = Setter("mathml", sheet.lang, escape, _code, in_pieces)
        for number, row in enumerate(sheet.rows, 1):
            if row.origin is not None:
                self._add(f"r{number}", row, row.origin)
        for number, bench in enumerate(sheet.benches, 1):
            table = table_of(bench, self._accounts)
            self.benches[f"b{number}"] = table
            self._use_table(table, bench.account)
        for name, given in sheet.sizes.items():
            _check(name, given, self.scopes)
        for name, scope in self.scopes.items():
            _start(scope, sheet.sizes.get(name, {}))

    def _shown(self, cell: Cell) -> str:
        return self._setter.set(cell, "the live page")

    # ---- rows ----

    def _add(self, ident: str, row: Row, origin: Origin) -> None:
        account, judged = origin.account, origin.judged
        if judged is None:
            if account is not None and row.quantity:
                made = of_quantity(account, row.quantity, self._accounts, self._shown)
                self._keep(ident, made, account).start.update(origin.sizes)
            return
        if judged.stated.calc:
            self._add_calculation(ident, judged.stated, origin)
        elif judged.verdict is not None:
            self._add_claim(ident, judged.stated, origin)

    def _add_calculation(self, ident: str, stated: Stated, origin: Origin) -> None:
        try:
            found = of_calculation(stated, origin, f"row:{ident}")
        except SymacctError:
            return
        if found is not None:
            calculator, sizes = found
            self.rows[ident] = calculator
            self.scopes[calculator.scope] = Scope(stated.name, {size.name: size for size in sizes})

    def _add_claim(self, ident: str, stated: Stated, origin: Origin) -> None:
        account = origin.account
        read = of_claim(stated, origin, f"row:{ident}" if account is None else account.source.name)
        if read is None or not read.calculator.uses:
            return
        scope = self._keep(ident, read.calculator, account, read.reals, stated.name)
        if stated.at:
            sizes = read_sizes(stated.at)
            known = sizes if account is None else account.source.resolved(sizes)
            scope.start.update({name: size for name, size in known.items() if name not in scope.start})

    def _keep(
        self,
        ident: str,
        made: Calculator,
        account: Account | None,
        reals: Collection[str] = (),
        title: str = "",
    ) -> Scope:
        self.rows[ident] = made
        scope = self.scopes.setdefault(made.scope, Scope(title if account is None else made.scope))
        self._use(scope, made.uses, account, reals)
        for variant in made.variants.values():
            scope.conditions |= dict.fromkeys(variant.conditions)
        return scope

    def _use_table(self, table: Table, account: Account) -> None:
        scope = self.scopes.setdefault(table.scope, Scope(table.scope))
        self._use(scope, table.uses, account)
        for setting in table.settings.values():
            scope.conditions |= dict.fromkeys(setting.conditions)
            for _, quantity in setting.quantities:
                scope.conditions |= dict.fromkeys(quantity.when)

    def _use(
        self, scope: Scope, names: Collection[str], account: Account | None, reals: Collection[str] = ()
    ) -> None:
        """Add sizes to a scope, each with what it means."""
        meanings = {} if account is None else account.source.sizes
        counts = set() if account is None else set(may_be_zero(account.source))
        scope.counts |= counts
        scope.known |= {*meanings, *names}
        for name in names:
            rate = RATE.fullmatch(name) if name in reals else None
            if rate is not None and name not in meanings:
                kind, value = name[0], self._rate(name)
                scope.add(Size(name, name, OF_MACHINE[kind], integer=False, unit=UNIT_OF[kind], value=value))
                continue
            meaning = meanings.get(name, "" if account is None else OF_POLICY)
            scope.add(Size(name, name, meaning, integer=name not in reals))

    def _rate(self, name: str) -> str:
        """Return a rate of the machine that the page starts with; 1 where it states none."""
        kind, _, dtype = name.partition("_")
        unit = TENSOR if kind == "P" else VECTOR
        try:
            found = self.rates.bandwidth() if kind == "W" else self.rates.rate(unit, dtype)
        except SymacctError:
            found = None
        return "1" if found is None else str(found)


def _check(name: str, given: Mapping[str, int], scopes: Mapping[str, Scope]) -> None:
    """Refuse sizes to start from that are none of the graph's, or below 1."""
    if not given:
        return
    where = f"the sizes of {name}"
    if name not in scopes:
        raise unknown("graph of this sheet", name, scopes, where="sizes")
    scope = scopes[name]
    for size, value in given.items():
        if size not in scope.known:
            raise unknown("size", size, scope.known, where=where)
        if value < 1:
            raise SizeError("a page starts from sizes of 1 or more", where=where, got=f"{size}={value}")


def _start(scope: Scope, given: Mapping[str, int]) -> None:
    """Give each size of a scope a value to start from."""
    open_ = [size for size in scope.sizes.values() if not size.value]
    names = [size.name for size in open_]
    known = {**scope.start, **given}
    counts = scope.counts
    found = start_of(names, {name: known[name] for name in names if name in known}, scope.conditions, counts)
    for size in open_:
        size.value = str(found[size.name])


def _code(text: str) -> str:
    return f"<code>{escape(text)}</code>"
