"""Whether a run fits, as a record: exact numbers as text, with their units."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from symacct.algebra.symbols import as_expr
from symacct.printers import latex, text
from symacct.report.fit import verdict

if TYPE_CHECKING:
    from collections.abc import Iterable
    from fractions import Fraction

    from symacct.planning.fit import Fit
    from symacct.planning.fit_changes import Static
    from symacct.planning.fit_options import Option


def fit_record(found: Fit) -> dict[str, Any]:
    """Return the answer as a record; bytes and seconds are exact, as text."""
    room = found.room
    return {
        "model": found.account.graph.name,
        "at": {name: str(size) for name, size in found.at},
        "assumed": list(found.assumed),
        "batch": found.batch,
        "fits": found.fits,
        "verdict": found.verdict,
        "words": [f"{word}: {said}" for word, said in verdict(found)],
        "room": {
            "machine": room.machine.name,
            "devices": room.count,
            "capacity": str(room.each),
            "reserve": str(room.reserve),
            "total": str(room.total),
            "unit": "byte",
            "bound": room.bound,
            "source": room.source,
        },
        "static": static_record(found, found.static),
        "statics": [static_record(found, one) for one in found.statics],
        "asked": None if found.asked is None else option_record(found, found.asked),
        "largest": {one.name: None if one.value is None else str(one.value) for one in found.limits},
        "options": [option_record(found, one) for one in found.options],
        "short": [option_record(found, one) for one in found.short],
        "not_tried": dict(found.unfit),
        "notes": list(found.notes),
    }


def static_record(found: Fit, one: Static) -> dict[str, Any]:
    """Return a static state."""
    order = found.account.graph.order
    return {
        "changes": list(one.changes),
        "bytes": str(one.nbytes),
        "bound": found.room.bound,
        "parts": _parts(one.parts),
        "formulas": {part: text(expr, order) for part, expr in one.formulas},
        "per_parameter": one.per,
        "host": str(one.host),
        "fits": one.fits,
        "over": str(one.over),
        "devices": one.devices,
    }


def option_record(found: Fit, one: Option) -> dict[str, Any]:
    """Return one way to run the step."""
    return {
        "changes": list(one.changes),
        "micro_batch": None if one.micro is None else str(one.micro),
        "accumulate": one.accumulate,
        "devices": one.devices,
        "peak": str(one.held.nbytes),
        "expr": text(one.held.formula, found.account.graph.order),
        "latex": latex(one.held.formula),
        "value": text(as_expr(one.held.nbytes)),
        "unit": "byte",
        "bound": "≥" if one.devices > 1 else "",
        "parts": _parts(one.held.parts),
        "host": str(one.host),
        "fits": one.fits,
        "over": str(one.over),
        "devices_needed": one.needed,
        "seconds": None if one.seconds is None else str(one.seconds),
        "relative": None if one.relative is None else str(one.relative),
    }


def _parts(parts: Iterable[tuple[str, Fraction]]) -> dict[str, str]:
    return {part: str(value) for part, value in parts}
