"""Where the largest of several curves ``a*k + b/k + c`` may be smallest, and what has to be seen for it.

With ``b >= 0`` the curves are convex. Their maximum is smallest at k exactly where one of the largest there
does not rise (or k is the lower end) and one does not fall (or k is the upper end): at an end, where one of
them is flat, or where two cross.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from sympy import Integer, cancel, factor_list, sqrt

from symacct.algebra.normal import normal
from symacct.errors import RuleError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sympy import Expr, Symbol

    from symacct.planning.best_cells import Cell

Place = Literal["lower end", "flat", "crossing", "upper end"]


@dataclass(frozen=True, slots=True)
class Curve:
    """One formula of a peak, as ``rise*k + fall/k + rest``."""

    rise: Expr
    fall: Expr
    rest: Expr

    def at(self, k: Expr) -> Expr:
        """Return its value at a length."""
        return normal(self.rise * k + self.fall / k + self.rest)


def curve(expr: Expr, k: Symbol) -> Curve:
    """Return a formula of a peak by its powers of the length of a segment.

    Raises:
        RuleError: it has other powers of it.

    >>> from symacct.algebra.symbols import symbol
    >>> curve(symbol("B") * symbol("L") / symbol("k") + 3, symbol("k"))
    Curve(rise=0, fall=B*L, rest=3)
    """
    parts = {1: Integer(0), -1: Integer(0), 0: Integer(0)}
    for term in normal(expr).as_ordered_terms():
        factor, power = term.as_independent(k)
        exponent = next((n for n in parts if power == k**n), None)
        if exponent is None:
            what = f"a peak is no sum of {k}, 1/{k} and what is free of {k}"
            raise RuleError(what, expected=f"a*{k} + b/{k} + c", got=str(term)[:64])
        parts[exponent] += factor
    return Curve(normal(parts[1]), normal(parts[-1]), normal(parts[0]))


@dataclass(frozen=True, slots=True)
class Root:
    """The sign of ``plain + times*sqrt(under)``, with ``under`` not negative."""

    plain: Expr
    times: Expr
    under: Expr

    def sign(self, cell: Cell) -> int | None:
        """Return the sign in a cell where it is known."""
        plain, times = cell.sign(self.plain), cell.sign(self.times)
        if plain == 0 or times == 0 or (plain is not None and plain == times):
            return times if plain == 0 else plain
        square = cell.sign(self.plain**2 - self.times**2 * self.under)
        if square in (1, 0) and plain is not None:
            return plain
        return times if square == -1 and times is not None else None

    def open(self, cell: Cell) -> tuple[Expr, ...]:
        """Return the factors that it depends on and whose sign is not known in a cell."""
        parts = (self.plain, self.times, self.plain**2 - self.times**2 * self.under)
        return tuple(atom for part in parts for atom in cell.open(part))

    def atoms(self, cell: Cell) -> tuple[Expr, ...]:
        """Return the factors that settle its sign in a cell."""
        plain, times = cell.sign(self.plain), cell.sign(self.times)
        parts = [self.plain, self.times]
        if plain == 0 or times == 0 or plain != times:
            square = self.plain**2 - self.times**2 * self.under
            parts = [square, self.plain if cell.sign(square) in (1, 0) else self.times]
            parts = [self.plain, self.times] if 0 in (plain, times) else parts
        return tuple(atom for part in parts for atom in cell.box.factored(part)[1])


@dataclass(frozen=True, slots=True)
class Plain:
    """The sign of a polynomial."""

    expr: Expr

    def sign(self, cell: Cell) -> int | None:
        """Return the sign in a cell where it is known."""
        return cell.sign(self.expr)

    def open(self, cell: Cell) -> tuple[Expr, ...]:
        """Return the factors whose sign is not known in a cell."""
        return cell.open(self.expr)

    def atoms(self, cell: Cell) -> tuple[Expr, ...]:
        """Return the factors that settle its sign."""
        return cell.box.factored(self.expr)[1]


Test = tuple["Root | Plain", ...]
"""Factors whose product must be at least 0."""


def judged(test: Test, cell: Cell) -> tuple[int | None, tuple[Expr, ...]]:
    """Return the sign of a product in a cell, and what it depends on where that is not known."""
    signs = [part.sign(cell) for part in test]
    if 0 in signs:
        return 0, ()
    if None in signs:
        return None, tuple(
            a for part, s in zip(test, signs, strict=True) if s is None for a in part.open(cell)
        )
    found = 1
    for sign in signs:
        found *= sign or 0
    return found, ()


@dataclass(frozen=True, slots=True)
class Point:
    """A length that is top/below, or the root of top/below."""

    top: Expr
    below: Expr
    root: bool = False

    @property
    def expr(self) -> Expr:
        """The length as a formula."""
        ratio = cancel(self.top / self.below)
        return normal(sqrt(ratio) if self.root else ratio)

    def between(self, low: Expr, high: Expr) -> Iterator[Test]:
        """Yield what must hold for the point to lie between two lengths above 0."""
        power = 2 if self.root else 1
        yield Plain(normal(self.top - low**power * self.below)), Plain(self.below)
        yield Plain(normal(high**power * self.below - self.top)), Plain(self.below)

    def steepness(self, one: Curve) -> Test:
        """Return what is at least 0 where a curve does not fall at the point."""
        top, below = (self.top, self.below) if self.root else (self.top**2, self.below**2)
        test = Plain(normal(one.rise * top - one.fall * below))
        return (test, Plain(self.below)) if self.root else (test,)

    def above(self, one: Curve, other: Curve, k: Symbol) -> Test:
        """Return what is at least 0 where a curve is at least another one at the point."""
        return self.sign_of(gap(one, other, k), k)

    def sign_of(self, poly: Expr, k: Symbol) -> Test:
        """Return the factors of a polynomial of degree 2 in the length, at the point."""
        if normal(poly) == 0:
            return (Plain(Integer(0)),)
        number, factors = factor_list(poly)
        test: list[Root | Plain] = [Plain(number)]
        for factor, power in factors:
            if power % 2:
                test.append(self._factor(factor, k))
        return tuple(test)

    def _factor(self, factor: Expr, k: Symbol) -> Root | Plain:
        if not factor.has(k):
            return Plain(normal(factor))
        square, line, rest = (normal(factor).coeff(k, n) for n in (2, 1, 0))
        if not self.root:
            whole = square * self.top**2 + line * self.top * self.below + rest * self.below**2
            return Plain(normal(whole))
        plain = square * self.top + rest * self.below
        return Root(normal(plain), normal(line), normal(self.top * self.below))


def gap(one: Curve, other: Curve, k: Symbol) -> Expr:
    """Return the difference of two curves times the length."""
    square, rest, line = (getattr(one, part) - getattr(other, part) for part in ("rise", "fall", "rest"))
    return normal(square * k**2 + line * k + rest)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A length that may be best.

    Attributes:
        place: what makes it one.
        point: the length.
        top: a curve that is largest there.
        tests: what must hold for it to be best.
        also: another curve that is largest there, where two cross.
    """

    place: Place
    point: Point
    top: Curve
    tests: tuple[Test, ...]
    also: Curve | None = None


def candidates(
    curves: Sequence[Curve], k: Symbol, low: Expr, high: Expr
) -> tuple[tuple[Candidate, ...], tuple[Expr, ...]]:
    """Return the lengths that may be best, and differences of curves whose roots are not rational."""
    found = list(_ends(curves, k, low, "lower end"))
    for one in curves:
        if one.rise != 0 and one.fall != 0:
            point = Point(one.fall, one.rise, root=True)
            tests = [*point.between(low, high), *_largest(point, one, curves, k), (Plain(one.rise),)]
            found.append(Candidate("flat", point, one, tuple(tests)))
    skipped: list[Expr] = []
    for place, one in enumerate(curves):
        for other in curves[place + 1 :]:
            found += _crossings(one, other, curves, k, (low, high), skipped)
    found += _ends(curves, k, high, "upper end")
    return tuple(found), tuple(skipped)


def _ends(curves: Sequence[Curve], k: Symbol, end: Expr, place: Place) -> Iterator[Candidate]:
    point = Point(end, Integer(1))
    for one in curves:
        steep = point.steepness(one)
        test = steep if place == "lower end" else (Plain(Integer(-1)), *steep)
        yield Candidate(place, point, one, (*_largest(point, one, curves, k), test))


def _largest(point: Point, one: Curve, curves: Sequence[Curve], k: Symbol) -> Iterator[Test]:
    return (point.above(one, other, k) for other in curves if other is not one)


def _crossings(
    one: Curve, other: Curve, curves: Sequence[Curve], k: Symbol, ends: tuple[Expr, Expr], skipped: list[Expr]
) -> Iterator[Candidate]:
    difference = gap(one, other, k)
    if not difference.has(k):
        return
    for factor, _ in factor_list(difference)[1]:
        square, line, rest = (normal(factor).coeff(k, n) for n in (2, 1, 0))
        if square != 0:
            skipped.append(factor)
            continue
        if line == 0 or rest == 0:
            continue
        point = Point(normal(-rest), normal(line))
        for falls, rises in ((one, other), (other, one)):
            others = [curve for curve in curves if curve not in (one, other)]
            tests = [
                *point.between(*ends),
                (Plain(Integer(-1)), *point.steepness(falls)),
                point.steepness(rises),
                *(point.above(rises, third, k) for third in others),
            ]
            yield Candidate("crossing", point, rises, tuple(tests), falls)
