"""Segments of a few iterations whose last one is shorter: one formula for every remainder."""

from __future__ import annotations

import pytest

from symacct import derive
from symacct.algebra.evaluate import evaluate
from symacct.build import Builder
from symacct.errors import RuleError
from symacct.report.summary import summary

QUANTITIES = ("memory.peak", "memory.activations.peak", "memory.activations", "flops.recompute.all")


def net(count):
    """Two carries that trade places on their way through layers."""
    b = Builder("net", "B D F L")
    x, y = b.input("x", "B D"), b.linear(b.input("z", "B F"), "F -> D", name="in")

    def layer(p, q):
        h = b.tanh(b.linear(p, "D -> F", name="up"))
        return q, b.linear(h, "F -> D", name="down") + p

    x, y = b.repeat(count, layer, (x, y), name="layers")
    return b.build(b.relu(x), y)


def agree(account, sizes, names=QUANTITIES):
    """Compare formulas with the account in which the sizes are bound: its last segments are numbers."""
    bound = account.bind(sizes)
    for name in names:
        found = account[name]
        assert all(condition.holds(sizes) for condition in found.when), (sizes, found.when)
        assert evaluate(found.expr, sizes) == bound.value(name), (name, sizes)


@pytest.mark.few(1)
@pytest.mark.parametrize("each", [2, 3, 5])
@pytest.mark.parametrize("policy", [{}, {"accumulate": 2}, {"update": "fused"}])
def test_every_remainder(each, policy):
    account = derive(net("L"), precision="fp32", checkpoint=f"every:{each}", **policy).uneven
    for layers in range(4 * each, 5 * each + 1):
        for wide in ({"B": 3, "D": 7, "F": 2}, {"B": 50, "D": 1, "F": 4}, {"B": 2, "D": 3, "F": 40}):
            agree(account, {**wide, "L": layers})


def test_a_length_that_always_divides_leaves_no_remainder():
    account = derive(net("2*L"), precision="fp32", checkpoint="every:2")
    assert str(account.uneven["memory.peak"]) == str(account["memory.peak"])


def test_what_is_transient_at_the_peak():
    account = derive(net("L"), precision="fp32", checkpoint="every:2").uneven
    for layers in (10, 11):
        sizes = {"B": 3, "D": 7, "F": 2, "L": layers}
        agree(account, sizes, ("memory.transient",))


def test_a_case_that_is_left_out_is_seen(monkeypatch):
    account = derive(net("L"), precision="fp32", checkpoint="every:2").uneven
    whole = account.course
    object.__setattr__(whole, "parts", (whole.parts[1], whole.parts[1]))
    with pytest.raises(AssertionError):
        agree(account, {"B": 3, "D": 7, "F": 2, "L": 11})


# ---- an open length that divides numbers ----


def rows(*counts):
    """Repeats in a row."""
    b = Builder("net", "B D")
    x = b.input("x", "B D")
    for at, count in enumerate(counts):

        def layer(y, at=at):
            return b.tanh(b.einsum("B E, E D -> B D", y, b.weight(f"w{at}", "E D", E="D")))

        x = b.repeat(count, layer, x, name=f"part{at}")
    return b.build(x)


@pytest.mark.long
@pytest.mark.parametrize("counts", [(5, 7), (6, 8)])
def test_no_formula_for_lengths_that_there_are_not(counts):
    """1 or 2 alone divide both, and the formulas begin at 3."""
    account = derive(rows(*counts), precision="fp32", checkpoint="every:k")
    with pytest.raises(RuleError, match="hold for no k that divides"):
        summary(account)


def test_lengths_that_divide_two_numbers():
    account = derive(rows(12, 24), precision="fp32", checkpoint="every:k")
    for length in (3, 4, 6, 12):
        given = derive(rows(12, 24), precision="fp32", checkpoint=f"every:{length}")
        for name in QUANTITIES:
            found = account[name]
            assert all(condition.holds({"k": length}) for condition in found.when), found.when
            for sizes in ({"B": 3, "D": 7}, {"B": 70, "D": 2}):
                right = evaluate(given[name].expr, sizes)
                assert evaluate(found.expr, {**sizes, "k": length}) == right, (name, length)
