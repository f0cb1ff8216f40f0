"""Small counts: from which of them on the formulas serve, beyond what the folded form itself vouches for.

A form peels first and last turns, so that it begins at some count, and each smaller count is a case of its
own. That case is derived with the other sizes open; where its formulas are those of the form at this count,
one formula serves both.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from symacct.algebra.evaluate import substitute
from symacct.algebra.maxima import Contest
from symacct.algebra.normal import normal
from symacct.algebra.sparse import Ring
from symacct.algebra.symbols import as_expr
from symacct.errors import RuleError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sympy import Expr, Symbol

    from symacct.derivation.course import Course

LONGEST = 700
"""How long a schedule may be for smaller counts to be looked at."""


def merged(course: Course) -> dict[Symbol, int]:
    """Return the least value of each count from which all formulas of a course hold."""
    found = dict(course.least)
    if course.form.length > LONGEST:
        return found
    for one in sorted(found, key=str):
        while found[one] > 1 and _serves(course, one, {**found, one: found[one] - 1}):
            found[one] -= 1
    return found


def _serves(course: Course, one: Symbol, least: Mapping[Symbol, int]) -> bool:
    """Say whether the formulas hold where a count has its least value, and the others at least theirs."""
    value = least[one]
    try:
        small = course.at(one, value)
        if any(at > least.get(other, 0) for other, at in small.merged.items()):
            return False
        return _same_sums(course, small, one, value) and _same_peaks(course, small, one, least)
    except RuleError:
        return False


def _same_sums(course: Course, small: Course, one: Symbol, value: int) -> bool:
    known = {one.name: as_expr(value)}
    for mine, theirs in ((course.kept, small.kept), (course.repeated, small.repeated)):
        at = {name: normal(substitute(expr, known)) for name, expr in mine.items()}
        if {k: v for k, v in at.items() if v != 0} != {k: v for k, v in theirs.items() if v != 0}:
            return False
    return course.inputs == small.inputs


def _same_peaks(course: Course, small: Course, one: Symbol, least: Mapping[Symbol, int]) -> bool:
    known = {one.name: as_expr(least[one])}
    for mine, theirs in zip(course.peaks, small.peaks, strict=True):
        left = [normal(substitute(expr, known)) for expr in mine]
        right: list[Expr] = list(theirs)
        others = {other: at for other, at in least.items() if other != one}
        ring = Ring([*left, *right], others)
        contest = Contest(ring, tuple(others))
        if not contest.same([ring.poly(e) for e in left], [ring.poly(e) for e in right]):
            return False
    return True
