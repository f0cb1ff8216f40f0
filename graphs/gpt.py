"""A decoder of the GPT-2 kind, as it trains; symbols as in the literature on activation memory.

h is the number of features and a the number of heads, so that a head has h/a features.
"""

from symacct import graph


@graph(
    {
        "b": "sequences",
        "s": "tokens per sequence",
        "t": "tokens that a query looks at (s when training)",
        "a": "heads",
        "h": "features; d = h/a of them in a head",
        "L": "layers",
        "V": "vocabulary",
    },
    tokens="b*s",
    where={"d": "h/a"},
)
def gpt(b):
    """Decoder with layer norm first, biases, learned positions, dropout, GELU and a tied head."""
    ids, targets = b.input("ids", "b s", dtype="index"), b.input("targets", "b s", dtype="index")

    def attention(x):
        q, k, v = (heads(b.linear(x, "h -> p", p="h", bias=True, name=name)) for name in ("q", "k", "v"))
        k, v = b.keys(k, "s", "t"), b.keys(v, "s", "t")
        mixed = b.attention(q, k, v, query="s", keys="t", head="d", dropout="1/10")
        return b.dropout(b.linear(mixed, "a d -> h", bias=True, name="o"))

    def heads(x):
        return b.rearrange("b s (a d) -> b s a d", x)

    def ffn(x):
        x = b.gelu(b.linear(x, "h -> f", f="4*h", bias=True, name="up"))
        return b.dropout(b.linear(x, "f -> h", bias=True, name="down"))

    def block(x):
        y = b.layernorm(x, "h", name="attention_norm")
        with b.region("attention"):
            y = attention(y)
        x = x + y
        y = b.layernorm(x, "h", name="ffn_norm")
        with b.region("ffn"):
            y = ffn(y)
        return x + y

    with b.region("embedding"):
        table = b.weight("tokens", "V h")
        x = b.embedding(table, ids, label="token")
        place = b.constant("place", "s", dtype="index")
        x = b.dropout(x + b.embedding(b.weight("positions", "t h"), place, label="position"))
    x = b.layernorm(b.repeat("L", block, x), "h", name="norm")
    with b.region("head"):
        logits = b.einsum("b s h, V h -> b s V", x, table, label="logits")
    return b.cross_entropy(logits, targets, "V")
