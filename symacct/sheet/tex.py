r"""A sheet as LaTeX that compiles as it is: a card of one page in two columns, or a full sheet.

English sheets compile with any engine; those with Chinese want xelatex or lualatex, and say so on top.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from symacct.printers import escape
from symacct.printers.latex import LETTERS
from symacct.sheet.cells import Setter, gap
from symacct.sheet.chinese import notes
from symacct.sheet.grid import tex_grid
from symacct.sheet.preamble import preamble, titled
from symacct.sheet.steps_words import headed
from symacct.sheet.words import LEGEND, word

if TYPE_CHECKING:
    from collections.abc import Iterator

    from symacct.sheet.data import Row, Section, Sheet

COLOURS = {
    "derived": "good", "proved": "good", "computed": "good", "reported": "told",
    "leading order": "near", "upper bound": "near", "lower bound": "near",
}  # fmt: skip
SIGNS = {
    **{char: f"\\ensuremath{{{command}}}" for char, command in LETTERS.items()},
    **{char: f"\\textsuperscript{{{digit}}}" for digit, char in enumerate("⁰¹²³⁴⁵⁶⁷⁸⁹")},
    "⁻": "\\textsuperscript{\\ensuremath{-}}",
    "√": "\\ensuremath{\\surd}", "≤": "\\ensuremath{\\le}", "≥": "\\ensuremath{\\ge}",
    "→": "\\ensuremath{\\to}", "×": "\\ensuremath{\\times}", "·": "\\ensuremath{\\cdot}",
    "≈": "\\ensuremath{\\approx}", "∼": "\\ensuremath{\\sim}", "⌈": "\\ensuremath{\\lceil}",
    "⌉": "\\ensuremath{\\rceil}", "⌊": "\\ensuremath{\\lfloor}", "⌋": "\\ensuremath{\\rfloor}",
    "µ": "\\ensuremath{\\mu}", "∞": "\\ensuremath{\\infty}", "−": "\\ensuremath{-}", "–": "--", "—": "---",
    "“": "``", "”": "''", "‘": "`", "’": "'", "\u00a0": "~", "<": "\\textless{}", ">": "\\textgreater{}",
    "|": "\\textbar{}", '"': "\\char34{}", "`": "\\textasciigrave{}", "-": "-{}", "'": "\\textquotesingle{}",
}  # fmt: skip
CHOICES = re.compile(r"\\text\{([^{}()]+)(\([^{}]*\))\}")
BROKEN = r"\\text{\1}\\allowbreak \\text{\2}"
KEPT, SMALL, ROOMY = "\\nopagebreak", 10, 40
"""Rows of a section of so many stay in one column, on a sheet of so many: longer ones need every line."""
COLUMNS, COLUMNS_END = "\\begin{multicols}{2}", "\\end{multicols}"
LONG = 120
UNGROUPED = {
    "\\left(": "\\bigl(", "\\right)": "\\bigr)", "\\left|": "\\bigl|", "\\right|": "\\bigr|",
    ", ": ",\\allowbreak\\ ",
}  # fmt: skip
"""Brackets that do not hold a line together, as ``\\left`` and ``\\right`` do."""
IFF, SHORT = " \\iff ", 72
LAST_LATIN = "\u017f"


def tex_of(sheet: Sheet) -> str:
    """Return the sheet as a LaTeX document.

    Raises:
        FormulaError: a formula does not read back.
    """
    body = "\n".join(_body(sheet))
    chinese = sheet.lang == "zh" or needs_unicode(body)
    start = preamble(card=sheet.style == "card", chinese=chinese)
    return f"{start}{titled(sheet.title)}\\begin{{document}}\\base\n{body}\n\\end{{document}}\n"


def needs_unicode(text: str) -> bool:
    """Return whether a text has letters that only engines with Unicode fonts set.

    >>> needs_unicode("é"), needs_unicode("词")
    (False, True)
    """
    return any(char > LAST_LATIN for char in text)


def _body(sheet: Sheet) -> list[str]:
    card = sheet.style == "card"
    setter = Setter("latex", sheet.lang, words, _code, _math if card else _breakable_math, " ")
    title = f"{{\\fontsize{{12}}{{14}}\\selectfont\\bfseries {words(sheet.title)}}}"
    lines = [f"{title}\\hfill{{\\fine\\color{{told}} {words(sheet.about)}}}\\par"]
    lines += [COLUMNS] if card else []
    above: tuple[str, ...] = ()
    for section in sheet.sections:
        if section.heads:
            lines += _wide(section, setter, card=card)
            continue
        lines += _headed(section, sheet)
        heads = [word(one, sheet.lang) for one in section.columns]
        second = f"{heads[1]} {{\\fine\\color{{told}} {heads[2]}}}"
        if section.columns != above:
            lines.append(f"\\row{{\\itshape {heads[0]}}}{{\\itshape {second}}}{{\\itshape {heads[3]}}}")
        above = section.columns
        roomy = len(section.rows) <= SMALL and len(sheet.rows) <= ROOMY
        between = f"\n{KEPT}\n" if roomy else "\n"
        lines.append(between.join(_row(row, sheet, setter) for row in section.rows))
        lines += [line for row in section.rows if row.steps for line in _steps(row, sheet, setter)]
    lines += [COLUMNS_END] if card else []
    lines = "\n".join(lines).replace(f"{COLUMNS}\n{COLUMNS_END}\n", "").split("\n")
    lines.append(f"\\vfill{{\\fine\\color{{told}} {words(LEGEND[sheet.lang])}\\par}}")
    return lines


def _wide(section: Section, setter: Setter, *, card: bool) -> Iterator[str]:
    """Yield a section that is a table; on a card it stands over both columns."""
    yield from [COLUMNS_END] * card
    yield f"\\head{{{words(word(section.title, setter.lang))}}}"
    yield from [_note(section)] * bool(section.note)
    yield from tex_grid(section, setter)
    yield from [COLUMNS] * card


def _headed(section: Section, sheet: Sheet) -> list[str]:
    """Return the title of a section, where it is not that of the sheet, and its note."""
    title = words(word(section.title, sheet.lang))
    return [f"\\head{{{title}}}"] * (section.title != sheet.title) + [_note(section)] * bool(section.note)


def _note(section: Section) -> str:
    return f"{{\\fine\\color{{told}} {words(section.note)}\\par}}"


def _row(row: Row, sheet: Sheet, setter: Setter) -> str:
    indent = "\\hspace*{1em}" * row.level
    named = _breakable if sheet.style == "full" else words
    first = f"{indent}{named(row.name)}"
    if row.quantity:
        first += f"\\newline {{\\fine\\color{{told}}{_code(row.quantity)}}}"
    formula = setter.set(row.formula, row.name)
    if row.mark == "refuted":
        formula = f"{{\\color{{bad}}{formula}}}"
    if row.instead:
        right = words(word("right", sheet.lang) + word(": ", sheet.lang))
        formula += f"\\newline {right}{setter.set(row.instead, row.name)}"
    holds = word("; ", sheet.lang).join(setter.set(cell, row.name) for cell in row.holds)
    below = words(notes(row, sheet.style, sheet.lang))
    small = word("; ", sheet.lang).join(one for one in (holds, below) if one)
    if small:
        formula += f"\\newline {{\\fine\\color{{told}}{small}}}"
    return f"\\row{{{first}}}{{{formula}}}{{{_worth(row, sheet, setter)}}}"


def _steps(row: Row, sheet: Sheet, setter: Setter) -> Iterator[str]:
    """Yield how a row comes about: words on the left, formulas on the right."""
    title, steps = headed(row, sheet.lang)
    yield f"\\derived{{{_breakable(title)}}}"
    for one in steps:
        said = _breakable(one.said)
        formulas = setter.set(one.cell, row.name)
        yield (
            f"\\step{{{one.level}}}{{{said}}}{{{formulas}}}"
            if formulas
            else f"\\said{{{one.level}}}{{{said}}}"
        )


def _breakable(text: str) -> str:
    """Return words in which names that are paths may be broken."""
    return words(text).replace("/", "/\\allowbreak{}").replace("\\_", "\\_\\allowbreak{}")


def _worth(row: Row, sheet: Sheet, setter: Setter) -> str:
    worth = replace(setter, math=_listed).set(row.worth, row.name)
    if not row.mark:
        return worth
    colour = COLOURS.get(row.mark, "bad")
    return f"{{\\color{{{colour}}}{words(word(row.mark, sheet.lang))}}}{gap(row.worth)}{worth}".rstrip()


def words(text: str) -> str:
    r"""Return text, escaped; signs beyond ASCII that plain fonts lack are set as formulas.

    >>> print(words("100 % of d_ff ≤ √L"))
    100 \% of d\_ff \ensuremath{\le} \ensuremath{\surd}L
    """
    return "".join(SIGNS.get(char) or escape(char) if char.isprintable() else " " for char in text)


def _math(math: str) -> str:
    """Return a formula in running text; a quantity with choices may be broken before their bracket.

    What follows an equivalence stays in one piece where it is short.
    """
    broken = CHOICES.sub(BROKEN, math)
    left, sign, right = broken.partition(IFF)
    if sign and len(right) <= SHORT:
        return f"${left}{IFF.rstrip()}$ \\mbox{{${right}$}}"
    return f"${broken}$"


def _breakable_math(math: str) -> str:
    """Return a formula that may be broken inside its brackets and behind its commas, where it is long."""
    if len(math) > LONG:
        for plain, open_ in UNGROUPED.items():
            math = math.replace(plain, open_)
    return _math(math)


def _listed(math: str) -> str:
    """Return sizes one behind another, which may be broken behind their commas."""
    return _math(math.replace(", ", ",\\allowbreak\\ ").replace(",\\ ", ",\\allowbreak\\ "))


def _code(text: str) -> str:
    shown = words(text)
    return f"\\texttt{{{shown}}}".replace(".", ".\\allowbreak{}").replace("/", "/\\allowbreak{}")
