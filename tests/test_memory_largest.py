"""The largest of random formulas: what is needed stays, and a region is where its formula is the largest."""

from __future__ import annotations

from itertools import product

from hypothesis import example, given, settings
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
@example([[1, 0, -3, -1, -2, 0], [-1, 1, -1, -2, -2, 0]], {"B": 1, "L": 1, "k": 1})
def test_a_region_is_where_its_formula_is_the_largest(rows, starts):
    formulas, ring, counts = contest_of(rows, starts)
    regions = Regions(ring, counts, [ring.poly(one) for one in dict.fromkeys(formulas)]).all()
    values = [number_of(one) for one in dict.fromkeys(formulas)]
    gaps = [(r.at, [number_of(c.left - c.right) for c in r.conditions]) for r in regions]
    ties = {r.at: [number_of(c.left - c.right) for c in r.ties] for r in regions}
    for sizes in grid(starts):
        found = [one(**sizes) for one in values]
        holding = {at for at, conditions in gaps if all(one(**sizes) >= 0 for one in conditions)}
        largest = {at for at, _ in gaps if found[at] == max(found)}
        assert set() != holding <= largest
        assert all(any(one(**sizes) == 0 for one in ties[at]) for at in largest - holding)


def test_a_region_says_at_which_counts_formulas_are_equal_outside_of_it():
    b, count = symbol("B"), symbol("L")
    formulas = [as_expr(one) for one in (b * count - b + 5, 3 * count + 2)]
    for least, ties in ((1, ["L = 1"]), (2, [])):
        ring = Ring(formulas, {count: least})
        regions = Regions(ring, [count], [ring.poly(one) for one in formulas]).all()
        assert [[str(one) for one in r.conditions] for r in regions] == [["B - 3 >= 0"], ["-B + 3 >= 0"]]
        assert [[str(one) for one in r.ties] for r in regions] == [ties, ties]


def number_of(formula):
    """Return a formula of B, L and k as a function of integers."""
    return lambdify([symbol(name) for name in ("B", "L", "k")], formula, modules="math")


FAR = 137
"""No sample of sizes comes here: what is the largest at this size alone is found by reasons or not at all."""


def narrow():
    """Return two formulas and a third that is larger at one size alone, in a ring of two sizes."""
    b, d = symbol("B"), symbol("D")
    bump = 1 - (b - FAR) ** 2
    flat, bent, third = (one.expand() for one in (d + FAR**2, d + FAR**2 + bump, d + FAR**2 - bump))
    ring = Ring([flat, bent, third], {})
    return ring, [ring.poly(one) for one in (flat, bent, third)]


def test_what_is_the_largest_at_one_size_is_kept():
    ring, (flat, bent, third) = narrow()
    contest = Contest(ring, [])
    assert contest.largest([flat, bent]) == (flat, bent)
    assert contest.largest([flat, third]) == (flat, third)
    assert not contest.same([flat], [flat, bent])
    assert contest.same([flat, bent], [bent, flat])


def test_a_region_of_one_size_is_said():
    ring, (flat, bent, third) = narrow()
    for polys in ((flat, bent), (third, flat), (bent, third)):
        for region in Regions(ring, [], polys).all():
            for size in (1, FAR - 1, FAR, FAR + 1, 500):
                sizes = {"B": size, "D": 3}
                found = [
                    ring.expr(poly).subs({symbol(name): n for name, n in sizes.items()}) for poly in polys
                ]
                assert region.holds(sizes) == (found[region.at] == max(found)), (region, size)


def test_a_factor_that_is_left_out_keeps_its_sign():
    b, d = symbol("B"), symbol("D")
    for formulas in ((d**2, b**2), (b**2, d**2), (b * d, d**2), (b**3 * d, b * d**3)):
        ring = Ring(formulas, {})
        for region in Regions(ring, [], [ring.poly(one) for one in formulas]).all():
            for sizes in ({"B": 2, "D": 5}, {"B": 5, "D": 2}, {"B": 3, "D": 3}):
                at = [one.subs({b: sizes["B"], d: sizes["D"]}) for one in formulas]
                assert region.holds(sizes) == (at[region.at] == max(at))
