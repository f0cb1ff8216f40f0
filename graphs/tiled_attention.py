"""Attention of one head, cut into blocks that fit into fast memory."""

from symacct import graph
from symacct.algebra.condition import Condition
from symacct.ops.tiled import Load, Store


@graph(
    {
        "S": "queries",
        "T": "keys",
        "K": "features of the head",
        "c": "keys of a block",
        "r": "queries of a block",
    },
    tokens="S",
)
def tiled_attention(b):
    """Blocks of keys outside, blocks of queries inside; result, row maximum and row sum are updated in place.

    A pass starts from o = 0, top = -infinity and row = 0, and ends with the attention of all keys.
    """
    q, k, v = b.input("q", "S K"), b.input("k", "T K"), b.input("v", "T K")
    state = b.input("o", "S K"), b.input("top", "S"), b.input("row", "S")
    c, r = b.size("c"), b.size("r")
    b.require(Condition("divides", c, b.size("T")))
    b.require(Condition("divides", r, b.size("S")))

    def load(x, axis, block, index):
        return b.apply(Load(axis, block, index), x, label=f"load_{x.name.rsplit('/', 1)[-1]}")[0]

    def keys(j, *state):
        key, val = load(k, "T", c, j), load(v, "T", c, j)

        def queries(i, *state):
            query = load(q, "S", r, i)
            o, top, row = (load(x, "S", r, i) for x in state)
            scores = b.scale(b.einsum("S K, T K -> S T", query, key, label="scores"), "1/sqrt(K)")
            higher = b.maximum(top, b.reduce("S T -> S", scores, "max"))
            weights = b.exp(scores - higher)
            before = row * b.exp(top - higher)
            after = before + b.reduce("S T -> S", weights, "sum")
            mixed = b.einsum("S T, T K -> S K", weights, val, label="mix")
            made = (o * before + mixed) / after, higher, after
            return tuple(
                b.apply(Store("S", i), x, y, label="store")[0] for x, y in zip(state, made, strict=True)
            )

        return b.repeat("S/r", queries, state, name="queries", index="i")

    return b.repeat("T/c", keys, state, name="keys", index="j")[0]
