"""A schedule at small counts, folded into loops with symbolic counts.

The schedule is written out at counts at which every loop has a turn in the middle (`induction`). The turns in
the middle become one body; the first and last ones stand apart, less those that are the same as the body.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING

from symacct.algebra.evaluate import evaluate, substitute
from symacct.algebra.normal import normal
from symacct.algebra.symbols import as_expr
from symacct.errors import RuleError
from symacct.nodes import Repeat, walk
from symacct.peaks.induction import zone_of
from symacct.peaks.schedule import Marks, Schedule, Storage, iteration, turn_symbol
from symacct.peaks.timeline import deaths
from symacct.peaks.turns import BACKWARD

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from sympy import Expr

    from symacct.nodes import Graph
    from symacct.peaks.induction import Zone
    from symacct.peaks.placement import Cut
    from symacct.peaks.schedule import Action
    from symacct.peaks.steps import Mark

NEAR = 2


@dataclass(frozen=True, slots=True)
class Size:
    """How much a storage takes: its elements as a formula, its dtype, what it is.

    Attributes:
        elements: in sizes and the turns of the loops around.
        dtype: of an element.
        kind: value, recomputed, gradient, parameter gradient or loss.
        saved: whether it is kept for backward.
        name: the tensor.
    """

    elements: Expr
    dtype: str
    kind: str
    saved: bool
    name: str


@dataclass(frozen=True, slots=True)
class Event:
    """One step: what it makes, and what dies after it."""

    label: str
    phase: str
    runs: bool
    makes: tuple[Size, ...]
    drops: tuple[Size, ...]
    index: tuple[tuple[str, Expr], ...] = ()
    """Where an op that runs again stands in each repeat around it, as a formula, where its size varies."""


@dataclass(frozen=True, slots=True)
class Loop:
    """Turns of a loop: the first and the last ones apart, and the body of all others.

    ``count`` is the number of all turns; the body runs ``count - len(first) - len(last)`` times, and its
    formulas hold ``turn``, the number of the turn from 0.
    """

    name: str
    count: Expr
    first: tuple[Items, ...]
    body: Items
    last: tuple[Items, ...]

    @property
    def least(self) -> int:
        """The number of turns from which the loop has this form."""
        return len(self.first) + len(self.last) + 1


Items = tuple["Event | Loop", ...]


def written(
    graph: Graph, schedule: Schedule, cuts: Mapping[str, Cut], counts: Mapping[str, int]
) -> list[Event]:
    """Return the steps of a schedule as events, none folded."""
    return _Events(graph, schedule, cuts, counts).all()


def folded(
    graph: Graph,
    schedule: Schedule,
    cuts: Mapping[str, Cut],
    counts: Mapping[str, int],
    zones: Mapping[str, Zone],
) -> tuple[Items, Items]:
    """Return a schedule at small counts as loops: the forward pass of the first micro-batch, and all of it.

    Args:
        graph: the graph.
        schedule: its schedule at these counts.
        cuts: the segments of outermost repeats.
        counts: the integers of the schedule.
        zones: which turns of each loop stand apart.

    Raises:
        RuleError: turns of a loop are not alike.
    """
    events = _Events(graph, schedule, cuts, counts).all()
    marks = [action.marks for action in schedule.actions]
    if not counts:
        flat = tuple(_placed(event, each) for event, each in zip(events, marks, strict=True))
        return flat[: schedule.backward], flat
    steps = list(zip(marks, events, strict=True))
    fold = _Fold(zones)
    return fold.items(steps[: schedule.backward], 0), fold.items(steps, 0)


class _Events:
    """The steps of a schedule with sizes as formulas."""

    def __init__(
        self, graph: Graph, schedule: Schedule, cuts: Mapping[str, Cut], counts: Mapping[str, int]
    ) -> None:
        self.schedule = schedule
        self.counts = counts
        self.cuts = cuts
        self.repeats = {r.name: r for r, _ in walk(graph.nodes) if isinstance(r, Repeat)}
        indices = {r.index for r in self.repeats.values()}
        self.varying = any(indices & dim.free_symbols for t in graph.tensors.values() for dim in t.dims)
        self.indices = indices
        self.known: dict[tuple[object, ...], Size] = {}
        self.steady: dict[tuple[int, str, bool], Size] = {}
        """By tensor itself: those whose sizes depend on no iteration."""

    def all(self) -> list[Event]:
        ends = deaths(self.schedule)
        return [
            Event(
                action.label,
                action.phase,
                action.runs,
                tuple(self.size(s, action.marks, action.at) for s in action.makes),
                self.dying(ends.get(at, ()), action),
                self.index(action),
            )
            for at, action in enumerate(self.schedule.actions)
        ]

    def dying(self, storages: Sequence[Storage], action: Action) -> tuple[Size, ...]:
        """Return the sizes of what dies after a step, in an order of their own."""
        found = [self.size(storage, action.marks, action.at) for storage in storages]
        return tuple(found if len(found) < 2 else sorted(found, key=_order))

    def index(self, action: Action) -> tuple[tuple[str, Expr], ...]:
        """Return where an op that runs again stands, if anything depends on that."""
        if action.phase != "recompute" or not self.varying:
            return ()
        around = (self.repeats[name] for name in action.at)
        return tuple((r.index.name, iteration(r, action.marks, self.cuts)) for r in around)

    def size(self, storage: Storage, marks: Marks, at: Mapping[str, int]) -> Size:
        """Return the size of a storage, as it is seen from a step."""
        t = storage.tensor
        own = (id(t), storage.kind, storage.saved)
        if (found := self.steady.get(own)) is not None:
            return found
        key: tuple[object, ...] = (t.name, t.dims, t.dtype, storage.kind, storage.saved)
        steady = not any(dim.free_symbols & self.indices for dim in t.dims)
        places = () if steady else self._places(storage, marks, at)
        key = (*key, places)
        if key not in self.known:
            indices = {self.repeats[name].index.name: p for name, p in zip(t.path, places, strict=False)}
            elements = normal(substitute(t.numel, indices)) if places else t.numel
            self.known[key] = Size(elements, t.dtype, storage.kind, storage.saved, t.name)
        if steady:
            self.steady[own] = self.known[key]
        return self.known[key]

    def _places(self, storage: Storage, marks: Marks, at: Mapping[str, int]) -> tuple[Expr, ...]:
        """Return the iterations of a storage as formulas, the outermost first."""
        found: list[Expr] = []
        outer: dict[str, tuple[int, Expr]] = {}
        for name, turn in zip(storage.tensor.path, storage.at, strict=False):
            repeat = self.repeats[name]
            found.append(self._place(repeat, turn, marks, at, outer))
            outer[repeat.index.name] = (turn, found[-1])
        return tuple(found)

    def _place(
        self,
        repeat: Repeat,
        turn: int,
        marks: Marks,
        at: Mapping[str, int],
        outer: Mapping[str, tuple[int, Expr]],
    ) -> Expr:
        """Return an iteration as a formula: near where the step stands, or near an end of the repeat."""
        here = at.get(repeat.name)
        if here is not None and abs(turn - here) <= NEAR:
            return normal(iteration(repeat, marks, self.cuts) + turn - here)
        around = {name: as_expr(place) for name, place in self.counts.items()}
        formulas: dict[str, Expr] = {}
        for name in at:
            open_ = self.repeats[name]
            if open_ is not repeat:
                around[open_.index.name] = as_expr(at[name])
                formulas[open_.index.name] = iteration(open_, marks, self.cuts)
        around |= {name: as_expr(turn_) for name, (turn_, _) in outer.items()}
        formulas |= {name: formula for name, (_, formula) in outer.items()}
        lo, hi = (int(evaluate(end, around)) for end in (repeat.lo, repeat.hi))
        low, high = (substitute(end, formulas) for end in (repeat.lo, repeat.hi))
        return normal(low + turn - lo) if turn - lo <= hi - 1 - turn else normal(high + turn - hi)


def _placed(event: Event, marks: Marks) -> Event:
    """Return an event with the turns put in at which it stands, where all counts are known."""
    for mark in marks:
        event = _bound(event, turn_symbol(mark.loop).name, mark.turn)  # type: ignore[assignment]
    return event


@lru_cache(maxsize=1 << 13)
def _order(size: Size) -> tuple[str, ...]:
    """Return what drops are sorted by: they die together, so that turns are alike whoever was born first."""
    return (size.name, size.kind, size.dtype, str(size.saved), str(size.elements))


class _Fold:
    """Folds steps into loops whose first and last turns stand apart as they are told."""

    def __init__(self, zones: Mapping[str, Zone]) -> None:
        self.zones = zones

    def items(self, steps: Sequence[tuple[Marks, Event]], depth: int) -> Items:
        """Return steps as items: those at this depth as they are, the rest as loops."""
        found: list[Event | Loop] = []
        at = 0
        while at < len(steps):
            marks, event = steps[at]
            if len(marks) == depth:
                found.append(event)
                at += 1
                continue
            mark, turns, turn = marks[depth], list[list[tuple[Marks, Event]]](), -1
            while at < len(steps):
                marks, event = steps[at]
                if len(marks) <= depth or marks[depth].loop != mark.loop or marks[depth].turn < turn:
                    break
                while marks[depth].turn > turn:
                    turns.append([])
                    turn += 1
                turns[-1].append((marks, event))
                at += 1
            turns += [[] for _ in range(len(turns), mark.turns)]
            found += self.loop(mark, [self.items(one, depth + 1) for one in turns])
        return tuple(found)

    def loop(self, mark: Mark, turns: list[Items]) -> Items:
        """Return turns as one loop with a body; written out where their number is one.

        Raises:
            RuleError: turns in the middle are not alike.
        """
        total, count, turn = len(turns), mark.count, turn_symbol(mark.loop)
        if not any(turns):
            return ()
        zone = self.zones[zone_of(mark)] if not count.is_Integer else None
        if zone is None or total < zone.least:
            return tuple(_bound(item, turn.name, at) for at, items in enumerate(turns) for item in items)
        first, last = (zone.last, zone.first) if mark.loop.endswith(BACKWARD) else (zone.first, zone.last)
        body, *middle = turns[first : total - last]
        if any(one != body for one in middle):
            raise RuleError(
                f"the turns of {mark.loop} are not alike, so that its peak has no formula for every count",
                expected="turns in the middle that are alike",
                got=f"{total} turns",
                fix="bind the count of the repeat",
            )
        while first and turns[first - 1] == body:
            first -= 1
        while last and turns[total - last] == body:
            last -= 1
        starts = (turns[at] for at in range(first))
        ends = (turns[total - last + at] for at in range(last))
        return (
            Loop(
                mark.loop,
                count,
                tuple(tuple(_bound(i, turn.name, at) for i in items) for at, items in enumerate(starts)),
                body,
                tuple(
                    tuple(_bound(i, turn.name, count - last + at) for i in items)
                    for at, items in enumerate(ends)
                ),
            ),
        )


def _bound(item: Event | Loop, name: str, value: Expr | int) -> Event | Loop:
    """Return an item with the turn of a loop around it put in."""
    if isinstance(item, Event):
        if not item.index and not any(name in names(size) for size in (*item.makes, *item.drops)):
            return item
        known = {name: as_expr(value)}
        makes = tuple(_bound_size(size, known) for size in item.makes)
        drops = tuple(_bound_size(size, known) for size in item.drops)
        index = tuple((own, normal(substitute(at, known))) for own, at in item.index)
        return replace(item, makes=makes, drops=drops, index=index)
    return Loop(
        item.name,
        substitute(item.count, {name: as_expr(value)}),
        tuple(tuple(_bound(one, name, value) for one in items) for items in item.first),
        tuple(_bound(one, name, value) for one in item.body),
        tuple(tuple(_bound(one, name, value) for one in items) for items in item.last),
    )


@lru_cache(maxsize=1 << 13)
def names(size: Size) -> frozenset[str]:
    """Return the names that the elements of a size depend on."""
    return frozenset(free.name for free in size.elements.free_symbols)


def _bound_size(size: Size, known: Mapping[str, Expr]) -> Size:
    if names(size).isdisjoint(known):
        return size
    elements = substitute(size.elements, known)
    return Size(elements, size.dtype, size.kind, size.saved, size.name)


def unfolded(items: Items, known: Mapping[str, Expr]) -> Iterator[tuple[Event, Mapping[str, Expr]]]:
    """Yield the steps of folded items at integer counts, each with the counts and turns it stands at.

    Raises:
        RuleError: a loop has fewer turns than its form.
    """
    for item in items:
        if isinstance(item, Event):
            yield item, known
            continue
        count = int(evaluate(item.count, known))
        if count < item.least:
            raise RuleError(f"{item.name} has {count} turns and its form needs {item.least}")
        turn = turn_symbol(item.name).name
        for at in range(count):
            tail = at - (count - len(item.last))
            inner = item.first[at] if at < len(item.first) else item.last[tail] if tail >= 0 else item.body
            yield from unfolded(inner, {**known, turn: as_expr(at)})


def loops(items: Items) -> Iterator[Loop]:
    """Yield every loop of folded items, those inside others too."""
    for item in items:
        if isinstance(item, Loop):
            yield item
            for inner in (*item.first, item.body, *item.last):
                yield from loops(inner)
