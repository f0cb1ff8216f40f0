"""Bytes moved, as elements read and written, by one of four accounts.

algorithmic
    each op reads the elements it touches once per distinct input and writes every output once.
issued
    every access: each operand is read once for each point of the op's index space.
fused
    a maximal run of ops that are not contractions is one op; only what crosses its border counts.
compulsory
    the touched elements of graph inputs, weights and outputs, once.

Views cost nothing in all four, and compulsory <= fused <= algorithmic <= issued.
What runs again in backward is a pass of its own; see :mod:`symacct.peaks.again_traffic`.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from sympy import Min

from symacct.algebra.normal import normal, product, same, total
from symacct.derivation.ranges import over, over_box, union
from symacct.derivation.static import scales, trained
from symacct.derivation.storage import Storage
from symacct.nodes import Node, Repeat, walk
from symacct.ops.join import Slice
from symacct.ops.optimizer import RULES, SCALE
from symacct.ops.reduce import Expand

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from sympy import Expr

    from symacct.derivation.differentiate import Step
    from symacct.derivation.ranges import Box, Range
    from symacct.nodes import Step_
    from symacct.tensor import Tensor

Path = tuple[Repeat, ...]


@dataclass(frozen=True, slots=True)
class Traffic:
    """Elements that one op (or fused run, or the whole pass) moves in one direction, over all iterations.

    ``role`` and ``dtype`` are what the policy needs to turn elements into bytes. ``bound`` says that it is
    at most so many: the data chooses which elements are read.
    """

    label: str
    path: tuple[str, ...]
    phase: str
    written: bool
    tensor: str
    dtype: str
    role: str
    elements: Expr
    bound: bool = False


@dataclass(frozen=True, slots=True)
class Run:
    """Nodes that count as one: a single op, or a fused run."""

    nodes: tuple[Node, ...]
    path: Path
    phase: str

    @property
    def label(self) -> str:
        """The label of the op, or of the first and the last one."""
        return (
            self.nodes[0].label
            if len(self.nodes) == 1
            else f"{self.nodes[0].label} .. {self.nodes[-1].label}"
        )


@dataclass(slots=True)
class Reads:
    """Reads of one storage: parts read whole, by iterations; other amounts; which the data chooses."""

    boxes: dict[str, list[Box]] = field(default_factory=lambda: defaultdict(list))
    some: list[Expr] = field(default_factory=list)
    chosen: list[bool] = field(default_factory=list)


class Traffics:
    """The traffic of a step; each account is worked out when it is asked for."""

    def __init__(self, step: Step, optimizer: str | None) -> None:
        """Index the makers of both passes."""
        self.step = step
        self.optimizer = optimizer
        self.tensors: Mapping[str, Tensor] = {**step.graph.tensors, **step.tensors}
        self.makers: dict[str, Node] = {}
        self.handed: dict[str, str] = {}
        self.sums: set[str] = set()
        for nodes in (step.graph.nodes, step.backward):
            for node, _ in walk(nodes):
                if isinstance(node, Node):
                    self.makers |= dict.fromkeys(node.outs, node)
                else:
                    self.sums |= {outer for _, outer in node.sums}
                    self.handed |= {str(c.result): str(c.leave) for c in node.carry if c.result}
                    self.handed |= {str(c.enter): str(c.init) for c in node.carry if c.enter and c.init}
        self.roles = self._gradient_roles()

    def rows(self, account: str) -> tuple[Traffic, ...]:
        """Return the rows of an account: forward, backward and optimizer; compulsory adds phase ``step``."""
        if account == "compulsory":
            return (*self._compulsory(), *self._updates(once=True))
        runs = [run for phase in self._phases() for run in self._runs(*phase, fused=account == "fused")]
        escaping = self._escaping(runs) if account == "fused" else None
        rows: list[Traffic] = []
        for run in runs:
            if account == "issued":
                rows += self._issued(run)
            else:
                rows += self._reads(run)
                rows += self._writes(run, escaping)
        return (*rows, *self._sums(), *self._updates())

    def _phases(self) -> tuple[tuple[tuple[Step_, ...], str], ...]:
        return (self.step.graph.nodes, "forward"), (self.step.backward, "backward")

    def _gradient_roles(self) -> dict[str, str]:
        """Return the role of the gradients of weights: they have a precision of their own."""
        weights = {name for name, t in self.step.graph.tensors.items() if t.role == "weight"}
        found = {g for name, gs in self.step.gradients.items() if name in weights for g in gs}
        sums = [pair for r, _ in walk(self.step.backward) if isinstance(r, Repeat) for pair in r.sums]
        for _ in range(len(sums)):
            more = {inner for inner, outer in sums if outer in found} - found
            if not more:
                break
            found |= more
        found |= {root for root in (self.source(name)[1] for name in found) if root in self.step.tensors}
        return dict.fromkeys(found, "weight gradient")

    # ---- runs ----

    def _runs(self, nodes: Sequence[Step_], phase: str, path: Path = (), *, fused: bool) -> Iterator[Run]:
        """Split a body into runs: single ops, or maximal stretches of ops that are not contractions."""
        stretch: list[Node] = []
        for node in nodes:
            if isinstance(node, Node) and not node.op.moves:
                continue
            if isinstance(node, Node) and fused and not node.op.contracted():
                stretch.append(node)
                continue
            if stretch:
                yield Run(tuple(stretch), path, phase)
                stretch = []
            if isinstance(node, Repeat):
                yield from self._runs(node.body, phase, (*path, node), fused=fused)
            else:
                yield Run((node,), path, phase)
        if stretch:
            yield Run(tuple(stretch), path, phase)

    def source(self, name: str) -> tuple[str, str]:
        """Return the tensor whose elements a read of ``name`` touches, and the storage it lies in.

        A slice is touched alone; an expanded tensor has no elements but those of its source.
        """
        touched: str | None = None
        while name in self.makers:
            node = self.makers[name]
            if not node.op.alias or node.outs[0] != name:
                break
            if isinstance(node.op, Slice):
                touched = touched or name
            elif isinstance(node.op, Expand):
                touched = None
            name = node.ins[0]
        return touched or name, name

    def _touched_part(self, name: str, amount: Expr) -> tuple[str, str, Expr]:
        """Return the touched tensor, its storage, and the elements read, views taken into account."""
        part, root = self.source(name)
        if part != name and same(amount, self.tensors[name].numel):
            amount = self.tensors[part].numel
        return part, root, amount

    def amounts(self, node: Node) -> Iterator[tuple[str, str, Expr]]:
        """Yield what a node reads each time that it runs: the tensor, its storage, how many elements."""
        ins, outs = [self.tensors[n] for n in node.ins], [self.tensors[n] for n in node.outs]
        for name, amount in zip(node.ins, node.op.reads(ins, outs), strict=True):
            if amount != 0:
                yield self._touched_part(name, amount)

    # ---- rows ----

    def _row(self, run: Run, name: str, elements: Expr, *, written: bool) -> Traffic:
        return self.made(run.label, run.path, run.phase, name, over(elements, run.path), written=written)

    def made(
        self, label: str, path: Path, phase: str, name: str, elements: Expr, *, written: bool
    ) -> Traffic:
        """Return a row of this many elements, all iterations together."""
        t = self.tensors[name]
        role = self.roles.get(name, t.role)
        return Traffic(label, tuple(r.name for r in path), phase, written, name, t.dtype, role, elements)

    def _reads(self, run: Run) -> Iterator[Traffic]:
        """Yield what a run reads from outside."""
        chosen = self.chosen(run.nodes)
        for root, elements in self.read_by(run.nodes).items():
            row = self._row(run, root, elements, written=False)
            yield replace(row, bound=True) if root in chosen else row

    def read_by(self, nodes: Sequence[Node]) -> dict[str, Expr]:
        """Return what nodes that run as one read from outside: each storage once, or the touched parts."""
        made = {name for node in nodes for name in node.outs}
        parts: dict[str, dict[str, list[Expr]]] = defaultdict(lambda: defaultdict(list))
        for node in nodes:
            for part, root, amount in self.amounts(node):
                if root not in made:
                    parts[root][part].append(amount)
        return {root: self._once(root, touched) for root, touched in parts.items()}

    def chosen(self, nodes: Iterable[Node]) -> set[str]:
        """Return the storages of which the data chooses what is read."""
        return {self.source(node.ins[slot])[1] for node in nodes for slot in node.op.chosen}

    def _once(self, root: str, touched: Mapping[str, Iterable[Expr]]) -> Expr:
        """Return the elements of a storage that are touched: all of it, or the sum of the distinct parts."""
        amounts = []
        for part, reads in touched.items():
            whole = self.tensors[part].numel
            complete = any(same(amount, whole) for amount in reads)
            if complete and part == root:
                return whole
            amounts += [whole] if complete else list(reads)
        return total(amounts)

    def written(self, node: Node) -> Iterator[tuple[str, Expr]]:
        """Yield what a node writes, with how many elements each time that it runs."""
        ins, outs = [self.tensors[n] for n in node.ins], [self.tensors[n] for n in node.outs]
        yield from zip(node.outs, node.op.writes(ins, outs), strict=True)

    def _writes(self, run: Run, escaping: set[str] | None) -> Iterator[Traffic]:
        for node in run.nodes:
            for name, amount in self.written(node):
                if escaping is None or name in escaping or node.op.contracted():
                    yield self._row(run, name, amount, written=True)

    def _issued(self, run: Run) -> Iterator[Traffic]:
        (node,) = run.nodes
        ins, outs = [self.tensors[n] for n in node.ins], [self.tensors[n] for n in node.outs]
        for name, amount in zip(node.ins, node.op.issues(ins, outs), strict=True):
            if amount != 0:
                yield self._row(run, name, amount, written=False)
        yield from self._writes(run, None)

    def _escaping(self, runs: Sequence[Run]) -> set[str]:
        """Return the storages that are read outside of the run that makes them, or kept."""
        home = {name: at for at, run in enumerate(runs) for node in run.nodes for name in node.outs}
        out = {
            root
            for at, run in enumerate(runs)
            for node in run.nodes
            for name in node.ins
            for root in (self.source(name)[1],)
            if home.get(root) != at and not self.made_again(root, node)
        }
        kept = [
            *self.kept_for(),
            *self.step.graph.outputs,
            *(g for gs in self.step.gradients.values() for g in gs),
        ]
        for nodes, _ in self._phases():
            for repeat, _path in walk(nodes):
                if isinstance(repeat, Repeat):
                    kept += [str(name) for c in repeat.carry for name in (c.init, c.leave)]
                    kept += [inner for inner, _outer in repeat.sums]
        return out | {self.source(name)[1] for name in kept}

    def made_again(self, root: str, node: Node) -> bool:  # noqa: ARG002
        """Say whether a node of backward reads a copy of a storage that was made again, not the storage."""
        return False

    def kept_for(self) -> Iterable[str]:
        """Return what forward keeps so that a part of it can run again."""
        return ()

    def _sums(self) -> Iterator[Traffic]:
        """Yield the accumulation of sums over iterations: the first is taken over, the rest added."""
        for repeat, path in walk(self.step.backward):
            if not isinstance(repeat, Repeat):
                continue
            for inner, outer in repeat.sums:
                elements = over(normal((repeat.count - 1) * self.tensors[outer].numel), path)
                for name, written in ((inner, False), (outer, False), (outer, True)):
                    yield self.made(outer, path, "backward", name, elements, written=written)

    # ---- compulsory ----

    def _compulsory(self) -> Iterator[Traffic]:
        phases = self._phases()
        yield from self._compulsory_reads((phases[0],), "forward")
        yield from self._compulsory_reads((phases[1],), "backward")
        yield from self._compulsory_reads(phases, "step")
        yield from self._compulsory_writes(self.step.graph.outputs, ("forward", "step"))
        gradients = [name for names in self.step.gradients.values() for name in names]
        yield from self._compulsory_writes(
            gradients, ("backward",) if self.optimizer else ("backward", "step")
        )

    def _compulsory_writes(self, names: Iterable[str], phases: tuple[str, ...]) -> Iterator[Traffic]:
        """Yield the elements of results: each storage once, none for one that was handed in."""
        repeats = {r.name: r for nodes, _ in self._phases() for r, _ in walk(nodes) if isinstance(r, Repeat)}
        for name in names:
            self.roles.setdefault(self._origin(name), self.roles.get(name, self.tensors[name].role))
        for root in dict.fromkeys(self._origin(name) for name in names):
            if root in self.makers or root in self.sums:
                outer = () if root not in names else self.tensors[root].path
                elements = over(self.tensors[root].numel, tuple(repeats[r] for r in outer))
                for phase in phases:
                    yield self.made(phase, (), phase, root, elements, written=True)

    def _origin(self, name: str) -> str:
        """Follow views and carries to the storage that holds a result."""
        while True:
            root = self.source(name)[1]
            if root not in self.handed:
                return root
            name = self.handed[root]

    def _compulsory_reads(
        self, phases: Iterable[tuple[tuple[Step_, ...], str]], phase: str
    ) -> Iterator[Traffic]:
        """Yield the touched elements of inputs and weights, followed through views and carries."""
        storage, reads = Storage(self.step.graph), defaultdict[str, Reads](Reads)
        for nodes, name in phases:
            self.gather(reads, storage, nodes, name)
        for root, found in reads.items():
            row = self.made(phase, (), phase, root, self.touched(root, found, storage), written=False)
            yield replace(row, bound=all(found.chosen))

    def gather(
        self, reads: Mapping[str, Reads], storage: Storage, nodes: tuple[Step_, ...], phase: str
    ) -> None:
        """Note what the nodes of a pass read of inputs, weights and caches."""
        for run in self._runs(nodes, phase, fused=False):
            box = {str(r.of or r.name): (r.lo, r.hi) for r in run.path}
            self.note(reads, storage, run.nodes[0], run.path, box)

    def note(
        self,
        reads: Mapping[str, Reads],
        storage: Storage,
        node: Node,
        path: Path,
        ranges: Mapping[str, Range],
    ) -> None:
        """Note what a node reads of inputs, weights and caches on these iterations."""
        chosen = self.chosen((node,))
        around = tuple(replace(r, lo=lo, hi=hi) for r in path for lo, hi in (ranges[str(r.of or r.name)],))
        for part, root, amount in self.amounts(node):
            if root not in self.step.graph.tensors:
                continue
            box = tuple(ranges[r] for r in self.tensors[root].path)
            for real, where in storage.resolve(root, box):
                if self.tensors[real].role in ("input", "weight", "cache"):
                    found = reads[real]
                    found.chosen.append(root in chosen)
                    apart = part != root and self.tensors[part].path != self.tensors[real].path
                    if apart or not same(amount, self.tensors[part].numel):
                        found.some.append(over(amount, around))
                    else:
                        found.boxes[real if part == root else part].append(where)

    def touched(self, root: str, found: Reads, storage: Storage) -> Expr:
        """Return how many elements of a storage are touched: distinct parts once, no more than all of it."""
        t = self.tensors[root]
        own = storage.indices(t.path)

        def whole(part: str, boxes: Sequence[Box]) -> Expr:
            return total(over_box(self.tensors[part].numel, own, box) for box in union(boxes, own)[0])

        if root in found.boxes:
            return whole(root, found.boxes[root])
        amounts = [*found.some, *(whole(part, boxes) for part, boxes in found.boxes.items())]
        if len(amounts) == 1:
            return amounts[0]
        return Min(total(amounts), over_box(t.numel, own, storage.whole(t.path)))

    # ---- the update ----

    def _updates(self, *, once: bool = False) -> Iterator[Traffic]:
        """Yield the optimizer's traffic: parameter, gradient and states read, parameter and states written.

        ``once`` leaves out what the passes before have read or made already.
        """
        if self.optimizer is None:
            return
        rule = RULES[self.optimizer]
        states, numbers = len(rule.states), scales(self.step, rule) if rule.block else {}
        moves = [("weight", True, 1), ("state", False, states), ("state", True, states)]
        if not once:
            moves += [("weight", False, 1), ("weight gradient", False, 1)]
        for name, paths in trained(self.step).items():
            t = self.tensors[name]
            elements = total(over(t.numel, path) for path in paths)
            for role, written, times in moves:
                if times:
                    whole = product((elements, times))
                    dtype = (rule.dtype if role == "state" else None) or t.dtype
                    yield Traffic(f"{name}/update", t.path, "optimizer", written, name, dtype, role, whole)
            for written in (False, True) if name in numbers else ():
                what, whole = f"{name}, scales of blocks", numbers[name]
                yield Traffic(f"{name}/update", t.path, "optimizer", written, what, SCALE, "state", whole)
