"""Sums over a repeat's index: exact where the summand is polynomial in it, left standing otherwise."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from math import comb

from sympy import Add, Expr, Integer, Mul, Pow, Rational, Sum, Symbol

from symacct.algebra.normal import normal
from symacct.algebra.symbols import Size, as_expr


class Total(Sum):  # type: ignore[misc]
    """A sum that stays standing; a size in it is found by name in a substitution, as elsewhere.

    >>> from symacct.algebra.symbols import index_symbol, symbol
    >>> i = index_symbol("i")
    >>> Total(symbol("S") / (i + 1), (i, 0, symbol("L") - 1)).subs({Symbol("S"): 3, Symbol("L"): 2})
    Sum(3/(i + 1), (i, 0, 1))
    """

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        """Compare with any sum: what is added up, and from where to where."""
        return self is other or (isinstance(other, Sum) and self.args == other.args)

    __hash__ = Sum.__hash__

    def _eval_subs(self, old: Expr, new: Expr) -> Expr | None:
        sizes = (one for one in self.free_symbols if isinstance(one, Size))
        found = next((one for one in sizes if one.is_meant(old)), old)
        return super()._eval_subs(found, new)


Total.__name__ = Sum.__name__  # by which sympy sorts, hashes and prints


@lru_cache(maxsize=128)
def bernoulli(order: int) -> Fraction:
    """Return a Bernoulli number, with B(1) = -1/2.

    >>> [str(bernoulli(order)) for order in range(5)]
    ['1', '-1/2', '1/6', '0', '-1/30']
    """
    if order == 0:
        return Fraction(1)
    before = sum((comb(order + 1, k) * bernoulli(k) for k in range(order)), Fraction(0))
    return -before / (order + 1)


@lru_cache(maxsize=1 << 12)
def power_sum(degree: int, count: Expr) -> Expr:
    """Return the sum of ``i**degree`` for i from 0 to count - 1, by Faulhaber's formula.

    >>> from symacct.algebra.symbols import symbol
    >>> power_sum(1, symbol("L")), power_sum(2, Integer(4))
    (L**2/2 - L/2, 14)
    """
    terms = []
    for k in range(degree + 1):
        value = comb(degree + 1, k) * bernoulli(k) / (degree + 1)
        if value:
            terms.append(Mul(Rational(value.numerator, value.denominator), Pow(count, degree + 1 - k)))
    return normal(Add(*terms))


def sum_over(expr: Expr | int, index: Symbol, lo: Expr | int, hi: Expr | int) -> Expr:
    """Return the sum of `expr` for the index from `lo` to `hi` - 1; an empty range gives 0.

    A term that is no polynomial in the index stays as a sympy `Sum`, with what is free of the index outside.
    The result holds for lo <= hi.

    >>> from symacct.algebra.symbols import index_symbol, symbol
    >>> i, L, S = index_symbol("i"), symbol("L"), symbol("S")
    >>> sum_over(S + 2 * i, i, 0, L)
    L**2 + L*S - L
    >>> sum_over(S / (i + 1), i, 0, L)
    S*Sum(1/(i + 1), (i, 0, L - 1))
    """
    form, low, high = normal(as_expr(expr)), normal(as_expr(lo)), normal(as_expr(hi))
    if low == high:
        return Integer(0)
    if index not in form.free_symbols:
        return normal(form * (high - low))
    return normal(Add(*(_sum_term(term, index, low, high) for term in Add.make_args(_spread(form, index)))))


def _spread(form: Expr, index: Symbol) -> Expr:
    """Return a fraction whose denominator is free of the index as a sum of terms over it."""
    if not form.is_Mul:
        return form
    sums = [factor for factor in form.args if factor.is_Add]
    rest = Mul(*(factor for factor in form.args if not factor.is_Add))
    if len(sums) != 1 or index in rest.free_symbols:
        return form
    return Add(*(term * rest for term in sums[0].args))


def _sum_term(term: Expr, index: Symbol, low: Expr, high: Expr) -> Expr:
    factors = Mul.make_args(term)
    outside = Mul(*(factor for factor in factors if index not in factor.free_symbols))
    inside = Mul(*(factor for factor in factors if index in factor.free_symbols))
    base, exponent = inside.as_base_exp()
    if inside == 1:
        return outside * (high - low)
    if base == index and exponent.is_Integer and exponent > 0:
        return outside * (power_sum(int(exponent), high) - power_sum(int(exponent), low))
    if (high - low).is_Integer and 0 < high - low <= LONGEST_UNROLLED:
        return outside * Add(*(inside.xreplace({index: low + k}) for k in range(int(high - low))))
    return outside * Total(inside, (index, low, high - 1))


LONGEST_UNROLLED = 16
