"""One linear layer."""

from symacct import graph


@graph({"B": "rows", "D": "inputs", "K": "outputs"}, tokens="B")
def linear(b):
    """Linear layer without a bias."""
    x = b.input("x", "B D")
    return b.linear(x, "D -> K", name="linear")
