"""How a training step is run with real tensors, and what the run took."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from symacct.errors import UsageError, unknown
from symacct.policy import GRADS, RECOMPUTES, UPDATES

if TYPE_CHECKING:
    from collections.abc import Mapping

    from symacct.execution.interpret import Key
    from symacct.execution.schedule_program import Segments
    from symacct.execution.track import Row

SEGMENTS = ("every", "sqrt", "regions", "store-nothing", "nested")


@dataclass(frozen=True, slots=True)
class Plan:
    """How a step is run.

    Attributes:
        segments: what is run again in backward. None: the graph's own regions. ``("every", k)``: the
            iterations of each outermost repeat in groups of k; ``("sqrt",)``: of the root of their number,
            rounded up. ``("regions", names)``: each maximal run of nodes of one scope and one region, by the
            regions' names. ``("store-nothing",)``: each iteration from the first on. ``("nested", pairs)``: a
            pair for each segment, of its first unit and the one after its last; a unit is an iteration of
            an outermost repeat, or a node outside of repeats.
        recompute: ``needed`` ends at the last saved tensor, ``full`` runs all of a segment.
        hold_output: whether the outputs live until the micro-batch ends.
        grads: ``fresh``, or ``kept``: gradients of the weights exist already and are added to.
        update: ``fused`` uses up a weight's gradient as soon as it is complete.
        micro: how many micro-batches are run one after the other; nothing but gradients outlives one.
        input_grad: whether floating inputs get gradients.
    """

    segments: Segments = None
    recompute: str = "needed"
    hold_output: bool = False
    grads: str = "fresh"
    update: str = "separate"
    micro: int = 1
    input_grad: bool = False

    def __post_init__(self) -> None:
        """Check the names and numbers."""
        if self.segments is not None and self.segments[0] not in SEGMENTS:
            raise unknown("way to checkpoint", str(self.segments[0]), SEGMENTS)
        for what, given, known in (
            ("recompute", self.recompute, RECOMPUTES),
            ("choice of gradients", self.grads, GRADS),
            ("choice of update", self.update, UPDATES),
        ):
            if given not in known:
                raise unknown(what, given, known)
        least = [self.micro, *(n for n in self.segments or () if isinstance(n, int))]
        if min(least) < 1:
            raise UsageError(
                "micro-batches and iterations of a segment are counted",
                expected="at least 1",
                got=str(min(least)),
            )


@dataclass(frozen=True, slots=True)
class Tracked:
    """What a tracked step took, in bytes above parameters, graph inputs and kept gradients.

    Attributes:
        peak: the most that was alive.
        at_peak: what was alive then, by name.
        saved: what lives for backward when the (first) forward pass ends, by name.
        data: graph inputs that backward reads, by name; they lived before.
        end: what is alive when the step ends.
        kept: gradients that lived before and were added to.
        loss: the value of the loss, of the last micro-batch.
        gradients: of what trains, by tensor and iteration; None where none reached it.
        again: how often each op was run again, by label.
        saved_peak: the most that was alive of what is kept for backward, and of what it reads.
        inputs: bytes of all graph inputs; they lived before.
    """

    peak: int
    at_peak: tuple[Row, ...]
    saved: tuple[Row, ...]
    data: tuple[Row, ...]
    end: int
    kept: int
    loss: float
    gradients: Mapping[Key, Any]
    again: Mapping[str, int]
    saved_peak: int
    inputs: int

    @property
    def saved_bytes(self) -> int:
        """The bytes saved, without graph inputs."""
        return sum(nbytes for _, nbytes in self.saved)
