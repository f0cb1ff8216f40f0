"""Published formulas of serving and of several devices, as far as a graph and a stated communication go.

Source where no other is named: How to Scale Your Model (2025; jax-ml/scaling-book@0819a7d8). The bytes that
devices exchange are given with each case, not derived: no graph says here how it is split.
"""

from __future__ import annotations

from fractions import Fraction

import pytest

from symacct import derive, load
from symacct.algebra.normal import same
from symacct.algebra.symbols import symbol
from symacct.claims import amount
from symacct.convention import convention
from symacct.evaluation.timing import quantity
from symacct.machines import load as machine
from symacct.planning.solve import solve
from symacct.planning.solve_roots import Root
from symacct.policy import precision
from symacct.proof.prove import prove

G = 10**9


def worth(text, unit):
    return float(amount(text, unit).value / amount(f"1 {unit}").value)


# ---- one device, and devices that share evenly ----


def test_swiglu_without_reading_again():
    """6BTDF FLOP; 4BTD + 4BTF + 6DF bytes leave out what is read again (CS336, lecture 10).

    Op by op x is read for a second product, SiLU and the gate's product read and write, and the last product
    reads: 2BTD and 12BTF more. As one kernel u and g are never written: 4BTF less.
    """
    account = derive(load("swiglu"), workload="forward")
    whole = derive(load("swiglu"), workload="forward", convention=convention("default", bytes="compulsory"))
    rows, D, F = account["tokens"].expr, symbol("D"), symbol("F")
    published = 4 * rows * D + 4 * rows * F + 6 * D * F
    assert same(account["flops.forward"].expr, 6 * rows * D * F)
    assert same(account["bytes.forward"].expr, published + 2 * rows * D + 12 * rows * F)
    assert same(whole["bytes.forward"].expr, published - 4 * rows * F)


def test_a_70b_model_in_8_bits():
    """32 sequences of 8192: 42 GB of cache and 70 of weights; a token in 17 ms on 8 TPU v5e, bytes alone.

    Printed with 160e3 byte/token; 2*80*8*128 are 163,840, and the model has 70.55e9 weights.
    """
    account = derive(
        load("llama-3-70b"), workload="decode", precision=precision("params=int8,activations=int8")
    )
    sizes = {"B": 32, "T": 8192}
    cache, weights = (account.value(name, sizes) for name in ("memory.kv_cache", "memory.parameters"))
    assert cache == 2 * 80 * 8 * 128 * 32 * 8192
    assert round(float(cache + weights) / G) == 114
    assert worth("32*8192*160e3 byte + 70e9 byte", "GB") == pytest.approx(112, abs=0.1)
    assert worth("112 GB / (8 * 810 GB/s)", "ms") == pytest.approx(17, abs=0.5)
    step = quantity(account, machine("8xtpu-v5e"), "time.token").at(sizes).value()
    alone = Fraction(int(cache + weights), 8 * 819 * G)
    assert alone < Fraction(int(step.p), int(step.q)) < alone * Fraction(11, 10)


# ---- several devices, with what they exchange given ----


def test_data_parallel_gradients_against_work():
    """Compute-bound iff B/X >= C/W: backward's work over X devices, gradients in bf16 sent and received once.

    A printed line has a factor of the number of layers that the next one drops: with it on one side alone the
    threshold would have it too.
    """
    account = derive(load("two_layer"), input_grad=True)
    work, grads = account["flops.backward"].expr, account["memory.gradients"].expr
    assert same(work, 4 * symbol("B") * account["params"].expr)
    found = solve(None, f"({work})/(X*C) >= 2*({grads})/W where C = alpha*W", "B")
    assert found.formula == symbol("X") * symbol("alpha")
    assert found.cases[0].relation == ">="
    printed = solve(None, f"L*({work})/(X*C) >= 2*({grads})/W where C = alpha*W", "B")
    assert printed.formula == symbol("X") * symbol("alpha") / symbol("L")


def test_tokens_of_a_pod():
    """459 TFLOP/s over 180 GB/s: 2550 tokens for a chip, 850 with three axes, 7.6M for 8960 chips."""
    assert worth("459 TFLOP/s / (180 GB/s)", "FLOP/byte") == 2550
    assert worth("2550 token/device / 3 * 8960 device", "token") == pytest.approx(7.6e6, rel=3e-3)


def test_tensor_parallel():
    """Compute-bound iff F >= Y*C/W: an MLP of two matrices over Y devices, x gathered and y scattered."""
    found = solve(None, "4*B*D*F/(Y*C) >= 4*B*D/W where C = alpha*W", "F")
    assert found.formula == symbol("Y") * symbol("alpha")
    assert found.cases[0].relation == ">="


def test_both_ways_of_splitting():
    """B/N >= 4*alpha^2/(Mx*My*F) at the best split: about 400 tokens a chip at F = 32768, Mx = 2."""
    share = "F*X/(N*M) + B/(X*Y)"
    assert prove(None, f"argmin_X({share}) = sqrt(B*N*M/(F*Y))").outcome == "proved"
    assert prove(None, f"min_X({share}) = 2*sqrt(B*F/(N*M*Y))").outcome == "proved"
    text = "4*b*F >= 4*alpha*2*sqrt(b*F/(M*Y)) where alpha = 2550, F = 32768"
    assert solve(None, text, "b").formula == Fraction(4 * 2550**2, 32768) / (symbol("M") * symbol("Y"))
    (span,) = solve(None, text.replace("(M*Y)", "2"), "b").spans
    assert isinstance(span.low, Root)
    assert round(float(span.low.low)) == 397


def test_between_pods():
    """8192 chips of 460 TFLOP/s over 50 TB/s: 75,366, printed as 76,000; 8192*4.5e14 are 3.7e18."""
    assert worth("8192 * 460 TFLOP/s / (50 TB/s)", "FLOP/byte") == pytest.approx(75366.4)
    assert worth("8192 * 450 TFLOP/s", "FLOP/s") == pytest.approx(3.69e18, rel=1e-2)


def test_chips_of_tensor_parallel_in_serving():
    """Y < 2*28672/2550: 22 chips."""
    assert solve(None, "Y*2550 <= 2*28672", "Y", integer=True).largest == 22


def test_sums_are_sent_rather_than_weights():
    """From D = 2*C/W on, 5100: what the product takes hides twice 2BF bytes of partial sums."""
    found = solve(None, "2*B*D*F/C >= 4*B*F/W where C = 2550*W", "D")
    assert [(check.at, check.left == check.right) for check in found.checks] == [(5100, True)]
    assert found.spans[0].low_in
    assert found.spans[0].high is None
