"""Binding sizes by name, exactly: expressions for symbols, and integers for all of them."""

from __future__ import annotations

import numbers
from typing import TYPE_CHECKING

from sympy import Expr, Integer, Max, Min, Rational, Sum, Symbol

from symacct.algebra.extremum import extremum
from symacct.algebra.normal import normal
from symacct.algebra.symbols import as_expr
from symacct.algebra.value import exact, value_of
from symacct.errors import SizeError, unknown

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from fractions import Fraction

LARGEST_SIZE = 10**30


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
    return normal(_replaced(_rename_bound(expr, taken | chosen.keys()), chosen))


def _replaced(expr: Expr, chosen: Mapping[Expr, Expr]) -> Expr:
    """Return the expression with symbols replaced, inside a maximum of many argument by argument."""
    if not expr.has(Max, Min):
        return expr.xreplace(chosen)
    known = {
        one: extremum(one.func, [_replaced(arg, chosen) for arg in one.args]) for one in expr.atoms(Max, Min)
    }
    return expr.xreplace({**chosen, **known})


def _rename_bound(expr: Expr, taken: frozenset[Symbol]) -> Expr:
    """Return the expression with indices of sums renamed where a substitution would capture them."""
    if not expr.has(Sum):
        return expr
    renamed: dict[Expr, Expr] = {}
    for found in sorted(expr.atoms(Sum), key=lambda one: one.sort_key()):
        index, low, high = found.limits[0]
        if index in taken:
            names = {one.name for one in taken | found.atoms(Symbol)}
            name = next(
                f"{index.name}_{k}" for k in range(len(names) + 1) if f"{index.name}_{k}" not in names
            )
            fresh = type(index)(name, **index.assumptions0)
            renamed[found] = found.func(found.function.xreplace({index: fresh}), (fresh, low, high))
    return expr.xreplace(renamed)


def evaluate(expr: Expr, sizes: Mapping[str, int | Fraction]) -> Expr:
    """Return the exact value: a rational, or an algebraic number where a root stays.

    Raises:
        SizeError: a name has no size, or a divisor is 0.

    >>> from sympy import ceiling
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
    return normal(value_of(expr, {name: exact(sizes[name]) for name in names}))


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
    if isinstance(value, bool) or not isinstance(value, numbers.Integral | Integer):
        near = isinstance(value, float | Rational) and value == int(value) and value >= least
        fix = f"write {name}={value:.0f}" if near else None
        got = f"{str(value)[:64]} ({type(value).__name__})"
        raise SizeError(f"size {name} is not an integer", expected=expected, got=got, fix=fix)
    size = int(value)
    if not least <= size <= LARGEST_SIZE:
        what = f"size {name} is too {'small' if size < least else 'large'}"
        raise SizeError(what, expected=f"{expected}, at most 10^30", got=str(size)[:64])
    return size
