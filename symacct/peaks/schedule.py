"""What a training step makes and reads, op by op, at integer repeat counts: the reference-count interpreter.

It runs the graph as eager torch does, without arrays: a forward pass that notes what each op saves, then the
nodes latest first, each with all its input gradients together, sums where gradients meet, and recomputation
where a segment keeps its inputs alone. Sizes stay symbols; only the counts of repeats are integers.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from symacct.algebra.budget import spend
from symacct.peaks.backward_run import BackwardRun
from symacct.peaks.forward_run import Known
from symacct.peaks.steps import Action, Choices, Mark, Marks, Schedule, Storage
from symacct.peaks.turns import MICRO, iteration, turn_symbol

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from symacct.nodes import Graph
    from symacct.peaks.placement import Placement

__all__ = [
    "Action", "Choices", "Known", "Mark", "Marks", "Schedule", "Storage",
    "iteration", "scheduled", "turn_symbol",
]  # fmt: skip


def scheduled(
    graph: Graph,
    held: Sequence[str],
    placement: Placement,
    choices: Choices,
    counts: Mapping[str, int],
    known: Known | None = None,
) -> Schedule:
    """Return the schedule of a closed graph.

    Args:
        graph: a graph with one scalar output.
        held: outputs that the caller may hold.
        placement: which nodes are run again.
        choices: how gradients, updates and outputs live.
        counts: an integer for every size that a repeat's range depends on, and for a symbolic segment.
        known: what other runs of the graph under these choices have worked out.
    """
    found = Run(graph, held, placement, choices, counts, known).schedule()
    spend(len(found.actions))
    return found


class Run(BackwardRun):
    """One run of the interpreter, every micro-batch."""

    def schedule(self) -> Schedule:
        """Run every micro-batch."""
        micro = self.choices.micro
        for turn in range(micro):
            self._restart()
            if self.choices.micro_count != 1:
                self.marks = (Mark(MICRO, turn, micro, self.choices.micro_count),)
                self.bound(self.marks, self.filled.values())
            self.forward(self.graph.nodes)
            self._close_all()
            self.backward()
            if self.choices.micro_count != 1:
                self._end_micro_batch()
                if turn == micro - 1:
                    self.bound((replace(self.marks[0], turn=micro),), self.filled.values())
        return Schedule(
            tuple(self.actions),
            tuple(self.storages),
            self.backward_from,
            tuple(self.read_inputs),
            tuple(self.boundaries),
        )

    def _end_micro_batch(self) -> None:
        """Let go of the loss, its cotangent and held outputs: only gradients outlive a micro-batch."""
        for storage in self.ending:
            storage.forever, storage.whole, storage.last = False, True, len(self.actions) - 1
