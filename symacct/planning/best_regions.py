"""At which sizes which length is best: split by signs until one length is proved best in each part."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sympy import Add, cancel, factor, sqrt

from symacct.algebra.condition import Condition
from symacct.algebra.normal import normal
from symacct.algebra.symbols import as_expr
from symacct.errors import LimitError
from symacct.planning.best_cells import Box, Cell
from symacct.planning.best_points import Plain, Root, candidates, gap, judged

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from sympy import Expr, Symbol

    from symacct.planning.best_points import Candidate, Curve, Test

MOST_PARTS = 48


@dataclass(frozen=True, slots=True)
class Case:
    """A length that is best where the conditions hold.

    Attributes:
        k: the length.
        conditions: when it is best.
        peaks: formulas of which the peak there is the largest.
        saves: False where the peak is proved to be at least that without checkpoints, True where it is proved
            to be at most that, None where neither is.
    """

    k: Expr
    conditions: tuple[Condition, ...]
    peaks: tuple[Expr, ...]
    saves: bool | None = None

    def holds(self, sizes: Mapping[str, int]) -> bool:
        """Say whether the length is proved best at these sizes."""
        return all(one.holds(sizes) for one in self.conditions)


@dataclass(frozen=True, slots=True)
class Part:
    """A part of the sizes: polynomials that are at least 0 there, and what is best."""

    known: tuple[Expr, ...]
    k: Expr
    peaks: tuple[Expr, ...]
    saves: bool | None


class Regions:
    """The parts of a box, by which candidate is best.

    Args:
        box: the sizes.
        k: the length.
        ends: between which lengths.
        plain: formulas of which the peak without checkpoints is the largest.
    """

    def __init__(self, box: Box, k: Symbol, ends: tuple[Expr, Expr], plain: Sequence[Expr]) -> None:
        """Keep them."""
        self.box = box
        self.k = k
        self.ends = ends
        low, high = ends
        self.wide = Box({**box.least, k: int(low) if low.is_Integer else 1})
        self.inside = [high - k] if low.is_Integer else [high - k, k - low]
        self.plain = tuple(plain)
        self.parts: list[Part] = []
        self.open: list[tuple[Expr, ...]] = []
        self.count = 0

    def cases(self, curves: Sequence[Curve]) -> tuple[Case, ...]:
        """Return the cases; together with the parts left open they cover all sizes.

        Raises:
            LimitError: there are too many.
        """
        self._thin(Cell(self.box), list(curves))
        merged = self._merged(list(dict.fromkeys(self.parts)))
        return tuple(
            Case(part.k, tuple(_condition(one) for one in part.known), part.peaks, part.saves)
            for part in merged
        )

    def _thin(self, cell: Cell, curves: list[Curve]) -> None:
        """Leave out curves that are nowhere above another one; split where that depends on the sizes.

        Only what is free of the length and decides alone is split by.
        """
        self._count()
        wide = Cell(self.wide, (*cell.known, *self.inside))
        for one in list(curves):
            others = (other for other in curves if other is not one)
            if any(wide.sign(gap(other, one, self.k)) in (1, 0) for other in others):
                curves = [other for other in curves if other is not one]
        pairs = ((a, b) for at, a in enumerate(curves) for b in curves[at + 1 :])
        open_ = [wide.open(gap(a, b, self.k)) for a, b in pairs]
        atoms = [atoms[0] for atoms in open_ if len(atoms) == 1 and not atoms[0].has(self.k)]
        if not atoms:
            found, skipped = candidates(curves, self.k, *self.ends)
            cell.thinned = len(cell.known)
            self._split(cell, found, skipped)
            return
        for way in _ways(min(atoms, key=_length)):
            self._thin(cell.within(way), curves)

    def _split(self, cell: Cell, live: Sequence[Candidate], skipped: tuple[Expr, ...]) -> None:
        """Find the best candidate of a cell, in parts of it if need be.

        A part where none is left has no inside: a maximum of convex curves has a smallest value, so that one
        would have been found there, but for two that cross at a root that was left out.
        """
        self._count()
        left: list[tuple[Candidate, tuple[Expr, ...]]] = []
        for one in live:
            depends = _depends(one, cell)
            if depends == ():
                self.parts.append(self._part(one, cell))
                return
            if depends is not None:
                left.append((one, depends))
        if not left:
            if skipped:
                self.open.append(cell.known)
            return
        fewest = min(left, key=lambda pair: len(pair[1]))[1]
        for way in _ways(min(fewest, key=_length)):
            self._split(cell.within(way), [one for one, _ in left], skipped)

    def _count(self) -> None:
        self.count += 1
        if self.count > MOST_PARTS:
            raise LimitError("there are too many regions", expected=f"at most {MOST_PARTS}", got="more")

    def _part(self, one: Candidate, cell: Cell) -> Part:
        """Return a candidate with what of a cell makes it the best: the cell lies in this region."""
        atoms = dict.fromkeys(a for test in one.tests for a in _settled(test, cell))
        signed = [atom if cell.of_atom(atom) == 1 else normal(-atom) for atom in atoms]
        known = self._needed([*cell.known[: cell.thinned], *signed])
        return Part(known, one.point.expr, (peak_of(one),), self._saves(one, Cell(self.box, known), cell))

    def _saves(self, one: Candidate, region: Cell, cell: Cell) -> bool | None:
        """Say whether the peak is at most, or at least, the one without checkpoints."""
        tests = [(Plain(as_expr(1)), *_above(one, other)) for other in self.plain]
        if not tests:
            return None
        for at in (region, cell):
            signs = [judged(test, at)[0] for test in tests]
            if all(sign in (0, 1) for sign in signs):
                return False
            if any(sign in (0, -1) for sign in signs):
                return True
        return None

    def _needed(self, known: Sequence[Expr]) -> tuple[Expr, ...]:
        """Return the conditions that the others do not imply, longest ones tried first."""
        kept = list(dict.fromkeys(known))
        for one in sorted(kept, key=_length, reverse=True):
            others = [other for other in kept if other != one]
            if Cell(self.box, others).of_atom(one) == 1:
                kept = others
        return tuple(kept)

    def _merged(self, parts: list[Part]) -> list[Part]:
        """Return the parts with those of one length joined where they are one region."""
        for at, one in enumerate(parts):
            for other in parts[at + 1 :]:
                joined = self._joined(one, other)
                if joined is not None:
                    rest = [part for part in parts if part not in (one, other)]
                    return self._merged([*rest[:at], joined, *rest[at:]])
        return parts

    def _joined(self, one: Part, other: Part) -> Part | None:
        if one.k != other.k or one.saves is not other.saves:
            return None
        peaks = tuple(dict.fromkeys((*one.peaks, *other.peaks)))
        for small, large in ((one, other), (other, one)):
            if self._all(small.known, large.known):
                return Part(
                    large.known, one.k, peaks if small.peaks != large.peaks else large.peaks, one.saves
                )
        for split in one.known:
            back = normal(-split)
            if back not in other.known:
                continue
            mine = tuple(e for e in one.known if e != split)
            theirs = tuple(e for e in other.known if e != back)
            for here, there, edge, whole in (
                (mine, theirs, back, other.known),
                (theirs, mine, split, one.known),
            ):
                if self._all(whole, here) and self._all((*here, edge), there):
                    return Part(here, one.k, peaks, one.saves)
        return None

    def _all(self, known: Sequence[Expr], wanted: Sequence[Expr]) -> bool:
        """Say whether some conditions imply all of others."""
        cell = Cell(self.box, known)
        return all(one in known or cell.proves(one) for one in wanted)


def peak_of(one: Candidate) -> Expr:
    """Return the peak at a candidate that is best."""
    curve, point = one.top, one.point
    if one.place == "flat":
        return normal(2 * sqrt(normal(curve.rise * curve.fall)) + curve.rest)
    found = [_valued(each, point.expr) for each in (curve, one.also) if each is not None]
    return min(found, key=lambda expr: (expr.count_ops(), str(expr)))


def _valued(one: Curve, at: Expr) -> Expr:
    """Return the value of a curve, quotients kept as they are."""
    moving = [cancel(one.rise * at), cancel(one.fall / at)]
    if all(part.is_polynomial(*part.free_symbols) for part in moving):
        return one.at(at)
    return Add(*(factor(part) for part in moving), one.rest)


def _above(one: Candidate, other: Expr) -> Test:
    """Return what is at least 0 where the peak at a candidate is at least a formula."""
    curve, point = one.top, one.point
    if one.place == "flat":
        return (Root(normal(curve.rest - other), as_expr(2), normal(curve.rise * curve.fall)),)
    top, below = point.top, point.below
    whole = curve.rise * top**2 + curve.fall * below**2 + (curve.rest - other) * top * below
    return (Plain(normal(whole)),)


def _depends(one: Candidate, cell: Cell) -> tuple[Expr, ...] | None:
    """Return the factors that decide whether a candidate is best in a cell; None where it is not."""
    found: dict[Expr, None] = {}
    for test in one.tests:
        sign, atoms = judged(test, cell)
        if sign == -1:
            return None
        found |= dict.fromkeys(atoms)
    return tuple(found)


def _settled(test: Test, cell: Cell) -> Iterator[Expr]:
    """Yield the factors that settle the sign of a product in a cell."""
    if judged(test, cell)[0] == 0:
        return
    for part in test:
        yield from part.atoms(cell)


def _ways(atom: Expr) -> tuple[Expr, Expr]:
    return atom, normal(-atom)


def _length(expr: Expr) -> tuple[int, int, str]:
    terms = expr.as_ordered_terms()
    return (
        len(terms),
        max(sum(p for p in t.as_powers_dict().values() if p.is_Integer) for t in terms),
        str(expr),
    )


def _condition(known: Expr) -> Condition:
    return Condition("at_least", known, as_expr(0))
