"""Odd flags end in words: sizes of the policy at 0, graphs without parameters, sizes that are no integers."""

from __future__ import annotations

import pytest

from symacct import derive, load
from symacct.cli.main import main
from symacct.errors import SizeError
from symacct.policy import Policy, checkpoint


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("derive", "gpt", "--accumulate", "N", "--at", "N=0"), "N is out of range"),
        (("roofline", "gpt", "--accumulate", "N", "--at", "N=0"), "N is out of range"),
        (("memory", "gpt", "--checkpoint", "every:k", "--at", "k=0"), "k is out of range"),
        (("fit", "gpt2", "--on", "h100-sxm", "--checkpoint", "every:k", "--at", "k=0,B=1,S=8"), "k"),
        (("plan", "relu", "--at", "B=8,D=4"), "a model with parameters"),
        (("plan", "add", "--on", "h100-sxm", "--tokens", "1B"), "a model with parameters"),
    ],
)
def test_odd_flags_are_refused_in_words(capsys, words, said):
    """With status 2, and never a traceback."""
    assert main(list(words)) == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize("size", [0, -1])
def test_symbols_of_a_policy_are_at_least_1(size):
    """The valid neighbour is bound, and counts."""
    for policy in (Policy(accumulate=derive(load("mlp"), accumulate="N").policy.accumulate),
                   Policy(checkpoint=checkpoint("every:k"))):  # fmt: skip
        (name,) = policy.names
        with pytest.raises(SizeError, match="out of range"):
            policy.bind({name: size})
        assert policy.bind({name: 1}).names == ()


@pytest.mark.parametrize("verb", ["memory", "derive"])
@pytest.mark.parametrize("assumed", ["D = 1/L", "D = L/2", "D = sqrt(L)"])
def test_a_width_that_is_no_integer_ends_in_words(capsys, verb, assumed):
    """An answer or a refusal, whatever the formula in the place of a size."""
    assert main([verb, "lora", "--assume", assumed]) in (0, 2)
    shown = capsys.readouterr()
    assert shown.out or shown.err
