"""A sheet as Markdown with GitHub's math: a table for each section."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from symacct.sheet.cells import Setter, gap
from symacct.sheet.chinese import notes
from symacct.sheet.grid import markdown_grid
from symacct.sheet.steps_words import headed
from symacct.sheet.words import LEGEND, word

if TYPE_CHECKING:
    from collections.abc import Iterator

    from symacct.sheet.data import Row, Sheet

MARKS = re.compile(r"([\\|*_<>`\[\]#$~&])")
MARKED = re.compile(r"\\[^A-Za-z]|[_*~<>&\[\]#`]")
"""What Markdown reads in a formula: a backslash before a sign, marks of emphasis, tags, links."""
BARS = re.compile(r"\\(left|right)\|")
"""The bars of an absolute value, which would end a cell."""
SPACES = re.compile(r"\s+")
BAD, GAP = "~~", "  "


def markdown_of(sheet: Sheet) -> str:
    """Return the sheet as Markdown.

    Raises:
        FormulaError: a formula does not read back.
    """
    setter = Setter("latex", sheet.lang, words, _code, _math, " ")
    lines = [f"# {words(sheet.title)}", ""]
    lines += [words(sheet.about), ""] if sheet.about else []
    for section in sheet.sections:
        lines += [f"## {words(word(section.title, sheet.lang))}", ""] if section.title != sheet.title else []
        lines += [words(section.note), ""] if section.note else []
        if section.heads:
            lines += [*markdown_grid(section, setter), ""]
            continue
        heads = [word(one, sheet.lang) for one in section.columns]
        sources = sheet.style == "full" and any(row.source or row.comment for row in section.rows)
        heads += [word("source", sheet.lang)] if sources else []
        lines += [_bar(heads), _bar([":---"] * len(heads))]
        lines += [_bar(_row(row, sheet, setter, sources=sources)) for row in section.rows]
        lines.append("")
        lines += [line for row in section.rows if row.steps for line in _steps(row, sheet, setter)]
    return "\n".join([*lines, words(LEGEND[sheet.lang]), ""])


def _row(row: Row, sheet: Sheet, setter: Setter, *, sources: bool) -> list[str]:
    name = "&emsp;" * row.level + words(row.name)
    name += f" {_code(row.quantity)}" if row.quantity else ""
    formula = setter.set(row.formula, row.name)
    if row.mark == "refuted":
        formula = f"{BAD}{formula}{BAD}"
    if row.instead:
        right = words(word("right", sheet.lang) + word(": ", sheet.lang))
        formula += f"<br>{right}{setter.set(row.instead, row.name)}"
    holds = word("; ", sheet.lang).join(setter.set(cell, row.name) for cell in row.holds)
    mark = f"**{words(word(row.mark, sheet.lang))}**" if row.mark else ""
    worth = f"{mark}{gap(row.worth)}{setter.set(row.worth, row.name)}".strip()
    if not sources and (below := notes(row, sheet.style, sheet.lang)):
        worth += f" {words(below)}"
    cells = [name, formula, holds, worth]
    return [*cells, words(notes(row, "full", sheet.lang))] if sources else cells


def _steps(row: Row, sheet: Sheet, setter: Setter) -> Iterator[str]:
    """Yield how a row comes about, as a list."""
    title, steps = headed(row, sheet.lang)
    yield from (f"### {words(title)}", "")
    for one in steps:
        formulas = setter.set(one.cell, row.name)
        said = f"{words(one.said)}{word(': ', sheet.lang)}{formulas}" if formulas else words(one.said)
        yield f"{GAP * one.level}- {said}"
    yield from [""] * bool(steps)


def _bar(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def words(text: str) -> str:
    r"""Return text with what Markdown would read as a mark escaped, on one line.

    >>> print(words("a|b *c* <d> $5"))
    a\|b \*c\* \<d\> \$5
    """
    return MARKS.sub(r"\\\1", SPACES.sub(" ", text))


def _code(text: str) -> str:
    plain = " ".join(text.split()).replace("|", "\\|")
    return f"`{plain}`" if "`" not in plain else f"`` {plain} ``"


def _math(math: str) -> str:
    """Return a formula between dollars; where a backslash stands before a sign, in the form that keeps it."""
    shown = BARS.sub(lambda found: f"\\{found[1]}\\{found[1][0]}vert", math)
    shown = re.sub(r"(?<!\\)\|", r"\\vert ", shown)
    return f"$`{shown}`$" if MARKED.search(shown) else f"${shown}$"
