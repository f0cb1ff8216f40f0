"""What a run takes place on: how many devices, and the peak and the memory of each, with their sources."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from symacct.errors import UnitError, UsageError
from symacct.machines import Machine, Peak, load, names
from symacct.machines.catalogue import CALIBRATED
from symacct.planning.entries import Entry, Stated, fraction, stated
from symacct.units import Unit

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

DEVICE, RATE, CAPACITY = Unit("device"), Unit("FLOP/(device*second)"), Unit("byte/device")
MOST_DEVICES = 10**7
SAME = Fraction(1, 1000)
"""How near two published figures of one peak may be."""


@dataclass(frozen=True, slots=True)
class Devices:
    """Devices that work on one run.

    Attributes:
        name: of the machine, or what was said of it.
        count: how many.
        peak: FLOP/s of each, dense.
        dtype: the number format that the peak is of.
        source: who says so.
        capacity: bytes of each; None where it is not known.
        machine: its entry in the catalogue; None where only a peak was given.
    """

    name: str
    count: int
    peak: Fraction
    dtype: str
    source: str
    capacity: Fraction | None = None
    machine: Machine | None = None

    @property
    def entries(self) -> tuple[Entry, ...]:
        """The numbers, as other numbers use them."""
        about = f"dense {self.dtype}, of one"
        found = [
            Entry("devices", "n", "", Fraction(self.count), DEVICE, self.name),
            Entry("peak", "P", "", self.peak, RATE, about, to="TFLOP/(device*s)"),
        ]
        if self.capacity is not None:
            found.append(Entry("capacity", "K", "", self.capacity, CAPACITY, "of one, nominal"))
        return tuple(found)


def devices_of(
    on: str | Machine | None = None,
    *,
    count: int | None = None,
    peak: Stated | None = None,
    dtype: str = "bf16",
    dirs: Sequence[str | Path] = (),
) -> Devices | None:
    """Return the devices of a run: from the catalogue, or from a peak that is given; None where neither is.

    Args:
        on: a machine, or its name: ``1024xh100-sxm``.
        count: how many, where the name does not say so.
        peak: the dense peak of one device, where the catalogue has none: ``275 TFLOP/s``.
        dtype: the number format of the contractions.
        dirs: folders with machines of the user's.

    Raises:
        UsageError: both are given, or the number of devices is said twice.
        RuleError: the machine has no dense peak for this format.

    >>> found = devices_of("8xlecture:h100")
    >>> found.count, int(found.peak)
    (8, 989500000000000)
    """
    if count is not None and not (type(count) is int and 1 <= count <= MOST_DEVICES):
        what = "a number of devices is out of range"
        raise UsageError(what, expected=f"an integer from 1 to {MOST_DEVICES}", got=str(count)[:40])
    if peak is not None:
        return _stated(on, count or 1, peak, dtype)
    if on is None:
        if count is not None:
            what = "devices without a machine say nothing"
            raise UsageError(what, expected="--on MACHINE or --peak RATE", got=f"{count} devices")
        return None
    machine = load(on, dirs) if isinstance(on, str) else on
    if count is not None:
        if machine.count != 1:
            what = "the number of devices is said twice"
            raise UsageError(
                what, expected=f"{machine.name} alone", got=f"{machine.name}, and {count} devices"
            )
        machine = machine.times(count)
    figure = machine.peak(dtype)
    if figure.unit != "FLOP/second":
        raise UnitError(
            f"the {dtype} peak of {machine.name} is no rate of floating-point work",
            expected="a format whose peak is in FLOP/s", got=figure.unit, fix="name another --dtype",
        )  # fmt: skip
    held = machine.capacity
    each = None if held is None else held.value / machine.count
    source = f"{figure.source} ({figure.date})"
    return Devices(machine.name, machine.count, figure.value / machine.count, dtype, source, each, machine)


def _stated(on: object, count: int, peak: Stated, dtype: str) -> Devices:
    if on is not None:
        what = "a peak is given, and a machine that has its own"
        raise UsageError(what, expected="--on MACHINE or --peak RATE", got=f"{on} and {peak}"[:80])
    found = stated(peak, "a peak", "", "275 TFLOP/s", ["FLOP/second", str(RATE)])
    _check_dense(fraction(found.expr), peak, dtype)
    return Devices(f"{count} x a device of {peak}", count, fraction(found.expr), dtype, "as given")


def _check_dense(value: Fraction, peak: Stated, dtype: str) -> None:
    """Refuse a peak that the catalogue has with 2:4 sparsity alone: the work of a model is dense.

    Raises:
        UsageError: it is such a peak.
    """
    sparse: list[str] = []
    for machine, one in _peaks(dtype):
        if abs(one.figure.value - value) <= SAME * value:
            if not one.sparse:
                return
            sparse.append(machine.name)
    if sparse:
        machine = load(sparse[0])
        raise UsageError(
            f"{peak} is the {dtype} peak of {', '.join(sparse)} with 2:4 sparsity, and the work is dense",
            expected=f"the dense peak: {machine.peak(dtype)} for {machine.name}", got=str(peak)[:40],
            fix=f"write --on {machine.name}",
        )  # fmt: skip


def _peaks(dtype: str) -> Iterator[tuple[Machine, Peak]]:
    for machine in catalogue():
        yield from ((machine, one) for one in machine.peaks if one.dtype == dtype)


def catalogue() -> Iterator[Machine]:
    """Yield the machines that ship with numbers."""
    for name in names():
        if name not in CALIBRATED:
            yield load(name)
