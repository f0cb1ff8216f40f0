"""Configurations against the public modules built from the same configuration."""

from __future__ import annotations

import json
from itertools import pairwise

import pytest

from symacct import derive, load
from symacct.nodes import Repeat
from symacct.readers.configs import read_config
from symacct.readers.decoder import decoder_graph
from symacct.readers.families import FAMILIES
from symacct.readers.files import list_models
from symacct.readers.strict_json import parse

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

SIZES = {"vocab_size": 101, "hidden_size": 24, "num_hidden_layers": 3, "intermediate_size": 50}
GPT2 = {"vocab_size": 101, "n_embd": 24, "n_layer": 3, "n_head": 4, "n_positions": 32}
GROUPED = {**SIZES, "num_attention_heads": 6, "num_key_value_heads": 2}
WINDOWS = {"use_sliding_window": True, "sliding_window": 4}
CONFIGS = {
    "gpt2": {"model_type": "gpt2", **GPT2},
    "gpt2 with a hidden size and a head of its own": {
        "model_type": "gpt2", **GPT2, "n_inner": 50, "tie_word_embeddings": False,
    },
    "gpt2 by its other names": {
        "model_type": "gpt2", **SIZES, "num_attention_heads": 4, "max_position_embeddings": 16,
    },
    "llama": {"model_type": "llama", **SIZES, "num_attention_heads": 4},
    "llama with grouped queries": {"model_type": "llama", **GROUPED},
    "llama with a head size apart": {"model_type": "llama", **GROUPED, "head_dim": 10},
    "llama with a null head size": {"model_type": "llama", **GROUPED, "head_dim": None},
    "llama with attention biases": {"model_type": "llama", **GROUPED, "head_dim": 10, "attention_bias": True},
    "llama with feed-forward biases, tied": {
        "model_type": "llama", **GROUPED, "mlp_bias": True, "tie_word_embeddings": True,
    },
    "mistral": {"model_type": "mistral", **GROUPED, "sliding_window": 5},
    "mistral without a window, eight key-value heads by default": {
        "model_type": "mistral", **SIZES, "hidden_size": 32, "num_attention_heads": 8, "sliding_window": None,
    },
    "qwen2": {"model_type": "qwen2", **GROUPED, "tie_word_embeddings": True},
    "qwen2 with windows in its last layers": {
        "model_type": "qwen2", **GROUPED, **WINDOWS, "max_window_layers": 1,
    },
    "qwen3": {"model_type": "qwen3", **GROUPED, "head_dim": 10},
    "qwen3 with a default head size, biases": {"model_type": "qwen3", **GROUPED, "attention_bias": True},
    "qwen3 with windows in every other layer": {
        "model_type": "qwen3", **GROUPED, **WINDOWS, "num_hidden_layers": 4, "head_dim": 10,
        "layer_types": ["full_attention", "sliding_attention"] * 2,
    },
    "mixtral": {"model_type": "mixtral", **GROUPED, "num_local_experts": 5, "num_experts_per_tok": 2},
}  # fmt: skip


def read(config, name="tiny", *, symbolic=False):
    return decoder_graph(read_config(config, name, "here"), symbolic=symbolic)


def public(config, device="meta"):
    """Return the public module of a configuration, without weights unless it must run."""
    made = transformers.AutoConfig.for_model(**config, bos_token_id=0, eos_token_id=0)
    made._attn_implementation = "eager"
    made._experts_implementation = "eager"
    made.use_cache = False
    with torch.device(device):
        return transformers.AutoModelForCausalLM.from_config(made)


def parameters(module):
    return sum(p.numel() for p in module.parameters())


@pytest.mark.few(8)
@pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS)
def test_parameters_are_those_of_the_public_module(config):
    """Every parameter of the module, the tied ones once."""
    assert derive(read(config))["params"].expr == parameters(public(config))


@pytest.mark.few(4)
@pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS)
def test_a_symbolic_model_is_the_bound_one_once_it_is_bound(config):
    """Binding after deriving is binding before it."""
    bound, free = read(config), read(config, symbolic=True)
    sizes = {name: int(size) for name, size in bound.bound.items() if name != "T"}
    assert set(free.order) == {*bound.order, *sizes}
    here = {"B": 2, "S": 3}
    for quantity in ("params", "flops.model", "flops.model.all"):
        assert derive(bound).value(quantity, here) == derive(free).value(quantity, {**here, **sizes})


@pytest.mark.few(3)
@pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS)
def test_flops_are_those_that_torch_counts(config):
    """Contractions of a training step, forward and both passes, as torch's counter sees the module."""
    from torch.utils.flop_counter import FlopCounterMode

    rows, length = 3, 7
    device = "cpu" if config["model_type"] == "mixtral" else "meta"  # routing looks at values
    module = public(config, device).train()
    with torch.device(device):
        ids = torch.zeros(rows, length, dtype=torch.long)
        places = torch.arange(length).expand(rows, length)
        mask = torch.zeros(rows, 1, length, length)
    masks = {"full_attention": mask, "sliding_attention": mask}
    with FlopCounterMode(display=False) as counter:
        out = module(
            ids, position_ids=places, attention_mask=masks if "qwen" in config["model_type"] else mask
        )
        forward = counter.get_total_flops()
        torch.nn.functional.cross_entropy(out.logits.flatten(0, 1), ids.flatten()).backward()
        step = counter.get_total_flops()
    account, sizes = derive(read(config)), {"B": rows, "S": length}
    assert account.value("flops.forward", sizes) == forward
    assert account.value("flops.model", sizes) == step


@pytest.mark.parametrize(
    ("change", "delta"),
    [
        ({"attention_bias": True}, 3 * (6 * 10 + 2 * 2 * 10 + 24)),
        ({"mlp_bias": True}, 3 * (50 + 50 + 24)),
        ({"tie_word_embeddings": True}, -101 * 24),
        ({"num_key_value_heads": 3}, 3 * 2 * 24 * 10),
        ({"num_hidden_layers": 4}, 24 * (2 * 60 + 2 * 20 + 3 * 50 + 2)),
        ({"intermediate_size": 51}, 3 * 3 * 24),
        ({"head_dim": 12}, 2 * 3 * 24 * (2 * 6 + 2 * 2)),
        ({"vocab_size": 102}, 2 * 24),
    ],
)
def test_a_changed_key_changes_the_parameters_by_its_share(change, delta):
    """Each key is read: one change moves the total by what a hand count says."""
    config = CONFIGS["llama with a head size apart"]
    difference = derive(read({**config, **change}))["params"].expr - derive(read(config))["params"].expr
    assert difference == delta


def test_windows_limit_the_pairs_of_windowed_layers_alone():
    """Under exact attention a windowed layer counts min(i, W) keys for query i."""
    length, window, width = 9, 4, 6 * 10
    pairs = {"full": length * (length + 1) // 2, "window": sum(min(i, window) for i in range(1, length + 1))}
    config = CONFIGS["qwen3 with windows in every other layer"]

    def work(config, attention):
        return derive(read(config), convention=attention).value("flops.forward", {"B": 1, "S": length})

    from symacct.convention import convention

    none, exact = convention(attention="none"), convention(attention="exact")
    assert work(config, exact) - work(config, none) == 2 * 4 * width * (pairs["full"] + pairs["window"])
    plain = {**config, "use_sliding_window": False, "layer_types": None}
    assert work(plain, exact) - work(plain, none) == 4 * 4 * width * pairs["full"]


def test_layers_of_one_kind_share_a_body():
    """As few bodies as the pattern allows, and every layer in one of them."""

    def shape(config):
        repeats = [node for node in read(config).nodes if isinstance(node, Repeat)]
        return [int(repeat.count) for repeat in repeats]

    base = {**CONFIGS["qwen3 with windows in every other layer"], "num_hidden_layers": 6}
    f, w = "full_attention", "sliding_attention"
    assert shape({**base, "layer_types": [f] * 6}) == [6]
    assert shape({**base, "layer_types": [w, f] * 3}) == [3]
    assert shape({**base, "layer_types": [f, f, w] * 2}) == [2]
    assert shape({**base, "layer_types": [f] * 4 + [w] * 2}) == [4, 2]
    assert shape({**base, "layer_types": [f, w, w, w, w, f]}) == [1, 4, 1]


@pytest.mark.parametrize("row", FAMILIES.values(), ids=FAMILIES)
def test_defaults_are_those_of_the_public_configuration_class(row):
    """What a configuration leaves out is what the public class takes."""
    made = transformers.CONFIG_MAPPING[row.model_type]
    public_defaults = {name: getattr(made, name) for name in vars(made) if not name.startswith("_")}
    keys = (row.kv_heads, row.head_dim, row.activation, row.qkv_bias, row.out_bias, row.ffn_bias, row.tied,
            row.window, row.experts, row.chosen)  # fmt: skip
    for key in keys:
        if not isinstance(key, bool) and key is not None and key.name in public_defaults:
            assert public_defaults[key.name] == key.default, key.name
    for name in row.dropouts:
        if name is not None and name in public_defaults:
            assert public_defaults[name] == float(row.default_dropout), name


@pytest.mark.parametrize("row", FAMILIES.values(), ids=FAMILIES)
def test_a_public_configuration_as_it_is_saved_has_no_key_that_goes_unread(row):
    """All that a public class writes by default is read, or says nothing of the work."""
    saved = transformers.CONFIG_MAPPING[row.model_type]().to_json_string(use_diff=False)
    assert read_config(parse(saved, "here"), "default", "here").notes == ()


PUBLISHED = {
    "gpt2": 124_439_808,
    "gpt2-xl": 1_557_611_200,
    "llama-2-7b": 6_738_415_616,
    "llama-3-8b": 8_030_261_248,
    "llama-3-70b": 70_553_706_496,
    "mistral-7b": 7_241_732_096,
    "mixtral-8x7b": 46_702_792_704,
    "qwen3-8b": 8_190_735_360,
}
"""Parameters as published with the checkpoints."""


def test_every_shipped_model_has_a_published_number_to_meet():
    """No model ships unchecked, and each says where its numbers stand."""
    assert {entry.name for entry in list_models()} == set(PUBLISHED)
    assert all(entry.source and entry.date and entry.about for entry in list_models())


@pytest.mark.few(4)
@pytest.mark.parametrize("name", PUBLISHED)
def test_a_shipped_model_has_its_published_parameters(name):
    """The total, from the shipped configuration and from the public module built from it."""
    entry = next(entry for entry in list_models() if entry.name == name)
    config = json.loads(entry.path.read_text(encoding="utf-8"))["config"]
    assert derive(load(name))["params"].expr == PUBLISHED[name] == parameters(public(config))


@pytest.mark.parametrize(
    ("name", "quantity", "length", "each"),
    [
        ("gpt2", "flops.model", 1024, 854_438_400),
        ("gpt2", "flops.forward", 1024, 284_812_800),
        ("llama-2-7b", "flops.model", 4096, 46_084_915_200),
    ],
)
def test_published_flops_per_token(name, quantity, length, each):
    """Matmul FLOPs of a token, attention in full; GPT-2 small: 291,648,307,200 forward for a sequence."""
    account = derive(load(name))
    assert account.value(quantity, {"B": 2, "S": length}) == each * 2 * length


def test_mixtral_uses_two_of_eight_experts():
    """12.9B of its 46.7B parameters take part in one token."""
    account = derive(load("mixtral-8x7b"))
    assert account["params.active"].expr == 12_879_925_248


def test_a_model_has_its_sequences_and_tokens_free():
    """B and S are free, T is there for decoding; symbolically all sizes are."""
    assert load("llama-3-8b").order == ("B", "S", "T")
    assert load("llama-3-8b", symbolic=True).order == ("B", "S", "T", "L", "D", "F", "H", "G", "V")


def test_a_learned_position_table_bounds_the_length():
    """GPT-2 has no position beyond its table, and the formula says so."""
    from symacct.errors import SizeError

    account = derive(load("gpt2"))
    assert [str(c) for c in account["flops.model"].when] == ["1024 >= S"]
    assert account.value("flops.model", {"B": 1, "S": 1024}) > 0
    with pytest.raises(SizeError, match=r"1024 >= (S|T)"):
        account.value("flops.model", {"B": 1, "S": 1025})


def test_more_of_everything_costs_more():
    """FLOPs of a training step grow with every size."""
    config = CONFIGS["llama with a head size apart"]
    larger = [{key: value} for key, value in {"hidden_size": 30, "head_dim": 12, "vocab_size": 110}.items()]
    costs = []
    for change in ({}, *larger):
        config = {**config, **change}
        costs.append(derive(read(config)).value("flops.model", {"B": 1, "S": 5}))
    assert all(low < high for low, high in pairwise(costs))
