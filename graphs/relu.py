"""ReLU of an activation."""

from symacct import graph


@graph({"B": "rows", "D": "features"}, tokens="B")
def relu(b):
    """ReLU, one element at a time."""
    x = b.input("x", "B D")
    return b.relu(x)
