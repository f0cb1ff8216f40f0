"""What a code of a format stands for: a rational number with its sign, an infinity, or not a number."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

FINITE, INFINITY, NAN = "finite", "infinity", "nan"


@dataclass(frozen=True, slots=True)
class Value:
    """A rational number with its sign (a zero has one too), an infinity, or not a number.

    >>> Value(Fraction(3, 2)), Value.of(Fraction(-3, 2)).number
    (Value(magnitude=Fraction(3, 2), negative=False, kind='finite'), Fraction(-3, 2))
    """

    magnitude: Fraction = Fraction(0)
    negative: bool = False
    kind: str = FINITE

    @classmethod
    def of(cls, number: Fraction) -> Value:
        """Return a rational number as a value; zero is the positive one."""
        return cls(abs(number), number < 0)

    @property
    def finite(self) -> bool:
        """Whether it is a number."""
        return self.kind == FINITE

    @property
    def number(self) -> Fraction:
        """The rational number it is.

        Raises:
            ValueError: it is an infinity, or not a number.
        """
        if not self.finite:
            raise ValueError(f"{self} is no rational number")
        return -self.magnitude if self.negative else self.magnitude

    def same(self, other: Value) -> bool:
        """Return whether both are one number; signed zeros are, and not-a-number is like itself."""
        if self.finite and other.finite:
            return self.number == other.number
        return self.kind == other.kind and (self.kind == NAN or self.negative == other.negative)
