"""A decoder with latent attention, as it trains: keys and values are made of one small vector per token.

Source: DeepSeek-V2 (arXiv:2405.04434), section 2.1. There C = 512, R = 64, H = K = 128, and the rank of the
queries is 1536. The graph makes keys and values from the cached vector at every step; folding their weights
into those of the queries and of the output, as a server may, changes the work and not the cache.
"""

from symacct import graph


@graph(
    {
        "B": "sequences",
        "S": "tokens per sequence",
        "T": "tokens that a query looks at (S when training)",
        "L": "layers",
        "D": "features",
        "F": "hidden features of the feed-forward layer",
        "H": "heads",
        "K": "features of a head that hold no position",
        "R": "features of a head that hold the position",
        "C": "rank of keys and values",
        "Q": "rank of queries",
        "V": "vocabulary",
    },
    tokens="B*S",
)
def mla(b):
    """Decoder with latent attention: one vector of rank C and one rotary key per token are cached."""
    ids, targets = b.input("ids", "B S", dtype="index"), b.input("targets", "B S", dtype="index")
    cos, sin = b.constant("cos", "S R"), b.constant("sin", "S R")

    def queries(x):
        low = b.rmsnorm(b.linear(x, "D -> Q", name="q_down"), "Q", name="q_norm")
        return b.linear(low, "Q -> H K", name="q"), b.rotary(
            b.linear(low, "Q -> H R", name="q_rotary"), cos, sin, axis="R"
        )

    def attention(x):
        q, q_place = queries(x)
        latent = b.rmsnorm(b.linear(x, "D -> C", name="kv_down"), "C", name="kv_norm")
        latent = b.keys(latent, "S", "T", label="latent")
        k, v = b.linear(latent, "C -> H K", name="k"), b.linear(latent, "C -> H K", name="v")
        k_place = b.rotary(b.linear(x, "D -> R", name="k_rotary"), cos, sin, axis="R")
        k_place = b.keys(k_place, "S", "T", label="place")
        with b.region("core"):
            mixed = core(q, k, v, q_place, k_place)
        return b.linear(mixed, "H K -> D", name="o")

    def core(q, k, v, q_place, k_place):
        mask = b.causal("S", "T")
        what = b.einsum("B S H K, B T H K -> B S H T", q, k, label="scores", mask=mask)
        where = b.einsum("B S H R, B T R -> B S H T", q_place, k_place, label="place_scores", mask=mask)
        share = b.softmax(b.scale(what + where, "1/sqrt(K + R)", label="scale"), "T", label="softmax")
        return b.einsum("B S H T, B T H K -> B S H K", share, v, label="mix")

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
