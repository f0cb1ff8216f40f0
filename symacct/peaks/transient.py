"""What is transient at the peak of a step: neither saved nor the gradient of a parameter, as formulas."""

from __future__ import annotations

from typing import TYPE_CHECKING

from symacct.algebra.condition import Condition, merge
from symacct.algebra.maxima import Contest
from symacct.algebra.sparse import Ring, at_least, plus
from symacct.algebra.symbols import as_expr, symbol
from symacct.peaks.course import Tagged

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from fractions import Fraction

    from sympy import Expr

    from symacct.algebra.sparse import Poly
    from symacct.peaks.course import Course
    from symacct.peaks.folding import Size

TAG = "tagged_"


def transients(course: Course, weigh: Callable[[Size], Fraction]) -> tuple[tuple[Expr, Expr], ...]:
    """Return formulas of which the peak is the largest, each with what is transient where it is.

    Where several of them are the peak, what is transient is the least that stands beside one of these: of
    the moments at which most is alive, the one with the most in categories. For that, formulas stay that are
    nowhere larger than all others, but may be as large at some sizes.

    Raises:
        RuleError: there is no formula.
    """
    course.candidates(weigh)  # from here on the course has its final form
    tag = symbol(TAG)
    ring = Ring([*course.ring.bases, tag], course.starts(course.least))
    place = ring.places[tag]
    ring.least[place] = 0
    unit: Poly = {tuple(int(at == place) for at in range(len(ring.bases))): 1}
    peaks = course.composed(Tagged(ring, weigh, unit))
    pairs = [_split(poly, place) for poly in peaks]
    needed = Contest(ring, course.counts).largest([whole for whole, _ in pairs])
    kept = _distinct(pairs, needed)
    beside = ((whole, plus(whole, held, -1)) for whole, held in kept)
    return tuple((course.restored(ring.expr(a)), course.restored(ring.expr(b))) for a, b in beside)


def holds_from(course: Course) -> tuple[Condition, ...]:
    """Return when the formulas hold: from where the folded step itself does."""
    found = (Condition("at_least", course.restored(one), as_expr(at)) for one, at in course.least.items())
    return merge((*course.conditions, *(one for one in found if not one.is_certain())))


def _split(poly: Poly, place: int) -> tuple[Poly, Poly]:
    """Return all that is alive, and of it what belongs to a category."""
    held = {(*powers[:place], 0, *powers[place + 1 :]): c for powers, c in poly.items() if powers[place]}
    return {powers: c for powers, c in poly.items() if not powers[place]}, held


def _distinct(pairs: Sequence[tuple[Poly, Poly]], needed: Sequence[Poly]) -> list[tuple[Poly, Poly]]:
    """Return the pairs that count: the largest, and those that may be as large with more in categories."""
    found: list[tuple[Poly, Poly]] = []
    others = [pair for pair in pairs if pair[0] in needed]
    for whole, held in sorted(pairs, key=lambda pair: pair[0] not in needed):
        if whole not in needed and any(_below(whole, other) for other, _ in others):
            continue
        rest = plus(whole, held, -1)
        if whole not in needed and all(at_least(rest, plus(*one, -1)) for one in others):
            continue  # whichever is as large has no more that is transient
        if any(at_least(other, whole) and at_least(more, held) for other, more in found):
            continue
        found = [(o, m) for o, m in found if not (at_least(whole, o) and at_least(held, m))]
        found.append((whole, held))
    return found


def _below(poly: Poly, other: Poly) -> bool:
    """Say whether a formula is below another one for all sizes, and nowhere equal to it."""
    gap = plus(other, poly, -1)
    return all(c >= 0 for c in gap.values()) and any(not any(powers) for powers in gap)
