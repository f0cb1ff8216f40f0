"""Formulas as presentation MathML, which browsers show without any script."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from symacct.printers.latex import COMMANDS, LETTERS
from symacct.printers.walk import ATOM, CASES, POWER, PRODUCT, SUM, Notation, Piece, write

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sympy import Expr

GREEK = dict(zip(COMMANDS, LETTERS, strict=True))
FENCES = {"ceiling": "⌈⌉", "floor": "⌊⌋", "Abs": "||"}
FUNCTION_NAMES = {"Max": "max", "Min": "min"}


def mathml(expr: Expr, order: Sequence[str] = ()) -> str:
    """Return the formula as a ``math`` element.

    Args:
        expr: the expression, printed as it stands.
        order: names of symbols in the order in which they are to appear; the others follow, sorted.

    >>> from sympy import symbols
    >>> mathml(2 * symbols("B") ** 2)
    '<math><mrow><mn>2</mn><mo>&#8290;</mo><msup><mi>B</mi><mn>2</mn></msup></mrow></math>'
    """
    return f"<math>{write(expr, order, NOTATION)}</math>"


def _row(*parts: str) -> str:
    return f"<mrow>{''.join(parts)}</mrow>"


def _operator(sign: str) -> str:
    return f"<mo>{sign}</mo>"


def _fenced(inside: str, fences: str = "()") -> str:
    return _row(_operator(fences[0]), inside, _operator(fences[1]))


def _at_least(piece: Piece, level: int) -> str:
    return piece.text if piece.level >= level else _fenced(piece.text)


def _total(terms: Sequence[tuple[bool, Piece]]) -> Piece:
    parts = []
    for place, (negative, piece) in enumerate(terms):
        if negative or place:
            parts.append(_operator("−" if negative else "+"))
        parts.append(_at_least(piece, PRODUCT) if negative else piece.text)
    return Piece(_row(*parts), SUM)


def _product(factors: Sequence[Piece]) -> Piece:
    parts = [_at_least(factors[0], PRODUCT)]
    for factor in factors[1:]:
        shown = _at_least(factor, PRODUCT)
        starts_with_digit = shown.replace("<msup>", "").replace("<mrow>", "").startswith("<mn>")
        parts += [_operator("·" if starts_with_digit else "&#8290;"), shown]
    return Piece(_row(*parts), PRODUCT)


def _call(name: str, arguments: Sequence[Piece]) -> Piece:
    if name == "Binomial":
        above, below = (argument.text for argument in arguments)
        return Piece(_fenced(f'<mfrac linethickness="0">{above}{below}</mfrac>'), ATOM)
    if name == "Factorial":
        return Piece(_row(_at_least(arguments[0], ATOM), _operator("!")), POWER)
    if name == CASES:
        pairs = zip(arguments[::2], arguments[1::2], strict=True)
        words = "<mtext>where this is the largest:&#160;</mtext>"
        cells = (f"<mtr><mtd>{behind.text}</mtd><mtd>{words}{of.text}</mtd></mtr>" for of, behind in pairs)
        return Piece(_row(_operator("{"), f"<mtable>{''.join(cells)}</mtable>"), ATOM)
    inside = _operator(",").join(argument.text for argument in arguments)
    if name in FENCES:
        return Piece(_fenced(inside, FENCES[name]), ATOM)
    called = f"<mi>{escape(FUNCTION_NAMES.get(name, name))}</mi>"
    return Piece(_row(called, _operator("&#8289;"), _fenced(inside)), ATOM)


def _summation(inside: Piece, index: Piece, first: Piece, last: Piece) -> Piece:
    under = _row(index.text, _operator("="), first.text)
    sign = f"<munderover>{_operator('∑')}{under}{_row(last.text)}</munderover>"
    return Piece(_row(sign, _at_least(inside, PRODUCT)), SUM)


NOTATION = Notation(
    number=lambda value: Piece(f"<mn>{value}</mn>", ATOM),
    name=lambda name: Piece(f"<mi>{escape(GREEK.get(name, name))}</mi>", ATOM),
    total=_total,
    product=_product,
    quotient=lambda above, below: Piece(f"<mfrac>{above.text}{below.text}</mfrac>", PRODUCT),
    power=lambda base, exponent: Piece(f"<msup>{_at_least(base, ATOM)}{exponent.text}</msup>", POWER),
    root=lambda inside: Piece(f"<msqrt>{inside.text}</msqrt>", ATOM),
    call=_call,
    summation=_summation,
)
