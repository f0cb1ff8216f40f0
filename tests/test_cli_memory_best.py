"""The best length of a segment, from the command line."""

import json

import pytest

from symacct.cli.main import main


def test_the_root_of_the_count_is_best_for_what_is_saved(capsys):
    assert main(["memory", "mlp", "--checkpoint", "every:k", "--best"]) == 0
    out = capsys.readouterr().out
    first, second = out.split("best k for memory.peak")
    assert "sqrt(L)  every size" in first
    assert "sqrt(B*L/(B + D))" in second
    assert "nothing is saved at any such k where D >= B" in second


def test_at_sizes_the_integer_stands_beside(capsys):
    words = ["--checkpoint", "every:k", "--best", "--at", "B=64,D=16,L=10", "--format", "json"]
    assert main(["memory", "mlp", *words]) == 0
    found = json.loads(capsys.readouterr().out)["result"]["memory.peak"]["integer"]
    assert (found["k"], found["divisor"][0], found["root"][0]) == (3, 2, 4)


@pytest.mark.parametrize("policy", ["none", "every:4", "every:k,none"])
def test_a_policy_without_a_name_for_its_length_has_no_best_one(policy, capsys):
    assert main(["memory", "mlp", "--checkpoint", policy, "--best"]) == 2
    assert "expected  --checkpoint every:k --best" in capsys.readouterr().err
