"""Schedules folded by induction, against every iteration written out, far from where they are folded."""

from __future__ import annotations

import dataclasses
from fractions import Fraction

import pytest

from symacct import derive
from symacct.algebra.condition import Condition
from symacct.algebra.evaluate import evaluate
from symacct.algebra.symbols import as_expr, symbol
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


@pytest.mark.few(1)
@pytest.mark.parametrize("chained", [False, True], ids=["shift", "chain"])
@pytest.mark.parametrize("carries", [1, 2, 5, 6, 9, 12])
def test_carries_that_shift(carries, chained):
    account = derive(shifting(carries, chained=chained), precision="fp32")
    check(account, {"B": 32, "D": 4, "F": 5, "L": 40}, {"B": 2, "D": 9, "F": 5, "L": 33})


@pytest.mark.few(1)
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


@pytest.mark.parametrize("policy", [{}, {"checkpoint": "every:k"}, {"checkpoint": "store-nothing"}])
def test_an_output_that_is_held_to_the_end_of_its_micro_batch(policy):
    """The layers begin with a parameter: the last op of a micro-batch runs in their first turn."""
    b = Builder("net", "B D L")
    graph = b.build(b.repeat("L", b.gelu, b.weight("start", "B D")))
    account = derive(graph, precision="fp32", accumulate="M", hold_output=True, **policy)
    sizes = [{"B": 3, "D": 5, "M": batches, "L": 36, "k": 4} for batches in (2, 5)]
    check(
        account,
        *({n: s for n, s in one.items() if n != "k" or "every:k" in policy.values()} for one in sizes),
    )


@pytest.mark.long
def test_segments_as_many_as_long_may_be_many():
    """Five carries settle in segments of more than ten layers, of which there are as many."""
    account = derive(shifting(5, chained=True), precision="fp32", checkpoint="sqrt")
    check(account, *({"B": 3, "D": 5, "F": 7, "L": layers, "N": 1, "P": 1} for layers in (196, 441)))


def square(b, x, name):
    """Multiply by a weight as wide as it is high."""
    return b.einsum("B E, E D -> B D", x, b.weight(name, "E D", E="D"))


def test_one_size_counts_segments_and_a_repeat_inside():
    """The repeat inside needs more turns than the segments: there are more of these then."""
    b = Builder("net", "B D N")

    def layer(x, y):
        def inner(p, q):
            return q, square(b, p, "mix") + q

        return b.repeat("N", inner, (b.gelu(x), y), name="inner")

    start = tuple(square(b, b.input(name, "B D"), f"{name}/in") for name in "xy")
    graph = b.build(b.repeat("N", layer, start, name="outer")[0])
    account = derive(graph, precision="fp32", checkpoint="every:2")
    check(account, *({"B": 3, "D": 5, "N": turns} for turns in (10, 12, 22)))


@pytest.mark.few(1)
@pytest.mark.parametrize("policy", ["every:1", "every:2", "sqrt"])
def test_one_size_counts_segments_that_are_few(policy):
    """Few segments leave no count of the repeat inside that could be raised."""
    b = Builder("net", "B D N")

    def layer(x):
        return b.repeat("N", b.tanh, b.gelu(x), name="inner")

    graph = b.build(b.repeat("N", layer, b.weight("start", "B D"), name="outer"))
    account = derive(graph, precision="fp32", checkpoint=policy)
    check(account, *({"B": 3, "D": 5, "N": turns} for turns in (36, 64)))


@pytest.mark.long
def test_an_end_that_gets_no_gradient_may_be_long():
    """Nine values move up, the last one made of the first and the third: many turns reach each of them."""
    b = Builder("net", "B D L")

    def layer(*xs):
        return (*xs[1:], square(b, xs[0], "mix") + xs[2])

    start = tuple(square(b, b.input(name, "B D"), f"{name}/in") for name in "pqrstuvwy")
    account = derive(b.build(b.repeat("L", layer, start)[0]), precision="fp32")
    check(account, {"B": 3, "D": 5, "L": 190}, {"B": 7, "D": 2, "L": 205})


@pytest.mark.parametrize("policy", ["every:k", "every:7", "store-nothing"])
@pytest.mark.parametrize("last", ["embedding", "gelu"])
def test_what_runs_again_stops_before_its_last_turn(policy, last):
    """The last op that saves anything saves what is there: neither it nor its whole turn runs again."""
    b = Builder("net", "B D L V")
    ids = b.input("ids", "B", dtype="index")

    def layer(x):
        y = b.embedding(b.weight("table", "V D"), ids) if last == "embedding" else b.gelu(x)
        return b.add(x, y)

    graph = b.build(b.repeat("L", layer, b.input("x", "B D", grad=True), name="layers"))
    account = derive(graph, precision="fp32", checkpoint=policy)
    k = {"k": 7} if policy == "every:k" else {}
    check(account, *({"B": 3, "D": 5, "V": wide, "L": turns, **k} for turns in (14, 35) for wide in (1, 40)))


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


def turning(count, body, least):
    """An inner repeat whose number of iterations depends on the outer one, and on a size of its own."""
    b = Builder("net", "B D L N")
    b.require(Condition("at_least", symbol("N"), least))

    def layer(i, x):
        return b.repeat(count(i), lambda p: body(b, p, x), b.gelu(x), name="inner")

    return b.build(b.repeat("L", layer, b.gelu(b.input("x", "B D", grad=True)), index="i", name="outer"))


L, N = symbol("L"), symbol("N")
TURNING = {
    "empty at N = 5": (lambda i: (N - 5) * (i + 1), as_expr(5)),
    "empty at N = L": (lambda i: (N - L) * (i + 1), L),
    "negative below L": (lambda i: 3 * (N - i), L),
    "falling to N - L + 1": (lambda i: N - i, L),
    "empty in the first": (lambda i: N * i, as_expr(1)),
}
"""Counts that are 0, or less, at some sizes and at others not."""


@pytest.mark.long
@pytest.mark.parametrize("kind", TURNING)
@pytest.mark.parametrize("policy", [{}, {"checkpoint": "every:1"}, {"checkpoint": "store-nothing"}], ids=str)
@pytest.mark.parametrize("body", [lambda b, p, x: p + x, lambda b, p, x: b.gelu(p)], ids=["sum", "gelu"])
def test_a_loop_that_is_empty_by_chance_is_not_folded_away(kind, policy, body):
    """At every size where a formula is said to hold it is what each iteration written out comes to."""
    count, least = TURNING[kind]
    account = derive(turning(count, body, least), precision="fp32", **policy)
    tried = 0
    for sizes in ({"B": 2, "D": 3, "L": a, "N": b} for a in (1, 2, 5, 9, 13, 18) for b in (5, 8, 14, 23)):
        if not least.subs(sizes) <= sizes["N"]:
            continue
        try:
            found = {name: account[name] for name in ("memory.peak", "memory.activations.peak")}
        except RuleError:
            return
        if all(one.holds(sizes) for quantity in found.values() for one in quantity.when):
            tried += 1
            check(account, sizes)
    assert tried


def test_a_form_that_does_not_hold_further_on_is_refused(monkeypatch):
    """Planted: with loops left empty the counts that the form is tried at beside show it."""
    monkeypatch.setattr(forms, "thick", lambda shape, counts: {**counts, "N": max(counts["N"], 5)})
    monkeypatch.setattr(forms, "small_counts", lambda shape: {"L": 5, "N": 5})
    account = derive(turning(TURNING["empty at N = 5"][0], lambda b, p, x: b.gelu(p), as_expr(5)))
    with pytest.raises(RuleError, match="no one form"):
        account["memory.peak"]


def test_outputs_without_a_derivative_that_backward_reads_are_outputs():
    """In the account of each op's output: a mask, and what is made of an input without a gradient."""
    b = Builder("net", "B D L")
    first = b.relu(b.input("x", "B D"))

    def layer(x):
        y = b.mul(x, b.weight("w", "D"))
        return b.where(b.greater(y, x), x, y)

    account = derive(b.build(b.relu(b.repeat("L", layer, first))), precision="fp32", saves="lecture")
    for sizes in ({"B": 2, "D": 3, "L": 2}, {"B": 4, "D": 5, "L": 12}):
        elements = sizes["B"] * sizes["D"]
        outputs = 4 + (4 + 1 + 4) * sizes["L"] + 4  # relu; products, a mask and what it chooses; relu
        assert account["memory.activations"].at(**sizes) == outputs * elements
        assert account["memory.activations.peak"].at(**sizes) == outputs * elements
