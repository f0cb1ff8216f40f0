"""What a reader wants, as data: lines in sections, under facts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sympy import Expr

    from symacct.algebra.condition import Condition


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a table.

    Attributes:
        name: a quantity, or the label of an op.
        expr: its formula.
        unit: the base unit, as text; ``1`` for a pure number.
        when: conditions under which the formula holds.
        value: the formula at the sizes given; a number where these are all its sizes. None without sizes.
        share: tenths of a percent of the section's total, where that is a number.
        level: how far the name is indented.
        remark: what else is to be said, in its own line or in brackets.
        phase: for a term, the pass it belongs to.
        path: for a term, the repeats around it.
        total: whether the line is the total of others.
    """

    name: str
    expr: Expr
    unit: str
    when: tuple[Condition, ...] = ()
    value: Expr | None = None
    share: int | None = None
    level: int = 0
    remark: str = ""
    phase: str = ""
    path: tuple[str, ...] = ()
    total: bool = False

    @property
    def amount(self) -> Expr:
        """The value where there is one, else the formula."""
        return self.expr if self.value is None else self.value


@dataclass(frozen=True, slots=True)
class Section:
    """Lines under a title; all in one unit, where they have one."""

    title: str
    lines: tuple[Line, ...]


@dataclass(frozen=True, slots=True)
class Report:
    """Sections, and what holds for all of them.

    Attributes:
        graph: name of the graph.
        doc: what it is, in one sentence.
        convention: the choices of the account, in words.
        policy: the choices of the run, in words.
        facts: pairs of a word and a text: sizes, conditions, notes, warnings.
        sections: the tables.
        order: the declared order of sizes, for printing.
        counts: names of the sizes that count repeats; formulas are printed as multiples of them.
    """

    graph: str
    doc: str
    convention: str
    policy: str
    facts: tuple[tuple[str, str], ...]
    sections: tuple[Section, ...]
    order: tuple[str, ...]
    counts: tuple[str, ...]

    @property
    def lines(self) -> tuple[Line, ...]:
        """The lines of all sections."""
        return tuple(line for section in self.sections for line in section.lines)
