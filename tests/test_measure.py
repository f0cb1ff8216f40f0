"""Measuring: statistics, the flat step against autograd, what a clock must wait for, rates, MFU, sizes.

No test depends on how fast anything is: clocks are given, or only the structure of a real run is looked at.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import count, pairwise

import pytest
import torch

from symacct.account import derive
from symacct.build import graph
from symacct.errors import RuleError, SizeError, UsageError
from symacct.execution import measure as measure_module
from symacct.execution import measure_calibrate, values
from symacct.execution.count import count as counted_by_torch
from symacct.execution.measure import TooFastError, check_rate, measure
from symacct.execution.measure_calibrate import COPY, PEAK, VECTOR, Rate, again, machine_of, rounded
from symacct.execution.measure_clock import Events, Spread, Wall, repeats_for, spread_of, timed
from symacct.execution.measure_device import Device, opened
from symacct.execution.measure_points import few_points, points
from symacct.execution.measure_program import FORWARD, draw, flatten
from symacct.execution.measure_run import Timed, beside, time_step
from symacct.execution.measure_sizes import LONGEST_STEP, scales
from symacct.execution.sizes import choose_sizes
from symacct.execution.torch_arrays import TorchArrays
from symacct.machines import Figure, Machine, Named, Peak, load, write
from symacct.readers.files import list_graphs
from symacct.readers.files import load as load_graph

GRAPHS = [entry.name for entry in list_graphs()]
SIZES = {"B": 16, "D": 8, "L": 3}


class Given:
    """A clock on which every mark is a given time after the one before."""

    def __init__(self, each="0.2"):
        self.each = Fraction(each)
        self.now = count()

    def mark(self):
        return next(self.now)

    def spans(self, marks):
        return [(b - a) * self.each for a, b in pairwise(marks)]


def device(clock=None, memory=2**29):
    return Device(torch, "cpu", clock or Given(), "a part", "torch of a test, 1 thread", memory)


@pytest.fixture
def short(monkeypatch):
    """Arrays of a calibration that take no time."""
    for name, value in {"SIDES": (16, 32), "ELEMENTS": (2**8,), "COPIED": 2**16}.items():
        monkeypatch.setattr(measure_calibrate, name, value)


def figure(value, unit="FLOP/second"):
    return Figure(Fraction(value), unit, "a test", "2026")


def machine(peak=10**9, vector=10**8, bandwidth=10**9):
    return Machine(
        "cpu", "a part", 1, (Peak("fp32", None, sparse=False, figure=figure(peak)),),
        (Named("fp32", figure(vector)),), bandwidth=figure(bandwidth, "byte/second"),
    )  # fmt: skip


def spread(seconds):
    return spread_of([Fraction(seconds)])


def mlp(**sizes):
    return derive(load_graph("mlp"), precision="fp32").bind(sizes or SIZES)


# ---- statistics and clocks ----


def test_median_and_quartiles_are_exact():
    one = spread_of([Fraction(n) for n in (100, 1, 2, 3, 4, 5, 6)])
    assert (one.median, one.lower, one.upper, one.count) == (4, Fraction(5, 2), Fraction(11, 2), 7)
    assert one.share == Fraction(3, 4)


def test_one_time_is_its_own_median():
    assert spread_of([Fraction(3)]) == Spread(Fraction(3), Fraction(3), Fraction(3), 1)


def test_first_calls_are_not_timed():
    """Two calls before those that count; each of these is timed by itself."""
    calls = []
    made = timed(Given(), lambda: calls.append(1), 5)
    assert len(calls) == 7
    assert made == Spread(Fraction(1, 5), Fraction(1, 5), Fraction(1, 5), 5)


def test_repeats_fit_the_budget():
    assert [repeats_for(Fraction(n)) for n in ("10", "0.1", "1e-6")] == [3, 8, 25]


def test_the_wall_clock_never_says_zero():
    clock = Wall()
    assert all(span > 0 for span in clock.spans([clock.mark() for _ in range(100)]))


class Event:
    """An event of a GPU that can be read only after the GPU was waited for."""

    def __init__(self, cuda):
        self.cuda = cuda

    def record(self):
        self.cuda.waited = False
        self.at = next(self.cuda.times)

    def elapsed_time(self, other):
        assert self.cuda.waited, "read before the device has finished"
        return (other.at - self.at) * 0.25


class Cuda:
    """What the clock of a GPU uses of ``torch.cuda``."""

    def __init__(self):
        self.times = count()
        self.waited = True
        self.waits = 0

    def Event(self, *, enable_timing):  # noqa: N802 (the name in torch)
        assert enable_timing
        return Event(self)

    def synchronize(self):
        self.waited = True
        self.waits += 1


def test_a_gpu_is_read_only_after_it_has_finished():
    """Events count in milliseconds; the whole step and each op wait once for a run."""
    cuda = Cuda()
    clock = Events(cuda)
    assert clock.spans([clock.mark() for _ in range(3)]) == [Fraction(1, 4000)] * 2
    before = cuda.waits
    made = time_step(mlp(), SIZES, device(clock), 4)
    assert cuda.waits > before + 2 * 4
    assert made.step == Spread(*[Fraction(1, 4000)] * 3, 4)
    assert made.ops["forward", "layers/matmul"].median == SIZES["L"] * Fraction(1, 4000)


def test_an_event_that_resolves_nothing_is_not_zero():
    clock = Events(Cuda())
    same = clock.mark()
    assert clock.spans([same, same])[0] > 0


# ---- the step ----


@pytest.mark.few(1)
@pytest.mark.parametrize("name", GRAPHS)
def test_the_flat_step_computes_the_gradients_of_autograd(name):
    account = derive(load_graph(name), precision="fp32", saves="torch")
    sizes = choose_sizes(account.graph, account.conditions)
    step, xp = account.step, TorchArrays(torch, "fp64")
    program = flatten(step, sizes, xp, backward=True)
    leaves = values.draw(step.graph, sizes, xp, 0) | values.seeds(step, sizes, xp, 0)
    with torch.no_grad():
        program.prepare(leaves)
        xp.generator.manual_seed(0)
        store, _ = program.run(leaves)
    theirs = counted_by_torch(step, sizes, dtype="fp64")
    compared = 0
    for (tensor, at), wanted in theirs.gradients.items():
        keys = [(gradient, at) for gradient in step.gradients.get(tensor, ())]
        found = [store[key] for key in (program.same.get(one, one) for one in keys) if key in store]
        if wanted is not None:
            assert torch.allclose(found[0], wanted, rtol=1e-8, atol=1e-8), tensor
            compared += 1
    assert compared or not step.gradients
    assert program.peak >= program.leaves > 0


def test_nothing_is_kept_beyond_its_last_reader():
    """After a step: what it started from, its output, and the gradients."""
    account, xp = mlp(), TorchArrays(torch, "fp32")
    program = flatten(account.step, {}, xp, backward=True)
    leaves = draw(account.step, {}, xp, 0)
    with torch.no_grad():
        program.prepare(leaves)
        store, marks = program.run(leaves, Given().mark)
    assert len(marks) == len(program.calls) + 1
    made = {key[0] for key in store.keys() - leaves.keys()}
    gradients = {name for names in account.step.gradients.values() for name in names}
    assert {name.removesuffix(" so far") for name in made} <= gradients | {"layers/relu"}


def test_the_bytes_alive_are_those_of_a_chain_by_hand():
    """Forward alone: x, the weights, the products before and after ReLU."""
    account = derive(load_graph("mlp"), precision="fp32", workload="forward").bind(SIZES)
    program = flatten(account.step, {}, TorchArrays(torch, "fp32"), backward=False)
    each, weights = 4 * 16 * 8, 4 * 3 * 8 * 8
    assert program.leaves == each + weights
    assert program.peak == program.leaves + 2 * each
    assert {call.name[0] for call in program.calls} == {FORWARD}


def test_a_real_run_has_times_for_every_op():
    with opened("cpu", 1) as real:
        made = time_step(mlp(), SIZES, real, 3)
    assert made.step.median > 0
    assert all(one.median > 0 and one.count == 3 for one in made.ops.values())
    run = beside(made, machine())
    assert {one.timing.operation.label for one in run.ops} == {label for _, label in made.ops}
    assert run.mfu == run.flops / (run.step.median * 10**9)


def test_threads_are_given_back():
    before = torch.get_num_threads()
    with opened("cpu", 1) as real:
        assert torch.get_num_threads() == 1
        assert "1 thread" in real.setting
    assert torch.get_num_threads() == before


def test_what_torch_cannot_run_is_named():
    account = mlp()
    program = flatten(account.step, {}, TorchArrays(torch, "fp32"), backward=True)

    def broken(_):
        raise RuntimeError('"addmm" not implemented for this format\nmore')

    program.calls[0].ways = (broken,)
    with pytest.raises(RuleError, match="torch cannot run layers/matmul here") as error:
        program.prepare(draw(account.step, {}, TorchArrays(torch, "fp32"), 0))
    assert error.value.got == '"addmm" not implemented for this format'


def test_a_step_beyond_the_memory_is_refused():
    with pytest.raises(SizeError, match="takes more memory than may be used"):
        time_step(mlp(), SIZES, device(memory=2048), 1)
    assert time_step(mlp(), SIZES, device(memory=2**20), 1).step.count == 1


# ---- predicted and measured ----


def test_predicted_is_the_roofline_and_mfu_is_made_of_its_parts():
    """By hand: 3 layers of 16 x 8 by 8 x 8; no gradient of the input of the first."""
    product = 2 * 16 * 8 * 8
    ops = {
        ("forward", "layers/matmul"): spread("3e-5"),
        ("forward", "layers/relu"): spread("1e-6"),
        ("forward", "a view"): spread("5e-7"),
    }
    run = beside(Timed(mlp(), SIZES, spread("1e-4"), ops), machine())
    assert run.flops == (3 * 3 - 1) * product
    assert run.mfu == run.flops / (Fraction("1e-4") * 10**9)
    assert run.mfu_bound == run.flops / (run.predicted * 10**9)
    assert run.ratio == Fraction("1e-4") / run.predicted
    matmul, relu = run.ops
    assert matmul.predicted == max(Fraction(3 * product, 10**9), Fraction(3 * 4 * (2 * 16 * 8 + 64), 10**9))
    assert relu.ratio == Fraction("1e-6") / max(Fraction(3 * 128, 10**8), Fraction(3 * 2 * 512, 10**9))
    assert run.rest == spread("5e-7")


def rate(value, share="0", what=PEAK, dtype="fp32"):
    median = Fraction(1, 1000)
    half = Fraction(share) * median / 2
    work = int(value * median)
    return Rate(
        what, dtype, work, "mm by hand", lambda: lambda: None, Spread(median, median - half, median + half, 5)
    )


def test_an_mfu_of_one_is_refused_with_its_cause():
    """The FLOPs take 16.4 us at the peak: a step of 20 us is possible, one of 16 us is none."""
    ops = {("forward", "layers/matmul"): spread("1e-6")}
    check_rate(beside(Timed(mlp(), SIZES, spread("2e-5"), ops), machine()), [rate(10**9)])
    fast = beside(Timed(mlp(), SIZES, spread("1.6e-5"), ops), machine())
    with pytest.raises(TooFastError, match=r"an MFU of 102\.4 % is above what can be") as error:
        check_rate(fast, [rate(10**9, "0.5")])
    assert "busy while it was calibrated (spread 50 %)" in error.value.fix
    assert "layers/matmul alone beat the peak" in error.value.fix
    assert "mm by hand" in error.value.expected


def test_without_a_contraction_there_is_no_mfu():
    account = derive(load_graph("relu"), precision="fp32").bind({"B": 4, "D": 4})
    run = beside(Timed(account, {"B": 4, "D": 4}, spread("1e-12"), {}), machine())
    assert run.mfu is None
    assert run.mfu_bound is None
    check_rate(run, [])


# ---- calibration ----


def test_a_rate_becomes_a_finite_decimal():
    assert rounded(Fraction(10**12, 7)) == 142_900_000_000
    with pytest.raises(RuleError, match="less than one a second"):
        rounded(Fraction(1, 2))


def test_the_machine_is_read_back_as_it_was_written(tmp_path):
    rates = (rate(10**10), rate(10**9, what=VECTOR), rate(10**10, what=COPY))
    made = machine_of(device(), rates, "2026-01-02")
    write(made, tmp_path / "cpu.toml")
    found = load("cpu", [tmp_path])
    assert found == made
    assert found.peak("fp32").value == 10**10
    assert found.peak("fp32").date == "2026-01-02"
    assert "1 thread" in found.peak("fp32").note
    assert "calibrated by symacct measure" in found.bandwidth.source


@pytest.mark.usefixtures("short")
def test_a_rate_is_measured_once_more_where_that_is_faster():
    slow, fast = Given("0.2"), Given("0.0001")
    first = (rate(10**9), rate(10**9, dtype="bf16"), rate(10**9, what=COPY))
    assert again(device(slow), first, "fp32", lambda _: None) == first
    first = (rate(10**5), *first[1:])
    better = again(device(fast), first, "fp32", lambda _: None)
    assert [one.spread.median for one in better] == [
        Fraction(1, 10**4),
        Fraction(1, 1000),
        Fraction(1, 10**4),
    ]


@pytest.mark.usefixtures("short")
def test_the_whole_measurement_on_a_given_clock():
    """Each mark 0.2 s after the last: rates follow from what was called, the step takes 0.2 s."""
    told = []
    account = derive(load_graph("mlp"), precision="fp32")
    made = measure(
        account, [SIZES, {**SIZES, "B": 32}], device(), today="2026-01-02", repeats=2, tell=told.append
    )
    assert [run.sizes["B"] for run in made.runs] == [16, 32]
    assert all(run.step.median == Fraction(1, 5) and run.mfu < 1 for run in made.runs)
    peak = next(one for one in made.rates if (one.what, one.dtype) == (PEAK, "fp32"))
    assert peak.value == 2 * 32**3 * 5
    assert made.machine.peak("bf16").value > 0
    assert told[0] == "calibrating fp32: contractions"
    assert any("B=32" in one for one in told)


@pytest.mark.usefixtures("short")
@pytest.mark.parametrize(("slow", "passes"), [(2, True), (3, False)])
def test_a_peak_that_is_beaten_is_calibrated_again_before_it_is_refused(monkeypatch, slow, passes):
    """The first calibrations are too slow by far; what is right comes third, or never."""
    calls = []

    def calibrated(_, rates, *__):
        calls.append(rates)
        if len(calls) > slow:
            return calls[0]
        return tuple(replace(one, work=1000) if one.what == PEAK else one for one in rates)

    monkeypatch.setattr(measure_module, "again", calibrated)
    account = derive(load_graph("mlp"), precision="fp32")
    if passes:
        assert measure(account, [SIZES], device(), today="2026", repeats=1).runs[0].mfu < 1
    else:
        with pytest.raises(TooFastError, match="above what can be"):
            measure(account, [SIZES], device(), today="2026", repeats=1)
    assert len(calls) == 3


@pytest.mark.usefixtures("short")
def test_chosen_sizes_stop_growing_where_a_step_is_slow():
    """On this clock each step of two calls takes 0.2 s by itself, of a slower one 2 s."""
    account = derive(load_graph("relu"), precision="fp32", workload="forward")
    quick = measure(account, [{}], device(Given("0.02")), today="2026", repeats=1)
    slow = measure(account, [{}], device(Given("2")), today="2026", repeats=1)
    assert len(quick.runs) > len(slow.runs) == 1


@pytest.mark.usefixtures("short")
def test_what_has_nothing_to_time_is_refused():
    @graph({"B": "rows", "D": "features"})
    def turned(b):
        return b.rearrange("B D -> D B", b.input("x", "B D"))

    account = derive(turned, precision="fp32")
    with pytest.raises(UsageError, match="nothing to measure"):
        measure(account, [{"B": 2, "D": 2}], device(), today="2026")


@pytest.mark.usefixtures("short")
def test_a_step_that_would_take_too_long_is_refused():
    account = derive(load_graph("mlp"), precision="fp32")
    with pytest.raises(SizeError, match="would take too long"):
        measure(account, [{"B": 2**14, "D": 2**9, "L": 64}], device(), today="2026")


# ---- sizes ----


@pytest.mark.few(3)
@pytest.mark.parametrize("name", [name for name in GRAPHS if name != "tiled_attention"])
def test_sizes_meet_the_conditions_and_stay_short(name):
    account = derive(load_graph(name), precision="fp32")
    fast = machine(10**11, 10**10, 10**10)
    found = scales(account, fast, {})
    assert 1 <= len(found) <= 3
    for sizes in found:
        assert set(sizes) == set(account.graph.order)
        assert all(one.holds(sizes) for one in account.conditions)
        run = beside(Timed(account.bind(sizes), sizes, spread("1"), {}), fast)
        assert run.predicted <= LONGEST_STEP


def test_given_sizes_stay():
    account = derive(load_graph("mlp"), precision="fp32")
    found = scales(account, machine(10**11, 10**10, 10**10), {"L": 7})
    assert len(found) == 3
    assert {sizes["L"] for sizes in found} == {7}
    assert [sizes["D"] for sizes in found] == sorted({sizes["D"] for sizes in found})
    assert scales(account, machine(), SIZES) == (SIZES,)


# ---- points ----


def test_points_are_the_ops_and_the_steps():
    ops = {
        ("forward", "layers/matmul"): spread("3e-5"),
        ("backward", "layers/matmul/grad.w"): spread("4e-5"),
        ("forward", "layers/relu"): spread("1e-6"),
    }
    one = beside(Timed(mlp(), SIZES, spread("1e-4"), ops), machine())
    assert [point.name for point in points([one])] == [
        "layers/matmul", "layers/relu", "layers/matmul/grad.w", "mlp",
    ]  # fmt: skip
    larger = {**SIZES, "B": 32}
    two = beside(Timed(mlp(**larger), larger, spread("2e-4"), ops), machine())
    named = [point.name for point in few_points([one, two])]
    assert named[-2:] == ["mlp B=16", "mlp B=32"]
    grouped = next(point for point in few_points([one, two]) if "more" in point.name)
    assert grouped.name == "layers/matmul and 1 more"
    assert grouped.seconds == Fraction("7e-5")
    assert grouped.flops == sum(p.flops for p in points([two]) if p.name.startswith("layers/matmul"))


# ---- devices ----


def test_without_a_gpu_cuda_is_refused(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(UsageError, match="no GPU that torch can use") as error, opened("cuda"):
        pass
    assert "--device cpu" in error.value.fix


@pytest.mark.parametrize("threads", [0, -1, 10**9])
def test_threads_out_of_range_are_refused(threads):
    with pytest.raises(UsageError, match="out of range"), opened("cpu", threads):
        pass


def test_a_format_that_is_not_contracted_is_refused():
    one = device()
    one.require("fp64")
    with pytest.raises(UsageError, match="cpu does not contract in int8 here") as error:
        one.require("int8")
    assert "fp32" in error.value.expected


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")
def test_on_a_gpu():
    account = derive(load_graph("mlp"), precision="bf16")
    with opened("cuda") as real:
        made = measure(account, [{"B": 512, "D": 512, "L": 2}], real, today="2026", repeats=3)
    assert made.machine.name == "cuda"
    assert 0 < made.runs[0].mfu < 1
    assert all(one.measured.median > 0 for one in made.runs[0].ops)
