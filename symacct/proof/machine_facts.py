"""What a claim may name beside what a graph has: times on a machine, its figures, numbers of formats."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from symacct import formats
from symacct.algebra.evaluate import names_of
from symacct.claims import read_claim, resolve
from symacct.errors import RuleError, UnitError
from symacct.evaluation import timing
from symacct.evaluation.machine_names import machine_lets
from symacct.evaluation.operations import TENSOR, VECTOR
from symacct.evaluation.rates import BANDWIDTH, Rates
from symacct.machines import load
from symacct.printers import text as as_text
from symacct.proof.format_facts import named
from symacct.proof.lookup import lookup
from symacct.quantity import Quantity
from symacct.terms import QUANTITIES as OF_GRAPHS

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence
    from pathlib import Path

    from symacct.account import Account
    from symacct.claims import Claim
    from symacct.machines import Machine

QUANTITIES = (*OF_GRAPHS, *timing.QUANTITIES)
"""Every quantity that a claim may name."""

DTYPE = "bf16"
RATE = re.compile(rf"(?<![\w.])(?:([PV])_([a-z]\w*)|{BANDWIDTH})(?!\w)")
UNITS = {"P": "FLOP/second", "V": "FLOP/second", "W": "byte/second"}
TIMES = " * 1 "
INDEX = re.compile(r"_\{?(\w+)")
OWN = re.compile(rf"^(?:[PV]_\w+|{BANDWIDTH}) is what .* binds")
"""The note that a symbol of a machine is given its unit: nobody needs it."""
BARE = "numbers over P_... and V_... count FLOP, over W_mem bytes"
SECONDS = re.compile(r" read (?:as|in) .*second")


@dataclass(slots=True)
class Facts:
    """What the names in a claim stand for that are none of its graph.

    Attributes:
        machine: the machine; without one times are formulas in its symbols.
        text: the claim, with a name of the same length for each fact of a format.
        lets: these names and those of the machine's figures, each ``NAME = FORMULA``.
        typed: the symbols of rates with their units; a claim that writes no unit means them without.
        rates: the symbols of a machine that the claim names, or its times hold.
        notes: where each number comes from, and why times are bounds.
    """

    machine: Machine | None
    text: str
    lets: list[str]
    typed: list[str] = field(default_factory=list)
    rates: set[str] = field(default_factory=set)
    notes: dict[str, None] = field(default_factory=dict)
    found: dict[tuple[Account, str], Quantity] = field(default_factory=dict)

    def quantity(self, account: Account, name: str) -> Quantity:
        """Return a quantity of an account; a time is one on the machine."""
        if name not in timing.QUANTITIES:
            return account[name]
        key = (account, name)
        if key not in self.found:
            made = timing.quantity(account, self.machine, name)
            self.notes |= dict.fromkeys(made.notes)
            rates = (one for one in names_of(made.expr) if RATE.fullmatch(one))
            self.rates.update(one for one in rates if one not in account.source.sizes)
            self.found[key] = Quantity(made.expr, made.unit, made.when)
        return self.found[key]

    def claim(
        self,
        text: str,
        names: Collection[str] | None,
        account: Account | None,
        *,
        declared: Iterable[str] = (),
        beside: Iterable[str] = (),
        whole: str | None = None,
    ) -> Claim:
        """Return a claim, read; where its rates fit with no unit alone, they have none.

        The last three are what `read_claim` takes: more names, conditions, and the whole text.

        Raises:
            SymacctError: it cannot be read.
        """
        known = None if names is None else [*names, *self.rates]
        more: dict[str, Any] = {"declared": tuple(declared), "beside": tuple(beside), "whole": whole}
        quantities = () if account is None else QUANTITIES
        lets = [*self.lets, *self._aliases(text, account, more["declared"])]
        claim = read_claim(text, known, quantities, [*lets, *self.typed], **more)
        if self.typed and not self._fits(claim, account):
            pure = (one.rpartition(TIMES)[0] for one in self.typed)
            bare = [one for one in pure if not _same(one)]
            other = read_claim(text, known, quantities, [*lets, *bare], **more)
            if self._fits(other, account):
                self.notes[BARE] = None
                return other
        return claim

    def _aliases(self, text: str, account: Account | None, declared: Collection[str]) -> Iterator[str]:
        """Yield what names stand for in the graph: ``d = h/a``; not where the claim has them otherwise."""
        taken = {*declared, *_bound(text, self.lets), *INDEX.findall(text)}
        for name, formula in () if account is None else account.source.aliases.items():
            if name not in taken:
                yield f"{name} = {as_text(formula)}"

    def said(self, notes: Iterable[str]) -> tuple[str, ...]:
        """Return notes on a claim and those of the facts, without the units that symbols of rates get."""
        kept = (one for one in (*notes, *self.notes) if not OWN.search(one))
        return tuple(dict.fromkeys(one for one in kept if BARE not in self.notes or not SECONDS.search(one)))

    def _fits(self, claim: Claim, account: Account | None) -> bool:
        try:
            resolve(claim, lookup(account, self.quantity))
        except UnitError:
            return False
        return True


def read_facts(
    text: str,
    lets: Iterable[str] = (),
    account: Account | None = None,
    *,
    on: str | None = None,
    dirs: Sequence[str | Path] = (),
    dtype: str | None = None,
) -> Facts:
    """Return what a claim names of a machine and of number formats; sizes and names of its own come first.

    Args:
        text: the claim.
        lets: names of its own, each ``NAME = FORMULA``.
        account: the derivation that it is about.
        on: the machine: ``h100-sxm``, ``8xh100-sxm``, ``lecture:h100``.
        dirs: folders with more machines.
        dtype: the format whose peak is meant; that of the activations where none is named.

    Raises:
        SymacctError: there is no such machine or format, or it has no such figure.

    >>> read_facts("epsilon(bf16) = 2^-7").lets
    ['epsilon_bf16 = 2^-7']
    >>> read_facts("8*capacity >= 640 GB", on="lecture:h100").lets
    ['capacity = 80000000000 byte']
    """
    given = list(lets)
    sizes = set() if account is None else {*account.source.sizes, *account.source.aliases}
    taken = sizes | set(_bound(text, given))
    made: dict[str, str] = {}
    notes: dict[str, None] = {}
    text, *given = (named(one, taken, made, notes) for one in (text, *given))
    machine = None if on is None else load(on, dirs)
    facts = Facts(machine, text, [f"{name} = {value}" for name, value in made.items()], notes=notes)
    if on is not None:
        kind = dtype or (DTYPE if account is None else account.policy.precision.activations)
        found, said = machine_lets(on, " ".join([text, *given]), kind, taken, dirs)
        facts.lets += found
        facts.notes |= dict.fromkeys(said)
    if account is not None or machine is not None:
        facts.typed += _rates(facts, [text, *given], taken)
    facts.lets += given
    return facts


def _same(let: str) -> bool:
    """Say whether a name is bound to itself."""
    name, _, formula = let.partition(" = ")
    return name == formula


def _bound(text: str, lets: Iterable[str]) -> Iterator[str]:
    """Yield the names that a claim binds itself, if they are those of facts or figures."""
    yield from (one.partition("=")[0].strip() for one in lets)
    yield from re.findall(r"(?:where|,|\band\b)\s*(\w+)\s*=(?!=)", text)


# ---- rates ----


def _rates(facts: Facts, texts: Iterable[str], taken: Collection[str]) -> Iterator[str]:
    """Yield what the symbols of rates stand for: a number of the machine, or a symbol with its unit."""
    rates = Rates(facts.machine)
    for match in dict.fromkeys(one.group() for text in texts for one in RATE.finditer(text)):
        kind, _, dtype = match.partition("_")
        if match in taken or (kind != "W" and dtype not in formats.BITS):
            continue
        if facts.machine is None:
            facts.rates.add(match)
            yield f"{match} = {match}{TIMES}{UNITS[kind]}"
            continue
        rate = rates.bandwidth() if kind == "W" else rates.rate(TENSOR if kind == "P" else VECTOR, dtype)
        if rate is None:
            what = f"{facts.machine.name} states no vector rate for {dtype}"
            raise RuleError(what, expected="a rate that the machine states", got=match)
        yield f"{match} = {rate.p}/{rate.q}{TIMES}{UNITS[kind]}"
