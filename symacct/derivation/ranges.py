"""Ranges of iterations: sums over the repeats around a node, and unions of boxes."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from symacct.algebra.condition import Condition
from symacct.algebra.evaluate import substitute
from symacct.algebra.normal import normal, same
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

MOST_PIECES = 64
"""How many iterations of a repeat are looked at one by one."""


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


def union(
    boxes: Iterable[Box], indices: Sequence[Symbol] = ()
) -> tuple[tuple[Box, ...], tuple[Condition, ...]]:
    """Return disjoint boxes that cover the same iterations, and the conditions under which they do.

    Ends are constants or ``L - c``; those of an inner range may hold the indices around it. The outermost
    axis is cut at all ends, and each piece holds the union of the inner ranges there.

    Args:
        boxes: what is covered.
        indices: the iteration indices of the axes, outermost first.
    """
    distinct = _without_contained(_with_joins(list(dict.fromkeys(boxes))))
    if len(distinct) <= 1 or not distinct[0]:
        return distinct[:1], ()
    conditions: list[Condition] = []
    cuts = _ordered([end for box in distinct for end in box[0]], conditions)
    found: list[Box] = []
    for lo, hi in _spans(cuts, distinct, indices):
        known = {indices[0].name: lo} if indices and same(hi, lo + 1) else {}
        inner = [_bound(box[1:], known) for box in distinct if _covers(box[0], (lo, hi), cuts)]
        some, needed = union((box for box in inner if not _is_empty(box)), indices[1:])
        around = {indices[0]: (lo, hi)} if indices else {}
        conditions += (c for one in needed for c in at_ends(one, around))
        found += (((lo, hi), *box) for box in some)
    return tuple(_merged(found)), tuple(conditions)


def _spans(cuts: list[Expr], boxes: Sequence[Box], indices: Sequence[Symbol]) -> Iterator[Range]:
    """Yield the pieces of an axis; one by one where the inner ranges change from iteration to iteration."""
    varying = indices and any(
        indices[0] in end.free_symbols for box in boxes for ends in box[1:] for end in ends
    )
    for lo, hi in pairwise(cuts):
        count = normal(hi - lo)
        if varying and count.is_Integer and count <= MOST_PIECES:
            yield from ((normal(lo + i), normal(lo + i + 1)) for i in range(int(count)))
        else:
            yield lo, hi


def _bound(box: Box, known: Mapping[str, Expr]) -> Box:
    """Return inner ranges with the index around them put in."""
    if not known:
        return box
    return tuple((normal(substitute(lo, known)), normal(substitute(hi, known))) for lo, hi in box)


def _is_empty(box: Box) -> bool:
    return any((hi - lo).is_nonpositive for lo, hi in box)


def _covers(whole: Range, part: Range, cuts: list[Expr]) -> bool:
    def place(end: Expr) -> int:
        return next((at for at, other in enumerate(cuts) if same(end, other)), -1)

    (lo, hi), (low, high) = part, whole
    if place(lo) >= 0 and place(hi) >= 0:
        return place(low) <= place(lo) and place(hi) <= place(high)
    return all(gap.is_number and gap >= 0 for gap in (normal(lo - low), normal(high - hi)))


def at_ends(condition: Condition, around: Mapping[Symbol, Range]) -> Iterator[Condition]:
    """Yield a condition, at both ends of the indices that it holds."""
    if condition.kind == "at_least" and around.keys() & condition.left.free_symbols:
        yield from required(normal(condition.left - condition.right), 0, around)
    else:
        yield condition


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
    """Drop boxes inside another one, whatever the counts of the repeats are."""
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
    return all(gap.is_nonnegative for gap in gaps)


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


def _merged(cells: list[Box]) -> list[Box]:
    """Join neighbours along the last axis, so that a full range is one box."""
    joined: list[Box] = []
    for cell in cells:
        if joined and joined[-1][:-1] == cell[:-1] and same(joined[-1][-1][1], cell[-1][0]):
            joined[-1] = (*cell[:-1], (joined[-1][-1][0], cell[-1][1]))
        else:
            joined.append(cell)
    return joined
