"""Regions by brute force, the lecture's chain in every region, and what is alive against the interpreter."""

from __future__ import annotations

import random
from fractions import Fraction
from typing import TYPE_CHECKING

import pytest
from sympy import Mul

from symacct.account import derive
from symacct.algebra.evaluate import evaluate
from symacct.algebra.normal import normal, total
from symacct.algebra.symbols import as_expr, symbol
from symacct.peaks.timeline import at_sizes as schedule_at
from symacct.peaks.timeline import sizes_at, worst
from symacct.planning.peak_cases import Peaks, peak, small_cases
from symacct.planning.reductions import lower
from symacct.readers.files import load
from symacct.report.conditions import listed
from symacct.report.memory import at_sizes, beside
from symacct.report.memory_page import memory
from symacct.report.memory_policies import common_factor, quotient

if TYPE_CHECKING:
    from symacct.account import Account

FP32 = 4
SCALARS = 2


def lecture_chain(B: int, D: int, L: int, k: int, *, held: bool, again: bool = False) -> int:
    """Return the peak of a chain of linear + ReLU in fp32, parameters and the input left out.

    Elements, worked out by hand and seen in tracked runs: ``k = L`` stands for no checkpoints. A held output
    is what one layer saves, unless that layer runs ``again`` and makes a copy.
    """
    if L == 1 and held and not again:
        return FP32 * (2 * B * D + D * D + SCALARS)
    if L == 1:
        return FP32 * (held * B * D + max(2 * B * D, B * D + D * D) + SCALARS)
    found = [3 * B * D + (L - 1) * D * D, B * D + L * D * D]
    if k == L:
        found.append((L + 1) * B * D + D * D)
    else:
        found.append((L // k + k) * B * D + k * D * D)
        found.append((k + 2) * B * D + (L - k) * D * D)
    return FP32 * (held * B * D + max(found) + SCALARS)


def chain(checkpoint: str, *, held: bool = False) -> Account:
    """Return the account of the chain, without an optimizer."""
    return derive(load("mlp"), precision="fp32", checkpoint=checkpoint, hold_output=held)


def shown_regions(account: Account) -> list[list[str]]:
    """Return the conditions of each region of the peak."""
    peaks = Peaks(account)
    found = [peaks.region(at) for at in range(len(peaks.exprs))]
    return [listed(one.conditions, ("B", "D", "L", "k")) for one in found if one is not None]


REGIONS = {
    "none": [["B >= D"], ["D >= B", "2*B >= D"], ["D >= 2*B"]],
    "every:k": [["B >= D*k"], ["B >= D", "D*k >= B"], ["D >= B", "2*B >= D"], ["D >= 2*B"]],
    "every:3": [["B >= 3*D"], ["3*D >= B", "B >= D"], ["D >= B", "2*B >= D"], ["D >= 2*B"]],
}


@pytest.mark.few(3)
@pytest.mark.parametrize("policy", REGIONS)
@pytest.mark.parametrize("held", [False, True])
def test_regions_of_the_chain_read_as_the_lecture_would_write_them(policy: str, held: bool) -> None:  # noqa: FBT001
    """The regions are stated in the sizes, without what is certain or implied; a held output moves none."""
    assert shown_regions(chain(policy, held=held)) == REGIONS[policy]


@pytest.mark.few(1)
@pytest.mark.parametrize("held", [False, True])
@pytest.mark.parametrize("policy", ["none", "every:k"])
def test_the_chain_in_every_region(policy: str, held: bool) -> None:  # noqa: FBT001
    """The derived peak less parameters and input is the formula that was worked out by hand, at any size."""
    account = chain(policy, held=held)
    peaks = Peaks(account)
    seen = set()
    for D in (1, 4, 6):
        for B in (1, 2, 3, D, 2 * D, 3 * D, 5 * D, 40 * D):
            for L, k in ((2, 1), (6, 2), (6, 3), (12, 3), (12, 4), (12, 6), (30, 5)):
                sizes = {"B": B, "D": D, "L": L} | ({"k": k} if policy == "every:k" else {})
                if not all(one.holds(sizes) for one in peaks.when):
                    continue
                at, value = peaks.largest(sizes)
                seen.add(at)
                above = value - FP32 * (D * D * L + B * D)
                assert above == lecture_chain(B, D, L, k if policy == "every:k" else L, held=held), sizes
    assert seen == set(range(len(peaks.exprs)))


@pytest.mark.few(1)
@pytest.mark.parametrize("held", [False, True])
@pytest.mark.parametrize("policy", ["none", "every:k"])
def test_small_counts_of_the_chain_are_derived_apart(policy: str, held: bool) -> None:  # noqa: FBT001
    """One layer, one segment and segments of one layer: where a condition fails the small case is exact."""
    for B, D in ((1, 4), (3, 4), (9, 4)):
        for L, k in ((1, 1), (2, 1), (2, 2), (3, 3), (4, 2)):
            sizes = {"B": B, "D": D, "L": L}
            account = chain(policy.replace("k", str(k)), held=held)
            shown = at_sizes(account, sizes)
            _, value = Peaks(shown.account).largest(shown.sizes)
            again = policy == "every:k"
            expected = lecture_chain(B, D, L, k if again else L, held=held, again=again)
            assert value - FP32 * (D * D * L + B * D) == expected, (sizes, k)


def test_a_small_count_is_said_with_its_formulas() -> None:
    """One layer has formulas of its own; two layers have those of many."""
    B, D = symbol("B"), symbol("D")
    (case,) = small_cases(chain("none"))
    assert str(case.condition) == "L = 1"
    beside = 4 * D**2 + 4 * B * D + 8
    assert set(case.exprs) == {normal(beside + 8 * B * D), normal(beside + 4 * B * D + 4 * D**2)}


CASES = [
    ("mlp", "none"),
    ("mlp", "every:k"),
    ("mlp", "sqrt"),
    ("mlp", "store-nothing"),
    ("deep_linear", "every:k"),
    ("two_layer", "none"),
    ("attention", "none"),
    ("gpt", "store-nothing"),
]


@pytest.mark.few(1)
@pytest.mark.parametrize(("graph", "policy"), CASES)
def test_regions_by_brute_force(graph: str, policy: str) -> None:
    """In its region a candidate is the largest, and every point lies in a region."""
    peaks = Peaks(derive(load(graph), precision="fp32", checkpoint=policy, optimizer="adamw"))
    regions = [peaks.region(at) for at in range(len(peaks.exprs))]
    points = _points(peaks, random.Random(7))
    assert len(points) >= 30
    for sizes in points:
        values = [evaluate(expr, sizes) for expr in peaks.exprs]
        holding = [at for at, one in enumerate(regions) if one is not None and one.holds(sizes)]
        assert holding, sizes
        assert all(values[at] == max(values) for at in holding), sizes


def _points(peaks: Peaks, source: random.Random) -> list[dict[str, int]]:
    """Return sizes at which the formulas hold, drawn so that quotients and roots are integers."""
    names = [*peaks.account.graph.order, *peaks.account.policy.names]
    found = []
    for _ in range(900):
        sizes = {name: source.choice((1, 2, 3, 4, 6, 9, 12, 36, 144)) for name in names}
        if "k" in sizes:
            sizes["L"] = sizes["k"] * source.choice((2, 3, 5, 8))
        if all(one.holds(sizes) for one in peaks.when):
            found.append(sizes)
    return found[:60]


ALIVE = [
    ("mlp", "none", {"B": 9, "D": 4, "L": 11}),
    ("mlp", "none", {"B": 3, "D": 4, "L": 11}),
    ("mlp", "none", {"B": 1, "D": 4, "L": 11}),
    ("mlp", "every:3", {"B": 40, "D": 4, "L": 12}),
    ("mlp", "every:5", {"B": 9, "D": 4, "L": 12}),
    ("mlp", "store-nothing", {"B": 9, "D": 4, "L": 12}),
    ("deep_linear", "sqrt", {"B": 50, "D": 4, "L": 16}),
    ("gpt", "selective:core", {"b": 2, "s": 24, "a": 2, "h": 8, "L": 9, "V": 11}),
    ("llama", "every:1", {"B": 2, "S": 9, "L": 10, "D": 8, "F": 12, "H": 4, "G": 2, "K": 2, "V": 13}),
]


@pytest.mark.few(2)
@pytest.mark.parametrize(("graph", "policy", "sizes"), ALIVE)
def test_what_is_alive_against_the_interpreter(graph: str, policy: str, sizes: dict[str, int]) -> None:
    """The folded walk finds the moment of the step written out, and the same tensors, as formulas."""
    account = at_sizes(derive(load(graph), precision="fp32", checkpoint=policy), sizes).account
    moment = Peaks(account).moment(sizes)
    schedule = schedule_at(account.graph, account.policy, sizes)
    size = sizes_at(account.graph, account.policy, sizes)
    there = worst(schedule, size)
    assert there.action is not None
    assert (moment.nbytes, moment.label, moment.phase) == (
        there.nbytes,
        there.action.label,
        there.action.phase,
    )
    mine = {(one.name, one.kind): evaluate(one.nbytes, sizes) for one in moment.alive}
    theirs: dict[tuple[str, str], Fraction] = {}
    for storage in there.alive:
        key = storage.tensor.name, storage.kind
        theirs[key] = theirs.get(key, Fraction(0)) + size(storage)
    assert mine == {key: as_expr(value) for key, value in theirs.items() if value}


@pytest.mark.few(1)
@pytest.mark.parametrize("workload", ["train", "forward", "prefill", "decode"])
def test_what_is_alive_adds_up_to_the_peak(workload: str) -> None:
    """With symbols: parameters, inputs, caches and tensors alive then are the formula of the peak."""
    made = memory(derive(load("llama"), workload=workload), {})
    assert made.alive
    assert total(line.expr for line in made.alive) == made.peak.cases[0].expr
    held = total(line.expr for line in beside(made.shown))
    assert held == made.shown.account.beside("memory.peak")


def test_half_bytes_stay_exact() -> None:
    """Weights of 4 bits give a peak with half a byte where their number is odd."""
    account = derive(load("mlp"), precision="params=int4,activations=bf16", workload="forward")
    found = peak(Peaks(account), {"B": 1, "D": 3, "L": 3})
    assert found.value is not None
    assert found.value.q == 2


@pytest.mark.few(2)
@pytest.mark.parametrize("choices", [{}, {"grads": "kept"}, {"hold_output": True, "checkpoint": "every:4"}])
def test_what_would_lower_it_is_the_peak_under_that_choice(choices: dict[str, object]) -> None:
    """Each option's number is the peak that the other policy's own account gives."""
    from symacct.policy import checkpoint

    sizes = {"B": 20, "D": 4, "L": 12}
    account = derive(load("mlp"), precision="fp32", optimizer="adamw", **choices)
    changes = {
        "--checkpoint store-nothing": {"checkpoint": checkpoint("store-nothing")},
        "--checkpoint every:1": {"checkpoint": checkpoint("every:1")},
        "--checkpoint sqrt": {"checkpoint": checkpoint("sqrt")},
        "--update fused": {"update": "fused", "grads": "fresh"},
        "--grads fresh": {"grads": "fresh"},
        "no --hold-output": {"hold_output": False},
        "--optimizer adam8bit": {"optimizer": "adam8bit"},
    }
    options = lower(account, sizes, account.value("memory.peak", sizes))
    assert {"--checkpoint sqrt", "--update fused", "--optimizer adam8bit"} <= {one.flags for one in options}
    work = account.value("flops.hardware", sizes)
    for one in options:
        half = one.flags == "--accumulate 2 at B=10"
        change = {"accumulate": 2} if half else changes[one.flags]
        other, there = (
            derive(load("mlp"), policy=account.policy, **change),
            {**sizes, "B": 10 if half else 20},
        )
        assert one.value == other.value("memory.peak", there), one.flags
        assert one.work == other.value("flops.hardware", there) / work, one.flags


def test_equal_peaks_are_ranked_by_the_work_that_they_take() -> None:
    """Store-nothing and one layer a segment give the same peak here, at very different work."""
    sizes = {"B": 4, "D": 4, "L": 16}
    account = derive(load("mlp"), precision="fp32")
    options = lower(account, sizes, account.value("memory.peak", sizes))
    ranks = [(one.value, one.work) for one in options]
    assert ranks == sorted(ranks)
    at = {one.flags: place for place, one in enumerate(options)}
    assert at["--checkpoint every:1"] < at["--checkpoint store-nothing"]
    assert options[at["--checkpoint store-nothing"]].work > 3


def test_an_odd_batch_is_not_split() -> None:
    """Two micro-batches of half the size are offered where the batch is even."""
    account = derive(load("mlp"), precision="fp32")
    for batch, offered in ((4, True), (5, False)):
        sizes = {"B": batch, "D": 4, "L": 3}
        options = lower(account, sizes, account.value("memory.peak", sizes))
        assert any(one.flags.startswith("--accumulate") for one in options) is offered


def test_checkpoints_save_nothing_where_gradients_weigh_more() -> None:
    """For B <= D no segment length lowers the peak of the chain; for B >= D one does."""
    account = derive(load("mlp"), precision="fp32")
    few, many = {"B": 4, "D": 4, "L": 16}, {"B": 64, "D": 4, "L": 16}
    for sizes, helps in ((few, False), (many, True)):
        now = account.value("memory.peak", sizes)
        segments = [one for one in lower(account, sizes, now) if one.flags.startswith("--checkpoint")]
        assert any(one.value < now for one in segments) is helps


def test_factored_forms_are_equal() -> None:
    """What is printed as a product or quotient is the formula."""
    account = derive(load("gpt"), checkpoint="every:1:full")
    model, hardware = account["flops.model"].expr, account["flops.hardware"].expr
    assert isinstance(common_factor(model), Mul)
    assert normal(common_factor(model)) == model
    assert normal(quotient(hardware, model) - hardware / model) == 0


def test_bound_sizes_leave_fewer_formulas() -> None:
    """Sizes that a model binds are put in before formulas are compared."""
    whole, bound = Peaks(derive(load("gpt"))), Peaks(derive(load("gpt2")))
    assert len(bound.exprs) < len(whole.exprs)
