"""The largest of several polynomials: which can be left out, each with a reason that is checked exactly.

A candidate that is strictly largest at some integer point stays. Another one goes where a weighted mean of
those that stay is at least as large, coefficient by coefficient, so that their maximum is too.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from itertools import combinations, compress, islice, repeat
from math import lcm, prod
from operator import mul
from typing import TYPE_CHECKING

from symacct.algebra.feasible import weights
from symacct.algebra.sparse import Poly, at_least, moved, plus, product

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sympy import Expr

    from symacct.algebra.sparse import Ring

POINTS = 240
STEPS = (0, 1, 2, 5, 17, 64, 300, 2_000, 40_000, 10**6)
LARGE, MOST_CORNERS = 10_000, 120
MOST_NEAR, MORE = 3, 6
MOST_PROGRAMS = 16
MOST_WINNERS = 12
MOST_COMPARED = 60
MOST_CELLS = 6_000
"""How many linear programs are tried, among how many candidates, and how large: what none removes stays."""


class Contest:
    """Candidates in one ring: sizes that start at 1 as they are, counts from their least value.

    That a polynomial without negative coefficients is at least 0 holds either way; unshifted sizes keep the
    tables short.

    Args:
        ring: the ring of the candidates.
        counts: the generators that stay shifted.
    """

    def __init__(self, ring: Ring, counts: Sequence[Expr]) -> None:
        """Note which generators are counted from 0."""
        self.ring = ring
        self.shifted = [ring.places[one] for one in counts if one in ring.places]
        self.sizes = [
            place
            for place, (least, start) in enumerate(zip(ring.least, ring.starts, strict=True))
            if place not in self.shifted and least + start == 1
        ]

    def unshifted(self, poly: Poly) -> Poly:
        """Return a polynomial in the sizes themselves."""
        for place in self.sizes:
            if self.ring.least[place]:
                poly = moved(poly, place, -1)
        return poly

    def largest(self, candidates: Sequence[Poly]) -> tuple[Poly, ...]:
        """Return the candidates that are needed: the maximum of these is that of all.

        >>> from symacct.algebra.symbols import symbol
        >>> from symacct.algebra.sparse import Ring
        >>> B, D = symbol("B"), symbol("D")
        >>> ring = Ring([B, D], {})
        >>> found = Contest(ring, []).largest([ring.poly(e) for e in (2 * B, B + D, 2 * D, B)])
        >>> [ring.expr(poly) for poly in found]
        [2*B, 2*D]
        """
        distinct = self._apart(list({frozenset(poly.items()): poly for poly in candidates}.values()))
        if len(distinct) <= 1 or len(distinct) > MOST_COMPARED:
            return tuple(distinct)
        plain = [self.unshifted(poly) for poly in distinct]
        table = self._values(plain)
        winners = {row.index(best) for row in table if row.count(best := max(row)) == 1}
        nearest = _Nearest(table, winners) if len(winners) <= MOST_WINNERS else None
        programs = 0
        for at in range(len(distinct)):
            if at in winners:
                continue
            others = [plain[i] for i in sorted(winners)]
            if any(at_least(other, plain[at]) for other in others):
                continue
            programs += nearest is not None
            if nearest is not None and programs <= MOST_PROGRAMS:
                near = [plain[i] for i in nearest.to(at)]
                if self.below(plain[at], near):
                    continue
            winners.add(at)
        return tuple(distinct[at] for at in sorted(winners))

    def _apart(self, polys: Sequence[Poly]) -> list[Poly]:
        """Return the polynomials that no other one is at least as large as, coefficient by coefficient.

        A few values rule most pairs out; what is left is counted from where the generators start.
        """
        if len(polys) < 2:
            return list(polys)
        values = list(zip(*self._values(polys, self._corners(polys)), strict=True))
        above = _above(values)
        kept: list[int] = []
        for at in sorted(range(len(polys)), key=lambda at: -sum(values[at])):
            others = (one for one in kept if above[at] >> one & 1)
            if not any(self.ring.nonnegative(plus(polys[one], polys[at], -1)) for one in others):
                kept.append(at)
        return [polys[at] for at in sorted(kept)]

    def same(self, left: Sequence[Poly], right: Sequence[Poly]) -> bool:
        """Say whether two maxima are proved to be the same everywhere.

        >>> from symacct.algebra.symbols import symbol
        >>> from symacct.algebra.sparse import Ring
        >>> B, D = symbol("B"), symbol("D")
        >>> ring = Ring([B, D], {})
        >>> contest = Contest(ring, [])
        >>> two, three = [ring.poly(2 * B), ring.poly(2 * D)], [ring.poly(e) for e in (2 * B, B + D, 2 * D)]
        >>> contest.same(two, three), contest.same(two[:1], three)
        (True, False)
        """
        if (found := self._same(left, right)) is None:  # what others cover within a side need not be covered
            found = self._same(self.largest(left), self.largest(right))
        return bool(found)

    def _same(self, left: Sequence[Poly], right: Sequence[Poly]) -> bool | None:
        """Say whether two maxima are the same; None where neither is proved."""
        sides = [self._apart([self.unshifted(poly) for poly in side]) for side in (left, right)]
        keys = [{frozenset(poly.items()) for poly in side} for side in sides]
        if keys[0] == keys[1]:
            return True
        both = [*sides[0], *sides[1]]
        split = len(sides[0])
        for at in (self._corners(both), None):
            table = self._values(both, at)
            if any(max(row[:split]) != max(row[split:]) for row in table):
                return False
        covered = all(
            frozenset(both[at].items()) in keys[1 - side] or self._covered(table, at, both, others)
            for side, others in ((0, range(split, len(both))), (1, range(split)))
            for at in (range(split), range(split, len(both)))[side]
        )
        return True if covered else None

    def _covered(
        self, table: Sequence[Sequence[int]], at: int, polys: Sequence[Poly], others: Sequence[int]
    ) -> bool:
        """Say whether a polynomial is proved to be at most the largest of others."""
        if any(self.ring.nonnegative(plus(polys[one], polys[at], -1)) for one in others):
            return True
        nearest = _Nearest(table, set(others))
        return any(
            self.below(polys[at], [polys[one] for one in nearest.to(at, n)]) for n in (MOST_NEAR, MORE)
        )

    def _corners(self, polys: Sequence[Poly]) -> list[tuple[int, ...]]:
        """Return points at which two generators are large, and all others as small as they may be."""
        used = [
            at for at in range(len(self.ring.bases)) if any(powers[at] for poly in polys for powers in poly)
        ]
        pairs = islice(combinations(used, 2), MOST_CORNERS)
        unit = [0] * len(self.ring.bases)
        return [
            tuple(unit),
            *(tuple(LARGE if at in pair else 0 for at in range(len(unit))) for pair in pairs),
        ]

    def _values(self, polys: Sequence[Poly], at: Sequence[Sequence[int]] | None = None) -> list[list[int]]:
        """Return the values of all candidates at some points, or all, times a common denominator."""
        scale = lcm(*(c.denominator for poly in polys for c in poly.values()))
        monomials = {p: at for at, p in enumerate(dict.fromkeys(p for poly in polys for p in poly))}
        factors = [tuple((place, power) for place, power in enumerate(p) if power) for p in monomials]
        tables = [
            (tuple(monomials[p] for p in poly), tuple(int(c * scale) for c in poly.values()))
            for poly in polys
        ]
        found = []
        for point in points(len(self.ring.bases)) if at is None else at:
            real = [x + (place in self.sizes) for place, x in enumerate(point)]
            values = [prod(real[place] ** power for place, power in one) for one in factors]
            found.append([sum(map(mul, cs, map(values.__getitem__, which))) for which, cs in tables])
        return found

    def below(self, poly: Poly, others: Sequence[Poly]) -> bool:
        """Say whether a weighted sum of the gaps to others has no negative coefficient.

        The weights are polynomials in the counts without negative coefficients, and a constant part of them
        is positive, so that one of the gaps is at least 0 everywhere.
        """
        gaps = [plus(other, poly, -1) for other in others]
        factors = [self.ring.number(1), *map(self._generator, self.shifted)]
        columns: list[dict[object, Fraction]] = []
        for gap in gaps:
            for at, factor in enumerate(factors):
                column: dict[object, Fraction] = _exact(product(gap, factor))
                columns.append({**column, "constants": Fraction(1)} if at == 0 else column)
        rows = len({name for column in columns for name in column})
        if not columns or rows * (len(columns) + 2 * rows) > MOST_CELLS:
            return False
        return weights(columns, {"constants": Fraction(1)}) is not None

    def _generator(self, place: int) -> Poly:
        return {tuple(int(at == place) for at in range(len(self.ring.bases))): 1}

    def implied(self, gap: Poly, others: Sequence[Poly]) -> bool:
        """Say whether a gap is at least 0 wherever the others are: it is at least a weighted sum of them."""
        if at_least(gap, {}):
            return True
        columns: list[dict[object, Fraction]] = [_exact(other, -1) for other in others]
        target: dict[object, Fraction] = _exact(gap, -1)
        rows = len({name for column in (*columns, target) for name in column})
        if not columns or rows * (len(columns) + 2 * rows) > MOST_CELLS:
            return False
        return weights(columns, target) is not None


class _Nearest:
    """Which of some candidates another one comes nearest to, where each of them is largest."""

    def __init__(self, table: Sequence[Sequence[int]], winners: set[int]) -> None:
        self.table = table
        self.bests = [max(row[one] for one in winners) for row in table]
        self.largest = [
            [one for one in winners if row[one] == best] for row, best in zip(table, self.bests, strict=True)
        ]

    def to(self, at: int, most: int = MOST_NEAR) -> list[int]:
        """Return the winners, the nearest first."""
        nearest: dict[int, float] = {}
        for row, best, largest in zip(self.table, self.bests, self.largest, strict=True):
            gap = (best - row[at]) / (best or 1)
            for one in largest:
                if gap < nearest.get(one, gap + 1):
                    nearest[one] = gap
        return sorted(nearest, key=lambda one: (nearest[one], one))[:most]


def _exact(poly: Poly, times: int = 1) -> dict[object, Fraction]:
    return {powers: Fraction(times * value) for powers, value in poly.items()}


def undominated(candidates: Sequence[Poly]) -> tuple[Poly, ...]:
    """Return the candidates that no other one is at least as large as, coefficient by coefficient.

    >>> undominated([{(0,): 1}, {(0,): 2}, {(1,): 1}])
    ({(0,): 2}, {(1,): 1})
    """
    monomials = tuple(dict.fromkeys(powers for poly in candidates for powers in poly))
    distinct: dict[tuple[int | Fraction, ...], Poly] = {}
    for poly in candidates:
        distinct.setdefault(tuple(map(poly.get, monomials, repeat(0))), poly)
    own = (above == 1 << at for at, above in enumerate(_above(list(distinct))))
    return tuple(compress(distinct.values(), own))


def _above(rows: Sequence[Sequence[int | Fraction]]) -> list[int]:
    """Return, for each row, which ones have nowhere a smaller number: a set as the bits of an integer."""
    found = [(1 << len(rows)) - 1] * len(rows)
    for column in zip(*rows, strict=True):
        alike: dict[int | Fraction, int] = {}
        for at, value in enumerate(column):
            alike[value] = alike.get(value, 0) | 1 << at
        if len(alike) > 1:
            so_far = 0
            for value in sorted(alike, reverse=True):
                so_far = alike[value] = alike[value] | so_far
            found = [each & alike[value] for each, value in zip(found, column, strict=True)]
    return found


@lru_cache(maxsize=64)
def points(count: int, many: int = POINTS) -> tuple[tuple[int, ...], ...]:
    """Return points of shifted sizes, the same on every machine: steps drawn by a fixed linear recurrence."""
    found = [(0,) * count]
    state = 12345
    for _ in range(many):
        point = []
        for _ in range(count):
            state = (1103515245 * state + 12345) % 2**31
            point.append(STEPS[(state >> 16) % len(STEPS)])
        found.append(tuple(point))
    return tuple(found)
