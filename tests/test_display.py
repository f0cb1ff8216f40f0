"""Results show themselves in notebooks: as the command line's text, and as Markdown with LaTeX."""

from __future__ import annotations

import pytest

from symacct import derive, fit, load, mfu, plan, prove, solve
from symacct.displayed import Displayed
from symacct.errors import UsageError
from symacct.evaluation.roofline import Roofline
from symacct.machines import load as machine
from symacct.planning.mfu import Measurement
from symacct.report.display import SHOWN, bundle

TEXT, MARKDOWN = "text/plain", "text/markdown"
LINEAR = {"B": 256, "D": 4096, "K": 4096}


def results():
    """One of each kind."""
    linear = derive(load("linear"), workload="forward", sizes=LINEAR)
    return {
        "Verdict": prove(load("deep_linear"), "flops.model = 6*B*D^2*L"),
        "Solution": solve(None, "12 byte/parameter * N = 640 GB", "N"),
        "Plan": plan(params="70B", tokens="15T", on="1024xlecture:h100", mfu="0.5"),
        "Fit": fit("llama-3-70b", "8xh100-sxm"),
        "Utilisation": mfu(measured=Measurement(achieved="400 TFLOP/s"), on="h100-sxm"),
        "Roofline": Roofline(linear, machine("h100-sxm"), LINEAR),
    }


@pytest.fixture(scope="module")
def made():
    """All of them, once."""
    return results()


def test_every_result_that_shows_itself_has_a_way(made):
    """And there is no way without a result."""
    assert {one.__name__ for one in Displayed.__subclasses__()} == set(SHOWN) == set(made)


@pytest.mark.parametrize("name", sorted(SHOWN))
def test_both_forms(made, name):
    """No line is over the width of the text; no formula is left open in the Markdown; twice the same."""
    shown = made[name]._repr_mimebundle_(include=None, exclude=None)
    assert set(shown) == {TEXT, MARKDOWN}
    assert shown == bundle(made[name])
    assert max(map(len, shown[TEXT].splitlines())) <= 110
    assert shown[MARKDOWN].replace("\\$", "").count("$") % 2 == 0
    assert "Traceback" not in shown[TEXT]


def test_a_verdict(made):
    """What is true instead, with the formula in LaTeX."""
    shown = bundle(made["Verdict"])
    assert "REFUTED as written" in shown[TEXT]
    assert "claim - exact = (2*B*D^2) FLOP" in shown[TEXT]
    assert "claim: flops.model = 6\\*B\\*D^2\\*L" in shown[MARKDOWN]
    assert r"$\left(2 B D^{2}\right)\,\mathrm{FLOP}$" in shown[MARKDOWN]


def test_a_plan(made):
    """A table of numbers with their formulas."""
    shown = bundle(made["Plan"])
    assert "143.9 day" in shown[TEXT]
    assert "| $t = \\frac{C}{P n u}$ | 143.9 day |" in shown[MARKDOWN]


def test_what_is_no_result():
    """It is said what is."""
    with pytest.raises(UsageError, match="a int is no result") as caught:
        bundle(3)
    assert "Verdict" in str(caught.value)
