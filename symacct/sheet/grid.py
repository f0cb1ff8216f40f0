"""Sections that are one table, with columns of their own, in each format: machines, number formats."""

from __future__ import annotations

from typing import TYPE_CHECKING

from symacct.report.table import Column, Table, as_text
from symacct.sheet.chinese import cited
from symacct.sheet.data import Words
from symacct.sheet.words import word

if TYPE_CHECKING:
    from collections.abc import Iterator

    from symacct.sheet.cells import Setter
    from symacct.sheet.data import Cell, Row, Section


def cells_of(section: Section, setter: Setter) -> Iterator[list[str]]:
    """Yield the head of a table and its rows, set.

    Raises:
        FormulaError: a formula does not read back.
    """
    yield [setter.words(word(one, setter.lang)) for one in section.heads]
    yield from (_cells(row, setter, section.heads[1:]) for row in section.rows)


def _cells(row: Row, setter: Setter, heads: tuple[str, ...]) -> list[str]:
    return [
        setter.code(row.name),
        *(_cell(one, row, setter, head) for one, head in zip(row.cells, heads, strict=True)),
    ]


def _cell(cell: Cell, row: Row, setter: Setter, head: str) -> str:
    if head == "source" and setter.lang == "zh":
        cell = tuple(Words(cited(item.text)) if isinstance(item, Words) else item for item in cell)
    return setter.set(cell, row.name)


def tex_grid(section: Section, setter: Setter) -> Iterator[str]:
    r"""Yield a table of the whole width; the last column takes what is left, and wraps."""
    head, *rows = cells_of(section, setter)
    yield f"\\begin{{grid}}{{{len(head) - 1}}}"
    yield " & ".join(f"\\itshape {one}" for one in head) + "\\\\[1pt]\\hline\\rule{0pt}{8pt}%"
    yield from (" & ".join(row) + "\\\\" for row in rows)
    yield "\\end{grid}"


def markdown_grid(section: Section, setter: Setter) -> Iterator[str]:
    """Yield the lines of a table."""
    head, *rows = cells_of(section, setter)
    for cells in (head, [":---"] * len(head), *rows):
        yield f"| {' | '.join(cells)} |"


def html_grid(section: Section, setter: Setter, count: Iterator[int]) -> str:
    """Return a table, which scrolls by itself where it is wider than the page; rows are counted on."""
    head, *rows = cells_of(section, setter)
    top = "".join(f'<th scope="col">{one}</th>' for one in head)
    body = "\n".join(_html_row(row, next(count)) for row in rows)
    table = f'<table class="grid">\n<thead><tr>{top}</tr></thead>\n<tbody>\n{body}\n</tbody>\n</table>'
    return f'<div class="wide">\n{table}\n</div>\n'


def _html_row(cells: list[str], place: int) -> str:
    shown = "".join(f"<td>{cell}</td>" for cell in cells)
    return f'<tr id="r{place}">{shown}</tr>'


def text_grid(section: Section, setter: Setter, width: int) -> str:
    """Return an aligned table."""
    head, *rows = cells_of(section, setter)
    columns = tuple(Column(one) for one in head)
    return as_text(Table(columns, tuple(tuple(row) for row in rows)), width)
