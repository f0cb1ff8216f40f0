"""Numbers as people write them: ``4k``, ``70B``, ``1_000``, ``1e6``; sizes; amounts with a unit."""

from __future__ import annotations

import re
from fractions import Fraction
from unicodedata import normalize

from symacct.algebra.symbols import check_name
from symacct.errors import FormulaError
from symacct.units import ONE, Unit, read_unit

MOST_DIGITS = 200
LONGEST_LIST = 10_000
SHOWN = 120
SUFFIXES = {
    **{letter: 1000**power for power, letter in enumerate("kMBT", start=1)},
    **{f"{letter}i": 1024**power for power, letter in enumerate("KMGT", start=1)},
}
WRONG_SUFFIXES = {"K": "k", "m": "M", "b": "B", "G": "B", "t": "T", "ki": "Ki", "P": "1000T"}
FIGURE = re.compile(
    r"(?P<digits>[+-]?[0-9]+(?:_[0-9]+)*(?:\.[0-9]+)?)(?:[eE](?P<ten>\+?[0-9]{1,3}))?(?P<suffix>[A-Za-z]*)"
)
AMOUNT = re.compile(
    r"(?P<figure>[+-]?[0-9][0-9_]*(?:\.[0-9]+)?(?:[eE][+-]?[0-9]{1,3}(?![0-9]))?)(?P<rest>.*)", re.DOTALL
)


def read_figure(text: str) -> Fraction:
    """Return a number with an optional suffix, exactly.

    Raises:
        FormulaError: it is no such number.

    >>> read_figure("4k"), read_figure("2Ki"), read_figure("1.5B"), read_figure("1e6")
    (Fraction(4000, 1), Fraction(2048, 1), Fraction(1500000000, 1), Fraction(1000000, 1))
    """
    expected = f"digits and one of {' '.join(SUFFIXES)}"
    stripped = normalize("NFKC", str(text)).strip()
    match = FIGURE.fullmatch(stripped)
    if match is None or len(stripped) > MOST_DIGITS:
        fix = (
            f"write {stripped.replace(',', '')}"
            if re.fullmatch(r"[0-9]{1,3}(,[0-9]{3})+", stripped)
            else None
        )
        raise FormulaError(
            f"{stripped[:64]!r} is not a number", expected=expected, got=stripped[:64], fix=fix
        )
    suffix = match["suffix"]
    if suffix and suffix not in SUFFIXES:
        near = WRONG_SUFFIXES.get(suffix)
        fix = f"did you mean {match['digits']}{near}?" if near else None
        raise FormulaError(f"unknown suffix {suffix!r}", expected=expected, got=stripped[:64], fix=fix)
    ten = int(match["ten"] or 0)
    if ten > MOST_DIGITS:
        raise FormulaError(
            "a number is too large", expected=f"at most {MOST_DIGITS} digits", got=stripped[:64]
        )
    factor: int = 10**ten * SUFFIXES.get(suffix, 1)
    return Fraction(match["digits"].replace("_", "")) * factor


def read_sizes(text: str) -> dict[str, int]:
    """Return the sizes in a list like ``B=8,D=4k``, as integers, in the order written.

    Names and ranges are checked later, by `algebra.evaluate.check_sizes`.

    Raises:
        FormulaError: an entry has no ``=``, is no integer, or binds a name twice.

    >>> read_sizes("B=8, D=4k, L=1e2")
    {'B': 8, 'D': 4000, 'L': 100}
    >>> read_sizes("B=2.5")
    Traceback (most recent call last):
    symacct.errors.FormulaError: size B is not an integer
      expected  an integer
      got       B=2.5
    """
    if len(text) > LONGEST_LIST:
        what = "a list of sizes is too long"
        raise FormulaError(what, expected=f"at most {LONGEST_LIST} characters", got=f"{len(text)} characters")
    sizes: dict[str, int] = {}
    for entry in re.split(r"[,;]", normalize("NFKC", text)):
        if not entry.strip():
            continue
        name, equals, value = (part.strip() for part in entry.partition("="))
        if not equals or not value:
            what = "a size is written NAME=NUMBER"
            fix = "write numbers without commas" if sizes and entry.strip().isdecimal() else None
            raise FormulaError(what, where=text[:SHOWN], expected="B=8", got=entry.strip()[:64], fix=fix)
        if check_name(name) in sizes:
            what = f"size {name} is bound twice"
            raise FormulaError(
                what, where=text[:SHOWN], expected=f"one value for {name}", got=entry.strip()[:64]
            )
        figure = read_figure(value)
        if figure.denominator != 1:
            raise FormulaError(
                f"size {name} is not an integer", expected="an integer", got=entry.strip()[:64]
            )
        sizes[name] = int(figure)
    return sizes


def read_amount(text: str) -> tuple[Fraction, Unit]:
    """Return a number with a unit, in base units: ``2GB``, ``80 GB``, ``70B parameter``.

    A suffix is one where a space or nothing follows it; else the letters are a unit's.

    Raises:
        FormulaError: there is no number.
        UnitError: the rest is no unit.

    >>> read_amount("2GB"), read_amount("15T token")
    ((Fraction(2000000000, 1), Unit(text='byte')), (Fraction(15000000000000, 1), Unit(text='token')))
    """
    plain = normalize("NFKC", str(text)).strip()
    match = AMOUNT.fullmatch(plain)
    if match is None or len(plain) > MOST_DIGITS * 2:
        what = f"{plain[:64]!r} is not a number with a unit"
        raise FormulaError(what, expected="a number and a unit: 80 GB", got=plain[:64])
    head, rest = match["figure"], match["rest"]
    first, _, after = rest.partition(" ")
    if first in SUFFIXES:
        head, rest = head + first, after
    figure = _signed(head)
    if not rest.strip():
        return figure, ONE
    scale, unit = read_unit(rest)
    return figure * scale, unit


def _signed(head: str) -> Fraction:
    """Return a figure that may have a negative exponent, as rates do: ``1e-3 s``."""
    body, mark, ten = head.partition("e-") if "e-" in head else head.partition("E-")
    return read_figure(body) / 10 ** int(ten) if mark else read_figure(head)
