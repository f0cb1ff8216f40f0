"""Claims about peaks: regions, choices compared, best segments, growth; each beside a false neighbour."""

from __future__ import annotations

from itertools import product
from math import ceil, isqrt

import pytest

from symacct.account import derive
from symacct.errors import FormulaError, SizeError, SymacctError, UnknownNameError, UsageError
from symacct.kernel import check
from symacct.proof.certified import certify
from symacct.proof.prove import prove
from symacct.readers.files import load
from symacct.report.verdict import facts_of

ABOVE = "memory.peak - memory.parameters - 4 byte*B*D"


@pytest.fixture(scope="module")
def accounts():
    """Accounts by graph and choices, derived once."""
    made = {}

    def account(name, **choices):
        key = (name, *sorted(choices.items()))
        if key not in made:
            made[key] = derive(load(name), **choices)
        return made[key]

    return account


@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("checkpoint", "peak", "where", "outcome"),
    [
        ("none", "(L + 1)*B*D + D^2", "B >= D", "proved"),
        ("none", "(L + 1)*B*D + D^2", "2*B >= D", "refuted"),
        ("none", "3*B*D + (L - 1)*D^2", "B <= D, 2*B >= D", "proved"),
        ("none", "3*B*D + (L - 1)*D^2", "B <= D", "refuted"),
        ("none", "B*D + L*D^2", "2*B <= D", "proved"),
        ("none", "B*D + L*D^2", "B <= D", "refuted"),
        ("every:k", "(L/k + k)*B*D + k*D^2", "B >= k*D", "proved"),
        ("every:k", "(L/k + k)*B*D + k*D^2", "B >= D, k >= 2", "refuted"),
        ("every:k", "(k + 2)*B*D + (L - k)*D^2", "B >= D, B <= k*D", "proved"),
        ("every:k", "(k + 2)*B*D + (L - k)*D^2", "B <= k*D", "refuted"),
        ("every:k", "3*B*D + (L - 1)*D^2", "B <= D, 2*B >= D", "proved"),
        ("every:k", "B*D + L*D^2", "2*B <= D", "proved"),
    ],
)
def test_the_peak_of_a_chain_of_layers_region_by_region(accounts, checkpoint, peak, where, outcome):
    """The formula of each region is proved there, and refuted in a larger one; both have a certificate."""
    account = accounts("mlp", precision="fp32", checkpoint=checkpoint)
    verdict = prove(account, f"{ABOVE} = 4 byte*({peak}) + 8 byte if {where}", brief=True)
    assert verdict.outcome == outcome, verdict.decision
    certificate = certify(verdict, account).certificate
    assert certificate is not None
    check(certificate)


def test_one_formula_for_all_regions(accounts):
    """A claim may write the maximum itself; without one of its formulas it is refuted."""
    account = accounts("mlp", precision="fp32")
    parts = ["(L + 1)*B*D + D^2", "3*B*D + (L - 1)*D^2", "B*D + L*D^2"]
    whole = f"{ABOVE} = 4 byte*max({', '.join(parts)}) + 8 byte"
    assert prove(account, whole, brief=True).outcome == "proved"
    assert prove(account, whole.replace("=", ">=", 1), brief=True).outcome == "proved"
    for left_out in parts:
        rest = ", ".join(part for part in parts if part != left_out)
        verdict = prove(account, f"{ABOVE} = 4 byte*max({rest}) + 8 byte", brief=True)
        assert verdict.outcome == "refuted"
        assert "lower bound" in verdict.weaker
        sizes = dict(verdict.decision.point.sizes)
        assert account.value("memory.peak", sizes) > verdict.decision.point.right


def test_a_mean_of_two_formulas_is_below_their_maximum():
    """No operand alone is enough, but a weighted mean of them is; more than the mean is refuted."""
    assert prove(None, "max(3*B, 3*D) >= B + 2*D").outcome == "proved"
    assert prove(None, "max(3*B, 3*D) >= B + 2*D + 1").outcome == "refuted"
    assert prove(None, "max(B*k, D*k) <= B*k + D*k").outcome == "proved"
    assert prove(None, "max(B, D) = max(D, B, min(B, D))").outcome == "proved"


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("claim", "outcome"),
    [
        ("memory.peak >= memory.peak(checkpoint=none) if B <= D", "proved"),
        ("memory.peak >= memory.peak(checkpoint=none)", "refuted"),
        ("memory.peak < memory.peak(checkpoint=none) if B > D, k >= 2", "proved"),
        ("memory.peak < memory.peak(checkpoint=none) if B > D", "refuted"),
        ("memory.peak < memory.peak(checkpoint=none) iff B > D if k >= 2", "proved"),
        ("memory.peak < memory.peak(checkpoint=none) iff B >= D if k >= 2", "refuted"),
        ("memory.peak <= memory.peak(checkpoint=every:q) if q = k", "proved"),
    ],
)
def test_checkpoints_against_none(accounts, claim, outcome):
    """A quantity under another choice stands in the same claim."""
    assert (
        prove(accounts("mlp", precision="fp32", checkpoint="every:k"), claim, brief=True).outcome == outcome
    )


@pytest.mark.parametrize(("saves", "outcome"), [("lecture", "proved"), ("backward", "refuted")])
def test_a_checkpoint_at_every_block(accounts, saves, outcome):
    """It saves memory where each op's output is kept, and none where only what backward reads is."""
    account = accounts("mlp", saves=saves, checkpoint="every:1")
    claim = "memory.activations.peak < memory.activations.peak(checkpoint=none)"
    assert prove(account, claim, brief=True).outcome == outcome


@pytest.mark.few(1)
@pytest.mark.parametrize("name", ["mlp", "deep_linear"])
@pytest.mark.parametrize(
    ("choices", "claim", "outcome"),
    [
        ({}, "argmin_k memory.activations.peak = sqrt(L)", "proved"),
        ({}, "argmin_k memory.activations.peak = 2*sqrt(L)", "refuted"),
        ({"grads": "kept"}, "argmin_k memory.peak = sqrt(L)", "proved"),
        ({}, "argmin_k memory.peak = sqrt(L)", "refuted"),
        ({}, "argmin_k memory.peak = sqrt(L) if B >= k*D", "refuted"),
    ],
)
def test_the_best_segment(accounts, name, choices, claim, outcome):
    """The square root for activations and for gradients that are kept; another one for fresh gradients."""
    account = accounts(name, precision="fp32", checkpoint="every:k", **choices)
    verdict = prove(account, claim)
    assert verdict.outcome == outcome, verdict.decision
    if outcome == "proved":
        certificate = certify(verdict, account).certificate
        assert certificate is not None
        check(certificate)


def test_the_best_segment_of_the_interpreter(accounts):
    """The refuted place gives more at the sizes of the counterexample, by the account at a square L."""
    account = accounts("mlp", precision="fp32", checkpoint="every:k")
    sizes = dict(prove(account, "argmin_k memory.peak = sqrt(L) if L = 64").decision.point.sizes)
    peaks = {k: account.value("memory.peak", {**sizes, "k": k}) for k in (2, 4, 8, 16)}
    assert min(peaks.values()) < peaks[8]


def test_the_least_over_integers():
    """By brute force for small n, and the proof for all; over divisors alone it is another."""
    for n in range(1, 200):
        least = min(k + ceil(n / k) for k in range(1, n + 1))
        assert least == isqrt(4 * n - 1) + 1
    assert prove(None, "min_k(k + ceiling(n/k)) = ceiling(2*sqrt(n))").outcome == "proved"
    for wrong in (
        "ceiling(2*sqrt(n)) + 1",
        "floor(2*sqrt(n))",
        "ceiling(sqrt(4*n + 1))",
        "2*ceiling(sqrt(n))",
    ):
        verdict = prove(None, f"min_k(k + ceiling(n/k)) = {wrong}")
        ((_, n),) = verdict.decision.point.sizes
        assert verdict.outcome == "refuted"
        assert verdict.decision.point.left == min(k + ceil(n / k) for k in range(1, n + 1))
    divisors = prove(None, "min_k(k + ceiling(n/k)) = ceiling(2*sqrt(n)) if k | n")
    assert divisors.outcome == "refuted"
    assert divisors.decision.point.describe() == "n = 5: 6 against 5"


@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("checkpoint", "claim", "outcome"),
    [
        ("none", "memory.activations.peak = Theta(L)", "proved"),
        ("none", "memory.activations.peak = O(sqrt(L))", "refuted"),
        ("sqrt", "memory.activations.peak = Theta(sqrt(L))", "proved"),
        ("sqrt", "memory.activations.peak = O(1)", "refuted"),
        ("sqrt", "flops.recompute = flops.forward", "proved"),
        ("store-nothing", "memory.activations.peak = Theta(1)", "proved"),
        ("store-nothing", "flops.recompute = Theta(L^2)", "proved"),
        ("store-nothing", "flops.recompute = O(L)", "refuted"),
        ("selective:layers", "memory.activations.peak = Theta(L)", "proved"),
        ("none", "memory.peak = Theta(L)", "proved"),
        ("none", "memory.peak ~ 4*D*L*max(2*D, B + D)", "undecided"),
        ("none", "memory.peak ~ 4*D*L*max(2*D, B)", "refuted"),
        ("none", "memory.peak ~ 8*D^2*L if B <= D", "undecided"),
        ("none", "memory.peak ~ 8*D^2*L", "refuted"),
    ],
)
def test_growth(accounts, checkpoint, claim, outcome):
    """The three strategies; what a maximum grows like has no certificate yet, and fails where it is wrong."""
    account = accounts("mlp", precision="fp32", checkpoint=checkpoint)
    verdict = prove(account, claim, grow=("L",), brief=True)
    assert verdict.outcome == outcome, verdict.decision


def test_segments_that_do_not_divide(accounts):
    """As far as needed all but the last product of each segment runs again, also of a shorter one."""
    account = accounts("deep_linear", checkpoint="every:k")
    claim = "flops.recompute = 2*B*D^2*(L - ceiling(L/k))"
    for count, size in product((1, 2, 5, 7, 12), (1, 2, 3, 5)):
        assert prove(account, claim, sizes={"L": count, "k": size}, brief=True).outcome == "proved"
    assert prove(account, claim, brief=True).outcome == "proved"
    assert prove(account, claim.replace("ceiling", "floor"), sizes={"L": 7, "k": 2}).outcome == "refuted"


@pytest.mark.long
def test_symbols_of_the_policy_are_names(accounts):
    """They can be bound, grow, and stand in a where; without the policy they are unknown."""
    account = accounts("mlp", checkpoint="every:k", accumulate="N")
    assert prove(account, "flops.model = N*flops.model(accumulate=1)", brief=True).outcome == "proved"
    claim = "memory.activations.peak = 2*M*B*D where M = L/k + k"
    assert prove(account, claim, brief=True).outcome == "proved"
    assert prove(account, "memory.activations.peak = 2*(L/4 + 4)*B*D", sizes={"k": 4}).outcome == "proved"
    with pytest.raises(SizeError, match="k cannot grow: L/k >= "):
        prove(account, "memory.activations.peak = Theta(k)", grow=("k",))
    with pytest.raises(UnknownNameError, match="unknown name 'k'"):
        prove(accounts("mlp"), "memory.activations.peak = 2*(L/k + k)*B*D")


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("claim", "error", "words"),
    [
        ("memory.peak(checkpoin=none) = 3", UnknownNameError, "checkpoin"),
        ("memory.peak(grads=kept, grads=fresh) = 3", UsageError, "once"),
        ("memory.peak(checkpoint=every:0) = 3", UsageError, "segment"),
        ("memory.peak(checkpoint=every:L) = 3", UsageError, "L"),
        ("memory.peak = 3 if", FormulaError, "if is followed by conditions"),
        ("memory.peak = 3 if B", FormulaError, "condition"),
        ("memory.peak = 3 if B >", SymacctError, "condition"),
        ("memory.peak = 3 if q >= 2", UnknownNameError, "q"),
        ("min_k(k + ceiling(n/k) = 3", SymacctError, "equation"),
    ],
)
def test_refusals(accounts, claim, error, words):
    """What cannot be read says what is expected; a claim beside each is judged."""
    with pytest.raises(error, match=words):
        prove(accounts("mlp"), claim)
    assert prove(accounts("mlp"), "memory.peak >= memory.peak(grads=kept) if B >= 2").outcome == "refuted"


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("claim", "equal"),
    [
        ("memory.peak >= memory.peak(checkpoint=none) if B <= D", True),
        ("memory.peak(checkpoint=every:1) >= memory.peak(checkpoint=none) if B <= D", True),
        ("memory.peak(grads=kept) >= memory.peak(checkpoint=none)", False),
    ],
)
def test_no_difference_of_large_maxima_is_written(claim, equal):
    """Maxima that are equal are said to be; a difference of others says nothing to a reader."""
    verdict = prove(derive(load("mlp"), checkpoint="every:k"), claim)
    words = [fact.word for fact in facts_of(verdict, None)]
    assert verdict.outcome == ("proved" if equal else verdict.outcome)
    assert ("equal" in words) is equal
    assert "difference" not in words
    assert "leading order" not in words or not equal
