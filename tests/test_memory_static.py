"""Static memory by category, precision and optimizer: formulas, rows by tensor, 8-bit states."""

from __future__ import annotations

import math
from itertools import product

import pytest
from decoders import assert_formula
from sympy import Rational

from symacct import Builder, derive, graph, load, precision, prove
from symacct.algebra.normal import same, total
from symacct.execution.states import shapes
from symacct.ops.optimizer import RULES
from symacct.syntax import read_formula

BYTES = {
    "bf16": (2, 2, 0, 4),
    "bf16-master": (2, 2, 4, 4),
    "bf16-master-fp32grad": (2, 4, 4, 4),
    "bf16-pure": (2, 2, 0, 2),
    "fp32": (4, 4, 0, 4),
    "params=fp16,grads=fp16,master=fp32,states=fp32": (2, 2, 4, 4),
    "params=int8,grads=bf16,master=fp32,states=bf16": (1, 2, 4, 2),
    "params=int4": (Rational(1, 2), 2, 0, 4),
}
"""Bytes of a parameter, its gradient, its master copy, and one state; read off the names."""

STATES = {
    "sgd": 0, "momentum": 1, "adagrad": 1, "rmsprop": 1, "adam": 2, "adamw": 2, "amsgrad": 3, "lion": 1,
}  # fmt: skip
"""How many numbers an optimizer keeps for each parameter, by its paper."""

TOTALS = {"bf16": 12, "bf16-master": 16, "bf16-master-fp32grad": 18, "bf16-pure": 8, "fp32": 16}
"""Bytes of a parameter in training with AdamW, as these precisions are known by."""


@graph({"B": "rows", "D": "features", "L": "layers", "V": "words"}, tokens="B")
def mixed(b):
    """A tied table, a frozen layer, a trained one, and L pairs of trained ones, the first with a bias."""
    table = b.weight("table", "V D")
    x = b.embedding(table, b.input("ids", "B", dtype="index"))
    x = b.linear(x, "D -> E", E="D", name="frozen", trainable=False)
    x = b.linear(x, "E -> D", name="back")

    def layer(y):
        y = b.linear(y, "D -> E", E="D", bias=True, name="up")
        return b.linear(y, "E -> D", name="down")

    return b.einsum("B D, V D -> B V", b.repeat("L", layer, x), table, label="head")


def table_of(account, name):
    """Return the bytes of a category by tensor."""
    return {term.label: term.expr for term in account.terms(name)}


def judged(of, claim, **choices):
    """Return the outcome of a claim about a graph under choices."""
    return prove(derive(of, **choices), claim).outcome


# ---- the lecture's chain ----


@pytest.mark.few(4)
@pytest.mark.parametrize(
    ("quantity", "text", "optimizer"),
    [
        ("memory.parameters", "2*D^2*L", "adam"),
        ("memory.activations", "2*B*D*L", "adam"),
        ("memory.gradients", "2*D^2*L", "adam"),
        ("memory.optimizer", "4*D^2*L", "adagrad"),
        ("memory.optimizer", "8*D^2*L", "adam"),
        ("memory.static", "12*D^2*L", "adamw"),
        ("memory.static", "8*D^2*L", "adagrad"),
        ("memory.static", "12*params", "adamw"),
    ],
)
def test_the_table_of_a_chain(quantity, text, optimizer):
    """CS336 (Stanford, spring 2025), lecture 2: parameters, activations, gradients and states of L layers."""
    chain = load("deep_linear")
    verdict = judged(chain, f"{quantity} = {text}", optimizer=optimizer)
    assert verdict == "proved"
    assert judged(chain, f"{quantity} = {text} + D", optimizer=optimizer) == "refuted"


# ---- every precision, every optimizer ----


@pytest.mark.few(34)
@pytest.mark.parametrize(("name", "optimizer"), list(product(BYTES, STATES)))
def test_every_precision_and_optimizer(name, optimizer):
    """Each category is its bytes times the parameters that it is kept for; static memory is their sum."""
    held, trained = "(V*D + D^2 + D^2 + L*(2*D^2 + D))", "(V*D + D^2 + L*(2*D^2 + D))"
    account = derive(mixed, precision=name, optimizer=optimizer)
    weight, grad, master, state = BYTES[name]
    state *= STATES[optimizer]
    assert_formula(account, "memory.parameters", f"{weight}*{held}")
    for item, each in (("gradients", grad), ("master", master), ("optimizer", state)):
        assert_formula(account, f"memory.{item}", f"{each}*{trained}")
    assert_formula(account, "memory.static", f"{weight}*{held} + {grad + master + state}*{trained}")


@pytest.mark.few(1)
@pytest.mark.parametrize(("name", "each"), list(TOTALS.items()))
def test_bytes_of_a_parameter(name, each):
    """12, 16, 18, 8 and 16 bytes with AdamW, proved of a whole decoder, and the next number refuted."""
    for model in ("gpt", "llama"):
        claim = f"memory.static = {each}*params"
        assert judged(load(model), claim, optimizer="adamw", precision=name) == "proved"
        wrong = f"memory.static = {each + 2}*params"
        assert judged(load(model), wrong, optimizer="adamw", precision=name) == "refuted"


def test_equal_totals_are_no_equal_policies():
    """16 bytes come from 4 + 4 + 8 and from 2 + 2 + 4 + 8; the parts tell them apart."""
    one, two = (
        {
            part: derive(load("gpt"), precision=name, optimizer="adamw")[f"memory.{part}"].expr
            for part in PARTS
        }
        for name in ("fp32", "bf16-master")
    )
    assert same(total(one.values()), total(two.values()))
    assert not any(same(one[part], two[part]) for part in ("parameters", "gradients", "master"))
    assert precision("bf16").describe() == "bf16 (no fp32 copy of the parameters)"


PARTS = ("parameters", "gradients", "master", "optimizer")


# ---- rows by tensor ----


def test_rows_name_each_tensor():
    """Each row is one tensor with all its iterations; a frozen one is held and nothing else."""
    account = derive(mixed, precision="bf16-master", optimizer="adamw")
    by_tensor = {part: table_of(account, f"memory.{part}") for part in PARTS}
    assert set(by_tensor["parameters"]) == set(mixed().weights)
    assert set(by_tensor["gradients"]) == set(mixed().weights) - {"frozen/weight"}
    assert by_tensor["gradients"].keys() == by_tensor["optimizer"].keys() == by_tensor["master"].keys()
    for name, size in by_tensor["gradients"].items():
        assert same(by_tensor["optimizer"][name], 4 * size)
        assert same(by_tensor["master"][name], 2 * size)
    rows = account.terms("memory.static")
    assert same(total(row.expr for row in rows), account["memory.static"].expr)
    assert [row.phase for row in rows] == sorted((row.phase for row in rows), key=PARTS.index)
    assert len(rows) == sum(map(len, by_tensor.values()))


def test_a_tied_table_is_held_once():
    """The token table of gpt is the head: one row, one gradient, one pair of states."""
    account = derive(load("gpt"), optimizer="adamw")
    for part in ("parameters", "gradients", "optimizer"):
        labels = [row.label for row in account.terms(f"memory.{part}")]
        assert labels.count("embedding/tokens") == 1
        assert len(labels) == len(set(labels))
    apart = derive(load("llama"), optimizer="adamw")
    assert {"embedding/tokens", "head/logits/weight"} <= set(table_of(apart, "memory.parameters"))


def test_a_weight_that_no_gradient_reaches_has_no_state():
    """A layer after which everything is dropped has parameters alone, and the account says so."""
    b = Builder("lost", "B D")
    x = b.input("x", "B D")
    b.linear(x, "D -> E", E="D", name="unused")
    account = derive(b.build(b.linear(x, "D -> E", E="D", name="used")), optimizer="adam")
    assert_formula(account, "memory.parameters", "4*D^2")
    assert_formula(account, "memory.gradients", "2*D^2")
    assert_formula(account, "memory.optimizer", "8*D^2")
    assert any("unused" in warning for warning in account.warnings)


def test_padding_is_what_the_graph_says():
    """A vocabulary padded to a multiple of 64 or 128 is a larger V: bytes follow it, row by row."""
    account = derive(load("gpt"), optimizer="adamw")
    sizes = {"b": 1, "s": 1024, "a": 12, "h": 768, "L": 12}
    exact, padded = (account.value("memory.static", {**sizes, "V": words}) for words in (50257, 50304))
    assert padded - exact == 12 * 47 * 768


# ---- 8-bit states ----


@pytest.mark.parametrize(
    "sizes",
    [
        {"B": 1, "D": 16, "L": 1, "V": 1},
        {"B": 1, "D": 17, "L": 5, "V": 31},
        {"B": 2, "D": 1, "L": 3, "V": 257},
    ],
)
@pytest.mark.parametrize("name", ["fp32", "bf16-pure", "bf16-master"])
def test_states_in_8_bits(sizes, name):
    """Two bytes a parameter, and for each state one fp32 number for each 256 elements of each tensor, begun.

    Source: bitsandbytes, ``optim/optimizer.py``: uint8 states and ``absmax`` of n // 256 blocks, one more
    where n % 256 > 0. It keeps tensors of fewer than 4096 elements in 32 bits, which is not modelled.
    """
    account = derive(mixed, optimizer="adam8bit", precision=name)
    counts = [math.prod(shape) for shape in shapes(mixed(), sizes)]
    counts.remove(sizes["D"] ** 2)  # the frozen one
    blocks = sum(n // 256 + (n % 256 > 0) for n in counts)
    assert account.value("memory.optimizer", sizes) == 2 * sum(counts) + 2 * 4 * blocks
    adam = derive(mixed, optimizer="adam", precision=name)
    assert same(adam["memory.master"].expr, account["memory.master"].expr)


def test_8_bit_states_as_a_formula():
    """The scales are rows of their own, and 2 bytes a parameter is a lower bound that is nearly all of it."""
    chain = load("deep_linear")
    account = derive(chain, optimizer="adam8bit")
    assert_formula(account, "memory.optimizer", "2*D^2*L + 8*L*ceil(D^2/256)")
    assert list(table_of(account, "memory.optimizer")) == ["layers/w", "layers/w/scales"]
    assert judged(chain, "memory.optimizer >= 2*params", optimizer="adam8bit") == "proved"
    assert judged(chain, "memory.optimizer = 2*params", optimizer="adam8bit") == "refuted"
    assert account.value("memory.optimizer", {"B": 1, "D": 4096, "L": 32}) == Rational(65, 32) * 4096**2 * 32


def test_8_bit_states_move_in_8_bits():
    """Each step reads and writes both states and their scales, and every parameter once."""
    chain = load("deep_linear")
    one, none = (derive(chain, optimizer=name)["bytes.step"].expr for name in ("adam8bit", None))
    moved = derive(chain, optimizer="adam8bit")
    assert_formula(moved, "params", "D^2*L")
    expected = read_formula("(2 + 2 + 2)*D^2*L + 2*(2*D^2*L + 8*L*ceil(D^2/256))", {"D", "L"})
    assert same(one - none, expected)


def test_every_optimizer_is_in_the_table():
    """No optimizer is left out of these tests."""
    assert {*STATES, "adam8bit"} == set(RULES)


# ---- serving ----


@pytest.mark.parametrize("workload", ["forward", "prefill", "decode"])
def test_serving_holds_parameters_and_data(workload):
    """Without a backward pass there are no gradients, master copies or states; inputs are data."""
    account = derive(load("llama"), workload=workload, optimizer=None, precision="bf16-master")
    assert_formula(account, "memory.static", "2*(2*V*D + D + L*(2*D*H*K + 2*D*G*K + 3*D*F + 2*D))")
    assert same(account["memory.static"].expr, account["memory.parameters"].expr)
    assert not any(
        account.has(f"memory.{part}") for part in ("gradients", "master", "optimizer", "activations")
    )
    tokens = {"forward": "16*B*S", "prefill": "8*B*S", "decode": "8*B"}[workload]
    assert_formula(account, "memory.data", tokens)
