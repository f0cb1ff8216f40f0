"""A sheet as plain text: an aligned table for each section."""

from __future__ import annotations

from typing import TYPE_CHECKING

from symacct.report.table import GAP, Column, Table, as_text, wrap
from symacct.sheet.cells import Setter, gap
from symacct.sheet.chinese import notes
from symacct.sheet.data import Sign
from symacct.sheet.grid import text_grid
from symacct.sheet.steps_words import headed, say
from symacct.sheet.words import LEGEND, word

if TYPE_CHECKING:
    from collections.abc import Iterator

    from symacct.sheet.data import Row, Sheet, Step


def text_of(sheet: Sheet, width: int = 100) -> str:
    """Return the sheet as text of a width.

    Raises:
        FormulaError: a formula does not read back.
    """
    setter = Setter("text", sheet.lang, words, words, lambda math: math)
    lines = [*wrap(words(sheet.title), width), *(wrap(words(sheet.about), width) if sheet.about else [])]
    for section in sheet.sections:
        lines += ["", words(word(section.title, sheet.lang))] if section.title != sheet.title else []
        lines += wrap(words(section.note), width) if section.note else []
        if section.heads:
            lines += ["", text_grid(section, setter, width)]
            continue
        rows: list[tuple[str, ...] | str] = []
        for row in section.rows:
            rows += _rows(row, sheet, setter)
        heads = [Column(word(one, sheet.lang)) for one in section.columns]
        lines.append("")
        lines.append(as_text(Table(tuple(heads), tuple(rows)).trimmed(), width))
        lines += [line for row in section.rows if row.steps for line in _steps(row, sheet, setter, width)]
    return "\n".join([*lines, "", *wrap(LEGEND[sheet.lang], width), ""])


def _steps(row: Row, sheet: Sheet, setter: Setter, width: int) -> Iterator[str]:
    """Yield how a row comes about: words, and formulas beside them."""
    title, steps = headed(row, sheet.lang)
    yield from ("", *wrap(words(title), width))
    if steps:
        heads = (Column(say("step", sheet.lang)), Column(word("formula", sheet.lang)))
        rows = [_step(one, setter.set(one.cell, row.name)) for one in steps]
        yield from ("", as_text(Table(heads, tuple(rows)), width))


def _step(one: Step, formulas: str) -> tuple[str, ...] | str:
    said = GAP * one.level + words(one.said)
    return (said, formulas) if formulas else said


def _rows(row: Row, sheet: Sheet, setter: Setter) -> list[tuple[str, ...] | str]:
    formula = _stated(row, setter)
    holds = word("; ", sheet.lang).join(setter.set(cell, row.name) for cell in row.holds)
    worth = f"{word(row.mark, sheet.lang)}{gap(row.worth)}{setter.set(row.worth, row.name)}".strip()
    name = GAP * row.level + words(row.name)
    found: list[tuple[str, ...] | str] = [(name, formula, holds, worth)]
    if row.instead:
        right = setter.set(row.instead, row.name).strip()
        found.append(("", f"{word('right', sheet.lang)}{word(': ', sheet.lang)}{right}", "", ""))
    said = words(notes(row, sheet.style, sheet.lang))
    return [*found, f"{GAP}{GAP}{said}"] if said else found


def _stated(row: Row, setter: Setter) -> str:
    """Return the whole statement, which `symacct prove` reads."""
    formula = setter.set(row.formula, row.name)
    if not row.quantity:
        return formula.strip()
    signed = bool(row.formula) and isinstance(row.formula[0], Sign)
    return f"{row.quantity}{formula}" if signed else f"{row.quantity} = {formula}"


def words(text: str) -> str:
    r"""Return text on one line, without characters that steer a terminal.

    >>> words("a\tb\x1b[2J")
    'a b [2J'
    """
    return "".join(char if char.isprintable() else " " for char in text)
