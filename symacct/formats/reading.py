"""Numbers as people write them, read exactly: ``1e-8``, ``1/3``, ``2^-24``, ``-inf``; ``0x7e`` is a code."""

from __future__ import annotations

import re
from fractions import Fraction
from unicodedata import normalize

from symacct.errors import FormulaError, LimitError, brief
from symacct.formats.floating import power
from symacct.formats.value import INFINITY, NAN, Value

LONGEST = 1200
"""Characters of a number; the longest exact decimal of fp64 has 1077 of them."""
LARGEST_POWER = 1100
"""The largest exponent, of ten or of two, that is read."""

DECIMAL = re.compile(
    r"(?P<sign>[+-]?)(?P<digits>[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE](?P<ten>[+-]?[0-9]+))?(?:/(?P<below>[0-9]+))?"
)
POWER = re.compile(r"(?P<sign>[+-]?)(?:(?P<factor>[0-9]+)\*)?2(?:\^|\*\*)(?P<two>[+-]?[0-9]+)")
SPECIAL = re.compile(r"(?P<sign>[+-]?)(?P<word>inf|infinity|nan)", re.IGNORECASE)
CODE = re.compile(r"0[xX][0-9a-fA-F]+|0[bB][01]+")
EXPECTED = "a number (0.1, -1e-8, 1/3, 2^-24), inf, nan, or a code (0x7e, 0b0111)"


def read(text: str) -> Value | int:
    """Return the value that a text writes, exactly, or the code that it gives in hexadecimal or binary.

    Raises:
        SymacctError: it is no number, divides by zero, or is too long or too large.

    >>> read("-1e-8").number, read("1/3").number, read("0x7e")
    (Fraction(-1, 100000000), Fraction(1, 3), 126)
    >>> read("1e999999999")
    Traceback (most recent call last):
    symacct.errors.LimitError: an exponent is too large
      expected  an exponent of at most 1100
      got       1e999999999
    """
    if len(text) > LONGEST:
        raise LimitError(
            "a number is too long", expected=f"at most {LONGEST} characters", got=f"{len(text)} characters"
        )
    plain = normalize("NFKC", text).strip().replace("−", "-").replace("_", "")
    if CODE.fullmatch(plain):
        return int(plain, 0)
    if match := SPECIAL.fullmatch(plain):
        kind = NAN if match["word"].lower() == "nan" else INFINITY
        return Value(negative=match["sign"] == "-", kind=kind)
    if match := POWER.fullmatch(plain):
        number = int(match["factor"] or 1) * power(_exponent(match["two"], plain))
        return Value(number, match["sign"] == "-")
    if match := DECIMAL.fullmatch(plain):
        below = int(match["below"] or 1)
        if not below:
            raise FormulaError("a number is divided by zero", expected="a number", got=brief(plain))
        number = Fraction(match["digits"]) * Fraction(10) ** _exponent(match["ten"] or "0", plain) / below
        return Value(number, match["sign"] == "-")
    raise FormulaError(f"{brief(plain)!r} is not a number", expected=EXPECTED, got=brief(plain))


def _exponent(digits: str, text: str) -> int:
    """Return an exponent, looked at before it is read: its digits may be many."""
    if len(digits.lstrip("+-").lstrip("0")) > len(str(LARGEST_POWER)) or abs(int(digits)) > LARGEST_POWER:
        expected = f"an exponent of at most {LARGEST_POWER}"
        raise LimitError("an exponent is too large", expected=expected, got=brief(text))
    return int(digits)
