"""Sizes that satisfy conditions, generated and not sifted: ``k divides L`` makes L from k and a quotient."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations_with_replacement, islice
from math import ceil
from typing import TYPE_CHECKING

from sympy import ceiling, sqrt

from symacct.algebra.domain import is_whole
from symacct.algebra.evaluate import names_of, substitute
from symacct.algebra.normal import normal
from symacct.algebra.symbols import symbol
from symacct.proof.compiled import compiled
from symacct.proof.enclosure import holder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from sympy import Expr

    from symacct.algebra.condition import Condition

    Value = int | Fraction | None

LARGE = (10, 100, 1000, 10**4, 10**6)
FARTHEST = 4000


@dataclass(frozen=True, slots=True)
class Made:
    """How sizes are made: free ones with their least values, and formulas for the others in order."""

    lower: Mapping[str, int]
    formulas: tuple[tuple[str, Callable[[Mapping[str, int | Fraction]], Value]], ...]
    holds: tuple[Callable[[Mapping[str, int | Fraction]], bool], ...]
    names: tuple[str, ...]
    least: tuple[tuple[str, int], ...]

    def points(self) -> Iterator[dict[str, int] | None]:
        """Yield sizes that satisfy all conditions, and None for each try that does not."""
        for point in points(sorted(self.lower), self.lower):
            yield self.at(point)

    def valid(self, tries: int = FARTHEST) -> Iterator[dict[str, int]]:
        """Yield the sizes that satisfy all conditions, of so many tries."""
        yield from (sizes for sizes in islice(self.points(), tries) if sizes is not None)

    def at(self, point: Mapping[str, int]) -> dict[str, int] | None:
        """Return the sizes that free ones make, or None where they are no integers or break a condition."""
        sizes = dict(point)
        for name, formula in self.formulas:
            value = formula(sizes)
            if value is None or Fraction(value).denominator != 1:
                return None
            sizes[name] = int(value)
        found = {name: sizes[name] for name in self.names}
        large = all(found[name] >= least for name, least in self.least)
        return found if large and all(holds(found) for holds in self.holds) else None


def made(
    names: Sequence[str],
    lower: Mapping[str, int],
    conditions: Iterable[Condition] = (),
    real: frozenset[str] = frozenset(),
) -> Made:
    """Return how sizes that satisfy conditions are made; names of real numbers get integers too.

    >>> from symacct.algebra.condition import Condition
    >>> from symacct.algebra.symbols import symbol
    >>> found = made(["L", "k"], {"k": 2}, [Condition("divides", symbol("k"), symbol("L"))])
    >>> from itertools import islice
    >>> list(islice(found.points(), 3))
    [{'L': 2, 'k': 2}, {'L': 4, 'k': 2}, {'L': 3, 'k': 3}]
    """
    conditions = tuple(conditions)
    everything = sorted({*names, *(name for one in conditions for name in one.names)})
    into: dict[str, Expr] = {}
    least = {name: lower.get(name, 1) for name in everything}
    for condition in sorted(conditions, key=lambda one: one.kind != "divides"):
        if not (condition.kind == "divides" and real & set(condition.names)):
            _define(condition, into, least)
    for _ in into:
        into = {name: normal(substitute(value, into)) for name, value in into.items()}
    free = {name: low for name, low in least.items() if name not in into}
    for condition in conditions:
        _raise(condition, into, free)
    formulas = tuple((name, compiled(value)) for name, value in into.items())
    bounds = tuple((name, lower.get(name, 1)) for name in into)
    return Made(free, formulas, tuple(map(holder, conditions)), tuple(everything), bounds)


def _define(condition: Condition, into: dict[str, Expr], least: dict[str, int]) -> None:
    """Note a size that a condition makes from others, with what is left open as a free one."""
    left, right = condition.left, condition.right
    if condition.kind == "divides" or (condition.kind == "equal" and not left.is_Symbol):
        left, right = right, left
    if not left.is_Symbol or left.name in into:
        return
    name = left.name
    if condition.kind == "equal" and normal(right - ceiling(sqrt(left)) ** 2) == 0:
        into[name] = _open("root", name, 1, least) ** 2
        return
    reached = {deep for one in names_of(right) for deep in (one, *names_of(into.get(one, right)))}
    tied = {other for other, value in into.items() if name in names_of(value)}
    if name in reached or tied & reached or (right.is_number and condition.kind in ("at_least", "above")):
        return
    if condition.kind == "equal":
        into[name] = right
    elif condition.kind == "divides":
        into[name] = normal(right * _open("times", name, 1, least))
    elif is_whole(right):
        into[name] = normal(right + _open("more", name, int(condition.kind == "above"), least))


def _open(what: str, name: str, low: int, least: dict[str, int]) -> Expr:
    """Return a new free size for what a condition leaves open."""
    found = f"{name}_{what}_"
    while found in least:
        found += "_"
    least[found] = low
    return symbol(found)


def _raise(condition: Condition, into: Mapping[str, Expr], free: dict[str, int]) -> None:
    """Raise the least value of a free size that a condition bounds from below."""
    if condition.kind not in ("at_least", "above"):
        return
    gap = normal(substitute(condition.left - condition.right, into))
    names = names_of(gap)
    if len(names) != 1:
        return
    at = symbol(names[0])
    slope = normal(gap.diff(at))
    if slope.is_Rational and slope > 0 and names[0] in free:
        start = -normal(substitute(gap, {names[0]: 0})) / slope
        if start.is_Rational:
            free[names[0]] = max(free[names[0]], ceil(Fraction(int(start.p), int(start.q))))


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
    for distance in range(FARTHEST):
        for chosen in combinations_with_replacement(names, distance):
            yield {name: corner[name] + chosen.count(name) for name in names}
        if distance in (1, 3):
            for large in LARGE:
                yield {name: corner[name] + large for name in names}
                for one in names:
                    yield {name: corner[name] + (large if name == one else 0) for name in names}
