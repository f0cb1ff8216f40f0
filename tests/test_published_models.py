"""Published totals of models whose sizes are public, derived from their graphs.

Sources: nanoGPT (transformer_sizing.ipynb); Brown et al. 2020 (arXiv:2005.14165, table D.1); Chowdhery et al.
2022 (arXiv:2204.02311, appendix B); the scaling book (applied-training); arXiv:2407.21783; CS336 lecture 10;
kipp.ly (inference arithmetic).
"""

from __future__ import annotations

import pytest
from decoders import GPT2_SMALL, assert_formula, assert_same, at, encoder, formula, nanogpt, palm, per_token
from sympy import Rational

from symacct import derive, load
from symacct.algebra.normal import same
from symacct.convention import convention
from symacct.readers.configs import read_config
from symacct.readers.decoder import decoder_graph


def test_gpt2_small():
    """291,648,307,200 FLOP forward, 874,944,921,600 for training at 1024 tokens; 124,337,664 parameters."""
    account = derive(nanogpt)
    assert account.value("params", GPT2_SMALL) == 124_337_664
    assert account.value("flops.forward", GPT2_SMALL) == 291_648_307_200
    assert account.value("flops.model", GPT2_SMALL) == 874_944_921_600
    assert same(account["flops.model"].expr, 3 * account["flops.forward"].expr)
    with_biases = {"b": 1, "s": 1024, "a": 12, "h": 768, "L": 12, "V": 50257}
    assert derive(load("gpt")).value("flops.forward", with_biases) == 291_648_307_200


def config(**values):
    return derive(decoder_graph(read_config(values, "model", "config.json")), convention="chinchilla")


def gpt3(layers, width, heads):
    return config(
        model_type="gpt2", vocab_size=50257, n_embd=width, n_layer=layers, n_head=heads, n_positions=2048
    )


def llama(layers, width, hidden, heads, vocabulary=128256):
    return config(
        model_type="llama", vocab_size=vocabulary, hidden_size=width, num_hidden_layers=layers,
        intermediate_size=hidden, num_attention_heads=heads, num_key_value_heads=8,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("account", "tokens", "published", "parameters"),
    [
        (gpt3(96, 12288, 96), 300e9, 3.14e23, 174.6e9),
        (gpt3(32, 2560, 32), 300e9, 4.77e21, 2.65e9),
        (llama(80, 8192, 28672, 64), 15e12, 6.3e24, 70.55e9),
        (llama(126, 16384, 53248, 128), 15.6e12, 3.8e25, 405.9e9),
    ],
    ids=["GPT-3 175B", "GPT-3 2.7B", "LLaMA 3 70B", "Llama 3 405B"],
)
def test_training_totals(account, tokens, published, parameters):
    """6ND of models whose configuration is public (table D.1; the scaling book; arXiv:2407.21783)."""
    assert abs(account.value("params") / parameters - 1) < 0.001
    each = per_token(account)
    assert same(each, 6 * account["params.matmul"].expr)
    assert abs(each * int(tokens) / published - 1) < 0.01


def test_training_total_of_a_bidirectional_model():
    """5.33e20 for the 355 million parameters of a large encoder on 250 billion tokens (table D.1)."""
    sizes = {"B": 1, "S": 512, "L": 24, "D": 1024, "F": 4096, "H": 16, "V": 50265}
    account = derive(encoder, convention=convention("chinchilla", vectors="matmul"))
    assert abs(account.value("params", sizes) / 355e6 - 1) < 0.002
    assert abs(account.value("flops.model", sizes) / 512 * 250 * 10**9 / 5.33e20 - 1) < 0.01


def test_palm_540b():
    """540.35 billion parameters, 3.28e12 FLOP a token at 2048 tokens."""
    sizes = {"B": 1, "S": 2048, "L": 118, "D": 18432, "F": 73728, "H": 48, "K": 256, "V": 256000}
    account = derive(palm, convention="palm")
    assert abs(account.value("params", sizes) / 540.35e9 - 1) < 1e-4
    each = account.value("flops.model", sizes) / 2048
    assert abs(each / 3.28e12 - 1) < 1e-3
    assert abs(each / Rational(3277734806784) - 1) < 1e-4
    assert each == 6 * account.value("params", sizes) + 12 * 118 * 48 * 256 * 2048


def test_llama_3_70b_without_its_norms():
    """70.4e9 is printed; without norm scales 70,552,387,584 are derived, with them 161 D more."""
    account = derive(load("llama-3-70b"))
    norms = sum(t.expr for t in account.terms("params") if "norm" in t.label)
    assert norms == 161 * 8192
    assert account.value("params") - norms == 70_552_387_584
    assert abs((account.value("params") - norms) / 70.4e9 - 1) < 0.003


@pytest.mark.parametrize(
    ("layers", "width", "hidden", "heads", "vocabulary", "length"),
    [(40, 5120, 13824, 40, 32000, 1024), (3, 16, 20, 4, 11, 7)],
)
def test_weights_and_cache_of_a_served_model(layers, width, hidden, heads, vocabulary, length):
    """26,869,760,000 bytes for Llama 2 13B and 1024 tokens; the printed formula leaves the norms out."""
    sizes = {
        "B": 1, "T": length, "L": layers, "D": width, "F": hidden, "H": heads, "G": heads,
        "K": width // heads, "V": vocabulary,
    }  # fmt: skip
    account = derive(load("llama"), workload="decode")
    assert_formula(account, "memory.kv_cache", "4*B*T*G*K*L")
    printed = formula(account, "B*T*G*K*L*4 + 2*(2*V*D + 3*D*F*L + (2*D*H*K + 2*D*G*K)*L)")
    whole = account["memory.kv_cache"].expr + account["memory.parameters"].expr
    assert_same(account, whole - printed, "2*(2*L + 1)*D")
    exact = account.value("memory.kv_cache", sizes) + account.value("memory.parameters", sizes)
    assert layers != 40 or exact - 2 * (2 * layers + 1) * width == 26_869_760_000


@pytest.mark.parametrize(("layers", "width"), [(64, 8192), (3, 12)])
def test_a_token_of_a_gpt(layers, width):
    """24Ld^2 = 103,079,215,104 a token for 52B; keys and values are 4Ld^2 = 17,179,869,184 of them."""
    account = derive(load("gpt"), workload="forward", convention=convention(attention="none"))
    sizes = {"b": 1, "s": 1, "a": 2, "h": width, "L": layers, "V": 5}
    assert at(account, "flops.forward", "layers/", **sizes) == 24 * layers * width**2
    two = at(account, "flops.forward", "layers/attention/k/", "layers/attention/v/", **sizes)
    assert two == 4 * layers * width**2
    assert layers != 64 or (two, 6 * two) == (17_179_869_184, 103_079_215_104)
