"""An expression as a table from monomials to exact coefficients, and back.

A monomial is a set of pairs (generator, exponent). Generators are symbols, opaque atoms (`ceiling`, `Max`,
`Sum`, ... with normal arguments), primes under a root, and sums under a negative or fractional power.
Exponents are integers or fractions; a sum never stands under an exponent of 1 or more.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache, reduce
from itertools import starmap
from math import floor, gcd, lcm
from typing import TYPE_CHECKING

from sympy import Add, Expr, Integer, Mul, Pow, Rational, factorint
from sympy.polys.domains import QQ
from sympy.polys.rings import PolyElement, PolyRing

from symacct.errors import FormulaError, RuleError

if TYPE_CHECKING:
    from collections.abc import Iterable

Number = int | Fraction
Monomial = frozenset[tuple[Expr, Number]]
Terms = dict[Monomial, Number]

UNIT: Monomial = frozenset()
MOST_TERMS = 50_000
MOST_DIGITS = 20_000
LARGEST_FACTORED = 10**12


def as_number(value: Expr) -> Number:
    """Return a sympy rational as a Python number.

    >>> as_number(Rational(3, 4)), as_number(Integer(5))
    (Fraction(3, 4), 5)
    """
    return int(value) if value.is_Integer else Fraction(int(value.p), int(value.q))


def from_number(value: Number) -> Expr:
    """Return a Python number as a sympy rational.

    >>> from_number(Fraction(6, 4))
    3/2
    """
    return Integer(value) if isinstance(value, int) else Rational(value.numerator, value.denominator)


def add_into(table: Terms, more: Terms, factor: Number = 1) -> None:
    """Add `factor` times `more` to `table`, in place."""
    for monomial, coefficient in more.items():
        value = table.get(monomial, 0) + factor * coefficient
        if value:
            table[monomial] = value
        else:
            table.pop(monomial, None)


def times(left: Terms, right: Terms) -> Terms:
    """Return the product, expanded.

    Raises:
        RuleError: it would have too many terms.
    """
    if len(left) * len(right) > MOST_TERMS * 20:
        what = f"a product of {len(left)} by {len(right)} terms is too large to expand"
        raise RuleError(what, expected=f"at most {MOST_TERMS} terms", got=f"{len(left) * len(right)}")
    result: Terms = {}
    for first, a in left.items():
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
    """Return the joined monomial, and what must be multiplied in because a power passed 1."""
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
        RuleError: the result would be too large.
    """
    if len(table) == 1 and exponent != 1:
        ((monomial, coefficient),) = table.items()
        if coefficient in {1, -1} or abs(exponent) * _digits(coefficient) < MOST_DIGITS:
            pairs = frozenset((base, power * exponent) for base, power in monomial)
            if all(power < 1 or not (base.is_Add or base.is_Integer) for base, power in pairs) and exponent:
                return {pairs: coefficient**exponent}
    if exponent * max(len(table) - 1, 1) > MOST_DIGITS:
        what = f"a sum of {len(table)} terms to the power {exponent} is too large to expand"
        raise RuleError(what, expected="a smaller exponent", got=str(exponent))
    result: Terms = {UNIT: 1}
    square = table
    while exponent:
        if exponent & 1:
            result = times(result, square)
        exponent >>= 1
        if exponent:
            square = times(square, square)
    return result


def _digits(value: Number) -> int:
    whole = Fraction(value)
    return (abs(whole.numerator).bit_length() + whole.denominator.bit_length()) // 3 + 1


def read(expr: Expr) -> Terms:
    """Return the table of an expression, expanded.

    Raises:
        FormulaError: it holds something that is not an exact real number.
        RuleError: it would have too many terms.

    >>> from symacct.algebra.symbols import symbol
    >>> B, D = symbol("B"), symbol("D")
    >>> {build_monomial(monomial): value for monomial, value in read(B * (D + 1) - B).items()}
    {B*D: 1}
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
    return _read_other(expr)


@lru_cache(maxsize=1 << 12)
def _read_cached(expr: Expr) -> tuple[tuple[Monomial, Number], ...]:
    return tuple(_read_atom(expr).items())


def _read_other(expr: Expr) -> Terms:
    return dict(_read_cached(expr))


def _read_atom(expr: Expr) -> Terms:
    if expr.is_Pow:
        base, exponent = expr.args
        if exponent.is_Rational:
            return power(read(base), as_number(exponent))
    if expr.is_number and (expr.is_real is False or expr.is_infinite or expr.is_Float or expr.is_finite is None):
        what = f"{expr} is not an exact real number"
        raise FormulaError(what, expected="integers, fractions and roots of positive numbers", got=str(expr)[:64])
    rebuilt = expr.func(*map(_normal_argument, expr.args))
    if rebuilt != expr and (rebuilt.is_Add or rebuilt.is_Mul or rebuilt.is_Pow or rebuilt.is_Rational):
        return read(rebuilt)
    return {frozenset(((rebuilt, 1),)): 1}


def _normal_argument(argument: Expr) -> Expr:
    if isinstance(argument, Expr):
        return build(common(read(argument)))
    if argument.args:
        return argument.func(*map(_normal_argument, argument.args))
    return argument


def power(table: Terms, exponent: Number) -> Terms:
    """Return any rational power of a table.

    Raises:
        FormulaError: 0 to a negative power, or an even root of a negative number.
    """
    if isinstance(exponent, int) and exponent >= 0:
        return raised(table, exponent)
    if not table:
        if exponent > 0:
            return {}
        what = "a formula divides by zero"
        raise FormulaError(what, expected="a divisor that is not 0", got="0")
    if len(table) > 1:
        return _sum_power(table, exponent)
    ((monomial, coefficient),) = table.items()
    if isinstance(exponent, int):
        return raised({_scaled(monomial, exponent): Fraction(coefficient) ** exponent}, 1)
    if coefficient < 0 or not all(base.is_nonnegative for base, _ in monomial):
        return {frozenset(((Pow(build(table), from_number(exponent)), 1),)): 1}
    return times(_number_power(Fraction(coefficient), exponent), _settled(_scaled(monomial, exponent)))


def _scaled(monomial: Monomial, factor: Number) -> Monomial:
    return frozenset((base, _plain(power * factor)) for base, power in monomial)


def _plain(value: Number) -> Number:
    return int(value) if value == int(value) else value


def _settled(monomial: Monomial) -> Terms:
    return reduce(times, ({frozenset((pair,)): 1} for pair in monomial), {UNIT: 1})


def _number_power(value: Fraction, exponent: Number) -> Terms:
    """Return a fractional power of a positive rational, as primes under exponents between 0 and 1."""
    coefficient = Fraction(1)
    pairs: dict[Expr, Number] = {}
    for part, sign in ((value.numerator, 1), (value.denominator, -1)):
        factors = factorint(part) if part < LARGEST_FACTORED else {part: 1}
        for prime, count in factors.items():
            whole = floor(count * sign * exponent)
            rest = count * sign * exponent - whole
            coefficient *= Fraction(prime) ** whole
            if rest:
                pairs[Integer(prime)] = rest
    return {frozenset(pairs.items()): _plain(coefficient)}


def _sum_power(table: Terms, exponent: Number) -> Terms:
    """Return a negative or fractional power of a sum: content and common monomial out, the rest a generator."""
    content, monomial, rest = primitive(table)
    outside = power({monomial: abs(content)}, exponent)
    if isinstance(exponent, int):
        outside = {key: value * (-1 if content < 0 and exponent % 2 else 1) for key, value in outside.items()}
    elif content < 0:
        rest = {key: -value for key, value in rest.items()}
    split = isinstance(exponent, int) or all(value > 0 for value in rest.values())
    for factor, count in factors(rest) if split else [(rest, 1)]:
        total_power = _plain(exponent * count)
        whole = floor(total_power) if total_power > 0 else 0
        if whole:
            outside = times(outside, raised(factor, whole))
        if total_power - whole:
            outside = times(outside, {frozenset(((build(factor), total_power - whole),)): 1})
    return outside


def primitive(table: Terms) -> tuple[Number, Monomial, Terms]:
    """Return content, common monomial and rest of a sum; the rest has coprime integer coefficients.

    The sign is such that the first monomial of the rest, in a fixed order of names, is positive.
    """
    lowest: dict[Expr, Number] = dict(next(iter(table)))
    for monomial in table:
        here = dict(monomial)
        for base in lowest.keys() | here.keys():
            lowest[base] = min(lowest.get(base, 0), here.get(base, 0))
    common_part = frozenset((base, power) for base, power in lowest.items() if power)
    values = [Fraction(value) for value in table.values()]
    content = Fraction(gcd(*(value.numerator for value in values)), lcm(*(value.denominator for value in values)))
    first = max(table, key=_monomial_key)
    content = _plain(-content if table[first] < 0 else content)
    inverse = _scaled(common_part, -1)
    rest = {_join(monomial, inverse)[0]: _plain(Fraction(value) / content) for monomial, value in table.items()}
    return content, common_part, rest


def _monomial_key(monomial: Monomial) -> tuple[Number, list[tuple[str, Number]]]:
    return sum(power for _, power in monomial), sorted((str(base), power) for base, power in monomial)


def factors(table: Terms) -> list[tuple[Terms, int]]:
    """Return the irreducible factors of a primitive sum, each positive where all generators are large and equal."""
    ring, scales = _ring_of([table])
    content, found = to_ring(ring, scales, table).factor_list()
    results = []
    for factor, count in found:
        piece = from_ring(scales, factor)
        _, _, rest = primitive(piece)
        results.append((rest, count))
    assert content
    return results


def _ring_of(tables: Iterable[Terms]) -> tuple[PolyRing, dict[Expr, int]]:
    """Return a polynomial ring with a generator for every generator's smallest root."""
    scales: dict[Expr, int] = {}
    for table in tables:
        for monomial in table:
            for base, power in monomial:
                scales[base] = lcm(scales.get(base, 1), Fraction(power).denominator)
    ordered = dict(sorted(scales.items(), key=lambda pair: pair[0].sort_key()))
    return PolyRing([f"x{number}" for number in range(len(ordered))], QQ), ordered


def to_ring(ring: PolyRing, scales: dict[Expr, int], table: Terms) -> PolyElement:
    """Return a table without negative powers as an element of the ring."""
    place = {base: number for number, base in enumerate(scales)}
    element = {}
    for monomial, value in table.items():
        exponents = [0] * len(scales)
        for base, power in monomial:
            exponents[place[base]] = int(power * scales[base])
        element[tuple(exponents)] = QQ(Fraction(value).numerator, Fraction(value).denominator)
    return ring.from_dict(element)


def from_ring(scales: dict[Expr, int], element: PolyElement) -> Terms:
    """Return an element of the ring as a table."""
    bases = list(scales.items())
    table: Terms = {}
    for exponents, value in element.items():
        pairs = [(base, _plain(Fraction(e, s))) for (base, s), e in zip(bases, exponents, strict=True) if e]
        table[frozenset(pairs)] = _plain(Fraction(int(value.numerator), int(value.denominator)))
    return table


def fraction(table: Terms) -> tuple[Terms, dict[Expr, int]]:
    """Return numerator and denominator, the latter as powers of sums, with nothing in common.

    The numerator may keep negative powers of symbols.
    """
    below: dict[Expr, int] = {}
    for monomial in table:
        for base, exponent in monomial:
            if base.is_Add and exponent < 0:
                below[base] = max(below.get(base, 0), -floor(exponent))
    if not below:
        return table, below
    top = table
    for base, count in below.items():
        top = times_sum_power(top, base, count)
    for base in sorted(below, key=lambda one: one.sort_key()):
        while below[base] and (quotient := _divide(top, read(base))) is not None:
            top = quotient
            below[base] -= 1
    return top, {base: count for base, count in below.items() if count}


def times_sum_power(table: Terms, base: Expr, count: int) -> Terms:
    """Return the table times a power of a sum that stands as a generator in it."""
    result: Terms = {}
    for monomial, value in table.items():
        exponent = dict(monomial).get(base, 0) + count
        rest = frozenset(pair for pair in monomial if pair[0] != base)
        whole = floor(exponent)
        if exponent != whole:
            rest |= {(base, exponent - whole)}
        add_into(result, times({rest: value}, raised(read(base), whole)))
    return result


def _divide(top: Terms, by: Terms) -> Terms | None:
    """Return the exact quotient, or None."""
    if not top:
        return None
    _, shift, _ = primitive(top) if len(top) > 1 else (1, next(iter(top)), None)
    inverse = _scaled(shift, -1)
    plain = {_join(monomial, inverse)[0]: value for monomial, value in top.items()}
    ring, scales = _ring_of([plain, by])
    quotient, rest = to_ring(ring, scales, plain).div(to_ring(ring, scales, by))
    if rest:
        return None
    return {_join(monomial, shift)[0]: value for monomial, value in from_ring(scales, quotient).items()}


def common(table: Terms) -> Terms:
    """Return the table over one denominator, where it has one; that denominator stays as generators."""
    top, below = fraction(table)
    if not below:
        return top
    under = frozenset((base, -count) for base, count in below.items())
    return {frozenset((monomial | under)): value for monomial, value in top.items()}


def build_monomial(monomial: Monomial) -> Expr:
    """Return a monomial as an expression."""
    return Mul(*(base if exponent == 1 else Pow(base, from_number(exponent)) for base, exponent in monomial))


def _build_term(monomial: Monomial, value: Number) -> Expr:
    built = build_monomial(monomial)
    return built if value == 1 else Mul(from_number(value), built)


def build(table: Terms) -> Expr:
    """Return a table as an expression in canonical form; a common denominator of sums is pulled out.

    >>> from symacct.algebra.symbols import symbol
    >>> B, D = symbol("B"), symbol("D")
    >>> build(common(read(1 + B / (B + D))))
    (2*B + D)/(B + D)
    """
    below = {base: power for base, power in next(iter(table), UNIT) if base.is_Add and power == int(power)}
    for monomial in table:
        if not below:
            break
        here = dict(monomial)
        below = {base: power for base, power in below.items() if here.get(base) == power}
    if not below or len(table) == 1:
        return Add(*starmap(_build_term, table.items()))
    under = frozenset(below.items())
    top = Add(*(_build_term(monomial - under, value) for monomial, value in table.items()))
    return Mul(top, build_monomial(under))
