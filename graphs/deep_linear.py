"""A chain of linear layers; the weights are declared in the repeated body, so that there are L of them."""

from symacct import graph


@graph({"B": "rows", "D": "features", "L": "layers"}, tokens="B")
def deep_linear(b):
    """L linear layers of D to D, without biases."""

    def layer(x):
        w = b.weight("w", "D E", E="D")
        return b.einsum("B D, D E -> B E", x, w, label="matmul")

    return b.repeat("L", layer, b.input("x", "B D"))
