"""Caches of keys and values: what they hold, that they are enough to decode with, and what a token adds."""

from __future__ import annotations

import pytest
from decoders import assert_formula, assert_same
from sympy import Rational

from symacct import Builder, derive, load, prove
from symacct.algebra.normal import same
from symacct.cli import main
from symacct.errors import UnitError, UnknownNameError
from symacct.readers.configs import read_config
from symacct.readers.decoder import decoder_graph
from symacct.units import Unit

TINY = {
    "model_type": "qwen3", "vocab_size": 11, "hidden_size": 8, "num_hidden_layers": 6, "intermediate_size": 5,
    "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 4, "use_sliding_window": True,
    "sliding_window": 3,
}  # fmt: skip
FULL, NEAR = "full_attention", "sliding_attention"


def of_kinds(*kinds):
    """Return a decoder whose layers are of these kinds."""
    config = {**TINY, "num_hidden_layers": len(kinds), "layer_types": list(kinds)}
    return decoder_graph(read_config(config, "kinds", "config.json"))


def decoded(graph, **choices):
    """Return the account of a decoding step."""
    return derive(graph, workload="decode", **choices)


def judged(graph, claim, workload="decode", **choices):
    """Return the outcome of a claim about a decoding step."""
    assume = choices.pop("assume", ())
    return prove(derive(graph, workload=workload, **choices), claim, assume=assume).outcome


# ---- what is held ----


@pytest.mark.parametrize(
    ("name", "sizes", "text"),
    [
        ("gpt", {}, "2*2*b*t*h*L"),
        ("attention", {}, "2*2*B*T*H*K"),
        ("llama", {}, "2*2*B*T*G*K*L"),
        ("llama", {"G": 1}, "2*2*B*T*K*L"),
        ("mla", {}, "2*B*T*(C + R)*L"),
    ],
)
def test_heads_groups_one_head_and_a_latent(name, sizes, text):
    """Multi-head, grouped, multi-query and latent caches, after a prefill and at a decoding step."""
    graph = load(name)
    account = decoded(graph, sizes=sizes)
    assert_formula(account, "memory.kv_cache", text)
    filled = derive(graph, workload="prefill", sizes=sizes)
    assert_formula(filled, "memory.kv_cache", text.replace("T", "S").replace("*t*", "*s*"))
    assert "memory.kv_cache" not in derive(graph).names()


@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("kinds", "text"),
    [
        ((FULL,) * 3, "3*B*T"),
        ((NEAR,) * 3, "3*B*min(T, 3)"),
        ((FULL, NEAR) * 3, "3*B*T + 3*B*min(T, 3)"),
        ((FULL, FULL, NEAR), "2*B*T + B*min(T, 3)"),
        ((NEAR, FULL, NEAR, NEAR), "B*T + 3*B*min(T, 3)"),
    ],
)
def test_layers_of_different_kinds(kinds, text):
    """Full layers grow with the length, windowed ones stop at their window, in any order."""
    each = 2 * 2 * 2 * 4
    account = decoded(of_kinds(*kinds))
    assert_same(account, account["memory.kv_cache"].expr, f"{each}*({text})")
    filled = derive(of_kinds(*kinds), workload="prefill")
    assert_same(filled, filled["memory.kv_cache"].expr, f"{each}*({text})".replace("T", "S"))
    for length in (1, 2, 3, 4, 100):
        kept = sum(length if kind == FULL else min(length, 3) for kind in kinds)
        assert account.value("memory.kv_cache", {"B": 5, "T": length}) == 5 * each * kept
        assert filled.value("memory.kv_cache", {"B": 5, "S": length}) == 5 * each * kept


def test_the_format_of_the_cache_is_that_of_activations():
    """8 bits halve it, whatever the weights are in."""
    graph = load("llama")
    for words, each in (("params=int8,activations=int8", 2), ("params=int4", 4), ("fp32", 8)):
        assert_formula(decoded(graph, precision=words), "memory.kv_cache", f"{each}*B*T*G*K*L")


# ---- against running it ----


@pytest.mark.parametrize("name", ["llama", "gpt", "mla", "attention", "near", "kinds"])
def test_a_cache_is_enough_to_decode_with(name):
    """The last token of a pass over n comes out of a step on one token and the cache, in float64."""
    torch = pytest.importorskip("torch")
    from symacct.execution.interpret import Interpreter, Place
    from symacct.execution.torch_arrays import TorchArrays
    from symacct.execution.values import draw

    own = {"near": (NEAR,) * 2, "kinds": (FULL, NEAR, NEAR)}
    graph = of_kinds(*own[name]) if name in own else load(name)
    length = 5
    every = {
        "B": 2, "S": length, "T": length, "L": 2, "D": 8, "F": 5, "H": 4, "G": 2, "K": 4, "V": 7, "C": 3,
        "R": 2, "Q": 5, "b": 2, "s": length, "t": length, "a": 2, "h": 8,
    }  # fmt: skip
    whole, step = (derive(graph, workload=workload).graph for workload in ("prefill", "decode"))
    sizes = {n: every[n] for n in whole.order if n in every}
    xp = TorchArrays(torch, "fp64", seed=2)
    store = draw(whole, sizes, xp, 2)
    first = Interpreter(xp, whole.tensors.__getitem__, store)
    first.run(whole.nodes, Place(sizes))

    one = {**{n: every[n] for n in step.order if n in every}}
    given = dict(store)
    cached = 0
    for t in step.tensors.values():
        sequence = next((a for a in t.axes if a in ("S", "s")), None)
        for (key, at), array in store.items():
            if key == t.name and t.role in ("input", "constant") and sequence:
                given[key, at] = array.narrow(t.axes.index(sequence), length - 1, 1)
            if t.role == "cache" and key == t.name.removesuffix("/cache"):
                axis = next(a for a in t.axes if a in ("T", "t"))
                kept = Place(one).size(t.dim(axis))
                cut = array.narrow(t.axes.index(axis), length - kept, kept).clone()
                cut.narrow(t.axes.index(axis), kept - 1, 1).fill_(float("nan"))
                given[t.name, at] = cut
                cached += cut.numel()
    second = Interpreter(xp, step.tensors.__getitem__, given)
    second.run(step.nodes, Place(one))
    out, last = whole.outputs[0], step.outputs[0]
    place = whole.tensors[out].axes.index("s" if name == "gpt" else "S")
    expected = first.get(out, Place(sizes)).narrow(place, length - 1, 1)
    torch.testing.assert_close(second.get(last, Place(one)), expected, rtol=1e-9, atol=1e-9)
    account = decoded(graph, precision="params=fp64,activations=fp64")
    assert account.value("memory.kv_cache", one) == 8 * cached


@pytest.mark.few(1)
@pytest.mark.parametrize(("heads", "groups"), [(4, 2), (4, 4), (4, 1)])
def test_the_cache_of_a_public_class(heads, groups):
    """The tensors that transformers' own cache holds after a prefill have the derived bytes."""
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    config = {
        "vocab_size": 17, "hidden_size": 16, "num_hidden_layers": 3, "intermediate_size": 8,
        "num_attention_heads": heads, "num_key_value_heads": groups, "head_dim": 4,
    }  # fmt: skip
    model = transformers.LlamaForCausalLM(transformers.LlamaConfig(**config)).eval()
    with torch.no_grad():
        kept = model(torch.zeros(2, 7, dtype=torch.long), use_cache=True).past_key_values
    counted = sum(layer.keys.nbytes + layer.values.nbytes for layer in kept.layers)
    graph = decoder_graph(read_config({"model_type": "llama", **config}, "public", "config.json"))
    account = derive(graph, workload="prefill", precision="fp32")
    assert account.value("memory.kv_cache", {"B": 2, "S": 7}) == counted


# ---- what a token adds ----


@pytest.mark.parametrize(
    ("name", "text"),
    [("llama", "4*G*K*L"), ("gpt", "4*h*L"), ("mla", "2*(C + R)*L"), ("attention", "4*H*K")],
)
def test_a_token_adds_as_many_bytes_as_the_last(name, text):
    """Bytes per token of one sequence, all layers together, the same in both workloads."""
    for workload in ("prefill", "decode"):
        account = derive(load(name), workload=workload)
        assert_formula(account, "memory.kv_cache.token", text)
        assert account["memory.kv_cache.token"].unit == Unit("byte/token")
        assert same(
            sum(t.expr for t in account.terms("memory.kv_cache.token")), account["memory.kv_cache.token"].expr
        )
    assert "memory.kv_cache.token" not in derive(load(name)).names()


def test_the_layer_is_the_coefficient_of_the_layers():
    """16,384 bytes a layer and token for 32 heads of 128; 512 are of one head."""
    graph = load("llama")
    sizes = {"H": 32, "G": 32, "K": 128}
    assert judged(graph, "memory.kv_cache.token = 16384*L", sizes=sizes) == "proved"
    assert judged(graph, "memory.kv_cache.token/L = 16384", sizes=sizes) == "proved"
    assert judged(graph, "memory.kv_cache.token = 512*L", sizes=sizes) == "refuted"
    with pytest.raises(UnitError, match="byte and byte/token cannot be compared"):
        judged(graph, "memory.kv_cache.token*B*T = memory.kv_cache")
    assert judged(graph, "memory.kv_cache.token*B*T * 1 token = memory.kv_cache") == "proved"
    assert (
        decoded(graph).value(
            "memory.kv_cache", {"B": 1, "T": 32768, "L": 32, **sizes, "D": 1, "F": 1, "V": 1}
        )
        == 16 * 2**30
    )


@pytest.mark.parametrize("kinds", [(NEAR,), (FULL, NEAR), (FULL,) * 8 + (NEAR,) * 24])
def test_bytes_per_token_are_refused_where_they_are_none(kinds):
    """A windowed layer stops growing: no number of bytes per token stands for the cache."""
    account = decoded(of_kinds(*kinds))
    with pytest.raises(UnknownNameError) as refused:
        _ = account["memory.kv_cache.token"]
    assert "this account has no memory.kv_cache.token" in str(refused.value)
    assert "read memory.kv_cache at a length: tokens differ in what they add (a window)" in str(refused.value)
    assert "memory.kv_cache.token" not in account.names()
    assert "memory.kv_cache.token" not in account.bind({"B": 1, "T": 2}).names()
    assert decoded(of_kinds(FULL, FULL)).has("memory.kv_cache.token")


def test_the_command_refuses_bytes_per_token(capsys):
    """Exit status 2, and the whole cache is judged: linear growth is refuted where a window is."""
    assert main(["prove", "mistral-7b", "memory.kv_cache.token = 131072", "--workload", "decode"]) == 2
    assert "tokens differ in what they add" in capsys.readouterr().err
    assert main(["prove", "mistral-7b", "memory.kv_cache = 131072*B*T", "--workload", "decode"]) == 1
    assert main(["prove", "llama-3-8b", "memory.kv_cache.token = 131072", "--workload", "decode"]) == 0
    assert main(["prove", "llama-3-8b", "memory.kv_cache = 131072*B*T", "--workload", "decode"]) == 0


def test_caches_of_two_lengths_have_no_bytes_per_token():
    """Keys of one length and of another: a token of which? A graph without tokens has none either."""
    b = Builder("two", {"S": "", "T": "", "U": "", "K": ""}, tokens="S")
    q, k = b.input("q", "S K"), b.input("k", "S K")
    with b.region("near"):
        near = b.attention(q, b.keys(k, "S", "T"), b.keys(k, "S", "T"))
    with b.region("far"):
        far = b.attention(q, b.keys(k, "S", "U"), b.keys(k, "S", "U"), keys="U")
    account = decoded(b.build(near + far))
    assert_formula(account, "memory.kv_cache", "4*K*(T + U)")
    assert not account.has("memory.kv_cache.token")
    b = Builder("untold", {"S": "", "T": "", "K": ""})
    k = b.keys(b.input("k", "S K"), "S", "T")
    assert not decoded(b.build(b.attention(b.input("q", "S K"), k, k))).has("memory.kv_cache.token")


# ---- published numbers ----


@pytest.mark.parametrize(
    ("sizes", "length", "precision", "published"),
    [
        ({"L": 40, "G": 40, "K": 128}, 8192, "bf16", 6_710_886_400),
        ({"L": 64, "G": 64, "K": 128}, 8192, "params=int8,activations=int8", 8 * 2**30),
        ({"L": 64, "G": 32, "K": 128}, 1, "params=int8,activations=int8", 512 * 2**10),
        ({"L": 80, "G": 8, "K": 128}, 1, "params=int8,activations=int8", 163_840),
        ({"L": 64, "G": 64, "K": 128}, 1, "bf16", 2_097_152),
        ({"L": 32, "G": 8, "K": 128}, 1, "bf16", 131_072),
        ({"L": 118, "G": 48, "K": 128}, 512 * 2048, "bf16", 3_040_836_845_568),
    ],
)
def test_published_caches(sizes, length, precision, published):
    """2 w L G K bytes a token, at the numbers of the scaling book, kipp.ly, Pope et al. 2022 and stas00.

    How to Scale Your Model (inference, transformers, applied inference): 6.7 GB, 8 GiB, 512 KiB (printed as
    kB) and 160 KiB; kipp.ly (inference arithmetic): 0.002 GB; ml-engineering (inference): 0.131 MB;
    arXiv:2211.05102: 3 TB with 48 heads of 128.
    """
    heads = {"H": sizes["G"], "D": 1, "F": 1, "V": 1}
    account = decoded(load("llama"), precision=precision)
    assert account.value("memory.kv_cache", {**sizes, **heads, "B": 1, "T": length}) == published
    assert account.value("memory.kv_cache.token", {**sizes, **heads, "B": 9, "T": 5}) * length == published


def test_grouped_heads_divide_the_cache():
    """N/K, 5 for 40 to 8 heads (CS336, lecture 10)."""
    account = decoded(load("llama"))
    sizes = {"B": 1, "T": 1024, "L": 40, "K": 128, "H": 40, "D": 1, "F": 1, "V": 1}
    many, few = (account.value("memory.kv_cache", {**sizes, "G": groups}) for groups in (40, 8))
    assert many / few == 5
    assert judged(load("llama"), "memory.kv_cache = H/G * 4*B*T*G*K*L", assume=["H = G"]) == "proved"


def test_a_latent_cache_is_that_of_two_and_a_quarter_groups():
    """576 elements a token and layer, 9/2 of a head: DeepSeek-V2 (arXiv:2405.04434), table 1."""
    mla = load("mla")
    assert judged(mla, "memory.kv_cache.token = 2*(9/2)*K*L", assume=["C = 4*K", "R = K/2"]) == "proved"
    assert judged(mla, "memory.kv_cache.token = 2*C*L") == "refuted"
    sizes = {"L": 60, "D": 5120, "F": 12288, "H": 128, "K": 128, "R": 64, "C": 512, "Q": 1536, "V": 102400}
    each = decoded(mla).value("memory.kv_cache.token", {**sizes, "B": 1, "T": 9}) / 60 / 2
    assert each == 576
    assert each / (2 * 128) == Rational(9, 4)


def test_half_a_cache_is_refuted():
    """w h L (s + o) b leaves the values out: a public calculator (EleutherAI, cookbook)."""
    gpt = load("gpt")
    assert judged(gpt, "memory.kv_cache = 2*h*L*t*b") == "refuted"
    assert judged(gpt, "memory.kv_cache = 2*2*h*L*t*b") == "proved"
    verdict = prove(decoded(gpt), "memory.kv_cache = 2*h*L*t*b")
    assert any("lower bound" in text for text in verdict.weaker)
