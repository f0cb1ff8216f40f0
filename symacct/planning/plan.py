"""A plan of a run on one screen: parameters, FLOPs, days, memory, and what binds."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING

from symacct.account import Account, derive
from symacct.displayed import Displayed
from symacct.errors import UsageError, unknown
from symacct.planning.devices import Devices, devices_of
from symacct.planning.entries import Entry, Stated, fraction, share, stated
from symacct.planning.fit_peak import Courses, Peak
from symacct.planning.fit_search import largest
from symacct.planning.peaks import peak_of
from symacct.planning.run import run
from symacct.planning.subject import Subject, batch_size, of_account, of_parameters
from symacct.policy import Policy
from symacct.readers.files import load
from symacct.units import ONE, Unit

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from symacct.build import Definition
    from symacct.machines import Machine
    from symacct.nodes import Graph

PLANNED = ("train", "forward", "prefill")
PER_PARAMETER, PRICE = Unit("token/parameter"), Unit("dollar/(device*second)")
ASKED = {
    "flops.run": "--tokens, or --time and a machine",
    "time.run": "--tokens and a machine (--on, or --peak and --devices)",
    "memory.static.device": "a machine whose capacity is known",
}
NOT_COUNTED = "communication, data loading, evaluation, restarts and idle time, except as the MFU has them"
KEPT = "without sharding, and with every tensor that backward reads; see --checkpoint"


@dataclass(frozen=True, slots=True)
class Plan(Displayed):
    """What can be said of a run.

    Attributes:
        subject: the model.
        devices: what it runs on; None where nothing was said.
        entries: the numbers, each once.
        absent: pairs of a quantity, and what it would need.
        binds: what binds, in words; empty where too little is known.
        notes: what a reader should know.
    """

    subject: Subject
    devices: Devices | None
    entries: tuple[Entry, ...]
    absent: tuple[tuple[str, str], ...]
    binds: tuple[str, ...]
    notes: tuple[str, ...]

    def names(self) -> tuple[str, ...]:
        """Return the names of the numbers."""
        return tuple(entry.name for entry in self.entries)

    @property
    def quantities(self) -> dict[str, Entry]:
        """The numbers, by name."""
        return {entry.name: entry for entry in self.entries}

    def __getitem__(self, name: str) -> Entry:
        """Return a number by name.

        Raises:
            UnknownNameError: it cannot be said, or there is no such number.
        """
        for entry in self.entries:
            if entry.name == name:
                return entry
        error = unknown("number of the plan", name, self.names())
        for absent, why in self.absent:
            if absent == name:
                error.fix = f"it needs {why}"
        raise error


def plan(
    model: Graph | Definition | Account | str | None = None,
    *,
    params: Stated | None = None,
    active: Stated | None = None,
    shape: Mapping[str, int] | None = None,
    recompute: Stated | None = None,
    tokens: Stated | None = None,
    time: Stated | None = None,
    on: str | Machine | None = None,
    devices: int | None = None,
    peak: Stated | None = None,
    dtype: str | None = None,
    mfu: Stated | None = None,
    price: Stated | None = None,
    sizes: Mapping[str, int] | None = None,
    policy: Policy | None = None,
    convention: str = "default",
    dirs: Sequence[str | Path] = (),
) -> Plan:
    """Return what can be said of a run; what cannot be said is absent, never zero.

    Args:
        model: a graph, an account, or the name of a shipped graph or model.
        params: how many parameters, where there is no graph.
        active: how many of them a token touches.
        shape: sizes ``L``, ``H``, ``K``, ``S``, for the attention of a model without a graph.
        recompute: the share of forward that is run again, for a model without a graph.
        tokens: tokens of the run, or tokens for each parameter: ``15T``, ``20 token/parameter``.
        time: what the run may take: then the tokens that it affords, or the MFU that it asks for, follow.
        on: a machine, or its name.
        devices: how many, where the name does not say.
        peak: the dense peak of one device that the catalogue does not have.
        dtype: the number format of contractions; that of the activations where nothing is said.
        mfu: model FLOPs over what the peak allows, assumed: ``50%``.
        price: of one device: ``2 $/hour``.
        sizes: sizes of the graph; the number of sequences may be left open.
        policy: the choices of the run; ``adamw`` in training where nothing is said.
        convention: how counts are priced.
        dirs: folders with machines of the user's.

    >>> found = plan(params="70B", tokens="15T", on="1024xlecture:h100", mfu="0.5")
    >>> days = found["time.run"].value / 86400
    >>> f"{float(days):.2f}", found["time.run"].formula
    ('143.93', 'C/(n*P*u)')
    """
    chosen = policy or Policy(optimizer="adamw")
    check_workload(chosen)
    subject = _subject(model, params, chosen, convention, sizes or {}, active, shape, recompute)
    account = subject.account
    if account is not None and account["params"].expr == 0:
        what, got = "a plan is of a model with parameters", f"graph {subject.name}, which has none"
        fix = "its FLOPs and its time: symacct derive, symacct roofline"
        raise UsageError(what, expected="at least one weight", got=got, fix=fix)
    precision = (account.policy if account else chosen).precision
    other = peak_of(account, dtype)
    machine = devices_of(on, count=devices, peak=peak, dtype=dtype or precision.activations, dirs=dirs)
    given = list(_given(tokens, time, mfu, price))
    known = [*subject.entries, *(machine.entries if machine else ()), *given]
    table = run(known)
    batch = _most_sequences(subject, table)
    if batch is not None:
        table["s"] = batch
    if subject.account is None and not shape:
        table = {symbol: entry for symbol, entry in table.items() if symbol not in "lQzq"}
    if "f" in table and table["f"].value < 0:
        table = {symbol: entry for symbol, entry in table.items() if symbol not in "fs"}
    absent = [*subject.absent, *((n, why) for n, why in ASKED.items() if n not in _names(table))]
    return Plan(
        subject, machine, tuple(table.values()), tuple(absent), tuple(binding(table)),
        (*(account.warnings if account else ()), *_notes(table), *([other] if other else [])),
    )  # fmt: skip


def check_workload(policy: Policy) -> None:
    """Refuse a run that FLOPs do not say the time of.

    Raises:
        UsageError: it is one.
    """
    if policy.workload not in PLANNED:
        raise UsageError(
            f"a run of {policy.workload} is not planned from its FLOPs", expected=" or ".join(PLANNED),
            got=policy.workload, fix="decoding is bound by bandwidth: see symacct roofline",
        )  # fmt: skip


def _names(table: Mapping[str, Entry]) -> set[str]:
    return {entry.name for entry in table.values()}


def _subject(
    model: Graph | Definition | Account | str | None,
    params: Stated | None,
    policy: Policy,
    convention: str,
    sizes: Mapping[str, int],
    active: Stated | None,
    shape: Mapping[str, int] | None,
    recompute: Stated | None,
) -> Subject:
    if (model is None) == (params is None):
        raise UsageError(
            "a plan is of a model, or of a number of parameters", expected="one of them",
            got="neither" if model is None else "both", fix="write symacct plan MODEL, or --params 70B",
        )  # fmt: skip
    if model is None and params is not None:
        if sizes:
            what = "sizes have no meaning for parameters alone"
            raise UsageError(what, expected="no --at", got=", ".join(sizes))
        return of_parameters(params, policy, active=active, shape=shape, recompute=recompute)
    if extra := [
        name for name, one in (("active", active), ("shape", shape), ("recompute", recompute)) if one
    ]:
        what = f"{extra[0]} follows from the graph"
        raise UsageError(what, expected="a graph, or --params and what belongs to it", got="both")
    if isinstance(model, Account):
        return of_account(model, sizes)
    graph = load(model) if isinstance(model, str) else model
    return of_account(derive(graph, policy=policy, convention=convention), sizes)  # type: ignore[arg-type]


def _given(
    tokens: Stated | None, time: Stated | None, mfu: Stated | None, price: Stated | None
) -> list[Entry]:
    if tokens is not None and time is not None and mfu is not None:
        what = "tokens, time and MFU follow from one another"
        raise UsageError(what, expected="two of them", got="all three", fix="leave one out")
    found: list[Entry] = []
    if tokens is not None:
        q = stated(tokens, "a number of tokens", "token", "15T", [str(PER_PARAMETER)])
        value = fraction(q.expr)
        each = q.unit == PER_PARAMETER
        entry = Entry("tokens", "D", "", value, q.unit, "given")
        found.append(replace(entry, symbol="x", name="tokens.parameter") if each else entry)
    if time is not None:
        q = stated(time, "a time", "", "2 week", ["second"])
        found.append(Entry("time.run", "t", "", fraction(q.expr), q.unit, "given"))
    if mfu is not None:
        found.append(Entry("mfu", "u", "", share(mfu, "the MFU"), ONE, "assumed"))
    if price is not None:
        q = stated(price, "the price of a device", "", "2 $/hour", ["dollar/second", str(PRICE)])
        found.append(
            Entry("price", "r", "", fraction(q.expr), PRICE, "of one device", to="dollar/(device*hour)")
        )
    return found


def _most_sequences(subject: Subject, table: Mapping[str, Entry]) -> Entry | None:
    """Return how many sequences have a peak that the devices hold; None where that is not known."""
    account = subject.whole
    batch = None if account is None else batch_size(account)
    if account is None or batch is None or not account.trains or "W" not in table:
        return None
    others = {name: size for name, size in subject.at if name != batch}
    peak = Peak(account.bind(others) if others else account, batch, Courses())
    if not peak.rises:
        return None
    found = largest(lambda size: peak.nbytes(size) <= table["W"].value, batch, peak.domain)
    if found.value is None:
        return None
    said = "the most of which a step's peak fits all devices"
    bound = "≤" if table["n"].value > 1 else ""
    return Entry("sequences", "s", "", Fraction(found.value), Unit("sequence"), said, bound)


# ---- what binds ----


def binding(table: Mapping[str, Entry]) -> list[str]:
    """Return what binds, the first thing first: what no batch can mend, then the batch, then time."""
    said: list[str] = []
    u = table.get("u")
    if u is not None and u.value > 1:
        said.append(f"time: the run would need an MFU of {float(u.value):.3g}, and none is above 1")
    if "M" not in table or "W" not in table:
        return said
    static, whole, each = table["M"].value, table["W"].value, table["K"].value
    if static > whole:
        least = -(-static // each)
        said.append(
            f"memory: the static state alone is {float(static / whole):.3g} times what the devices hold; "
            f"it needs at least {least:,} of them, ceil(M/K), or fewer bytes for each parameter"
        )
        return said
    if "s" in table and table["s"].value < 1:
        said.append("memory: beside the static state not one sequence fits: run more again, or shorten it")
        return said
    if "y" in table and table["y"].value > whole:
        said.append("memory: the peak of a step with one sequence is over what the devices hold")
        return said
    if not said and "t" in table:
        said.append("time: memory holds the static state" + _room(table))
    return said


def _room(table: Mapping[str, Entry]) -> str:
    """Return how much room is left beside the static state."""
    if "s" not in table:
        return ""
    count = table["s"].value.__floor__()
    each = table["s"].value / table["n"].value
    some = f", {float(each):.3g} on a device" if table["n"].value > 1 else ""
    return f" and at most {count:,} sequences at once{some}"


def _notes(table: Mapping[str, Entry]) -> list[str]:
    found = [f"not counted: {NOT_COUNTED}"] if "t" in table else []
    found += [f"activations: {KEPT}"] if "a" in table else []
    peaks = [one for one in "py" if one in table]
    if peaks:
        long = [one for one in peaks if not table[one].formula]
        rest = f" (that of {' and '.join(long)} is long)" if long else ""
        found.append(f"a peak has a formula for each region of sizes: symacct memory has them all{rest}")
    if "E" in table:
        over = ", ".join(one for one in "cakpy" if one in table and (one in "cak" or table[one].formula))
        found.append(f"formulas of {over} are over the sizes of the graph, the others over the symbols above")
    if "n" in table and table["n"].value > 1 and "M" in table:
        found.append(
            "≥: ideal even sharding of every byte, and nothing held beside it: a bound, not a layout"
        )
    if "D" in table and table["D"].bound:
        found.append("≤: at the peak; an MFU (--mfu) gives an estimate in place of the bound")
    return found
