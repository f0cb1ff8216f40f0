"""Claim files: what ships gets its expected verdicts; what is wrong is refused with its place."""

import json
from pathlib import Path

import pytest

from symacct.cli import main
from symacct.errors import ReadError
from symacct.proof.judge import judge
from symacct.readers.claim_files import claims_in
from symacct.readers.stated import Stated

GOOD = '[[claim]]\nname = "a"\nclaim = "n <= 2*n"\nexpect = "proved"\n'


@pytest.fixture
def run(capsys, monkeypatch):
    """Run the command in process and return its status, output and complaint."""
    monkeypatch.setenv("COLUMNS", "100")

    def call(*words):
        status = main(list(words))
        captured = capsys.readouterr()
        return status, captured.out, captured.err

    return call


@pytest.mark.parametrize("name", ["chain", "number-formats"])
def test_what_ships_is_as_expected(name, run):
    """By the command; every claim of every file is judged in the tests of shipped claims."""
    status, said, complaint = run("prove", name)
    assert (status, complaint) == (0, ""), said
    assert said.splitlines()[-1].endswith("are as expected") or said.rstrip().endswith("reported only")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[[claim", "the TOML is broken\n  where     my.toml\n  expected  valid TOML"),
        ("x = " + "[" * 5000, "my.toml"),
        ("", "a claim file holds [[claim]] tables\n  where     my.toml\n  expected  [[claim]]\n"),
        ("[claim]\nname = 'a'", "got       [claim]"),
        ("claim = [1]", ("a claim is a table\n  where     my.toml, claim 1\n  expected  [[claim]]\n"
                        "  got       a number: 1")),
        ("clam = 1", ("unknown key 'clam'\n  where     my.toml\n"
                     "  expected  one of: about, about_zh, claim, source\n"
                     "  got       clam\n  fix       did you mean 'claim'?")),
        ("[[claim]]\nclaim = 'n = n'", "a claim has no name\n  where     my.toml, claim 1"),
        (GOOD + "expects = 'x'", "unknown key 'expects'\n  where     my.toml, claim a"),
        (GOOD + GOOD, ("two claims are called 'a'\n  where     my.toml\n  expected  each name once\n"
                      "  got       'a' again, claim 2")),
        (GOOD.replace("proved", "right"), "unknown expected verdict 'right'\n  where     my.toml, claim a"),
        (GOOD.replace("expect", "comment"), "a claim says what is expected of it\n  where     my.toml, "),
        (GOOD + "calc = '1'", ("a claim states one thing\n  where     my.toml, claim a\n"
                              "  expected  claim = ... or calc = ...\n  got       both")),
        ("[[claim]]\nname = 'a'", "got       neither"),
        (GOOD + "value = '1'", "value says nothing of a claim"),
        ("[[claim]]\nname = 'a'\ncalc = '1'\ngraph = 'gpt'", "graph says nothing of a calculation"),
        ("[[claim]]\nname = 'a'\ncalc = '1'\nvalue = 1.5", ("value is text\n  where     my.toml, claim a\n"
         '  expected  value = "..."\n  got       a number: 1.5\n  fix       write value = "1.5"')),
        (GOOD + "let = 'N = 1'", ("let is a list of texts\n  where     my.toml, claim a\n"
         '  expected  let = ["..."]\n  got       a text: N = 1\n  fix       write let = ["N = 1"]')),
        (GOOD + "symbolic = 1", "symbolic is true or false"),
        (GOOD + "graph = 'gpt'\nmodel = 'gpt2'", "a claim is of one graph"),
        (GOOD + "section_zh = '一'", "a title in Chinese has one beside it\n  where     my.toml, claim a"),
    ],
)  # fmt: skip
def test_refusals_name_file_and_claim(text, said):
    """Each beside the valid neighbour above it."""
    assert claims_in(GOOD, Path("my.toml")).claims[0].expect == "proved"
    with pytest.raises(ReadError) as caught:
        claims_in(text, Path("my.toml"))
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("choices", "got", "ok"),
    [
        ({"claim": "n = n", "expect": "proved"}, "proved", True),
        ({"claim": "n = n", "expect": "refuted"}, "proved", False),
        ({"claim": "n + 1 = n", "expect": "refuted"}, "refuted (leading order, lower bound)", True),
        ({"claim": "n + 1 = n", "expect": "lower bound"}, "refuted (leading order, lower bound)", True),
        ({"claim": "n + 1 = n", "expect": "upper bound"}, "refuted (leading order, lower bound)", False),
        ({"claim": "n <= n + 1", "expect": "leading order"}, "proved", False),
        ({"claim": "n = 1 +", "expect": "refused"}, "refused", True),
        ({"claim": "n = 1 +", "expect": "proved"}, "refused", False),
        ({"claim": "n = 1 +", "expect": "reported"}, "not judged", True),
        ({"claim": "n = n + 1", "expect": "refuted", "instead": "n + 1 >= n"},
         "refuted (leading order, upper bound)", True),
        ({"claim": "n = n + 1", "expect": "refuted", "instead": "n >= n + 1"},
         "refuted (leading order, upper bound)", False),
        ({"calc": "2 byte * 70e9", "to": "GB", "value": "140"}, "proved", True),
        ({"calc": "2 byte * 70e9", "to": "GB", "value": "139", "within": "0.5"}, "refuted", False),
        ({"calc": "2 byte * 70e9", "to": "GB", "value": "139", "within": "1"}, "proved", True),
        ({"calc": "2 byte * 70e9", "to": "GB", "value": "139", "within": "1 %"}, "proved", True),
        ({"calc": "2 byte * 70e9", "to": "GB", "value": "139", "within": "0.5 %", "expect": "refuted"},
         "refuted", True),
        ({"calc": "2 byte + 1 FLOP", "value": "3", "expect": "refused"}, "refused", True),
        ({"graph": "deep_linear", "claim": "flops.model = 6*B*D^2*L", "input_grad": True}, "proved", True),
        ({"graph": "deep_linear", "claim": "flops.model = 4*B*D^2", "at": "L=1"}, "proved", True),
        ({"graph": "nowhere", "claim": "flops.model = 1"}, "refused", False),
    ],
)  # fmt: skip
def test_a_verdict_meets_its_expectation_or_differs(choices, got, ok):
    """A weaker expectation is met by a claim that is not proved; wrong input may be expected too."""
    found = judge(Stated("a", "my.toml, claim a", **choices))
    assert (found.got, found.ok) == (got, ok)


def test_a_file_fails_when_a_verdict_differs(run, tmp_path):
    """The table says which, and why; the status is 1."""
    file = tmp_path / "my.toml"
    file.write_text(GOOD + GOOD.replace('"a"', '"b"').replace("n <= 2*n", "2*n <= n"))
    status, said, _ = run("prove", str(file))
    assert status == 1
    assert (
        said
        == """\
claims my

name  claim     expected  got                    ok
----  --------  --------  ---------------------  -------
a     n <= 2*n  proved    proved                 ok
b     2*n <= n  proved    refuted (lower bound)  DIFFERS
    it fails at a point

1 of 2 claims are as expected
"""
    )
    status, said, _ = run("prove", str(file), "--format", "json")
    found = json.loads(said)["result"]["claims"]
    assert (status, [(one["name"], one["got"], one["ok"]) for one in found]) == (
        1, [("a", "proved", True), ("b", "refuted (lower bound)", False)]
    )  # fmt: skip
    assert found[1]["verdict"]["counterexample"]["sizes"] == {"n": 1}


def test_paths_of_graphs_start_from_the_file(run, tmp_path, monkeypatch):
    """A file and its graph may lie together anywhere."""
    source = 'from symacct import graph\n\n\n@graph({"B": "rows", "D": "in", "K": "out"})\ndef one(b):\n'
    source += '    return b.einsum("B D, D K -> B K", b.input("x", "B D"), b.weight("w", "D K"))\n'
    (tmp_path / "mine.py").write_text(source)
    monkeypatch.chdir(Path("/"))
    text = (
        '[[claim]]\nname = "a"\ngraph = "mine.py:one"\nclaim = "flops.forward = 2*B*D*K"\nexpect = "proved"\n'
    )
    (tmp_path / "my.toml").write_text(text)
    status, said, _ = run("prove", str(tmp_path / "my.toml"), "--run-python")
    assert status == 0, said


def test_names_of_files_that_ship_are_listed(run):
    """``list claims`` counts what a file states; an unknown name offers the nearest."""
    status, said, _ = run("list", "claims", "--format", "json")
    found = {one["name"]: one["claims"] for one in json.loads(said)["result"]}
    assert (status, found["chain"]) == (0, "3")
    assert run("prove", "chian")[2].endswith("fix       did you mean 'chain'?\n")
    assert "there is no file" in run("prove", "nowhere.toml")[2]
