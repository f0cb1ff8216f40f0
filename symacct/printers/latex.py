r"""Formulas as LaTeX: ``6 B D^{2} L - 2 B D^{2}``."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING

from symacct.printers.walk import ATOM, CASES, POWER, PRODUCT, SUM, Notation, Piece, write

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sympy import Expr

LOWER = (
    "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu"
    " nu xi pi rho sigma tau upsilon phi chi psi omega"
)
UPPER = "Gamma Delta Theta Lambda Xi Pi Sigma Upsilon Phi Psi Omega"
COMMANDS = {name: f"\\{name}" for name in (*LOWER.split(), *UPPER.split())}
LETTERS = dict(zip("αβγδεζηθικλμνξπρστυφχψωΓΔΘΛΞΠΣΥΦΨΩ", COMMANDS.values(), strict=True))
SPECIAL = {char: f"\\{char}" for char in "_%#&${}"}
WRAPS = {
    "ceiling": ("\\left\\lceil ", " \\right\\rceil"),
    "floor": ("\\left\\lfloor ", " \\right\\rfloor"),
    "Abs": ("\\left| ", " \\right|"),
}
BIG_SUM = "\\sum"
WORD = r"\\(?:mathrm|text)\{"
WORD_FIRST, WORD_LAST = re.compile(WORD), re.compile(WORD + r"[^{}]*\}(?:\^\{[^{}]*\})?\Z")
LETTER = re.compile(r"(?:[^\W\d_]|\\[a-zA-Z]+)(?:_\{\\mathrm\{\w+\}\})?(?![a-zA-Z{(\[\\_])")
"""A name of one letter, Latin or Greek, perhaps with an index; no command that takes an argument."""
UNIT_LETTER = re.compile(r"[hsJW](?:\^\{[^{}]*\}|!)?")
"""A letter that is the short name of a unit too, perhaps to a power, or its factorial."""
OPERATORS = {"Max": "\\max", "Min": "\\min", "log": "\\log"}


def latex(expr: Expr, order: Sequence[str] = ()) -> str:
    r"""Return the formula as LaTeX, for math mode.

    Args:
        expr: the expression, printed as it stands.
        order: names of symbols in the order in which they are to appear; the others follow, sorted.

    >>> from sympy import symbols
    >>> B, D, L, d_ff = symbols("B D L d_ff", positive=True)
    >>> print(latex(6 * B * D**2 * L - 2 * B * D**2))
    6 B D^{2} L - 2 B D^{2}
    >>> print(latex(d_ff**2 * L / 2, ["d_ff"]))
    \frac{\mathrm{d\_ff}^{2} \cdot L}{2}
    """
    return write(expr, order, NOTATION)


def escape(words: str) -> str:
    r"""Return text with the characters that are special in LaTeX escaped.

    >>> print(escape("100 % of d_ff"))
    100 \% of d\_ff
    """
    table = {**SPECIAL, "\\": "\\textbackslash{}", "~": "\\textasciitilde{}", "^": "\\textasciicircum{}"}
    return "".join(table.get(char, char) for char in words)


def name_latex(name: str) -> str:
    r"""Return a name: a letter as it is, a Greek one as its command, a longer one upright.

    >>> [name_latex(name) for name in ("B", "beta", "d_ff", "词")]
    ['B', '\\beta', '\\mathrm{d\\_ff}', '\\mathrm{词}']
    """
    if name in COMMANDS:
        return COMMANDS[name]
    if name in LETTERS:
        return LETTERS[name]
    if len(name) == 1 and name.isascii() and name != "_":
        return name
    return f"\\mathrm{{{escape(name)}}}"


def _bracket(inside: str) -> str:
    return f"\\left({inside}\\right)"


def _at_least(piece: Piece, level: int) -> str:
    return piece.text if piece.level >= level else _bracket(piece.text)


def _total(terms: Sequence[tuple[bool, Piece]]) -> Piece:
    parts = []
    for place, (negative, piece) in enumerate(terms):
        sign = ("-" if negative else "") if place == 0 else (" - " if negative else " + ")
        held = negative or piece.text.startswith(BIG_SUM)
        parts.append(sign + (_at_least(piece, PRODUCT) if held else piece.text))
    return Piece("".join(parts), SUM)


def _product(factors: Sequence[Piece]) -> Piece:
    shown = [_at_least(factor, PRODUCT) for factor in factors]
    result = shown[0]
    for place, (before, factor) in enumerate(pairwise(shown)):
        after = shown[place + 2] if place + 2 < len(shown) else ""
        result += (" \\cdot " if needs_dot(before, factor, after) else " ") + factor
    return Piece(result, PRODUCT)


def needs_dot(before: str, factor: str, after: str = "") -> bool:
    r"""Say whether a sign must stand before a factor, which would be read as something else without one.

    That is a number, a word, a bracket behind a name (a function of it), and a letter that is a unit behind
    what is no name.

    Args:
        before: the factor in front, in LaTeX.
        factor: the factor.
        after: the factor behind it.

    >>> pairs = ("2", "B"), ("2", "3^{B}"), ("B", r"\mathrm{d\_ff}"), ("k", "(B + 1)")
    >>> [needs_dot(*pair) for pair in pairs]
    [False, True, True, True]
    >>> needs_dot("6", "h"), needs_dot("34", "s", "b"), needs_dot("b", "h")
    (True, False, False)
    """
    if factor[0].isdigit() or WORD_LAST.search(before) or WORD_FIRST.match(factor):
        return True
    if factor.startswith(("(", "\\left(", "\\bigl(")):
        return LETTER.fullmatch(before) is not None
    alone = not (LETTER.match(before) or LETTER.match(after))
    return alone and UNIT_LETTER.fullmatch(factor) is not None


def _power(base: Piece, exponent: Piece) -> Piece:
    return Piece(f"{_at_least(base, ATOM)}^{{{exponent.text}}}", POWER)


def _call(name: str, arguments: Sequence[Piece]) -> Piece:
    if name == "Binomial":
        above, below = (argument.text for argument in arguments)
        return Piece(f"\\binom{{{above}}}{{{below}}}", ATOM)
    if name == "Factorial":
        return Piece(f"{_at_least(arguments[0], ATOM)}!", POWER)
    if name == CASES:
        pairs = zip(arguments[::2], arguments[1::2], strict=True)
        rows = (
            f"{behind.text} & \\text{{where }} {of.text} \\text{{ is the largest}}" for of, behind in pairs
        )
        inside = " \\\\ ".join(rows)
        return Piece(f"\\begin{{cases}} {inside} \\end{{cases}}", ATOM)
    inside = ", ".join(argument.text for argument in arguments)
    if name in WRAPS:
        before, after = WRAPS[name]
        return Piece(f"{before}{inside}{after}", ATOM)
    return Piece(OPERATORS.get(name, f"\\operatorname{{{escape(name)}}}") + _bracket(inside), ATOM)


def _summation(inside: Piece, index: Piece, first: Piece, last: Piece) -> Piece:
    return Piece(f"\\sum_{{{index.text}={first.text}}}^{{{last.text}}} {_at_least(inside, PRODUCT)}", SUM)


NOTATION = Notation(
    number=lambda value: Piece(str(value), ATOM),
    name=lambda name: Piece(name_latex(name), ATOM),
    total=_total,
    product=_product,
    quotient=lambda above, below: Piece(f"\\frac{{{above.text}}}{{{below.text}}}", PRODUCT),
    power=_power,
    root=lambda inside: Piece(f"\\sqrt{{{inside.text}}}", ATOM),
    call=_call,
    summation=_summation,
)
