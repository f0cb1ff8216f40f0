"""A product with every kind of axis: shared by all, free in one factor, and summed."""

from symacct import graph


@graph(
    {
        "G": "first axis of both factors and the result",
        "H": "second axis of both factors and the result",
        "I": "first free axis of the left factor",
        "J": "second free axis of the left factor",
        "M": "first free axis of the right factor",
        "N": "second free axis of the right factor",
        "K": "first axis that is summed",
        "L": "second axis that is summed",
    }
)
def contraction(b):
    """Contraction with two axes of each kind: batched, free on the left, free on the right, summed."""
    x = b.input("x", "G H I J K L")
    y = b.weight("y", "G H M N K L")
    return b.einsum("G H I J K L, G H M N K L -> G H I J M N", x, y, label="product")
