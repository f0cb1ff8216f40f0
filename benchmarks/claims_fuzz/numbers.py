"""Exact numbers, and roots and logarithms with many digits; what cannot be told apart is uncertain."""

from __future__ import annotations

from contextlib import contextmanager
from fractions import Fraction
from math import isqrt

import mpmath

mpmath.mp.dps = 60
CERTAIN = 0.6
"""Numbers are different where they differ within this share of the digits."""


class UndefinedError(ArithmeticError):
    """A division by 0, a root or a logarithm outside its domain."""


class UncertainError(ArithmeticError):
    """The digits do not decide."""


@contextmanager
def digits(count):
    """Compute roots and logarithms with so many digits."""
    before, mpmath.mp.dps = mpmath.mp.dps, count
    try:
        yield
    finally:
        mpmath.mp.dps = before


def real(value):
    """Return a number as mpmath holds it."""
    if isinstance(value, Real):
        return value.value
    if isinstance(value, Fraction):
        return mpmath.mpf(value.numerator) / value.denominator
    return mpmath.mpf(value)


class Real:
    """A number that is not rational, or not known to be."""

    __slots__ = ("value",)

    def __init__(self, value):
        self.value = value

    def __add__(self, other):
        return Real(self.value + real(other))

    __radd__ = __add__

    def __sub__(self, other):
        return Real(self.value - real(other))

    def __rsub__(self, other):
        return Real(real(other) - self.value)

    def __mul__(self, other):
        return 0 if not isinstance(other, Real) and other == 0 else Real(self.value * real(other))

    __rmul__ = __mul__

    def __pow__(self, power):
        return Real(self.value**power) if power else 1

    def __neg__(self):
        return Real(-self.value)

    def __repr__(self):
        return mpmath.nstr(self.value, 12)


def compare(left, right):
    """Return -1, 0 or 1; raise UncertainError where the digits do not say."""
    if not isinstance(left, Real) and not isinstance(right, Real):
        return (left > right) - (left < right)
    left, right = real(left), real(right)
    scale = max(abs(left), abs(right), mpmath.mpf(1))
    gap = left - right
    if abs(gap) <= scale * mpmath.mpf(10) ** (-int(mpmath.mp.dps * CERTAIN)):
        raise UncertainError
    return 1 if gap > 0 else -1


def whole(value):
    """Return a rational number as an int where it is one."""
    return value.numerator if isinstance(value, Fraction) and value.denominator == 1 else value


def divide(above, below):
    """Return a quotient."""
    if isinstance(below, Real):
        compare(below, 0)
    elif below == 0:
        raise UndefinedError
    if isinstance(above, Real) or isinstance(below, Real):
        return Real(real(above) / real(below))
    return whole(Fraction(above) / Fraction(below))


def root(value):
    """Return a square root, exact where it is rational."""
    if isinstance(value, Real):
        if compare(value, 0) < 0:
            raise UndefinedError
        return Real(mpmath.sqrt(value.value))
    if value < 0:
        raise UndefinedError
    value = Fraction(value)
    above, below = isqrt(value.numerator), isqrt(value.denominator)
    if above * above == value.numerator and below * below == value.denominator:
        return whole(Fraction(above, below))
    return Real(mpmath.sqrt(real(value)))


def logarithm(value):
    """Return the natural logarithm."""
    if compare(value, 0) <= 0:
        raise UndefinedError
    return 0 if not isinstance(value, Real) and value == 1 else Real(mpmath.log(real(value)))


def logarithm2(value):
    """Return the logarithm to base 2, exact for powers of two."""
    if compare(value, 0) <= 0:
        raise UndefinedError
    if isinstance(value, int) and value & (value - 1) == 0:
        return value.bit_length() - 1
    return Real(mpmath.log(real(value)) / mpmath.log(2))


def ceiling(value):
    """Return the least integer that is not less."""
    if not isinstance(value, Real):
        return -((-value) // 1)
    near = int(mpmath.nint(value.value))
    return near if compare(value, near) < 0 else near + 1


def floor(value):
    """Return the greatest integer that is not more."""
    return value // 1 if not isinstance(value, Real) else ceiling(value) - 1


def absolute(value):
    """Return the absolute value."""
    return Real(abs(value.value)) if isinstance(value, Real) else abs(value)


def largest(*values):
    """Return the largest of some numbers."""
    best = values[0]
    for value in values[1:]:
        best = value if real_order(value, best) > 0 else best
    return best


def smallest(*values):
    """Return the smallest of some numbers."""
    best = values[0]
    for value in values[1:]:
        best = value if real_order(value, best) < 0 else best
    return best


def real_order(left, right):
    """Compare; numbers that the digits do not tell apart are equal."""
    try:
        return compare(left, right)
    except UncertainError:
        return 0


FUNCTIONS = {
    "sqrt": root, "log": logarithm, "log2": logarithm2, "ceil": ceiling, "floor": floor, "abs": absolute,
    "max": largest, "min": smallest,
}  # fmt: skip
