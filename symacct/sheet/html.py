"""A sheet as one HTML file: formulas in MathML, calculators where a script runs, nothing from a network."""

from __future__ import annotations

import itertools
import re
from base64 import b64encode
from hashlib import sha256
from html import escape
from importlib import resources
from typing import TYPE_CHECKING

from symacct.sheet.broken import in_pieces
from symacct.sheet.cells import Setter, gap
from symacct.sheet.chinese import notes
from symacct.sheet.grid import html_grid
from symacct.sheet.page import page_json
from symacct.sheet.steps_words import headed
from symacct.sheet.words import LEGEND, word

if TYPE_CHECKING:
    from collections.abc import Iterator

    from symacct.sheet.data import Row, Section, Sheet

CLASSES = {
    "derived": "good", "proved": "good", "computed": "good", "reported": "told",
    "leading order": "near", "upper bound": "near", "lower bound": "near",
}  # fmt: skip
SCRIPT = "exact formulas numbers fields views rows timing benches roofline link start"
"""The parts of the script, in order."""
POLICY = "default-src 'none'; base-uri 'none'; form-action 'none'; style-src {style}; script-src {script}"
SHORT = 16
"""Letters of a path that need not be broken."""
CODES = {"en": "en", "zh": "zh-Hans"}


def html_of(sheet: Sheet) -> str:
    """Return the sheet as a whole HTML document, which asks nothing of a network.

    Without script it is the sheet as printed. With it each row that can be computed has inputs; the script
    works out data that was derived here (`page_json`).

    Raises:
        FormulaError: a formula does not read back.
    """
    setter = Setter("mathml", sheet.lang, words, _code, in_pieces)
    title = words(sheet.title)
    count = itertools.count(1)
    body = "".join(_section(section, sheet, setter, count) for section in sheet.sections)
    style, (script, elements) = _part("page.css"), _script(page_json(sheet))
    policy = POLICY.format(style=_digest(style), script=_digest(script) if script else "'none'")
    return (
        f'<!DOCTYPE html>\n<html lang="{CODES[sheet.lang]}">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{title}</title>\n<style>{style}</style>\n</head>\n<body>\n<header>\n<h1>{title}</h1>\n"
        f'<p class="told about">{words(sheet.about)}</p>\n<div id="tools"></div>\n</header>\n<main>\n{body}'
        '<div id="benches"></div>\n</main>\n'
        f'<footer><p class="small">{words(LEGEND[sheet.lang])}</p></footer>\n'
        f"{elements}</body>\n</html>\n"
    )


def _script(data: str) -> tuple[str, str]:
    """Return the script, and the elements that hold it and its data; nothing where there is no data."""
    if not data:
        return "", ""
    script = "\n" + "\n".join(_part(f"script/{name}.js") for name in SCRIPT.split())
    safe = data.replace("<", "\\u003c")
    return script, (
        f'<script type="application/json" id="sheet-data">{safe}</script>\n<script>{script}</script>\n'
    )


def _part(name: str) -> str:
    """Return a file of the page."""
    return resources.files("symacct.sheet.page").joinpath(name).read_text(encoding="utf-8")


def _digest(text: str) -> str:
    """Return what a policy knows a style or a script by.

    >>> _digest("alert(1)")
    "'sha256-bhHHL3z2vDgxUt0W3dWQOrprscmda2Y5pLsLg4GF+pI='"
    """
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"


def _section(section: Section, sheet: Sheet, setter: Setter, count: Iterator[int]) -> str:
    if section.heads:
        title = words(word(section.title, sheet.lang))
        return f"<h2>{title}</h2>\n{_note(section)}{html_grid(section, setter, count)}"
    heads = (word(one, sheet.lang) for one in section.columns)
    head = "".join(f'<th scope="col">{words(one)}</th>' for one in heads)
    rows = "\n".join(_row(row, sheet, setter, next(count)) for row in section.rows)
    title = words(word(section.title, sheet.lang))
    steps = "".join(_steps(row, sheet, setter) for row in section.rows if row.steps)
    table = f"<table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{rows}\n</tbody>\n</table>"
    title = f"<h2>{title}</h2>\n" if section.title != sheet.title else ""
    return f'{title}{_note(section)}<div class="wide">\n{table}\n</div>\n{steps}'


def _note(section: Section) -> str:
    return f'<p class="small">{words(section.note)}</p>\n' if section.note else ""


def _steps(row: Row, sheet: Sheet, setter: Setter) -> str:
    """Return how a row comes about: a list, words on the left and formulas on the right."""
    title, steps = headed(row, sheet.lang)
    made = [(one, setter.set(one.cell, row.name)) for one in steps]
    items = "\n".join(
        f'<li class="l{one.level}"><span>{_path(one.said)}</span>{shown and _rolled("span", shown)}</li>'
        for one, shown in made
    )
    listed = f'<ol class="steps">\n{items}\n</ol>\n' if steps else ""
    return f'<h3 class="derived">{words(title)}</h3>\n{listed}'


def _row(row: Row, sheet: Sheet, setter: Setter, place: int) -> str:
    name = "&emsp;" * row.level + _path(row.name)
    name += f"<br>{_code(row.quantity)}" if row.quantity else ""
    formula = setter.set(row.formula, row.name)
    formula = f'<del class="bad">{formula}</del>' if row.mark == "refuted" else formula
    if row.instead:
        right = words(word("right", sheet.lang) + word(": ", sheet.lang))
        formula += f"<br>{right}{setter.set(row.instead, row.name)}"
    holds = word("; ", sheet.lang).join(setter.set(cell, row.name) for cell in row.holds)
    worth = setter.set(row.worth, row.name)
    if row.mark:
        colour = CLASSES.get(row.mark, "bad")
        worth = f'<span class="{colour}">{words(word(row.mark, sheet.lang))}</span>{gap(row.worth)}{worth}'
    small = words(notes(row, sheet.style, sheet.lang))
    worth += f'<br><span class="small">{small}</span>' if small else ""
    cells = f"<td>{name}</td>" + "".join(
        f"<td>{_rolled('div', cell)}</td>" for cell in (formula, holds, worth)
    )
    return f'<tr id="r{place}">{cells}</tr>'


def _rolled(tag: str, content: str) -> str:
    """Return what scrolls by itself where it is wider than its place."""
    return f'<{tag} class="roll">{content}</{tag}>'


def words(text: str) -> str:
    """Return text, escaped.

    >>> words("<b> & 1")
    '&lt;b&gt; &amp; 1'
    """
    return escape(text)


def _path(text: str) -> str:
    """Return text, escaped; the path of an op may be broken behind its parts.

    >>> _path("layers/attention/core/softmax/grad.scale is kept")
    'layers/<wbr>attention/<wbr>core/<wbr>softmax/<wbr>grad.<wbr>scale is kept'
    """
    return " ".join(
        re.sub(r"(?<=\w)([/.])(?=\w)", r"\1<wbr>", words(one))
        if "/" in one and len(one) > SHORT
        else words(one)
        for one in text.split(" ")
    )


def _code(text: str) -> str:
    return f"<code>{escape(text)}</code>"
