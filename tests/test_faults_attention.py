"""Wrong numbers that people met with attention: missing products, masks, windows, caches, grouped heads.

Each test carries a public case and other sizes; the source stands in its docstring.
"""

from __future__ import annotations

import pytest
from decoders import assert_formula, assert_same, at, core, formula, part
from sympy import Integer

from symacct import Builder, derive, load
from symacct.convention import convention
from symacct.errors import ReadError, SizeError, UnitError
from symacct.quantity import Quantity
from symacct.readers.configs import read_config
from symacct.readers.decoder import decoder_graph
from symacct.units import Unit

ONE = {"B": 1, "L": 1, "D": 2, "F": 2, "V": 2}
"""Sizes of a decoder of which attention alone is looked at."""


def layer(**sizes):
    """Return the account of one attention layer with its projections, forward."""
    return derive(load("attention"), workload="forward", sizes={"B": 1, **sizes})


# ---- the two products ----


@pytest.mark.parametrize(
    ("length", "width", "heads", "macs"),
    [
        (512, 768, 12, 1_610_612_736),  # https://github.com/autoliuweijie/FastBERT/issues/14
        (580, 512, 4, 952_647_680),  # https://github.com/sovrasov/flops-counter.pytorch/issues/65
        (300, 448, 4, 321_484_800),  # https://github.com/facebookresearch/fvcore/issues/153
        (300, 448, 8, 321_484_800),
        (7, 12, 3, 4 * 7 * 144 + 2 * 49 * 12),
    ],
)
def test_both_products_of_attention_are_counted(length, width, heads, macs):
    """Hooks on modules see four projections; the two products are functions, and nodes of the graph."""
    account = layer(S=length, D=width, H=heads, K=width // heads)
    assert account["flops.forward"].to("MAC") == macs == 4 * length * width**2 + 2 * length**2 * width
    products = part(account, "flops.forward", "core/scores"), part(account, "flops.forward", "core/mix")
    assert products == (2 * length**2 * width, 2 * length**2 * width)
    assert part(account, "flops.forward", "q/", "k/", "v/", "o/") / 2 == 4 * length * width**2


def test_the_number_of_heads_cancels():
    """Four heads and eight cost the same, where they divide the width."""
    b = Builder("heads", "S T D H", tokens="S")
    x = b.input("x", "S D")
    q, k, v = (b.linear(x, "D -> H K", K="D/H", name=name) for name in "qkv")
    mixed = b.attention(q, b.keys(k, "S", "T"), b.keys(v, "S", "T"))
    account = derive(b.build(b.linear(mixed, "H K -> D", name="o")), workload="forward")
    assert_formula(account, "flops.forward", "8*S*D^2 + 4*S^2*D")
    assert [str(c) for c in account["flops.forward"].when] == ["H divides D"]
    with pytest.raises(SizeError, match="H divides D"):
        account.value("flops.forward", {"S": 300, "D": 448, "H": 5})


@pytest.mark.parametrize(("width", "length"), [(3072, 4096), (640, 96)])
@pytest.mark.parametrize("fused", [False, True])
def test_training_costs_six_per_product(width, length, fused):
    """6*h*s was written for both products: https://github.com/pytorch/torchtitan/pull/4366."""
    account = core(fused=fused)
    assert_formula(account, "flops.model", "12*B*H*K*S^2")
    sizes = {"B": 1, "S": length, "H": 1, "K": width}
    assert account.value("flops.model", sizes) == 12 * width * length * length
    if fused:
        assert account.value("flops.recompute", sizes) == 2 * width * length * length
    else:
        for product in ("core/scores", "core/mix"):
            assert at(account, "flops.model", product, **sizes) == 6 * width * length * length
    assert (width, length) != (3072, 4096) or 12 * width * length == 150_994_944


# ---- masks ----


@pytest.mark.parametrize(("width", "length"), [(4096, 8192), (24, 5)])
@pytest.mark.parametrize("fused", [False, True])
def test_a_causal_mask_allows_half_the_pairs_and_half_a_row(width, length, fused):
    """12*h*s against 6*h*(s+1) a token: https://github.com/verl-project/verl/pull/6389."""
    tokens = {"B": 1, "S": length, "H": 1, "K": width}
    each = {"full": 12 * length, "half": 6 * length, "exact": 6 * (length + 1), "none": 0}
    for choice, count in each.items():
        account = core(convention(attention=choice), fused=fused)
        assert account.value("flops.model", tokens) == width * count * length
        assert f"attention {choice}" in account.convention.describe()
    assert (
        core(convention(attention="exact"), causal=False).value("flops.model", tokens)
        == width * each["full"] * length
    )


@pytest.mark.few(5)
@pytest.mark.parametrize(
    ("length", "window"),
    [(8192, 1024), (512, 1024), (512, 512), (513, 512), (5, 1), (7, 3), (3, 7)],
)
@pytest.mark.parametrize("fused", [False, True])
def test_a_window_limits_the_pairs_only_where_it_is_smaller(length, window, fused):
    """7,864,832 pairs at 8192 with a window of 1024, 131,328 at 512: the formula holds on both sides.

    https://github.com/NVIDIA/Megatron-LM/issues/1725 (a window counted as full attention)
    """
    pairs = sum(min(place, window) for place in range(1, length + 1))
    sizes = {"B": 1, "S": length, "H": 1, "K": 1, "W": window}
    account = core(convention(attention="exact"), window="W", fused=fused)
    assert account.value("flops.forward", sizes) == 4 * pairs
    assert account["flops.forward"].at(**sizes) == 4 * pairs
    assert pairs <= min(length, window) * length
    assert core(window="W", fused=fused).value("flops.forward", sizes) == 4 * length**2
    published = {(8192, 1024): 7_864_832, (512, 1024): 131_328}
    assert published.get((length, window), pairs) == pairs


@pytest.mark.parametrize("lengths", [(2, 2, 8), (1, 5), (4, 4, 4)])
def test_sequences_of_other_lengths_are_graphs_of_their_own(lengths):
    """The mean length may not stand in for the lengths: 288 for 2, 2 and 8, not 192."""
    b = Builder("packed", "h")
    mixed = []
    for place, length in enumerate(lengths):
        q, k, v = (
            b.input(f"{n}{place}", f"{axis} K", **{axis: length, "K": "h"})
            for n, axis in zip("qkv", "STT", strict=True)
        )
        with b.region(f"sequence{place}"):
            mixed.append(b.attention(q, k, v, causal=False))
    account = derive(b.build(*mixed), workload="forward")
    whole = account.value("flops.forward", {"h": 1})
    assert whole == 4 * sum(length**2 for length in lengths)
    mean = sum(lengths) // len(lengths)
    wrong = core(causal=False, workload="forward").value(
        "flops.forward", {"B": len(lengths), "S": mean, "H": 1, "K": 1}
    )
    assert (whole == wrong) == (len(set(lengths)) == 1)
    with pytest.raises(SizeError, match="not an integer"):
        core().value("flops.forward", {"B": 3, "S": 13 / 3, "H": 1, "K": 1})


# ---- decoding ----


@pytest.mark.parametrize(("heads", "groups"), [(32, 8), (32, 32), (12, 2)])
def test_a_cache_holds_key_value_heads(heads, groups):
    """134,217,728 bytes were said of 33,554,432: https://github.com/hahnyuan/LLM-Viewer/issues/12."""
    account = derive(load("llama"), workload="decode")
    assert_formula(account, "memory.kv_cache", "4*B*T*L*G*K")
    sizes = {**ONE, "T": 8192, "H": heads, "G": groups, "K": 128}
    read = [term for term in account.bind(sizes).terms("bytes.forward.read") if "/cache " in term.note]
    assert (
        sum(term.expr for term in read) == account.value("memory.kv_cache", sizes) == 4 * 8192 * groups * 128
    )
    assert 4 * 8192 * 8 * 128 == 33_554_432


@pytest.mark.parametrize(("heads", "groups"), [(30, 8), (7, 2)])
def test_query_heads_are_a_multiple_of_key_value_heads(heads, groups):
    """A group of 3.75 heads is refused, and both numbers are named."""
    config = {
        "model_type": "llama", "vocab_size": 9, "hidden_size": 8 * heads, "num_hidden_layers": 1,
        "intermediate_size": 5, "num_attention_heads": heads, "num_key_value_heads": groups, "head_dim": 8,
    }  # fmt: skip
    with pytest.raises(
        ReadError, match=rf"not a multiple of num_key_value_heads\n.*\n.*multiple of {groups}\n.*{heads}"
    ):
        read_config(config, "tiny", "config.json")
    assert read_config({**config, "num_key_value_heads": 1}, "tiny", "config.json").heads == heads
    with pytest.raises(SizeError, match=rf"G divides H\n.*H={heads}, G={groups}"):
        derive(load("llama")).value("params", {**ONE, "S": 1, "H": heads, "G": groups, "K": 8})
    b = Builder("groups", "K")
    with pytest.raises(SizeError, match=f"{groups} does not divide {heads}"):
        b.rearrange("(G R) K -> G R K", b.input("q", "H K", H=heads), G=groups)


@pytest.mark.parametrize(("layers", "heads", "width", "length"), [(32, 32, 128, 32768), (3, 5, 8, 100)])
def test_a_head_is_not_a_layer(layers, heads, width, length):
    """512 bytes a layer and token were said of 16,384: a number of one head.

    https://github.com/rohitg00/ai-engineering-from-scratch/pull/57
    """
    account = derive(load("llama"), workload="decode", sizes={"B": 1, "G": heads, "H": heads, "K": width})
    cache = account["memory.kv_cache"]
    depth, tokens = (
        Quantity(formula(account, name), Unit(unit)) for name, unit in (("L", "layer"), ("T", "token"))
    )
    per_layer = cache / depth / tokens
    assert per_layer.expr == 4 * heads * width
    assert per_layer.unit.dims == Unit("byte/(layer*token)").dims
    assert cache.at(L=layers, T=length) == layers * length * 4 * heads * width
    with pytest.raises(UnitError, match="layer"):
        per_layer + Quantity(Integer(512), Unit("byte/token"))
    assert (layers, heads) != (32, 32) or (per_layer.expr, cache.subs(L=layers, T=length).to("GiB")) == (
        16384,
        16,
    )


def windowed(full, windows, window, groups=8, width=128):
    """Return a configuration with layers of full attention first and windowed ones after."""
    return {
        "model_type": "qwen3", "vocab_size": 9, "hidden_size": 64, "num_hidden_layers": full + windows,
        "intermediate_size": 5, "num_attention_heads": 2 * groups, "num_key_value_heads": groups,
        "head_dim": width,
        "use_sliding_window": True, "sliding_window": window,
        "layer_types": ["full_attention"] * full + ["sliding_attention"] * windows,
    }  # fmt: skip


@pytest.mark.few(2)
@pytest.mark.parametrize("length", [8192, 1024, 1000, 1])
@pytest.mark.parametrize(("full", "windows"), [(8, 24), (1, 1), (2, 4)])
def test_a_windowed_layer_caches_no_more_than_its_window(full, windows, length):
    """369,098,752 bytes for 8 full and 24 windowed layers: the cache does not grow by a constant a token.

    https://github.com/ai-dynamo/aiconfigurator/pull/1201
    """
    graph = decoder_graph(read_config(windowed(full, windows, 1024), "mixed", "config.json"))
    account = derive(graph, workload="decode")
    assert_same(account, account["memory.kv_cache"].expr, f"B*4096*({full}*T + {windows}*min(T, 1024))")
    sizes = {"B": 1, "T": length}
    kept = full * length + windows * min(length, 1024)
    assert account.value("memory.kv_cache", sizes) == 4096 * kept
    assert at(account, "flops.forward", "layers", "layers1/attention/core", **sizes) > 0
    core_work = [t for t in account.bind(sizes).terms("flops.forward") if "/core/" in t.label]
    assert sum(t.expr for t in core_work) == 4 * 16 * 128 * kept
    assert (full, windows, length) != (8, 24, 8192) or 4096 * kept == 369_098_752


def test_keys_that_some_layer_reads_in_full_are_cached_in_full():
    """A cache that two attentions read, one of them without a window, holds every token."""
    b = Builder("shared", {"S": "", "T": "", "K": "", "W": ""}, tokens="S")
    q, k, v = (b.input(name, "S K") for name in "qkv")
    k, v = b.keys(k, "S", "T"), b.keys(v, "S", "T")
    with b.region("near"):
        near = b.attention(q, k, v, window="W")
    one = derive(b.build(near), workload="decode")
    assert_formula(one, "memory.kv_cache", "4*K*min(T, W)")
    with b.region("far"):
        far = b.attention(q, k, v)
    assert_formula(derive(b.build(near + far), workload="decode"), "memory.kv_cache", "4*K*T")


def test_the_shipped_window_is_in_the_cache():
    """A model whose layers look back on 4096 tokens keeps 4096 at a context of 32768."""
    account = derive(load("mistral-7b"), workload="decode")
    assert account.value("memory.kv_cache", {"B": 1, "T": 32768}) == account.value(
        "memory.kv_cache", {"B": 1, "T": 4096}
    )


@pytest.mark.parametrize(("heads", "width"), [(64, 128), (5, 6)])
def test_a_context_token_costs_four_per_feature(heads, width):
    """65,536 were said of 32,768: https://github.com/SemiAnalysisAI/InferenceX-app/pull/849."""
    account = derive(load("llama"), workload="decode")
    sizes = {**ONE, "H": heads, "G": heads, "K": width}
    one, two = (account.value("flops.forward", {**sizes, "T": length}) for length in (1000, 1001))
    assert two - one == 4 * heads * width
    assert (heads, width) != (64, 128) or two - one == 32_768


@pytest.mark.parametrize(("width", "heads", "groups", "head"), [(3584, 16, 8, 256), (10, 6, 2, 4)])
def test_a_projection_has_the_width_of_its_heads(width, heads, groups, head):
    """Heads times head size is not the width: https://github.com/vllm-project/vllm/pull/19290."""
    sizes = {**ONE, "S": 1, "D": width, "H": heads, "G": groups, "K": head}
    account = derive(load("llama"), workload="forward")
    labels = [f"layers/attention/{name}/" for name in "qkv"]
    projected = at(account, "flops.forward", *labels, **sizes)
    assert projected == 2 * width * head * (heads + 2 * groups)
    assert (width, heads) != (3584, 16) or projected == 58_720_256
