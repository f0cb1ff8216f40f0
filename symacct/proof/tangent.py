"""The least value of ``a/k + b*k + c`` over k above 0, and the square that shows it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sympy import Integer, Pow, Rational

from symacct.algebra.normal import is_zero, normal
from symacct.algebra.symbols import symbol

if TYPE_CHECKING:
    from sympy import Expr


def tangent(inner: Expr, name: str) -> tuple[Expr, Expr] | None:
    """Return the least value of ``a/k + b*k + c`` and what is 0 there: the square of it, over k, is the rest.

    >>> print(tangent(symbol("L") / symbol("k") + symbol("k"), "k"))
    (2*sqrt(L), -sqrt(L) + k)
    """
    at = symbol(name)
    form = normal(inner)
    parts = {
        power: normal(sum(t for t in form.as_ordered_terms() if _power(t, at) == power))
        for power in (-1, 0, 1)
    }
    if not is_zero(form - sum(parts.values())) or 0 in (parts[-1], parts[1]):
        return None
    above, slope = normal(parts[-1] * at), normal(parts[1] / at)
    roots = [normal(Pow(one, Rational(1, 2))) for one in (above, slope)]
    return normal(2 * roots[0] * roots[1] + parts[0]), normal(roots[1] * at - roots[0])


def _power(term: Expr, at: Expr) -> Expr | None:
    """Return the power of a size in a term, where the rest is without it."""
    rest, power = term.as_independent(at)
    exponent = power.as_powers_dict().get(at, Integer(0)) if power != 1 else Integer(0)
    return exponent if power in (1, at**exponent) and at not in rest.free_symbols else None
