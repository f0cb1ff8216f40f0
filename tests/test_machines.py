"""The catalogue of machines: entries against each other and published figures; files read and refused.

The figures below are from a survey of accelerators (stas00/ml-engineering, compute/accelerator and network;
jax-ml/scaling-book, tpus; cloud.google.com/tpu/docs), each with the trap it is known for.
"""

from __future__ import annotations

from fractions import Fraction

import pytest

from symacct.errors import ReadError, RuleError, UnitError, UnknownNameError, UsageError
from symacct.machines import Figure, Machine, Peak, load, names, write
from symacct.machines.machine import INTEGERS
from symacct.machines.writing import as_toml

T, G = 10**12, 10**9
SHIPPED = [name for name in names() if name != "cpu"]
PUBLISHED = {
    "a100-sxm-80gb": ({"fp32": 19.5, "tf32": 156, "fp16": 312, "bf16": 312, "int8": 624}, 2000, 80, 300),
    "a100-sxm-40gb": ({"fp32": 19.5, "tf32": 156, "fp16": 312, "bf16": 312, "int8": 624}, 1555, 40, 300),
    "a100-pcie-80gb": ({"fp32": 19.5, "tf32": 156, "bf16": 312, "int8": 624}, 1940, 80, None),
    "h100-sxm": (
        {"fp32": 67, "tf32": 494.5, "fp16": 989, "bf16": 989, "fp8": 1979, "int8": 1979}, 3350, 80, 450,
    ),
    "h100-pcie": (
        {"fp32": 51, "tf32": 378, "fp16": 756, "bf16": 756, "fp8": 1513, "int8": 1513}, 2000, 80, None,
    ),
    "h200-sxm": (
        {"fp32": 67, "tf32": 494.5, "fp16": 989, "bf16": 989, "fp8": 1979, "int8": 1979}, 4800, 141, 450,
    ),
    "b200-sxm": (
        {"tf32": 1125, "fp16": 2250, "bf16": 2250, "fp8": 4500, "int8": 4500, "fp6": 4500, "fp4": 9000},
        8000, 180, 900,
    ),
    "l40s": ({"fp32": 91.6, "tf32": 183, "bf16": 362, "fp8": 733, "int8": 733}, 860, 48, None),
    "v100-sxm2": ({"fp32": 15.7, "fp16": 125}, 900, 32, 150),
    "mi300x": (
        {"fp32": 163.4, "tf32": 653.7, "fp16": 1307.4, "bf16": 1307.4, "fp8": 2614.9, "int8": 2614.9},
        5300, 192, 64,
    ),
    "tpu-v5e": ({"bf16": 197, "int8": 394}, 819, 16, None),
    "tpu-v5p": ({"bf16": 459, "int8": 918}, 2765, 95, 600),
}  # fmt: skip
"""Dense peaks in TFLOP/s, bandwidth in GB/s, capacity in GB, the main link in one direction in GB/s."""


def near(figure, value, share=0.01):
    return abs(figure.value - Fraction(str(value))) <= Fraction(str(share)) * figure.value


# ---- the entries ----


@pytest.mark.parametrize("name", PUBLISHED)
def test_entries_are_the_published_figures(name):
    """To 1 %: sources round; 1,125 of the B200's tf32 is printed as 2.2 PFLOP/s with sparsity."""
    peaks, bandwidth, capacity, link = PUBLISHED[name]
    machine = load(name)
    for dtype, value in peaks.items():
        assert near(machine.peak(dtype), value * T, 0.025 if dtype == "tf32" else 0.01), dtype
    assert near(machine.bandwidth, bandwidth * G, 0.02)
    assert machine.capacity.value == capacity * G
    assert link is None or near(machine.links[0].figure, link * G)


@pytest.mark.parametrize("name", SHIPPED)
def test_every_number_says_where_it_stands(name):
    """Unit, source and date; the number above 0."""
    machine = load(name)
    figures = [one.figure for one in (*machine.peaks, *machine.vectors, *machine.caches, *machine.links)]
    figures += [one for one in (machine.bandwidth, machine.capacity, machine.power) if one is not None]
    assert figures
    for one in figures:
        assert one.value > 0
        assert len(one.source) > 10
        assert one.date[:2] == "20"
    for peak in machine.peaks:
        assert peak.figure.unit == ("op/second" if peak.dtype in INTEGERS else "FLOP/second")
    assert machine.doubts() == ()


@pytest.mark.parametrize("name", SHIPPED)
def test_sparse_is_twice_dense(name):
    """2:4 sparsity doubles; the L40S's sheet prints 362.05 beside 733, the MI300X's 653.7 beside 1307.4."""
    machine = load(name)
    for peak in machine.peaks:
        if peak.sparse:
            dense = machine.peak(peak.dtype, accumulate=peak.accumulate)
            assert near(peak.figure, 2 * dense.value, 0.0125), peak


@pytest.mark.parametrize("name", SHIPPED)
def test_formats_keep_their_proportion(name):
    """16-bit formats are alike, 8 bits twice as fast; tf32 half of bf16; fp8 as fast as int8."""
    machine = load(name)
    have = set(machine.dtypes())
    for one, other, ratio in (
        ("bf16", "fp16", 1), ("fp8", "bf16", 2), ("int8", "bf16", 2), ("bf16", "tf32", 2), ("fp4", "fp8", 2)
    ):  # fmt: skip
        if {one, other} <= have and not (name == "rtx-4090" and one == "int8"):
            assert near(machine.peak(one), ratio * machine.peak(other).value, 0.03), (one, other)


def test_parts_of_one_chip_differ_in_memory_alone():
    """A100 40 and 80 GB; H100 SXM and H200: the same peaks."""
    for one, other in (("a100-sxm-40gb", "a100-sxm-80gb"), ("h100-sxm", "h200-sxm")):
        assert [(str(p), p.figure.value) for p in load(one).peaks] == [
            (str(p), p.figure.value) for p in load(other).peaks
        ]
        assert load(one).bandwidth.value < load(other).bandwidth.value
        assert load(one).capacity.value < load(other).capacity.value


def test_links_are_half_of_what_is_advertised():
    """NVLink 300, 600, 900, 1800 GB/s are sums of both directions."""
    for name, advertised in (
        ("v100-sxm2", 300),
        ("a100-sxm-80gb", 600),
        ("h100-sxm", 900),
        ("b200-sxm", 1800),
    ):
        assert load(name).links[0].figure.value * 2 == advertised * G


@pytest.mark.parametrize(
    ("name", "watts"),
    [("v100-sxm2", 300), ("a100-sxm-40gb", 400), ("a100-sxm-80gb", 400), ("a100-pcie-80gb", 300),
     ("h100-sxm", 700), ("h100-pcie", 350), ("h200-sxm", 700), ("b200-sxm", 1000), ("l40s", 350),
     ("rtx-4090", 450), ("mi300x", 750)],
)  # fmt: skip
def test_power(name, watts):
    """As the data sheets print it; the cloud's parts state none."""
    machine = load(name)
    assert machine.power.value == watts
    assert str(machine.power) in (f"{watts} W", "1 kW")
    with pytest.raises(RuleError, match="tpu-v5e has no power"):
        load("tpu-v5e").needed("power")


@pytest.mark.parametrize(
    ("name", "dtype", "clock", "fmas", "units"),
    [("h100-sxm", "bf16", 1830, 512, 528), ("a100-sxm-80gb", "bf16", 1410, 256, 432),
     ("mi300x", "bf16", 2100, 256, 1216), ("tpu-v5e", "bf16", 1500, 16384, 4)],
)  # fmt: skip
def test_peaks_are_clock_times_units(name, dtype, clock, fmas, units):
    """2 FLOP for each fma, clock times fmas of a unit times units (ml-engineering; scaling book)."""
    assert near(load(name).peak(dtype), 2 * clock * 10**6 * fmas * units, 0.003)


def test_the_lecture():
    """989.5 and 67.5 TFLOP/s, 80 GB, 3.35 TB/s; 312 and 19.5; no bandwidth of the A100 is stated."""
    h100, a100 = load("lecture:h100"), load("lecture:a100")
    assert (h100.peak("bf16").value, h100.peak("fp32").value) == (
        Fraction(9895, 10) * T,
        Fraction(675, 10) * T,
    )
    assert (str(h100.capacity), str(h100.bandwidth)) == ("80 GB", "3.35 TB/s")
    assert (str(a100.peak("bf16")), str(a100.peak("fp32"))) == ("312 TFLOP/s", "19.5 TFLOP/s")
    assert h100.one_peak
    with pytest.raises(RuleError, match="lecture:a100 has no bandwidth"):
        a100.needed("bandwidth")


# ---- rates ----


def test_nothing_stands_in_for_a_missing_peak():
    """No bf16 on V100, no fp8 on A100 (624 and 1248 are sparse bf16 and int8); what there is is named."""
    with pytest.raises(RuleError) as caught:
        load("v100-sxm2").peak("bf16")
    assert str(caught.value) == (
        "v100-sxm2 has no peak for bf16, dense\n"
        "  where     machine v100-sxm2\n"
        "  expected  one of: fp64, fp32, fp16\n"
        "  got       bf16, dense\n"
        "  fix       choose another --precision or machine: nothing is put in the place of a missing peak"
    )
    with pytest.raises(RuleError, match="a100-sxm-80gb has no peak for fp8, dense"):
        load("a100-sxm-80gb").peak("fp8")
    with pytest.raises(RuleError, match="no peak for bf16 with 2:4 sparsity"):
        load("tpu-v5e").peak("bf16", sparse=True)
    assert load("h200-sxm").vector_peak("bf16") is None
    assert load("h100-sxm").vector_peak("bf16").value == Fraction("133.8") * T


def test_a_sparse_peak_is_never_dense():
    """1979 TFLOP/s is with sparsity: asked for dense work where there is no other, that is said."""
    machine = load("h100-sxm")
    assert machine.peak("bf16").value * 2 == machine.peak("bf16", sparse=True).value == 1979 * T
    assert machine.meant(Fraction(1979 * T), "bf16") == (
        "1.979 PFLOP/s is the peak of bf16 into fp32 with 2:4 sparsity"
    )
    assert machine.meant(Fraction(9895 * T, 10)) == (
        "989.5 TFLOP/s is the peak of bf16 into fp32, dense; of fp16 into fp32, dense"
    )
    assert "fp8 into fp32, dense" in machine.meant(Fraction(1979 * T))
    assert machine.meant(Fraction(420 * T)) is None
    only = Machine(
        "odd", "a part", peaks=(Peak("bf16", "fp32", sparse=True, figure=machine.peak("bf16", sparse=True)),)
    )
    with pytest.raises(RuleError, match=r"1\.979 PFLOP/s is with 2:4 sparsity: no peak for dense work"):
        only.peak("bf16")


def test_sums_in_fp32_are_meant_unless_said():
    """A consumer part runs fp16 into fp32 at half the rate of fp16 into fp16."""
    machine = load("rtx-4090")
    assert machine.peak("fp16").value == Fraction("165.2") * T
    assert machine.peak("fp16", accumulate="fp16").value == Fraction("330.3") * T
    assert machine.peak("fp8").value == Fraction("330.3") * T
    with pytest.raises(RuleError, match="no peak for bf16 into fp16"):
        machine.peak("bf16", accumulate="fp16")


def test_several_devices_share_evenly():
    """Rates, capacity and power together; links stay those of one device."""
    one, eight = load("h100-sxm"), load("8xh100-sxm")
    assert eight.peak("bf16").value == 8 * one.peak("bf16").value
    assert eight.bandwidth.value == 8 * one.bandwidth.value
    assert (str(eight.capacity), str(eight.power)) == ("640 GB", "5.6 kW")
    assert eight.links == one.links
    assert (one.bound, eight.bound) == ("", "ideal even sharding, no communication: a bound")
    assert load("8×h100-sxm") == load("8 x h100-sxm") == eight
    assert load("1xh100-sxm") == one
    for text in ("0xh100-sxm", "99999999xh100-sxm", "2x2xh100-sxm"):
        with pytest.raises(UsageError, match="a number of devices is out of range"):
            load(text)


# ---- names ----


def test_an_ambiguous_name_is_refused():
    """H100 is three things; PCIe and SXM have different peaks."""
    with pytest.raises(UnknownNameError) as caught:
        load("h100")
    assert caught.value.fix == "say which: h100-pcie, h100-sxm, lecture:h100"
    with pytest.raises(UnknownNameError, match="did you mean 'h100-sxm'"):
        load("h100-sxn")
    with pytest.raises(UsageError, match="a machine has no name"):
        load("  ")


def test_the_processor_wants_a_calibration(tmp_path):
    """No numbers ship; a calibration in a folder of the user's fills them in."""
    with pytest.raises(ReadError, match="symacct measure GRAPH --device cpu --save DIR"):
        load("cpu")
    rate = Figure(Fraction(10**11), "FLOP/second", "symacct measure", "2026-01-02")
    speed = Figure(Fraction(2 * 10**10), "byte/second", "symacct measure", "2026-01-02", "copy")
    machine = Machine(
        "cpu", "a processor", peaks=(Peak("fp32", None, sparse=False, figure=rate),), bandwidth=speed
    )
    write(machine, tmp_path / "cpu.toml")
    assert load("cpu", [tmp_path]) == machine
    assert "cpu" in names([tmp_path])


# ---- files ----

GOOD = """
title = "a part"
bandwidth = { value = 1.5, unit = "TB/s", source = "sheet", date = "2024" }
peaks = [{ dtype = "bf16", sparse = false, value = 300, unit = "TFLOP/s", source = "a" }]
links = [{ name = "bus", direction = "both ways", value = 64, unit = "GB/s", source = "a" }]

[sources]
a = { text = "white paper", date = "2025-01" }
"""


def file_of(tmp_path, text, name="mine"):
    path = tmp_path / f"{name}.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_file_of_the_users(tmp_path):
    """By folder or by path, several of it too; sources by name; links halved."""
    path = file_of(tmp_path, GOOD)
    machine = load("mine", [tmp_path])
    assert machine == load(str(path))
    assert machine.peak("bf16") == Figure(Fraction(300 * T), "FLOP/second", "white paper", "2025-01")
    assert str(machine.links[0].figure) == "32 GB/s"
    assert load(f"4x{path}").bandwidth.value == 6 * T
    file_of(tmp_path, GOOD, "h100-sxm")
    with pytest.raises(ReadError, match="machine h100-sxm is there twice"):
        names([tmp_path])


@pytest.mark.parametrize("name", SHIPPED)
def test_what_is_written_reads_back(name, tmp_path):
    """Every machine that ships."""
    machine = load(name)
    path = file_of(tmp_path, as_toml(machine), "copy")
    again = load(str(path))
    assert (again.peaks, again.vectors, again.links) == (machine.peaks, machine.vectors, machine.links)
    assert (again.bandwidth, again.capacity, again.power) == (
        machine.bandwidth, machine.capacity, machine.power
    )  # fmt: skip
    with pytest.raises(UsageError, match="describes one device"):
        as_toml(machine.times(2))


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("sparse = false, ", "", "the peak of bf16 does not say sparse"),
        ('dtype = "bf16", ', "", "a peak has no dtype"),
        ('"bf16"', '"bff16"', "did you mean 'bf16'"),
        ("value = 300, ", "", "the peak of bf16 has no value"),
        ("value = 300", "value = -3", "a number above 0"),
        ("value = 300", "value = nan", "a number above 0"),
        ("value = 300", "value = inf", "a number above 0"),
        ("value = 300", "value = 1e40", "a number above 0"),
        ("value = 300", "value = true", "a number above 0"),
        ("value = 300", "value = 1e99999999999999999999", "not TOML|a number above 0"),
        ('"TFLOP/s"', '"TFLOPS"', "may be a count or a rate"),
        ('"TFLOP/s"', '"GB/s"', "a unit that does not fit"),
        ('"GB/s"', '"Gbps"', "may be bits or bytes"),
        (', source = "a" }]\nlinks', " }]\nlinks", "the peak of bf16 has no source"),
        ('source = "sheet", date = "2024"', 'source = "sheet"', "bandwidth has no date"),
        ('direction = "both ways", ', "", "bus has no direction"),
        ('"both ways"', '"up"', "bus has no direction"),
        ('title = "a part"', "", "the machine has no title"),
        ("bandwidth", "bandwith", "did you mean 'bandwidth'"),
        ("sparse = false", "sparse = false, sparsity = 2", "unknown key 'sparsity'"),
        ("peaks = [", "peaks = 3 # [", "peaks is no list"),
        ("title", "title = = ", "not TOML"),
    ],
)
def test_what_is_not_understood_is_refused(old, new, said, tmp_path):
    """Beside the file that is read: one thing is wrong in each."""
    assert old in GOOD
    path = file_of(tmp_path, GOOD.replace(old, new, 1) if old != '"GB/s"' else GOOD.replace(old, new))
    with pytest.raises((ReadError, UnknownNameError, UnitError), match=said) as caught:
        load(str(path))
    assert str(path) in str(caught.value.where)


def test_files_that_cannot_be_read(tmp_path):
    """None there, a folder, no text, too large, a folder of machines that is none, twice the same peak."""
    with pytest.raises(ReadError, match="cannot be read"):
        load(str(tmp_path / "none.toml"))
    (tmp_path / "folder.toml").mkdir()
    with pytest.raises(ReadError, match="cannot be read"):
        load(str(tmp_path / "folder.toml"))
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ReadError, match="cannot be read"):
        load(str(tmp_path / "binary.toml"))
    with pytest.raises(ReadError, match="too large"):
        load(str(file_of(tmp_path, "#" * (10**6 + 1), "large")))
    with pytest.raises(ReadError, match="a folder of machines is not there"):
        load("h100-sxm", [tmp_path / "nowhere"])
    peak = '{ dtype = "bf16", sparse = false, value = 1, unit = "FLOP/s", source = "s", date = "2024" }'
    twice = f'title = "a"\npeaks = [{peak}, {peak}]'
    with pytest.raises(ReadError, match="peaks hold one thing twice"):
        load(str(file_of(tmp_path, twice, "twice")))


def test_a_peak_out_of_proportion_is_doubted(tmp_path):
    """An fp8 peak of 200 PFLOP/s stood for 1.979: https://github.com/Infrasys-AI/AIInfra/issues/386."""
    said = 'unit = "TFLOP/s", source = "s", date = "2024"'
    peaks = ", ".join(
        f'{{ dtype = "{dtype}", sparse = false, value = {value}, {said} }}'
        for dtype, value in (("bf16", 989.5), ("fp8", 200000))
    )
    machine = load(str(file_of(tmp_path, f'title = "a"\npeaks = [{peaks}]')))
    assert machine.doubts() == ("200 PFLOP/s for fp8 is out of proportion to 989.5 TFLOP/s for bf16",)
