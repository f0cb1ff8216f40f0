"""Sizes to try a claim at: the smallest, those at a border, large ones; and the smallest that fail."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING

from symacct.algebra.budget import check_time
from symacct.algebra.evaluate import names_of
from symacct.algebra.normal import normal
from symacct.algebra.symbols import symbol
from symacct.proof.compiled import compiled
from symacct.proof.enclosure import UndefinedError, holder, sign_of
from symacct.proof.sizes import made

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from sympy import Expr

    from symacct.algebra.domain import Domain

    Point = dict[str, int | Fraction]
    Fails = Callable[[Mapping[str, int | Fraction]], bool]

POINTS = 200
SMALL, TRIES, BASES = 120, 4000, 6
LADDER = tuple(
    sorted({*range(1, 9), *(2**k for k in range(4, 21)), *(3 * 2**k for k in range(2, 18)), 10**9})
)
SHARES = (Fraction(1), Fraction(1, 2), Fraction(7, 3), Fraction(1, 1000))
MOST_CHECKS = 60_000
LARGEST = 10**24


@dataclass(frozen=True)
class Space:
    """The points of a domain over some names: sizes that equalities give stand among them.

    >>> from symacct.algebra.domain import domain_of
    >>> from symacct.algebra.condition import Condition
    >>> L, k = symbol("L"), symbol("k")
    >>> space = Space(("L", "k"), domain_of([Condition("divides", k, L)]))
    >>> list(islice(space.small(), 3))
    [{'L': 1, 'k': 1}, {'L': 2, 'k': 1}, {'L': 2, 'k': 2}]
    """

    shown: tuple[str, ...]
    domain: Domain

    @cached_property
    def free(self) -> list[str]:
        """The names that vary."""
        found = {name for one in self.domain.conditions for name in one.names}
        found |= {n for value in self.domain.replaced.values() for n in names_of(value)} | set(self.shown)
        return sorted(found - set(self.domain.replaced))

    @cached_property
    def checks(self) -> list[Callable[[Mapping[str, int | Fraction]], bool]]:
        """What each point satisfies."""
        return [holder(one) for one in self.domain.conditions]

    @cached_property
    def given(self) -> list[tuple[str, Callable[[Mapping[str, int | Fraction]], int | Fraction | None]]]:
        """The sizes that others give."""
        return [(name, compiled(value)) for name, value in sorted(self.domain.replaced.items())]

    def whole(self, point: Mapping[str, int | Fraction]) -> Point | None:
        """Return a point with the sizes that equalities give; None where it is outside the domain."""
        for name, value in point.items():
            if name not in self.domain.real and (value != int(value) or value < self.domain.least(name)):
                return None
            if value <= 0 and name in self.domain.real:
                return None
        if not all(check(point) for check in self.checks):
            return None
        found: Point = dict(point)
        for name, formula in self.given:
            given = formula(point)
            if given is None or (name not in self.domain.real and Fraction(given).denominator != 1):
                return None
            found[name] = given if name in self.domain.real else int(given)
        return dict(sorted(found.items()))

    def small(self, tries: int = TRIES) -> Iterator[Point]:
        """Yield points from the corner outwards, mixed with large ones."""
        space = made(self.free, self.domain.lower, self.domain.conditions, self.domain.real)
        for at in islice(space.points(), tries):
            check_time()
            if at is not None and (found := self.whole({name: at[name] for name in self.free})) is not None:
                yield found

    def beside(self, point: Point, exprs: Sequence[Expr]) -> Iterator[Point]:
        """Yield points at the borders of conditions, and where a formula changes its sign, seen from one."""
        base = {name: point[name] for name in self.free}
        for name in self.free:
            for value in self._turns(name, base, exprs):
                for step in (0, 1, -1):
                    at = {**base, name: value + step if name in self.domain.real else int(value) + step}
                    if (found := self.whole(at)) is not None:
                        yield found
            for factor in SHARES if name in self.domain.real else ():
                if (found := self.whole({**base, name: base[name] * factor})) is not None:
                    yield found

    def _turns(self, name: str, base: Point, exprs: Sequence[Expr]) -> Iterator[int | Fraction]:
        """Yield where a linear condition in a size is at its border, and where a sign changes."""
        for one in self.domain.conditions:
            gap = normal(one.left - one.right)
            slope = gap.diff(symbol(name)) if name in one.names and one.kind != "divides" else None
            if slope is not None and name not in names_of(slope):
                top, steep = compiled(gap)({**base, name: 1}), compiled(slope)(base)
                if top is not None and steep:
                    yield Fraction(1) - Fraction(top) / Fraction(steep)
        for expr in exprs:
            yield from turns(expr, name, base, self.domain.least(name))


def turns(expr: Expr, name: str, base: Mapping[str, int | Fraction], least: int = 1) -> Iterator[int]:
    """Yield integers next to which a formula changes its sign in one size."""
    if name not in names_of(expr):
        return
    sign = sign_of(expr)

    def at(value: int) -> int | None:
        try:
            return sign({**base, name: value})
        except UndefinedError:
            return None

    ladder = [least - 1 + one for one in LADDER]
    signs = [at(value) for value in ladder]
    for low, high, before, after in zip(ladder, ladder[1:], signs, signs[1:], strict=False):
        if before == after or before is None or after is None:
            continue
        left, right = low, high
        while right - left > 1:
            middle = (left + right) // 2
            left, right = (middle, right) if at(middle) == before else (left, middle)
        yield right


def sample(space: Space, exprs: Sequence[Expr] = (), most: int = POINTS) -> list[Point]:
    """Return up to so many different points: small ones first, then at borders, large ones, and spread ones.

    Args:
        space: the domain, and the names.
        exprs: formulas whose changes of sign are borders too.
        most: how many.

    >>> from symacct.algebra.domain import Domain
    >>> found = sample(Space(("n",), Domain()))
    >>> len(found), max(one["n"] for one in found) >= 10**6
    (200, True)
    """
    found: dict[tuple[tuple[str, int | Fraction], ...], Point] = {}

    def add(points: Iterable[Point], upto: int) -> None:
        for one in points:
            if len(found) >= upto:
                return
            found.setdefault(tuple(one.items()), one)

    add(space.small(), min(SMALL, most))
    bases = list(found.values())[:BASES]
    for base in bases:
        add(space.beside(base, exprs), most - most // 8)
    large = list(islice(_spread(space), POINTS))
    for base in large[:BASES]:
        add(space.beside(base, exprs), most - most // 16)
    add(large, most)
    add(space.small(2 * TRIES), most)
    return list(found.values())


def _spread(space: Space) -> Iterator[Point]:
    """Yield points spread over orders of magnitude, by a fixed sequence."""
    generator = made(space.free, space.domain.lower, space.domain.conditions, space.domain.real)
    names = sorted(generator.lower)
    state = 1
    for _ in range(4 * POINTS):
        point = {}
        for name in names:
            state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
            power = (state >> 33) % 30
            point[name] = generator.lower[name] + (state >> 11) % 2**power
        at = generator.at(point)
        if at is not None and (found := space.whole({name: at[name] for name in space.free})) is not None:
            yield found


def smallest(space: Space, fails: Fails, known: Point, cost: int = 1) -> tuple[Point, bool]:
    """Return the point of least sum, then least in the order of names, at which something fails.

    Args:
        space: the domain.
        fails: whether it fails at a point of the domain.
        known: a point where it does.
        cost: how much work one look is.

    Returns:
        The point, and whether it is seen to be the least: the number of looks is bounded.
    """
    if space.domain.real & set(space.free):
        return known, False
    best = _descended(space, fails, known)
    least = {name: space.domain.least(name) for name in space.free}
    others = sum(space.domain.least(name) for name in space.domain.replaced)
    left = MOST_CHECKS // max(1, cost)
    total = sum(least.values())
    while total + others <= _sum(best):
        for point in _of_sum(space.free, least, total):
            left -= 1
            if left < 0:
                return best, False
            check_time()
            whole = space.whole(point)
            if whole is not None and _key(whole) < _key(best) and fails(whole):
                best = whole
        total += 1
    return best, True


def _sum(point: Point) -> int | Fraction:
    return sum(point.values())


def _key(point: Point) -> tuple[int | Fraction, tuple[int | Fraction, ...]]:
    return _sum(point), tuple(point[name] for name in sorted(point))


def _of_sum(names: Sequence[str], least: Mapping[str, int], total: int) -> Iterator[Point]:
    """Yield all points of a sum, in the order of names."""
    if not names:
        if total == 0:
            yield {}
        return
    first, rest = names[0], names[1:]
    if not rest:
        if total >= least[first]:
            yield {first: total}
        return
    room = total - sum(least[name] for name in rest)
    for value in range(least[first], room + 1):
        for others in _of_sum(rest, least, total - value):
            yield {first: value, **others}


def _descended(space: Space, fails: Fails, known: Point) -> Point:
    """Return a failing point that no single size makes smaller, of the values that are tried."""
    best = {name: known[name] for name in space.free}
    for _ in range(len(best) + 1):
        before = dict(best)
        for name in space.free:
            low, high = space.domain.least(name), int(best[name])
            ladder = [low + one - 1 for one in LADDER if low + one - 1 < high][:24]
            for value in (*ladder, *range(max(low, high - 3), high)):
                whole = space.whole({**best, name: value})
                if whole is not None and fails(whole):
                    best = {one: whole[one] for one in space.free}
                    break
        if best == before:
            break
    whole = space.whole(best)
    assert whole is not None
    return whole
