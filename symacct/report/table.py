"""Tables of text, and how they look as plain text, Markdown and CSV."""

from __future__ import annotations

import csv
import re
from dataclasses import dataclass
from io import StringIO
from typing import TYPE_CHECKING
from unicodedata import combining, east_asian_width

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

GAP = "  "
NARROWEST, NAMES = 18, 22
"""How narrow a column may become, and the first one, which holds names of quantities."""
LONGEST_NAME = 40
"""Up to how long a piece without a place to break it makes its column wider instead."""
BREAKS = (re.compile(r" (?=[-+] )"), re.compile(r"(?<![-+]) "), re.compile(r"(?<=[*/,;])(?=[^ ])"))
"""Where a cell may be broken, best first: before a sign between terms, at a space, after an operator."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column: its title, whether it is set to the right, and whether its cells may be broken."""

    title: str
    right: bool = False
    breaks: bool = True


@dataclass(frozen=True, slots=True)
class Table:
    """Columns and rows; a row is one cell for each column, or a text over all of them.

    Such a text is a heading, or, where it starts with a space, a remark on the row above.
    """

    columns: tuple[Column, ...]
    rows: tuple[tuple[str, ...] | str, ...]

    @property
    def cells(self) -> list[tuple[str, ...]]:
        """The rows that are no headings."""
        return [row for row in self.rows if not isinstance(row, str)]

    def trimmed(self) -> Table:
        """Return the table without columns that are empty in all rows."""
        kept = [place for place in range(len(self.columns)) if any(row[place] for row in self.cells)]
        rows = tuple(
            row if isinstance(row, str) else tuple(row[place] for place in kept) for row in self.rows
        )
        return Table(tuple(self.columns[place] for place in kept), rows)


def breadth(text: str) -> int:
    """Return how many cells of a terminal a text takes.

    >>> breadth("B*S"), breadth("词表")
    (3, 4)
    """
    return sum(0 if combining(char) else 2 if east_asian_width(char) in "WF" else 1 for char in text)


def wrap(text: str, width: int, hang: str = "") -> list[str]:
    """Return a text in lines of at most a width; only spaces at the breaks are dropped.

    All lines but the first one are indented by ``hang``.

    >>> wrap("6*B*D^2*L - 2*B*D^2", 12)
    ['6*B*D^2*L', '- 2*B*D^2']
    >>> wrap("layers/attention/core/scores", 18)
    ['layers/attention/', 'core/scores']
    >>> wrap("sizes: h (features; d = h/a of them in a head)", 28, "  ")
    ['sizes: h (features; d = h/a', '  of them in a head)']
    """
    indent = text[: len(text) - len(text.lstrip(" "))]
    rest, lines = text[len(indent) :], []
    while breadth(indent + rest) > width:
        end = _break(rest, max(1, width - len(indent)))
        lines.append(indent + rest[:end].rstrip(" "))
        rest = rest[end:].lstrip(" ")
        if len(lines) == 1:
            indent += GAP if indent else hang
    return [*lines, indent + rest]


def _break(text: str, width: int) -> int:
    """Return where to end a line: at the last good place; half empty only where there is no other."""
    end = 1
    while end < len(text) and breadth(text[: end + 1]) <= width:
        end += 1
    last = 0
    for rule in BREAKS:
        found = (match.start() for match in rule.finditer(text, 0, min(len(text), end + 2)))
        places = [place for place in found if place <= end]
        if places and places[-1] >= width // 3:
            return places[-1]
        last = max([last, *places])
    return last or end


def _pieces(text: str) -> Iterator[str]:
    """Yield what of a cell is not broken."""
    start, ends = 0, {match.start() for rule in BREAKS for match in rule.finditer(text)}
    for end in (*sorted(ends), len(text)):
        yield text[start:end].strip(" ")
        start = end


def as_text(table: Table, width: int) -> str:
    """Return the table as aligned text; long cells are continued below, in their column."""
    columns = table.columns
    natural = [max(breadth(cell) for cell in (column.title, *(row[place] for row in table.cells)))
               for place, column in enumerate(columns)]  # fmt: skip
    least = [max(NAMES if place == 0 else NARROWEST, _longest(row[place] for row in table.cells))
             for place in range(len(columns))]  # fmt: skip
    widths = _fit(natural, least, columns, width - len(GAP) * (len(columns) - 1))
    lines = _row([column.title for column in columns], widths, columns)
    lines.append(GAP.join("-" * one for one in widths))
    for place, row in enumerate(table.rows):
        if isinstance(row, str):
            lines += [""] if place and not row.startswith(" ") else []
            lines += wrap(row, width)
        else:
            lines += _row(row, widths, columns)
    return "\n".join(line.rstrip() for line in lines)


def _longest(cells: Iterable[str]) -> int:
    """Return the breadth of the longest piece of cells that a column makes room for."""
    pieces = (breadth(piece) for cell in cells for piece in _pieces(cell))
    return max((one for one in pieces if one <= LONGEST_NAME), default=0)


def _fit(natural: Sequence[int], least: Sequence[int], columns: Sequence[Column], room: int) -> list[int]:
    """Return widths that fit the room where they can: the widest breakable column gives way first."""
    widths = list(natural)
    while sum(widths) > room:
        places = [place for place, one in enumerate(columns) if one.breaks and widths[place] > least[place]]
        if not places:
            break
        widest = max(places, key=lambda place: widths[place])
        others = sorted((widths[place] for place in places if place != widest), reverse=True)
        floor = max(least[widest], others[0] if others else 0, widths[widest] - (sum(widths) - room))
        widths[widest] = floor if floor < widths[widest] else widths[widest] - 1
    return widths


def _row(cells: Sequence[str], widths: Sequence[int], columns: Sequence[Column]) -> list[str]:
    broken = [wrap(cell, width) if column.breaks else [cell]
              for cell, width, column in zip(cells, widths, columns, strict=True)]  # fmt: skip
    lines = []
    for line in range(max(map(len, broken))):
        parts = []
        for pieces, width, column in zip(broken, widths, columns, strict=True):
            piece = pieces[line] if line < len(pieces) else ""
            space = " " * max(0, width - breadth(piece))
            parts.append(space + piece if column.right else piece + space)
        lines.append(GAP.join(parts))
    return lines


def as_markdown(table: Table) -> str:
    r"""Return the table in Markdown; headings are rows in bold.

    >>> print(as_markdown(Table((Column("a"), Column("b", right=True)), (("x|y", "1"),))))
    | a | b |
    | :--- | ---: |
    | x\|y | 1 |
    """
    width = len(table.columns)
    lines = [_bar([column.title for column in table.columns])]
    lines.append(_bar(["---:" if column.right else ":---" for column in table.columns]))
    for row in table.rows:
        if isinstance(row, str):
            mark = "" if row.startswith(" ") else "**"
            lines.append(_bar([f"{mark}{_plain(row)}{mark}", *[""] * (width - 1)]))
        else:
            lines.append(_bar([_plain(cell) for cell in row]))
    return "\n".join(lines)


def _bar(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _plain(cell: str) -> str:
    """Return a cell with what Markdown would read as a mark escaped, except inside a formula."""
    if cell.startswith("$") and cell.endswith("$"):
        return cell.replace("|", "\\vert ")
    return re.sub(r"([\\|*_<>`])", r"\\\1", cell.strip())


def as_csv(rows: Sequence[Sequence[str]]) -> str:
    r"""Return rows as CSV with ``\n`` between them.

    >>> as_csv([("a", "b"), ("1,0", "x")])
    'a,b\n"1,0",x'
    """
    sink = StringIO()
    csv.writer(sink, lineterminator="\n").writerows(rows)
    return sink.getvalue().removesuffix("\n")
