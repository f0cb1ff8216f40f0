"""The backward pass of a schedule: nodes latest first, cotangents handed on, gradients accumulated."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

from symacct.ops.reduce import Expand
from symacct.ops.transpose import Transpose
from symacct.ops.view import Rearrange
from symacct.peaks.again_run import AgainRun
from symacct.peaks.steps import LEAVES, Storage
from symacct.peaks.turns import backwards
from symacct.peaks.vjps import COTANGENT

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from symacct.op import Op
    from symacct.peaks.steps import Instance, Marks, Value
    from symacct.tensor import Tensor


class BackwardRun(AgainRun):
    """A run with its backward pass."""

    # ---- backward ----

    def backward(self) -> None:
        """Run the nodes latest first; then it is known how long each segment has kept what enters it."""
        self.began = len(self.actions)
        if self.backward_from < 0:
            self.backward_from = self.began
        marks = self.marks
        self.buffers: dict[int, Storage] = {}
        self.waiting: dict[int, Value] = {}
        self.strided: set[int] = set()
        self.pending: dict[int, tuple[Value, Storage]] = {}
        for name in sorted(self.held) if self.choices.hold_output else ():
            self._lasts(self.get(name).storage)
        starts = self._starts()
        if not starts:
            return
        self._expect(starts)
        before: Marks | None = None
        for one in reversed(self.tape):
            if one.marks is not before:
                turns = backwards(one.marks)
                if turns != self.marks:
                    self._turn(turns, one.at)
                before, self.marks = one.marks, turns
            self.at = one.at
            self.back(one)
        self.marks, self.at = marks, {}
        self.drop(self.tape, {})
        self._settle()

    def _turn(self, turns: Marks, at: Mapping[str, int]) -> None:
        """Note the cotangents that wait when turns begin that the step before was not in."""
        same = [(a.loop, a.turn) == (b.loop, b.turn) for a, b in zip(self.marks, turns, strict=False)]
        held = [(self.waiting[key], g, key in self.strided) for key, g in self.buffers.items()]
        for k in range(same.index(False) if False in same else len(same), len(turns)):
            self.bound(turns[: k + 1], held, at)

    def _starts(self) -> list[Value]:
        """Return the values that backward starts from: the loss, or outputs whose cotangents are given."""
        if self.choices.given:
            outputs = [self.get(name) for name in dict.fromkeys(self.graph.outputs)]
            found = [value for value in outputs if value.need]
            for value in found:
                self.waiting[id(value)] = value
                self.buffers[id(value)] = Storage(value.tensor, "given", value.storage.at, fixed=True)
            return found
        loss = self.get(self.graph.outputs[0])
        if not loss.need:
            return []
        seed = Storage(loss.tensor, "loss", ())
        loss.storage.kind = "loss"
        self._lasts(loss.storage)
        self._lasts(seed)
        self.act("loss", "backward", (), (seed,), runs=False)
        self.waiting[id(loss)] = loss
        self.buffers[id(loss)] = seed
        return [loss]

    def _expect(self, starts: Sequence[Value]) -> None:
        """Count the cotangents that each value will get, and note the nodes that get none."""
        self.left: Counter[int] = Counter()
        reached, self.dead = set(map(id, starts)), set()
        for one in reversed(self.tape):
            out = one.outs[0]
            if id(out) not in reached:
                self.dead.add(id(one))
                continue
            values = [one.ins[slot] for slot in self.vjp(one).results]
            self.left.update(map(id, values))
            reached.update(map(id, values))

    def _lasts(self, storage: Storage) -> None:
        """Keep a storage to the end, of the step or of its micro-batch."""
        storage.forever = True
        self.ending.append(storage)

    def back(self, one: Instance) -> None:
        """Run the backward of one node, if a cotangent has come."""
        g = self.buffers.pop(id(one.outs[0]), None)
        if g is None:
            return
        segment = one.segment if self.keeps(one) else None
        if segment is not None and not segment.ran:
            self.again(segment)
        saved = [*map(one.storage, self.reads_of(one)), *one.extra]
        for storage in saved:
            self.note_saved(storage)
        found = self._emulate(one, g, saved)
        if segment is not None:
            for storage in [*segment.around][-1].inputs:
                self.note_saved(storage)
                storage.last = len(self.actions) - 1
        self._hand_on(one, found)

    def _emulate(
        self, one: Instance, g: Storage, saved: Sequence[Storage]
    ) -> dict[int, tuple[Storage, bool]]:
        """Run a derivative; the cotangent, what was saved for it and all it returns live until it is done.

        What torch's own kernel does not keep, it does not read: nothing else of the forward pass lives on.
        """
        vjp = self.vjp(one)
        local: dict[str, Storage] = {COTANGENT: g}
        clones = {COTANGENT} if id(one.outs[0]) in self.strided else set[str]()
        tensors = self._made(one)
        for node in vjp.nodes:
            reads = [local[name] if name in local else one.storage(name) for name in node.ins]
            made = []
            for slot, name in enumerate(node.outs):
                if slot == 0 and node.op.alias:
                    local[name] = reads[0]
                    clones |= {name} if strided(node.op) or node.ins[0] in clones else set()
                else:
                    local[name] = self.new(tensors[name], "gradient")
                    made.append(local[name])
            if not node.op.alias:
                mine = [storage for storage in reads if storage.kind == "gradient"]
                self.act(one.node.label, "backward", mine, made)
        results = {slot: (local[name], name in clones) for slot, name in vjp.results.items()}
        end = [g, *saved, *(storage for storage, _ in results.values())]
        if any(not node.op.alias for node in vjp.nodes):
            for storage in end:
                storage.last = max(storage.last, len(self.actions) - 1)
        else:
            self.act(one.node.label, "backward", end, runs=False)
        return results

    def _made(self, one: Instance) -> Mapping[str, Tensor]:
        """Return what a derivative makes, under names that say what it is."""
        key = (one.node.label, one.wanted)
        if key not in self.known.made:
            vjp = self.vjp(one)
            names = {name: f"gradient of {one.node.ins[slot]}" for slot, name in vjp.results.items()}
            self.known.made[key] = {
                name: replace(tensor, name=names.get(name, f"within {one.node.label}"))
                for name, tensor in vjp.made.items()
            }
        return self.known.made[key]

    def _hand_on(self, one: Instance, found: Mapping[int, tuple[Storage, bool]]) -> None:
        """Hand cotangents to the inputs of a node: sums out of place, then gradients that are complete.

        All that the node made lives until each of them is handed on.
        """
        made = [storage for storage, _ in found.values()]
        complete: list[tuple[Value, Storage, bool]] = []
        for slot, (storage, clone) in found.items():
            value, taken, copied = one.ins[slot], storage, clone
            self.left[id(value)] -= 1
            buffer = self.buffers.get(id(value))
            if buffer is not None:
                taken, copied = self.new_like(value, "gradient"), False
                self.act(f"{value.tensor.name}/grad_sum", "backward", (buffer, *made), (taken,))
                made.append(taken)
            self.buffers[id(value)], self.waiting[id(value)] = taken, value
            (self.strided.add if copied else self.strided.discard)(id(value))
            if value.storage.fixed and value.tensor.role in LEAVES and not self.left[id(value)]:
                complete.append((value, taken, copied))
        for value, storage, clone in complete:
            if self.buffers.get(id(value)) is storage:
                del self.buffers[id(value)]
                self._accumulate(value, storage, clone)

    def _accumulate(self, value: Value, storage: Storage, clone: bool) -> None:  # noqa: FBT001
        """Take a complete gradient over; one that is shared or strided is copied first."""
        kept = value.tensor.role == "weight" and self.choices.grads == "kept"
        there = kept or id(value) in self.filled
        shared = any(buffer is storage for buffer in self.buffers.values())
        if (clone or shared) and not there:
            copy = self.new_like(value, "gradient")
            self.act(f"{value.tensor.name}/grad_copy", "backward", (storage,), (copy,), runs=False)
            storage = copy
        self.pending[id(value)] = (value, storage)

    def new_like(self, value: Value, kind: str) -> Storage:
        """Return a storage for the cotangent of a value, with the iterations of the value."""
        name = value.tensor.name
        if name not in self.known.likes:
            self.known.likes[name] = replace(value.tensor, name=f"gradient of {name}", role="gradient")
        return Storage(self.known.likes[name], kind, value.storage.at)

    def _settle(self) -> None:
        """Say which gradients of leaves live on."""
        for value, storage in self.pending.values():
            parameter = value.tensor.role == "weight"
            storage.kind = "parameter gradient" if parameter else "gradient"
            fresh = self.choices.grads == "fresh" and self.choices.update == "separate"
            if (fresh or not parameter) and id(value) not in self.filled:
                storage.forever = True
            self.filled[id(value)] = (value, value.storage, True)


def strided(op: Op) -> bool:
    """Say whether a view has its elements in another order or repeated: no gradient is taken over from it."""
    if not isinstance(op, Rearrange):
        return isinstance(op, Expand | Transpose)
    flat = [axis for group in op.left for axis in group]
    places = [[flat.index(axis) for axis in group] for group in op.right]
    order = [place for group in places for place in group]
    if order == sorted(order):
        return False
    return all(b == a + 1 for group in places for a, b in pairwise(group))
