"""Weights of at least 0 that meet every row, against all corners of what is allowed."""

import random
from fractions import Fraction
from itertools import combinations

import pytest

from symacct.algebra.feasible import weights


def corner(rows, right):
    """Return where some rows are equal to their right sides, by elimination; None where that is no point."""
    table = [[*map(Fraction, row), Fraction(value)] for row, value in zip(rows, right, strict=True)]
    size = len(table)
    for at in range(size):
        pivot = next((place for place in range(at, size) if table[place][at]), None)
        if pivot is None:
            return None
        table[at], table[pivot] = table[pivot], table[at]
        table[at] = [value / table[at][at] for value in table[at]]
        for other in range(size):
            if other != at:
                table[other] = [
                    a - table[other][at] * b for a, b in zip(table[other], table[at], strict=True)
                ]
    return [row[-1] for row in table]


def can_be_met(matrix, right, count):
    """Say whether some weights will do: what they may be has a corner, as none is below 0."""
    axes = [[int(i == j) for j in range(count)] for i in range(count)]
    every, bounds = [*matrix, *axes], [*right, *[0] * count]
    for chosen in combinations(range(len(every)), count):
        point = corner([every[i] for i in chosen], [bounds[i] for i in chosen])
        if point is not None and all(
            sum(a * w for a, w in zip(row, point, strict=True)) >= bound
            for row, bound in zip(every, bounds, strict=True)
        ):
            return True
    return False


@pytest.mark.few(15)
@pytest.mark.parametrize("seed", range(40))
def test_weights_are_found_where_there_are_any(seed):
    dice = random.Random(seed)
    for _ in range(25):
        rows, count = dice.randint(1, 5), dice.randint(1, 3)
        matrix = [[dice.choice([-3, -2, -1, -1, 0, 0, 0, 1, 2]) for _ in range(count)] for _ in range(rows)]
        right = [Fraction(dice.choice([-2, -1, 0, 0, 0, 1, 2]), dice.choice([1, 1, 3])) for _ in range(rows)]
        columns = [{i: Fraction(row[j]) for i, row in enumerate(matrix)} for j in range(count)]
        found = weights(columns, dict(enumerate(right)))
        assert (found is not None) == can_be_met(matrix, right, count), (matrix, right)
        if found is not None:
            assert len(found) == count
            assert all(w >= 0 for w in found)
            for row, value in zip(matrix, right, strict=True):
                assert sum(a * w for a, w in zip(row, found, strict=True)) >= value


def test_rows_that_the_target_does_not_name_ask_for_nothing_below_0():
    one = Fraction(1)
    assert weights([{"a": one, "b": -one}], {"a": one}) is None
    assert weights([{"a": one, "b": -one}, {"b": 2 * one}], {"a": one}) == [1, Fraction(1, 2)]


def test_nothing_to_weigh():
    assert weights([], {"a": Fraction(0)}) == []
    assert weights([], {"a": Fraction(1)}) is None
    assert weights([{}], {}) == [0]
