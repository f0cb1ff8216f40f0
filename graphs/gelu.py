"""GELU of an activation."""

from symacct import graph


@graph({"B": "rows", "D": "features"}, tokens="B")
def gelu(b):
    """GELU (with erf), one element at a time."""
    x = b.input("x", "B D")
    return b.gelu(x)
