"""One multi-head attention layer with its four projections."""

from symacct import graph


@graph(
    {
        "B": "sequences",
        "S": "tokens per sequence",
        "T": "tokens that a query looks at (S when training)",
        "D": "features",
        "H": "heads",
        "K": "features of a head",
    },
    tokens="B*S",
)
def attention(b):
    """Causal multi-head attention: projections, scores, softmax, mix, output projection."""
    x = b.input("x", "B S D")
    q = b.linear(x, "D -> H K", name="q")
    k = b.keys(b.linear(x, "D -> H K", name="k"), "S", "T")
    v = b.keys(b.linear(x, "D -> H K", name="v"), "S", "T")
    mixed = b.attention(q, k, v)
    return b.linear(mixed, "H K -> D", name="o")
