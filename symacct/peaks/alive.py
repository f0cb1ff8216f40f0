"""Where a step is at its highest, at given sizes, and what is alive at that moment, by tensor, as formulas.

A folded step is walked with numbers: a loop over an equal body is highest in its first or its last turn, and
one whose body depends on the turn at an end too, which the algebra of peaks has checked. The way to that
moment is kept, and what is alive there is summed along it with symbols, so that it holds for any count.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from symacct.algebra.evaluate import evaluate, names_of, require, substitute
from symacct.algebra.normal import normal, total
from symacct.algebra.summation import sum_over
from symacct.algebra.symbols import as_expr
from symacct.peaks.folding import Event, Items, Loop
from symacct.peaks.runs import loop_parts
from symacct.peaks.schedule import turn_symbol

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from sympy import Expr, Symbol

    from symacct.peaks.course import Course
    from symacct.peaks.folding import Size

Weigh = "Callable[[Size], Fraction]"
Around = tuple[tuple["Symbol", "Expr", "Expr"], ...]


@dataclass(frozen=True, slots=True)
class Stop:
    """One step of the way to a moment: an item, and for a loop the part of it and the turn."""

    at: int
    part: str = ""
    place: int = 0


@dataclass(frozen=True, slots=True)
class Held:
    """What is alive of a tensor at a moment: how many storages of it, and their bytes, as formulas.

    Attributes:
        name: the tensor, or whose gradient it is.
        kind: value, recomputed, gradient, parameter gradient or loss.
        saved: whether it is kept for backward.
        count: how many storages.
        nbytes: all of them together.
    """

    name: str
    kind: str
    saved: bool
    count: Expr
    nbytes: Expr


@dataclass(frozen=True, slots=True)
class Moment:
    """The worst moment of a step at given sizes.

    Attributes:
        nbytes: alive then, at these sizes, without what lives through the whole step.
        label: the op that ran.
        phase: forward, backward or recompute.
        turns: the loops around it: name, which turn as a formula (from 1), how many.
        alive: by tensor, oldest first.
    """

    nbytes: Fraction
    label: str
    phase: str
    turns: tuple[tuple[str, Expr, Expr], ...]
    alive: tuple[Held, ...]


@dataclass(frozen=True, slots=True)
class _Piece:
    net: Fraction
    peak: Fraction
    way: tuple[Stop, ...]


def moment(course: Course, weigh: Callable[[Size], Fraction], sizes: Mapping[str, int]) -> Moment:
    """Return the worst moment of a step at integer sizes, and what is alive then.

    Raises:
        SizeError: a size is missing.
    """
    walk = _Walk(course, weigh, sizes)
    piece = walk.piece(course.whole, walk.known)
    if not piece.way:
        return Moment(Fraction(0), "", "", (), ())
    found = _Along(course, weigh)
    event = found.along(course.whole, piece.way, dict(course.shape.into))
    return Moment(piece.peak, event.label, event.phase, tuple(found.turns), found.held())


def peak_at(course: Course, weigh: Callable[[Size], Fraction], sizes: Mapping[str, int]) -> Fraction:
    """Return the peak of a step at integer sizes, without what lives through the whole step."""
    walk = _Walk(course, weigh, sizes)
    return walk.piece(course.whole, walk.known).peak


class _Walk:
    """Walks folded items with numbers."""

    def __init__(self, course: Course, weigh: Callable[[Size], Fraction], sizes: Mapping[str, int]) -> None:
        known = {name: as_expr(size) for name, size in sizes.items()}
        back = course.shape.back.items()
        known |= {name: evaluate(e, sizes) for name, e in back if sizes.keys() >= set(names_of(e))}
        self.known: dict[str, Expr] = known
        self.course, self.given = course, sizes
        self.weigh = weigh
        self.sizes: dict[tuple[object, ...], Fraction] = {}

    def number(self, expr: Expr, known: Mapping[str, Expr]) -> Fraction:
        """Return a formula as a number.

        Raises:
            SizeError: a size is missing; it is named as the graph and the policy do.
        """
        around = tuple((s.name, known[s.name]) for s in expr.free_symbols if s.name.startswith("turn_"))
        key = (expr, around)
        if key not in self.sizes:
            if not known.keys() >= set(names_of(expr)):
                require(names_of(self.course.restored(expr)), self.given)
            value = evaluate(expr, known)
            self.sizes[key] = Fraction(int(value.p), int(value.q))
        return self.sizes[key]

    def size(self, size: Size, known: Mapping[str, Expr]) -> Fraction:
        """Return the bytes of a storage."""
        weight = self.weigh(size)
        return weight * self.number(size.elements, known) if weight else Fraction(0)

    def piece(self, items: Items, known: Mapping[str, Expr]) -> _Piece:
        """Return the net, the peak and the way to it."""
        level, best = Fraction(0), Fraction(0)
        way: tuple[Stop, ...] = ()
        for at, item in enumerate(items):
            if isinstance(item, Event):
                level += sum(self.size(size, known) for size in item.makes)
                if level > best:
                    best, way = level, (Stop(at),)
                level -= sum(self.size(size, known) for size in item.drops)
                continue
            for stop, inner in self.parts(item, at, known):
                if inner is None:
                    level += self.skipped(item, known)
                    continue
                if level + inner.peak > best:
                    best, way = level + inner.peak, (stop, *inner.way)
                level += inner.net
        return _Piece(level, best, way)

    def parts(self, loop: Loop, at: int, known: Mapping[str, Expr]) -> Iterator[tuple[Stop, _Piece | None]]:
        """Yield the parts of a loop; None stands for the turns between the first and the last of the body."""
        count, turn = int(self.number(loop.count, known)), turn_symbol(loop.name).name
        for place, part in enumerate(loop.first):
            yield Stop(at, "first", place), self.piece(part, known)
        start, end = len(loop.first), count - len(loop.last)
        yield Stop(at, "begin"), self.piece(loop.body, {**known, turn: as_expr(start)})
        if end - start > 1:
            yield Stop(at, "between"), None
            yield Stop(at, "end"), self.piece(loop.body, {**known, turn: as_expr(end - 1)})
        for place, part in enumerate(loop.last):
            yield Stop(at, "last", place), self.piece(part, known)

    def skipped(self, loop: Loop, known: Mapping[str, Expr]) -> Fraction:
        """Return the net of the turns of the body that are neither its first nor its last."""
        count, turn = normal(substitute(loop.count, known)), turn_symbol(loop.name)
        between = (turn, as_expr(len(loop.first) + 1), normal(count - len(loop.last) - 1))
        return sum(
            (
                sign * self.weigh(size) * self.number(_summed(size.elements, known, (between, *around)), {})
                for sign, size, around in _steps(loop.body, known)
                if self.weigh(size)
            ),
            Fraction(0),
        )


def _summed(expr: Expr, known: Mapping[str, Expr], around: Around) -> Expr:
    """Return a formula summed over the turns around it."""
    expr = normal(substitute(expr, known))
    for turn, lo, hi in reversed(around):
        expr = sum_over(expr, turn, lo, hi)
    return expr


def _steps(
    items: Items, known: Mapping[str, Expr], around: Around = ()
) -> Iterator[tuple[int, Size, Around]]:
    """Yield what each step makes (1) and drops (-1), with the turns around it."""
    for item in items:
        if isinstance(item, Event):
            yield from ((1, size, around) for size in item.makes)
            yield from ((-1, size, around) for size in item.drops)
            continue
        for turns, part in loop_parts(item, known):
            yield from _steps(part, known, (*around, turns))


class _Along:
    """Sums what is alive on the way to a moment."""

    def __init__(self, course: Course, weigh: Callable[[Size], Fraction]) -> None:
        self.course = course
        self.weigh = weigh
        self.turns: list[tuple[str, Expr, Expr]] = []
        self.found: dict[tuple[str, str, bool], list[tuple[Expr, Expr]]] = {}

    def add(self, sign: int, size: Size, known: Mapping[str, Expr], around: Around = ()) -> None:
        """Add what a step makes or drops."""
        weight = self.weigh(size)
        if weight:
            expr = _summed(size.elements, known, around)
            count = _summed(as_expr(1), known, around)
            parts = self.found.setdefault((size.name, size.kind, size.saved), [])
            parts.append((count * sign, expr * sign * as_expr(weight)))

    def along(self, items: Items, way: tuple[Stop, ...], known: dict[str, Expr]) -> Event:
        """Walk to the moment, and return the step that ran then."""
        stop, *rest = way
        for item in items[: stop.at]:
            for sign, size, around in _steps((item,), known):
                self.add(sign, size, known, around)
        there = items[stop.at]
        if isinstance(there, Event):
            for size in there.makes:
                self.add(1, size, known)
            return there
        return self.into(there, stop, tuple(rest), known)

    def into(self, loop: Loop, stop: Stop, rest: tuple[Stop, ...], known: dict[str, Expr]) -> Event:
        """Walk into a loop: all turns before, then the one of the moment."""
        parts = list(loop_parts(loop, known))
        first = len(loop.first)
        at = {"first": stop.place, "begin": first, "end": first, "last": first + 1 + stop.place}[stop.part]
        for turns, part in parts[:at]:
            for sign, size, around in _steps(part, known):
                self.add(sign, size, known, (turns, *around))
        (turn, lo, hi), part = parts[at]
        here = hi - 1 if stop.part == "end" else lo
        if stop.part == "end":
            for sign, size, around in _steps(part, known):
                self.add(sign, size, known, ((turn, lo, here), *around))
        count = normal(substitute(loop.count, known))
        self.turns.append((loop.name, self.course.restored(here + 1), self.course.restored(count)))
        return self.along(part, rest, {**known, turn.name: normal(here)})

    def held(self) -> tuple[Held, ...]:
        """Return what is alive, by tensor."""
        rows = []
        for (name, kind, saved), parts in self.found.items():
            count, nbytes = (self.course.restored(total(one)) for one in zip(*parts, strict=True))
            if nbytes != 0:
                rows.append(Held(name, kind, saved, count, nbytes))
        return tuple(rows)
