"""Quantities of an account with their terms, as values; and a report as CSV."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from symacct.printers import text
from symacct.report.conditions import listed
from symacct.report.explain import terms_of
from symacct.report.figures import percent
from symacct.report.summary import is_defined
from symacct.report.table import as_csv

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from symacct.algebra.condition import Condition
    from symacct.report.data import Line, Report
    from symacct.report.summary import View

HEAD = ("quantity", "term", "phase", "path", "note", "unit", "formula", "when", "value", "share")


@dataclass(frozen=True, slots=True)
class Explained:
    """A quantity with its terms."""

    line: Line
    terms: tuple[Line, ...]


@dataclass(frozen=True, slots=True)
class Quantities:
    """What is derived of a graph.

    Attributes:
        conditions: those of the graph.
        small_sizes: conditions that the sizes break: the formulas are of the exact small case.
        warnings: what a reader should know.
        quantities: each by its name, those that have a value.
    """

    conditions: tuple[Condition, ...]
    small_sizes: tuple[Condition, ...]
    warnings: tuple[str, ...]
    quantities: Mapping[str, Explained]


def explained(shown: View, names: Sequence[str]) -> dict[str, Explained]:
    """Return quantities with their terms, by name."""
    return {name: Explained(shown.line(name), tuple(terms_of(shown, name))) for name in names}


def quantities(shown: View, names: Sequence[str], report: Report) -> Quantities:
    """Return quantities of an account, those that have a value there."""
    defined = [name for name in names if is_defined(shown.account, name)]
    warnings = tuple(fact for word, fact in report.facts if word == "warning")
    return Quantities(shown.account.conditions, shown.small, warnings, explained(shown, defined))


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
