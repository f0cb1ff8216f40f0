"""Binomial checkpointing: which iterations of a loop run again together where few states are kept.

Griewank and Walther, 2000 ("Revolve"). A loop of n iterations is reversed while at most s states between
iterations are kept at a time, the one that it starts from among them. Its first m iterations run without
saving anything, the state after them is kept for the rest, which has s - 1 places left; then the first m are
reversed with s places. The forward pass has run every iteration once. What runs again are
T(n, s) = min over m of m + T(n - m, s - 1) + T(m, s) iterations, with T(1, s) = 0.
"""

from __future__ import annotations

from math import comb
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

Segment = tuple[int, int]


def reach(slots: int, times: int) -> int:
    """Return how many iterations can be reversed if none runs again more than so many times.

    >>> reach(3, 2)
    10
    """
    return comb(slots + times, slots)


def least_times(count: int, slots: int) -> int:
    """Return how often an iteration runs again at most: the least t with ``count <= reach(slots, t)``.

    >>> [least_times(count, 3) for count in (1, 4, 5, 10, 11)]
    [0, 1, 2, 2, 3]
    """
    times = 0
    while reach(slots, times) < count:
        times += 1
    return times


def again(count: int, slots: int) -> int:
    """Return how many iterations run again in all, the fewest there are: ``t n - reach(s + 1, t - 1)``.

    The run of the forward pass is not among them, and at least one state is kept.

    >>> [again(count, 1) for count in (1, 2, 3, 4)], again(10, 3), again(10, 9)
    ([0, 1, 3, 6], 15, 9)
    """
    times = least_times(count, slots)
    return times * count - reach(slots + 1, times - 1) if times else 0


def first_part(count: int, slots: int) -> int:
    """Return how many iterations the first segment has: the most that is best, so as to keep few states.

    >>> first_part(10, 3), first_part(4, 1), first_part(4, 9)
    (4, 3, 1)
    """
    if slots == 1:
        return count - 1
    best = again(count, slots)
    for part in range(count - 1, 0, -1):
        if part + again(count - part, slots - 1) + again(part, slots) == best:
            return part
    raise AssertionError((count, slots))


def segments(count: int, slots: int, start: int = 0) -> Iterator[Segment]:
    """Yield the segments, each before those inside it: the first iteration, and the one after the last.

    >>> list(segments(4, 2))
    [(0, 2), (0, 1), (2, 3)]
    """
    while count > 1:
        part = first_part(count, slots)
        yield start, start + part
        yield from segments(part, slots, start)
        start, count, slots = start + part, count - part, slots - 1
