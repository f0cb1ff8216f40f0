"""What an expression is worth at a point: two rational numbers with the value between them.

Every operation is exact on ends, and takes the least and largest of what the ends can give: sums and
products of intervals, quotients by an interval without 0, the increasing functions min, max, floor, ceil,
sqrt and log; a factorial or a binomial is that of exact integers. Only roots and logarithms widen. With S =
4^k, isqrt(floor(x*S))/2^k <= sqrt(x) <
(isqrt(floor(x*S)) + 1)/2^k; the root of the square of a fraction is exact. For a logarithm, x = 2^e * m
with 1 <= m < 2 and t = (m - 1)/(m + 1), so that 0 <= t < 1/3 and log m = 2*(t + t^3/3 + t^5/5 + ...): all
terms are at least 0, and those that are left out after t^(2n-1) come to at most 2*t^(2n+1)/(1 - t^2). log 2
is the same series at t = 1/3. Each term is rounded outwards. Where the ends are not equal, both may be
moved outwards to shorter numbers.
"""

from __future__ import annotations

from fractions import Fraction
from functools import reduce
from math import ceil, floor, isqrt
from typing import TYPE_CHECKING, Any

from .counts import COUNTS, comb_of, factorial_of
from .form import integer, is_name, is_variable, known, operation, short
from .poly import bounded
from .refusal import LONGEST_SUM, MOST_POWER, Refused, need

if TYPE_CHECKING:
    from .refusal import Meter

Span = tuple[Fraction, Fraction]
Point = dict[str, Fraction]
BITS, TERMS, LOG_WORK = 160, 60, 100
SHIFT = 1 << BITS


def shorter(low: Fraction, high: Fraction) -> Span:
    """Return an interval around another one, with short ends; a single number stays as it is."""
    if low == high or max(low.denominator, high.denominator) <= SHIFT:
        return bounded(low), bounded(high)
    return Fraction(floor(low * SHIFT), SHIFT), Fraction(ceil(high * SHIFT), SHIFT)


def root_of(value: Fraction) -> Span:
    """Return two numbers with the root of a number of at least 0 between them."""
    exact = Fraction(isqrt(value.numerator), isqrt(value.denominator))
    if exact * exact == value:
        return exact, exact
    low = isqrt(floor(value * SHIFT * SHIFT))
    return Fraction(low, SHIFT), Fraction(low + 1, SHIFT)


def log_of(value: Fraction) -> Span:
    """Return two numbers with the logarithm of a positive number between them."""
    shift = value.numerator.bit_length() - value.denominator.bit_length()
    part = value / Fraction(2) ** shift
    if part < 1:
        shift, part = shift - 1, part * 2
    low, high = of_part(part) if part > 1 else (Fraction(0), Fraction(0))
    if shift:
        two = of_part(Fraction(2))
        ends = sorted((shift * two[0], shift * two[1]))
        low, high = low + ends[0], high + ends[1]
    return low, high


def of_part(part: Fraction) -> Span:
    """Return two numbers with the logarithm of a number from 1 to 2 between them.

    The series increases with t, so that t may be taken down to a shorter number, and up.
    """
    t = (part - 1) / (part + 1)
    below, above = Fraction(floor(t * SHIFT), SHIFT), Fraction(ceil(t * SHIFT), SHIFT)
    return one_series(below, up=False), one_series(above, up=True)


def one_series(t: Fraction, *, up: bool) -> Fraction:
    """Return a number below (above) 2*artanh(t), each term rounded down (up)."""
    turn = ceil if up else floor
    total, power, square = 0, turn(t * SHIFT), turn(t * t * SHIFT)
    for n in range(TERMS):
        total += turn(Fraction(2 * power, 2 * n + 1))
        power = turn(Fraction(power * square, SHIFT))
    if up:
        total += ceil(2 * power / (1 - t * t))
    return Fraction(total, SHIFT)


def value_at(expr: Any, point: Point, meter: Meter) -> Span:
    """Return two numbers with the value of an expression at a point between them."""
    meter.spend(2)
    if isinstance(expr, str):
        return (Fraction(integer(expr)),) * 2
    head, *args = operation(expr)
    meter.spend(LOG_WORK if head == "log" else 0)
    if head == "var":
        need(is_variable(expr), "a variable has one name")
        return (Fraction(known(point, args[0], "size of the point")),) * 2
    if head == "sum":
        return sum_at(args, point, meter)
    if head == "^":
        need(len(args) == 2 and 0 <= integer(args[1]) <= MOST_POWER, "an exponent is out of range")
        meter.spend(integer(args[1]))
        return reduce(product, [value_at(args[0], point, meter)] * integer(args[1]), (Fraction(1),) * 2)
    values = [value_at(arg, point, meter) for arg in args]
    if head in COUNTS:
        found = count_at(head, values)
    elif head in {"+", "*"}:
        found = reduce(plus if head == "+" else product, values)
    elif head in {"min", "max"}:
        found = extreme(head, values)
    else:
        if len(values) != (2 if head == "/" else 1):
            raise Refused(f"{short(head)} has other operands")
        found = over(*values) if head == "/" else increasing(head, *values)
    meter.spend(found[0].denominator.bit_length() >> 6)
    return shorter(*found)


def plus(one: Span, other: Span) -> Span:
    """Return the sum of intervals."""
    return shorter(one[0] + other[0], one[1] + other[1])


def product(one: Span, other: Span) -> Span:
    """Return the product of intervals."""
    ends = [a * b for a in one for b in other]
    return shorter(min(ends), max(ends))


def over(one: Span, other: Span) -> Span:
    """Return the quotient of intervals."""
    need(other[0] > 0 or other[1] < 0, "a division by 0")
    return product(one, (1 / other[1], 1 / other[0]))


def extreme(head: str, values: list[Span]) -> Span:
    """Return the least or the largest of intervals."""
    which = min if head == "min" else max
    return which(low for low, _ in values), which(high for _, high in values)


def increasing(head: str, value: Span) -> Span:
    """Return floor, ceil, sqrt or log of an interval."""
    low, high = value
    if head in {"floor", "ceil"}:
        turn = floor if head == "floor" else ceil
        return Fraction(turn(low)), Fraction(turn(high))
    need(head in {"sqrt", "log"}, f"no such operation: {short(head)}")
    if head == "sqrt":
        need(low >= 0, "the root of a negative number")
        return root_of(low)[0], root_of(high)[1]
    need(low > 0, "the logarithm of what is not positive")
    return log_of(low)[0], log_of(high)[1]


def count_at(head: str, values: list[Span]) -> Span:
    """Return a factorial or a binomial, of exact integers."""
    need(len(values) == COUNTS[head], f"{head} has other operands")
    need(all(low == high and low.denominator == 1 for low, high in values), f"{head} is not of integers")
    n, *below = (int(low) for low, _ in values)
    need(n >= 0, f"{head} of a negative number")
    found = comb_of(n, *below) if below else factorial_of(n)
    return (Fraction(found),) * 2


def sum_at(args: list[Any], point: Point, meter: Meter) -> Span:
    """Return a sum at a point, term by term."""
    need(len(args) == 4 and is_name(args[0]) and args[0] not in point, "a sum needs a new index")
    lo, hi = (value_at(end, point, meter) for end in args[1:3])
    whole = lo[0] == lo[1] and hi[0] == hi[1] and lo[0].denominator == hi[0].denominator == 1
    need(whole and 0 <= hi[0] - lo[0] <= LONGEST_SUM, "no such range")
    result = (Fraction(0),) * 2
    for i in range(int(lo[0]), int(hi[0])):
        result = plus(result, value_at(args[3], {**point, args[0]: Fraction(i)}, meter))
    return result


def span_of(made: dict[str, Any], value: Any) -> Span:
    """Return two numbers with the value of a fraction of polynomials in atoms without names between them."""
    top, below = (
        reduce(plus, (term_of(made, m, c) for m, c in poly.items()), (Fraction(0),) * 2) for poly in value
    )
    return over(top, below)


def term_of(made: dict[str, Any], monomial: Any, c: Fraction) -> Span:
    """Return a number times powers of atoms without names."""
    result: Span = (c, c)
    for name, power in monomial:
        head, parts = made[name]
        spans = [span_of(made, part) for part in parts]
        if head in COUNTS:
            atom = count_at(head, spans)
        else:
            atom = extreme(head, spans) if head in {"min", "max"} else increasing(head, *spans)
        result = reduce(product, [atom] * power, result)
    return result
