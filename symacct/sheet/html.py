"""A sheet as one HTML file: formulas in MathML, no script, nothing from a network."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from symacct.sheet.cells import Setter
from symacct.sheet.words import LEGEND, word

if TYPE_CHECKING:
    from symacct.sheet.data import Row, Section, Sheet

CLASSES = {
    "derived": "good", "proved": "good", "computed": "good", "reported": "told",
    "leading order": "near", "upper bound": "near", "lower bound": "near",
}  # fmt: skip
STYLE = """\
:root { color-scheme: light dark; --ink: #1b1b1b; --paper: #fff; --line: #ccc; --told: #555;
  --good: #0b6b3a; --near: #8a5200; --bad: #b00020 }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e8e8e8; --paper: #161616; --line: #444; --told: #aaa;
    --good: #6fd39b; --near: #f0b35a; --bad: #ff8090 }
}
body { font: 16px/1.4 system-ui, "Noto Sans CJK SC", sans-serif; color: var(--ink);
  background: var(--paper); max-width: 72rem; margin: 1rem auto; padding: 0 1rem }
h1 { font-size: 1.5rem; margin: .2rem 0 }
h2 { font-size: 1.1rem; margin: 1.2rem 0 .3rem }
table { border-collapse: collapse; width: 100% }
th, td { text-align: left; vertical-align: top; padding: .3rem .6rem .3rem 0;
  border-bottom: 1px solid var(--line); overflow-wrap: anywhere }
td:first-child { width: 26% }
td:nth-child(2) { width: 38% }
td:nth-child(3) { width: 18% }
math { font-size: 1.05em }
code, .told, .small { color: var(--told) }
code, .small { font-size: .85em }
.good { color: var(--good) }
.near { color: var(--near) }
.bad { color: var(--bad) }
del { text-decoration-color: var(--bad) }
@media (max-width: 40rem) {
  thead { display: none }
  tr { display: block; border-bottom: 1px solid var(--line); padding: .3rem 0 }
  td:nth-child(n) { display: block; width: auto; border: 0; padding: .1rem 0; overflow-x: auto }
}
@media print {
  body { font-size: 9pt; margin: 0; max-width: none }
  tr { break-inside: avoid }
}
"""
CODES = {"en": "en", "zh": "zh-Hans"}


def html_of(sheet: Sheet) -> str:
    """Return the sheet as a whole HTML document.

    Raises:
        FormulaError: a formula does not read back.
    """
    setter = Setter("mathml", sheet.lang, words, _code, lambda math: f"<math><mrow>{math}</mrow></math>")
    title = words(sheet.title)
    body = "".join(_section(section, sheet, setter) for section in sheet.sections)
    return (
        f'<!DOCTYPE html>\n<html lang="{CODES[sheet.lang]}">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{title}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<h1>{title}</h1>\n"
        f'<p class="told">{words(sheet.about)}</p>\n{body}'
        f'<p class="small">{words(LEGEND[sheet.lang])}</p>\n</body>\n</html>\n'
    )


def _section(section: Section, sheet: Sheet, setter: Setter) -> str:
    heads = (word(one, sheet.lang) for one in ("quantity", "formula", "holds when", "worth"))
    head = "".join(f'<th scope="col">{words(one)}</th>' for one in heads)
    rows = "\n".join(_row(row, sheet, setter) for row in section.rows)
    title = words(word(section.title, sheet.lang))
    return f"<h2>{title}</h2>\n<table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{rows}\n</tbody>\n</table>\n"


def _row(row: Row, sheet: Sheet, setter: Setter) -> str:
    name = "&emsp;" * row.level + words(row.name)
    name += f"<br>{_code(row.quantity)}" if row.quantity else ""
    formula = setter.set(row.formula, row.name)
    formula = f'<del class="bad">{formula}</del>' if row.mark == "refuted" else formula
    if row.instead:
        formula += f"<br>{words(word('right', sheet.lang))}: {setter.set(row.instead, row.name)}"
    holds = "; ".join(setter.set(cell, row.name) for cell in row.holds)
    worth = setter.set(row.worth, row.name)
    if row.mark:
        colour = CLASSES.get(row.mark, "bad")
        worth = f'<span class="{colour}">{words(word(row.mark, sheet.lang))}</span> {worth}'
    small = words(row.notes(sheet.style))
    worth += f'<br><span class="small">{small}</span>' if small else ""
    return "<tr>" + "".join(f"<td>{cell}</td>" for cell in (name, formula, holds, worth)) + "</tr>"


def words(text: str) -> str:
    """Return text, escaped.

    >>> words("<b> & 1")
    '&lt;b&gt; &amp; 1'
    """
    return escape(text)


def _code(text: str) -> str:
    return f"<code>{escape(text)}</code>"
