"""Claims about maxima of random polynomials, against exact evaluation at many sizes."""

from __future__ import annotations

from itertools import islice, product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sympy import Max

from symacct.algebra.condition import Condition
from symacct.algebra.domain import domain_of
from symacct.algebra.evaluate import evaluate
from symacct.algebra.leading import degree_in
from symacct.algebra.symbols import as_expr, symbol
from symacct.errors import RuleError
from symacct.proof.compiled import compiled, compiled_condition
from symacct.proof.decide import decide
from symacct.proof.sizes import made

B, D, L = map(symbol, "BDL")
TERMS = (B * D, D**2, B * L, D * L, B, D, as_expr(1))
TRUE = {
    "<=": lambda gap: gap <= 0, ">=": lambda gap: gap >= 0, "<": lambda gap: gap < 0,
    ">": lambda gap: gap > 0, "=": lambda gap: gap == 0,
}  # fmt: skip
REGIONS = (
    (), (Condition("at_least", B, D),), (Condition("at_least", 2 * B, D), Condition("at_least", D, B)),
    (Condition("divides", D, L), Condition("at_least", L / D, as_expr(2))),
)  # fmt: skip
GRID = [dict(zip("BDL", point, strict=True)) for point in product((1, 2, 3, 4, 7, 20), repeat=3)]

polynomials = st.lists(st.integers(-2, 3), min_size=len(TERMS), max_size=len(TERMS)).map(
    lambda cs: sum((c * t for c, t in zip(cs, TERMS, strict=True)), as_expr(0))
)
maxima = st.lists(polynomials, min_size=1, max_size=3, unique=True).map(
    lambda ps: ps[0] if len(ps) == 1 else Max(*ps, evaluate=False)
)


@pytest.mark.long
@settings(max_examples=60, deadline=None)
@given(maxima, maxima, st.sampled_from(sorted(TRUE)), st.sampled_from(REGIONS))
def test_what_is_proved_holds_and_what_is_refuted_fails(left, right, relation, region):
    """At all sizes of a grid that lie in the region; a counterexample lies in it and fails."""
    domain = domain_of(region)
    checks = [compiled_condition(one) for one in region]
    decision = decide(left, relation, right, domain)
    if decision.outcome == "refuted":
        sizes = dict(decision.point.sizes)
        assert all(one.holds(sizes) for one in region)
        assert not TRUE[relation](decision.point.left - decision.point.right)
    elif decision.outcome == "proved":
        gap = compiled(left - right)
        for sizes in GRID:
            if all(check(sizes) for check in checks):
                assert TRUE[relation](gap(sizes)), (left, relation, right, sizes)


@settings(max_examples=60, deadline=None)
@given(maxima, st.sampled_from(GRID))
def test_compiled_is_evaluated(expr, sizes):
    """The fast function and the evaluator agree, also below the line, under roots and where it rounds."""
    for one in (expr, expr / (B + D), expr**2 + B / D):
        assert compiled(one)(sizes) == evaluate(one, {name: sizes[name] for name in "BDL"})


@settings(max_examples=40, deadline=None)
@given(maxima)
def test_the_degree_of_a_maximum(expr):
    """It grows like the power of L that its values at large L show, where they are positive."""
    at = [compiled(expr)({"B": 3, "D": 2, "L": 10**n}) for n in (9, 12)]
    try:
        degree = degree_in(expr, ["L"])
    except RuleError:  # signs that differ have no leading term
        return
    if min(at) > 0 and isinstance(expr, Max):
        assert abs(at[1] / at[0] - 1000**degree) <= at[1] / at[0] / 100 * (1000 if degree == 0 else 1)


def test_sizes_that_are_made_satisfy_their_conditions():
    """Every region yields sizes, and each of them satisfies it."""
    for region in REGIONS:
        found = list(islice(made(["B", "D", "L"], {"B": 2}, region).valid(), 60))
        assert len(found) > 20
        assert all(one.holds(sizes) and sizes["B"] >= 2 for sizes in found for one in region)
