"""A plan, or a utilisation, for people: each number with its formula and its unit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from symacct.algebra.symbols import as_expr
from symacct.errors import SymacctError
from symacct.printers import escape, latex
from symacct.report.amount import SMALLEST, digits, shown
from symacct.report.blocks import Grid, Lines
from symacct.report.figures import COUNTED, valued
from symacct.report.table import Column, Table
from symacct.syntax import guess_names, read_formula
from symacct.units import Unit, is_unit, read_unit

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from symacct.planning.entries import Entry
    from symacct.planning.plan import Plan
    from symacct.planning.subject import Subject
    from symacct.report.blocks import Block

Group = tuple[str, str]
GROUPS: tuple[Group, ...] = (
    ("model", "NAE"),
    ("work", "glcqwhxDCQ"),
    ("time", "nPutzGRrU"),
    ("memory", "MmKWfapysk"),
)
"""Titles, and the symbols below each."""


def cell(entry: Entry) -> str:
    """Return the value of an entry for people: bytes in powers of ten and two, counts in full.

    >>> from fractions import Fraction
    >>> from symacct.planning.entries import Entry
    >>> cell(Entry("memory.static.device", "m", "M/n", Fraction(84 * 10**9), Unit("byte/device")))
    '84 GB = 78.23 GiB /device'
    """
    unit = str(entry.unit)
    value = as_expr(entry.value)
    if entry.to:
        first, *others = entry.to.split(" = ")
        more = [to for to in others if entry.value >= SMALLEST * read_unit(to)[0]]
        return " = ".join(shown(value, entry.unit, to) for to in (first, *more))
    if unit in COUNTED:
        return f"{valued(value, unit)}" if entry.value.denominator == 1 else shown(value, entry.unit)
    if unit.startswith("byte/"):
        return f"{shown(value, Unit('byte'))} {unit.removeprefix('byte')}"
    if unit == "sequence":
        return f"{entry.value.__floor__():,} sequence"
    return digits(entry.value) if unit == "1" else shown(value, entry.unit)


def rows(entries: Iterable[Entry], groups: Sequence[Group], *, math: bool) -> Iterator[tuple[str, ...] | str]:
    """Yield the rows of a table: a heading for each group, and a row for each number."""
    known = {entry.symbol: entry for entry in entries}
    if "h" in known and known["h"].value == known["c"].value:
        del known["h"]
    for title, symbols in groups:
        found = [known[symbol] for symbol in symbols if symbol in known]
        if found:
            yield title
        for entry in found:
            bound = f"{entry.bound} " if entry.bound else ""
            yield (entry.name, _defined(entry, math=math), bound + cell(entry), entry.about)


def _defined(entry: Entry, *, math: bool) -> str:
    if math:
        made = as_latex(entry.formula)
        return f"${entry.symbol} = {made}$" if made else f"${entry.symbol}$"
    return f"{entry.symbol} = {entry.formula}" if entry.formula else entry.symbol


def as_latex(formula: str) -> str:
    r"""Return a formula in LaTeX, its units upright.

    >>> as_latex("C/(n*P*u)"), as_latex("12 byte/parameter * N")
    ('\\frac{C}{P n u}', '12\\ \\mathrm{byte/parameter} \\cdot N')
    """
    if not formula:
        return ""
    try:
        return latex(read_formula(formula, guess_names(formula, (), is_unit)))
    except SymacctError:
        number, _, rest = formula.partition(" ")
        unit, star, last = rest.partition(" * ")
        return (
            f"{number}\\ \\mathrm{{{escape(unit)}}} \\cdot {last}"
            if star
            else f"\\mathrm{{{escape(formula)}}}"
        )


def table(entries: Iterable[Entry], groups: Sequence[Group], *, math: bool = False) -> Table:
    """Return the numbers as a table."""
    columns = (Column("number"), Column("formula"), Column("value", breaks=False), Column("what it is"))
    return Table(columns, tuple(rows(entries, groups, math=math))).trimmed()


def head(subject: Subject) -> Iterator[tuple[str, str]]:
    """Yield the choices, the graph, and the sizes."""
    yield "", f"convention {subject.convention}; {subject.policy}"
    yield "model", f"{subject.name}: {subject.doc}" if subject.doc else subject.name
    if subject.at:
        yield "at", ", ".join(f"{name} = {size:,}" for name, size in subject.at)


def _facts(made: Plan) -> Iterator[tuple[str, str]]:
    if made.devices is not None:
        yield "peak", f"{made.devices.source}"
    for what in made.binds:
        yield "binds", what
    for note in made.notes:
        yield "note", note
    for name, why in made.absent:
        yield "absent", f"{name}: it needs {why}" if name in NEEDING else f"{name}: {why}"


NEEDING = ("flops.run", "time.run", "memory.static.device")


def blocks(made: Plan, *, math: bool = False) -> list[Block]:
    """Return a plan as blocks; in Markdown what is said stands above the table."""
    return laid_out(
        tuple(head(made.subject)), table(made.entries, GROUPS, math=math), tuple(_facts(made)), math=math
    )


def laid_out(
    first: tuple[tuple[str, str], ...], numbers: Table, last: tuple[tuple[str, str], ...], *, math: bool
) -> list[Block]:
    """Return numbers with what is said of them."""
    if math:
        return [Lines((*first, *last)), Grid(numbers)]
    return [Lines(first), Grid(numbers), Lines(last)]
