"""The leading term of a formula when some sizes grow together."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from sympy import Expr, Integer, Max, Min, ceiling, floor

from symacct.algebra.factorials import expanded
from symacct.algebra.normal import normal
from symacct.algebra.symbols import as_expr
from symacct.algebra.tables import UNIT, Number, Terms, add_into, build
from symacct.algebra.terms import fraction, power, read, times
from symacct.errors import RuleError

if TYPE_CHECKING:
    from collections.abc import Collection

Leading = tuple[Fraction, Terms]


def leading_term(expr: Expr | int, growing: Collection[str]) -> tuple[Expr, Expr]:
    """Return the terms of highest total degree in the growing sizes, and the remainder.

    All growing sizes go to infinity together, like multiples of one variable; the others are fixed.
    Roots of sums, `ceiling` and `floor` are replaced by their own leading terms.

    Raises:
        RuleError: an atom has no leading term (`Max` of differing signs, exponentials), or they cancel.

    >>> from symacct.algebra.symbols import symbol
    >>> B, D, L = symbol("B"), symbol("D"), symbol("L")
    >>> leading_term(6 * B * D**2 * L - 2 * B * D**2, ["L"])
    (6*B*D**2*L, -2*B*D**2)
    >>> leading_term(L / (B + L), ["L"])
    (1, -B/(B + L))
    """
    form = normal(expanded(as_expr(expr)))
    if form == 0:
        return form, Integer(0)
    _, table = _lead(form, frozenset(growing))
    leading = build(table)
    return leading, normal(form - leading)


def degree_in(expr: Expr | int, growing: Collection[str]) -> Fraction:
    """Return the total degree of the leading term; 0 for the formula 0.

    >>> from symacct.algebra.symbols import symbol
    >>> print(degree_in(symbol("L") ** 2 / (symbol("L") + 1), ["L"]))
    1
    """
    form = normal(expanded(as_expr(expr)))
    return Fraction(0) if form == 0 else _lead(form, frozenset(growing))[0]


def _lead(form: Expr, growing: frozenset[str]) -> Leading:
    top, below = fraction(read(form))
    degree, table = _lead_of_table(top, growing)
    for base, count in below.items():
        under, divisor = _lead_of_table(read(base), growing)
        degree -= under * count
        table = times(table, power(divisor, -count))
    return degree, table


def _lead_of_table(table: Terms, growing: frozenset[str]) -> Leading:
    by_degree: dict[Fraction, Terms] = {}
    for monomial, coefficient in table.items():
        degree, term = Fraction(0), Terms({UNIT: coefficient})
        for base, exponent in monomial:
            below, lead = _lead_of_atom(base, growing)
            if Fraction(exponent).denominator > 1 and all(value < 0 for value in lead.values()):
                what = f"{base} is below 0 where {', '.join(sorted(growing))} grow, and has no root"
                raise RuleError(what, expected="a root of what is at least 0", got=str(base)[:64])
            degree += below * exponent
            term = times(term, power(lead, exponent))
        add_into(by_degree.setdefault(degree, {}), term)
    if not by_degree:
        raise RuleError("0 has no leading term", expected="a sum that is not 0", got="0")
    best = max(by_degree)
    if not by_degree[best]:
        what = "the leading terms cancel"
        raise RuleError(what, expected="leading terms that do not cancel", got=str(build(table))[:64])
    return best, by_degree[best]


def _lead_of_atom(base: Expr, growing: frozenset[str]) -> Leading:
    """Return the degree and leading terms of a generator."""
    if base.is_Symbol:
        return Fraction(base.name in growing), {frozenset(((base, 1),)): 1}
    if not any(free.name in growing for free in base.free_symbols):
        return Fraction(0), {frozenset(((base, 1),)): 1}
    if base.is_Add:
        return _lead_of_table(read(base), growing)
    if isinstance(base, ceiling | floor):
        degree, lead = _lead(normal(base.args[0]), growing)
        if degree > 0:
            return degree, lead
    if isinstance(base, Max | Min):
        return _lead_of_extreme(base, growing)
    what = f"{base} has no leading term when {', '.join(sorted(growing))} grow"
    expected = "sums, products, powers, roots, ceiling and floor of growing terms"
    raise RuleError(what, expected=expected, got=str(base)[:64])


def _lead_of_extreme(base: Expr, growing: frozenset[str]) -> Leading:
    """Return the leading term of a `Max` or `Min`: that of its arguments of the highest (lowest) degree.

    Of several, the growing sizes that all share are taken out: ``max(L*B, 2*L)`` leads with L*max(B, 2).
    """
    largest = isinstance(base, Max)
    leads = [_lead(argument, growing) for argument in base.args]
    degree = (max if largest else min)(one for one, _ in leads)
    tables = _distinct([table for one, table in leads if one == degree], largest=largest)
    if any(value < 0 for _, table in leads for value in table.values()) and len(leads) > 1:
        what = f"which argument of {base.func.__name__} leads depends on the sizes"
        raise RuleError(what, expected="positive leading terms", got=str(base)[:64])
    if len(tables) == 1:
        return degree, tables[0]
    shared = _shared(tables, growing)
    inner = [build(times(table, power({shared: 1}, -1))) for table in tables]
    atom = base.func(*sorted(inner, key=str), evaluate=False)
    return degree, {shared | {(atom, 1)}: 1}


def _distinct(tables: list[Terms], *, largest: bool) -> list[Terms]:
    """Return tables without those that another one is seen to outdo."""
    kept: list[Terms] = []
    for table in tables:
        if not any(_outdone(table, other, largest=largest) for other in kept):
            kept = [other for other in kept if not _outdone(other, table, largest=largest)]
            kept.append(table)
    return kept


def _outdone(table: Terms, other: Terms, *, largest: bool) -> bool:
    """Say whether every coefficient of a table is at most (at least) that of another one."""
    small, large = (table, other) if largest else (other, table)
    return all(small.get(key, 0) <= large.get(key, 0) for key in {*small, *large})


def _shared(tables: list[Terms], growing: frozenset[str]) -> frozenset[tuple[Expr, Number]]:
    """Return the powers of growing sizes that all terms share."""
    monomials = [dict(monomial) for table in tables for monomial in table]
    found: dict[Expr, Number] = {}
    for base, first in monomials[0].items():
        least = min(first, *(monomial.get(base, 0) for monomial in monomials))
        if base.is_Symbol and base.name in growing and least:
            found[base] = least
    return frozenset(found.items())
