"""Published thresholds and fits, each answered by `solve`, with the place where it was published."""

from __future__ import annotations

from fractions import Fraction

import pytest

from symacct.account import derive
from symacct.algebra.symbols import symbol
from symacct.planning.solve import solve
from symacct.planning.solve_roots import Root
from symacct.readers.files import load

SCALING_BOOK = "How to Scale Your Model (2025)"


def first(found):
    """Return where an answer begins or ends, or its one value, as a float."""
    (span,) = found.spans
    root = span.low if span.low is not None else span.high
    assert isinstance(root, Root)
    return float(root.close().low)


WORK = "2*B*D*F * 1 FLOP/(3.94e14 FLOP/s) where D = 4096, F = 16384"
CASES = [
    # what is asked, the unknown, what was published, how near that is, who says so
    ("24*B*T*D*N*H = 12*B*T^2*N*H where D = 4096, B = 3, N = 32, H = 128",
     "T", 8192, 0, f"{SCALING_BOOK}, attention, question 5"),
    ("B * 1 FLOP/byte >= 197e12 FLOP/s / (8.2e11 byte/s)",
     "B", 240, 0.01, f"{SCALING_BOOK}, rooflines, TPU v5e bf16"),
    ("B * 1 FLOP/byte >= 989e12 FLOP/s / (3.35e12 byte/s)",
     "B", 295, 0.01, "Stanford CS336 2025, lecture 10"),
    ("B * 1 FLOP/byte >= 1e15 FLOP/s / (3.35e12 byte/s)",
     "B", 298, 0.01, f"{SCALING_BOOK}, rooflines, problem 5"),
    ("2*B * 1 FLOP/byte >= 197e12 FLOP/s / (8.2e11 byte/s)",
     "B", 120, 0.01, f"{SCALING_BOOK}, rooflines, int8 weights"),
    (f"(D*F + (D + F)*B) * 1 byte/(8.1e11 byte/s) <= {WORK}",
     "B", 262.7086, 1e-6, f"{SCALING_BOOK}, TPUs, question 4: 271 is printed, of rounded sides"),
    (f"(D*F + (D + F)*B) * 1 byte/(22*8.1e11 byte/s) <= {WORK}",
     "B", 11, 0.01, f"{SCALING_BOOK}, TPUs, question 4, from VMEM"),
    ("c * 96 GB/device >= 21.6 TB",
     "c", 225, 0, f"{SCALING_BOOK}, how many TPUs are needed"),
    ("c * 16 GB/device >= 70 GB + 240*32768*162 kB",
     "c", 84.00124, 1e-6, f"{SCALING_BOOK}, KV caches: 86 is printed, of a rounded sum"),
    ("n * 2097152 byte/token <= 160 GB - 104 GB",
     "n", 26702.88, 1e-6, "Transformer Inference Arithmetic: 23000 is printed, a slip"),
    ("34 = 5*a*s/h where h = 128*12, a = 12",
     "s", 870.4, 1e-9, "the crossing of 34sbh and 5as^2b, for heads of 128"),
    ("2*C/W <= D * 1 FLOP/byte where C = 197e12 FLOP/s, W = 45e9 byte/s",
     "D", 8755, 0.001, f"{SCALING_BOOK}, rooflines, exchange of partial sums"),
    ("B * 1 FLOP/byte/device >= C/W where C = 459e12 FLOP/s/device, W = 180e9 byte/s",
     "B", 2550, 0, f"{SCALING_BOOK}, training, TPU v5p"),
    ("n * 850 token/device <= 40e6 token",
     "n", 47058.82, 1e-6, f"{SCALING_BOOK}, training: 47,000 devices"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "name", "value", "near", "source"), CASES)
def test_published(text, name, value, near, source):
    """The exact answer is the published one, or what it should have been."""
    found = solve(None, text, name)
    assert first(found) == pytest.approx(value, rel=near or 1e-12), source
    assert found.checks[0].said == "both sides are equal"


def test_whole_devices():
    """84.0 devices are 85, and 225 are 225."""
    found = solve(None, "c * 16 GB/device >= 70 GB + 240*32768*162 kB", "c", integer=True)
    assert found.smallest == 85
    assert [check.holds for check in found.checks] == [False, True]
    assert solve(None, "c * 96 GB/device >= 21.6 TB", "c", integer=True).smallest == 225


@pytest.mark.parametrize(("inner", "wide", "times"), [("3*2*B*T*D*F", "4*D", 8), ("2*2*B*T*D*F", "4*D", 6)])
def test_attention_against_the_rest(inner, wide, times):
    """Attention is as much as the matrices at T = 8D with three of them and F = 4D, at T = 6D with two.

    Source: How to Scale Your Model (2025), transformers; Narayanan et al. 2021 (arXiv:2104.04473), eq. 3.
    """
    found = solve(None, f"3*4*B*T^2*D = 3*({inner} + 8*B*T*D^2) where F = {wide}", "T")
    assert found.formula == times * symbol("D")


def test_scores_against_projections_of_a_graph():
    """2D: where scores cost as much as the four projections, derived from gpt's own regions."""
    account = derive(load("gpt"))
    text = "flops.forward(core) = flops.forward(attention) - flops.forward(core)"
    assert solve(account, text, "s").formula == 2 * symbol("h")


def test_decoding_over_links():
    """F/(B*beta): 64 for F = 16384, B = 32, beta = 8. Source: How to Scale Your Model (2025), inference."""
    found = solve(None, "2*D*F/(Y*H) <= 2*B*D/I where H = beta*I", "Y")
    F, B, beta = symbol("F"), symbol("B"), symbol("beta")
    assert found.formula == F / (B * beta)
    assert found.formula.subs({F: 16384, B: 32, beta: 8}) == 64
    assert found.cases[0].relation == ">="


def test_exact_threshold_of_a_graph():
    """The exact batch of an 8-bit linear layer from its bytes and operations: 262.7, not 271."""
    C, W, D, F = 394 * 10**12, 81 * 10**10, 4096, 16384
    found = solve(None, f"(D*F + (D + F)*B)/{W} <= 2*D*F*B/{C} where D = {D}, F = {F}", "B")
    assert found.spans[0].low.low == Fraction(D * F) / (Fraction(2 * D * F * W, C) - (D + F))
