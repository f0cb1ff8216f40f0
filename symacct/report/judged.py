"""A judged file of claims, as a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from symacct.report.amount import shown
from symacct.report.table import Column, Table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from symacct.proof.judge import Judged

COLUMNS = (
    Column("name"),
    Column("claim"),
    Column("expected", breaks=False),
    Column("got"),
    Column("ok", breaks=False),
)


def judged_table(found: Sequence[Judged]) -> Table:
    """Return a row for each claim; below one that differs, why."""
    rows: list[tuple[str, ...] | str] = []
    for one in found:
        stated = one.stated
        rows.append((stated.name, _stated(one), stated.expect, one.got, "ok" if one.ok else "DIFFERS"))
        if not one.ok:
            rows += [f"    {line}" for line in one.detail.splitlines()]
    return Table(COLUMNS, tuple(rows))


def _stated(one: Judged) -> str:
    stated = one.stated
    if not stated.calc:
        return stated.claim
    found = "" if one.amount is None else f" = {shown(one.amount.value, one.amount.unit, stated.to)}"
    wanted = "" if stated.value is None else f" (stated: {stated.value} {stated.to or ''}".rstrip() + ")"
    return f"{stated.calc}{found}{wanted}"


def tally(found: Sequence[Judged]) -> str:
    """Return how many claims got the verdict that is expected."""
    judged = [one for one in found if one.got != "not judged"]
    right = sum(one.ok for one in judged)
    said = f"{right} of {len(judged)} claims are as expected"
    reported = len(found) - len(judged)
    return f"{said}; {reported} reported only" if reported else said
