"""Tables from monomials to exact coefficients: what an expression is once it is expanded.

A monomial is a set of pairs (generator, exponent). Generators are symbols, opaque atoms (`ceiling`, `Max`,
`Sum`, ... with normal arguments), primes under a root, and sums under a negative or fractional power.
Exponents are integers or fractions; a sum or a prime never stands under an exponent of 1 or more.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import starmap
from math import gcd, lcm
from typing import TYPE_CHECKING

from sympy import Add, Expr, Integer, Mul, Pow, Rational
from sympy.polys.domains import QQ
from sympy.polys.rings import PolyElement, PolyRing

from symacct.errors import LimitError

if TYPE_CHECKING:
    from collections.abc import Iterable

Number = int | Fraction
Monomial = frozenset[tuple[Expr, Number]]
Terms = dict[Monomial, Number]

UNIT: Monomial = frozenset()
MOST_FACTORED = 40


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


def plain(value: Number) -> Number:
    """Return a fraction that is whole as an integer.

    >>> plain(Fraction(4, 2))
    2
    """
    return int(value) if value == int(value) else value


def add_into(table: Terms, more: Terms, factor: Number = 1) -> None:
    """Add `factor` times `more` to `table`, in place."""
    for monomial, coefficient in more.items():
        value = table.get(monomial, 0) + factor * coefficient
        if value:
            table[monomial] = value
        else:
            table.pop(monomial, None)


def scaled(monomial: Monomial, factor: Number) -> Monomial:
    """Return a monomial with its exponents multiplied; what that makes of sums is the caller's concern."""
    return frozenset((base, plain(power * factor)) for base, power in monomial)


def shifted(table: Terms, by: Monomial) -> Terms:
    """Return the table times a monomial that takes no sum to a power of 1 or more."""
    if not by:
        return table
    result: Terms = {}
    for monomial, value in table.items():
        powers = dict(monomial)
        for base, power in by:
            powers[base] = powers.get(base, 0) + power
        result[frozenset((base, plain(power)) for base, power in powers.items() if power)] = value
    return result


def primitive(table: Terms) -> tuple[Number, Monomial, Terms]:
    """Return content, common monomial (sums left in) and rest; the rest has coprime integer coefficients.

    The sign is such that the first monomial of the rest, in a fixed order of names, is positive.
    """
    lowest: dict[Expr, Number] = {base: power for base, power in next(iter(table)) if not base.is_Add}
    for monomial in table:
        here = dict(monomial)
        for base in lowest.keys() | {base for base in here if not base.is_Add}:
            lowest[base] = min(lowest.get(base, 0), here.get(base, 0))
    shared = frozenset((base, power) for base, power in lowest.items() if power)
    values = [Fraction(value) for value in table.values()]
    content = Fraction(
        gcd(*(value.numerator for value in values)), lcm(*(value.denominator for value in values))
    )
    rest = shifted(table, scaled(shared, -1))
    if rest[_first(rest)] < 0:
        content = -content
    return plain(content), shared, {monomial: plain(value / content) for monomial, value in rest.items()}


def _first(table: Terms) -> Monomial:
    """Return the greatest monomial in the graded lexicographic order of names; products keep that order."""
    named = {monomial: {str(base): power for base, power in monomial} for monomial in table}
    names = sorted({name for powers in named.values() for name in powers})
    return max(table, key=lambda one: (sum(named[one].values()), [named[one].get(name, 0) for name in names]))


def polynomial_ring(tables: Iterable[Terms]) -> tuple[PolyRing, dict[Expr, int]]:
    """Return a ring over QQ, and each generator with the root of it that the ring's variable stands for."""
    scales: dict[Expr, int] = {}
    for table in tables:
        for monomial in table:
            for base, power in monomial:
                scales[base] = lcm(scales.get(base, 1), Fraction(power).denominator)
    ordered = dict(sorted(scales.items(), key=lambda pair: str(pair[0])))
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
        pairs = [
            (base, plain(Fraction(e, scale))) for (base, scale), e in zip(bases, exponents, strict=True) if e
        ]
        table[frozenset(pairs)] = plain(Fraction(int(value.numerator), int(value.denominator)))
    return table


def factors(table: Terms) -> list[tuple[Terms, int]]:
    """Return the irreducible factors of a primitive sum without negative powers, each with a fixed sign.

    The sign of the product is the sum's, because a primitive sum and its factors all begin with a plus.
    """
    if _is_linear(table):
        return [(primitive(table)[2], 1)]
    ring, scales = polynomial_ring([table])
    if len(scales) > MOST_FACTORED:
        what = f"a sum of {len(scales)} sizes is too large to be factored"
        raise LimitError(what, expected=f"at most {MOST_FACTORED} sizes", got=str(len(scales)))
    _, found = to_ring(ring, scales, table).factor_list()
    pieces = [(primitive(from_ring(scales, factor)), count) for factor, count in found]
    return [(rest, count) for (_, _, rest), count in pieces]


def _is_linear(table: Terms) -> bool:
    """Say whether a primitive sum has no term of a degree above 1: it is irreducible."""
    powers = ([power for _, power in monomial] for monomial in table)
    return all(found in ([], [1]) for found in powers)


def divide(top: Terms, by: Terms) -> Terms | None:
    """Return the exact quotient by a primitive sum, or None; the top alone may have negative powers."""
    if not top or any(power < 0 for monomial in by for _, power in monomial):
        return None
    shift = primitive(top)[1]
    lifted = shifted(top, scaled(shift, -1))
    ring, scales = polynomial_ring([lifted, by])
    quotient, rest = to_ring(ring, scales, lifted).div(to_ring(ring, scales, by))
    return None if rest else shifted(from_ring(scales, quotient), shift)


def build_monomial(monomial: Monomial) -> Expr:
    """Return a monomial as an expression."""
    return Mul(*(base if exponent == 1 else Pow(base, from_number(exponent)) for base, exponent in monomial))


def _build_term(monomial: Monomial, value: Number) -> Expr:
    built = build_monomial(monomial)
    return built if value == 1 else Mul(from_number(value), built)


def build(table: Terms) -> Expr:
    """Return a table as an expression; a denominator that all terms share stands once."""
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
