"""What a live page is made of, before it is written: sizes that rows share, and rows that can be computed."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from symacct.algebra.evaluate import names_of
from symacct.report.conditions import said

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from sympy import Expr

    from symacct.algebra.condition import Condition


@dataclass(frozen=True, slots=True)
class Result:
    """One number of a row.

    Attributes:
        label: which it is, where there are several.
        unit: its unit.
        expr: its formula.
        terms: what it is the sum of, with a name for each; empty where that is nothing to show.
    """

    label: str
    unit: str
    expr: Expr
    terms: tuple[tuple[str, Expr], ...] = ()


@dataclass(frozen=True, slots=True)
class Variant:
    """A row under one combination of choices; with a note and no results where that is refused."""

    results: tuple[Result, ...] = ()
    conditions: tuple[Condition, ...] = ()
    formula: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True)
class Choice:
    """A choice that a reader may make: its values as flags take them, and the one at the start."""

    name: str
    values: tuple[str, ...]
    value: str


@dataclass(frozen=True, slots=True)
class Calculator:
    """A row that can be computed: its choices, and what it is under each of their combinations."""

    scope: str
    variants: Mapping[str, Variant]
    choices: tuple[Choice, ...] = ()
    order: tuple[str, ...] = ()

    @property
    def uses(self) -> tuple[str, ...]:
        """Names of all sizes in it, in the order of its graph."""
        found = {
            name
            for variant in self.variants.values()
            for expr in (
                *(result.expr for result in variant.results),
                *(side for one in variant.conditions for side in (one.left, one.right)),
            )
            for name in names_of(expr)
        }
        return ordered(found, self.order)


@dataclass(slots=True)
class Size:
    """A size of a scope; the value at the start is a text, exact, in its unit."""

    name: str
    label: str
    meaning: str = ""
    integer: bool = True
    unit: str = ""
    value: str = ""


@dataclass(slots=True)
class Scope:
    """Sizes that rows share, what is known of their values, and the conditions under which the rows hold."""

    title: str
    sizes: dict[str, Size] = field(default_factory=dict)
    start: dict[str, int] = field(default_factory=dict)
    conditions: dict[Condition, None] = field(default_factory=dict)
    counts: set[str] = field(default_factory=set)
    known: set[str] = field(default_factory=set)

    def add(self, size: Size) -> None:
        """Add a size, unless it is there."""
        self.sizes.setdefault(size.name, size)


def ordered(names: Iterable[str], order: Sequence[str]) -> tuple[str, ...]:
    """Return names: those of an order first, the others sorted.

    >>> ordered({"k", "L", "B"}, ("B", "L"))
    ('B', 'L', 'k')
    """
    found = set(names)
    return (*(name for name in order if name in found), *sorted(found - set(order)))


def condition_text(condition: Condition, order: Sequence[str] = ()) -> str:
    """Return a condition as a page says it.

    >>> from symacct.algebra.condition import Condition
    >>> from symacct.algebra.symbols import symbol
    >>> condition_text(Condition("divides", symbol("a"), symbol("h")))
    'a | h'
    """
    return said(condition, order).replace(" divides ", " | ")
