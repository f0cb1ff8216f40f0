"""A utilisation for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

from symacct.report.plan import Group, hanging, head, table
from symacct.report.table import as_markdown, as_text

if TYPE_CHECKING:
    from collections.abc import Iterator
    from fractions import Fraction

    from symacct.planning.mfu import Utilisation

GROUPS: tuple[Group, ...] = (
    ("model", "NAgcwhFJ"),
    ("measured", "tVbSkDrR"),
    ("machine", "nP"),
    ("utilisation", "XuYv"),
)
"""Titles, and the symbols below each."""


def percent(value: Fraction) -> str:
    """Return a share in percent, to three digits.

    >>> from fractions import Fraction
    >>> percent(Fraction(4623, 10000))
    '46.2 %'
    """
    return f"{float(value * 100):.3g} %"


def _facts(made: Utilisation) -> Iterator[tuple[str, str]]:
    hfu = made.hfu
    yield "MFU", percent(made.mfu)
    yield "HFU", "not known: a rate was stated" if hfu is None else percent(hfu)
    yield "peak", made.devices.source
    yield from made.counted
    for note in made.notes:
        yield "note", note


def _head(made: Utilisation) -> Iterator[tuple[str, str]]:
    if made.subject is not None:
        yield from head(made.subject)


def mfu_text(made: Utilisation, width: int) -> str:
    """Return a utilisation as text of a width."""
    lines = [line for word, said in _head(made) for line in hanging(word, said, width)]
    lines += [""] * bool(lines) + [as_text(table(made.entries, GROUPS), width), ""]
    lines += [line for word, said in _facts(made) for line in hanging(word, said, width)]
    return "\n".join(lines)


def mfu_markdown(made: Utilisation) -> str:
    """Return a utilisation in Markdown."""
    lines = [f"- {word}: {said}" if word else f"- {said}" for word, said in (*_head(made), *_facts(made))]
    return "\n".join([*lines, "", as_markdown(table(made.entries, GROUPS, math=True))])
