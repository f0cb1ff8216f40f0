"""Two linear layers and a loss: the smallest graph whose backward pass costs less than twice its forward."""

from symacct import graph


@graph({"B": "rows", "D": "inputs and hidden features", "K": "outputs"}, tokens="B")
def two_layer(b):
    """Two linear layers without a bias; the loss is the mean square of the result."""
    x = b.input("x", "B D")
    w1 = b.weight("w1", "D E", E="D")
    w2 = b.weight("w2", "E K", E="D")
    h1 = b.einsum("B D, D E -> B E", x, w1, label="h1")
    h2 = b.einsum("B E, E K -> B K", h1, w2, label="h2")
    return b.reduce("B K ->", b.square(h2), "mean", label="loss")
