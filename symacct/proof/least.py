"""A claimed least value, or its place, against the least over one size, with the others at given sizes."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import TYPE_CHECKING

from sympy import Integer, Poly, PolynomialError, Rational, ceiling, floor

from symacct.algebra.budget import check_time
from symacct.algebra.domain import Domain, bound_of
from symacct.algebra.evaluate import names_of, substitute
from symacct.algebra.normal import normal
from symacct.algebra.symbols import as_expr, symbol
from symacct.algebra.terms import read
from symacct.errors import FormulaError, RuleError, SizeError
from symacct.messages import Message
from symacct.proof.decide import Counterexample
from symacct.proof.enclosure import UndefinedError, holder, sign_between, sign_of
from symacct.proof.points import LADDER, Space, sample

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sympy import Expr

    from symacct.algebra.condition import Condition
    from symacct.proof.points import Point

    Number = int | Fraction

MOST_OTHERS, LONGEST_SCAN, MOST_DEGREE = 32, 400, 24
SQUARES = (1, 4, 9, 25, 36)
NEAR = Rational(1, 10**20)
SHARES = tuple(Fraction(a, b) for a, b in ((1, 1000), (1, 10), (1, 3), (1, 2), (3, 2), (7, 3)))


@dataclass(frozen=True, slots=True)
class Least:
    """What came of it: how many sizes of the others agree, the first that do not, and why."""

    points: int
    point: Counterexample | None = None
    reason: str = ""


def compare_least(form: str, name: str, inner: Expr, claimed: Expr, domain: Domain) -> Least:
    """Compare what is claimed with the least value over one size, at many sizes of the others.

    >>> from sympy import ceiling, sqrt
    >>> n, k = symbol("n"), symbol("k")
    >>> compare_least("min", "k", k + ceiling(n / k), ceiling(2 * sqrt(n)), Domain()).point is None
    True
    >>> compare_least("min", "k", k + 16 / k, Integer(8), Domain({"k": 6})).point.describe()
    '26/3 against 8'
    """
    if any(name in {one, *names_of(value)} for one, value in domain.replaced.items()):
        return Least(0, None, Message("tied", name=name))
    inner, claimed = domain.apply(inner), domain.apply(claimed)
    apart = tuple(one for one in domain.conditions if name not in one.names)
    tied = tuple(one for one in domain.conditions if name in one.names)
    others = Domain(domain.lower, apart, domain.real - {name}, domain.replaced)
    shown = {*names_of(inner), *names_of(claimed), *(n for one in tied for n in one.names)} - {name}
    space = Space(tuple(sorted(shown)), others)
    points, misplaced = 0, Least(0)
    for point in _others(space):
        check_time()
        case = _Case(form, name, inner, claimed, point, tied, domain)
        found = case.compared()
        if found.point is not None and len(found.point.places) != 1:
            return found
        misplaced = misplaced if misplaced.point is not None else found
        points += found.points
    return misplaced if misplaced.point is not None else Least(points)


def _others(space: Space) -> Iterator[Point]:
    """Yield sizes of the others: small ones, and squares, whose roots are whole."""
    yield from sorted(sample(space, (), MOST_OTHERS), key=lambda point: sum(point.values()))
    free = space.free
    if 0 < len(free) <= 3:
        for values in product(SQUARES[: 6 - len(free)], repeat=len(free)):
            if (found := space.whole(dict(zip(free, values, strict=True)))) is not None:
                yield found


class _Case:
    """One choice of the other sizes."""

    def __init__(
        self,
        form: str,
        name: str,
        inner: Expr,
        claimed: Expr,
        point: Point,
        tied: Sequence[Condition],
        domain: Domain,
    ) -> None:
        self.form, self.name, self.point = form, name, point
        values = {one: as_expr(value) for one, value in point.items() if one != name}
        self.inner, self.claimed = _put(inner, values), _put(claimed, values)
        self.real, self.least = name in domain.real, domain.least(name)
        self.tied = [one.substitute(values) for one in tied]
        self.checks = [holder(one) for one in self.tied]

    def allowed(self, value: Number) -> bool:
        """Say whether the size may have a value."""
        if value <= 0 or (not self.real and (value != int(value) or value < self.least)):
            return False
        return all(check({self.name: value}) for check in self.checks)

    def compared(self) -> Least:
        """Return whether the claim holds here."""
        if self.inner is None or self.claimed is None:
            return Least(0)
        tried = [value for value in self.values() if self.allowed(value)]
        if not tried:
            return Least(0)
        return self.of_place(tried) if self.form == "argmin" else self.of_value(tried)

    def values(self) -> Iterator[Number]:
        """Yield values to look at: all small integers, or reals where the least may be."""
        if not self.real:
            yield from range(self.least, self.least + LONGEST_SCAN)
            yield from LADDER
            return
        ends = [bound for one in self.tied for bound in _ends(one, self.name)]
        seen = [*ends, *map(Fraction, LADDER), *SHARES, *self.turns()]
        yield from dict.fromkeys(seen)

    def turns(self) -> Iterator[Fraction]:
        """Yield numbers near which the derivative is 0."""
        assert self.inner is not None
        at = symbol(self.name)
        try:
            above, below = (Poly(part, at, domain="QQ") for part in self.inner.together().as_numer_denom())
            top = above.diff() * below - above * below.diff()
        except (PolynomialError, ValueError, TypeError):
            return
        if 0 < top.degree() <= MOST_DEGREE:
            for (low, high), _ in top.intervals(eps=NEAR, inf=0):
                yield (Fraction(int(low.p), int(low.q)) + Fraction(int(high.p), int(high.q))) / 2

    def of_value(self, tried: Sequence[Number]) -> Least:
        """Compare the least value with the claimed one."""
        assert self.inner is not None
        assert self.claimed is not None
        sign = sign_between(self.inner, self.claimed)
        signs = {value: _safe(sign, {self.name: value}) for value in tried}
        less = next((value for value, found in signs.items() if found == -1), None)
        if less is not None:
            return self.refuted(less, Message("less_at", place=f"{self.name} = {less}"))
        if 0 in signs.values() or None in signs.values() or not self.never_reached():
            return Least(1 if 0 in signs.values() or self.real else 0)
        lowest = self.lowest(tried)
        kind = Message("real" if self.real else "integer")
        return self.refuted(lowest, Message("not_reached", kind=kind, name=self.name))

    def lowest(self, tried: Sequence[Number]) -> Number:
        """Return where the formula is seen to be least; roots and logarithms are compared by intervals."""
        best, least = tried[0], self.number(tried[0])
        for value in tried[1:]:
            found = self.number(value)
            if _safe(sign_between(found, least), {}) == -1:
                best, least = value, found
        return best

    def number(self, value: Number) -> Expr:
        assert self.inner is not None
        return _put(self.inner, {self.name: as_expr(value)}) or Integer(10**40)

    def refuted(self, value: Number, why: str) -> Least:
        """Return the counterexample with the value there."""
        assert self.claimed is not None
        return Least(0, Counterexample(self.sizes, normal(self.number(value)), self.claimed), why)

    def never_reached(self) -> bool:
        """Say whether the formula is above what is claimed for all values that are allowed."""
        assert self.inner is not None
        assert self.claimed is not None
        most = min(
            (high for one in self.tied if (high := _largest(one, self.name)) is not None), default=None
        )
        if not self.real and most is not None and most < self.least + LONGEST_SCAN:
            return True
        if self.real and any(one.kind == "above" for one in self.tied):
            return False  # an open end may come as near as one likes
        gap = _below(self.inner) if not self.real else self.inner
        at = symbol(self.name)
        if gap is None or not self.claimed.is_Rational:
            return False
        try:
            top = Poly((gap - self.claimed).together().as_numer_denom()[0], at, domain="QQ")
            top = top.terms_gcd()[1]  # 0 is no value, but a root of the numerator at most
        except (PolynomialError, ValueError, TypeError):
            return False
        start = Integer(0) if self.real else self.least + LONGEST_SCAN - 1
        linear = all(bound_of(one) is not None for one in self.tied)
        if self.real and self.tied and linear:
            ends = [end for one in self.tied for end in _ends(one, self.name) if bound_of(one)[1] is not None]  # type: ignore[index]
            start = as_expr(max(ends)) if ends else start
        clear = top.degree() <= MOST_DEGREE and not top.is_zero and top.count_roots(start, None) == 0
        return clear and _safe(sign_of(gap - self.claimed), {self.name: Fraction(str(start)) + 1}) == 1

    def of_place(self, tried: Sequence[Number]) -> Least:
        """Compare the value at the claimed place with others."""
        assert self.inner is not None
        assert self.claimed is not None
        place = self.claimed
        here = _put(self.inner, {self.name: place})
        if place.is_Rational:
            exact = Fraction(int(place.p), int(place.q))
            if not self.allowed(exact):
                return self.outside(Message("not_allowed", place=f"{self.name} = {place}"))
        elif not self.real:
            return self.outside(Message("not_integer", place=f"{self.name} = {place}"))
        elif not all(holder(one.substitute({self.name: place}))({}) for one in self.tied):
            return self.outside(Message("not_allowed", place=f"{self.name} = {place}"))
        if here is None:
            return Least(0)
        sign = sign_between(self.inner, here)
        for value in tried:
            if _safe(sign, {self.name: value}) == -1:
                at, claimed = (f"{self.name} = {one}" for one in (value, place))
                return self.misplaced(value, Message("less_than_place", place=at, claimed=claimed), here)
        return Least(1)

    def misplaced(self, value: Number, why: str, here: Expr) -> Least:
        """Return the counterexample of a place: another one gives less."""
        assert self.claimed is not None
        places = (self.claimed, as_expr(value))
        return Least(0, Counterexample(self.sizes, normal(here), normal(self.number(value)), places), why)

    def outside(self, why: str) -> Least:
        """Return the counterexample of a place that is none of the values that are allowed."""
        assert self.inner is not None
        assert self.claimed is not None
        there = _put(self.inner, {self.name: self.claimed})
        value = self.claimed if there is None else normal(there)
        return Least(0, Counterexample(self.sizes, value, value, (self.claimed,)), why)

    @property
    def sizes(self) -> tuple[tuple[str, int | Fraction], ...]:
        """The sizes of the others."""
        return tuple((one, size) for one, size in self.point.items() if one != self.name)


def _put(expr: Expr, values: dict[str, Expr]) -> Expr | None:
    try:
        return substitute(expr, values)
    except (FormulaError, RuleError, SizeError):
        return None


def _safe(sign: object, point: dict[str, Number]) -> int | None:
    try:
        return sign(point)  # type: ignore[operator, no-any-return]
    except UndefinedError:
        return None


def _ends(condition: Condition, name: str) -> Iterator[Fraction]:
    """Yield where a linear condition on one size is at its border."""
    gap = normal(condition.left - condition.right)
    slope = gap.diff(symbol(name)) if condition.kind != "divides" else Integer(0)
    if slope.is_Rational and slope != 0:
        root = normal(symbol(name) - gap / slope)
        if root.is_Rational:
            yield Fraction(int(root.p), int(root.q))


def _largest(condition: Condition, name: str) -> int | None:
    """Return the largest value that a condition leaves a size: what divides n is at most n."""
    if condition.kind == "divides" and condition.right.is_Integer and condition.left == symbol(name):
        return int(condition.right)
    found = bound_of(condition)
    return None if found is None else found[2]


def _below(inner: Expr) -> Expr | None:
    """Return what a formula with roundings is at least, without them; None where a rounding is subtracted."""
    for monomial, c in read(normal(inner)).items():
        for base, power in monomial:
            if base.has(ceiling, floor) and (c < 0 or power != 1 or not isinstance(base, ceiling | floor)):
                return None
    rounded = inner.replace(ceiling, lambda inside: inside)
    return normal(rounded.replace(floor, lambda inside: inside - 1))
