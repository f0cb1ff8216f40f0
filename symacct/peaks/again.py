"""What runs again in backward, as rows of work: forward rows, as often as they run."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from symacct.algebra.normal import normal
from symacct.algebra.symbols import as_expr
from symacct.derivation.ranges import over
from symacct.errors import RuleError
from symacct.nodes import Repeat, walk

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sympy import Expr

    from symacct.derivation.work import Row
    from symacct.peaks.course import Course


def work_again(course: Course, forward: Sequence[Row]) -> Iterator[Row]:
    """Yield the rows of what runs again, in phase ``recompute``.

    Raises:
        RuleError: an op under a mask grows from iteration to iteration.
    """
    share = _Shares(course)
    for row in forward:
        if row.of not in course.runs_again or row.phase != "forward":
            continue
        if share.steady(row.count):
            times = share.of(row.of, row.path)
            half, exact = normal(row.half * times), normal(row.exact * times)
            whole = normal(row.expr * times)
        else:
            whole = half = exact = course.again(row.of, row.count)
            if row.half != row.expr or row.exact != row.expr:
                raise _growing(row.label)
        yield replace(row, phase="recompute", expr=whole, half=half, exact=exact)


class _Shares:
    """How often an op runs again for each time it runs in the forward pass."""

    def __init__(self, course: Course) -> None:
        self.course = course
        self.repeats = {r.name: r for r, _ in walk(course.graph.nodes) if isinstance(r, Repeat)}
        self.indices = {r.index for r in self.repeats.values()}
        self.known: dict[str, Expr] = {}

    def steady(self, count: Expr) -> bool:
        """Say whether what an op does is the same in every iteration."""
        return not count.free_symbols & self.indices

    def of(self, label: str, path: Sequence[str]) -> Expr:
        """Return the quotient."""
        if label not in self.known:
            once = over(as_expr(1), [self.repeats[name] for name in path])
            self.known[label] = normal(self.course.again(label, as_expr(1)) / once)
        return self.known[label]


def _growing(label: str) -> RuleError:
    return RuleError(
        f"{label} runs again, and its size changes from iteration to iteration",
        expected="ops that are the same in every iteration",
        got="an op whose size depends on the index of a repeat",
        fix="bind the count of the repeat to a small integer and write the iterations out",
    )
