"""The answer to an inverse question as a record: what JSON holds. Numbers are exact, as text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from symacct.algebra.normal import normal
from symacct.printers import latex, text
from symacct.report.best_segment import best_record
from symacct.report.conditions import listed
from symacct.report.solve import six
from symacct.report.verdict_record import formula

if TYPE_CHECKING:
    from symacct.planning.solve_answer import Check, Solution
    from symacct.planning.solve_roots import Root
    from symacct.planning.solve_sets import Span

Order = tuple[str, ...]


def solution_record(found: Solution, order: Order = ()) -> dict[str, Any]:
    """Return an answer with its checks."""
    asked = found.asked
    unit = str(asked.sides.left.unit)
    return {
        "condition": asked.text,
        "for": asked.name,
        "unit": str(asked.unit),
        "relation": asked.relation,
        "left": formula(normal(asked.left), unit, order),
        "right": formula(normal(asked.right), unit, order),
        "when": listed(asked.domain.conditions, order),
        "answer": found.kind,
        "reason": found.reason,
        "formulas": [
            {
                "relation": case.relation,
                "value": formula(case.value, str(asked.unit), order),
                "where": [f"{text(one, order)} > 0" for one in case.positive],
            }
            for case in found.cases
        ],
        "intervals": [_interval(span) for span in found.spans],
        "integers": [
            {"first": str(first), "last": None if last is None else str(last)} for first, last in found.ranges
        ],
        "largest": None if found.largest is None else str(found.largest),
        "smallest": None if found.smallest is None else str(found.smallest),
        "checks": [_check(check, order) for check in found.checks],
        "notes": [*asked.notes, *found.notes],
    } | ({} if found.segment is None else {"segment": best_record(found.segment, found.whole, order)})


def _interval(span: Span) -> dict[str, Any]:
    return {
        "low": _root(span.low),
        "low_in": span.low_in,
        "high": _root(span.high),
        "high_in": span.high_in,
    }


def _root(root: Root | None) -> dict[str, Any] | None:
    """Return an end of an interval: exact, or the bounds between which it lies; None where there is none."""
    if root is None:
        return None
    near = root.close()
    exact = root.exact
    return {
        "expr": None if exact is None else text(exact),
        "latex": None if exact is None else latex(exact),
        "between": [str(near.low), str(near.high)],
        "shown": six((near.low + near.high) / 2),
    }


def _check(check: Check, order: Order) -> dict[str, Any]:
    return {
        "at": text(check.at, order),
        "left": None if check.left is None else text(check.left, order),
        "right": None if check.right is None else text(check.right, order),
        "holds": check.holds,
        "said": check.said,
    }
