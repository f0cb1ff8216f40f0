"""A report as HTML: a table whose formulas are MathML."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from symacct.printers import mathml
from symacct.report.factor import factored
from symacct.report.figures import percent
from symacct.report.plain import shown_value

if TYPE_CHECKING:
    from symacct.report.data import Line, Report

LEFT = ' style="text-align:left"'


def html_of(report: Report) -> str:
    """Return the report as one ``div``: facts, and a table."""
    facts = [("convention", report.convention), ("policy", report.policy), *report.facts]
    title = f"<b>{escape(report.graph)}</b> {escape(report.doc)}"
    notes = "".join(f"<br>{escape(word)}: {escape(fact)}" for word, fact in facts)
    head = "".join(f"<th{LEFT}>{name}</th>" for name in ("term", "formula", "value", "share"))
    rows = "".join(
        f'<tr><th colspan="4"{LEFT}>{escape(section.title)}</th></tr>'
        + "".join(_row(line, report) for line in section.lines)
        for section in report.sections
    )
    return (
        f"<div><p>{title}{notes}</p><table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>"
    )


def _row(line: Line, report: Report) -> str:
    remark = f" ({escape(line.remark)})" if line.remark else ""
    name = "&emsp;" * line.level + escape(line.name)
    shown = mathml(factored(line.expr, report.counts), report.order)
    cells = (name + (remark if line.level else ""), shown + ("" if line.level else remark))
    left = "".join(f"<td{LEFT}>{cell}</td>" for cell in cells)
    return f"<tr>{left}<td>{escape(shown_value(line, report))}</td><td>{percent(line.share)}</td></tr>"
