"""A utilisation for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

from symacct.report.plan import Group, head, laid_out, table

if TYPE_CHECKING:
    from collections.abc import Iterator
    from fractions import Fraction

    from symacct.planning.mfu import Utilisation
    from symacct.report.blocks import Block

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


def blocks(made: Utilisation, *, math: bool = False) -> list[Block]:
    """Return a utilisation as blocks."""
    numbers = table(made.entries, GROUPS, math=math)
    return laid_out(tuple(_head(made)), numbers, tuple(_facts(made)), math=math)
