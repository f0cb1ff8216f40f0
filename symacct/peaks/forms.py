"""The form of a schedule: folded loops, and from which counts on they hold.

The interpreter runs at counts that are raised until every loop has a turn in the middle (`induction`), and
its schedule is folded there. From those counts on the form holds by induction; for smaller ones it is
unfolded and compared, step by step, with what the interpreter does there.
"""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import dataclass, field, replace
from itertools import product, zip_longest
from math import prod
from typing import TYPE_CHECKING

from symacct.algebra.evaluate import evaluate, substitute
from symacct.algebra.symbols import as_expr
from symacct.errors import RuleError
from symacct.peaks.folding import Event, Items, folded, loops, names, unfolded, written
from symacct.peaks.induction import Settled, settled, zone_of
from symacct.peaks.placement import placed
from symacct.peaks.schedule import Known, Schedule, scheduled, turn_symbol
from symacct.peaks.shaping import varies
from symacct.peaks.timeline import choices_of
from symacct.peaks.trial_counts import (
    completed,
    derived_counts,
    growing,
    no_form,
    reaching,
    small_counts,
    thick,
    turning,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from sympy import Expr, Symbol

    from symacct.peaks.folding import Size
    from symacct.peaks.shaping import Shape
    from symacct.peaks.steps import Choices, Marks
    from symacct.policy import Checkpoint, Policy

MOST_TURNS = 400
"""How many turns of one loop, or of one segment, are looked at before the search for a middle ends."""

MOST_ACTIONS = 60_000
"""How long a schedule may become in that search."""

VARYING = 3
"""How many turns in the middle are compared where sizes depend on the iteration."""

MOST_LOWERED = 2
"""For how many counts together smaller ones are looked at."""

MOST_RUNS, MOST_STEPS = 160, 24_000
"""How many runs at smaller counts are compared with the form, to see from where on it holds."""


def few(counts: Iterable[Symbol], shape: Shape) -> bool:
    """Say whether smaller values are looked at together; last segments and micro-batches come along.

    So do counts that follow from others: the segments that 24 iterations make, k in each.
    """
    names = {one.name for one in counts}
    made = {one: {free.name for free in shape.back[one].free_symbols} for one in names & shape.back.keys()}
    follow = {one for one, free in made.items() if free and free <= names - {one}}
    others = {*shape.shorter, *(one.name for one in shape.micro.free_symbols), *follow}
    return sum(one not in others for one in names) <= MOST_LOWERED


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


def forget() -> None:
    """Forget the forms that were found, so that each is derived anew."""
    _KNOWN.clear()


@dataclass(frozen=True, slots=True)
class Former:
    """Finds the form of a graph's schedule under a policy."""

    shape: Shape
    policy: Policy
    known: Known = field(default_factory=Known)
    """What runs have worked out that holds for the others too."""

    def form(self) -> Form:
        """Return the form of the schedule.

        Raises:
            RuleError: there is none for every count.
        """
        choices = choices_of(replace(self.policy, accumulate=self.shape.micro), 1)
        key = (self.shape, self.policy.checkpoint, choices)
        found = next((form for known, form in _KNOWN if known == key), None)
        if found is None:
            found = self._folded()
            _KNOWN.append((key, found))
        return found

    def _folded(self) -> Form:
        """Run at counts large enough for a turn in the middle of every loop, and fold there."""
        counts = thick(self.shape, small_counts(self.shape))
        middle = VARYING if varies(self.shape.graph) else 1
        while True:
            schedule = self.run(counts)
            found = settled(schedule, middle) if counts else Settled({}, (), {})
            if not found.short:
                break
            counts = self._raised(counts, schedule, found)
        forward, whole = folded(self.shape.graph, schedule, self.shape.cuts, counts, found.zones)
        form = Form(forward, whole, counts, schedule.inputs, len(schedule.actions), {})
        lower = _Lower(self, form, found, _from(schedule, found))
        if turning(self.shape.graph) and not lower.holds_at(_unlike(self.shape, counts)):
            raise no_form(self.shape, [repeat.count for repeat in turning(self.shape.graph)], counts)
        return replace(form, least=lower.least())

    def _raised(self, counts: dict[str, int], schedule: Schedule, found: Settled) -> dict[str, int]:
        """Return larger counts, those that a loop was too short for.

        Raises:
            RuleError: nothing settles within the bounds.
        """
        raised = dict(counts)
        for count, least in found.short:
            for name in growing(count, counts):
                wanted = counts[name] + max(2, counts[name] // 3) if least is None else least
                raised[name] = max(raised[name], wanted)
        made = derived_counts(self.shape, raised)
        most = max((turns for name, turns in raised.items() if name not in made), default=0)
        raised = thick(self.shape, reaching(self.shape, raised))
        if raised == counts or most > MOST_TURNS or len(schedule.actions) > MOST_ACTIONS:
            raise no_form(self.shape, [count for count, _ in found.short], counts)
        return raised

    def run(self, counts: Mapping[str, int]) -> Schedule:
        """Return the schedule at integer counts."""
        shape = self.shape
        placement = placed(shape.graph, self.policy.checkpoint, shape.cuts)
        policy = replace(self.policy, accumulate=shape.micro)
        micro = int(evaluate(shape.micro, counts))
        return scheduled(shape.graph, shape.outputs, placement, choices_of(policy, micro), counts, self.known)


class _Lower:
    """Finds from which counts on a form holds: by induction, and for smaller ones by comparison."""

    def __init__(self, former: Former, form: Form, found: Settled, sure: Mapping[Symbol, int]) -> None:
        self.former = former
        self.form = form
        self.zones = found.zones
        self.middle = found.middle
        self.tops = {one: self.form.at(one, low) for one, low in _hopeful(form.whole).items()}
        self.sure = sure
        self.known: dict[tuple[int, ...], bool] = {}

    def least(self) -> dict[Symbol, int]:
        """Return the least value of each count."""
        hopeful = _hopeful(self.form.whole)
        ones = sorted(hopeful, key=str)
        sure = {one: min(top, max(self.sure.get(one, top), hopeful[one])) for one, top in self.tops.items()}
        if sure != self.tops and any(self._seen_at(ones, counts) for counts in (hopeful, sure)):
            self.tops = sure
        found = [self.tops[one] for one in ones]
        for at, one in enumerate(ones) if few(ones, self.former.shape) else ():
            while found[at] > hopeful[one] and self._holds(ones, found, at):
                found[at] -= 1
        return dict(zip(ones, found, strict=True))

    def _seen_at(self, ones: Sequence[Symbol], counts: Mapping[Symbol, int]) -> bool:
        """Say whether a second run, at other counts, agrees with the form."""
        values = tuple(counts[one] for one in ones)
        return self._agrees(ones, values) and values in self.known

    def _holds(self, ones: Sequence[Symbol], found: Sequence[int], at: int) -> bool:
        """Say whether the form holds for one count less, whatever smaller ones the others have."""
        ranges = [range(low, self.tops[one] + 1) for one, low in zip(ones, found, strict=True)]
        ranges[at] = range(found[at] - 1, found[at])
        runs = prod(map(len, ranges)) + len(self.known)
        if runs > MOST_RUNS or runs * self.form.length > MOST_STEPS:
            return False
        return all(self._agrees(ones, values) for values in product(*ranges))

    def _agrees(self, ones: Sequence[Symbol], values: tuple[int, ...]) -> bool:
        """Compare the form with the interpreter, which there is settled in all loops that are long enough."""
        if values not in self.known:
            given = dict(zip(ones, values, strict=True))
            counts = self.form.counts | {one.name: at for one, at in given.items()}
            whole = completed(self.former.shape, counts)
            if any(whole[one.name] != at for one, at in given.items()):  # the last segment would be longer
                return bool(self.former.shape.shorter)
            counts = whole
            schedule = self.former.run(counts)
            small = {one for one, at in given.items() if at < self.sure.get(one, self.form.at(one, at))}
            self.known[values] = self._settles(schedule, small) and self._same(schedule, counts)
        return self.known[values]

    def holds_at(self, counts: Mapping[str, int]) -> bool:
        """Say whether the form is what the interpreter does at some other counts."""
        return self._same(self.former.run(counts), counts)

    def _settles(self, schedule: Schedule, small: set[Symbol]) -> bool:
        """Say whether each loop that is long enough has, in the middle, the turn that the form repeats."""
        found = settled(schedule, self.middle)
        inside = all(
            zone.first <= self.zones[name].first and zone.last <= self.zones[name].last
            for name, zone in found.zones.items()
            if not found.loops[name] & small
        )
        return inside and all(count.free_symbols & small for count, _ in found.short)

    def _same(self, schedule: Schedule, counts: Mapping[str, int]) -> bool:
        """Compare the steps of a form and of a schedule: labels, what they make, and what dies after them."""
        try:
            return self._steps(schedule, counts)
        except RuleError:  # a loop has fewer turns than the form sets apart
            return False

    def _steps(self, schedule: Schedule, counts: Mapping[str, int]) -> bool:
        shape = self.former.shape
        known = {name: as_expr(value) for name, value in counts.items()}
        there = written(shape.graph, schedule, shape.cuts, counts)
        actions = iter(schedule.actions)
        for mine, real in zip_longest(unfolded(self.form.whole, known), there):
            if mine is None or real is None or not _alike(mine[0], mine[1], real, next(actions).marks, known):
                return False
        return True


def _unlike(shape: Shape, counts: Mapping[str, int]) -> dict[str, int]:
    """Return counts that are each larger by another number."""
    return thick(
        shape, completed(shape, {name: counts[name] + at for at, name in enumerate(sorted(counts), 1)})
    )


def _from(schedule: Schedule, found: Settled) -> dict[Symbol, int]:
    """Return from which counts on induction says that a form holds, for those that it says so of.

    A loop whose turns depend on the turn of another one says nothing of the counts of both.
    """
    least: dict[Symbol, int] = {}
    marks = {mark for marks in {action.marks for action in schedule.actions} for mark in marks}
    counts = {(zone_of(mark), mark.count) for mark in marks if not mark.count.is_Integer}
    unsure: set[Symbol] = set()
    for name, count in counts:
        free = found.loops[name]
        if len(free) != 1 or count.free_symbols != free:
            unsure |= free
            continue
        (one,) = free
        turns, value = found.zones[name].least + found.middle - 1, least.get(one, 1)
        while int(evaluate(count, {one.name: value})) < turns:
            value += 1
        least[one] = value
    return {one: value for one, value in least.items() if one not in unsure}


def _hopeful(items: Items) -> dict[Symbol, int]:
    """Return the least value of each symbol that a loop's count is made of."""
    found: dict[Symbol, int] = {}
    for loop in loops(items):
        turns = [s for s in loop.count.free_symbols if s.name.startswith("turn_")]
        free = [s for s in loop.count.free_symbols if s not in turns]
        if turns or len(free) != 1:
            found |= {one: found.get(one, 1) for one in free}
            continue
        (one,) = free
        value = 1
        while int(evaluate(loop.count, {one.name: as_expr(value)})) < loop.least:
            value += 1
        found[one] = max(found.get(one, 1), value)
    return found


def _alike(
    mine: Event, at: Mapping[str, Expr], real: Event, marks: Marks, counts: Mapping[str, Expr]
) -> bool:
    """Say whether two steps are the same at integer counts and turns; what dies together has no order."""
    if (mine.label, mine.phase, mine.runs) != (real.label, real.phase, real.runs):
        return False
    sizes = (*mine.makes, *mine.drops), (*real.makes, *real.drops)
    steady = all(names(size).isdisjoint(at) for each in sizes for size in each)
    if steady and (mine.makes, mine.drops) == (real.makes, real.drops):
        return True
    there = {**counts, **{turn_symbol(m.loop).name: as_expr(m.turn) for m in marks}}
    makes = [[_seen(size, known) for size in one.makes] for one, known in ((mine, at), (real, there))]
    drops = [Counter(_seen(size, known) for size in one.drops) for one, known in ((mine, at), (real, there))]
    return makes[0] == makes[1] and drops[0] == drops[1]


def _seen(size: Size, known: Mapping[str, Expr]) -> tuple[Expr, str, str, bool]:
    bound = {name: known[name] for name in names(size) if name in known}
    elements = substitute(size.elements, bound) if bound else size.elements
    return elements, size.dtype, size.kind, size.saved
