"""Normal form over QQ: equal expressions have one form, and equality is decided by it."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from sympy import Add, Expr, Mul

from symacct.algebra.symbols import as_expr
from symacct.algebra.tables import Number, as_number, build, build_monomial, from_number, primitive
from symacct.algebra.terms import common, is_expanded, read

if TYPE_CHECKING:
    from collections.abc import Iterable
    from fractions import Fraction


@lru_cache(maxsize=1 << 15)
def _normal(expr: Expr) -> Expr:
    return expr if is_expanded(expr) else build(common(read(as_expr(expr))))


def normal(expr: Expr | int | Fraction) -> Expr:
    """Return the normal form: expanded, or a reduced fraction where a sum stands below.

    Atoms that are no polynomials (`ceiling`, `Max`, `Sum`, roots of sums) are generators.

    >>> from symacct.algebra.symbols import symbol
    >>> B, H, G = symbol("B"), symbol("H"), symbol("G")
    >>> normal(B * (B + 1) - B), normal(H / G * G), normal((B**2 - 1) / (B + 1))
    (B**2, H, B - 1)
    """
    if not isinstance(expr, Expr):
        return as_expr(expr)
    return expr if expr.is_Symbol or expr.is_Integer else _normal(expr)


def product(factors: Iterable[Expr | int]) -> Expr:
    """Return the normal form of a product; the empty product is 1.

    >>> from symacct.algebra.symbols import symbol
    >>> product([symbol("B"), symbol("S") + 1, 2])
    2*B*S + 2*B
    """
    parts = list(map(as_expr, factors))
    if len(parts) == 1:
        return normal(parts[0])
    return normal(Mul(*parts))


def total(terms: Iterable[Expr | int]) -> Expr:
    """Return the normal form of a sum; the empty sum is 0.

    Like monomials are added in a table first, so that thousands of terms cost milliseconds.

    >>> from symacct.algebra.symbols import symbol
    >>> total([symbol("B"), 2, symbol("B") * 3, -2])
    4*B
    """
    table: dict[tuple[Expr, ...], Number] = {}
    for term in terms:
        form = normal(as_expr(term))
        for piece in form.args if form.is_Add else (form,):
            factors = piece.args if piece.is_Mul else (piece,)
            bare = factors[0].is_Rational
            key = factors[1:] if bare else factors
            table[key] = table.get(key, 0) + (as_number(factors[0]) if bare else 1)
    summed = Add(*(Mul(from_number(value), *key) for key, value in table.items() if value))
    return normal(summed)


def is_zero(expr: Expr | int) -> bool:
    """Return whether an expression is 0 for all sizes.

    >>> from symacct.algebra.symbols import symbol
    >>> B = symbol("B")
    >>> is_zero((B + 1) ** 2 - B**2 - 2 * B - 1), is_zero(B - 1)
    (True, False)
    """
    return bool(normal(expr) == 0)


def same(left: Expr | int, right: Expr | int) -> bool:
    """Return whether two expressions are equal for all sizes.

    >>> from symacct.algebra.symbols import symbol
    >>> same(symbol("H") / symbol("G") * symbol("G"), symbol("H"))
    True
    """
    if left is right or left == right:
        return True
    first, second = normal(left), normal(right)
    return first == second or is_zero(first - second)


def factored(expr: Expr | int) -> Expr:
    """Return the formula with its content and common monomial taken out, unexpanded, for printing.

    >>> from symacct.algebra.symbols import symbol
    >>> B, S = symbol("B"), symbol("S")
    >>> factored(6 * B * S**2 + 4 * B * S)
    2*B*S*(3*S + 2)
    """
    form = normal(expr)
    if not form.is_Add:
        return form
    content, monomial, rest = primitive(read(form))
    outside = (from_number(content), *Mul.make_args(build_monomial(monomial)))
    kept = [factor for factor in outside if factor != 1]
    return Mul(*kept, build(rest), evaluate=False) if kept else form
