"""Values to run a graph on: inputs, weights and constants, drawn from a seed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from symacct.errors import SymacctError
from symacct.execution.interpret import Key, Place, Store
from symacct.nodes import Node, Repeat, walk
from symacct.ops.grouped import GroupedMatmul
from symacct.ops.lookup import Embedding
from symacct.ops.loss import CrossEntropy

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from sympy import Expr

    from symacct.derivation.differentiate import Step
    from symacct.execution.torch_arrays import TorchArrays
    from symacct.nodes import Graph
    from symacct.tensor import Tensor

LEAVES = ("input", "weight", "constant", "cache")
SPREAD = 0.7
LOWEST, HIGHEST = 0.5, 1.5
UNBOUND = 2


class NotFiniteError(SymacctError):
    """A value became infinite or not a number, so nothing can be compared."""


def places(graph: Graph, tensor: Tensor, place: Place) -> Iterator[Place]:
    """Yield the place of every iteration a tensor lives in; none if its repeat is no part of the graph."""
    repeats = {node.name: node for node, _ in walk(graph.nodes) if isinstance(node, Repeat)}

    def within(path: tuple[str, ...], here: Place) -> Iterator[Place]:
        if not path:
            yield here
            return
        repeat = repeats.get(path[0])
        if repeat is None:
            return
        for i in range(here.size(repeat.lo), here.size(repeat.hi)):
            yield from within(path[1:], here.inside((repeat.name,), repeat.index, i))

    return within(tensor.path, place)


def draw(
    graph: Graph, sizes: Mapping[str, int], xp: TorchArrays, seed: int, *, positive: bool = False
) -> Store:
    """Return a value for every input, weight and constant, in every iteration it lives in.

    Args:
        graph: the graph.
        sizes: its sizes.
        xp: the array module, whose dtype the values have.
        seed: two calls with the same seed draw the same values, whatever the dtype.
        positive: draw values around 1 instead of around 0.
    """
    generator = xp.torch.Generator().manual_seed(seed)
    bounds = index_bounds(graph)
    store: Store = {}
    for tensor in graph.tensors.values():
        if tensor.role in LEAVES:
            for place in places(graph, tensor, Place(sizes)):
                bound = place.size(bounds[tensor.name]) if tensor.name in bounds else UNBOUND
                store[place.key(tensor)] = _one(
                    xp, generator, tensor, place.shape(tensor), bound, positive=positive
                )
    return store


def _one(
    xp: TorchArrays, generator: Any, tensor: Tensor, shape: tuple[int, ...], bound: int, *, positive: bool
) -> Any:
    torch = xp.torch
    if tensor.dtype == "index":
        return torch.randint(0, bound, shape, generator=generator)
    if tensor.dtype == "mask":
        return torch.rand(shape, generator=generator) < 1 - 1 / UNBOUND
    if positive:
        drawn = torch.rand(shape, generator=generator, dtype=torch.float64) * (HIGHEST - LOWEST) + LOWEST
    else:
        drawn = torch.randn(shape, generator=generator, dtype=torch.float64) * SPREAD
    return drawn.to(xp.dtype(tensor.dtype))


def seeds(step: Step, sizes: Mapping[str, int], xp: TorchArrays, seed: int) -> Store:
    """Return a given cotangent for every output that gets one."""
    generator = xp.torch.Generator().manual_seed(seed + 1)
    place = Place(sizes)
    store: Store = {}
    for name in step.seeds:
        tensor = step.tensor(name)
        drawn = xp.torch.randn(place.shape(tensor), generator=generator, dtype=xp.torch.float64)
        store[place.key(tensor)] = drawn.to(xp.dtype(tensor.dtype))
    return store


def trainable_keys(step: Step, sizes: Mapping[str, int]) -> list[Key]:
    """Return what trains, once for every iteration it lives in, whether or not a gradient reaches it."""
    graph, place = step.graph, Place(sizes)
    tensors = [graph.tensors[name] for name in sorted({*graph.trainable, *step.gradients})]
    return [here.key(tensor) for tensor in tensors for here in places(graph, tensor, place)]


def index_bounds(graph: Graph) -> dict[str, Expr]:
    """Return the number of rows that each tensor of indices chooses from, as its readers say."""
    bounds: dict[str, Expr] = {}
    for node, _ in reversed(list(walk(graph.nodes))):
        if isinstance(node, Repeat):
            bounds |= {str(c.init): bounds[str(c.enter)] for c in node.carry if c.enter in bounds}
            continue
        rows = _chosen_from(graph, node)
        if rows is not None:
            bounds[rows[0]] = rows[1]
        elif node.op.alias and node.outs[0] in bounds:
            bounds[node.ins[0]] = bounds[node.outs[0]]
    return bounds


def _chosen_from(graph: Graph, node: Node) -> tuple[str, Expr] | None:
    """Return the indices that a node reads, and how many rows there are."""
    if isinstance(node.op, Embedding):
        return node.ins[1], graph.tensors[node.ins[0]].dims[0]
    if isinstance(node.op, CrossEntropy):
        return node.ins[1], graph.tensors[node.ins[0]].dim(node.op.axis)
    if isinstance(node.op, GroupedMatmul):
        return node.ins[2], graph.tensors[node.ins[1]].dim(node.op.expert_axis)
    return None
