"""A sweep as CSV: a row for each point, written as it is worked out."""

from __future__ import annotations

import csv
from time import monotonic
from typing import TYPE_CHECKING, Any

from symacct.printers import text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import TextIO

    from symacct.evaluation.sweep import Block, Sweep

EVERY = 2.0
"""Seconds between two reports of progress."""


def header(found: Sweep) -> list[str]:
    """Return the names of the columns: choices, sizes, formulas with their units, and a note."""
    first = found.cases[0]
    formulas = [one.text if str(one.unit) == "1" else f"{one.text} [{one.unit}]" for one in first.columns]
    return [*first.labels, *found.grid.names, *formulas, "note"]


def rows(block: Block) -> Iterator[list[str]]:
    """Yield the rows of a block; a point without a value has an empty cell, and says why."""
    labels = list(block.case.labels.values())
    sizes = [_listed(values) for values in block.sizes.values()]
    values = [_listed(column) for column in block.values]
    for place, point in enumerate(zip(*sizes, strict=True)):
        cells = [_cell(column[place]) for column in values]
        yield [*labels, *(str(int(size)) for size in point), *cells, block.notes.get(place, "")]


def _listed(values: Any) -> Sequence[Any]:
    listed: Sequence[Any] = values if isinstance(values, list) else values.tolist()
    return listed


def _cell(value: Any) -> str:
    if isinstance(value, float):
        if value != value:  # noqa: PLR0124 (NaN)
            return ""
        return str(int(value)) if value == int(value) and abs(value) < 2**53 else repr(value)
    return "" if value is None else text(value)


def write_csv(found: Sweep, file: TextIO, progress: Callable[[int, int], None] | None = None) -> int:
    r"""Write a sweep, and return how many rows.

    Args:
        found: the sweep.
        file: where to; opened with ``newline=""``.
        progress: is told how many points are done, of how many, every few seconds.

    >>> import io
    >>> from symacct.evaluation.sweep import sweep
    >>> from symacct.evaluation.sweep_cases import make_case
    >>> file = io.StringIO()
    >>> write_csv(sweep([make_case(None, ["B*D/4"])], {"B": [2], "D": [3]}), file)
    1
    >>> print(file.getvalue().replace("\r", "").strip())
    B,D,B*D/4,note
    2,3,3/2,
    """
    writer = csv.writer(file)
    writer.writerow(header(found))
    done, last = 0, monotonic()
    for block in found:
        count = 0
        for row in rows(block):
            writer.writerow(row)
            count += 1
        done += count
        if progress is not None and monotonic() - last > EVERY:
            progress(done, found.count)
            last = monotonic()
    return done
