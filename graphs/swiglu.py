"""A gated feed-forward layer."""

from symacct import graph


@graph({"B": "sequences", "S": "tokens per sequence", "D": "features", "F": "hidden features"}, tokens="B*S")
def swiglu(b):
    """Gated feed-forward layer: silu(x w_gate) * (x w_up), then w_down."""
    x = b.input("x", "B S D")
    gate = b.silu(b.linear(x, "D -> F", name="gate"))
    up = b.linear(x, "D -> F", name="up")
    return b.linear(gate * up, "F -> D", name="down")
