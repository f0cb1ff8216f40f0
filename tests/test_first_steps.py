"""What a first user meets: a mistake that is easy to make is told with the words that mend it."""

from __future__ import annotations

import re
import shlex
import sys

import pytest

from symacct import Builder
from symacct.cli.main import main
from symacct.errors import GraphError

WRONG = 2


def complaint(capsys, *words):
    """What a command says of wrong input, and nothing else."""
    assert main([*words]) == WRONG
    out, err = capsys.readouterr()
    assert not out
    return err


# ---- attention over one axis ----


@pytest.mark.parametrize("fused", [False, True])
@pytest.mark.parametrize(("axis", "other"), [("P", "T"), ("T", "U")])
def test_attention_over_one_axis_says_that_two_are_needed(axis, other, fused):
    """What the error says to write makes the graph."""
    b = Builder("g", {"B": "", axis: "", other: "", "H": "", "K": ""})
    q, k, v = (b.input(name, f"B {axis} H K") for name in "qkv")
    with pytest.raises(GraphError, match="queries and keys need two axes") as caught:
        b.attention(q, k, v, query=axis, keys=axis, causal=False, fused=fused)
    error = caught.value
    assert f'b.keys(k, "{axis}", "{other}")' in error.fix
    assert f'keys="{other}"' in error.fix
    k, v = b.keys(k, axis, other), b.keys(v, axis, other)
    assert b.attention(q, k, v, query=axis, keys=other, causal=False, fused=fused).axes == (
        "B",
        axis,
        "H",
        "K",
    )


# ---- a number of parameters in the place of a model ----


@pytest.mark.parametrize(
    "words",
    [
        ["plan", "13B", "--tokens", "2T", "--on", "512xa100-sxm-80gb", "--mfu", "0.4"],
        ["plan", "7e9", "--tokens", "20 token/parameter"],
        [
            "mfu",
            "37B",
            "--tokens",
            "14.8T",
            "--time",
            "2.79e6 hour*device",
            "--on",
            "h100-sxm",
            "--dtype",
            "fp8",
        ],
    ],
)
def test_a_number_of_parameters_for_a_model_is_refused_with_the_command_that_does_it(capsys, words):
    err = complaint(capsys, *words)
    assert f"unknown graph or model '{words[1]}'" in err
    flat = " ".join(err.split())
    fix = shlex.split(re.search(r"--params: symacct (.*)", flat)[1])
    assert fix[:3] == [words[0], "--params", words[1]]
    assert main(fix) == 0


@pytest.mark.parametrize("name", ["13Bx", "nosuch", "B"])
def test_another_name_is_not_taken_for_a_number(capsys, name):
    assert "--params" not in complaint(capsys, "plan", name, "--tokens", "2T")


# ---- pictures ----


@pytest.mark.parametrize(
    "words",
    [
        ["memory", "gpt", "--checkpoint", "sqrt", "--picture", "x.svg"],
        ["roofline", "gpt", "--on", "h100-sxm", "-o", "x.svg"],
    ],
)
def test_a_picture_that_cannot_be_drawn_is_refused_before_anything_is_derived(monkeypatch, capsys, words):
    def never(*_args, **_more):
        raise AssertionError("derived first")

    monkeypatch.setattr("symacct.account.derive", never)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert "pictures need matplotlib" in complaint(capsys, *words)
    assert "SVG or PNG" in complaint(capsys, *words[:-1], "x.gif")


# ---- small things ----


def test_a_certificate_that_is_not_there_is_told_with_what_writes_one(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    err = complaint(capsys, "verify", "nothing.json")
    assert "there is no such certificate" in err
    assert "Errno" not in err
    command = re.search(r"fix +symacct (prove .*) writes one", " ".join(err.split()))[1]
    assert main(shlex.split(command)) == 0
    assert main(["verify", "proof.json"]) == 0
    capsys.readouterr()
    assert "got       a folder" in complaint(capsys, "verify", str(tmp_path))


def test_source_has_one_format(capsys):
    assert "--source is Python" in complaint(capsys, "show", "gpt", "--source", "--format", "json")
    assert main(["show", "gpt", "--source"]) == 0
    assert main(["show", "mlp", "--format", "json"]) == 0


def test_examples_of_the_help_run(capsys):
    """All of ``mfu``: each line of the help that starts with the command, as it stands there."""
    assert main(["mfu", "--help"]) == 0
    out = capsys.readouterr().out.replace("\\\n", " ")
    found = [shlex.split(line)[1:] for line in out.splitlines() if line.startswith("  symacct mfu")]
    assert len(found) >= 5
    for words in found:
        assert main(words) == 0
        assert "%" in capsys.readouterr().out


# ---- a unit behind a product ----


@pytest.mark.few(1)
@pytest.mark.parametrize("product", ["6*b*s*h*V", "6 b s h", "6*b*(s + h)", "6*b*s^2"])
def test_a_unit_behind_a_product_is_one(capsys, product):
    """Behind a space it is the unit of the whole; what does not agree is told of units, not of letters."""
    for unit in ("byte", "GB"):
        assert main(["prove", "gpt", f"memory.static = {product} {unit}"]) == 1
        assert "REFUTED" in capsys.readouterr().out
    for unit in ("FLOP", "day"):
        assert "cannot be compared" in complaint(capsys, "prove", "gpt", f"memory.static = {product} {unit}")


def test_a_name_behind_a_product_is_still_a_name(capsys):
    assert "unknown name" in complaint(capsys, "prove", "gpt", "memory.static = 6*b*nosuch")
    assert main(["prove", "cost = 6*b*width where width = 2*b", "--format", "json"]) in {0, 1}


# ---- one judgement, wherever it stands ----

WRONG_UNIT = """
[[claim]]
name = "wrong unit"
calc = "6 FLOP/(param*token) * 13e9 param * 2e12 token / (devices * peak * 40 %)"
on = "512xa100-sxm-80gb"
to = "day"
"""
RIGHT_UNIT = WRONG_UNIT.replace("devices * ", "")
CLAIM = """
[[claim]]
name = "wrong word"
graph = "gpt"
claim = "flops.forward = 6*b*s*h*V byte"
expect = "proved"
"""


@pytest.mark.parametrize("value", ["", 'value = "28.3"\nwithin = "0.1"\n'])
@pytest.mark.parametrize(("text", "status"), [(WRONG_UNIT, 1), (RIGHT_UNIT, 0)])
def test_prove_and_sheet_judge_a_calculation_alike(tmp_path, capsys, monkeypatch, text, status, value):
    """By the refusal of the judge, who knows what a machine's figures are, with and without a value."""
    monkeypatch.setenv("COLUMNS", "300")
    file = tmp_path / "c.toml"
    file.write_text(text + value, encoding="utf-8")
    assert main(["prove", str(file)]) == status
    proved = capsys.readouterr().out
    assert main(["sheet", str(file)]) == status
    sheet = capsys.readouterr().out
    for out in (proved, sheet):
        assert ("refused" in out) == bool(status)
        assert ("the unit of the formula is second/device, not day" in out) == bool(status)
        assert "unknown name" not in out
    assert ("DIFFERS" in proved) == bool(status)


@pytest.mark.parametrize("text", [WRONG_UNIT, CLAIM])
def test_a_refused_row_says_on_a_full_sheet_how_it_is_mended(tmp_path, capsys, monkeypatch, text):
    monkeypatch.setenv("COLUMNS", "1000")
    file = tmp_path / "c.toml"
    file.write_text(text, encoding="utf-8")
    main(["prove", str(file)])
    fix = re.search(r"fix +(.*)", capsys.readouterr().out)[1]
    main(["sheet", str(file), "--style", "full"])
    assert f"fix: {fix}" in capsys.readouterr().out
    main(["sheet", str(file)])
    assert "fix:" not in capsys.readouterr().out
