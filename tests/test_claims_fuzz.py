"""The fuzzer of claims: its own answers against others, and a small sample of claims."""

import ast
import math
import random
import sys
from fractions import Fraction
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.claims_fuzz.__main__ import Tally, one_claim
from benchmarks.claims_fuzz.claim import Claim, Condition
from benchmarks.claims_fuzz.graphs import GRAPH_MAKERS
from benchmarks.claims_fuzz.judging import WORST, Answer, fault_of
from benchmarks.claims_fuzz.kinds import MAKERS
from benchmarks.claims_fuzz.making import tree
from benchmarks.claims_fuzz.numbers import Real, UncertainError, UndefinedError, compare, real
from benchmarks.claims_fuzz.trees import add, call, compiled, div, mul, num, power, sub, text, var
from benchmarks.claims_fuzz.truth import decide

B, D, H, K, L, a, k, m, n = map(var, ["B", "D", "H", "K", "L", "a", "k", "m", "n"])
HALF = div(n, num(2))


class Exact(ast.NodeTransformer):
    """Numbers of a formula become fractions."""

    def visit_Constant(self, node):
        return ast.Call(ast.Name("Fraction", ast.Load()), [node], [])


def by_python(shown, at):
    """Return the value of a printed formula as Python's own parser reads it."""
    read = ast.fix_missing_locations(Exact().visit(ast.parse(shown.replace("^", "**"), mode="eval")))
    known = {
        "Fraction": Fraction, "ceil": math.ceil, "floor": math.floor, "abs": abs, "max": max, "min": min,
        "sqrt": lambda value: float(value) ** 0.5, "log": lambda value: math.log(float(value)),
    }  # fmt: skip
    return eval(compile(read, "", "eval"), known, {name: Fraction(size) for name, size in at.items()})  # noqa: S307


def test_printed_formulas_have_the_values_that_python_gives_them():
    rng, compared = random.Random(5), 0
    for _ in range(1500):
        formula = tree(rng, ["n", "m"], 3)
        at = {"n": rng.randint(1, 9), "m": rng.randint(1, 9)}
        try:
            mine, theirs = compiled(formula)(at), by_python(text(formula), at)
        except (UndefinedError, UncertainError, ZeroDivisionError, ValueError):
            continue
        if isinstance(theirs, complex):
            continue
        near = 1e-9 * max(1.0, abs(float(theirs)))
        assert abs(float(real(mine)) - float(theirs)) <= near, text(formula)
        compared += 1
    assert compared > 1000


def test_roots_are_compared_with_many_digits():
    both = {"n": 10**12, "m": 1}
    assert compare(compiled(call("sqrt", add(power(n, 2), m)))(both), 10**12) == 1
    assert isinstance(compiled(call("sqrt", n))({"n": 2}), Real)
    with pytest.raises(UncertainError):
        compare(compiled(mul(call("sqrt", n), call("sqrt", n)))({"n": 2}), 2)


def relation(left, sign, right, *conditions, **rest):
    return Claim("test", "relation", left, sign, right, conditions, **rest)


def grown(left, sign, right, grows, *conditions):
    return Claim("test", "asymptotic", left, sign, right, conditions, grows=tuple(grows), made=True)


def least(form, inner, claimed, *conditions):
    return Claim("test", form, inner, "=", claimed, conditions, name="k", made=True)


KNOWN = [
    (relation(mul(num(2), n, m), "<=", add(power(n, 2), power(m, 2)), made=True), "true"),
    (relation(mul(num(2), n, m), "<", add(power(n, 2), power(m, 2)), made=True), "false"),
    (relation(call("sqrt", n), ">=", add(k, num(1)), Condition(call("sqrt", n), ">", k)), "false"),
    (relation(n, ">=", num(3), Condition(n, ">=", num(6)), Condition(n, "<=", num(5))), "empty"),
    (relation(n, ">=", n, Condition(mul(num(2), n), "=", add(mul(num(2), m), num(1)))), "empty"),
    (relation(div(num(1), sub(a, num(1))), ">=", num(0), made=True), "undefined"),
    (relation(call("ceil", HALF), "=", HALF, Condition(num(2), "|", n), made=True), "true"),
    (relation(call("max", B, m), "=", B, Condition(B, ">=", sub(m, num(1)))), "false"),
    (relation(power(sub(n, num(40)), 2), ">=", num(1)), "false"),
    (grown(sub(mul(num(2), n), m), "Theta", n, "nm"), "false"),
    (grown(sub(n, m), "Theta", n, "nm", Condition(n, ">=", mul(num(2), m))), "true"),
    (grown(sub(n, mul(num(2), m)), "Theta", n, "nm", Condition(n, ">=", mul(num(2), m))), "false"),
    (grown(mul(num(5), n), "O", k, "n", Condition(n, ">=", mul(num(2), k))), "false"),
    (grown(mul(m, power(n, 2)), "O", mul(sub(m, num(1)), power(n, 2)), "n"), "false"),
    (grown(mul(num(3), n, call("log", n)), "O", power(n, 2), "n"), "true"),
    (grown(n, "O", call("log", n), "n"), "false"),
    (grown(n, "~", add(n, call("log", n)), "n"), "true"),
    (grown(sub(call("sqrt", add(power(n, 2), n)), n), "~", num(1, 2), "n"), "true"),
    (grown(add(D, mul(H, K)), "~", mul(H, K), "", Condition(D, "=", mul(num(2), H, K))), "false"),
    (grown(n, "~", n, "n", Condition(n, "<=", num(8))), "empty"),
    (least("min", add(k, div(num(16), k)), num(8), Condition(k, ">=", num(6))), "false"),
    (least("min", add(k, div(num(16), k)), num(26, 3), Condition(k, ">=", num(6))), "true"),
    (least("argmin", add(k, div(num(16), k)), num(4)), "true"),
    (least("argmin", add(k, div(num(16), k)), num(4), Condition(k, ">=", num(6))), "false"),
    (least("min", power(k, 2), num(0)), "open"),
    (least("min", add(k, div(num(5), k)), num(6), Condition(k, "|", num(5))), "true"),
    (least("min", add(k, call("ceil", div(n, k))), call("ceil", mul(num(2), call("sqrt", n)))), "true"),
    (Claim("test", "lim", div(n, add(n, num(7))), "=", num(1), name="n", made=True), "true"),
    (Claim("test", "lim", div(n, add(n, num(7))), "=", num(2), name="n"), "false"),
    (Claim("test", "iff", n, "<=", m, threshold=("n", "<=", m), made=True), "true"),
    (Claim("test", "iff", n, "<", m, threshold=("n", "<=", m)), "false"),
]  # fmt: skip


@pytest.mark.parametrize(("claim", "value"), KNOWN, ids=[claim.text() for claim, _ in KNOWN])
def test_what_is_known_is_found(claim, value):
    assert decide(claim).value == value


@pytest.mark.parametrize(
    ("point", "fault"),
    [
        ({"n": 3}, ""),
        ({"n": 4}, "counterexample not the smallest"),
        ({"n": 2}, "counterexample does not violate"),
        ({"n_more": 1}, "counterexample in names of no claim"),
    ],
)
def test_counterexamples_are_judged(point, fault):
    claim = relation(call("sqrt", n), ">", sub(n, num(1)))
    assert fault_of(claim, Answer("refuted", "", point), decide(claim), None) == fault


def test_a_counterexample_lies_in_the_domain():
    claim = relation(n, "<=", num(5), Condition(num(2), "|", n))
    truth = decide(claim)
    assert (
        fault_of(claim, Answer("refuted", "", {"n": 7}), truth, None) == "counterexample outside the domain"
    )
    assert fault_of(claim, Answer("refuted", "", {"n": 6}), truth, None) == ""
    assert fault_of(claim, Answer("proved"), truth, None) == "false proof"


@pytest.mark.parametrize("kind", [*MAKERS, *GRAPH_MAKERS])
def test_every_kind_is_made(kind):
    makers = {**MAKERS, **GRAPH_MAKERS}
    for seed in range(12):
        claim = makers[kind][0](random.Random(seed))
        assert claim.text()


@pytest.mark.long
def test_a_sample_of_claims_has_no_wrong_verdict():
    makers, tally = {**MAKERS, **GRAPH_MAKERS}, Tally()
    found = [one_claim(f"sample:{index}", list(makers), makers, tally, shrink=False) for index in range(90)]
    wrong = {*WORST, "false refutation", "counterexample does not violate", "crashed", "slow"}
    assert [one.claim.text() for one in found if one is not None and one.fault in wrong] == []
