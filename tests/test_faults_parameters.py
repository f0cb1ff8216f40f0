"""Wrong numbers that people met with parameters: embeddings, tied and shared weights, experts.

Each test carries a public case and other sizes; the source stands in its docstring.
"""

from __future__ import annotations

import pytest
from decoders import assert_formula, at, inputs, part

from symacct import Builder, derive, graph, load
from symacct.convention import convention
from symacct.readers.configs import read_config
from symacct.readers.decoder import decoder_graph

MIXTRAL = {
    "model_type": "mixtral", "vocab_size": 32000, "hidden_size": 4096, "num_hidden_layers": 32,
    "intermediate_size": 14336, "num_attention_heads": 32, "num_key_value_heads": 8,
    "num_local_experts": 8, "num_experts_per_tok": 2,
}  # fmt: skip


def model(**config):
    return derive(decoder_graph(read_config(config, "model", "config.json")))


def gpt2(tied, **sizes):
    return model(model_type="gpt2", n_head=12, n_positions=1024, tie_word_embeddings=tied, **sizes)


# ---- embeddings ----


@pytest.mark.parametrize(("vocabulary", "width"), [(32000, 2048), (101, 24)])
def test_tying_changes_parameters_and_no_work(vocabulary, width):
    """The head costs 131,072,000 FLOP a token, tied or not: https://github.com/huggingface/trl/pull/6731."""
    config = {
        "model_type": "llama", "vocab_size": vocabulary, "hidden_size": width, "num_hidden_layers": 2,
        "intermediate_size": 5, "num_attention_heads": 2,
    }  # fmt: skip
    tied, untied = (model(**config, tie_word_embeddings=flag) for flag in (True, False))
    for quantity in ("flops.forward", "flops.model", "flops.forward.all"):
        assert (tied[quantity] - untied[quantity]).expr == 0
    assert (untied["params"] - tied["params"]).expr == vocabulary * width
    for account in (tied, untied):
        assert at(account, "flops.forward", "head/", B=1, S=1) == 2 * vocabulary * width
    both = tied["flops.model.all"] - untied["flops.model.all"]
    assert both.expr == vocabulary * width, "the two gradients of a tied table are added"


@pytest.mark.parametrize(("rows", "width", "tokens"), [(300, 20, 100), (7, 5, 3)])
def test_a_lookup_reads_rows_and_computes_nothing(rows, width, tokens):
    """6,000 multiply-adds were said of a table of 300 by 20: https://github.com/TylerYep/torchinfo/pull/34."""
    b = Builder("lookup", {"N": "tokens"}, tokens="N")
    table = b.weight("table", "V D", V=rows, D=width)
    built = b.build(b.embedding(table, b.input("ids", "N", dtype="index")))
    account = derive(built, precision="fp32", sizes={"N": tokens})
    assert account.value("flops.forward.all") == account.value("flops.model") == 0
    (read,) = [term for term in account.terms("bytes.forward.read") if " table " in term.note]
    assert read.expr == tokens * width * 4
    assert account.value("params") == rows * width
    one_hot = derive(built, convention=convention(embedding="matmul"), sizes={"N": tokens})
    assert one_hot.value("flops.forward") == 2 * tokens * rows * width


@pytest.mark.parametrize(("vocabulary", "width", "tokens"), [(128256, 4096, 1), (128256, 4096, 7), (9, 5, 3)])
def test_the_backward_pass_of_a_lookup_adds_rows(vocabulary, width, tokens):
    """4,096 additions a token, not a product with the vocabulary: https://github.com/pytorch/torchtitan/pull/274."""
    sizes = {"B": 1, "S": tokens, "L": 1, "D": width, "F": 2, "H": 1, "G": 1, "K": 2, "V": vocabulary}
    account = derive(load("llama"))
    assert at(account, "flops.backward.all", "embedding/token", **sizes) == width * tokens
    assert at(account, "flops.backward", "embedding/", **sizes) == 0


# ---- weights that are shared ----


@pytest.mark.parametrize(("layers", "width", "vocabulary"), [(12, 768, 50257), (3, 24, 101)])
def test_a_tied_head_is_counted_once(layers, width, vocabulary):
    """163,037,184 were said of 124,439,808: https://github.com/huggingface/transformers/issues/14960."""
    sizes = {"n_layer": layers, "n_embd": width, "vocab_size": vocabulary}
    tied = gpt2(tied=True, **sizes)["params"].expr
    assert tied == vocabulary * width + 1024 * width + layers * (12 * width**2 + 13 * width) + 2 * width
    assert gpt2(tied=False, **sizes)["params"].expr == tied + vocabulary * width
    assert layers != 12 or (tied, tied + vocabulary * width) == (124_439_808, 163_037_184)


@pytest.mark.parametrize(("layers", "width", "vocabulary"), [(12, 768, 50304), (2, 16, 11)])
def test_total_tied_and_inner_parameters_stand_side_by_side(layers, width, vocabulary):
    """162 million is right where the head is untied: https://github.com/KellerJordan/modded-nanogpt/issues/26."""

    @graph({"N": "tokens", "D": "features", "L": "layers", "V": "vocabulary"}, tokens="N")
    def speedrun(b):
        def block(x):
            for name in "qkvo":
                x = b.einsum("N D, D E -> N E", x, b.weight(name, "D E", E="D"))
            x = b.linear(b.linear(x, "E -> F", F="4*D", name="up"), "F -> D", name="down")
            for name in ("first", "second", "third"):
                x = x * b.weight(f"{name}_scale", "")
            return x

        x = b.embedding(b.weight("table", "V D"), b.input("ids", "N", dtype="index"))
        return b.linear(b.repeat("L", block, x), "D -> V", name="head")

    sizes = {"N": 1, "D": width, "L": layers, "V": vocabulary}
    account = derive(speedrun)
    assert_formula(account, "params", "2*V*D + L*(12*D^2 + 3)")
    assert_formula(account, "params.nonembedding", "V*D + L*(12*D^2 + 3)")
    assert account.value("params", sizes) == 2 * vocabulary * width + layers * (12 * width**2 + 3)
    assert layers != 12 or account.value("params", sizes) == 162_201_636


@pytest.mark.parametrize(("blocks", "width"), [(3, 4), (5, 7)])
def test_a_shared_activation_has_no_parameters(blocks, width):
    """160 were said of 120: https://github.com/TylerYep/torchinfo/pull/396."""
    b, x = inputs(x={"B": 2, "D": width})
    for block in range(blocks):
        x = b.relu(b.linear(x, "D -> E", E=width, bias=True, name=f"first{block}"))
        x = b.relu(b.linear(x, "E -> D", D=width, bias=True, name=f"second{block}"))
    account = derive(b.build(x))
    assert account.value("params") == blocks * 2 * (width**2 + width)
    assert {term.label.rpartition("/")[2] for term in account.terms("params")} == {"weight", "bias"}
    assert (blocks, width) != (3, 4) or account.value("params") == 120


@pytest.mark.parametrize(("uses", "width", "rows"), [(3, 100, 1), (5, 6, 4)])
def test_uses_multiply_work_and_not_weights(uses, width, rows):
    """180,000 FLOP were said of 60,000: https://github.com/deepspeedai/DeepSpeed/issues/7256."""

    @graph({"B": "rows", "D": "features", "L": "uses"}, tokens="B")
    def shared(b):
        w = b.weight("w", "D E", E="D")
        return b.repeat("L", lambda x: b.einsum("B D, D E -> B E", x, w, label="use"), b.input("x", "B D"))

    @graph({"B": "rows", "D": "features"}, tokens="B")
    def listed(b):
        w, x = b.weight("w", "D E", E="D"), b.input("x", "B D")
        for place in range(uses):
            x = b.einsum("B D, D E -> B E", x, w, label=f"use{place}")
        return x

    once, sizes = derive(listed), {"B": rows, "D": width}
    for account, at_ in ((derive(shared), {**sizes, "L": uses}), (once, sizes)):
        assert account.value("params", at_) == width**2
        assert account.value("params.matmul", at_) == uses * width**2
        assert account.value("flops.forward", at_) == uses * 2 * rows * width**2
        assert account.value("flops.model", at_) == (6 * uses - 2) * rows * width**2
        summed = account.value("flops.model.all", at_) - account.value("flops.model", at_)
        assert summed == (uses - 1) * width**2, "the gradients of the uses are added"


@pytest.mark.parametrize(("vocabulary", "width"), [(50304, 2048), (11, 8)])
def test_a_model_counts_a_tied_table_once_whatever_holds_it(vocabulary, width):
    """Two stages may hold a copy each; the model has one: https://github.com/bigscience-workshop/Megatron-DeepSpeed/issues/99."""
    sizes = {"b": 1, "s": 16, "a": 2, "h": width, "L": 1, "V": vocabulary}
    account = derive(load("gpt")).bind(sizes)
    (table,) = [term for term in account.terms("params") if term.label == "embedding/tokens"]
    assert table.expr == vocabulary * width
    assert account.value("params") == table.expr + 16 * width + 12 * width**2 + 15 * width
    assert (vocabulary, width) != (50304, 2048) or table.expr == 103_022_592


# ---- experts ----


@pytest.mark.parametrize(
    ("experts", "chosen", "width", "hidden"), [(8, 2, 4096, 14336), (64, 6, 24, 10), (4, 4, 3, 5)]
)
def test_experts_multiply_parameters_and_choices_multiply_work(experts, chosen, width, hidden):
    """704,708,608 FLOP a token, router included: https://github.com/AI-Hypercomputer/maxtext/pull/678."""
    sizes = {"B": 1, "S": 1, "D": width, "F": hidden, "E": experts, "k": chosen}
    account = derive(load("moe"), workload="forward")
    assert account.value("flops.forward", sizes) == chosen * 6 * width * hidden + 2 * width * experts
    assert account.value("params", sizes) == experts * 3 * width * hidden + width * experts
    assert account.value("params.active", sizes) == chosen * 3 * width * hidden + width * experts
    assert width != 4096 or account.value("flops.forward", sizes) == 704_708_608


@pytest.mark.parametrize(
    "change",
    [{}, {"num_local_experts": 4}, {"num_experts_per_tok": 3}, {"num_hidden_layers": 5, "hidden_size": 2048}],
)
def test_all_parameters_and_active_ones_are_two_numbers(change):
    """46,702,792,704 and 12,879,925,248: https://github.com/PrimeIntellect-ai/prime-rl/issues/778."""
    config = {**MIXTRAL, **change}
    v, d, layers, f, experts, chosen = (
        config[key]
        for key in (
            "vocab_size", "hidden_size", "num_hidden_layers", "intermediate_size", "num_local_experts",
            "num_experts_per_tok",
        )
    )  # fmt: skip

    def count(used):
        head = d // 32
        return (
            2 * v * d + layers * (2 * d * d + 2 * d * 8 * head + used * 3 * d * f + d * experts + 2 * d) + d
        )

    account = model(**config)
    assert account.value("params") == count(experts)
    assert account.value("params.active") == count(chosen)
    assert change or (count(experts), count(chosen)) == (46_702_792_704, 12_879_925_248)
    per_token = account.value("flops.forward", {"B": 1, "S": 1}) - at(
        account, "flops.forward", "layers/attention/core", B=1, S=1
    )
    assert per_token == 2 * (count(chosen) - v * d - (2 * layers + 1) * d)


@pytest.mark.parametrize(("experts", "chosen", "tokens"), [(64, 6, 32), (64, 6, 5), (8, 2, 1)])
def test_the_experts_that_are_read_are_bounded_by_the_choices(experts, chosen, tokens):
    """Which experts a batch touches depends on data: at most min(E, choices), at least k.

    https://github.com/AMD-Ecosystem/llama.cpp/pull/50
    """
    account = derive(load("moe"), workload="forward", convention=convention(bytes="compulsory"))
    sizes = {"B": 1, "S": tokens, "D": 4, "F": 3, "E": experts, "k": chosen}
    (read,) = [t for t in account.bind(sizes).terms("bytes.forward.read") if " gate/weight " in t.note]
    assert read.note == "reads gate/weight (bf16, at most)"
    touched = read.expr / (2 * 4 * 3)
    assert touched == min(experts, chosen * tokens)
    uniform = experts * (1 - (1 - chosen / experts) ** tokens)
    assert chosen <= uniform <= touched <= experts
    assert (experts, tokens) != (64, 32) or round(uniform, 2) == 61.26
    assert part(account, "flops.forward", "gate/").free_symbols.isdisjoint(
        {account.source.tensors["gate/weight"].dims[0]}
    )
