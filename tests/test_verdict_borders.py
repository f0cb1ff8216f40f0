"""Verdicts at the borders of what formulas mean: where parts have no value, and where names are real numbers.

What is right here follows from analysis on paper, said beside each case.
"""

from fractions import Fraction
from time import thread_time

import pytest
from mpmath.ctx_iv import MPIntervalContext

from symacct import load
from symacct.proof.enclosure import ends
from symacct.proof.prove import prove


@pytest.mark.parametrize(
    ("claim", "outcome"),
    [
        ("log(n - 1) - log(n - 1) = 0", "undecided"),  # no value at n = 1
        ("0*log(n - 1) = 0", "undecided"),
        ("sqrt(n - 5)^2 = n - 5", "undecided"),  # no real value below 5
        ("sqrt(n - 5)^2 = n - 5 if n >= 5", "proved"),
        ("log(n) - log(n) = 0", "proved"),
        ("0*(n - 1)^(m - 2) = 0", "undecided"),  # 0^(-1) at n = m = 1
        ("n <= m iff n <= m + 0*log(n - 1)", "undecided"),
        ("n*m <= k iff n <= k/m*(m - 1)/(m - 1)", "undecided"),
        ("lim_n((k - 1)*n/((k - 1)*n) + 1/n) = 1", "undecided"),  # no value for k = 1
        ("lim_n(log(k - 1) - log(k - 1) + 1/n) = 0", "undecided"),
        ("min_k((k - 1)/(k - 1) + k + 2/k) = 1 + 2*sqrt(2)", "undecided"),
    ],
)
def test_what_has_no_value_is_not_proved(claim, outcome):
    """A part without a value leaves the claim open, also where it cancels as the claim is read."""
    assert prove(None, claim).outcome == outcome


@pytest.mark.parametrize(
    ("claim", "outcome"),
    [
        # over integers k + 2/k is 3 at 1 and at 2, and more beyond
        ("min_k(ceil(k) + 2/k) = 3", "proved"),
        ("min_k(ceil(k) + 2/k) = 2*sqrt(2)", "undecided"),
        ("min_k(floor(k) + 2/k) = 2*sqrt(2)", "undecided"),
        ("min_k(ceil(n*k)/n + 2/k) = 2*sqrt(2)", "undecided"),
        ("min_k(k + 2/k) = 2*sqrt(2)", "proved"),  # over real numbers, at sqrt(2)
        ("min_k(k) = 2 if k > 1", "refuted"),  # 3/2 is one of them
        ("min_k(k) = 2 if k > 1, k | 8", "proved"),  # what divides is an integer
        ("min_k((10^30*k^2 - 2)^2 + 1) = 1", "undecided"),  # reached at sqrt(2)*10^-15
        ("min_k(k + 1/k) = 2 if ceil(k) >= 2", "undecided"),
    ],
)
def test_a_size_that_varies_over_real_numbers_is_no_integer(claim, outcome):
    """Roundings and strict conditions are not simplified as for integers where a size is a real number."""
    assert prove(None, claim).outcome == outcome


@pytest.mark.parametrize("name", ["y", "z"])
def test_a_binding_carries_the_size_that_varies(name):
    """A rounding or maximum of what stands for the size is one of the size."""
    lets = ["y = k", "x = max(y, 1)"] if name == "y" else ["z = k", "x = ceil(z)"]
    assert prove(None, "min_k(x + 2/k) = 2*sqrt(2)", lets=lets).outcome == "undecided"


@pytest.mark.few(3)
@pytest.mark.parametrize(
    ("claim", "outcomes"),
    [
        ("n*(log(n + 1) - log(n)) + 5 ~ 6", {"undecided", "proved"}),  # n*log(1 + 1/n) tends to 1
        ("n^2*(log(n + 1) - log(n)) + n ~ 2*n", {"undecided", "proved"}),
        ("lim_n(n*(log(n + 1) - log(n)) + 5) = 6", {"undecided", "proved"}),
        ("lim_n(log(2*n + 1) - log(n)) = 0", {"refuted"}),  # it tends to log 2
        ("n*log(4) ~ 2*n*log(2)", {"proved"}),
        ("lim_n(log(4*n) - log(n)) = 2*log(2)", {"proved"}),
        ("lim_n(log(4*n) - log(n)) = log(5)", {"refuted"}),
        ("sqrt(5 + 2*sqrt(6))*n ~ (sqrt(2) + sqrt(3))*n", {"undecided", "proved"}),  # equal numbers
        ("n*log(n + 1) ~ 2*n*log(n)", {"refuted"}),
    ],
)
def test_what_a_logarithm_leaves_behind_may_count(claim, outcomes):
    """No true claim is refuted because a rest was dropped, or one number was written in two ways."""
    grow = () if claim.startswith("lim") else ("n",)
    assert prove(None, claim, grow=grow).outcome in outcomes


@pytest.mark.few(1)
@pytest.mark.parametrize("claim", ["2^n*2^m = 2^(n + m)", "2^n >= n + 1", "log(n*m) = log(n) + log(m)"])
def test_powers_and_logarithms_of_large_sizes_end_early(claim):
    """A size in an exponent is not worked out to its last digit."""
    assert "too long" not in prove(None, claim, seconds=5).decision.reason


PRODUCT = "*".join(f"n{i}" for i in range(300)) + " >= 1"


@pytest.mark.long
@pytest.mark.parametrize("claim", [PRODUCT, "(n + m + k + j)^20 >= n^20"])
def test_a_search_for_a_proof_keeps_to_its_time(claim):
    """A shift of very many terms ends with the time that is given, or with the work that is allowed."""
    start = thread_time()
    assert prove(None, claim, seconds=2).outcome in {"proved", "undecided"}
    assert thread_time() - start < 15


@pytest.mark.parametrize(
    ("graph", "claim", "outcome"),
    [
        ("gpt2", "S <= 1024", "proved"),  # its positions end there
        ("gpt2", "S <= 1023", "refuted"),
        ("gpt", "h >= a", "proved"),  # a divides h
        ("gpt", "h = 2*a", "refuted"),
    ],
)
def test_sizes_alone_are_those_that_the_graph_allows(graph, claim, outcome):
    """A counterexample is no sizes that the graph refuses."""
    assert prove(load(graph), claim).outcome == outcome


def test_huge_ends_are_still_bounds():
    """The ends of an interval of 2^(10^6) are below and above it, without its digits."""
    context = MPIntervalContext()
    huge, tiny = context.mpf(2) ** 10**6, context.mpf(2) ** -(10**6)
    assert ends(huge)[0] > 10**1000
    assert ends(huge)[1] is None
    assert ends(-huge)[0] is None
    assert ends(-huge)[1] < -(10**1000)
    assert ends(tiny)[0] == 0 < ends(tiny)[1] < Fraction(1, 10**1000)
    assert ends(-tiny)[1] == 0 > ends(-tiny)[0]
    assert ends(context.mpf([-3, 5])) == (-3, 5)
