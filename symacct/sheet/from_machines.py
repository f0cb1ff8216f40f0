"""Rows of a machine: each figure with its source; what is not known is left out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from symacct.errors import SymacctError
from symacct.report.amount import digits
from symacct.sheet.data import Row, Section, Words

if TYPE_CHECKING:
    from collections.abc import Iterator

    from symacct.machines import Figure, Machine

TERA = 10**12


def machine_section(machine: Machine) -> Section:
    """Return what a machine can do.

    >>> from symacct.machines import load
    >>> [row.name for row in machine_section(load("lecture:h100")).rows if "bf16" in row.name]
    ['peak, bf16', 'ridge, bf16']
    """
    return Section(f"{machine.name}: {machine.title}", tuple(_rows(machine)))


def _rows(machine: Machine) -> Iterator[Row]:
    for peak in machine.peaks:
        yield _row(f"peak, {peak}", peak.figure)
    for vector in machine.vectors:
        yield _row(f"vector rate, {vector.name}", vector.figure)
    figures = {"memory bandwidth": machine.bandwidth, "memory": machine.capacity, "power": machine.power}
    yield from (_row(name, figure) for name, figure in figures.items() if figure is not None)
    for link in machine.links:
        yield _row(f"link, {link.name}", link.figure)
    if machine.bandwidth is None:
        return
    for dtype in dict.fromkeys(peak.dtype for peak in machine.peaks if not peak.sparse):
        try:
            rate = machine.peak(dtype)
        except SymacctError:
            continue
        ridge = digits(rate.value / machine.bandwidth.value)
        unit = f"{rate.unit.partition('/')[0]}/byte"
        yield Row(
            f"ridge, {dtype}",
            (Words("peak / bandwidth"),),
            mark="computed",
            worth=(Words(f"{ridge} {unit}"),),
        )


def _row(name: str, figure: Figure) -> Row:
    source = f"{figure.source}, {figure.date}" if figure.date else figure.source
    return Row(name, (Words(str(figure)),), mark="reported", source=source, comment=figure.note)
