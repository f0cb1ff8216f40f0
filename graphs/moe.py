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

    def expert(x, name, into):
        with b.region(name):
            w = b.weight("weight", f"E {into}")
            axes = {"expert_axis": "E", "in_axis": into.split()[0], "choice_axis": "k"}
            return b.grouped(x, w, chosen, **axes, label="matmul")

    hidden = b.silu(expert(x, "gate", "D F")) * expert(x, "up", "D F")
    out = expert(hidden, "down", "F D")
    return b.reduce("B S k D -> B S D", out * share, "sum", label="combine")
