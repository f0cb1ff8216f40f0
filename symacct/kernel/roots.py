"""Square roots.

What is under a root must be seen to be at least 0. The root of n/d is the root of n*d over d, as d > 0. The
root of a monomial c*g^a*h^b with variables of at least 0 is the product of the roots of its factors: an
even power comes out, sqrt(g^2) = g for g >= 0, and an odd one leaves sqrt(g). A variable without a least
value is not taken apart. What all terms of a sum share is taken out in the same way, and so is a number
that is a square. The rest is at least 0 too, also where a factor g is 0: the shift of the whole counts g
from 0 then, so that the coefficients of the rest are those of the whole. It is an atom. The root r of p is
a variable with r >= 0 and r^2 = p, which `Box.times` puts in; r >= 1 where p >= 1, and r is above its bound
where p is (the root is strictly increasing, and 0 and 1 are their own roots).
"""

from __future__ import annotations

from fractions import Fraction
from math import isqrt
from typing import TYPE_CHECKING

from .poly import ONE, Poly, Ratio, common, constant, content, lowest, without
from .refusal import need

if TYPE_CHECKING:
    from .box import Box


def read_root(box: Box, value: Ratio) -> Ratio:
    """Return the square root of a fraction."""
    under, below = box.times(*value), value[1]
    need(box.sure((under, ONE)), "what is under a root is not seen to be at least 0")
    if not under:
        return constant(0)
    shared = common(list(under), box.lower)
    rest = without(under, shared, Fraction(1))
    outside: Poly = {tuple((g, e // 2) for g, e in sorted(shared.items()) if e > 1): Fraction(1)}
    factors: list[Poly] = [{((g, 1),): Fraction(1)} for g, e in sorted(shared.items()) if e % 2]
    if len(rest) == 1 and () in rest:
        out, number = root_of_number(rest[()])
        outside = dict.fromkeys(outside, out)
        factors += [] if number == 1 else [{(): number}]
    else:
        scale = content(rest)
        out, number = root_of_number(scale)
        if number == 1:
            outside, rest = dict.fromkeys(outside, out), without(rest, {}, scale)
        factors.append(rest)
    result: Ratio = (outside, ONE)
    for factor in factors:
        result = box.product(result, root_atom(box, factor))
    return box.product(result, lowest(ONE, below, box.lower))


def root_of_number(number: Fraction) -> tuple[Fraction, Fraction]:
    """Return a rational and an integer whose root times the rational is the root of a number."""
    whole = number.numerator * number.denominator
    if isqrt(whole) ** 2 == whole:
        return Fraction(isqrt(whole), number.denominator), Fraction(1)
    return Fraction(1, number.denominator), Fraction(whole)


def root_atom(box: Box, under: Poly) -> Ratio:
    """Return the root of a polynomial as a variable."""
    bound = box.least((under, ONE)) or 0
    above = box.sure(box.minus((under, ONE), constant(bound)), strict=True)
    result = box.opaque("sqrt", [(under, ONE)], bound, above=above)
    ((((name, _),), _),) = result[0].items()
    box.roots[name] = under
    return result
