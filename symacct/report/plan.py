"""A plan, or a utilisation, for people: each number with its formula and its unit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from symacct.algebra.symbols import as_expr
from symacct.errors import SymacctError
from symacct.printers import escape, latex
from symacct.report.amount import SMALLEST, digits, shown
from symacct.report.figures import COUNTED, valued
from symacct.report.table import GAP, Column, Table, as_markdown, as_text, wrap
from symacct.syntax import guess_names, read_formula
from symacct.units import Unit, is_unit, read_unit

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from symacct.planning.entries import Entry
    from symacct.planning.plan import Plan
    from symacct.planning.subject import Subject

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


def plan_text(made: Plan, width: int) -> str:
    """Return a plan as text of a width."""
    lines = [line for word, said in head(made.subject) for line in hanging(word, said, width)]
    lines += ["", as_text(table(made.entries, GROUPS), width), ""]
    lines += [line for word, said in _facts(made) for line in hanging(word, said, width)]
    return "\n".join(lines)


def hanging(word: str, said: str, width: int) -> list[str]:
    """Return a word and a text, continued below with an indent."""
    return wrap(f"{word}: {said}" if word else said, width, GAP)


def plan_markdown(made: Plan) -> str:
    """Return a plan in Markdown, formulas in LaTeX."""
    lines = [
        f"- {word}: {said}" if word else f"- {said}" for word, said in (*head(made.subject), *_facts(made))
    ]
    return "\n".join([*lines, "", as_markdown(table(made.entries, GROUPS, math=True))])
