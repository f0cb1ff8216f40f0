"""What a reader must be told beside a number: other peaks, points above the roof, groups of layers."""

from __future__ import annotations

import json
import re

import pytest

from symacct import derive, load
from symacct.cli.main import main
from symacct.errors import SizeError, UsageError
from symacct.evaluation.points import points_of
from symacct.evaluation.roofline import Roofline
from symacct.machines import load as load_machine
from symacct.planning.peaks import peak_of
from symacct.policy import Policy, precision
from symacct.report.roofline_words import above

ALTERNATING = {
    "model_type": "qwen3", "vocab_size": 101, "hidden_size": 24, "num_hidden_layers": 8, "head_dim": 8,
    "num_attention_heads": 6, "num_key_value_heads": 2, "intermediate_size": 50, "use_sliding_window": True,
    "sliding_window": 4, "_attn_implementation": "sdpa",
    "layer_types": ["full_attention", "sliding_attention"] * 4,
}  # fmt: skip


def told(capsys, *words):
    status = main([str(word) for word in words])
    shown = capsys.readouterr()
    return status, shown.out + shown.err


# ---- peaks of other numbers ----


@pytest.mark.parametrize(
    ("own", "dtype", "kind"),
    [
        ("bf16", "tf32", "refused"), ("bf16", "fp32", "refused"), ("bf16", "fp64", "refused"),
        ("fp32", "fp64", "refused"), ("bf16", "bf16", "same"), ("fp32", "fp32", "same"),
        ("fp32", "tf32", "noted"), ("bf16", "fp16", "noted"), ("bf16", "fp8", "noted"),
        ("bf16", "fp8_e4m3", "noted"), ("fp32", "bf16", "noted"),
    ],
)  # fmt: skip
def test_a_peak_of_wider_numbers_is_refused_and_of_narrower_ones_noted(own, dtype, kind):
    """A run never does its work at the peak of numbers that are wider than its own, which is lower."""
    account = derive(load("gpt2"), policy=Policy(precision=precision(own)))
    if kind == "refused":
        with pytest.raises(UsageError, match=f"has no {dtype} contractions"):
            peak_of(account, dtype)
    else:
        said = peak_of(account, dtype)
        assert (said is None) is (kind == "same")
        assert said is None or (own in said and dtype in said)
    assert peak_of(None, dtype) is None
    assert peak_of(account, None) is None


def test_a_utilization_and_a_plan_say_which_peak_they_are_of(capsys):
    """Refused with status 2, or noted below the numbers."""
    run = ("mfu", "gpt2", "--at", "S=512,B=8", "--time", "30ms", "--on", "h100-sxm")
    status, said = told(capsys, *run, "--dtype", "tf32")
    assert (status, "MFU" in said) == (2, False)
    for words, note in (
        (("--dtype", "fp8"), True), ((), False), (("--dtype", "tf32", "--precision", "fp32"), True),
    ):  # fmt: skip
        status, said = told(capsys, *run, *words)
        assert status == 0
        assert ("the peak is one of" in said) is note
    plan = ("plan", "gpt2", "--at", "S=512,B=8", "--on", "h100-sxm", "--tokens", "1B")
    assert told(capsys, *plan, "--dtype", "tf32")[0] == 2
    assert told(capsys, *plan)[0] == 0


# ---- points above the roof ----


@pytest.mark.parametrize("machine", ["h200-sxm", "h100-sxm"])
def test_a_point_is_above_the_roof_where_the_machine_is_slower(machine):
    """Seen from the machine's own figures: twice as fast as each is said, half as fast is not."""
    found = load_machine(machine)
    sizes = {"B": 64, "D": 4096, "K": 4096}
    account = derive(load("linear"), policy=Policy(workload="forward"), sizes=sizes)
    made = Roofline(account, found, sizes)
    width, peak = found.bandwidth.value, found.peak("bf16").value
    rows = ["name,flops,bytes,seconds"]
    for name, share in (("under", 0.5), ("over", 2)):
        rows.append(f"{name}_bytes,1,{float(width) * share:.6e},1")
        rows.append(f"{name}_work,{float(peak) * share:.6e},1,1")
    said = list(above(points_of("\n".join(rows), "x.csv"), [made]))
    assert [re.search(r"point (\w+) ", one)[1] for one in said] == ["over_bytes", "over_work"]
    assert all(f"above the roof of {machine}" in one for one in said)


def test_a_picture_says_so_on_the_other_stream(tmp_path, capsys):
    """The picture is drawn, and the note stands beside the text."""
    pytest.importorskip("matplotlib")
    points = tmp_path / "points.csv"
    points.write_text("name,flops,bytes,seconds\nfast,2e12,24e9,0.003\n", encoding="utf-8")
    words = ("roofline", "linear", "--workload", "forward", "--on", "h200-sxm", "--at", "B=64,D=4096,K=4096")
    assert main([*words, "--points", str(points), "-o", str(tmp_path / "a.svg"), "--format", "json"]) == 0
    shown = capsys.readouterr()
    json.loads(shown.out)
    assert "point fast is above the roof of h200-sxm: 8 TB/s where main memory has 4.8 TB/s" in shown.err


# ---- a length beyond the position table ----


@pytest.mark.parametrize(("model", "words"), [
    ("gpt2", ("--at", "B=1,S=2048")), ("gpt2-xl", ("--at", "B=2,S=4096")),
    ("gpt2", ("--workload", "decode", "--at", "B=1,T=2048")),
])  # fmt: skip
def test_the_fix_raises_the_positions(capsys, model, words):
    """Pasted, it gives an answer, with the parameters of the longer table."""
    run = ("derive", model, "--only", "params,flops.forward.matmul")
    status, said = told(capsys, *run, *words)
    assert status == 2
    assert "choose sizes with 1024 >= T" not in said
    fix = re.search(r"--symbolic --at (\S+)", said)[1]
    given = dict(one.split("=") for one in f"{words[-1]},{fix}".split(","))
    other = [word for word in words[:-2] if word]
    at = ",".join(f"{name}={size}" for name, size in given.items())
    status, said = told(capsys, *run, *other, "--symbolic", "--at", at)
    assert status == 0
    short = derive(load(model))["params"].expr
    rows = int(given["P"]) - 1024
    assert f"{int(short + rows * load(model).bound['D']):,}" in said


def test_a_condition_that_no_bound_size_makes_keeps_its_fix():
    """Free sizes are chosen otherwise."""
    with pytest.raises(SizeError, match="choose sizes with a divides h"):
        load("gpt").bind({"h": 10, "a": 3})


# ---- configurations ----


@pytest.fixture
def config(tmp_path):
    path = tmp_path / "config.json"
    path.write_text(json.dumps(ALTERNATING), encoding="utf-8")
    return str(path)


@pytest.mark.few(1)
@pytest.mark.parametrize("checkpoint", ["every:1", "every:2", "sqrt", "none"])
@pytest.mark.parametrize("verb", ["derive", "memory"])
def test_a_checkpoint_says_which_layers_run_again(config, capsys, verb, checkpoint):
    """Where one body holds two layers, layers are counted, and the output says how many a body holds."""
    status, said = told(capsys, verb, config, "--checkpoint", checkpoint, "--at", "B=1,S=16")
    assert status == 0
    said = " ".join(said.split())
    assert ("layers is run again" in said) is (checkpoint != "none")
    assert ("an iteration of layers is 2" in said) is (checkpoint != "none")
    plain = told(capsys, verb, "gpt2", "--checkpoint", checkpoint, "--at", "B=1,S=16")
    assert ("each of the 12 layers is run again" in plain[1]) is (checkpoint != "none")
    assert "an iteration of" not in plain[1]


@pytest.mark.few(1)
@pytest.mark.parametrize(
    "words",
    [
        ("derive", "--at", "B=1,S=16"), ("memory", "--at", "B=1,S=16"), ("show",),
        ("plan", "--at", "B=1,S=16", "--on", "h100-sxm"), ("fit", "--at", "B=1,S=16", "--on", "h100-sxm"),
        ("mfu", "--at", "B=1,S=16", "--on", "h100-sxm", "--time", "1s"),
        ("compare", "gpt2", "--quantity", "params"),
        ("sweep", "--over", "B=1,2", "--at", "S=16", "params"),
        ("roofline", "--on", "h100-sxm", "--at", "B=1,S=16"),
    ],
    ids=lambda words: words[0],
)  # fmt: skip
def test_every_verb_warns_of_what_a_configuration_chooses_elsewhere(config, capsys, words):
    """Nothing that changes the model is passed over in silence."""
    verb, *rest = words
    status, said = told(capsys, verb, config, *rest)
    assert status == 0, said
    assert "_attn_implementation says sdpa" in " ".join(said.split())
