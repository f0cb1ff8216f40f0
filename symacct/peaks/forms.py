"""The form of a schedule: folded loops, and from which counts on they hold.

The interpreter runs at small counts and its schedule is folded. The form is unfolded again at the smallest
counts that it claims to hold for, and compared, step by step, with what the interpreter does there.
"""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import TYPE_CHECKING

from symacct.algebra.evaluate import evaluate, substitute
from symacct.algebra.normal import normal
from symacct.algebra.symbols import as_expr
from symacct.errors import RuleError
from symacct.peaks.folding import Event, Items, folded, loops, unfolded, written
from symacct.peaks.placement import placed
from symacct.peaks.schedule import Schedule, scheduled, turn_symbol
from symacct.peaks.shaping import derived_counts, small_counts
from symacct.peaks.timeline import choices_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sympy import Expr, Symbol

    from symacct.peaks.folding import Size
    from symacct.peaks.shaping import Shape
    from symacct.peaks.steps import Choices
    from symacct.policy import Checkpoint, Policy

BASES = (6, 8, 10)
NOTHING_BASES = (9, 12)

MOST_RAISED = 4
"""How far the least counts may be raised until the folded form holds from there on."""


@dataclass(frozen=True, slots=True)
class Form:
    """A schedule as folded loops.

    Attributes:
        forward: the forward pass of the first micro-batch.
        whole: the whole step.
        counts: the integers that it was folded at.
        inputs: graph inputs that backward reads.
        length: how many steps the schedule had there.
        least: the counts from which it holds.
    """

    forward: Items
    whole: Items
    counts: dict[str, int]
    inputs: tuple[str, ...]
    length: int
    least: Mapping[Symbol, int]

    def at(self, one: Symbol, default: int) -> int:
        """Return the value of a count that the form was folded at."""
        return self.counts.get(one.name, default)


MOST_KNOWN = 32
_KNOWN: deque[tuple[tuple[Shape, Checkpoint, Choices], Form]] = deque(maxlen=MOST_KNOWN)
"""Forms that were found last: number formats and optimizers change bytes, not the schedule."""


@dataclass(frozen=True, slots=True)
class Former:
    """Finds the form of a graph's schedule under a policy."""

    shape: Shape
    policy: Policy

    def form(self) -> Form:
        """Fold at small counts; where the form does not hold from its least counts on, at larger ones.

        Raises:
            RuleError: there is no one form.
        """
        choices = choices_of(replace(self.policy, accumulate=self.shape.micro), 1)
        key = (self.shape, self.policy.checkpoint, choices)
        found = next((form for known, form in _KNOWN if known == key), None)
        if found is None:
            found = self._folded()
            _KNOWN.append((key, found))
        return found

    def _folded(self) -> Form:
        bases = NOTHING_BASES if self.policy.checkpoint.kind == "store-nothing" else BASES
        for base in bases:
            try:
                return self._at(small_counts(self.shape, base))
            except RuleError:
                if base == bases[-1]:
                    raise
        raise AssertionError(bases)

    def run(self, counts: Mapping[str, int]) -> Schedule:
        """Return the schedule at integer counts."""
        shape = self.shape
        placement = placed(shape.graph, self.policy.checkpoint, shape.cuts)
        policy = replace(self.policy, accumulate=shape.micro)
        micro = int(evaluate(shape.micro, counts))
        return scheduled(shape.graph, shape.outputs, placement, choices_of(policy, micro), counts)

    def _at(self, counts: dict[str, int]) -> Form:
        """Return the form at these counts, with the counts from which it agrees with the interpreter."""
        schedule = self.run(counts)
        forward, whole = folded(self.shape.graph, schedule, self.shape.cuts, counts)
        form = Form(forward, whole, counts, schedule.inputs, len(schedule.actions), {})
        return replace(form, least=self._least(form))

    def _least(self, form: Form) -> dict[Symbol, int]:
        hopeful = _hopeful(form.whole)
        for more in range(MOST_RAISED + 1):
            found = {one: min(at + more, form.at(one, at + more)) for one, at in hopeful.items()}
            wrong = self._differs(form, found)
            if wrong is None:
                break
        else:
            raise _formless(self.shape.graph.name, wrong)
        if not more:
            return found
        beyond = {one: form.at(one, at) + 1 for one, at in found.items()}
        if (wrong := self._differs(form, beyond)) is not None:
            raise _formless(self.shape.graph.name, wrong)
        for one, at in hopeful.items() if len(found) > 1 else ():
            trial = {**found, one: at}
            if trial != found and self._differs(form, trial) is None:
                found = trial
        return found

    def _differs(self, form: Form, at: Mapping[Symbol, int]) -> tuple[Event | None, Event | None] | None:
        """Compare a form with the interpreter at small counts: the first steps that differ, if any."""
        counts = form.counts | {one.name: value for one, value in at.items() if one.name in form.counts}
        counts |= derived_counts(self.shape, counts)
        if counts == form.counts:
            return None
        steps = self.run(counts)
        known = {name: as_expr(value) for name, value in counts.items()}
        there = written(self.shape.graph, steps, self.shape.cuts, counts)
        actions = iter(steps.actions)
        for mine, real in zip_longest(unfolded(form.whole, known), there):
            if mine is None or real is None:
                return mine, real
            turns = {turn_symbol(m.loop).name: as_expr(m.turn) for m in next(actions).marks}
            if not _alike(mine, real, {**known, **turns}):
                return mine, real
        return None


def _hopeful(items: Items) -> dict[Symbol, int]:
    """Return the least value of each symbol that a loop's count is made of."""
    found: dict[Symbol, int] = {}
    for loop in loops(items):
        turns = [s for s in loop.count.free_symbols if s.name.startswith("turn_")]
        free = [s for s in loop.count.free_symbols if s not in turns]
        if turns or len(free) != 1:
            continue
        (one,) = free
        value = 1
        while int(evaluate(loop.count, {one.name: as_expr(value)})) < loop.least:
            value += 1
        found[one] = max(found.get(one, 1), value)
    return found


def _alike(mine: Event, real: Event, known: Mapping[str, Expr]) -> bool:
    """Say whether two steps are the same at integer counts and turns; what dies together has no order."""
    if (mine.label, mine.phase, mine.runs) != (real.label, real.phase, real.runs):
        return False
    makes = [[_seen(size, known) for size in one.makes] for one in (mine, real)]
    drops = [Counter(_seen(size, known) for size in one.drops) for one in (mine, real)]
    return makes[0] == makes[1] and drops[0] == drops[1]


def _seen(size: Size, known: Mapping[str, Expr]) -> tuple[Expr, str, str, bool]:
    free = size.elements.free_symbols
    bound = {s.name: known[s.name] for s in free if s.name in known}
    elements = normal(substitute(size.elements, bound)) if bound else size.elements
    return elements, size.dtype, size.kind, size.saved


def _formless(name: str, found: tuple[Event | None, Event | None] | None) -> RuleError:
    mine, real = found or (None, None)
    return RuleError(
        f"the schedule of graph {name} has no one form for every count",
        expected=_step(real),
        got=_step(mine) if _step(mine) != _step(real) else f"other storages at {_step(mine)}",
        fix="bind the counts of its repeats",
    )


def _step(event: Event | None) -> str:
    return "the end" if event is None else f"{event.phase} of {event.label}"
