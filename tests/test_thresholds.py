"""From where on an error is small: against brute force over integers, whatever the sign below the line."""

from __future__ import annotations

import random
from fractions import Fraction
from math import ceil

import pytest

from symacct.algebra.domain import Domain
from symacct.algebra.evaluate import evaluate
from symacct.algebra.symbols import symbol
from symacct.proof.instead import TOLERANCES, threshold
from symacct.proof.prove import prove
from symacct.report.verdict import facts_of

N, V, H = map(symbol, "NVh")
FAR, COUNT = 400, 60


def error_of(dice):
    """A random error that tends to 0 as N grows, with a pole somewhere or none."""
    above = dice.choice([V, V * H, 2 * V + H, V + 3]) * dice.choice([1, -1]) * dice.randint(1, 4)
    below = dice.randint(1, 5) * N + dice.choice([-1, 1]) * dice.choice([V, V * H, 3 * V, 2])
    return above / (below * dice.choice([1, -1]))


def worth(expr, sizes):
    """The size of an error; None where it divides by zero."""
    above, below = (Fraction(str(evaluate(part, sizes))) for part in expr.as_numer_denom())
    return abs(above / below) if below else None


@pytest.mark.parametrize("seed", range(3))
def test_a_start_is_the_first_from_which_on_the_error_is_small(seed):
    """Every later size is within the tolerance, and the one before is not."""
    dice = random.Random(seed)
    for _ in range(COUNT // 3):
        error = error_of(dice)
        for tolerance in TOLERANCES:
            found = threshold(error, tolerance, ("N",), Domain())
            assert found is not None, error
            assert found.start is not None, error
            others = {"V": dice.randint(1, 5), "h": dice.randint(1, 5)}
            used = {name: size for name, size in others.items() if symbol(name) in found.start.free_symbols}
            start = ceil(Fraction(str(evaluate(found.start, used))))
            bound = Fraction(str(tolerance))
            names = {str(one) for one in error.free_symbols}
            for n in (max(1, start), max(1, start) + 1, start + FAR):
                sizes = {name: size for name, size in {**others, "N": n}.items() if name in names}
                assert worth(error, sizes) <= bound, (error, sizes)
            if start > 1:
                sizes = {name: size for name, size in {**others, "N": start - 1}.items() if name in names}
                before = worth(error, sizes)
                assert before is None or before > bound, (error, sizes)


def test_a_threshold_line_holds_in_sign():
    """What a person reads says from where on, not a condition that never holds."""
    lines = [line for fact in facts_of(prove(None, "(N - V*h)/N > 1"), None) for line in fact.below]
    assert "at most 10 % from N >= 11*V*h on" in lines
    assert "at most 1 % from N >= 101*V*h on" in lines


def test_numbers_are_shown_in_the_units_that_were_typed():
    """A refutation by numbers: both sides, and the error as a percentage."""
    facts = {fact.word: fact.said for fact in facts_of(prove(None, "10 GB/(3.35 TB/s) = 4 ms"), None)}
    assert facts["smallest counterexample"] == "left 2.985 ms, right 4 ms"
    assert facts["relative error"] == "(right - left)/left = 34 %"
    near = {fact.word: fact.said for fact in facts_of(prove(None, "1 ms = 1000.001 ns * 1000"), None)}
    assert near["smallest counterexample"] == "left 1000000 ns, right 1000001 ns"
