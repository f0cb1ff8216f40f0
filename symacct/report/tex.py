r"""A report as a LaTeX fragment: a ``tabular`` that compiles without any package."""

from __future__ import annotations

from typing import TYPE_CHECKING

from symacct.printers import escape
from symacct.report.figures import percent
from symacct.report.plain import formula, shown_value

if TYPE_CHECKING:
    from symacct.report.data import Line, Report

FORMULA_WIDTH = "0.45\\linewidth"


def latex_of(report: Report) -> str:
    """Return the report as a tabular, its facts as comments above."""
    choices = [("convention", report.convention), ("policy", report.policy), ("graph", report.graph)]
    facts = [*choices, *report.facts]
    lines = [f"% {word}: {' '.join(fact.split())}" for word, fact in facts]
    columns = _columns(report)
    spec = "".join(f"p{{{FORMULA_WIDTH}}}" if title == "formula" else side for title, side in columns)
    lines.append(f"\\begin{{tabular}}{{{spec}}}")
    lines += [_row([title for title, _ in columns]), "\\hline"]
    for section in report.sections:
        lines.append(f"\\multicolumn{{{len(columns)}}}{{l}}{{\\textbf{{{escape(section.title)}}}}} \\\\")
        for line in section.lines:
            cells = _cells(line, report)
            lines.append(_row([cells[title] for title, _ in columns]))
    return "\n".join([*lines, "\\end{tabular}"])


def _columns(report: Report) -> list[tuple[str, str]]:
    columns = [("term", "l"), ("formula", "p")]
    columns += [("value", "r")] if any(line.value is not None for line in report.lines) else []
    columns += [("share", "r")] if any(line.share is not None for line in report.lines) else []
    return columns


def _cells(line: Line, report: Report) -> dict[str, str]:
    value = shown_value(line, report, math=True)
    return {
        "term": "\\quad " * line.level + _breakable(line.name),
        "formula": formula(line, report, math=True),
        "value": value if value.startswith("$") else escape(value),
        "share": escape(percent(line.share)),
    }


def _breakable(name: str) -> str:
    return escape(name).replace("/", "/\\allowbreak{}")


def _row(cells: list[str]) -> str:
    return " & ".join(cells) + " \\\\"
