"""Binding sizes by name, exactly: expressions for symbols, and integers for all of them."""

from __future__ import annotations

import numbers
from fractions import Fraction
from functools import reduce
from operator import add, mul
from typing import TYPE_CHECKING

from sympy import Abs, Add, Expr, Integer, Max, Min, Mul, Piecewise, Pow, Rational, Sum, Symbol, ceiling, floor, log, sqrt

from symacct.algebra.normal import normal
from symacct.algebra.summation import sum_over
from symacct.algebra.symbols import as_expr
from symacct.errors import RuleError, SizeError, unknown

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

LARGEST_SIZE = 10**30
LONGEST_SUM = 10**6
MOST_BITS = 1 << 20

Value = int | Fraction | Expr


def names_of(expr: Expr) -> list[str]:
    """Return the sorted names of the free symbols.

    >>> from symacct.algebra.symbols import symbol
    >>> names_of(symbol("S") * symbol("B"))
    ['B', 'S']
    """
    return sorted({free.name for free in expr.free_symbols})


def substitute(expr: Expr, mapping: Mapping[str, Expr | int]) -> Expr:
    """Return the expression with symbols replaced by name, all at once, in normal form.

    Raises:
        SizeError: a value is not exact.

    >>> from symacct.algebra.symbols import symbol
    >>> B, S = symbol("B"), symbol("S")
    >>> substitute(B * S**2, {"B": S, "S": B + 1})
    B**2*S + 2*B*S + S
    """
    values = {name: as_expr(value) for name, value in mapping.items()}
    chosen = {free: values[free.name] for free in expr.free_symbols if free.name in values}
    if not chosen:
        return normal(expr)
    taken = frozenset().union(*(value.free_symbols for value in chosen.values()))
    return normal(_rename_bound(expr, taken | chosen.keys()).xreplace(chosen))


def _rename_bound(expr: Expr, taken: frozenset[Symbol]) -> Expr:
    """Return the expression with indices of sums renamed where a substitution would capture them."""
    if not expr.has(Sum):
        return expr
    renamed: dict[Expr, Expr] = {}
    for found in sorted(expr.atoms(Sum), key=lambda one: one.sort_key()):
        index, low, high = found.limits[0]
        if index in taken:
            names = {one.name for one in taken | found.atoms(Symbol)}
            name = next(f"{index.name}_{k}" for k in range(len(names) + 1) if f"{index.name}_{k}" not in names)
            fresh = Symbol(name, **index.assumptions0)
            renamed[found] = Sum(found.function.xreplace({index: fresh}), (fresh, low, high))
    return expr.xreplace(renamed)


def evaluate(expr: Expr, sizes: Mapping[str, int]) -> Expr:
    """Return the exact value: a rational, or an algebraic number where a root stays.

    Raises:
        SizeError: a name has no size, or a divisor is 0.

    >>> from symacct.algebra.symbols import symbol
    >>> evaluate(symbol("B") / 3 + ceiling(symbol("S") / 2), {"B": 4, "S": 5})
    13/3
    >>> evaluate(symbol("B") * symbol("S"), {"D": 4})
    Traceback (most recent call last):
    symacct.errors.SizeError: 2 sizes have no value: B, S
      expected  a value for each of: B, S
      got       values for: D
      fix       add B=..., S=...
    """
    names = names_of(expr)
    require(names, sizes)
    return _as_sympy(_value(expr, {name: _exact(sizes[name]) for name in names}))


def require(names: Collection[str], sizes: Mapping[str, object]) -> None:
    """Check that every name has a size.

    Raises:
        SizeError: some have none; all of them are listed.
    """
    missing = [name for name in names if name not in sizes]
    if missing:
        what = f"{len(missing)} size{'s have' if len(missing) > 1 else ' has'} no value: {', '.join(missing)}"
        fix = "add " + ", ".join(f"{name}=..." for name in missing)
        got = f"values for: {', '.join(sorted(sizes))}" if sizes else "no values"
        raise SizeError(what, expected=f"a value for each of: {', '.join(names)}", got=got, fix=fix)


def _exact(size: int) -> Value:
    expr = as_expr(size)
    return int(expr) if expr.is_Integer else _plain(expr)


def _plain(expr: Expr) -> Value:
    return Fraction(int(expr.p), int(expr.q)) if expr.is_Rational else expr


def _as_sympy(value: Value) -> Expr:
    return normal(value)


def _value(expr: Expr, sizes: Mapping[str, Value]) -> Value:
    if expr.is_Integer:
        return int(expr)
    if expr.is_Symbol:
        return sizes[expr.name]
    if expr.is_Add:
        return reduce(add, (_value(term, sizes) for term in expr.args))
    if expr.is_Mul:
        return reduce(mul, (_value(factor, sizes) for factor in expr.args))
    if expr.is_Rational:
        return Fraction(int(expr.p), int(expr.q))
    if expr.is_Pow:
        return _power(_value(expr.args[0], sizes), _value(expr.args[1], sizes))
    if isinstance(expr, Sum):
        return _sum(expr, sizes)
    if isinstance(expr, Piecewise):
        return _piece(expr, sizes)
    rule = FUNCTIONS.get(expr.func)
    if rule is None:
        what = f"no rule evaluates {expr.func.__name__}"
        raise RuleError(what, expected=", ".join(sorted(kind.__name__ for kind in FUNCTIONS)), got=str(expr)[:64])
    return rule(*(_value(argument, sizes) for argument in expr.args))


def _power(base: Value, exponent: Value) -> Value:
    if base == 0 and exponent < 0:
        what = "a formula divides by zero at these sizes"
        raise SizeError(what, expected="a divisor that is not 0", got="0")
    if isinstance(base, Expr) or isinstance(exponent, Expr) or exponent != int(exponent):
        result = Pow(_as_sympy(base), _as_sympy(exponent))
        if result.is_real is False:
            what = "a formula takes an even root of a negative number at these sizes"
            raise SizeError(what, expected="a radicand of at least 0", got=str(base)[:64])
        return _plain(result)
    size = Fraction(base)
    bits = max(abs(size.numerator), size.denominator).bit_length() - 1
    if bits * abs(exponent) > MOST_BITS:
        what = "a power is too large to evaluate"
        raise SizeError(what, expected=f"a result of at most {MOST_BITS} bits", got=f"{str(base)[:32]}^{exponent}")
    return base ** int(exponent) if exponent >= 0 else Fraction(base) ** int(exponent)


def _sum(expr: Sum, sizes: Mapping[str, Value]) -> Value:
    ((index, first, last),) = expr.limits
    low, high = _value(first, sizes), _value(last, sizes) + 1
    if high <= low:
        return 0
    bound = {name: _as_sympy(value) for name, value in sizes.items() if name != index.name}
    summed = sum_over(substitute(expr.function, bound), index, _as_sympy(low), _as_sympy(high))
    if not summed.has(Sum):
        return _value(summed, sizes)
    if high - low > LONGEST_SUM:
        what = f"a sum of {high - low} terms has no closed form here"
        raise RuleError(what, expected=f"at most {LONGEST_SUM} terms", got=str(expr)[:64])
    inner = dict(sizes)
    total: Value = 0
    for here in range(int(low), int(high)):
        inner[index.name] = here
        total += _value(expr.function, inner)
    return total


def _piece(expr: Piecewise, sizes: Mapping[str, Value]) -> Value:
    for value, condition in expr.args:
        bound = {free: _as_sympy(sizes[free.name]) for free in condition.free_symbols}
        if bool(condition.xreplace(bound)):
            return _value(value, sizes)
    what = "no branch of a formula holds at these sizes"
    raise SizeError(what, expected="one branch that holds", got=str(expr)[:64])


def _rounded(exact: Callable[[Fraction], int], symbolic: type[Expr]) -> Callable[[Value], Value]:
    def rounded(value: Value) -> Value:
        return int(symbolic(value)) if isinstance(value, Expr) else exact(Fraction(value))

    return rounded


FUNCTIONS: dict[type[Expr], Callable[..., Value]] = {
    ceiling: _rounded(lambda value: -(-value.numerator // value.denominator), ceiling),
    floor: _rounded(lambda value: value.numerator // value.denominator, floor),
    Max: max,
    Min: min,
    Abs: abs,
    log: lambda value: log(_as_sympy(value)),
}


def check_sizes(
    sizes: Mapping[str, object], known: Collection[str], counts: frozenset[str] = frozenset()
) -> dict[str, int]:
    """Return the sizes as Python integers, after checking names and values.

    Args:
        sizes: values by name.
        known: the names that may be bound.
        counts: the names that may be 0 (repeat counts).

    Raises:
        SizeError: a value is not an exact integer, or out of range.
        UnknownNameError: a name is not known.

    >>> check_sizes({"B": 8, "L": 0}, ["B", "L"], frozenset({"L"}))
    {'B': 8, 'L': 0}
    >>> check_sizes({"B": 2.0}, ["B"])
    Traceback (most recent call last):
    symacct.errors.SizeError: size B is not an integer
      expected  an integer of at least 1
      got       2.0 (float)
      fix       write B=2
    """
    for name in sizes:
        if name not in known:
            raise unknown("size", name, known)
    return {name: _check_size(name, value, 0 if name in counts else 1) for name, value in sizes.items()}


def _check_size(name: str, value: object, least: int) -> int:
    expected = f"an integer of at least {least}"
    whole = isinstance(value, numbers.Integral) or (isinstance(value, Integer))
    if not whole or isinstance(value, bool):
        near = isinstance(value, float | Rational) and value == int(value) and value >= least
        fix = f"write {name}={int(value)}" if near else None  # type: ignore[call-overload]
        got = f"{str(value)[:64]} ({type(value).__name__})"
        raise SizeError(f"size {name} is not an integer", expected=expected, got=got, fix=fix)
    size = int(value)  # type: ignore[call-overload]
    if not least <= size <= LARGEST_SIZE:
        side = "small" if size < least else "large"
        raise SizeError(f"size {name} is too {side}", expected=f"{expected}, at most 10^30", got=str(size)[:64])
    return size
