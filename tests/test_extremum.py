"""Claims about minima and limits, against points tried one by one."""

from fractions import Fraction

import pytest

from symacct.account import derive
from symacct.algebra.normal import normal
from symacct.algebra.symbols import symbol
from symacct.errors import SymacctError
from symacct.proof.prove import prove
from symacct.readers.files import load
from symacct.report.verdict import facts_of


@pytest.mark.few(4)
@pytest.mark.parametrize(
    ("claim", "outcome"),
    [
        ("argmin_k(L/k + k) = sqrt(L)", "proved"),
        ("argmin_k(L*c/k + s*k) = sqrt(L*c/s)", "proved"),
        (r"\argmin_{k}(\frac{L}{k} + k) = \sqrt{L}", "proved"),
        ("min_k(L/k + k) = 2*sqrt(L)", "proved"),
        ("min_k(L/k + 4*k + L) = 4*sqrt(L) + L", "proved"),
        ("argmin_k(L/k + k) = L/2", "refuted"),
        ("min_k(L/k + k) = sqrt(L)", "refuted"),
        ("min_k(L/k + 2*k) = 2*sqrt(L)", "refuted"),
        ("argmin_k(k - L/k) = sqrt(L)", "refuted"),
        ("argmin_k(-L/k - k) = sqrt(L)", "refuted"),
        ("argmin_k(k^2 + k) = 1", "refuted"),
        ("lim_n(2*n/(4*n + 2)) = 1/2", "proved"),
        ("lim_n((2*n - 1)/(4*n + 2)) = 1/2", "proved"),
        ("lim_n((2*n - 1)/(4*n + 2)) = 1", "refuted"),
        ("lim_n(B/n) = 0", "proved"),
        ("lim_n(B*n) = 0", "refuted"),
        ("lim_n((a*n + b)/(c*n)) = a/c", "proved"),
    ],
)
def test_minima_and_limits(claim, outcome):
    """A wrong minimum or limit is refuted, and what has no single minimum stays open."""
    verdict = prove(None, claim)
    assert verdict.outcome == outcome
    assert verdict.stated == claim


@pytest.mark.parametrize(("a", "b"), [(1, 1), (9, 4), (50, 2), (7, 3)])
def test_the_minimum_is_below_every_point(a, b):
    """At k = sqrt(a/b) the formula a/k + b k is 2 sqrt(a b): no rational k on a fine grid is lower."""
    best = prove(None, f"min_k({a}*L/k + {b}*k) = 0*L").decision.limit
    value = float(best.subs(dict.fromkeys(best.free_symbols, 1)))
    grid = [Fraction(i, 16) for i in range(1, 400)]
    lowest = min(float(a / k + b * k) for k in grid)
    assert value <= lowest + 1e-12
    assert lowest - value < 0.05 * value


def test_limits_of_derived_quantities():
    """The intensity of a dot product tends to 1/2, of a matrix times a vector to 1."""
    dot = derive(load("dot"), workload="forward")
    assert prove(dot, "lim_N(intensity.forward) = 1/2").outcome == "proved"
    matvec = derive(load("matvec"), workload="forward")
    verdict = prove(matvec, "lim_N(intensity.forward) = 1", assume=["M = N"])
    assert verdict.outcome == "proved"
    assert prove(matvec, "lim_N(intensity.forward) = 2", assume=["M = N"]).outcome == "refuted"


@pytest.mark.parametrize(
    ("claim", "words"),
    [
        ("argmin_k(L/k + k = 3", "is an equation"),
        ("min_k(L/k + k) <= 3", "is an equation"),
        ("argmin_k(L) = 3", "k is not in the formula"),
        ("argmin_k(L/k + k) = k", "k varies"),
    ],
)
def test_claims_that_cannot_be_read(claim, words):
    """What is no equation, or does not vary, is refused."""
    with pytest.raises(SymacctError, match=words):
        prove(None, claim)


BEST = [
    "argmin_k memory.peak = sqrt(L) if B >= k*D",
    "argmin_k memory.peak = sqrt(L) if k*D >= B",
    "argmin_k memory.activations.peak = 2*sqrt(L)",
]


@pytest.mark.few(1)
@pytest.mark.parametrize("claim", BEST)
def test_a_counterexample_satisfies_every_hypothesis(claim):
    """Both lengths are allowed at its sizes, and each value is the one at the length it stands beside."""
    verdict = prove(derive(load("mlp"), optimizer="adamw", checkpoint="every:k"), claim)
    assert verdict.outcome == "refuted"
    point = verdict.decision.point
    sizes = dict(point.sizes)
    assert "k" not in sizes
    assert point.right < point.left
    for place, value in zip(point.places, (point.left, point.right), strict=True):
        here = {symbol(name): size for name, size in sizes.items()} | {symbol("k"): place}
        for one in verdict.box.conditions:
            gap = (one.left - one.right).xreplace(here)
            assert one.kind == "divides" or gap >= 0, (str(one), here)
        assert normal(verdict.left.xreplace(here)) == value
    claimed, derived = point.places[0], derive(load("mlp"), optimizer="adamw", checkpoint="every:k")
    if claimed.is_Integer and "memory.peak" in claim:
        assert derived.value("memory.peak", {**sizes, "k": int(claimed)}) == point.left


def test_the_words_of_a_counterexample_name_both_lengths():
    """What is claimed and what gives less each have their value."""
    verdict = prove(derive(load("mlp"), checkpoint="every:k"), BEST[0])
    assert "36 at k = 2, as claimed, and 107/3 at k = 3/2" in str(facts_of(verdict, None))
    assert [str(place) for place in verdict.decision.point.places] == ["2", "3/2"]
