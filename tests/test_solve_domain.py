"""Answers lie in their domain: where everything is defined, and what is assumed and demanded holds."""

from __future__ import annotations

import sys
from fractions import Fraction
from pathlib import Path

import pytest
from mpmath import mp
from sympy import Poly, Rational, log, sqrt

from symacct.account import derive
from symacct.cli import main
from symacct.errors import RuleError, SizeError, SymacctError
from symacct.planning.exact_sign import sign_at, sign_of
from symacct.planning.fit import fit
from symacct.planning.plan import plan
from symacct.planning.real_symbol import real_symbol
from symacct.planning.solve import solve
from symacct.planning.solve_conditions import read_conditions
from symacct.planning.solve_integers import integer_set
from symacct.planning.solve_roots import roots
from symacct.readers.files import load

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))
import solve_fuzz

X = real_symbol("x")


@pytest.fixture(autouse=True)
def digits():
    """Brute force works with many digits."""
    before, mp.dps = mp.dps, solve_fuzz.DIGITS
    yield
    mp.dps = before


# ---- brute force ----


@pytest.mark.few(6)
@pytest.mark.parametrize("seed", range(40))
def test_answers_are_those_of_brute_force(seed):
    """Random conditions with roots, logarithms, quotients, roundings and assumptions."""
    kind, wrong = solve_fuzz.case(seed)
    assert not wrong, kind


def test_brute_force_sees_a_wrong_answer(monkeypatch):
    """An answer without its last integer, or with a hole filled, is found."""
    root, limit = ("s", ("-", ("n", Fraction(15)), ("x",))), ("n", Fraction(3))
    assert not solve_fuzz.whole("sqrt(15 - x) <= 3", root, "<=", limit, [], lambda _: True)[1]
    wrong = solve_fuzz.whole("sqrt(14 - x) <= 3", root, "<=", limit, [], lambda _: True)
    assert "at x = 5" in wrong[1]


# ---- where everything is defined ----


@pytest.mark.few(5)
@pytest.mark.parametrize(
    ("text", "ranges"),
    [
        ("2/3*(x - 2) > sqrt(12 - x)", ((6, 12),)),
        ("sqrt(15 - x) <= 3", ((6, 15),)),
        ("sqrt(9 - x^2) <= 7", ((1, 3),)),
        ("x^2 - 3*x <= 40", ((1, 8),)),
        ("1/(x - 4) <= 1", ((1, 3), (5, None))),
        ("(x - 4)/(x - 4) <= 1", ((1, 3), (5, None))),
        ("sqrt(x - 4)^2 <= 3", ((4, 7),)),
        ("log(x - 5) <= 2", ((6, 12),)),
        ("log(12 - x) >= 0", ((1, 11),)),
        ("abs(x - 9) <= 2", ((7, 11),)),
        ("x + sqrt(x - 4) = 6", ((5, 5),)),
        ("sqrt(x) = 4 - sqrt(2*x)", ()),
        ("ceil(sqrt(20 - x)) = 3", ((11, 15),)),
        ("max(sqrt(7 - x), x - 3) <= 2", ((3, 5),)),
        ("sqrt(x - 3)*sqrt(8 - x) >= 0", ((3, 8),)),
        ("10*log(x) >= x", ((2, 35),)),
    ],
)
def test_integers_where_both_sides_have_a_value(text, ranges):
    """Poles, roots of less than 0 and logarithms leave holes and ends."""
    found = solve(None, text, "x", integer=True)
    assert found.ranges == ranges
    assert found.kind != "every"


def ends(text, **options):
    """Return the intervals of an answer in numbers."""
    found = solve(None, text, "x", **options)
    return [
        tuple(None if end is None else float(end.close().low) for end in (span.low, span.high))
        for span in found.spans
    ]


def test_numbers_where_both_sides_have_a_value():
    """The same over real numbers; a number between 0 and 1 is none of an integer's."""
    assert ends("sqrt(15 - x) <= 3") == [(6, 15)]
    assert ends("1/(x - 4) <= 1") == [(None, 4), (5, None)]
    assert ends("abs(x - 1) <= 1/2") == [(0.5, 1.5)]
    assert ends("min(9, 59*x) < 59/8") == [(None, 0.125)]
    assert ends("sqrt(x^2 - 6*x + 9) <= x - 3") == [(3, None)]
    assert ends("x <= 2", assume=["x >= 1/2", "x < 3"]) == [(0.5, 2)]
    assert solve(None, "x <= 7", "x", assume=["x < 7"]).kind == "every"
    assert solve(None, "x <= 6", "x", assume=["x < 7"]).kind == "numbers"
    assert ends("x <= 1/2", assume=["x < 1"]) == [(None, 0.5)]
    assert ends("x >= 1/3", assume=["x < 1/2"]) == [(pytest.approx(1 / 3), 0.5)]


def test_checks_stand_on_both_sides_of_every_end():
    """Where there is no value beyond an end, that is the check."""
    found = solve(None, "sqrt(15 - x) <= 3", "x", integer=True)
    assert [(int(one.at), one.holds) for one in found.checks] == [
        (5, False),
        (6, True),
        (15, True),
        (16, False),
    ]
    assert "no real value" in found.checks[-1].said


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("(2*x - 3)^2 <= 1/4", "holds for real numbers, and no integer"),
        ("sqrt(-1/2 - x) <= 4", "no x gives both sides a value"),
        ("sqrt(x - 5) <= -4", "at which both have a value"),
    ],
)
def test_none_says_of_which_numbers(text, said):
    """None is said of where both sides are defined."""
    found = solve(None, text, "x", integer=True)
    assert found.kind == "none"
    assert said in found.reason


# ---- what is assumed, and what the graph demands ----


def test_conditions_are_read_as_they_stand():
    """Every relation, two in a row, and nothing that grows."""
    assert [str(one) for one in read_conditions(["F = 4*D", "S <= 4*k", "k | S"], ["F", "D", "S", "k"])] == [
        "F = 4*D", "4*k >= S", "k divides S",
    ]  # fmt: skip
    assert [str(one) for one in read_conditions(["1 <= S < 4"], ["S"])] == ["S >= 1", "4 > S"]
    for text in ("S << D", "S", "S != 4", "S <= 4 <="):
        with pytest.raises(SymacctError):
            read_conditions([text], ["S", "D"])


def test_every_assumption_binds():
    """Two of one size, a divisor, a name that a helper might have had."""
    both = solve(None, "x <= 100", "x", integer=True, assume=["x >= 5", "x <= 60"])
    assert both.ranges == ((5, 60),)
    assert both.kind == "every"
    divided = solve(None, "x <= 100", "x", integer=True, assume=["7 | x"])
    assert divided.largest == 98
    named = solve(None, "L_more + 2*L_times <= 10", "L_more", integer=True, sizes={"L_times": 3},
                  assume=["L_more >= L_times"])  # fmt: skip
    assert named.ranges == ((3, 4),)
    with pytest.raises(SizeError, match="no sizes satisfy"):
        solve(None, "x <= 100", "x", integer=True, assume=["x >= 5", "x <= 4"])
    with pytest.raises(RuleError, match="nothing divides"):
        solve(None, "x <= 100", "x", assume=["7 | x"])


def test_an_equality_keeps_its_integers():
    """F = x/3 needs a multiple of 3, and leaves the unknown free whichever it is."""
    assert solve(None, "2*x + F <= 100", "x", integer=True, assume=["F = x/3"]).ranges == ((3, 42),)
    assert solve(None, "2*x + F <= 100", "F", integer=True, assume=["F = x/3"]).ranges == ((1, 14),)
    both = solve(None, "x*y <= 90", "x", integer=True, assume=["x = 4*y", "y >= 2"])
    assert both.ranges == ((8, 16),)
    assert "4 divides x" in both.notes[0]


def test_what_the_graph_demands_binds():
    """gpt2 has 1024 positions; heads divide the width."""
    model = derive(load("gpt2-xl"))
    found = solve(model, "flops.model >= 11/10*6*params*tokens", "S")
    assert found.kind == "none"
    assert "S >= 1,032 would satisfy it" in found.reason
    assert solve(model, "S^2 >= 10^4", "S").ranges == ((100, 1024),)
    gpt = derive(load("gpt"))
    heads = solve(gpt, "flops.forward <= 1e9 FLOP", "a", sizes={"h": 12, "L": 2, "V": 11, "s": 8, "b": 1})
    assert heads.kind == "every"
    assert [int(one.at) for one in heads.checks] == [1]


@pytest.mark.long
def test_fit_plan_and_solve_agree():
    """The largest number of sequences is one number."""
    room = "a100-sxm-80gb"
    for name, size in (("gpt2-xl", 1024), ("gpt2", 512)):
        account = derive(load(name), optimizer="adamw")
        solved = solve(account, "memory.peak <= 80 GB", "B", sizes={"S": size}).largest
        fitted = fit(account, room, sizes={"S": size, "B": 1}).limits[0].value
        planned = plan(account, tokens="1B", on=room, sizes={"S": size})["sequences"].value
        assert solved == fitted == planned


def test_the_largest_sequence_is_one_of_the_model(capsys):
    """It ends with the positions, and that is said; serving too."""
    assert main(["fit", "gpt2", "--on", "h100-sxm", "--workload", "prefill", "--at", "B=16,S=1000"]) == 0
    assert "S = 1,024 fits, with B = 16, and the graph allows no more: S <= 1024" in capsys.readouterr().out
    assert main(["fit", "gpt2", "--on", "h100-sxm", "--workload", "decode", "--at", "B=8,T=800"]) == 0
    assert "T = 1,024 fits" in capsys.readouterr().out


def test_two_conditions_are_refused(capsys):
    """Neither is dropped."""
    assert main(["solve", "mlp", "--given", "B >= 4", "--given", "D >= 3", "--for", "B"]) == 2
    assert "one condition is solved" in capsys.readouterr().err


# ---- exact signs ----


@pytest.mark.parametrize(
    ("value", "sign"),
    [
        (sqrt(2) + sqrt(3) - sqrt(5 + 2 * sqrt(6)), 0),
        (sqrt(2) + sqrt(3) - sqrt(5 + 2 * sqrt(6)) + Rational(1, 10**60), 1),
        (2 ** Rational(1, 3) * 4 ** Rational(1, 3) - 2, 0),
        (sqrt(10**20 + 1) - 10**10 - Rational(1, 2 * 10**10), -1),
        (log(8) - log(7), 1),
    ],
)
def test_signs_of_numbers(value, sign):
    """A value that is 0 in many digits is 0, or is not."""
    assert sign_of(value) == sign


def test_signs_at_roots_of_polynomials():
    """At a root of degree 3: 0, nearly 0, and no value."""
    root = roots([Poly(X**3 - X - 1, X)])[-1]
    assert sign_at(sqrt(X + 1) - sqrt(X**3), "x", root) == 0
    assert sign_at((X + 1) ** Rational(1, 3) - X + Rational(1, 10**50), "x", root) == 1
    assert sign_at(sqrt(X**3 - X - 1), "x", root) == 0
    assert sign_at(1 / (X**3 - X - 1), "x", root) is None
    assert sign_at(sqrt(1 - X), "x", root) is None


def test_logarithms_that_cannot_be_told_from_0_are_refused():
    """Nothing is said where digits do not decide."""
    with pytest.raises(RuleError, match="could not be told from 0"):
        sign_of(2 * log(1 + sqrt(2), evaluate=False) - log(3 + 2 * sqrt(2), evaluate=False))
    assert sign_of(log(6) - log(2) - log(3)) == 0
    assert solve(None, "log2(x) <= 5", "x", integer=True).ranges == ((1, 32),)


def test_integers_far_away_are_found_by_halving():
    """A rising formula without a bound in sight."""
    n = real_symbol("n")
    assert integer_set(log(n) - 40, "<=", "n")[0][1] == int(mp.floor(mp.exp(40)))
