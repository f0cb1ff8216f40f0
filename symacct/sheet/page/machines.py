"""Machines as a page needs them: rates and capacity, exact, with where they stand."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from symacct.errors import SymacctError
from symacct.machines import load, names

if TYPE_CHECKING:
    from collections.abc import Iterable
    from fractions import Fraction

    from symacct.machines import Figure, Machine

USUAL = "h100-sxm"


@cache
def shipped_machines() -> tuple[Machine, ...]:
    """Return the machines that ship with figures; one that has to be calibrated first is left out.

    >>> USUAL in [machine.name for machine in shipped_machines()]
    True
    """
    found = []
    for name in names():
        try:
            found.append(load(name))
        except SymacctError:
            continue
    return tuple(found)


def offered(own: Iterable[Machine]) -> dict[str, Machine]:
    """Return the machines that a page offers, by name: its own first, then the usual one, then all that ship.

    >>> next(iter(offered(())))
    'h100-sxm'
    """
    ships = {machine.name: machine for machine in shipped_machines()}
    given = {machine.name: machine for machine in own}
    return given | {name: ships[name] for name in (USUAL, *ships) if name not in given}


def machine_data(machine: Machine) -> dict[str, Any]:
    """Return what a page needs of a machine; an unknown figure is an empty text.

    >>> from symacct.machines import load
    >>> machine_data(load("h100-sxm"))["peaks"]["bf16"]
    '989500000000000'
    """
    peaks = {dtype: machine.peak(dtype).value for dtype in machine.dtypes()}
    sources = [peak.figure for peak in machine.peaks] + [
        figure for figure in (machine.bandwidth, machine.capacity) if figure is not None
    ]
    return {
        "name": machine.name,
        "title": machine.title,
        "source": "; ".join(dict.fromkeys(_source(figure) for figure in sources)),
        "peaks": {dtype: str(value) for dtype, value in peaks.items()},
        "vectors": {one.name: str(one.figure.value) for one in machine.vectors},
        "one_peak": machine.one_peak,
        "bandwidth": _text(machine.bandwidth),
        "capacity": _text(machine.capacity),
        "bound": machine.bound,
    }


def _source(figure: Figure) -> str:
    return f"{figure.source}, {figure.date}" if figure.date else figure.source


def _text(figure: Figure | None) -> str:
    value: Fraction | str = "" if figure is None else figure.value
    return str(value)
