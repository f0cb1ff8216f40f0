"""Bytes moved where a part of the graph runs again: against enumeration, and in order among the accounts."""

from random import Random

import pytest
from bytes_oracle import Enumeration
from random_graphs import random_graph
from test_memory_small import growing

from symacct.account import derive
from symacct.algebra.evaluate import evaluate
from symacct.build import Builder
from symacct.convention import convention
from symacct.errors import RuleError
from symacct.evaluation.operations import operations
from symacct.nodes import Node, Repeat, walk
from symacct.readers.files import load
from symacct.terms import moved

ACCOUNTS = ("compulsory", "fused", "algorithmic", "issued")
CUTS = ("every:1", "every:2", "every:3:full", "store-nothing", "sqrt")
SHIPPED = {
    "mlp": {"B": 3, "D": 4},
    "deep_linear": {"B": 3, "D": 4},
    "gpt": {"b": 2, "s": 4, "a": 2, "h": 4, "V": 7},
    "llama": {"B": 2, "S": 4, "D": 4, "F": 6, "H": 2, "G": 1, "K": 2, "V": 5},
}


def account(graph, policy, moves):
    return derive(graph, checkpoint=policy, precision="fp32", convention=convention("default", bytes=moves))


def nbytes(of, phase, *, written, sizes):
    """Return the bytes of a phase in one direction at sizes."""
    terms = moved(of.traffic, of.policy, phase, written=written)
    return sum(evaluate(term.expr, sizes) for term in terms)


def held(of, sizes):
    return all(one.holds(sizes) for one in of["bytes.step"].when)


def agrees(graph, policy, oracle, sizes):
    """Compare every account with the enumeration at sizes; return how many were compared."""
    seen = 0
    for moves in ACCOUNTS[1:]:
        of = account(graph, policy, moves)
        if held(of, sizes):
            mine = tuple(nbytes(of, "recompute", written=flag, sizes=sizes) for flag in (False, True))
            assert mine == oracle.again(moves), (moves, policy, sizes)
            if moves == "fused":
                written = nbytes(of, "forward", written=True, sizes=sizes)
                assert written == oracle.forward_written(), (policy, sizes)
            seen += 1
    try:
        of = account(graph, policy, "compulsory")
        rows = [row for row in of.traffic if row.phase in ("backward", "recompute") and not row.written]
    except RuleError as error:
        if "which iterations" not in error.what:
            raise
        return seen
    if held(of, sizes):
        for name, whole in oracle.touched(again=True).items():
            mine = [
                evaluate(r.elements, sizes) * of.policy.nbytes(r.dtype, r.role)
                for r in rows
                if r.tensor == name
            ]
            assert sum(mine) == whole, (name, policy, sizes)
        seen += 1
    return seen


def enumerated(graph, policy):
    return Enumeration(derive(graph, checkpoint=policy, precision="fp32"), {})


@pytest.mark.few(2)
@pytest.mark.parametrize("name", SHIPPED)
@pytest.mark.parametrize(
    "policy", [*CUTS, "selective:core", "selective:ffn+core:full", "selective:attention_norm"]
)
def test_shipped_graphs_agree_with_enumeration(name, policy):
    """With the count bound, and as formulas in the count where they hold."""
    graph = load(name)
    labels = {part for node, _ in walk(graph.nodes) for part in node.label.split("/")}
    if policy.startswith("selective") and not {*policy.split(":")[1].split("+")} <= labels:
        return
    for count in (1, 2, 4, 7) if name in ("mlp", "deep_linear") else (3,):
        bound = graph.bind({**SHIPPED[name], "L": count})
        oracle = enumerated(bound, policy)
        assert agrees(bound, policy, oracle, {}) >= 3
        agrees(graph.bind(SHIPPED[name]), policy, oracle, {"L": count})


@pytest.mark.parametrize(("name", "count", "length"), [("mlp", 6, 2), ("deep_linear", 12, 3), ("mlp", 9, 3)])
def test_formulas_in_the_length_of_a_segment(name, count, length):
    """The length is a symbol: the formulas at an integer are what the integer gives."""
    oracle = enumerated(load(name).bind({**SHIPPED[name], "L": count}), f"every:{length}")
    assert agrees(load(name).bind(SHIPPED[name]), "every:k", oracle, {"L": count, "k": length}) >= 3


@pytest.mark.few(3)
@pytest.mark.parametrize("seed", range(12))
def test_random_graphs_agree_with_enumeration(seed):
    """Nested repeats, several carries, views, slices and lookups; and the accounts are in order."""
    drawn, dice = random_graph(seed), Random(seed)
    bound = drawn.graph.bind(drawn.sizes)
    living = derive(bound).graph.nodes
    parts = sorted(
        {part for node, _ in walk(living) if isinstance(node, Node) for part in node.label.split("/")}
    )
    policies = ["selective:" + "+".join(dice.sample(parts, min(3, len(parts))))]
    if any(isinstance(node, Repeat) for node in living):
        policies += dice.sample(CUTS, 2)
    for policy in policies:
        agrees(bound, policy, enumerated(bound, policy), {})
        in_order(bound, policy)


@pytest.mark.few(2)
@pytest.mark.parametrize("keep", [(), ("up/matmul",), ("exp",), ("up/matmul", "tanh")])
def test_regions_of_the_graph_itself(keep):
    """What is kept in a region is not run again, and ends no run; forward writes it."""
    b = Builder("own", "B D F L")

    def inner(x):
        h = b.tanh(b.linear(x, "D -> F", name="up"))
        return b.linear(b.square(b.add(b.exp(h), h)), "F -> D", name="down")

    x = b.input("x", "B D", grad=True)
    again = b.repeat("L", lambda x: b.add(x, b.remat(inner, x, name="ffn", keep=keep)), x)
    graph = b.build(again).bind({"B": 2, "D": 3, "F": 4})
    for count in (2, 5):
        oracle = enumerated(graph.bind({"L": count}), "none")
        assert agrees(graph.bind({"L": count}), "none", oracle, {}) >= 3
        agrees(graph, "none", oracle, {"L": count})


@pytest.mark.few(1)
@pytest.mark.parametrize("policy", ["every:2", "store-nothing", "store-nothing:full"])
def test_sizes_that_grow_from_iteration_to_iteration(policy):
    """What an op moves is summed over the iterations in which it runs again."""
    graph = growing().bind({"B": 2, "D": 3})
    for count in (4, 6):
        oracle = enumerated(graph.bind({"L": count}), policy)
        assert agrees(graph.bind({"L": count}), policy, oracle, {}) >= 3
        assert agrees(graph, policy, oracle, {"L": count}) >= 3


def in_order(graph, policy):
    """Check compulsory <= fused <= algorithmic <= issued, and that a run to the end moves no less."""
    each = [account(graph, policy, moves) for moves in ACCOUNTS]
    for name in ("forward", "backward", "step"):
        found = [of[f"bytes.{name}"].expr for of in each]
        assert found == sorted(found), (policy, name)
    if policy.startswith("selective"):
        for moves in ACCOUNTS:
            needed, full = (
                account(graph, p, moves)["bytes.backward"].expr for p in (policy, f"{policy}:full")
            )
            assert needed <= full, (policy, moves)


def activated():
    """``exp``, then a square, between two products, in a region ``act``."""
    b = Builder("activated", "B D E F")
    h = b.einsum("B D, D E -> B E", b.input("x", "B D"), b.weight("one", "D E"), label="up")
    with b.region("act"):
        out = b.square(b.exp(h))
    return b.build(b.einsum("B E, E F -> B F", out, b.weight("two", "E F"), label="down"))


def rows(of, phase):
    """The rows of a phase without zeros: label, tensor, written, elements."""
    found = [(r.label, r.tensor, r.written, str(r.elements)) for r in of.traffic if r.phase == phase]
    return [row for row in found if row[-1] != "0"]


def test_a_run_by_hand():
    """Backward of ``exp`` and of the square read the result of ``exp``; that of the product reads the square.

    Without a checkpoint forward writes both. With one it writes the square alone, which the product outside
    reads; the recomputation ends before the square, reads what ``exp`` reads, and writes its result.
    """
    graph, act = activated(), "act/exp .. act/square"
    plain = [row for row in rows(account(graph, "none", "fused"), "forward") if row[0] == act]
    assert plain == [
        (act, "up", False, "B*E"),
        (act, "act/exp", True, "B*E"),
        (act, "act/square", True, "B*E"),
    ]
    of = account(graph, "selective:act", "fused")
    assert [row for row in rows(of, "forward") if row[0] == act] == [plain[0], plain[2]]
    assert rows(of, "recompute") == [("act/exp", "up", False, "B*E"), ("act/exp", "act/exp", True, "B*E")]
    full = account(graph, "selective:act:full", "fused")
    assert rows(full, "recompute") == plain[:2]
    assert rows(full, "forward") == rows(of, "forward")
    assert rows(account(graph, "selective:act", "compulsory"), "recompute") == []


def test_what_enters_a_segment_is_written():
    """A region within a run: what it reads is kept for it, and so written, where it was not before."""
    b = Builder("within", "B D E F")
    h = b.einsum("B D, D E -> B E", b.input("x", "B D"), b.weight("one", "D E"), label="up")
    a = b.scale(h, 2)
    with b.region("act"):
        out = b.square(b.exp(a))
    graph = b.build(b.einsum("B E, E F -> B F", out, b.weight("two", "E F"), label="down"))
    written = [
        [row[1] for row in rows(account(graph, policy, "fused"), "forward") if row[2]]
        for policy in ("none", "selective:act")
    ]
    assert written == [["up", "act/exp", "act/square", "down"], ["up", "scale", "act/square", "down"]]


def test_weights_that_backward_does_not_read():
    """A recomputation touches the bias again, and a stacked one in all iterations but those not reached."""
    b = Builder("biased", "B D L")

    def layer(x):
        y = b.einsum("B D, D E -> B E", x, b.weight("w", "D E", E="D"))
        return b.relu(b.add(y, b.weight("bias", "E", E="D")))

    graph = b.build(b.repeat("L", layer, b.input("x", "B D")))
    again = rows(account(graph, "every:2", "compulsory"), "recompute")
    assert ("recompute", "layers/bias", False, "D*L") in again


@pytest.mark.parametrize(
    ("policy", "touched"),
    [("every:k", "D*L - D*L/k"), ("every:2", "D*L/2"), ("store-nothing", "D*L - D"), ("every:2:full", "D*L")],
)
def test_weights_that_are_not_reached(policy, touched):
    """A bias at the end of a layer is not read again where a segment ends: backward does not need the sum."""
    b = Builder("straight", "B D L")

    def layer(x):
        y = b.einsum("B D, D E -> B E", x, b.weight("w", "D E", E="D"))
        return b.add(y, b.weight("bias", "E", E="D"))

    graph = b.build(b.repeat("L", layer, b.input("x", "B D", grad=True)))
    again = [
        row for row in rows(account(graph, policy, "compulsory"), "recompute") if row[1] == "layers/bias"
    ]
    assert [row[-1] for row in again] == [touched]


def test_a_weight_touched_in_some_iterations_is_refused_or_bound():
    """The last product of a segment is not reached: whether the first weight is touched depends."""
    graph = load("deep_linear")
    with pytest.raises(RuleError, match="in which iterations") as caught:
        account(graph, "every:k", "compulsory")["bytes.backward"]
    assert "bind the length" in str(caught.value)
    one, three = (account(graph, f"every:{k}", "compulsory")["bytes.backward.read"].expr for k in (1, 3))
    assert str(three - one) == "4*D**2"
    whole = account(graph, "every:k", "compulsory")
    plain = account(graph, "none", "compulsory")
    assert whole["bytes.forward"].expr == plain["bytes.forward"].expr
    assert whole["bytes.step"].expr == plain["bytes.step"].expr


def test_a_roofline_joins_the_work_and_the_bytes_of_a_run():
    """A run that runs again is one op, with the work of all its nodes; nothing of either is lost."""
    sizes = {**SHIPPED["gpt"], "L": 4}
    of = account(load("gpt").bind(sizes), "every:2", "fused")
    found = operations(of, step=True)
    assert sum(op.flops for op in found) == of["flops.hardware.all"].expr
    assert sum(op.moved for op in found) == of["bytes.step"].expr
    again = {row.label for row in of.traffic if row.phase == "recompute"}
    mine = [op for op in found if op.phase == "backward" and op.label in again]
    assert {op.label for op in mine} == again
    assert all(op.flops and op.moved for op in mine)
