"""Keys of a configuration that change the model: read as the public classes read them, or refused."""

from __future__ import annotations

import pytest

from symacct import derive
from symacct.errors import SymacctError
from symacct.readers.configs import read_config
from symacct.readers.decoder import decoder_graph
from symacct.readers.families import FAMILIES
from symacct.readers.files import load
from symacct.readers.other_families import OTHER_FAMILIES

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

SIZES = {"vocab_size": 101, "hidden_size": 24, "num_hidden_layers": 2, "intermediate_size": 50}
GROUPED = {**SIZES, "num_attention_heads": 6, "num_key_value_heads": 2}
GPT2 = {"vocab_size": 101, "n_embd": 24, "n_layer": 2, "n_head": 4, "n_positions": 32}
CONFIGS = {
    "gpt2": ("GPT2", {"model_type": "gpt2", **GPT2}),
    "llama": ("Llama", {"model_type": "llama", **GROUPED}),
    "llama tied": ("Llama", {"model_type": "llama", **GROUPED, "tie_word_embeddings": True}),
    "mistral": ("Mistral", {"model_type": "mistral", **GROUPED, "sliding_window": None}),
    "mixtral": ("Mixtral", {"model_type": "mixtral", **GROUPED, "num_local_experts": 3}),
    "qwen2": ("Qwen2", {"model_type": "qwen2", **GROUPED}),
    "qwen3": ("Qwen3", {"model_type": "qwen3", **GROUPED, "head_dim": 10}),
}
LABELS = {str(place): f"LABEL_{place}" for place in range(5)}
CLASSES = {
    "ForCausalLM": {},
    "Model": {},
    "ForSequenceClassification": {"num_labels": 1},
    "ForTokenClassification": {"id2label": LABELS},
    "ForQuestionAnswering": {},
}
LLAMA = CONFIGS["llama"][1]


def read(config: dict, name: str = "tiny"):
    return decoder_graph(read_config(config, name, "config.json"))


def refused(config: dict) -> str:
    with pytest.raises(SymacctError) as caught:
        read_config(config, "tiny", "config.json")
    return str(caught.value)


def public(config: dict, name: str, device: str = "meta"):
    """Build the public class that the configuration names."""
    made = transformers.CONFIG_MAPPING[config["model_type"]](
        **{key: value for key, value in config.items() if key not in ("model_type", "architectures")}
    )
    made._attn_implementation = "eager"
    with torch.device(device):
        return getattr(transformers, name)(made)


def parameters(module) -> int:
    return sum(one.numel() for one in set(module.parameters()))


@pytest.mark.few(1)
@pytest.mark.parametrize("end", CLASSES)
@pytest.mark.parametrize(("title", "config"), CONFIGS.values(), ids=CONFIGS)
def test_each_class_of_a_family_has_the_parameters_of_the_public_one(title, config, end):
    """Bodies, heads of words, of labels for sequences and tokens, and of answers."""
    name = f"{title}LMHeadModel" if title == "GPT2" and end == "ForCausalLM" else title + end
    config = {**config, **CLASSES[end], "architectures": [name]}
    graph = read(config)
    assert derive(graph)["params"].expr == parameters(public(config, name))
    assert set(graph.notes) == set()


@pytest.mark.few(1)
@pytest.mark.parametrize("end", CLASSES)
@pytest.mark.parametrize("name", ["gpt2", "llama", "qwen3"])
def test_each_class_has_the_flops_that_torch_counts(name, end):
    """Forward and backward, in full; torch's counter sees what the heads do, last tokens included."""
    from torch.utils.flop_counter import FlopCounterMode

    title, config = CONFIGS[name]
    named = f"{title}LMHeadModel" if title == "GPT2" and end == "ForCausalLM" else title + end
    config = {**config, **CLASSES[end], "architectures": [named], "pad_token_id": 0}
    module = public(config, named, "cpu")
    batch, length = 2, 5
    with FlopCounterMode(display=False) as counter:
        made = module(torch.randint(1, 101, (batch, length)))
        found = getattr(made, "logits", None)
        if end == "ForQuestionAnswering":
            found = made.start_logits + made.end_logits
        (made.last_hidden_state if found is None else found).sum().backward()
    account = derive(read(config))
    assert account.value("flops.model", {"B": batch, "S": length}) == counter.get_total_flops()


def test_what_a_class_leaves_out_is_said():
    """The first sentence of the graph names the head that it has."""
    said = {
        "LlamaForCausalLM": "A decoder of the Llama family.",
        "LlamaModel": "A decoder of the Llama family, without a head and a loss.",
        "LlamaForSequenceClassification": "with a head of 2 labels for a sequence, and no loss.",
    }
    for name, words in said.items():
        assert read({**LLAMA, "architectures": [name]}).doc.endswith(words)
    for none in (None, []):
        assert read({**LLAMA, "architectures": none}).doc == said["LlamaForCausalLM"]


@pytest.mark.parametrize(
    "name",
    ["LlamaForRewardModel", "LlamaForCausalLMEagle3", "MistralForCausalLM", "GPT2DoubleHeadsModel", "Model",
     "LlamaForMaskedLM", "", "PhiModel"],
)  # fmt: skip
def test_a_class_that_is_not_read_is_refused(name):
    """A head or a family of its own is never taken for the usual one."""
    text = refused({**LLAMA, "architectures": [name]})
    assert "which is not read for the family Llama" in text
    assert "LlamaForSequenceClassification" in text


def test_wrong_values_of_keys_that_choose_the_model():
    """Each is named; the valid neighbour is read."""
    assert "name one class" in refused({**LLAMA, "architectures": "LlamaModel"})
    assert "name one class" in refused({**LLAMA, "architectures": ["LlamaModel", "LlamaForCausalLM"]})
    labels = {**LLAMA, "architectures": ["LlamaForSequenceClassification"]}
    assert "num_labels = 5" in refused({**labels, "num_labels": 4, "id2label": LABELS})
    assert "id2label" in refused({**labels, "id2label": 5})
    assert "num_labels is out of range" in refused({**labels, "num_labels": 0})
    assert read_config({**labels, "num_labels": 5, "id2label": LABELS}, "tiny", "").head.labels == 5
    assert "is_causal" in refused({**LLAMA, "is_causal": "no"})
    assert "encoder" in refused({**LLAMA, "is_encoder_decoder": True})
    assert "cross-attention" in refused({**LLAMA, "add_cross_attention": True})
    windows = {**CONFIGS["mistral"][1], "sliding_window": 4}
    assert "both ways" in refused({**windows, "is_causal": False})
    assert read_config({**windows, "is_causal": True}, "tiny", "").causal


@pytest.mark.parametrize("name", ["llama", "gpt2", "qwen2"])
def test_tokens_that_look_both_ways_have_every_pair(name):
    """All pairs stay under every convention, where a causal model has about half of them."""
    config = {**CONFIGS[name][1]}
    both, one = read({**config, "is_causal": False}), read({**config, "is_causal": True})
    full = [
        derive(graph, convention="default").value("flops.forward", {"B": 2, "S": 6}) for graph in (both, one)
    ]
    assert full[0] == full[1]
    from symacct.convention import convention

    exact = convention("default", attention="exact")
    pairs = [
        derive(graph, convention=exact).value("flops.forward", {"B": 2, "S": 6}) for graph in (both, one)
    ]
    assert pairs[0] == full[0]
    assert full[0] - pairs[1] == 2 * 2 * 24 * 2 * 2 * (36 - 21)
    assert "look both ways" in both.doc


@pytest.mark.parametrize("name", ["llama", "gpt2"])
def test_tokens_look_both_ways_where_the_public_model_lets_them(name):
    """The first token's output depends on the last token where is_causal is false, and only there."""
    title, config = CONFIGS[name]
    for causal in (True, False):
        module = public({**config, "is_causal": causal}, f"{title}Model", "cpu").eval()
        ids = torch.arange(1, 7)[None]
        other = ids.clone()
        other[0, -1] = 50
        first = [module(one).last_hidden_state[0, 0] for one in (ids, other)]
        assert torch.equal(*first) is causal


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"_attn_implementation": "sdpa"}, "_attn_implementation says sdpa: the account is of eager kernels"),
        ({"attn_implementation": "flash_attention_2"}, "says flash_attention_2"),
        ({"_attn_implementation": {"": "sdpa"}}, "the account is of eager kernels"),
        ({"auto_map": {"AutoModel": "own.Model"}}, "auto_map names code of its own"),
    ],
)
def test_kernels_and_code_that_are_not_counted_are_said(change, words):
    """A warning of the account; eager kernels and no code are silent."""
    warnings = derive(read({**LLAMA, **change})).warnings
    assert len(warnings) == 1
    assert words in warnings[0]
    assert derive(read({**LLAMA, "_attn_implementation": "eager", "auto_map": {}})).warnings == ()


@pytest.mark.parametrize("row", FAMILIES.values(), ids=FAMILIES)
def test_a_text_part_takes_the_sizes_of_its_family_and_says_so(row):
    """Files of models of several parts leave the usual sizes out; a model alone must state them."""
    config = {"model_type": "several", "text_config": {"model_type": row.model_type}}
    graph = read(config)
    named = transformers.CONFIG_MAPPING[row.model_type]()
    name = transformers.MODEL_FOR_CAUSAL_LM_MAPPING[type(named)].__name__
    assert derive(graph)["params"].expr == parameters(public({"model_type": row.model_type}, name))
    assert len(graph.notes) == 1
    for key, size in row.sizes:
        assert f"{key} {size}" in graph.notes[0]
        assert getattr(named, key) == size
    assert "is missing" in refused({"model_type": row.model_type})
    stated = {**config["text_config"], **dict(row.sizes)}
    assert read({"text_config": stated}).notes == ()


def test_a_text_part_has_the_head_of_the_whole():
    """A class of several parts that writes has a language head; one that does not has none."""
    whole = {"model_type": "llava", "text_config": LLAMA}
    heads = {
        ("LlavaForConditionalGeneration", None): "language",
        ("LlavaModel", "LlamaForCausalLM"): "none",
        (None, "LlamaForCausalLM"): "language",
        (None, "LlamaModel"): "none",
    }
    for (outer, inner), kind in heads.items():
        given = {**whole, "text_config": {**LLAMA, "architectures": [inner] if inner else None}}
        given |= {"architectures": [outer]} if outer else {}
        assert read_config(given, "tiny", "").head.kind == kind
    assert "is not read" in refused({**whole, "architectures": ["LlavaForRetrieval"]})


@pytest.mark.few(102)
@pytest.mark.parametrize("name", sorted(OTHER_FAMILIES))
def test_a_known_family_is_never_another_one_misspelt(name):
    """It is said to be one that is not read, with the way on."""
    text = refused({**LLAMA, "model_type": name})
    assert "did you mean" not in text
    assert f"the family {name} is not read" in text
    assert "writing-a-graph" in text


def test_the_known_families_are_those_of_the_public_library():
    """Each name is one; none is a family that is read; each that writes text is there."""
    from transformers.models.auto import modeling_auto

    assert set(transformers.CONFIG_MAPPING) >= OTHER_FAMILIES
    assert not OTHER_FAMILIES & set(FAMILIES)
    assert set(modeling_auto.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES) <= OTHER_FAMILIES | set(FAMILIES)


@pytest.mark.parametrize(
    ("name", "fix"),
    [("lama", "'llama'"), ("mistrall", "'mistral'"), ("qwen_2", "'qwen2'"), ("gpt3", None), ("qwen4", None),
     ("my_own", None), ("qwen2_extra_long", None)],
)  # fmt: skip
def test_a_misspelt_family_is_suggested_where_its_digits_agree(name, fix):
    """Another digit is another model."""
    text = refused({**LLAMA, "model_type": name})
    assert ("did you mean" in text) is (fix is not None)
    assert fix is None or fix in text
    assert "writing-a-graph" in text


@pytest.mark.parametrize(
    "name",
    ["gptj", "gpt-j", "qwen3_moe", "qwen3-moe", "gemma-2-9b", "llama-4-8b", "llama-3-9b", "gpt3",
     "mistral-8b", "mixtral-8x22b", "phi-3", "qwen2.5-7b", "google/gemma-2-9b",
     "EleutherAI/gpt-j-6b", "gpt_neox"],
)  # fmt: skip
def test_no_other_model_is_suggested_for_a_name(name):
    """A name of another family or size is not one that ships."""
    with pytest.raises(SymacctError) as caught:
        load(name)
    assert "did you mean" not in str(caught.value)
