"""The largest of several polynomials: which can be left out, each with a reason that is checked exactly.

A candidate that is strictly largest at some integer point stays. Another one goes where a weighted mean of
those that stay is at least as large, coefficient by coefficient, so that their maximum is too.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from symacct.algebra.feasible import weights
from symacct.algebra.sparse import Poly, at_least, plus

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from symacct.algebra.sparse import Ring

POINTS = 240
STEPS = (0, 1, 2, 5, 17, 64, 300, 2_000, 40_000, 10**6)
MOST_PROGRAMS = 12
"""How many linear programs are tried; a candidate that none removes stays, which is safe."""


def points(count: int, many: int = POINTS) -> Iterator[tuple[int, ...]]:
    """Yield points of shifted sizes, the same on every machine: steps drawn by a fixed linear recurrence."""
    yield tuple([0] * count)
    state = 12345
    for _ in range(many):
        point = []
        for _ in range(count):
            state = (1103515245 * state + 12345) % 2**31
            point.append(STEPS[(state >> 16) % len(STEPS)])
        yield tuple(point)


def largest(ring: Ring, candidates: Sequence[Poly]) -> tuple[Poly, ...]:
    """Return the candidates that are needed: the maximum of these is that of all.

    >>> from symacct.algebra.symbols import symbol
    >>> from symacct.algebra.sparse import Ring
    >>> B, D = symbol("B"), symbol("D")
    >>> ring = Ring([B, D], {})
    >>> found = largest(ring, [ring.poly(2 * B), ring.poly(B + D), ring.poly(2 * D), ring.poly(B)])
    >>> [ring.expr(poly) for poly in found]
    [2*B, 2*D]
    """
    distinct: list[Poly] = []
    for poly in candidates:
        if poly not in distinct:
            distinct.append(poly)
    winners = _winners(ring, distinct)
    programs = 0
    for at, poly in enumerate(distinct):
        if at in winners:
            continue
        others = [distinct[i] for i in sorted(winners)]
        if below(poly, others):
            continue
        programs += 1
        if programs <= MOST_PROGRAMS and below_mean(poly, others):
            continue
        winners.add(at)
    return tuple(distinct[at] for at in sorted(winners))


def _winners(ring: Ring, candidates: Sequence[Poly]) -> set[int]:
    """Return the candidates that are strictly largest at some point."""
    found: set[int] = set()
    for point in points(len(ring.bases)):
        values = [ring.value(poly, point) for poly in candidates]
        best = max(values)
        if values.count(best) == 1:
            found.add(values.index(best))
    return found


def below(poly: Poly, others: Sequence[Poly]) -> bool:
    """Say whether one other candidate, or a mean of two, is at least as large in every coefficient."""
    if any(at_least(other, poly) for other in others):
        return True
    gaps = [plus(other, poly, -1) for other in others]
    return any(_mean(a, b) for at, a in enumerate(gaps) for b in gaps[at + 1 :])


def _mean(a: Poly, b: Poly) -> bool:
    """Say whether some ``u*a + (1 - u)*b`` with u from 0 to 1 has no negative coefficient."""
    low, high = Fraction(0), Fraction(1)
    for powers in {*a, *b}:
        x, y = a.get(powers, Fraction(0)), b.get(powers, Fraction(0))
        if x >= 0 and y >= 0:
            continue
        if x <= 0 and y <= 0:
            return False
        edge = y / (y - x)
        low, high = (max(low, edge), high) if x > y else (low, min(high, edge))
        if low > high:
            return False
    return True


def below_mean(poly: Poly, others: Sequence[Poly]) -> bool:
    """Say whether a weighted mean of other candidates is at least as large, by a linear program."""
    columns = [{**plus(other, poly, -1), "weights": Fraction(1)} for other in others]
    return bool(others) and weights(columns, {"weights": Fraction(1)}) is not None  # type: ignore[arg-type]


def implied(gap: Poly, others: Sequence[Poly]) -> bool:
    """Say whether a gap is at least 0 wherever the others are: it is at least a weighted sum of them."""
    if at_least(gap, {}):
        return True
    for other in others:
        ratios = [gap.get(p, Fraction(0)) / c for p, c in other.items() if c < 0 and gap.get(p, 0) < 0]
        for ratio in dict.fromkeys(ratios):
            if ratio > 0 and at_least(plus(gap, other, -ratio), {}):
                return True
    columns = [{p: -c for p, c in other.items()} for other in others]
    return bool(columns) and weights(columns, {p: -c for p, c in gap.items()}) is not None  # type: ignore[arg-type]
