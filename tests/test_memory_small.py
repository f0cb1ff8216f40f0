"""Small counts, which are cases of their own: what is alive adds up, and regions hold there too."""

from itertools import product

import pytest

from symacct import Builder, derive, load
from symacct.algebra.evaluate import evaluate
from symacct.algebra.normal import total
from symacct.report.memory_peak import Peaks


def two_heads():
    """A chain whose end is read by two products and handed out: its formulas hold from one layer on."""
    b = Builder("heads", {"B": "rows", "D": "features", "L": "layers"})

    def linear(x, name):
        return b.einsum("B E, E D -> B D", x, b.weight(name, "E D", E="D"))

    x = b.repeat("L", lambda x: b.relu(linear(x, "w")), b.input("x", "B D"))
    return b.build(linear(x, "h1"), b.sigmoid(linear(x, "h2")), x)


@pytest.mark.parametrize("accumulate", [1, 2, 3])
@pytest.mark.parametrize("layers", [1, 2, 3, 5])
@pytest.mark.parametrize("graph", ["mlp", "deep_linear"])
def test_what_is_alive_adds_up_to_the_peak(graph, layers, accumulate):
    account = derive(load(graph), precision="fp32", accumulate=accumulate)
    sizes = {"B": 40, "D": 2, "L": layers}
    peaks = Peaks(account)
    held = total(one.nbytes for one in peaks.moment(sizes).alive)
    whole = evaluate(held + account.beside("memory.peak"), sizes)
    assert whole == account.value("memory.peak", sizes)


@pytest.mark.parametrize("layers", [1, 2, 3])
def test_where_a_region_holds_its_formula_is_the_peak(layers):
    account = derive(two_heads(), precision="fp32")
    peaks = Peaks(account)
    regions = [(expr, peaks.region(at)) for at, expr in enumerate(peaks.exprs)]
    for rows, features in product((1, 2, 5, 13, 40), repeat=2):
        sizes = {"B": rows, "D": features, "L": layers}
        expected = account.value("memory.peak", sizes)
        inside = [
            evaluate(expr, sizes)
            for expr, region in regions
            if region is not None and all(one.holds(sizes) for one in region.conditions)
        ]
        assert inside
        assert set(inside) == {expected}
