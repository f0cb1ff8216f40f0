"""The course of a training step through memory, as loops with symbolic counts, and formulas for its peaks.

Counts that are large integers are stood in for by symbols, so that a thousand iterations cost what five do.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, reduce
from math import gcd
from typing import TYPE_CHECKING

from sympy import Add, Mul, divisors

from symacct.algebra.condition import Condition, merge
from symacct.algebra.evaluate import evaluate, substitute
from symacct.algebra.maxima import Contest
from symacct.algebra.normal import normal, total
from symacct.algebra.sparse import Poly, Ring, plus, product, put_in
from symacct.algebra.symbols import as_expr
from symacct.algebra.tables import from_number
from symacct.errors import RuleError
from symacct.nodes import Graph, Repeat, walk
from symacct.peaks.folding import Event, Items, loops
from symacct.peaks.merging import merged
from symacct.peaks.pieces import Composer, rest_symbol
from symacct.peaks.runs import Run, net, runs
from symacct.peaks.schedule import turn_symbol
from symacct.peaks.shaping import indices_of, shaped, varies
from symacct.peaks.timeline import weight

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from sympy import Expr, Symbol

    from symacct.algebra.sparse import Powers
    from symacct.peaks.folding import Size
    from symacct.peaks.forms import Form
    from symacct.peaks.shaping import Shape
    from symacct.policy import Policy

WRITTEN = 8
"""Counts up to this are written out; larger ones are folded."""

MOST_OUT, MOST_SYMBOLIC = 2_000, 64
"""Iterations that are written out where there is no formula: with all sizes known, and with some open."""


def course_of(graph: Graph, policy: Policy, *, uneven: bool = False) -> Course:
    """Return what a step makes, keeps and runs again.

    Counts that are large numbers are stood in for by symbols; where the formulas do not hold for them, their
    iterations are written out.

    Args:
        graph: the graph of the workload, without dead ops.
        policy: the choices of the run.
        uneven: whether a segment's length need not divide the count, so that the last one may be shorter.

    Raises:
        RuleError: there is no one form for every count.
    """
    if policy.workload != "train":
        graph = replace(graph, trainable=frozenset(), remats=())
        policy = replace(policy, hold_output=True, input_grad=False)
    shape = shaped(graph, policy, WRITTEN, uneven=uneven)
    numbers = any(value.is_Integer for value in shape.back.values())
    if not numbers:
        return _formed(graph, policy, shape)
    try:
        course = _formed(graph, policy, shape)
        if varies(graph):
            course.levels(course.weighed(saved=False))
    except RuleError:
        pass
    else:
        return course
    sizes = {s for t in graph.tensors.values() for dim in t.dims for s in dim.free_symbols}
    most = MOST_OUT if sizes <= indices_of(graph) else MOST_SYMBOLIC
    return _formed(graph, policy, shaped(graph, policy, most, uneven=uneven))


def _formed(graph: Graph, policy: Policy, shape: Shape) -> Course:
    """Return a course whose formulas hold for the counts that are known.

    Raises:
        RuleError: they begin at a larger one.
    """
    from symacct.peaks.cases import formed

    course = formed(graph, policy, shape)
    known = {one: at for one in course.least if (at := course.restored(one)).is_number}
    if any(at < course.least[one] for one, at in known.items()):
        short = [one for one, at in known.items() if at < course.merged[one]]
        if short:
            raise RuleError(
                f"the formulas for graph {graph.name} do not hold for a count of {known[short[0]]}",
                expected=f"at least {course.merged[short[0]]}",
                got=str(known[short[0]]),
                fix="bind the counts of its repeats",
            )
    return course


def check_lengths(name: str, policy: Policy, conditions: Sequence[Condition]) -> None:
    """Check that an open length of segments which divides numbers may be one of their divisors.

    Args:
        name: of the graph.
        policy: with the length.
        conditions: those of the formulas.

    Raises:
        RuleError: the formulas hold for none of them.
    """
    each = policy.checkpoint.every
    if each is None or not each.is_Symbol:
        return
    mine = [c for c in conditions if c.left.free_symbols | c.right.free_symbols == {each}]
    over = [one.right for one in mine if one.kind == "divides" and one.left == each]
    numbers = [int(one) for one in over if one.is_Integer]
    if numbers and not any(all(one.holds({each.name: at}) for one in mine) for at in divisors(numbers[0])):
        raise RuleError(
            f"the formulas for graph {name} hold for no {each} that divides its counts",
            expected=", ".join(one.text for one in mine if one.kind != "divides"),
            got=f"divisors of {', '.join(map(str, numbers))}",
            fix=f"give the length: every:{gcd(*numbers)}",
        )


@dataclass(frozen=True, eq=False)
class Course:
    """What a step makes, keeps and runs again, as formulas.

    Attributes:
        graph: the graph of the workload.
        policy: the choices of the run.
        shape: the graph with symbols for its counts.
        form: the step as folded loops, and from which counts on.
    """

    graph: Graph
    policy: Policy
    shape: Shape
    form: Form

    @property
    def whole(self) -> Items:
        """The step as folded loops."""
        return self.form.whole

    @property
    def least(self) -> Mapping[Symbol, int]:
        """The least value of each count that the folded form holds for."""
        return self.form.least

    @property
    def counts(self) -> tuple[Symbol, ...]:
        """The counts, and how much shorter a last segment is."""
        return tuple(self.starts(self.least))

    def starts(self, least: Mapping[Symbol, int]) -> dict[Symbol, int]:
        """Return the least values of counts and of how much shorter a last segment is."""
        found = dict(least)
        for length in self.shape.shorter.values():
            form = self.shape.into[length]
            for gap in form.free_symbols - set(self.least):
                whole = next((at for one, at in least.items() if one.name == length), 0)
                rest = normal(form - gap)
                found[gap] = max(0, whole - int(rest)) if rest.is_Integer else 0
        return found

    @cached_property
    def merged(self) -> Mapping[Symbol, int]:
        """The least value of each count that the formulas hold for, small cases looked at one by one."""
        return merged(self)

    def serves(self, sizes: Mapping[str, int]) -> bool:
        """Say whether the folded form itself, and not only its formulas, holds at integer sizes."""
        back = self.shape.back
        for one, least in self.least.items():
            meant = back.get(one.name, one)
            if {free.name for free in meant.free_symbols} <= sizes.keys() and evaluate(meant, sizes) < least:
                return False
        return True

    def lowered(self, polys: Sequence[Poly]) -> tuple[Ring, tuple[Poly, ...]]:
        """Return candidates in a ring whose counts begin where the formulas do."""
        ring = Ring(self._formulas, self.starts(self.merged))
        found = []
        for poly in polys:
            for place, (least, start) in enumerate(zip(self.ring.least, ring.least, strict=True)):
                if least != start:
                    shift = plus(ring.generator(ring.bases[place]), ring.number(start - least))
                    poly = put_in(poly, place, shift)  # noqa: PLW2901 (one generator after the other)
            found.append(poly)
        return ring, tuple(found)

    def at(self, known: Mapping[Symbol, int]) -> Course:
        """Return the course with integers in the place of counts.

        Raises:
            RuleError: there is no one form for every value of the other counts.
        """
        shape = reduce(lambda shape, item: shape.at(*item), known.items(), self.shape)
        from symacct.peaks.cases import formed

        return formed(self.graph, self.policy, shape)

    @cached_property
    def kept(self) -> dict[str, Expr]:
        """What is kept when the forward pass ends, in the policy's bytes and the symbols of the form."""
        return self._kept(self.weighed(saved=True))

    @cached_property
    def repeated(self) -> dict[str, Expr]:
        """How often each node runs again, in the symbols of the form."""
        return {
            label: total(run.summed(as_expr(1)) for run in each) for label, each in self.runs_again.items()
        }

    @cached_property
    def peaks(self) -> tuple[tuple[Poly, ...], tuple[Poly, ...]]:
        """Candidates for both peaks, of everything and of what is saved, as polynomials of the plain ring."""
        every, saved = (self.largest(self.weighed(saved=flag)) for flag in (False, True))
        return every, saved

    @cached_property
    def outline(self) -> tuple[tuple[Poly, ...], tuple[Poly, ...]]:
        """The same, with levels that another one may be as large as."""
        every, saved = (self.levels(self.weighed(saved=flag)) for flag in (False, True))
        return every, saved

    def weighed(self, *, saved: bool) -> Callable[[Size], Fraction]:
        """Return the function that says how many bytes an element takes; 0 for one that does not count."""
        if not saved:
            return lambda size: weight(self.policy, size)
        results = self._results
        return lambda size: (
            weight(self.policy, size)
            if size.saved and (results is None or size.name in results)
            else Fraction(0)
        )

    @cached_property
    def _results(self) -> frozenset[str] | None:
        """What alone counts as saved where that is each op's output; None where it is what backward reads."""
        if self.policy.saves != "lecture":
            return None
        ops = (node for node, _ in walk(self.graph.nodes) if not isinstance(node, Repeat))
        return frozenset(node.outs[0] for node in ops if not node.op.alias)

    @cached_property
    def ring(self) -> Ring:
        """The ring that all candidates live in."""
        return Ring(self._formulas, self.starts(self.least))

    @cached_property
    def plain(self) -> Ring:
        """The same ring with sizes as they are, in which levels are added up."""
        return Ring(self._formulas, self.starts(self.least), plain=True)

    @cached_property
    def _formulas(self) -> tuple[Expr, ...]:
        found = dict.fromkeys((*(size.elements for size in self._sizes), *_turns(self.whole)))
        return tuple(dict.fromkeys(normal(substitute(e, self.shape.into)) for e in found))

    def candidates(self, weigh: Callable[[Size], Fraction]) -> tuple[Poly, ...]:
        """Return the candidates for the peak, those that are needed.

        Raises:
            RuleError: what depends on the iteration rises and falls again.
        """
        return tuple(map(self.plain.from_starts, self.largest(weigh)))

    def largest(self, weigh: Callable[[Size], Fraction]) -> tuple[Poly, ...]:
        """Return the candidates as polynomials of the plain ring.

        Raises:
            RuleError: what depends on the iteration rises and falls again.
        """
        key = tuple(map(weigh, self._sizes))
        if key not in self._found:
            self._found[key] = Contest(self.plain, self.counts).largest(self.levels(weigh))
        return self._found[key]

    def levels(self, weigh: Callable[[Size], Fraction]) -> tuple[Poly, ...]:
        """Return levels of which the peak is the largest, many of them never: polynomials of the plain ring.

        Raises:
            RuleError: what depends on the iteration rises and falls again.
        """
        return self.composed(Composer(self.plain, weigh))

    def composed(self, composer: Composer) -> tuple[Poly, ...]:
        """Return the levels that a composer finds."""
        return composer.piece(self.whole, self.shape.into).peaks

    @cached_property
    def _found(self) -> dict[tuple[Fraction, ...], tuple[Poly, ...]]:
        return {}

    @cached_property
    def _sizes(self) -> tuple[Size, ...]:
        return tuple(dict.fromkeys(_sizes(self.whole)))

    def formula(self, poly: Poly) -> Expr:
        """Return a candidate as a formula in the sizes of the graph."""
        return self.restored(self.ring.expr(poly))

    def formulas(self, weigh: Callable[[Size], Fraction], beside: Expr) -> tuple[Expr, ...]:
        """Return the candidates as formulas in the sizes of the graph, with what the peak stands on.

        Raises:
            RuleError: what depends on the iteration rises and falls again.
        """
        known: dict[Powers, Expr] = {}

        def meant(powers: Powers) -> Expr:
            if powers not in known:
                known[powers] = self.restored(self.plain.monomial(powers))
            return known[powers]

        polys = (self.plain.shifted(poly, -1) for poly in self.largest(weigh))
        terms = ((Mul(from_number(c), meant(powers)) for powers, c in poly.items()) for poly in polys)
        return tuple(normal(Add(*each, beside)) for each in terms)

    def restored(self, expr: Expr) -> Expr:
        """Return a formula with what symbols stand for put back."""
        return substitute(expr, self.shape.back)

    @property
    def inputs(self) -> tuple[str, ...]:
        """Graph inputs that count as saved: those that backward reads; none where outputs alone do."""
        return self.form.inputs if self._results is None else ()

    @cached_property
    def conditions(self) -> tuple[Condition, ...]:
        """Return when the formulas hold."""
        found = list(self.shape.conditions)
        for one, value in self.merged.items():
            if value > 1 or one.name not in self.shape.shorter:
                found.append(Condition("at_least", self.restored(one), as_expr(value)))
        return merge(c for c in found if not c.is_certain())

    def saved_when_forward_ends(self, weigh: Callable[[Size], Fraction]) -> dict[str, Expr]:
        """Return the bytes that are kept when the forward pass ends, by tensor."""
        return {name: self.restored(expr) for name, expr in self._kept(weigh).items()}

    def _kept(self, weigh: Callable[[Size], Fraction]) -> dict[str, Expr]:
        found: dict[str, list[Expr]] = {}
        for name, expr in net(self.form.forward, self.shape.into, weigh):
            found.setdefault(name, []).append(expr)
        return {name: total(parts) for name, parts in found.items()}

    @cached_property
    def runs_again(self) -> dict[str, tuple[Run, ...]]:
        """Where each node runs again in backward, by label."""
        found: dict[str, list[Run]] = {}
        for run in runs(self.whole, self.shape.into, ()):
            found.setdefault(run.label, []).append(run)
        return {label: tuple(runs) for label, runs in found.items()}

    def again(self, label: str, expr: Expr) -> Expr:
        """Return what a node costs when it runs again: a formula in its iteration, summed over its runs."""
        return self.restored(
            total(run.summed(substitute(expr, self.shape.into)) for run in self.runs_again[label])
        )


class Tagged(Composer):
    """A composer that marks what is saved, or a parameter's gradient, with a generator of its own."""

    def __init__(self, ring: Ring, weigh: Callable[[Size], Fraction], unit: Poly) -> None:
        """Keep the generator."""
        super().__init__(ring, weigh)
        self.unit = unit

    def size(self, size: Size, known: Mapping[str, Expr]) -> Poly:
        """Return the bytes of a storage, once more with the mark where it belongs to a category."""
        found = super().size(size, known)
        category = size.saved or size.kind == "parameter gradient"
        return plus(found, product(found, self.unit)) if category else found


def _sizes(items: Items) -> Iterator[Size]:
    for item in items:
        if isinstance(item, Event):
            yield from (*item.makes, *item.drops)
            continue
        for part in (*item.first, item.body, *item.last):
            yield from _sizes(part)


def _turns(items: Items) -> Iterator[Expr]:
    for loop in loops(items):
        yield from (loop.count, turn_symbol(loop.name), rest_symbol(loop.name))
