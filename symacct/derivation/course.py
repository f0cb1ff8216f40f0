"""The course of a training step through memory, as loops with symbolic counts.

The interpreter runs at small counts, its schedule is folded, and the folded form is checked against the
interpreter at the smallest counts it claims to hold for. Counts that are large integers are stood in for by
symbols, so that a thousand iterations cost what six do.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import zip_longest
from math import isqrt
from types import MappingProxyType
from typing import TYPE_CHECKING

from sympy import Symbol, ceiling, sqrt

from symacct.algebra.condition import Condition, merge
from symacct.algebra.evaluate import evaluate, substitute
from symacct.algebra.maxima import Contest
from symacct.algebra.normal import normal, total
from symacct.algebra.sparse import Poly, Ring, plus, product
from symacct.algebra.summation import sum_over
from symacct.algebra.symbols import as_expr, symbol
from symacct.derivation.closing import closed
from symacct.derivation.folding import Event, Items, Loop, folded, loops, unfolded, written
from symacct.derivation.pieces import Composer, rest_symbol
from symacct.derivation.placement import Cut, outermost, placed
from symacct.derivation.schedule import Schedule, scheduled, turn_symbol
from symacct.derivation.timeline import choices_of
from symacct.errors import RuleError, UsageError
from symacct.nodes import Graph, Repeat, walk

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from sympy import Expr

    from symacct.derivation.folding import Size
    from symacct.nodes import Step_
    from symacct.policy import Policy

WRITTEN = 8
"""Counts up to this are written out; larger ones are folded."""

BASES = (6, 8, 10)
NOTHING_BASES = (9, 12)
MERGED_ACTIONS = 700
"""How long a schedule may be for smaller counts to be looked at, whether one formula serves them too."""

MOST_OUT, MOST_SYMBOLIC = 2_000, 64
"""Iterations that are written out where there is no formula: with all sizes known, and with some open."""

MOST_RAISED = 4
"""How far the least counts may be raised until the folded form holds from there on."""

Weigh = "Callable[[Size], Fraction]"


@dataclass(frozen=True, slots=True)
class Shape:
    """A graph made ready to be folded.

    Attributes:
        graph: closed, with symbols in the place of large counts.
        outputs: what a caller may hold.
        cuts: the segments of outermost repeats.
        into: formulas that are put in the place of sizes (``h = a*q``, ``L = M*k``).
        back: what the symbols of the folded form stand for.
        micro: the number of micro-batches.
        conditions: what must hold beside the counts.
    """

    graph: Graph
    outputs: tuple[str, ...]
    cuts: Mapping[str, Cut]
    into: Mapping[str, Expr]
    back: Mapping[str, Expr]
    micro: Expr
    conditions: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class _Form:
    """A schedule as folded loops.

    Attributes:
        forward: the forward pass of the first micro-batch.
        whole: the whole step.
        counts: the integers that it was folded at.
        inputs: graph inputs that backward reads.
        least: the counts from which it holds.
    """

    forward: Items
    whole: Items
    counts: dict[str, int]
    inputs: tuple[str, ...]
    least: Mapping[Symbol, int]

    def at(self, one: Symbol, default: int) -> int:
        """Return the value of a count that the form was folded at."""
        return self.counts.get(one.name, default)


class Course:
    """What a step makes, keeps and runs again, as formulas.

    Args:
        graph: the graph of the workload, without dead ops.
        policy: the choices of the run.
    """

    def __init__(self, graph: Graph, policy: Policy) -> None:
        """Prepare the graph; everything else is derived when it is asked for."""
        if policy.workload != "train":
            graph = replace(graph, trainable=frozenset())
            policy = replace(policy, hold_output=True, input_grad=False)
        self.graph = graph
        self.policy = policy
        self.most = WRITTEN
        self.shape = _shaped(graph, policy, self.most)

    @cached_property
    def _folded(self) -> _Form:
        """Fold at small counts; where the form does not hold from its least counts on, at larger ones."""
        bases = NOTHING_BASES if self.policy.checkpoint.kind == "store-nothing" else BASES
        for base in bases:
            try:
                return self._form(_counts(self.shape, base))
            except RuleError:
                if base == bases[-1]:
                    raise
        raise AssertionError(bases)

    def _form(self, counts: dict[str, int]) -> _Form:
        """Return the folded form of the schedule at these counts, checked where it is claimed to hold.

        Raises:
            RuleError: there is none.
        """
        schedule = self.run(counts)
        forward, whole = folded(self.shape.graph, schedule, self.shape.cuts, counts)
        form = _Form(forward, whole, counts, schedule.inputs, {})
        return replace(form, least=self._least(form))

    def run(self, counts: Mapping[str, int]) -> Schedule:
        """Return the schedule at integer counts."""
        shape = self.shape
        placement = placed(shape.graph, self.policy.checkpoint, shape.cuts)
        policy = replace(self.policy, accumulate=shape.micro)
        micro = int(evaluate(shape.micro, counts))
        return scheduled(shape.graph, shape.outputs, placement, choices_of(policy, micro), counts)

    @property
    def whole(self) -> Items:
        """The step as folded loops."""
        return self._folded.whole

    @property
    def least(self) -> Mapping[Symbol, int]:
        """The least value of each count that the folded form holds for."""
        return self._folded.least

    def _least(self, form: _Form) -> dict[Symbol, int]:
        """Return the least counts from which a form agrees with the interpreter.

        Raises:
            RuleError: it does not, near the counts that it was folded at.
        """
        hopeful = _least(form.whole)
        for more in range(MOST_RAISED + 1):
            found = {one: min(at + more, form.at(one, at + more)) for one, at in hopeful.items()}
            wrong = self._differs(form, found)
            if wrong is None:
                break
        else:
            raise _formless(self.graph.name, wrong)
        if not more:
            return found
        beyond = {one: form.at(one, at) + 1 for one, at in found.items()}
        if (wrong := self._differs(form, beyond)) is not None:
            raise _formless(self.graph.name, wrong)
        for one, at in hopeful.items() if len(found) > 1 else ():
            trial = {**found, one: at}
            if trial != found and self._differs(form, trial) is None:
                found = trial
        return found

    def _differs(self, form: _Form, at: Mapping[Symbol, int]) -> tuple[Event | None, Event | None] | None:
        """Compare a form with the interpreter at small counts: the first steps that differ, if any."""
        counts = form.counts | {one.name: value for one, value in at.items() if one.name in form.counts}
        counts |= _derived(self.shape, counts)
        if counts == form.counts:
            return None
        steps = self.run(counts)
        known = {name: as_expr(value) for name, value in counts.items()}
        there = written(self.shape.graph, steps, self.shape.cuts, counts)
        actions = iter(steps.actions)
        for mine, real in zip_longest(unfolded(form.whole, known), there):
            if mine is None or real is None:
                return mine, real
            turns = {turn_symbol(m.loop).name: as_expr(m.turn) for m in next(actions).marks}
            if not _alike(mine, real, {**known, **turns}):
                return mine, real
        return None

    @cached_property
    def ring(self) -> Ring:
        """The ring that all candidates live in."""
        return Ring(self._formulas, self.least)

    @cached_property
    def _formulas(self) -> tuple[Expr, ...]:
        found = dict.fromkeys(_formulas(self.whole))
        return tuple(dict.fromkeys(normal(substitute(e, self.shape.into)) for e in found))

    def candidates(self, weigh: Callable[[Size], Fraction]) -> tuple[Poly, ...]:
        """Return the candidates for the peak, those that are needed.

        Raises:
            RuleError: there is no formula for every count, and no count is known.
        """
        try:
            return self._candidates(weigh)
        except RuleError:
            if not self._write_out():
                raise
            return self._candidates(weigh)

    def _write_out(self) -> bool:
        """Write every iteration out, where all counts are integers and few; return whether that is new."""
        if self.most != WRITTEN:
            return False
        sizes = {s for t in self.graph.tensors.values() for dim in t.dims for s in dim.free_symbols}
        indices = {r.index for r, _ in walk(self.graph.nodes) if isinstance(r, Repeat)}
        self.most = MOST_OUT if sizes <= indices else MOST_SYMBOLIC
        shape = _shaped(self.graph, self.policy, self.most)
        if _open_counts(shape) or max((int(r.count) for r in outermost(shape.graph)), default=0) > self.most:
            return False
        self.shape = shape
        for name in ("_folded", "ring", "_formulas", "conditions", "runs_again"):
            self.__dict__.pop(name, None)
        return True

    def _candidates(self, weigh: Callable[[Size], Fraction]) -> tuple[Poly, ...]:
        piece = Composer(self.ring, weigh).piece(self.whole, self.shape.into)
        return Contest(self.ring, tuple(self.least)).largest(piece.peaks)

    def parts(self, weigh: Callable[[Size], Fraction]) -> tuple[Expr, ...]:
        """Return what is neither saved nor a parameter's gradient at the peak, for each formula of it."""
        tag = symbol("tagged_")
        ring = Ring([*self._formulas, tag], self.least)
        place = ring.places[tag]
        ring.least[place] = 0
        unit = {tuple(int(at == place) for at in range(len(ring.bases))): 1}

        def tagged(size: Size) -> Fraction:
            return weigh(size)

        composer = Tagged(ring, tagged, unit)
        peaks = composer.piece(self.whole, self.shape.into).peaks
        plain = {i: {p: c for p, c in poly.items() if p[place] == 0} for i, poly in enumerate(peaks)}
        best = Contest(ring, tuple(self.least)).largest(list(plain.values()))
        found = []
        for poly in best:
            at = next(i for i, other in plain.items() if other == poly)
            kept = {_untagged(p, place): c for p, c in peaks[at].items() if p[place] == 1}
            found.append(ring.expr(plus(poly, kept, -1)))
        return tuple(found)

    def formula(self, poly: Poly) -> Expr:
        """Return a candidate as a formula in the sizes of the graph."""
        return self.restored(self.ring.expr(poly))

    def restored(self, expr: Expr) -> Expr:
        """Return a formula with what symbols stand for put back."""
        return normal(substitute(expr, self.shape.back))

    @property
    def inputs(self) -> tuple[str, ...]:
        """Graph inputs that backward reads."""
        return self._folded.inputs

    @cached_property
    def conditions(self) -> tuple[Condition, ...]:
        """Return when the formulas hold."""
        found = list(self.shape.conditions)
        for one, value in self.least.items():
            left = self.restored(one)
            if not left.is_number:
                found.append(Condition("at_least", left, as_expr(value)))
        return merge(c for c in found if not c.is_certain())

    def saved_when_forward_ends(self, weigh: Callable[[Size], Fraction]) -> dict[str, Expr]:
        """Return the bytes that are kept when the forward pass ends, by tensor."""
        found: dict[str, list[Expr]] = {}
        for name, expr in _net(self._folded.forward, self.shape.into, weigh):
            found.setdefault(name, []).append(expr)
        return {name: self.restored(total(parts)) for name, parts in found.items()}

    @cached_property
    def runs_again(self) -> dict[str, tuple[Run, ...]]:
        """Where each node runs again in backward, by label."""
        found: dict[str, list[Run]] = {}
        for run in _runs(self.whole, self.shape.into, ()):
            found.setdefault(run.label, []).append(run)
        return {label: tuple(runs) for label, runs in found.items()}

    def again(self, label: str, expr: Expr) -> Expr:
        """Return what a node costs when it runs again: the sum over all its runs of a formula in its iteration."""
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


def _untagged(powers: tuple[int, ...], place: int) -> tuple[int, ...]:
    return (*powers[:place], 0, *powers[place + 1 :])


@dataclass(frozen=True, slots=True)
class Run:
    """A node that runs again inside some loops: the turns of each, and the iterations they mean."""

    label: str
    index: tuple[tuple[str, Expr], ...]
    ranges: tuple[tuple[Symbol, Expr, Expr], ...]

    def summed(self, expr: Expr) -> Expr:
        """Return the sum of a formula over the turns."""
        expr = normal(substitute(expr, dict(self.index)))
        for turn, lo, hi in reversed(self.ranges):
            expr = sum_over(expr, turn, lo, hi)
        return expr


def _runs(
    items: Items, known: Mapping[str, Expr], around: tuple[tuple[Symbol, Expr, Expr], ...]
) -> Iterator[Run]:
    for item in items:
        if isinstance(item, Event):
            if item.phase == "recompute" and item.runs:
                index = tuple((name, substitute(at, known)) for name, at in item.index)
                yield Run(item.label, index, around)
            continue
        for turns, part in _parts(item, known):
            yield from _runs(part, known, (*around, turns))


def _parts(loop: Loop, known: Mapping[str, Expr]) -> Iterator[tuple[tuple[Symbol, Expr, Expr], Items]]:
    """Yield the parts of a loop with the turns that they stand for."""
    count, turn = normal(substitute(loop.count, known)), turn_symbol(loop.name)
    first, last = len(loop.first), len(loop.last)
    for at, part in enumerate(loop.first):
        yield (turn, as_expr(at), as_expr(at + 1)), part
    yield (turn, as_expr(first), normal(count - last)), loop.body
    for at, part in enumerate(loop.last):
        yield (turn, normal(count - last + at), normal(count - last + at + 1)), part


def _net(
    items: Items,
    known: Mapping[str, Expr],
    weigh: Callable[[Size], Fraction],
    around: tuple[tuple[Symbol, Expr, Expr], ...] = (),
) -> Iterator[tuple[str, Expr]]:
    """Yield what each step adds and drops of what is saved, summed over the loops around it, by tensor."""
    for item in items:
        if isinstance(item, Loop):
            for turns, part in _parts(item, known):
                yield from _net(part, known, weigh, (*around, turns))
            continue
        for sizes, sign in ((item.makes, 1), (item.drops, -1)):
            for size in sizes:
                weight = weigh(size)
                if weight:
                    expr = normal(substitute(size.elements, known)) * as_expr(weight) * sign
                    for turn, lo, hi in reversed(around):
                        expr = sum_over(expr, turn, lo, hi)
                    yield size.name, expr


def _least(items: Items) -> dict[Symbol, int]:
    """Return the least value of each symbol that a loop's count is made of."""
    found: dict[Symbol, int] = {}
    for loop in loops(items):
        turns = [s for s in loop.count.free_symbols if s.name.startswith("turn_")]
        free = [s for s in loop.count.free_symbols if s not in turns]
        if turns or len(free) != 1:
            continue
        (one,) = free
        value = 1
        while int(evaluate(loop.count, {one.name: as_expr(value)})) < loop.least:
            value += 1
        found[one] = max(found.get(one, 1), value)
    return found


def _formulas(items: Items) -> Iterator[Expr]:
    for item in items:
        if isinstance(item, Event):
            yield from (size.elements for size in (*item.makes, *item.drops))
            continue
        yield from (item.count, turn_symbol(item.name), rest_symbol(item.name))
        for part in (*item.first, item.body, *item.last):
            yield from _formulas(part)


def _alike(mine: Event, real: Event, known: Mapping[str, Expr]) -> bool:
    """Say whether two steps are the same at integer counts and turns; what dies together has no order."""
    if (mine.label, mine.phase, mine.runs) != (real.label, real.phase, real.runs):
        return False
    makes = [[_seen(size, known) for size in one.makes] for one in (mine, real)]
    drops = [Counter(_seen(size, known) for size in one.drops) for one in (mine, real)]
    return makes[0] == makes[1] and drops[0] == drops[1]


def _seen(size: Size, known: Mapping[str, Expr]) -> tuple[Expr, str, str, bool]:
    free = size.elements.free_symbols
    bound = {s.name: known[s.name] for s in free if s.name in known}
    elements = normal(substitute(size.elements, bound)) if bound else size.elements
    return elements, size.dtype, size.kind, size.saved


def _formless(name: str, found: tuple[Event | None, Event | None]) -> RuleError:
    mine, real = found
    return RuleError(
        f"the schedule of graph {name} has no one form for every count",
        expected=str(real),
        got=str(mine),
        fix="bind the counts of its repeats",
    )


# ---- making a graph ready ----


def _open_counts(shape: Shape) -> bool:
    """Say whether a count of repeats, segments or micro-batches is no integer."""
    repeats = [r for r, _ in walk(shape.graph.nodes) if isinstance(r, Repeat)]
    free = {s for r in repeats for end in (r.lo, r.hi) for s in end.free_symbols} - {r.index for r in repeats}
    parts = [part for cut in shape.cuts.values() for part in (cut.segments, cut.size, cut.rest)]
    return bool(free) or any(part.free_symbols for part in (*parts, shape.micro))


def _shaped(graph: Graph, policy: Policy, most: int) -> Shape:
    """Return a graph with symbols for counts above ``most``, ready to be scheduled at small ones."""
    names = _Names(graph)
    back: dict[str, Expr] = {}
    into, conditions = _quotients(graph, names, back)
    cut = policy.checkpoint.every is not None and not policy.checkpoint.every.is_Integer
    nodes = tuple(_standing(node, names, back, most, always=cut) for node in graph.nodes)
    stood = replace(graph, nodes=nodes)
    cuts: dict[str, Cut] = {}
    for repeat in outermost(stood):
        cut = _cut(repeat, policy, names, back, into, conditions, most)
        if cut is not None:
            cuts[repeat.name] = cut
    micro = as_expr(policy.accumulate)
    if micro.is_Integer and int(micro) > most:
        micro = names.stand(micro, "micro", back)
    return Shape(
        closed(stood) if policy.workload == "train" else stood,
        graph.outputs,
        MappingProxyType(cuts),
        MappingProxyType(into),
        MappingProxyType(back),
        micro,
        tuple(conditions),
    )


class _Names:
    """New symbols that no size of the graph has."""

    def __init__(self, graph: Graph) -> None:
        self.taken = {*graph.sizes, *graph.aliases}
        self.made: dict[tuple[str, Expr], Symbol] = {}

    def fresh(self, name: str) -> Symbol:
        found = f"{name}_"
        while found in self.taken:
            found += "_"
        self.taken.add(found)
        return symbol(found)

    def stand(self, value: Expr, name: str, back: dict[str, Expr]) -> Symbol:
        """Return the symbol that stands for a value, the same for equal values."""
        if (name, value) not in self.made:
            self.made[name, value] = self.fresh(name)
            back[self.made[name, value].name] = value
        return self.made[name, value]


def _quotients(graph: Graph, names: _Names, back: dict[str, Expr]) -> tuple[dict[str, Expr], list[Condition]]:
    """Return ``h = a*q`` for each size that another one divides, so that quotients become sizes."""
    into: dict[str, Expr] = {}
    for condition in graph.conditions:
        over, by = condition.right, condition.left
        if condition.kind == "divides" and over.is_Symbol and over.name not in into and by.is_Symbol:
            quotient = names.stand(over / by, "quotient", back)
            into[over.name] = by * quotient
    chained = {
        name: normal(substitute(value, {k: v for k, v in into.items() if k != name}))
        for name, value in into.items()
    }
    return chained, list(graph.conditions)


def _standing(
    node: Step_, names: _Names, back: dict[str, Expr], most: int, *, always: bool = False
) -> Step_:
    """Return a node with a symbol in the place of every large integer count, or of this one in any case."""
    if not isinstance(node, Repeat):
        return node
    body = tuple(_standing(inner, names, back, most) for inner in node.body)
    count = node.count
    if count.is_Integer and (int(count) > most or (always and count > 0)):
        return replace(node, body=body, hi=node.lo + names.stand(count, "count", back))
    return replace(node, body=body)


def _cut(
    repeat: Repeat,
    policy: Policy,
    names: _Names,
    back: dict[str, Expr],
    into: dict[str, Expr],
    conditions: list[Condition],
    most: int,
) -> Cut | None:
    """Return the segments of an outermost repeat."""
    kind = policy.checkpoint.kind
    if kind not in ("every", "sqrt"):
        return None
    count = repeat.count
    whole = normal(substitute(count, back))
    if kind == "sqrt":
        size = as_expr(max(isqrt(int(whole) - 1) + 1, 1)) if whole.is_Integer and whole > 0 else sqrt(whole)
    else:
        size = as_expr(policy.checkpoint.every)  # type: ignore[arg-type]
        _check_new(size, names)
    if whole.is_Integer and size.is_Integer:
        return _integers(int(whole), int(size), names, back, most)
    length = (
        size
        if size.is_Symbol or (size.is_Integer and int(size) <= most)
        else names.stand(size, "segment", back)
    )
    if kind == "sqrt":
        segments: Expr = length
        conditions.append(Condition("equal", whole, ceiling(sqrt(whole)) ** 2))
    else:
        segments = names.stand(whole / size, "segments", back)
        conditions.append(Condition("divides", size, whole))
    if count.is_Symbol:
        into[count.name] = segments * length
    return Cut(segments, length, length)


def _check_new(size: Expr, names: _Names) -> None:
    clash = sorted(s.name for s in size.free_symbols if s.name in names.taken)
    if clash:
        raise UsageError(
            f"the length of a segment is called {clash[0]}, which is a size of the graph",
            expected="an integer or a name of its own",
            got=clash[0],
            fix="call it k",
        )


def _integers(count: int, size: int, names: _Names, back: dict[str, Expr], most: int) -> Cut:
    """Return segments where count and length are integers: the last one may be shorter."""
    size = min(size, max(count, 1))
    segments = max(-(-count // size), 1)
    rest = max(count - (segments - 1) * size, 0)

    def stand(value: int, name: str) -> Expr:
        return as_expr(value) if value <= most else names.stand(as_expr(value), name, back)

    length = stand(size, "segment")
    return Cut(stand(segments, "segments"), length, length if rest == size else stand(rest, "rest"))


def _counts(shape: Shape, base: int) -> dict[str, int]:
    """Return small integers for every symbol that a count is made of."""
    repeats = [r for r, _ in walk(shape.graph.nodes) if isinstance(r, Repeat)]
    indices = {r.index.name for r in repeats}
    free = {s.name for r in repeats for end in (r.lo, r.hi) for s in end.free_symbols} - indices
    free |= {s.name for s in shape.micro.free_symbols}
    counts = dict.fromkeys(sorted(free), base)
    for cut in shape.cuts.values():
        for part in (cut.segments, cut.size, cut.rest):
            counts |= {s.name: base - 1 for s in part.free_symbols}
    counts |= _derived(shape, counts)
    for _ in range(base):
        short = [r for r in repeats if not r.count.free_symbols & {q.index for q in repeats}]
        low = [r for r in short if r.count.free_symbols and int(evaluate(r.count, counts)) < base - 1]
        if not low or shape.cuts:
            break
        for r in low:
            counts |= {s.name: counts[s.name] + 1 for s in r.count.free_symbols}
    return counts


def _derived(shape: Shape, counts: Mapping[str, int]) -> dict[str, int]:
    """Return the counts of repeats that are cut, from their segments."""
    found: dict[str, int] = {}
    for repeat in outermost(shape.graph):
        cut = shape.cuts.get(repeat.name)
        if cut is None:
            continue
        segments, size, rest = (int(evaluate(part, counts)) for part in (cut.segments, cut.size, cut.rest))
        whole = (segments - 1) * size + rest
        for one in repeat.count.free_symbols:
            found[one.name] = (
                counts.get(one.name, 0)
                + whole
                - int(evaluate(repeat.count, {**counts, one.name: counts.get(one.name, 1)}))
            )
    return found
