"""``symacct roofline`` as it is called: text, records, refusals, the picture, the commands of the docs."""

from __future__ import annotations

import json
import re
import shlex
import sys
from fractions import Fraction
from pathlib import Path

import pytest

from symacct.account import derive
from symacct.cli.main import main
from symacct.errors import ReadError
from symacct.evaluation.points import Measured, points_of
from symacct.evaluation.roofline import Roofline
from symacct.machines import load as machine
from symacct.plot.roofline import MARKERS, together
from symacct.plot.roofline import _figure as picture
from symacct.readers.files import load

DOCS = Path(__file__).parent.parent / "docs"
LINEAR = ("roofline", "linear", "--workload", "forward")
AT = ("--at", "B=256,D=4096,K=4096")


@pytest.fixture
def run(capsys, monkeypatch):
    """Run the command in process and return its status, output and complaint."""
    monkeypatch.setenv("COLUMNS", "100")

    def call(*words):
        status = main(list(words))
        captured = capsys.readouterr()
        return status, captured.out, captured.err

    return call


# ---- what is written ----


def test_the_page(run):
    """Reviewed as prose: what was used with its source, each op, the graph."""
    status, out, err = run(*LINEAR, "--on", "lecture:h100", *AT)
    assert (status, err) == (0, "")
    assert (
        out
        == """\
convention default (attention full), bytes algorithmic; workload forward, precision bf16 (no fp32
copy of the parameters)
graph linear: Linear layer without a bias.
at: B = 256, D = 4,096, K = 4,096
machine: lecture:h100: H100 with a lecture's figures
bf16 contractions: 989.5 TFLOP/s (Stanford CS336 lecture on resource accounting, 2025): 1979 with
  sparsity
bandwidth of main memory: 3.35 TB/s (Stanford CS336 lecture on resource accounting, 2025)
ridge: 295.4 FLOP/byte for bf16 (I)
left out: communication, and launching ops

op                    FLOPs     bytes  FLOP/byte      time   share  bound by      memory-bound iff
---------------  ----------  --------  ---------  --------  ------  ------------  ----------------
forward
  linear/matmul  8.59 GFLOP  37.75 MB      227.6  11.27 µs  100.0%  memory-bound  B < 345.15

time.forward: 11.27 µs
throughput.tokens: 22.7e6 token/s
mfu.bound: 77.04 %
intensity: 227.6 FLOP/byte
realised: 762.3 TFLOP/s, were each op as fast as its roof
the graph: memory-bound; 100 % of the time is in memory-bound ops
memory-bound iff: B < 345.15
"""
    )


def test_formulas_without_a_machine(run):
    """In machine symbols, with the condition in the ridge I."""
    status, out, _ = run(*LINEAR)
    assert status == 0
    assert "P_..., V_..., W_mem: rates of contractions, of other work, and of bytes; I = P/W_mem" in out
    assert "time.forward: max(2*B*D*K/P_bf16, (2*B*D + 2*B*K + 2*D*K)/W_mem)" in out
    assert "mfu.bound: (2*B*D*K/P_bf16) / time.forward" in out
    flat = " ".join(out.split())
    assert "memory-bound iff: B < I*D*K/(D*K - I*(D + K)) where D*K - I*(D + K) > 0, else every B" in flat


def test_several_devices_are_a_bound_on_each_line(run):
    """The sign stands before each time, and before what is derived of it."""
    status, out, _ = run(*LINEAR, "--on", "8xh100-sxm", *AT)
    assert status == 0
    assert "bound: ideal even sharding, no communication: a bound" in out
    for line in out.splitlines():
        if re.match(r"time\.|  linear|main memory|NVLink|PCIe", line):
            assert "≥ " in line, line
        if re.match(r"throughput|mfu|realised", line):
            assert "≤ " in line, line


def test_several_machines_and_bandwidths(run):
    """One page after the other; a link in the place of main memory."""
    status, out, _ = run(*LINEAR, "--on", "h100-sxm,a100-sxm-80gb", *AT)
    assert status == 0
    assert out.count("\ngraph linear") == 2
    assert "bandwidth of main memory: 2.039 TB/s" in out
    status, out, _ = run(*LINEAR, "--on", "h100-sxm", "--over", "NVLink 4", *AT)
    assert "bandwidth of NVLink 4: 450 GB/s" in out


def test_records(run):
    """JSON has the envelope, exact numbers, and every quantity its formula; CSV a row for each op."""
    status, out, _ = run(*LINEAR, "--on", "h100-sxm", *AT, "--format", "json")
    assert status == 0
    data = json.loads(out)
    assert list(data) == ["schema", "command", "input", "convention", "policy", "result"]
    (made,) = data["result"]
    time = made["quantities"]["time.forward"]
    assert {"expr", "unit", "latex", "conditions", "terms", "value", "exact"} == time.keys()
    assert time["expr"] == "max(2*B*D*K/P_bf16, 2*B*D/W_mem + 2*B*K/W_mem + 2*D*K/W_mem)"
    assert Fraction(time["exact"]) == Fraction(2 * (2 * 256 * 4096 + 4096**2), 3350 * 10**9)
    assert made["verdict"] == "memory-bound"
    assert made["figures"]["P_bf16"]["source"] == "NVIDIA H100 Tensor Core GPU data sheet"
    status, out, _ = run(*LINEAR, "--on", "h100-sxm", *AT, "--format", "csv")
    header, op, whole = out.splitlines()
    assert header == "machine,op,phase,path,flops,bytes,time_s,bound_by,at_least,formula"
    assert op.startswith("h100-sxm,linear/matmul,forward,,8589934592,37748736,")
    assert whole.startswith("h100-sxm,time.forward,,,8589934592,37748736,")
    status, out, _ = run(*LINEAR, "--on", "h100-sxm", "--format", "markdown")
    assert r"$\max\left(\frac{" in out
    assert "| **forward** |" in out


@pytest.mark.few(1)
@pytest.mark.parametrize("workload", ["train", "forward", "prefill", "decode"])
@pytest.mark.parametrize("form", ["text", "markdown", "json", "csv"])
def test_every_workload_in_every_format(workload, form, run):
    """Symbolic and at sizes."""
    sizes = {"decode": "B=2,T=64", "prefill": "B=2,S=64"}.get(workload, "B=2,S=64")
    for at in ((), ("--at", sizes)):
        status, out, err = run("roofline", "llama-3-8b", "--workload", workload, "--on", "h100-sxm",
                               "--format", form, *at)  # fmt: skip
        assert (status, err) == (0, "")
        assert "nan" not in out.replace("dominant", "")


def test_small_repeats_are_their_exact_case(run):
    """A single layer: gradients that nothing wants are not there."""
    status, out, _ = run("roofline", "mlp", "--on", "h100-sxm", "--at", "L=1,B=4,D=8")
    assert status == 0
    assert "0 second" not in out


# ---- what is refused ----


@pytest.mark.few(6)
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--on", "h100"), "say which: h100-pcie, h100-sxm, lecture:h100"),
        (("--on", "h100-sxn"), "did you mean 'h100-sxm'"),
        (("--on", "v100-sxm2"), "v100-sxm2 has no peak for bf16, dense"),
        (("--on", "cpu"), "symacct measure GRAPH"),
        (("--on", "lecture:a100"), "lecture:a100 has no bandwidth"),
        (("--on", "h100-sxm", "--over", "L2"), "unknown bandwidth 'L2'"),
        (("--on", "h100-sxm", "--for", "Q"), "unknown size 'Q'"),
        (("--on", "h100-sxm", "--machines", "/nowhere"), "a folder of machines is not there"),
        (("--on", "h100-sxm,"), "a name is empty"),
        (("--on", "h100-sxm", "--at", "B=2.5"), "B"),
        (("--on", "h100-sxm", "-o", "x.pdf", *AT), "a picture is SVG or PNG"),
        (("--on", "h100-sxm", "-o", "x.svg"), "a picture needs every size: B, D, K"),
        (("-o", "x.svg", *AT), "a picture is one of a machine"),
        (("--on", "h100-sxm", "-o", "/nowhere/x.svg", *AT), "a picture cannot be written"),
        (("--on", "h100-sxm", "--points", "x.csv"), "--points are drawn"),
        (("--on", "h100-sxm", "-o", "x.svg", "--points", "/nowhere.csv", *AT), "cannot be read"),
    ],
)
def test_refusals(words, said, run):
    """Status 2 and a text, never a traceback."""
    status, out, err = run(*LINEAR, *words)
    assert (status, out) == (2, "")
    assert said in err


def test_pictures_need_matplotlib(run, monkeypatch, tmp_path):
    """The extra is named."""
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    status, _, err = run(*LINEAR, "--on", "h100-sxm", *AT, "-o", str(tmp_path / "x.svg"))
    assert status == 2
    assert "pip install 'symacct[plot]'" in err


# ---- the picture ----

LOOKUP = '''
from symacct import graph

@graph({"B": "tokens", "D": "features", "V": "vocabulary"})
def lookup(b):
    """One row for each token."""
    return b.embedding(b.weight("table", "V D"), b.input("ids", "B", dtype="index"))
'''
POINTS = "name,flops,bytes,seconds\nmeasured $1 <b>,8.6e9,37748736,0.00002\n"


@pytest.mark.long
def test_the_picture_is_drawn_the_same_each_time(run, tmp_path):
    """SVG and PNG, byte for byte, with a machine of each line style and measured points."""
    pytest.importorskip("matplotlib")
    (tmp_path / "points.csv").write_text(POINTS, encoding="utf-8")
    for ending, start in (("svg", b"<?xml"), ("png", b"\x89PNG")):
        files = [tmp_path / f"{place}.{ending}" for place in "ab"]
        for path in files:
            status, out, err = run(*LINEAR, "--on", "h100-sxm,a100-sxm-80gb,l40s,tpu-v5e,lecture:h100", *AT,
                                   "-o", str(path), "--points", str(tmp_path / "points.csv"))  # fmt: skip
            assert (status, err) == (0, "")
            assert out.startswith("convention")
        assert files[0].read_bytes() == files[1].read_bytes()
        assert files[0].read_bytes().startswith(start)


def test_points_at_one_place_are_one_marker():
    """Decoding puts every product with weights at one place; measured points have at most a dozen names."""
    pytest.importorskip("matplotlib")
    account = derive(load("llama-3-8b"), workload="decode")
    made = Roofline(account, machine("h100-sxm"), {"B": 1, "T": 1024})
    counts = range(1, 31)
    measured = [Measured(f"p{n}", Fraction(10**9), Fraction(10**6 * n * n), Fraction(1, n)) for n in counts]
    figure = picture([made], measured)
    (axes,) = figure.axes
    drawn = [line for line in axes.lines if line.get_marker() in MARKERS and line.get_markersize() == 7]
    places = [(line.get_xdata()[0], line.get_ydata()[0]) for line in drawn]
    assert len(together(places)) == len(places)
    labels = [line.get_label() for line in drawn]
    more = [re.search(r" and (\d+) more", label) for label in labels]
    pairs = [2 if ", " in label else 1 for label in labels]
    assert sum(two + int(one[1]) if one else two for one, two in zip(more, pairs, strict=True)) == 12
    assert any(re.fullmatch(r"gate/matmul, up/matmul and \d+ more", label) for label in labels)
    named = [text.get_text() for text in axes.texts]
    assert len(named) == 12
    assert named[0] == "p1"


def test_a_graph_without_work_has_no_points(run, tmp_path):
    """Nothing but a lookup: its bytes are timed, and a picture of no work is refused."""
    source = tmp_path / "only.py"
    source.write_text(LOOKUP, encoding="utf-8")
    words = (
        "roofline",
        f"{source}:lookup",
        "--workload",
        "forward",
        "--on",
        "h100-sxm",
        "--at",
        "B=4,D=4,V=9",
    )
    status, out, _ = run(*words)
    assert status == 0
    assert "mfu.bound: 0 (no contraction)" in out
    status, _, err = run(*words, "-o", str(tmp_path / "x.svg"))
    assert status == 2
    assert "there is nothing to draw: no op of lookup works" in err


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "an empty file"), ("name,flops\na,1\n", "other columns"),
        ("name,flops,bytes,seconds\n", "other columns"),
        ("name,flops,bytes,seconds\na,x,1,1\n", "flops is no number above 0"),
        ("name,flops,bytes,seconds\na,1,0,1\n", "bytes is no number above 0"),
        ("name,flops,bytes,seconds\na,1,1,-1\n", "seconds is no number above 0"),
        ("name,flops,bytes,seconds\na,1,1\n", "seconds is no number above 0"),
        ("name,flops,bytes,seconds\na,1e999999999,1,1\n", "flops is no number above 0"),
        ("name,flops,bytes,seconds\na,nan,1,1\n", "flops is no number above 0"),
        ("name,flops,bytes,seconds\na,1/0,1,1\n", "flops is no number above 0"),
        ('name,flops,bytes,seconds\n"a,1,1,1\n', "is not CSV"),
    ],
)  # fmt: skip
def test_points_that_are_refused(text, said):
    """Beside the file that is read."""
    assert points_of(POINTS, "x.csv")[0].flops == 86 * 10**8
    with pytest.raises(ReadError, match=said):
        points_of(text, "x.csv")


# ---- the documentation ----


def test_the_commands_of_the_docs_run(run):
    """Each of them, and what the text says of its output."""
    text = (DOCS / "roofline.md").read_text(encoding="utf-8")
    commands = re.findall(r"^\$ symacct (.*)$", text, re.MULTILINE)
    assert len(commands) >= 3
    for command in commands:
        status, out, err = run(*shlex.split(command))
        assert (status, err) == (0, "")
        assert out
    for words, said in (("D=4096,K=4096", "B < 345.15"), ("D=4096,K=11008", "B < 327.81"),
                        ("D=512,K=512", "every B")):  # fmt: skip
        assert said in text
        assert said in run(*LINEAR, "--on", "lecture:h100", "--at", words)[1]


def test_the_file_of_the_docs_is_read(tmp_path):
    """As it is printed."""
    from symacct.machines import load

    text = (DOCS / "machines.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"^```toml\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    path = tmp_path / "part.toml"
    path.write_text(block, encoding="utf-8")
    machine = load(str(path))
    assert str(machine.peak("bf16")) == "300 TFLOP/s"
    assert str(machine.links[0].figure) == "32 GB/s"


def test_the_sizes_of_the_docs(run):
    """From which batch decoding is compute-bound, as the page states it."""
    text = (DOCS / "roofline.md").read_text(encoding="utf-8")
    stated = re.search(r"There the products with weights.*?head\.", text, re.DOTALL)
    words = ("roofline", "llama-3-8b", "--workload", "decode", "--on", "h100-sxm", "--at", "B=1,T=1024")
    found = set(re.findall(r"B < [\d.]+", run(*words)[1]))
    assert set(re.findall(r"B < [\d.]+", stated[0])) == found
