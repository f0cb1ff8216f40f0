"""The loops of a schedule: which iteration a turn means, forward, backward and run again."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from symacct.algebra.evaluate import substitute
from symacct.algebra.normal import normal
from symacct.algebra.symbols import as_expr, index_symbol
from symacct.peaks.steps import Mark

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sympy import Expr, Symbol

    from symacct.nodes import Repeat
    from symacct.peaks.placement import Cut
    from symacct.peaks.steps import Marks, Segment

MICRO = "micro-batches"
BACKWARD = "/backward"
LONGEST = 50


def iteration(repeat: Repeat, marks: Marks, cuts: Mapping[str, Cut]) -> Expr:
    """Return which iteration of a repeat the loops around stand at, as a formula in their turns."""
    at = {mark.loop: mark for mark in marks}

    def turn(loop: str) -> Expr | None:
        if f"{loop}/again" in at:
            return turn_of(at[f"{loop}/again"])
        if f"{loop}/backward" in at:
            return at[f"{loop}/backward"].count - 1 - turn_of(at[f"{loop}/backward"])
        return turn_of(at[loop]) if loop in at else None

    segment, inside = turn(f"{repeat.name}/segments"), turn(repeat.name)
    before = as_expr(0) if segment is None else segment * cuts[repeat.name].size
    return normal(repeat.lo + before + (inside if inside is not None else 0))


def turn_of(mark: Mark) -> Expr:
    """Return the turn that a loop is in: its symbol, or a number where all turns are written out."""
    return as_expr(mark.turn) if mark.count.is_Integer else turn_symbol(mark.loop)


@lru_cache(maxsize=1024)
def turn_symbol(loop: str) -> Symbol:
    """Return the symbol that counts the turns of a loop, from 0, in order of execution."""
    return index_symbol("turn_" + "_".join(re.findall(r"\w+", loop))[-LONGEST:])


def backwards(marks: Marks) -> Marks:
    """Return the turns in which backward comes to the turns of forward loops."""
    found = []
    known: dict[str, Expr] = {}
    for mark in marks:
        if mark.loop == MICRO:
            found.append(mark)
            continue
        loop, count = f"{mark.loop}/backward", substitute(mark.count, known)
        found.append(Mark(loop, mark.turns - 1 - mark.turn, mark.turns, count))
        known[turn_symbol(mark.loop).name] = count - 1 - turn_of(found[-1])
    return tuple(found)


def again_in(marks: Marks, base: Marks, segment: Segment) -> Marks:
    """Return the loops of a node that is run again; where nothing is stored they end at this iteration."""
    known = {
        turn_symbol(mark.loop.removesuffix(BACKWARD)).name: mark.count - 1 - turn_of(mark)
        for mark in base
        if mark.loop.endswith(BACKWARD)
    }
    found, shorter = [], segment.shorter
    for mark in marks:
        turns, count = shorter.get(mark.loop, (mark.turns, mark.count))
        loop, count = f"{mark.loop}/again", substitute(count, known)
        if mark.turn < turns - 1 and mark.loop in shorter:
            shorter = {}
        found.append(Mark(loop, mark.turn, turns, normal(count)))
        known[turn_symbol(mark.loop).name] = turn_of(found[-1])
    return tuple(found)
