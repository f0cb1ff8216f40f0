"""In which factorials and binomials of a statement the others are written; the kernel checks each step."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sympy import Integer

from symacct.algebra.factorials import COUNTED, Binomial, Factorial
from symacct.algebra.normal import normal

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from sympy import Expr

MOST_ANCHORS, MOST_STEPS = 16, 64


def counts_in(exprs: Iterable[Expr]) -> tuple[Expr, ...]:
    """Return the factorials and binomials in formulas, without those that hold others."""
    found = {one for expr in exprs for one in expr.atoms(*COUNTED)}
    plain = (one for one in found if not any(part.has(*COUNTED) for part in one.args))
    return tuple(sorted(plain, key=str))


def anchors(counts: Sequence[Expr], *, factorials: bool = False) -> list[Expr]:
    """Return the factorial or binomial of each kind that all others of it are written in.

    Args:
        counts: the factorials and binomials of a statement.
        factorials: whether binomials are written in factorials.

    >>> from symacct.algebra.symbols import symbol
    >>> s, t = symbol("s"), symbol("t")
    >>> anchors([Binomial(s + t - 1, s), Binomial(s + t - 1, s - 1), Factorial(s), Factorial(s + 1)])
    [factorial(s + 1), binomial(s + t, s)]
    """
    chosen = [one.args for one in counts if isinstance(one, Binomial)]
    single = [one.args[0] for one in counts if isinstance(one, Factorial)]
    if factorials:
        single += [part for n, k in chosen for part in (n, k, n - k)]
    return [*_of_factorials(single), *_of_binomials(chosen)][:MOST_ANCHORS]


def _parted(expr: Expr) -> tuple[Expr, int]:
    """Return a formula without the integer that is added to it, and that integer."""
    number, rest = normal(expr).as_coeff_Add()
    whole = Integer(number.p // number.q)
    return rest + (number - whole), int(whole)


def _of_factorials(args: Iterable[Expr]) -> list[Expr]:
    most: dict[Expr, int] = {}
    for one in args:
        rest, number = _parted(one)
        if rest.free_symbols:
            most[rest] = max(most.get(rest, number), number)
    return [Factorial(rest + number) for rest, number in most.items()]


def _of_binomials(args: Iterable[tuple[Expr, ...]]) -> list[Expr]:
    """Return the anchors: what is below, and what is left, are both as large as in any of the others."""
    most: dict[tuple[Expr, Expr], tuple[int, int]] = {}
    for n, k in args:
        below, left = sorted((_parted(k), _parted(n - k)), key=lambda one: str(one[0]))
        if not below[0].free_symbols or not left[0].free_symbols:
            continue
        key = below[0], left[0]
        known = most.get(key, (below[1], left[1]))
        most[key] = max(known[0], below[1]), max(known[1], left[1])
    return [
        Binomial(normal(below + left + one + other), normal(below + one))
        for (below, left), (one, other) in most.items()
    ]


def reduced(expr: Expr) -> Expr:
    """Return a formula with factorials and binomials written in their anchors, wherever it has a value.

    >>> from symacct.algebra.symbols import symbol
    >>> n = symbol("n")
    >>> normal(reduced(Factorial(n + 1) - (n + 1) * Factorial(n)))
    0
    """
    counts = counts_in([expr])
    if len(counts) < 2:
        return expr
    known = {}
    for high in anchors(counts):
        for one in counts:
            if one not in known and (ratio := _over(one, high)) is not None:
                known[one] = ratio * high
    return expr.xreplace(known)


def _over(one: Expr, high: Expr) -> Expr | None:
    """Return a factorial or binomial over its anchor, as the kernel does; None where it has another one."""
    steps = normal(high.args[0] - one.args[0])
    if type(one) is not type(high) or not steps.is_Integer or not 0 <= steps <= MOST_STEPS:
        return None
    below = _rising(one.args[0], int(steps))
    if isinstance(one, Factorial):
        return 1 / below
    k, left = one.args[1], one.args[0] - one.args[1]
    for this, other in ((k, left), (left, k)):
        first = normal(high.args[1] - this)
        if first.is_Integer and 0 <= first <= steps:
            return _rising(this, int(first)) * _rising(other, int(steps - first)) / below
    return None


def _rising(base: Expr, count: int) -> Expr:
    result: Expr = Integer(1)
    for step in range(1, count + 1):
        result *= normal(base + step)
    return result
