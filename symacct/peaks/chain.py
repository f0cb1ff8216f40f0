"""Segments of a chain of unequal steps that run least again within a bound on what is saved.

Dynamic programming over the parts of the chain. Of each part all pairs of a peak and a cost are kept that no
other pair beats, so that the answer is exact for the chain. A plan is a sequence of steps that save what they
want and of segments, which save what enters them; a segment holds a plan in turn. A segment runs again when
backward comes to its end, and with it what it holds runs without saving; each of these runs later, once.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator, Sequence
    from fractions import Fraction

Number: TypeAlias = "int | Fraction"


@dataclass(frozen=True, slots=True)
class Link:
    """A step of a chain, in bytes and FLOPs.

    Attributes:
        enters: what enters it; a segment that begins here keeps this.
        reads: what of that the step itself saves.
        inner: what it saves beside, and no other step reads.
        leaves: what it saves of what the next step reads.
        joint: what it or the next step saves of that.
        cost: FLOPs of the step.
        beyond: FLOPs after its last saved tensor, which do not run again where a segment ends here.
        apart: whether it may stand in no segment.
    """

    enters: Number
    reads: Number
    inner: Number
    leaves: Number
    joint: Number
    cost: Number
    beyond: Number
    apart: bool = False


class Point(NamedTuple):
    """A plan, linked: bytes above what enters, FLOPs that run again, its first item, and the rest.

    ``length`` is that of a first segment, 0 where the first item is a step; ``inner`` is what it holds.
    """

    peak: Number
    cost: Number
    length: int = 0
    inner: Point | None = None
    rest: Point | None = None


Front = list[Point]
"""Points by rising peak and falling cost."""


def segments_of(plan: Point | None, start: int = 0) -> Iterator[tuple[int, int]]:
    """Yield the segments of a plan, each before those inside it: first step, and the one after the last."""
    while plan is not None:
        if plan.length:
            yield start, start + plan.length
            yield from segments_of(plan.inner, start)
        start, plan = start + max(plan.length, 1), plan.rest


def best_plans(
    links: Sequence[Link],
    limit: Number | None = None,
    *,
    full: bool = False,
    least: bool = False,
) -> Front:
    """Return the plans of a chain that no other one beats, by rising peak.

    Args:
        links: the steps.
        limit: peaks above it are left out.
        full: whether a segment runs again to its end, and not only to its last saved tensor.
        least: whether the lowest peak is all that is asked for.

    >>> layer = Link(enters=8, reads=8, inner=0, leaves=8, joint=8, cost=10, beyond=0)
    >>> [(int(p.peak), int(p.cost), list(segments_of(p))) for p in best_plans([layer] * 4)]
    [(16, 50, [(0, 3), (0, 2)]), (24, 20, [(1, 3)]), (32, 0, [])]
    """
    return _Fronts(links, limit, full=full, least=least).top()


def splits(links: Sequence[Link]) -> int:
    """Return how many ways there are to split a part of a chain in two, equal parts counted once."""
    parts = _Parts(links)
    lengths = {parts.key(i, j): j - i for i in range(len(links)) for j in range(i + 1, len(links) + 1)}
    return sum(lengths.values())


def least_splits(steps: int) -> int:
    """Return how many ways there are at least for so many steps: parts of unlike length are unlike.

    >>> least_splits(3), splits([Link(8, 8, 0, 8, 8, 10, 0)] * 3)
    (6, 6)
    """
    return steps * (steps + 1) // 2


class _Parts:
    """Names for parts of a chain, the same for parts that are alike from within."""

    def __init__(self, links: Sequence[Link]) -> None:
        known: dict[Link, int] = {}
        self.whole = tuple(known.setdefault(link, len(known)) for link in links)
        first = [replace(link, enters=0, reads=0) for link in links]
        self.first = [known.setdefault(link, len(known)) for link in first]
        self.last = [known.setdefault(replace(link, joint=0), len(known)) for link in links]
        self.only = [known.setdefault(replace(link, joint=0), len(known)) for link in first]

    def key(self, i: int, j: int) -> Hashable:
        """Return the name of the steps from one up to, not including, another."""
        if j - i == 1:
            return self.only[i]
        return self.first[i], self.whole[i + 1 : j - 1], self.last[j - 1]


class _Fronts:
    """The best plans of all parts of a chain, of equal parts once."""

    def __init__(self, links: Sequence[Link], limit: Number | None, *, full: bool, least: bool) -> None:
        self.links, self.limit, self.full, self.least = links, limit, full, least
        self.ends = _ends(links)
        self.costs = list(accumulate((link.cost for link in links), initial=0))
        self.parts = _Parts(links)
        self.first: dict[Hashable, tuple[Front, Front]] = {}
        """Plans that begin with a step, and with a segment, by part; running the part is in their cost."""
        self.held: dict[Hashable, Front] = {}
        """Plans for the inside of a segment, by part."""

    def top(self) -> Front:
        """Return the best plans of the whole chain: the forward pass runs it, so that this costs nothing."""
        end = len(self.links)
        for length in range(1, end + 1):
            for i in range(end - length + 1):
                if i + length <= self.ends[i] and (key := self.parts.key(i, i + length)) not in self.first:
                    self._part(key, i, i + length)
        after: dict[int, tuple[Front, Front]] = {}
        for i in range(end - 1, -1, -1):
            steps = self._stepping(i, after.get(i + 1), 0)
            cut: list[Point] = []
            for k in range(i + 1, self.ends[i] + 1):
                cut += self._segment(i, k, after.get(k), 0, 0)
            after[i] = self._best(steps), self._best(cut)
        return self._best([*after[0][0], *after[0][1]]) if after else [Point(0, 0)]

    def _part(self, key: Hashable, i: int, j: int) -> None:
        """Find the best plans of a part, shorter ones being known."""
        link = self.links[i]
        rest = self.first[self.parts.key(i + 1, j)] if i + 1 < j else None
        run = link.cost if rest is not None or self.full else link.cost - link.beyond
        steps = self._best(self._stepping(i, rest, run))
        cut: list[Point] = []
        for k in range(i + 1, j):
            cut += self._segment(i, k, self.first[self.parts.key(k, j)], self.costs[k] - self.costs[i], 0)
        self.held[key] = self._best([*steps, *cut])
        cut += self._segment(i, j, None, 0, self.costs[j] - self.costs[i] if self.full else 0)
        self.first[key] = steps, self._best(cut)

    def _stepping(self, i: int, rest: tuple[Front, Front] | None, run: Number) -> list[Point]:
        """Return plans that begin with a step, which costs ``run``."""
        link = self.links[i]
        if rest is None:
            return [Point(link.inner + link.leaves, run)]
        following = self.links[i + 1]
        return [
            Point(link.inner + kept + point.peak, run + point.cost, rest=point)
            for front, kept in zip(rest, (link.joint, following.enters), strict=True)
            for point in front
        ]

    def _segment(
        self, i: int, k: int, rest: tuple[Front, Front] | None, run: Number, alone: Number
    ) -> list[Point]:
        """Return plans that begin with a segment, whose own run is in the cost of what it holds."""
        inside = self.held[self.parts.key(i, k)]
        if rest is None:
            return [Point(point.peak, alone + point.cost, k - i, point) for point in inside]
        following, found = self.links[k], []
        for front, kept in zip(rest, (following.reads, following.enters), strict=True):
            found += [
                Point(max(mine.peak, kept + other.peak), run + mine.cost + other.cost, k - i, mine, other)
                for mine, other in _pairs(inside, front, kept)
            ]
        return found

    def _best(self, points: Sequence[Point]) -> Front:
        """Return the points that no other one beats."""
        found: Front = []
        for point in sorted(points, key=_order):
            if self.limit is not None and point.peak > self.limit:
                break
            if not found or point.cost < found[-1].cost:
                found.append(point)
                if self.least:
                    break
        return found


def _ends(links: Sequence[Link]) -> list[int]:
    """Return, for each step, the one before which a segment that begins there ends at the latest."""
    found = [len(links)] * len(links)
    for i in range(len(links) - 1, -1, -1):
        found[i] = i if links[i].apart else found[i + 1] if i + 1 < len(links) else len(links)
    return found


def _order(point: Point) -> tuple[Number, Number]:
    return point.peak, point.cost


def _pairs(inside: Front, front: Front, kept: Number) -> Iterator[tuple[Point, Point]]:
    """Yield the pairs of which the higher peak is worth having: for each peak the cheapest of the other."""
    mine, theirs = [p.peak for p in inside], [p.peak + kept for p in front]
    for point in inside:
        at = bisect_right(theirs, point.peak)
        if at:
            yield point, front[at - 1]
    for peak, other in zip(theirs, front, strict=True):
        at = bisect_right(mine, peak)
        if at:
            yield inside[at - 1], other
