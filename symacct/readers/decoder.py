"""One decoder graph for every family of configurations."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from symacct.algebra.condition import Condition
from symacct.build import Builder
from symacct.readers.configs import WINDOWED, Decoder
from symacct.readers.heads import LANGUAGE, NONE, SEQUENCE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from symacct.build import Var
    from symacct.nodes import Graph

Runs = tuple[tuple[int, tuple[str, ...]], ...]


def decoder_graph(model: Decoder, *, symbolic: bool = False) -> Graph:
    """Return the graph of a configuration: B sequences of S tokens, the other sizes bound or symbolic.

    >>> from symacct.readers.configs import read_config
    >>> config = {"model_type": "llama", "vocab_size": 11, "hidden_size": 8, "num_hidden_layers": 3,
    ...           "num_attention_heads": 2, "intermediate_size": 20}
    >>> decoder_graph(read_config(config, "tiny", "here")).order
    ('B', 'S', 'T')
    """
    return _Writer(model).graph(symbolic=symbolic)


def runs(kinds: tuple[str, ...]) -> Runs:
    """Return layers as (count, kinds of the layers in the body): a period and what is left, else runs alike.

    >>> runs(("f", "f", "f")), runs(("f", "w", "f", "w")), runs(("f", "f", "w"))
    (((3, ('f',)),), ((2, ('f', 'w')),), ((2, ('f',)), (1, ('w',))))
    >>> runs(("w", "w", "f", "w", "w", "f", "w", "w"))
    ((2, ('w', 'w', 'f')), (2, ('w',)))
    """
    for period in range(1, len(kinds) // 2 + 1):
        times, over = divmod(len(kinds), period)
        if kinds == (kinds[:period] * (times + 1))[: len(kinds)]:
            return ((times, kinds[:period]), *(runs(kinds[-over:]) if over else ()))
    starts = [i for i, kind in enumerate(kinds) if i == 0 or kinds[i - 1] != kind]
    return tuple(
        (end - start, (kinds[start],)) for start, end in zip(starts, [*starts[1:], len(kinds)], strict=True)
    )


class _Writer:
    """Writes one decoder; ``sizes`` collects (name, value, meaning) of the sizes the model has."""

    def __init__(self, model: Decoder) -> None:
        self.model = model
        self.runs = runs(model.kinds)
        self.sizes = list(self._sizes())
        meanings = {
            "B": "sequences",
            "S": "tokens per sequence",
            "T": "tokens that a query looks at (S when training)",
            **{name: meaning for name, _, meaning in self.sizes},
        }
        both = "" if model.causal else ", whose tokens look both ways"
        doc = f"A decoder of the {model.family.title} family{both}{model.head.said}."
        self.b = Builder(model.name, meanings, tokens="B*S", doc=doc)
        self.K = "K" if "K" in meanings else "D/H"
        self.grouped = "G" in meanings

    def _sizes(self) -> Iterator[tuple[str, int, str]]:
        m = self.model
        for place, (count, kinds) in enumerate(self.runs, 1):
            what = "layers" if len(kinds) == 1 else f"groups of {len(kinds)} layers"
            alone = len(self.runs) == 1
            name, alike = ("L", "") if alone else (f"L{place}", f" ({kinds[0]})" * (len(kinds) == 1))
            yield name, count, what + alike
        yield "D", m.width, "features"
        yield "F", m.hidden, "hidden features of the feed-forward layer"
        yield "H", m.heads, "query heads"
        if m.kv_heads != m.heads:
            yield "G", m.kv_heads, "key-value heads"
        if m.head_dim * m.heads != m.width:
            yield "K", m.head_dim, "features of a head"
        if m.experts is not None:
            yield "E", m.experts[0], "experts"
            yield "k", m.experts[1], "experts that a token uses"
        if m.window is not None:
            yield "W", m.window, "tokens of a window"
        if m.positions is not None:
            yield "P", m.positions, "rows of the position table"
        yield "V", m.vocab, "vocabulary"
        if m.head.labels:
            yield "C", m.head.labels, "labels"

    def graph(self, *, symbolic: bool) -> Graph:
        b, m = self.b, self.model
        if self.K == "D/H":
            b.require(Condition("divides", b.size("H"), b.size("D")))
        ids = b.input("ids", "B S", dtype="index")
        language = m.head.kind == LANGUAGE
        targets = b.input("targets", "B S", dtype="index") if language else None
        self.tables = None if m.positions else tuple(b.constant(n, "S K", K=self.K) for n in ("cos", "sin"))
        x, table = self.embedding(ids)
        for place, (_, kinds) in enumerate(self.runs, 1):
            alone = len(self.runs) == 1
            count, name = ("L", "layers") if alone else (f"L{place}", f"layers{place}")
            x = b.repeat(count, partial(self.body, kinds), x, name=name)
        x = self.norm(x, "D", "norm")
        if m.head.kind != NONE:
            with b.region("head"):
                x = self.head(x, table)
        out = x if targets is None else b.cross_entropy(x, targets, "V")
        graph = replace(b.build(out), notes=m.notes)
        return graph if symbolic else graph.bind({name: value for name, value, _ in self.sizes})

    def head(self, x: Var, table: Var) -> Var:
        """Return the logits: of words, or of labels, of which those of a sequence are the last token's."""
        b, head = self.b, self.model.head
        if head.kind == LANGUAGE and self.model.tied:
            return b.einsum("B S D, V D -> B S V", x, table, label="logits")
        if head.kind == LANGUAGE:
            return b.linear(x, "D -> V", name="logits")
        x = b.dropout(x, str(head.dropout)) if head.dropout else x
        x = b.linear(x, "D -> C", bias=head.bias, name="score")
        return b.slice(x, "S", b.size("S") - 1, b.size("S"), label="last") if head.kind == SEQUENCE else x

    def embedding(self, ids: Var) -> tuple[Var, Var]:
        b, m = self.b, self.model
        with b.region("embedding"):
            table = b.weight("tokens", "V D")
            x = b.embedding(table, ids, label="token")
            if m.positions is not None:
                b.require(Condition("at_least", b.size("P"), b.size("T")))
                place = b.constant("place", "S", dtype="index")
                x = x + b.embedding(b.weight("positions", "P D"), place, label="position")
            return self.dropout(x, 2), table

    def body(self, kinds: tuple[str, ...], x: Var) -> Var:
        if len(kinds) == 1:
            return self.block(x, kinds[0])
        for place, kind in enumerate(kinds, 1):
            with self.b.layer(f"layer{place}"):
                x = self.block(x, kind)
        return x

    def block(self, x: Var, kind: str) -> Var:
        y = self.norm(x, "D", "attention_norm")
        with self.b.region("attention"):
            y = self.dropout(self.attention(y, kind), 1)
        x = x + y
        y = self.norm(x, "D", "ffn_norm")
        with self.b.region("ffn"):
            y = self.dropout(self.experts(y) if self.model.experts else self.ffn(y), 1)
        return x + y

    def norm(self, x: Var, axis: str, name: str) -> Var:
        return getattr(self.b, self.model.family.norm)(x, axis, name=name)  # type: ignore[no-any-return]

    def dropout(self, x: Var, place: int) -> Var:
        rate = self.model.dropouts[place]
        return self.b.dropout(x, str(rate)) if rate else x

    def attention(self, x: Var, kind: str) -> Var:
        b, m = self.b, self.model
        heads = {"q": "H", "k": "G" if self.grouped else "H", "v": "G" if self.grouped else "H"}
        q, k, v = (
            b.linear(x, f"D -> {own} K", K=self.K, bias=m.qkv_bias, name=name) for name, own in heads.items()
        )
        q, k = self.placed(q, "q"), self.placed(k, "k")
        if self.grouped:
            q = b.rearrange("B S (G R) K -> B S G R K", q, label="groups")
        rate = m.dropouts[0]
        window = "W" if kind == WINDOWED else None
        k, v = b.keys(k, "S", "T"), b.keys(v, "S", "T")
        chance = str(rate) if rate else None
        mixed = b.attention(q, k, v, window=window, causal=m.causal, dropout=chance)
        return b.linear(mixed, "G R K -> D" if self.grouped else "H K -> D", bias=m.out_bias, name="o")

    def placed(self, x: Var, name: str) -> Var:
        """Normalise and rotate queries or keys, where the family does."""
        if self.model.family.qk_norm:
            x = self.norm(x, "K", f"{name}_norm")
        return self.b.rotary(x, *self.tables, axis="K") if self.tables else x

    def ffn(self, x: Var) -> Var:
        b, m = self.b, self.model
        up = b.linear(x, "D -> F", bias=m.ffn_bias, name="gate" if m.family.gated else "up")
        hidden = b.elementwise(m.activation, up)
        if m.family.gated:
            hidden = hidden * b.linear(x, "D -> F", bias=m.ffn_bias, name="up")
        return b.linear(hidden, "F -> D", bias=m.ffn_bias, name="down")

    def experts(self, x: Var) -> Var:
        b = self.b
        share, chosen = b.topk(b.softmax(b.linear(x, "D -> E", name="router"), "E"), "E", "k", "k")
        share = share / b.reduce("B S k -> B S", share, "sum", label="share_sum")

        gate = b.grouped(x, b.weight("gate/weight", "E D F"), chosen, label="gate/matmul")
        up = b.grouped(x, b.weight("up/weight", "E D F"), chosen, label="up/matmul")
        hidden = b.elementwise(self.model.activation, gate) * up
        out = b.grouped(hidden, b.weight("down/weight", "E F D"), chosen, over="F", label="down/matmul")
        return b.reduce("B S k D -> B S D", out * share, "sum", label="combine")
