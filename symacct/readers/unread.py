"""Keys of a configuration that are not read: what may change the cost is said, the rest stays silent."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any

from symacct.readers.families import ALIASES, Key

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from symacct.readers.families import Family

MOST_NOTES = 20
LONGEST_KEY = 60

HARMLESS = frozenset(
    {
        "_name_or_path", "name_or_path", "architectures", "transformers_version", "torch_dtype", "dtype",
        "model_type", "text_config", "unsloth_version", "unsloth_fixed",
        "use_cache", "cache_implementation", "torchscript",
        "initializer_range", "initializer_factor", "rms_norm_eps", "layer_norm_epsilon", "layer_norm_eps",
        "rope_theta", "rope_scaling", "rope_parameters", "max_position_embeddings", "n_ctx",
        "max_sequence_length", "model_max_length", "seq_length", "pretraining_tp", "chunk_size_feed_forward",
        "id2label", "label2id", "num_labels", "problem_type", "finetuning_task", "task_specific_params",
        "return_dict", "output_attentions", "output_hidden_states", "router_aux_loss_coef", "tokenizer_class",
        "summary_activation", "summary_proj_to_labels", "summary_type", "summary_use_proj", "is_decoder",
    }
)  # fmt: skip
"""Keys that say nothing of the work: names, dtypes, constants of formulas, labels, lengths."""

HARMLESS_ENDS = ("_token_id", "_token_ids", "_token_index", "dropout", "_pdrop")
"""Ends of such keys; a dropout rate that the family does not read is one that its layers do not use."""

USUAL: Mapping[str, Any] = {"scale_attn_weights": True}
"""Keys that say nothing as long as they have this value."""

NO_KEYS = ("model_type", "title", "norm", "default_dropout", "sizes")
"""Columns of a row that are words, and no keys of a configuration."""

NOTHING: tuple[Any, ...] = (None, False, 0, "", [], {})
"""Values that switch nothing on."""


def unread(config: Mapping[str, Any], family: Family) -> tuple[str, ...]:
    """Return a note for each key that is not read and may change the cost, in the order of the file.

    >>> from symacct.readers.families import FAMILIES
    >>> unread({"hidden_size": 8, "rope_theta": 1, "num_experts": 4, "pruned_heads": {}}, FAMILIES["llama"])
    ('config key num_experts is not read',)
    """
    known = keys_of(family)
    found = [key for key, value in config.items() if key not in known and not _harmless(key, value)]
    notes = [f"config key {key[:LONGEST_KEY]} is not read" for key in found[:MOST_NOTES]]
    more = len(found) - len(notes)
    return (*notes, *([f"{more} more config keys are not read"] if more else []))


KERNELS = ("_attn_implementation", "attn_implementation", "_attn_implementation_internal")
"""Keys that choose the kernel of attention."""

READ = frozenset({*KERNELS, "is_causal", "is_encoder_decoder", "add_cross_attention", "auto_map"})
"""Keys that are read, refused or said in every family."""


def elsewhere(config: Mapping[str, Any]) -> tuple[str, ...]:
    """Return notes of what a configuration chooses that is not part of the graph: kernels, and code.

    >>> elsewhere({"_attn_implementation": "sdpa"}), elsewhere({"_attn_implementation": "eager"})
    (('_attn_implementation says sdpa: the account is of eager kernels',), ())
    """
    chosen = [(key, config[key]) for key in KERNELS if config.get(key) not in (None, "eager")]
    notes = [
        f"{key} says {str(value)[:LONGEST_KEY]}: the account is of eager kernels" for key, value in chosen
    ]
    code = ["auto_map names code of its own, which is not read"] if config.get("auto_map") else []
    return (*notes, *code)


def keys_of(family: Family) -> frozenset[str]:
    """Return the keys that are read for a family, other names included."""
    values = [getattr(family, field.name) for field in fields(family) if field.name not in NO_KEYS]
    names = {name for value in values for name in _names(value)}
    if family.mixed:
        names |= {"layer_types", "max_window_layers"}
    return frozenset(names | {alias for name in names for alias in ALIASES.get(name, ())})


def _names(value: Any) -> Iterable[str]:
    """Yield the keys that a row names in one of its columns."""
    if isinstance(value, Key):
        yield value.name
    elif isinstance(value, str):
        yield value
    elif isinstance(value, tuple):
        for part in value:
            yield from _names(part[0] if isinstance(part, tuple) else part)


def _harmless(key: str, value: Any) -> bool:
    if key in HARMLESS or key in READ or key.endswith(HARMLESS_ENDS):
        return True
    return value == USUAL[key] if key in USUAL else value in NOTHING
