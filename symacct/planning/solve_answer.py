"""Answers to inverse questions, as values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple

from symacct.algebra.normal import normal
from symacct.displayed import Displayed
from symacct.planning.best_segment import BestLength

if TYPE_CHECKING:
    from sympy import Expr

    from symacct.planning.best_integer import BestInteger
    from symacct.planning.best_segment import Best
    from symacct.planning.solve_formula import Case
    from symacct.planning.solve_reading import Asked
    from symacct.planning.solve_roots import Root
    from symacct.planning.solve_sets import Span

Kind = Literal["formula", "numbers", "integers", "every", "none", "best"]
EQUAL = "both sides are equal"
NEARLY = "both sides are equal to 40 digits"
TURNS = "left - right changes its sign within the interval"
TOUCHES = "left - right is 0 within the interval, without a change of sign"
NO_VALUE = "a side has no real value"
ENDS = "a side begins or ends to have a value"
POLE = "there is no value: a divisor is 0"


class Run(NamedTuple):
    """Integers next to each other; without a last one where they have no end."""

    first: int
    last: int | None


@dataclass(frozen=True, slots=True)
class Check:
    """An answer put into the condition again, exactly.

    Attributes:
        at: the value of the unknown.
        left: the left side there; None where a formula was put in, and at a pole.
        right: the right side there; None for a formula that is to be smallest or largest too.
        holds: whether the condition holds there.
        said: what the check shows.
    """

    at: Expr
    left: Expr | None
    right: Expr | None
    holds: bool
    said: str


@dataclass(frozen=True, slots=True)
class Solution(Displayed):
    """The answer to a question.

    Attributes:
        asked: the question, read.
        kind: a formula, real numbers, integers, every value, none, or the best value.
        reason: why there is none, why all satisfy it, or why it is the best.
        cases: for a formula, what is true where; the second one otherwise.
        spans: for numbers, the intervals; for integers, those of the real numbers around them.
        ranges: for integers, first and last of each run; None where it has no end.
        checks: what was put in again.
        notes: what a reader should know.
        objective: the formula that is to be smallest or largest, where one is.
        segment: the best length of a checkpoint's segment, with the sizes where it is best.
        whole: the best integer of it, those too that do not divide the count.
    """

    asked: Asked
    kind: Kind
    reason: str = ""
    cases: tuple[Case, ...] = ()
    spans: tuple[Span, ...] = ()
    ranges: tuple[tuple[int, int | None], ...] = ()
    checks: tuple[Check, ...] = ()
    notes: tuple[str, ...] = ()
    objective: str = ""
    segment: Best | None = None
    whole: BestInteger | None = None

    @property
    def largest(self) -> int | None:
        """The largest integer of the answer; None where there is none, or no end."""
        return self.ranges[-1][1] if self.ranges else None

    @property
    def smallest(self) -> int | None:
        """The smallest integer of the answer."""
        return self.ranges[0][0] if self.ranges else None

    @property
    def integers(self) -> tuple[Run, ...]:
        """The runs of integers of the answer."""
        return tuple(Run(*one) for one in self.ranges)

    @property
    def left(self) -> Expr:
        """The left side of the condition, in base units."""
        return normal(self.asked.left)

    @property
    def right(self) -> Expr:
        """The right side."""
        return normal(self.asked.right)

    @property
    def remarks(self) -> tuple[str, ...]:
        """How the question was read, and what a reader of the answer should know."""
        return (*self.asked.notes, *self.notes)

    @property
    def best_length(self) -> BestLength | None:
        """The best length of a segment, and the best integer of it; None where none is asked for."""
        return None if self.segment is None else BestLength(self.segment, self.whole)

    @property
    def values(self) -> tuple[Expr | Root, ...]:
        """The single real numbers of the answer; exact where they are rational or square roots."""
        found = (span.low for span in self.spans if span.point)
        return tuple(root if root.exact is None else root.exact for root in found if root is not None)

    @property
    def formula(self) -> Expr | None:
        """The formula of the answer, where there is one."""
        if self.cases:
            return self.cases[0].value
        alone = self.segment is not None and len(self.segment.cases) == 1
        return self.segment.cases[0].k if self.segment is not None and alone else None
