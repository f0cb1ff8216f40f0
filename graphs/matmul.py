"""A matrix product; both factors are inputs, so that nothing trains."""

from symacct import graph


@graph({"M": "rows of the first matrix", "N": "the axis that is summed", "P": "columns of the second matrix"})
def matmul(b):
    """Product of two input matrices."""
    x = b.input("x", "M N")
    y = b.input("y", "N P")
    return b.einsum("M N, N P -> M P", x, y, label="product")
