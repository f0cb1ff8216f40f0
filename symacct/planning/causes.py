"""Why a utilisation above 1 is wrong: known slips and their ratios, ranked by what is left of the value."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING

from symacct.account import Account
from symacct.algebra.evaluate import names_of
from symacct.algebra.normal import normal
from symacct.errors import SymacctError
from symacct.planning.devices import SAME, catalogue
from symacct.planning.entries import fraction
from symacct.planning.leading import leading
from symacct.policy import Policy
from symacct.units import read_unit

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from symacct.machines import Machine
    from symacct.planning.devices import Devices
    from symacct.planning.entries import Entry
    from symacct.planning.subject import Subject

MOST_CAUSES, MOST_PARTS = 6, 4
NODE = 8
"""Devices of a node, as most machines are built."""


@dataclass(frozen=True, slots=True)
class Cause:
    """A slip that may be behind it.

    Attributes:
        what: in words; the names of parts where the peak may be theirs.
        ratio: by how much the slip makes the value too large.
        after: the value without the slip.
        part: whether it is another part's peak.
    """

    what: str
    ratio: Fraction
    after: Fraction
    part: bool = False

    def __str__(self) -> str:
        """Return the ratio, the slip, and the value without it."""
        return f"{_number(self.ratio)}: {self.what} -> {_percent(self.after)}"


class ImpossibleError(SymacctError):
    """A utilisation is above what is possible; the likely causes are ranked.

    >>> from symacct.planning.mfu import Measurement, mfu
    >>> try:
    ...     mfu(measured=Measurement(achieved="420 TFLOP/s"), on="a100-sxm-80gb")
    ... except ImpossibleError as error:
    ...     print(error.what, "|", error.causes[0].ratio, error.causes[0].what[:15])
    an MFU of 134.6 % is above 100 % | 2 the work is 2:4
    """

    value: Fraction = Fraction(0)
    causes: tuple[Cause, ...] = ()

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle with every field."""
        facts = {name: getattr(self, name) for name in ("what", "where", "expected", "got", "fix")}
        return (_rebuild, (facts, self.value, self.causes))


def _rebuild(facts: dict[str, str], value: Fraction, causes: tuple[Cause, ...]) -> ImpossibleError:
    error = ImpossibleError(facts.pop("what"), **facts)
    error.value, error.causes = value, causes
    return error


def impossible(
    table: Mapping[str, Entry], symbol: str, limit: Fraction, devices: Devices, subject: Subject | None
) -> ImpossibleError:
    """Return the error for a value above a limit, with its causes ranked."""
    entry = table[symbol]
    name = "MFU" if symbol == "u" else "HFU"
    ranked = rank(causes(table, devices, subject), entry.value, limit)
    achieved = table["X" if symbol == "u" else "Y"].value
    error = ImpossibleError(
        f"an {name} of {_percent(entry.value)} is above {_percent(limit)}",
        where=f"{devices.name}: {_tera(devices.peak)}/s for each, dense {devices.dtype}, {devices.source}",
        expected=f"at most {_percent(limit)}, that is {_tera(limit * devices.peak)}/s for each device",
        got=f"{_tera(achieved)}/s for each device: {entry.formula}",
        fix=_said(ranked, entry.value, limit, table),
    )
    error.value, error.causes = entry.value, ranked
    return error


def _said(ranked: tuple[Cause, ...], value: Fraction, limit: Fraction, table: Mapping[str, Entry]) -> str:
    indent = "\n" + " " * 12
    slips = [one for one in ranked if not one.part]
    parts = [f"{one.what} {_number(one.ratio)} -> {_percent(one.after)}" for one in ranked if one.part]
    lines = [
        "likely causes, the nearest first (ratio: cause -> value without it)",
        *map(str, slips[:MOST_CAUSES]),
    ]
    if not ranked:
        lines = [f"no single slip that is known explains a factor of {_number(value)}"]
    if parts:
        lines.append(f"or it ran on another part: {'; '.join(parts[:MOST_PARTS])}")
    least = (value / limit * table["n"].value).__ceil__()
    lines.append(f"or more devices took part: at least {least:,}, not {int(table['n'].value):,}")
    if _is_stated(table):
        lines.append("the rate was stated: let symacct count, from a model, a time and a batch")
    else:
        lines.append("not the cause: recompute counted (4/3), or MAC for FLOP (2): the numerator is derived")
    return indent.join(lines)


def _is_stated(table: Mapping[str, Entry]) -> bool:
    return "X" in table and not table["X"].formula


def rank(found: Iterator[Cause] | tuple[Cause, ...], value: Fraction, limit: Fraction) -> tuple[Cause, ...]:
    """Return the causes that bring the value down far enough: those first that leave it nearest the limit."""
    enough = [replace(one, after=value / one.ratio) for one in found if one.ratio > 1]
    enough = [one for one in enough if one.after <= limit]
    enough.sort(key=lambda one: (-one.after, one.what))
    return tuple(enough)


def causes(table: Mapping[str, Entry], devices: Devices, subject: Subject | None) -> Iterator[Cause]:
    """Yield every slip that may be behind a value, without regard to the value."""
    for made in (
        _of_peak(devices),
        _of_numerator(table, subject),
        _of_count(table, devices),
        _of_units(table),
    ):
        for what, ratio in made:
            yield Cause(what, ratio, Fraction(0))
    yield from _of_parts(devices)


def _of_peak(devices: Devices) -> Iterator[tuple[str, Fraction]]:
    """Yield peaks of the machine that may have been meant: with sparsity, of another format."""
    for one in devices.machine.peaks if devices.machine is not None else ():
        if one.figure.unit != "FLOP/second":
            continue
        ratio = one.figure.value / (devices.peak * devices.count)
        if one.sparse and one.dtype == devices.dtype:
            yield "the work is 2:4 sparse, and the peak is the dense one", ratio
        elif not one.sparse:
            yield f"the work is in {one}, and the peak is that of {devices.dtype}", ratio


def _of_parts(devices: Devices) -> Iterator[Cause]:
    """Yield the other parts of the maker, by their peak for the same format."""
    others: dict[Fraction, list[str]] = {}
    for machine in catalogue():
        alike = ":" not in machine.name and _alike(machine, devices.machine)
        if alike and devices.dtype in machine.dtypes():
            peak = machine.peak(devices.dtype)
            if peak.unit == "FLOP/second" and abs(peak.value - devices.peak) > SAME * peak.value:
                others.setdefault(peak.value, []).append(machine.name)
    for value, names in others.items():
        yield Cause(", ".join(names), value / devices.peak, Fraction(0), part=True)


def _alike(machine: Machine, own: Machine | None) -> bool:
    """Return whether one may be taken for the other: of one maker, where that is known."""
    return own is None or ":" in own.name or _maker(machine) == _maker(own)


def _maker(machine: Machine) -> str:
    """Return who makes a part: the first word of its title."""
    return machine.title.split()[0]


def _of_numerator(table: Mapping[str, Entry], subject: Subject | None) -> Iterator[tuple[str, Fraction]]:
    """Yield what may be counted too often in the FLOPs."""
    if _is_stated(table):
        mac = read_unit("MAC")[0] / read_unit("FLOP")[0]
        yield "what was counted in FLOP already was doubled, as if it were MAC", mac
        each = leading(Policy())
        yield "what is run again is in the numerator: that is HFU", (each.model + each.forward) / each.model
        yield "backward is counted, and only forward ran", each.model / each.forward
    if subject is None:
        return
    if subject.account is None:
        each = leading(Policy())
        yield "backward is counted, and only forward ran", each.model / each.forward
        return
    yield from _of_graph(subject.account)


def _of_graph(account: Account) -> Iterator[tuple[str, Fraction]]:
    """Yield what a kernel may leave out of the graph's contractions."""
    name = "flops.model" if account.trains else "flops.forward"
    whole = account[name].expr
    if account.convention.attention == "full":
        half = Account(account.source, account.policy, replace(account.convention, attention="exact"))
        ratio = normal(whole / half[name].expr) if half[name].expr != 0 else normal(1)
        if not names_of(ratio):
            yield (
                "attention is causal and its kernel skips what the mask hides (--attention exact)",
                fraction(ratio),
            )
    if account.trains and account["flops.forward"].expr != 0:
        ratio = normal(whole / account["flops.forward"].expr)
        if not names_of(ratio):
            yield "backward is counted, and only forward ran (--workload forward)", fraction(ratio)
    used, every = account["params.active"].expr, account["params"].expr
    if used != every and not names_of(normal(every / used)):
        yield "every expert is counted, and a token uses some", fraction(normal(every / used))


def _of_count(table: Mapping[str, Entry], devices: Devices) -> Iterator[tuple[str, Fraction]]:
    """Yield how devices, micro-steps and sequences may be miscounted."""
    yield f"the rate is of a node of {NODE}, and the peak of one device", Fraction(NODE)
    if devices.count > 1 and devices.count != NODE:
        yield (
            f"a rate of all {devices.count:,} devices was multiplied by their number",
            Fraction(devices.count),
        )
    if "S" in table:
        yield "the batch was in tokens, and was multiplied by the length of a sequence", table["S"].value
    if "k" in table and table["k"].value > 1:
        yield "the batch was that of a whole step, with its micro-steps", table["k"].value


def _of_units(table: Mapping[str, Entry]) -> Iterator[tuple[str, Fraction]]:
    """Yield slips of a decimal place, a prefix or a unit of time."""
    yield "a decimal place", Fraction(10)
    yield "a prefix: G for T, or a ms taken for a second", Fraction(1000)
    if "t" in table:
        yield "minutes taken for seconds", read_unit("minute")[0]


def _number(value: Fraction) -> str:
    return str(value) if value.denominator < NODE else f"{float(value):.4g}"


def _percent(value: Fraction) -> str:
    return f"{float(value * 100):.4g} %"


def _tera(value: Fraction) -> str:
    return f"{float(value / 10**12):.5g} TFLOP"
