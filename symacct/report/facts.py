"""Words and texts under one another: how a verdict or a comparison is laid out, as text and as Markdown."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from symacct.claims.unit_words import unit_words
from symacct.printers import latex, text
from symacct.report.factor import factored
from symacct.report.table import GAP, wrap

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sympy import Expr

    from symacct.account import Account


MARKS = re.compile(r"([\\*_<>`])")


@dataclass(frozen=True, slots=True)
class Fact:
    """A word, what is said of it, and lines below it; without a word a heading."""

    word: str
    said: str
    below: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Style:
    """How formulas look: the order of sizes, the counts that are factored out, and whether they are LaTeX."""

    order: tuple[str, ...] = ()
    counts: tuple[str, ...] = ()
    math: bool = False

    def show(self, expr: Expr) -> str:
        """Return a formula."""
        shown = factored(expr, self.counts)
        return f"${latex(shown, self.order)}$" if self.math else text(shown, self.order)

    def with_unit(self, expr: Expr, unit: str) -> str:
        """Return a formula with its unit, as it may be typed: in brackets where it is more than a number."""
        shown = factored(expr, self.counts)
        if unit == "1":
            return self.show(expr)
        words = unit_words(unit, self.order)
        bare = shown.is_Integer
        if not self.math:
            said = text(shown, self.order)
            return f"{said} {words}" if bare else f"({said}) {words}"
        said = latex(shown, self.order)
        said = said if bare else f"\\left({said}\\right)"
        upright = words.replace("*", " \\cdot ")
        return f"${said}\\,\\mathrm{{{upright}}}$"


def style_of(account: Account | None, *, math: bool = False) -> Style:
    """Return how the formulas of an account look; without one, sizes are sorted."""
    if account is None:
        return Style(math=math)
    from symacct.nodes import repeat_counts

    return Style(account.graph.order, repeat_counts(account.graph), math)


def as_text(facts: Iterable[Fact], width: int) -> str:
    """Return facts as text: long ones are continued below, indented."""
    lines: list[str] = []
    for fact in facts:
        if not fact.word:
            lines += ["", *wrap(fact.said, width)] if lines else wrap(fact.said, width)
        else:
            lines += _hanging(f"{fact.word}: {fact.said}".rstrip(), width)
        lines += [GAP + line for below in fact.below for line in _hanging(below, width - len(GAP))]
    return "\n".join(line.rstrip() for line in lines)


def _hanging(said: str, width: int) -> list[str]:
    return wrap(said, width, GAP)


def as_markdown(facts: Iterable[Fact]) -> str:
    """Return facts as Markdown: a list, headings bold."""
    lines: list[str] = []
    for fact in facts:
        if fact.word:
            lines.append(f"- {fact.word}: {fact.said}".rstrip())
        else:
            lines += ["", f"**{fact.said}**", ""]
        lines += [f"  - {below.strip()}" for below in fact.below]
    return "\n".join(line for place, line in enumerate(lines) if line or (place and lines[place - 1]))


def escaped(facts: Iterable[Fact]) -> str:
    """Return facts as Markdown, in which every sign outside formulas stands for itself."""
    return as_markdown([
        Fact(_plain(one.word), _plain(one.said), tuple(map(_plain, one.below))) for one in facts
    ])  # fmt: skip


def _plain(said: str) -> str:
    r"""Return a text with what Markdown would read as a mark escaped, except inside formulas.

    >>> print(_plain("6*B*D is $6 B_{1} D$"))
    6\*B\*D is $6 B_{1} D$
    """
    parts = said.split("$")
    return "$".join(MARKS.sub(r"\\\1", one) if place % 2 == 0 else one for place, one in enumerate(parts))
