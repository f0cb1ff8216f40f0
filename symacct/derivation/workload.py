"""Workloads: the graph that is trained, run forward, prefilled, or decoded one token at a time."""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING

from sympy import Min, Symbol

from symacct.errors import GraphError
from symacct.graph import Graph, Node, Repeat, Step_, bind_tensor, walk
from symacct.ops.cache import Cached
from symacct.ops.dropout import Dropout
from symacct.ops.loss import CrossEntropy
from symacct.ops.view import Keys

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from sympy import Expr

    from symacct.tensor import Tensor


def prepared(graph: Graph, workload: str) -> Graph:
    """Return the graph of a workload.

    ``train`` and ``forward`` bind the key length to the query length. ``prefill`` and ``decode`` also drop
    what only training needs (dropout, the loss). ``decode`` makes keys and values cache inputs of length T,
    or of min(T, W) where nothing looks back further than a window W, and works on one new token.
    """
    if workload in ("train", "forward"):
        return _square(graph)
    served = _without_training(graph)
    return _square(served) if workload == "prefill" else _decoding(served)


def _square(graph: Graph) -> Graph:
    """Bind sizes that must be equal, such as T = S."""
    for condition in graph.conditions:
        if condition.kind == "equal" and isinstance(condition.left, Symbol):
            return _square(graph.bind({condition.left.name: condition.right}))
    return graph


def _decoding(graph: Graph) -> Graph:
    keys = [node for node, _ in walk(graph.nodes) if isinstance(node, Node) and isinstance(node.op, Keys)]
    if not keys:
        raise GraphError(
            f"graph {graph.name} cannot be decoded: nothing says which keys are cached",
            expected="keys and values read through b.keys(x, 'S', 'T')",
            got="no such node",
            fix="use the workload forward or prefill",
        )
    windows = _windows(graph, keys)
    tensors = dict(graph.tensors)
    shorter: dict[str, Mapping[str, Expr]] = {}

    def cached(node: Node) -> Node:
        if isinstance(node.op, Keys):
            made = tensors[node.outs[0]]
            name, op = f"{node.label}/cache", Cached(node.op.axis, node.op.name)
            if node.label in windows:
                kept = Min(node.op.length, windows[node.label])
                shorter[name] = {node.op.length.name: kept}
                made = bind_tensor(made, shorter[name])
            tensors[name] = replace(made, name=name, role="cache")
            node = replace(node, op=op, ins=(name, *node.ins))
        return _shortened(node, tensors, shorter)

    nodes = tuple(_rewritten(node, cached) for node in graph.nodes)
    one: dict[str, int | Expr] = {}
    for node in keys:
        assert isinstance(node.op, Keys)
        length = graph.tensors[node.ins[0]].dim(node.op.axis)
        if not isinstance(length, Symbol):
            raise GraphError(
                f"graph {graph.name} cannot be decoded: its sequence length is {length}, no symbol",
                fix="leave the sequence length free and bind the number of keys instead",
            )
        one[length.name] = 1
    conditions = tuple(c for c in graph.conditions if c.kind != "equal")
    return replace(graph, tensors=MappingProxyType(tensors), nodes=nodes, conditions=conditions).bind(one)


def _windows(graph: Graph, keys: Sequence[Node]) -> Mapping[str, Expr]:
    """Return the window of each node of keys or values that nothing looks back on further than a window."""
    nodes = [node for node, _ in walk(graph.nodes) if isinstance(node, Node)]
    found = {}
    for node in keys:
        assert isinstance(node.op, Keys)
        seen = {_window(graph, reader) for reader in nodes if node.outs[0] in reader.ins}
        if len(seen) == 1 and None not in seen and isinstance(node.op.length, Symbol):
            found[node.label] = seen.pop()
    return found


def _window(graph: Graph, reader: Node) -> Expr | None:
    """Return the window of the mask that a reader of keys or values works under."""
    masks = [getattr(reader.op, "mask", None)]
    masks += [graph.tensors[name].mask for name in (*reader.ins, *reader.outs)]
    return next((mask.window for mask in masks if mask is not None), None)


def _shortened(node: Node, tensors: dict[str, Tensor], shorter: dict[str, Mapping[str, Expr]]) -> Node:
    """Return a node with the shorter length of its inputs, and hand it on to what it makes."""
    sizes = next((shorter[name] for name in node.ins if name in shorter), None)
    if sizes is None:
        return node
    for name in node.outs:
        bound = bind_tensor(tensors[name], sizes)
        if bound is not tensors[name]:
            tensors[name], shorter[name] = bound, sizes
    return replace(node, op=node.op.substitute(sizes))


def _rewritten(node: Step_, change: Callable[[Node], Node]) -> Step_:
    if isinstance(node, Node):
        return change(node)
    return replace(node, body=tuple(_rewritten(n, change) for n in node.body))


def _without_training(graph: Graph) -> Graph:
    """Drop dropout, and the loss where it is an output: its logits are returned instead."""
    losses = {
        n.outs[0]: n for n, _ in walk(graph.nodes) if isinstance(n, Node) and isinstance(n.op, CrossEntropy)
    }
    outputs = tuple(losses[name].ins[0] if name in losses else name for name in graph.outputs)
    gone = {losses[name].label for name in graph.outputs if name in losses}
    names: dict[str, str] = {}
    nodes = _dropped(graph.nodes, gone, names)
    read = {name for node, _ in walk(nodes) if isinstance(node, Node) for name in node.ins}
    read |= {str(c.init) for node, _ in walk(nodes) if isinstance(node, Repeat) for c in node.carry}
    inputs = tuple(name for name in graph.inputs if name in read or name in outputs)
    before, after = (_made(part) for part in (graph.nodes, nodes))
    unread = (set(graph.inputs) - set(inputs)) | (before - after)
    return replace(
        graph,
        nodes=nodes,
        outputs=tuple(names.get(name, name) for name in outputs),
        inputs=inputs,
        tensors=MappingProxyType({n: t for n, t in graph.tensors.items() if n not in unread}),
    )


def _made(nodes: tuple[Step_, ...]) -> set[str]:
    return {name for node, _ in walk(nodes) if isinstance(node, Node) for name in node.outs}


def _dropped(nodes: tuple[Step_, ...], gone: set[str], names: dict[str, str]) -> tuple[Step_, ...]:
    kept: list[Step_] = []
    for node in nodes:
        if isinstance(node, Repeat):
            body = _dropped(node.body, gone, names)
            carry = tuple(
                replace(c, init=names.get(str(c.init), c.init), leave=names.get(str(c.leave), c.leave))
                for c in node.carry
            )
            kept.append(replace(node, body=body, carry=carry))
        elif isinstance(node.op, Dropout):
            names[node.outs[0]] = names.get(node.ins[0], node.ins[0])
        elif node.label not in gone:
            kept.append(replace(node, ins=tuple(names.get(name, name) for name in node.ins)))
    return tuple(kept)


def living(graph: Graph) -> tuple[Graph, tuple[str, ...]]:
    """Return the graph without nodes that no output depends on, and the labels of those."""
    needed = set(graph.outputs)
    nodes, dead = _alive(graph.nodes, needed)
    return (replace(graph, nodes=nodes), tuple(dead)) if dead else (graph, ())


def _alive(nodes: tuple[Step_, ...], needed: set[str]) -> tuple[tuple[Step_, ...], list[str]]:
    kept: list[Step_] = []
    dead: list[str] = []
    for node in reversed(nodes):
        if isinstance(node, Node):
            if needed.isdisjoint(node.outs):
                dead.append(node.label)
            else:
                needed.update(node.ins)
                kept.append(node)
            continue
        carried = [c for c in node.carry if c.result in needed]
        if not carried:
            dead.append(node.name)
            continue
        inside = _feeding(node, {str(c.result) for c in carried})
        body, lost = _alive(node.body, inside)
        used = tuple(c for c in node.carry if c.leave in inside and (c.result in needed or c.enter in inside))
        needed.update(str(c.init) for c in used)
        needed.update(inside)
        dead += lost
        kept.append(replace(node, body=body, carry=used))
    return tuple(reversed(kept)), list(reversed(dead)) if len(dead) > 1 else dead


def _feeding(repeat: Repeat, results: set[str]) -> set[str]:
    """Return the leaves that matter: those of needed results, and of carries that these read."""
    leaves = {str(c.leave) for c in repeat.carry if c.result in results}
    while True:
        reached = set(leaves)
        _alive(repeat.body, reached)
        more = leaves | {str(c.leave) for c in repeat.carry if c.enter in reached}
        if more == leaves:
            return leaves
        leaves = more
