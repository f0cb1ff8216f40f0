"""What a training step makes and reads, op by op, at integer repeat counts: the reference-count interpreter.

It runs the graph as eager torch does, without arrays: a forward pass that notes what each op saves, then the
nodes latest first, each with all its input gradients together, sums where gradients meet, and recomputation
where a segment keeps its inputs alone. Sizes stay symbols; only the counts of repeats are integers.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING

from sympy import Integer

from symacct.algebra.evaluate import evaluate, substitute
from symacct.algebra.normal import normal
from symacct.algebra.symbols import as_expr, index_symbol
from symacct.derivation.vjps import COTANGENT, Vjp, vjp_of
from symacct.nodes import Graph, Node, Repeat, Step_
from symacct.ops.reduce import Expand
from symacct.ops.transpose import Transpose
from symacct.ops.view import Rearrange

MICRO = "micro-batches"
BACKWARD = "/backward"
LONGEST = 50
ZERO = Integer(0)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from sympy import Expr, Symbol

    from symacct.derivation.placement import Cut, Placement
    from symacct.op import Kept, Op
    from symacct.tensor import Tensor

FIXED = ("weight", "constant", "input", "cache")
"""Roles of tensors that live through the whole step, whoever reads them."""

LEAVES = ("weight", "input")
"""Roles of tensors whose gradient is accumulated."""

@dataclass(slots=True, eq=False)
class Storage:
    """One storage, from the step that makes it to its last reader.

    Attributes:
        tensor: what it holds; its sizes are those of the iteration ``at``.
        kind: value, recomputed, gradient or parameter gradient, loss.
        at: the iteration of each repeat in the tensor's path.
        fixed: whether it lives through the whole step and is counted elsewhere.
        saved: whether backward reads it.
        born: the step that made it.
        last: the last step that reads it.
        forever: whether it outlives the schedule.
    """

    tensor: Tensor
    kind: str
    at: tuple[int, ...]
    fixed: bool = False
    saved: bool = False
    born: int = -1
    last: int = -1
    forever: bool = False

    @property
    def dtype(self) -> str:
        """The dtype of an element."""
        return self.tensor.dtype


@dataclass(frozen=True, slots=True)
class Mark:
    """One turn of a loop of the schedule: its name, which turn in order of execution, how many there are.

    ``count`` is the number of turns as a formula, ``turns`` the number here.
    """

    loop: str
    turn: int
    turns: int
    count: Expr


Marks = tuple[Mark, ...]


@dataclass(frozen=True, slots=True)
class Action:
    """One step of the schedule: an op that runs, where it stands in the loops, what it makes."""

    label: str
    phase: str
    marks: Marks
    makes: tuple[Storage, ...]
    runs: bool
    at: Mapping[str, int]


@dataclass(slots=True, eq=False)
class _Value:
    """A tensor that autograd knows: which storage it is, and whether a gradient is wanted."""

    tensor: Tensor
    storage: Storage
    need: bool


@dataclass(slots=True, eq=False)
class _Instance:
    """A node in one iteration."""

    node: Node
    ins: tuple[_Value, ...]
    outs: tuple[_Value, ...]
    marks: Marks
    at: Mapping[str, int]
    segment: _Segment | None
    need: bool
    extra: list[Storage] = field(default_factory=list)

    @property
    def wanted(self) -> frozenset[int]:
        """The input slots that a gradient is wanted for."""
        return frozenset(slot for slot, value in enumerate(self.ins) if value.need)

    @property
    def made(self) -> tuple[_Value, ...]:
        """The values that have storages of their own: a view has not."""
        return self.outs[1 if self.node.op.alias else 0 :]

    def storage(self, name: str) -> Storage:
        """Return the storage of one of the node's tensors, as backward reads it."""
        pairs = (*zip(self.node.ins, self.ins, strict=True), *zip(self.node.outs, self.outs, strict=True))
        found = next(value.storage for own, value in pairs if own == name)
        return found if self.segment is None else self.segment.again.get(id(found), found)


@dataclass(slots=True, eq=False)
class _Segment:
    """Instances that are run again together; ``depth`` is the number of loops around the segment."""

    depth: int
    instances: list[_Instance] = field(default_factory=list)
    before: list[_Instance] = field(default_factory=list)
    again: dict[int, Storage] = field(default_factory=dict)
    inputs: list[Storage] = field(default_factory=list)
    ran: bool = False
    shortened: int = 0
    length: Expr = ZERO


@dataclass(frozen=True, slots=True)
class Choices:
    """What a schedule depends on beside the graph; see :class:`symacct.policy.Policy`."""

    saves: str
    recompute: str
    hold_output: bool
    grads: str
    update: str
    input_grad: bool
    micro: int
    micro_count: Expr


@dataclass(frozen=True, slots=True)
class Schedule:
    """A training step at integer counts.

    Attributes:
        actions: the steps in order of execution.
        storages: everything that is made, in order of birth.
        backward: the first action of the first backward pass.
        inputs: graph inputs that backward reads.
    """

    actions: tuple[Action, ...]
    storages: tuple[Storage, ...]
    backward: int
    inputs: tuple[str, ...]


def scheduled(
    graph: Graph, held: Sequence[str], placement: Placement, choices: Choices, counts: Mapping[str, int]
) -> Schedule:
    """Return the schedule of a closed graph.

    Args:
        graph: a graph with one scalar output.
        held: outputs that the caller may hold.
        placement: which nodes are run again.
        choices: how gradients, updates and outputs live.
        counts: an integer for every size that a repeat's range depends on, and for a symbolic segment.
    """
    return _Run(graph, held, placement, choices, counts).schedule()


class _Run:
    """One run of the interpreter."""

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
        self.wanted = set(graph.trainable)
        if choices.input_grad:
            self.wanted |= {name for name in graph.inputs if graph.tensors[name].floating}
        self.vjps: dict[tuple[str, frozenset[int]], Vjp] = {}
        self.actions: list[Action] = []
        self.storages: list[Storage] = []
        self.leaves: dict[tuple[str, tuple[int, ...]], _Value] = {}
        self.filled: set[int] = set()
        self.read_inputs: dict[str, None] = {}
        self.backward_from = -1
        self._restart()

    def _restart(self) -> None:
        """Forget one micro-batch, but not the parameters and their gradients."""
        self.values: dict[tuple[str, tuple[int, ...]], _Value] = {}
        self.tape: list[_Instance] = []
        self.marks: Marks = ()
        self.at: dict[str, int] = {}
        self.around: dict[str, Expr] = {}
        self.open: tuple[Repeat, ...] = ()
        self.segment: _Segment | None = None
        self.past: list[_Instance] | None = None
        self.ending: list[Storage] = []
        self.readers: dict[int, set[int]] = {}

    def schedule(self) -> Schedule:
        """Run every micro-batch."""
        micro = self.choices.micro
        for turn in range(micro):
            self._restart()
            if self.choices.micro_count != 1:
                self.marks = (Mark(MICRO, turn, micro, self.choices.micro_count),)
            self.forward(self.graph.nodes)
            self.backward()
            if self.choices.micro_count != 1:
                self._end_micro_batch()
        return Schedule(
            tuple(self.actions), tuple(self.storages), self.backward_from, tuple(self.read_inputs)
        )

    def _end_micro_batch(self) -> None:
        """Let go of the loss, its cotangent and held outputs: nothing but gradients outlives a micro-batch."""
        for storage in self.ending:
            storage.forever, storage.last = False, len(self.actions) - 1

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

    def get(self, name: str) -> _Value:
        """Return the value of a tensor here."""
        tensor = self.graph.tensors[name]
        key = (name, tuple(self.at[repeat] for repeat in tensor.path))
        if key in self.values:
            return self.values[key]
        if key not in self.leaves:
            storage = self.new(tensor, "value")
            storage.fixed = True
            self.leaves[key] = _Value(tensor, storage, name in self.wanted)
        return self.leaves[key]

    def put(self, name: str, value: _Value) -> None:
        """Say which value a tensor is here."""
        tensor = self.graph.tensors[name]
        self.values[name, tuple(self.at[repeat] for repeat in tensor.path)] = value

    def forward(self, nodes: Sequence[Step_]) -> None:
        """Run nodes in order; those of a region together are a segment."""
        for region, run in self.placement.runs(nodes):
            opened = region is not None and self.segment is None
            if opened:
                self.segment = _Segment(len(self.marks))
            for node in run:
                if isinstance(node, Repeat):
                    self.repeat(node)
                else:
                    self.node(node)
            if opened:
                self._close()

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
        ins = tuple(map(self.get, node.ins))
        tensors = [self.graph.tensors[name] for name in node.outs]
        need = tensors[0].floating and any(value.need for value in ins)
        outs = []
        for slot, tensor in enumerate(tensors):
            shared = slot == 0 and node.op.alias
            storage = ins[0].storage if shared else self.new(tensor, "value")
            outs.append(_Value(tensor, storage, need and slot == 0))
            self.put(tensor.name, outs[-1])
        one = _Instance(node, ins, tuple(outs), self.marks, dict(self.at), self.segment, need)
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

    def extras(self, one: _Instance, kind: str) -> list[Storage]:
        """Return the copies that eager torch keeps of a node beside the tensors of the graph."""
        kept = self.torch_keeps(one)
        out = one.outs[0].tensor
        found = []
        for reason, elements, dtype in kept.extra if kept is not None else ():
            name = f"{one.node.label} ({reason})"
            tensor = replace(out, name=name, axes=("n",), dims=(as_expr(elements),), dtype=dtype, mask=None)
            found.append(self.new(tensor, kind))
        return found

    def torch_keeps(self, one: _Instance) -> Kept | None:
        """Return what eager torch keeps of a node, where that is asked for and not what backward reads."""
        if self.choices.saves != "torch":
            return None
        ins, outs = [v.tensor for v in one.ins], [v.tensor for v in one.outs]
        return one.node.op.torch_keeps(ins, outs, one.wanted)

    def reads_of(self, one: _Instance) -> tuple[str, ...]:
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

    def vjp(self, one: _Instance) -> Vjp:
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
        cut = self.placement.cuts.get(repeat.name) if outer and self.segment is None else None
        nothing = self.placement.nothing and outer
        if nothing:
            self.past = []
        for i, inner, first in self._turns(repeat, lo, hi, count, cut):
            self.marks = (*marks, *inner)
            if cut is not None and first:
                self._close()
                self.segment = _Segment(len(marks) + 1)
            elif nothing:
                self._close()
                self.segment = _Segment(len(marks), before=list(self.past or ()))
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
        if cut is not None or nothing:
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

    # ---- backward ----

    def backward(self) -> None:
        """Run the nodes latest first."""
        if self.backward_from < 0:
            self.backward_from = len(self.actions)
        marks = self.marks
        self.buffers: dict[int, Storage] = {}
        self.strided: set[int] = set()
        self.pending: dict[int, tuple[_Value, Storage]] = {}
        for name in sorted(self.held) if self.choices.hold_output else ():
            self._lasts(self.get(name).storage)
        loss = self.get(self.graph.outputs[0])
        if not loss.need:
            return
        seed = Storage(loss.tensor, "loss", ())
        loss.storage.kind = "loss"
        self._lasts(loss.storage)
        self._lasts(seed)
        self.act("loss", "backward", (), (seed,), runs=False)
        self.buffers[id(loss)] = seed
        self._expect(loss)
        for one in reversed(self.tape):
            self.marks = _backwards(one.marks)
            self.at = dict(one.at)
            self.back(one)
        self.marks, self.at = marks, {}
        self._settle()

    def _expect(self, loss: _Value) -> None:
        """Count the cotangents that each value will get; what a node saves that gets none dies with its result."""
        self.left: Counter[int] = Counter()
        reached, self.dead = {id(loss)}, set[int]()
        for one in reversed(self.tape):
            out = one.outs[0]
            if id(out) not in reached:
                self.dead.add(id(one))
                continue
            values = [one.ins[slot] for slot in self.vjp(one).results]
            self.left.update(map(id, values))
            reached.update(map(id, values))
        self._drop(self.tape, {})

    def _drop(self, instances: Sequence[_Instance], again: Mapping[int, Storage]) -> None:
        """Let what nodes save that get no cotangent die with their results, and with theirs what those save.

        In a recomputation it is the new storages (``again``); in forward a checkpoint saves what enters it.
        """
        ends: dict[int, int] = {}
        for one in reversed([one for one in instances if id(one) in self.dead]):
            out = one.outs[0]
            end = max(ends.get(id(out), -1), again.get(id(out.storage), out.storage).last)
            for slot in one.wanted:
                ends[id(one.ins[slot])] = max(ends.get(id(one.ins[slot]), -1), end)
            read = self.reads_of(one)
            saves = [*map(one.storage, read), *(one.extra if again else ())]
            if one.segment is not None and not again:
                saves = _entering(one.segment) if read else []
            for storage in saves:
                storage.last = max(storage.last, end)

    def _lasts(self, storage: Storage) -> None:
        """Keep a storage to the end, of the step or of its micro-batch."""
        storage.forever = True
        self.ending.append(storage)

    def back(self, one: _Instance) -> None:
        """Run the backward of one node, if a cotangent has come."""
        g = self.buffers.pop(id(one.outs[0]), None)
        if g is None:
            return
        segment, kept = one.segment, self.reads_of(one)
        if segment is not None and kept and not segment.ran:
            self.again(segment)
        saved = [*map(one.storage, kept), *one.extra]
        for storage in saved:
            self._note_saved(storage)
        found = self._emulate(one, g, saved)
        if segment is not None and kept:
            for storage in segment.inputs:
                self._note_saved(storage)
                storage.last = len(self.actions) - 1
        self._hand_on(one, found)

    def _note_saved(self, storage: Storage) -> None:
        storage.saved = True
        if storage.fixed and storage.tensor.role == "input":
            self.read_inputs[storage.tensor.name] = None

    def _emulate(
        self, one: _Instance, g: Storage, saved: Sequence[Storage]
    ) -> dict[int, tuple[Storage, bool]]:
        """Run a derivative; the cotangent, what it reads and all it returns live until it is done."""
        vjp = self.vjp(one)
        local: dict[str, Storage] = {COTANGENT: g}
        clones = {COTANGENT} if id(one.outs[0]) in self.strided else set[str]()
        names = {name: f"gradient of {one.node.ins[slot]}" for slot, name in vjp.results.items()}
        for node in vjp.nodes:
            reads = [local[name] if name in local else one.storage(name) for name in node.ins]
            made = []
            for slot, name in enumerate(node.outs):
                if slot == 0 and node.op.alias:
                    local[name] = reads[0]
                    clones |= {name} if strided(node.op) or node.ins[0] in clones else set()
                else:
                    tensor = replace(vjp.made[name], name=names.get(name, f"within {one.node.label}"))
                    local[name] = self.new(tensor, "gradient")
                    made.append(local[name])
            if not node.op.alias:
                self.act(one.node.label, "backward", reads, made)
        results = {slot: (local[name], name in clones) for slot, name in vjp.results.items()}
        end = [g, *saved, *(storage for storage, _ in results.values())]
        if any(not node.op.alias for node in vjp.nodes):
            for storage in end:
                storage.last = max(storage.last, len(self.actions) - 1)
        else:
            self.act(one.node.label, "backward", end, runs=False)
        return results

    def _hand_on(self, one: _Instance, found: Mapping[int, tuple[Storage, bool]]) -> None:
        """Hand cotangents to the inputs of a node: sums out of place, then gradients that are complete.

        All that the node made lives until each of them is handed on.
        """
        made = [storage for storage, _ in found.values()]
        complete: list[tuple[_Value, Storage, bool]] = []
        for slot, (storage, clone) in found.items():
            value, taken, copied = one.ins[slot], storage, clone
            self.left[id(value)] -= 1
            buffer = self.buffers.get(id(value))
            if buffer is not None:
                taken, copied = self.new_like(value, "gradient"), False
                self.act(f"{value.tensor.name}/grad_sum", "backward", (buffer, *made), (taken,))
                made.append(taken)
            self.buffers[id(value)] = taken
            (self.strided.add if copied else self.strided.discard)(id(value))
            if value.storage.fixed and value.tensor.role in LEAVES and not self.left[id(value)]:
                complete.append((value, taken, copied))
        for value, storage, clone in complete:
            if self.buffers.get(id(value)) is storage:
                del self.buffers[id(value)]
                self._accumulate(value, storage, clone)

    def _accumulate(self, value: _Value, storage: Storage, clone: bool) -> None:  # noqa: FBT001
        """Take a complete gradient over; one that another tensor holds, or that is strided, is copied first."""
        kept = value.tensor.role == "weight" and self.choices.grads == "kept"
        there = kept or id(value) in self.filled
        shared = any(buffer is storage for buffer in self.buffers.values())
        if (clone or shared) and not there:
            copy = self.new_like(value, "gradient")
            self.act(f"{value.tensor.name}/grad_copy", "backward", (storage,), (copy,), runs=False)
            storage = copy
        self.pending[id(value)] = (value, storage)

    def new_like(self, value: _Value, kind: str) -> Storage:
        """Return a storage for the cotangent of a value, with the iterations of the value."""
        tensor = replace(value.tensor, name=f"gradient of {value.tensor.name}", role="gradient")
        return Storage(tensor, kind, value.storage.at)

    def _settle(self) -> None:
        """Say which gradients of leaves live on."""
        for value, storage in self.pending.values():
            parameter = value.tensor.role == "weight"
            storage.kind = "parameter gradient" if parameter else "gradient"
            fresh = self.choices.grads == "fresh" and self.choices.update == "separate"
            if (fresh or not parameter) and id(value) not in self.filled:
                storage.forever = True
            self.filled.add(id(value))

    # ---- running again ----

    def again(self, segment: _Segment) -> None:
        """Run a segment again, up to the last tensor it saves or to its end."""
        segment.ran = True
        todo, base, at = [*segment.before, *segment.instances], self.marks, self.at
        segment.inputs = _entering(segment)
        stop, runs_last = self._end(segment, len(segment.before))
        for position, one in enumerate(todo[: stop + 1]):
            if one.node.label in self.placement.kept:
                continue
            if position == stop and not runs_last:
                one.extra = []
                break
            self.at = dict(one.at)
            self.marks = (*base, *_again(one.marks[segment.depth :], base, segment))
            reads = [segment.again.get(id(v.storage), v.storage) for v in one.ins]
            made = []
            for slot, v in enumerate(one.outs):
                if slot == 0 and one.node.op.alias:
                    segment.again[id(v.storage)] = reads[0]
                else:
                    segment.again[id(v.storage)] = self.new(v.tensor, "recomputed")
                    made.append(segment.again[id(v.storage)])
            if position >= len(segment.before) and one.need:
                one.extra = self.extras(one, "recomputed")
                made += one.extra
            self.act(one.node.label, "recompute", reads, made, runs=not one.node.op.alias)
        self.marks, self.at = base, at
        self._until_stop(segment, todo[stop + runs_last :])

    def _until_stop(self, segment: _Segment, rest: Sequence[_Instance]) -> None:
        """Keep to the end of a recomputation what it returns, and what ops that are not reached would read."""
        last = len(self.actions) - 1
        outputs = {id(self.get(name)) for name in self.graph.outputs}
        mine = [v for one in segment.instances for v in one.outs]
        returned = [v for v in mine if id(v) in outputs or self.readers.get(id(v), set()) - {id(segment)}]
        for key in {*(id(v.storage) for v in returned), *(id(v.storage) for one in rest for v in one.ins)}:
            storage = segment.again.get(key)
            if storage is not None and storage.kind == "recomputed":
                storage.last = max(storage.last, last)
        self._drop(segment.instances, segment.again)

    def _end(self, segment: _Segment, before: int) -> tuple[int, bool]:
        """Return the position of the last node that is run again, and whether it is run or only packs."""
        if self.choices.recompute == "full":
            return before + len(segment.instances) - 1, True
        for position in range(len(segment.instances) - 1, -1, -1):
            one = segment.instances[position]
            kept = self.reads_of(one) if one.need else ()
            if kept:
                made = any(name in one.node.outs for name in kept) or bool(self.torch_extra(one))
                return before + position, made
        return -1, False

    def torch_extra(self, one: _Instance) -> bool:
        """Say whether torch keeps a copy that only the node's kernel makes."""
        kept = self.torch_keeps(one)
        return kept is not None and bool(kept.extra)


def strided(op: Op) -> bool:
    """Say whether a view has its elements in another order or repeated: no gradient is taken over from it."""
    if not isinstance(op, Rearrange):
        return isinstance(op, Expand | Transpose)
    flat = [axis for group in op.left for axis in group]
    places = [[flat.index(axis) for axis in group] for group in op.right]
    if sum(places, []) == sorted(sum(places, [])):
        return False
    return all(b == a + 1 for group in places for a, b in pairwise(group))


def iteration(repeat: Repeat, marks: Marks, cuts: Mapping[str, Cut]) -> Expr:
    """Return which iteration of a repeat the loops around stand at, as a formula in their turns."""
    at = {mark.loop: mark for mark in marks}

    def turn(loop: str) -> Expr | None:
        if f"{loop}/again" in at:
            return turn_symbol(f"{loop}/again")
        if f"{loop}/backward" in at:
            return at[f"{loop}/backward"].count - 1 - turn_symbol(f"{loop}/backward")
        return turn_symbol(loop) if loop in at else None

    segment, inside = turn(f"{repeat.name}/segments"), turn(repeat.name)
    before = as_expr(0) if segment is None else segment * cuts[repeat.name].size
    return normal(repeat.lo + before + (inside if inside is not None else 0))


@lru_cache(maxsize=1024)
def turn_symbol(loop: str) -> Symbol:
    """Return the symbol that counts the turns of a loop, from 0, in order of execution."""
    return index_symbol("turn_" + "_".join(re.findall(r"\w+", loop))[-LONGEST:])


def _backwards(marks: Marks) -> Marks:
    """Return the turns in which backward comes to the turns of forward loops."""
    found = []
    known: dict[str, Expr] = {}
    for mark in marks:
        if mark.loop == MICRO:
            found.append(mark)
            continue
        loop, count = f"{mark.loop}/backward", substitute(mark.count, known)
        found.append(Mark(loop, mark.turns - 1 - mark.turn, mark.turns, count))
        known[turn_symbol(mark.loop).name] = count - 1 - turn_symbol(loop)
    return tuple(found)


def _again(marks: Marks, base: Marks, segment: _Segment) -> Marks:
    """Return the loops of a node that is run again; where nothing is stored they end at this iteration."""
    known = {
        turn_symbol(mark.loop.removesuffix(BACKWARD)).name: mark.count - 1 - turn_symbol(mark.loop)
        for mark in base
        if mark.loop.endswith(BACKWARD)
    }
    found = []
    for at, mark in enumerate(marks):
        loop, turns, count = f"{mark.loop}/again", mark.turns, substitute(mark.count, known)
        if at == 0 and segment.shortened:
            turns, count = segment.shortened, substitute(segment.length, known)
        found.append(Mark(loop, mark.turn, turns, normal(count)))
        known[turn_symbol(mark.loop).name] = turn_symbol(loop)
    return tuple(found)


def _entering(segment: _Segment) -> list[Storage]:
    """Return the storages that a segment reads and does not make."""
    todo = [*segment.before, *segment.instances]
    inside = {id(v.storage) for one in todo for v in one.made}
    inputs = {id(v.storage): v.storage for one in todo for v in one.ins}
    return [s for key, s in inputs.items() if key not in inside and _passing(s)]


def _passing(storage: Storage) -> bool:
    """Say whether a segment's input is kept for it: parameters and constants live anyway."""
    return not storage.fixed or storage.tensor.role == "input"
