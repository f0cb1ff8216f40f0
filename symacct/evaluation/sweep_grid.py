"""Grids of sizes: the values of each, and blocks of points that fit into bounded memory."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import TYPE_CHECKING

from symacct.algebra.symbols import check_name
from symacct.errors import FormulaError, LimitError, SizeError
from symacct.syntax import read_figure

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

MOST_VALUES, MOST_POINTS, LONGEST = 10**7, 10**10, 100_000
LARGEST = 2**53
RANGE = re.compile(
    r"(?P<first>[^.:]+(?:\.[0-9]+)?[A-Za-z]*)\.\.(?P<last>[^:]+)(?::(?P<times>\*?)(?P<step>.+))?"
)


@dataclass(frozen=True, slots=True)
class Grid:
    """Values of sizes by name; the points are all combinations, the last name fastest.

    >>> grid = read_grid("B=1..8:*2,S=512,1024")
    >>> grid.axes, grid.count, grid.point(5)
    ((('B', (1, 2, 4, 8)), ('S', (512, 1024))), 8, {'B': 4, 'S': 1024})
    """

    axes: tuple[tuple[str, tuple[int, ...]], ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The sizes."""
        return tuple(name for name, _ in self.axes)

    @property
    def count(self) -> int:
        """How many points there are."""
        return prod(len(values) for _, values in self.axes)

    def point(self, number: int) -> dict[str, int]:
        """Return the sizes of a point by its number."""
        found: dict[str, int] = {}
        for name, values in reversed(self.axes):
            number, place = divmod(number, len(values))
            found[name] = values[place]
        return {name: found[name] for name in self.names}

    def blocks(self, most: int) -> Iterator[tuple[slice, ...]]:
        """Yield parts of the grid in the order of their points, each of at most so many."""
        lengths = [len(values) for _, values in self.axes]
        sizes = [1] * len(lengths)
        room = most
        for place in reversed(range(len(lengths))):
            sizes[place] = min(lengths[place], max(1, room))
            room //= sizes[place]
            if sizes[place] < lengths[place]:
                break
        starts = [range(0, length, size) for length, size in zip(lengths, sizes, strict=True)]
        for corner in product(*starts):
            yield tuple(
                slice(start, min(start + size, length))
                for start, size, length in zip(corner, sizes, lengths, strict=True)
            )


def grid_of(over: Mapping[str, Sequence[int]]) -> Grid:
    """Return the grid of values by name, checked.

    Raises:
        SizeError: a value is no integer of at least 0, or a size has none, or one twice.
        LimitError: there are too many.
    """
    axes: list[tuple[str, tuple[int, ...]]] = []
    for name, values in over.items():
        listed = tuple(values)
        for value in listed:
            if isinstance(value, bool) or not hasattr(value, "__index__") or not 0 <= int(value) < LARGEST:
                expected = "integers from 1 to 2^53 (repeat counts from 0)"
                raise SizeError(
                    f"a value of {name} is not one of a size", expected=expected, got=str(value)[:64]
                )
        axes.append((check_name(name), tuple(int(value) for value in listed)))
        if not listed or len(set(axes[-1][1])) != len(listed):
            got = "none" if not listed else "one twice"
            raise SizeError(
                f"the values of {name} are different, and at least one", expected="B=1,2,4", got=got
            )
    made = Grid(tuple(axes))
    if made.count > MOST_POINTS:
        raise LimitError(
            "a grid is too large", expected=f"at most {MOST_POINTS:,} points", got=f"{made.count:,}"
        )
    return made


def read_grid(text: str) -> Grid:
    """Return a grid, read: ``B=1..64:*2,S=512,1024``; ``1..9:2`` counts by 2, ``1..64:*2`` doubles.

    Raises:
        SymacctError: it cannot be read.

    >>> read_grid("L=1..4,h=1k..3k:1k").axes
    (('L', (1, 2, 3, 4)), ('h', (1000, 2000, 3000)))
    """
    if len(text) > LONGEST:
        raise FormulaError(
            "a grid is a text of bounded length", expected=f"at most {LONGEST}", got=str(len(text))
        )
    found: dict[str, list[int]] = {}
    name = ""
    for entry in text.split(","):
        left, equals, value = entry.rpartition("=")
        if equals:
            name = check_name(left.strip())
            if name in found:
                raise FormulaError(
                    f"size {name} is given twice", where=text[:72], expected=f"one list for {name}"
                )
            found[name] = []
        if not name or not value.strip():
            raise FormulaError(
                "a grid is NAME=VALUES", where=text[:72], expected="B=1..64:*2,S=512,1024", got=entry[:40]
            )
        found[name] += _values(value.strip(), text)
    return grid_of(found)


def _values(text: str, where: str) -> list[int]:
    match = RANGE.fullmatch(text)
    if match is None:
        return [_integer(text, where)]
    first, last = _integer(match["first"], where), _integer(match["last"], where)
    step = _integer(match["step"], where) if match["step"] else 1
    if last < first or step < 1 + bool(match["times"]):
        expected = "FIRST..LAST, FIRST..LAST:STEP or FIRST..LAST:*FACTOR, upwards"
        raise FormulaError("a range goes nowhere", where=where[:72], expected=expected, got=text[:40])
    if match["times"]:
        found = [first]
        while first and found[-1] * step <= last:
            found.append(found[-1] * step)
        return found
    if (last - first) // step >= MOST_VALUES:
        raise LimitError(
            "a range is too long", where=where[:72], expected=f"at most {MOST_VALUES:,} values", got=text[:40]
        )
    return list(range(first, last + 1, step))


def _integer(text: str, where: str) -> int:
    figure = read_figure(text)
    if figure.denominator != 1:
        raise FormulaError("a size is an integer", where=where[:72], expected="an integer", got=text[:40])
    return int(figure)
