"""Sums over an index from ``lo`` to ``hi - 1``.

Both ends are integers with lo <= hi. A body without the index stands hi - lo times. Else a closed form G is
asked for, with G(i + 1) - G(i) = body(i) for every i of at least lo; adding these up from lo to hi - 1
leaves G(hi) - G(lo). The index is a new name, an integer, and has the bound of ``lo`` where that is a
number; what is known of it ends with the sum.
"""

from __future__ import annotations

from math import floor
from typing import TYPE_CHECKING, Any

from .form import canonical, is_name, short
from .poly import ONE, Ratio, plain
from .refusal import need

if TYPE_CHECKING:
    from .box import Box


def read_sum(box: Box, expr: list[Any]) -> Ratio:
    """Return a sum: by its length, or by a closed form."""
    need(len(expr) == 5, "a sum has an index, two ends and a body")
    _, index, lo, hi, body = expr
    need(is_name(index) and index not in box.names, f"the index {short(index)} is not a new name")
    first, end = box.read(lo), box.read(hi)
    length = box.minus(end, first)
    need(box.sure(length), f"the range of {index} may end before it starts")
    need(box.integral(first) and box.integral(length), f"the range of {index} does not end at integers")
    start = plain(first)
    try:
        box.names.add(index)
        box.whole.add(index)
        if start is not None and start >= 0:
            box.lower[index] = floor(start)
        return added(box, expr, (body, first, end, length))
    finally:
        box.names.discard(index)
        box.whole.discard(index)
        box.lower.pop(index, None)
        box.value.pop(index, None)


def added(box: Box, expr: list[Any], parts: tuple[Any, Ratio, Ratio, Ratio]) -> Ratio:
    """Return the sum over an index that has been declared."""
    body, first, end, length = parts
    index = expr[1]
    inner = box.read(body)
    if index not in box.names_in(inner):
        return box.product(inner, length)
    need(canonical(expr) in box.closed, f"no closed form is given for the sum over {index}")
    form = box.closed[canonical(expr)]
    now = box.read(form)
    ends = []
    for at in (box.plus(box.named(index), (ONE, ONE)), end, first):
        box.value[index] = at
        ends.append(box.read(form))
        del box.value[index]
    need(not box.minus(box.minus(ends[0], now), inner)[0], f"the closed form over {index} is wrong")
    return box.minus(ends[1], ends[2])
