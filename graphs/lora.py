"""Low-rank adapters beside a chain of frozen linear layers."""

from symacct import graph


@graph({"B": "rows", "D": "features", "L": "layers", "r": "rank of the adapters"}, tokens="B")
def lora(b):
    """L frozen linear layers of D to D, each with a trainable path of rank r beside it."""

    def layer(x):
        y = b.linear(x, "D -> E", E="D", name="frozen", trainable=False)
        low = b.linear(x, "D -> r", name="a")
        return y + b.linear(low, "r -> E", E="D", name="b")

    return b.repeat("L", layer, b.input("x", "B D"))
