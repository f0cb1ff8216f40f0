"""A formula handed to sympy and numpy: every way to put sizes in says the same number, or refuses."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
import sympy

import symacct
from symacct.algebra.condition import Condition
from symacct.algebra.extremum import extremum, standing
from symacct.algebra.symbols import as_expr, symbol
from symacct.errors import LimitError, SizeError, UnknownNameError
from symacct.quantity import Quantity

RUNS = (("mlp", {}), ("llama", {"checkpoint": "sqrt"}), ("gpt", {"checkpoint": "every:k"}), ("moe", {}))
QUANTITIES = ("flops.model", "memory.peak", "memory.transient", "intensity.step", "params")


@pytest.mark.few(1)
@pytest.mark.parametrize(("name", "choices"), RUNS)
@pytest.mark.parametrize("asked", QUANTITIES)
def test_every_way_to_put_sizes_in_gives_one_number(name, choices, asked):
    """Exact evaluation against sympy's own substitution by name, all at once and one by one, and lambdify."""
    account = symacct.derive(symacct.load(name), **choices)
    quantity = account[asked]
    free = sorted(quantity.names())
    sizes = {one: 36 if one in "Lk" else 2 ** (at + 3) for at, one in enumerate(free)}
    sizes |= {"k": 6} if "k" in free else {}
    right = quantity(**sizes)
    expr = quantity.expr
    assert expr.subs(sizes) == right
    one_by_one = expr
    for one, size in sizes.items():
        one_by_one = one_by_one.subs(sympy.Symbol(one), size)
    assert one_by_one == right
    assert expr.xreplace({account.symbols[one]: sympy.Integer(size) for one, size in sizes.items()}) == right
    assert sympy.sympify(quantity) == expr
    if asked == "memory.transient":
        return
    names = [one for one in free if account.symbols[one] in expr.free_symbols]
    at = sympy.lambdify([account.symbols[one] for one in names], expr, "numpy")
    assert at(*(float(sizes[one]) for one in names)) == pytest.approx(float(right), rel=1e-12)


def test_symbols_are_the_open_sizes_and_what_the_policy_leaves_open():
    account = symacct.derive(symacct.load("gpt"), checkpoint="every:k", accumulate="M", sizes={"s": 8})
    expected = {"a", "b", "h", "L", "V", "k", "M"}
    assert expected <= set(account.symbols)
    assert "s" not in account.symbols
    assert {free.name for free in account["memory.peak"].expr.free_symbols} <= set(account.symbols)
    assert all(one.is_positive and one.is_integer for one in account.symbols.values())


def test_arrays_hold_what_is_true_at_each_point():
    B, D = symbol("B"), symbol("D")
    quantity = Quantity(sympy.ceiling(D / B) + B**2)
    first, second = np.array([[1], [3], [7]]), np.array([5, 20, 10**6])
    found = quantity(B=first, D=second)
    assert found.shape == (3, 3)
    assert found.dtype == np.int64
    for (i, b), (j, d) in product(enumerate((1, 3, 7)), enumerate((5, 20, 10**6))):
        assert found[i, j] == -(-d // b) + b * b


def test_an_array_of_what_no_int64_holds_is_rounded_once():
    found = Quantity(symbol("B") ** 3 / 7)(B=[10**9, 3, 2**40])
    assert found.dtype == np.float64
    assert found.tolist() == [float(Fraction(b**3, 7)) for b in (10**9, 3, 2**40)]


@pytest.mark.parametrize(
    ("sizes", "error"),
    [
        ({"B": [1.5, 2.0], "L": 3}, SizeError),
        ({"B": [True, False], "L": 3}, SizeError),
        ({"B": [], "L": 3}, SizeError),
        ({"B": [1, 0], "L": 3}, SizeError),
        ({"B": [1, 2], "L": [1, 2, 3]}, SizeError),
        ({"B": [1, 2], "L": [2, 1]}, SizeError),
        ({"B": [1, 2]}, SizeError),
        ({"B": [1, 2], "L": 3, "Q": 1}, UnknownNameError),
        ({"B": np.arange(1, 10**6), "L": 3}, LimitError),
        ({"B": 2.0, "L": 3}, SizeError),
        ({"B": "2", "L": 3}, SizeError),
    ],
)
def test_what_is_no_size_is_refused(sizes, error):
    """Floats, truth values, nothing, 0, shapes that do not fit, a condition that fails at one point."""
    L = symbol("L")
    quantity = Quantity(symbol("B") * (L - 1), when=(Condition("at_least", L, as_expr(2)),))
    with pytest.raises(error):
        quantity(**sizes)


def test_a_largest_of_many_is_substituted_without_being_compared():
    """Against the largest number, in every order; to sympy it is a Max like any other."""
    names = "ABCDEF"
    parts = [symbol(one) * at + 7 * symbol("A") for at, one in enumerate(names, 1)]
    largest = extremum(sympy.Max, parts)
    assert isinstance(largest, sympy.Max)
    assert largest.func is sympy.Max
    assert largest == extremum(sympy.Max, parts[::-1])
    left = largest
    for at, one in enumerate(names):
        left = left.subs(one, 10 - at)
    assert left == max((10 - at) * (at + 1) + 70 for at in range(6)) == 100
    assert str(largest.subs({"A": 1, "B": 1})).startswith("Max(")
    slope = largest.diff(symbol("F")).subs(dict.fromkeys("ABCDE", 1)).subs("F", 9)
    assert slope == 6


def test_the_least_of_many_has_a_slope_too():
    one = standing(sympy.Min, [symbol(name) for name in "ABCDE"])
    assert one.diff(symbol("A")).subs({"A": 1} | dict.fromkeys("BCDE", 2)) == 1
    assert one.diff(symbol("A")).subs({"A": 3} | dict.fromkeys("BCDE", 2)) == 0


def test_rules_of_sympy_that_are_functions_reach_sizes():
    work = symacct.derive(symacct.load("deep_linear"))["flops.model"].expr
    assert sympy.simplify(work) - work == 0 or sympy.expand(sympy.simplify(work) - work) == 0
    largest = sympy.Max(symbol("B") * (symbol("D") + 1), symbol("D") ** 2)
    assert sympy.simplify(largest).subs({"B": 2, "D": 3}) == 9
