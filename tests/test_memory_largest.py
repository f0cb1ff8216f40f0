"""The largest of random formulas: what is needed stays, and a region is where its formula is the largest."""

from __future__ import annotations

from itertools import product

from hypothesis import given, settings
from hypothesis import strategies as st
from sympy import lambdify

from symacct.algebra.maxima import Contest
from symacct.algebra.regions import Regions
from symacct.algebra.sparse import Ring
from symacct.algebra.symbols import as_expr, symbol

COEFFICIENTS = st.integers(min_value=-3, max_value=4)
SOME = st.lists(st.lists(COEFFICIENTS, min_size=6, max_size=6), min_size=2, max_size=6)
STARTS = st.fixed_dictionaries({"B": st.just(1), "L": st.integers(1, 3), "k": st.integers(1, 3)})


def contest_of(rows, starts):
    """Return formulas with a common large part in sizes and counts, and their ring."""
    b, count, k = map(symbol, ("B", "L", "k"))
    formulas = [
        sum(n * m for n, m in zip(row, (1, b, count, b * count, k * b, k * count), strict=True))
        for row in rows
    ]
    least = {symbol(name): value for name, value in starts.items() if name != "B"}
    return [as_expr(one) for one in formulas], Ring([*formulas, b, count, k], least), [count, k]


def grid(starts):
    """Yield points from the least sizes on."""
    steps = (0, 1, 2, 7, 50)
    for more in product(steps, repeat=len(starts)):
        yield {name: least + step for (name, least), step in zip(starts.items(), more, strict=True)}


@settings(max_examples=15, deadline=None)
@given(SOME, STARTS)
def test_no_formula_that_is_needed_is_dropped(rows, starts):
    formulas, ring, counts = contest_of(rows, starts)
    polys = [ring.poly(one) for one in formulas]
    kept = Contest(ring, counts).largest(polys)
    every, left = ([number_of(ring.expr(poly)) for poly in some] for some in (polys, kept))
    for sizes in grid(starts):
        assert max(one(**sizes) for one in left) == max(one(**sizes) for one in every)


@settings(max_examples=15, deadline=None)
@given(SOME, STARTS)
def test_a_region_is_where_its_formula_is_the_largest(rows, starts):
    formulas, ring, counts = contest_of(rows, starts)
    regions = Regions(ring, counts, [ring.poly(one) for one in dict.fromkeys(formulas)]).all()
    values = [number_of(one) for one in dict.fromkeys(formulas)]
    gaps = [(r.at, [number_of(c.left - c.right) for c in r.conditions]) for r in regions]
    for sizes in grid(starts):
        found = [one(**sizes) for one in values]
        holding = {at for at, conditions in gaps if all(one(**sizes) >= 0 for one in conditions)}
        assert holding == {at for at, _ in gaps if found[at] == max(found)} != set()


def number_of(formula):
    """Return a formula of B, L and k as a function of integers."""
    return lambdify([symbol(name) for name in ("B", "L", "k")], formula, modules="math")
