"""Exact values at many points at once: arrays of sizes in, one array out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from symacct.errors import LimitError, SizeError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from sympy import Expr

MOST_POINTS = 100_000
LARGEST_INT64 = 2**63 - 1


def on_arrays(value: Callable[[Mapping[str, int]], Expr], sizes: Mapping[str, Any]) -> Any:
    """Return the values at arrays of sizes, which broadcast; each is worked out exactly, and rounded once.

    Args:
        value: gives the exact value at integer sizes, and refuses what is none.
        sizes: integers, or arrays (or lists) of integers, by name.

    Returns:
        int64 where every value is such an integer, else float64; of the shape that the arrays broadcast to.

    Raises:
        SizeError: an array holds no integers, or their shapes do not fit.
        LimitError: there are too many points.

    >>> from symacct.algebra.symbols import as_expr
    >>> on_arrays(lambda at: as_expr(at["B"]) / 2, {"B": [2, 3]})
    array([1. , 1.5])
    """
    import numpy as np

    arrays = {name: _integers(name, np.asarray(size)) for name, size in sizes.items()}
    try:
        spread = np.broadcast_arrays(*arrays.values())
    except ValueError:
        shapes = ", ".join(f"{name} {one.shape}" for name, one in arrays.items())
        raise SizeError("the arrays do not fit", expected="shapes that broadcast", got=shapes) from None
    shape, count = spread[0].shape, spread[0].size
    if count > MOST_POINTS:
        what = f"{count} points are too many for exact values one by one"
        fix = "use symacct.sweep, which works in float64"
        raise LimitError(what, expected=f"at most {MOST_POINTS} points", got=str(count), fix=fix)
    points = list(zip(*(one.ravel().tolist() for one in spread), strict=True))
    known = {point: value(dict(zip(arrays, point, strict=True))) for point in dict.fromkeys(points)}
    whole = all(one.is_Integer and abs(one) <= LARGEST_INT64 for one in known.values())
    kind: type = int if whole else float
    found = [kind(known[point]) for point in points]
    return np.array(found, dtype=np.int64 if whole else np.float64).reshape(shape)


def _integers(name: str, array: Any) -> Any:
    """Return an array of integers as it is.

    Raises:
        SizeError: it is none.
    """
    if array.dtype.kind not in "iu" or not array.size:
        what = f"size {name} is no array of integers"
        got = f"an array of {array.dtype}" if array.size else "an empty array"
        raise SizeError(what, expected="integers of at least 1", got=got)
    return array
