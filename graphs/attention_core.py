"""Attention without its projections: scores, softmax, mix."""

from symacct import graph


@graph(
    {
        "B": "sequences",
        "S": "queries",
        "T": "keys",
        "H": "heads",
        "K": "features of a head",
    },
    tokens="B*S",
)
def attention_core(b):
    """Scores, softmax and mix of attention without a mask; queries and keys may differ in number."""
    q = b.input("q", "B S H K", grad=True)
    k = b.input("k", "B T H K", grad=True)
    v = b.input("v", "B T H K", grad=True)
    return b.attention(q, k, v, causal=False)
