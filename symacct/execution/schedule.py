"""One training step of a graph with real tensors, torch's autograd and its checkpoints, tracked to the byte.

Allocation is the graph's: each op's results are storages, a view is none, what an op allocates inside does
not count. When things live and die is torch's: autograd's order, its sums where gradients meet, what it
accumulates and takes over, and what ``torch.utils.checkpoint`` keeps and runs again.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any

from symacct.errors import RuleError
from symacct.execution import values
from symacct.execution.framework import load_torch, plain_einsum
from symacct.execution.interpret import Place
from symacct.execution.schedule_kernels import Run, written
from symacct.execution.schedule_plan import Plan, Tracked
from symacct.execution.schedule_program import PLAIN, linearise
from symacct.execution.torch_arrays import TorchArrays
from symacct.execution.track import Tracker
from symacct.peaks.closing import closed
from symacct.policy import RECOMPUTES

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from symacct.execution.interpret import Key, Store
    from symacct.execution.schedule_program import Instance, Part, Program
    from symacct.execution.track import Row
    from symacct.nodes import Graph


def run(
    graph: Graph,
    sizes: Mapping[str, int],
    plan: Plan | None = None,
    dtype: str = "fp32",
    seed: int = 0,
    *,
    positive: bool = False,
) -> Tracked:
    """Run a training step of a graph and return what it took.

    Args:
        graph: the graph; its floating outputs are closed with a sum, unless there is one and it is a scalar.
        sizes: all of its sizes.
        plan: how it is run.
        dtype: of ``float`` and ``stat``.
        seed: of the values and masks.
        positive: draw values around 1 instead of around 0.

    Raises:
        RuleError: nothing trains.

    >>> from symacct.build import graph
    >>> @graph({"B": "rows", "D": "features"})
    ... def layer(b):
    ...     x, w = b.input("x", "B D"), b.weight("w", "D E", E="D")
    ...     return b.relu(b.einsum("B D, D E -> B E", x, w))
    >>> tracked = run(layer(), {"B": 2, "D": 3})
    >>> tracked.peak - 8 == 4 * max(2 * 2 * 3, 2 * 3 + 3 * 3), tracked.saved_bytes
    (True, 24)
    """
    plan = plan or Plan()
    torch = load_torch()
    _warm(torch)
    sizes = graph.resolved(sizes)
    xp = TorchArrays(torch, dtype, seed=seed)
    leaves = values.draw(graph, sizes, xp, seed, positive=positive)
    held = graph.outputs if plan.hold_output else ()
    program = linearise(closed(graph), sizes, plan.segments, held)
    step = _Step(torch, graph, plan, program, leaves)
    with plain_einsum(torch), _stopping(torch, plan), Tracker(torch) as tracker:
        step.begin(Run(xp, tracker, leaves, seed, Place(sizes)))
        for _ in range(plan.micro):
            step.micro_batch()
        return step.result()


@cache
def _warm(torch: Any) -> None:
    """Run a checkpoint once: the first makes cycles that keep tensors alive."""
    x = torch.ones(1, requires_grad=True)
    _checkpoint(torch.exp, x).sum().backward()


def _stopping(torch: Any, plan: Plan) -> Any:
    return torch.utils.checkpoint.set_checkpoint_early_stop(plan.recompute == RECOMPUTES[0])


def _checkpoint(function: Any, *arrays: Any) -> Any:
    from torch.utils.checkpoint import checkpoint

    return checkpoint(function, *arrays, use_reentrant=False, preserve_rng_state=False)


@dataclass(slots=True)
class _Step:
    """A step while it runs."""

    torch: Any
    graph: Graph
    plan: Plan
    program: Program
    leaves: Store
    trained: list[Key] = field(default_factory=list)
    used: dict[Key, Any] = field(default_factory=dict)
    saved: tuple[Row, ...] | None = None
    kept: dict[Key, int] = field(default_factory=dict)
    loss: float = 0.0
    run: Run = field(init=False)

    def begin(self, run: Run) -> None:
        """Say what trains, and make what lives before the step."""
        self.run = run
        tensors = self.graph.tensors
        wanted = set(self.graph.trainable)
        if self.plan.input_grad:
            wanted |= {name for name in self.graph.inputs if tensors[name].floating}
        self.trained = [key for key in self.leaves if key[0] in wanted]
        with run.tracker.suspended():
            for key in self.trained:
                leaf = self.leaves[key].requires_grad_()
                weight = tensors[key[0]].role == "weight"
                if weight and self.plan.grads == "kept":
                    leaf.grad = self.torch.zeros_like(leaf)
                    leaf.register_post_accumulate_grad_hook(self._note(key))
                if weight and self.plan.update == "fused":
                    leaf.register_post_accumulate_grad_hook(self._use(key))

    def _note(self, key: Key) -> Any:
        def note(leaf: Any) -> None:
            self.kept[key] = leaf.nbytes

        return note

    def _use(self, key: Key) -> Any:
        def use(leaf: Any) -> None:
            with self.run.tracker.suspended():
                before = self.used.get(key)
                self.used[key] = leaf.grad.clone() if before is None else before + leaf.grad
            leaf.grad = None

        return use

    def micro_batch(self) -> None:
        """Run forward and backward; all but gradients ends here."""
        tracker, torch = self.run.tracker, self.torch
        start = tracker.moment
        edge, unit = self._forward()
        tracker.mark_alive(start)
        if self.saved is None:
            self.saved = tracker.alive()
        tracker.register(unit, "cotangent of the loss")
        self.run.backward = True
        torch.autograd.backward([edge], [unit])
        self.run.backward = False
        tracker.release()

    def _forward(self) -> tuple[Any, Any]:
        """Return where backward starts, and the unit cotangent; the loss is held from here on."""
        tracker = self.run.tracker
        loss, *outputs = self._outputs()
        if not loss.requires_grad:
            raise RuleError(f"nothing trains in graph {self.graph.name}, so that there is no step")
        for array in outputs:
            tracker.hold(array)
        tracker.hold(loss)
        with tracker.suspended():
            self.loss = float(loss.detach())
            return self.torch.autograd.graph.get_gradient_edge(loss), self.torch.ones_like(loss)

    def _outputs(self) -> list[Any]:
        """Run forward and return the loss and held outputs; other values end with their last reader."""
        env: dict[Key, Any] = {}
        self.run_parts(self.program.parts, self.program.lasts, env)
        return [env[key] if key in env else self.leaves[key] for key in self.program.outputs]

    def run_parts(self, parts: Sequence[Part], lasts: Sequence[frozenset[Key]], env: dict[Key, Any]) -> None:
        """Run parts on the values of an environment, and drop those that nothing needs any longer."""
        for part, later in zip(parts, lasts, strict=True):
            if part.kind == PLAIN:
                self.execute(part.instances, part.dies, env)
                continue
            lasting = {key for key in env if key in later}
            enters = {key: env[key] if key in lasting else env.pop(key) for key in part.enters}
            segment = _Segment(self, part, enters)
            del enters
            made = _checkpoint(segment, *(env[key] for key in part.reads))
            for key in env.keys() - lasting:
                del env[key]
            env |= dict(zip(part.gives, made, strict=True))
            del made

    def execute(
        self, instances: Sequence[Instance], dies: Sequence[Sequence[Key]], env: dict[Key, Any]
    ) -> None:
        """Run ops on the values of an environment, and drop those that nothing needs any longer."""
        for one, dead in zip(instances, dies, strict=True):
            arrays = [env[key] if key in env else self.leaves[key] for key in one.ins]
            env |= dict(zip(one.outs, self.run.apply(one, arrays), strict=True))
            del arrays
            for key in dead:
                env.pop(key, None)

    def result(self) -> Tracked:
        """Return what was tracked."""
        tracker, leaves = self.run.tracker, self.leaves
        data = [key for key in self.run.data if self.graph.tensors[key[0]].role == "input"]
        return Tracked(
            tracker.peak,
            tracker.at_peak,
            self.saved or (),
            tuple((written(key), leaves[key].nbytes) for key in data),
            tracker.live,
            sum(self.kept.values()),
            self.loss,
            {key: self.used[key] if key in self.used else leaves[key].grad for key in self.trained},
            dict(self.run.again),
            tracker.marked_peak(),
            sum(a.nbytes for key, a in leaves.items() if self.graph.tensors[key[0]].role == "input"),
        )


class _Segment:
    """What a checkpoint runs twice: first on the values that enter, then from what it was handed.

    Parts of it may be checkpoints in turn. It marks what it was handed: that is kept for backward.
    A segment of store-nothing is handed what the first iteration reads. When it runs again, it runs all
    iterations before without saving anything, and then its own.
    """

    def __init__(self, step: _Step, part: Part, enters: dict[Key, Any]) -> None:
        """Note the part, and the values that enter: they are used once."""
        self.step = step
        self.part = part
        self.enters: dict[Key, Any] | None = enters
        self.trains = [key for key, array in enters.items() if array.requires_grad]

    def __call__(self, *arrays: Any) -> tuple[Any, ...]:
        """Run the ops and return what later parts read."""
        part, step = self.part, self.step
        env = dict(zip(part.reads, arrays, strict=True))
        if self.enters is None:
            own = [step.leaves[key] for one in part.instances for key in one.ins if key in step.leaves]
            step.run.note([*arrays, *own])
            with step.torch.no_grad():
                step.execute(part.before, part.dies_before, env)
            env |= {key: step.run.enter(env[key]) for key in self.trains}
        else:
            env |= self.enters
            self.enters = None
        if part.parts:
            step.run_parts(part.parts, part.lasts, env)
        else:
            step.execute(part.instances, part.dies, env)
        return tuple(env[key] for key in part.gives)
