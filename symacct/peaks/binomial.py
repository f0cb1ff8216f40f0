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
    low, high = -1, 1
    while reach(slots, high) < count:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if reach(slots, middle) < count else (low, middle)
    return high


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

    One iteration more in it adds 1 and ``least_times`` of it, and takes away ``least_times`` of the rest: no
    loss while the first is below ``least_times`` of all, and the last is not.

    >>> first_part(10, 3), first_part(4, 1), first_part(4, 9), first_part(10**12, 2)
    (4, 3, 1, 999998585787)
    """
    before = least_times(count, slots) - 1
    return min(reach(slots, before), count - reach(slots - 1, before))


def least_slots(count: int, most: int) -> int:
    """Return the least number of states with which at most so many iterations run again.

    ``most`` is at least ``count - 1``: of more than one iteration, all but the last run again.

    >>> least_slots(1200, 20_000), again(1200, 3), again(1200, 2)
    (3, 15615, 38000)
    """
    low, high = 0, max(count - 1, 1)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if again(count, middle) > most else (low, middle)
    return high


def segments(count: int, slots: int, start: int = 0) -> Iterator[Segment]:
    """Yield the segments, each before those inside it: the first iteration, and the one after the last.

    >>> list(segments(4, 2))
    [(0, 2), (0, 1), (2, 3)]
    """
    todo = [(start, count, slots)]
    while todo:
        first, length, places = todo.pop()
        if length > 1:
            part = first_part(length, places)
            yield first, first + part
            todo += [(first + part, length - part, places - 1), (first, part, places)]
