"""Printing and reading are inverse: a sample of what ``benchmarks/inverse.py`` does at length."""

from __future__ import annotations

import sys
from fractions import Fraction
from pathlib import Path

import pytest

from symacct.syntax import parse

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))
import inverse

COUNT, PARTS = 240, 3


@pytest.mark.few(1)
@pytest.mark.parametrize("seed", range(PARTS))
def test_random_formulas_are_read_as_what_was_printed(seed):
    """In text, LaTeX and Markdown, with declared names and without."""
    counts, wrong = inverse.batch((seed, COUNT // PARTS))
    assert not wrong, wrong[0]
    for notation in ("text", "LaTeX", "Markdown", "text of an expression", "LaTeX of an expression"):
        assert counts[f"{notation}, declared"]
        assert counts[f"{notation}, alone"]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("a/(b*c)", "a/b*c"),
        ("a^(2^b)", "(a^2)^b"),
        ("-a^2", "(-a)^2"),
        ("max(a, b)", "min(a, b)"),
        ("ceil(a/b)", "a/b"),
        ("a!", "a"),
        ("binomial(a, b)", "binomial(b, a)"),
    ],
)
def test_the_comparison_tells_formulas_apart(first, second):
    """The arithmetic of the check is not blind."""
    one, other = (parse(text, "abc") for text in (first, second))
    assert not inverse.same_at(one, other, inverse.random.Random(0))


def test_the_arithmetic_is_exact():
    """A root of a square is a fraction, and so is what is rounded."""
    sizes = {"a": Fraction(9, 4), "b": Fraction(2)}
    assert inverse.worth(parse("sqrt(a)*b^(-2) + ceil(a)", "ab"), sizes) == Fraction(27, 8)
