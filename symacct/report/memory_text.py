"""The memory of a run as text, Markdown, LaTeX and CSV."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from symacct.report.data import Line, Report, Section
from symacct.report.facts import Fact, as_markdown, as_text
from symacct.report.figures import percent, valued
from symacct.report.memory_page import Memory, folded
from symacct.report.memory_words import Words, times
from symacct.report.plain import markdown_of, text_of
from symacct.report.quantities import csv_of
from symacct.report.table import Column, Table
from symacct.report.table import as_markdown as table_markdown
from symacct.report.table import as_text as table_text
from symacct.report.tex import latex_of

if TYPE_CHECKING:
    from collections.abc import Callable


def memory_text(made: Memory, width: int = 100) -> str:
    """Return the memory of a run as text of a width."""
    return _laid_out(made, Words(made), text_of(made.page(), width),
                     lambda facts: as_text(facts, width), lambda table: table_text(table, width))  # fmt: skip


def memory_markdown(made: Memory) -> str:
    """Return the memory of a run in Markdown, formulas in LaTeX."""
    return _laid_out(made, Words(made, math=True), markdown_of(made.page()), as_markdown, table_markdown)


def _laid_out(
    made: Memory,
    words: Words,
    head: str,
    facts: Callable[[list[Fact]], str],
    table: Callable[[Table], str],
) -> str:
    """Return the parts in a reader's order: number, formula, alive, choices, what would lower it, regions."""
    parts = [head, facts(words.head())]
    if made.alive:
        parts.append(table(_alive(made, words)))
    parts.append(facts(words.choices()))
    if rows := words.lower():
        columns = (
            Column("what would lower it"), Column("peak (byte)", right=True, breaks=False), Column(""),
            Column("work", breaks=False),
        )  # fmt: skip
        parts.append(table(Table(columns, tuple(rows))))
    elif made.shown.account.trains:
        parts.append(facts([Fact("what would lower it", words.unsaid())]))
    parts.append(facts(words.regions()))
    return "\n\n".join(part for part in parts if part.strip())


def _alive(made: Memory, words: Words) -> Table:
    rows = []
    for line in folded(made):
        value = "" if line.value is None else valued(line.value, line.unit)
        rows.append((line.name, line.remark, words.show(line.expr), value, percent(line.share)))
    columns = (
        Column("alive then"), Column("what it is"), Column("formula (byte)"),
        Column("value", right=True, breaks=False), Column("share", right=True, breaks=False),
    )  # fmt: skip
    return Table(columns, tuple(rows)).trimmed()


def sections(made: Memory) -> Report:
    """Return everything as a report of sections, for the formats that have nothing else."""
    page, words = made.page(), Words(made)
    peaks = [
        Line(
            made.peak.name if at == 0 else f"{made.peak.name}, elsewhere",
            case.expr,
            "byte",
            case.region.conditions if case.region is not None else (),
            made.peak.value if at == 0 else None,
        )
        for at, case in enumerate(made.peak.cases)
    ]
    small = [
        Line(f"{made.peak.name}, {case.condition.text}", expr, "byte", (case.condition,))
        for case in made.small
        for expr in case.exprs
    ]
    alive = [replace(line, remark="", level=1, phase=line.remark) for line in made.alive]
    other = [
        Line(one.flags, one.value, "byte", value=one.value, remark=times(one.work), level=1)
        for one in made.options
        if one.value is not None
    ]
    more = [Section("peak memory", (*peaks, *small)), Section("alive at the peak", tuple(alive))]
    more += [Section("what would lower it", tuple(other))] if other else []
    facts = (
        *page.facts,
        *((fact.word, fact.said) for fact in (*words.choices(), *words.regions()) if fact.said),
    )
    return replace(page, sections=(*page.sections, *more), facts=facts)


def memory_latex(made: Memory) -> str:
    """Return the memory of a run as a LaTeX tabular."""
    return latex_of(sections(made))


def memory_csv(made: Memory) -> str:
    """Return a row for each category, formula, tensor and choice."""
    return csv_of(sections(made))
