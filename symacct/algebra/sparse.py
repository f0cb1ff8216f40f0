"""Polynomials as tables of exponents, in generators that start at 0: fast sums, products and comparisons.

Sizes are counted from their least value, ``x = least + y``, so that a polynomial whose coefficients are all
at least 0 is at least 0 everywhere.
"""

from __future__ import annotations

from math import comb
from operator import ge
from typing import TYPE_CHECKING

from sympy import Add, Mul, Pow

from symacct.algebra.normal import normal
from symacct.algebra.tables import from_number
from symacct.algebra.terms import read

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from fractions import Fraction

    from sympy import Expr

Powers = tuple[int, ...]
Poly = dict[Powers, "int | Fraction"]


def plus(left: Poly, right: Poly, times: Fraction | int = 1) -> Poly:
    """Return ``left + times * right``."""
    found = dict(left)
    for powers, value in right.items():
        new = found.get(powers, 0) + times * value
        if new:
            found[powers] = new
        else:
            found.pop(powers, None)
    return found


def product(left: Poly, right: Poly) -> Poly:
    """Return the product."""
    found: Poly = {}
    for a, x in left.items():
        for b, y in right.items():
            powers = tuple(map(int.__add__, a, b))
            new = found.get(powers, 0) + x * y
            if new:
                found[powers] = new
            else:
                found.pop(powers, None)
    return found


def at_least(left: Poly, right: Poly) -> bool:
    """Return whether every coefficient of the difference is at least 0."""
    return all(left.get(powers, 0) >= value for powers, value in right.items()) and all(
        value >= 0 for powers, value in left.items() if powers not in right
    )


def nonnegative(poly: Poly) -> bool:
    """Return whether every coefficient is at least 0."""
    return all(value >= 0 for value in poly.values())


def degree(poly: Poly, place: int) -> int:
    """Return the highest power of a generator."""
    return max((powers[place] for powers in poly), default=0)


def put_in(poly: Poly, place: int, value: Poly) -> Poly:
    """Return the polynomial with another one in the place of a generator."""
    highest = degree(poly, place)
    if not highest:
        return poly
    unit = next(iter(poly))
    powers_of: list[Poly] = [{tuple(0 for _ in unit): 1}]
    for _ in range(highest):
        powers_of.append(product(powers_of[-1], value))
    found: Poly = {}
    for powers, coefficient in poly.items():
        rest = (*powers[:place], 0, *powers[place + 1 :])
        found = plus(found, product({rest: coefficient}, powers_of[powers[place]]))
    return found


def moved(poly: Poly, place: int, by: int) -> Poly:
    """Return the polynomial with ``x + by`` in the place of a generator ``x``.

    >>> moved({(2,): 1}, 0, -1)
    {(2,): 1, (0,): 1, (1,): -2}
    """
    if not any(powers[place] for powers in poly):
        return poly
    found: Poly = {}
    for powers, coefficient in poly.items():
        highest = powers[place]
        found[powers] = found.get(powers, 0) + coefficient
        for power in range(highest):
            lower = (*powers[:place], power, *powers[place + 1 :])
            found[lower] = found.get(lower, 0) + coefficient * comb(highest, power) * by ** (highest - power)
    return {powers: value for powers, value in found.items() if value}


class Ring:
    """Generators with the least value of each; what is no polynomial in sizes is a generator of its own.

    In a ``plain`` ring sizes are generators as they are, which then start at 1: tables stay short.

    >>> from symacct.algebra.symbols import symbol
    >>> B, D = symbol("B"), symbol("D")
    >>> ring = Ring([B * D, D], {D: 2})
    >>> sorted(ring.poly(B * D).values()), ring.expr(ring.poly(B * D - D))
    ([1, 1, 2, 2], B*D - D)
    """

    def __init__(self, exprs: Iterable[Expr], least: Mapping[Expr, int], *, plain: bool = False) -> None:
        """Collect the generators of the formulas; a size counts from 1 unless said otherwise."""
        bases: dict[Expr, None] = dict.fromkeys(least)
        for expr in exprs:
            for monomial in read(normal(expr)):
                for base, power in monomial:
                    bases[_generator(base, power)] = None
        self.bases = sorted(bases, key=lambda base: base.sort_key())
        self.places = {base: place for place, base in enumerate(self.bases)}
        self.least = [least.get(base, 0 if plain else _start(base)) for base in self.bases]
        self.starts = [
            0 if base in least else _start(base) - at for base, at in zip(self.bases, self.least, strict=True)
        ]
        self.known: dict[Expr, Poly] = {}
        self.moved: dict[Powers, Poly] = {}
        self.monomials: dict[Powers, Expr] = {}

    def number(self, value: Fraction | int) -> Poly:
        """Return a constant."""
        return {tuple([0] * len(self.bases)): whole(value)} if value else {}

    def generator(self, base: Expr) -> Poly:
        """Return the shifted generator, which starts at 0."""
        powers = [0] * len(self.bases)
        powers[self.places[base]] = 1
        return {tuple(powers): 1}

    def poly(self, expr: Expr) -> Poly:
        """Return a formula as a polynomial in the shifted generators."""
        if expr not in self.known:
            found: Poly = {}
            for monomial, coefficient in read(normal(expr)).items():
                term = self.number(coefficient)
                for base, power in monomial:
                    term = product(term, self._power(_generator(base, power), int(power) if power > 0 else 1))
                found = plus(found, term)
            self.known[expr] = found
        return self.known[expr]

    def _power(self, base: Expr, power: int) -> Poly:
        place = self.places[base]
        found: Poly = {}
        for k in range(power + 1):
            powers = [0] * len(self.bases)
            powers[place] = k
            value = comb(power, k) * self.least[place] ** (power - k)
            if value:
                found[tuple(powers)] = value
        return found

    def reread(self, polys: Iterable[Poly], ring: Ring, means: Mapping[Expr, Expr]) -> list[Poly]:
        """Return polynomials of another ring in this one.

        ``means`` are formulas of this ring for generators of the other one that are not as they were.

        >>> from symacct.algebra.symbols import symbol
        >>> B, L = symbol("B"), symbol("L")
        >>> old, new = Ring([B, L], {L: 3}), Ring([B], {})
        >>> [new.expr(poly) for poly in new.reread([old.poly(B * L)], old, {L: 2 * B})]
        [2*B**2]
        """
        values = [
            plus(self.poly(means.get(base, base)), self.number(-least))
            for base, least in zip(ring.bases, ring.least, strict=True)
        ]
        known: dict[Powers, Poly] = {}
        found = []
        for poly in polys:
            whole_: Poly = {}
            for powers, coefficient in poly.items():
                if powers not in known:
                    known[powers] = self.number(1)
                    for value, power in zip(values, powers, strict=True):
                        for _ in range(power):
                            known[powers] = product(known[powers], value)
                whole_ = plus(whole_, known[powers], coefficient)
            found.append(whole_)
        return found

    def expr(self, poly: Poly) -> Expr:
        """Return a polynomial as a formula in the sizes."""
        return self.in_sizes(self.shifted(poly, -1))

    def shifted(self, poly: Poly, way: int = 1) -> Poly:
        """Return a polynomial in sizes as one in what they exceed their least value by, or back (-1)."""
        for place, least in enumerate(self.least):
            if least:
                poly = moved(poly, place, way * least)
        return poly

    def from_starts(self, poly: Poly) -> Poly:
        """Return a polynomial in what the generators exceed their least value by, where they are plain."""
        found: Poly = {}
        for powers, coefficient in poly.items():
            if powers not in self.moved:
                one: Poly = {powers: 1}
                for place, start in enumerate(self.starts):
                    one = moved(one, place, start) if start and powers[place] else one
                self.moved[powers] = one
            for lower, times in self.moved[powers].items():
                found[lower] = found.get(lower, 0) + coefficient * times
        return {powers: value for powers, value in found.items() if value}

    def nonnegative(self, poly: Poly) -> bool:
        """Say whether a polynomial plainly is at least 0 wherever its generators may be."""
        below = [powers for powers, value in poly.items() if value < 0]
        if not below or not any(self.starts):
            return not below
        above = [powers for powers, value in poly.items() if value > 0]
        if not all(any(all(map(ge, more, less)) for more in above) for less in below):
            return False  # a coefficient that nothing is added to
        return nonnegative(self.from_starts(poly))

    def in_sizes(self, poly: Poly) -> Expr:
        """Return a polynomial in the sizes themselves as a formula."""
        return normal(Add(*(Mul(from_number(c), self.monomial(powers)) for powers, c in poly.items())))

    def monomial(self, powers: Powers) -> Expr:
        """Return a product of powers of the sizes themselves."""
        if powers not in self.monomials:
            factors = (Pow(base, power) for base, power in zip(self.bases, powers, strict=True) if power)
            self.monomials[powers] = Mul(*factors)
        return self.monomials[powers]


def whole(value: Fraction | int) -> Fraction | int:
    """Return an integer where a fraction is one: integers are several times faster."""
    return value if isinstance(value, int) else value.numerator if value.denominator == 1 else value


def _generator(base: Expr, power: object) -> Expr:
    """Return what stands as a generator for a base to a power: the power itself where it is no count."""
    whole = getattr(power, "denominator", 1) == 1 and power > 0  # type: ignore[operator]
    return base if whole else Pow(base, power)


def _start(base: Expr) -> int:
    return 1 if base.is_Symbol and base.is_positive else 0
