"""A report as plain text, and as Markdown."""

from __future__ import annotations

from typing import TYPE_CHECKING

from symacct.printers import latex, text
from symacct.report.factor import factored
from symacct.report.figures import percent, valued
from symacct.report.table import GAP, Column, Table, as_markdown, as_text, wrap

if TYPE_CHECKING:
    from symacct.report.data import Line, Report, Section

LONGEST_REMARK = 24


def text_of(report: Report, width: int = 100) -> str:
    """Return the report as text of a width: choices, graph, facts, and one table."""
    lines = [f"convention {report.convention}; {report.policy}"]
    lines.append(f"graph {report.graph}: {report.doc}" if report.doc else f"graph {report.graph}")
    for word, fact in report.facts:
        lines += _hanging(f"{word}: ", fact, width)
    return "\n".join([*lines, "", as_text(_table(report, math=False), width)])


def _hanging(word: str, fact: str, width: int) -> list[str]:
    return wrap(word + fact, width, GAP)


def markdown_of(report: Report) -> str:
    """Return the report in Markdown, formulas in LaTeX between dollars."""
    lines = [f"**{report.graph}**" + (f": {report.doc}" if report.doc else ""), ""]
    lines.append(f"- convention: {report.convention}")
    lines.append(f"- policy: {report.policy}")
    lines += [f"- {word}: {fact}" for word, fact in report.facts]
    return "\n".join([*lines, "", as_markdown(_table(report, math=True))])


def _table(report: Report, *, math: bool) -> Table:
    rows: list[tuple[str, ...] | str] = []
    for section in report.sections:
        rows.append(f"{section.title}{_unit(section)}")
        for line in section.lines:
            rows.append(_cells(line, report, math=math))
            if len(line.remark) > LONGEST_REMARK:
                rows.append(GAP * (line.level + 2) + line.remark)
    left = any(line.value is not None and line.value.free_symbols for line in report.lines)
    value = Column("value", right=not left, breaks=left)
    columns = (Column("term"), Column("formula"), value, Column("share", right=True, breaks=False))
    return Table(columns, tuple(rows)).trimmed()


def _unit(section: Section) -> str:
    """Return the unit of a section in brackets, where its lines share one."""
    units = {line.unit for line in section.lines}
    return f" ({units.pop()})" if len(units) == 1 and "1" not in units else ""


def _cells(line: Line, report: Report, *, math: bool) -> tuple[str, ...]:
    name = GAP * line.level + line.name
    if line.level and line.remark and len(line.remark) <= LONGEST_REMARK:
        name += f" ({line.remark})"
    return (name, formula(line, report, math=math), shown_value(line, report, math=math), percent(line.share))


def formula(line: Line, report: Report, *, math: bool = False) -> str:
    """Return the formula of a line, as a multiple of repeat counts where it is one."""
    shown = factored(line.expr, report.counts)
    body = f"${latex(shown, report.order)}$" if math else text(shown, report.order)
    return f"{body} ({line.remark})" if line.remark and not line.level and not line.phase else body


def shown_value(line: Line, report: Report, *, math: bool = False) -> str:
    """Return the value of a line: a number, or what is left of the formula; nothing without sizes."""
    if line.value is None:
        return ""
    if line.value.free_symbols:
        left = factored(line.value, report.counts)
        return f"${latex(left, report.order)}$" if math else text(left, report.order)
    return valued(line.value, line.unit)
