"""Bytes moved where a part of the graph runs again in backward: a pass of its own, in phase ``recompute``.

algorithmic, issued
    an op that runs again moves again what it moved in the forward pass.
fused
    the nodes of a segment that run again are split into runs as in the other passes; kept nodes, which do
    not run, end none. A run reads what it does not make. It writes what another run of the segment reads,
    what the backward pass reads of the copy, and what it hands on to a later iteration of the segment.
    The forward pass writes what backward reads of itself, and what enters a segment: not what backward
    reads of the copy.
compulsory
    inputs and weights are touched once by backward and what runs again together: the rows here are what
    is touched beside what backward touches. A whole step touches what it would without segments.

As in the forward pass, what crosses the border of a run in one iteration is written in each.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING

from symacct.algebra.normal import normal, same, total
from symacct.algebra.symbols import as_expr
from symacct.derivation.ranges import over
from symacct.derivation.storage import Storage
from symacct.derivation.traffic import Reads, Run, Traffics
from symacct.errors import RuleError
from symacct.nodes import Node, Repeat, walk
from symacct.peaks.again_segments import Segments, uncertain

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from sympy import Expr

    from symacct.derivation.differentiate import Step
    from symacct.derivation.traffic import Path, Traffic
    from symacct.nodes import Step_
    from symacct.peaks.course import Course

PHASE = "recompute"


class TrafficsAgain(Traffics):
    """The traffic of a step a part of which runs again."""

    def __init__(self, step: Step, optimizer: str | None, course: Course) -> None:
        """Index what stands in which segment."""
        super().__init__(step, optimizer)
        self.segments = Segments(course)
        self.nodes = {
            node.label: (node, path) for node, path in walk(step.graph.nodes) if isinstance(node, Node)
        }

    def rows(self, account: str) -> tuple[Traffic, ...]:
        """Return the rows of all but what runs again.

        Raises:
            RuleError: the account is fused, and the segments of iterations differ.
        """
        self._check(account)
        return super().rows(account)

    def _check(self, account: str) -> None:
        if account in ("fused", "compulsory") and not self.segments.alike:
            raise RuleError(
                f"the bytes of account {account} have no rule for segments like these",
                where=f"checkpoint {self.segments.course.policy.checkpoint.describe()}",
                expected="segments of whole iterations, or the same layers of each",
                got="segments in segments, or others in each iteration",
                fix="choose --bytes algorithmic",
            )

    def rows_again(self, account: str) -> tuple[Traffic, ...]:
        """Return the rows of what runs again.

        Raises:
            RuleError: in which iterations an op runs again has no formula.
        """
        self._check(account)
        if account == "compulsory":
            return tuple(self._touched_again())
        if account == "fused":
            return tuple(self._fused_again())
        return tuple(self._alone_again(issued=account == "issued"))

    # ---- the forward pass ----

    def made_again(self, root: str, node: Node) -> bool:
        """Say whether a node of backward reads a copy of a storage: its segment makes it again."""
        here = self.segments.of.get(node.of)
        return here is not None and self._copied(root, here)

    def _copied(self, root: str, segment: int) -> bool:
        """Say whether a segment makes a storage again."""
        maker = self.makers.get(root)
        if maker is None or maker.label not in self.nodes:
            return False
        return self.segments.of.get(maker.label) == segment and self.segments.runs(maker.label)

    def kept_for(self) -> Iterable[str]:
        """Return what enters a segment that runs again, and what is kept inside of it."""
        waking = {self.segments.of[label] for label in self.nodes if self.segments.runs(label)}
        waking |= {
            self.segments.of[node.of]
            for node, _ in walk(self.step.backward)
            if isinstance(node, Node) and node.of in self.segments.of
            if any(root in self.step.graph.tensors for _, root, _ in self.amounts(node))
        }
        for label, (node, _) in self.nodes.items():
            segment = self.segments.of.get(label)
            if segment not in waking:
                continue
            for _, root, _ in self.amounts(node):
                maker = self.makers.get(root)
                own = maker is not None and self.segments.of.get(maker.label) == segment
                if not own or (self.segments.runs(label) and not self._copied(root, segment)):
                    yield root

    # ---- the pass that runs again ----

    def runs_again(self, nodes: Sequence[Step_], path: Path = (), *, fused: bool) -> Iterator[Run]:
        """Split what runs again into runs: single ops, or maximal stretches of ops of one segment."""
        stretch: list[Node] = []
        where: int | None = None
        for node in nodes:
            here = self.segments.of.get(node.label)
            alone = isinstance(node, Repeat) or not fused or bool(node.op.contracted())
            if isinstance(node, Node) and here == where and not self._moves(node):
                continue
            if stretch and (alone or here != where):
                yield Run(tuple(stretch), path, PHASE)
                stretch = []
            where = here
            if isinstance(node, Repeat):
                yield from self.runs_again(node.body, (*path, node), fused=fused)
            elif self._moves(node):
                if alone:
                    yield Run((node,), path, PHASE)
                else:
                    stretch.append(node)
        if stretch:
            yield Run(tuple(stretch), path, PHASE)

    def _moves(self, node: Node) -> bool:
        return node.op.moves and self.segments.runs(node.label)

    def _row_again(self, run: Run, name: str, parts: Iterable[Expr], *, written: bool) -> Traffic:
        return self.made(run.label, run.path, PHASE, name, total(parts), written=written)

    def _alone_again(self, *, issued: bool) -> Iterator[Traffic]:
        """Yield what ops that run again move, each on its own."""
        for run in self.runs_again(self.step.graph.nodes, fused=False):
            (node,) = run.nodes
            if issued:
                ins, outs = [self.tensors[n] for n in node.ins], [self.tensors[n] for n in node.outs]
                for name, amount in zip(node.ins, node.op.issues(ins, outs), strict=True):
                    if amount != 0:
                        yield self._row_again(
                            run, name, [self.segments.times(node.label, amount)], written=False
                        )
            else:
                yield from self._reads_again(run)
            for name, amount in self.written(node):
                yield self._row_again(run, name, [self.segments.times(node.label, amount)], written=True)

    def _reads_again(self, run: Run) -> Iterator[Traffic]:
        """Yield what a run reads: each node adds what those before it have not read, as often as it runs.

        A recomputation may end within a run, so that its first nodes run more often than the others.
        """
        chosen = self.chosen(run.nodes)
        parts: dict[str, list[Expr]] = defaultdict(list)
        before: dict[str, Expr] = {}
        for at, node in enumerate(run.nodes, 1):
            read = self.read_by(run.nodes[:at])
            for root, elements in read.items():
                more = normal(elements - before.get(root, as_expr(0)))
                if more != 0:
                    parts[root].append(self.segments.times(node.label, more))
            before = read
        for root, amounts in parts.items():
            yield replace(self._row_again(run, root, amounts, written=False), bound=root in chosen)

    def _fused_again(self) -> Iterator[Traffic]:
        runs = list(self.runs_again(self.step.graph.nodes, fused=True))
        leaving = _Leaving(self, runs)
        for run in runs:
            yield from self._reads_again(run)
            for node in run.nodes:
                for name, amount in self.written(node):
                    elements = leaving.elements(run, node, name, amount)
                    if elements != 0:
                        yield self._row_again(run, name, [elements], written=True)

    # ---- compulsory ----

    def _touched_again(self) -> Iterator[Traffic]:
        """Yield what is touched of inputs and weights beside what backward touches."""
        storage = Storage(self.step.graph)
        apart, least, most = (defaultdict[str, Reads](Reads) for _ in range(3))
        for reads in (apart, least, most):
            self.gather(reads, storage, self.step.backward, "backward")
        runs = list(self.runs_again(self.step.graph.nodes, fused=False))
        for run in runs:
            certain, possible = self.segments.boxes(run.label, run.path)
            for reads, box in ((least, certain), (most, possible)):
                if box is not None:
                    ranges = {r.name: where for r, where in zip(run.path, box, strict=True)}
                    self.note(reads, storage, run.nodes[0], run.path, ranges)
        for root, found in most.items():
            before = self.touched(root, apart[root], storage) if root in apart else as_expr(0)
            below = self.touched(root, least[root], storage) if root in least else as_expr(0)
            elements = self.touched(root, found, storage)
            if not same(below, elements):
                elements = self._in_part(root, found, runs, alone=root not in apart)
            if not same(elements, before):
                row = self.made(PHASE, (), PHASE, root, normal(elements - before), written=False)
                yield replace(row, bound=all(found.chosen))

    def _in_part(self, root: str, found: Reads, runs: Sequence[Run], *, alone: bool) -> Expr:
        """Return how much of a weight is touched in some iterations: those of the first node that reads it.

        The other nodes that read it run after it in the same iterations, or not.

        Raises:
            RuleError: there is no formula.
        """
        readers = [run for run in runs if any(root == one for _, one, _ in self.amounts(run.nodes[0]))]
        plain = alone and not found.some and set(found.boxes) == {root}
        at = tuple(r.name for r in readers[0].path) if readers else ()
        if not plain or at != self.tensors[root].path or self.segments.placement.nothing:
            raise uncertain(readers[0].label if readers else root)
        return self.segments.times(readers[0].label, self.tensors[root].numel)


class _Leaving:
    """Which storages leave the runs that make them again, and how often."""

    def __init__(self, traffics: TrafficsAgain, runs: Sequence[Run]) -> None:
        self.traffics = traffics
        self.segments = traffics.segments
        self.home = {node.label: at for at, run in enumerate(runs) for node in run.nodes}
        self.readers: dict[str, list[tuple[Node, Path]]] = defaultdict(list)
        self.handed: set[str] = set()
        self.always = {
            root
            for node, _ in walk(traffics.step.backward)
            if isinstance(node, Node)
            for _, root, _ in traffics.amounts(node)
            if traffics.made_again(root, node)
        }
        for run in runs:
            for node in run.nodes:
                for _, root, _ in traffics.amounts(node):
                    self.readers[root].append((node, run.path))
        self._carries(runs)

    def _carries(self, runs: Sequence[Run]) -> None:
        """Note what repeats of a segment take in, hand on and leave."""
        for repeat, _ in walk(self.traffics.step.graph.nodes):
            if not isinstance(repeat, Repeat):
                continue
            within = [run for run in runs if repeat.name in (r.name for r in run.path)]
            for carry in repeat.carry:
                for name, inside in ((carry.init, False), (carry.leave, True)):
                    root = self.traffics.source(str(name))[1]
                    node, path = self.traffics.nodes.get(self._maker(root), (None, ()))
                    if node is None:
                        continue
                    mine = self.segments.of.get(node.label)
                    cut = None if mine is None else self.segments.cut.get(mine)
                    if inside and repeat.name in (r.name for r in path):
                        if mine is not None and self.segments.of.get(repeat.name) == mine:
                            self.always.add(root)
                        elif cut is not None and cut.name == repeat.name:
                            self.handed.add(root)
                    elif within and self.segments.of.get(repeat.name) == mine:
                        self.readers[root].append((within[0].nodes[0], within[0].path))

    def _maker(self, root: str) -> str:
        maker = self.traffics.makers.get(root)
        return "" if maker is None else maker.label

    def elements(self, run: Run, node: Node, name: str, amount: Expr) -> Expr:
        """Return what is written of one output of a node, all the times that it runs again.

        Raises:
            RuleError: how often it is read has no formula.
        """
        whole = self.segments.times(node.label, amount)
        if node.op.contracted() or name in self.always:
            return whole
        counts = [self.segments.before_last(node.label, amount)] if name in self.handed else []
        mine, order = self.home[node.label], list(self.home)
        of = self.segments.of[node.label]
        outside = [
            one
            for one in self.readers[name]
            if self.home[one[0].label] != mine and self.segments.of[one[0].label] == of
        ]
        if outside:
            first = min(outside, key=lambda one: order.index(one[0].label))
            counts.append(self._as_often(node, run.path, *first, amount))
        if not counts:
            return as_expr(0)
        if any(same(count, whole) for count in counts):
            return whole
        if not all(same(count, counts[0]) for count in counts):
            raise uncertain(node.label)
        return counts[0]

    def _as_often(self, node: Node, path: Path, reader: Node, inner: Path, amount: Expr) -> Expr:
        """Return an amount for each time that a reader runs, or the repeats around it do."""
        deeper = inner[len(path) :]
        if not deeper:
            return self.segments.times(reader.label, amount)
        each, count = over(as_expr(1), deeper), self.segments.times(reader.label, as_expr(1))
        if same(count, self.segments.times(node.label, each)):
            return self.segments.times(node.label, amount)
        cut = self.segments.cut.get(self.segments.of[node.label])
        cut_here = cut is not None and [r.name for r in path] == [cut.name]
        if cut_here and same(count, self.segments.before_last(node.label, each)):
            return self.segments.before_last(node.label, amount)
        raise uncertain(reader.label)
