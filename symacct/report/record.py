"""A report as records: what JSON and CSV hold. Numbers are exact, as text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from symacct.printers import latex, text
from symacct.report.conditions import listed
from symacct.report.explain import terms_of
from symacct.report.figures import percent
from symacct.report.summary import is_defined
from symacct.report.table import as_csv

if TYPE_CHECKING:
    from sympy import Expr

    from symacct.account import Account
    from symacct.report.data import Line, Report
    from symacct.report.summary import View

HEAD = ("quantity", "term", "phase", "path", "note", "unit", "formula", "when", "value", "share")


def quantity_record(shown: View, name: str) -> dict[str, Any]:
    """Return one quantity: ``expr``, ``unit``, ``latex``, ``when``, ``terms``, ``value``."""
    line, order = shown.line(name), shown.account.graph.order
    return {
        "expr": text(line.expr, order),
        "unit": line.unit,
        "latex": latex(line.expr, order),
        "when": listed(line.when, order),
        "terms": [_term(term, order) for term in terms_of(shown, name)],
        "value": number(line.value),
    }


def _term(term: Line, order: tuple[str, ...]) -> dict[str, Any]:
    return {
        "label": term.name,
        "phase": term.phase,
        "path": list(term.path),
        "note": term.remark,
        "expr": text(term.expr, order),
        "value": number(term.value),
    }


def number(value: Expr | None) -> str | None:
    """Return a number exactly, as text; None where it is none."""
    return None if value is None or value.free_symbols else text(value)


def result_record(shown: View, names: tuple[str, ...], report: Report) -> dict[str, Any]:
    """Return what JSON holds of an account: its facts and its quantities, by name."""
    names = tuple(name for name in names if is_defined(shown.account, name))
    return {
        "when": listed(shown.account.conditions, shown.account.graph.order),
        "small_case": listed(shown.small),
        "warnings": [fact for word, fact in report.facts if word == "warning"],
        "quantities": {name: quantity_record(shown, name) for name in names},
    }


def input_record(account: Account, target: str, sizes: dict[str, int]) -> dict[str, Any]:
    """Return what JSON holds of the input: the graph, its sizes, what is bound, and the values given."""
    graph = account.graph
    return {
        "target": target,
        "graph": graph.name,
        "sizes": dict(graph.sizes),
        "bound": {name: text(expr, graph.order) for name, expr in graph.bound.items()},
        "at": {name: str(size) for name, size in sizes.items()},
    }


def csv_of(report: Report) -> str:
    """Return a row for each quantity, or for each term of those that are explained."""
    rows: list[tuple[str, ...]] = [HEAD]
    for section in report.sections:
        for line in section.lines:
            subtotal = not line.level and not line.total and any(one.level for one in section.lines)
            if not subtotal:
                rows.append(_csv_row(line, section.title if line.level else line.name, report))
    return as_csv(rows)


def _csv_row(line: Line, quantity: str, report: Report) -> tuple[str, ...]:
    left = "" if line.value is None else text(line.value, report.order)
    return (
        quantity,
        line.name if line.level else "",
        line.phase,
        "/".join(line.path),
        line.remark,
        line.unit,
        text(line.expr, report.order),
        ", ".join(listed(line.when, report.order)),
        left,
        percent(line.share),
    )
