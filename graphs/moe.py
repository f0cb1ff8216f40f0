"""One mixture-of-experts feed-forward layer."""

from symacct import graph


@graph(
    {
        "B": "sequences",
        "S": "tokens per sequence",
        "D": "features",
        "F": "hidden features of an expert",
        "E": "experts",
        "k": "experts that a token uses",
    },
    tokens="B*S",
)
def moe(b):
    """Router, then k of E gated feed-forward experts for each token, added with the router's weights."""
    x = b.input("x", "B S D")
    chances = b.softmax(b.linear(x, "D -> E", name="router"), "E")
    share, chosen = b.topk(chances, "E", "k", "k")
    share = share / b.reduce("B S k -> B S", share, "sum", label="share_sum")

    gate = b.grouped(x, b.weight("gate/weight", "E D F"), chosen, label="gate/matmul")
    up = b.grouped(x, b.weight("up/weight", "E D F"), chosen, label="up/matmul")
    down = b.weight("down/weight", "E F D")
    out = b.grouped(b.silu(gate) * up, down, chosen, over="F", label="down/matmul")
    return b.reduce("B S k D -> B S D", out * share, "sum", label="combine")
