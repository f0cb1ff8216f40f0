"""A machine as a file, for measurements that are kept."""

from __future__ import annotations

import json
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import TYPE_CHECKING

from symacct.errors import ReadError, UsageError
from symacct.machines.reading import ONE_WAY, UNITS

if TYPE_CHECKING:
    from pathlib import Path

    from symacct.machines.machine import Figure, Machine

DIGITS = 60


def write(machine: Machine, path: Path) -> None:
    """Write one device as a machine file that reads back to the same values.

    Raises:
        UsageError: these are several devices, or a number is no finite decimal.
        ReadError: the file cannot be written.
    """
    text = as_toml(machine)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise ReadError(
            "a machine file cannot be written", where=str(path)[:200], got=str(error)[:120]
        ) from None


def as_toml(machine: Machine) -> str:
    """Return the text of a machine file.

    Raises:
        UsageError: these are several devices, or a number is no finite decimal.
    """
    if machine.count != 1:
        raise UsageError("a machine file describes one device", expected="count 1", got=str(machine.count))
    lines = [f"title = {_quoted(machine.title)}"]
    lines += ["one_peak = true"] if machine.one_peak else []
    for part in UNITS:
        figure = getattr(machine, part)
        lines += [f"{part} = {{ {_figure(figure)} }}"] if figure is not None else []
    lists = {
        "peaks": [(_peak(one.dtype, one.accumulate, sparse=one.sparse), one.figure) for one in machine.peaks],
        "vectors": [(f"dtype = {_quoted(one.name)}", one.figure) for one in machine.vectors],
        "caches": [(f"name = {_quoted(one.name)}", one.figure) for one in machine.caches],
        "links": [
            (f'name = {_quoted(one.name)}, direction = "{ONE_WAY}"', one.figure) for one in machine.links
        ],
    }
    for name, rows in lists.items():
        if rows:
            lines.append(f"{name} = [")
            lines += [f"  {{ {head}, {_figure(figure)} }}," for head, figure in rows]
            lines.append("]")
    return "\n".join(lines) + "\n"


def _peak(dtype: str, accumulate: str | None, *, sparse: bool) -> str:
    into = f"accumulate = {_quoted(accumulate)}, " if accumulate else ""
    return f"dtype = {_quoted(dtype)}, {into}sparse = {str(sparse).lower()}"


def _figure(figure: Figure) -> str:
    note = f", note = {_quoted(figure.note)}" if figure.note else ""
    return (
        f"value = {_decimal(figure.value)}, unit = {_quoted(figure.unit)}, "
        f"source = {_quoted(figure.source)}, date = {_quoted(figure.date)}{note}"
    )


def _decimal(value: Fraction) -> str:
    with localcontext() as context:
        context.prec = DIGITS
        number = Decimal(value.numerator) / Decimal(value.denominator)
    if Fraction(number) != value:
        raise UsageError("a number of a machine file is a finite decimal", expected="round it first",
                         got=str(value)[:64])  # fmt: skip
    return format(number, "f")


def _quoted(text: str) -> str:
    """Return a TOML text: JSON's escapes are all among TOML's."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
