"""Why a schedule at small counts stands for all larger ones: induction on what lives on from turn to turn.

The interpreter is deterministic: what it does in a turn follows from what lives on into it. So when that is,
up to the shift by a turn, the same at two boundaries that follow each other, every later turn does the same
as this one. Forward, what lives on are the carried values: which storage each is, told by its maker and its
age in turns, and whether a gradient is wanted. Backward runs the same frames latest first, and what lives on
are the cotangents that wait. A storage dies after its last reader, whose distance in turns is bounded by the
largest age that was seen. Hence, for each loop:

* forward is settled from turn ``m`` on, backward after ``t`` turns, both found and not assumed;
* no storage is read more than ``a`` turns away from where it was made; what is read from outside the loop
  was made, and what comes from outside dies, within some turns of an end;
* who keeps a storage for backward stands in its turn or up to ``a`` turns later: each turn from ``w`` on
  wants the gradients that the next one does, and all but the last ``u`` run backward what the others do;
* so all turns from ``max(m, w + a)`` to ``n - 1 - max(t, u + a)`` do, make and drop the same, however many
  there are; one such turn in the middle is enough to know them all.

A count too small for a turn in the middle is raised, up to a bound; where nothing settles there is no formula
for every count, and the reader is told.
"""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from symacct.algebra.evaluate import substitute
from symacct.algebra.normal import normal
from symacct.algebra.symbols import as_expr
from symacct.peaks.turns import BACKWARD, MICRO, turn_symbol

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence

    from sympy import Expr, Symbol

    from symacct.peaks.steps import Boundary, Mark, Marks, Schedule, Storage, Value

AGAIN, SEGMENTS = "/again", "/segments"


@dataclass(frozen=True, slots=True)
class Zone:
    """How many first and last turns of a loop are apart, in the order of the forward pass."""

    first: int
    last: int

    @property
    def least(self) -> int:
        """The number of turns from which there is one in the middle."""
        return self.first + self.last + 1


@dataclass(frozen=True, slots=True)
class Place:
    """One turn of a loop as a position in the graph: forward, backward and run again alike."""

    loop: str
    turn: int
    turns: int


Position = tuple[Place, ...]


@dataclass(frozen=True, slots=True)
class Settled:
    """What was found of a schedule.

    Attributes:
        zones: by loop, those that have a turn in the middle everywhere they should.
        short: counts that are too small, with the number of turns that is needed, where that is known.
        loops: the symbols in the counts of each loop.
        middle: how many turns in the middle are wanted.
    """

    zones: Mapping[str, Zone]
    short: tuple[tuple[Expr, int | None], ...]
    loops: Mapping[str, frozenset[Symbol]]
    middle: int = 1


def settled(schedule: Schedule, middle: int = 1) -> Settled:
    """Return what a schedule shows about its loops.

    Args:
        schedule: at integer counts.
        middle: how many turns in the middle are wanted.
    """
    return _Search(schedule, middle).found()


def position(marks: Marks) -> Position:
    """Return where a step stands in the forward pass, which backward and what runs again retrace."""
    found: list[Place] = []
    for mark in marks:
        loop, turn = mark.loop, mark.turn
        if loop.endswith(BACKWARD):
            loop, turn = loop.removesuffix(BACKWARD), mark.turns - 1 - turn
        elif loop.endswith(AGAIN):
            loop = loop.removesuffix(AGAIN)
            found = found[: next((k for k, p in enumerate(found) if p.loop == loop), None)]
        found.append(Place(loop, turn, mark.turns))
    return tuple(found)


def zone_of(mark: Mark) -> str:
    """Return the name of the zone of a loop: one for forward and backward, one for what runs again."""
    return mark.loop.removesuffix(BACKWARD)


class _Search:
    """Looks for the turns in the middle of each loop."""

    def __init__(self, schedule: Schedule, middle: int) -> None:
        self.schedule = schedule
        self.middle = middle
        turns = {id(action.marks): action.marks for action in schedule.actions}
        known = {marks: position(marks) for marks in turns.values()}
        self.marks = tuple(known)
        places = {key: known[marks] for key, marks in turns.items()}
        self.positions = [places[id(action.marks)] for action in schedule.actions]
        numbers = {marks: at for at, marks in enumerate(known)}
        self.names = _names(schedule, {key: numbers[marks] for key, marks in turns.items()})
        self.ran = self._runs()
        self.settles: Counter[str] = Counter()  # turns before forward is settled
        self.frames: Counter[str] = Counter()  # turns before each wants the gradients that the next one does
        self.unwinds: Counter[str] = Counter()  # turns of backward before it is settled
        self.unlike: Counter[str] = Counter()  # turns of backward before each runs what the next one does
        self.ages: Counter[str] = Counter()
        self.starts: Counter[str] = Counter()  # turns near an end that are seen from outside the loop
        self.ends: Counter[str] = Counter()
        self._note(_stops(self.marks))

    def found(self) -> Settled:
        """Return zones, and the counts that are too small."""
        for storage in self.schedule.storages:
            if storage.fixed or storage.forever:
                continue
            if storage.whole:  # no turn reads it last: both ends lie near an end of the loops they are in
                for at in (storage.born, storage.last):
                    self._note(map(_near, self.positions[at][1:]))
            else:
                self._lives(storage.born, storage.last)
        restless = self._boundaries()
        instances = tuple(self._instances())
        loops: dict[str, frozenset[Symbol]] = {}
        for outer, mark, _ in instances:
            counts = (mark.count, *(m.count for m in _turning(mark, outer)))
            name = zone_of(mark)
            loops[name] = loops.get(name, frozenset()).union(*(c.free_symbols for c in counts))
        zones = {name: self._zone(name) for name in loops}
        while True:
            before = dict(zones)
            short = [one for each in instances for one in self._short(*each, restless, zones)]
            if zones == before:
                return Settled(zones, tuple(dict.fromkeys(short)), loops, self.middle)

    def _short(
        self,
        outer: Marks,
        mark: Mark,
        place: Place,
        restless: set[tuple[Hashable, str]],
        zones: dict[str, Zone],
    ) -> Iterator[tuple[Expr, int | None]]:
        """Yield what is too short for one run of a loop, or widen the zones that its few turns stand in."""
        least = zones[zone_of(mark)].least + self.middle - 1
        unsettled = (tuple((p.loop, p.turn) for p in position(outer)), place.loop) in restless
        if place.turns >= least and not unsettled:
            return
        turning = _turning(mark, outer)
        widened = _literal(mark, outer, place.turns)
        if not turning:
            yield mark.count, None if unsettled else least
        elif widened is None:
            own = mark.count.free_symbols - {turn_symbol(m.loop) for m in outer}
            yield from ((count, None) for count in ([mark.count] if own else [m.count for m in turning]))
        else:
            for name, first, last in widened:
                zones[name] = Zone(max(zones[name].first, first), max(zones[name].last, last))

    def _zone(self, name: str) -> Zone:
        """Return the turns of a loop that are apart.

        What runs again may stop before its last turn; what it keeps to its end dies where it stops.
        """
        loop = name.removesuffix(AGAIN)
        again = name.endswith((AGAIN, SEGMENTS))  # the last may stop early, or be shorter
        first = max(self.settles[loop], self.frames[loop] + self.ages[loop])
        unlike = max(self.unwinds[loop], 1) if name.endswith(AGAIN) else self.unlike[loop]
        last = max(self.unwinds[loop], unlike + self.ages[loop], int(again))
        return Zone(
            max(first, self.starts[loop], self.starts[name]), max(last, self.ends[loop], self.ends[name])
        )

    def _instances(self) -> Iterator[tuple[Marks, Mark, Place]]:
        """Yield every loop with a symbolic count, each time it runs, with the loops around it."""
        seen = set()
        for marks in self.marks:
            for k, mark in enumerate(marks):
                if mark.count.is_Integer:
                    continue
                key = (*((m.loop, m.turn) for m in marks[:k]), mark.loop)
                if key not in seen:
                    seen.add(key)
                    yield marks[:k], mark, position(marks[: k + 1])[-1]

    # ---- how far what is made is read ----

    def _lives(self, born: int, dies: int) -> None:
        """Note how many turns lie between where a storage is made and where it dies.

        What is made again can be told by more than one place: where its op stands in the graph, and, where it
        dies in the same turn of backward, how far apart both are within that turn. The nearest counts, and
        two turns in the middle are compared then.
        """
        found = _apart(self.positions[born], self.positions[dies])
        made, last = self.schedule.actions[born], self.schedule.actions[dies]
        if found and made.phase == "recompute":
            (base, inner), (other, inside) = _split(made.marks), _split(last.marks)
            (own, rest), (its, left) = (
                _own(self.positions[at], self.schedule.actions[at].at) for at in (born, dies)
            )
            within = _apart(position(inner), position(inside)) if base == other else found
            nearest = min(found, within, [*_apart(own, its), *map(_near, (*rest, *left))], key=_farthest)
            if _farthest(nearest) < _farthest(
                found
            ):  # near by chance at one turn, it would not be at the next
                found, self.middle = nearest, max(self.middle, 2)
        self._note(found)

    def _note(self, found: Iterable[tuple[str, str, int]]) -> None:
        """Note how many turns lie between two places, or between one and an end."""
        for known, loop, turns in found:
            counter = getattr(self, known)
            counter[loop] = max(counter[loop], turns)

    # ---- what lives on from turn to turn ----

    def _boundaries(self) -> set[tuple[Hashable, str]]:
        """Find where each loop settles, and return those that do not."""
        groups: dict[tuple[Hashable, str, bool], dict[int, Boundary]] = defaultdict(dict)
        turns: dict[tuple[Hashable, str, bool], int] = {}
        for boundary in self.schedule.boundaries:
            if boundary.marks[-1].count.is_Integer:
                continue
            *outer, place = position(boundary.marks)
            back = boundary.marks[-1].loop.endswith(BACKWARD)
            key = (tuple((p.loop, p.turn) for p in outer), place.loop, back)
            groups[key][place.turn] = boundary
            turns[key] = place.turns
        restless: set[tuple[Hashable, str]] = set()
        for (outer_, loop, back), group in groups.items():
            if not back and not self._forward(loop, group):
                restless.add((outer_, loop))
        for (outer_, loop, back), group in groups.items():
            settled_ = self.settles[loop]
            if back and not self._backward(loop, group, turns[outer_, loop, back], settled_):
                restless.add((outer_, loop))
        return restless

    def _forward(self, loop: str, group: Mapping[int, Boundary]) -> bool:
        """Find the turn from which on what is carried is the same; at least two boundaries show it.

        The last one may differ: a segment that is shorter, or the end.
        """
        order = sorted(group)
        states = [self._state(group[turn]) for turn in order]
        for at, (one, other) in enumerate(itertools.pairwise(states)):
            if one[0] == other[0] and all(later[0] == one[0] for later in states[at + 2 : -1]):
                self.settles[loop] = max(self.settles[loop], order[at])
                self.frames[loop] = max(self.frames[loop], self._alike(group, order[: at + 1]))
                self.ages[loop] = max(self.ages[loop], one[1])
                return True
        return False

    def _alike(self, group: Mapping[int, Boundary], order: Sequence[int]) -> int:
        """Return the first of some turns from which on each wants the same gradients as the next one does."""
        if not group[order[-1]].ordered:
            return order[-1]
        wanted = [[flag for _, _, flag in group[turn].held] for turn in order]
        return next(turn for turn, flags in zip(order, wanted, strict=True) if flags == wanted[-1])

    def _backward(self, loop: str, group: Mapping[int, Boundary], turns: int, low: int) -> bool:
        """Find how many turns backward runs until what waits is the same, among frames that are."""
        order = [turn for turn in sorted(group, reverse=True) if turn >= low - 1]  # before and after each
        if not order:
            return True
        states = [self._state(group[turn]) for turn in order]
        for at, (one, other) in enumerate(itertools.pairwise(states)):
            if one[0] == other[0]:
                self.unwinds[loop] = max(self.unwinds[loop], turns - 1 - order[at])
                ran = [self.ran[self._turn(group[turn])] for turn in order[: at + 1]]
                self.unlike[loop] = max(self.unlike[loop], next(k for k, r in enumerate(ran) if r == ran[-1]))
                self.ages[loop] = max(self.ages[loop], one[1])
                return True
        return False

    def _turn(self, boundary: Boundary) -> tuple[tuple[str, int], ...]:
        return tuple((place.loop, place.turn) for place in position(boundary.marks))

    def _runs(self) -> dict[tuple[tuple[str, int], ...], set[str]]:
        """Return which ops run backward in each turn, however deep inside it."""
        labels: dict[Marks, set[str]] = defaultdict(set)
        for action in self.schedule.actions:
            if action.phase == "backward" and action.marks:
                labels[action.marks].add(action.label)
        found: dict[tuple[tuple[str, int], ...], set[str]] = defaultdict(set)
        for marks, ran in labels.items():
            turns = tuple((place.loop, place.turn) for place in position(marks))
            for depth in range(1, len(turns) + 1):
                found[turns[:depth]] |= ran
        return found

    def _state(self, boundary: Boundary) -> tuple[Hashable, int]:
        """Return what lives on, told by maker and age, and the largest age."""
        here = position(boundary.marks)
        found: list[Hashable] = []
        age = 0
        for value, storage, flag in boundary.held:
            left, a = self._value(value, boundary, here)
            right, b = self._storage(storage, boundary, here)
            found.append((left, right, flag))
            age = max(age, abs(a), abs(b))
        return (tuple(found) if boundary.ordered else frozenset(Counter(found).items())), age

    def _value(self, value: Value, boundary: Boundary, here: Position) -> tuple[Hashable, int]:
        if value.born < 0:
            return _leaf(value.storage, boundary, here)
        return _seen(self.positions[value.born], value.tensor.name, here, value)

    def _storage(self, storage: Storage, boundary: Boundary, here: Position) -> tuple[Hashable, int]:
        if storage.born < 0:
            return _leaf(storage, boundary, here)
        return _seen(self.positions[storage.born], self.names[id(storage)], here, storage)


def _stops(every: Iterable[Marks]) -> Iterator[tuple[str, str, int]]:
    """Yield how near to an end of its loop what runs again stops, each time."""
    latest: dict[tuple[tuple[str, int], ...], Mark] = {}
    for marks in every:
        for k, mark in enumerate(marks):
            if mark.loop.endswith(AGAIN):
                key = (*((m.loop, m.turn) for m in marks[:k]), (mark.loop, -1))
                if key not in latest or latest[key].turn < mark.turn:
                    latest[key] = mark
    return (_near(Place(mark.loop, mark.turn, mark.turns)) for mark in latest.values())


def _apart(born: Position, dies: Position) -> list[tuple[str, str, int]]:
    """Return how many turns lie between two places, or between one and an end, by loop."""
    found: list[tuple[str, str, int]] = []
    k = 0
    while k < min(len(born), len(dies)) and born[k].loop == dies[k].loop:
        k += 1
        if born[k - 1].turn != dies[k - 1].turn:
            found.append(("ages", born[k - 1].loop, abs(born[k - 1].turn - dies[k - 1].turn)))
            break
    return [*found, *map(_near, (*born[k:], *dies[k:]))]


def _near(place: Place) -> tuple[str, str, int]:
    """Return how many turns lie between a place and the nearest end of its loop."""
    start, end = place.turn, place.turns - 1 - place.turn
    return ("starts", place.loop, start + 1) if start <= end else ("ends", place.loop, end + 1)


def _own(whole: Position, at: Mapping[str, int]) -> tuple[Position, Position]:
    """Return where an op stands in the graph, and the turns of other loops in which it runs again."""
    own = tuple(p for p in whole if p.loop == MICRO or p.loop.removesuffix("/segments") in at)
    return own, tuple(p for p in whole if p not in own)


def _farthest(found: list[tuple[str, str, int]]) -> int:
    return max((turns for _, _, turns in found), default=0)


@lru_cache(maxsize=1 << 12)
def _split(marks: Marks) -> tuple[tuple[tuple[str, int], ...], Marks]:
    """Return the turns of backward that a step stands in, and the loops that run again in them."""
    inner = tuple(m for m in marks if m.loop.endswith(AGAIN))
    return tuple((m.loop, m.turn) for m in marks if not m.loop.endswith(AGAIN)), inner


def _seen(made: Position, name: Hashable, here: Position, one: object) -> tuple[Hashable, int]:
    """Return what something is, as seen from a turn: by maker and age, or itself if it comes from outside."""
    k = len(here) - 1
    same = len(made) > k and all(
        (a.loop, a.turn) == (b.loop, b.turn) for a, b in zip(made[:k], here[:k], strict=True)
    )
    if not same or made[k].loop != here[k].loop:
        return id(one), 0
    age = here[k].turn - made[k].turn
    return (name, age, tuple(map(_near, made[k + 1 :]))), age


def _leaf(storage: Storage, boundary: Boundary, here: Position) -> tuple[Hashable, int]:
    """Return which slice of a weight, an input or a constant something is, as seen from a turn."""
    around = {place.loop.removesuffix("/segments") for place in here}
    at = tuple(
        boundary.at[name] - turn if name in around and name in boundary.at else turn
        for name, turn in zip(storage.tensor.path, storage.at, strict=False)
    )
    return (storage.tensor.name, at), 0


def _names(schedule: Schedule, turns: Mapping[int, int]) -> dict[int, Hashable]:
    """Return a name for each storage that is its own among those made in one turn, told by a number."""
    found: dict[int, Hashable] = {}
    taken: Counter[Hashable] = Counter()
    for action in schedule.actions:
        for storage in action.makes:
            name = (action.label, action.phase, storage.tensor.name, storage.kind)
            where = (name, turns[id(action.marks)])
            found[id(storage)] = (name, taken[where])
            taken[where] += 1
    return found


def _turning(mark: Mark, outer: Marks) -> list[Mark]:
    """Return the loops around whose turn a count depends on."""
    return [m for m in outer if turn_symbol(m.loop) in mark.count.free_symbols]


def _literal(mark: Mark, outer: Marks, turns: int) -> list[tuple[str, int, int]] | None:
    """Return which outer turns must stand apart so that a short loop always has as many turns as here.

    That is so where the loops its count depends on stand so far from an end that is a number.
    """
    count = mark.count
    found: list[tuple[str, int, int]] = []
    for around in reversed(outer):
        turn = turn_symbol(around.loop)
        if turn not in count.free_symbols:
            continue
        start, end = around.turn, around.turns - 1 - around.turn
        from_start = normal(substitute(count, {turn.name: as_expr(start)}))
        from_end = normal(substitute(count, {turn.name: around.count - 1 - end}))
        backward = around.loop.endswith(BACKWARD)
        name = zone_of(around)
        if from_start.is_Integer or (not from_end.is_Integer and start <= end):
            count = from_start
            found.append((name, 0, start + 1) if backward else (name, start + 1, 0))
        else:
            count = from_end
            found.append((name, end + 1, 0) if backward else (name, 0, end + 1))
    return found if count == turns else None
