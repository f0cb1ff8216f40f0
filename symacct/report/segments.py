"""Which segments a checkpoint policy has placed, in words: how many layers, and how long the segments are."""

from __future__ import annotations

from collections import Counter
from itertools import groupby
from typing import TYPE_CHECKING

from symacct.algebra.symbols import as_expr
from symacct.peaks.layers import Gap, Loop, One, length_of, per_iteration, structure
from symacct.printers import text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from sympy import Expr

    from symacct.account import Account
    from symacct.peaks.layers import Item, Structure

BY_LAYERS = ("every", "sqrt", "store-nothing")
MOST = 2_000
MOST_NAMED = 3


def segments_said(account: Account) -> str:
    """Return what runs again under a policy that counts layers; nothing under another one.

    >>> from symacct import derive, load
    >>> segments_said(derive(load("mlp"), checkpoint="every:3", sizes={"L": 10}))
    'each of the 10 layers is run again, in segments of 3 layers, the last of 1'
    """
    if not account.recomputes or account.running.checkpoint.kind not in BY_LAYERS:
        return ""
    own = structure(account.graph)
    return "; ".join((*_Said(account).stacks(own), *_groups(own), *_outside(own)))


class _Said:
    """The words for one account."""

    def __init__(self, account: Account) -> None:
        self.checkpoint = account.running.checkpoint
        self.order = account.graph.order

    def stacks(self, own: Structure) -> Iterator[str]:
        """Yield what becomes of the layers of each stack."""
        if all(isinstance(i, One) or i.solid for stack in own.stacks for i in stack):
            counts = own.counts
        elif all(one.is_Integer and one <= MOST for one in own.counts):
            runs = groupby(own.occurrences({}), key=lambda one: one is None)
            counts = tuple(as_expr(len(list(run))) for gap, run in runs if not gap)
        else:
            yield f"layers next to each other are run again, {self.length(None)}"
            return
        several = len(counts) > 1
        for layers, times in Counter(counts).items():
            runs_of = f"{times} runs of" if times > 1 else "a run of" if several else ""
            yield self.stack(layers, runs_of)

    def stack(self, layers: Expr, runs_of: str) -> str:
        """Return what becomes of a number of layers next to each other."""
        word = "layer" if layers == 1 else "layers"
        number = text(layers, self.order)
        nothing = self.checkpoint.kind == "store-nothing"
        again = "runs all before it again" if nothing else f"is run again, {self.length(layers)}"
        head = f"{runs_of} {number} {word}: each" if runs_of else f"each of the {number} {word}"
        return f"{head} {again}"

    def length(self, layers: Expr | None) -> str:
        """Return how long the segments are."""
        whole = layers is not None and layers.is_Integer
        every = as_expr(self.checkpoint.every if self.checkpoint.every is not None else 1)
        if self.checkpoint.kind == "sqrt" and not whole:
            under = "their number" if layers is None else text(layers, self.order)
            return f"in segments of sqrt({under}) layers"
        if layers is None or not whole or not every.is_Integer:
            return f"in segments of {text(every, self.order)} {'layer' if every == 1 else 'layers'}"
        number = int(layers)
        each = min(length_of(self.checkpoint, number, {}), number)
        rest = number % each
        word = "layer" if each == 1 else "layers"
        said = "in one segment" if each == number > 1 else f"in segments of {each} {word}"
        return f"{said}, the last of {rest}" if rest else said


def _groups(own: Structure) -> Iterator[str]:
    """Say how many layers one iteration of a repeat holds, where that is not one."""
    for item in own.items:
        if isinstance(item, Loop) and not item.plain:
            yield f"an iteration of {item.repeat.name} is {text(per_iteration(item))} layers"


def _outside(own: Structure) -> Iterator[str]:
    """Name the ops in the bodies of repeats that end a run of layers."""
    names = [name for item in own.items if isinstance(item, Loop) for name in _gaps(item.items)]
    if names:
        more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
        shown = ", ".join(names[:MOST_NAMED])
        yield f"kept, and the end of a run of layers, since no layer holds it: {shown}{more}"


def _gaps(items: Sequence[Item]) -> Iterable[str]:
    for item in items:
        if isinstance(item, Gap):
            yield item.label
        elif isinstance(item, Loop):
            yield from _gaps(item.items)
