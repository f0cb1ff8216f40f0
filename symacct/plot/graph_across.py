"""Where items of a layered drawing stand from left to right: near what they are joined to, edges straight."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

SWEEPS, MOST_SWEEPS = 12, 400
SETTLED, ENOUGH = 0.05, 200_000
"""Places that move less in a sweep are left; so are all after so many moves."""


@dataclass(slots=True)
class Spot:
    """An item, or the place of an edge, in a row."""

    width: float
    height: float
    row: int
    order: float = 0
    x: float = 0
    above: list[tuple[str, float, float, float]] = field(default_factory=list)
    below: list[tuple[str, float, float, float]] = field(default_factory=list)


def spread(grid: Sequence[Sequence[str]], spots: dict[str, Spot], gap: float) -> None:
    """Give each row its x: as near to the neighbours' ends as the order and the gaps allow."""
    for row in grid:
        _settle(row, spots, [0.0] * len(row), [1.0] * len(row), gap)
    for sweep in range(max(3 * SWEEPS, min(MOST_SWEEPS, ENOUGH // (len(spots) or 1)))):
        upwards = sweep % 2 == 1
        both = sweep >= SWEEPS
        before = [spot.x for spot in spots.values()]
        for row in reversed(grid) if upwards else grid:
            wanted, weights = [], []
            for name in row:
                spot = spots[name]
                near = (*spot.above, *spot.below) if both else spot.below if upwards else spot.above
                whole = sum(weight for *_, weight in near)
                at = sum(weight * (spots[one].x + there - here) for one, there, here, weight in near)
                wanted.append(at / whole if near else spot.x)
                weights.append(whole or 0.01)
            _settle(row, spots, wanted, weights, gap)
        moved = (abs(spot.x - x) for spot, x in zip(spots.values(), before, strict=True))
        if both and max(moved, default=0) < SETTLED:
            break
    for run in _runs(spots):
        _straighten(run, grid, spots, gap)
    _shift(spots)


def _shift(spots: dict[str, Spot]) -> None:
    """Shift all so that the leftmost begins at 0."""
    left = min((spot.x for spot in spots.values()), default=0)
    for spot in spots.values():
        spot.x = round(spot.x - left, 1)


def _runs(spots: dict[str, Spot]) -> list[list[tuple[str, float]]]:
    """Return what could stand on one vertical line, the longest first: items joined one to one.

    Each is given with how far right of the first one it then begins.
    """
    after = {}
    for name, spot in spots.items():
        if len(spot.below) == 1:
            head, enters, leaves, _ = spot.below[0]
            if len(spots[head].above) == 1:
                after[name] = head, leaves - enters
    heads = {head for head, _ in after.values()}
    runs = []
    for name in after:
        if name not in heads:
            run = [(name, 0.0)]
            while run[-1][0] in after:
                head, further = after[run[-1][0]]
                run.append((head, run[-1][1] + further))
            runs.append(run)
    return sorted(runs, key=len, reverse=True)


def _straighten(
    run: Sequence[tuple[str, float]], grid: Sequence[Sequence[str]], spots: dict[str, Spot], gap: float
) -> None:
    """Put a run on as few vertical lines as its neighbours in the rows allow."""
    low, high, start = float("-inf"), float("inf"), 0
    for place, (name, at) in enumerate(run):
        left, right = (side - at for side in _free(name, grid, spots, gap))
        if max(low, left) > min(high, right):
            _align(run[start:place], spots, low, high)
            low, high, start = left, right, place
        else:
            low, high = max(low, left), min(high, right)
    _align(run[start:], spots, low, high)


def _align(part: Sequence[tuple[str, float]], spots: dict[str, Spot], low: float, high: float) -> None:
    """Put a part of a run on one vertical line between bounds, as near as may be to its middle."""
    wanted = sorted(spots[name].x - at for name, at in part)[len(part) // 2]
    for name, at in part:
        spots[name].x = min(max(wanted, low), high) + at


def _free(
    name: str, grid: Sequence[Sequence[str]], spots: dict[str, Spot], gap: float
) -> tuple[float, float]:
    """Return the least and the greatest x of an item between its neighbours."""
    spot = spots[name]
    row, place = grid[spot.row], int(spot.order)
    left, right = float("-inf"), float("inf")
    if place > 0:
        before = spots[row[place - 1]]
        left = before.x + before.width + gap
    if place + 1 < len(row):
        right = spots[row[place + 1]].x - gap - spot.width
    return min(left, spot.x), max(right, spot.x)


def _settle(
    row: Sequence[str],
    spots: dict[str, Spot],
    wanted: Sequence[float],
    weights: Sequence[float],
    gap: float,
) -> None:
    """Place a row in its order, without overlap, at the least squares from what is wanted.

    Less the widths before it, each place must be at least the one before: neighbours that are not are pooled.
    """
    start = 0.0
    starts, pools = [], []
    for name, at, weight in zip(row, wanted, weights, strict=True):
        starts.append(start)
        pools.append([at - start, weight, 1])
        start += spots[name].width + gap
        while len(pools) > 1 and pools[-2][0] > pools[-1][0]:
            mean, heavy, count = pools.pop()
            before = pools[-1]
            both = before[1] + heavy
            pools[-1] = [(before[0] * before[1] + mean * heavy) / both, both, before[2] + count]
    levels = [mean for mean, _, count in pools for _ in range(int(count))]
    for name, level, begin in zip(row, levels, starts, strict=True):
        spots[name].x = level + begin
