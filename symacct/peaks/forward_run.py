"""The forward pass of a schedule: steps, the storages they make, and what each op will want kept."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from symacct.algebra.evaluate import evaluate, substitute
from symacct.algebra.normal import normal
from symacct.algebra.symbols import as_expr
from symacct.nodes import Graph, Node, Repeat, Step_
from symacct.peaks.steps import (
    Action,
    Boundary,
    Choices,
    Held,
    Instance,
    Mark,
    Marks,
    Segment,
    Storage,
    Value,
)
from symacct.peaks.turns import MICRO, iteration, turn_symbol
from symacct.peaks.vjps import Vjp, vjp_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from sympy import Expr

    from symacct.op import Kept
    from symacct.peaks.layers import Piece
    from symacct.peaks.placement import Cut, Placement
    from symacct.tensor import Tensor


@dataclass(frozen=True, slots=True)
class Known:
    """What is worked out once for runs of one graph under the same choices, by op and wanted inputs."""

    vjps: dict[tuple[str, frozenset[int]], Vjp] = field(default_factory=dict)
    reads: dict[tuple[str, frozenset[int]], tuple[str, ...]] = field(default_factory=dict)
    made: dict[tuple[str, frozenset[int]], Mapping[str, Tensor]] = field(default_factory=dict)
    likes: dict[str, Tensor] = field(default_factory=dict)


class ForwardRun:
    """The state of one run of the interpreter, and its forward pass."""

    def __init__(
        self,
        graph: Graph,
        held: Sequence[str],
        placement: Placement,
        choices: Choices,
        counts: Mapping[str, int],
        known: Known | None = None,
    ) -> None:
        self.graph = graph
        self.held = frozenset(held)
        self.placement = placement
        self.begins = Counter(lo for lo, _ in placement.segments)
        self.ends = Counter(hi for _, hi in placement.segments)
        self.choices = choices
        self.counts = {name: as_expr(count) for name, count in counts.items()}
        self.layers = None if placement.layers is None else placement.layers.at(self.counts)
        self.wanted = set(graph.trainable)
        if choices.input_grad:
            self.wanted |= {name for name in graph.inputs if graph.tensors[name].floating}
        self.known = Known() if known is None else known
        self.actions: list[Action] = []
        self.storages: list[Storage] = []
        self.leaves: dict[tuple[str, tuple[int, ...]], Value] = {}
        self.filled: dict[int, Held] = {}
        self.boundaries: list[Boundary] = []
        self.read_inputs: dict[str, None] = {}
        self.backward_from = -1
        self.began = 0
        self.places: tuple[Mapping[str, int], dict[tuple[str, ...], tuple[int, ...]]] = {}, {}
        self._restart()

    def _restart(self) -> None:
        """Forget one micro-batch, but not the parameters and their gradients."""
        self.values: dict[tuple[str, tuple[int, ...]], Value] = {}
        self.tape: list[Instance] = []
        self.marks: Marks = ()
        self.at: Mapping[str, int] = {}  # another one for each turn
        self.around: dict[str, Expr] = {}
        self.open: tuple[Repeat, ...] = ()
        self.segment: Segment | None = None
        self.past: list[Instance] | None = None
        self.piece: Piece | None = None
        self.ending: list[Storage] = []
        self.dead: set[int] = set()
        self.readers: dict[int, set[Segment | None]] = {}
        self.unit = 0

    # ---- steps and storages ----

    def act(
        self,
        label: str,
        phase: str,
        reads: Iterable[Storage],
        makes: Iterable[Storage] = (),
        *,
        runs: bool = True,
    ) -> int:
        """Add a step, and note that it is the last reader so far."""
        at = len(self.actions)
        made = tuple(makes)
        self.actions.append(Action(label, phase, self.marks, made, runs, self.at))
        for storage in reads:
            storage.last = at
        for storage in made:
            storage.born = storage.last = at
            self.storages.append(storage)
        return at

    def where(self, path: tuple[str, ...]) -> tuple[int, ...]:
        """Return the iteration of each repeat of a path."""
        if not path:
            return ()
        if self.places[0] is not self.at:
            self.places = self.at, {}
        found = self.places[1].get(path)
        if found is None:
            found = self.places[1][path] = tuple(self.at[name] for name in path)
        return found

    def new(self, tensor: Tensor, kind: str) -> Storage:
        """Return a storage that is made here."""
        return Storage(tensor, kind, self.where(tensor.path))

    # ---- forward ----

    def get(self, name: str) -> Value:
        """Return the value of a tensor here."""
        tensor = self.graph.tensors[name]
        key = (name, self.where(tensor.path))
        if key in self.values:
            return self.values[key]
        if key not in self.leaves:
            storage = self.new(tensor, "value")
            storage.fixed = True
            self.leaves[key] = Value(tensor, storage, name in self.wanted)
        return self.leaves[key]

    def put(self, name: str, value: Value) -> None:
        """Say which value a tensor is here."""
        tensor = self.graph.tensors[name]
        self.values[name, self.where(tensor.path)] = value

    def forward(self, nodes: Sequence[Step_]) -> None:
        """Run nodes in order; those of a region together are a segment."""
        for region, run in self.placement.runs(nodes):
            opened = region is not None and self.segment is None
            if opened:
                self._open(Segment(len(self.marks)))
            for node in run:
                if isinstance(node, Repeat):
                    self.repeat(node)
                else:
                    if not self.at:
                        self._reach(len(self.marks))
                    self.node(node)
            if opened:
                self._close()

    def _reach(self, depth: int) -> None:
        """Come to the next unit: an iteration of an outermost repeat, or a node outside of repeats."""
        for _ in range(self.ends[self.unit]):
            self._close()
        for _ in range(self.begins[self.unit]):
            around = self.segment
            self._open(Segment(depth, around, 0 if around is None else len(around.instances)))
        self.unit += 1

    def _close_all(self) -> None:
        """End what is open where the forward pass ends."""
        while self.segment is not None:
            self._close()

    def _open(self, segment: Segment) -> None:
        """Begin a segment, inside the one that is open."""
        if segment.parent is not None:
            segment.parent.children.append(segment)
        self.segment = segment

    def _layer(self, label: str | None) -> None:
        """End the segment that a node is not in any more, and begin the one of its layer."""
        layers = self.placement.layers
        if layers is None or self.layers is None:
            return
        name = layers.structure.inside.get(label or "")
        path = () if name is None else layers.structure.paths[name]
        piece = None if name is None else self.layers.get((name, tuple(self.at[one] for one in path)))
        if piece is self.piece:
            return
        self._close()
        before, self.piece = self.piece, piece
        if piece is None:
            self.past = None
            return
        segment = Segment(piece.depth + sum(mark.loop == MICRO for mark in self.marks))
        if self.placement.nothing:
            if self.past is None or before is None or before.stack != piece.stack:
                self.past = []
            segment.before, segment.shorter = list(self.past), self._shorter(path)
        self._open(segment)

    def _shorter(self, path: Sequence[str]) -> dict[str, tuple[int, Expr]]:
        """Return how many turns of repeats run again up to here, where nothing is stored."""
        marks = [mark for mark in self.marks if mark.loop in path]
        return {mark.loop: (mark.turn + 1, turn_symbol(mark.loop) + 1) for mark in marks}

    def _close(self) -> None:
        """End the innermost segment: it has kept its inputs so far."""
        segment = self.segment
        if segment is None:
            return
        self.segment = segment.parent
        todo = [*segment.before, *segment.instances]
        made = {id(v.storage) for one in todo for v in one.made}
        for storage in (v.storage for one in todo for v in one.ins):
            if id(storage) not in made:
                storage.last = max(storage.last, len(self.actions) - 1)

    def node(self, node: Node) -> None:
        """Run one node, and note it for backward."""
        self._layer(node.label)
        ins = tuple(map(self.get, node.ins))
        tensors = [self.graph.tensors[name] for name in node.outs]
        need = tensors[0].floating and any(value.need for value in ins)
        outs = []
        for slot, tensor in enumerate(tensors):
            shared = slot == 0 and node.op.alias
            storage = ins[0].storage if shared else self.new(tensor, "value")
            outs.append(Value(tensor, storage, need and slot == 0, len(self.actions)))
            self.put(tensor.name, outs[-1])
        wanted = frozenset(slot for slot, value in enumerate(ins) if value.need)
        one = Instance(node, ins, tuple(outs), self.marks, self.at, self.segment, need, wanted)
        one.extra = self.extras(one, "value") if need and self.segment is None else []
        made = [v.storage for v in one.made]
        self.act(node.label, "forward", (v.storage for v in ins), [*made, *one.extra], runs=not node.op.alias)
        if need:
            self.tape.append(one)
        for segment in () if self.segment is None else self.segment.around:
            segment.instances.append(one)
        if self.past is not None:
            self.past.append(one)
        for value in ins:
            self.readers.setdefault(id(value), set()).add(self.segment)

    def extras(self, one: Instance, kind: str) -> list[Storage]:
        """Return the copies that eager torch keeps of a node beside the tensors of the graph."""
        kept = self.torch_keeps(one)
        out = one.outs[0].tensor
        found = []
        for reason, elements, dtype in kept.extra if kept is not None else ():
            name = f"{one.node.label} ({reason})"
            tensor = replace(out, name=name, axes=("n",), dims=(as_expr(elements),), dtype=dtype, mask=None)
            found.append(self.new(tensor, kind))
        return found

    def torch_keeps(self, one: Instance) -> Kept | None:
        """Return what eager torch keeps of a node, where that is asked for and not what backward reads."""
        if self.choices.saves != "torch":
            return None
        ins, outs = [v.tensor for v in one.ins], [v.tensor for v in one.outs]
        return one.node.op.torch_keeps(ins, outs, one.wanted)

    def reads_of(self, one: Instance) -> tuple[str, ...]:
        """Return the names of the forward tensors that the backward of a node wants kept."""
        key = (one.node.label, one.wanted)
        if key not in self.known.reads:
            self.known.reads[key] = self._reads_of(one)
        return self.known.reads[key]

    def _reads_of(self, one: Instance) -> tuple[str, ...]:
        kept = self.torch_keeps(one)
        node = one.node
        if kept is not None:
            names = [node.ins[i] for i in sorted(kept.ins)] + [node.outs[i] for i in sorted(kept.outs)]
        else:
            names = list(self.vjp(one).reads)
        if self.choices.saves == "lecture" and not node.op.alias:
            names.append(node.outs[0])
        return tuple(dict.fromkeys(names))

    def vjp(self, one: Instance) -> Vjp:
        """Return the derivative of a node, worked out once for each set of wanted inputs."""
        key = (one.node.label, one.wanted)
        if key not in self.known.vjps:
            self.known.vjps[key] = vjp_of(self.graph.tensors, one.node, one.wanted)
        return self.known.vjps[key]

    def repeat(self, repeat: Repeat) -> None:
        """Run a repeat, cut into segments where it is an outermost one and the policy says so."""
        known = {**self.counts, **self.around}
        lo, hi = (int(evaluate(end, known)) for end in (repeat.lo, repeat.hi))
        count = normal(substitute(repeat.hi - repeat.lo, self.symbols()))
        carried = [self.get(str(c.init)) for c in repeat.carry]
        marks, outer, opened = self.marks, not self.at, self.open
        layered = self.placement.layers is not None
        whole = outer and (layered or self.segment is None)
        cut = self.placement.cuts.get(repeat.name) if whole else None
        nothing = self.placement.nothing and outer and not layered
        if nothing:
            self.past = []
        for i, inner, first in self._turns(repeat, lo, hi, count, cut):
            self._pass(marks, inner, {**self.at, repeat.name: i}, carried)
            self.marks = (*marks, *inner)
            if outer:
                self._reach(len(marks))
            if cut is not None and first and not layered:
                self._close()
                self._open(Segment(len(marks) + 1))
            elif nothing:
                self._close()
                shorter = self._shorter((repeat.name,))
                self._open(Segment(len(marks), before=list(self.past or ()), shorter=shorter))
            self.at = {**self.at, repeat.name: i}
            self.open = (*opened, repeat)
            self.around[repeat.index.name] = as_expr(i)
            for c, value in zip(repeat.carry, carried, strict=True):
                self.put(str(c.enter), value)
            self.forward(repeat.body)
            carried = [self.get(str(c.leave)) for c in repeat.carry]
        if hi > lo:
            self._pass(marks, (), {**self.at, repeat.name: hi}, carried)
        self.marks, self.open = marks, opened
        self.at = {name: turn for name, turn in self.at.items() if name != repeat.name}
        self.around.pop(repeat.index.name, None)
        if (cut is not None and not layered) or nothing:
            self._close()
            self.past = None
        for c, value in zip(repeat.carry, carried, strict=True):
            self.put(str(c.result), value)

    def bound(
        self,
        marks: Marks,
        held: Iterable[Held],
        at: Mapping[str, int] | None = None,
        *,
        ordered: bool = False,
    ) -> None:
        """Note what lives on into a turn."""
        self.boundaries.append(Boundary(marks, at or {}, tuple(held), ordered))

    def _pass(self, outer: Marks, inner: Marks, at: Mapping[str, int], carried: Sequence[Value]) -> None:
        """Note what is carried from the turn before (which ``marks`` still says) into the next, or out."""
        held = [(value, value.storage, value.need) for value in carried]
        before = self.marks[len(outer) :] if len(self.marks) > len(outer) else ()
        fresh = next((k for k, (a, b) in enumerate(zip(before, inner, strict=False)) if a.turn != b.turn), 0)
        for k in range(len(before) - 1, fresh if inner else -1, -1):  # loops that end here
            after = replace(before[k], turn=before[k].turn + 1)
            self.bound((*outer, *before[:k], after), held, at, ordered=True)
        for k in range(fresh if before else 0, len(inner)):
            self.bound((*outer, *inner[: k + 1]), held, at, ordered=True)

    def _turns(
        self, repeat: Repeat, lo: int, hi: int, count: Expr, cut: Cut | None
    ) -> Iterator[tuple[int, Marks, bool]]:
        """Yield the iterations of a repeat with the loops they stand in, and whether a segment begins."""
        name = repeat.name
        if cut is None:
            for turn in range(hi - lo):
                yield lo + turn, (Mark(name, turn, hi - lo, count),), False
            return
        size = int(evaluate(cut.size, self.counts))
        segments = -(-(hi - lo) // size)
        for turn in range(hi - lo):
            at, inside = divmod(turn, size)
            last = at == segments - 1
            turns = hi - lo - at * size if last else size
            inner = Mark(name, inside, turns, cut.rest if last else cut.size)
            yield lo + turn, (Mark(f"{name}/segments", at, segments, cut.segments), inner), inside == 0

    def symbols(self) -> dict[str, Expr]:
        """Return, for each repeat index around, the formula of its iteration in the loops around."""
        return {repeat.index.name: iteration(repeat, self.marks, self.placement.cuts) for repeat in self.open}
