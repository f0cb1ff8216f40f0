"""The exact value of an expression, by one walk over it with Python integers and fractions."""

from __future__ import annotations

from fractions import Fraction
from functools import reduce
from operator import add, mul
from typing import TYPE_CHECKING, TypeAlias

from sympy import Abs, Expr, Max, Min, Piecewise, Pow, Sum, ceiling, floor, log

from symacct.algebra.factorials import Binomial, Factorial, binomial_of, factorial_of
from symacct.algebra.normal import normal
from symacct.algebra.summation import sum_over
from symacct.algebra.symbols import as_expr
from symacct.algebra.tables import as_number
from symacct.algebra.winner import AtLargest, at_largest
from symacct.errors import RuleError, SizeError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

LONGEST_SUM = 10**6
MOST_BITS = 1 << 20
SMALL = 10**100

Value: TypeAlias = int | Fraction | Expr


def exact(value: object) -> Value:
    """Return a number as an integer, a fraction, or else an algebraic number.

    >>> exact(as_expr(Fraction(6, 3)))
    2
    """
    expr = as_expr(value)
    return as_number(expr) if expr.is_Rational else expr


def value_of(expr: Expr, sizes: Mapping[str, Value]) -> Value:
    """Return the value where all free names have a size.

    Raises:
        SizeError: it divides by zero or takes an even root of a negative number.
        RuleError: there is no rule for an atom.

    >>> value_of(ceiling(as_expr(Fraction(7, 2))), {})
    4
    """
    if expr.is_Rational:
        return as_number(expr)
    if expr.is_Symbol:
        return sizes[expr.name]
    if expr.is_Add:
        return reduce(add, (value_of(term, sizes) for term in expr.args))
    if expr.is_Mul:
        return reduce(mul, (value_of(factor, sizes) for factor in expr.args))
    return _value_of_atom(expr, sizes)


def _value_of_atom(expr: Expr, sizes: Mapping[str, Value]) -> Value:
    if isinstance(expr, Sum):
        return _sum(expr, sizes)
    if isinstance(expr, Piecewise):
        return _piece(expr, sizes)
    rule = FUNCTIONS.get(expr.func)
    if rule is None and expr.is_number and not expr.args:
        return expr
    if rule is None:
        what = f"no rule evaluates {expr.func.__name__}"
        known = ", ".join(sorted(kind.__name__ for kind in FUNCTIONS))
        raise RuleError(what, expected=known, got=str(expr)[:64])
    return rule(*(value_of(argument, sizes) for argument in expr.args))


def _power(base: Value, exponent: Value) -> Value:
    if isinstance(base, int) and isinstance(exponent, int) and 0 < exponent <= 64 and abs(base) < SMALL:
        return base**exponent
    if base == 0 and exponent < 0:
        what = "a formula divides by zero at these sizes"
        raise SizeError(what, expected="a divisor that is not 0", got="0")
    if isinstance(base, Expr) or isinstance(exponent, Expr) or exponent != int(exponent):
        result = Pow(normal(base), normal(exponent))
        if result.is_real is False:
            what = "a formula takes an even root of a negative number at these sizes"
            raise SizeError(what, expected="a radicand of at least 0", got=str(base)[:64])
        return exact(result)
    size = Fraction(base)
    bits = max(abs(size.numerator), size.denominator).bit_length() - 1
    if bits * abs(exponent) > MOST_BITS:
        what = "a power is too large to evaluate"
        raise SizeError(
            what, expected=f"a result of at most {MOST_BITS} bits", got=f"{str(base)[:32]}^{exponent}"
        )
    return base ** int(exponent) if exponent >= 0 else Fraction(base) ** int(exponent)


def _sum(expr: Sum, sizes: Mapping[str, Value]) -> Value:
    ((index, first, last),) = expr.limits
    low, high = value_of(first, sizes), value_of(last, sizes) + 1
    if high <= low:
        return 0
    bound = {free: normal(sizes[free.name]) for free in expr.function.free_symbols if free != index}
    summed = sum_over(normal(expr.function.xreplace(bound)), index, normal(low), normal(high))
    if not summed.has(Sum):
        return value_of(summed, sizes)
    if high - low > LONGEST_SUM:
        what = f"a sum of {high - low} terms has no closed form here"
        raise RuleError(what, expected=f"at most {LONGEST_SUM} terms", got=str(expr)[:64])
    inner = dict(sizes)
    total: Value = 0
    for here in range(int(low), int(high)):
        inner[index.name] = here
        total += value_of(expr.function, inner)
    return total


def _piece(expr: Piecewise, sizes: Mapping[str, Value]) -> Value:
    for value, condition in expr.args:
        bound = {free: normal(sizes[free.name]) for free in condition.free_symbols}
        if bool(condition.xreplace(bound)):
            return value_of(value, sizes)
    what = "no branch of a formula holds at these sizes"
    raise SizeError(what, expected="one branch that holds", got=str(expr)[:64])


def _rounded(exact: Callable[[Fraction], int], symbolic: type[Expr]) -> Callable[[Value], Value]:
    def rounded(value: Value) -> Value:
        return int(symbolic(value)) if isinstance(value, Expr) else exact(Fraction(value))

    return rounded


def _log(value: Value, *base: Value) -> Value:
    if value <= 0:
        what = "a formula takes a logarithm of what is not above 0 at these sizes"
        raise SizeError(what, expected="an argument above 0", got=str(value)[:64])
    return exact(log(normal(value), *map(normal, base)))


FUNCTIONS: dict[type[Expr], Callable[..., Value]] = {
    Pow: _power,
    ceiling: _rounded(lambda value: -(-value.numerator // value.denominator), ceiling),
    floor: _rounded(lambda value: value.numerator // value.denominator, floor),
    Max: max,
    AtLargest: at_largest,
    Min: min,
    Abs: abs,
    log: _log,
    Factorial: factorial_of,
    Binomial: binomial_of,
}
