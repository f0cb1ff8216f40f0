"""Polynomials with rational coefficients, and fractions of two of them.

A polynomial is a table from monomials to coefficients other than 0. A fraction is a pair; its second part
is positive for all sizes that the statement speaks of, which every function here keeps: a product of
positive things is positive, and `lowest` divides by a positive number and by a monomial that the positive
divisor holds as a factor of each of its terms, so that the monomial is not 0. It is positive as well: the
variables in it that can be negative are counted by whoever reads a quotient (see `box`), which is why only
a monomial of variables with a least value is taken out.
"""

from __future__ import annotations

from fractions import Fraction
from math import comb, gcd, lcm
from typing import TYPE_CHECKING

from .refusal import MOST_BITS, MOST_DEGREE, Meter, need

if TYPE_CHECKING:
    from collections.abc import Container

Monomial = tuple[tuple[str, int], ...]  # sorted pairs (variable, exponent)
Poly = dict[Monomial, Fraction]  # no zero coefficients
Ratio = tuple[Poly, Poly]  # the second is positive for all sizes that the statement speaks of
ONE: Poly = {(): Fraction(1)}


def bounded(number: Fraction) -> Fraction:
    """Return a number that is not too large."""
    bits = number.numerator.bit_length() + number.denominator.bit_length()
    need(bits <= MOST_BITS, "a number is too large")
    return number


def put(into: Poly, more: Poly, sign: int = 1) -> Poly:
    """Add sign * more to a polynomial, in place."""
    for monomial, value in more.items():
        signed = value if sign == 1 else sign * value
        old = into.get(monomial)
        new = signed if old is None else old + signed
        if new:
            into[monomial] = bounded(new)
        else:
            into.pop(monomial, None)
    return into


def join(left: Monomial, right: Monomial) -> Monomial:
    """Return the product of two monomials."""
    if not left or not right:
        return left or right
    powers = dict(left)
    for name, power in right:
        powers[name] = powers.get(name, 0) + power
        need(powers[name] <= MOST_DEGREE, "a power is too large")
    return tuple(sorted(powers.items()))


def shifted(poly: Poly, name: str, start: int, meter: Meter) -> Poly:
    """Return a polynomial with start + y in the place of a variable; y goes by the variable's name."""
    held = {m: dict(m)[name] for m in poly if any(g == name for g, _ in m)}
    meter.spend(sum(1 + len(m) // 4 for m in poly))
    moved = {m: c for m, c in poly.items() if m not in held}
    for monomial, power in held.items():
        rest = tuple(pair for pair in monomial if pair[0] != name)
        meter.spend(power * (1 + len(rest) // 4))
        for k in range(power + 1):
            times = comb(power, k) * start ** (power - k)
            c = poly[monomial] if times == 1 else poly[monomial] * times
            put(moved, {join(rest, ((name, k),)) if k else rest: c})
    return moved


def without(poly: Poly, shared: dict[str, int], scale: Fraction) -> Poly:
    """Return a polynomial divided by a monomial that all its terms hold, and by a number."""
    if not shared:
        return dict(poly) if scale == 1 else {m: c / scale for m, c in poly.items()}
    return {
        tuple((g, e - shared.get(g, 0)) for g, e in m if e > shared.get(g, 0)): c if scale == 1 else c / scale
        for m, c in poly.items()
    }


def common(monomials: list[Monomial], among: Container[str]) -> dict[str, int]:
    """Return the largest monomial of such variables that divides all of these."""
    shared = {name: power for name, power in monomials[0] if name in among}
    for monomial in monomials:
        powers = dict(monomial)
        shared = {name: min(power, powers[name]) for name, power in shared.items() if name in powers}
    return shared


def lowest(top: Poly, below: Poly, among: Container[str]) -> Ratio:
    """Return the fraction without the monomial of variables of at least 0 that all terms share."""
    if not top or below == ONE:
        return top, ONE
    shared = common([*below, *top], among)
    scale = abs(below[max(below)])
    return without(top, shared, scale), without(below, shared, scale)


def constant(number: Fraction | int) -> Ratio:
    """Return a number as a fraction of polynomials."""
    return {(): Fraction(number)} if number else {}, ONE


def plain(value: Ratio) -> Fraction | None:
    """Return the number that a fraction is, or None where any variable is in it (a root of 2 is one)."""
    number = all(not monomial for poly in value for monomial in poly)
    return value[0].get((), Fraction(0)) / value[1][()] if number else None


def content(poly: Poly) -> Fraction:
    """Return the largest positive number by which a polynomial is a multiple with integer coefficients."""
    values = list(poly.values())
    return Fraction(gcd(*(c.numerator for c in values)), lcm(*(c.denominator for c in values)))


def unique(value: Ratio) -> str:
    """Return a text that differs for different fractions; the name of an atom is made of it."""
    sides = [
        " + ".join(str(c) + "".join(f"*{g}^{e}" for g, e in m) for m, c in sorted(poly.items())) or "0"
        for poly in value
    ]
    return f"({sides[0]})/({sides[1]})"
