"""Real roots of polynomials with rational coefficients, isolated between rational numbers."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from math import lcm
from typing import TYPE_CHECKING

from sympy import Dummy, Expr, Poly, Pow, Rational, sqrt, together
from sympy import fraction as over
from sympy.polys.polyerrors import BasePolynomialError

from symacct.algebra.budget import check_time
from symacct.errors import LimitError, RuleError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sympy import Symbol

LARGEST_DEGREE = 40
MOST_RADICALS = 3
CLOSE = Fraction(1, 10**9)


@dataclass(frozen=True, slots=True)
class Root:
    """A real root of an irreducible polynomial: the only one from `low` to `high`, equal if it is rational.

    >>> from sympy.abc import x
    >>> found = roots([Poly(x**2 - 2, x)])[-1].close()
    >>> found.exact, round(float(found.low), 6)
    (sqrt(2), 1.414214)
    """

    poly: Poly
    low: Fraction
    high: Fraction

    @property
    def rational(self) -> bool:
        """Whether it is a rational number."""
        return self.low == self.high

    @property
    def exact(self) -> Expr | None:
        """The number itself, where it is rational or a square root; None where only an interval is known."""
        if self.rational:
            return as_rational(self.low)
        if self.poly.degree() != 2:
            return None
        a, b, c = self.poly.all_coeffs()
        middle = -fraction_of(b) / (2 * fraction_of(a))
        reach = sqrt(b**2 - 4 * a * c) / (2 * abs(a))
        return as_rational(middle) + (reach if self._above(middle) else -reach)

    def _above(self, middle: Fraction) -> bool:
        here = self
        while here.low < middle < here.high:
            here = here.halved()
        return here.low >= middle

    def halved(self) -> Root:
        """Return the root in half of its interval."""
        if self.rational:
            return self
        middle = (self.low + self.high) / 2
        same = sign_of(self.poly, middle) == sign_of(self.poly, self.low)
        return Root(self.poly, middle, self.high) if same else Root(self.poly, self.low, middle)

    def close(self, share: Fraction = CLOSE) -> Root:
        """Return the root in an interval that is small against it."""
        here = self
        while here.high - here.low > share * abs(here.low):
            check_time()
            here = here.halved()
        return here

    def below(self) -> int:
        """Return the largest integer that is at most the root."""
        here = self
        while here.low // 1 != here.high // 1:
            here = here.halved()
        return int(here.low // 1)

    def compared(self, value: Fraction) -> int:
        """Return -1, 0 or 1: whether the root is below, at or above a rational number."""
        here = self
        while here.low < value < here.high or (not here.rational and value in (here.low, here.high)):
            here = here.halved()
        return 0 if here.rational and here.low == value else 1 if here.low >= value else -1

    def sign(self, poly: Poly) -> int:
        """Return the sign of another polynomial there, exactly.

        >>> from sympy.abc import x
        >>> half = roots([Poly(x**2 - 2, x)])[-1]
        >>> half.sign(Poly(x**4 - 4, x)), half.sign(Poly(x - 1, x)), half.sign(Poly(x - 2, x))
        (0, 1, -1)
        """
        if self.rational:
            return sign_of(poly, self.low)
        if poly.is_zero or poly.rem(self.poly).is_zero:
            return 0
        here = self
        while poly.count_roots(as_rational(here.low), as_rational(here.high)):
            here = here.halved()
        return sign_of(poly, here.low)


def fraction_of(value: Expr) -> Fraction:
    """Return a sympy rational as a fraction."""
    return Fraction(int(value.p), int(value.q))


def as_rational(value: Fraction) -> Expr:
    """Return a fraction as a sympy rational."""
    return Rational(value.numerator, value.denominator)


def sign_of(poly: Poly, at: Fraction) -> int:
    """Return the sign of a polynomial at a rational number.

    >>> from sympy.abc import x
    >>> sign_of(Poly(x**2 - 2, x), Fraction(3, 2))
    1
    """
    total = Fraction(0)
    for coefficient in poly.all_coeffs():
        total = total * at + fraction_of(coefficient)
    return (total > 0) - (total < 0)


def polynomials(expr: Expr, at: Symbol) -> tuple[Poly, Poly]:
    """Return polynomials whose roots include all zeros, and all poles, of a formula in one name.

    Roots of sums are taken away by resultants, so that there may be more roots than zeros.

    Raises:
        RuleError: it is no quotient of sums of powers and roots.

    >>> from sympy import Symbol, sqrt
    >>> x = Symbol("x", positive=True)
    >>> polynomials(sqrt(x) - 3, x)[0].monic().as_expr()
    x - 9
    """
    top, below = over(together(expr))
    return _whole(top, at), _whole(below, at)


def _whole(expr: Expr, at: Symbol) -> Poly:
    plain, radicals = _without_roots(expr)
    plain = over(together(plain))[0]
    try:
        for name, order, inner in reversed(radicals):
            radicand = over(together(name**order - inner))[0]
            plain = Poly(plain, name).resultant(Poly(radicand, name)).as_expr()
        made = Poly(plain, at, domain="QQ")
    except BasePolynomialError:
        what = "the condition is no quotient of polynomials and roots in the unknown"
        raise RuleError(
            what, expected="sums, products, powers, roots, max and min", got=str(expr)[:64]
        ) from None
    if made.degree() > LARGEST_DEGREE:
        what = f"a polynomial of degree {made.degree()} is too large to solve"
        raise LimitError(what, expected=f"at most {LARGEST_DEGREE}", got=str(made.degree()))
    return made


def _without_roots(expr: Expr) -> tuple[Expr, list[tuple[Symbol, int, Expr]]]:
    """Return the formula with a new name for each root in it, and for each name its order and radicand."""
    found: list[tuple[Symbol, int, Expr]] = []
    while True:
        powers = [one for one in expr.atoms(Pow) if one.exp.is_Rational and one.exp.q > 1]
        powers = sorted(powers, key=lambda one: (one.base.count_ops(), str(one)))
        if not powers:
            return expr, found
        if len(found) == MOST_RADICALS:
            what = "a condition holds too many different roots"
            raise LimitError(what, expected=f"at most {MOST_RADICALS}", got=str(expr)[:64])
        base = powers[0].base
        order = lcm(*(int(one.exp.q) for one in powers if one.base == base))
        name = Dummy("root", positive=True)
        expr = expr.xreplace({one: name ** (one.exp * order) for one in powers if one.base == base})
        found.append((name, order, base))


def roots(polys: Iterable[Poly]) -> list[Root]:
    """Return the real roots of polynomials, each once, in their order.

    >>> from sympy.abc import x
    >>> found = roots([Poly((x - 1) * (x**2 - 2), x), Poly(x - 1, x)])
    >>> [one.below() for one in found]
    [-2, 1, 1]
    """
    factors: dict[Poly, None] = {}
    for poly in polys:
        if not poly.is_zero and poly.degree() > 0:
            factors |= dict.fromkeys(factor.monic() for factor, _ in poly.factor_list()[1])
    found: list[Root] = []
    for factor in factors:
        check_time()
        if factor.degree() == 1:
            at = -fraction_of(factor.all_coeffs()[1])
            found.append(Root(factor, at, at))
        else:
            found += [Root(factor, fraction_of(a), fraction_of(b)) for (a, b), _ in factor.intervals()]
    return _apart(found)


def _apart(found: list[Root]) -> list[Root]:
    """Return different roots in their order, refined until their intervals do not touch."""
    while True:
        found = sorted(found, key=lambda one: (one.low, one.high))
        touching = {place for place, (one, other) in enumerate(pairwise(found)) if one.high >= other.low}
        if not touching:
            return found
        check_time()
        near = touching | {place + 1 for place in touching}
        found = [one.halved() if place in near else one for place, one in enumerate(found)]
