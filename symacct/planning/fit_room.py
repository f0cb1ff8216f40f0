"""What there is room for: the memory of a machine, nominal, less what is reserved on each device."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from symacct.errors import UsageError
from symacct.machines import load
from symacct.machines.machine import in_words
from symacct.planning.entries import fraction, stated
from symacct.syntax import read_amount

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from symacct.machines import Machine
    from symacct.planning.entries import Stated


@dataclass(frozen=True, slots=True)
class Room:
    """The memory of a machine.

    Attributes:
        machine: one device, or several with ideal even sharding.
        each: bytes of one device, nominal.
        reserve: bytes of each device that are left to what is not counted.
        source: who states the capacity.
    """

    machine: Machine
    each: Fraction
    reserve: Fraction
    source: str

    @property
    def count(self) -> int:
        """How many devices."""
        return self.machine.count

    @property
    def usable(self) -> Fraction:
        """Bytes of one device that may be filled."""
        return self.each - self.reserve

    @property
    def total(self) -> Fraction:
        """Bytes of all devices that may be filled."""
        return self.usable * self.count

    @property
    def bound(self) -> str:
        """The sign before each number that rests on ideal even sharding; empty for one device."""
        return "≥" if self.count > 1 else ""

    def fits(self, nbytes: Fraction) -> bool:
        """Say whether so many bytes fit, evenly sharded."""
        return nbytes <= self.total

    def devices(self, nbytes: Fraction) -> int:
        """Return how many of these devices hold so many bytes at least, evenly sharded.

        >>> room = room_of("8xh100-sxm", reserve="2 GB")
        >>> room.devices(Fraction(78 * 10**9)), room.devices(Fraction(78 * 10**9 + 1))
        (1, 2)
        """
        return max(1, -(-nbytes // self.usable))

    def several(self, count: int) -> Machine:
        """Return so many of this part."""
        name = self.machine.name
        if self.count > 1:
            name = name.removeprefix(f"{self.count}x")
        one = _single(self.machine, name)
        return one.times(count)


def room_of(on: str | Machine, *, reserve: Stated | None = None, dirs: Sequence[str | Path] = ()) -> Room:
    """Return the room on a machine.

    Args:
        on: a machine, or its name: ``8xh100-sxm``.
        reserve: what is kept free on each device: ``2GB``.
        dirs: folders with machines of the user's.

    Raises:
        UnknownNameError: there is no such machine; the nearest is named.
        RuleError: its capacity is not known.
        UsageError: nothing is left beside the reserve.

    >>> room = room_of("8xh100-sxm", reserve="2 GB")
    >>> int(room.total), int(room.each), room.bound
    (624000000000, 80000000000, '≥')
    """
    machine = load(on, dirs) if isinstance(on, str) else on
    figure = machine.needed("capacity")
    each = figure.value / machine.count
    kept = Fraction(0) if reserve is None or _nothing(reserve) else _reserve(reserve)
    if kept >= each:
        raise UsageError(
            "nothing is left beside the reserve", where="--reserve",
            expected=f"less than the {in_words(each, 'byte')} of one {machine.title}", got=str(reserve)[:64],
        )  # fmt: skip
    return Room(machine, each, kept, f"{figure.source} ({figure.date})")


def _reserve(given: Stated) -> Fraction:
    return fraction(stated(given, "the reserve of a device", "", "2GB", ["byte"]).expr)


def _nothing(given: Stated) -> bool:
    """Say whether a reserve is 0: then it needs no unit."""
    if isinstance(given, str):
        value, unit = read_amount(given)
        return value == 0 and str(unit) in ("1", "byte")
    return given == 0


def _single(machine: Machine, name: str) -> Machine:
    """Return one device of several: what is theirs together is divided, links are each device's own."""
    from dataclasses import replace

    if machine.count == 1:
        return machine
    share = Fraction(1, machine.count)
    return replace(
        machine,
        name=name,
        count=1,
        peaks=tuple(replace(one, figure=one.figure.times(share)) for one in machine.peaks),
        vectors=tuple(replace(one, figure=one.figure.times(share)) for one in machine.vectors),
        caches=tuple(replace(one, figure=one.figure.times(share)) for one in machine.caches),
        bandwidth=machine.bandwidth and machine.bandwidth.times(share),
        capacity=machine.capacity and machine.capacity.times(share),
        power=machine.power and machine.power.times(share),
    )
