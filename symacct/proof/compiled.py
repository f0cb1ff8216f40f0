"""Formulas as functions of integer sizes, exact and fast: what a search evaluates thousands of times."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from math import ceil, floor, isqrt
from typing import TYPE_CHECKING

from sympy import Abs, Max, Min, Pow, ceiling, log
from sympy import floor as floor_of

from symacct.algebra.evaluate import evaluate, names_of
from symacct.algebra.factorials import Factorial, binomial_of, factorial_of, is_counted
from symacct.algebra.terms import read
from symacct.errors import FormulaError, RuleError, SizeError

if TYPE_CHECKING:
    from sympy import Expr

    from symacct.algebra.condition import Condition
    from symacct.algebra.tables import Terms

Sizes = Mapping[str, int | Fraction]
Number = int | Fraction
Value = Number | None
Function = Callable[[Sizes], Value]
HALF = Fraction(1, 2)
MOST_BITS = 20_000
"""A power of more digits than this is not worked out."""


class NoValueError(Exception):
    """A part of a formula has no rational value at some sizes."""


def compiled(expr: Expr) -> Function:
    """Return a function that evaluates a formula exactly; None where it has no rational value.

    >>> from symacct.algebra.symbols import symbol
    >>> at = compiled(Max(symbol("B") / 2, 3))
    >>> print(at({"B": 7}), at({"B": 2}))
    7/2 3
    """
    inner = _sum(read(expr))

    def value(sizes: Sizes) -> Value:
        try:
            return inner(sizes)
        except (NoValueError, ZeroDivisionError):
            return None

    return value


def _sum(table: Terms) -> Callable[[Sizes], Number]:
    rows = []
    for monomial, c in table.items():
        whole = Fraction(c)
        number: Number = int(whole) if whole.denominator == 1 else whole
        plain = [(b.name, int(p)) for b, p in monomial if b.is_Symbol and p == int(p) and p > 0]
        named = {name for name, _ in plain}
        others = [(_base(b), Fraction(p)) for b, p in monomial if not (b.is_Symbol and b.name in named)]
        rows.append((number, sorted(plain), others))

    def value(sizes: Sizes) -> Number:
        total: Number = 0
        for number, plain, others in rows:
            term = number
            for name, power in plain:
                term = term * sizes[name] if power == 1 else term * sizes[name] ** power
            for base, exponent in others:
                term = term * _raised(base(sizes), exponent)
            total += term
        return total

    return value


def _base(base: Expr) -> Callable[[Sizes], Number]:  # noqa: PLR0911 (one for each form)
    if base.is_Symbol:
        name = base.name
        return lambda sizes: sizes[name]
    if isinstance(base, Max | Min):
        choose, parts = (max if isinstance(base, Max) else min), [_sum(read(one)) for one in base.args]
        return lambda sizes: choose(part(sizes) for part in parts)
    if isinstance(base, ceiling | floor_of):
        rounded, part = (ceil if isinstance(base, ceiling) else floor), _sum(read(base.args[0]))
        return lambda sizes: rounded(part(sizes))
    if isinstance(base, Abs | log):
        inside = _sum(read(base.args[0]))
        return _absolute(inside) if isinstance(base, Abs) else _logarithm(inside)
    if is_counted(base):
        return _counted(base)
    if base.is_Add or base.is_Rational:
        return _sum(read(base))
    return _other(base)


def _counted(base: Expr) -> Callable[[Sizes], Number]:
    """Return a factorial or a binomial; it has no value where it is not defined, or too large."""
    rule = factorial_of if isinstance(base, Factorial) else binomial_of
    parts = [_sum(read(one)) for one in base.args]

    def value(sizes: Sizes) -> Number:
        try:
            return rule(*(part(sizes) for part in parts))
        except SizeError:
            raise NoValueError from None

    return value


def _absolute(inside: Callable[[Sizes], Number]) -> Callable[[Sizes], Number]:
    return lambda sizes: max(inside(sizes), -inside(sizes))


def _logarithm(inside: Callable[[Sizes], Number]) -> Callable[[Sizes], Number]:
    """Return the logarithm of 1; that of any other rational number is none."""

    def value(sizes: Sizes) -> Number:
        if inside(sizes) == 1:
            return 0
        raise NoValueError

    return value


def is_huge(expr: Expr, sizes: Sizes) -> bool:
    """Say whether a formula has a power whose exponent is too large to be worked out at these sizes.

    >>> from symacct.algebra.symbols import symbol
    >>> is_huge(2 ** symbol("n"), {"n": 64}), is_huge(2 ** symbol("n"), {"n": 10**9})
    (False, True)
    """
    for power in expr.atoms(Pow):
        if power.exp.free_symbols:
            exponent, base = compiled(power.exp)(sizes), Fraction(compiled(power.base)(sizes) or 2)
            size = max(1, base.numerator.bit_length(), base.denominator.bit_length())
            if exponent is not None and abs(Fraction(exponent)) * size > MOST_BITS:
                return True
    return False


def _other(base: Expr) -> Callable[[Sizes], Number]:
    names = names_of(base)

    def value(sizes: Sizes) -> Number:
        if is_huge(base, sizes):
            raise NoValueError
        try:
            found = evaluate(base, {name: sizes[name] for name in names})
        except (FormulaError, RuleError, SizeError):
            raise NoValueError from None
        if not found.is_Rational:
            raise NoValueError
        return Fraction(int(found.p), int(found.q))

    return value


def _raised(value: Number, power: Fraction) -> Number:
    if power.denominator == 1:
        if power > 0:
            return value ** int(power)
        return Fraction(1) / Fraction(value) ** int(-power)
    if power.denominator != 2:
        raise NoValueError
    exact = Fraction(value)
    if exact < 0:
        raise NoValueError
    above, below = isqrt(exact.numerator), isqrt(exact.denominator)
    if above**2 != exact.numerator or below**2 != exact.denominator:
        raise NoValueError
    return _raised(Fraction(above, below), power * 2)


def compiled_condition(condition: Condition) -> Callable[[Sizes], bool]:
    """Return a function that says whether a condition holds; by evaluation where a root is irrational.

    >>> from symacct.algebra.condition import Condition
    >>> from symacct.algebra.symbols import symbol
    >>> compiled_condition(Condition("divides", symbol("k"), symbol("L")))({"k": 2, "L": 5})
    False
    """
    left, right = compiled(condition.left), compiled(condition.right)

    def holds(sizes: Sizes) -> bool:
        a, b = left(sizes), right(sizes)
        if a is None or b is None:
            return condition.holds(sizes)
        if condition.kind == "equal":
            return a == b
        if condition.kind in ("at_least", "above"):
            return a > b or (a == b and condition.kind == "at_least")
        return b == 0 if a == 0 else Fraction(b, a).denominator == 1

    return holds
