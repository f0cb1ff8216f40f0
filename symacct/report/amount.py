"""An exact amount for people: a sensible number of digits, capacities in powers of ten and of two."""

from __future__ import annotations

from decimal import Context, Decimal
from fractions import Fraction
from typing import TYPE_CHECKING

from symacct.units import Unit, read_unit

if TYPE_CHECKING:
    from sympy import Expr

DIGITS, SHORT = 4, 3
LONGEST = 10**30
"""From here on a whole number is rounded too."""
LARGEST, SMALLEST = 10**6, Fraction(1, 1000)
BYTE, SECOND = Unit("byte"), Unit("second")
CAPACITIES = (("EB", "EiB"), ("PB", "PiB"), ("TB", "TiB"), ("GB", "GiB"), ("MB", "MiB"), ("kB", "KiB"))
TIMES = ("day", "hour", "minute", "second", "ms", "µs", "ns")
PRECISE = 40


def digits(value: Fraction) -> str:
    """Return a number: whole ones below a million exactly, others to four digits, or three before an ``e``.

    >>> [digits(Fraction(n)) for n in (640, "143.9266", "53333333333.3", "7.82e-5", 0, "12345.6")]
    ['640', '143.9', '53.3e9', '78.2e-6', '0', '12,346']
    """
    size = abs(value)
    if value == 0 or (value.denominator == 1 and size < LARGEST):
        return f"{int(value):,}"
    if SMALLEST <= size < 1000:
        return _significant(value, DIGITS)
    if 1000 <= size < LARGEST:
        return f"{round(value):,}"
    power = _exponent(size) // 3 * 3
    short = _significant(value / Fraction(10) ** power, SHORT)
    if short.lstrip("-") == "1000":
        short, power = short.replace("1000", "1"), power + 3
    return f"{short}e{power}"


def _exponent(size: Fraction) -> int:
    """Return the power of ten of the first digit."""
    guess = len(str(size.numerator)) - len(str(size.denominator))
    return guess if size >= Fraction(10) ** guess else guess - 1


def _significant(value: Fraction, count: int) -> str:
    precise = Context(prec=PRECISE).divide(Decimal(value.numerator), Decimal(value.denominator))
    short = Context(prec=count).plus(precise)
    return format(short.normalize(), "f")


def whole(value: Expr, unit: Unit, to: str | None = None) -> str:
    """Return an amount as `shown` does, but a whole number of few digits with all of them.

    >>> from sympy import Integer
    >>> whole(Integer(1216512), Unit("1")), whole(Integer(6 * 10**24), Unit("1"))
    ('1,216,512', '6e24')
    """
    scale, _ = read_unit(to) if to is not None else (Fraction(1), unit)
    amount = as_fraction(value) / scale
    text = shown(value, unit, to)
    if (
        amount.denominator != 1
        or digits(amount) not in text
        or Fraction(digits(amount).replace(",", "")) == amount
    ):
        return text
    return text.replace(digits(amount), f"{int(amount):,}", 1) if abs(amount) < LONGEST else text


def shown(value: Expr, unit: Unit, to: str | None = None) -> str:
    """Return an amount given in base units, in a unit that is asked for or in one that fits.

    >>> from sympy import Integer
    >>> shown(Integer(56 * 10**9), BYTE), shown(Integer(12435258), SECOND)
    ('56 GB = 52.15 GiB', '143.9 day')
    >>> shown(Integer(80 * 2**30), BYTE, "GiB")
    '80 GiB = 85.9 GB'
    """
    amount = as_fraction(value)
    if unit == BYTE and (pair := _capacity(amount, to)):
        return " = ".join(_in(amount, one) for one in pair)
    if to is not None:
        return _in(amount, to)
    if unit == SECOND:
        fitting = (name for name in TIMES if abs(amount) >= read_unit(name)[0])
        return _in(amount, next(fitting, TIMES[-1]) if amount else "second")
    text = str(unit).replace("second", "s")
    return digits(amount) if text == "1" else f"{digits(amount)} {text}"


def _in(amount: Fraction, unit: str) -> str:
    number = digits(amount / read_unit(unit)[0])
    return number if unit.strip() == "1" else f"{number} {unit.strip()}"


def _capacity(amount: Fraction, to: str | None) -> tuple[str, str] | None:
    """Return the two units of a capacity, the one that is asked for first."""
    for decimal, binary in CAPACITIES:
        if to is None and abs(amount) >= read_unit(decimal)[0]:
            return decimal, binary
        if to in {decimal, binary}:
            return (decimal, binary) if to == decimal else (binary, decimal)
    return None


def as_fraction(value: Expr) -> Fraction:
    """Return a rational number as it is, and a root or a logarithm to forty digits."""
    if value.is_Rational:
        return Fraction(int(value.p), int(value.q))
    return Fraction(str(value.evalf(PRECISE)))
