"""What is true of every peak, checked at twenty points of sizes whenever one is formed.

A peak is at least what is alive at any one moment: the peak of everything at least that of what is saved,
this at least what is saved when the forward pass ends, and that at least 0. More micro-batches of one size
never lower it. Where one of these fails, the formulas are wrong, and no number is given.
"""

from __future__ import annotations

from fractions import Fraction
from math import prod
from operator import mul
from typing import TYPE_CHECKING

from symacct.algebra.evaluate import evaluate, names_of
from symacct.errors import DisagreementError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from sympy import Expr

    from symacct.algebra.condition import Condition
    from symacct.algebra.sparse import Poly
    from symacct.peaks.course import Course

POINTS, TRIES = 20, 200
ORDER = "memory.peak, memory.activations.peak, memory.activations"
STEPS = (0, 1, 2, 3, 5, 17, 64, 300)

Side = tuple["Sequence[Poly]", "Expr"]
"""Candidates of a peak, and what it stands on."""


def check(course: Course, every: Side, saved: Side, kept: Expr, conditions: Sequence[Condition]) -> None:
    """Compare both peaks and what is kept when forward ends, in bytes, at points of their domain.

    Candidates are polynomials of the course's plain ring.

    Raises:
        DisagreementError: one is lower than it can be.
    """
    for point in _points(course, conditions):
        peak, alive = (_largest(course, side, point) for side in (every, saved))
        low = _number(kept, point)
        if not peak >= alive >= low >= 0:
            raise _broken(course, point, ORDER, peak, alive, low)
        more = _with_more_micro_batches(course, point)
        if more is not None and (higher := _largest(course, every, more)) < peak:
            raise _broken(course, point, "memory.peak with a micro-batch more, and without", higher, peak)


def _points(course: Course, conditions: Sequence[Condition]) -> Iterator[dict[str, int]]:
    """Yield values of all sizes, counts and what stands for them, each within its bounds."""
    shape = course.shape
    starts = {one.name: least for one, least in course.starts(course.least).items()}
    used = {s.name for expr in shape.into.values() for s in expr.free_symbols} - set(shape.into)
    named = {s.name for base in course.ring.bases for s in base.free_symbols} | set(course.graph.order)
    named |= {s.name for c in conditions for s in (c.left.free_symbols | c.right.free_symbols)}
    free = sorted((used | named) - set(shape.into) - (set(shape.back) - used))
    state, found = 2024, 0
    for _ in range(TRIES):
        point: dict[str, int] = {}
        for name in free:
            state = (1103515245 * state + 12345) % 2**31
            point[name] = starts.get(name, 1) + STEPS[(state >> 16) % len(STEPS)]
        inside = _complete(course, point) and all(c.holds(point) for c in conditions)
        if inside and all(point.get(name, least) >= least for name, least in starts.items()):
            yield point
            found += 1
        if found == POINTS:
            return


def _complete(course: Course, point: dict[str, int]) -> bool:
    """Add what the others say of a point, and tell whether all of it is whole and agrees.

    Where what stands for a count was drawn apart from the sizes it is made of, the sizes decide.
    """
    into, back = course.shape.into, course.shape.back
    if not _added(point, into, point):
        return False
    sizes = set(course.graph.order)
    meant: dict[str, int] = {}
    if not _added(meant, back, point):
        return False
    point |= meant
    whole: dict[str, int] = {}
    if not _added(whole, into, point) or any(point[name] != whole[name] for name in sizes & whole.keys()):
        return False
    point |= whole
    return True


def _added(found: dict[str, int], formulas: Mapping[str, Expr], point: Mapping[str, int]) -> bool:
    """Add the values of formulas at a point, and tell whether they are whole."""
    for name, expr in formulas.items():
        if set(names_of(expr)) <= point.keys():
            value = evaluate(expr, point)
            if not value.is_Integer:
                return False
            found[name] = int(value)
    return True


def _largest(course: Course, side: Side, point: Mapping[str, int]) -> int | Fraction:
    """Return the largest of the candidates at a point, with what they stand on."""
    ring, (polys, beside) = course.plain, side
    monomials = dict.fromkeys(powers for poly in polys for powers in poly)
    used = {at for powers in monomials for at, power in enumerate(powers) if power}
    values = {at: _number(ring.bases[at], point) - ring.least[at] for at in used}
    worth = {p: prod(values[at] ** n for at, n in enumerate(p) if n) for p in monomials}
    levels: list[int | Fraction]
    levels = [sum(map(mul, poly.values(), map(worth.__getitem__, poly))) for poly in polys]
    return max(levels) + _number(beside, point)


def _number(expr: Expr, point: Mapping[str, int]) -> int | Fraction:
    value = evaluate(expr, point)
    return int(value.p) if value.q == 1 else Fraction(int(value.p), int(value.q))


def _with_more_micro_batches(course: Course, point: Mapping[str, int]) -> dict[str, int] | None:
    """Return the point with one micro-batch more, where their number is a symbol and no size of the graph."""
    names = {s.name for s in course.shape.micro.free_symbols} - set(course.graph.order)
    return {name: value + (name in names) for name, value in point.items()} if names else None


def _broken(
    course: Course, point: Mapping[str, int], what: str, *values: int | Fraction
) -> DisagreementError:
    sizes = ", ".join(f"{name} = {point[name]}" for name in course.graph.order if name in point)
    return DisagreementError(
        f"internal error: peaks of graph {course.graph.name} are not in order",
        where=sizes,
        expected=f"{what}: each at least the next",
        got=", ".join(f"{value} byte" for value in values),
        fix="please report this graph",
        graph=course.graph,
    )
