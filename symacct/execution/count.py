"""Run a graph as a user of torch would: FLOPs by torch's counter, saved bytes by its hooks, gradients."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from symacct.execution import values
from symacct.execution.framework import load_torch, plain_einsum
from symacct.execution.interpret import Interpreter, Place
from symacct.execution.kept import Keeping, KeptStorage
from symacct.execution.torch_arrays import TorchArrays
from symacct.nodes import Node, walk

if TYPE_CHECKING:
    from collections.abc import Mapping

    from symacct.derivation.differentiate import Step
    from symacct.execution.interpret import Key, Store

NEVER_SAVED = ("weight", "constant")


@dataclass(frozen=True, slots=True)
class Counted:
    """What torch did.

    Attributes:
        forward: FLOPs of the forward pass, by aten op.
        backward: FLOPs of the backward pass, by aten op.
        kept: the storages kept between them.
        outputs: the graph's outputs.
        gradients: gradients of what trains, by tensor and iteration; None where none reached it.
    """

    forward: Mapping[str, int]
    backward: Mapping[str, int]
    kept: tuple[KeptStorage, ...]
    outputs: Mapping[str, Any]
    gradients: Mapping[Key, Any]


def count(
    step: Step, sizes: Mapping[str, int], *, dtype: str = "fp32", seed: int = 0, positive: bool = False
) -> Counted:
    """Run forward and backward on drawn values, and return what torch did."""
    torch = load_torch()
    from torch.utils.flop_counter import FlopCounterMode

    xp = TorchArrays(torch, dtype, seed=seed)
    store = values.draw(step.graph, sizes, xp, seed, positive=positive)
    cotangents = values.seeds(step, sizes, xp, seed)
    leaves = {key: store[key].requires_grad_() for key in values.trainable_keys(step, sizes)}
    views = frozenset(n.outs[0] for n, _ in walk(step.graph.nodes) if isinstance(n, Node) and n.op.alias)
    with plain_einsum(torch):
        with FlopCounterMode(display=False) as forward, Keeping(torch, views) as keeping:
            outputs = _forward(torch, step, sizes, xp, store, keeping)
        tensors = step.graph.tensors
        kept = keeping.alive(array for key, array in store.items() if tensors[key[0]].role in NEVER_SAVED)
        with FlopCounterMode(display=False) as backward:
            gradients = _backward(torch, outputs, cotangents, leaves)
    return Counted(flops(forward), flops(backward), kept, outputs, gradients)


def _forward(
    torch: Any, step: Step, sizes: Mapping[str, int], xp: TorchArrays, leaves: Store, keeping: Keeping
) -> dict[str, Any]:
    """Run natively and return the outputs alone, so that what only dead code saved is freed."""
    for key, array in leaves.items():
        keeping.name(key, array)
    graph, place = step.graph, Place(sizes)
    run = Interpreter(xp, step.tensor, dict(leaves), torch, keeping.name)
    run.run(graph.nodes, place)
    return {name: run.get(name, place) for name in dict.fromkeys(graph.outputs)}


def _backward(
    torch: Any, outputs: Mapping[str, Any], cotangents: Store, leaves: Mapping[Key, Any]
) -> dict[Key, Any]:
    given = {name.removesuffix("/seed"): array for (name, _), array in cotangents.items()}
    ends = [name for name in outputs if name in given]
    if not ends or not leaves:
        return dict.fromkeys(leaves)
    grads = torch.autograd.grad(
        [outputs[name] for name in ends],
        list(leaves.values()),
        [given[name] for name in ends],
        allow_unused=True,
    )
    return dict(zip(leaves, grads, strict=True))


def flops(counter: Any) -> dict[str, int]:
    """Return a counter's FLOPs by aten op."""
    return {
        str(op).removeprefix("aten."): int(n) for op, n in counter.get_flop_counts().get("Global", {}).items()
    }
