"""Tables of number formats: range and precision as powers of two, and what they come to; nothing typed in."""

from __future__ import annotations

from decimal import Context, Decimal
from typing import TYPE_CHECKING

from symacct import formats
from symacct.errors import RuleError
from symacct.formats import Block, Format
from symacct.formats.shown import dyadic, shown
from symacct.sheet.data import Cell, Row, Section, Sign, Words
from symacct.sheet.statement import FORMATS, formula

if TYPE_CHECKING:
    from collections.abc import Iterable
    from fractions import Fraction

HEADS = (
    "format", "bits", "e + m, bias", "largest", "smallest normal", "smallest subnormal", "epsilon", "special",
)  # fmt: skip
BLOCK_HEADS = ("block format", "bits an element", "elements", "scale", "largest element", "10⁹ elements")
SPECIALS = {"ieee": "inf, NaN", "fn": "NaN", "fnuz": "NaN, no −0", "none": "–", "scale": "NaN, no 0"}
ABSENT = "–"
DIGITS, SHORT = 4, 9
"""Digits of a number that is rounded, and how long one may be that is not."""
LARGEST_POWER = 200
"""Of ten, in a formula; beyond it stand words."""
RAISED = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")


def format_section(names: Iterable[str]) -> Section:
    """Return a table of formats of one number.

    Raises:
        SymacctError: a format is unknown, or is no format of floating point.

    >>> format_section(["fp16", "bf16"]).heads[:2]
    ('format', 'bits')
    """
    return Section("", tuple(_row(_floating(name)) for name in names), HEADS)


def block_section(names: Iterable[str]) -> Section:
    """Return a table of formats in which neighbours share a scale.

    Raises:
        SymacctError: a format is unknown, or has no blocks.

    >>> [len(row.cells) for row in block_section(["mxfp4"]).rows]
    [5]
    """
    return Section("", tuple(_block(_blocks(name)) for name in names), BLOCK_HEADS)


def is_block(name: str) -> bool:
    """Say whether a format is one of blocks.

    >>> is_block("mxfp4"), is_block("fp16")
    (True, False)
    """
    return isinstance(formats.find(name), Block)


def _floating(name: str) -> Format:
    found = formats.find(name)
    if isinstance(found, Format):
        return found
    known = [one.name for one in formats.ELEMENTS.values() if isinstance(one, Format)]
    raise RuleError(f"{name} is no floating-point format", expected=f"one of: {', '.join(known)}", got=name)


def _blocks(name: str) -> Block:
    found = formats.find(name)
    if isinstance(found, Block):
        return found
    what = f"{name} stands in another table than formats with blocks"
    raise RuleError(what, expected=f"one of: {', '.join(formats.BLOCKS)}", got=name)


def _row(one: Format) -> Row:
    stored = f" ({one.width - one.padding})" if one.padding else ""
    fields = f"{one.exponent} + {one.fraction}, {one.bias}"
    subnormal = _power(one.smallest) if one.subnormal else (Words(ABSENT),)
    return _table_row(
        one.name,
        (Words(f"{shown(one.bits)}{stored}"),),
        (Words(fields),),
        _power(one.largest),
        _power(one.smallest_normal),
        subnormal,
        _power(one.epsilon),
        (Words(SPECIALS[one.special]),),
        source=one.source,
    )


def _block(one: Block) -> Row:
    share = f"{shown(one.element.bits)} + {shown(one.scale.bits)}/{one.size}"
    outer = f" + {one.whole.name}" if one.whole is not None else ""
    return _table_row(
        one.name,
        (Words(f"{share} = {shown(one.bits)}"),),
        (Words(f"{one.element.name} × {one.size}"),),
        (Words(f"{one.scale.name}{outer}"),),
        (Words(shown(one.element.largest)),),
        (Words(f"{shown(one.bits / 8)} GB"),),
        source=one.source,
    )


def _table_row(name: str, *cells: Cell, source: str) -> Row:
    return Row(name, mark="derived", cells=cells, source=source, topic=frozenset({FORMATS}))


def _power(value: Fraction) -> Cell:
    """Return a number as a power of two, and what it comes to where that is another text."""
    if value == 1:
        return (formula("1", ()),)
    cell: Cell = (formula(dyadic(value), ()),)
    exact = shown(value)
    if len(exact) <= SHORT and "≈" not in exact:
        return (*cell, Sign("="), formula(exact, ()))
    digits, power = _rounded(value)
    if abs(power) > LARGEST_POWER:
        return (*cell, Words(f" ≈ {digits} × 10{str(power).translate(RAISED)}"))
    return (*cell, Words(" ≈ "), formula(f"{digits}e{power}", ()))


def _rounded(value: Fraction) -> tuple[str, int]:
    """Return a number as digits and a power of ten.

    >>> from fractions import Fraction
    >>> _rounded(Fraction(1, 1024))
    ('9.766', -4)
    """
    rounded = Context(prec=DIGITS).divide(Decimal(value.numerator), Decimal(value.denominator)).normalize()
    digits, _, power = f"{rounded:e}".partition("e")
    return digits, int(power)
