r"""Formulas as LaTeX: ``6 B D^{2} L - 2 B D^{2}``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from symacct.printers.walk import ATOM, POWER, PRODUCT, SUM, Notation, Piece, write

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
    \frac{\mathrm{d\_ff}^{2} L}{2}
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
        parts.append(sign + (_at_least(piece, PRODUCT) if negative else piece.text))
    return Piece("".join(parts), SUM)


def _product(factors: Sequence[Piece]) -> Piece:
    shown = [_at_least(factor, PRODUCT) for factor in factors]
    result = shown[0]
    for factor in shown[1:]:
        result += (" \\cdot " if factor[0].isdigit() else " ") + factor
    return Piece(result, PRODUCT)


def _power(base: Piece, exponent: Piece) -> Piece:
    return Piece(f"{_at_least(base, ATOM)}^{{{exponent.text}}}", POWER)


def _call(name: str, arguments: Sequence[Piece]) -> Piece:
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
