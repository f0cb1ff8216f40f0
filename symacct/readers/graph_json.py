"""Graphs as JSON, and back: the same graph, checked."""

from __future__ import annotations

import json
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from symacct.algebra.condition import WORDS, Condition
from symacct.algebra.symbols import check_name, index_symbol
from symacct.errors import ReadError
from symacct.nodes import Carry, Graph, Node, Remat, Repeat, Step_
from symacct.readers.graph_check import check
from symacct.readers.op_fields import Names, op_data, read_op, written
from symacct.readers.strict_json import parse
from symacct.tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

SCHEMA = "symacct.graph/1"
LARGEST_GRAPH = 16_000_000
KEYS = (
    "schema", "name", "doc", "notes", "sizes", "tokens", "bound", "aliases", "conditions", "inputs",
    "outputs", "trainable", "tensors", "nodes",
)  # fmt: skip
REMATS, LAYERS = "remats", "layers"
"""Keys that a graph without regions that are run again, or without marked layers, may leave out."""

TENSOR_KEYS = ("name", "axes", "dims", "dtype", "role", "path", "mask")
NODE_KEYS = ("op", "fields", "ins", "outs", "label", "of")
REPEAT_KEYS = ("repeat", "index", "lo", "hi", "body", "carry", "sums", "reverse", "of")
DEEPEST_REPEAT = 24


def to_json(graph: Graph) -> str:
    """Return a graph as JSON text, which ``from_json`` reads back to the same graph."""
    return json.dumps(to_data(graph), indent=1, ensure_ascii=False)


def from_json(text: str, where: str = "JSON") -> Graph:
    """Return the graph that a JSON text says.

    Raises:
        SymacctError: it is broken, no graph, or one that is not well formed.
    """
    return from_data(parse(text, where), where)


def to_data(graph: Graph) -> dict[str, Any]:
    """Return a graph as dictionaries, lists, texts and numbers."""
    return {
        "schema": SCHEMA,
        "name": graph.name,
        "doc": graph.doc,
        "notes": list(graph.notes),
        "sizes": dict(graph.sizes),
        "tokens": written(graph.tokens),
        "bound": {name: written(size) for name, size in graph.bound.items()},
        "aliases": {name: written(size) for name, size in graph.aliases.items()},
        "conditions": [[c.kind, written(c.left), written(c.right)] for c in graph.conditions],
        "inputs": list(graph.inputs),
        "outputs": list(graph.outputs),
        "trainable": sorted(graph.trainable),
        "tensors": [{key: written(getattr(t, key)) for key in TENSOR_KEYS} for t in graph.tensors.values()],
        "nodes": [_node_data(node) for node in graph.nodes],
        **({REMATS: [[r.name, list(r.labels), list(r.keep)] for r in graph.remats]} if graph.remats else {}),
        **({LAYERS: list(graph.layers)} if graph.layers else {}),
    }


def _node_data(node: Step_) -> dict[str, Any]:
    if isinstance(node, Node):
        return {**op_data(node.op), **{key: written(getattr(node, key)) for key in NODE_KEYS[2:]}}
    return {
        "repeat": node.name,
        "index": node.index.name,
        "lo": written(node.lo),
        "hi": written(node.hi),
        "body": [_node_data(inner) for inner in node.body],
        "carry": [[c.init, c.enter, c.leave, c.result] for c in node.carry],
        "sums": written(node.sums),
        "reverse": node.reverse,
        "of": node.of,
    }


def from_data(data: Any, where: str) -> Graph:
    """Return the graph that parsed JSON says; see ``from_json``."""
    optional = [key for key in (REMATS, LAYERS) if isinstance(data, dict) and key in data]
    _keys(data, [*KEYS, *optional], where, "the graph")
    if data["schema"] != SCHEMA:
        raise ReadError(
            "the JSON is no graph of this version", where=where, expected=SCHEMA, got=str(data["schema"])[:60]
        )
    sizes = _texts(data["sizes"], where, "sizes")
    indices = frozenset(check_name(name) for name in _indices(data["nodes"], where, 0))
    both = sorted(indices & sizes.keys())
    if both:
        raise ReadError(
            f"the index {both[0]} is also a size", where=where, expected="a name of its own", got=both[0]
        )
    names = Names(frozenset(check_name(size) for size in sizes), indices, where)
    bound = _texts(data["bound"], where, "bound")
    aliases = _texts(data["aliases"], where, "aliases")
    for name in bound:
        if name not in sizes:
            raise ReadError(
                f"{name} is bound and is no size", where=where, expected=", ".join(sizes), got=name
            )
    tensors = [_tensor(item, names) for item in names.items(data["tensors"], "tensors")]
    table = {tensor.name: tensor for tensor in tensors}
    if len(table) != len(tensors):
        twice = sorted(t.name for t in tensors if [other.name for other in tensors].count(t.name) > 1)
        raise ReadError(
            f"the tensor {twice[0]} is given twice", where=where, expected="each name once", got=twice[0]
        )
    graph = Graph(
        names.word(data["name"], "name"),
        MappingProxyType(sizes),
        MappingProxyType(table),
        names.words(data["inputs"], "inputs"),
        tuple(_node(item, names) for item in names.items(data["nodes"], "nodes")),
        names.words(data["outputs"], "outputs"),
        frozenset(names.words(data["trainable"], "trainable")),
        tuple(_condition(item, names) for item in names.items(data["conditions"], "conditions")),
        None if data["tokens"] is None else names.expr(data["tokens"], "tokens"),
        names.word(data["doc"], "doc"),
        MappingProxyType({name: names.expr(size, f"bound, {name}") for name, size in bound.items()}),
        MappingProxyType(
            {check_name(name): names.expr(size, f"aliases, {name}") for name, size in aliases.items()}
        ),
        names.words(data["notes"], "notes"),
        tuple(_remat(item, names) for item in names.items(data.get(REMATS, []), REMATS)),
        names.words(data.get(LAYERS, []), LAYERS),
    )
    return check(graph)


def _keys(data: Any, keys: Iterable[str], where: str, what: str) -> None:
    wanted = list(keys)
    if not isinstance(data, dict) or set(data) != set(wanted):
        got = (
            f"the keys {', '.join(sorted(map(str, data))[:20])}"
            if isinstance(data, dict)
            else type(data).__name__
        )
        raise ReadError(f"{what} has not the keys it needs", where=where, expected=", ".join(wanted), got=got)


def _texts(data: Any, where: str, what: str) -> dict[str, str]:
    if not isinstance(data, dict) or not all(isinstance(value, str) for value in data.values()):
        raise ReadError(f"{what} is not right", where=where, expected="names with texts", got=str(data)[:60])
    return data


def _indices(nodes: Any, where: str, depth: int) -> Iterable[str]:
    """Yield the names of the indices of all repeats."""
    if not isinstance(nodes, list) or depth > DEEPEST_REPEAT:
        raise ReadError(
            "nodes are not right", where=where, expected="a list of nodes and repeats", got=str(nodes)[:60]
        )
    for node in nodes:
        if isinstance(node, dict) and "repeat" in node:
            _keys(node, REPEAT_KEYS, where, "a repeat")
            yield str(node["index"])
            yield from _indices(node["body"], where, depth + 1)


def _tensor(data: Any, names: Names) -> Tensor:
    _keys(data, TENSOR_KEYS, names.where, "a tensor")
    name = names.word(data["name"], "a tensor's name")
    what = f"tensor {name[:60]}"
    return Tensor(
        name,
        names.words(data["axes"], f"{what}, axes"),
        tuple(names.expr(dim, f"{what}, dims") for dim in names.items(data["dims"], f"{what}, dims")),
        names.word(data["dtype"], f"{what}, dtype"),
        names.word(data["role"], f"{what}, role"),
        names.words(data["path"], f"{what}, path"),
        names.mask(data["mask"], f"{what}, mask"),
    )


def _node(data: Any, names: Names) -> Step_:
    if isinstance(data, dict) and "repeat" in data:
        return _repeat(data, names)
    _keys(data, NODE_KEYS, names.where, "a node")
    what = f"node {names.word(data['label'], 'a label')[:60]}"
    return Node(
        read_op(data["op"], data["fields"], names, what),
        names.words(data["ins"], f"{what}, ins"),
        names.words(data["outs"], f"{what}, outs"),
        data["label"],
        names.word(data["of"], f"{what}, of"),
    )


def _repeat(data: Mapping[str, Any], names: Names) -> Repeat:
    name = names.word(data["repeat"], "a repeat's name")
    what = f"repeat {name[:60]}"
    if not isinstance(data["reverse"], bool):
        raise names.wrong(f"{what}, reverse", "true or false", data["reverse"])
    return Repeat(
        name,
        index_symbol(names.word(data["index"], f"{what}, index")),
        names.expr(data["lo"], f"{what}, lo"),
        names.expr(data["hi"], f"{what}, hi"),
        tuple(_node(item, names) for item in names.items(data["body"], what)),
        tuple(Carry(*_ends(item, names, f"{what}, carry")) for item in names.items(data["carry"], what)),
        tuple(_pair(item, names, f"{what}, sums") for item in names.items(data["sums"], what)),
        data["reverse"],
        None if data["of"] is None else names.word(data["of"], f"{what}, of"),
    )


def _ends(data: Any, names: Names, what: str) -> tuple[str | None, ...]:
    ends = names.items(data, what)
    if len(ends) != 4:
        raise names.wrong(what, "init, enter, leave, result", data)
    return tuple(None if end is None else names.word(end, what) for end in ends)


def _pair(data: Any, names: Names, what: str) -> tuple[str, str]:
    pair = names.words(data, what)
    if len(pair) != 2:
        raise names.wrong(what, "two names", data)
    return pair[0], pair[1]


def _remat(data: Any, names: Names) -> Remat:
    if not isinstance(data, list) or len(data) != 3:
        raise ReadError(
            "a region is not right",
            where=names.where,
            expected="its name, labels and what is kept",
            got=str(data)[:60],
        )
    return Remat(
        names.word(data[0], "remats"), names.words(data[1], "remats"), names.words(data[2], "remats")
    )


def _condition(data: Any, names: Names) -> Condition:
    parts = names.items(data, "a condition")
    if len(parts) != 3 or not isinstance(parts[0], str) or parts[0] not in WORDS:
        raise names.wrong("a condition", f"one of {', '.join(WORDS)}, and two formulas", data)
    return Condition(parts[0], names.expr(parts[1], "a condition"), names.expr(parts[2], "a condition"))
