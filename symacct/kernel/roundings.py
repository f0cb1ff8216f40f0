"""floor, ceil, min and max: atoms, with what holds of them.

Reading. Of ``floor(p)`` and ``ceil(p)`` with a polynomial p, each term c*m with m a product of variables
that are integers gives up floor(c)*m, an integer, which may be taken out of a rounding: floor(n + x) = n +
floor(x). What is left is a number, which is rounded (one of roots and logarithms between two numbers, if
both round to the same), or an atom, whose value is an integer. A min or max of one operand, or of equal
ones, is that operand.

Least values. floor(x) and ceil(x) are at least any integer below x, ceil(x) >= 1 where x > 0. A max is at
least each bound of an operand, and above it where that operand is. A min is at least the least of the
bounds of all its operands, and above where all are above that bound.

Facts. For all real x: x - floor(x) >= 0 and floor(x) + 1 - x > 0; ceil(x) - x >= 0 and x + 1 - ceil(x) > 0.
A max less one of its operands, and an operand less their min, is at least 0.
"""

from __future__ import annotations

from fractions import Fraction
from math import ceil, floor
from typing import TYPE_CHECKING, Any

from .enclosure import span_of
from .form import operation
from .poly import ONE, Poly, Ratio, constant, plain, unique
from .refusal import need

if TYPE_CHECKING:
    from collections.abc import Callable

    from .box import Box

EXTREMES: dict[str, Callable[..., Any]] = {"min": min, "max": max}
ROUNDINGS: dict[str, Callable[[Fraction], int]] = {"floor": floor, "ceil": ceil}


def read_rounding(box: Box, head: str, parts: list[Ratio]) -> Ratio:
    """Return floor, ceil, min or max of fractions."""
    if head in EXTREMES:
        return extreme(box, head, parts)
    out, rest = taken_out(box, parts[0])
    number = plain(rest)
    if number is not None:
        return box.plus((out, ONE), constant(ROUNDINGS[head](number)))
    if not box.names_in(rest):
        box.meter.spend(100 * (1 + len(rest[0]) + len(rest[1])))
        low, high = (ROUNDINGS[head](end) for end in span_of(box.made, rest))
        if low == high:
            return box.plus((out, ONE), constant(low))
    bound = box.least(rest)
    if head == "ceil" and box.sure(rest, strict=True):
        bound = 1
    return box.plus((out, ONE), box.opaque(head, [rest], bound, whole=True))


def taken_out(box: Box, value: Ratio) -> tuple[Poly, Ratio]:
    """Return an integer polynomial, and what is left of a fraction without it."""
    out: Poly = {}
    if value[1] == ONE:
        for monomial, c in value[0].items():
            if floor(c) and all(g in box.whole for g, _ in monomial):
                out[monomial] = Fraction(floor(c))
    return out, box.minus(value, (out, ONE))


def extreme(box: Box, head: str, parts: list[Ratio]) -> Ratio:
    """Return the least or the largest of fractions."""
    if len({unique(part) for part in parts}) == 1:
        return parts[0]
    bounds = [box.least(part) for part in parts]
    seen = [bound for bound in bounds if bound is not None]
    complete = head == "max" or len(seen) == len(bounds)
    bound = EXTREMES[head](seen) if seen and complete else None
    above = False
    if bound is not None:
        over = (box.sure(box.minus(part, constant(bound)), strict=True) for part in parts)
        above = any(over) if head == "max" else all(over)
    whole = all(box.integral(part) for part in parts)
    return box.opaque(head, parts, bound, above=above, whole=whole)


def fact_of(box: Box, expr: Any, side: int) -> tuple[Ratio, bool]:
    """Return what is at least 0 for a rounding, a min or a max, and whether it is more than 0."""
    head, *args = operation(expr)
    rounds = head in ROUNDINGS
    need(rounds or head in EXTREMES, "only floor, ceil, min, max and log have facts")
    need(0 <= side < (2 if rounds else len(args)), "the atom has no such side")
    gap = box.minus(box.read(expr), box.read(args[0 if rounds else side]))
    if head in {"min", "floor"}:
        gap = box.negative(gap)
    return (box.minus(constant(1), gap), True) if rounds and side else (gap, False)
