"""``symacct memory`` as it is called: the page as prose, records, policies side by side, refusals."""

from __future__ import annotations

import csv
import doctest
import io
import json
import re
from pathlib import Path

import pytest

from symacct.cli.main import main

DOCS = Path(__file__).parent.parent / "docs"
AT = ("--at", "B=64,D=16,L=12")


@pytest.fixture
def run(capsys, monkeypatch):
    """Run the command in process and return its status, output and complaint."""
    monkeypatch.setenv("COLUMNS", "100")

    def call(*words):
        status = main(["memory", *words])
        captured = capsys.readouterr()
        return status, captured.out, captured.err

    return call


# ---- what is written ----

PEAK = """\
memory.peak: L*(4*B*D + 12*D^2) + 8*B*D + 4*D^2 + 8 byte (1 of 3 formulas)
  where B >= D
"""
ELSEWHERE = """\
elsewhere:
  16*D^2*L + 16*B*D - 4*D^2 + 8 where D >= B, 2*B >= D
  16*D^2*L + 8*B*D + 8 where D >= 2*B
small counts:
  L = 1: the largest of 12*B*D + 12*D^2 + 8, 8*B*D + 16*D^2 + 8
holds for: L >= 2
"""


def test_the_page_without_sizes(run):
    """The formula of a region, what is alive then as formulas, the other regions, the small count."""
    status, out, _ = run("mlp", "--precision", "fp32")
    assert status == 0
    assert PEAK in out
    assert out.endswith(ELSEWHERE)
    assert re.search(
        r"^layers/relu × \(L - 1\) +made by forward, saved +4\*B\*D\*L - 4\*B\*D$", out, re.MULTILINE
    )
    assert "give the sizes (--at) to see what other choices give" in out


@pytest.mark.few(1)
@pytest.mark.parametrize("at", ["B=8,D=16,L=12", "B=8,D=16,L=13", "B=1,D=1,L=36"])
def test_an_open_length_that_the_peak_does_not_depend_on(run, at):
    """The number is said, the moment is found at a small length, and what is still open has its name."""
    status, out, _ = run("mlp", "--at", at, "--checkpoint", "every:k")
    assert status == 0
    _, closed, _ = run("mlp", "--at", f"{at},k=2", "--checkpoint", "every:k")
    number = re.search(r"^memory.peak: ([\d,]+) ", closed, re.MULTILINE)[0]
    if at.startswith("B=8,D=16,L=12"):
        assert number in out
    assert "give k too (--at k=...)" in out
    assert not re.search(r"\b[a-z]+_\b", out)


def test_what_is_still_open_is_named(run):
    """With all sizes but one the page asks for that one, and says no formula holds for all sizes."""
    _, out, _ = run("mlp", "--checkpoint", "every:k", "--at", "B=1024,D=512,L=36")
    assert "give k too (--at k=...)" in out
    assert "or --best" in out
    assert "one formula for all sizes" not in out
    assert "byte (one formula)" in out
    _, out, _ = run("mlp", "--at", "B=8,D=16")
    assert "give L too (--at L=...)" in out
    assert "--best" not in out


def test_what_lowers_the_peak_says_what_work_it_takes(run):
    """Rows that save come first; those that save nothing or cost more have a title of their own."""
    _, out, _ = run("mlp", "--precision", "fp32", *AT)
    saving, _, others = out.partition("what would lower it")[2].partition("changes nothing or costs more")
    assert re.search(r"^--checkpoint store-nothing .* saves [\d.]+% +x 3.23 FLOPs$", saving, re.MULTILINE)
    assert "saves nothing" not in saving
    assert re.search(r"^--checkpoint every:1 .* saves nothing here +x 1.34 FLOPs$", others, re.MULTILINE)
    _, out, _ = run("mlp", "--precision", "fp32", *AT, "--format", "json")
    assert {"flags", "peak", "work", "why"} == json.loads(out)["result"]["reductions"][0].keys()


def test_the_page_in_the_order_of_a_reader(run):
    """Categories; then number, formula, moment, what is alive, choices, what would lower it, elsewhere."""
    _, out, _ = run("mlp", "--precision", "fp32", *AT, "--checkpoint", "every:3")
    marks = ["static memory", "memory.peak: 72,712", "formula here:", "at: recompute of", "alive then",
             "choices:", "what would lower it", "elsewhere:", "holds for:"]  # fmt: skip
    places = [out.index(mark) for mark in marks]
    assert places == sorted(places)
    assert "at: recompute of layers/relu, turn 2 of 4 of layers/segments/backward" in out
    assert re.search(r"^--checkpoint every:1 .* costs 31.0% +x 1 FLOPs$", out, re.MULTILINE)


def test_nothing_is_saved_where_gradients_weigh_more(run):
    """For few rows a checkpoint policy lowers nothing, and the page says so."""
    _, out, _ = run("mlp", "--precision", "fp32", "--at", "B=2,D=16,L=12")
    assert re.search(r"^--checkpoint every:1 .* saves nothing here +x 1.34 FLOPs$", out, re.MULTILINE)
    assert re.search(r"^--checkpoint sqrt .* saves nothing here +x 1.34 FLOPs$", out, re.MULTILINE)


def test_a_reserve_is_added_and_said(run):
    """The peak stays, and stands once more with the reserve."""
    _, out, _ = run("mlp", "--precision", "fp32", *AT, "--reserve", "1 kB")
    _, plain, _ = run("mlp", "--precision", "fp32", *AT)
    (number,) = re.findall(r"^memory.peak: ([\d,]+) ", plain, re.MULTILINE)
    whole = int(number.replace(",", "")) + 1000
    assert f"with 1,000 (1 kB, 0.977 KiB) byte reserved: {whole:,} " in out


def test_micro_batches(run):
    """What accumulation saves and what it does not is said; gradients live through all micro-batches."""
    _, out, _ = run("mlp", "--precision", "fp32", *AT, "--accumulate", "4")
    assert "a step adds up 4 of them, B rows each" in out
    assert "not lowered: parameters, gradients" in out
    assert "--update fused" not in out


def test_a_small_case(run):
    """One layer is derived apart, and the page says which condition it breaks."""
    _, out, _ = run("mlp", "--precision", "fp32", "--at", "B=8,D=4,L=1")
    assert "small: the general formulas want L >= 2" in out
    assert "memory.peak: 584 byte" in out


def test_no_layers_at_all(run):
    """A count of 0 leaves the input and the loss."""
    status, out, _ = run("mlp", "--precision", "fp32", "--at", "B=8,D=4,L=0")
    assert status == 0
    assert "memory.peak: 132 byte" in out


def test_rows_by_tensor(run):
    """A category is a row for each tensor where it is asked for, by its short name too."""
    _, out, _ = run("two_layer", "--explain", "gradients")
    assert "\nmemory.gradients (byte)" in out
    _, every, _ = run("two_layer", "--tensors")
    assert "\nmemory.optimizer (byte)" in every
    assert "\nmemory.activations (byte)" in every


def test_policies_side_by_side(run):
    """Saved, peaks with regions, FLOPs as products, and what the hardware does for each FLOP of the model."""
    _, out, _ = run("mlp", "--precision", "fp32", "--checkpoint", "none,every:k,sqrt,store-nothing")
    lines = [" ".join(line.split()) for line in out.splitlines()]
    for line in (
        "every:k 4*B*D*L/k",
        "sqrt 8*B*D*sqrt(L)",
        "store-nothing 12*B*D",
        "every:k (if B >= D*k) 4*B*D*k + 4*D^2*k + L*(12*D^2 + 4*B*D/k) + 4*B*D + 8",
        "store-nothing B*D^2*L*(L + 1)",
        "none 2*B*D^2*(3*L - 1)",
        "every:k (4*L - 1)/(3*L - 1)",
        "every:k holds for: L/k >= 2, k divides L",
    ):
        assert line in lines, line


@pytest.mark.few(1)
@pytest.mark.parametrize(
    "graph", ["relu", "matmul", "two_layer", "attention", "swiglu", "lora", "moe", "mla"]
)
def test_shipped_graphs(run, graph):
    """Every kind of graph has a page, without sizes."""
    status, out, err = run(graph)
    assert (status, err) == (0, "")
    assert "memory.peak: " in out


@pytest.mark.parametrize("workload", ["forward", "prefill", "decode"])
def test_serving(run, workload):
    """Parameters, the cache and one layer's activations: nothing of training."""
    tokens = "t" if workload == "decode" else "s"
    status, out, _ = run("gpt", "--workload", workload, "--at", f"b=2,{tokens}=16,h=8,a=2,L=9,V=32")
    assert status == 0
    assert "memory.optimizer" not in out
    assert ("memory.kv_cache" in out) is (workload != "forward")
    assert "what would lower it" not in out


# ---- records ----


def test_record(run):
    """The envelope; exact numbers; each formula with its region; what is alive adds up."""
    _, out, _ = run("mlp", "--precision", "fp32", *AT, "--format", "json", "--reserve", "1kB")
    found = json.loads(out)
    assert (found["schema"], found["command"]) == ("symacct/2", "memory")
    result = found["result"]
    assert result["peak"]["value"] == sum(row["value"] for row in result["live_tensors"])
    assert result["with_reserve"]["value"] == result["peak"]["value"] + 1000
    assert [one["region"] for one in result["peak"]["candidates"]] == [
        ["B >= D"], ["D >= B", "2*B >= D"], ["D >= 2*B"],
    ]  # fmt: skip
    assert result["quantities"]["memory.static"]["expr"] == "16*D^2*L"
    assert [(one["loop"], one["iteration"]["value"], one["of"]["expr"])
            for one in result["peak_location"]["iterations"]] == [("layers/backward", 1, "L")]  # fmt: skip
    assert {one["flags"] for one in result["reductions"]} >= {"--checkpoint sqrt", "--optimizer adam8bit"}


def test_record_of_policies(run):
    """Each policy by its name, with the same fields."""
    _, out, _ = run("mlp", "--checkpoint", "none,every:k", "--format", "json")
    policies = json.loads(out)["result"]["policies"]
    assert list(policies) == ["none", "every:k"]
    assert policies["every:k"]["quantities"]["memory.activations"]["expr"] == "2*B*D*L/k"
    assert policies["every:k"]["ratio"]["expr"] == "(4*L - 1)/(3*L - 1)"


@pytest.mark.parametrize("policy", ["none", "none,every:2"])
def test_other_formats(run, policy):
    """Markdown has formulas in LaTeX, LaTeX is a tabular, CSV has one shape in all rows."""
    words = ("mlp", "--checkpoint", policy, *AT)
    _, markdown, _ = run(*words, "--format", "markdown")
    assert "| term | formula |" in markdown
    assert "$" in markdown
    _, tabular, _ = run(*words, "--format", "latex")
    assert tabular.rstrip().endswith("\\end{tabular}")
    _, rows, _ = run(*words, "--format", "csv")
    table = list(csv.reader(io.StringIO(rows)))
    assert len({len(row) for row in table}) == 1
    assert any(row[0].startswith("memory.peak") for row in table)


# ---- refusals, each beside its neighbour ----

REFUSED = [
    (("mlp", "--checkpoint", "every:0"), "a segment cannot be '0'"),
    (("mlp", "--checkpoint", "none,"), "a checkpoint policy is empty"),
    (("mlp", "--checkpoint", "every:D"), "D"),
    (("relu", "--checkpoint", "every:1"), "graph relu repeats nothing"),
    (("gpt", "--checkpoint", "selective:cor"), "did you mean 'core'?"),
    (("gpt", "--workload", "decode", "--checkpoint", "every:1"), "has no meaning for the workload decode"),
    (("mlp", "--explain", "paramters"), "did you mean 'parameters'?"),
    (("mlp", "--reserve", "2"), "a reserve is in bytes"),
    (("mlp", "--reserve", "2 s"), "a reserve is in bytes"),
    (("mlp", "--at", "Q=1"), "unknown size 'Q'"),
    (("mlp", "--checkpoint", "none,every:2", "--reserve", "2GB"), "--reserve is for one policy"),
    (("mlp", "--optimizer", "adamx"), "unknown optimizer"),
]


@pytest.mark.parametrize(("words", "said"), REFUSED)
def test_refusals(run, words, said):
    """Bad input is refused in words, with status 2 and no output."""
    status, out, err = run(*words)
    assert (status, out) == (2, "")
    assert said in err
    assert "Traceback" not in err


@pytest.mark.parametrize(
    "words",
    [
        ("mlp", "--checkpoint", "every:1"),
        ("mlp", "--checkpoint", "every:k", "--at", "k=3"),
        ("mlp", "--explain", "memory.parameters"),
        ("mlp", "--reserve", "0.5GiB"),
        ("mlp", "--optimizer", "none"),
        ("mlp", "--at", "B=8"),
    ],
)
def test_neighbours_of_refusals(run, words):
    """What stands next to a refusal is read."""
    status, out, err = run(*words)
    assert (status, err) == (0, "")
    assert "memory.peak" in out


@pytest.mark.long
def test_the_commands_of_the_page_run(run):
    """Every command in the documentation is run."""
    text = (DOCS / "memory.md").read_text(encoding="utf-8")
    commands = [line.removeprefix("symacct memory ").split("#")[0] for line in text.splitlines()
                if line.startswith("symacct memory ")]  # fmt: skip
    assert len(commands) >= 5
    for command in commands:
        status, _, err = run(*command.split())
        assert (status, err) == (0, ""), command


def test_the_sessions_of_the_page_are_true():
    """What the documentation says Python prints is what it prints."""
    text = (DOCS / "memory.md").read_text(encoding="utf-8")
    session = "\n".join(re.findall(r"```pycon\n(.*?)```", text, re.DOTALL))
    test = doctest.DocTestParser().get_doctest(session, {}, "memory.md", "memory.md", 0)
    assert test.examples
    assert doctest.DocTestRunner().run(test).failed == 0


# ---- sizes that have their value anyway ----


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("words", "bound"),
    [
        (("mla", "--workload", "decode", "--at", "B=2,T=64,S=1"), "S=1"),
        (("llama-3-8b", "--at", "B=2,S=64,L=32"), "L=32"),
        (("llama-3-8b", "--at", "B=2,S=64,T=64"), "T=64"),
    ],
)
def test_a_size_may_be_given_with_the_value_that_it_has(run, words, bound):
    """It changes nothing; another value is refused, with what to do."""
    status, out, _ = run(*words)
    assert status == 0
    assert out == run(*words[:-1], words[-1].replace(f",{bound}", ""))[1]
    name, _, value = bound.partition("=")
    status, _, err = run(*words[:-1], words[-1].replace(bound, f"{name}={int(value) + 1}"))
    assert status == 2
    assert f"size {name} of {words[0]} is bound already" in err
    assert f"leave {name} out" in err


def test_a_cache_is_pointed_to_where_training_binds_its_length(run):
    """T is S when training: symbols would not open it, a decode step does."""
    _, _, err = run("llama-3-70b", "--at", "B=32,T=8192")
    assert "leave T out; --workload decode has a KV cache of T tokens" in err
    assert "--symbolic" not in err
    assert run("llama-3-70b", "--workload", "decode", "--at", "B=32,T=8192")[0] == 0
    _, _, err = run("llama-3-70b", "--at", "B=32,L=8")
    assert "leave L out, or write --symbolic for a model" in err


@pytest.mark.parametrize(
    ("verb", "name"), [("memory", "adamw"), ("fit", "adamw"), ("plan", "adamw"), ("derive", "none")]
)
def test_help_names_the_optimizer_that_is_used(capsys, verb, name):
    """Verbs about a training run take AdamW unless one is named; the others take none."""
    assert main([verb, "--help"]) == 0
    assert f"default: {name}; see symacct list optimizers" in " ".join(capsys.readouterr().out.split())


@pytest.mark.long
def test_eager_attention_is_said_to_be(run):
    """Graphs with a core say what they keep, and what comes closest to a fused kernel; others say nothing."""
    at = ("--at", "b=2,s=8,a=2,h=8,V=10,L=3")
    assert "attention: eager: scores and probabilities are kept" in run("gpt", *at)[1]
    assert "attention: eager" not in run("gpt", *at, "--checkpoint", "selective:core")[1]
    assert "attention: eager" not in run("mlp", *AT)[1]
