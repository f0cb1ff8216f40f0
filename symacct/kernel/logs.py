"""Natural logarithms.

What a logarithm is taken of must be seen to be positive. Then log(n/d) = log n - log d, as d is positive too;
log(g*q) = log g + log q for a factor g >= 0 of a positive product (neither is 0, so g > 0, and then q > 0);
log sqrt(p) = log(p)/2; and log of a positive number is the sum of the logarithms of its prime factors, as far
as they are found. What is left is an atom: log g, log q, log p.

Least values. The logarithm increases. Where g >= N >= 1, log g >= log N, and that is at least the integer
below any lower bound of it that is worked out from a series (see `enclosure`); it is more where log N is,
which for integers N > 1 is no integer, or where g > N. For a polynomial q it is at least 0 where q >= 1.

Facts. For x > 0: x - 1 - log x >= 0 (the tangent at 1 of a concave function), and log x - 1 + 1/x >= 0, the
same of 1/x. With x/c or sqrt(x) in the place of x they say how slowly a logarithm grows.
"""

from __future__ import annotations

from fractions import Fraction
from math import floor
from typing import TYPE_CHECKING, Any

from .enclosure import log_of
from .form import operation
from .poly import ONE, Poly, Ratio, common, constant, content, without
from .refusal import need

if TYPE_CHECKING:
    from .box import Box

LARGEST_PRIME, LOG_WORK = 1000, 100


def read_log(box: Box, value: Ratio) -> Ratio:
    """Return the logarithm of a fraction."""
    need(box.sure(value, strict=True), "what a logarithm is taken of is not seen to be positive")
    return box.minus(of_poly(box, value[0]), of_poly(box, value[1]))


def of_poly(box: Box, poly: Poly) -> Ratio:
    """Return the logarithm of a polynomial that is positive."""
    box.meter.spend(len(poly))
    shared = common(list(poly), box.lower)
    scale = content(poly)
    rest = without(poly, shared, scale)
    total = box.minus(of_integer(box, scale.numerator), of_integer(box, scale.denominator))
    for name, power in sorted(shared.items()):
        total = box.plus(total, box.product(constant(power), of_factor(box, name)))
    return total if rest == ONE else box.plus(total, of_sum(box, rest))


def of_integer(box: Box, number: int) -> Ratio:
    """Return the logarithm of an integer of at least 1: the sum of those of its factors."""
    total, prime = constant(0), 2
    while number > 1:
        box.meter.spend(1)
        if prime > LARGEST_PRIME:
            prime = number
        power = 0
        while number % prime == 0:
            number, power = number // prime, power + 1
        if power:
            box.meter.spend(LOG_WORK)
            low = floor(log_of(Fraction(prime))[0])
            atom = box.opaque("log", [constant(prime)], low, above=True)
            total = box.plus(total, box.product(constant(power), atom))
        prime += 1
    return total


def of_factor(box: Box, name: str) -> Ratio:
    """Return the logarithm of one variable that is above 0."""
    if name in box.roots:
        return box.product(constant(Fraction(1, 2)), of_poly(box, box.roots[name]))
    value: Ratio = ({((name, 1),): Fraction(1)}, ONE)
    least = box.lower[name]
    if least < 1:
        return box.opaque("log", [value], None)
    box.meter.spend(LOG_WORK)
    low = floor(log_of(Fraction(least))[0])
    return box.opaque("log", [value], low, above=least > 1 or name in box.above)


def of_sum(box: Box, rest: Poly) -> Ratio:
    """Return the logarithm of a polynomial of several terms as an atom."""
    over = box.minus((rest, ONE), constant(1))
    bound = 0 if box.sure(over) else None
    return box.opaque("log", [(rest, ONE)], bound, above=bound == 0 and box.sure(over, strict=True))


def fact_of_log(box: Box, expr: Any, side: int) -> tuple[Ratio, bool]:
    """Return what is at least 0 for a logarithm: x - 1 - log x, or log x - 1 + 1/x."""
    log, inside = box.read(expr), operation(expr)[1]
    value = box.read(inside)
    need(side in {0, 1}, "the atom has no such side")
    if side == 0:
        return box.minus(box.minus(value, constant(1)), log), False
    return box.plus(box.minus(log, constant(1)), box.over(constant(1), value)), False
