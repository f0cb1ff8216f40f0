"""`symacct mfu`: published utilisations, what counts, a value above 1 with its causes, refusals."""

from __future__ import annotations

import json
import pickle
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from symacct import derive, load
from symacct.cli import main
from symacct.convention import convention
from symacct.planning.causes import Cause, rank
from symacct.planning.mfu import ImpossibleError, Measurement, mfu

PALM = {"params": "540.35B", "shape": {"L": 118, "H": 48, "K": 256, "S": 2048}}
A100 = 312 * 10**12


@pytest.fixture
def symacct(capsys):
    """Run a command, given as one line; return status, output and errors."""

    def run(line):
        status = main(line.split())
        captured = capsys.readouterr()
        return status, captured.out, captured.err

    return run


# ---- published utilisations ----


def test_palm():
    """238.3k tokens/s on 6144 TPU v4 of 275 TFLOP/s: MFU 46.2 % (PaLM, table 3), by 6N + 12LHQT.

    The published HFU of 57.8 % is that of three quarters of forward run again; all of it would be 61.6 %.
    """
    measured = Measurement(tokens_per_second="238.3k")
    made = mfu(None, measured, **PALM, peak="275 TFLOP/s", devices=6144, recompute="75%")
    token = 6 * 540_350 * 10**6 + 12 * 118 * 48 * 256 * 2048
    assert made["flops.token"].value == token
    assert made.mfu == Fraction(238_300 * token, 6144 * 275 * 10**12)
    assert (round(float(made.mfu), 3), round(float(made.hfu), 3)) == (0.462, 0.578)
    whole = mfu(None, measured, **PALM, peak="275 TFLOP/s", devices=6144, recompute="100%")
    assert whole.hfu / whole.mfu == Fraction(4, 3)


def test_megatron_turing():
    """MT-NLG 530B: 65.43k tokens/s on 2240 A100, 6N alone: 29.77 % (PaLM, appendix B prints 29.7)."""
    made = mfu(
        measured=Measurement(tokens_per_second="65.43k token/s"), params="530B", on="2240xlecture:a100"
    )
    assert float(made.mfu) == pytest.approx(0.2977, abs=5e-5)
    step = Measurement(time="60.1 s", batch="1920 sequence")
    by_batch = mfu(None, step, params="530B", seq=2048, on="2240xlecture:a100")
    assert float(by_batch.mfu) == pytest.approx(float(made.mfu), rel=1e-3)


def test_nanogpt_on_one_device():
    """874,944,921,600 FLOP for a sequence, 100 of them in 0.755 s on an A100: 37.14 % (its sizing notebook).

    The FLOPs are derived from the graph; the batch, or all sizes, or a rate say the same.
    """
    rates = [
        (Measurement(time="755 ms", batch="100 sequence"), {"S": 1024}),
        (Measurement(time="755 ms"), {"B": 100, "S": 1024}),
        (Measurement(time="755 ms", tokens=102_400), {"S": 1024}),
    ]
    for measured, sizes in rates:
        made = mfu("gpt2", measured, sizes=sizes, on="lecture:a100")
        assert made.mfu == Fraction(874_944_921_600 * 100 * 1000, 755 * A100)
    assert round(float(made.mfu), 4) == 0.3714


def test_device_hours():
    """DeepSeek-V3: 37B active, 14.8T tokens, 2.79M device-hours: 21.6 % of the fp8 peak of an H100 PCIe.

    16.5 % of that of an H100 SXM. The number of devices does not matter where device-time is given.
    """
    hours = Measurement(time="2.79e6 hour*device", tokens="14.8T")
    pcie, sxm = (
        mfu(measured=hours, params="671B", active="37B", on=name, dtype="fp8").mfu
        for name in ("h100-pcie", "8xh100-sxm")
    )
    assert (round(float(pcie), 3), round(float(sxm), 3)) == (0.216, 0.165)


def test_llama_3_405b():
    """30.84M H100 hours for 15.6T tokens: 34.6 % over all, below the 38 to 43 % of its best phases."""
    hours = Measurement(time="30.84e6 hour*device", tokens="15.6T")
    assert 0.33 < float(mfu(measured=hours, params="405B", on="h100-sxm").mfu) < 0.38


# ---- what counts ----


def test_recompute_is_in_hfu_alone():
    """7B, 4096 tokens in 0.8 s on an A100, all of forward run again: MFU 68.9 %, HFU 91.9 %."""
    measured = Measurement(time="0.8 s", tokens=4096)
    made = mfu(measured=measured, params="7B", on="lecture:a100", recompute="100%")
    assert made.mfu == Fraction(6 * 7 * 10**9 * 4096 * 10, 8 * A100)
    assert made.hfu == made.mfu * Fraction(4, 3)
    none = mfu(measured=measured, params="7B", on="lecture:a100")
    assert none.mfu == none.hfu == made.mfu
    assert any("HFU is MFU" in note for note in none.notes)


def test_what_counts_is_said():
    """The numerator and what only costs time: the optimizer, lookups, elementwise work with its share."""
    made = mfu("gpt2", Measurement(time="1 s"), sizes={"B": 8, "S": 1024}, on="a100-sxm-80gb")
    said = dict(made.counted)
    assert "contractions" in said["counted"]
    for part in ("elementwise", "lookups", "the optimizer", "data loading", "communication", "run again"):
        assert part in said["only costs time"]
    account = derive(load("gpt2"), sizes={"B": 8, "S": 1024})
    share = account.value("flops.model.all") / account.value("flops.model") - 1
    assert f"{float(share):.2%}" in said["only costs time"]


def test_a_graph_without_tokens():
    """Work and time are enough: a dot product of 10^9 in a millisecond."""
    policy = derive(load("dot"), precision="fp32").policy
    sizes, time = {"N": 10**9}, Measurement(time="1 ms")
    made = mfu("dot", time, sizes=sizes, on="lecture:h100", dtype="fp32", policy=policy)
    account = derive(load("dot"), sizes={"N": 10**9})
    assert made.mfu == Fraction(int(account.value("flops.model")) * 1000, 675 * 10**11)


def test_forward_alone():
    """Serving: 2N for each token, and no HFU beside it."""
    policy = derive(load("linear"), workload="forward").policy
    made = mfu(measured=Measurement(tokens_per_second=10_000), params="7B", on="h100-sxm", policy=policy)
    assert made.mfu == Fraction(2 * 7 * 10**9 * 10_000, 9895 * 10**11)
    assert made.hfu is None


@settings(max_examples=10, deadline=None)
@given(
    batch=some.integers(1, 512),
    length=some.integers(1, 4096),
    count=some.integers(1, 64),
    micro=some.integers(1, 16),
)
def test_ways_to_say_one_measurement(batch, length, count, micro):
    """Per device and micro-step, per device, per step, in tokens, as a rate: one value, exactly."""
    tokens = batch * length * count * micro
    ways = [
        Measurement(time="3 hour", batch=f"{batch} sequence/(device*microstep)", accumulate=micro),
        Measurement(time="180 minute", batch=f"{batch * micro} sequence/device"),
        Measurement(time="10800 s", batch=f"{batch * micro * count} sequence/step"),
        Measurement(
            time="10800 s", batch=f"{batch * length} token/(device*microstep)", accumulate=str(micro)
        ),
        Measurement(time="10800 s", tokens=tokens),
        Measurement(tokens_per_second=Fraction(tokens, 10_800)),
        Measurement(time=f"{3 * count} hour*device", tokens=tokens),
    ]
    found = {mfu(None, way, params="1B", seq=length, on="lecture:h100", devices=count).mfu for way in ways}
    assert found == {Fraction(6 * 10**9 * tokens, 10_800 * count * 9895 * 10**11)}


# ---- more than 1 ----


def test_more_than_one_is_an_error_with_ranked_causes():
    """104 % of an A100: recompute counted leaves 78 %, a sparse peak or MAC 52 %, an H100 32.8 %."""
    with pytest.raises(ImpossibleError) as caught:
        mfu(measured=Measurement(achieved="324.48 TFLOP/s"), on="a100-sxm-80gb")
    error = caught.value
    assert error.value == Fraction(104, 100)
    slips = [(one.ratio, one.after) for one in error.causes if not one.part]
    assert slips[0] == (Fraction(4, 3), Fraction(78, 100))
    assert slips[1] == slips[2] == (2, Fraction(52, 100))
    part = next(one for one in error.causes if "h100-sxm" in one.what)
    assert round(float(part.after), 3) == 0.328
    assert [one.after for one in error.causes] == sorted((one.after for one in error.causes), reverse=True)
    assert "312 TFLOP/s" in error.where
    again = pickle.loads(pickle.dumps(error))  # noqa: S301 (our own bytes)
    assert (str(again), again.causes, again.value) == (str(error), error.causes, error.value)


@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("wrong", "ratio", "what"),
    [
        ({"tokens_per_second": "16k token/(s*device)"}, 4, "multiplied by their number"),
        ({"time": "1 s", "batch": "2 sequence/(device*microstep)", "accumulate": 64}, 64, "micro-steps"),
        ({"time": "1 s", "batch": "8192 sequence"}, 2048, "length of a sequence"),
        ({"time": "1 s", "tokens": "9000k"}, 1000, "prefix"),
        ({"time": "1 s", "tokens": "900k"}, 60, "minutes"),
    ],
)
def test_the_slip_is_among_the_causes(wrong, ratio, what):
    """A measurement with one known slip is refused, and that slip is named with its ratio."""
    with pytest.raises(ImpossibleError) as caught:
        mfu(None, Measurement(**wrong), params="30B", seq=2048, on="4xlecture:h100")
    assert [one.ratio for one in caught.value.causes if what in one.what] == [ratio]


def test_causes_that_a_graph_settles():
    """A derived numerator holds no recompute and no MAC: these are ruled out; causal attention is not."""
    measured, sizes = Measurement(tokens_per_second=800), {"S": 131_072}
    with pytest.raises(ImpossibleError) as caught:
        mfu("llama-3-8b", measured, sizes=sizes, on="v100-sxm2", dtype="fp16")
    assert "not the cause: recompute counted (4/3), or MAC for FLOP (2)" in str(caught.value)
    cause = next(one for one in caught.value.causes if "causal" in one.what)
    exact = convention("default", attention="exact")
    account = derive(load("llama-3-8b"), convention=exact)
    made = mfu(account, measured, sizes=sizes, on="v100-sxm2", dtype="fp16")
    assert made.mfu == cause.after < 1
    assert cause.ratio == caught.value.value / cause.after


def test_a_format_is_among_the_causes():
    """bf16 work against the fp32 peak: 989.5/67 too large."""
    with pytest.raises(ImpossibleError) as caught:
        mfu(measured=Measurement(achieved="400 TFLOP/s"), on="h100-sxm", dtype="fp32")
    assert any(
        "the work is in bf16" in one.what and one.ratio == Fraction(9895, 670) for one in caught.value.causes
    )


def test_hfu_above_one():
    """MFU 80 % with all of forward run again: the hardware would do 107 %."""
    measured = Measurement(tokens_per_second=Fraction(A100 * 8, 10 * 6 * 10**9))
    assert mfu(measured=measured, params="1B", on="lecture:a100").mfu == Fraction(8, 10)
    with pytest.raises(ImpossibleError, match=r"an HFU of 106\.7 %"):
        mfu(measured=measured, params="1B", on="lecture:a100", recompute=1)


def test_a_stated_limit():
    """What cannot be exceeded may be stated: 50 % of the peak."""
    measured = Measurement(achieved="180 TFLOP/s")
    assert mfu(measured=measured, on="lecture:a100").mfu < Fraction(6, 10)
    with pytest.raises(ImpossibleError, match="above 50 %"):
        mfu(measured=measured, on="lecture:a100", at_most="50%")


def test_ranking():
    """Those that do not suffice are left out; the nearest to the limit stands first."""
    made = [
        Cause(name, Fraction(ratio), Fraction(0))
        for name, ratio in (("a", 8), ("b", 2), ("c", 1), ("d", "1/2"), ("e", 4))
    ]
    found = rank(tuple(made), Fraction(3), Fraction(1))
    assert [(one.what, one.after) for one in found] == [("e", Fraction(3, 4)), ("a", Fraction(3, 8))]


# ---- the command ----


def test_text(symacct):
    """Both values, the formulas, the peak's source, what counts."""
    status, out, err = symacct("mfu gpt2 --at S=1024 --batch 100seq --time 755ms --on a100-sxm-80gb")
    flat = " ".join(out.split())
    assert (status, err) == (0, "")
    for part in (
        "MFU: 37.1 %",
        "HFU: 37.1 %",
        "u = X/P",
        "data sheet",
        "counted: forward and backward",
        "R = D/t",
    ):
        assert part in flat


def test_the_record(symacct):
    """Numbers, with their exact text beside them."""
    status, out, _ = symacct("mfu --params 7B --tokens 4096 --time 0.8s --on lecture:a100 --format json")
    record = json.loads(out)
    assert (status, record["command"]) == (0, "mfu")
    assert Fraction(record["result"]["quantities"]["mfu"]["exact"]) == Fraction(
        6 * 7 * 4096 * 10**10, 8 * A100
    )
    assert "$u = \\frac{X}{P}$" in symacct("mfu --achieved 9TFLOP/s --on lecture:a100 --format markdown")[1]


def test_an_impossible_value_is_wrong_input(symacct):
    """Exit status 2, and no output."""
    status, out, err = symacct("mfu --achieved 420TFLOP/s --on a100-sxm-80gb")
    assert (status, out) == (2, "")
    assert err.startswith("an MFU of 134.6 % is above 100 %")
    assert "2: the work is 2:4 sparse" in err


NEIGHBOURS = [
    ("--params 7B --time 250 --tokens 4k", "--params 7B --time 250s --tokens 4k", "needs a unit"),
    ("--params 7B --time 0s --tokens 4k", "--params 7B --time 1s --tokens 1", "not positive"),
    ("--params 7B --time 1s", "--params 7B --time 1s --tokens 9", "what was done"),
    ("--params 7B", "--params 7B --tokens-per-second 9", "nothing was measured"),
    ("--time 1s --tokens 9", "--params 7B --time 1s --tokens 9", "of a model, or of"),
    ("gpt2 --at S=8 --time 1s", "gpt2 --at S=8,B=8 --time 1s", "sizes that are not given"),
    ("--params 1B --batch 9seq --time 9s", "--params 1B --batch 9seq --time 9s --seq 8", "no number of"),
    ("--params 1B --batch 512 --time 9s", "--params 1B --batch 512tok --time 9s", "needs a unit"),
    ("--params 1B --time 9s --batch 8tok/microstep",
     "--params 1B --time 9s --batch 8tok/microstep --accumulate 4",
     "that of a step"),
    ("--params 1B --batch 8tok --time 9s --accumulate 4", "--params 1B --batch 8tok --time 9s", "whole step"),
    ("--params 1B --tokens 8 --batch 8tok --time 9s", "--params 1B --tokens 8 --time 9s", "say the same"),
    ("--params 1B --tokens-per-second 8 --time 9s", "--params 1B --tokens-per-second 8", "a rate already"),
    ("--params 1B --tokens-per-second 8GB/s", "--params 1B --tokens-per-second 8tok/s", "has another unit"),
    ("--params 1B --achieved 8TFLOP/s", "--achieved 8TFLOP/s", "needs no model"),
    ("--achieved 8TFLOP", "--achieved 8TFLOP/s", "has another unit"),
    ("--achieved 8TFLOPS", "--achieved 8000GFLOP/s", "a count or a rate"),
    ("--achieved 8TFLOP/s --at S=8", "--achieved 8TFLOP/s", "belongs to a model"),
    ("--params 1B --seq 9 --tokens 9 --time 1s", "--params 1B --tokens 9 --time 1s", "counts no attention"),
    ("--achieved 8TFLOP/s --at-most 150%", "--achieved 8TFLOP/s --at-most 90%", "above 1"),
]  # fmt: skip


@pytest.mark.few(9)
@pytest.mark.parametrize(("wrong", "right", "what"), NEIGHBOURS)
def test_refusals_beside_their_neighbours(symacct, wrong, right, what):
    """Each is refused in words with exit status 2; what is meant is worked out."""
    machine = "--on lecture:h100"
    status, out, err = symacct(f"mfu {wrong} {machine}")
    assert (status, out) == (2, "")
    assert what in err
    assert symacct(f"mfu {right} {machine}")[0] == 0


def test_a_machine_is_needed(symacct):
    """Utilisation is of a peak."""
    status, _, err = symacct("mfu --params 1B --tokens-per-second 9")
    assert (status, err.splitlines()[0]) == (2, "utilisation is of a machine's peak")


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("rate", "machine", "noted"),
    [
        ("380", "1024xh100-sxm", True),
        ("380 token/s", "1024xh100-sxm", True),
        ("380 token/(s*device)", "1024xh100-sxm", False),
        ("390k token/s", "1024xh100-sxm", False),
        ("10", "h100-sxm", False),
        ("1", "8xh100-sxm", False),
    ],
)
def test_a_rate_of_one_device_that_is_taken_for_all(rate, machine, noted):
    """A bare rate is of all devices; where it is plausible for one alone, a note says how to write that."""
    made = mfu("llama-3-70b", Measurement(tokens_per_second=rate), sizes={"S": 8192}, on=machine)
    notes = [note for note in made.notes if "token/(s*device)" in note]
    assert bool(notes) == noted
    if noted:
        own = Measurement(tokens_per_second="380 token/(s*device)")
        each = mfu("llama-3-70b", own, sizes={"S": 8192}, on=machine)
        assert f"MFU would be {100 * float(each.mfu):.4g} %" in notes[0]
        assert each.mfu == 1024 * made.mfu


def test_the_fix_of_a_rate_repeats_it(symacct):
    """The number is the user's; what is proposed is read."""
    status, _, err = symacct("mfu --achieved 141TFLOP/s --on 1024xa100-sxm-80gb")
    assert (status, "'141TFLOP/(s*device)'" in err, "420" in err) == (2, True, False)
    assert symacct("mfu --achieved 141TFLOP/(s*device) --on 1024xa100-sxm-80gb")[0] == 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("plan", "--params", "-70B", "--tokens", "1T", "--on", "h100-sxm"), "is not positive"),
        (
            ("mfu", "gpt2", "--at", "S=8", "--tokens-per-second", "-80k", "--on", "h100-sxm"),
            "is not positive",
        ),
        (
            ("plan", "--params", "7B", "--tokens", "1T", "--on", "-2xh100-sxm"),
            "unknown machine '-2xh100-sxm'",
        ),
        (("derive", "mlp", "--at", "-3"), "a size is written NAME=NUMBER"),
        (("plan", "--params", "--tokens", "1T"), "expected one argument"),
    ],
)
def test_values_that_begin_with_a_minus_sign(symacct, words, said):
    """They are values, and refused as such; an option is none."""
    status, _, err = symacct(" ".join(words))
    assert (status, said in err) == (2, True)
    assert "expected  " in err
