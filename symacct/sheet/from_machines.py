"""Rows of a machine: each figure with its source; what is not known is left out."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

from symacct.errors import SymacctError
from symacct.report.amount import digits
from symacct.sheet.data import Cell, Row, Section, Words
from symacct.sheet.words import word

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from symacct.machines import Figure, Machine

TERA, GIGA = 10**12, 10**9
HEADS = ("machine", "16 bits", "fp8", "int8", "vector fp32", "GB/s", "nominal GB", "ridge", "W", "source")
"""Rates in TFLOP/s (Top/s of integers), the ridge of 16 bits in FLOP/byte."""
SIXTEEN = ("bf16", "fp16")
ABSENT = "–"


def machine_section(machine: Machine, lang: str = "en") -> Section:
    """Return what a machine can do.

    >>> from symacct.machines import load
    >>> [row.name for row in machine_section(load("lecture:h100")).rows if "bf16" in row.name]
    ['peak, bf16', 'ridge, bf16']
    """
    rows = (replace(row, name=_called(row.name, lang)) for row in _rows(machine))
    return Section(f"{machine.name}{word(': ', lang)}{machine.title}", tuple(rows))


def _called(name: str, lang: str) -> str:
    """Return the name of a figure in a language.

    >>> _called("peak, bf16 dense", "zh"), _called("memory", "zh"), _called("power", "en")
    ('峰值，bf16 稠密', '显存', 'power')
    """
    kind, comma, of = name.partition(", ")
    of = " ".join(word(one, lang) for one in of.split(" "))
    return f"{word(kind, lang)}{word(comma, lang)}{of}"


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


# ---- several, as one table ----


def machines_section(machines: Iterable[Machine]) -> Section:
    """Return a table with a row for each machine: dense peaks, and the ridge of the first of them.

    >>> from symacct.machines import load
    >>> [row.name for row in machines_section([load("h100-sxm"), load("tpu-v5e")]).rows]
    ['h100-sxm', 'tpu-v5e']
    """
    return Section("", tuple(_of_machine(one) for one in machines), HEADS)


def _of_machine(machine: Machine) -> Row:
    dtype = next((one for one in SIXTEEN if one in machine.dtypes()), "")
    sixteen = machine.peak(dtype) if dtype else None
    vector = machine.vector_peak("fp32")
    figures = (sixteen, *(_peak(machine, one) for one in ("fp8", "int8")), vector)
    rates = [_number(one, TERA) for one in figures]
    if dtype == SIXTEEN[1]:
        rates[0] += f" {dtype}"
    ridge = ABSENT
    if sixteen is not None and machine.bandwidth is not None:
        ridge = digits(sixteen.value / machine.bandwidth.value)
    held = (machine.bandwidth, machine.capacity)
    shown = [*rates, *(_number(one, GIGA) for one in held), ridge, _number(machine.power, 1)]
    source = _sources((*figures, *held, machine.power))
    cells: list[Cell] = [(Words(text),) for text in (*shown, source)]
    topic = frozenset({"machine"})
    return Row(machine.name, mark="reported", cells=tuple(cells), source=source, topic=topic)


def _peak(machine: Machine, dtype: str) -> Figure | None:
    return machine.peak(dtype) if dtype in machine.dtypes() else None


def _number(figure: Figure | None, scale: int) -> str:
    """Return a figure as it was stated, without its unit."""
    if figure is None:
        return ABSENT
    value = figure.value / Fraction(scale)
    return f"{value.numerator}" if value.denominator == 1 else f"{float(value):.6g}"


def _sources(figures: Iterable[Figure | None]) -> str:
    said = (f"{one.source}, {one.date}" for one in figures if one is not None)
    return "; ".join(dict.fromkeys(said))
