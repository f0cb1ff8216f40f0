"""Measured points for a roofline: a CSV file with the columns name, flops, bytes, seconds."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from fractions import Fraction
from io import StringIO
from typing import TYPE_CHECKING

from symacct.errors import ReadError

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

COLUMNS = ("name", "flops", "bytes", "seconds")
LARGEST_FILE, MOST_POINTS, LONGEST_NUMBER = 10**6, 10_000, 40
LARGEST_EXPONENT = 40


@dataclass(frozen=True, slots=True)
class Measured:
    """What was measured of an op, or of a graph: its work, its bytes, the time they took."""

    name: str
    flops: Fraction
    moved: Fraction
    seconds: Fraction


def read_points(path: Path) -> tuple[Measured, ...]:
    """Return the points of a file.

    Raises:
        ReadError: the file cannot be read, has other columns, or a number in it is none above 0.
    """
    try:
        if path.stat().st_size > LARGEST_FILE:
            raise ReadError("a file of points is too large", where=str(path), expected="at most 1 MB")
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError, ValueError) as error:
        raise ReadError(
            "a file of points cannot be read", where=str(path)[:200], got=str(error)[:120]
        ) from None
    return points_of(text, str(path))


def points_of(text: str, where: str) -> tuple[Measured, ...]:
    r"""Return the points of a text.

    Raises:
        ReadError: it has other columns, or a number in it is none above 0.

    >>> points_of("name,flops,bytes,seconds\nmatmul,2e9,6e6,1e-5\n", "x.csv")[0].seconds
    Fraction(1, 100000)
    """
    try:
        rows = list(csv.DictReader(StringIO(text), restkey="", strict=True))
    except csv.Error as error:
        raise ReadError("a file of points is not CSV", where=where, expected="CSV", got=str(error)) from None
    if not rows or not set(COLUMNS) <= set(rows[0]) or len(rows) > MOST_POINTS:
        raise ReadError(
            "a file of points has other columns, or no rows",
            where=where,
            expected=f"the columns {', '.join(COLUMNS)}, and 1 to {MOST_POINTS} rows",
            got=(text.strip().split("\n") or [""])[0][:80] or "an empty file",
        )
    return tuple(_point(row, f"{where}, line {place}") for place, row in enumerate(rows, 2))


def _point(row: dict[str, str], where: str) -> Measured:
    flops, moved, seconds = (_number(row.get(column), column, where) for column in COLUMNS[1:])
    return Measured(str(row["name"])[:80], flops, moved, seconds)


def _number(text: str | None, column: str, where: str) -> Fraction:
    said = (text or "").strip()
    exponent = said.lower().partition("e")[2]
    short = len(said) <= LONGEST_NUMBER and (not exponent or _small(exponent))
    try:
        value = Fraction(said) if short else Fraction(0)
    except (ValueError, ZeroDivisionError):
        value = Fraction(0)
    if value <= 0:
        raise ReadError(f"{column} is no number above 0", where=where, expected="as 2.5e9", got=said[:40])
    return value


def _small(exponent: str) -> bool:
    digits = exponent.lstrip("+-")
    return digits.isdecimal() and int(digits) <= LARGEST_EXPONENT


def names(points: Iterable[Measured]) -> tuple[str, ...]:
    """Return what was measured."""
    return tuple(one.name for one in points)
