"""The families of decoders whose configurations are read: one row each.

A row says under which key a configuration holds each fact, what the family takes where the key is absent
(the default of the public configuration class), and what is fixed in the family.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class Key:
    """A fact that the configuration states under ``name``, and the family's default where it does not."""

    name: str
    default: bool | int | str | None = None


@dataclass(frozen=True, slots=True)
class Family:
    """One row.

    Attributes:
        model_type: how a configuration names the family.
        title: how a reader knows it.
        vocab: key of the number of tokens in the vocabulary; must be given, as the next three.
        width: key of the features of a token.
        layers: key of the number of layers.
        heads: key of the number of query heads.
        kv_heads: key-value heads; absent from a family, or null: as many as query heads.
        head_dim: features of a head; absent or null: width / heads.
        hidden: features inside the feed-forward layer, of one expert where there are several.
        hidden_factor: times the width, where ``hidden`` is null and the family allows it.
        positions: key of the rows of a learned position table; None: positions are rotary.
        norm: layernorm or rmsnorm.
        gated: whether the feed-forward layer has a gate.
        activation: its function.
        qkv_bias: whether the projections of queries, keys and values have biases.
        out_bias: whether the output projection has one.
        ffn_bias: whether the feed-forward layer has.
        qk_norm: whether queries and keys are normalised over a head.
        tied: whether the head is the token table.
        window: tokens that a windowed layer looks back on, itself included; null: none is windowed.
        switch: key that must be true for windows to count; None: windows need no switch.
        mixed: whether layers may differ (``layer_types``, ``max_window_layers``).
        experts: key of the number of experts; None: one feed-forward layer.
        chosen: key of the experts that a token uses.
        dropouts: keys of the rates after the softmax, after each half of a layer, after the embedding.
        refused: keys that must not be true, with the reason.
        sizes: what the family takes for sizes that the text part of a larger configuration leaves out.
    """

    model_type: str
    title: str
    vocab: str = "vocab_size"
    width: str = "hidden_size"
    layers: str = "num_hidden_layers"
    heads: str = "num_attention_heads"
    kv_heads: Key | None = Key("num_key_value_heads")
    head_dim: Key | None = Key("head_dim")
    hidden: str = "intermediate_size"
    hidden_factor: int | None = None
    positions: str | None = None
    norm: str = "rmsnorm"
    gated: bool = True
    activation: Key = Key("hidden_act", "silu")
    qkv_bias: Key | bool = False
    out_bias: Key | bool = False
    ffn_bias: Key | bool = False
    qk_norm: bool = False
    tied: Key = Key("tie_word_embeddings", default=False)
    window: Key | None = None
    switch: str | None = None
    mixed: bool = False
    experts: Key | None = None
    chosen: Key | None = None
    dropouts: tuple[str | None, str | None, str | None] = ("attention_dropout", None, None)
    default_dropout: str = "0"
    refused: tuple[tuple[str, str], ...] = ()
    sizes: tuple[tuple[str, int], ...] = ()


def _sizes(vocab: int, width: int, hidden: int, layers: int, heads: int) -> tuple[tuple[str, int], ...]:
    """Return the default sizes of a family under the usual keys."""
    return (
        ("vocab_size", vocab), ("hidden_size", width), ("intermediate_size", hidden),
        ("num_hidden_layers", layers), ("num_attention_heads", heads),
    )  # fmt: skip


ALIASES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "n_embd": ("hidden_size",),
        "n_layer": ("num_hidden_layers",),
        "n_head": ("num_attention_heads",),
        "n_positions": ("max_position_embeddings",),
    }
)
"""Other names that public configurations use for the same key."""

ATTENTION_BIAS = Key("attention_bias", default=False)

FAMILIES: Mapping[str, Family] = MappingProxyType(
    {
        row.model_type: row
        for row in (
            Family(
                "gpt2", "GPT-2", width="n_embd", layers="n_layer", heads="n_head", kv_heads=None,
                head_dim=None, hidden="n_inner", hidden_factor=4, positions="n_positions", norm="layernorm",
                gated=False, activation=Key("activation_function", "gelu_new"),
                qkv_bias=True, out_bias=True, ffn_bias=True, tied=Key("tie_word_embeddings", default=True),
                dropouts=("attn_pdrop", "resid_pdrop", "embd_pdrop"), default_dropout="0.1",
                sizes=(
                    ("vocab_size", 50257), ("n_positions", 1024), ("n_embd", 768), ("n_layer", 12),
                    ("n_head", 12),
                ),
            ),
            Family(
                "llama", "Llama", qkv_bias=ATTENTION_BIAS, out_bias=ATTENTION_BIAS,
                ffn_bias=Key("mlp_bias", default=False), sizes=_sizes(32000, 4096, 11008, 32, 32),
            ),
            Family(
                "mistral", "Mistral", kv_heads=Key("num_key_value_heads", 8),
                window=Key("sliding_window", 4096), sizes=_sizes(32000, 4096, 14336, 32, 32),
            ),
            Family(
                "mixtral", "Mixtral", kv_heads=Key("num_key_value_heads", 8), window=Key("sliding_window"),
                experts=Key("num_local_experts", 8), chosen=Key("num_experts_per_tok", 2),
                sizes=_sizes(32000, 4096, 14336, 32, 32),
            ),
            Family(
                "qwen2", "Qwen2", kv_heads=Key("num_key_value_heads", 32), qkv_bias=True,
                window=Key("sliding_window", 4096), switch="use_sliding_window", mixed=True,
                sizes=_sizes(151936, 4096, 22016, 32, 32),
            ),
            Family(
                "qwen3", "Qwen3", kv_heads=Key("num_key_value_heads", 32), head_dim=Key("head_dim", 128),
                qkv_bias=ATTENTION_BIAS, out_bias=ATTENTION_BIAS, qk_norm=True,
                window=Key("sliding_window", 4096), switch="use_sliding_window", mixed=True,
                sizes=_sizes(151936, 4096, 22016, 32, 32),
            ),
        )
    }
)  # fmt: skip

ACTIVATIONS: Mapping[str, str] = MappingProxyType(
    {
        "silu": "silu",
        "swish": "silu",
        "gelu": "gelu",
        "gelu_python": "gelu",
        "gelu_new": "gelu_tanh",
        "gelu_fast": "gelu_tanh",
        "gelu_pytorch_tanh": "gelu_tanh",
        "relu": "relu",
        "tanh": "tanh",
        "sigmoid": "sigmoid",
    }
)
"""Names of activations in configurations, and in the elementwise table."""
