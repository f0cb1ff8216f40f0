"""What folded loops add up to: where nodes run again, and what stays at the end."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from symacct.algebra.evaluate import substitute
from symacct.algebra.normal import normal
from symacct.algebra.summation import sum_over
from symacct.algebra.symbols import as_expr
from symacct.peaks.folding import Event, Items, Loop
from symacct.peaks.schedule import turn_symbol

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from fractions import Fraction

    from sympy import Expr, Symbol

    from symacct.peaks.folding import Size


@dataclass(frozen=True, slots=True)
class Run:
    """A node that runs again inside some loops: the turns of each, and the iterations they mean."""

    label: str
    index: tuple[tuple[str, Expr], ...]
    ranges: tuple[tuple[Symbol, Expr, Expr], ...]

    def summed(self, expr: Expr) -> Expr:
        """Return the sum of a formula over the turns."""
        expr = normal(substitute(expr, dict(self.index)))
        for turn, lo, hi in reversed(self.ranges):
            expr = sum_over(expr, turn, lo, hi)
        return expr


def runs(
    items: Items, known: Mapping[str, Expr], around: tuple[tuple[Symbol, Expr, Expr], ...]
) -> Iterator[Run]:
    """Yield where nodes run again, with the loops around them."""
    for item in items:
        if isinstance(item, Event):
            if item.phase == "recompute" and item.runs:
                index = tuple((name, substitute(at, known)) for name, at in item.index)
                yield Run(item.label, index, around)
            continue
        for turns, part in loop_parts(item, known):
            yield from runs(part, known, (*around, turns))


def loop_parts(loop: Loop, known: Mapping[str, Expr]) -> Iterator[tuple[tuple[Symbol, Expr, Expr], Items]]:
    """Yield the parts of a loop with the turns that they stand for."""
    count, turn = normal(substitute(loop.count, known)), turn_symbol(loop.name)
    first, last = len(loop.first), len(loop.last)
    for at, part in enumerate(loop.first):
        yield (turn, as_expr(at), as_expr(at + 1)), part
    yield (turn, as_expr(first), normal(count - last)), loop.body
    for at, part in enumerate(loop.last):
        yield (turn, normal(count - last + at), normal(count - last + at + 1)), part


def net(
    items: Items,
    known: Mapping[str, Expr],
    weigh: Callable[[Size], Fraction],
    around: tuple[tuple[Symbol, Expr, Expr], ...] = (),
) -> Iterator[tuple[str, Expr]]:
    """Yield what each step adds and drops of what is saved, summed over the loops around it, by tensor."""
    for item in items:
        if isinstance(item, Loop):
            for turns, part in loop_parts(item, known):
                yield from net(part, known, weigh, (*around, turns))
            continue
        for sizes, sign in ((item.makes, 1), (item.drops, -1)):
            for size in sizes:
                weight = weigh(size)
                if weight:
                    expr = normal(substitute(size.elements, known)) * as_expr(weight) * sign
                    for turn, lo, hi in reversed(around):
                        expr = sum_over(expr, turn, lo, hi)
                    yield size.name, expr
