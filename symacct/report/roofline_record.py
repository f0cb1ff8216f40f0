"""A roofline as records: what JSON and CSV hold. Numbers are exact, as text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from symacct.evaluation.roofline import VERDICTS, verdict
from symacct.evaluation.timing import quantity
from symacct.printers import latex, text
from symacct.report.conditions import listed
from symacct.report.record import number
from symacct.report.roofline import Page
from symacct.report.table import as_csv

if TYPE_CHECKING:
    from collections.abc import Sequence

    from symacct.evaluation.roofline import Roofline
    from symacct.evaluation.timing import Timing
    from symacct.machines import Figure

HEAD = ("machine", "op", "phase", "path", "flops", "bytes", "time_s", "bound_by", "at_least", "formula")


def record(made: Roofline) -> dict[str, Any]:
    """Return what JSON holds of one machine."""
    page, order = Page(made), made.account.graph.order
    whole = made.whole_region()
    return {
        "machine": None if made.machine is None else made.machine.name,
        "title": None if made.machine is None else made.machine.title,
        "figures": {
            f"{'P' if roof.unit == 'tensor' else 'V'}_{roof.dtype}": _figure(roof.figure)
            for roof in made.roofs
        }
        | {"W_mem": _figure(made.rates.bandwidth_figure())},
        "ridges": {f"{roof.unit}.{roof.dtype}": number(roof.ridge) for roof in made.roofs},
        "notes": list(made.time.notes),
        "quantities": {name: _quantity(made, name) for name in made.names()},
        "intensity": text(made.intensity, order) if made.moved != 0 else None,
        "verdict": VERDICTS.get(made.binds or "", "") or None,
        "condition": page.region(whole, made.main_load) or None,
        "bandwidths": [
            {
                "name": level.name,
                "figure": _figure(level.figure),
                "time": number(level.seconds),
                "verdict": VERDICTS.get(level.binds or "", "") or None,
            }
            for level in made.levels
        ],
        "ops": [_op(one, page) for one in made.time.timings],
    }


def _figure(figure: Figure | None) -> dict[str, str] | None:
    if figure is None:
        return None
    return {
        "value": str(figure.value),
        "unit": figure.unit,
        "source": figure.source,
        "date": figure.date,
        "note": figure.note,
    }


def _quantity(made: Roofline, name: str) -> dict[str, Any]:
    order = made.account.graph.order
    formula = quantity(made.account, made.machine, name, over=made.over, symbolic=True)
    value = made.quantity(name).expr
    return {
        "expr": text(formula.expr, order),
        "unit": str(formula.unit),
        "latex": latex(formula.expr, order),
        "when": listed(formula.when, order),
        "terms": [{"label": label, "expr": text(expr, order)} for label, expr in formula.terms],
        "value": number(value),
    }


def _op(one: Timing, page: Page) -> dict[str, Any]:
    op, order = one.operation, page.order
    return {
        "label": op.label,
        "phase": op.phase,
        "path": list(op.path),
        "kind": op.kind,
        "flops": text(op.flops, order),
        "bytes": text(op.moved, order),
        "time": text(one.expr, order),
        "verdict": verdict(one) or None,
        "condition": page.region(page.made.region(one), next(iter(op.loads), None)) or None,
    }


def csv_of(mades: Sequence[Roofline]) -> str:
    """Return a row for each op on each machine; the last of a machine is the whole graph."""
    rows: list[tuple[str, ...]] = [HEAD]
    for made in mades:
        machine = "" if made.machine is None else made.machine.name
        order = made.account.graph.order
        symbolic = quantity(made.account, made.machine, made.main, over=made.over, symbolic=True)
        bound = "yes" if made.time.notes else "no"
        formulas = [text(expr, order) for _, expr in symbolic.terms]
        for one, formula in zip(made.time.timings, formulas, strict=True):
            op = one.operation
            cells = (text(op.flops, order), text(op.moved, order), text(one.expr, order))
            path = "/".join(op.path)
            rows.append((machine, op.label, op.phase, path, *cells, verdict(one), bound, formula))
        said = VERDICTS.get(made.binds or "", "")
        cells = (text(made.flops, order), text(made.moved, order), text(made.time.expr, order))
        rows.append((machine, made.main, "", "", *cells, said, bound, ""))
    return as_csv(rows)
