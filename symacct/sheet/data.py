"""A sheet as data: sections of rows whose cells are words, signs and formulas; each format sets them."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from symacct.account import Account
    from symacct.machines import Machine
    from symacct.proof.judge import Judged
    from symacct.syntax import Tree

COLUMNS = ("quantity", "formula", "holds when", "worth")
STYLES = ("card", "full")
LANGUAGES = ("en", "zh")
MARKS = (
    "derived", "proved", "leading order", "upper bound", "lower bound", "refuted", "undecided", "refused",
    "computed", "reported",
)  # fmt: skip
"""What a row may be worth; ``reported`` is what somebody states and nothing here judges."""


@dataclass(frozen=True, slots=True)
class Words:
    """Text of a user or of this project; each format escapes it. Code keeps its letters apart."""

    text: str
    code: bool = False


@dataclass(frozen=True, slots=True)
class Sign:
    """A relation or a mark between formulas, by its plain name: ``<=``, ``Theta(``, ``argmin k``."""

    name: str


@dataclass(frozen=True, slots=True)
class Math:
    """A formula as its author wrote it: the tree, the text it was read from, and the names it may use."""

    tree: Tree
    text: str
    names: frozenset[str]


Item = Words | Sign | Math
Cell = tuple[Item, ...]


@dataclass(frozen=True, slots=True)
class Origin:
    """What a row was made of, for pages that go on computing; nothing is worked out to make one.

    Attributes:
        account: the derivation that it is about.
        judged: the claim, judged.
        machine: the machine whose times are meant, as ``--on`` takes it, seen from where the sheet is made.
        sizes: sizes at which its worth is shown.
    """

    account: Account | None = None
    judged: Judged | None = None
    machine: str | None = None
    sizes: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))


@dataclass(frozen=True, slots=True)
class Bench:
    """A graph to be set against machines on a live page.

    Attributes:
        title: what stands above it.
        account: its derivation under the choices at the start.
        axes: the choices that may be made, and their values, as flags take them; empty for the usual ones.
    """

    title: str
    account: Account
    axes: tuple[tuple[str, tuple[str, ...]], ...] = ()


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a derivation: words, and the formulas that they lead to, equal to one another."""

    said: str
    cell: Cell = ()
    level: int = 0


@dataclass(frozen=True, slots=True)
class Row:
    """One row of a sheet.

    Attributes:
        name: what it is called.
        quantity: the name of the derived quantity, where the formula is one.
        formula: what is said of it.
        holds: when: the graph, choices, conditions; each a cell.
        mark: one of `MARKS`.
        worth: more of what it is worth: a limit, an error, a value.
        instead: the right term, where the formula is not exact.
        source: who states it.
        comment: what a reader should know.
        fix: how one that is refused is mended; on a full sheet.
        note: what stands below it on a card.
        cited: whether a card names its source.
        topic: the first words of the quantities in it, for selection.
        level: how far the name is indented.
        cells: behind the name, in a section that is a table.
        origin: what it was made of.
        steps: how it comes about, on a full sheet.
    """

    name: str
    formula: Cell = ()
    quantity: str = ""
    holds: tuple[Cell, ...] = ()
    mark: str = "derived"
    worth: Cell = ()
    instead: Cell = ()
    source: str = ""
    comment: str = ""
    fix: str = ""
    note: str = ""
    cited: bool = False
    topic: frozenset[str] = frozenset()
    level: int = 0
    cells: tuple[Cell, ...] = ()
    origin: Origin | None = field(default=None, compare=False, repr=False)
    steps: tuple[Step, ...] = ()

    @property
    def maths(self) -> tuple[Math, ...]:
        """Every formula of the row."""
        cells = (self.formula, *self.holds, self.worth, self.instead, *self.cells)
        return tuple(item for cell in cells for item in cell if isinstance(item, Math))

    def notes(self, style: str) -> str:
        """Return what stands below: on a card who reports it, or why it is refused; in full all of it."""
        return "; ".join(self.noted(style))

    def noted(self, style: str) -> tuple[str, ...]:
        """Return the same, one by one."""
        if style == "full":
            return tuple(
                dict.fromkeys(one for one in (self.note, self.comment, self.fix, self.source) if one)
            )
        why = self.comment if self.mark == "refused" else ""
        source = self.source if self.cited or self.mark == "reported" else ""
        return tuple(one for one in (self.note or why, source) if one)


@dataclass(frozen=True, slots=True)
class Section:
    """Rows under a title.

    Attributes:
        title: what stands above them.
        rows: the rows.
        heads: the columns of a table, where the rows are those of one: the first is their names.
        note: a line below the title: what symbols stand for.
        columns: what stands over names, formulas, conditions and worth, where it is no table.
    """

    title: str
    rows: tuple[Row, ...]
    heads: tuple[str, ...] = ()
    note: str = ""
    columns: tuple[str, ...] = COLUMNS


@dataclass(frozen=True, slots=True)
class Sheet:
    """A whole sheet.

    Attributes:
        title: what stands above it.
        about: one line below the title.
        sections: the rows.
        style: ``card`` or ``full``.
        lang: ``en`` or ``zh``.
        differs: claims that got another verdict than their file expects, for a warning.
        sizes: for each graph, the sizes that a live page starts from.
        benches: graphs that a live page sets against machines.
        machines: machines that it offers beside those that ship; it starts with the first.
    """

    title: str
    about: str
    sections: tuple[Section, ...]
    style: str = "card"
    lang: str = "en"
    differs: tuple[str, ...] = ()
    sizes: Mapping[str, Mapping[str, int]] = field(
        default_factory=lambda: MappingProxyType({}), compare=False
    )
    benches: tuple[Bench, ...] = field(default=(), compare=False, repr=False)
    machines: tuple[Machine, ...] = field(default=(), compare=False, repr=False)

    @property
    def rows(self) -> tuple[Row, ...]:
        """All rows, in order."""
        return tuple(row for section in self.sections for row in section.rows)
