"""A matrix times a vector."""

from symacct import graph


@graph({"M": "rows of the matrix", "N": "columns of the matrix"})
def matvec(b):
    """Matrix of weights times an input vector."""
    x = b.input("x", "N")
    w = b.weight("w", "M N")
    return b.einsum("M N, N -> M", w, x, label="product")
