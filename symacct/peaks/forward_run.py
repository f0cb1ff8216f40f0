"""The forward pass of a schedule: steps, the storages they make, and what each op will want kept."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from symacct.algebra.evaluate import evaluate, substitute
from symacct.algebra.normal import normal
from symacct.algebra.symbols import as_expr
from symacct.nodes import Graph, Node, Repeat, Step_
from symacct.peaks.steps import Action, Choices, Instance, Mark, Marks, Segment, Storage, Value
from symacct.peaks.turns import MICRO, iteration, turn_symbol
from symacct.peaks.vjps import Vjp, vjp_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from sympy import Expr

    from symacct.op import Kept
    from symacct.peaks.layers import Piece
    from symacct.peaks.placement import Cut, Placement
    from symacct.tensor import Tensor


class ForwardRun:
    """The state of one run of the interpreter, and its forward pass."""

    def __init__(
        self,
        graph: Graph,
        held: Sequence[str],
        placement: Placement,
        choices: Choices,
        counts: Mapping[str, int],
    ) -> None:
        self.graph = graph
        self.held = frozenset(held)
        self.placement = placement
        self.choices = choices
        self.counts = {name: as_expr(count) for name, count in counts.items()}
        self.layers = None if placement.layers is None else placement.layers.at(self.counts)
        self.wanted = set(graph.trainable)
        if choices.input_grad:
            self.wanted |= {name for name in graph.inputs if graph.tensors[name].floating}
        self.vjps: dict[tuple[str, frozenset[int]], Vjp] = {}
        self.actions: list[Action] = []
        self.storages: list[Storage] = []
        self.leaves: dict[tuple[str, tuple[int, ...]], Value] = {}
        self.filled: set[int] = set()
        self.read_inputs: dict[str, None] = {}
        self.backward_from = -1
        self.began = 0
        self._restart()

    def _restart(self) -> None:
        """Forget one micro-batch, but not the parameters and their gradients."""
        self.values: dict[tuple[str, tuple[int, ...]], Value] = {}
        self.tape: list[Instance] = []
        self.marks: Marks = ()
        self.at: dict[str, int] = {}
        self.around: dict[str, Expr] = {}
        self.open: tuple[Repeat, ...] = ()
        self.segment: Segment | None = None
        self.past: list[Instance] | None = None
        self.piece: Piece | None = None
        self.ending: list[Storage] = []
        self.dead: set[int] = set()
        self.readers: dict[int, set[int]] = {}

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
        self.actions.append(Action(label, phase, self.marks, made, runs, dict(self.at)))
        for storage in reads:
            storage.last = at
        for storage in made:
            storage.born = storage.last = at
            self.storages.append(storage)
        return at

    def new(self, tensor: Tensor, kind: str) -> Storage:
        """Return a storage that is made here."""
        return Storage(tensor, kind, tuple(self.at[name] for name in tensor.path))

    # ---- forward ----

    def get(self, name: str) -> Value:
        """Return the value of a tensor here."""
        tensor = self.graph.tensors[name]
        key = (name, tuple(self.at[repeat] for repeat in tensor.path))
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
        self.values[name, tuple(self.at[repeat] for repeat in tensor.path)] = value

    def forward(self, nodes: Sequence[Step_]) -> None:
        """Run nodes in order; those of a region together are a segment."""
        for region, run in self.placement.runs(nodes):
            opened = region is not None and self.segment is None
            if opened:
                self.segment = Segment(len(self.marks))
            for node in run:
                if isinstance(node, Repeat):
                    self.repeat(node)
                else:
                    self.node(node)
            if opened:
                self._close()

    def reach(self, label: str | None) -> None:
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
        self.segment = Segment(piece.depth + sum(mark.loop == MICRO for mark in self.marks))
        if self.placement.nothing:
            if self.past is None or before is None or before.stack != piece.stack:
                self.past = []
            self.segment.before = list(self.past)
            self._shorten(self.segment, path)

    def _shorten(self, segment: Segment, path: tuple[str, ...]) -> None:
        """Say which turns of the repeat around a layer run again where nothing is stored."""
        if path:
            lo = int(evaluate(self.open[0].lo, self.counts))
            segment.loop, segment.shortened = path[0], self.at[path[0]] - lo + 1
            segment.length = turn_symbol(path[0]) + 1

    def _close(self) -> None:
        """End a segment: it has kept its inputs so far."""
        segment, self.segment = self.segment, None
        if segment is None:
            return
        todo = [*segment.before, *segment.instances]
        made = {id(v.storage) for one in todo for v in one.made}
        for storage in (v.storage for one in todo for v in one.ins):
            if id(storage) not in made:
                storage.last = max(storage.last, len(self.actions) - 1)

    def node(self, node: Node) -> None:
        """Run one node, and note it for backward."""
        self.reach(node.label)
        ins = tuple(map(self.get, node.ins))
        tensors = [self.graph.tensors[name] for name in node.outs]
        need = tensors[0].floating and any(value.need for value in ins)
        outs = []
        for slot, tensor in enumerate(tensors):
            shared = slot == 0 and node.op.alias
            storage = ins[0].storage if shared else self.new(tensor, "value")
            outs.append(Value(tensor, storage, need and slot == 0))
            self.put(tensor.name, outs[-1])
        one = Instance(node, ins, tuple(outs), self.marks, dict(self.at), self.segment, need)
        one.extra = self.extras(one, "value") if need and self.segment is None else []
        made = [v.storage for v in one.made]
        self.act(node.label, "forward", (v.storage for v in ins), [*made, *one.extra], runs=not node.op.alias)
        if need:
            self.tape.append(one)
        if self.segment is not None:
            self.segment.instances.append(one)
        if self.past is not None:
            self.past.append(one)
        for value in ins:
            self.readers.setdefault(id(value), set()).add(id(self.segment))

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
        if key not in self.vjps:
            self.vjps[key] = vjp_of(self.graph.tensors, one.node, one.wanted)
        return self.vjps[key]

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
            self.marks = (*marks, *inner)
            if cut is not None and first and not layered:
                self._close()
                self.segment = Segment(len(marks) + 1)
            elif nothing:
                self._close()
                self.segment = Segment(len(marks), before=list(self.past or ()))
                self.segment.shortened, self.segment.length = i - lo + 1, turn_symbol(repeat.name) + 1
            self.at[repeat.name] = i
            self.open = (*opened, repeat)
            self.around[repeat.index.name] = as_expr(i)
            for c, value in zip(repeat.carry, carried, strict=True):
                self.put(str(c.enter), value)
            self.forward(repeat.body)
            carried = [self.get(str(c.leave)) for c in repeat.carry]
        self.marks, self.open = marks, opened
        self.at.pop(repeat.name, None)
        self.around.pop(repeat.index.name, None)
        if (cut is not None and not layered) or nothing:
            self._close()
            self.past = None
        for c, value in zip(repeat.carry, carried, strict=True):
            self.put(str(c.result), value)

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
