"""The algebra of peaks: a piece of schedule is the net it leaves and candidates for its peak above its start.

Pieces in sequence: nets add, later candidates start from the net before. A loop over an equal body has the
candidates of its first and its last turn, whatever the sign of the net, since the level at a point of a turn
is affine in the turn. Where a body depends on the turn, the level there is a sum; it is monotone or convex,
so that one end or both ends count, or there is no formula and the reader is told.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from symacct.algebra.evaluate import substitute
from symacct.algebra.maxima import undominated
from symacct.algebra.normal import normal
from symacct.algebra.sparse import Poly, degree, plus, product, put_in, whole
from symacct.algebra.summation import bernoulli
from symacct.errors import RuleError
from symacct.peaks.folding import Event
from symacct.peaks.schedule import turn_symbol

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from fractions import Fraction

    from sympy import Expr, Symbol

    from symacct.algebra.sparse import Ring
    from symacct.peaks.folding import Items, Loop, Size

REST = "_rest"
"""The name that the number of turns to come gets inside a body that depends on the turn."""


@dataclass(frozen=True, slots=True)
class Piece:
    """The net a piece of schedule leaves, and candidates for its peak above its start."""

    net: Poly
    peaks: tuple[Poly, ...]


class Composer:
    """Turns folded items into pieces, in one ring of polynomials.

    ``weigh`` says how many bytes an element of a storage takes, 0 for one that does not count.
    """

    def __init__(self, ring: Ring, weigh: Callable[[Size], Fraction]) -> None:
        self.ring = ring
        self.weigh = weigh
        self.weights: dict[Size, tuple[Fraction, tuple[str, ...]]] = {}
        self.known: dict[tuple[Size, tuple[tuple[str, Expr], ...]], Poly] = {}

    def piece(self, items: Items, known: Mapping[str, Expr]) -> Piece:
        """Return the piece of a sequence; ``known`` are formulas for counts and turns around it."""
        level, peaks = self.ring.number(0), [self.ring.number(0)]
        for item in items:
            if isinstance(item, Event):
                for size in item.makes:
                    level = plus(level, self.size(size, known))
                if item.drops:
                    peaks.append(level)
                for size in item.drops:
                    level = plus(level, self.size(size, known), -1)
            else:
                inner = self.loop(item, known)
                peaks += [plus(level, peak) for peak in inner.peaks]
                level = plus(level, inner.net)
        return Piece(level, undominated([*peaks, level]))

    def size(self, size: Size, known: Mapping[str, Expr]) -> Poly:
        """Return the bytes of a storage."""
        if size not in self.weights:
            free = sorted(one.name for one in size.elements.free_symbols)
            self.weights[size] = self.weigh(size), tuple(free)
        weight, names = self.weights[size]
        if not weight:
            return {}
        key = (size, tuple((name, known[name]) for name in names if name in known))
        if key not in self.known:
            elements = substitute(size.elements, dict(key[1]))
            self.known[key] = {p: whole(c * weight) for p, c in self.ring.poly(elements).items()}
        return self.known[key]

    def loop(self, loop: Loop, known: Mapping[str, Expr]) -> Piece:
        """Return the piece of a loop: its first turns, its body so many times, its last turns."""
        count = normal(substitute(loop.count, known))
        level, peaks = self.ring.number(0), []
        for part in (*loop.first, None, *loop.last):
            inner = self.body(loop, count, known) if part is None else self.piece(part, known)
            peaks += [plus(level, peak) for peak in inner.peaks]
            level = plus(level, inner.net)
        return Piece(level, undominated([*peaks, level]))

    def body(self, loop: Loop, count: Expr, known: Mapping[str, Expr]) -> Piece:
        """Return the piece of the turns that are alike; there is at least one."""
        turn = turn_symbol(loop.name)
        more = normal(count - loop.least)
        if not _depends(loop.body, turn):
            inner = self.piece(loop.body, known)
            times = self.ring.poly(more)
            later = product(times, inner.net)
            peaks = [p for peak in inner.peaks for p in (peak, plus(peak, later))]
            return Piece(plus(later, inner.net), undominated(peaks))
        return self._varying(loop, more, known)

    def _varying(self, loop: Loop, more: Expr, known: Mapping[str, Expr]) -> Piece:
        """Return the piece of a body that depends on the turn; ``more`` turns follow the first of it."""
        turn, rest = turn_symbol(loop.name), rest_symbol(loop.name)
        inner_known = {**known, turn.name: turn + len(loop.first)}
        free = [s for s in more.free_symbols if normal(more - s).is_number]
        solved = len(free) == 1
        if solved:
            inner_known[free[0].name] = normal(turn + rest - (more - free[0]))
        inner = self.piece(loop.body, inner_known)
        at, to_come, total = self.ring.places[turn], self.ring.places[rest], self.ring.poly(more)
        e = self.ring.generator(turn)
        left = plus(total, e, -1)  # the turns to come are the total less this one
        net = put_in(inner.net, to_come, left) if solved else inner.net
        before = _summed(net, at, e)
        peaks: list[Poly] = []
        for peak in inner.peaks:
            level = plus(before, put_in(peak, to_come, left) if solved else peak)
            peaks += self._ends(level, at, total, loop.name)
        whole = put_in(before, at, plus(total, self.ring.number(1)))
        return Piece(whole, undominated(peaks))

    def _ends(self, level: Poly, at: int, total: Poly, name: str) -> list[Poly]:
        """Return the level at the turns where it may be highest.

        Raises:
            RuleError: it rises and falls again.
        """
        e: Poly = {tuple(int(place == at) for place in range(len(self.ring.bases))): 1}
        one = self.ring.number(1)
        first, last = put_in(level, at, {}), put_in(level, at, total)
        if degree(level, at) <= 1:
            return [first, last]
        step = plus(put_in(level, at, plus(e, one)), level, -1)
        bend = plus(put_in(step, at, plus(e, one)), step, -1)
        if self.ring.nonnegative(bend) or self.ring.nonnegative({p: -c for p, c in step.items()}):
            return [first, last]
        if self.ring.nonnegative(step):
            return [last]
        ends = put_in(step, at, plus(total, one, -1))
        falls = self.ring.nonnegative({p: -c for p, c in bend.items()})
        if degree(level, at) == 2 and falls and self.ring.nonnegative(ends):
            return [last]  # its steps become smaller, and the last of them still goes up
        raise _humped(name)


def rest_symbol(loop: str) -> Symbol:
    """Return the symbol for the turns that are still to come in a loop."""
    return turn_symbol(loop + REST)


def _humped(name: str) -> RuleError:
    return RuleError(
        f"the level of memory over the turns of {name} rises and falls again",
        expected="a level that is monotone or convex in the turn, for all sizes",
        got="one that is highest somewhere between",
        fix="bind the count of the repeat: then every turn is looked at",
    )


def _depends(items: Items, turn: Symbol) -> bool:
    """Say whether items depend on a turn."""
    for item in items:
        if isinstance(item, Event):
            if any(turn in size.elements.free_symbols for size in (*item.makes, *item.drops)):
                return True
        elif turn in item.count.free_symbols or any(
            _depends(part, turn) for part in (*item.first, item.body, *item.last)
        ):
            return True
    return False


def _summed(poly: Poly, at: int, e: Poly) -> Poly:
    """Return the sum of a polynomial over the turns before this one, by Faulhaber's formula."""
    found: Poly = {}
    for powers, value in poly.items():
        k = powers[at]
        rest = (*powers[:at], 0, *powers[at + 1 :])
        for j in range(k + 1):
            weight = _choose(k + 1, j) * bernoulli(j) / (k + 1)
            term: Poly = {rest: whole(value * weight)}
            for _ in range(k + 1 - j):
                term = product(term, e)
            found = plus(found, term)
    return {p: c for p, c in found.items() if c}


def _choose(n: int, k: int) -> int:
    from math import comb

    return comb(n, k)
