"""Expressions in the prefix form that the kernel reads, and back."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

from sympy import Add, Expr, Integer, Max, Min, Mul, Pow, Rational, Sum, Symbol, ceiling, floor, log

from symacct.algebra.factorials import Binomial, Factorial, is_counted
from symacct.algebra.symbols import index_symbol, symbol
from symacct.errors import RuleError

if TYPE_CHECKING:
    from collections.abc import Callable

Prefix = Any
"""A string (an integer) or a list: an operator and its operands."""

COUNTS: dict[type[Expr], str] = {Binomial: "binomial", Factorial: "factorial"}
HEADS: dict[type[Expr], str] = {ceiling: "ceil", floor: "floor", Max: "max", Min: "min", log: "log"}


def to_prefix(expr: Expr) -> Prefix:  # noqa: PLR0911 (one for each form)
    """Return an expression in prefix form.

    Raises:
        RuleError: the certificate has no word for something in it.

    >>> B = symbol("B")
    >>> to_prefix(2 * B**2 / 3)
    ['/', ['*', '2', ['^', ['var', 'B'], '2']], '3']
    """
    if expr.is_Rational:
        return number(Fraction(int(expr.p), int(expr.q)))
    if expr.is_Symbol:
        return ["var", expr.name]
    if expr.is_Add:
        return ["+", *map(to_prefix, sorted(expr.args, key=_key))]
    if expr.is_Mul or expr.is_Pow:
        return _product(expr)
    if type(expr) in HEADS:
        return [HEADS[type(expr)], *map(to_prefix, sorted(expr.args, key=_key))]
    if is_counted(expr):
        return [COUNTS[type(expr)], *map(to_prefix, expr.args)]
    if isinstance(expr, Sum) and len(expr.limits) == 1:
        index, first, last = expr.limits[0]
        return ["sum", index.name, to_prefix(first), to_prefix(last + 1), to_prefix(expr.function)]
    raise RuleError(
        "a certificate cannot say this",
        expected="sums, products, powers, roots, logarithms, ceil, floor, max, min, binomials, factorials",
        got=str(expr)[:64],
    )


def number(value: Fraction | int) -> Prefix:
    """Return a number in prefix form.

    >>> number(Fraction(-1, 3))
    ['/', '-1', '3']
    """
    exact = Fraction(value)
    top = str(exact.numerator)
    return top if exact.denominator == 1 else ["/", top, str(exact.denominator)]


def _key(expr: Expr) -> Any:
    return expr.sort_key()


def _product(expr: Expr) -> Prefix:
    above: list[Prefix] = []
    below: list[Prefix] = []
    for factor in sorted(Mul.make_args(expr), key=_key):
        if factor.is_Rational:
            above += [str(factor.p)] if factor.p != 1 else []
            below += [str(factor.q)] if factor.q != 1 else []
            continue
        base, exponent = factor.as_base_exp()
        if not exponent.is_Rational or exponent.q > 2:
            raise RuleError("a certificate cannot say this power", expected="n or n/2", got=str(exponent))
        inner = to_prefix(base) if exponent.q == 1 else ["sqrt", to_prefix(base)]
        times = abs(int(exponent.p))
        (above if exponent > 0 else below).append(inner if times == 1 else ["^", inner, str(times)])
    top = above[0] if len(above) == 1 else ["*", *above] if above else "1"
    if not below:
        return top
    return ["/", top, below[0] if len(below) == 1 else ["*", *below]]


def from_prefix(expr: Prefix) -> Expr:
    """Return what a prefix form stands for.

    >>> from_prefix(["/", ["var", "B"], "2"])
    B/2
    """
    if isinstance(expr, str):
        return Integer(int(expr))
    head, *args = expr
    if head == "var":
        return symbol(args[0])
    if head == "sum":
        index = index_symbol(args[0])
        lo, hi, body = map(from_prefix, args[1:])
        return Sum(body.xreplace({symbol(args[0]): index}), (index, lo, hi - 1))
    return BACK[head](*map(from_prefix, args))


BACK: dict[str, Callable[..., Expr]] = {
    "+": Add,
    "*": Mul,
    "^": Pow,
    "/": lambda above, below: above / below,
    "sqrt": lambda inside: Pow(inside, Rational(1, 2)),
    **{word: kind for kind, word in (HEADS | COUNTS).items()},
}

__all__ = ["Prefix", "Symbol", "from_prefix", "number", "to_prefix"]
