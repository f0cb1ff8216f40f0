"""A verdict as a record: what JSON holds. Numbers are exact, as text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from symacct.algebra.normal import is_zero
from symacct.printers import latex, text
from symacct.proof.read_line import read_line
from symacct.report.conditions import listed

if TYPE_CHECKING:
    from sympy import Expr

    from symacct.proof.decide import Counterexample
    from symacct.proof.instead import Instead, LeadingOrder
    from symacct.proof.sources import Part
    from symacct.proof.threshold import Threshold
    from symacct.proof.verdict import Verdict

Order = tuple[str, ...]


def verdict_record(verdict: Verdict, order: Order = ()) -> dict[str, Any]:
    """Return a verdict; formulas have ``expr``, ``unit`` and ``latex``."""
    unit = str(verdict.sides.left.unit) if verdict.sides else None
    found = verdict.instead
    return {
        "claim": (verdict.threshold.text if verdict.threshold else verdict.claim.text).strip(),
        "read": read_line(verdict),
        "relation": verdict.claim.relation,
        "verdict": verdict.outcome,
        "reason": verdict.decision.reason,
        "left": formula(verdict.left, unit, order),
        "right": formula(verdict.right, unit, order),
        "exact": "right" if verdict.turned else "left",
        "when": listed(verdict.box.conditions, order),
        "growing": list(verdict.growing),
        "limit": formula(verdict.decision.limit, "1", order),
        "notes": list(verdict.notes),
        "holds_if": list(verdict.holds_if),
        "weaker": list(verdict.weaker),
        "instead": None if found is None else _instead(found, verdict.parts, unit, order),
        "threshold": None if verdict.threshold is None else _threshold(verdict.threshold, order),
        "counterexample": point_record(verdict.decision.point),
        "fails_where": verdict.decision.ray or None,
    }


def formula(expr: Expr | None, unit: str | None, order: Order) -> dict[str, Any] | None:
    """Return a formula's record; None where there is no formula."""
    if expr is None:
        return None
    return {"expr": text(expr, order), "unit": unit, "latex": latex(expr, order)}


def point_record(point: Counterexample | None) -> dict[str, Any] | None:
    """Return sizes and the values of both sides there."""
    if point is None:
        return None
    sizes = {name: str(size) for name, size in point.sizes}
    found: dict[str, Any] = {"sizes": sizes, "left": text(point.left), "right": text(point.right)}
    found["smallest"] = point.smallest
    return found | {"places": [text(place) for place in point.places]} if point.places else found


def _instead(found: Instead, parts: tuple[Part, ...], unit: str | None, order: Order) -> dict[str, Any]:
    difference = formula(found.difference, unit, order) or {}
    return {
        "difference": difference | {"terms": [_part(one, order) for one in parts]},
        "equal": is_zero(found.difference),
        "ratio": formula(found.ratio, "1", order),
        "bound": found.bound,
        "leading": [_leading(way, unit, order) for way in found.leading],
    }


def _part(part: Part, order: Order) -> dict[str, Any]:
    return {
        "label": part.label,
        "phase": part.phase,
        "exact": text(part.exact, order),
        "claimed": text(part.claimed, order),
    }


def _leading(way: LeadingOrder, unit: str | None, order: Order) -> dict[str, Any]:
    return {
        "growing": list(way.growing),
        "leading": formula(way.leading, unit, order),
        "remainder": formula(way.remainder, unit, order),
        "relative_error": formula(way.error, "1", order),
        "thresholds": [
            {
                "tolerance": text(one.tolerance),
                "size": one.name,
                "from": None if one.start is None else text(one.start, order),
                "where": f"{text(one.condition, order)} >= 0",
            }
            for one in way.thresholds
        ],
    }


def _threshold(found: Threshold, order: Order) -> dict[str, Any]:
    return {
        "size": found.name,
        "relation": found.relation,
        "value": formula(found.value, None, order),
        "equal_at": None if found.crossing is None else formula(found.crossing.value, None, order),
        "holds": found.holds,
    }
