"""The best length where all other sizes are numbers: exact, proved by the curves that meet there."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from sympy import Rational, factor_list, sqrt

from symacct.algebra.normal import normal
from symacct.planning.best_points import Curve, gap

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sympy import Expr, Symbol


@dataclass(frozen=True, slots=True)
class Surd:
    """A number ``plain + times*sqrt(under)`` of fractions, with ``under`` not negative.

    >>> Surd(Fraction(-1), Fraction(1), Fraction(2)).sign, Surd(Fraction(2), Fraction(-1), Fraction(5)).sign
    (1, -1)
    """

    plain: Fraction
    times: Fraction = Fraction(0)
    under: Fraction = Fraction(0)

    @property
    def sign(self) -> int:
        """1, 0 or -1."""
        plain = (self.plain > 0) - (self.plain < 0)
        times = (self.times > 0) - (self.times < 0) if self.under else 0
        if plain * times >= 0:
            return plain or times
        square = self.plain**2 - self.times**2 * self.under
        return plain if square > 0 else times if square < 0 else 0

    def of(self, poly: tuple[Fraction, Fraction, Fraction]) -> Surd:
        """Return the value of ``a*x**2 + b*x + c`` here."""
        square, line, rest = poly
        plain = square * (self.plain**2 + self.times**2 * self.under) + line * self.plain + rest
        return Surd(plain, self.times * (2 * square * self.plain + line), self.under)

    @property
    def expr(self) -> Expr:
        """The number as a formula."""
        return normal(_rational(self.plain) + _rational(self.times) * sqrt(_rational(self.under)))


def best_number(
    curves: Sequence[Curve], k: Symbol, low: Fraction, high: Fraction
) -> tuple[Surd, Curve] | None:
    """Return where the largest of curves with numbers is smallest, and a curve that is largest there.

    None where a curve is not convex.

    >>> from sympy import Integer
    >>> from symacct.algebra.symbols import symbol
    >>> one = Curve(Integer(1), Integer(12), Integer(0))
    >>> found = best_number([one], symbol("k"), Fraction(1), Fraction(12))
    >>> found[0].expr
    2*sqrt(3)
    """
    if any(one.fall < 0 for one in curves):
        return None
    kept = list(_strong(curves))
    for at in _places(kept, k, low, high):
        if (
            at.of((Fraction(0), Fraction(1), -low)).sign < 0
            or at.of((Fraction(0), Fraction(-1), high)).sign < 0
        ):
            continue
        top = [one for one in kept if all(at.of(_three(gap(one, other, k), k)).sign >= 0 for other in kept)]
        steep = [at.of((_fraction(one.rise), Fraction(0), -_fraction(one.fall))).sign for one in top]
        at_low = at.of((Fraction(0), Fraction(1), -low)).sign == 0
        at_high = at.of((Fraction(0), Fraction(1), -high)).sign == 0
        if (at_low or min(steep) <= 0) and (at_high or max(steep) >= 0):
            return at, top[0]
    raise AssertionError(curves)


def _strong(curves: Sequence[Curve]) -> Iterator[Curve]:
    """Yield the curves that no other one is above at every length."""
    found: dict[tuple[Expr, Expr], Curve] = {}
    for one in curves:
        key = (one.rise, one.fall)
        if key not in found or one.rest > found[key].rest:
            found[key] = one
    yield from found.values()


def _places(curves: Sequence[Curve], k: Symbol, low: Fraction, high: Fraction) -> Iterator[Surd]:
    """Yield the lengths that may be best: the ends, where a curve is flat, where two cross."""
    yield Surd(low)
    for one in curves:
        if one.rise > 0 and one.fall > 0:
            yield Surd(Fraction(0), Fraction(1), _fraction(one.fall / one.rise))
    for place, one in enumerate(curves):
        for other in curves[place + 1 :]:
            yield from _roots(gap(one, other, k), k)
    yield Surd(high)


def _roots(poly: Expr, k: Symbol) -> Iterator[Surd]:
    for factor, _ in factor_list(poly)[1] if poly.has(k) else ():
        square, line, rest = _three(factor, k)
        if not square:
            yield Surd(-rest / line)
            continue
        under = line**2 - 4 * square * rest
        if under >= 0:
            yield Surd(-line / (2 * square), 1 / (2 * square), under)
            yield Surd(-line / (2 * square), -1 / (2 * square), under)


def _three(poly: Expr, k: Symbol) -> tuple[Fraction, Fraction, Fraction]:
    square, line, rest = (_fraction(normal(poly).coeff(k, n)) for n in (2, 1, 0))
    return square, line, rest


def _fraction(value: Expr) -> Fraction:
    return Fraction(int(value.p), int(value.q))


def _rational(value: Fraction) -> Rational:
    return Rational(value.numerator, value.denominator)
