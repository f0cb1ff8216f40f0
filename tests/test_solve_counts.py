"""`symacct solve` where formulas serve some counts alone: every other one is derived, against brute force."""

from __future__ import annotations

import operator
import random

import pytest
from sympy import ceiling, sqrt

from symacct.account import derive
from symacct.algebra import budget
from symacct.algebra.symbols import symbol
from symacct.errors import RuleError
from symacct.planning import solve_cases
from symacct.planning.solve import solve
from symacct.planning.solve_integers import bounds
from symacct.readers.files import load

COMPARES = {"<=": operator.le, "<": operator.lt, ">=": operator.ge, ">": operator.gt, "=": operator.eq}
QUANTITIES = ("memory.peak", "memory.activations.peak", "memory.activations", "flops.hardware", "bytes.step")
SMALL = {"B": 64, "D": 8, "L": 37}


def account_of(checkpoint, model="mlp", **choices):
    """Return the account of a model in fp32."""
    return derive(load(model), checkpoint=checkpoint, precision="fp32", **choices)


def integers(found, most):
    """Return the integers of an answer up to one."""
    return [n for n in range(1, most + 1) if any(a <= n and (b is None or n <= b) for a, b in found.ranges)]


def values(account, quantity, name, sizes, most):
    """Return a quantity at each integer, each from its own derivation."""
    return {n: account.value(quantity, {**sizes, name: n}) for n in range(1, most + 1)}


@pytest.mark.long
def test_lengths_that_do_not_divide_are_tried():
    """6 is best for 37 iterations, which no length but 1 and 37 divides."""
    account = account_of("every:k")
    found = solve(account, "argmin_k(memory.peak)", sizes=SMALL)
    peaks = {k: derive(load("mlp"), checkpoint=f"every:{k}", precision="fp32").value("memory.peak", SMALL)
             for k in range(1, 38)}  # fmt: skip
    assert found.ranges == ((6, 6),)
    assert min(peaks.values()) == peaks[6] == found.whole.peak == 38_408
    assert [(int(one.at), one.holds) for one in found.checks] == [(5, False), (6, True), (7, False)]
    other = solve(account, "argmin_k(memory.peak + 100 byte*k)", sizes=SMALL)
    assert other.smallest == min(peaks, key=lambda k: (peaks[k] + 100 * k, k))


@pytest.mark.long
def test_lengths_below_a_bound():
    """A peak falls and rises with the length: a range of them, and longer ones than the count are all one."""
    account = account_of("every:k")
    assert solve(account, "memory.peak <= 40 kB", "k", sizes=SMALL).ranges == ((5, 8),)
    peaks = values(account, "memory.peak", "k", SMALL, 40)
    found = solve(account, "memory.peak >= 80 kB", "k", sizes=SMALL)
    assert integers(found, 40) == [k for k, peak in peaks.items() if peak >= 80_000]
    assert found.largest is None


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("checkpoint", "sizes", "bound", "optimizer", "last"),
    [
        ("every:2", {"B": 40, "D": 30}, 60_009, "adamw", 3),
        ("sqrt", {"B": 64, "D": 64}, 1_000_000, None, 29),
        ("every:2", {"B": 8, "D": 4}, 2_874, "adamw", 9),
    ],
)
def test_counts_that_a_length_does_not_divide(checkpoint, sizes, bound, optimizer, last):
    """Every count from 1 to the last one, and the next one does not."""
    account = account_of(checkpoint, optimizer=optimizer)
    found = solve(account, f"memory.peak <= {bound} byte", "L", sizes=sizes)
    peaks = values(account, "memory.peak", "L", sizes, last + 4)
    assert [n for n, peak in peaks.items() if peak <= bound] == list(range(1, last + 1))
    assert found.ranges == ((1, last),)
    assert [(int(one.at), one.left, one.holds) for one in found.checks][-2:] == [
        (last, peaks[last], True), (last + 1, peaks[last + 1], False),
    ]  # fmt: skip


@pytest.mark.few(1)
@pytest.mark.parametrize("seed", range(10))
def test_random_questions_are_those_of_brute_force(seed):
    """Lengths and counts, with roots, with micro-batches, of several quantities."""
    r = random.Random(seed)
    checkpoint = ("every:k", "every:3", "sqrt", "every:2:full", "every:k:full")[seed % 5]
    name = "k" if "k" in checkpoint else "L"
    sizes = {"B": r.choice([1, 8, 40, 300]), "D": r.choice([4, 10, 30]), "L": r.choice([1, 2, 5, 12, 17])}
    if name == "L":
        del sizes["L"]
    account = account_of(
        checkpoint, r.choice(["mlp", "deep_linear"]), optimizer=r.choice([None, "adamw"]),
        accumulate=r.choice([1, 1, 3]),
    )  # fmt: skip
    quantity = r.choice(QUANTITIES[:2] if seed % 2 else QUANTITIES)
    at = values(account, quantity, name, sizes, 20)
    relation = r.choice(list(COMPARES))
    bound = r.choice(list(at.values())) + r.choice([-1, 0, 0, 1])
    unit = "FLOP" if quantity.startswith("flops") else "byte"
    found = solve(account, f"{quantity} {relation} {bound} {unit}", name, sizes=sizes)
    assert integers(found, 20) == [n for n, value in at.items() if COMPARES[relation](value, bound)]
    if name == "k":
        best = solve(account, f"argmin_k({quantity})", sizes=sizes)
        assert integers(best, 20) == [n for n, value in at.items() if value == min(at.values())]


@pytest.mark.long
def test_what_is_assumed_is_kept():
    """Of divisors alone, of lengths from 4 on: what else would satisfy the condition is no answer."""
    account = account_of("every:k")
    sizes = {"B": 300, "D": 10, "L": 50}
    divisors = solve(account, "argmin_k(memory.peak)", sizes=sizes, assume=["k | L"])
    peaks = values(account, "memory.peak", "k", sizes, 50)
    assert divisors.smallest == min((1, 2, 5, 10, 25, 50), key=peaks.__getitem__)
    assert "every k with k divides 50" in divisors.reason
    bound = peaks[3]
    later = solve(account, f"memory.peak <= {bound} byte", "k", sizes=sizes, assume=["k >= 4"])
    assert integers(later, 50) == [k for k, peak in peaks.items() if peak <= bound and k >= 4]


@pytest.mark.long
def test_what_is_not_looked_at_is_said_in_the_answer():
    """Lengths behind the count, where the text names the length too."""
    found = solve(account_of("every:k"), "memory.peak <= k*10 kB", "k", sizes=SMALL)
    assert found.reason == "k >= 38 is not looked at"
    assert found.largest == 37


def test_bounds_of_the_segments_of_a_root():
    """ceil(n/ceil(sqrt(n))) lies between sqrt(n) - 1 and sqrt(n) + 1."""
    n = symbol("n")
    form = ceiling(n / ceiling(sqrt(n)))
    low, high = bounds(form, "n", 1)
    for size in range(1, 200):
        assert low.subs(n, size) <= form.subs(n, size) <= high.subs(n, size)


class Racing:
    """A clock by which every look at it comes a quarter of an hour later."""

    def __init__(self):
        self.now = 0.0

    def __call__(self):
        self.now += 900.0
        return self.now


PARTIAL = ("memory.peak <= 60 kB", "L", {"B": 8, "D": 4})


@pytest.mark.parametrize(
    ("most", "ranges", "reason"),
    [
        (0, ((1, 1), (13, 459)), "2 <= L <= 12 is not looked at"),
        (300, ((1, 9), (13, 459)), "10 <= L <= 12 is not looked at"),
    ],
)
def test_sizes_are_left_out_by_steps_and_not_by_time(monkeypatch, most, ranges, reason):
    """Twelve counts have no formula; a racing clock looks at as many of them as one that stands still."""
    monkeypatch.setattr(solve_cases, "MOST_STEPS", most)
    monkeypatch.setattr(budget, "thread_time", Racing())
    found = solve(account_of("every:12"), *PARTIAL[:2], sizes=PARTIAL[2], seconds=1e9)
    assert (found.ranges, found.reason) == (ranges, reason)


def test_a_question_that_takes_too_long_has_no_answer(monkeypatch):
    monkeypatch.setattr(budget, "thread_time", Racing())
    with pytest.raises(RuleError, match="it takes too long"):
        solve(account_of("sqrt"), *PARTIAL[:2], sizes=PARTIAL[2])


@pytest.mark.few(1)
@pytest.mark.parametrize("checkpoint", ["every:3", "sqrt", "every:2:full"])
@pytest.mark.parametrize("quantity", ["flops.recompute", "memory.activations", "bytes.step"])
def test_micro_batches_have_a_shorter_last_segment_too(checkpoint, quantity):
    """Every count is served by a formula or is below all that are, as the peaks of micro-batches are."""
    account = account_of(checkpoint, accumulate=3)
    at = values(account, quantity, "L", PARTIAL[2], 12)
    unit = "FLOP" if quantity.startswith("flops") else "byte"
    found = solve(account, f"{quantity} <= {at[11]} {unit}", "L", sizes=PARTIAL[2])
    assert integers(found, 12) == [n for n, value in at.items() if value <= at[11]]
    assert not found.reason
