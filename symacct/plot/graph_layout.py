"""A layered drawing of a directed graph: which row each item stands in, its order there, where edges run.

The steps are those of Sugiyama, Tagawa and Toda (1981). Items are boxes of any size; an edge that passes
rows gets a place of its own in each, so that it crosses no box. The same graph gives the same drawing.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from dataclasses import dataclass
from typing import TYPE_CHECKING

from symacct.errors import LimitError
from symacct.plot.graph_across import Spot, spread

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

SWEEPS = 12
LANE = 10.0
"""The width that is kept for an edge where it passes a row."""
MOST_SPOTS = 30_000
"""Items, and rows that edges pass, in one drawing."""

Point = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Edge:
    """An edge from one item down to another.

    Attributes:
        tail: the item it comes from.
        head: the item it goes to.
        leaves: how far from the left side of its tail it begins.
        enters: how far from the left side of its head it ends.
        name: what it carries.
        starts: how far below the top of its tail it begins; its whole height where nothing is said.
    """

    tail: str
    head: str
    leaves: float
    enters: float
    name: str = ""
    starts: float | None = None


@dataclass(frozen=True, slots=True)
class Drawing:
    """Where items stand (left, top), where each edge runs, and how much room that takes.

    Points of a route come in pairs: straight down from the first to the second, then a bend to the next.
    """

    places: Mapping[str, Point]
    routes: tuple[tuple[Point, ...], ...]
    width: float
    height: float


def layered(
    items: Mapping[str, Point],
    edges: Sequence[Edge],
    *,
    first: Collection[str] = (),
    last: Collection[str] = (),
    across: float = 18,
    down: float = 34,
) -> Drawing:
    """Return a drawing of items of given widths and heights.

    Args:
        items: their sizes, in an order of execution.
        edges: from an item to a later one.
        first: items of the uppermost row.
        last: items of the lowest row.
        across: the gap between neighbours in a row.
        down: the gap between rows.

    Raises:
        LimitError: there is too much to draw.

    >>> drawing = layered({"a": (40, 20), "b": (40, 20)}, [Edge("a", "b", 20, 20)])
    >>> dict(drawing.places), drawing.height
    ({'a': (0.0, 0.0), 'b': (0.0, 54.0)}, 74.0)
    """
    rows = _rows(list(items), edges, first, last)
    spots = {name: Spot(width, height, rows[name]) for name, (width, height) in items.items()}
    passed = len(items) + sum(rows[edge.head] - rows[edge.tail] for edge in edges)
    if passed > MOST_SPOTS:
        expected = f"at most {MOST_SPOTS:,} nodes and rows that edges pass"
        raise LimitError("a graph is too large to be drawn", expected=expected, got=f"{passed:,}")
    chains = [_chain(spots, edge) for edge in edges]
    grid: list[list[str]] = [[] for _ in range(max(rows.values(), default=-1) + 1)]
    for name, spot in spots.items():
        grid[spot.row].append(name)
    _order(grid, spots)
    spread(grid, spots, across)
    tops, height = _tops(grid, spots, down)
    places = {name: (spots[name].x, tops[spots[name].row][0]) for name in items}
    routes = tuple(_route(edge, chain, spots, tops) for edge, chain in zip(edges, chains, strict=True))
    width = max((spot.x + spot.width for spot in spots.values()), default=0)
    return Drawing(places, routes, width, height)


def _rows(
    names: Sequence[str], edges: Sequence[Edge], first: Collection[str], last: Collection[str]
) -> dict[str, int]:
    """Return the row of each item: below all that it needs; what needs nothing stands above its first use."""
    rows: dict[str, int] = {}
    needs: dict[str, list[str]] = {name: [] for name in names}
    serves: dict[str, list[str]] = {name: [] for name in names}
    for edge in edges:
        needs[edge.head].append(edge.tail)
        serves[edge.tail].append(edge.head)
    for name in names:
        rows[name] = max((rows[one] + 1 for one in needs[name]), default=0)
    for name in names:
        if serves[name] and not needs[name] and name not in first:
            rows[name] = max(min(rows[one] for one in serves[name]) - 1, 0)
    bottom = max(rows.values(), default=0)
    return rows | dict.fromkeys(last, bottom)


def _chain(spots: dict[str, Spot], edge: Edge) -> list[str]:
    """Return the places of an edge in the rows that it passes; edges from one point share them."""
    first, last = spots[edge.tail].row, spots[edge.head].row
    chain = []
    before, leaves = edge.tail, edge.leaves
    for row in range(first + 1, last):
        name = f"{edge.tail}\n{edge.leaves}\n{row}"
        if name not in spots:
            spots[name] = Spot(LANE, 0, row)
            _join(spots, (before, leaves), (name, LANE / 2), 2 if before == edge.tail else 8)
        chain.append(name)
        before, leaves = name, LANE / 2
    _join(spots, (before, leaves), (edge.head, edge.enters), 2 if chain else 1)
    return chain


def _join(spots: dict[str, Spot], tail: tuple[str, float], head: tuple[str, float], weight: float) -> None:
    spots[tail[0]].below.append((head[0], head[1], tail[1], weight))
    spots[head[0]].above.append((tail[0], tail[1], head[1], weight))


def _order(grid: list[list[str]], spots: dict[str, Spot]) -> None:
    """Order each row so that few edges cross: by the mean place of neighbours, downwards and upwards."""
    _number(grid, spots)
    best, fewest = [list(row) for row in grid], _crossings(grid, spots)
    for sweep in range(SWEEPS):
        upwards = sweep % 2 == 1
        for row in reversed(grid) if upwards else grid:
            means = {name: _mean(spots, name, upwards=upwards) for name in row}
            row.sort(key=lambda name: (means[name], spots[name].order))
            _number([row], spots)
        found = _crossings(grid, spots)
        if found < fewest:
            best, fewest = [list(row) for row in grid], found
    for row, kept in zip(grid, best, strict=True):
        row[:] = kept
    _number(grid, spots)


def _number(grid: Sequence[Sequence[str]], spots: dict[str, Spot]) -> None:
    for row in grid:
        for place, name in enumerate(row):
            spots[name].order = place


def _mean(spots: dict[str, Spot], name: str, *, upwards: bool) -> float:
    spot = spots[name]
    near = spot.below if upwards else spot.above
    if not near:
        return spot.order
    return sum(spots[one].order + at / (spots[one].width or 1) for one, at, _, _ in near) / len(near)


def _crossings(grid: Sequence[Sequence[str]], spots: dict[str, Spot]) -> int:
    found = 0
    for row in grid:
        ends = [
            (spots[name].order + here / (spots[name].width or 1),
             spots[other].order + there / (spots[other].width or 1))
            for name in row
            for other, there, here, _ in spots[name].below
        ]  # fmt: skip
        seen: list[float] = []
        for _, end in sorted(ends):
            found += len(seen) - bisect_right(seen, end)
            insort(seen, end)
    return found


def _tops(grid: Sequence[Sequence[str]], spots: dict[str, Spot], down: float) -> tuple[list[Point], float]:
    """Return the top and the bottom of each row, and the height of all."""
    tops = []
    y = 0.0
    for row in grid:
        height = max(spots[name].height for name in row) if row else 0.0
        tops.append((y, y + height))
        y += height + down
    return tops, max(y - down, 0.0)


def _route(
    edge: Edge, chain: Sequence[str], spots: dict[str, Spot], tops: Sequence[Point]
) -> tuple[Point, ...]:
    tail, head = spots[edge.tail], spots[edge.head]
    x, (top, bottom) = tail.x + edge.leaves, tops[tail.row]
    points = [(x, top + (tail.height if edge.starts is None else edge.starts)), (x, bottom)]
    for name in chain:
        spot = spots[name]
        points += [(spot.x + LANE / 2, y) for y in tops[spot.row]]
    end = head.x + edge.enters
    return (*points, (end, tops[head.row][0]), (end, tops[head.row][0]))
