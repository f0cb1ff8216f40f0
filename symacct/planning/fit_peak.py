"""The peak of a step as a function of the micro-batch, by category: what is alive at the worst moment.

Two ways lead there. The schedule folded into loops gives formulas, of which the largest counts. Where it has
no one form, the schedule is written out at its counts and walked. In both, every byte belongs to a category:
in the folded form some of them weigh an infinitesimal more, which the largest formula then carries along.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from math import gcd
from typing import TYPE_CHECKING

from sympy import Integer

from symacct.algebra.domain import domain_of
from symacct.algebra.evaluate import evaluate, names_of, substitute
from symacct.algebra.normal import normal, total
from symacct.algebra.symbols import as_expr
from symacct.errors import RuleError
from symacct.nodes import Repeat, walk
from symacct.peaks.course import WRITTEN
from symacct.peaks.layers import layer_counts
from symacct.peaks.timeline import GRADIENT, at_sizes, integer_cut, sizes_at, weight, worst
from symacct.planning.entries import fraction
from symacct.planning.fit_search import rises
from symacct.policy import PRECISIONS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from sympy import Expr

    from symacct.account import Account
    from symacct.algebra.domain import Domain
    from symacct.peaks.course import Course
    from symacct.peaks.folding import Size
    from symacct.peaks.schedule import Schedule, Storage
    from symacct.policy import Policy

PEAK = "memory.peak"
BESIDE = ("parameters", "master", "optimizer", "gradients", "kv_cache")
CATEGORIES = (
    "parameters",
    "gradients",
    "master",
    "optimizer",
    "inputs",
    "kv_cache",
    "activations",
    "transient",
)
"""What bytes at a peak belong to; ``activations`` are what backward reads, ``transient`` all the rest."""
HOST = ("master", "optimizer")
"""Categories that stay on the host where states are offloaded."""
GRAIN, TINY = 10**12, Fraction(1, 10**60)


@dataclass(frozen=True, slots=True)
class Held:
    """What is alive at the worst moment of a step.

    Attributes:
        nbytes: all of it.
        formula: over the micro-batch, as it stands in the region around this one.
        parts: bytes by category, none of them 0; their sum is all of it.
    """

    nbytes: Fraction
    formula: Expr
    parts: tuple[tuple[str, Fraction], ...]


@dataclass(frozen=True, slots=True)
class Piece:
    """One of the formulas of which a peak is the largest, with its categories."""

    whole: Expr
    parts: Mapping[str, Expr]


class Courses:
    """The steps of one graph through memory, one for all policies that differ in bytes alone."""

    def __init__(self) -> None:
        """Begin with none."""
        self._known: dict[Policy, Course] = {}
        self._walked: dict[Policy, Schedule] = {}

    def of(self, account: Account) -> Course:
        """Return the course of an account; the account uses it from then on."""
        key = _plain(account.policy)
        if key in self._known:
            account.course = self._known[key]
        else:
            self._known[key] = account.course
        return account.course

    def walked(self, account: Account) -> Schedule:
        """Return the schedule with every iteration written out; sizes that are no counts may stay free."""
        key = _plain(account.policy)
        if key not in self._walked:
            self._walked[key] = at_sizes(account.graph, account.running, {})
        return self._walked[key]


def _plain(policy: Policy) -> Policy:
    """Return a policy without what a schedule does not depend on: formats, and the update's rule."""
    return replace(policy, optimizer=None, precision=PRECISIONS["bf16"])


class Peak:
    """The peak of a step over the micro-batch.

    Args:
        account: with every size bound but the micro-batch.
        batch: the name of that size; None where there is none.
        courses: what other policies have derived already.
        offload: whether the master copy and the states of the optimizer stay on the host.
    """

    def __init__(
        self, account: Account, batch: str | None, courses: Courses, *, offload: bool = False
    ) -> None:
        """Keep the account; everything is derived when it is asked for."""
        self.account = account
        self.batch = batch
        self.courses = courses
        self.offload = offload
        self._alone: dict[int, Peak] = {}

    @cached_property
    def domain(self) -> Domain:
        """Which micro-batches the graph allows."""
        return domain_of(self.account.graph.conditions, keep=[] if self.batch is None else [self.batch])

    @cached_property
    def beside(self) -> dict[str, Expr]:
        """What lives through the whole step, by category."""
        account = self.account
        kept = [part for part in BESIDE if part != "gradients" or account.policy.grads == "kept"]
        found = {part: account[f"memory.{part}"].expr for part in kept if account.has(f"memory.{part}")}
        found["inputs"] = normal(account.beside(PEAK) - total(found.values()))
        return {part: Integer(0) if self.offload and part in HOST else expr for part, expr in found.items()}

    @cached_property
    def pieces(self) -> tuple[Piece, ...]:
        """The formulas; none where the schedule has no one form, or a condition needs the micro-batch."""
        if uneven(self.account):
            return ()
        try:
            course = self.courses.of(self.account)
        except RuleError:
            if not is_count(self.account, self.batch):
                raise
            return ()
        try:
            polys = course.candidates(self._weigh)
            if set(course.conditions) - set(self.account.graph.conditions):
                return self._walked_alone()
        except RuleError:
            if not self.account.trains:
                raise
            return ()
        return tuple(self._piece(course.formula(poly)) for poly in polys)

    def _walked_alone(self) -> tuple[Piece, ...]:
        """Return no formulas, so that the schedule is written out, which is that of a training step.

        Raises:
            RuleError: nothing is trained.
        """
        if self.account.trains:
            return ()
        said = ", ".join(map(str, self.account.course.conditions))
        raise RuleError("the peak has no one form", expected="sizes at which it has", got=said)

    def _weigh(self, size: Size) -> Fraction:
        """Return bytes of an element, an infinitesimal more where it is saved or a parameter's gradient."""
        own = weight(self.account.policy, size)
        return own * (1 + (TINY if size.kind == GRADIENT else TINY**2 if size.saved else 0))

    def _piece(self, expr: Expr) -> Piece:
        found: defaultdict[str, list[Expr]] = defaultdict(list)
        for term, count in expr.as_coefficients_dict().items():
            whole, gradients, saved = unmixed(fraction(count))
            split = {"gradients": gradients, "activations": saved, "transient": whole - gradients - saved}
            for part, value in split.items():
                found[part].append(as_expr(value) * term)
        for part, beside in self.beside.items():
            found[part].append(beside)
        parts = {part: normal(total(exprs)) for part, exprs in found.items()}
        return Piece(normal(total(parts.values())), parts)

    @cached_property
    def rises(self) -> bool:
        """Whether it is certain that the peak never falls when the micro-batch grows."""
        if self.batch is None:
            return False
        if self.pieces:
            return all(rises(piece.whole, self.batch) for piece in self.pieces)
        if is_count(self.account, self.batch):
            return False
        dims = {normal(one.tensor.numel) for one in self.schedule.storages}
        return all(rises(dim, self.batch) for dim in dims) and all(
            rises(part, self.batch) for part in self.beside.values()
        )

    @property
    def schedule(self) -> Schedule:
        """The step with every iteration written out."""
        return self.courses.walked(self.account)

    # ---- at a micro-batch ----

    def nbytes(self, size: int | None) -> Fraction:
        """Return the bytes at a micro-batch."""
        if not self.pieces:
            return self.at(size).nbytes
        return max(_at(piece.whole, self._sizes(size)) for piece in self.pieces)

    def at(self, size: int | None) -> Held:
        """Return what is alive at a micro-batch."""
        sizes = self._sizes(size)
        if not self.pieces:
            return self.walked(size) if (alone := self.alone(size)) is None else alone.at(None)
        piece = max(self.pieces, key=lambda one: _at(one.whole, sizes))
        return _held(piece.whole, piece.parts, sizes)

    def _sizes(self, size: int | None) -> dict[str, int]:
        return {} if self.batch is None or size is None else {self.batch: size}

    def alone(self, size: int | None) -> Peak | None:
        """Return the peak at one micro-batch that is a count of iterations; None where it is not."""
        if self.batch is None or size is None or not is_count(self.account, self.batch):
            return None
        if size not in self._alone:
            bound = self.account.bind({self.batch: size})
            self._alone[size] = Peak(bound, None, Courses(), offload=self.offload)
        return self._alone[size]

    def walked(self, size: int | None) -> Held:
        """Return what is alive at a micro-batch, with every iteration written out."""
        if (alone := self.alone(size)) is not None:
            return alone.walked(None)
        account, schedule, sizes = self.account, self.schedule, self._sizes(size)
        moment = worst(schedule, sizes_at(account.graph, account.policy, sizes))
        indices = {r.name: r.index.name for r, _ in walk(account.graph.nodes) if isinstance(r, Repeat)}
        found: defaultdict[str, list[Expr]] = defaultdict(list)
        for part, expr in self.beside.items():
            found[part].append(expr)
        for (elements, each, part), count in _counted(moment.alive, indices, account.policy).items():
            found[part].append(elements * as_expr(each * count))
        parts = {part: normal(total(exprs)) for part, exprs in found.items()}
        return _held(normal(total(parts.values())), parts, sizes)


def is_count(account: Account, name: str | None) -> bool:
    """Say whether a size is in the count of a repeat, so that a schedule is another for each of it."""
    repeats = (one for one, _ in walk(account.graph.nodes) if isinstance(one, Repeat))
    return any(name in names_of(one.count) for one in repeats)


def uneven(account: Account) -> bool:
    """Say whether a checkpoint cuts many layers so that the last segment is shorter."""
    for count in layer_counts(account.graph):
        if not count.is_Integer or int(count) <= WRITTEN:
            continue
        cut = integer_cut(account.policy, int(count), {})
        if cut is not None and cut.rest != cut.size:
            return True
    return False


def _counted(
    alive: Iterable[Storage], indices: Mapping[str, str], policy: Policy
) -> Counter[tuple[Expr, Fraction, str]]:
    """Count storages by their elements, the bytes of each, and the category."""
    found: Counter[tuple[Expr, Fraction, str]] = Counter()
    numel: dict[tuple[object, ...], Expr] = {}
    for one in alive:
        key = (one.tensor.dims, one.tensor.path, one.at)
        if key not in numel:
            at = {indices[name]: turn for name, turn in zip(one.tensor.path, one.at, strict=False)}
            numel[key] = substitute(normal(one.tensor.numel), at)
        part = "gradients" if one.kind == GRADIENT else "activations" if one.saved else "transient"
        found[numel[key], weight(policy, one), part] += 1
    return found


def _held(whole: Expr, parts: Mapping[str, Expr], sizes: Mapping[str, int]) -> Held:
    found = {part: _at(parts[part], sizes) for part in CATEGORIES if part in parts}
    return Held(_at(whole, sizes), whole, tuple((part, value) for part, value in found.items() if value))


def _at(expr: Expr, sizes: Mapping[str, int]) -> Fraction:
    return fraction(evaluate(expr, {name: sizes[name] for name in names_of(expr) if name in sizes}))


def unmixed(count: Fraction) -> tuple[Fraction, Fraction, Fraction]:
    """Return a number of bytes, and how much of it was weighed with the first infinitesimal and the second.

    Raises:
        RuleError: it was not made so.

    >>> [int(part) for part in unmixed(12 + 4 * TINY + 6 * TINY**2)]
    [12, 4, 6]
    """
    odd = count.denominator // gcd(count.denominator, (GRAIN * TINY.denominator) ** 3)
    grain = GRAIN * odd
    whole = Fraction(round(count * grain), grain)
    first = Fraction(round((count - whole) / TINY * grain), grain)
    second = (count - whole - first * TINY) / TINY**2
    if (second * grain).denominator != 1:
        raise RuleError(
            "bytes cannot be told apart by category", expected="fewer digits", got=str(count)[:64]
        )
    return whole, first, second
