"""The shift of the kernel against sympy's: all variables at once, and every term of the result looked at."""

import random
from fractions import Fraction

import pytest
import sympy

from symacct.kernel.box import Box, Variable
from symacct.kernel.poly import ONE

NAMES = ("a", "b", "c")
SYMBOLS = {name: sympy.Symbol(name) for name in NAMES}


def drawn(dice):
    """Return variables and a polynomial of the kernel."""
    variables = {
        name: Variable(dice.choice([0, 0, 1, 2]), real=True, above=dice.random() < 0.4) for name in NAMES
    }
    poly = {}
    for _ in range(dice.randint(0, 5)):
        monomial = tuple((name, e) for name in NAMES if (e := dice.choice([0, 0, 1, 1, 2])))
        poly[monomial] = Fraction(dice.choice([-3, -2, -1, 1, 2, 3, 4]), dice.choice([1, 1, 2]))
    return variables, poly


def terms_of(poly, variables):
    """Return the exponents and coefficients after the shift."""
    whole = sympy.Integer(0)
    for monomial, c in poly.items():
        term = sympy.Rational(c.numerator, c.denominator)
        for name, power in monomial:
            term *= (SYMBOLS[name] + variables[name].least) ** power
        whole += term
    found = sympy.Poly(sympy.expand(whole), *SYMBOLS.values()).terms()
    return [(powers, c) for powers, c in found if c != 0]


@pytest.mark.few(5)
@pytest.mark.parametrize("seed", range(20))
def test_a_sign_is_that_of_the_full_shift(seed):
    dice = random.Random(seed)
    for _ in range(50):
        variables, poly = drawn(dice)
        terms = terms_of(poly, variables)
        shows = all(c > 0 for _, c in terms)
        strict = shows and any(
            all(variables[name].above or not power for name, power in zip(NAMES, powers, strict=True))
            for powers, _ in terms
        )
        box = Box(variables)
        assert box.sure((poly, ONE)) == shows, (poly, variables)
        assert box.sure((poly, ONE), strict=True) == strict, (poly, variables)


def test_a_variable_without_a_bound_shows_nothing():
    box = Box({"a": Variable(None, real=True), "b": Variable(1)})
    assert not box.sure(({(("a", 1),): Fraction(1)}, ONE))
    assert not box.sure(({(("a", 2),): Fraction(1), (("b", 1),): Fraction(1)}, ONE))
    assert box.sure(({(("b", 1),): Fraction(1)}, ONE), strict=True)
