"""Cells in each notation: words escaped, formulas spelled and read back, neighbours set as one formula."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING

from symacct.sheet.data import Cell, Item, Math, Sign, Words
from symacct.sheet.readback import checked
from symacct.sheet.signs import latex_sign, mathml_sign, text_sign
from symacct.sheet.statement import formula
from symacct.sheet.words import word

if TYPE_CHECKING:
    from collections.abc import Callable

SIGNS = {"text": text_sign, "latex": latex_sign, "mathml": mathml_sign}


def gap(worth: Cell) -> str:
    """Return what stands between a verdict and the rest of its cell: nothing before a comma.

    >>> gap((Words(", e.g. at "),)), gap((Words("144 day"),))
    ('', ' ')
    """
    first = worth[0] if worth else None
    return "" if isinstance(first, Words) and first.text.startswith(",") else " "


@dataclass(frozen=True, slots=True)
class Setter:
    """Sets cells in one notation.

    Attributes:
        kind: ``text``, ``latex`` or ``mathml``.
        lang: the language of fixed words.
        words: escapes a text.
        code: escapes a text whose letters stand apart.
        math: puts a whole formula into running text.
        between: what stands between the parts of a formula.
    """

    kind: str
    lang: str
    words: Callable[[str], str]
    code: Callable[[str], str]
    math: Callable[[str], str]
    between: str = ""

    def set(self, cell: Cell, where: str) -> str:
        """Return a cell; the row is named where a formula does not read back.

        Raises:
            FormulaError: one does not.
        """
        parts = []
        for is_words, items in groupby(cell, lambda item: isinstance(item, Words)):
            if is_words:
                parts += [self.said(item) for item in items if isinstance(item, Words)]
            else:
                parts.append(self.math(self.between.join(self.part(item, where) for item in items)))
        return "".join(parts)

    def said(self, item: Words) -> str:
        """Return words, a fixed one in the language of the sheet."""
        return self.code(item.text) if item.code else self.words(word(item.text, self.lang))

    def part(self, item: Item, where: str) -> str:
        """Return a formula or a sign."""
        if isinstance(item, Math):
            return checked(item, self.kind, where)
        assert isinstance(item, Sign)
        name, _, of = item.name.partition(" ") if not item.name.startswith("->") else (item.name, "", "")
        shown = checked(formula(of, [of]), self.kind, where) if of else ""
        return SIGNS[self.kind](name, shown)
