"""A decoder of the Llama kind, as it trains."""

from symacct import graph


@graph(
    {
        "B": "sequences",
        "S": "tokens per sequence",
        "T": "tokens that a query looks at (S when training)",
        "L": "layers",
        "D": "features",
        "F": "hidden features of the feed-forward layer",
        "H": "query heads",
        "G": "key-value heads",
        "K": "features of a head",
        "V": "vocabulary",
    },
    tokens="B*S",
)
def llama(b):
    """Decoder with RMS norm, rotary positions, grouped queries, gated feed-forward and a head of its own."""
    ids, targets = b.input("ids", "B S", dtype="index"), b.input("targets", "B S", dtype="index")
    cos, sin = b.constant("cos", "S K"), b.constant("sin", "S K")

    def attention(x):
        q = b.rotary(b.linear(x, "D -> H K", name="q"), cos, sin, axis="K")
        k = b.rotary(b.linear(x, "D -> G K", name="k"), cos, sin, axis="K")
        v = b.linear(x, "D -> G K", name="v")
        q = b.rearrange("B S (G R) K -> B S G R K", q, label="groups")
        mixed = b.attention(q, b.keys(k, "S", "T"), b.keys(v, "S", "T"))
        return b.linear(mixed, "G R K -> D", name="o")

    def ffn(x):
        gate = b.silu(b.linear(x, "D -> F", name="gate"))
        return b.linear(gate * b.linear(x, "D -> F", name="up"), "F -> D", name="down")

    def block(x):
        y = b.rmsnorm(x, "D", name="attention_norm")
        with b.region("attention"):
            y = attention(y)
        x = x + y
        y = b.rmsnorm(x, "D", name="ffn_norm")
        with b.region("ffn"):
            y = ffn(y)
        return x + y

    with b.region("embedding"):
        x = b.embedding(b.weight("tokens", "V D"), ids, label="token")
    x = b.rmsnorm(b.repeat("L", block, x), "D", name="norm")
    with b.region("head"):
        logits = b.linear(x, "D -> V", name="logits")
    return b.cross_entropy(logits, targets, "V")
