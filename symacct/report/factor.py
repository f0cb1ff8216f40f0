"""Formulas as multiples of repeat counts, to be printed: ``L*(12*h^2 + 13*h) + V*h``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sympy import Add, Integer, Mul

from symacct.algebra.symbols import symbol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sympy import Expr


def factored(expr: Expr, counts: Sequence[str]) -> Expr:
    """Return an equal expression, to be printed only: terms with the same power of a count stand together.

    >>> from symacct.algebra.symbols import symbol
    >>> from symacct.printers import text
    >>> L, h, V = symbol("L"), symbol("h"), symbol("V")
    >>> text(factored(12 * L * h**2 + 13 * L * h + V * h, ["L"]), ["h"])
    'L*(12*h^2 + 13*h) + h*V'
    """
    for count in counts:
        if expr.is_Add:
            expr = _by_power(expr, count)
    return expr


def _by_power(expr: Expr, count: str) -> Expr:
    base = symbol(count)
    by_power: dict[Expr, list[Expr]] = {}
    for term in expr.args:
        by_power.setdefault(_power(term, base), []).append(term)
    parts: list[Expr] = []
    for power, terms in by_power.items():
        if power == 0 or len(terms) == 1:
            parts += terms
        else:
            inner = Add(*(term / base**power for term in terms))
            parts.append(Mul(base**power, inner, evaluate=False))
    return parts[0] if len(parts) == 1 else Add(*parts, evaluate=False)


def _power(term: Expr, base: Expr) -> Expr:
    """Return the power of a symbol in a monomial; 0 where there is none, or where it is no simple factor."""
    for factor in Mul.make_args(term):
        found, exponent = factor.as_base_exp()
        if found == base and exponent.is_Integer and exponent > 0:
            return exponent
    return Integer(0)
