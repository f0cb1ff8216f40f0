"""A floating-point format: sign, exponent, fraction, bias and a rule for special values; the rest follows."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from symacct.errors import RuleError, UsageError, unknown
from symacct.formats.value import INFINITY, NAN, Value

if TYPE_CHECKING:
    from collections.abc import Iterator

SPECIALS = {
    "ieee": "the largest exponent is kept for the infinities (fraction 0) and not-a-number",
    "fn": "no infinities; not-a-number is the code of all ones, under either sign",
    "fnuz": "no infinities and no negative zero; its code is not-a-number",
    "none": "every code is a number: no infinities, no not-a-number",
    "scale": "powers of two alone: no sign, no zero, no subnormal numbers; all ones is not-a-number",
}
WIDEST = 128


def log2_floor(magnitude: Fraction) -> int:
    """Return the largest e with 2^e at most a positive number.

    >>> [log2_floor(Fraction(n)) for n in ("1", "7/2", "1/3")]
    [0, 1, -2]
    """
    guess = magnitude.numerator.bit_length() - magnitude.denominator.bit_length()
    return guess if magnitude >= power(guess) else guess - 1


def power(exponent: int) -> Fraction:
    """Return a power of two.

    >>> power(-3)
    Fraction(1, 8)
    """
    return Fraction(1 << exponent) if exponent >= 0 else Fraction(1, 1 << -exponent)


@dataclass(frozen=True, slots=True)
class Format:
    """A floating-point format.

    A magnitude's code is its exponent field, then its fraction field. With exponent field e and fraction
    field f it stands for ``(2^fraction + f) * 2^(e - bias - fraction)``, or, where e is 0, for the subnormal
    ``f * 2^(1 - bias - fraction)``; which codes are special says ``special``. Codes are in the order of the
    magnitudes, so that the neighbours of a number are the codes beside its own.

    Attributes:
        name: how it is called.
        exponent: bits of the exponent field.
        fraction: bits of the fraction field (the leading 1 is not stored).
        bias: what is subtracted from the exponent field.
        special: one of `SPECIALS`.
        about: where it is used.
        source: what says so.
        padding: bits of zeros that are stored below the code (tf32 has 13).

    >>> e4m3 = Format("fp8_e4m3", 4, 3, 7, "fn")
    >>> e4m3.largest, e4m3.smallest, e4m3.epsilon, e4m3.bits
    (Fraction(448, 1), Fraction(1, 512), Fraction(1, 8), Fraction(8, 1))
    """

    name: str
    exponent: int
    fraction: int
    bias: int
    special: str = "ieee"
    about: str = ""
    source: str = ""
    padding: int = 0

    def __post_init__(self) -> None:
        """Check that the fields make a format.

        Raises:
            SymacctError: a field is out of range, or the rule for special values is unknown.
        """
        if self.special not in SPECIALS:
            raise unknown("rule for special values", self.special, SPECIALS, where=f"format {self.name}")
        least = 1 if self.special in {"ieee", "fn"} else 0
        if self.exponent < 1 or self.fraction < least or self.padding < 0 or self.width > WIDEST:
            expected = f"exponent of at least 1, fraction of at least {least}, at most {WIDEST} bits in all"
            got = f"exponent {self.exponent}, fraction {self.fraction}, padding {self.padding}"
            raise UsageError(f"{self.name} is no format", expected=expected, got=got)

    @property
    def signed(self) -> bool:
        """Whether it has a sign."""
        return self.special != "scale"

    @property
    def width(self) -> int:
        """Bits of a code as it is stored, zeros below included."""
        return self.signed + self.exponent + self.fraction + self.padding

    @property
    def bits(self) -> Fraction:
        """Bits of storage of an element."""
        return Fraction(self.width)

    @property
    def top(self) -> int:
        """The code of the largest finite magnitude, without sign."""
        ones = (1 << (self.exponent + self.fraction)) - 1
        reserved = {"ieee": 1 << self.fraction, "fn": 1, "scale": 1}
        return ones - reserved.get(self.special, 0)

    @property
    def largest(self) -> Fraction:
        """The largest finite number."""
        return self._magnitude(self.top)

    @property
    def lowest(self) -> Fraction:
        """The least finite number: most negative, or the smallest scale."""
        return -self.largest if self.signed else self.smallest

    @property
    def smallest_normal(self) -> Fraction:
        """The smallest number with full precision."""
        return power(self.least_exponent)

    @property
    def least_exponent(self) -> int:
        """The exponent of the smallest normal number."""
        return (1 if self.signed else 0) - self.bias

    @property
    def most_exponent(self) -> int:
        """The exponent of the largest number: 2^e is the largest power of two that it holds."""
        return log2_floor(self.largest)

    @property
    def smallest(self) -> Fraction:
        """The smallest number above zero; a subnormal one where the format has these."""
        return self._magnitude(1 if self.signed else 0)

    @property
    def subnormal(self) -> bool:
        """Whether there are numbers below the smallest normal one."""
        return self.smallest < self.smallest_normal

    @property
    def epsilon(self) -> Fraction:
        """The distance from 1 to the next number; no relative error of rounding exceeds half of it."""
        return power(-self.fraction)

    @property
    def count(self) -> int:
        """How many different finite numbers it holds; the two zeros are one."""
        return 2 * self.top + 1 if self.signed else self.top + 1

    @property
    def nan(self) -> int | None:
        """The code that rounding gives for not-a-number, or None where there is none.

        Among the many of IEEE 754 it is the quiet one without payload.
        """
        ones = (1 << (self.exponent + self.fraction)) - 1
        codes = {
            "ieee": ones - (1 << (self.fraction - 1)) + 1 if self.fraction else None,
            "fn": ones,
            "scale": ones,
            "fnuz": ones + 1,
        }
        code = codes.get(self.special)
        return None if code is None else code << self.padding

    def decode(self, code: int) -> Value:
        """Return what a code stands for.

        Raises:
            UsageError: the code is negative, has too many bits, or ones where zeros are stored.

        >>> Format("fp16", 5, 10, 15).decode(0x3C00).number
        Fraction(1, 1)
        """
        self._check(code)
        negative, field = divmod(code >> self.padding, 1 << (self.exponent + self.fraction))
        if field <= self.top:
            if negative and not field and self.special == "fnuz":
                return Value(kind=NAN)
            return Value(self._magnitude(field), bool(negative))
        infinite = self.special == "ieee" and field == self.top + 1
        return Value(negative=bool(negative), kind=INFINITY if infinite else NAN)

    def _check(self, code: int) -> None:
        if 0 <= code < 1 << self.width and not code % (1 << self.padding):
            return
        zeros = f", the last {self.padding} of them 0" if self.padding else ""
        what = f"{code:#x} is no code of {self.name}"
        raise UsageError(what, expected=f"{self.width} bits{zeros}", got=f"{code:#x}")

    def _magnitude(self, field: int) -> Fraction:
        exponent, fraction = divmod(field, 1 << self.fraction)
        if exponent == 0 and self.signed:
            return fraction * power(1 - self.bias - self.fraction)
        return ((1 << self.fraction) + fraction) * power(exponent - self.bias - self.fraction)

    def ulp(self, number: Fraction) -> Fraction:
        """Return the distance of the format's numbers around a number, as if its exponents had no end.

        >>> Format("fp16", 5, 10, 15).ulp(Fraction(2049))
        Fraction(2, 1)
        """
        exponent = log2_floor(abs(number)) if number else self.least_exponent
        return power(max(exponent, self.least_exponent) - self.fraction)

    def encode(self, value: Value, *, saturate: bool = False) -> int:
        """Return the code of the nearest number; of two equally near, the one whose code is even.

        What is beyond the largest number after rounding (with exponents that go on) becomes infinity, or
        not-a-number where there is no infinity; with ``saturate``, and always where there is neither, the
        largest number.

        Raises:
            RuleError: the format holds nothing like the value: not-a-number, or zero or a negative scale.

        >>> e4m3 = Format("fp8_e4m3", 4, 3, 7, "fn")
        >>> [hex(e4m3.encode(Value(Fraction(n)))) for n in (1, 464, 465)]
        ['0x38', '0x7e', '0x7f']
        """
        if value.kind == NAN:
            return self._not_a_number()
        if not self.signed and (value.negative or (value.finite and not value.magnitude)):
            raise self._refused("a negative number" if value.negative else "zero")
        field = self._nearest(value.magnitude) if value.finite else self.top + 1
        if field > self.top:
            if not saturate and self.special in {"fn", "fnuz", "scale"}:
                return self._signed(value.negative, self._not_a_number())
            field = self.top + 1 if self.special == "ieee" and not saturate else self.top
        if self.special == "fnuz" and not field:
            return 0
        return self._signed(value.negative, field << self.padding)

    def clamp(self, value: Value) -> int:
        """Return the code of the nearest number; beyond the largest, the largest (it saturates)."""
        return self.encode(value, saturate=True)

    def _nearest(self, magnitude: Fraction) -> int:
        step = self.ulp(magnitude)
        units = round(magnitude / step)
        exponent = log2_floor(step) + self.fraction
        return max(0, ((exponent + self.bias - 1) << self.fraction) + units)

    def _signed(self, negative: bool, code: int) -> int:  # noqa: FBT001
        return code | (int(negative and self.signed) << (self.width - 1))

    def _not_a_number(self) -> int:
        if self.nan is None:
            raise self._refused("not-a-number")
        return self.nan

    def _refused(self, what: str) -> RuleError:
        return RuleError(
            f"{self.name} cannot hold {what}", expected=f"a number ({SPECIALS[self.special]})", got=what
        )

    def codes(self) -> Iterator[int]:
        """Yield every code."""
        return iter(range(0, 1 << self.width, 1 << self.padding))
