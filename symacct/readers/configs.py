"""Public model configurations into what they say of a decoder.

The same reader for ``config.json`` of every family in ``families``. Nothing is downloaded.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, Any

from symacct.errors import ReadError, UnknownNameError, unknown
from symacct.readers.families import ACTIVATIONS, FAMILIES, Family, Key
from symacct.readers.heads import GUIDE, Head, read_head
from symacct.readers.other_families import OTHER_FAMILIES
from symacct.readers.unread import elsewhere, unread
from symacct.readers.values import Values, shown

if TYPE_CHECKING:
    from fractions import Fraction

FULL, WINDOWED = "full_attention", "sliding_attention"
MOST_LAYERS = 10_000
LIKE = 0.8
"""How much a name is like that of a family before it is taken for a misspelt one."""
REFUSED = (
    ("is_encoder_decoder", "a model of an encoder and a decoder is not read"),
    ("add_cross_attention", "cross-attention is not read"),
)
"""Keys that must not be true in any family, with the reason."""


@dataclass(frozen=True, slots=True)
class Decoder:
    """What a configuration says, with defaults filled in and every value checked.

    Attributes:
        family: the row it was read with.
        sizes: vocabulary, width, layers, heads, key-value heads, features of a head, hidden features.
        positions: rows of a learned position table, or None.
        kinds: one word for each layer: full or windowed attention.
        window: tokens that a windowed layer looks back on, or None.
        experts: number of experts and how many a token uses, or None.
        dropouts: rates after the softmax, after each half of a layer, after the embedding.
        activation: name in the elementwise table.
        head: what stands on the last layer.
        causal: whether a token looks at those before it alone.
        notes: keys that are not read and may change the cost, and sizes that were left to defaults.
    """

    name: str
    family: Family
    vocab: int
    width: int
    layers: int
    heads: int
    kv_heads: int
    head_dim: int
    hidden: int
    positions: int | None
    kinds: tuple[str, ...]
    window: int | None
    experts: tuple[int, int] | None
    dropouts: tuple[Fraction, Fraction, Fraction]
    activation: str
    qkv_bias: bool
    out_bias: bool
    ffn_bias: bool
    tied: bool
    head: Head = field(default_factory=Head)
    causal: bool = True
    notes: tuple[str, ...] = ()


def read_config(config: Any, name: str, where: str) -> Decoder:
    """Return what a configuration says of a decoder.

    Args:
        config: the parsed JSON.
        name: what the model is called.
        where: for messages.

    Raises:
        ReadError: a key is missing, of the wrong kind, or does not go with another.
        UnknownNameError: the family, the activation or the kind of a layer is not known.
    """
    values = _text_part(config, where)
    family = _family(values)
    values, left = _with_defaults(config, values, family)
    for key, reason in (*family.refused, *REFUSED):
        if values.data.get(key):
            raise ReadError(reason, where=where, expected=f"{key}: false", got=shown(values.data[key]))
    layers = values.count(family.layers)
    if layers > MOST_LAYERS:
        raise ReadError(
            f"{family.layers} is too large", where=where, expected=f"at most {MOST_LAYERS}", got=str(layers)
        )
    window, kinds = _windows(values, family, layers)
    width, (heads, kv_heads, head_dim) = values.count(family.width), _heads(values, family)
    return Decoder(
        name=name,
        family=family,
        vocab=values.count(family.vocab),
        width=width,
        layers=layers,
        heads=heads,
        kv_heads=kv_heads,
        head_dim=head_dim,
        hidden=_hidden(values, family, width),
        positions=None if family.positions is None else values.count(family.positions),
        kinds=kinds,
        window=window,
        experts=_experts(values, family),
        dropouts=tuple(values.rate(key, family.default_dropout) for key in family.dropouts),  # type: ignore[arg-type]
        activation=_activation(values, family),
        qkv_bias=values.flag(family.qkv_bias),
        out_bias=values.flag(family.out_bias),
        ffn_bias=values.flag(family.ffn_bias),
        tied=values.flag(family.tied),
        head=read_head(config, values, family),
        causal=_causal(values, kinds),
        notes=(*left, *elsewhere(values.data), *unread({**config, **values.data}, family)),
    )


def _text_part(config: Any, where: str) -> Values:
    """Return the keys of the language model: those of ``text_config`` where there is one."""
    if not isinstance(config, dict):
        raise ReadError(
            "a configuration is an object", where=where, expected='{"model_type": ...}', got=shown(config)
        )
    inner = config.get("text_config")
    if inner is None:
        return Values(config, where)
    if not isinstance(inner, dict):
        raise ReadError("text_config is an object", where=where, expected="{...}", got=shown(inner))
    outer = {key: config[key] for key in ("tie_word_embeddings",) if key in config}
    return Values({**outer, **inner}, f"{where}, text_config")


def _with_defaults(config: Any, values: Values, family: Family) -> tuple[Values, tuple[str, ...]]:
    """Return the keys of a text part with the sizes of its family that it leaves out, and a note of them."""
    if not isinstance(config.get("text_config"), dict):
        return values, ()
    left = {name: size for name, size in family.sizes if not values.has(name)}
    if not left:
        return values, ()
    listed = ", ".join(f"{name} {size}" for name, size in left.items())
    note = f"text_config leaves sizes to the defaults of {family.title}: {listed}"
    return Values({**left, **values.data}, values.where), (note,)


def _causal(values: Values, kinds: tuple[str, ...]) -> bool:
    """Return whether a token looks at those before it alone."""
    causal = values.flag(Key("is_causal", default=True))
    if not causal and WINDOWED in kinds:
        what = "windows that look both ways are not read"
        raise ReadError(
            what, where=values.where, expected="is_causal: true, or no window", got="is_causal: false"
        )
    return causal


def _family(values: Values) -> Family:
    name = values.data.get("model_type")
    if not isinstance(name, str):
        raise ReadError(
            "model_type is missing" if name is None else "model_type has a value of the wrong kind",
            where=values.where,
            expected=f"model_type: one of {', '.join(sorted(FAMILIES))}",
            got=shown(name)
            if "model_type" in values.data
            else f"the keys {', '.join(sorted(values.data)[:20]) or '(none)'}",
        )
    if name not in FAMILIES:
        raise _other(name, values.where)
    return FAMILIES[name]


def _other(name: str, where: str) -> UnknownNameError:
    """Return the error for a family that is not read: one that is spelt wrongly, or another one."""
    error = unknown("model_type", name, FAMILIES, where=where)
    way = f"write its graph: {GUIDE}"
    if name in OTHER_FAMILIES:
        error.what = f"the family {name} is not read"
        error.fix = way
    else:
        like = error.fix is not None and SequenceMatcher(None, name, error.fix.split("'")[1]).ratio() > LIKE
        error.fix = f"{error.fix} else {way}" if like else way
    return error


def _heads(values: Values, family: Family) -> tuple[int, int, int]:
    """Return query heads, key-value heads and features of a head."""
    heads, key = values.count(family.heads), family.kv_heads
    kv_heads = (values.optional(key) if key else None) or heads
    if heads % kv_heads and key is not None:
        default = "" if values.has(key.name) else f" (the default of {family.title})"
        raise ReadError(
            f"{family.heads} is not a multiple of {key.name}",
            where=values.where,
            expected=f"a multiple of {kv_heads}{default}",
            got=str(heads),
            fix=f"each of the {kv_heads} key-value heads serves the same number of query heads",
        )
    return heads, kv_heads, _head_features(values, family, heads)


def _head_features(values: Values, family: Family, heads: int) -> int:
    width = values.count(family.width)
    given = values.optional(family.head_dim) if family.head_dim else None
    if given is None and width % heads:
        raise ReadError(
            f"{family.heads} does not divide {family.width}",
            where=values.where,
            expected=f"a divisor of {width}",
            got=str(heads),
            fix=f"give {family.head_dim.name}" if family.head_dim else None,
        )
    features = given or width // heads
    if family.positions is None and features % 2:
        raise ReadError(
            "a head has an odd number of features",
            where=values.where,
            expected="an even number, whose halves a rotary embedding turns",
            got=str(features) if given else f"{features} = {width}/{heads}",
        )
    return features


def _hidden(values: Values, family: Family, width: int) -> int:
    if family.hidden_factor is None:
        return values.count(family.hidden)
    return values.optional(Key(family.hidden)) or family.hidden_factor * width


def _activation(values: Values, family: Family) -> str:
    name = values.word(family.activation)
    if name not in ACTIVATIONS:
        raise unknown(family.activation.name, name, ACTIVATIONS, where=values.where)
    return ACTIVATIONS[name]


def _experts(values: Values, family: Family) -> tuple[int, int] | None:
    if family.experts is None or family.chosen is None:
        return None
    experts, chosen = values.optional(family.experts), values.optional(family.chosen)
    if experts is None or chosen is None or chosen > experts:
        raise ReadError(
            f"{family.chosen.name} and {family.experts.name} do not go together",
            where=values.where,
            expected="a token uses at least 1 expert and at most all of them",
            got=f"{shown(chosen)} of {shown(experts)}",
        )
    return experts, chosen


def _windows(values: Values, family: Family, layers: int) -> tuple[int | None, tuple[str, ...]]:
    """Return the window, and the kind of each layer."""
    window = values.optional(family.window) if family.window else None
    if family.switch and not values.flag(Key(family.switch, default=False)):
        window = None
    listed = values.words("layer_types") if family.mixed else None
    if listed is not None:
        kinds = _listed(values, listed, layers)
        if WINDOWED in kinds and window is None:
            raise ReadError(
                f"layer_types has {WINDOWED}, and no window is given",
                where=values.where,
                expected="sliding_window, and use_sliding_window: true",
                got="no window",
            )
    elif window is None:
        kinds = (FULL,) * layers
    else:
        first = (
            (values.get("max_window_layers") if values.has("max_window_layers") else 28)
            if family.mixed
            else 0
        )
        kinds = _from(values, first, layers)
    return (window if WINDOWED in kinds else None), kinds


def _listed(values: Values, listed: Any, layers: int) -> tuple[str, ...]:
    if len(listed) != layers:
        raise ReadError(
            "layer_types does not name each layer",
            where=values.where,
            expected=f"{layers} names",
            got=str(len(listed)),
        )
    for kind in listed:
        if kind not in (FULL, WINDOWED):
            raise unknown("kind of layer", str(kind)[:60], (FULL, WINDOWED), where=values.where)
    return tuple(listed)


def _from(values: Values, first: Any, layers: int) -> tuple[str, ...]:
    """Return full attention in the layers below ``first`` and windows in the others."""
    if isinstance(first, bool) or not isinstance(first, int) or first < 0:
        raise ReadError(
            "max_window_layers has a value of the wrong kind",
            where=values.where,
            expected="an integer of at least 0",
            got=shown(first),
        )
    return tuple(FULL if layer < first else WINDOWED for layer in range(layers))
