"""A claim that is false shows what is true in its place, whatever kind of claim it is."""

from __future__ import annotations

from pathlib import Path

import pytest

from symacct.readers.stated import Stated
from symacct.sheet.data import Section, Sheet
from symacct.sheet.from_claims import Claims
from symacct.sheet.plain import text_of

CHAIN = {"graph": "deep_linear"}
CASES = {
    "a format's step": ({}, "epsilon(bf16) = 4*epsilon(fp16)", "epsilon(bf16) = 1/128"),
    "a peak, in the unit claimed": ({"on": "h100-sxm"}, "peak = 1979 TFLOP/s", "peak = 989.5 TFLOP/s"),
    "an amount without a decimal form": ({}, "1 GB/3 = 300 MB", "(1 GB)/3 = (1000 MB)/3"),
    "a threshold": (
        CHAIN,
        "flops.model >= 5*B*D^2*L iff L >= 3",
        "flops.model >= 5*B*D^2*L iff L >= 2",
    ),
    "a threshold of algebra": ({}, "x^2 >= 4*x iff x >= 5", "x^2 >= 4*x iff x >= 4"),
    "a minimum": ({}, "min_k (k + n/k) = 3*sqrt(n)", "min_k (k + n/k) = 2*sqrt(n)"),
    "its place": ({}, "argmin_k (k + n/k) = 2*sqrt(n)", "argmin_k (k + n/k) = sqrt(n)"),
    "a limit": ({}, "lim_n((2*n+1)/n) = 3", "lim_n ((2*n + 1)/n) = 2"),
    "a quantity": (CHAIN, "flops.backward = 2*flops.forward", "4*B*D^2*L - 2*B*D^2 [FLOP]"),
    "a ratio": (CHAIN, "flops.backward/flops.forward = 2", "flops.backward/flops.forward = 2 - 1/L"),
    "an order": (CHAIN, "flops.model = Theta(L^2)", "= Theta(L)"),
    "a bound of growth": (CHAIN, "flops.backward/flops.forward = Theta(L)", "= Theta(1)"),
    "names that stand for formulas": (
        {},
        "k*c + n*A/k = 3*sqrt(n*A*c) where k = sqrt(n*A/c)",
        "k*c + n*A/k = 2*sqrt(A*c*n)",
    ),
}


def shown(text, more):
    claims = Claims()
    row = claims.row(Stated("one", "one", claim=text, **{"expect": "proved", **more}), Path())
    return row, text_of(Sheet("", "", (Section("", (row,)),)), 400)


@pytest.mark.few(3)
@pytest.mark.parametrize("case", CASES)
def test_a_false_claim_shows_what_is_true(case):
    more, claimed, right = CASES[case]
    row, text = shown(claimed, more)
    assert row.mark == "refuted"
    assert f"right: {right}" in " ".join(text.split())


@pytest.mark.few(1)
@pytest.mark.parametrize(
    "case", [case for case in CASES if " = " in CASES[case][2] and "[" not in CASES[case][2]]
)
def test_what_is_shown_instead_is_proved(case):
    """The right term, taken as a claim, holds."""
    more, claimed, right = CASES[case]
    text = right if not right.startswith("=") else claimed.partition(" = ")[0] + f" {right}"
    where = claimed.partition(" where ")[2]
    row, _ = shown(f"{text} where {where}" if where else text, more)
    assert row.mark == "proved"
    assert not row.instead


def test_where_no_single_term_says_it_a_counterexample_does():
    row, text = shown("x + y >= 3*x", {})
    assert row.mark == "refuted"
    assert not row.instead
    assert "refuted, e.g. at x = 1, y = 1" in text
