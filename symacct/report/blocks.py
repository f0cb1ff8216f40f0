"""What a verb answers, as blocks; and the two renderers: text of a width, and Markdown."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from symacct.report.table import GAP, Table, as_markdown, as_text, wrap

if TYPE_CHECKING:
    from collections.abc import Iterable

    from symacct.report.data import Report
    from symacct.report.facts import Fact


class Block(Protocol):
    """A part of an answer, between empty lines."""

    def text(self, width: int) -> str:
        """Return it as text."""

    def markdown(self) -> str:
        """Return it in Markdown."""


def text_of(blocks: Iterable[Block], width: int = 100) -> str:
    """Return blocks as text of a width; those without content are left out.

    >>> print(text_of([Prose(("one",)), Lines(()), Lines((("at", "B = 8"),))]))
    one
    <BLANKLINE>
    at: B = 8
    """
    return "\n\n".join(said for one in blocks if (said := one.text(width)).strip())


def markdown_of(blocks: Iterable[Block]) -> str:
    """Return blocks in Markdown.

    >>> print(markdown_of([Lines((("at", "B = 8"), ("", "alone")))]))
    - at: B = 8
    - alone
    """
    return "\n\n".join(said for one in blocks if (said := one.markdown()).strip())


@dataclass(frozen=True, slots=True)
class Lines:
    """Pairs of a word and a text, one under another; long ones are continued below, with an indent."""

    pairs: Iterable[tuple[str, str]]

    def text(self, width: int) -> str:
        """Return a line for each."""
        lines = (wrap(f"{word}: {said}" if word else said, width, GAP) for word, said in self.pairs)
        return "\n".join(piece for pieces in lines for piece in pieces)

    def markdown(self) -> str:
        """Return a list."""
        return "\n".join(f"- {word}: {said}" if word else f"- {said}" for word, said in self.pairs)


@dataclass(frozen=True, slots=True)
class Told:
    """Facts under headings; ``plain`` where no sign outside formulas is a mark of Markdown."""

    facts: tuple[Fact, ...]
    plain: bool = False

    def text(self, width: int) -> str:
        """Return them as text."""
        from symacct.report.facts import as_text as told

        return told(self.facts, width)

    def markdown(self) -> str:
        """Return lists under bold headings."""
        from symacct.report.facts import as_markdown as told
        from symacct.report.facts import escaped

        return (escaped if self.plain else told)(self.facts)


@dataclass(frozen=True, slots=True)
class Grid:
    """A table, under a title where it has one; ``close`` leaves no empty line between them in text."""

    table: Table
    title: str = ""
    close: bool = False

    def text(self, width: int) -> str:
        """Return it as text."""
        body = as_text(self.table, width)
        return f"{self.title}\n{'' if self.close else chr(10)}{body}" if self.title else body

    def markdown(self) -> str:
        """Return it with a bold title."""
        body = as_markdown(self.table)
        return f"**{self.title}**\n\n{body}" if self.title else body


@dataclass(frozen=True, slots=True)
class Prose:
    """Lines as they stand; wrapped in text where they may be."""

    lines: tuple[str, ...]
    wrapped: bool = False
    apart: bool = False

    def text(self, width: int) -> str:
        """Return the lines."""
        if not self.wrapped:
            return "\n".join(self.lines)
        return "\n".join(piece for line in self.lines for piece in wrap(line, width))

    def markdown(self) -> str:
        """Return the lines; ``apart`` puts empty ones between them, so that each is a paragraph."""
        return ("\n\n" if self.apart else "\n").join(self.lines)


@dataclass(frozen=True, slots=True)
class Joined:
    """Blocks without empty lines between them."""

    blocks: tuple[Block, ...]

    def text(self, width: int) -> str:
        """Return them as text."""
        return "\n".join(said for one in self.blocks if (said := one.text(width)))

    def markdown(self) -> str:
        """Return them in Markdown."""
        return "\n".join(said for one in self.blocks if (said := one.markdown()))


@dataclass(frozen=True, slots=True)
class Reported:
    """A report of quantities."""

    report: Report

    def text(self, width: int) -> str:
        """Return it as text."""
        from symacct.report.plain import text_of as reported

        return reported(self.report, width)

    def markdown(self) -> str:
        """Return it in Markdown."""
        from symacct.report.plain import markdown_of as reported

        return reported(self.report)
