"""The memory of a run as blocks; and as a report of sections."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from symacct.report.blocks import Grid, Reported, Told
from symacct.report.data import Line, Report, Section
from symacct.report.facts import Fact
from symacct.report.figures import percent, valued
from symacct.report.memory_page import Memory, folded
from symacct.report.memory_words import Words, times
from symacct.report.table import Column, Table

if TYPE_CHECKING:
    from symacct.report.blocks import Block


def blocks(made: Memory, *, math: bool = False) -> list[Block]:
    """Return the parts in a reader's order: number, formula, alive, choices, what would lower it, regions."""
    words = Words(made, math=math)
    parts: list[Block] = [Reported(made.page()), Told(tuple(words.head()))]
    if made.alive:
        parts.append(Grid(_alive(made, words)))
    parts.append(Told(tuple(words.choices())))
    if rows := words.lower():
        columns = (
            Column("what would lower it"), Column("peak (byte)", right=True, breaks=False), Column(""),
            Column("work", breaks=False),
        )  # fmt: skip
        parts.append(Grid(Table(columns, tuple(rows))))
    elif made.shown.account.trains:
        parts.append(Told((Fact("what would lower it", words.unsaid()),)))
    return [*parts, Told(tuple(words.regions()))]


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
