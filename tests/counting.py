"""An array module of numbers that count what is done to them.

Indices, masks and constants are plain, and combined without being counted. A sum of n terms is the
n - 1 additions it takes.
"""

from __future__ import annotations

import math
from functools import reduce as fold
from itertools import accumulate
from itertools import product as points
from operator import mul
from typing import TYPE_CHECKING, Any

import numpy as np
from counted import TALLY, Counted, array_of, counted, numbers

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


def _each(function: Callable[..., Any], *arrays: Any) -> Any:
    """Apply a function of scalars to broadcast arrays."""
    spread = np.broadcast_arrays(*(np.asarray(a, dtype=object) for a in arrays))
    return array_of(
        [function(*items) for items in zip(*(a.ravel() for a in spread), strict=True)], spread[0].shape
    )


def _touch(name: str, *items: Any) -> bool:
    """Count once if one of the items is counted."""
    any_counted = any(isinstance(item, Counted) for item in items)
    TALLY[name] += any_counted
    return any_counted


def _special(name: str, function: Callable[[float], float]) -> Callable[[Any, Any], Any]:
    def one(item: Any) -> Counted:
        _touch(name, item)
        return Counted(function(float(item)))

    return lambda _, array: _each(one, array)


def _moved(array: Any, axes: Sequence[int]) -> tuple[Any, tuple[int, ...]]:
    """Return the array as rows over the axes, with the shape of what is kept."""
    array = np.asarray(array, dtype=object)
    kept = [axis for axis in range(array.ndim) if axis not in axes]
    shape = tuple(array.shape[axis] for axis in kept)
    return array.transpose([*kept, *axes]).reshape(math.prod(shape), -1), shape


def _larger(a: Any, b: Any) -> Any:
    TALLY["max"] += isinstance(a, Counted) or isinstance(b, Counted)
    return a if float(a) >= float(b) else b


def _place(row: Any) -> int:
    best = 0
    for place in range(1, len(row)):
        best = best if _larger(row[best], row[place]) is row[best] else place
    return best


class CountedArrays:
    """The :class:`symacct.op.Arrays` protocol on numpy arrays of counted numbers."""

    exp = _special("exp", math.exp)
    log = _special("log", math.log)
    sqrt = _special("sqrt", math.sqrt)
    rsqrt = _special("rsqrt", lambda x: 1 / math.sqrt(x))
    tanh = _special("tanh", math.tanh)
    erf = _special("erf", math.erf)
    sigmoid = _special("sigmoid", lambda x: 1 / (1 + math.exp(-x)))
    abs = _special("abs", abs)
    sign = _special("sign", lambda x: float(x > 0) - float(x < 0))
    square = _special("square", lambda x: x * x)

    def __init__(self, seed: int = 0) -> None:
        """Make a generator for masks."""
        self.generator = np.random.default_rng(seed)

    def einsum(self, equation: str, *arrays: Any) -> Any:
        """Multiply at each point of the index space, then add what is summed."""
        left, out = equation.replace(" ", "").split("->")
        words = left.split(",")
        sizes = {
            w: n
            for word, a in zip(words, arrays, strict=True)
            for w, n in zip(word, np.shape(a), strict=True)
        }
        summed = [w for w in sizes if w not in out]
        cells = []
        for outer in points(*(range(sizes[w]) for w in out)):
            terms = []
            for inner in points(*(range(sizes[w]) for w in summed)):
                at = dict(zip((*out, *summed), (*outer, *inner), strict=True))
                picked = [
                    np.asarray(a)[tuple(at[w] for w in word)] for word, a in zip(words, arrays, strict=True)
                ]
                terms.append(fold(mul, picked))
            cells.append(fold(lambda a, b: a + b, terms))
        return array_of(cells, tuple(sizes[w] for w in out))

    def maximum(self, a: Any, b: Any) -> Any:
        """Count one max for each element."""
        return _each(lambda x, y: Counted(float(_larger(x, y))), a, b)

    def where(self, condition: Any, a: Any, b: Any) -> Any:
        """Count one where for each element, unless both sides are constants."""

        def one(truth: Any, x: Any, y: Any) -> Any:
            return Counted(float(x if truth else y)) if _touch("where", x, y) else (x if truth else y)

        return _each(one, condition, a, b)

    def mask(self, a: Any, allowed: Any, fill: float) -> Any:
        """Count one mask for each element."""

        def one(x: Any, truth: Any) -> Any:
            _touch("mask", x)
            return x if truth else Counted(fill)

        return _each(one, a, allowed)

    def sum(self, a: Any, axes: Sequence[int]) -> Any:
        """Count n - 1 additions for each result."""
        rows, shape = _moved(a, axes)
        return array_of([fold(lambda x, y: x + y, row) for row in rows], shape)

    def max(self, a: Any, axes: Sequence[int]) -> Any:
        """Count n - 1 times max for each result."""
        rows, shape = _moved(a, axes)
        return array_of([fold(_larger, row) for row in rows], shape)

    def argmax(self, a: Any, axes: Sequence[int]) -> Any:
        """Count n - 1 times max for each result: the index comes with the comparison."""
        rows, shape = _moved(a, axes)
        found = [_place(row) for row in rows]
        return np.array(found, dtype=int).reshape(shape)

    def block_max(self, a: Any, block: int) -> Any:
        """Count n - 1 times max for each block."""
        found = []
        for start in range(0, len(a), block):
            part = a[start : start + block]
            found += [fold(_larger, part)] * len(part)
        return array_of(found, np.shape(a))

    def cumsum(self, a: Any, axis: int, *, reverse: bool = False) -> Any:
        """Count n - 1 additions for each row."""
        array = np.moveaxis(np.asarray(a, dtype=object), axis, 0)
        sums = [*accumulate(array[::-1] if reverse else array, lambda x, y: x + y)]
        return np.moveaxis(np.stack(sums[::-1] if reverse else sums), 0, axis)

    def topk(self, a: Any, k: int, axis: int) -> tuple[Any, Any]:
        """Take the largest k times over, each among those that are left; count its comparisons."""
        array = np.moveaxis(np.asarray(a, dtype=object), axis, -1)
        picked, places = [], []
        for row in array.reshape(-1, array.shape[-1]):
            left = list(range(len(row)))
            for _ in range(k):
                TALLY["compare"] += len(left) - 1
                best = max(left, key=[float(x) for x in row].__getitem__)
                left.remove(best)
                picked.append(row[best])
                places.append(best)
        shape = (*array.shape[:-1], k)
        values = np.moveaxis(array_of(picked, shape), -1, axis)
        return values, np.moveaxis(np.array(places, dtype=int).reshape(shape), -1, axis)

    def permute(self, a: Any, order: Sequence[int]) -> Any:
        """Move axes."""
        return np.transpose(a, order)

    def reshape(self, a: Any, shape: Sequence[int]) -> Any:
        """Reshape."""
        return np.reshape(a, tuple(shape))

    def expand(self, a: Any, shape: Sequence[int]) -> Any:
        """Repeat axes of size 1."""
        return np.broadcast_to(a, tuple(shape))

    def concatenate(self, arrays: Sequence[Any], axis: int) -> Any:
        """Join."""
        return np.concatenate([np.asarray(a, dtype=object) for a in arrays], axis)

    def slice(self, a: Any, axis: int, start: int, stop: int) -> Any:
        """Cut."""
        return np.take(a, range(start, stop), axis)

    def pad(self, a: Any, axis: int, before: int, after: int) -> Any:
        """Put zeros around."""
        shape = list(np.shape(a))
        zeros = [counted(np.zeros([*shape[:axis], n, *shape[axis + 1 :]])) for n in (before, after)]
        return np.concatenate([zeros[0], a, zeros[1]], axis)

    def take(self, table: Any, ids: Any) -> Any:
        """Count one gather for each element taken."""
        picked = np.asarray(table, dtype=object)[np.asarray(ids, dtype=int)]
        TALLY["gather"] += np.size(picked)
        return picked

    def rows(self, table: Any, ids: Any) -> Any:
        """Read rows in place."""
        return np.asarray(table, dtype=object)[np.asarray(ids, dtype=int)]

    def take_along(self, a: Any, ids: Any, axis: int) -> Any:
        """Count one gather for each element taken."""
        array, places = np.asarray(a, dtype=object), np.asarray(ids, dtype=int)
        shape = tuple(
            places.shape[i] if i == axis else max(array.shape[i], places.shape[i]) for i in range(array.ndim)
        )
        source = np.broadcast_to(
            array, tuple(array.shape[i] if i == axis else n for i, n in enumerate(shape))
        )
        picked = np.take_along_axis(source, np.broadcast_to(places, shape), axis)
        TALLY["gather"] += picked.size
        return picked

    def scatter_add(self, rows: Any, ids: Any, count: int) -> Any:
        """Count one scatter-add for each element added onto zeros."""
        places = np.asarray(ids, dtype=int).ravel()
        rest = np.shape(rows)[np.ndim(ids) :]
        flat = np.reshape(np.asarray(rows, dtype=object), (places.size, math.prod(rest)))
        total = np.zeros((count, math.prod(rest)))
        for place, row in zip(places, flat, strict=True):
            TALLY["scatter_add"] += len(row)
            total[place] += [float(x) for x in row]
        return counted(total.reshape((count, *rest)))

    def one_hot(self, ids: Any, count: int) -> Any:
        """Return plain booleans."""
        return np.asarray(ids, dtype=int)[..., None] == np.arange(count)

    def arange(self, count: int) -> Any:
        """Return plain indices."""
        return np.arange(count)

    def full(self, shape: Sequence[int], value: float) -> Any:
        """Return counted numbers."""
        return counted(np.full(tuple(shape), value))

    def bernoulli(self, shape: Sequence[int], keep: float) -> Any:
        """Count one mask for each boolean drawn."""
        TALLY["mask"] += math.prod(shape)
        return self.generator.random(tuple(shape)) < keep

    def cast(self, a: Any, dtype: str) -> Any:
        """Count one cast for each element; the numbers stay."""
        TALLY["cast"] += np.size(a)
        return a if dtype in ("mask", "index") else counted(numbers(a))

    def shape(self, a: Any) -> tuple[int, ...]:
        """Return the sizes."""
        return tuple(np.shape(a))
