"""Small counts, which are cases of their own: what is alive adds up, and regions hold there too."""

from itertools import product

import pytest
from random_graphs import random_graph

from symacct import Builder, derive, load
from symacct.algebra.evaluate import evaluate
from symacct.algebra.normal import total
from symacct.errors import RuleError
from symacct.peaks.timeline import at_sizes, sizes_at, worst
from symacct.planning.peak_cases import Peaks

CHAIN = {"L": "layers", "B": "rows", "D": "features"}


def read_at_the_end():
    """Return a graph whose last iteration's hidden tensor, of L + 1 features, dies after all iterations."""
    b = Builder("wide", CHAIN)
    x, y, v = b.input("x", "B D"), b.input("y", "B D"), b.weight("v", "D")

    def body(i, p):
        del p
        return widened(b, x)

    p = b.repeat("L", body, b.tanh(y), name="r", index="i")
    return b.build(b.where(b.greater(p, y), b.mul(x, v), y))


def growing():
    """Return a chain of layers with i + 2 hidden features in iteration i."""
    b = Builder("growing", CHAIN)
    return b.build(b.repeat("L", lambda i, p: widened(b, p), b.input("x", "B D"), name="r", index="i"))


def widened(b, x):
    """Go through a hidden axis of i + 2 features."""
    up, down = b.weight("up", "D W", W="i + 2"), b.weight("down", "W D", W="i + 2")
    return b.einsum("B W, W D -> B D", b.tanh(b.einsum("B D, D W -> B W", x, up)), down)


def two_heads():
    """A chain whose end is read by two products and handed out: its formulas hold from one layer on."""
    b = Builder("heads", {"B": "rows", "D": "features", "L": "layers"})

    def linear(x, name):
        return b.einsum("B E, E D -> B D", x, b.weight(name, "E D", E="D"))

    x = b.repeat("L", lambda x: b.relu(linear(x, "w")), b.input("x", "B D"))
    return b.build(linear(x, "h1"), b.sigmoid(linear(x, "h2")), x)


@pytest.mark.few(13)
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


def agree(account, name, sizes):
    """Compare the formulas of a peak with the interpreter, wherever they say that they hold."""
    schedule, size = (f(account.graph, account.policy, sizes) for f in (at_sizes, sizes_at))
    saved = name != "memory.peak"
    whole = worst(schedule, size, (lambda one: one.saved) if saved else None).nbytes
    whole += evaluate(account.beside(name), sizes)
    assert max(evaluate(e, sizes) for e in account.candidates(name)) == whole, (name, sizes)


def test_what_dies_after_a_repeat_has_the_size_of_the_last_iteration():
    account = derive(read_at_the_end(), precision="fp32")
    for layers in (1, 2, 3, 9):
        agree(account, "memory.peak", {"B": 40, "D": 3, "L": layers})


def test_a_form_that_does_not_hold_is_not_taken():
    """The sixth random graph, whose turns look alike at small counts and are not at others."""
    account = derive(random_graph(6).graph, precision="fp32", accumulate="N")
    checked = 0
    for name, layers in product(("memory.peak", "memory.activations.peak"), (7, 10)):
        sizes = dict.fromkeys(account.source.sizes, 2) | {"D": 4, "N": 2, "L": layers, "M": layers}
        sizes = {one: n for one, n in sizes.items() if one in {*account.source.sizes, "N"}}
        try:
            when = account[name].when
        except RuleError:
            when = ()
            assert account.value(name, sizes) > 0
            continue
        if all(condition.holds(sizes) for condition in when):
            agree(account, name, sizes)
            checked += 1
    assert checked


@pytest.mark.parametrize(("rows", "batches"), [(64, 2), (6, 2), (2, 1)])
def test_gradients_are_not_transient(rows, batches):
    """In each region of a chain: what the cotangents of the batch take, and the loss with its own."""
    bound = derive(load("mlp"), precision="fp32").bind({"B": rows, "D": 8, "L": 6})
    assert bound["memory.transient"].expr == 4 * batches * rows * 8 + 8


def test_iterations_that_grow_run_again_as_often_as_they_do():
    account = derive(growing(), precision="fp32", checkpoint="store-nothing:full")
    for layers in (3, 4, 7):
        sizes = {"B": 2, "D": 3, "L": layers}
        each = [4 * 2 * 3 * (i + 2) * (layers - i) for i in range(layers)]
        assert evaluate(account["flops.recompute"].expr, sizes) == sum(each)
        bound = account.bind(sizes)
        assert evaluate(account["bytes.step"].expr, sizes) == bound["bytes.step"].expr
