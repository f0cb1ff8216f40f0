"""Counterexamples: the smallest integer sizes at which a relation fails, with both values."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations_with_replacement, islice
from typing import TYPE_CHECKING

from symacct.algebra.budget import check_time
from symacct.algebra.evaluate import evaluate, names_of
from symacct.algebra.terms import read
from symacct.errors import RuleError, SizeError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from sympy import Expr

    from symacct.algebra.condition import Condition
    from symacct.algebra.tables import Terms

MOST_POINTS, FEW_VALUES = 4000, 20
LARGE = (10, 100, 1000, 10**4, 10**6)

Value = Fraction | None


@dataclass(frozen=True, slots=True)
class Counterexample:
    """Sizes at which a relation fails, and the values of its two sides there."""

    sizes: tuple[tuple[str, int], ...]
    left: Expr
    right: Expr

    def describe(self) -> str:
        """Return the sizes and both values in one line."""
        at = ", ".join(f"{name} = {size}" for name, size in self.sizes)
        return f"{at}: {self.left} against {self.right}" if at else f"{self.left} against {self.right}"


def counterexample(
    left: Expr,
    right: Expr,
    holds: Callable[[Fraction], bool],
    lower: Mapping[str, int],
    conditions: Sequence[Condition] = (),
) -> Counterexample | None:
    """Return the first sizes, by their sum, at which ``holds(left - right)`` is false.

    Args:
        left: one side.
        right: the other side.
        holds: what the difference must satisfy.
        lower: the least value of each size.
        conditions: what sizes must satisfy to be looked at.
    """
    difference = compiled(left - right)
    names = sorted({*names_of(left), *names_of(right), *(n for c in conditions for n in c.names)})
    for sizes in islice(points(names, lower), MOST_POINTS):
        check_time()
        if all(condition.holds(sizes) for condition in conditions):
            value = difference(sizes)
            if value is not None and not holds(value):
                small = _shrunk(sizes, lambda at: _fails(at, difference, holds, conditions), lower)
                return Counterexample(tuple(small.items()), evaluate(left, small), evaluate(right, small))
    return None


def _fails(
    sizes: Mapping[str, int],
    difference: Callable[[Mapping[str, int]], Value],
    holds: Callable[[Fraction], bool],
    conditions: Sequence[Condition],
) -> bool:
    value = difference(sizes)
    return value is not None and not holds(value) and all(one.holds(sizes) for one in conditions)


def _shrunk(
    sizes: dict[str, int], fails: Callable[[Mapping[str, int]], bool], lower: Mapping[str, int]
) -> dict[str, int]:
    """Return sizes of which none can be made smaller alone (of the few values that are tried)."""
    for _ in range(len(sizes)):
        before = dict(sizes)
        for name, size in before.items():
            least = lower.get(name, 1)
            for value in range(least, min(size, least + FEW_VALUES)):
                if fails({**sizes, name: value}):
                    sizes = {**sizes, name: value}
                    break
        if sizes == before:
            break
    return sizes


def points(names: Sequence[str], lower: Mapping[str, int]) -> Iterator[dict[str, int]]:
    """Yield sizes from the corner outwards, by the sum of their distances, mixed with some large ones.

    >>> from itertools import islice
    >>> list(islice(points(["B", "D"], {}), 3))
    [{'B': 1, 'D': 1}, {'B': 2, 'D': 1}, {'B': 1, 'D': 2}]
    """
    corner = {name: lower.get(name, 1) for name in names}
    if not names:
        yield {}
        return
    for distance in range(MOST_POINTS):
        for chosen in combinations_with_replacement(names, distance):
            yield {name: corner[name] + chosen.count(name) for name in names}
        if distance in (1, 3):
            for large in LARGE:
                yield {name: corner[name] + large for name in names}
                for one in names:
                    yield {name: corner[name] + (large if name == one else 0) for name in names}


def compiled(expr: Expr) -> Callable[[Mapping[str, int]], Value]:
    """Return a function that evaluates a formula exactly; None where it has no rational value."""
    table = read(expr)
    if all(base.is_Symbol and isinstance(power, int) for monomial in table for base, power in monomial):
        return _polynomial(table)

    def general(sizes: Mapping[str, int]) -> Value:
        try:
            value = evaluate(expr, {name: sizes[name] for name in names_of(expr)})
        except (RuleError, SizeError):
            return None
        return Fraction(int(value.p), int(value.q)) if value.is_Rational else None

    return general


def _polynomial(table: Terms) -> Callable[[Mapping[str, int]], Value]:
    rows = [(Fraction(c), [(base.name, power) for base, power in monomial]) for monomial, c in table.items()]

    def value(sizes: Mapping[str, int]) -> Value:
        total = Fraction(0)
        for coefficient, powers in rows:
            term = coefficient
            for name, power in powers:
                size = Fraction(sizes[name])
                for _ in range(abs(int(power))):
                    term = term * size if power > 0 else term / size
            total += term
        return total

    return value
