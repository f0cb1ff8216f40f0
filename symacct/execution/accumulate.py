"""Gradients added up over micro-batches, against those of the whole batch, in float64."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from symacct.errors import RuleError, SizeError, UsageError, unknown
from symacct.execution import values
from symacct.execution.framework import load_torch, plain_einsum
from symacct.execution.interpret import Interpreter, Place
from symacct.execution.torch_arrays import TorchArrays

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from symacct.execution.interpret import Key, Store
    from symacct.nodes import Graph

LOSSES = ("sum", "mean")


class _Whole(TorchArrays):
    """Masks that drop nothing: those of a batch and of its parts cannot be drawn alike."""

    def bernoulli(self, shape: Sequence[int], keep: float) -> Any:
        """Return true everywhere."""
        del keep
        return self.torch.ones(tuple(shape), dtype=self.torch.bool)


def accumulated(
    graph: Graph, sizes: Mapping[str, int], batch: str, micro: int, loss: str, seed: int = 0
) -> float:
    """Return the largest difference between the batch's gradients and the sum of its micro-batches'.

    For the mean each micro-batch weighs its share of the batch, so that the parts need not be alike. A graph
    whose rows depend on each other shows by its difference.

    Args:
        graph: the graph; outputs that are no scalars are closed with the loss.
        sizes: all of its sizes.
        batch: the size that is cut.
        micro: into how many parts, as equal as can be.
        loss: ``sum`` or ``mean``: of the outputs, or, where the output is a scalar, what that is.
        seed: of the values.

    Raises:
        SizeError: fewer rows than parts.
        RuleError: a parameter's size depends on the batch, an input has an axis of rows that cannot be cut.

    >>> from symacct.build import graph
    >>> @graph({"B": "rows", "D": "features"})
    ... def layer(b):
    ...     return b.relu(b.einsum("B D, D E -> B E", b.input("x", "B D"), b.weight("w", "D E", E="D")))
    >>> accumulated(layer(), {"B": 7, "D": 3}, "B", 3, "mean") < 1e-12
    True
    """
    if loss not in LOSSES:
        raise unknown("loss", loss, LOSSES)
    if micro < 1:
        raise UsageError("a batch is cut into parts", expected="at least 1", got=str(micro))
    sizes = graph.resolved(sizes)
    if batch not in sizes:
        raise unknown("size", batch, sizes)
    rows = sizes[batch]
    if micro > rows:
        raise SizeError(
            f"{rows} rows cannot be cut into {micro} parts", expected=f"at most {rows}", got=str(micro)
        )
    xp = _Whole(load_torch(), "fp64", seed=seed)
    store = values.draw(graph, sizes, xp, seed)
    whole = _gradients(xp, graph, sizes, store, loss)
    total: dict[Key, Any] = {}
    lo = 0
    for part in range(micro):
        hi = rows * (part + 1) // micro
        own = {key: _cut(graph, key, array, batch, lo, hi) for key, array in store.items()}
        share = (hi - lo) / rows if loss == "mean" else 1.0
        for key, gradient in _gradients(xp, graph, {**sizes, batch: hi - lo}, own, loss).items():
            total[key] = total[key] + share * gradient if key in total else share * gradient
        lo = hi
    return max((_difference(total[key], gradient) for key, gradient in whole.items()), default=0.0)


def _cut(graph: Graph, key: Key, array: Any, batch: str, lo: int, hi: int) -> Any:
    """Return the rows of an input that belong to a part; parameters and constants as they are."""
    tensor = graph.tensors[key[0]]
    names = [{free.name for free in dim.free_symbols} for dim in tensor.dims]
    axes = [axis for axis, found in enumerate(names) if batch in found]
    if not axes:
        return array
    if tensor.role != "input" or len(axes) > 1 or not tensor.dims[axes[0]].is_Symbol:
        raise RuleError(
            f"{tensor.describe()} cannot be cut into micro-batches",
            expected=f"inputs with one axis of {batch}, and parameters without",
            got=f"{tensor.role} with {', '.join(map(str, tensor.dims))}",
        )
    return array.narrow(axes[0], lo, hi - lo)


def _gradients(
    xp: TorchArrays, graph: Graph, sizes: Mapping[str, int], leaves: Store, loss: str
) -> dict[Key, Any]:
    """Return the gradients of the parameters that train, of the loss at these sizes."""
    place = Place(sizes)
    trained = [key for key in leaves if key[0] in graph.trainable and graph.tensors[key[0]].role == "weight"]
    store = {key: array.detach().requires_grad_(key in set(trained)) for key, array in leaves.items()}
    run = Interpreter(xp, graph.tensors.__getitem__, dict(store))
    with plain_einsum(xp.torch):
        run.run(graph.nodes, place)
        outputs = [run.get(name, place) for name in dict.fromkeys(graph.outputs)]
        floating = [one for one in outputs if one.is_floating_point() and one.requires_grad]
        if not floating:
            raise RuleError(f"nothing trains in graph {graph.name}, so that there is no gradient")
        total = sum(one.sum() if loss == "sum" else one.mean() for one in floating)
        found = xp.torch.autograd.grad(total, [store[key] for key in trained], allow_unused=True)
    return {key: g for key, g in zip(trained, found, strict=True) if g is not None}


def _difference(mine: Any, theirs: Any) -> float:
    """Return the largest difference, relative to the largest element where that is more than 1."""
    if not (mine.isfinite().all() and theirs.isfinite().all()):
        raise values.NotFiniteError("a gradient is not finite", expected="finite values", got="inf or nan")
    scale = max(1.0, float(theirs.abs().max())) if theirs.numel() else 1.0
    return float((mine - theirs).abs().max()) / scale if theirs.numel() else 0.0
