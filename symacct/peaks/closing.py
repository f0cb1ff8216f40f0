"""A graph with a loss: outputs that are no scalars are summed, so that a step starts from one number."""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING

from symacct.nodes import Graph, Node
from symacct.ops.elementwise import Elementwise
from symacct.ops.reduce import Reduce
from symacct.tensor import Tensor

if TYPE_CHECKING:
    from symacct.op import Op

LOSS = "loss"


def closed(graph: Graph) -> Graph:
    """Return the graph with one scalar output: a loss of its own, or the sum of its outputs' elements.

    >>> from symacct.build import Builder
    >>> b = Builder("g", "B D")
    >>> graph = b.build(b.relu(b.input("x", "B D", grad=True)))
    >>> [node.label for node in closed(graph).nodes], closed(graph).outputs
    (['relu', 'loss'], ('loss',))
    """
    floating = [name for name in dict.fromkeys(graph.outputs) if graph.tensors[name].floating]
    if len(floating) == 1 and not graph.tensors[floating[0]].axes:
        return graph
    tensors = dict(graph.tensors)
    nodes = list(graph.nodes)

    def add(op: Op, *ins: str) -> str:
        label, count = LOSS, 2
        while label in tensors or any(node.label == label for node in nodes):
            label, count = f"{LOSS}_{count}", count + 1
        (made,) = op.infer(*(tensors[name] for name in ins))
        tensors[label] = Tensor(label, made.axes, made.dims, made.dtype)
        nodes.append(Node(op, ins, (label,), label))
        return label

    total: str | None = None
    for name in floating:
        axes = tensors[name].axes
        part = add(Reduce("sum", axes), name) if axes else name
        total = part if total is None else add(Elementwise("add"), total, part)
    outputs = graph.outputs if total is None else (total,)
    return replace(graph, tensors=MappingProxyType(tensors), nodes=tuple(nodes), outputs=outputs)
