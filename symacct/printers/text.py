"""Formulas as plain text that reads back: ``6*B*D^2*L - 2*B*D^2``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from symacct.printers.walk import ATOM, CASES, POWER, PRODUCT, SUM, Notation, Piece, write

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sympy import Expr

FUNCTION_NAMES = {
    "ceiling": "ceil",
    "Max": "max",
    "Min": "min",
    "Abs": "abs",
    "Binomial": "binomial",
    "Factorial": "factorial",
}


def text(expr: Expr, order: Sequence[str] = ()) -> str:
    """Return the formula as text that `syntax.read_formula` reads back to the same expression.

    Args:
        expr: the expression, printed as it stands.
        order: names of symbols in the order in which they are to appear; the others follow, sorted.

    >>> from sympy import symbols
    >>> B, D, L = symbols("B D L", positive=True)
    >>> text(6 * B * D**2 * L - 2 * B * D**2)
    '6*B*D^2*L - 2*B*D^2'
    >>> text(D * B / 2 + 1 / (B + 1), order=["D", "B"])
    'D*B/2 + 1/(B + 1)'
    """
    return write(expr, order, NOTATION)


def _at_least(piece: Piece, level: int) -> str:
    return piece.text if piece.level >= level else f"({piece.text})"


def _total(terms: Sequence[tuple[bool, Piece]]) -> Piece:
    parts = []
    for place, (negative, piece) in enumerate(terms):
        sign = ("-" if negative else "") if place == 0 else (" - " if negative else " + ")
        parts.append(sign + (_at_least(piece, PRODUCT) if negative else piece.text))
    return Piece("".join(parts), SUM)


def _product(factors: Sequence[Piece]) -> Piece:
    return Piece("*".join(_at_least(factor, POWER) for factor in factors), PRODUCT)


def _quotient(above: Piece, below: Piece) -> Piece:
    return Piece(f"{_at_least(above, PRODUCT)}/{_at_least(below, POWER)}", PRODUCT)


def _power(base: Piece, exponent: Piece) -> Piece:
    return Piece(f"{_at_least(base, ATOM)}^{_at_least(exponent, ATOM)}", POWER)


def _call(name: str, arguments: Sequence[Piece]) -> Piece:
    if name == CASES:
        pairs = zip(arguments[::2], arguments[1::2], strict=True)
        inside = "; ".join(f"{behind.text} where {of.text}" for of, behind in pairs)
        return Piece(f"at_largest({inside})", ATOM)
    inside = ", ".join(argument.text for argument in arguments)
    return Piece(f"{FUNCTION_NAMES.get(name, name)}({inside})", ATOM)


def _summation(inside: Piece, index: Piece, first: Piece, last: Piece) -> Piece:
    return Piece(f"sum({inside.text}, {index.text} = {first.text} .. {last.text})", ATOM)


NOTATION = Notation(
    number=lambda value: Piece(str(value), ATOM),
    name=lambda name: Piece(name, ATOM),
    total=_total,
    product=_product,
    quotient=_quotient,
    power=_power,
    root=lambda inside: Piece(f"sqrt({inside.text})", ATOM),
    call=_call,
    summation=_summation,
)
