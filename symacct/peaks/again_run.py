"""Segments of a schedule that are run again in backward."""

from __future__ import annotations

from typing import TYPE_CHECKING

from symacct.peaks.forward_run import ForwardRun
from symacct.peaks.steps import entering
from symacct.peaks.turns import again_in

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from symacct.peaks.steps import Instance, Segment, Storage


class AgainRun(ForwardRun):
    """A run that knows how to run a segment again."""

    # ---- running again ----

    def again(self, segment: Segment) -> None:
        """Run a segment again, up to the last tensor it saves or to its end."""
        segment.ran = True
        todo, base, at = [*segment.before, *segment.instances], self.marks, self.at
        segment.inputs = entering(segment)
        stop, runs_last = self._end(segment, len(segment.before))
        for position, one in enumerate(todo[: stop + 1]):
            if one.node.label in self.placement.kept:
                continue
            if position == stop and not runs_last:
                one.extra = []
                break
            self.at = dict(one.at)
            self.marks = (*base, *again_in(one.marks[segment.depth :], base, segment))
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

    def _until_stop(self, segment: Segment, rest: Sequence[Instance]) -> None:
        """Keep to the end of a recomputation what it returns, and what ops not reached would read."""
        last = len(self.actions) - 1
        outputs = {id(self.get(name)) for name in self.graph.outputs}
        mine = [v for one in segment.instances for v in one.outs]
        returned = [v for v in mine if id(v) in outputs or self.readers.get(id(v), set()) - {id(segment)}]
        for key in {*(id(v.storage) for v in returned), *(id(v.storage) for one in rest for v in one.ins)}:
            storage = segment.again.get(key)
            if storage is not None and storage.kind == "recomputed":
                storage.last = max(storage.last, last)
        self.drop(segment.instances, segment.again)

    def _end(self, segment: Segment, before: int) -> tuple[int, bool]:
        """Return the position of the last node that is run again, and whether it is run or only packs."""
        if self.choices.recompute == "full":
            return before + len(segment.instances) - 1, True
        for position in range(len(segment.instances) - 1, -1, -1):
            one = segment.instances[position]
            if one.need and self.keeps(one):
                made = any(name in one.node.outs for name in self.reads_of(one))
                return before + position, made or self.torch_extra(one)
        return -1, False

    def keeps(self, one: Instance) -> bool:
        """Say whether anything is saved for the derivative of a node."""
        return bool(self.reads_of(one)) or self.torch_extra(one)

    def torch_extra(self, one: Instance) -> bool:
        """Say whether torch keeps a copy that only the node's kernel makes."""
        kept = self.torch_keeps(one)
        return kept is not None and bool(kept.extra)

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
                saves = entering(one.segment) if self.keeps(one) else []
            for storage in saves:
                storage.last = max(storage.last, end)
                storage.saved |= not again and end >= self.began
