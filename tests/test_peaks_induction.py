"""Schedules folded by induction, against every iteration written out, far from where they are folded."""

from __future__ import annotations

import dataclasses
from fractions import Fraction

import pytest

from symacct import derive
from symacct.algebra.evaluate import evaluate
from symacct.build import Builder
from symacct.errors import DisagreementError, RuleError
from symacct.execution.memory_points import points
from symacct.peaks import forms, invariants
from symacct.peaks.induction import Zone, settled
from symacct.peaks.timeline import at_sizes, sizes_at, worst

POLICIES = [
    {},
    {"checkpoint": "every:1"},
    {"checkpoint": "every:2"},
    {"checkpoint": "store-nothing"},
    {"accumulate": 3},
    {"update": "fused"},
    {"grads": "kept"},
    {"saves": "torch"},
]


def written_out(account, sizes):
    """Return both peaks with every iteration written out."""
    steps, size = (
        at_sizes(account.graph, account.policy, sizes),
        sizes_at(account.graph, account.policy, sizes),
    )
    alive = {
        "memory.peak": worst(steps, size).nbytes,
        "memory.activations.peak": worst(steps, size, lambda storage: storage.saved).nbytes,
    }
    return {
        name: found + Fraction(str(evaluate(account.beside(name), sizes))) for name, found in alive.items()
    }


def check(account, *all_sizes):
    for sizes in all_sizes:
        for name, right in written_out(account, sizes).items():
            found = account[name]
            assert all(condition.holds(sizes) for condition in found.when), (sizes, found.when)
            assert Fraction(str(evaluate(found.expr, sizes))) == right, (name, sizes)


def shifting(carries, *, chained=False, layers="L"):
    """Each layer adds what stood so many layers before it."""
    b = Builder("net", "B D F L N P")

    def layer(*xs):
        mid = b.relu(b.linear(xs[-1], "D -> F", name="widen"))
        y = b.linear(mid, "F -> D", name="narrow")
        rest = [b.scale(x, "1/3") for x in xs[:-1]] if chained else xs[:-1]
        return (y + xs[0], *rest)

    return b.build(b.repeat(layers, layer, (b.input("x", "B D"),) * carries)[0])


@pytest.mark.few(2)
@pytest.mark.parametrize("chained", [False, True], ids=["shift", "chain"])
@pytest.mark.parametrize("carries", [1, 2, 5, 6, 9, 12])
def test_carries_that_shift(carries, chained):
    account = derive(shifting(carries, chained=chained), precision="fp32")
    check(account, {"B": 32, "D": 4, "F": 5, "L": 40}, {"B": 2, "D": 9, "F": 5, "L": 33})


@pytest.mark.few(2)
@pytest.mark.parametrize("policy", POLICIES, ids=str)
def test_seven_carries_under_every_policy(policy):
    account = derive(shifting(7), precision="fp32", **policy)
    check(account, {"B": 32, "D": 4, "F": 5, "L": 40}, {"B": 2, "D": 9, "F": 5, "L": 42})


def plain(layers, *conditions):
    b = Builder("net", "B D F L N P")
    for condition in conditions:
        b.require(condition)
    x = b.repeat(
        layers,
        lambda x: x + b.linear(b.gelu(b.linear(x, "D -> F", name="widen")), "F -> D", name="narrow"),
        b.input("x", "B D"),
    )
    return b.build(x)


@pytest.mark.few(5)
@pytest.mark.parametrize("policy", [{}, {"checkpoint": "every:1"}, {"checkpoint": "every:k"}], ids=str)
@pytest.mark.parametrize(
    ("layers", "sizes"),
    [
        ("L - N", [{"L": 40, "N": 4}, {"L": 31, "N": 1}]),
        ("L - 1", [{"L": 37, "N": 1}, {"L": 13, "N": 1}]),
        ("L/P", [{"L": 36, "P": 3}, {"L": 24, "P": 1}]),
        ("L/2", [{"L": 24}, {"L": 72}]),
        ("2*L", [{"L": 12}, {"L": 18}]),
        ("L*N", [{"L": 6, "N": 6}, {"L": 3, "N": 8}]),
        ("L + N", [{"L": 6, "N": 6}, {"L": 1, "N": 35}]),
    ],
)
def test_counts_of_sizes(layers, sizes, policy):
    account = derive(plain(layers), precision="fp32", **policy)
    k = {"k": 12} if "every:k" in policy.values() else {}
    if k:
        sizes = [
            {**one, "k": 4 if layers not in ("L - 1", "L - N") else 3} for one in sizes if "36" in str(one)
        ]
    check(account, *({"B": 8, "D": 3, "F": 5, "L": 1, "N": 1, "P": 1, **one} for one in sizes))


def test_values_that_trade_places_have_no_formula():
    """They never settle: refused for a symbol, exact for a number."""
    b = Builder("net", "B D L")
    one, other = b.input("x", "B D", grad=True), b.input("y", "B D", grad=True)

    def layer(x, p, q):
        return b.tanh(x) * p, q, p

    graph = b.build(b.repeat("L", layer, (b.input("z", "B D"), one, other))[0])
    with pytest.raises(RuleError):
        derive(graph, precision="fp32")["memory.peak"]
    found = derive(graph.bind({"L": 21}), precision="fp32")
    right = written_out(found, {"B": 3, "D": 4})["memory.peak"]
    assert Fraction(str(evaluate(found["memory.peak"].expr, {"B": 3, "D": 4}))) == right


# ---- faults that are planted ----


def too_early(schedule, middle=1):
    """Say that all turns but the first and the last are alike, whatever is seen."""
    found = settled(schedule, middle)
    return dataclasses.replace(found, zones=dict.fromkeys(found.zones, Zone(1, 1)), short=())


def test_a_fold_made_too_early_is_seen_beyond_it(monkeypatch):
    """Turns of seven shifting carries differ at first; a fold that overlooks this is wrong for long loops."""
    monkeypatch.setattr(forms, "settled", too_early)
    monkeypatch.setattr(forms, "_KNOWN", [])
    monkeypatch.setattr(invariants, "POINTS", 0)
    graph = shifting(7)
    try:
        found = derive(graph, precision="fp32")["memory.peak"]
    except RuleError:
        return  # its turns were compared, and differ
    sizes = {"B": 32, "D": 4, "F": 5, "L": 40}
    assert evaluate(found.expr, sizes) != written_out(derive(graph, precision="fp32"), sizes)["memory.peak"]


def test_the_check_looks_beyond_all_first_and_last_turns():
    account = derive(shifting(7), precision="fp32")
    turns = max(account.course.form.counts.values())
    assert max(point.sizes["L"] for point in points(account, {"B": 2, "D": 2, "F": 3})) > 2 * turns


def test_a_peak_below_what_is_saved_is_no_number(monkeypatch):
    """Candidates without what is saved break the order, and the error tells the graph."""
    account = derive(shifting(2), precision="fp32")
    monkeypatch.setattr(type(account.course), "levels", lambda self, weigh: (self.ring.number(1),))
    with pytest.raises(DisagreementError) as caught:
        account["memory.peak"]
    assert caught.value.graph.name == "net"
