"""Ranges of iterations: sums over the repeats around a node, and unions of boxes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from symacct.algebra.condition import Condition
from symacct.algebra.evaluate import substitute
from symacct.algebra.normal import normal, same, total
from symacct.algebra.summation import sum_over
from symacct.algebra.symbols import as_expr
from symacct.errors import RuleError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from sympy import Expr, Symbol

    from symacct.nodes import Repeat

Range = tuple["Expr", "Expr"]
Box = tuple[Range, ...]
"""One range per repeat of a path, outermost first."""


def over(expr: Expr, path: Sequence[Repeat]) -> Expr:
    """Sum an expression over the ranges of the repeats around it."""
    for repeat in reversed(path):
        expr = sum_over(expr, repeat.index, repeat.lo, repeat.hi)
    return expr


def over_box(expr: Expr, indices: Sequence[Symbol], box: Box) -> Expr:
    """Sum an expression over a box of iterations, the innermost index first."""
    for index, (lo, hi) in zip(reversed(indices), reversed(box), strict=True):
        expr = sum_over(expr, index, lo, hi)
    return expr


def required(left: Expr, least: int, around: Mapping[Symbol, Range]) -> Iterator[Condition]:
    """Yield ``left >= least``, at both ends of every index around it, unless it is certain.

    Raises:
        RuleError: it cannot hold in every iteration.
    """
    ends = [normal(left)]
    for index, (lo, hi) in reversed(tuple(around.items())):
        if any(index in end.free_symbols for end in ends):
            at = (lo, normal(hi - 1))
            ends = [normal(substitute(end, {index.name: value})) for end in ends for value in at]
    for end in ends:
        condition = Condition("at_least", end, as_expr(least))
        if condition.is_impossible():
            raise RuleError(
                "what is saved differs between iterations of a repeat with another one inside",
                expected=condition.text,
                got="a count that can be smaller",
                fix="bind the sizes first, or peel these iterations of the outer repeat by hand",
            )
        if not condition.is_certain():
            yield condition


def union(boxes: Iterable[Box]) -> tuple[tuple[Box, ...], tuple[Condition, ...]]:
    """Return disjoint boxes that cover the same iterations, and the conditions under which they do.

    Ends are constants or ``L - c``. Every axis is cut at all ends, and covered cells are kept and merged.
    """
    distinct = _without_contained(_with_joins(list(dict.fromkeys(boxes))))
    if len(distinct) <= 1 or not distinct[0]:
        return distinct[:1], ()
    conditions: list[Condition] = []
    cuts = [
        _ordered([end for box in distinct for end in box[axis]], conditions)
        for axis in range(len(distinct[0]))
    ]
    cells: list[Box] = [()]
    for axis in range(len(cuts)):
        spans = list(zip(cuts[axis], cuts[axis][1:], strict=False))
        cells = [(*cell, span) for cell in cells for span in spans]
    covered = [cell for cell in cells if any(_inside(cell, box, cuts) for box in distinct)]
    return tuple(_merged(covered)), tuple(conditions)


def _with_joins(boxes: list[Box]) -> list[Box]:
    """Add the boxes that two neighbours make together: one ends where the other begins, the rest is alike."""
    for box in boxes:
        for other in boxes:
            for axis, ((lo, hi), (start, end)) in enumerate(zip(box, other, strict=True)):
                joined = (*box[:axis], (lo, end), *box[axis + 1 :])
                alike = box[:axis] == other[:axis] and box[axis + 1 :] == other[axis + 1 :]
                if alike and same(hi, start) and joined not in boxes:
                    boxes.append(joined)
    return boxes


def _without_contained(boxes: list[Box]) -> tuple[Box, ...]:
    """Drop boxes inside another one, where the differences of their ends are plain numbers."""
    kept: list[Box] = []
    for at, box in enumerate(boxes):
        others = (*kept, *boxes[at + 1 :])
        if not any(_contains(other, box) for other in others):
            kept.append(box)
    return tuple(kept)


def _contains(box: Box, other: Box) -> bool:
    gaps = (
        gap
        for (lo, hi), (low, high) in zip(box, other, strict=True)
        for gap in (normal(low - lo), normal(hi - high))
    )
    return all(gap.is_number and gap >= 0 for gap in gaps)


def _ordered(ends: list[Expr], conditions: list[Condition]) -> list[Expr]:
    """Return the distinct ends in order: constants first, then those that grow with the count."""
    distinct: list[Expr] = []
    for end in ends:
        if not any(same(end, other) for other in distinct):
            distinct.append(end)
    constants = sorted((e for e in distinct if e.is_number), key=int)
    growing = [e for e in distinct if not e.is_number]
    for end in growing[1:]:
        if not normal(end - growing[0]).is_number:
            raise RuleError(
                "ranges of iterations with unlike ends cannot be compared",
                expected="ends that are constants or one count less a constant",
                got=", ".join(map(str, growing)),
            )
    growing = sorted(growing, key=lambda e: int(normal(e - growing[0])))
    if constants and growing:
        conditions.append(Condition("at_least", growing[0], constants[-1]))
    return constants + growing


def _inside(cell: Box, box: Box, cuts: list[list[Expr]]) -> bool:
    for axis, ((lo, hi), (low, high)) in enumerate(zip(cell, box, strict=True)):
        order = cuts[axis]
        if _position(lo, order) < _position(low, order) or _position(hi, order) > _position(high, order):
            return False
    return True


def _position(end: Expr, order: list[Expr]) -> int:
    return next(at for at, other in enumerate(order) if same(end, other))


def _merged(cells: list[Box]) -> list[Box]:
    """Join neighbours along the last axis, so that a full range is one box."""
    joined: list[Box] = []
    for cell in cells:
        if joined and joined[-1][:-1] == cell[:-1] and same(joined[-1][-1][1], cell[-1][0]):
            joined[-1] = (*cell[:-1], (joined[-1][-1][0], cell[-1][1]))
        else:
            joined.append(cell)
    return joined


def cells(boxes: Sequence[Box], indices: Sequence[Symbol]) -> Expr:
    """Return the number of iterations in disjoint boxes."""
    return total(over_box(as_expr(1), indices, box) for box in boxes)
