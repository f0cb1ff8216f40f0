"""Time on a device: marks, the seconds between them once the device has finished, and how they spread."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from statistics import median, quantiles
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

NANO = Fraction(1, 10**9)
TICK = Fraction(1, 2 * 10**6)
"""What an event of a GPU resolves: half a microsecond."""
FEWEST, MOST, BUDGET = 3, 25, Fraction(4, 5)
"""How often a call is timed where nothing is said: as often as fits the budget, in seconds."""


class Clock(Protocol):
    """What notes moments of a device's work. Seconds are given only once the device has finished."""

    def mark(self) -> Any:
        """Note the moment at which the work given so far is done."""
        ...

    def spans(self, marks: Sequence[Any]) -> list[Fraction]:
        """Wait for the device, and return the seconds from each mark to the next."""
        ...


class Wall:
    """The clock of a processor, whose calls return when they are done.

    >>> clock = Wall()
    >>> clock.spans([1000, 3000, 3000])
    [Fraction(1, 500000), Fraction(1, 1000000000)]
    """

    def mark(self) -> int:
        """Return the nanoseconds of a clock that never goes back."""
        return perf_counter_ns()

    def spans(self, marks: Sequence[int]) -> list[Fraction]:
        """Return the seconds between marks, at least a nanosecond each."""
        return [max((b - a) * NANO, NANO) for a, b in pairwise(marks)]


class Events:
    """The clock of a GPU: events in its stream, read after it has finished all work."""

    def __init__(self, cuda: Any) -> None:
        """Keep the module that makes events and waits, as ``torch.cuda``."""
        self.cuda = cuda

    def mark(self) -> Any:
        """Put an event into the stream."""
        event = self.cuda.Event(enable_timing=True)
        event.record()
        return event

    def spans(self, marks: Sequence[Any]) -> list[Fraction]:
        """Wait, and return the seconds between events; these count in milliseconds."""
        self.cuda.synchronize()
        return [max(Fraction(str(a.elapsed_time(b))) / 1000, TICK) for a, b in pairwise(marks)]


@dataclass(frozen=True, slots=True)
class Spread:
    """Times of one thing, in seconds: the median, the quartiles, and how many there are.

    >>> one = spread_of([Fraction(n, 10) for n in (9, 1, 2, 3, 4)])
    >>> one.median, one.share, one.count
    (Fraction(3, 10), Fraction(2, 3), 5)
    """

    median: Fraction
    lower: Fraction
    upper: Fraction
    count: int

    @property
    def share(self) -> Fraction:
        """The distance between the quartiles, over the median."""
        return (self.upper - self.lower) / self.median


def spread_of(times: Sequence[Fraction]) -> Spread:
    """Return the median and the quartiles of times; of one time, itself."""
    if len(times) == 1:
        return Spread(times[0], times[0], times[0], 1)
    lower, _, upper = quantiles(times, n=4, method="inclusive")
    return Spread(median(times), lower, upper, len(times))


def repeats_for(seconds: Fraction, budget: Fraction = BUDGET) -> int:
    """Return how often to time what takes so long.

    >>> repeats_for(Fraction(1)), repeats_for(Fraction(1, 10)), repeats_for(Fraction(1, 10**6))
    (3, 8, 25)
    """
    return min(MOST, max(FEWEST, int(budget / seconds)))


def timed(clock: Clock, call: Callable[[], object], repeats: int | None = None) -> Spread:
    """Time a call: a first one for what it loads, one to see how long it takes, then those that count."""
    call()
    start = clock.mark()
    call()
    (about,) = clock.spans([start, clock.mark()])
    found = []
    for _ in range(repeats or repeats_for(about)):
        start = clock.mark()
        call()
        found += clock.spans([start, clock.mark()])
    return spread_of(found)
