"""The fuzzer of memory peaks: its own answers against known ones, planted errors, a small sample of cases."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.peaks_fuzz import oracle
from benchmarks.peaks_fuzz.__main__ import main
from benchmarks.peaks_fuzz.judging import Case, account_of, draw, judge
from benchmarks.peaks_fuzz.kinds import KINDS
from benchmarks.peaks_fuzz.oracle import AGAIN, PEAK, SAVED, SAVED_PEAK, Step
from benchmarks.peaks_fuzz.points import Compiled, Conditions
from benchmarks.peaks_fuzz.shrinking import shrunk
from benchmarks.peaks_fuzz.writing import built
from symacct import derive
from symacct.account import Account
from symacct.algebra.condition import Condition
from symacct.algebra.evaluate import evaluate
from symacct.algebra.symbols import as_expr, symbol
from symacct.policy import Policy

FEW = {"points": 3, "small": 2}
AGREE = {
    "shift": (3, 8), "chain": (4,), "swap": (1,), "close": (0,), "unused": (1,), "bodies": (4, 6),
    "leaves": (3, 8), "rows": (3,), "nested": (8,), "ladder": (5,), "widening": (0, 5), "looking": (0,),
    "counts": (3,), "pairs": (3,), "numbers": (3,), "regions": (1, 3), "mixed": (1,),
}  # fmt: skip
"""Numbers of cases by kind; for each, what is derived is what runs."""

CHAIN = """\
from symacct.build import Builder
b = Builder("chain", "B D L")
def body(x):
    return (b.relu(b.einsum("B E, E D -> B D", x, b.weight("w", "E D", E="D"))),)
y, = b.repeat("L", body, (b.input("x", "B D"),), name="layers")
graph = b.build(y)
"""
NORMED = CHAIN.replace("b.relu(", "b.layernorm(").replace('E="D"))),)', 'E="D")), "D", name="norm"),)')


def case(source=CHAIN, *, torch=False, **choices):
    """Return a case that was not drawn."""
    return Case("own", "own", source, {"checkpoint": "none", "precision": "fp32", **choices}, torch)


# ---- what is judged by ----


@pytest.mark.parametrize(("B", "D", "L"), [(2, 3, 4), (5, 2, 7), (1, 9, 3), (4, 4, 2), (3, 2, 1)])
@pytest.mark.parametrize("held", [False, True])
def test_a_step_of_a_chain_takes_what_is_known_of_it(B, D, L, held):
    """The known peaks of linear layers with ReLU, two scalars beside them."""
    step = Step(derive(built(CHAIN), precision="fp32", hold_output=held).bind({"B": B, "D": D, "L": L}))
    found, parameters = step.values(), L * D * D
    if L > 1:
        most = max((L + 1) * B * D + D * D, 3 * B * D + (L - 1) * D * D, B * D + L * D * D) + held * B * D
    else:
        most = 2 * B * D + D * D if held else max(2 * B * D, B * D + D * D)
    assert found[PEAK] == 4 * (most + 2 + parameters + B * D)
    assert found[SAVED] == 4 * (L + 1) * B * D
    assert found[SAVED_PEAK] >= found[SAVED]
    assert found[AGAIN] == 0


def test_a_step_prices_each_op_that_runs_again():
    step = Step(derive(built(CHAIN), checkpoint="every:2").bind({"B": 5, "D": 3, "L": 7}))
    assert step.values()[AGAIN] == 7 * (2 * 5 * 3 * 3 + 5 * 3)


def test_formulas_and_conditions_are_computed_as_they_read():
    L, k = symbol("L"), symbol("k")
    expr = derive(built(CHAIN), precision="fp32", checkpoint="sqrt")[PEAK].expr
    sizes = {"B": 3, "D": 2, "L": 49}
    assert Compiled(expr)(sizes) == Fraction(int(evaluate(expr, sizes)))
    assert Compiled((L - 2) / k)({"L": 9, "k": 2}) == Fraction(7, 2)
    both = Conditions([Condition("divides", k, L), Condition("at_least", L / k, as_expr(3))])
    assert [both({"L": length, "k": 4}) for length in (8, 12, 13)] == [False, True, False]


# ---- cases ----


@pytest.mark.parametrize("kind", KINDS)
def test_a_seed_is_a_case(kind):
    one, other = draw(f"{kind}:7:1"), draw(f"{kind}:7:1")
    assert one.text() == other.text()
    assert draw(f"{kind}:7:2").text() != one.text()


@pytest.mark.few(2)
@pytest.mark.parametrize(("kind", "number"), [(kind, number) for kind in AGREE for number in AGREE[kind]])
def test_a_sample_of_cases_agrees(kind, number):
    found = judge(draw(f"{kind}:0:{number}"), **FEW)
    assert (found.outcome, found.facts) == ("equal", [])
    assert found.compared > 1
    assert found.exact > 0


def test_a_sample_of_cases_takes_what_torch_takes():
    found = [judge(draw(f"{kind}:0:6", 1), **FEW) for kind in ("bodies", "leaves")]
    assert [(one.outcome, one.tracked) for one in found] == [("equal", 1)] * 2


# ---- planted errors ----


@pytest.mark.parametrize("source", [CHAIN, NORMED])
def test_a_case_without_an_error_is_equal(source):
    found = judge(case(source, torch=True), **FEW)
    assert (found.outcome, found.tracked) == ("equal", 1)


def test_a_formula_that_is_too_low_is_found(monkeypatch):
    plain = Account.candidates

    def lowered(self, name=PEAK):
        first, *rest = plain(self, name)
        return (first - symbol("B"), *rest) if self.graph.order else (first, *rest)

    monkeypatch.setattr(Account, "candidates", lowered)
    found = judge(case(), **FEW)
    assert found.outcome == "differs"
    fact = found.facts[0]
    assert Fraction(fact["expected"]) - Fraction(fact["got"]) == fact["sizes"]["B"]


def test_a_step_that_was_left_out_is_found(monkeypatch):
    def without(*given):
        schedule = at_sizes(*given)
        return replace(schedule, actions=(replace(schedule.actions[0], makes=()), *schedule.actions[1:]))

    at_sizes = oracle.at_sizes
    monkeypatch.setattr(oracle, "at_sizes", without)
    assert judge(case(), **FEW).outcome == "differs"


def test_bytes_that_formulas_and_schedules_have_wrong_are_found_by_torch(monkeypatch):
    plain = Policy.nbytes
    monkeypatch.setattr(Policy, "nbytes", lambda *given: plain(*given) * (2 if given[1] == "stat" else 1))
    assert judge(case(NORMED, torch=True), **FEW).outcome == "torch differs"


def test_a_peak_below_what_is_always_there_is_found(monkeypatch):
    plain = Account.beside
    monkeypatch.setattr(Account, "beside", lambda self, name: plain(self, name) * (0 if name == PEAK else 1))
    found = judge(case(), **FEW)
    assert {fact["outcome"] for fact in found.facts} >= {"differs", "invariant"}


def test_an_error_of_another_kind_is_a_crash(monkeypatch):
    def broken(*_):
        raise ZeroDivisionError("no sizes")

    monkeypatch.setattr(Account, "peak", broken)
    assert judge(case(), **FEW).outcome == "crash"


def test_what_does_not_end_is_slow(monkeypatch):
    def endless(*_):
        while True:
            pass

    monkeypatch.setattr(Account, "peak", endless)
    assert judge(case(), points=0, small=0, limit=0.1).outcome == "slow"


def test_a_smaller_case_has_the_same_fault(monkeypatch):
    plain = Account.candidates
    monkeypatch.setattr(Account, "candidates", lambda *given: tuple(one + 1 for one in plain(*given)))
    found = judge(draw("chain:0:4"), **FEW)
    small = shrunk(found, tries=8, **FEW)
    assert small.outcome == found.outcome == "differs"
    assert len(small.case.source) < len(found.case.source)
    assert account_of(small.case).step.gradients is not None


# ---- the command ----


def test_a_run_is_counted_and_reported(tmp_path, capsys, monkeypatch):
    plain, report = Account.candidates, tmp_path / "report.jsonl"
    given = ["--count", "2", "--start", "3", "--kinds", "shift", "--points", "2", "--small", "1"]
    assert main([*given, "--count", "1"]) == 0
    assert "1 cases" in capsys.readouterr().out
    monkeypatch.setattr(Account, "candidates", lambda *given: tuple(one + 1 for one in plain(*given)))
    assert main([*given, "--report", str(report)]) == 1
    lines = [json.loads(line) for line in report.read_text().splitlines()]
    assert [line["outcome"] for line in lines] == ["differs", "differs"]
    shown = capsys.readouterr().out
    assert "shift:0:3 differs: memory.peak by formula at" in shown
    assert main(["--one", "shift:0:3", "--points", "1", "--small", "0"]) == 1
    assert lines[0]["source"] in capsys.readouterr().out


def test_an_unknown_kind_is_refused():
    with pytest.raises(SystemExit, match="no kind knots; there are: shift"):
        main(["--kinds", "knots"])
