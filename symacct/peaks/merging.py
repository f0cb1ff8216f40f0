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
from symacct.peaks.forms import few

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sympy import Expr, Symbol

    from symacct.peaks.course import Course

LONGEST = 700
"""How long a schedule may be for smaller counts to be looked at."""

MOST = 60
"""How many small cases are looked at."""


def merged(course: Course) -> dict[Symbol, int]:
    """Return the least value of each count from which all formulas of a course hold."""
    found = dict(course.least)
    if course.form.length > LONGEST or not few(found, course.shape):
        return found
    cases = _Cases(course)
    before: dict[Symbol, int] = {}
    while found != before:
        before = dict(found)
        for one in sorted(found, key=lambda one: (one.name in course.shape.shorter.values(), one.name)):
            while found[one] > 1 and cases.serve({one: found[one] - 1}, found):
                found[one] -= 1
    return found


class _Cases:
    """Small cases of a course, each derived once."""

    def __init__(self, course: Course) -> None:
        self.course = course
        self.known: dict[frozenset[tuple[Symbol, int]], Course] = {}

    def serve(self, known: Mapping[Symbol, int], least: Mapping[Symbol, int]) -> bool:
        """Say whether the formulas hold at known values of some counts, and least ones of the others."""
        shorter = self.course.shape.shorter
        for rest in (one for one in least if one.name in shorter):
            whole = next((value for one, value in known.items() if one.name == shorter[rest.name]), None)
            if whole is not None and rest in known and known[rest] > whole:
                return True
            if whole is not None and rest not in known:
                return all(self.serve({**known, rest: at}, least) for at in range(1, whole + 1))
        try:
            small = self._small(known)
            starts = {o: max(at, small.least.get(o, 1)) for o, at in least.items() if o not in known}
            if not _same_sums(self.course, small, known) or not _same_peaks(
                self.course, small, known, starts
            ):
                return False
        except RuleError:
            return False
        smaller = ({**known, one: at} for one, start in starts.items() for at in range(least[one], start))
        return all(self.serve(each, least) for each in smaller)

    def _small(self, known: Mapping[Symbol, int]) -> Course:
        key = frozenset(known.items())
        if key not in self.known:
            if len(self.known) >= MOST:
                raise RuleError("too many small cases", expected=f"at most {MOST}", got=str(MOST + 1))
            self.known[key] = self.course.at(known)
        return self.known[key]


def _same_sums(course: Course, small: Course, known: Mapping[Symbol, int]) -> bool:
    for mine, theirs in ((course.kept, small.kept), (course.repeated, small.repeated)):
        at = {name: _bound(expr, course, known) for name, expr in mine.items()}
        if {k: v for k, v in at.items() if v != 0} != {k: v for k, v in theirs.items() if v != 0}:
            return False
    return course.form.inputs == small.form.inputs


def _bound(expr: Expr, course: Course, known: Mapping[Symbol, int]) -> Expr:
    """Return a formula of a course with counts bound."""
    return substitute(expr, _means(course, known))


def _means(course: Course, known: Mapping[Symbol, int]) -> dict[str, Expr]:
    """Return what counts are when some are bound; a length stands in formulas as the last one and the gap."""
    values = {one.name: as_expr(value) for one, value in known.items()}
    for one, value in known.items():
        whole = course.shape.into.get(one.name)
        if whole is not None and len(gaps := whole.free_symbols - set(known)) == 1:
            (gap,) = gaps
            values[gap.name] = normal(value - substitute(whole - gap, values))
    return values


def _same_peaks(
    course: Course, small: Course, known: Mapping[Symbol, int], counts: Mapping[Symbol, int]
) -> bool:
    values = _means(course, known)
    means = {base: substitute(base, values) for base in course.plain.bases}
    starts = small.starts(counts)
    ring = Ring([*means.values(), *small.plain.bases], starts, plain=True)
    contest = Contest(ring, tuple(starts))
    return all(
        contest.same(ring.reread(mine, course.plain, means), ring.reread(theirs, small.plain, {}))
        for mine, theirs in zip(course.peaks, small.outline, strict=True)
    )
