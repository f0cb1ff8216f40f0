"""Where a difference comes from, in lines: what ops have of the exact formula, and weights of the claim."""

from __future__ import annotations

from typing import TYPE_CHECKING

from symacct.algebra.normal import normal, total

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from sympy import Expr

    from symacct.proof.sources import Part
    from symacct.report.facts import Style

MOST_LINES = 12
GRADIENT = "/grad."


def origins(parts: Sequence[Part], difference: Expr, style: Style) -> list[str]:
    """Return a line for each op or weight; backward ops stand under their forward ones."""
    if not parts:
        return []
    rest = normal(difference + total(one.exact for one in parts) - total(one.claimed for one in parts))
    lines = _lines(parts, "exact", lambda one: one.exact, style)
    lines += _lines(parts, "claim", lambda one: one.claimed, style)
    return lines + ([f"claim has {style.show(rest)} by itself"] if rest != 0 else [])


def _lines(parts: Sequence[Part], word: str, amount: Callable[[Part], Expr], style: Style) -> list[str]:
    groups: dict[str, list[Part]] = {}
    for part in parts:
        if amount(part) != 0:
            groups.setdefault(part.label.partition(GRADIENT)[0], []).append(part)
    lines = []
    for label, members in groups.items():
        whole = total(amount(one) for one in members)
        if whole != 0:
            name = members[0].label if len(members) == 1 else label
            phases = ", ".join(dict.fromkeys(one.phase for one in members))
            lines.append(f"{word} has {style.show(whole)} from {name} ({phases})")
    if len(lines) > MOST_LINES:
        more = len(lines) - MOST_LINES
        return [*lines[:MOST_LINES], f"{word} has {more} more such terms (--format json lists all)"]
    return lines
