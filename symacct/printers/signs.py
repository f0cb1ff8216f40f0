"""Formulas with the signs of print, on one line: ``6BD²L − 2BD²``; for pictures, not to be read back."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from symacct.printers.text import NOTATION as TEXT
from symacct.printers.walk import ATOM, POWER, PRODUCT, SUM, Piece, write

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sympy import Expr

RAISED = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")
MINUS = "−"
DOT = "·"
SHORT = re.compile(r"[^\W\d_][⁰¹²³⁴⁵⁶⁷⁸⁹⁻]*|\d+|\([^()]*\)")
"""What stands beside another factor without a sign: a letter, a number, a sum."""


def signs(expr: Expr, order: Sequence[str] = ()) -> str:
    """Return the formula with raised exponents, and without signs between names of one letter.

    >>> from sympy import symbols
    >>> B, D, L, rows = symbols("B D L rows", positive=True)
    >>> signs(6 * B * D**2 * L - 2 * B * D**2), signs(2 * rows * D**-1), signs((B + 1) * L / 2)
    ('6BD²L − 2BD²', '2·rows/D', 'L(B + 1)/2')
    """
    return write(expr, order, NOTATION)


def _at_least(piece: Piece, level: int) -> str:
    return piece.text if piece.level >= level else f"({piece.text})"


def _total(terms: Sequence[tuple[bool, Piece]]) -> Piece:
    parts = []
    for place, (negative, piece) in enumerate(terms):
        sign = (MINUS if negative else "") if place == 0 else (f" {MINUS} " if negative else " + ")
        parts.append(sign + (_at_least(piece, PRODUCT) if negative else piece.text))
    return Piece("".join(parts), SUM)


def _product(factors: Sequence[Piece]) -> Piece:
    parts = [_at_least(factor, POWER) for factor in factors]
    tight = all(SHORT.fullmatch(part) for part in parts) and not any(part[0].isdigit() for part in parts[1:])
    return Piece(("" if tight else DOT).join(parts), PRODUCT)


def _power(base: Piece, exponent: Piece) -> Piece:
    raised = exponent.text.lstrip("-").isdigit()
    power = exponent.text.translate(RAISED) if raised else f"^{_at_least(exponent, ATOM)}"
    return Piece(f"{_at_least(base, ATOM)}{power}", POWER)


NOTATION = replace(
    TEXT,
    total=_total,
    product=_product,
    power=_power,
    root=lambda inside: Piece(f"√{_at_least(inside, ATOM)}", ATOM),
)
