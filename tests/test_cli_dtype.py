"""``symacct dtype`` and ``symacct list dtypes``: what is read, what is written, what is refused."""

from __future__ import annotations

import csv
import doctest
import io
import json
import re
import shlex
from fractions import Fraction
from pathlib import Path

import pytest

from symacct.cli import main
from symacct.formats import BITS, BLOCKS, ELEMENTS, find, read
from symacct.policy import DTYPE_BITS, precision


@pytest.fixture
def run(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")

    def call(*words):
        status = main(list(words))
        return status, *capsys.readouterr()

    return call


def record(run, *words):
    status, out, err = run("dtype", *words, "--format", "json")
    assert (status, err) == (0, "")
    made = json.loads(out)
    assert (made["schema"], made["command"]) == ("symacct/2", "dtype")
    return made["result"]


FP4 = """\
fp4_e2m1: element of MXFP4 and NVFP4 (OCP Microscaling Formats (MX) Specification 1.0, sections 5 and 6)
1 sign, 2 exponent and 1 fraction bits, bias 1; 4 bits
special values: every code is a number: no infinities, no not-a-number; too large: the largest number

fact                  value  how
--------------------  -----  ----------------------------------------------
bits stored               4  sign + exponent + fraction
largest                   6  1.5 * 2^2
smallest normal           1  2^0
smallest subnormal      0.5  2^-1
rounds to zero up to   0.25  2^-2, half of the smallest
epsilon                 0.5  2^-1, from 1 to the next number
unit roundoff          0.25  no relative error of a normal number is larger
finite numbers           15  both zeros counted once
integers exact up to      4  2^2

value  becomes  code  error  relative     ulp  what happens
-----  -------  ----  -----  --------  ------  -------------------------------------
2.5          2   0x4   -0.5      -0.2     0.5  rounded
-0.25       -0   0x8   0.25        -1     0.5  underflow: at most half of 2^-1, so 0
100          6   0x7    -94     -0.94  2.9375  saturated
0xb       -1.5   0xb      0         0       0  exact
"""


def test_the_whole_page(run):
    assert run("dtype", "fp4", "2.5", "-0.25", "100", "0xb") == (0, FP4, "")


MXFP4 = """\
value  code  becomes  error  without the largest  error then
-----  ----  -------  -----  -------------------  ----------
block 1: scale 16 (0x83), set by its largest element, 100
    1  0x0         0     -1                    1           0
   -2  0x8         0      2                   -2           0
  100  0x7        96     -4
  the others lose up to 2, without 100 up to 0; become 0: 2, without it 0

stored: 3 * 4 + 1 * 8 = 20 bits
"""


def test_a_vector_with_an_outlier(run):
    status, out, _ = run("dtype", "mxfp4", "1", "-2", "100")
    assert status == 0
    assert out.endswith(MXFP4)
    assert "4.25  4 + 8/32\n" in out


def test_fp16_loses_what_bf16_keeps(run):
    lost, kept = (record(run, name, "1e-8")["values"][0] for name in ("fp16", "bf16"))
    assert (lost["result"]["exact"], lost["outcome"], lost["relative"]["exact"]) == ("0", "underflow", "-1")
    assert (kept["result"]["exact"], kept["outcome"]) == ("43/4294967296", "rounded")


@pytest.mark.parametrize(
    ("text", "exact"),
    [
        ("-1e-8", "-1/100000000"), ("-1/3", "-1/3"), ("-448", "-448"), ("-.5", "-1/2"), ("-inf", "-inf"),
        ("-2^-3", "-1/8"), ("3*2^4", "48"), ("+0.1", "1/10"), ("1.", "1"), ("nan", "nan"),
        ("Infinity", "inf"),
        ("-0", "-0"), ("0x3c00", "1"), ("0b1", "1/16777216"), ("1_000", "1000"), ("−2", "-2"), ("１", "1"),
    ],
)  # fmt: skip
def test_values_are_read_exactly_signs_included(run, text, exact):
    [made] = record(run, "fp16", text)["values"]
    assert made["exact"] == exact


def test_flags_may_stand_among_negative_values(run):
    status, out, _ = run("dtype", "fp16", "-1e-8", "--format", "json", "-1")
    assert status == 0
    assert [one["exact"] for one in json.loads(out)["result"]["values"]] == ["-1/100000000", "-1"]


def test_json_is_exact_and_whole(run):
    made = record(run, "fp16", "0.1", "65520")
    assert made["facts"]["largest"] == {"value": 65504, "exact": "65504"}
    assert made["facts"]["smallest subnormal"]["exact"] == "1/16777216"
    rounded, over = made["values"]
    assert Fraction(rounded["result"]["exact"]) - Fraction(1, 10) == Fraction(rounded["error"]["exact"])
    assert (over["result"]["exact"], over["saturated"]["exact"], over["error"]) == ("inf", "65504", None)
    blocks = record(run, "nvfp4", "1", "2", "1e3")
    [block] = blocks["blocks"]
    scale = Fraction(block["scale"]["exact"])
    assert scale == find("e4m3").decode(int(block["scale_code"], 16)).number * Fraction(
        blocks["tensor_scale"]["exact"]
    )
    codes = [find("fp4").decode(int(code, 16)).number for code in block["codes"]]
    assert [code * scale for code in codes] == [Fraction(result["exact"]) for result in block["results"]]


def test_every_code_of_a_small_format(run):
    codes = record(run, "e4m3", "--all-values")["codes"]
    assert (len(codes), codes[0x7E]["exact"], codes[0x7F]["exact"], codes[0x80]["exact"]) == (
        256,
        "448",
        "nan",
        "-0",
    )
    _, out, _ = run("dtype", "fp4", "--all-values")
    assert "0x7   0 11 1      6  1.5 * 2^2\n" in out
    assert record(run, "int4", "--all-values")["codes"][15]["exact"] == "-1"
    assert record(run, "e8m0", "--all-values")["codes"][0]["exact"] == f"1/{2**127}"


def test_the_two_ways_to_240_are_shown(run):
    for name in ("fp8_e4m3fnuz", "fp8_e4m3_ieee"):
        assert re.search(r"^largest +240  1\.875 \* 2\^7$", run("dtype", name)[1], re.MULTILINE)


def test_groups_of_a_choice(run):
    made = record(run, "int8", "--block", "128")
    assert made["facts"]["bits an element"]["exact"] == "65/8"
    made = record(run, "int4", "7", "-3", "--block", "32", "--scale", "bf16")
    assert made["facts"]["bits an element"]["exact"] == "9/2"
    assert [one["exact"] for one in made["blocks"][0]["results"]] == ["7", "-3"]


def test_markdown(run):
    status, out, _ = run("dtype", "mxfp4", "1", "100", "--format", "markdown")
    assert status == 0
    assert "| bits an element | 4.25 | 4 + 8/32 |" in out


@pytest.mark.parametrize("name", [*ELEMENTS, *BLOCKS])
def test_every_format_has_a_page(run, name):
    status, out, err = run("dtype", name, "1", "-1" if name != "e8m0" else "2")
    assert (status, err) == (0, "")
    assert out.startswith(f"{name}: ")
    assert max(map(len, out.splitlines())) <= 120


LONG = "9" * 1_000_000


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (["fp8"], "expected  fp8_e4m3 or fp8_e5m2"),
        (["mxfp6"], "expected  mxfp6_e2m3 or mxfp6_e3m2"),
        (["fpp16"], "did you mean 'fp16'?"),
        (["fp16", LONG], "a number is too long"),
        (["fp16", "1e999999999"], "an exponent is too large"),
        (["fp16", "2^-999999999"], "an exponent is too large"),
        (["fp16", "1e" + "0" * 500 + "9" * 500], "an exponent is too large"),
        (["fp16", "1e1101"], "an exponent is too large"),
        (["fp16", "1/0"], "a number is divided by zero"),
        (["fp16", "abc"], "'abc' is not a number"),
        (["fp16", "__import__('os')"], "is not a number"),
        (["fp16", "1,000"], "'1,000' is not a number"),
        (["fp16", "0x10000"], "0x10000 is no code of fp16"),
        (["tf32", "0x1"], "expected  32 bits, the last 13 of them 0"),
        (["fp4", "nan"], "fp4_e2m1 cannot hold not-a-number"),
        (["e8m0", "0"], "e8m0 cannot hold zero"),
        (["mxfp4", "inf"], "'inf' cannot stand in a block"),
        (["mxfp4", "0x7"], "'0x7' cannot stand in a block"),
        (["mxfp4", *["1"] * 5000], "expected  at most 4096"),
        (["mxfp4", "--all-values"], "fix       dtype fp4_e2m1"),
        (["fp16", "--all-values"], "fp16 has 2^16 codes"),
        (["mxfp4", "--block", "8"], "mxfp4 has blocks of its own"),
        (["int8", "--block", "0"], "a block is too small"),
        (["int8", "--scale", "fp16"], "--scale needs a block"),
        (["int8", "--block", "8", "--scale", "int8"], "a scale is a floating-point number"),
        (["fp16", "-x"], "unrecognized arguments: -x"),
        ([], "required: NAME"),
    ],
)
def test_refusals(run, words, part):
    status, out, err = run("dtype", *words)
    assert (status, out) == (2, "")
    assert part in err
    assert len(err) < 2000


def test_the_longest_numbers_that_are_read(run):
    """The valid neighbours of what is refused, printed and exact."""
    for text in ("9" * 1200, "1e-1100", "2^1100", "-1e1100", "1/" + "9" * 1100, "0." + "0" * 1100 + "1"):
        [made] = record(run, "fp64", text)["values"]
        assert made["exact"] == str(read(text).number)
        assert run("dtype", "bf16", text)[0] == 0
        assert run("dtype", "mxfp8", "1e-30", "1/3")[0] == 0


def test_list_dtypes_has_the_storage_names(run):
    status, out, _ = run("list", "dtypes", "--format", "csv")
    rows = {row["name"]: row for row in csv.DictReader(io.StringIO(out))}
    assert status == 0
    assert {name: Fraction(row["bits"]) for name, row in rows.items()} == dict(DTYPE_BITS)
    assert (rows["fp8_e4m3"]["largest"], rows["bf16"]["epsilon or step"]) == ("448", "0.0078125")
    assert set(BITS) == set(DTYPE_BITS)


def test_formats_are_dtypes_of_a_precision(run):
    """Half bytes and shares of scales reach the bytes of a tensor; the name fp8 still stands for 8 bits."""
    for name, each in {
        "mxfp4": "17*D^2*L/32",
        "nvfp4": "9*D^2*L/16",
        "int4": "D^2*L/2",
        "fp8": "D^2*L",
    }.items():
        _, out, _ = run(
            "derive", "deep_linear", "--precision", f"params={name}", "--only", "memory.parameters"
        )
        assert out.rstrip().endswith(each)
    assert precision("params=mxfp4").grads == "bf16"
    with pytest.raises(Exception, match="unknown dtype 'mxfp5'"):
        precision("params=mxfp5")


DOCS = (Path(__file__).parent.parent / "docs" / "number-formats.md").read_text(encoding="utf-8")
COMMANDS = re.findall(r"^```console\n\$ symacct (.*)\n((?:.*\n)*?)```$", DOCS, re.MULTILINE)


@pytest.mark.parametrize(("command", "shown"), COMMANDS)
def test_the_documentation_shows_what_is_written(run, monkeypatch, command, shown):
    monkeypatch.setenv("COLUMNS", "100")
    _, out, err = run(*shlex.split(command))
    assert out + err == shown


def test_the_examples_of_the_documentation_run():
    session = "\n".join(re.findall(r"^```pycon\n(.*?)^```", DOCS, re.DOTALL | re.MULTILINE))
    test = doctest.DocTestParser().get_doctest(session, {}, "number-formats.md", "number-formats.md", 0)
    told: list[str] = []
    runner = doctest.DocTestRunner()
    runner.run(test, out=told.append)
    assert (len(COMMANDS), len(test.examples), runner.failures) == (5, 8, 0), "".join(told)
