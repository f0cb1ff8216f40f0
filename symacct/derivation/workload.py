"""Workloads: the graph that is trained, run forward, prefilled, or decoded one token at a time."""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeGuard

from sympy import Min, Symbol

from symacct.errors import GraphError, SizeError
from symacct.nodes import Carry, Graph, Node, Repeat, Step_, remaining, walk
from symacct.ops.cache import Cached
from symacct.ops.dropout import Dropout
from symacct.ops.loss import CrossEntropy
from symacct.ops.view import Keys, Rearrange
from symacct.printers import text

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


def caches(graph: Graph) -> Graph | None:
    """Return the graph with the caches that a prefill (T = S) leaves behind; None where there are none."""
    return _square(_caching(_without_training(graph), _keys(graph))) if _keys(graph) else None


def _square(graph: Graph) -> Graph:
    """Bind sizes that must be equal, such as T = S.

    Where the left one already stands for something else (T = 2*U), the right one takes that.

    Raises:
        SizeError: what a size stands for makes an equality fail for all sizes.
    """
    for condition in graph.conditions:
        if condition.kind != "equal":
            continue
        if condition.is_impossible():
            raise SizeError(
                f"the sizes of graph {graph.name} cannot be equal",
                where=", ".join(f"{name} = {text(size)}" for name, size in graph.bound.items()),
                expected=condition.text,
                got="sides that differ for all sizes",
                fix="leave one of the two free, or use the workload decode",
            )
        left, right = condition.left, condition.right
        taken = _free(graph, right) and left in graph.bound.values() and not left.has(right)
        for size, other in ((left, right), *(((right, left),) if taken else ())):
            if _free(graph, size):
                return _square(graph.bind({size.name: other}))
    return graph


def _free(graph: Graph, size: Expr) -> TypeGuard[Symbol]:
    return isinstance(size, Symbol) and size.name in graph.order


def _keys(graph: Graph) -> list[Node]:
    return [node for node, _ in walk(graph.nodes) if isinstance(node, Node) and isinstance(node.op, Keys)]


def _decoding(graph: Graph) -> Graph:
    keys = _keys(graph)
    if not keys:
        raise GraphError(
            f"graph {graph.name} cannot be decoded: nothing says which keys are cached",
            expected="keys and values read through b.keys(x, 'S', 'T')",
            got="no such node",
            fix="use the workload forward or prefill",
        )
    one: dict[str, int | Expr] = {}
    for node in keys:
        assert isinstance(node.op, Keys)
        length = graph.tensors[node.ins[0]].dim(node.op.axis)
        tied = [name for name, size in graph.bound.items() if size.has(length)]
        if not _free(graph, length) or tied:
            stands = f"{text(length)}, to which {', '.join(tied)} is bound" if tied else text(length)
            raise GraphError(
                f"graph {graph.name} cannot be decoded: its sequence length is {stands}",
                expected="a size of its own, which is 1 when decoding",
                got=", ".join(f"{name} = {text(graph.bound[name])}" for name in tied) or text(length),
                fix="leave the sequence length free and bind the number of keys instead",
            )
        one[length.name] = 1
    conditions = tuple(c for c in graph.conditions if c.kind != "equal")
    return replace(_caching(graph, keys), conditions=conditions).bind(one)


def _caching(graph: Graph, keys: Sequence[Node]) -> Graph:
    """Return the graph in which keys and values are new tokens at the end of caches."""
    short_of = windows(graph, keys)
    tensors = dict(graph.tensors)
    short: set[str] = set()

    def cached(node: Node) -> Node:
        if isinstance(node.op, Keys):
            made = tensors[node.outs[0]]
            name, op = f"{node.label}/cache", Cached(node.op.axis, node.op.name)
            if node.label in short_of:
                made = _resized(made, node.op.name, Min(node.op.length, short_of[node.label]))
                short.add(name)
            tensors[name] = replace(made, name=name, role="cache")
            node = replace(node, op=op, ins=(name, *node.ins))
        return node if short.isdisjoint(node.ins) else _shortened(node, tensors, short)

    nodes = tuple(_rewritten(node, cached) for node in graph.nodes)
    return replace(graph, tensors=MappingProxyType(tensors), nodes=nodes)


def windows(graph: Graph, keys: Sequence[Node]) -> Mapping[str, Expr]:
    """Return the window of each node of keys or values that nothing looks back on further than a window."""
    nodes = [node for node, _ in walk(graph.nodes) if isinstance(node, Node)]
    found = {}
    for node in keys:
        assert isinstance(node.op, Keys)
        seen = {_window(graph, reader) for reader in nodes if node.outs[0] in reader.ins}
        if len(seen) == 1 and None not in seen:
            found[node.label] = seen.pop()
    return found


def _window(graph: Graph, reader: Node) -> Expr | None:
    """Return the window of the mask that a reader of keys or values works under."""
    masks = [getattr(reader.op, "mask", None)]
    masks += [graph.tensors[name].mask for name in (*reader.ins, *reader.outs)]
    return next((mask.window for mask in masks if mask is not None), None)


def _resized(tensor: Tensor, axis: str, size: Expr) -> Tensor:
    dims = tuple(size if a == axis else d for a, d in zip(tensor.axes, tensor.dims, strict=True))
    return replace(tensor, dims=dims)


def _shortened(node: Node, tensors: dict[str, Tensor], short: set[str]) -> Node:
    """Return a node that reads shorter tensors, and hand the new sizes on to what it makes."""
    ins = [tensors[name] for name in node.ins]
    op = node.op
    if isinstance(op, Rearrange):
        own = {words[0]: dim for words, dim in zip(op.left, ins[0].dims, strict=True) if len(words) == 1}
        op = replace(op, dims=tuple((axis, own.get(axis, dim)) for axis, dim in op.dims))
    for name, made in zip(node.outs, op.infer(*ins), strict=True):
        if made.dims != tensors[name].dims:
            tensors[name] = replace(tensors[name], dims=made.dims)
            short.add(name)
    return replace(node, op=op)


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
        remats=remaining(graph.remats, nodes),
    )


def _made(nodes: tuple[Step_, ...]) -> set[str]:
    return {name for node, _ in walk(nodes) if isinstance(node, Node) for name in node.outs}


def _dropped(nodes: tuple[Step_, ...], gone: set[str], names: dict[str, str]) -> tuple[Step_, ...]:
    kept: list[Step_] = []
    for node in nodes:
        if isinstance(node, Repeat):
            body = _dropped(node.body, gone, names)
            kept.append(replace(node, body=body, carry=_renamed(node.carry, names)))
        elif isinstance(node.op, Dropout):
            names[node.outs[0]] = names.get(node.ins[0], node.ins[0])
        elif node.label not in gone:
            kept.append(replace(node, ins=tuple(names.get(name, name) for name in node.ins)))
    return tuple(kept)


def without_empty(graph: Graph) -> Graph:
    """Return the graph without repeats that run 0 times: their results are what they were given."""
    if not any(isinstance(node, Repeat) and node.count == 0 for node, _ in walk(graph.nodes)):
        return graph
    names: dict[str, str] = {}
    nodes = _skipped(graph.nodes, names)
    return replace(graph, nodes=nodes, outputs=tuple(names.get(name, name) for name in graph.outputs))


def _skipped(nodes: tuple[Step_, ...], names: dict[str, str]) -> tuple[Step_, ...]:
    kept: list[Step_] = []
    for node in nodes:
        if isinstance(node, Node):
            kept.append(replace(node, ins=tuple(names.get(name, name) for name in node.ins)))
        elif node.count == 0:
            names |= {str(c.result): names.get(str(c.init), str(c.init)) for c in node.carry}
        else:
            body = _skipped(node.body, names)
            kept.append(replace(node, body=body, carry=_renamed(node.carry, names)))
    return tuple(kept)


def _renamed(carries: tuple[Carry, ...], names: dict[str, str]) -> tuple[Carry, ...]:
    return tuple(
        replace(c, init=names.get(str(c.init), c.init), leave=names.get(str(c.leave), c.leave))
        for c in carries
    )


def living(graph: Graph) -> tuple[Graph, tuple[str, ...]]:
    """Return the graph without nodes that no output depends on, and the labels of those."""
    needed = set(graph.outputs)
    nodes, dead = _alive(graph.nodes, needed)
    remats = remaining(graph.remats, nodes)
    return (replace(graph, nodes=nodes, remats=remats), tuple(dead)) if dead else (graph, ())


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
