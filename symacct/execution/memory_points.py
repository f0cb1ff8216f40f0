"""Sizes at which memory is checked: short and long repeats, and both sides of where a formula takes over."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import product, zip_longest
from typing import TYPE_CHECKING

from symacct.algebra.evaluate import evaluate
from symacct.errors import RuleError, SizeError
from symacct.evaluation.arrays import compiled
from symacct.execution.sizes import choose_sizes
from symacct.nodes import Repeat, repeat_counts, walk

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from sympy import Expr

    from symacct.account import Account

PEAK = "memory.peak"
COUNTS = (1, 2, 4, 5)
"""Iterations of a repeat: the shortest, and two in a row, so that one of them is odd."""

BEYOND, MOST_UNLIKE = 25, 3
"""Turns to look at where no number of first and last turns is known; how many counts get unlike values."""

MOST_SIDES = 6
MOST_LATTICE = 4096
LARGEST = 16

Sizes = dict[str, int]
At = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Point:
    """Sizes, and why they were chosen."""

    sizes: Mapping[str, int]
    why: str


def points(account: Account, given: Mapping[str, int]) -> tuple[Point, ...]:
    """Return sizes at which the peak of an account is worth checking.

    Args:
        account: with free sizes.
        given: sizes that are fixed.

    Raises:
        SizeError: no small sizes meet the conditions.

    >>> from symacct import load
    >>> from symacct.account import derive
    >>> chosen = points(derive(load("mlp"), precision="fp32"), {"B": 3, "D": 4})
    >>> [point.sizes["L"] for point in chosen][:4]
    [1, 2, 4, 5]
    """
    graph = account.source
    base = choose_sizes(graph, account.conditions, given)
    counts = [name for name in repeat_counts(graph) if name not in given]
    found: dict[tuple[int, ...], Point] = {}
    for count in COUNTS if counts else ():
        sizes = {**base, **dict.fromkeys(counts, count)}
        if meets(account, sizes):
            found[tuple(sizes.values())] = Point(sizes, f"{', '.join(counts)} = {count}")
    long = _long(account, base, counts)
    if long is not None:
        found.setdefault(tuple(long.sizes.values()), long)
    found = found or {tuple(base.values()): Point(base, "small sizes")}
    for point in sides(account, base, given):
        found.setdefault(tuple(point.sizes.values()), point)
    return tuple(found.values())


def _long(account: Account, base: Sizes, counts: Sequence[str]) -> Point | None:
    """Return sizes at which every repeat runs well beyond the turns after which all are alike, if there are.

    Counts of two sizes, such as ``L - N``, are reached by giving the sizes unlike values.
    """
    try:
        turns = 2 * max(account.course.form.counts.values(), default=0) + 1
    except RuleError:
        turns = BEYOND
    repeats = [node for node, path in walk(account.graph.nodes) if isinstance(node, Repeat) and not path]
    for times in product((1, 2, 3), repeat=min(len(counts), MOST_UNLIKE)):
        sizes = dict(base)
        for name, by in zip_longest(counts, times, fillvalue=1):
            sizes[str(name)] = turns * by
        run = [int(evaluate(r.count, sizes)) for r in repeats if r.count.free_symbols]
        if all(count >= turns for count in run) and meets(account, sizes):
            return Point(sizes, f"{', '.join(counts)} beyond the first and last turns")
    return None


def meets(account: Account, sizes: Sizes) -> bool:
    """Return whether the graph runs at these sizes; formulas may still want longer repeats."""
    if not all(condition.holds(sizes) for condition in account.conditions if condition.kind != "at_least"):
        return False
    try:
        choose_sizes(account.source, (), sizes)
    except SizeError:
        return False
    return True


def sides(account: Account, base: Sizes, given: Mapping[str, int]) -> Iterator[Point]:
    """Yield pairs of neighbours at which different formulas are the largest, the smallest sizes first.

    First until each formula that is the largest anywhere here was met, then for pairs that are new.
    """
    try:
        regions = _Regions(account.candidates(PEAK), base, [name for name in base if name not in given])
        when = account[PEAK].when
    except RuleError:  # no formula serves every count
        return
    crossings = sorted(regions.crossings())
    seen: set[frozenset[int]] = set()
    met: set[int] = set()
    for fresh in (True, False):
        for _, *pair in crossings:
            both = frozenset(map(regions.largest, pair))
            if both in seen or (fresh and both <= met) or len(seen) == MOST_SIDES:
                continue
            chosen = [dict(zip(base, at, strict=True)) for at in pair]
            if all(c.holds(one) for one in chosen for c in when) and all(
                meets(account, one) for one in chosen
            ):
                seen.add(both)
                met |= both
                yield from (Point(sizes, "next to where another formula is the largest") for sizes in chosen)


class _Regions:
    """Which formula is the largest, at all points of a lattice."""

    def __init__(self, formulas: Sequence[Expr], base: Sizes, free: Sequence[str]) -> None:
        self.names = list(base)
        self.steps = [compiled(formula, math).step for formula in formulas]
        self.axes = lattice(base, free)
        self.known: dict[At, int] = {}

    def largest(self, at: At) -> int:
        """Return the formula that is the only largest one, or -1."""
        if at not in self.known:
            sizes = dict(zip(self.names, map(float, at), strict=True))
            found = [step(sizes) for step in self.steps]
            top = max(found)
            self.known[at] = found.index(top) if found.count(top) == 1 else -1
        return self.known[at]

    def crossings(self) -> Iterator[tuple[int, At, At]]:
        """Yield pairs of points between which another formula takes over, with a measure of their size."""
        for at in product(*self.axes) if len(self.steps) > 1 else ():
            for place in range(len(at)) if self.largest(at) >= 0 else ():
                beyond = next((to for to in self._onwards(at, place) if self.largest(to) >= 0), None)
                if beyond is not None and self.largest(beyond) != self.largest(at):
                    yield math.prod(at) + math.prod(beyond), at, beyond

    def _onwards(self, at: At, place: int) -> Iterator[At]:
        for value in self.axes[place]:
            if value > at[place]:
                yield (*at[:place], value, *at[place + 1 :])


def lattice(base: Sizes, free: Sequence[str]) -> list[tuple[int, ...]]:
    """Return the values that each size takes, few enough that all combinations can be looked at.

    >>> lattice({"B": 2, "D": 3, "L": 3}, ["B", "D"])[0][-1], lattice({"B": 2, "D": 3, "L": 3}, ["B"])[2]
    (16, (3,))
    """
    most = LARGEST
    while most > 2 and most ** len(free) > MOST_LATTICE:
        most -= 1
    varied = free[-int(math.log2(MOST_LATTICE)) :]
    return [tuple(range(1, most + 1)) if name in varied else (base[name],) for name in base]
