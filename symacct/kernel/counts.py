"""Factorials and binomials of integers: polynomials, products with an anchor, or atoms.

``factorial(N)`` is N! of an integer N >= 0. ``binomial(N, K)``, C(N, K), is that of integers N >= 0 and K, 0
where K < 0 or K > N. That N and K are integers and N >= 0 must be seen. With M = N - K, C(N, K) = C(N, M).

Numbers. K is a number c: 0 for c < 0, else N(N - 1)...(N - c + 1)/c!, which is 0 where N < c, as one factor
is. The same with M in the place of K. Where K < 0 or M < 0 is seen, it is 0.

Anchors. The certificate may name binomials and factorials in which others are written. For integers N >= 0
and any K, (K+1) C(N+1, K+1) = (N+1) C(N, K) and (M+1) C(N+1, K) = (N+1) C(N, K): known for 0 <= K <= N; else
C(N, K) = 0, and on the left C is 0 too, or its factor (K = -1 in the first, M = -1 in the second). By j steps
of the first kind and i - j of the second, for numbers 0 <= j <= i,
    C(N, K) (N+1)...(N+i) = C(N+i, K+j) (K+1)...(K+j) (M+1)...(M+i-j),
and N! (N+1)...(N+i) = (N+i)!. All divisors N+1, ... are above 0. This asks nothing of K.

Factorials. Where the certificate says so, and K >= 0 and M >= 0 are seen, C(N, K) is N!/(K! M!).

Atoms. What is left is a variable, an integer; that of a binomial is named by the pair K, M in any order, as
C(K + M, K) = C(K + M, M). A factorial is at least 1; a binomial at least 0, and 1 where K, M >= 0 is seen.

Facts, for a number j. N! - N(N-1)...(N-j+1) >= 0: for N < j the product is 0, else N! is it times (N-j)!.
For K, M >= 0: C(N, K) - C(M+j, j) >= 0 where K >= j, as C(M+K, K) rises in K; C(N, K) - C(K+j, j) >= 0
where M >= j; C(N, K) - C(N, j) >= 0 where both are, as C(N, .) rises up to N/2 and is symmetric. These are
the sides 3j, 3j + 1 and 3j + 2; side j of a factorial is the first.
"""

from __future__ import annotations

from functools import reduce
from math import comb, factorial
from typing import TYPE_CHECKING, Any

from .form import canonical, check_form, operation, variables
from .poly import Ratio, constant, plain
from .refusal import LARGEST_COUNT, MOST_FACTORS, need

if TYPE_CHECKING:
    from .box import Box

COUNTS = {"binomial": 2, "factorial": 1}
FACTORIAL = "factorial"


def read_count(box: Box, head: str, parts: list[Ratio]) -> Ratio:
    """Return a factorial or a binomial."""
    need(len(parts) == COUNTS[head], f"{head} has other operands")
    need(all(map(box.integral, parts)), f"what {head} takes is not seen to be an integer")
    need(box.sure(parts[0]), f"what {head} takes is not seen to be at least 0")
    if head == FACTORIAL:
        return factorial_at(box, parts[0])
    above, below = parts
    other = box.minus(above, below)
    for one in (below, other):
        if (count := number(one)) is not None:
            return constant(0) if count < 0 else chosen(box, above, count)
    if any(box.sure(box.negative(one), strict=True) for one in (below, other)):
        return constant(0)
    if box.factorials and box.sure(below) and box.sure(other):
        parts = [factorial_at(box, one) for one in (above, below, other)]
        return box.over(parts[0], box.product(parts[1], parts[2]))
    for anchor in named(box, "binomial"):
        high, low = (box.read(part) for part in anchor[1:])
        steps = number(box.minus(high, above))
        for one, rest in ((below, other), (other, below)):
            first = number(box.minus(low, one))
            if steps is not None and first is not None and 0 <= first <= steps <= MOST_FACTORS:
                top = box.product(rising(box, one, first), rising(box, rest, steps - first))
                atom = binomial_atom(box, high, low)
                return box.product(atom, box.over(top, rising(box, above, steps)))
    return binomial_atom(box, above, below)


def check_anchor(expr: Any) -> None:
    """Refuse what is no factorial or binomial without another inside."""
    check_form(expr)
    head, *args = operation(expr)
    need(head in COUNTS and len(args) == COUNTS[head], "an anchor is a factorial or a binomial")
    need(not any(f'"{one}"' in canonical(args) for one in COUNTS), "an anchor has none inside")


def named(box: Box, head: str) -> list[Any]:
    """Return the anchors of a kind whose names are known here."""
    return [one for one in box.anchors if one[0] == head and variables(one) <= box.names]


def number(value: Ratio) -> int | None:
    """Return the integer that a fraction is, or None."""
    found = plain(value)
    return int(found) if found is not None and found.denominator == 1 else None


def rising(box: Box, value: Ratio, count: int) -> Ratio:
    """Return (value + 1)...(value + count)."""
    factors = (box.plus(value, constant(step)) for step in range(1, count + 1))
    return reduce(box.product, factors, constant(1))


def falling(box: Box, value: Ratio, count: int) -> Ratio:
    """Return value*(value - 1)*..., so many factors."""
    need(count <= MOST_FACTORS, "a product of too many factors")
    factors = (box.minus(value, constant(step)) for step in range(count))
    return reduce(box.product, factors, constant(1))


def chosen(box: Box, above: Ratio, count: int) -> Ratio:
    """Return the binomial over a number of at least 0."""
    size = number(above)
    if size is not None:
        return constant(comb_of(size, count))
    return box.over(falling(box, above, count), constant(factorial(min(count, MOST_FACTORS))))


def comb_of(above: int, below: int) -> int:
    """Return a binomial of numbers, the first of at least 0, if it is not too large."""
    small = min(below, above - below)
    need(
        small <= LARGEST_COUNT and small * above.bit_length() <= 8 * LARGEST_COUNT, "a binomial is too large"
    )
    return comb(above, below) if small >= 0 else 0


def factorial_of(value: int) -> int:
    """Return a factorial of a number of at least 0, if it is not too large."""
    need(value <= LARGEST_COUNT, "a factorial is too large")
    return factorial(value)


def factorial_at(box: Box, value: Ratio) -> Ratio:
    """Return the factorial of what is at least 0: a number, a product with an anchor, or an atom."""
    size = number(value)
    if size is not None:
        return constant(factorial_of(size))
    for anchor in named(box, FACTORIAL):
        high = box.read(anchor[1])
        steps = number(box.minus(high, value))
        if steps is not None and 0 <= steps <= MOST_FACTORS:
            atom = box.opaque(FACTORIAL, [high], 1, whole=True)
            return box.product(atom, box.over(constant(1), rising(box, value, steps)))
    return box.opaque(FACTORIAL, [value], 1, whole=True)


def binomial_atom(box: Box, above: Ratio, below: Ratio) -> Ratio:
    """Return a binomial as a variable."""
    other = box.minus(above, below)
    least = int(box.sure(below) and box.sure(other))
    atom = box.opaque("binomial", [below, other], least, whole=True)
    ((((name, _),), _),) = atom[0].items()
    box.made[name] = ("binomial", [above, below])
    return atom


def fact_of_count(box: Box, expr: Any, side: int) -> tuple[Ratio, bool]:
    """Return what is at least 0 for a factorial or a binomial."""
    head, *args = operation(expr)
    value, parts = box.read(expr), [box.read(part) for part in args]
    need(0 <= side <= 3 * MOST_FACTORS, "the atom has no such side")
    if head == FACTORIAL:
        return box.minus(value, falling(box, parts[0], side)), False
    above, below = parts
    other, (count, kind) = box.minus(above, below), divmod(side, 3)
    enough = [box.minus(one, constant(count)) for one in (below, other)]
    needed = {0: [enough[0], other], 1: [below, enough[1]], 2: enough}[kind]
    need(all(map(box.sure, needed)), "the binomial is not seen to be that large")
    base = {0: other, 1: below, 2: box.minus(above, constant(count))}[kind]
    return box.minus(value, chosen(box, box.plus(base, constant(count)), count)), False
