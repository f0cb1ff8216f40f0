"""The least value of ``a/k + b*k + c`` over k above 0, and the square that shows it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sympy import Integer, Max, Min, Pow, Rational, ceiling

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


def roots_of(inner: Expr, name: str) -> list[Expr]:
    """Return what is 0 at the least value of the terms ``a/k + b*k`` in a formula: their square shows it.

    >>> print(roots_of(3 * symbol("L") / symbol("k") + 3 * symbol("k"), "k"))
    [-sqrt(3)*sqrt(L) + sqrt(3)*k]
    """
    found: list[Expr] = []
    at = symbol(name)
    forms = [inner, *sorted((one for atom in inner.atoms(Max, Min, ceiling) for one in atom.args), key=str)]
    for form in forms:
        flat = normal(form.replace(ceiling, lambda inside: inside))
        parts = {
            power: normal(sum(t for t in flat.as_ordered_terms() if _power(t, at) == power))
            for power in (-1, 1)
        }
        if 0 not in parts.values():
            above, slope = normal(parts[-1] * at), normal(parts[1] / at)
            root = normal(Pow(slope, Rational(1, 2)) * at - Pow(above, Rational(1, 2)))
            found += [root] if root not in found else []
    return found
