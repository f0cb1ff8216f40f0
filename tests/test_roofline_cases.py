"""Published numbers of intensity, hardware, time and inference, and wrong ones that people met.

Sources: How to Scale Your Model (the scaling book, jax-ml/scaling-book@0819a7d8: roofline, tpus, inference,
applied-inference), CS336 (Stanford, spring 2025, lectures 2 and 10), Transformer Inference Arithmetic
(kipply), Machine Learning Engineering (stas00/ml-engineering@744d01e1), and the issues named with each fault.

Not yet: several devices that communicate, and how many servers prefill and decode (schedules of requests).
"""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import pytest

from symacct import derive, graph, load
from symacct.algebra.evaluate import evaluate
from symacct.algebra.leading import leading_term
from symacct.algebra.normal import same
from symacct.algebra.symbols import symbol
from symacct.claims.amount import amount
from symacct.convention import convention
from symacct.errors import RuleError, UnitError, UnknownNameError
from symacct.evaluation.operations import operations
from symacct.evaluation.regions import region
from symacct.evaluation.roofline import VERDICTS, Roofline
from symacct.evaluation.timing import quantity
from symacct.machines import load as machine
from symacct.policy import precision
from symacct.syntax import read_formula

T, G = 10**12, 10**9


def accounted(name, **choices):
    return derive(load(name), workload="forward", **choices)


def same_as(account, name, text):
    return same(account[name].expr, read_formula(text, set(account.graph.sizes)))


def part(tmp_path, bandwidth, **peaks):
    """Return a machine of the user's: a bandwidth in B/s, peaks in FLOP/s (or op/s)."""
    said = 'source = "the case", date = "2025"'
    rows = ", ".join(
        f'{{ dtype = "{dtype}", sparse = false, value = {value}, '
        f'unit = "{"op" if dtype.startswith("int") else "FLOP"}/s", {said} }}'
        for dtype, value in peaks.items()
    )
    path = tmp_path / "part.toml"
    bytes_ = f'bandwidth = {{ value = {bandwidth}, unit = "byte/s", {said} }}'
    path.write_text(f'title = "a part"\none_peak = true\n{bytes_}\npeaks = [{rows}]\n', encoding="utf-8")
    return machine(str(path))


# ---- intensity ----


def test_intensity_of_a_product():
    """BDF/(BD + DF + BF) in bf16, B where the other two grow; twice that in int8."""
    account = accounted("linear")
    assert same_as(account, "intensity.forward", "B*D*K/(B*D + D*K + B*K)")
    assert same(leading_term(account["intensity.forward"].expr, ("D", "K"))[0], symbol("B"))
    integer = accounted("linear", precision=precision("params=int8,activations=int8"))
    assert same_as(integer, "intensity.forward", "2*B*D*K/(B*D + D*K + B*K)")


def test_intensity_of_a_dot_product():
    """(2N - 1)/(4N + 2), counted strictly: 1/2 in the end."""
    account = accounted("dot", convention="strict")
    assert same_as(account, "intensity.forward", "(2*N - 1)/(4*N + 2)")


def test_intensity_of_an_adamw_update():
    """fp32: p, g, m, v read and p, m, v written, 28 bytes; 14 FLOP of the usual update are half of that."""
    account = derive(load("linear"), optimizer="adamw", precision=precision("fp32"))
    update = next(one for one in operations(account, step=True) if one.phase == "optimizer")
    assert same(update.moved, 28 * account["params"].expr)
    made = Roofline(account, machine("h100-sxm"), {"B": 64, "D": 64, "K": 64})
    assert next(one for one in made.time.timings if one.operation.phase == "optimizer").binds == "memory"


def test_bytes_of_a_square_product_in_fp64():
    """A calculator counted 4N^2 bytes and 512 FLOP/B; three matrices of 8 bytes make 24N^2 and N/12."""
    square = load("matmul").bind({"D": symbol("B"), "K": symbol("B")})
    wide = "params=fp64,grads=fp64,states=fp64,activations=fp64"
    account = derive(square, workload="forward", precision=precision(wide))
    assert same_as(account, "bytes.forward", "24*B^2")
    assert account.value("intensity.forward", {"B": 1024}) == Fraction(256, 3)
    with pytest.raises(UnitError):
        amount("2*1024^3 FLOP / (4*1024^2)", "FLOP/byte")


def test_weights_that_a_phase_does_not_read_are_not_moved():
    """Resident tables are not streamed in decoding: one row each (ashalliants/ninfer-3090, pull 50)."""
    account = derive(load("llama-3-8b"), workload="decode", convention=convention(bytes="compulsory"))
    moved = account.value("bytes.forward.read", {"B": 1, "T": 1})
    resident = account.value("memory.parameters", {"B": 1, "T": 1})
    table = 2 * 128256 * 4096
    assert resident - table < moved < resident - table + 2 * 10**6


@pytest.mark.parametrize(("ops", "bandwidth", "batch"), [(394 * T, 810 * G, 243), (197 * T, 810 * G, 121)])
def test_the_critical_batch_in_int8(ops, bandwidth, batch, tmp_path):
    """Half of the ridge, where the matrix is large: 243 tokens (the scaling book, question 1)."""
    account = accounted("linear", precision=precision("params=int8,activations=int8"))
    one = part(tmp_path, bandwidth, int8=ops)
    made = Roofline(account, one, {"D": 10**9, "K": 10**9})
    assert int(made.whole_region().critical) == batch == int(Fraction(ops, bandwidth) / 2)


# ---- hardware ----


@pytest.mark.parametrize(
    ("name", "mhz", "fmas", "units", "printed"),
    [("h100-sxm", 1830, 512, 528, "989.43"), ("a100-sxm-80gb", 1410, 256, 432, "311.87"),
     ("mi300x", 2100, 256, 1216, "1307.44"), ("tpu-v5e", 1500, 2048 * 8, 4, "196.61")],
)  # fmt: skip
def test_peaks_from_clocks(name, mhz, fmas, units, printed):
    """Clock times fmas times 2 times units; 1980 MHz, a boost clock, would make 1070 of the H100's 989."""
    peak = 2 * mhz * 10**6 * fmas * units
    assert f"{peak / T:.2f}" == printed
    assert abs(machine(name).peak("bf16").value - peak) < peak / 300
    assert name != "h100-sxm" or machine(name).peak("bf16").value < 2 * 1980 * 10**6 * 512 * 528 * 0.93


def test_an_a100_has_no_fp8():
    """A table lists 624/1248 as fp8: these are int8 (and bf16 with sparsity)."""
    one = machine("a100-sxm-80gb")
    with pytest.raises(RuleError):
        one.peak("fp8")
    assert one.peak("int8").value == one.peak("bf16", sparse=True).value == 624 * T


@pytest.mark.parametrize(("name", "links", "each", "printed"), [("h100-sxm", 18, 25, 900), ("a100-sxm-80gb", 12, 25, 600)])  # fmt: skip # noqa: E501
def test_links_run_both_ways(name, links, each, printed):
    """900 and 600 GB/s are both directions: 18 and 12 links of 25 GB/s each way."""
    assert machine(name).links[0].figure.value == links * each * G == printed * G // 2


def test_bandwidth_is_of_the_part_that_is_named():
    """3.9 TB/s is the NVL's; one course uses it for the SXM part in one lecture and 3.35 in another."""
    assert str(machine("h100-sxm").bandwidth) == str(machine("lecture:h100").bandwidth) == "3.35 TB/s"
    assert machine("h100-sxm").meant(Fraction(1979 * T), "bf16").endswith("2:4 sparsity")


def test_capacities_are_nominal_and_decimal():
    """80 GB is 80e9 bytes; 80 GiB are 85.9e9, and 81,559 MiB, as a tool shows them, 85.5e9."""
    one = machine("h100-sxm")
    assert one.capacity.value == 80 * G
    assert amount("80 GiB", "byte").value == 85899345920
    assert amount("81559 MiB", "byte").value == 85520809984


# ---- peaks that were mistaken ----


def test_a_sparse_peak_for_dense_work():
    """420 TFLOP/s were called 21 %: https://github.com/NVIDIA/Megatron-LM/issues/1565."""
    dense = machine("h100-sxm").peak("bf16").value
    assert round(420 * T * 10**4 / dense) == 4245
    assert machine("h100-sxm").meant(Fraction(1979 * T), "bf16") is not None
    assert machine("h100-sxm").peak("bf16", sparse=True).value == 2 * dense


def test_a_dense_peak_is_not_halved():
    """312 is dense already: https://github.com/allenai/OLMo-core/pull/614."""
    one = machine("a100-sxm-80gb")
    assert one.meant(Fraction(312 * T), "bf16").endswith("dense")
    assert one.meant(Fraction(156 * T), "bf16") is None
    assert round(140 * T * 1000 / one.peak("bf16").value) == 449


def test_the_form_factor_is_named():
    """PCIe 756.5, SXM 989.5: https://github.com/rasbt/LLMs-from-scratch/issues/482."""
    with pytest.raises(UnknownNameError, match="say which: h100-pcie, h100-sxm"):
        machine("h100")
    assert round(400 * T * 1000 / machine("h100-pcie").peak("bf16").value) == 529
    assert round(400 * T * 1000 / machine("h100-sxm").peak("bf16").value) == 404


def test_a_peak_belongs_to_its_sums(tmp_path):
    """fp16 into fp32 at a quarter of the rate: https://github.com/kekzl/imp/issues/1668."""
    said = 'sparse = false, unit = "TFLOP/s", source = "the case", date = "2025"'
    path = tmp_path / "consumer.toml"
    path.write_text(
        f'title = "a part"\npeaks = [{{ dtype = "fp16", accumulate = "fp16", value = 838, {said} }},'
        f' {{ dtype = "fp16", accumulate = "fp32", value = 209.5, {said} }}]\n',
        encoding="utf-8",
    )
    one = machine(str(path))
    assert one.peak("fp16").value == one.peak("fp16", accumulate="fp32").value == Fraction(2095, 10) * T
    assert one.peak("fp16", accumulate="fp16").value == 838 * T


def test_per_device_and_in_all_are_the_same_share():
    """(F/8)/(t P) = F/(t 8 P): https://github.com/karpathy/nanoGPT/pull/619; 15.8 PFLOP/s in fp8."""
    one, eight = machine("a100-sxm-80gb"), machine("8xa100-sxm-80gb")
    work, spent = Fraction(10**15), Fraction(5, 4)
    share = work / 8 / (spent * one.peak("bf16").value)
    assert share == work / (spent * eight.peak("bf16").value)
    assert round(share * 1000) == 321
    assert machine("8xh100-sxm").peak("fp8").value == 15832 * T


# ---- time ----


def test_a_teraflop_takes_a_millisecond():
    """10^12 FLOP on an H100 are 1.01 ms (the scaling book)."""
    account = derive(load("matmul"), workload="forward")
    made = quantity(account, machine("h100-sxm"), "time.forward").value({"B": 8000, "D": 7812500, "K": 8})
    assert made > Fraction(1, 1000)
    spent = quantity(account, machine("h100-sxm"), "time.forward")
    cube = {"B": 10000, "D": 5000, "K": 10000}
    assert evaluate(account["flops.forward"].expr, cube) == 10**12
    assert round(spent.value(cube) * 10**5) == 101


def test_overlap_takes_between_once_and_twice_the_longer():
    """max(a, b) <= a + b <= 2 max(a, b): for an op, and for every graph."""
    for name in ("mlp", "linear", "llama-3-8b"):
        account = derive(load(name))
        free = dict.fromkeys(account.graph.order, 64)
        made = Roofline(account, machine("h100-sxm"), free)
        none = sum(made.seconds(one) for one in VERDICTS)
        assert made.time.expr <= none <= 3 * made.time.expr
        for one in made.time.timings:
            seconds = [value for _, value in one.candidates]
            assert max(seconds) <= sum(seconds) <= len(seconds) * max(seconds)


def test_times_of_ops_add_up():
    """Ops of (4, 1) and (1, 4) ms take 8 ms, not 5: the maximum of the sums is less than the sum of maxima.

    A product with many rows is bound by work, a ReLU by bytes; together neither sum is the time.
    """
    account = derive(load("mlp"), workload="forward")
    for part_name, rows in product(("h100-sxm", "a100-sxm-80gb"), (2048, 8192)):
        made = Roofline(account, machine(part_name), {"B": rows, "D": 4096, "L": 3})
        assert {one.binds for one in made.time.timings} == {"tensor", "memory"}
        assert made.time.expr == sum(max(value for _, value in one.candidates) for one in made.time.timings)
        assert made.time.expr > max(made.seconds(one) for one in VERDICTS)


def test_hours_of_devices_are_no_hours():
    """152 GPU-hours on 8 devices are 19 h: https://github.com/rai-opensource/theia/issues/27."""
    assert amount("152 device*hour / (8 device)", "hour").value == 19 * 3600
    with pytest.raises(UnitError):
        amount("152 device*hour", "hour")


def test_years_follow_from_days():
    """44 days * 8960/225 are 1752 days, 4.8 years: https://github.com/jax-ml/scaling-book/pull/131."""
    days = amount("44 day * 8960/225", "day").value / 86400
    assert round(days) == 1752
    assert round(amount("44 day * 8960/225", "year").value / 31557600 * 100) == 480
    assert round(44 * 8960 / Fraction(171)) == 2305


def test_loading_weights(tmp_path):
    """200B bf16 parameters over 32 chips of 1.23e12 B/s: 10 ms; on one, 32 times as long."""
    account = derive(load("matvec"), workload="forward", convention=convention(bytes="compulsory"))
    chip = part(tmp_path, 1230 * G, bf16=275 * T)
    sizes = {"M": 500000, "N": 400000}
    spent = quantity(account, chip.times(32), "time.forward").value(sizes)
    assert round(spent * 10**6) == 10163
    assert quantity(account, chip, "time.forward").value(sizes) == 32 * spent


# ---- inference ----

LLAMA2_13B = {"L": 40, "D": 5120, "F": 13824, "H": 40, "G": 40, "K": 128, "V": 32000}


def llama2(**choices):
    return derive(load("llama"), workload="decode", sizes=LLAMA2_13B, **choices)


def served(tmp_path, bandwidth):
    """Return decoding of Llama 2 13B, bytes alone: weights once, and the cache once for each sequence."""
    account = llama2(convention=convention(bytes="compulsory"))
    return account, part(tmp_path, bandwidth, bf16=10**6 * T, fp32=10**6 * T)


def test_decoding_llama2(tmp_path):
    """26 GB of weights and 6.7 GB of cache for each sequence of 8192 tokens: 4.98 ms on 8 v5e, 8.02 on H100.

    The book's table prints GiB and TiB/s: with these units it would be 4.87 ms, mixed 5.35 ms.
    """
    account, chip = served(tmp_path, 820 * G)
    sizes = {"B": 1, "T": 8192}
    cache = account.value("memory.kv_cache", sizes)
    assert round(cache / G * 100) == 671
    weights = account.value("memory.parameters", sizes)
    assert round(weights / G * 10) == 260
    spent = quantity(account, chip.times(8), "time.token").value(sizes)
    assert abs(spent - (weights + cache) / (8 * 820 * G)) < Fraction(1, 10**4)
    assert abs(spent - Fraction(498, 10**5)) < Fraction(8, 10**5)
    short = quantity(account, part(tmp_path, 3350 * G, bf16=T * 989, fp32=T * 989), "time.token")
    assert abs(short.value({"B": 1, "T": 1024}) - Fraction(802, 10**5)) < Fraction(15, 10**5)


def test_throughput_of_decoding_has_a_limit(tmp_path):
    """963 token/s at a batch of 240, 979 at most: bandwidth over the cache of a sequence."""
    account, chip = served(tmp_path, 820 * G)
    rates = quantity(account, chip.times(8), "throughput.tokens")
    at = {batch: rates.value({"B": batch, "T": 8192}) for batch in (1, 240, 10**6)}
    limit = 8 * 820 * G / account.value("memory.kv_cache", {"B": 1, "T": 8192})
    assert at[1] < at[240] < at[10**6] < limit
    assert abs(limit - 979) < 3
    assert abs(at[240] - 963) < 5


def test_a_forward_pass_reads_its_weights_once(tmp_path):
    """52B of weights at 1.5e12 B/s: 69 ms for up to 208 tokens, the ridge of 312e12 (kipply)."""
    assert round(12 * 2 * 64 * 8192**2 / Fraction(15 * 10**11) * 1000) == 69
    one = part(tmp_path, 1500 * G, bf16=312 * T)
    made = Roofline(derive(load("linear"), workload="forward"), one, {"D": 10**9, "K": 10**9})
    assert int(made.whole_region().critical) == 208 == 312 * T // (1500 * G)


def test_attention_in_decoding_counts():
    """Not 0.1 % but a sixth of the dense work where the context is as long as the model is wide."""
    account = derive(load("gpt"), workload="decode")
    bound = account.bind({"a": 64, "d": 128, "L": 1, "V": 2, "b": 1})
    parts = {term.label: evaluate(term.expr, {"t": 8192}) for term in bound.terms("flops.forward")
             if "layers" in term.label}  # fmt: skip
    core = sum(value for label, value in parts.items() if "core" in label)
    assert core == 4 * 8192 * 8192
    assert Fraction(int(core), int(sum(parts.values()) - core)) == Fraction(1, 6)


def test_a_cache_saves_a_power():
    """Generating T tokens anew each time costs T^3 attention work, with a cache T^2."""
    fresh, cached = (derive(load("llama"), workload=one) for one in ("prefill", "decode"))

    def work(account, sizes):
        terms = [t.expr for t in account.terms("flops.forward") if "core" in t.label]
        return sum(evaluate(term, sizes) for term in terms)

    small = {"B": 1, "L": 2, "D": 64, "F": 64, "H": 4, "G": 4, "K": 16, "V": 8}
    for length in (1, 3, 8):
        assert work(fresh, small | {"S": length}) == length * work(cached, small | {"T": length})
    naive = [sum(work(fresh, small | {"S": s}) for s in range(1, n + 1)) for n in (64, 128)]
    kept = [sum(work(cached, small | {"T": t}) for t in range(1, n + 1)) for n in (64, 128)]
    assert round(naive[1] / naive[0]) == 8
    assert round(kept[1] / kept[0]) == 4


def test_one_region_for_each_op_of_a_graph():
    """The condition of each op agrees with trying batches, on a graph of several ops."""

    @graph({"B": "rows", "D": "features"}, tokens="B")
    def two(b):
        return b.linear(
            b.relu(b.linear(b.input("x", "B D"), "D -> E", name="up", E="4*D")), "E -> D", name="down"
        )

    account = derive(two, workload="forward")
    for batch in (1, 100, 300, 1000):
        made = Roofline(account, machine("h100-sxm"), {"B": batch, "D": 4096})
        for timing in made.time.timings:
            found = made.region(timing)
            holds = timing.binds == "memory"
            assert holds == (found.relation == "always" or batch < found.critical)
    assert region(symbol("B") ** 3, symbol("B"), "B") is None
