"""A chain of linear layers with ReLU."""

from symacct import graph


@graph({"B": "rows", "D": "features", "L": "layers"}, tokens="B")
def mlp(b):
    """L times a linear layer of D to D, without a bias, then ReLU."""

    def layer(x):
        w = b.weight("w", "D E", E="D")
        return b.relu(b.einsum("B D, D E -> B E", x, w, label="matmul"))

    return b.repeat("L", layer, b.input("x", "B D"))
