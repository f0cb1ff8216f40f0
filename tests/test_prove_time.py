"""Claims about time, machines and number formats: against values at points, torch's numbers, and refusals."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import pytest

from symacct import derive, load
from symacct.algebra.evaluate import evaluate
from symacct.cli import main
from symacct.errors import FormulaError, ReadError, RuleError, UnitError, UnknownNameError
from symacct.evaluation.machine_names import machine_lets
from symacct.evaluation.timing import quantity
from symacct.machines import load as machine
from symacct.proof.judge import judge, judge_file
from symacct.proof.machine_facts import read_facts
from symacct.proof.prove import prove
from symacct.readers.claim_files import claims_in
from symacct.readers.stated import Stated, read_stated

FORWARD = {name: derive(load(name), workload="forward") for name in ("relu", "gelu", "linear", "dot")}
H100 = "lecture:h100"


def outcome(account, text, **given):
    return prove(account, text, brief=True, **given).outcome


# ---- times ----


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("name", "text", "on", "said"),
    [
        ("relu", "time.forward = time.forward(gelu)", H100, "proved"),
        ("relu", "time.forward = time.forward(gelu)", None, "refuted"),
        ("relu", "time.forward <= time.forward(gelu)", None, "proved"),
        ("relu", "time.forward = max(4*B*D/W_mem, B*D/V_bf16)", None, "proved"),
        ("relu", "time.forward = max(4*B*D/W_mem, 2*B*D/V_bf16)", None, "refuted"),
        ("relu", "time.forward = max(bytes.forward/W_mem, flops.forward.all/V_bf16)", None, "proved"),
        ("relu", "time.forward = bytes.forward/bandwidth", H100, "proved"),
        ("relu", "time.forward = 4*B*D/W_mem", H100, "proved"),
        ("relu", "time.forward = 4*B*D/W_mem if W_mem <= 4*V_bf16", None, "proved"),
        ("relu", "time.forward = 4*B*D/W_mem if W_mem <= 5*V_bf16", None, "refuted"),
        ("linear", "flops.forward/peak <= time.forward", H100, "proved"),
        ("linear", "mfu.bound < 1/2", H100, "refuted"),
        ("linear", "throughput.tokens*time.forward = tokens", H100, "proved"),
        ("dot", "lim_N(mfu.bound*ridge*1 byte/FLOP) = 1/2", H100, "proved"),
    ],
)
def test_times(name, text, on, said):
    assert outcome(FORWARD[name], text, on=on) == said


@pytest.mark.long
def test_rates_are_real_numbers():
    """At most 5 B*D seconds: true for whole rates of at least 1, and not for 1/2 B/s."""
    found = prove(FORWARD["relu"], "time.forward <= 5 s * B*D")
    assert found.outcome == "refuted"
    at = dict(found.decision.point.sizes)
    assert max(4 / Fraction(at["W_mem"]), 1 / Fraction(at["V_bf16"])) > 5
    strict = "time.forward <= 4*B*D/W_mem if 4*V_bf16 > W_mem"
    assert prove(FORWARD["relu"], strict).outcome == "proved"
    assert prove(FORWARD["relu"], strict.replace("4*V", "V")).outcome == "proved"
    assert prove(FORWARD["relu"], strict.replace("4*V", "5*V")).outcome == "refuted"


def test_a_time_agrees_with_its_value():
    """What is proved to be a time's formula has its value at sizes."""
    claim = "time.forward = max(2*B*D*K/P_bf16, (2*B*D + 2*D*K + 2*B*K)/W_mem)"
    assert outcome(FORWARD["linear"], claim) == "proved"
    peak, band = Fraction(9895 * 10**11), Fraction(335 * 10**10)
    for B, D, K in product((1, 300, 4096), (64, 4096), (64, 11008)):
        mine = max(2 * B * D * K / peak, 2 * (B * D + D * K + B * K) / band)
        found = quantity(FORWARD["linear"], machine(H100), "time.forward").value({"B": B, "D": D, "K": K})
        assert Fraction(int(found.p), int(found.q)) == mine


def test_a_critical_batch_is_exact():
    """From B(DK - I(D + K)) = IDK on, compute; the next lower batch is memory-bound."""
    sizes = {"D": 4096, "K": 11008}
    assert (
        outcome(FORWARD["linear"], "time.forward = bytes.forward/bandwidth if B <= 327", on=H100, sizes=sizes)
        == "proved"
    )
    assert (
        outcome(FORWARD["linear"], "time.forward = flops.forward/peak if B >= 328", on=H100, sizes=sizes)
        == "proved"
    )
    assert (
        outcome(FORWARD["linear"], "time.forward = bytes.forward/bandwidth if B <= 328", on=H100, sizes=sizes)
        == "refuted"
    )
    limit = "B*(D*K*W_mem - P_bf16*(D + K))"
    assert (
        outcome(FORWARD["linear"], f"time.forward = flops.forward/P_bf16 if {limit} >= P_bf16*D*K")
        == "proved"
    )
    assert (
        outcome(FORWARD["linear"], f"time.forward = flops.forward/P_bf16 if {limit} <= P_bf16*D*K")
        == "refuted"
    )


@pytest.mark.long
def test_decoding():
    """A token takes the time of a pass over all sequences."""
    account = derive(load("gpt"), workload="decode")
    assert outcome(account, "time.token*throughput.tokens >= 1", on="h100-sxm") == "proved"
    with pytest.raises(UnknownNameError, match="from one token to the next"):
        prove(FORWARD["relu"], "time.token <= 1 s")


def test_devices_share():
    """8 devices have 8 times the peak, and it is said that this is a bound."""
    one = prove(None, "peak = 8*989.5 TFLOP/s", on="8xlecture:h100")
    assert one.outcome == "proved"
    assert any("no communication" in note for note in one.notes)
    assert outcome(None, "devices = 8 device", on="8xlecture:h100") == "proved"


# ---- figures ----


def test_a_ridge_is_peak_over_bandwidth():
    """In a claim and in solving alike, for each format."""
    assert outcome(None, "ridge = peak/bandwidth", on="h200-sxm") == "proved"
    lets, notes = machine_lets(H100, "ridge", "fp32")
    assert lets == ["ridge = (67500000000000 FLOP/second) / (3350000000000 byte/second)"]
    assert [note.partition(" ")[0] for note in notes] == ["peak", "bandwidth"]
    assert outcome(None, "ridge <= 21 FLOP/byte", on=H100, dtype="fp32") == "proved"
    assert outcome(None, "ridge <= 21 FLOP/byte", on=H100) == "refuted"


def test_sources_are_said():
    found = prove(None, "capacity = 80 GB", on="h100-sxm")
    assert any("data sheet" in note for note in found.notes)


def test_own_names_come_first():
    """A name that a claim binds, or a size, hides the machine's and the format's."""
    assert outcome(None, "peak = 2 where peak = 2", on=H100) == "proved"
    assert outcome(None, "capacity*n = 3*n", on=H100, lets=["capacity = 3"]) == "proved"
    assert outcome(None, "round*(n) = n*round", lets=["round = 3"]) == "proved"


@pytest.mark.parametrize(
    ("account", "text", "on", "kind", "said"),
    [
        ("relu", "time.forward <= 1 s", "h100-smx", UnknownNameError, "did you mean 'h100-sxm'"),
        ("relu", "time.forward <= 1 s", "h100", UnknownNameError, "say which"),
        ("relu", "time.forward <= 1 s", "lecture:a100", RuleError, "bandwidth"),
        ("relu", "time.forward <= 1 byte", H100, UnitError, "second and byte"),
        ("relu", "time.forwards <= 1 s", H100, UnknownNameError, "time.forward"),
        ("relu", "time.forward >= 4*B*D/W_mm", None, UnknownNameError, "W_mm"),
        ("relu", "capacity >= 1 GB", None, UnknownNameError, "capacity"),
        (None, "time.forward <= 1 s", H100, FormulaError, "there is no graph"),
        (None, "largest(fp9) = 1", None, UnknownNameError, "unknown dtype 'fp9'"),
        (None, "largest(fp8) = 448", None, UnknownNameError, "names several formats"),
        (None, "epsilon(int8) = 1", None, RuleError, "int8 has no epsilon"),
        (None, "largest(mxfp4) = 6", None, RuleError, "mxfp4 has no largest"),
        (None, "round(mxfp4, 1) = 1", None, RuleError, "share a scale"),
        (None, "round(fp16, 1e9) = 1", None, RuleError, "1e9 is no number in fp16"),
        (None, "round(fp16, x) = 1", None, FormulaError, "is not a number"),
    ],
)  # fmt: skip
def test_refusals(account, text, on, kind, said):
    with pytest.raises(kind) as caught:
        prove(FORWARD.get(account), text, on=on)
    assert said in str(caught.value)


# ---- number formats ----


def test_facts_of_formats_are_those_of_torch():
    torch = pytest.importorskip("torch")
    names = {"bf16": torch.bfloat16, "fp16": torch.float16, "fp32": torch.float32, "fp64": torch.float64,
             "fp8_e4m3": torch.float8_e4m3fn, "fp8_e5m2": torch.float8_e5m2}  # fmt: skip
    for name, dtype in names.items():
        info = torch.finfo(dtype)
        facts = {"epsilon": info.eps, "largest": info.max}
        for fact, value in facts.items():
            let = read_facts(f"{fact}({name}) = 1").lets[0]
            found = prove(None, f"{fact}({name}) = x", lets=[let.replace(f"{fact}_{name}", "x")])
            assert found.outcome == "proved"
            assert float(evaluate(found.left, {})) == value
    for name, number in product(("bf16", "fp16"), ("1e-8", "0.1", "-3.14159", "1e-3", "60000")):
        rounded = torch.tensor(float(number), dtype=torch.float64).to(names[name]).item()
        found = prove(None, f"round({name}, {number}) = x", lets=["x = 0"])
        assert float(evaluate(found.left, {})) == rounded


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("epsilon(bf16) = 2^-7", "proved"), ("largest(fp8_e4m3) = 448", "proved"),
        ("largest(e4m3) = 240", "refuted"), ("largest(fp8_e4m3fnuz) = 240", "proved"),
        ("largest(fp8_e5m2) = 57344", "proved"), ("bits(mxfp4) = 17/4", "proved"),
        ("bits(fp8) = 8", "proved"),
        ("round(fp16, 1e-8) = 0", "proved"), ("round(bf16, 1e-8) = 0", "refuted"),
        ("smallest(fp16) = 2^-24", "proved"), ("smallest(fp4_e2m1) = 1/2", "proved"),
        ("largest(int8) = 127", "proved"), ("n*bits(nvfp4)/8 = 9/16*n", "proved"),
    ],
)  # fmt: skip
def test_formats(text, said):
    assert outcome(None, text) == said


def test_a_claim_reads_as_it_was_written():
    found = prove(None, "round(fp16, 1e-8) = 0")
    assert found.stated == "round(fp16, 1e-8) = 0"
    assert "round(fp16, 1e-8) = 0: IEEE 754-2019, section 3.6" in found.notes


# ---- files and the command line ----


def test_a_file_names_machines(tmp_path):
    """By name, with a count, and a file beside it; a calculation too."""
    (tmp_path / "mine.toml").write_text(
        'title = "a part"\nbandwidth = { value = 1, unit = "TB/s", source = "a sheet", date = "2024" }\n'
        'capacity = { value = 64, unit = "GB", source = "a sheet", date = "2024" }\n',
        encoding="utf-8",
    )
    text = """
    [[claim]]
    name = "a"
    graph = "relu"
    workload = "forward"
    on = "lecture:h100"
    claim = "time.forward = time.forward(gelu)"
    expect = "proved"
    [[claim]]
    name = "b"
    on = "4xmine.toml"
    calc = "capacity/(12 byte/parameter)"
    to = "parameter"
    value = "21.3e9"
    within = "1 %"
    [[claim]]
    name = "c"
    on = "ours"
    claim = "bandwidth = 1 TB/s"
    expect = "proved"
    [[claim]]
    name = "d"
    on = "nobodys"
    claim = "bandwidth = 1 TB/s"
    expect = "refused"
    """
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "ours.toml").write_text((tmp_path / "mine.toml").read_text(), encoding="utf-8")
    found = judge_file(claims_in(text, tmp_path / "my.toml"), (tmp_path / "more",))
    assert [one.ok for one in found] == [True] * 4, [one.detail for one in found]
    (tmp_path / "my.toml").write_text(text, encoding="utf-8")
    assert main(["prove", str(tmp_path / "my.toml"), "--machines", str(tmp_path / "more")]) == 0
    with pytest.raises(ReadError, match="on is text"):
        read_stated({"name": "e", "claim": "n = n", "on": 3}, "my.toml", 1)
    assert not judge(Stated("e", "my.toml", claim="peak = 1 FLOP/s")).ok


@pytest.mark.parametrize(
    ("words", "status"),
    [
        (("relu", "time.forward = time.forward(gelu)", "--workload", "forward", "--on", H100), 0),
        (("ridge >= 295 FLOP/byte", "--on", H100), 0),
        (("ridge >= 295 FLOP/byte", "--on", H100, "--precision", "fp32"), 1),
        (("n = n", "--precision", "fp32"), 2),
        (("lecture", "--on", H100), 2),
        (("largest(fp8_e4m3) = 448", "--format", "json"), 0),
    ],
)
def test_the_command(words, status, capsys):
    assert main(["prove", *words]) == status
    assert "Traceback" not in "".join(capsys.readouterr())
