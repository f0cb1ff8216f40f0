"""Edges of graphs: words of other libraries, code that asks sizes for numbers, names, decoding."""

import pickle
from dataclasses import replace
from itertools import product

import pytest

from symacct import Builder, derive, graph, load
from symacct.algebra.evaluate import evaluate
from symacct.errors import GraphError, SizeError, UnknownNameError
from symacct.planning.peak_cases import Peaks

SIZES = {"B": "rows", "D": "width", "F": "parts"}


@pytest.mark.parametrize("word", ["unfold", "conv2d", "matmul", "no_such_word"])
def test_hasattr_is_a_plain_no(word):
    b = Builder("net", "B D")
    assert not hasattr(b, word)
    assert getattr(b, word, 3) == 3
    with pytest.raises(UnknownNameError, match="unknown builder method") as caught:
        getattr(b, word)
    assert pickle.loads(pickle.dumps(caught.value)).fix == caught.value.fix  # noqa: S301 (made here)


@pytest.mark.parametrize(
    ("word", "fix"),
    [
        ("conv2d", "einsum"),
        ("Conv1d", "no convolution"),
        ("conv_transpose2d", "no convolution"),
        ("bmm", "einsum"),
        ("permute", "rearrange"),
        ("cat", "concatenate"),
        ("rellu", "did you mean 'relu'"),
        ("layer_norm", "did you mean 'layernorm'"),
    ],
)
def test_a_word_of_another_library_is_answered_with_what_is_written_here(word, fix):
    with pytest.raises(UnknownNameError) as caught:
        getattr(Builder("net", "B D"), word)
    assert fix in caught.value.fix


@pytest.mark.parametrize(
    "ask",
    [
        lambda b, x: b.relu(x) if b.size("B") > b.size("D") else b.tanh(x),
        lambda b, x: b.relu(x) if b.size("B*D") >= 3 else b.tanh(x),
        lambda b, x: next(b.tanh(x) for _ in range(b.size("B"))),
        lambda b, x: next(b.tanh(x) for _ in range(int(b.size("B*D")))),
        lambda b, x: b.scale(x, int(float(b.size("D")))),
        lambda b, x: b.repeat("B", lambda i, x: b.tanh(x) if i > 0 else b.relu(x), x, index="i"),
    ],
)
def test_code_that_asks_a_size_for_a_number_is_told_what_sizes_are(ask):
    @graph(SIZES, tokens="B")
    def net(b):
        return ask(b, b.input("x", "B D"))

    with pytest.raises(GraphError, match="symbol"):
        net()


def test_other_mistakes_keep_their_own_words():
    @graph(SIZES, tokens="B")
    def net(b):
        return b.input("x", "B D") and len(3)

    with pytest.raises(TypeError, match="has no len"):
        net()


@pytest.mark.parametrize("name", ["P_bf16", "V_fp32", "W_mem"])
def test_no_size_is_named_like_a_rate(name):
    with pytest.raises(GraphError, match="times are written with it"):
        Builder("net", f"B {name}")
    with pytest.raises(GraphError, match="times are written with it"):
        Builder("net", "B", where={name: "2*B"})
    Builder("net", "B peak bandwidth P_x")


def served(**choices):
    """Return what a step of decoding costs, one head with K features over T keys."""
    b = Builder("net", {"B": "", "S": "", "T": "", "H": "", "K": "", "W": ""}, tokens="B*S")
    x = b.input("x", "B S H K")
    k = b.keys(x, "S", "T")
    return b.build(b.attention(x, k, k, **choices))


@pytest.mark.parametrize(("fused", "windowed"), [*product((False, True), repeat=2)])
def test_the_query_of_a_step_of_decoding_sees_every_key(fused, windowed):
    net = served(fused=fused, **({"window": "W"} if windowed else {}))
    sizes = {"B": 2, "T": 12, "H": 3, "K": 4, "W": 5}
    account = derive(net, workload="decode", convention="default")
    found = [
        evaluate(derive(net, workload="decode", convention=one)["flops.forward.matmul"].expr, sizes)
        for one in (account.convention, half(account.convention))
    ]
    keys = 5 if windowed else 12
    assert found == [2 * 3 * keys * 2 * (4 + 4)] * 2


def half(convention):
    return replace(convention, attention="half")


def test_in_training_half_of_the_pairs_stays_half():
    net = served()
    full, some = (
        derive(net, convention=one)["flops.forward.matmul"].expr
        for one in (derive(net).convention, half(derive(net).convention))
    )
    assert full == 2 * some


def test_accumulated_inputs_are_said_to_be_one_tensor():
    said = "x is one tensor, which every micro-batch reads"
    many = derive(load("mlp"), accumulate="N", input_grad=True)
    assert any(said in warning for warning in many.warnings)
    for choices in ({"accumulate": "N"}, {"input_grad": True}):
        assert not any(said in warning for warning in derive(load("mlp"), **choices).warnings)


def test_a_peak_asks_for_no_size_that_is_no_size():
    """A quotient that stands for T/c, and does not stand in the peak."""
    account = derive(load("tiled_attention"), workload="forward")
    assert all(set(sizes) <= {*account.graph.order} for _, sizes in Peaks(account).points())


def test_a_peak_of_sizes_with_a_sum_below_a_line():
    b = Builder("net", SIZES, tokens="B")
    net = b.build(b.linear(b.input("x", "B E", E="D/(F - 1)"), "E -> G", G="D"))
    peaks = Peaks(derive(net, precision="fp32"))
    assert [peaks.region(at) for at in range(len(peaks.exprs))]
    for rows, features, parts in product((1, 3), (2, 4, 6), (2, 3)):
        sizes = {"B": rows, "D": features * (parts - 1), "F": parts}
        literal = derive(load_literal(**sizes), precision="fp32")
        assert evaluate(peaks.largest(sizes)[1], sizes) == literal["memory.peak"].expr
    with pytest.raises(SizeError, match="2 does not divide 5"):
        net.bind({"D": 5, "F": 3})


def load_literal(**sizes):
    """Return the same graph with integers in the place of sizes."""
    b = Builder("net", "Z", tokens=sizes["B"])
    x = b.input("x", "B E", B=sizes["B"], E=sizes["D"] // (sizes["F"] - 1))
    return b.build(b.linear(x, "E -> G", G=sizes["D"]))
