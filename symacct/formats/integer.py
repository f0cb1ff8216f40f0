"""Integers in two's complement, with a point that may stand above the last bit."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from symacct.errors import RuleError, UsageError
from symacct.formats.floating import log2_floor, power
from symacct.formats.value import NAN, Value

if TYPE_CHECKING:
    from collections.abc import Iterator

WIDEST = 64


@dataclass(frozen=True, slots=True)
class Integer:
    """Two's complement of ``width`` bits, in steps of ``2^-point``.

    Attributes:
        name: how it is called.
        width: bits of an element.
        about: where it is used.
        source: what says so.
        point: bits below the point (MXINT8 has 6).

    >>> int4 = Integer("int4", 4)
    >>> int4.lowest, int4.largest, int4.count
    (Fraction(-8, 1), Fraction(7, 1), 16)
    """

    name: str
    width: int
    about: str = ""
    source: str = ""
    point: int = 0

    def __post_init__(self) -> None:
        """Check that the fields make a format.

        Raises:
            UsageError: a field is out of range.
        """
        if not 2 <= self.width <= WIDEST or not 0 <= self.point < self.width:
            got = f"{self.width} bits, {self.point} below the point"
            raise UsageError(f"{self.name} is no format", expected=f"2 to {WIDEST} bits", got=got)

    @property
    def bits(self) -> Fraction:
        """Bits of storage of an element."""
        return Fraction(self.width)

    @property
    def step(self) -> Fraction:
        """The distance between two neighbours, everywhere the same."""
        return power(-self.point)

    @property
    def largest(self) -> Fraction:
        """The largest number."""
        return ((1 << (self.width - 1)) - 1) * self.step

    @property
    def lowest(self) -> Fraction:
        """The most negative number, which has no counterpart above zero."""
        return -(1 << (self.width - 1)) * self.step

    @property
    def smallest(self) -> Fraction:
        """The smallest number above zero."""
        return self.step

    @property
    def most_exponent(self) -> int:
        """The exponent of the largest power of two that it holds above zero."""
        return log2_floor(self.largest)

    @property
    def count(self) -> int:
        """How many numbers it holds."""
        return 1 << self.width

    def decode(self, code: int) -> Value:
        """Return what a code stands for.

        Raises:
            UsageError: the code is negative, or has too many bits.

        >>> Integer("int8", 8).decode(0xFF).number
        Fraction(-1, 1)
        """
        if not 0 <= code < 1 << self.width:
            what = f"{code:#x} is no code of {self.name}"
            raise UsageError(what, expected=f"{self.width} bits", got=f"{code:#x}")
        signed = code - (1 << self.width) if code >> (self.width - 1) else code
        return Value.of(signed * self.step)

    def ulp(self, number: Fraction) -> Fraction:  # noqa: ARG002
        """Return the distance of the format's numbers, which is one everywhere."""
        return self.step

    def encode(self, value: Value) -> int:
        """Return the code of the nearest number, even of two equally near; beyond the ends, the end's.

        Raises:
            RuleError: the value is not a number.

        >>> [Integer("int4", 4).encode(Value.of(Fraction(n))) for n in ("5/2", "-1/2", "100", "-100")]
        [2, 0, 7, 8]
        """
        if value.kind == NAN:
            raise RuleError(f"{self.name} cannot hold not-a-number", expected="a number", got="nan")
        beyond = -(1 << self.width) if value.negative else 1 << self.width
        units = round(value.number / self.step) if value.finite else beyond
        most = (1 << (self.width - 1)) - 1
        return min(max(units, -most - 1), most) % (1 << self.width)

    def clamp(self, value: Value) -> int:
        """Return what `encode` does, which stops at the ends of itself."""
        return self.encode(value)

    def codes(self) -> Iterator[int]:
        """Yield every code."""
        return iter(range(1 << self.width))
