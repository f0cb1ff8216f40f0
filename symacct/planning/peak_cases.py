"""A peak: the formulas of which it is the largest, where each of them is, and its worst moment."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from symacct.algebra.condition import Condition, merge
from symacct.algebra.evaluate import evaluate
from symacct.algebra.maxima import Contest, points
from symacct.algebra.normal import normal, total
from symacct.algebra.regions import Region, Regions, value_of
from symacct.algebra.sparse import put_in
from symacct.algebra.symbols import as_expr
from symacct.errors import SymacctError
from symacct.peaks.alive import Moment, moment

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from sympy import Expr

    from symacct.account import Account
    from symacct.algebra.sparse import Poly

FEW = 4
"""Up to how many candidates are shown with their regions unless more are asked for."""
MOST_POINTS, MOST_TRIED, LARGEST_STEP = 20, 6, 300


@dataclass(frozen=True, slots=True)
class Case:
    """One of the formulas of a peak, and where it is the largest; None where that was not asked for."""

    expr: Expr
    region: Region | None


@dataclass(frozen=True, slots=True)
class Peak:
    """A peak: the formulas of which it is the largest, and what is alive where the first one is.

    Attributes:
        name: of the quantity.
        cases: the formulas, the one that holds at the sizes first.
        value: the number at the sizes; None where a size is free.
        moment: the worst moment at ``point``; None where none was found.
        point: the sizes it was looked at.
        given: whether these are all the sizes, given, and not ones that stand for the region.
        when: conditions under which the formulas hold.
    """

    name: str
    cases: tuple[Case, ...]
    value: Expr | None
    moment: Moment | None
    point: Mapping[str, int]
    given: bool
    when: tuple[Condition, ...]

    @property
    def location(self) -> Location | None:
        """Where in the step it is; None where that was not looked for."""
        if self.moment is None:
            return None
        iterations = tuple(Iteration(*one) for one in self.moment.turns)
        return Location(self.moment.label, self.moment.phase, iterations, self.point, self.given)


class Iteration(NamedTuple):
    """One iteration of a loop: which, and of how many."""

    loop: str
    iteration: Expr
    of: Expr


@dataclass(frozen=True, slots=True)
class Location:
    """Where in a step a peak is.

    Attributes:
        op: which op runs then.
        phase: in which pass.
        iterations: of the loops around it.
        looked_at: the sizes at which it was looked for.
        given: whether these are all the sizes, given, and not ones that stand for the region.
    """

    op: str
    phase: str
    iterations: tuple[Iteration, ...]
    looked_at: Mapping[str, int]
    given: bool


@dataclass(frozen=True, slots=True)
class Small:
    """A count too small for the formulas, and the formulas of this case."""

    condition: Condition
    exprs: tuple[Expr, ...]


class Peaks:
    """The candidates of a peak of an account, their regions, and its worst moment.

    >>> from symacct.account import derive
    >>> from symacct.readers.files import load
    >>> peaks = Peaks(derive(load("mlp"), precision="fp32"))
    >>> [str(one) for one in peaks.region(1).conditions], peaks.exprs[1]
    (['-B + D >= 0', '2*B - D >= 0'], 16*B*D + 8*D**2*L - 4*D**2 + 8)
    """

    def __init__(self, account: Account, name: str = "memory.peak") -> None:
        """Derive the candidates."""
        self.account, self.name = account, name
        self.weigh = account.weigh(saved=name == "memory.activations.peak")
        account.candidates(name)  # which checks what is true of every peak
        course = account.course
        found = course.candidates(self.weigh)
        self.polys = found if len(found) == 1 else self._with_numbers(found)
        beside = account.beside(name)
        self.exprs = tuple(normal(course.formula(poly) + beside) for poly in self.polys)
        ring, polys = course.lowered(self.polys)
        self.regions = Regions(ring, tuple(course.least), polys, course.restored)

    def _with_numbers(self, found: Sequence[Poly]) -> tuple[Poly, ...]:
        """Return the candidates with the numbers that symbols stand for put in, those that are needed."""
        course, ring = self.account.course, self.account.course.ring
        stood = {place: course.shape.back.get(str(base)) for place, base in enumerate(ring.bases)}
        numbers = {
            place: int(value) for place, value in stood.items() if value is not None and value.is_Integer
        }
        if not numbers:
            return tuple(found)
        polys = list(found)
        for place, number in numbers.items():
            value = ring.number(number - ring.least[place])
            polys = [put_in(poly, place, value) for poly in polys]
        return Contest(ring, tuple(course.least)).largest(polys)

    def region(self, at: int) -> Region | None:
        """Return where a candidate is the largest; None where another one is at least as large always."""
        return self.regions.of(at)

    @property
    def when(self) -> tuple[Condition, ...]:
        """Return when the formulas hold."""
        return merge((*self.account.conditions, *self.account.course.conditions))

    def largest(self, sizes: Mapping[str, int]) -> tuple[int, Expr]:
        """Return the candidate that is the largest at integer sizes, and its value."""
        values = [evaluate(expr, sizes) for expr in self.exprs]
        return max(enumerate(values), key=lambda pair: (pair[1], -pair[0]))

    def moment(self, sizes: Mapping[str, int]) -> Moment:
        """Return the worst moment at integer sizes; small counts are written out, as they are cases apart."""
        course = self.account.course
        if course.serves(sizes):
            return moment(course, self.weigh, sizes)
        return moment(self.account.bind(sizes).course, self.weigh, {})

    def points(self) -> Iterator[tuple[int, dict[str, int]]]:
        """Yield sizes that the formulas hold at, each with the candidate that is the largest there."""
        course = self.account.course
        ring, back = course.ring, course.shape.back
        names = {*self.account.graph.order, *self.account.policy.names}
        monomials = dict.fromkeys(one for poly in self.polys for one in poly)
        for point in islice(points(len(ring.bases)), 1, MOST_POINTS):
            shifted = [min(step, LARGEST_STEP) for step in point]
            powers = {one: value_of({one: 1}, shifted) for one in monomials}
            values = [sum(c * powers[p] for p, c in poly.items()) for poly in self.polys]
            known = {str(b): x + least for b, x, least in zip(ring.bases, shifted, ring.least, strict=True)}
            known |= {n: int(back[n]) for n in known if n in back and back[n].is_Integer}
            known |= {name: 1 for name in names if name not in known and name not in course.shape.into}
            inside = {free.name for expr in course.shape.into.values() for free in expr.free_symbols}
            known |= {name: 1 for name in inside if name not in known}  # a quotient that the peak has not
            into = {name: int(evaluate(expr, known)) for name, expr in course.shape.into.items()}
            sizes = {name: size for name, size in (known | into).items() if name in names}
            if all(one.holds(sizes) for one in self.when):
                yield values.index(max(values)), sizes


def peak(peaks: Peaks, sizes: Mapping[str, int], *, every: bool = False, alive: bool = False) -> Peak:
    """Return a peak at sizes, or for all sizes where none are given.

    Args:
        peaks: the candidates.
        sizes: a value for each size, or nothing. A name may be open that the peak does not depend on.
        every: whether the regions of all candidates are worked out, be they as many as they may.
        alive: whether the worst moment is looked for.
    """
    count = len(peaks.exprs)
    found: Moment | None
    point: Mapping[str, int]
    given = bool(sizes) or not open_names(peaks.account, sizes)
    value = None
    if given:
        first, value = peaks.largest(sizes)
        found = peaks.moment(sizes) if alive else None
        point = sizes
    else:
        first, found, point = _represented(peaks) if alive else (0, None, {})
        if not any(expr.free_symbols for expr in peaks.exprs):
            _, value = peaks.largest(sizes)
    order = [first, *(at for at in range(count) if at != first)]
    asked = order if every or count <= FEW else order[:1]
    regions = {at: peaks.region(at) for at in asked}
    cases = [
        Case(peaks.exprs[at], regions.get(at))
        for at in order
        if at == first or at not in regions or regions[at] is not None
    ]
    return Peak(peaks.name, tuple(cases), value, found, point, given, peaks.when)


def open_names(account: Account, sizes: Mapping[str, int]) -> list[str]:
    """Return the sizes of the graph and of the policy that have no value yet."""
    names = (*account.graph.order, *account.policy.names)
    return [name for name in names if name not in sizes and name not in account.graph.bound]


def _represented(peaks: Peaks) -> tuple[int, Moment | None, Mapping[str, int]]:
    """Return a candidate, and small sizes at which it is the largest and is what is alive then.

    The sizes only say where to look: that what is alive adds up to the formula is checked with symbols.
    """
    beside = peaks.account.beside(peaks.name)
    places = sorted(peaks.points(), key=lambda pair: (pair[0], sum(pair[1].values())))
    for at, sizes in islice(places, MOST_TRIED):
        found = peaks.moment(sizes)
        if total([*(held.nbytes for held in found.alive), beside]) == peaks.exprs[at]:
            return at, found, sizes
    return 0, None, {}


def small_cases(account: Account) -> tuple[Small, ...]:
    """Return the counts below those that the formulas hold for, each with its own formulas."""
    course, found = account.course, list[Small]()
    for one, least in sorted(course.merged.items(), key=lambda pair: str(pair[0])):
        count = course.restored(one)
        for value in range(1, least if count.is_Symbol else 1):
            try:
                exprs = Peaks(account.bind({count.name: value})).exprs
            except SymacctError:
                continue
            found.append(Small(Condition("equal", count, as_expr(value)), exprs))
    return tuple(found)
