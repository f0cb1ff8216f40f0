r"""A formula as its author wrote it, spelled as text, LaTeX or MathML: order, brackets and numbers stay.

The printers of expressions sort; a claim keeps its own order, so it is written from its tree.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from html import escape as escape_html
from itertools import pairwise
from typing import TYPE_CHECKING

from symacct.claims.unit_words import unit_words
from symacct.claims.written import written
from symacct.printers import escape, name_latex
from symacct.printers.latex import COMMANDS
from symacct.printers.latex import NOTATION as LATEX
from symacct.printers.mathml import NOTATION as MATHML
from symacct.printers.walk import ATOM, POWER, PRODUCT, SUM, Notation, Piece
from symacct.syntax import walk
from symacct.units import is_unit

if TYPE_CHECKING:
    from collections.abc import Callable

    from symacct.sheet.data import Math
    from symacct.syntax import Tree

POWER_OF_TEN = re.compile(r"(?P<digits>[0-9][0-9_.]*)[eE]\+?(?P<power>-?[0-9]+)")
LOOSE = re.compile(r"\\left\(((?:(?!\\left|\\right|\\frac|\\sqrt).)*)\\right\)")
GROWING = re.compile(r"\\(?:(left)|right)(?![a-z])\\?[^a-z\s]")
LONG_BRACKET = 80
INDEXED = re.compile(r"([A-Za-z])_([A-Za-z0-9]+)")
"""A letter with an index, which stands below it: ``d_ff``, ``P_bf16``."""
UNIT_WORD = re.compile(r"(?<!\\)\b([^\W\d]\w*)")
TAGS = re.compile(r"<[^>]*>|[\u2061\u2062]")
LONG, WIDE = 100, 34
UNSEEN = re.compile(r"\\[a-zA-Z]+|[{}^_\s\\]")
CALLS = {
    "abs": "Abs",
    "ceil": "ceiling",
    "ln": "log",
    "max": "Max",
    "min": "Min",
    "binomial": "Binomial",
    "factorial": "Factorial",
}
UNIT_SIGNS = {"*": "\u00b7", "\u00d7": "\u00b7"}
__all__ = ["SPELLINGS", "spelled"]


@dataclass(frozen=True, slots=True)
class Spelling:
    """A notation, and what only stated formulas have: units, quantities, powers of ten, logs to base two."""

    notation: Notation
    name: Callable[[str], str]
    quantity: Callable[[str], str]
    unit: Callable[[str], str]
    apart: str
    times: str
    ten: Callable[[str, str], str]
    log2: Callable[[str], str]
    wrap: Callable[..., str] = "{}{}{}".format


def spelled(math: Math, kind: str) -> str:
    r"""Return a formula in a notation: ``text``, ``latex`` or ``mathml`` (without the ``math`` element).

    >>> from symacct.sheet.statement import formula
    >>> one = formula("6 FLOP/(param*token) * N*D^2/2", ["N", "D"])
    >>> print(spelled(one, "text"), spelled(one, "latex"), sep="; ")
    (6 FLOP/(param*token))*N*D^2/2; \frac{6\,\mathrm{FLOP/(param \cdot token)} \cdot N D^{2}}{2}
    """
    if kind == "text":
        return written(math.tree, math.names)
    made = _Writer(SPELLINGS[kind], math).piece(math.tree).text
    return _loosened(made) if kind == "latex" else made


def _loosened(text: str) -> str:
    r"""Return LaTeX with plain brackets where nothing tall stands inside, so that a line may break there.

    >>> print(_loosened(r"k \left(B + D\right) + \left(\frac{B}{D}\right)"))
    k (B + D) + \left(\frac{B}{D}\right)
    """
    while (shorter := LOOSE.sub(r"(\1)", text)) != text:
        text = shorter
    return _breakable(text)


def _breakable(text: str) -> str:
    r"""Return LaTeX with brackets of one size around what is long: a line cannot break between two that grow.

    >>> print(_breakable(r"\left(" + "x + " * 40 + r"\frac{1}{2}\right)")[:15], _breakable(r"\left(x\right)"))
    \bigl(x + x + x \left(x\right)
    """
    opened: list[int] = []
    made = list[tuple[int, int, str]]()
    for found in GROWING.finditer(text):
        if found[1]:
            opened.append(found.start())
        elif opened:
            start = opened.pop()
            if found.end() - start > LONG_BRACKET and text[start:].startswith("\\left("):
                made += [(start, start + 6, "\\bigl("), (found.start(), found.end(), "\\bigr)")]
    for start, end, sign in sorted(made, reverse=True):
        text = text[:start] + sign + text[end:]
    return text


class _Writer:
    def __init__(self, spelling: Spelling, math: Math) -> None:
        self.spelling = spelling
        self.notation = spelling.notation
        self.text = math.text
        self.names = math.names
        self.amounts = SUM if any(_is_unit_word(part) for part in walk(math.tree)) else PRODUCT

    def piece(self, tree: Tree) -> Piece:
        """Return a part, printed."""
        if tree.form in {"number", "name", "quantity", "unit"}:
            return self.leaf(tree)
        if tree.form == "sum" or _without_minus(tree) is not None:
            parts = tree.parts if tree.form == "sum" else (tree,)
            return self.notation.total([self.signed(part) for part in parts])
        if tree.form == "product":
            return self.product(tree)
        if tree.form == "quotient":
            return self.quotient(*map(self.piece, tree.parts))
        if tree.form == "power":
            return self.notation.power(self.based(tree.parts[0]), self.piece(tree.parts[1]))
        return self.call(tree)

    def quotient(self, above: Piece, below: Piece) -> Piece:
        """Return a quotient; a long one stands in one line, which may be broken."""
        if self.notation is MATHML and len(TAGS.sub("", above.text + below.text)) >= LONG:
            top = above.text if above.level >= PRODUCT else f"<mo>(</mo>{above.text}<mo>)</mo>"
            return Piece(f"<mrow>{top}<mo>/</mo><mo>(</mo>{below.text}<mo>)</mo></mrow>", SUM)
        wide = max(len(UNSEEN.sub("", part.text)) for part in (above, below)) > WIDE
        if self.notation is not LATEX or (len(above.text) + len(below.text) < LONG and not wide):
            return self.notation.quotient(above, below)
        top = above.text if above.level >= PRODUCT else f"\\left({above.text}\\right)"
        return Piece(f"{top} / \\left({below.text}\\right)", SUM)

    def signed(self, tree: Tree) -> tuple[bool, Piece]:
        """Return whether a minus stands before a term, and the term."""
        bare = _without_minus(tree)
        return bare is not None, self.piece(tree if bare is None else bare)

    def based(self, tree: Tree) -> Piece:
        """Return the base of a power; one that ends in a raised number keeps its brackets."""
        made = self.piece(tree)
        return Piece(made.text, PRODUCT) if tree.form == "number" and not made.text.isalnum() else made

    def leaf(self, tree: Tree) -> Piece:
        """Return a number as it was written, a name, or the name of a quantity."""
        if tree.form == "number":
            return self.number(tree)
        if tree.form == "unit":
            one = self.notation.number(1).text
            return Piece(self.joined(one, self.unit(tree.name)), PRODUCT)
        spell = self.spelling.name if tree.form == "name" else self.spelling.quantity
        return Piece(spell(tree.name), ATOM)

    def unit(self, name: str) -> str:
        """Return a unit, with no word in it that is a name."""
        return self.spelling.unit(unit_words(name, self.names))

    def number(self, tree: Tree) -> Piece:
        """Return a number with as many digits as its author gave it."""
        written = self.text[tree.start : tree.end].replace("_", "")
        found = POWER_OF_TEN.fullmatch(written)
        if found:
            return Piece(self.spelling.ten(found["digits"], found["power"]), POWER)
        value = tree.value
        if value.denominator == 1:
            return self.notation.number(value.numerator)
        above, below = value.numerator, value.denominator
        places = next((n for n in range(1, 40) if 10**n % below == 0), None)
        if places is None:
            return self.notation.quotient(self.notation.number(above), self.notation.number(below))
        digits = f"{abs(above) * 10**places // below:0{places + 1}}"
        shown = f"{'-' if above < 0 else ''}{digits[:-places]}.{digits[-places:]}"
        return Piece(self.notation.number(0).text.replace("0", shown), ATOM)

    def product(self, tree: Tree) -> Piece:
        """Return a product; an amount keeps its unit beside its number, and a sign follows it."""
        last = tree.parts[-1]
        if last.form == "unit" and len(tree.parts) == 2 and tree.parts[0].form == "number":
            number = self.piece(tree.parts[0]).text
            return Piece(self.joined(number, self.unit(last.name)), self.amounts)
        runs: list[list[Piece]] = [[self.factor(tree.parts[0])]]
        between = [""]
        for before, part in pairwise(tree.parts):
            gap = self.gap(before, part)
            if gap:
                between.append(gap)
                runs.append([])
            runs[-1].append(self.factor(part))
        shown = [self.notation.product(run).text for run in runs]
        joined = "".join(f"{gap}{one}" for gap, one in zip(between, shown, strict=True))
        return Piece(joined if len(shown) == 1 else self.spelling.wrap("", joined, ""), PRODUCT)

    def factor(self, part: Tree) -> Piece:
        """Return a factor; a product in a product keeps its brackets, an amount needs none."""
        made = self.piece(part)
        inner = part.form in {"product", "negative"} and not _amount(part)
        return Piece(made.text, min(made.level, 0)) if inner else made

    def gap(self, before: Tree, part: Tree) -> str:
        """Return the sign between two factors where one is an amount or a word, or a number follows."""
        base = part.parts[0] if part.form in {"power", "quotient"} else part
        signed = _amount(before) or _amount(part) or base.form == "number"
        return self.spelling.times if signed or _is_word(before) or _is_word(part) else ""

    def call(self, tree: Tree) -> Piece:
        """Return a function of its arguments."""
        parts = [self.piece(part) for part in tree.parts]
        if tree.name == "sqrt":
            return self.notation.root(parts[0])
        if tree.name == "log2":
            return Piece(self.spelling.log2(parts[0].text), ATOM)
        return self.notation.call(CALLS.get(tree.name, tree.name), parts)

    def joined(self, number: str, unit: str) -> str:
        """Return a number and its unit."""
        return self.row([number, unit], self.spelling.apart)

    def row(self, parts: list[str], between: str) -> str:
        """Return parts in a row, with something between them."""
        return self.spelling.wrap("", between.join(parts), "") if len(parts) > 1 else parts[0]


def _without_minus(tree: Tree) -> Tree | None:
    """Return a term without the minus that it begins with, as ``-48*h`` does; None where there is none."""
    if tree.form == "negative":
        return tree.parts[0]
    if tree.form not in {"product", "quotient"}:
        return None
    first = _without_minus(tree.parts[0])
    return None if first is None else replace(tree, parts=(first, *tree.parts[1:]))


def _is_unit_word(tree: Tree) -> bool:
    """Say whether a part is a name that is the word of a unit, beside which an amount has brackets."""
    return tree.form == "name" and len(tree.name) > 1 and is_unit(tree.name)


def _is_word(tree: Tree) -> bool:
    """Say whether a factor is printed as a word, which would run into its neighbour."""
    base = tree.parts[0] if tree.form == "power" else tree
    return base.form in {"quantity", "unit"} or (
        base.form == "name"
        and len(base.name) > 1
        and base.name not in COMMANDS
        and not INDEXED.fullmatch(base.name)
    )


def _amount(tree: Tree) -> bool:
    return tree.form == "product" and tree.parts[-1].form == "unit"


def _name_latex(name: str) -> str:
    """Return a name; letters beyond ASCII stand as text, which every engine can set."""
    if index := INDEXED.fullmatch(name):
        return f"{index[1]}_{{\\mathrm{{{index[2]}}}}}"
    shown = name_latex(name)
    return shown if shown.isascii() else f"\\text{{{escape(name)}}}"


def _quantity_latex(name: str) -> str:
    return f"\\mathrm{{{escape(name)}}}" if name.replace(".", "").isalpha() else f"\\text{{{escape(name)}}}"


def _ten_latex(digits: str, power: str) -> str:
    return f"10^{{{power}}}" if digits == "1" else f"{digits} \\times 10^{{{power}}}"


def _ten_mathml(digits: str, power: str) -> str:
    ten = f"<msup><mn>10</mn><mn>{power}</mn></msup>"
    return ten if digits == "1" else f"<mrow><mn>{digits}</mn><mo>\u00d7</mo>{ten}</mrow>"


def _name_mathml(name: str) -> str:
    if index := INDEXED.fullmatch(name):
        return f"<msub><mi>{index[1]}</mi><mtext>{index[2]}</mtext></msub>"
    return MATHML.name(name).text


def _unit_latex(unit: str) -> str:
    """Return a unit upright, in one piece; each word by itself where one has a power."""
    times = re.sub(r"\s*[*\u00b7\u00d7]\s*", r" \\cdot ", unit.replace("%", "\\%"))
    if "^" not in unit:
        return f"\\mathrm{{{times}}}".replace("\u00b5", "\\mu ")
    return UNIT_WORD.sub(r"\\mathrm{\1}", times).replace("\u00b5", "\\mu ")


def _unit_mathml(unit: str) -> str:
    return f"<mtext>\u00a0{escape_html(_spaced(unit))}</mtext>"


def _spaced(unit: str) -> str:
    return "".join(UNIT_SIGNS.get(char, char) for char in unit)


def _mathml_row(before: str, inside: str, after: str) -> str:
    return f"<mrow>{before}{inside}{after}</mrow>"


def _mathml_word(name: str) -> str:
    return f"<mtext>{escape_html(name)}</mtext>"


SPELLINGS = {
    "latex": Spelling(
        LATEX,
        _name_latex,
        _quantity_latex,
        _unit_latex,
        "\\,",
        " \\cdot ",
        _ten_latex,
        lambda inside: f"\\log_{{2}}\\left({inside}\\right)",
    ),
    "mathml": Spelling(
        MATHML,
        _name_mathml,
        _mathml_word,
        _unit_mathml,
        "",
        "<mo>\u00b7</mo>",
        _ten_mathml,
        lambda inside: f"<mrow><msub><mi>log</mi><mn>2</mn></msub><mo>(</mo>{inside}<mo>)</mo></mrow>",
        _mathml_row,
    ),
}
"""The spellings, by name; text is written with every sign."""
