"""The sign of a formula at sizes: exactly where it is rational, else by intervals that hold its value."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache, reduce
from math import ceil as ceil_of
from math import floor as floor_of
from operator import add, mul
from typing import TYPE_CHECKING, Any

from mpmath.ctx_iv import MPIntervalContext
from sympy import Abs, Max, Min, Rational, ceiling, expand_log, floor, log, preorder_traversal

from symacct.algebra.evaluate import evaluate, names_of
from symacct.algebra.factorials import binomial_of, factorial_of, is_counted, is_large
from symacct.algebra.normal import is_zero, normal
from symacct.errors import RuleError, SizeError
from symacct.proof.anchors import reduced
from symacct.proof.compiled import MOST_BITS, compiled, compiled_condition, is_huge

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from sympy import Expr

    from symacct.algebra.condition import Condition

    Sizes = Mapping[str, int | Fraction]

BITS = (100, 600)
MOST_EXPONENT = 4096
MOST_SHIFT = 40_000
HALF = Rational(1, 2)
HALF_OF_ONE = 0.5


class UndefinedError(Exception):
    """A formula has no real value at these sizes: a divisor is 0, a root or logarithm of what is below it."""


def sign_of(expr: Expr) -> Callable[[Sizes], int | None]:
    """Return a function that gives the sign at sizes: -1, 0, 1, or None where no interval tells it.

    It raises `UndefinedError` where the formula has no value.

    >>> from sympy import sqrt
    >>> from symacct.algebra.symbols import symbol
    >>> n = symbol("n")
    >>> at = sign_of(sqrt(n) - 3)
    >>> at({"n": 8}), at({"n": 9}), at({"n": 10})
    (-1, 0, 1)
    """
    defined = guard(expr)
    expr = reduced(expr)
    fast = compiled(expr)
    names = names_of(expr)

    def sign(sizes: Sizes) -> int | None:
        defined(sizes)
        value = fast(sizes)
        if value is not None:
            return (value > 0) - (value < 0)
        for bits in BITS:
            low, high = enclosure(expr, sizes, bits)
            if low is not None and low > 0:
                return 1
            if high is not None and high < 0:
                return -1
        return 0 if _is_zero(expr, {name: sizes[name] for name in names}) else None

    return sign


def sign_between(left: Expr, right: Expr) -> Callable[[Sizes], int | None]:
    """Return a function that gives the sign of ``left - right`` at sizes, each side worked out by itself.

    It raises `UndefinedError` where a side has no value.
    """
    sides = compiled(left), compiled(right)
    counted = any(is_counted(one) for side in (left, right) for one in preorder_traversal(side))
    gap: list[Callable[[Sizes], int | None]] = []

    def sign(sizes: Sizes) -> int | None:
        one, other = (side(sizes) for side in sides)
        if one is not None and other is not None:
            return (one > other) - (one < other)
        if not counted and (apart := _apart((one, left), (other, right), sizes)):
            return apart
        if not gap:
            gap.append(sign_of(left - right))
            gap[0] = _after([guard(left), guard(right)], gap[0]) if counted else gap[0]
        return gap[0](sizes)

    return sign


def _apart(one: tuple[Any, Expr], other: tuple[Any, Expr], sizes: Sizes) -> int:
    """Return the sign of a difference of formulas whose values, or bounds of these, lie apart; else 0."""
    low, high = (
        (value, value) if value is not None else enclosure(side, sizes) for value, side in (one, other)
    )
    if low[0] is not None and high[1] is not None and low[0] > high[1]:
        return 1
    return -1 if low[1] is not None and high[0] is not None and low[1] < high[0] else 0


def _after(
    guards: Sequence[Callable[[Sizes], None]], sign: Callable[[Sizes], int | None]
) -> Callable[[Sizes], int | None]:
    """Return a sign that is looked at where formulas are defined."""

    def guarded(sizes: Sizes) -> int | None:
        for one in guards:
            one(sizes)
        return sign(sizes)

    return guarded


def guard(expr: Expr) -> Callable[[Sizes], None]:
    """Return a function that refuses sizes at which a factorial or a binomial in a formula is not defined.

    Raises:
        UndefinedError: it is, when the function is called.
    """
    needs = [
        (str(one), compiled(part), not place) for one in _counts(expr) for place, part in enumerate(one.args)
    ]

    def check(sizes: Sizes) -> None:
        for name, part, first in needs:
            value = part(sizes)
            if value is not None and (Fraction(value).denominator != 1 or (first and value < 0)):
                raise UndefinedError(name[:64])

    return check


def _counts(expr: Expr) -> list[Expr]:
    return [one for one in preorder_traversal(expr) if is_counted(one)]


def holder(condition: Condition) -> Callable[[Sizes], bool]:
    """Return a function that says whether a condition is seen to hold at sizes.

    >>> from sympy import sqrt
    >>> from symacct.algebra.condition import Condition
    >>> from symacct.algebra.symbols import symbol
    >>> above = holder(Condition("above", sqrt(symbol("n")), symbol("k")))
    >>> above({"n": 4, "k": 2}), above({"n": 5, "k": 2})
    (False, True)
    """
    if condition.kind == "divides":
        return compiled_condition(condition)
    sign = sign_of(condition.left - condition.right)
    good = {"equal": (0,), "at_least": (0, 1), "above": (1,)}[condition.kind]

    def holds(sizes: Sizes) -> bool:
        try:
            return sign(sizes) in good
        except UndefinedError:
            return False

    return holds


def _is_zero(expr: Expr, sizes: Sizes) -> bool:
    """Say whether a formula is seen to be 0 at sizes, by exact arithmetic on roots."""
    if is_huge(expr, sizes):
        return False
    try:
        value = evaluate(expr, sizes)
        return is_zero(normal(expand_log(value, factor=True)) if value.has(log) else value)
    except (RuleError, SizeError, ZeroDivisionError):
        return False


def enclosure(expr: Expr, sizes: Sizes, bits: int = 100) -> tuple[Fraction | None, Fraction | None]:
    """Return two numbers between which the value of a formula lies; None for an end that is not known.

    Raises:
        UndefinedError: it has no real value.
    """
    try:
        value = _Walk(_context(bits), sizes).value(expr)
    except ZeroDivisionError:
        raise UndefinedError(str(expr)[:64]) from None
    return ends(value)


@lru_cache
def _context(bits: int) -> Any:
    context = MPIntervalContext()
    context.prec = bits
    return context


class _Walk:
    """One walk over a formula, with intervals."""

    def __init__(self, context: Any, sizes: Sizes) -> None:
        self.context, self.sizes = context, sizes

    def number(self, value: Fraction | int) -> Any:
        exact = Fraction(value)
        return self.context.mpf(exact.numerator) / self.context.mpf(exact.denominator)

    def value(self, expr: Expr) -> Any:
        """Return an interval that holds the value."""
        if expr.is_Rational:
            return self.number(Fraction(int(expr.p), int(expr.q)))
        if expr.is_Symbol:
            return self.number(self.sizes[expr.name])
        if expr.is_Pow:
            return self.power(expr)
        if is_counted(expr):
            return self.counted(expr)
        if isinstance(expr, Max | Min | Abs | ceiling | floor | log) or expr.is_Add or expr.is_Mul:
            return self.joined(expr, [self.value(part) for part in expr.args])
        names = names_of(expr)
        try:
            return self.value(evaluate(expr, {name: self.sizes[name] for name in names}))
        except SizeError:
            raise UndefinedError(str(expr)[:64]) from None

    def counted(self, expr: Expr) -> Any:
        """Return the interval of a factorial or a binomial of integers.

        Where it is too large to be worked out, Robbins' bounds hold it: n! = sqrt(2*pi*n)*(n/e)^n*exp(r) with
        1/(12*n + 1) < r < 1/(12*n).
        """
        n, *rest = (self.integer(part) for part in expr.args)
        below = [one for one in rest if one is not None]
        if n is not None and n < 0:
            raise UndefinedError(str(expr)[:64])
        if n is None or len(below) < len(rest):
            return self.context.mpf([0 if rest else 1, "inf"])
        if not below:
            return self.number(factorial_of(n)) if not is_large(n) else self.context.exp(self.robbins(n))
        (k,) = below
        if not is_large(n, k):
            return self.number(binomial_of(n, k))
        return self.context.exp(self.robbins(n) - self.robbins(k) - self.robbins(n - k))

    def robbins(self, n: int) -> Any:
        """Return an interval that holds the logarithm of a factorial."""
        if n <= 1:
            return self.context.mpf(0)
        size, two = self.context.mpf(n), 2 * self.context.pi
        rest = self.context.mpf([(1 / (12 * size + 1)).a, (1 / (12 * size)).b])
        return (size + HALF_OF_ONE) * self.context.log(size) - size + self.context.log(two) / 2 + rest

    def integer(self, expr: Expr) -> int | None:
        """Return the integer that a formula is at the sizes; None where that is not seen.

        Raises:
            UndefinedError: it is no integer.
        """
        low, high = ends(self.value(expr))
        exact = compiled(expr)(self.sizes)
        if exact is not None:
            low = high = Fraction(exact)
        if low is None or high is None:
            return None
        if floor_of(high) < ceil_of(low):
            raise UndefinedError(f"a factorial or binomial of {expr}"[:64])
        return int(low) if low == high else None

    def joined(self, expr: Expr, parts: list[Any]) -> Any:
        """Return the interval of a sum, a product or a function."""
        if expr.is_Add or expr.is_Mul:
            return reduce(add if expr.is_Add else mul, parts)
        if isinstance(expr, Max | Min):
            choose = max if isinstance(expr, Max) else min
            return self.context.mpf([choose(one.a for one in parts), choose(one.b for one in parts)])
        return self.called(expr, parts[0])

    def called(self, expr: Expr, inside: Any) -> Any:
        """Return the interval of a function of one formula."""
        if isinstance(expr, Abs | log):
            return abs(inside) if isinstance(expr, Abs) else self.logarithm(inside)
        low, high = ends(inside)
        if low is None or high is None:
            return self.context.mpf(["-inf", "inf"])
        rounded = floor_of if isinstance(expr, floor) else ceil_of
        return self.context.mpf([rounded(low), rounded(high)])

    def logarithm(self, inside: Any) -> Any:
        """Return the natural logarithm of what is above 0."""
        if inside.b <= 0:
            raise UndefinedError("log")
        if inside.a <= 0:
            return self.context.mpf(["-inf", self.context.log(inside.b).b])
        return self.context.log(inside)

    def power(self, expr: Expr) -> Any:
        """Return a power; a root is one of what is at least 0."""
        base, exponent = self.value(expr.base), expr.exp
        if exponent.is_Integer and abs(exponent) <= MOST_EXPONENT:
            if exponent < 0 and base.a <= 0 <= base.b:
                self.apart(expr.base)
            return base ** int(exponent)
        if base.b < 0 or (base.b == 0 and base.a < 0):
            raise UndefinedError(str(expr)[:64])
        if base.a < 0:
            if self.sign(expr.base) == -1:
                raise UndefinedError(str(expr)[:64])
            base = self.context.mpf([0, base.b])
        if exponent == HALF:
            return self.context.sqrt(base)
        power = self.value(exponent)
        if base.a <= 0:
            if power.b < 0:
                self.apart(expr.base)
            most = self.context.exp(power * self.context.log(base.b)).b if base.b > 0 else 0
            return self.context.mpf([0, most if power.a > 0 else "inf"])
        return self.context.exp(power * self.context.log(base))

    def apart(self, divisor: Expr) -> None:
        """Refuse a divisor that is 0; an interval that only touches 0 is one of no bound."""
        if self.sign(divisor) == 0:
            raise UndefinedError(str(divisor)[:64])

    def sign(self, expr: Expr) -> int | None:
        return sign_of(expr)(self.sizes)


def ends(interval: Any) -> tuple[Fraction | None, Fraction | None]:
    """Return both ends of an interval; None for one that is infinite, a bound for one of many digits."""
    low, high = (_exact(raw, upper=upper) for raw, upper in zip(interval._mpi_, (False, True), strict=True))
    return low, high


def _exact(raw: tuple[int, int, int, int], *, upper: bool) -> Fraction | None:
    """Return a number exactly, and one of many digits rounded: up as an upper end, down as a lower one."""
    sign, digits, exponent, bits = raw
    if not digits:
        return None if exponent else Fraction(0)
    size = exponent + bits
    if abs(size) <= MOST_BITS:
        return Fraction(-digits if sign else digits) * Fraction(2) ** exponent
    outward = bool(sign) != upper
    if size > 0:
        bound = None if outward else Fraction(2) ** MOST_BITS
    else:
        bound = Fraction(1, 2**MOST_BITS) if outward else Fraction(0)
    return bound if bound is None or not sign else -bound
