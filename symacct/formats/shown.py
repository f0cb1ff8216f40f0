"""Numbers of formats for people: exactly where that is short, as a power of two, else to six digits."""

from __future__ import annotations

from decimal import Context, Decimal
from typing import TYPE_CHECKING

from symacct.formats.floating import log2_floor
from symacct.formats.value import FINITE, INFINITY, Value

if TYPE_CHECKING:
    from fractions import Fraction

    from symacct.formats.block import Element

SHORT, DIGITS = 10, 6
LONGEST_INTEGER = 10**18
PRECISE = 40
FINEST = 8
"""Up to this denominator a significand is shown in decimals: 1.75, 1.875."""


def shown(number: Fraction) -> str:
    """Return a number in decimals: exactly where ten digits are enough, else to six with ``≈`` before it.

    >>> from fractions import Fraction
    >>> [shown(Fraction(n)) for n in ("65504", "-0.0625", "1/3", "1e-8", "1e300")]
    ['65504', '-0.0625', '≈0.333333', '1e-8', '1e300']
    """
    if number.denominator == 1 and abs(number) < LONGEST_INTEGER:
        return str(number.numerator)
    precise = Context(prec=PRECISE).divide(Decimal(number.numerator), Decimal(number.denominator))
    for digits, mark in ((SHORT, ""), (DIGITS, "≈")):
        short = Context(prec=digits).plus(precise).normalize()
        above, below = short.as_integer_ratio()
        if mark or above * number.denominator == number.numerator * below:
            return mark + _plain(short)
    raise AssertionError


def _plain(short: Decimal) -> str:
    """Return a decimal without an exponent where its point is near."""
    at = short.adjusted()
    if -DIGITS < at < SHORT:
        return format(short, "f")
    return f"{format(short.scaleb(-at).normalize(), 'f')}e{at}"


def dyadic(number: Fraction) -> str:
    """Return a number as a multiple of a power of two, as formats hold it; others as they are.

    Just below a power of two it is shown by what is missing.

    >>> from fractions import Fraction
    >>> [dyadic(Fraction(n)) for n in ("1/16777216", "65504", "448", "0.375", "2049", "1/3", "0")]
    ['2^-24', '(2 - 2^-10) * 2^15', '1.75 * 2^8', '1.5 * 2^-2', '2049', '1/3', '0']
    """
    above, below = number.numerator, number.denominator
    if not above or below & (below - 1):
        return str(number)
    sign, size = "-" if above < 0 else "", abs(number)
    exponent = log2_floor(size)
    lead = size / 2**exponent if exponent >= 0 else size * 2**-exponent
    if lead == 1:
        return f"{sign}2^{exponent}"
    if lead.denominator <= FINEST:
        return f"{sign}{shown(lead)} * 2^{exponent}"
    missing = 2 - lead
    if missing.numerator == 1:
        return f"{sign}(2 - 2^-{missing.denominator.bit_length() - 1}) * 2^{exponent}"
    power = exponent - (lead.denominator.bit_length() - 1)
    return f"{sign}{lead.numerator}" if not power else f"{sign}{lead.numerator} * 2^{power}"


def value_text(value: Value) -> str:
    """Return a value for people; a negative zero with its sign.

    >>> value_text(Value(negative=True)), value_text(Value(kind="infinity", negative=True))
    ('-0', '-inf')
    """
    if value.kind != FINITE:
        return ("-" if value.negative else "") + "inf" if value.kind == INFINITY else "nan"
    return "-0" if value.negative and not value.magnitude else shown(value.number)


def exact_text(value: Value) -> str:
    """Return a value for machines: a quotient of integers, ``inf``, ``-inf``, ``nan`` or ``-0``.

    >>> from fractions import Fraction
    >>> exact_text(Value(Fraction(1, 3), negative=True))
    '-1/3'
    """
    return str(value.number) if value.finite and value.magnitude else value_text(value)


def code_text(one: Element, code: int) -> str:
    """Return a code in hexadecimal, with all its digits.

    >>> from symacct.formats.table import find
    >>> code_text(find("fp16"), 1)
    '0x0001'
    """
    return f"{code:#0{2 + -(-one.width // 4)}x}"
