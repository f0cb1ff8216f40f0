"""Quantities: laws, and every way a bare or inexact number might slip in."""

from __future__ import annotations

import operator
import pickle
from fractions import Fraction

import pytest
import sympy
from hypothesis import given
from hypothesis import strategies as st

from symacct.algebra.condition import Condition
from symacct.algebra.symbols import as_expr, symbol
from symacct.errors import SizeError, SymacctError, UnitError, UnknownNameError
from symacct.quantity import Quantity, add_up, as_quantity
from symacct.units import ONE, Unit

B, L = symbol("B"), symbol("L")
BYTE, FLOP = Unit("byte"), Unit("FLOP")
TWO = Condition("at_least", L, as_expr(2))
q = Quantity(B, BYTE)
COEFFICIENTS = st.fractions(-5, 5, max_denominator=6)


@given(COEFFICIENTS, COEFFICIENTS, st.integers(1, 9))
def test_arithmetic(first, second, size):
    """Quantities add and multiply as Python's fractions do, and carry their units."""
    left, right = first * q, Quantity(as_expr(second), BYTE)
    at = {"B": size} if first else {}
    assert (left + right).at(**at) == first * size + second
    assert (left - right).at(**at) == first * size - second
    product = left * right
    assert product.unit == Unit("byte^2")
    assert product.at(**(at if second else {})) == first * size * second
    if second:
        assert (left / right).unit == ONE
        assert (left / right).at(**at) == first * size / second
    assert pickle.loads(pickle.dumps(left)) == left  # noqa: S301


SUMS = [operator.add, operator.sub]
PRODUCTS = [operator.mul, operator.truediv]


@pytest.mark.parametrize("verb", SUMS)
@pytest.mark.parametrize(
    "bare", [1, Fraction(1, 2), sympy.Integer(1), sympy.Integer(0), sympy.Rational(1, 2), B, B + 1]
)
def test_bare_numbers_do_not_add(verb, bare):
    """A number or formula without a unit is refused from both sides of + and -."""
    for left, right in ((q, bare), (bare, q)):
        with pytest.raises(UnitError, match="a quantity and a bare"):
            verb(left, right)


@pytest.mark.parametrize("verb", SUMS + PRODUCTS)
def test_inexact_numbers_never_enter(verb):
    """Floats, booleans and complex numbers are refused from both sides of every operator."""
    numpy = pytest.importorskip("numpy")
    for bad in (
        1.0,
        True,
        1j,
        "1",
        None,
        sympy.Float(2),
        sympy.oo,
        numpy.float64(1),
        numpy.float32(1),
        numpy.bool_(1),
    ):
        for left, right in ((q, bad), (bad, q)):
            with pytest.raises(SymacctError):
                verb(left, right)


def test_exact_numbers_multiply():
    """Integers, fractions, numpy integers and formulas multiply from both sides and keep the unit."""
    numpy = pytest.importorskip("numpy")
    for factor in (3, Fraction(3), sympy.Integer(3), numpy.int64(3)):
        assert factor * q == q * factor == Quantity(3 * B, BYTE)
    assert L * q == q * L == Quantity(B * L, BYTE)
    assert 6 / q == Quantity(6 / B, Unit("1/byte"))
    assert L / q == Quantity(L / B, Unit("1/byte"))
    assert q**2 == q * q
    assert -q == q * -1
    for exponent in (0.5, True, Fraction(1, 2)):
        with pytest.raises(SizeError, match="power of a quantity"):
            q**exponent


def test_unlike_units():
    """Unlike units are refused in the project's format."""
    with pytest.raises(UnitError) as caught:
        q + Quantity(6 * B, FLOP)
    assert str(caught.value) == (
        "byte and FLOP cannot be added\n"
        "  expected  byte      (of B)\n"
        "  got       FLOP      (of 6*B)\n"
        "  fix       bring both sides to one unit"
    )
    assert q + q == 2 * q


def test_a_unit_is_no_text():
    """The unit is a Unit; text is refused with the fix, and division by zero is no quantity."""
    with pytest.raises(UnitError, match="the unit of a quantity is a Unit"):
        Quantity(B, "byte")
    with pytest.raises(SymacctError, match="divides by zero"):
        q / 0
    with pytest.raises(SymacctError, match="divides by zero"):
        q / (q - q)


def test_conditions_travel():
    """Conditions are united by arithmetic, checked at sizes, and settled by replacement."""
    some = Quantity(L - 1, BYTE, (TWO,))
    assert (some + q).when == (q * some).when == (TWO,)
    assert some.at(L=5) == 4
    with pytest.raises(SizeError) as caught:
        some.at(L=1)
    assert (
        str(caught.value) == "a formula does not hold at these sizes\n  expected  L >= 2\n  got       L = 1"
    )
    assert some.subs(L=7).when == ()
    with pytest.raises(SizeError, match="does not hold"):
        some.subs(L=1)
    assert some.subs(L=B + 1) == Quantity(B, BYTE)
    assert str(some) == "(L - 1) byte when L >= 2"
    hidden = Quantity(B, BYTE, (TWO,))
    with pytest.raises(SizeError, match="no value: L"):
        hidden.at(B=1)


def test_sizes_are_checked():
    """Unknown, missing, float and zero sizes are refused; a repeat count may be 0 where it is named."""
    with pytest.raises(UnknownNameError, match="unknown size 'C'"):
        q.at(B=1, C=2)
    for sizes in ({}, {"B": 2.0}, {"B": 0}, {"B": True}):
        with pytest.raises(SizeError):
            q.at(**sizes)
    assert Quantity(L, ONE).value({"L": 0}, frozenset("L")) == 0


def test_sums():
    """`sum` and `add_up` give the same, and the empty sum is 0 of its unit."""
    some = [q * n for n in range(5)]
    assert sum(some) == add_up(some, BYTE) == 10 * q
    assert add_up([], FLOP) == Quantity(as_expr(0), FLOP)
    with pytest.raises(UnitError):
        add_up([q], FLOP)


def test_shows_itself():
    """Text and LaTeX show formula and unit."""
    shown = Quantity(6 * B * L - 2 * B, Unit("FLOP/second"))
    assert str(shown) == "(6*B*L - 2*B) FLOP/second"
    assert shown._repr_latex_() == "$\\left(6 B L - 2 B\\right)\\ \\mathrm{FLOP/second}$"
    assert shown.show(["L", "B"]) == "(6*L*B - 2*B) FLOP/second"
    assert str(as_quantity(Fraction(1, 2))) == "1/2"
    assert Quantity(B * 10**9, BYTE).to("GB") == B
