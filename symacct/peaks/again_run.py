"""Segments of a schedule that are run again in backward."""

from __future__ import annotations

from typing import TYPE_CHECKING

from symacct.peaks.forward_run import ForwardRun
from symacct.peaks.steps import entering, handed
from symacct.peaks.turns import again_in

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from symacct.peaks.steps import Instance, Marks, Segment, Storage, Value


class AgainRun(ForwardRun):
    """A run that knows how to run a segment again."""

    # ---- running again ----

    def again(self, segment: Segment) -> None:
        """Run a segment again, up to the last tensor it saves or to its end.

        What it is run from may have to be made first, by running the segment around it again.
        """
        around = segment.parent
        if around is not None and not around.ran and handed(segment):
            self.again(around)
        segment.ran = True
        base, at = self.marks, self.at
        segment.inputs = [segment.now(storage) for storage in entering(segment)]
        if segment.parent is not None:
            for storage in segment.inputs:
                self.note_saved(storage)
        todo = [*segment.before, *segment.instances]
        stop, runs_last = self._end(segment, len(segment.before))
        ends = self._inner_ends(segment)
        self.turns: dict[int, Marks] = {}
        for position, one in enumerate(todo[: stop + 1]):
            if one.node.label in self.placement.kept:
                continue
            if position == stop and not runs_last:
                one.extra = []
                break
            self._run_again(segment, one, base, saving=position >= len(segment.before))
            for inner in ends.get(position + 1, ()):
                self._last_for(map(segment.now, entering(inner)))
        self.marks, self.at = base, at
        self._until_stop(segment, todo[stop + runs_last :])

    def _run_again(self, segment: Segment, one: Instance, base: Marks, *, saving: bool) -> None:
        """Run an op again; what stands in a segment inside this one saves nothing."""
        self.at = one.at
        key = id(one.marks)
        if key not in self.turns:
            self.turns[key] = (*base, *again_in(one.marks[segment.depth :], base, segment))
        self.marks = self.turns[key]
        reads = [segment.now(v.storage) for v in one.ins]
        made = []
        for slot, v in enumerate(one.outs):
            if slot == 0 and one.node.op.alias:
                segment.again[id(v.storage)] = reads[0]
            else:
                segment.again[id(v.storage)] = self.new(v.tensor, "recomputed")
                made.append(segment.again[id(v.storage)])
        if saving and one.need and one.segment is segment:
            one.extra = self.extras(one, "recomputed")
            made += one.extra
        self.act(one.node.label, "recompute", reads, made, runs=not one.node.op.alias)

    def _inner_ends(self, segment: Segment) -> dict[int, list[Segment]]:
        """Return the segments inside one, however deep, by how many of its ops have run when they end."""
        found: dict[int, list[Segment]] = {}
        todo = [(child, 0) for child in segment.children]
        while todo:
            one, before = todo.pop()
            found.setdefault(before + one.end, []).append(one)
            todo += [(child, before + one.start) for child in one.children]
        return found

    def _last_for(self, storages: Iterable[Storage]) -> None:
        """Let storages live at least to the step that ran last."""
        for storage in storages:
            storage.last = max(storage.last, len(self.actions) - 1)

    def _until_stop(self, segment: Segment, rest: Sequence[Instance]) -> None:
        """Keep to the end of a recomputation what it was run from, what it returns, and what was not reached.

        A segment inside it will run from what enters that one: it is kept until then.
        """
        held = self.held if self.choices.hold_output else ()
        outputs = {id(self.get(name)) for name in (*self.graph.outputs, *held)}
        mine = [v for one in segment.instances for v in one.outs]
        returned = [v for v in mine if id(v) in outputs or self._read_outside(v, segment)]
        enters = [s for child in segment.children if self._runs_later(child) for s in entering(child)]
        wanted = [*(v.storage for v in returned), *enters, *(v.storage for one in rest for v in one.ins)]
        for key in {id(storage) for storage in wanted}:
            storage = segment.again.get(key)
            if storage is not None and storage.kind == "recomputed":
                self._last_for([storage])
        if segment.parent is not None:
            self._last_for(segment.inputs)
        self.drop([one for one in segment.instances if one.segment is segment], segment.again)

    def _runs_later(self, segment: Segment) -> bool:
        """Say whether anything is saved in a segment, so that it may run again."""
        return any(one.need and self.keeps(one) for one in segment.instances)

    def _read_outside(self, value: Value, segment: Segment) -> bool:
        readers = self.readers.get(id(value), set())
        return any(reader is None or segment not in reader.around for reader in readers)

    def _end(self, segment: Segment, before: int) -> tuple[int, bool]:
        """Return the position of the last node that is run again, and whether it is run or only packs.

        A segment inside it packs what enters it, before its first node runs.
        """
        if self.choices.recompute == "full":
            return before + len(segment.instances) - 1, True
        starts = {child.start for child in segment.children if handed(child)}
        for position in range(len(segment.instances) - 1, -1, -1):
            one = segment.instances[position]
            if one.segment is segment and one.need and self.keeps(one):
                made = any(name in one.node.outs for name in self.reads_of(one))
                return before + position, made or self.torch_extra(one)
            if position in starts:
                return before + position, False
        return -1, False

    def keeps(self, one: Instance) -> bool:
        """Say whether anything is saved for the derivative of a node."""
        return bool(self.reads_of(one)) or self.torch_extra(one)

    def torch_extra(self, one: Instance) -> bool:
        """Say whether torch keeps a copy that only the node's kernel makes."""
        kept = self.torch_keeps(one)
        return kept is not None and bool(kept.extra)

    def note_saved(self, storage: Storage) -> None:
        """Note that a storage is kept for backward, and which graph input is."""
        storage.saved = True
        if storage.fixed and storage.tensor.role == "input":
            self.read_inputs[storage.tensor.name] = None

    def drop(self, instances: Sequence[Instance], again: Mapping[int, Storage]) -> None:
        """Let what nodes save that get no cotangent die with their results, and with theirs what those save.

        In a recomputation it is the new storages (``again``); in forward a checkpoint saves what enters it,
        and what a segment keeps until it runs again keeps what its own past has saved.
        """
        ends: dict[int, int] = {}
        for one in reversed([one for one in instances if id(one) in self.dead]):
            out = one.outs[0]
            end = max(ends.get(id(out), -1), again.get(id(out.storage), out.storage).last)
            for slot in one.wanted:
                ends[id(one.ins[slot])] = max(ends.get(id(one.ins[slot]), -1), end)
            saves = [*map(one.storage, self.reads_of(one)), *one.extra]
            if one.segment is not None and not again:
                saves = entering([*one.segment.around][-1]) if self.keeps(one) else []
            for storage in saves:
                storage.last = max(storage.last, end)
                storage.saved |= not again and end >= self.began
