"""Graphs as JSON: the same graph comes back, and anything else is an error that says where."""

from __future__ import annotations

import json
from dataclasses import fields, replace
from types import MappingProxyType

import pytest
from random_graphs import random_graph

from symacct import Builder, derive, load
from symacct.errors import GraphError, SizeError, SymacctError
from symacct.nodes import Carry, Graph, Node, Repeat
from symacct.ops import OPS
from symacct.readers.files import list_graphs, list_models
from symacct.readers.graph_check import check
from symacct.readers.graph_json import SCHEMA, from_data, from_json, to_data, to_json
from symacct.readers.op_fields import READERS
from symacct.tensor import Tensor

SHIPPED = [entry.name for entry in (*list_graphs(), *list_models())]


@pytest.mark.few(6)
@pytest.mark.parametrize("name", SHIPPED)
@pytest.mark.parametrize("symbolic", [False, True])
def test_a_shipped_graph_comes_back(name, symbolic):
    """Every graph and model, bound and symbolic: the same value, the same text again."""
    graph = load(name, symbolic=symbolic)
    text = to_json(graph)
    assert from_json(text) == graph
    assert to_json(from_json(text)) == text


@pytest.mark.few(15)
@pytest.mark.parametrize("seed", range(40))
def test_a_random_graph_comes_back(seed):
    """Nested repeats, indexed sizes, several carries, shared weights, masks."""
    graph = random_graph(seed).graph
    assert from_json(to_json(graph)) == graph


def test_a_graph_that_came_back_costs_the_same(tmp_path):
    """Through a file: one more way to hand a graph to the same account."""
    graph = load("gpt").bind({"L": 3, "V": 11})
    path = tmp_path / "graph.json"
    path.write_text(to_json(graph), encoding="utf-8")
    back = load(str(path))
    for quantity in ("params", "flops.model.all", "bytes.step", "memory.activations"):
        assert derive(back)[quantity] == derive(graph)[quantity]


@pytest.mark.parametrize("op", OPS, ids=lambda op: op.__name__)
def test_every_op_has_codecs_for_its_fields_and_comes_back(op):
    """An op that is added with a new kind of field is noticed here."""
    assert {str(f.type) for f in fields(op)} <= READERS.keys()
    for example in op.examples():
        ins = tuple(replace(t, name=f"x{i}", role="input") for i, t in enumerate(example.ins))
        results = example.op.infer(*ins)
        outs = tuple(replace(t, name=f"y{i}", role="activation") for i, t in enumerate(results))
        table = {t.name: t for t in (*ins, *outs)}
        names = tuple(t.name for t in ins), tuple(t.name for t in outs)
        node = Node(example.op, *names, "node")
        sizes = dict.fromkeys("BSD", "")
        graph = Graph(
            "g", MappingProxyType(sizes), MappingProxyType(table), names[0], (node,), names[1], frozenset()
        )
        assert from_json(to_json(graph)) == graph


JUNK = (None, True, -1, 0, 1.5, "", "x", "B +", "1/0", "9^9^9", [], ["x"], [[]], {}, {"rows": "x"})


def places(data, path=()):
    """Yield the path to every value in parsed JSON."""
    yield path
    items = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for key, value in items:
        yield from places(value, (*path, key))


def changed(data, path, value):
    """Return a copy of parsed JSON with one value replaced."""
    if not path:
        return value
    copy = dict(data) if isinstance(data, dict) else list(data)
    copy[path[0]] = changed(data[path[0]], path[1:], value)
    return copy


@pytest.mark.long
@pytest.mark.parametrize(("name", "step"), [("mlp", 1), ("attention", 4), ("moe", 5)])
def test_one_wrong_value_anywhere_is_an_error_or_another_graph(name, step):
    """Replace every value, one at a time, by junk: always a clear error or a well-formed graph.

    In the larger graphs each value is replaced by every ``step``-th piece of junk, taken in turn.
    """
    data = json.loads(to_json(load(name)))
    refused = accepted = 0
    for number, path in enumerate(places(data)):
        for junk in JUNK[number % step :: step]:
            try:
                graph = from_data(changed(data, path, junk), "here")
            except SymacctError:
                refused += 1
            else:
                assert check(graph) is graph
                accepted += 1
    assert refused > 5 * accepted


def test_a_missing_or_unknown_key_is_an_error():
    """Keys are exactly those of the format, at every level."""
    data = to_data(load("mlp"))
    for path in places(data):
        value = data
        for key in path:
            value = value[key]
        if isinstance(value, dict) and path not in (("sizes",), ("bound",)):
            for broken in (
                {**value, "extra": 1},
                {k: v for k, v in value.items() if k != next(iter(value), None)},
            ):
                if broken != value:
                    with pytest.raises(SymacctError):
                        from_data(changed(data, path, broken), "here")


@pytest.mark.parametrize(
    ("path", "value", "text"),
    [
        (("schema",), "symacct.graph/9",
         "the JSON is no graph of this version\n  where     here\n  expected  symacct.graph/1\n"),
        (("nodes", 0, "body", 0, "op"), "Einsums",
         "unknown op 'Einsums'\n  where     here, node layers/matmul\n  expected  one of: "),
        (("nodes", 0, "body", 0, "fields", "left"), "B D",
         "node layers/matmul, left has a value of the wrong kind\n  where     here\n  expected  a list\n"),
        (("nodes", 0, "body", 0, "fields", "left"), ["B"],
         "the word 'D' of einsum 'B, D E -> B E' stands alone\n  where     here, node layers/matmul\n"),
        (("nodes", 0, "body", 0, "fields", "left"), ["B", "D", "E"],
         "layers/carry.0[B, D] has 2 axes, its part of 'B D E, D E -> B E' has 3"),
        (("nodes", 0, "body", 0, "fields", "left"), ["D", "D"],
         "einsum 'D D, D E -> B E' has a word twice in one part\n  where     here, node layers/matmul\n"),
        (("nodes", 0, "body", 0, "fields", "out"), ["B", "E", "F"],
         "the word 'F' of einsum 'B D, D E -> B E F' stands alone"),
        (("nodes", 0, "body", 0, "fields", "contraction"), False,
         "the flag contraction of einsum 'B D, D E -> B E' is not right\n  where     graph mlp"),
        (("tensors", 0, "dims", 0), "Z", "unknown name 'Z'"),
        (("tensors", 0, "dims", 0), "D", "layers hands on a tensor of another size"),
        (("outputs",), [], "the lists of inputs and outputs are not right"),
        (("outputs",), ["y"], "unknown tensor 'y'"),
        (("trainable",), ["layers.out"], "a tensor cannot be trainable"),
        (("nodes", 0, "carry", 0, 2), None, "a carry has an open end"),
        (("nodes", 0, "index"), "D", "the index D is also a size"),
        (("nodes", 0, "hi"), "-1", "repeat layers cannot run -1 times"),
    ],
)  # fmt: skip
def test_an_error_says_what_is_wrong(path, value, text):
    """A few places, with the words."""
    data = to_data(load("mlp"))
    assert from_data(data, "here") == load("mlp")
    with pytest.raises(SymacctError) as caught:
        from_data(changed(data, path, value), "here")
    assert text in str(caught.value)


# ---- well-formedness ----


def chain(*equations):
    """Return a graph of adds over tensors of one shape: ``("y", "a", "b")`` is y = a + b."""
    b = Builder("chain", {"N": "elements"})
    x = b.input("x", "N")
    b.relu(x, label="made")
    made = b.build(b.relu(x, label="out")).nodes[0]
    table = {"x": Tensor("x", x.axes, x.dims, role="input")}
    nodes = []
    for out, *ins in equations:
        table[out] = Tensor(out, x.axes, x.dims)
        op = made.op if len(ins) == 1 else type(made.op)("add")
        nodes.append(Node(op, tuple(ins), (out,), f"node_{out}"))
    sizes = MappingProxyType({"N": "elements"})
    return Graph(
        "chain", sizes, MappingProxyType(table), ("x",), tuple(nodes), (equations[-1][0],), frozenset()
    )


def problem(graph):
    with pytest.raises(SymacctError) as caught:
        check(graph)
    return caught.value


def test_a_cycle_is_refused_with_the_nodes_on_it():
    """Two nodes that wait for each other, one that waits for itself, three in a ring."""
    assert check(chain(("a", "x"), ("b", "a", "x"), ("c", "b", "a")))
    error = problem(chain(("a", "x", "b"), ("b", "a"), ("c", "a")))
    assert error.what == "the graph has a cycle"
    assert error.got == "node_a -> node_b -> node_a"
    assert problem(chain(("a", "a", "x"))).got == "node_a -> node_a"
    ring = problem(chain(("a", "c"), ("b", "a", "x"), ("c", "b")))
    assert ring.got == "node_a -> node_b -> node_c -> node_a"


def test_a_reading_before_the_making_is_no_cycle():
    """The same nodes have an order; they only do not stand in it."""
    error = problem(chain(("b", "a"), ("a", "x"), ("c", "b")))
    assert error.what == "node_b reads a before it is made"
    assert error.expected == "the maker of a first"


def test_a_cycle_through_a_repeat():
    """A body reads what is made of the repeat's own result."""
    b = Builder("loop", {"N": "elements", "L": "times"})
    x = b.input("x", "N")
    y = b.relu(x, label="early")
    z = b.repeat("L", lambda c: b.elementwise("add", c, y, label="sum"), x)
    graph = b.build(b.relu(z, label="late"))
    assert check(graph)
    early, loop, late = graph.nodes
    body = tuple(replace(node, ins=(node.ins[0], "late")) for node in loop.body)
    error = problem(replace(graph, nodes=(early, replace(loop, body=body), late)))
    assert error.what == "the graph has a cycle"
    assert error.got == "layers -> late -> layers"


def test_names_are_made_once():
    """Two nodes of one name, two makers of one tensor, a tensor that nobody makes."""
    graph = chain(("a", "x"), ("b", "a"))
    first, second = graph.nodes
    assert (
        problem(replace(graph, nodes=(first, replace(second, label="node_a")))).what
        == "the name node_a is given twice"
    )
    assert problem(replace(graph, nodes=(first, replace(second, outs=("a",))))).what == "a is made twice"
    assert problem(replace(graph, nodes=(first,))).what == "nobody makes b"


def test_a_repeat_keeps_its_scope():
    """What a body makes stays in it, and what it hands on is its own."""
    graph = load("mlp")
    (loop,) = graph.nodes
    carry = loop.carry[0]
    inner = loop.body[0].outs[0]
    assert "lives in a repeat" in problem(replace(graph, outputs=(inner,))).what
    wrong = replace(loop, carry=(Carry(carry.init, carry.enter, "x", carry.result),))
    assert problem(replace(graph, nodes=(wrong,))).what == "the body of layers does not make x"
    moved = replace(graph.tensors[inner], path=())
    tensors = MappingProxyType({**graph.tensors, inner: moved})
    assert "in another place than it lives" in problem(replace(graph, tensors=tensors)).what
    strange = replace(graph.tensors[inner], path=("elsewhere",))
    tensors = MappingProxyType({**graph.tensors, inner: strange})
    assert problem(replace(graph, tensors=tensors)).what == "a tensor lives in repeats that are not there"


def test_shapes_are_those_of_the_ops():
    """A table that says another size, axis or dtype than the op makes is refused, and so is a wrong arity."""
    graph = load("linear")
    (node,) = graph.nodes
    out = graph.tensors[node.outs[0]]
    for change in ({"dims": (*out.dims[:1], out.dims[0])}, {"axes": ("B", "Z")}, {"dtype": "fp32"}):
        tensors = MappingProxyType({**graph.tensors, out.name: replace(out, **change)})
        assert problem(replace(graph, tensors=tensors)).what == f"Einsum makes another tensor than {out.name}"
    error = problem(replace(graph, nodes=(replace(node, ins=node.ins[:1]),)))
    assert isinstance(error, GraphError)
    assert error.where == f"graph linear, node {node.label}"


def test_a_product_without_a_sum_is_no_contraction():
    """The flag says what the words say, in a graph that no gradient is in."""
    b = Builder("outer", {"B": "rows", "K": "columns"})
    graph = b.build(b.einsum("B, K -> B K", b.input("x", "B"), b.weight("w", "K")))
    data = to_data(graph)
    assert from_data(data, "here") == graph
    with pytest.raises(GraphError, match="the flag contraction of einsum 'B, K -> B K' is not right"):
        from_data(changed(data, ("nodes", 0, "fields", "contraction"), value=True), "here")


def test_a_rule_that_makes_no_tensor_is_refused():
    """A field that gives the result an axis without a size is an error, not a crash while it is told."""
    b = Builder("split", {"B": "rows", "H": "heads", "K": "features"})
    graph = b.build(b.rearrange("B (H K) -> B H K", b.input("x", "B E", E="H*K"), label="heads"))
    data = to_data(graph)
    for names in (["B", "H"], ["B", "H", "K", "K"], ["B", "H", "H"]):
        with pytest.raises(GraphError, match="Rearrange makes no tensor of its inputs") as caught:
            from_data(changed(data, ("nodes", 0, "fields", "names"), names), "here")
        assert caught.value.where == "graph split, node heads"


def test_a_rearrangement_keeps_every_element():
    """The groups of both sides are the same axes, and those of the left have the sizes of the input."""
    b = Builder("split", {"H": "heads", "K": "features"})
    graph = b.build(b.rearrange("(H K) -> H K", b.input("x", "E", E="H*K"), label="heads"))
    data, fields_ = to_data(graph), ("nodes", 0, "fields")
    assert from_data(data, "here") == graph
    for key, value in (
        ("left", [["H", "K", "K"]]), ("left", [["H"]]), ("right", [["H"], ["Z"]]), ("dims", [["H", "H"]]),
    ):  # fmt: skip
        with pytest.raises(GraphError, match="the sides of a rearrangement must have the same axes"):
            from_data(changed(data, (*fields_, key), value), "here")
    with pytest.raises(SizeError, match="the groups of a rearrangement do not fit x"):
        from_data(changed(data, (*fields_, "dims"), [["H", "H"], ["K", "2*K"]]), "here")


def test_the_schema_is_stated():
    """A file says what it is, so that a configuration is never taken for a graph."""
    assert to_data(load("dot"))["schema"] == SCHEMA
    assert isinstance(load("mlp").nodes[0], Repeat)
