"""Signs of polynomials where some others are at least 0, proved: for every size from its least value on.

A polynomial is at least 0 there if a positive multiple of it is a sum of these others, each times what is not
negative, and of terms without a negative coefficient once sizes are counted from their least values.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cached_property
from itertools import combinations_with_replacement
from math import lcm, prod
from typing import TYPE_CHECKING

from sympy import factor_list

from symacct.algebra.budget import check_time, spend
from symacct.algebra.feasible import weights
from symacct.algebra.normal import normal
from symacct.algebra.sparse import Poly, Ring, nonnegative, product

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from sympy import Expr

MOST_CELLS = 9_000
STEPS = (0, 1, 2, 3, 5, 9, 24, 97, 800, 40_000)
POINTS = 1_000


class Box:
    """Sizes from their least values on.

    Args:
        least: the least value of each size.
    """

    def __init__(self, least: Mapping[Expr, int]) -> None:
        """Keep the sizes."""
        self.sizes = tuple(sorted(least, key=str))
        self.least = dict(least)
        self.ring = Ring(self.sizes, self.least)
        self._values: dict[Expr, list[int]] = {}
        self._monomials: dict[tuple[int, ...], list[int]] = {}
        self.proved: dict[tuple[frozenset[Expr], Expr], bool] = {}
        self._factored: dict[Expr, tuple[int, tuple[Expr, ...]]] = {}

    def covers(self, expr: Expr) -> bool:
        """Say whether an expression is a polynomial in the sizes."""
        return expr.free_symbols <= set(self.sizes) and bool(expr.is_polynomial(*self.sizes))

    def poly(self, expr: Expr) -> Poly:
        """Return a polynomial in what sizes exceed their least values by."""
        return self.ring.poly(expr)

    @cached_property
    def points(self) -> tuple[tuple[int, ...], ...]:
        """Points of the ring, the same on every machine."""
        state, found = 2024, [(0,) * len(self.sizes)]
        for _ in range(POINTS):
            point = []
            for _ in self.sizes:
                state = (1103515245 * state + 12345) % 2**31
                point.append(STEPS[(state >> 16) % len(STEPS)])
            found.append(tuple(point))
        return tuple(found)

    def values(self, expr: Expr) -> list[int]:
        """Return a positive multiple of the values of a polynomial at all points."""
        if expr not in self._values:
            table = self.poly(expr)
            scale = lcm(*(Fraction(c).denominator for c in table.values()))
            found = [0] * len(self.points)
            for powers, value in table.items():
                number = int(value * scale)
                for at, one in enumerate(self._monomial(powers)):
                    found[at] += number * one
            self._values[expr] = found
        return self._values[expr]

    def _monomial(self, powers: tuple[int, ...]) -> list[int]:
        if powers not in self._monomials:
            self._monomials[powers] = [prod(map(pow, point, powers)) for point in self.points]
        return self._monomials[powers]

    def factored(self, expr: Expr) -> tuple[int, tuple[Expr, ...]]:
        """Return a sign, and factors whose sign differs from place to place; their product has that of it.

        >>> from symacct.algebra.symbols import symbol
        >>> B, D, L = symbol("B"), symbol("D"), symbol("L")
        >>> Box({B: 1, D: 1, L: 2}).factored((2 - L) * (B - D) ** 3 * B)
        (-1, (B - D,))
        """
        if expr not in self._factored:
            self._factored[expr] = self._factor(expr)
        return self._factored[expr]

    def _factor(self, expr: Expr) -> tuple[int, tuple[Expr, ...]]:
        whole = normal(expr)
        if whole == 0:
            return 0, ()
        if whole.is_number:
            return (1 if whole > 0 else -1), ()
        number, factors = factor_list(whole)
        sign, atoms = (1 if number > 0 else -1), []
        for factor, power in factors:
            if power % 2 == 0:
                continue
            table = self.poly(factor)
            if nonnegative(table):
                continue
            if nonnegative({p: -c for p, c in table.items()}):
                sign = -sign
            else:
                atoms.append(normal(factor))
        return sign, tuple(atoms)


class Cell:
    """The part of a box where some polynomials are at least 0.

    Args:
        box: the sizes.
        known: the polynomials.
        points: places of points of the box among which those of the cell are.
    """

    def __init__(self, box: Box, known: Sequence[Expr] = (), points: Sequence[int] | None = None) -> None:
        """Find points of the cell."""
        self.box = box
        self.known = tuple(known)
        self.thinned = 0
        found = range(len(box.points)) if points is None else points
        for one in self.known:
            values = box.values(one)
            found = [at for at in found if values[at] >= 0]
        self.points = tuple(found)
        self._signs: dict[Expr, int | None] = {}

    def within(self, more: Expr) -> Cell:
        """Return the part of the cell where one more polynomial is at least 0."""
        found = Cell(self.box, (*self.known, more), self.points)
        found.thinned = self.thinned
        return found

    def sign(self, expr: Expr) -> int | None:
        """Return 1 where a polynomial is at least 0 in the cell, -1 where at most 0, 0 where it is 0.

        None where neither is proved; see :meth:`open` for what it then depends on.

        >>> from symacct.algebra.symbols import symbol
        >>> B, D, L = symbol("B"), symbol("D"), symbol("L")
        >>> cell = Cell(Box({B: 1, D: 1, L: 2}), [B - D, B**2 + B * D - L * D**2])
        >>> cell.sign(B * L - D), cell.sign(B - 2 * D), Cell(cell.box, [B - D]).sign(D - B * L)
        (1, None, -1)
        """
        sign, atoms = self.box.factored(expr)
        for atom in atoms:
            found = self.of_atom(atom)
            if found is None:
                return None
            sign *= found
        return sign

    def open(self, expr: Expr) -> tuple[Expr, ...]:
        """Return the factors of a polynomial whose sign is not known in the cell."""
        return tuple(atom for atom in self.box.factored(expr)[1] if self.of_atom(atom) is None)

    def of_atom(self, atom: Expr) -> int | None:
        """Return the sign of a factor."""
        if atom not in self._signs:
            table = self.box.values(atom)
            values = [table[at] for at in self.points]
            way = None
            if not any(value < 0 for value in values) and self.proves(atom):
                way = 1
            elif not any(value > 0 for value in values) and self.proves(-atom):
                way = -1
            self._signs[atom] = way
        return self._signs[atom]

    def proves(self, expr: Expr) -> bool:
        """Say whether a polynomial is proved to be at least 0 in the cell."""
        target = self.box.poly(normal(expr))
        if nonnegative(target):
            return True
        key = (frozenset(self.known), normal(expr))
        if key not in self.box.proved:
            self.box.proved[key] = bool(self.known) and self._proves(target)
        return self.box.proved[key]

    def _proves(self, target: Poly) -> bool:
        given = [self.box.poly(normal(one)) for one in self.known]
        return any(_sum_of(target, factor, given, times, both) for factor, times, both in self._ways())

    def _ways(self) -> Iterator[tuple[Poly, list[Poly], bool]]:
        """Yield by what the target is multiplied, by what the others are, and whether pairs of them count."""
        one = self.box.ring.number(1)
        single = [self.box.poly(size) for size in self.box.sizes]
        yield one, [one], False
        yield one, [one, *single], True
        for factor in single:
            yield factor, [one, *single], True


def _sum_of(target: Poly, factor: Poly, given: Sequence[Poly], times: Sequence[Poly], both: bool) -> bool:  # noqa: FBT001
    """Say whether the target times a factor is at least a weighted sum of products of the given ones."""
    check_time()
    spend(_terms(given) * (_terms(times) + both * _terms(given)))
    columns = [product(one, by) for one in given for by in times]
    if both:
        columns += [product(a, b) for a, b in combinations_with_replacement(given, 2)]
    wanted = _negative(product(target, factor))
    rows = len({*wanted, *(powers for one in columns for powers in one)})
    if rows * (len(columns) + 2 * rows) > MOST_CELLS:
        return False
    spend(rows * (len(columns) + 2 * rows))
    return weights([_negative(one) for one in columns], wanted) is not None


def _terms(polys: Sequence[Poly]) -> int:
    return sum(map(len, polys))


def _negative(poly: Poly) -> dict[object, Fraction]:
    return {powers: -Fraction(value) for powers, value in poly.items()}
