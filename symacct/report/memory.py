"""The memory of one policy as data: categories, the peak with its regions, and what is alive then."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import islice
from typing import TYPE_CHECKING

from symacct import terms
from symacct.algebra.condition import Condition, merge
from symacct.algebra.evaluate import check_sizes, evaluate
from symacct.algebra.maxima import Contest, points
from symacct.algebra.normal import normal, total
from symacct.algebra.regions import Region, Regions, value_of
from symacct.algebra.sparse import put_in
from symacct.algebra.symbols import as_expr, symbol
from symacct.derivation.alive import Moment, moment
from symacct.derivation.timeline import weight
from symacct.errors import SymacctError
from symacct.nodes import repeat_counts
from symacct.report.data import Line, Section
from symacct.report.explain import explained
from symacct.report.summary import View, with_shares

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from sympy import Expr

    from symacct.account import Account
    from symacct.algebra.sparse import Poly
    from symacct.derivation.folding import Size

STATIC = ("memory.parameters", "memory.gradients", "memory.master", "memory.optimizer")
BESIDE = ("memory.kv_cache", "memory.data", "memory.activations", "memory.activations.peak")
FEW = 4
"""Up to how many candidates are shown with their regions unless more are asked for."""
MOST_POINTS, MOST_TRIED, LARGEST_STEP = 60, 6, 300


@dataclass(frozen=True, slots=True)
class Case:
    """One of the formulas of a peak, and where it is the largest; None where that was not asked for."""

    expr: Expr
    region: Region | None


@dataclass(frozen=True, slots=True)
class Small:
    """A count too small for the formulas, and the formulas of this case."""

    condition: Condition
    exprs: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Peak:
    """A peak: the formulas of which it is the largest, and what is alive where the first one is.

    Attributes:
        name: of the quantity.
        cases: the formulas, the one that holds at the sizes first.
        value: the number at the sizes; None where a size is free.
        moment: the worst moment at ``point``; None where none was found.
        point: the sizes it was looked at.
        given: whether these are the sizes given, and not ones that stand for the region.
        when: conditions under which the formulas hold.
    """

    name: str
    cases: tuple[Case, ...]
    value: Expr | None
    moment: Moment | None
    point: Mapping[str, int]
    given: bool
    when: tuple[Condition, ...]


class Peaks:
    """The candidates of a peak of an account, their regions, and its worst moment.

    >>> from symacct.account import derive
    >>> from symacct.readers.files import load
    >>> peaks = Peaks(derive(load("mlp"), precision="fp32"))
    >>> [str(one) for one in peaks.region(1).conditions], peaks.exprs[1]
X
    """

    def __init__(self, account: Account, name: str = "memory.peak") -> None:
        """Derive the candidates."""
        self.account, self.name = account, name
        self.weigh: Callable[[Size], Fraction] = self._weigh
        course = account.course
        found = course.candidates(self.weigh)
        self.polys = found if len(found) == 1 else self._with_numbers(found)
        beside = account.beside(name)
        self.exprs = tuple(normal(course.formula(poly) + beside) for poly in self.polys)
        self.regions = Regions(course.ring, tuple(course.least), self.polys, course.restored)

    def _weigh(self, size: Size) -> Fraction:
        saved = self.name == "memory.activations.peak"
        return weight(self.account.policy, size) if size.saved or not saved else Fraction(0)

    def _with_numbers(self, found: Sequence[Poly]) -> tuple[Poly, ...]:
        """Return the candidates with the numbers that symbols stand for put in, those that are needed."""
        course, ring = self.account.course, self.account.course.ring
        polys = list(found)
        for place, base in enumerate(ring.bases):
            stood = course.shape.back.get(str(base))
            if stood is not None and stood.is_Integer:
                value = ring.number(int(stood) - ring.least[place])
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
        """Return the worst moment at integer sizes."""
        return moment(self.account.course, self.weigh, sizes)

    def points(self) -> Iterator[tuple[int, dict[str, int]]]:
        """Yield sizes that the formulas hold at, each with the candidate that is the largest there."""
        course = self.account.course
        ring, back = course.ring, course.shape.back
        names = {*self.account.graph.order, *self.account.policy.names}
        for point in islice(points(len(ring.bases)), 1, MOST_POINTS):
            shifted = [min(step, LARGEST_STEP) for step in point]
            values = [value_of(poly, shifted) for poly in self.polys]
            known = {str(b): x + least for b, x, least in zip(ring.bases, shifted, ring.least, strict=True)}
            known |= {n: int(back[n]) for n in known if n in back and back[n].is_Integer}
            known |= {name: 1 for name in names if name not in known and name not in course.shape.into}
            into = {name: int(evaluate(expr, known)) for name, expr in course.shape.into.items()}
            sizes = {name: size for name, size in (known | into).items() if name in names}
            if all(one.holds(sizes) for one in self.when):
                yield values.index(max(values)), sizes


def peak(peaks: Peaks, sizes: Mapping[str, int], *, every: bool = False) -> Peak:
    """Return a peak at sizes, or for all sizes where none are given.

    Args:
        peaks: the candidates.
        sizes: a value for each size, or nothing.
        every: whether the regions of all candidates are worked out, be they as many as they may.
    """
    count = len(peaks.exprs)
    if sizes or not _free(peaks):
        first, value = peaks.largest(sizes)
        found: Moment | None = peaks.moment(sizes)
        order = [first, *(at for at in range(count) if at != first)]
        point: Mapping[str, int] = sizes
    else:
        value, (first, found, point) = None, _represented(peaks)
        order = [first, *(at for at in range(count) if at != first)]
    asked = order if every or count <= FEW else order[:1]
    regions = {at: peaks.region(at) for at in asked} if count > 1 else {0: Region(0, ())}
    cases = [
        Case(peaks.exprs[at], regions.get(at))
        for at in order
        if at == first or at not in regions or regions[at] is not None
    ]
    return Peak(peaks.name, tuple(cases), value, found, point, value is not None, peaks.when)


def _free(peaks: Peaks) -> bool:
    return any(expr.free_symbols for expr in peaks.exprs)


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


def at_sizes(account: Account, sizes: Mapping[str, int]) -> View:
    """Return an account at sizes: all of them, or some, which are bound; below a condition the small case.

    Raises:
        SizeError: a size is out of range, or breaks a condition of the graph itself.
    """
    counts = frozenset(repeat_counts(account.graph))
    checked = check_sizes(sizes, account.graph.order, counts)
    free = {*account.graph.order, *account.policy.names} - checked.keys() - account.graph.bound.keys()
    if checked and free:
        return View(account.bind(checked), {})
    small = [Condition("at_least", symbol(name), as_expr(1)) for name, size in checked.items() if size == 0]
    if small:
        account = account.bind({name: 0 for name, size in checked.items() if size == 0})
    while broken := [
        one
        for one in merge((*account.conditions, *account.course.conditions))
        if set(one.names) <= checked.keys() and not one.holds(checked)
    ]:
        small += broken
        account = account.bind({name: checked[name] for one in broken for name in one.names})
    return View(account, checked, tuple(small))


def categories(shown: View) -> list[Section]:
    """Return what is held whatever the moment, and what is saved."""
    account = shown.account
    parts = [shown.line(name) for name in STATIC if account.has(name)]
    static = Section("static memory", with_shares(parts, [shown.line("memory.static")]))
    names = [name for name in BESIDE[:-1] if account.has(name)]
    return [static, Section("memory of data", tuple(shown.line(name) for name in names))]


def tensors(shown: View, names: Sequence[str]) -> list[Section]:
    """Return the rows of categories by tensor.

    Raises:
        UnknownNameError: there is no such category.
    """
    for name in names:
        shown.account.require(name)
    return [explained(shown, name) for name in names]


def beside(shown: View, name: str = "memory.peak") -> list[Line]:
    """Return what lives through the whole step, which a peak stands on: its lines add up to ``beside``."""
    account = shown.account
    held = ["parameters", "master", "optimizer"] + (["gradients"] if account.policy.grads == "kept" else [])
    names = [f"memory.{part}" for part in (*held, "kv_cache") if name == "memory.peak"]
    lines = [shown.line(one) for one in names if account.has(one)]
    read = account.graph.inputs if name == "memory.peak" else account.course.inputs
    for term in terms.inputs(account.graph, read, account.policy):
        lines.append(Line(f"input {term.label}", term.expr, "byte", value=shown.value(term.expr)))
    return [line for line in lines if line.expr != 0]


def small_cases(account: Account, most: int = FEW) -> tuple[Small, ...]:
    """Return the counts below those that the formulas hold for, each with its own formulas.

    Args:
        account: the account.
        most: how many candidates a peak may have for these cases to be derived.
    """
    course, found = account.course, list[Small]()
    for one, least in sorted(course.merged.items(), key=lambda pair: str(pair[0])):
        count = course.restored(one)
        if not count.is_Symbol or len(Peaks(account).exprs) > most:
            continue
        for value in range(1, least):
            try:
                exprs = Peaks(account.bind({count.name: value})).exprs
            except SymacctError:
                continue
            found.append(Small(Condition("equal", count, as_expr(value)), exprs))
    return tuple(found)
