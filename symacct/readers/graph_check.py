"""Whether a graph is well formed: its table of tensors, then (in ``graph_order``) its nodes in order.

The builder cannot make a graph that fails here; one that is read from a file can be anything.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from symacct.algebra.condition import merge
from symacct.algebra.contradiction import implied, require_together
from symacct.build.reserved import free_names
from symacct.counts import of_graph
from symacct.errors import SizeError, unknown
from symacct.nodes import Graph, Repeat, refuse, walk
from symacct.policy import DTYPE_BITS
from symacct.readers.graph_order import Order
from symacct.tensor import FOLLOWING_DTYPES, ROLES

if TYPE_CHECKING:
    from symacct.errors import GraphError
    from symacct.nodes import Step_
    from symacct.tensor import Tensor

DTYPES = (*FOLLOWING_DTYPES, *DTYPE_BITS)


def check(graph: Graph) -> Graph:
    """Return the graph if it is well formed, with the conditions that its counts need.

    Raises:
        SymacctError: it is not; the error names the node, tensor or repeat, and the nodes on a cycle.
    """
    free_names([*graph.sizes, *graph.aliases], f"graph {graph.name}")
    _labels(graph)
    _regions(graph)
    _layers(graph)
    repeats = {node.name: (*around, node) for node, around in walk(graph.nodes) if isinstance(node, Repeat)}
    for name, tensor in graph.tensors.items():
        _tensor(graph, name, tensor, repeats)
    _listed(graph)
    Order(graph).check()
    return _with_needs(graph)


def _with_needs(graph: Graph) -> Graph:
    """Return the graph with what its counts need, where it does not say so itself."""
    try:
        needed = of_graph(graph)
    except SizeError as error:
        raise error.at(f"graph {graph.name}") from None
    missing = [one for one in needed if one not in graph.conditions and not implied(one, graph.conditions)]
    if not missing:
        return graph
    whole = merge((*graph.conditions, *missing))
    require_together(whole, f"graph {graph.name}")
    return replace(graph, conditions=whole)


def _labels(graph: Graph) -> None:
    """Refuse a name that two nodes or repeats have."""
    seen: set[str] = set()
    for node, _ in walk(graph.nodes):
        if node.label in seen:
            raise refuse(
                f"the name {node.label} is given twice", graph.name, node.label,
                expected="a name of its own for each node and repeat", got=f"a second {node.label}",
            )  # fmt: skip
        seen.add(node.label)


def _regions(graph: Graph) -> None:
    """Refuse regions that are run again whose nodes are not next to each other in one scope, or shared."""
    scopes = [graph.nodes, *(node.body for node, _ in walk(graph.nodes) if isinstance(node, Repeat))]
    rows = [[node.label for node in scope] for scope in scopes]
    seen: set[str] = set()
    for one in graph.remats:
        row = next((row for row in rows if one.labels and one.labels[0] in row), [])
        at = row.index(one.labels[0]) if row else 0
        inside = [node for scope in scopes for node in scope if node.label in one.labels]
        below = {node.label for node, _ in walk(tuple(inside))}
        if not row or tuple(row[at : at + len(one.labels)]) != one.labels or not seen.isdisjoint(below):
            raise refuse(
                f"the region {one.name} is no part of the graph that can be run again", graph.name, one.name,
                expected="nodes next to each other, in no other such region", got=", ".join(one.labels)[:80],
            )  # fmt: skip
        for label in one.keep:
            if label not in below:
                raise unknown("node", label, sorted(below), where=f"graph {graph.name}, region {one.name}")
        seen |= below


def _layers(graph: Graph) -> None:
    """Refuse layers whose nodes are not next to each other in one scope, and layers in layers."""
    for name in graph.layers:
        runs = layer_runs(graph.nodes, name)
        inner = [other for other in graph.layers if other.startswith(f"{name}/")]
        if runs != 1 or inner or graph.layers.count(name) > 1:
            raise refuse(
                f"the region {name} is no layer", graph.name, name,
                expected="nodes next to each other in one scope, and no layer inside",
                got=inner[0] if inner else f"{runs} runs of nodes",
            )  # fmt: skip


def layer_runs(nodes: tuple[Step_, ...], name: str) -> int:
    """Return how many runs of nodes that stand next to each other lie in a region."""
    inside = [node.label.startswith(f"{name}/") for node in nodes]
    own = sum(1 for at, one in enumerate(inside) if one and not (at and inside[at - 1]))
    outside = [node for node, there in zip(nodes, inside, strict=True) if not there]
    return own + sum(layer_runs(node.body, name) for node in outside if isinstance(node, Repeat))


def _tensor(graph: Graph, name: str, tensor: Tensor, repeats: dict[str, tuple[Repeat, ...]]) -> None:
    if tensor.name != name:
        raise _wrong(graph, name, "a tensor stands under another name", name, tensor.name)
    for kind, word, known in (("role", tensor.role, ROLES), ("dtype", tensor.dtype, DTYPES)):
        if word not in known:
            raise unknown(kind, word, known, where=f"graph {graph.name}, tensor {name}")
    if len(tensor.axes) != len(tensor.dims) or len(set(tensor.axes)) != len(tensor.axes):
        got = f"axes {' '.join(tensor.axes)}; {len(tensor.dims)} sizes"
        raise _wrong(
            graph, name, "axes and sizes do not go together", "each axis once, each with a size", got
        )
    around = repeats.get(tensor.path[-1], ()) if tensor.path else ()
    if tuple(repeat.name for repeat in around) != tensor.path:
        got = "/".join(tensor.path)
        raise _wrong(
            graph, name, "a tensor lives in repeats that are not there", "repeats around each other", got
        )
    _sizes(graph, tensor, {repeat.index.name for repeat in around})


def _sizes(graph: Graph, tensor: Tensor, indices: set[str]) -> None:
    for dim in tensor.dims:
        if dim.is_number and not (dim.is_Integer and dim >= 1):
            raise _wrong(graph, tensor.name, "a size is no size", "an integer of at least 1", str(dim))
        for name in sorted(free.name for free in dim.free_symbols):
            if name not in graph.order and name not in indices:
                raise unknown("size", name, graph.order, where=f"graph {graph.name}, tensor {tensor.name}")


def _listed(graph: Graph) -> None:
    """Check the graph's lists of inputs and trainable tensors against the roles of the tensors."""
    for name in (*graph.inputs, *sorted(graph.trainable), *graph.outputs):
        if name not in graph.tensors:
            raise unknown("tensor", name, graph.tensors, where=f"graph {graph.name}, its lists")
    for name, tensor in graph.tensors.items():
        if (tensor.role == "input") != (name in graph.inputs):
            raise _wrong(
                graph, name, "the list of inputs is not right", "all inputs and nothing else", tensor.role
            )
    for name in sorted(graph.trainable):
        role = graph.tensors[name].role
        if role not in ("weight", "input"):
            raise _wrong(graph, name, "a tensor cannot be trainable", "a weight or an input", role)
    if len(set(graph.inputs)) != len(graph.inputs) or not graph.outputs:
        raise refuse(
            "the lists of inputs and outputs are not right", graph.name, "(none)",
            expected="each input once, at least one output",
            got=f"{len(graph.inputs)} and {len(graph.outputs)}",
        )  # fmt: skip


def _wrong(graph: Graph, name: str, what: str, expected: str, got: str) -> GraphError:
    error = refuse(what, graph.name, name, expected=expected, got=got)
    error.where = f"graph {graph.name}, tensor {name}"
    return error
