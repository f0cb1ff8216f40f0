"""Numbers for people: exact, with separators, and to three digits with a prefix."""

from __future__ import annotations

from decimal import Context
from fractions import Fraction
from math import floor
from typing import TYPE_CHECKING

from symacct.printers import text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sympy import Expr

DIGITS = 3
DECIMAL = (("", 0), ("k", 3), ("M", 6), ("G", 9), ("T", 12), ("P", 15), ("E", 18))
COUNTING = (("", 0), ("k", 3), ("M", 6), ("B", 9), ("T", 12))
BINARY = (("", 0), ("Ki", 10), ("Mi", 20), ("Gi", 30), ("Ti", 40), ("Pi", 50), ("Ei", 60))
COUNTED = frozenset({"parameter", "token"})
PERCENT = 1000
"""Shares are kept in tenths of a percent."""


def rounded(value: Fraction) -> str:
    """Return a number to three digits: plain where that is short, else with a power of ten.

    >>> [rounded(Fraction(n, 300)) for n in (1, 100, 30000, 300000)]
    ['0.00333', '0.333', '100', '1e3']
    """
    precise = Context(prec=DIGITS + 20)
    short = Context(prec=DIGITS).plus(precise.divide(value.numerator, value.denominator)).normalize()
    if short == 0:
        return "0"
    power = short.adjusted()
    if -DIGITS - 1 < power < DIGITS:
        return format(short, "f")
    mantissa = format(short.scaleb(-power).normalize(), "f")
    return f"{mantissa}e{power}"


def scaled(value: Fraction, unit: str) -> str:
    """Return a number to three digits with a prefix; bytes in powers of ten and of two.

    >>> scaled(Fraction(16 * 2**20), "byte"), scaled(Fraction(124439808), "parameter")
    ('16.8 MB, 16 MiB', '124M')
    >>> scaled(Fraction(10**24), "FLOP"), scaled(Fraction(512), "FLOP")
    ('1e24 FLOP', '')
    """
    if unit == "byte":
        if abs(value) < PERCENT:
            return ""
        return f"{_prefixed(value, DECIMAL, 10)}B, {_prefixed(value, BINARY, 2)}B"
    if value.denominator == 1 and abs(value) < PERCENT:
        return ""
    if "/" in unit:
        return f"{round(value):,} {unit}" if abs(value) >= PERCENT else f"{rounded(value)} {unit}"
    if unit in COUNTED:
        return _prefixed(value, COUNTING, 10).replace(" ", "")
    body = _prefixed(value, DECIMAL, 10)
    return f"{body}{unit}" if unit != "1" else body.strip()


def _prefixed(value: Fraction, prefixes: Sequence[tuple[str, int]], base: int) -> str:
    """Return ``12.3 M``: the largest prefix that leaves at least 1; a power of ten beyond the last."""
    fitting = [(name, power) for name, power in prefixes if abs(value) >= base**power]
    name, power = fitting[-1] if fitting else prefixes[0]
    body = rounded(value / base**power)
    if "e" in body and (name, power) != prefixes[-1]:
        place = prefixes.index((name, power)) + 1
        name, power = prefixes[place]
        body = rounded(value / base**power)
    return f"{body} {name}" if "e" not in body or base != 10 else f"{rounded(value)} "


def exact(value: Expr) -> str:
    """Return an exact number with separators.

    >>> from sympy import Integer, Rational
    >>> exact(Integer(1234567)), exact(Rational(-1024, 3))
    ('1,234,567', '-1,024/3')
    """
    if not value.is_Rational:
        return text(value)
    below = "" if value.q == 1 else f"/{int(value.q):,}"
    return f"{int(value.p):,}{below}"


def valued(value: Expr, unit: str) -> str:
    """Return a value as a cell of a table: exact, then to three digits in brackets."""
    if not value.is_Rational:
        return text(value)
    about = scaled(Fraction(int(value.p), int(value.q)), unit)
    return f"{exact(value)} ({about})" if about else exact(value)


def ratio(part: Expr, whole: Expr) -> Fraction | None:
    """Return part over whole where that is one number for all sizes, else None; 0 of a whole that is 0.

    >>> from symacct.algebra.symbols import symbol
    >>> D, L = symbol("D"), symbol("L")
    >>> ratio(2 * D * L + 2 * D, 8 * D * L + 8 * D), ratio(2 * D, D * L)
    (Fraction(1, 4), None)
    """
    if whole == 0 or part == 0:
        return Fraction(0) if part == 0 else None
    above, below = part.as_coefficients_dict(), whole.as_coefficients_dict()
    if above.keys() != below.keys():
        return None
    found = {above[key] / below[key] for key in below}
    only = found.pop()
    return None if found or not only.is_Rational else Fraction(int(only.p), int(only.q))


def share(part: Expr, whole: Expr) -> int | None:
    """Return a part in tenths of a percent of a whole, rounded by itself; None where that depends on sizes.

    >>> from sympy import Integer
    >>> share(Integer(2), Integer(3)), share(Integer(1), Integer(2000)), share(Integer(0), Integer(0))
    (667, 1, 0)
    """
    found = ratio(part, whole)
    return None if found is None else floor(PERCENT * found + Fraction(1, 2))


def shares(parts: Sequence[Expr], whole: Expr) -> list[int] | None:
    """Return the parts in tenths of a percent, each rounded by itself; all 0 where the whole is 0.

    None where a share depends on sizes. What is equal has equal shares; they need not add up to 1000.

    >>> from sympy import Integer
    >>> shares([Integer(1)] * 3, Integer(3))
    [333, 333, 333]
    """
    known = [one for one in (share(part, whole) for part in parts) if one is not None]
    return known if len(known) == len(parts) else None


def percent(share: int | None) -> str:
    """Return tenths of a percent as text.

    >>> percent(334), percent(0), percent(None)
    ('33.4%', '0%', '')
    """
    if share is None:
        return ""
    return "0%" if share == 0 else f"{share // 10}.{share % 10}%" if share >= 0 else f"-{percent(-share)}"
