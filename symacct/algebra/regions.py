"""Where each of several polynomials is the largest, as conditions that a reader understands.

One is the largest where its difference from each other one is at least 0. A difference is divided by factors
that are positive for all sizes, and by ``L - 1`` of a count L from 1 on: where that is 0, two candidates
are equal, and belong as they do for an L just above it. So a candidate is the largest wherever its conditions
hold, and at every size those of one candidate do; a region says where its own may tie outside of it. What the
other conditions imply is left out, with a reason checked exactly.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import gcd, lcm, prod
from typing import TYPE_CHECKING

from sympy import PolynomialError, factor_list

from symacct.algebra.condition import Condition
from symacct.algebra.maxima import Contest, points
from symacct.algebra.sparse import Poly, at_least, degree, nonnegative, plus, product, put_in, whole
from symacct.algebra.symbols import as_expr

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from sympy import Expr

    from symacct.algebra.sparse import Ring

MOST_FACTORED = 5
"""Terms up to which a difference is factored in full; longer ones lose the factors of single sizes alone."""
MOST_CONDITIONS = 6
"""Up to how many conditions linear programs are tried: a condition that none removes stays, which is safe."""
NEAR_ROOTS = (-3, -2, -1)
CERTAIN, NEVER = 1, -1
APART, STEP = 101, 7
"""Sizes far from roots: a difference that is not 0 there has no factor to be looked for."""


@dataclass(frozen=True, slots=True)
class Region:
    """Where a candidate is the largest.

    Attributes:
        at: its place among the candidates.
        conditions: where they hold it is the largest.
        ties: where one of these holds it may be as large as another one outside of its region; nowhere else.
    """

    at: int
    conditions: tuple[Condition, ...]
    ties: tuple[Condition, ...] = ()

    def holds(self, sizes: Mapping[str, int]) -> bool:
        """Say whether these sizes are in the region: the candidate is the largest there."""
        return all(one.holds(sizes) for one in self.conditions)


class Regions:
    """The regions of candidates in one ring, each worked out when it is asked for.

    Args:
        ring: the ring of the candidates.
        counts: the generators that are counted from their least value; see :class:`Contest`.
        candidates: polynomials in the shifted generators.
        restore: puts back what a generator stands for.

    >>> from symacct.algebra.symbols import symbol
    >>> from symacct.algebra.sparse import Ring
    >>> B, D = symbol("B"), symbol("D")
    >>> ring = Ring([B, D], {})
    >>> found = Regions(ring, [], [ring.poly(e) for e in (2 * B * D, B * D + D**2, 2 * D**2)])
    >>> [[str(one) for one in found.of(at).conditions] for at in (0, 2)]
    [['B - D >= 0'], ['-B + D >= 0']]
    """

    def __init__(
        self,
        ring: Ring,
        counts: Sequence[Expr],
        candidates: Sequence[Poly],
        restore: Callable[[Expr], Expr] = lambda expr: expr,
    ) -> None:
        """Keep the candidates."""
        self.ring = ring
        self.contest = Contest(ring, counts)
        self.candidates = tuple(candidates)
        self.restore = restore
        self.reduced: dict[tuple[int, int], Poly | int] = {}
        self.tied: dict[frozenset[int], set[int]] = {}
        """By two candidates, the counts at whose least value they are equal: by that they were divided."""
        self.apart = [APART + STEP * place for place in range(len(ring.bases))]

    def all(self) -> tuple[Region, ...]:
        """Return the regions that are not seen to be empty."""
        found = map(self.of, range(len(self.candidates)))
        return tuple(region for region in found if region is not None)

    def of(self, at: int) -> Region | None:
        """Return the region of a candidate; None where another one is at least as large for all sizes."""
        gaps: list[Poly] = []
        for other in range(len(self.candidates)):
            gap = CERTAIN if other == at else self.gap(at, other)
            if gap == NEVER:
                return None
            if not isinstance(gap, int) and gap not in gaps:
                gaps.append(gap)
        kept = self._needed(sorted(gaps, key=_length))
        tied = set[int]().union(*(places for pair, places in self.tied.items() if at in pair))
        return Region(at, tuple(map(self._condition, kept)), tuple(map(self._tie, sorted(tied))))

    def gap(self, at: int, other: int) -> Poly | int:
        """Return what decides between two candidates, or that one of them is as large for all sizes."""
        if (at, other) not in self.reduced:
            difference = plus(self.candidates[at], self.candidates[other], -1)
            found = self._reduced(difference, self.tied.setdefault(frozenset((at, other)), set()))
            back = -found if isinstance(found, int) else _negated(found)
            self.reduced[at, other], self.reduced[other, at] = found, back
        return self.reduced[at, other]

    def _reduced(self, gap: Poly, tied: set[int]) -> Poly | int:
        """Return a difference without factors that are at least 0 for all sizes, in the sizes themselves.

        Those that are 0 at a least count are noted in ``tied``.
        """
        if nonnegative(gap):
            return CERTAIN
        if nonnegative(_negated(gap)):
            return NEVER
        plain = self._monomial(_primitive(self.ring.shifted(gap, -1)))
        for place in range(len(self.ring.bases)):
            plain = self._linear(plain, place, tied)
        if len(plain) <= MOST_FACTORED:
            plain = self._factored(plain)
        moved = self.ring.shifted(plain)
        if nonnegative(moved):
            return CERTAIN
        return NEVER if nonnegative(_negated(moved)) else _primitive(plain)

    def _generator(self, place: int) -> Poly:
        return {tuple(int(at == place) for at in range(len(self.ring.bases))): 1}

    def _monomial(self, poly: Poly) -> Poly:
        """Return a polynomial divided by what of a monomial is common to its terms and positive."""
        least = [
            min(powers[place] for powers in poly) if self.ring.least[place] > 0 else 0
            for place in range(len(self.ring.bases))
        ]
        return {tuple(p - q for p, q in zip(powers, least, strict=True)): c for powers, c in poly.items()}

    def _linear(self, poly: Poly, place: int, tied: set[int]) -> Poly:
        """Return a polynomial divided by every factor ``x - c`` that is at least 0 from the least x on."""
        if not degree(poly, place):
            return poly
        for root in (*NEAR_ROOTS, *range(1, self.ring.least[place] + 1)):
            point = [root if at == place else apart for at, apart in enumerate(self.apart)]
            while not value_of(poly, point) and not put_in(poly, place, self.ring.number(root)):
                poly = _divided(poly, place, root)
                if root == self.ring.least[place]:
                    tied.add(place)
        return poly

    def _factored(self, poly: Poly) -> Poly:
        """Return a polynomial without the factors whose sign is certain, and with odd powers made 1."""
        try:
            _, factors = factor_list(self.ring.in_sizes(poly))
        except PolynomialError:  # a base is a quotient of sizes: nothing is known of its factors
            return poly
        if len(factors) == 1 and factors[0][1] == 1:
            return poly
        left = self.ring.number(1)
        for factor, power in factors:
            part = self._of_expr(factor)
            moved = self.ring.shifted(part)
            constant = moved.get(tuple([0] * len(self.ring.bases)), 0)
            if constant and (nonnegative(moved) or nonnegative(_negated(moved))):
                continue
            for _ in range(2 - power % 2):
                left = product(left, part)
        # what was dropped has one sign everywhere, so that one point tells which
        both = ((value_of(poly, point), value_of(left, point)) for point in self._points())
        ratio = next((a * b for a, b in both if a and b), None)
        return poly if ratio is None else left if ratio > 0 else _negated(left)

    def _of_expr(self, expr: Expr) -> Poly:
        return self.ring.shifted(self.ring.poly(expr), -1)

    def _condition(self, gap: Poly) -> Condition:
        return Condition("at_least", self.restore(self.ring.in_sizes(gap)), as_expr(0))

    def _tie(self, place: int) -> Condition:
        return Condition("equal", self.restore(self.ring.bases[place]), as_expr(self.ring.least[place]))

    def _needed(self, gaps: Sequence[Poly]) -> list[Poly]:
        """Return the conditions that the others do not imply, the longest ones tried first."""
        kept = list(gaps)
        if len(kept) > MOST_CONDITIONS:
            moved = [(gap, self.ring.shifted(gap)) for gap in kept]
            weak = [gap for gap, mine in moved if any(_implies(one, mine) for _, one in moved)]
            return [gap for gap in kept if not any(gap is one for one in weak)]
        table = [[value_of(gap, point) for gap in kept] for point in self._points()]
        for gap in sorted(kept, key=_length, reverse=True):
            others = [other for other in kept if other is not gap]
            at = [place for place, one in enumerate(gaps) if any(one is other for other in others)]
            own = next(place for place, one in enumerate(gaps) if one is gap)
            if any(row[own] < 0 and all(row[place] >= 0 for place in at) for row in table):
                continue
            if self._implied(gap, others):
                kept = others
        return kept

    def _points(self) -> list[list[int]]:
        return [
            [x + least for x, least in zip(point, self.ring.least, strict=True)]
            for point in points(len(self.ring.bases))
        ]

    def _implied(self, gap: Poly, others: Sequence[Poly]) -> bool:
        """Say whether a condition follows from others, each also times a size that the condition holds."""
        mine = self._from_least(gap)
        moved = [self._from_least(other) for other in others]
        places = [place for place in range(len(self.ring.bases)) if degree(mine, place)]
        times = [self.ring.number(1), *map(self._generator, places)]
        pairs = ([product(one, factor) for factor in times] for one in moved)
        return any(self.contest.implied(mine, pair) for pair in pairs) or self.contest.implied(mine, moved)

    def _from_least(self, gap: Poly) -> Poly:
        """Return a condition as the contest has it: counts from their least value, sizes as they are."""
        return self.contest.unshifted(self.ring.shifted(gap))


def _negated(poly: Poly) -> Poly:
    return {powers: -value for powers, value in poly.items()}


def _length(poly: Poly) -> tuple[int, int, list[tuple[int, ...]]]:
    return len(poly), max(map(sum, poly)), sorted(poly)


def value_of(poly: Poly, point: Sequence[int]) -> Fraction | int:
    """Return the value of a polynomial at a point."""
    found: Fraction | int = 0
    for powers, value in poly.items():
        found += value * prod(x**power for x, power in zip(point, powers, strict=True) if power)
    return found


def _implies(strong: Poly, weak: Poly) -> bool:
    """Say whether a condition is another one plus what is at least 0 for all sizes."""
    return strong is not weak and strong != weak and at_least(weak, strong)


def _primitive(poly: Poly) -> Poly:
    """Return a polynomial over a positive number, so that its coefficients are integers without a divisor."""
    below = lcm(*(Fraction(c).denominator for c in poly.values()))
    above = gcd(*(int(c * below) for c in poly.values()))
    return {powers: whole(Fraction(c) * below / above) for powers, c in poly.items()}


def _divided(poly: Poly, place: int, root: int) -> Poly:
    """Return the quotient by ``x - root``, which divides the polynomial."""
    found: Poly = {}
    for power in range(degree(poly, place), 0, -1):
        for powers, value in [one for one in poly.items() if one[0][place] == power]:
            lower = (*powers[:place], power - 1, *powers[place + 1 :])
            found[lower] = value
            poly = plus({p: c for p, c in poly.items() if p != powers}, {lower: value * root})
    return found
