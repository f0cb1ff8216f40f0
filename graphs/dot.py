"""The dot product of two vectors."""

from symacct import graph


@graph({"N": "length of the vectors"})
def dot(b):
    """Dot product of an input with a vector of weights."""
    x = b.input("x", "N")
    w = b.weight("w", "N")
    return b.einsum("N, N ->", x, w, label="dot")
