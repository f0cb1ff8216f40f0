"""Published formulas of transformers, derived from their graphs under the presets of the accounts.

Sources: Kaplan et al. 2020 (arXiv:2001.08361, eq. 2.1, table 1); Narayanan et al. 2021 (arXiv:2104.04473,
eq. 3, table 2); Korthikanti et al. 2022 (arXiv:2205.05198, appendix A, eq. 7); Chowdhery et al. 2022
(arXiv:2204.02311, appendix B); nanoGPT (transformer_sizing.ipynb). A formula that is wrong as printed is
refuted, with the term that is missing.
"""

from __future__ import annotations

import pytest
from decoders import GPT2_SMALL, assert_formula, assert_same, at, formula, nanogpt, palm, part, per_token

from symacct import derive, load
from symacct.algebra.leading import leading_term
from symacct.algebra.normal import same
from symacct.convention import convention

GPT = {
    "small": {"b": 2, "s": 5, "a": 3, "h": 12, "L": 4, "V": 11},
    "gpt3": {"b": 1, "s": 2048, "a": 96, "h": 12288, "L": 96, "V": 51200},
    "trillion": {"b": 1, "s": 2048, "a": 160, "h": 20480, "L": 105, "V": 51200},
}


# ---- Megatron ----


@pytest.mark.parametrize("preset", ["megatron", "default", "torch"])
def test_a_gpt_layer_and_model(preset):
    """24Bsh^2 + 4Bs^2h a layer forward; 72BLsh^2 (1 + s/6h + v/12hL) for training."""
    account = derive(load("gpt"), convention=preset)
    assert_same(account, part(account, "flops.forward", "layers/"), "L*(24*b*s*h^2 + 4*b*s^2*h)")
    assert_formula(account, "flops.model", "72*b*L*s*h^2*(1 + s/(6*h) + V/(12*h*L))")
    sizes = GPT["small"]
    b, s, h, layers, v = (sizes[name] for name in "bshLV")
    assert account.value("flops.model", sizes) == 3 * (
        layers * (24 * b * s * h**2 + 4 * b * s**2 * h) + 2 * b * s * h * v
    )


def test_the_logits_have_a_factor_of_the_vocabulary():
    """A docstring of NeMo's launcher says 6Bsh for them; derived is 6BshV, as its code has it."""
    account = derive(load("gpt"))
    logits = part(account, "flops.model", "head/")
    assert_same(account, logits, "6*b*s*h*V")
    printed = formula(account, "(24*b*s*h^2 + 4*b*s^2*h)*3*L + 6*b*s*h")
    missing = account["flops.model"].expr - printed
    assert_same(account, missing, "6*b*s*h*(V - 1)")


@pytest.mark.few(4)
@pytest.mark.parametrize(
    ("model", "gpus", "tera", "published", "exact"),
    [
        ("gpt3", 384, 153, 84, 84.74882788671025),
        ("gpt3", 768, 149, 43, 43.51198210290828),
        ("gpt3", 1536, 141, 23, 22.99037352245863),
        ("trillion", 560, 171, 156, 156.08372041214147),
        ("trillion", 1120, 167, 80, 79.91112631879099),
        ("trillion", 2240, 159, 42, 41.96590595986822),
        ("gpt3", 384, 144, 90, 90.04562962962963),
        ("trillion", 640, 138, 169, 169.23207729468598),
    ],
)
def test_training_days_of_megatron(model, gpus, tera, published, exact):
    """96Bslh^2 (1 + s/6h + V/16lh) is the training step and every layer's forward pass once more.

    Table 2 of arXiv:2104.04473: 300 billion tokens; days are these FLOPs over n devices at X teraFLOP/s.
    """
    account = derive(load("gpt"), convention="megatron")
    again = part(account, "flops.forward", "layers/")
    assert_same(account, account["flops.model"].expr + again, "96*b*s*L*h^2*(1 + s/(6*h) + V/(16*L*h))")
    sizes = GPT[model]
    step = account.value("flops.model", sizes) + at(account, "flops.forward", "layers/", **sizes)
    days = step / account.value("tokens", sizes) * 300 * 10**9 / (gpus * tera * 10**12 * 86400)
    assert abs(days / exact - 1) < 1e-12
    assert abs(days - published) < 0.8


# ---- Kaplan, Chinchilla, PaLM ----


def test_parameters_without_embeddings():
    """N = 12 n_layer d^2 is the leading term; norms without biases have (2 n_layer + 1) d more."""
    account = derive(nanogpt)
    assert_formula(account, "params.nonembedding", "12*L*D^2 + (2*L + 1)*D")
    assert_same(account, leading_term(account["params.nonembedding"].expr, {"L", "D"})[0], "12*L*D^2")
    shipped = derive(load("gpt"))
    assert_same(shipped, leading_term(shipped["params.nonembedding"].expr, {"L", "h"})[0], "12*L*h^2")


@pytest.mark.parametrize(
    ("attention", "each"),
    [("full", "4*L*S*D"), ("exact", "2*L*(S + 1)*D"), ("half", "2*L*S*D"), ("none", "0")],
)
def test_the_context_term_of_kaplan_is_the_causal_half(attention, each):
    """2N + 2 n_layer n_ctx d_attn a token: all pairs are twice that, causal ones 2 n_layer (n_ctx + 1) d."""
    account = derive(nanogpt, convention=convention("kaplan", attention=attention))
    assert_same(account, per_token(account, "flops.forward"), f"2*12*L*D^2 + {each}")
    half = formula(account, "24*L*D^2 + 2*L*S*D")
    assert same(per_token(account, "flops.forward"), half) == (attention == "half")
    assert account.convention.leading


@pytest.mark.parametrize(("preset", "matmul"), [("kaplan", "12*L*D^2"), ("chinchilla", "12*L*D^2 + V*D")])
def test_six_per_parameter_and_token(preset, matmul):
    """6ND, where N is what contractions read: without the head (Kaplan), or with it (Chinchilla)."""
    account = derive(nanogpt, convention=preset)
    assert_same(account, per_token(account), f"6*({matmul})")
    if preset == "chinchilla":
        assert same(per_token(account), 6 * account["params.matmul"].expr)


def palm_parameters(account):
    """Return the parameters without the position table, as nanoGPT and PaLM count N."""
    positions = part(account, "params", "embedding/positions")
    return account["params"].expr - positions


@pytest.mark.parametrize("preset", ["palm", "nanogpt"])
@pytest.mark.parametrize(("model", "pairs"), [(nanogpt, "12*L*D*S"), (palm, "12*L*H*K*S")])
def test_six_per_parameter_and_twelve_per_pair(preset, model, pairs):
    """6N + 12LHQT a token is exact when norm scales are priced like matmul weights, the tied table once."""
    account = derive(model, convention=preset)
    assert same(per_token(account), 6 * palm_parameters(account) + formula(account, pairs))


@pytest.mark.parametrize("sizes", [GPT2_SMALL, {**GPT2_SMALL, "S": 7, "L": 3, "D": 24, "V": 11}])
def test_what_the_palm_account_counts_too_much(sizes):
    """6T(2L + 1)D: norm scales multiply one element each (nanoGPT's ratio of 1.0001, explained)."""
    usual, priced = derive(nanogpt), derive(nanogpt, convention="nanogpt")
    difference = priced["flops.model"].expr - usual["flops.model"].expr
    assert_same(usual, difference, "6*B*S*(2*L + 1)*D")
    t, layers, d = (sizes[name] for name in "SLD")
    assert (
        priced.value("flops.model", sizes) - usual.value("flops.model", sizes) == 6 * t * (2 * layers + 1) * d
    )
    if layers == 12:
        assert priced.value("flops.model", sizes) - usual.value("flops.model", sizes) == 117_964_800
        ratio = priced.value("flops.model", sizes) / usual.value("flops.model", sizes)
        assert round(float(ratio), 4) == 1.0001


def test_the_palm_account_of_an_untied_model():
    """6N takes the token table for a matmul weight: 6VD a token too much, 2VD with one-hot products."""
    account = derive(load("llama"), convention="palm")
    rule = 6 * account["params"].expr + formula(account, "12*L*H*K*S")
    assert_same(account, rule - per_token(account), "6*V*D")
    one_hot = derive(load("llama"), convention=convention("palm", embedding="matmul"))
    assert_same(account, rule - per_token(one_hot), "2*V*D")
