"""A matrix product; both factors are inputs, so that nothing trains."""

from symacct import graph


@graph({"B": "rows of the first matrix", "D": "the axis that is summed", "K": "columns of the second matrix"})
def matmul(b):
    """Product of two input matrices."""
    x = b.input("x", "B D")
    y = b.input("y", "D K")
    return b.einsum("B D, D K -> B K", x, y, label="product")
