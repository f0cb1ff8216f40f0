"""The sum of two activations."""

from symacct import graph


@graph({"B": "rows", "D": "features"}, tokens="B")
def add(b):
    """Sum of two activations, one element at a time."""
    return b.input("x", "B D") + b.input("y", "B D")
