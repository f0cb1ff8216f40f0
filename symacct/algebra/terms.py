"""Expressions into tables of monomials: sums, products and powers expanded, fractions reduced."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache, reduce
from math import floor

from sympy import Expr, Integer, Pow, factorint

from symacct.algebra.budget import check_time
from symacct.algebra.extremum import extremum, is_many
from symacct.algebra.factorials import counted, is_counted
from symacct.algebra.tables import (
    UNIT,
    Monomial,
    Number,
    Terms,
    add_into,
    as_number,
    build,
    divide,
    factors,
    from_number,
    plain,
    primitive,
    scaled,
)
from symacct.errors import FormulaError, LimitError

MOST_TERMS = 50_000
MOST_PRODUCTS = 1_000_000
MOST_DIGITS = 20_000
LARGEST_FACTORED = 10**12


def times(left: Terms, right: Terms) -> Terms:
    """Return the product, expanded.

    Raises:
        LimitError: it would have too many terms.
    """
    if len(left) * len(right) > MOST_PRODUCTS:
        what = f"a product of {len(left)} by {len(right)} terms is too large to expand"
        raise LimitError(what, expected=f"at most {MOST_PRODUCTS} terms", got=f"{len(left) * len(right)}")
    result: Terms = {}
    for first, a in left.items():
        check_time()
        for second, b in right.items():
            monomial, extra = _join(first, second)
            if extra is None:
                value = result.get(monomial, 0) + a * b
                if value:
                    result[monomial] = value
                else:
                    result.pop(monomial, None)
            else:
                add_into(result, times({monomial: a * b}, extra))
    return result


def _join(first: Monomial, second: Monomial) -> tuple[Monomial, Terms | None]:
    """Return the joined monomial, and what is left over where a sum or prime passed a power of 1."""
    if not first or not second:
        return first or second, None
    powers = dict(first)
    extra: Terms | None = None
    for base, exponent in second:
        power = powers.get(base, 0) + exponent
        if power >= 1 and (base.is_Add or base.is_Integer):
            whole = floor(power)
            piece = raised(read(base), whole)
            extra = piece if extra is None else times(extra, piece)
            power -= whole
        if power:
            powers[base] = power
        else:
            powers.pop(base, None)
    return frozenset(powers.items()), extra


def raised(table: Terms, exponent: int) -> Terms:
    """Return a power with an exponent of at least 0, expanded.

    Raises:
        LimitError: the result would be too large.
    """
    if len(table) > 1 and exponent > 1:
        _check_expansion(len(table), exponent)
    if len(table) == 1 and exponent:
        ((monomial, coefficient),) = table.items()
        if _digits(coefficient) * exponent > MOST_DIGITS:
            what = "a number is too large"
            raise LimitError(what, expected=f"at most {MOST_DIGITS} digits", got=f"a power of {exponent}")
        if not any(base.is_Add or base.is_Integer for base, _ in monomial):
            return {scaled(monomial, exponent): coefficient**exponent}
    result: Terms = {UNIT: 1}
    square = table
    while exponent:
        if exponent & 1:
            result = times(result, square)
        exponent >>= 1
        if exponent:
            square = times(square, square)
    return result


def _check_expansion(count: int, exponent: int) -> None:
    size = 1
    for step in range(1, min(count, exponent + 1)):
        size = size * (exponent + count - step) // step
        if size > MOST_TERMS or exponent > MOST_TERMS:
            what = f"a sum of {count} terms to the power {exponent} is too large to expand"
            raise LimitError(what, expected=f"at most {MOST_TERMS} terms", got=f"the power {exponent}")


def _digits(value: Number) -> int:
    whole = Fraction(value)
    largest = max(abs(whole.numerator), whole.denominator)
    return 0 if largest == 1 else largest.bit_length() // 3 + 1


def read(expr: Expr) -> Terms:
    """Return the table of an expression, expanded.

    Raises:
        FormulaError: it holds something that is not an exact real number.
        LimitError: it would have too many terms.

    >>> from symacct.algebra.symbols import symbol
    >>> B, D = symbol("B"), symbol("D")
    >>> build(read(B * (D + 1) - B))
    B*D
    """
    if expr.is_Rational:
        value = as_number(expr)
        return {UNIT: value} if value else {}
    if expr.is_Symbol:
        return {frozenset(((expr, 1),)): 1}
    if expr.is_Add:
        result: Terms = {}
        for term in expr.args:
            add_into(result, read(term))
        return result
    if expr.is_Mul:
        return reduce(times, map(read, expr.args))
    return dict(_read_atom(expr))


@lru_cache(maxsize=1 << 12)
def _read_atom(expr: Expr) -> Terms:
    """Return the table of a power or another atom; shared, so that callers copy it."""
    if expr.is_Pow:
        base, exponent = expr.args
        if exponent.is_Rational:
            return power(read(base), as_number(exponent))
    if expr.is_number and (
        expr.is_real is False or expr.is_infinite or expr.is_Float or expr.is_finite is None
    ):
        what = f"{expr} is not an exact real number"
        raise FormulaError(
            what, expected="integers, fractions and roots of positive numbers", got=str(expr)[:64]
        )
    args = tuple(map(_normal_argument, expr.args))
    rebuilt = expr if args == expr.args and is_many(expr.func, args) else extremum(expr.func, args)
    if rebuilt != expr and (rebuilt.is_Add or rebuilt.is_Mul or rebuilt.is_Pow or rebuilt.is_Rational):
        return read(rebuilt)
    if is_counted(rebuilt) and rebuilt.is_number:
        counted(rebuilt)
    return {frozenset(((rebuilt, 1),)): 1}


def is_expanded(expr: Expr) -> bool:
    """Return whether an expression is a sum of products of powers of symbols already: its own normal form.

    >>> from symacct.algebra.symbols import symbol
    >>> B, D = symbol("B"), symbol("D")
    >>> is_expanded(B * D / 2 + B**2), is_expanded(B * (D + 1))
    (True, False)
    """
    return all(map(_is_monomial, expr.args)) if expr.is_Add else _is_monomial(expr)


def _is_monomial(expr: Expr) -> bool:
    if expr.is_Mul:
        return all(_is_power(factor) or factor.is_Rational for factor in expr.args)
    return bool(expr.is_Rational) or _is_power(expr)


def _is_power(expr: Expr) -> bool:
    if expr.is_Symbol:
        return True
    return bool(expr.is_Pow and expr.args[0].is_Symbol and expr.args[1].is_Rational)


def _normal_argument(argument: Expr) -> Expr:
    if isinstance(argument, Expr):
        if is_expanded(argument):
            return argument
        return build(common(read(argument)))
    return argument.func(*map(_normal_argument, argument.args)) if argument.args else argument


def power(table: Terms, exponent: Number) -> Terms:
    """Return any rational power of a table.

    Raises:
        FormulaError: 0 to a negative power, or a fractional power of a negative number.
    """
    if exponent >= 0 and exponent == int(exponent):
        return raised(table, int(exponent))
    if not table:
        if exponent > 0:
            return {}
        what = "a formula divides by zero"
        raise FormulaError(what, expected="a divisor that is not 0", got="0")
    if len(table) > 1:
        return _sum_power(table, exponent)
    ((monomial, coefficient),) = table.items()
    if exponent == int(exponent):
        inverse = {frozenset[tuple[Expr, Number]](): plain(Fraction(coefficient) ** int(exponent))}
        return times(inverse, _settled(scaled(monomial, exponent)))
    if coefficient < 0 and not monomial:
        what = "a formula takes a root of a negative number"
        raise FormulaError(what, expected="a radicand of at least 0", got=str(coefficient))
    if coefficient < 0 or not all(base.is_nonnegative or base.is_Add for base, _ in monomial):
        return {frozenset(((Pow(build(table), from_number(exponent)), 1),)): 1}
    return times(_number_power(Fraction(coefficient), exponent), _settled(scaled(monomial, exponent)))


def _settled(monomial: Monomial) -> Terms:
    """Return a monomial with any exponents as a table, where sums and primes stay below a power of 1."""
    result: Terms = {UNIT: 1}
    for base, exponent in monomial:
        whole = floor(exponent) if (base.is_Add and exponent >= 1) or base.is_Integer else 0
        if whole:
            piece: Terms = read(base) if whole > 0 else {UNIT: Fraction(1, int(base))}
            result = times(result, raised(piece, abs(whole)))
        if exponent - whole:
            result = times(result, {frozenset(((base, plain(exponent - whole)),)): 1})
    return result


def _number_power(value: Fraction, exponent: Number) -> Terms:
    """Return a fractional power of a positive rational, as primes under exponents between 0 and 1."""
    coefficient = Fraction(1)
    pairs: dict[Expr, Number] = {}
    for part, sign in ((value.numerator, 1), (value.denominator, -1)):
        primes = factorint(part) if part < LARGEST_FACTORED else {part: 1}
        for prime, count in primes.items():
            whole = floor(count * sign * exponent)
            coefficient *= Fraction(prime) ** whole
            if count * sign * exponent != whole:
                pairs[Integer(prime)] = count * sign * exponent - whole
    return {frozenset(pairs.items()): plain(coefficient)}


def _sum_power(table: Terms, exponent: Number) -> Terms:
    """Return a negative or fractional power of a sum: content and monomial out, the rest generators."""
    content, monomial, rest = primitive(table)
    if exponent != int(exponent) and content < 0:
        content, rest = -content, {key: -value for key, value in rest.items()}
    result = power({monomial: content}, exponent)
    splits = exponent == int(exponent) or all(value > 0 for value in rest.values())
    clean = not any(power < 0 for key in rest for _, power in key)
    for factor, count in factors(rest) if splits and clean else [(rest, 1)]:
        if exponent != int(exponent) and splits and sum(factor.values()) < 0:
            factor = {key: -value for key, value in factor.items()}  # noqa: PLW2901 (a radicand must be positive)
        result = times(result, _settled(frozenset(((build(factor), plain(exponent * count)),))))
    return result


def fraction(table: Terms) -> tuple[Terms, dict[Expr, int]]:
    """Return numerator and denominator, the latter as powers of sums, with nothing in common.

    The numerator may keep negative powers of symbols.
    """
    below: dict[Expr, int] = {}
    for monomial in table:
        for base, exponent in monomial:
            if base.is_Add and exponent < 0:
                below[base] = max(below.get(base, 0), -floor(exponent))
    top = table
    for base, count in below.items():
        top = _times_sum(top, base, count)
    for base in sorted(below, key=str):
        while below[base] and (quotient := divide(top, read(base))) is not None:
            top = quotient
            below[base] -= 1
    return top, {base: count for base, count in below.items() if count and top}


def _times_sum(table: Terms, base: Expr, count: int) -> Terms:
    """Return the table times a power of a sum that stands below in it, so that it stands there no more."""
    result: Terms = {}
    for monomial, value in table.items():
        exponent = dict(monomial).get(base, 0) + count
        whole = floor(exponent)
        rest = frozenset(pair for pair in monomial if pair[0] != base)
        if exponent != whole:
            rest |= {(base, plain(exponent - whole))}
        add_into(result, times({rest: value}, raised(read(base), whole)))
    return result


def common(table: Terms) -> Terms:
    """Return the table over one denominator of sums, reduced, where it has any."""
    top, below = fraction(table)
    if not below:
        return top
    under = frozenset((base, -count) for base, count in below.items())
    return {monomial | under: value for monomial, value in top.items()}
