"""The sign of a formula in one name at a rational number or at a root of a polynomial, exactly.

A value is enclosed in intervals of growing precision until 0 is outside. Where it stays inside, the value is
0 as soon as the interval is smaller than any other value of such a formula can be. With each number written
as a quotient U/L of algebraic integers of a field of degree at most D, with conjugates of at most u and l, a
value that is not 0 is at least 1/(l*u^(D-1)): the conjugates of U multiply to an integer. A square or higher
root multiplies D by its order, and u follows from the triangle inequality (Burnikel, Fleischer, Mehlhorn and
Schirra, "A strong and easily computable separation bound for arithmetic expressions involving radicals").
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache, partial
from math import log2
from typing import TYPE_CHECKING, Any

from mpmath.ctx_iv import MPIntervalContext
from sympy import Abs, Add, Expr, Integer, Max, Min, Mul, Poly, Pow, ceiling, factorint, floor, log
from sympy import fraction as over
from sympy.polys.polyerrors import BasePolynomialError

from symacct.algebra.budget import check_time
from symacct.algebra.evaluate import names_of
from symacct.algebra.value import value_of
from symacct.errors import RuleError, SizeError
from symacct.planning.real_symbol import real_symbol
from symacct.planning.solve_roots import Root, as_rational

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

MOST_HALVED = 12
"""How often a root is halved eight times before Newton's steps are given up."""
FIRST_BITS, MOST_BITS, BITS_OF_LOGARITHMS = 80, 40_000, 2_000
LARGEST_PRIME = 1000
SLACK = 1e-6
"""What the logarithms of bounds are rounded up by."""
ENDLESS = 1 << 100_000
"""What stands for the end of an interval that has none, while the precision is too small."""


class NoValueError(Exception):
    """A formula has no real value there."""


def sign_at(expr: Expr, name: str, at: Fraction | Root) -> int | None:
    """Return the sign of a formula in one name at a number; None where it has no real value.

    Raises:
        RuleError: it could not be told from 0, or there is no rule for an atom.

    >>> from sympy import sqrt
    >>> from symacct.planning.solve_roots import roots
    >>> x = real_symbol("x")
    >>> sign_at(sqrt(x) - 2, "x", Fraction(5)), sign_at(sqrt(3 - x), "x", Fraction(4))
    (1, None)
    >>> two = roots([Poly(x**2 - 2, x)])[-1]
    >>> sign_at(x**3 - 2 * x, "x", two), sign_at(sqrt(x**2 + 2) - 2, "x", two)
    (0, 0)
    """
    point = _Point(name, at)
    try:
        if isinstance(point.at, Fraction) and not expr.has(log) and not _has_roots(expr):
            return point.sign(point.other(expr))
        return point.sign(point.closed(expr))
    except NoValueError:
        return None


def sign_of(value: Expr) -> int:
    """Return the sign of a number.

    Raises:
        RuleError: it has no real value, or could not be told from 0.

    >>> from sympy import sqrt
    >>> sign_of(sqrt(2) + sqrt(3) - sqrt(5 + 2 * sqrt(6)))
    0
    """
    found = sign_at(value, "x", Fraction(0))
    if found is None:
        raise RuleError("a formula has no real value", got=str(value)[:64])
    return found


class _Point:
    """A number that stands for a name."""

    def __init__(self, name: str, at: Fraction | Root) -> None:
        self.name, self.at = real_symbol(name), at
        if isinstance(at, Root) and at.rational:
            self.at = at.low

    def closed(self, expr: Expr) -> Expr:
        """Return the formula there without maxima and roundings, each of which is one of its arguments.

        Raises:
            NoValueError: it has no real value.
        """
        if expr.is_Rational:
            return expr
        if expr.is_Symbol:
            return as_rational(self.at) if isinstance(self.at, Fraction) else self.name
        rules: dict[type[Expr], Callable[..., Expr]] = {
            Add: Add, Mul: Mul, Pow: self._power, Max: partial(self._most, 1), Min: partial(self._most, -1),
            Abs: self._size, floor: self._floor, ceiling: lambda inner: -self._floor(-inner), log: self._log,
        }  # fmt: skip
        rule = rules.get(expr.func)
        return self.other(expr) if rule is None else rule(*map(self.closed, expr.args))

    def _size(self, inner: Expr) -> Expr:
        return inner if self.sign(inner) >= 0 else -inner

    def _log(self, inner: Expr) -> Expr:
        if self.sign(inner) <= 0:
            raise NoValueError
        return _log_of(inner) if inner.is_Rational else log(inner)

    def _power(self, base: Expr, exponent: Expr) -> Expr:
        if not exponent.is_Rational:
            if not base.is_Rational or not exponent.is_number or base <= 0:
                raise RuleError(
                    "no rule evaluates a power", expected="a number as the exponent", got=str(exponent)[:64]
                )
            return base**exponent
        way = None if exponent.is_Integer and exponent > 0 else self.sign(base)
        if way is not None and ((way == 0 and exponent < 0) or (way < 0 and not exponent.is_Integer)):
            raise NoValueError
        if way == 0:
            return Integer(0)
        found = base**exponent
        return self.closed(found) if found.has(Abs) else found

    def _most(self, way: int, *options: Expr) -> Expr:
        best = options[0]
        for other in options[1:]:
            if self.sign(other - best) * way > 0:
                best = other
        return best

    def _floor(self, inner: Expr) -> Expr:
        if inner.is_Rational:
            return Integer(int(inner.p) // int(inner.q))
        low, high, bits = Fraction(0), Fraction(2), FIRST_BITS
        while high - low > 1:
            check_time()
            (low, high), bits = self._enclosed(inner, bits), 2 * bits
        for whole in range(high.__floor__(), low.__floor__() - 1, -1):
            if self.sign(inner - whole) >= 0:
                return Integer(whole)
        raise RuleError("a value could not be rounded", got=str(inner)[:64])

    def other(self, expr: Expr) -> Expr:
        """Return the value of a formula without roots and logarithms, a sum say, at a rational number."""
        if not isinstance(self.at, Fraction):
            raise RuleError(f"no rule evaluates {expr.func.__name__} at a root", got=str(expr)[:64])
        known = int(self.at) if self.at.denominator == 1 else self.at
        try:
            found = value_of(expr, dict.fromkeys(names_of(expr), known))
        except SizeError:
            raise NoValueError from None
        return found if isinstance(found, Expr) else as_rational(Fraction(found))

    # ---- signs ----

    def sign(self, value: Expr) -> int:
        """Return the sign of what `closed` returned.

        Raises:
            RuleError: it could not be told from 0.
        """
        if value.is_Rational:
            return int(value.p > 0) - int(value.p < 0)
        if isinstance(self.at, Root) and (known := _polynomial_sign(value, self.name, self.at)) is not None:
            return known
        least = self._least(value)
        bits = FIRST_BITS
        while True:
            check_time()
            low, high = self._enclosed(value, bits)
            if low > 0 or high < 0:
                return 1 if low > 0 else -1
            if max(-low, high) < Fraction(1, 2 ** min(least, MOST_BITS)) and least <= MOST_BITS:
                return 0
            if bits > (MOST_BITS if least < MOST_BITS else BITS_OF_LOGARITHMS) * 2:
                raise RuleError(
                    "a value could not be told from 0", expected="a number that is not 0", got=str(value)[:64]
                )
            bits *= 2

    def _least(self, value: Expr) -> int:
        """Return n so that the value is 0 or at least 2^-n; more than the most bits where it is not known."""
        if value.has(log) or any(not one.exp.is_Rational for one in value.atoms(Pow)):
            return MOST_BITS + 1
        orders: dict[tuple[Expr, int], int] = {}
        above, below = _bound(value, self._leaf, orders)
        degree = self.at.poly.degree() if isinstance(self.at, Root) and value.has(self.name) else 1
        for order in orders.values():
            degree *= order
            if degree > MOST_BITS:
                return MOST_BITS + 1
        return int(below + (degree - 1) * max(0.0, above)) + 2

    def _leaf(self) -> tuple[float, float]:
        """Return the logarithms of bounds of a root times the leading coefficient, and of that."""
        assert isinstance(self.at, Root)
        first, *others = map(abs, _integers(self.at.poly))
        cauchy = _log2(first + max(others))
        powers = [(_log2(one) - log2(first)) / n for n, one in enumerate(others, 1) if one]
        return min(cauchy, 1 + max(powers) + _log2(first)), _log2(first)

    def _enclosed(self, value: Expr, bits: int) -> tuple[Fraction, Fraction]:
        """Return rational numbers between which a value lies."""
        context = MPIntervalContext()
        context.prec = bits
        leaf = None
        if isinstance(self.at, Root) and value.has(self.name):
            self.at = _narrow(self.at, bits)
            leaf = _interval(context, self.at.low, self.at.high)
        found = _enclose(value, context, leaf)
        return _exact(found.a), _exact(found.b)


def _log_of(value: Expr) -> Expr:
    """Return the logarithm of a rational number by those of small primes, so that equal ones cancel."""
    primes: dict[int, int] = {}
    for part, way in ((int(value.p), 1), (int(value.q), -1)):
        for prime, count in factorint(part, limit=LARGEST_PRIME).items():
            primes[prime] = primes.get(prime, 0) + way * count
    return Add(*(count * log(prime) for prime, count in primes.items() if prime != 1))


def _has_roots(expr: Expr) -> bool:
    return any(not one.exp.is_Integer for one in expr.atoms(Pow))


def _polynomial_sign(value: Expr, name: Expr, at: Root) -> int | None:
    """Return the sign of a quotient of polynomials at a root; None for another formula."""
    try:
        top, below = (Poly(one, name, domain="QQ") for one in over(value.together()))
    except BasePolynomialError:
        return None
    return at.sign(top) * at.sign(below)


def _bound(value: Expr, leaf: Any, orders: dict[tuple[Expr, int], int]) -> tuple[float, float]:
    """Return the logarithms of bounds of all conjugates of U and of L, where the value is U/L."""
    if value.is_Rational:
        return _log2(abs(int(value.p)) or 1), _log2(int(value.q))
    if value.is_Symbol:
        found: tuple[float, float] = leaf()
        return found
    if value.is_Mul:
        parts = [_bound(one, leaf, orders) for one in value.args]
        return sum(above for above, _ in parts), sum(below for _, below in parts)
    if value.is_Add:
        parts = [_bound(one, leaf, orders) for one in value.args]
        below = sum(part[1] for part in parts)
        most = max(above + below - own for above, own in parts)
        return most + _log2(len(parts)), below
    base, exponent = value.as_base_exp() if value.is_Pow else (value, Integer(1))
    if not value.is_Pow:
        raise RuleError("no bound of a value is known", got=str(value)[:64])
    above, below = _bound(base, leaf, orders)
    order, power = int(exponent.q), int(exponent.p)
    if order > 1:
        orders[base, order] = order
        above = (above + (order - 1) * below) / order + SLACK
    above, below = max(above, 0.0) * abs(power), below * abs(power)
    return (below, above) if power < 0 else (above, below)


def _log2(value: int) -> float:
    return log2(value) + SLACK


@lru_cache(maxsize=256)
def _integers(poly: Poly) -> list[int]:
    return [int(one) for one in poly.clear_denoms(convert=True)[1].all_coeffs()]


def _narrow(root: Root, bits: int) -> Root:
    """Return a root in an interval of a width that a precision can use: by Newton's steps, or by halves."""
    check_time()
    if root.rational or root.high - root.low <= Fraction(1, 2**bits):
        return root
    coefficients = _integers(root.poly)
    for _ in range(MOST_HALVED):
        found = _by_newton(root, coefficients, bits)
        if found is not None:
            return found
        for _ in range(8):
            root = root.halved()
    while root.high - root.low > Fraction(1, 2**bits):
        check_time()
        root = root.halved()
    return root


def _by_newton(root: Root, coefficients: Sequence[int], bits: int) -> Root | None:
    """Return a root between two near numbers with different signs; None where the steps lead elsewhere."""
    work = bits + 32
    middle = (root.low + root.high) / 2
    at = (middle.numerator << work) // middle.denominator
    for _ in range(work.bit_length() + 12):
        value, slope = 0, 0
        for one in coefficients:
            slope = ((slope * at) >> work) + value
            value = ((value * at) >> work) + (one << work)
        if not slope:
            return None
        moved = (value << work) // slope
        at -= moved
        if abs(moved) < 1 << 8:
            break
    reach = 1 << 30
    low, high = (Fraction(at + way, 1 << work) for way in (-reach, reach))
    inside = root.low <= low and high <= root.high
    return Root(root.poly, low, high) if inside and _turns(coefficients, low, high) else None


def _turns(coefficients: Sequence[int], low: Fraction, high: Fraction) -> bool:
    """Say whether a polynomial has different signs at two dyadic numbers, exactly."""
    signs = []
    for end in (low, high):
        value, scale = 0, 1
        for one in coefficients:
            value = value * end.numerator + one * scale
            scale *= end.denominator
        signs.append((value > 0) - (value < 0))
    return signs[0] * signs[1] < 0


def _interval(context: Any, low: Fraction, high: Fraction) -> Any:
    ends = [context.mpf(one.numerator) / one.denominator for one in (low, high)]
    return context.mpf([ends[0].a, ends[1].b])


def _enclose(value: Expr, context: Any, leaf: Any) -> Any:
    """Return an interval in which a value lies.

    Raises:
        RuleError: there is no rule for an atom.
    """
    if value.is_Rational:
        return context.mpf(int(value.p)) / int(value.q)
    if value.is_Symbol:
        return leaf
    if value.is_Add or value.is_Mul:
        total = context.mpf(int(value.is_Mul))
        for one in value.args:
            part = _enclose(one, context, leaf)
            total = total * part if value.is_Mul else total + part
        return total
    if isinstance(value, log):
        return context.log(_positive(_enclose(value.args[0], context, leaf), context))
    if value.is_Pow and value.exp.is_Rational:
        inner = _enclose(value.base, context, leaf)
        order, power = int(value.exp.q), int(value.exp.p)
        return _rooted(inner, order, context) ** power
    if value.is_Pow and value.base.is_Rational:
        return context.exp(
            context.log(_enclose(value.base, context, leaf)) * _enclose(value.exp, context, leaf)
        )
    raise RuleError("no rule encloses a value", got=str(value)[:64])


def _positive(inner: Any, context: Any) -> Any:
    """Return an interval without what is not above 0: a formula that is defined lies above."""
    if inner.a > 0:
        return inner
    tiny = context.mpf(2) ** (-8 * context.prec)
    return context.mpf([tiny.a, max(inner.b, tiny.b)])


def _rooted(inner: Any, order: int, context: Any) -> Any:
    if order == 1:
        return inner
    if inner.a < 0:
        inner = context.mpf([0, max(inner.b, context.mpf(0).b)])
    if order == 2:
        return context.sqrt(inner)
    if inner.a > 0:
        return context.exp(context.log(inner) / order)
    top = context.exp(context.log(_positive(context.mpf([inner.b, inner.b]), context)) / order)
    return context.mpf([0, top.b])


def _exact(end: Any) -> Fraction:
    sign, mantissa, exponent, _ = end._mpi_[0]
    if not mantissa and exponent:
        return Fraction(-ENDLESS if end < 0 else ENDLESS)
    value = Fraction(int(mantissa)) * Fraction(2) ** int(exponent)
    return -value if sign else value
