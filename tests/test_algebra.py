"""The algebra against Python's own integers and fractions, brute force, and laws."""

from __future__ import annotations

import operator
import pickle
import subprocess
import sys
from fractions import Fraction
from itertools import product as grid

import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st

from symacct.algebra.condition import Condition, merge
from symacct.algebra.evaluate import check_sizes, evaluate, substitute
from symacct.algebra.leading import degree_in, leading_term
from symacct.algebra.normal import factored, is_zero, normal, product, same, total
from symacct.algebra.sign import Points, Shift, sign_on_box
from symacct.algebra.summation import sum_over
from symacct.algebra.symbols import as_expr, index_symbol, is_name, symbol
from symacct.errors import FormulaError, RuleError, SizeError, UnknownNameError

NAMES = ("B", "D", "S")
B, D, S = map(symbol, NAMES)
L, H, G, K = map(symbol, "LHGK")
i = index_symbol("i")

# A formula as nested tuples, so that the oracle never sees sympy.
LEAVES = st.one_of(st.sampled_from(NAMES), st.integers(-4, 6), st.fractions(-3, 3, max_denominator=4))
OPERATORS = {"+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv}


def _combine(inner):
    return st.one_of(
        st.tuples(st.sampled_from("+-*/"), inner, inner),
        st.tuples(st.just("^"), inner, st.integers(0, 3)),
        st.tuples(st.sampled_from(["max", "min", "ceiling", "floor"]), inner, inner),
    )


FORMULAS = st.recursive(LEAVES, _combine, max_leaves=7)
POLYNOMIALS = st.recursive(
    LEAVES, lambda inner: st.tuples(st.sampled_from("+-*"), inner, inner), max_leaves=12
)
POINTS = st.fixed_dictionaries({name: st.integers(1, 12) for name in NAMES})


def as_sympy(tree):
    """The tree with sympy's operators."""
    if isinstance(tree, str):
        return symbol(tree)
    if not isinstance(tree, tuple):
        return as_expr(tree)
    head, left, right = tree
    if head == "^":
        return as_sympy(left) ** right
    first, second = as_sympy(left), as_sympy(right)
    if head in OPERATORS:
        return OPERATORS[head](first, second)
    if head in {"max", "min"}:
        return (sympy.Max if head == "max" else sympy.Min)(first, second)
    return (sympy.ceiling if head == "ceiling" else sympy.floor)(first / (second**2 + 1))


def as_fraction(tree, point):
    """The tree with Python's fractions."""
    if isinstance(tree, str):
        return Fraction(point[tree])
    if not isinstance(tree, tuple):
        return Fraction(tree)
    head, left, right = tree
    if head == "^":
        return as_fraction(left, point) ** right
    first, second = as_fraction(left, point), as_fraction(right, point)
    if head in OPERATORS:
        return OPERATORS[head](first, second)
    if head in {"max", "min"}:
        return (max if head == "max" else min)(first, second)
    ratio = first / (second**2 + 1)
    down = ratio.numerator // ratio.denominator
    return Fraction(down if head == "floor" or ratio == down else down + 1)


@settings(max_examples=150, deadline=None)
@given(FORMULAS, POINTS)
def test_normal_form_keeps_the_value(tree, point):
    """Python's fractions give the value of a formula and of its normal form."""
    try:
        expected = as_fraction(tree, point)
        form = normal(as_sympy(tree))
    except (ZeroDivisionError, FormulaError):
        return
    assert evaluate(form, point) == expected
    assert evaluate(as_sympy(tree), point) == expected


@settings(max_examples=100, deadline=None)
@given(POLYNOMIALS, POLYNOMIALS)
def test_normal_form_is_one_per_polynomial(left, right):
    """Two polynomials of low degree have one normal form exactly when they agree on a large enough grid."""
    first, second = normal(as_sympy(left)), normal(as_sympy(right))
    points = [dict(zip(NAMES, point, strict=True)) for point in grid((1, 2, 5, 11), repeat=3)]
    agree = all(as_fraction(left, point) == as_fraction(right, point) for point in points)
    if not agree:
        assert first != second
    assert same(first, second) == (first == second)
    assert normal(first) == first
    assert is_zero(as_sympy(left) * 2 - as_sympy(left) - as_sympy(left))


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (H / G * G, H),
        ((B**2 - D**2) / (B + D), B - D),
        (1 / (B + D) + 1 / (B - D), 2 * B / (B**2 - D**2)),
        (sympy.sqrt(K) ** 2, K),
        (sympy.sqrt(B * D + B) * sympy.sqrt(B + B * D), B + B * D),
        (sympy.sqrt(8 * B), 2 * sympy.sqrt(2) * sympy.sqrt(B)),
        (1 / sympy.sqrt(2), sympy.sqrt(2) / 2),
        (sympy.sqrt(B**2 + 2 * B * D + D**2), B + D),
        (1 / (sympy.sqrt(B) + 1) + 1 / (sympy.sqrt(B) - 1), 2 * sympy.sqrt(B) / (B - 1)),
        (sympy.ceiling((B * (D + 1) - B) / S), sympy.ceiling(B * D / S)),
        (sympy.Max(B * (D + 1), S), sympy.Max(S, B * D + B)),
        (2 ** (L * (B + 1)), 2 ** (L * B + L)),
    ],
)
def test_equal_formulas_are_same(left, right):
    """Identities with fractions, roots and atoms are decided, and fail by one when one is added."""
    assert same(left, right)
    assert not same(left, right + 1)


def test_refuses_what_is_not_exact():
    """Floats, booleans, complex numbers, text and infinities are refused; numpy integers are taken."""
    numpy = pytest.importorskip("numpy")
    assert as_expr(numpy.int64(7)) == as_expr(7)
    for value in (0.5, 2.0, True, numpy.float64(1), numpy.bool_(1), 1j, "3", None, sympy.Float(1), sympy.oo):
        with pytest.raises(SizeError):
            as_expr(value)
    for value in (sympy.zoo, sympy.nan, B + sympy.nan):
        with pytest.raises(FormulaError, match="divides by zero"):
            as_expr(value)


def test_names():
    """Any letter is a name, also those that are constants or functions for sympy."""
    for name in ("N", "S", "E", "I", "O", "Q", "beta", "gamma", "lambda", "词表", "d_ff", "x1", "_x"):
        assert isinstance(symbol(name), sympy.Symbol)
    for name in ("", "1x", "a b", "a-b", "x²", "a" * 65, "__import__('os')", "a\n"):
        assert not is_name(name)
        with pytest.raises(FormulaError, match="is not a name"):
            symbol(name)


@settings(max_examples=60, deadline=None)
@given(st.lists(POLYNOMIALS, max_size=6), POINTS)
def test_total_and_product(trees, point):
    """Sums and products of many formulas have the values that Python adds and multiplies."""
    values = [as_fraction(tree, point) for tree in trees]
    exprs = [as_sympy(tree) for tree in trees]
    assert evaluate(total(exprs), point) == sum(values)
    expected = Fraction(1)
    for value in values:
        expected *= value
    assert evaluate(product(exprs[:3]), point) == expected if len(values) <= 3 else True
    assert total(exprs) == normal(sympy.Add(*exprs))


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(-3, 3), min_size=1, max_size=6), st.integers(0, 4), st.integers(0, 9))
def test_sums_by_brute_force(coefficients, low, count):
    """Faulhaber's formula gives what adding term by term gives."""
    body = sum((value * B * i**power for power, value in enumerate(coefficients)), sympy.Integer(0))
    added = sum(value * k**power for k in range(low, low + count) for power, value in enumerate(coefficients))
    assert evaluate(sum_over(body, i, low, low + count), {"B": 3}) == 3 * added
    symbolic = sum_over(body, i, 0, L)
    if count:
        upto = sum(value * k**power for k in range(count) for power, value in enumerate(coefficients))
        assert evaluate(symbolic, {"B": 3, "L": count}) == 3 * upto


def test_sums_that_stay():
    """A summand that is no polynomial stays a sum, what is free of the index outside; its value is exact."""
    standing = sum_over(B * sympy.ceiling((i + 1) / 2) + i, i, 0, L)
    assert standing.has(sympy.Sum)
    expected = sum(5 * -(-(k + 1) // 2) + k for k in range(7))
    assert evaluate(standing, {"B": 5, "L": 7}) == expected
    assert sum_over(B, i, 0, L) == B * L
    assert sum_over(sympy.ceiling(i / 2), i, L, L) == 0
    moved = substitute(sum_over(S / (i + 1), i, 0, L), {"S": symbol("i")})
    assert evaluate(moved, {"i": 6, "L": 3}) == Fraction(6) * (1 + Fraction(1, 2) + Fraction(1, 3))


@settings(max_examples=60, deadline=None)
@given(POLYNOMIALS, POLYNOMIALS, POINTS)
def test_substitution_is_simultaneous(tree, inner, point):
    """Replacing and then evaluating is evaluating with the replaced values."""
    replaced = substitute(as_sympy(tree), {"B": as_sympy(inner), "D": B})
    values = {"B": as_fraction(inner, point), "D": point["B"], "S": point["S"]}
    assert evaluate(replaced, point) == as_fraction(tree, values)


def test_substitution_goes_by_name():
    """A symbol with other assumptions is replaced too."""
    assert substitute(sympy.Symbol("N") * B, {"N": 4}) == 4 * B


def test_evaluation_refuses():
    """Names without a size are listed; a division by zero is no value."""
    with pytest.raises(SizeError) as caught:
        evaluate(B * D + S, {"D": 2})
    assert str(caught.value) == (
        "2 sizes have no value: B, S\n"
        "  expected  a value for each of: B, D, S\n"
        "  got       values for: D\n"
        "  fix       add B=..., S=..."
    )
    with pytest.raises(SizeError, match="divides by zero"):
        evaluate(B / (D - 1), {"B": 1, "D": 1})
    with pytest.raises(SizeError, match="too large"):
        evaluate(2**L, {"L": 10**30})
    assert evaluate(2**L, {"L": 100}) == 2**100
    assert evaluate(sympy.sqrt(B) * 3, {"B": 8}) == 6 * sympy.sqrt(2)
    assert evaluate(sympy.ceiling(sympy.sqrt(B)), {"B": 8}) == 3
    assert evaluate(B * D, {"B": 10**30, "D": 10**30}) == 10**60


@pytest.mark.parametrize("value", [2.0, 2.5, True, False, 0, -1, 10**30 + 1, "4", None, Fraction(4), 1j])
def test_sizes_that_are_refused(value):
    """A size is an exact integer from 1 to 10^30."""
    with pytest.raises(SizeError):
        check_sizes({"B": value}, ["B"])


def test_sizes_that_are_taken():
    """Neighbours of the refused: integers, numpy's too, and 0 for a repeat count."""
    numpy = pytest.importorskip("numpy")
    assert check_sizes({"B": numpy.int64(4), "L": 0}, ["B", "L"], frozenset("L")) == {"B": 4, "L": 0}
    assert check_sizes({"B": 10**30}, ["B"]) == {"B": 10**30}
    with pytest.raises(UnknownNameError, match="unknown size 'Bs'"):
        check_sizes({"Bs": 4}, ["B", "L"])


@settings(max_examples=80, deadline=None)
@given(POLYNOMIALS, st.integers(1, 3))
def test_sign_by_brute_force(tree, least):
    """A certain sign is that of every point tried; "mixed" comes with two points that show it."""
    answer, witness = sign_on_box(as_sympy(tree), least)
    points = [dict(zip(NAMES, point, strict=True)) for point in grid((least, least + 1, 7, 50), repeat=3)]
    values = [as_fraction(tree, point) for point in points]
    holds = {
        "positive": all(value > 0 for value in values),
        "nonnegative": all(value >= 0 for value in values),
        "zero": all(value == 0 for value in values),
        "negative": all(value < 0 for value in values),
        "nonpositive": all(value <= 0 for value in values),
    }
    assert holds.get(answer, True)
    if answer == "mixed":
        assert isinstance(witness, Points)
        low, high = (as_fraction(tree, {"B": 1, "D": 1, "S": 1, **dict(point)}) for point in witness.points)
        assert low < 0 < high
    elif answer != "unknown":
        assert isinstance(witness, Shift)
        assert len({value > 0 for value in witness.coefficients}) <= 1


@pytest.mark.parametrize(
    ("expr", "lower", "answer"),
    [
        (L - 1, 1, "nonnegative"),
        (L - 1, 2, "positive"),
        (1 - L, {"L": 2}, "negative"),
        (B / (B + D) - 1, 1, "negative"),
        ((B - D) / (B + D), 1, "mixed"),
        (B - sympy.sqrt(B), 1, "nonnegative"),
        (sympy.ceiling(B / D) + 1, 1, "positive"),
        ((B - D) ** 2, 1, "unknown"),
        (B - B, 1, "zero"),
        (L * B - L, {"L": 0}, "nonnegative"),
    ],
)
def test_signs(expr, lower, answer):
    """Signs that can be checked by hand."""
    assert sign_on_box(expr, lower)[0] == answer


def test_signs_of_atoms():
    """A floor is at least 0 where what is in it is, and may be 0; one of a difference has both signs."""
    half = sympy.floor((B - D) / 2)
    assert [sign_on_box(one)[0] for one in (sympy.floor(B / D), half)] == ["nonnegative", "mixed"]
    assert sign_on_box(B / sympy.floor(B / D))[0] == "unknown"


def test_sizes_in_exponents_stay_small(monkeypatch):
    """A power of a million digits takes seconds to write down, and says no more than one of a thousand."""
    tried = []

    def seen(expr, sizes):
        tried.append(dict(sizes))
        return evaluate(expr, sizes)

    monkeypatch.setattr("symacct.algebra.sign.evaluate", seen)
    B, D, n = map(symbol, "BDn")
    assert sign_on_box(2**n + 2**B - 2 ** (n - B), {"n": 1, "B": 1})[0] == "unknown"
    assert {point["n"] for point in tried} == {1, 2, 4, 31, 1001}
    assert sign_on_box(2**n - D, {"n": 1, "D": 1})[0] == "mixed"
    assert max(point["D"] for point in tried if "D" in point) > 10**6


def test_roots_and_logarithms_of_numbers():
    """A fraction below 1 comes out of a root as what it is; a logarithm is real or refused."""
    assert str(normal(sympy.sqrt((B + D) / 2))) == "sqrt(2)*sqrt(B + D)/2"
    assert normal(1 / (B - D) + 1 / (D - B)) == 0
    assert normal(sympy.log(2) * B) == B * sympy.log(2)
    with pytest.raises(FormulaError):
        normal(sympy.Integer(-8) ** sympy.Rational(1, 3) * B)


@pytest.mark.parametrize(
    ("expr", "growing", "leading"),
    [
        (6 * B * D**2 * L - 2 * B * D**2, "L", 6 * B * D**2 * L),
        (B * L + D * L**2 + B, "BL", D * L**2 + B * L),
        (L / (L + B), "L", 1),
        ((L**2 + 1) / (L + B), "L", L),
        (sympy.sqrt(L**2 + B) + L, "L", 2 * L),
        (sympy.sqrt(L * B) + 1, "L", sympy.sqrt(L * B)),
        (sympy.ceiling(L / B), "L", L / B),
        (sympy.Max(L**2, B * L), "L", L**2),
        (B + 1, "L", B + 1),
        (sympy.Integer(0), "L", 0),
        (sympy.Max(L, 2 * L - B), "L", 2 * L),
    ],
)
def test_leading_terms(expr, growing, leading):
    """The leading term and the remainder add up, and their ratio goes to 1."""
    found, rest = leading_term(expr, tuple(growing))
    assert same(found, leading)
    assert same(found + rest, expr)
    if found != 0 and any(name in growing for name in map(str, expr.free_symbols)):
        far = {**dict.fromkeys("BDL", 3), **dict.fromkeys(growing, 10**12)}
        assert abs(sympy.N(evaluate(expr, far) / evaluate(found, far)) - 1) < 1e-5


def test_leading_terms_that_are_refused():
    """What has no leading term says so."""
    for expr in (
        2**L,
        sympy.log(L) + 1,
        sympy.sqrt(L**2 + 1) - L,
        sympy.ceiling(B / L),
    ):
        with pytest.raises(RuleError):
            leading_term(expr, ["L"])
    with pytest.raises(RuleError):
        leading_term(sympy.Max(L, 2 * L - B), ["B", "L"])
    assert degree_in(L**2 / (L + 1), ["L"]) == 1
    assert degree_in(L - L, ["L"]) == 0


def test_conditions():
    """Conditions hold, are certain, are replaced and read as they should."""
    at_least = Condition("at_least", L, as_expr(2))
    divides = Condition("divides", G, H)
    equal = Condition("equal", symbol("T"), S)
    assert [str(one) for one in (at_least, divides, equal)] == ["L >= 2", "G divides H", "T = S"]
    assert [at_least.holds({"L": n}) for n in (1, 2, 3)] == [False, True, True]
    assert [divides.holds({"G": n, "H": 6}) for n in (1, 2, 4)] == [True, True, False]
    assert [equal.holds({"T": n, "S": 3}) for n in (2, 3)] == [False, True]
    assert Condition("at_least", L * B, as_expr(1)).is_certain()
    assert Condition("divides", G, G * H).is_certain()
    assert not at_least.is_certain()
    assert at_least.substitute({"L": 1}).is_impossible()
    assert at_least.substitute({"L": 3}).is_certain()
    assert pickle.loads(pickle.dumps(divides)) == divides  # noqa: S301


def test_merged_conditions():
    """The strongest of like conditions is kept, whatever the order they come in."""
    some = [Condition("at_least", L, as_expr(n)) for n in (1, 2, 3)] + [Condition("divides", G, H)] * 2
    some.append(Condition("at_least", L * 1 + 1, as_expr(5)))
    expected = ("L + 1 >= 5", "G divides H")
    assert tuple(map(str, merge(some))) == tuple(map(str, merge(reversed(some)))) == expected


def test_factored_form():
    """The factored form shows its monomial outside and has the same value."""
    expr = 12 * B * L * H**2 + 6 * B * L * H
    shown = factored(expr)
    assert str(shown) == "6*B*H*L*(2*H + 1)"
    assert same(shown, expr)


def test_a_sum_of_thousands_of_terms():
    """Terms of one monomial are added by their coefficients, term by term."""
    terms = [k * D**n for k in range(1, 8) for n in range(400)]
    assert total(terms) == sympy.Add(*(28 * D**n for n in range(400)))


@pytest.mark.long
def test_text_does_not_depend_on_the_hash_seed():
    """Normal forms, factorings and witnesses print the same in processes with different hash seeds."""
    code = (
        "from symacct.algebra.symbols import symbol as s; from symacct.algebra.normal import normal\n"
        "from symacct.algebra.sign import sign_on_box; from symacct.printers import text\n"
        "a, b, c, d = map(s, 'abcd')\n"
        "e = normal((a + b) / (c**2 - d**2) + (b - c) / (a * d + c))\n"
        "print(text(e), sign_on_box(a * b - c, 1), text((a + b + c + d) ** 2), e)"
    )
    runs = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": "."},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("0", "1", "42")
    }
    assert len(runs) == 1


@pytest.mark.parametrize(
    "text",
    ["sqrt(L + 1)", "3*sqrt(L + 1)", "sqrt(4*L + 4)", "sqrt(L + 1)^3", "(L + 1)*sqrt(L + 1)",
     "sqrt(2*L)*sqrt(L)", "sqrt(L*c + L)", "1/sqrt(L + 1)", "sqrt(L^2 + 2*L + 1)", "sqrt(9*L^2*c)",
     "sqrt((L + 1)/(c + 1))", "2^(L)", "2^(L + 1)", "sqrt(sqrt(L + 1) + c)"],
)  # fmt: skip
def test_a_normal_form_of_roots_has_the_value_of_what_was_written(text):
    """Roots of sums, of products and of squares keep their value at several sizes."""
    from symacct.syntax import read_formula

    written = read_formula(text, ["L", "c"])
    form = normal(written)
    for at in ({"L": 1, "c": 1}, {"L": 3, "c": 2}, {"L": 8, "c": 5}):
        values = [complex(e.subs({s: at[s.name] for s in e.free_symbols}).evalf(30)) for e in (written, form)]
        assert abs(values[0] - values[1]) < 1e-12 * abs(values[0])
