"""``symacct measure``: what it writes, in each format, and what it refuses; on a clock that is given."""

from __future__ import annotations

import csv
import io
import json
import re
from contextlib import contextmanager
from fractions import Fraction
from itertools import count, pairwise

import pytest
import torch

from symacct.cli import main
from symacct.cli import measure as command
from symacct.evaluation.points import read_points
from symacct.execution import measure_calibrate, measure_device
from symacct.execution.measure_device import Device
from symacct.machines import load

AT = "B=16,D=8,L=3"


class Given:
    """A clock on which every mark is 0.2 s after the one before."""

    def __init__(self):
        self.now = count()

    def mark(self):
        return next(self.now)

    def spans(self, marks):
        return [(b - a) * Fraction(1, 5) for a, b in pairwise(marks)]


@pytest.fixture(autouse=True)
def _a_device_whose_time_is_given(monkeypatch):
    for name, value in {"SIDES": (16, 64), "ELEMENTS": (2**8,), "COPIED": 2**16}.items():
        monkeypatch.setattr(measure_calibrate, name, value)

    @contextmanager
    def given(kind, threads=None):
        yield Device(torch, "cpu", Given(), "a part", f"torch of a test, {threads or 1} thread", 2**30)

    real = measure_device.opened
    monkeypatch.setattr(
        measure_device,
        "opened",
        lambda kind, threads=None: given(kind, threads) if kind == "cpu" else real(kind),
    )


def run(capsys, *words):
    status = main(["measure", *words])
    out, err = capsys.readouterr()
    return status, out, err


def test_text_has_each_op_and_each_step(capsys):
    status, out, err = run(capsys, "mlp", "--at", AT, "--repeats", "2")
    assert status == 0
    assert "layers/matmul/grad.w" in out
    assert re.search(r"^B=16 D=8 L=3 +.* 200 ms +0 % .* 2 ", out, re.MULTILINE)
    assert "fp32 contractions: 2.621 MFLOP/s (mm 64 x 64 by 64 x 64, median of" in out
    assert "torch of a test, 1 thread" in out
    assert "measure: timing at B=16, D=8, L=3" in err


def test_json_has_mfu_of_its_parts(capsys):
    status, out, _ = run(capsys, "mlp", "--at", AT, "--repeats", "2", "--format", "json")
    made = json.loads(out)
    assert (status, made["command"], made["schema"]) == (0, "measure", "symacct/2")
    (one,) = made["result"]["runs"]
    assert one["measured"]["median"] == {"value": 0.2, "exact": "1/5"}
    mfu = one["flops"]["value"] / (0.2 * one["peak"]["value"])
    assert one["mfu"]["value"] == pytest.approx(mfu)
    assert one["ratio"]["value"] == pytest.approx(0.2 / one["predicted"]["value"])
    matmul = one["ops"][0]
    assert (matmul["label"], matmul["measured"]["times"]) == ("layers/matmul", 2)
    assert matmul["measured"]["median"]["exact"] == "3/5"
    assert {rate["name"] for rate in made["result"]["rates"]} >= {"fp32 contractions", "copy"}


def test_markdown_has_tables(capsys):
    status, out, _ = run(
        capsys, "relu", "--at", "B=4,D=8", "--repeats", "1", "--format", "markdown", "--workload", "forward"
    )
    assert status == 0
    assert "| op | FLOPs | bytes | predicted | measured |" in out
    assert "the forward pass" in out
    assert "| - | - |" in out.splitlines()[-1]


@pytest.mark.long
def test_what_is_saved_is_read_by_roofline(capsys, tmp_path):
    """The machine, the points and the picture; and the picture of roofline with these points."""
    folder, points = tmp_path / "machines", tmp_path / "points.csv"
    words = ("--at", "B=16,L=3", "--at", "D=8", "--at", "D=16", "--repeats", "1", "--save", str(folder))
    status, out, err = run(capsys, "mlp", *words, "-o", str(points), "--picture", str(tmp_path / "one.svg"))
    assert status == 0
    assert "written: " in err
    assert out.count("mlp at B = 16") == 2
    assert load("cpu", [folder]).peak("fp32").value == round(2 * 64**3 * 5, -3)
    found = read_points(points)
    assert [one.name for one in found if one.name.startswith("mlp")] == ["mlp D=8", "mlp D=16"]
    rows = list(csv.reader(io.StringIO(points.read_text(encoding="utf-8"))))
    assert rows[0] == ["name", "flops", "bytes", "seconds"]
    assert (tmp_path / "one.svg").stat().st_size > 5000
    on = ("--on", "cpu", "--machines", str(folder), "--precision", "fp32", "--at", "B=16,D=16,L=3")
    assert main(["roofline", "mlp", *on, "--points", str(points), "-o", str(tmp_path / "two.png")]) == 0
    assert "calibrated by symacct measure" in capsys.readouterr().out
    assert main(["roofline", "mlp", "--on", "cpu", "--machines", str(folder)]) == 0


def test_the_precision_is_that_of_the_measurement(capsys):
    _, out, _ = run(capsys, "mlp", "--at", AT, "--repeats", "1", "--dtype", "fp64", "--format", "json")
    made = json.loads(out)
    assert made["policy"]["precision"]["activations"] == "fp64"
    assert any(rate["name"] == "fp64 contractions" for rate in made["result"]["rates"])


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("mlp", "--device", "tpu"), "unknown choice of --device"),
        (("mlp", "--dtype", "int8"), "unknown choice of --dtype"),
        (("mlp", "--repeats", "0"), "--repeats is out of range"),
        (("mlp", "--picture", "x.pdf"), "a picture is SVG or PNG"),
        (("mlp", "--at", "B=1", "--at", "B=2"), "a point leaves D, L open"),
        (("mlp", "--at", "Z=1"), "unknown size 'Z'"),
        (("nothing",), "unknown graph or model"),
        (("mlp", "--at", "B=4,D=4,L=2", "--repeats", "1", "--save", "/proc/none"), "cannot be written"),
        (
            ("mlp", "--at", "B=4,D=4,L=2", "--repeats", "1", "-o", "/proc/none/x.csv"),
            "points cannot be written",
        ),
    ],
)
def test_bad_input_is_refused(capsys, words, said):
    status, out, err = run(capsys, *words)
    assert status == 2
    assert out == ""
    assert said in err
    assert "Traceback" not in err


@pytest.mark.parametrize("sizes", ["B=1000000,D=1000000,L=10", "B=100000000000,D=8,L=1"])
def test_what_cannot_be_held_is_refused_before_calibration(capsys, sizes):
    """Nothing is calibrated for sizes whose parameters or inputs alone are too large."""
    status, out, err = run(capsys, "mlp", "--at", sizes)
    assert (status, out) == (2, "")
    assert "takes more memory than may be used" in err
    assert "calibrating" not in err


def test_choices_are_those_of_the_device():
    assert command.KINDS == measure_device.KINDS
    assert command.DTYPES == measure_device.MEASURED


def test_cuda_without_a_gpu_is_refused(capsys, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    status, out, err = run(capsys, "mlp", "--device", "cuda")
    assert (status, out) == (2, "")
    assert err.startswith("there is no GPU that torch can use here\n  where     --device cuda\n")
