"""GPT-2 as small training repositories size it: no biases anywhere, learned positions, a tied head."""

from symacct import graph
from symacct.algebra.condition import Condition


@graph(
    {
        "B": "sequences",
        "S": "tokens per sequence, and positions",
        "T": "tokens that a query looks at (S when training)",
        "L": "layers",
        "D": "features",
        "H": "heads",
        "V": "vocabulary",
    },
    tokens="B*S",
)
def nanogpt(b):
    """Decoder with layer norm first, no biases, no dropout, learned positions, GELU and a tied head."""
    b.require(Condition("divides", b.size("H"), b.size("D")))
    ids, targets = b.input("ids", "B S", dtype="index"), b.input("targets", "B S", dtype="index")

    def block(x):
        y = b.layernorm(x, "D", bias=False, name="attention_norm")
        with b.region("attention"):
            q, k, v = (b.linear(y, "D -> H K", K="D/H", name=name) for name in ("q", "k", "v"))
            mixed = b.attention(q, b.keys(k, "S", "T"), b.keys(v, "S", "T"))
            x = x + b.linear(mixed, "H K -> D", name="o")
        y = b.layernorm(x, "D", bias=False, name="ffn_norm")
        with b.region("ffn"):
            return x + b.linear(b.gelu(b.linear(y, "D -> F", F="4*D", name="up")), "F -> D", name="down")

    with b.region("embedding"):
        table = b.weight("tokens", "V D")
        place = b.constant("place", "S", dtype="index")
        x = b.embedding(table, ids, label="token")
        x = x + b.embedding(b.weight("positions", "S D"), place, label="position")
    x = b.layernorm(b.repeat("L", block, x), "D", bias=False, name="norm")
    with b.region("head"):
        logits = b.einsum("B S D, V D -> B S V", x, table, label="logits")
    return b.cross_entropy(logits, targets, "V")
