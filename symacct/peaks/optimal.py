"""The segments of a graph at given sizes that run least again while what is saved fits into so many bytes.

The graph is read as a chain of steps: the iterations of its outermost repeats, and between them the nodes of
a scope together. The best plan of the chain is measured by the interpreter before it is taken. Where every
step reads what the step before has made, and saves what enters it, the chain tells the peak to the byte, and
the plan is the best there is; where values pass by a step, the plan is one that fits.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

from sympy import Integer

from symacct.algebra.evaluate import evaluate
from symacct.errors import RuleError, SizeError
from symacct.nodes import Graph, Node, Repeat, walk
from symacct.peaks.chain import Link, Number, best_plans, least_splits, segments_of, splits
from symacct.peaks.closing import closed
from symacct.peaks.course import course_of
from symacct.peaks.placement import MOST_TURNS, outermost, placed
from symacct.peaks.schedule import Run
from symacct.peaks.timeline import at_sizes, choices_of, sizes_at, worst
from symacct.policy import Checkpoint

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from symacct.peaks.chain import Point
    from symacct.peaks.steps import Instance, Storage, Value
    from symacct.policy import Policy

MOST_SPLITS = 40_000
"""How many ways to split a part of a chain are looked at."""

MOST_TRIES = 12
"""How many plans are measured where values pass by a step, so that the chain does not tell the peak."""

NUMBERS = ("enters", "reads", "inner", "leaves", "joint", "cost", "beyond")

Segments = tuple[tuple[int, int], ...]


def fitted(graph: Graph, policy: Policy, cost: Callable[[Instance], Fraction]) -> Checkpoint:
    """Return the checkpoint ``optimal:BYTES`` of a policy with its segments.

    Args:
        graph: with all sizes bound.
        policy: its checkpoint says how many bytes; all else is kept.
        cost: the FLOPs of an op in one iteration.

    Raises:
        RuleError: a size is open, or nothing fits: with the least that would.
        SizeError: the graph has too many steps, and not all fits that backward reads.
    """
    _require_bound(graph, policy)
    once = replace(policy, accumulate=1)
    whole = None if graph.remats else _whole(graph, once)
    if whole is not None and whole <= (policy.checkpoint.nbytes or 0):
        return Checkpoint()
    turns = sum(int(repeat.count) for repeat in outermost(graph))
    if least_splits(turns) > MOST_SPLITS:
        raise _too_many(graph, turns, whole)
    return _Search(graph, once, cost).found()


def _whole(graph: Graph, policy: Policy) -> Fraction | None:
    """Return the peak of what is saved where nothing runs again, from its formula; None where it has none."""
    try:
        course = course_of(graph, replace(policy, checkpoint=Checkpoint()))
        saved = course.formulas(course.weighed(saved=True), Integer(0))
    except RuleError:
        return None
    kept = sum((_input(graph, policy, name) for name in course.inputs), start=Fraction(0))
    values = [evaluate(one, {}) for one in saved]
    return kept + max((Fraction(int(one.p), int(one.q)) for one in values), default=Fraction(0))


def _input(graph: Graph, policy: Policy, name: str) -> Fraction:
    """Return the bytes of a graph input that backward reads; 0 where the output of each op is kept alone."""
    if policy.saves == "lecture":
        return Fraction(0)
    tensor = graph.tensors[name]
    return policy.nbytes(tensor.dtype, tensor.role) * int(evaluate(tensor.numel, {}))


def _too_many(graph: Graph, steps: int, whole: Fraction | None = None) -> SizeError:
    """Return the error for a graph with too many steps; ``whole`` is room enough for nothing to run again."""
    return SizeError(
        f"graph {graph.name} has too many steps to look at all segments of them",
        expected=f"at most {MOST_SPLITS} ways to split a part of them in two",
        got=f"{steps} steps",
        fix="use every:K"
        + (" or binomial:SLOTS" if steps <= MOST_TURNS else "")
        + ("" if whole is None else f", or optimal:{-int(-whole // 1)}, with which nothing runs again"),
    )


def _require_bound(graph: Graph, policy: Policy) -> None:
    if graph.order:
        names = ",".join(f"{name}=..." for name in graph.order)
        raise RuleError(
            f"the best segments of graph {graph.name} depend on its sizes, and {graph.order[0]} is open",
            where=f"checkpoint {policy.checkpoint.describe()}",
            expected="an integer for every size",
            got=", ".join(graph.order),
            fix=f"bind them: --at {names}",
        )


class _Search:
    """The search for the segments of one graph."""

    def __init__(self, graph: Graph, policy: Policy, cost: Callable[[Instance], Fraction]) -> None:
        self.graph, self.policy = graph, policy
        self.results = results(graph) if policy.saves == "lecture" else None
        self.size = sizes_at(graph, policy, {})
        self.steps = tuple(_steps(graph))
        if least_splits(len(self.steps)) > MOST_SPLITS:
            raise _too_many(graph, len(self.steps))
        self.reader = _Reader(self, cost)
        self.links = self.reader.links()
        if splits(self.links) > MOST_SPLITS:
            raise _too_many(graph, len(self.links))

    def bytes_of(self, storage: Storage) -> Fraction:
        """Return the bytes of a storage, 0 for one that does not count as saved."""
        named = self.results is None or storage.tensor.name in self.results
        return self.size(storage) if named else Fraction(0)

    def found(self) -> Checkpoint:
        """Return the best segments that fit.

        A segment keeps the graph inputs that it reads, to the end. Inputs that backward reads in no case are
        looked at twice: kept, and with their readers in no segment.
        """
        room = Fraction(self.policy.checkpoint.nbytes or 0)
        beside = self._measured(()) - sum(link.inner + link.joint for link in self.links)
        unread = self.reader.unread
        ways = [(self.links, beside + sum(map(self._input, {name for names in unread for name in names})))]
        if any(unread):
            apart = [replace(o, apart=o.apart or bool(n)) for o, n in zip(self.links, unread, strict=True)]
            ways.append((apart, beside))
        found = [one for links, more in ways if (one := self._best(links, room, room - more)) is not None]
        if found:
            return replace(self.policy.checkpoint, segments=min(found, key=lambda one: one[0])[1])
        raise self._unfit(min(self._least(links)[0] for links, _ in ways))

    def _best(self, links: Sequence[Link], room: Fraction, limit: Number) -> tuple[Number, Segments] | None:
        """Return the cost and the segments of the best plan that fits, or None."""
        for _ in range(MOST_TRIES):
            plans = self._plans(links, _plain(Fraction(limit)))
            if not plans:
                break
            chosen = self._segments(plans[-1])
            over = self._measured(chosen) - room
            if over <= 0:
                return plans[-1].cost, chosen
            limit = min(limit, plans[-1].peak) - over
        least, plan = self._least(links)
        return (plan.cost, self._segments(plan)) if least <= room else None

    def _least(self, links: Sequence[Link]) -> tuple[Fraction, Point]:
        """Return the lowest peak, and the plan that has it."""
        (plan,) = self._plans(links, None, least=True)
        return self._measured(self._segments(plan)), plan

    def _unfit(self, least: Fraction) -> RuleError:
        asked, kind = self.policy.checkpoint, "optimal"
        needed = replace(asked, nbytes=-int(-least // 1))
        return RuleError(
            f"no segments of graph {self.graph.name} bring what is saved down to {asked.nbytes} bytes",
            where=f"checkpoint {asked.describe()}",
            expected=f"at least {needed.nbytes} bytes: the least that any segments need",
            got=f"{kind}:{asked.nbytes}",
            fix=f"use {needed.describe()}, a smaller batch, or fewer bytes for an element",
        )

    def _plans(self, links: Sequence[Link], limit: Number | None, *, least: bool = False) -> list[Point]:
        return best_plans(links, limit, full=self.policy.checkpoint.recompute == "full", least=least)

    def _segments(self, plan: Point) -> Segments:
        """Return the segments of a plan in units."""
        ends = [lo for lo, _ in self.steps] + [self.steps[-1][1]] if self.steps else [0]
        return tuple((ends[i], ends[j]) for i, j in segments_of(plan))

    def _measured(self, segments: Segments) -> Fraction:
        """Return the peak of what is saved, and of the graph inputs that backward reads."""
        checkpoint = replace(self.policy.checkpoint, segments=segments)
        schedule = at_sizes(self.graph, replace(self.policy, checkpoint=checkpoint), {})
        most = worst(schedule, self.bytes_of, lambda storage: storage.saved).nbytes
        return most + sum((self._input(name) for name in schedule.inputs), start=Fraction(0))

    def _input(self, name: str) -> Fraction:
        return _input(self.graph, self.policy, name)


def _is_input(value: Value) -> bool:
    return value.storage.fixed and value.tensor.role == "input"


def _plain(number: Fraction) -> Number:
    """Return an integer where a number is one: it is added much faster."""
    return int(number) if number.denominator == 1 else number


def results(graph: Graph) -> frozenset[str]:
    """Return what ops make and is no view: what alone counts as saved where each op's output is kept."""
    ops = (node for node, _ in walk(graph.nodes) if isinstance(node, Node))
    return frozenset(node.outs[0] for node in ops if not node.op.alias)


def _steps(graph: Graph) -> Iterator[tuple[int, int]]:
    """Yield the steps of a graph in units: iterations, and the nodes of a scope that follow one another."""
    unit, start, scope = 0, 0, ""
    for node in graph.nodes:
        own, inside, _ = node.label.partition("/")
        mine = own if inside and isinstance(node, Node) else ""
        if unit > start and (not mine or mine != scope):
            yield start, unit
            start = unit
        scope = mine
        if isinstance(node, Repeat):
            for _ in range(int(node.count)):
                yield unit, unit + 1
                unit += 1
            start = unit
        else:
            unit += 1
    if unit > start:
        yield start, unit


class _Seen(Run):
    """A forward pass that notes the unit of each op."""

    def __init__(self, *args: object) -> None:
        super().__init__(*args)  # type: ignore[arg-type]
        self.seen: list[tuple[int, Instance]] = []

    def node(self, node: Node) -> None:
        """Run one node, and note it."""
        self.past = []
        super().node(node)
        self.seen.append((self.unit - 1, self.past[-1]))


class _Reader:
    """Reads the links of a chain off a forward pass in which nothing runs again."""

    def __init__(self, search: _Search, cost: Callable[[Instance], Fraction]) -> None:
        graph, policy = search.graph, search.policy
        checkpoint = replace(policy.checkpoint, segments=())
        whole = closed(graph) if policy.loss == "sum" else graph
        self.run = _Seen(whole, graph.outputs, placed(graph, checkpoint), choices_of(policy, 1), {})
        self.run.forward(whole.nodes)
        self.cost, self.bytes_of, self.steps = cost, search.bytes_of, search.steps
        self.own = self._by_step()

    def _by_step(self) -> list[list[Instance]]:
        """Return the ops of each step, and those after the last one."""
        found: list[list[Instance]] = [[] for _ in self.steps]
        at = 0
        for unit, one in self.run.seen:
            while at < len(self.steps) and unit >= self.steps[at][1]:
                at += 1
            if at == len(found):
                found.append([])
            found[at].append(one)
        return found

    @property
    def unread(self) -> list[set[str]]:
        """The graph inputs that each step reads, and that backward does not where nothing runs again."""
        kept = {id(one.storage(name)) for ones in self.own for one in ones if one.need
                for name in self.run.reads_of(one)}  # fmt: skip
        return [
            {v.tensor.name for one in ones for v in one.ins if _is_input(v) and id(v.storage) not in kept}
            for ones in self.own
        ]

    def links(self) -> list[Link]:
        """Return the links; one after the steps, if there is one, is the sum that makes a loss."""
        own = self.own
        maker = {id(v.storage): at for at, ones in enumerate(own) for one in ones for v in one.made}
        enters = [self._entering(ones, maker, at) for at, ones in enumerate(own)]
        saves = [self._saved(ones) for ones in own]
        found = []
        for at, ones in enumerate(own):
            beyond = enters[at + 1] if at + 1 < len(own) else {}
            following = saves[at + 1] if at + 1 < len(own) else {}
            later = {key for other in enters[at + 1 :] for key in other}
            inner = {k: s for k, s in saves[at].items() if maker.get(k, at) == at and k not in later}
            leaves = {k: s for k, s in saves[at].items() if k in beyond and maker.get(k) == at}
            joint = leaves | {k: s for k, s in following.items() if k in beyond}
            reads = {k: s for k, s in saves[at].items() if k in enters[at]}
            sums = [self._sum(part.values()) for part in (enters[at], reads, inner, leaves, joint)]
            numbers = zip(NUMBERS, map(_plain, (*sums, *self._costs(ones))), strict=True)
            found.append(Link(**dict(numbers), apart=at >= len(self.steps)))
        return found

    def _sum(self, storages: Iterable[Storage]) -> Fraction:
        return sum(map(self.bytes_of, storages), start=Fraction(0))

    @staticmethod
    def _entering(ones: Sequence[Instance], maker: Mapping[int, int], at: int) -> dict[int, Storage]:
        """Return what a step reads that steps before have made."""
        read = {id(v.storage): v.storage for one in ones for v in one.ins}
        return {key: storage for key, storage in read.items() if maker.get(key, at) < at}

    def _saved(self, ones: Sequence[Instance]) -> dict[int, Storage]:
        """Return what the ops of a step save, without parameters and inputs of the graph."""
        kept = [
            s for one in ones if one.need for s in (*map(one.storage, self.run.reads_of(one)), *one.extra)
        ]
        return {id(storage): storage for storage in kept if not storage.fixed}

    def _costs(self, ones: Sequence[Instance]) -> tuple[Fraction, Fraction]:
        """Return the FLOPs of a step, and those after its last saved tensor."""
        each = [self.cost(one) for one in ones]
        whole, at = sum(each, start=Fraction(0)), len(ones)
        while at and not (ones[at - 1].need and self.run.keeps(ones[at - 1])):
            at -= 1
        if not at:
            return whole, whole
        last = ones[at - 1]
        runs = any(name in last.node.outs for name in self.run.reads_of(last)) or self.run.torch_extra(last)
        return whole, sum(each[at if runs else at - 1 :], start=Fraction(0))
