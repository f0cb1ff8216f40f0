"""Counterexamples: the smallest integer sizes at which a relation fails, with both values."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import islice
from typing import TYPE_CHECKING

from symacct.algebra.budget import check_time
from symacct.algebra.evaluate import evaluate, names_of
from symacct.proof.compiled import compiled, compiled_condition
from symacct.proof.sizes import made, points

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from sympy import Expr

    from symacct.algebra.condition import Condition

    Value = int | Fraction | None

__all__ = ["MOST_POINTS", "Counterexample", "compiled", "counterexample", "points"]

MOST_POINTS, FEW_POINTS, FEW_VALUES = 4000, 1200, 20


@dataclass(frozen=True, slots=True)
class Counterexample:
    """Sizes at which a relation fails, and the values of its two sides there.

    Attributes:
        sizes: by name.
        left: the value of one side.
        right: the value of the other one.
        places: for the place of a minimum, what is claimed, which gives ``left``, and what gives ``right``.
    """

    sizes: tuple[tuple[str, int], ...]
    left: Expr
    right: Expr
    places: tuple[Expr, ...] = ()

    def describe(self) -> str:
        """Return the sizes and both values in one line."""
        at = ", ".join(f"{name} = {size}" for name, size in self.sizes)
        return f"{at}: {self.left} against {self.right}" if at else f"{self.left} against {self.right}"


def counterexample(
    left: Expr,
    right: Expr,
    holds: Callable[[Fraction], bool],
    lower: Mapping[str, int],
    conditions: Sequence[Condition] = (),
    most: int = MOST_POINTS,
) -> Counterexample | None:
    """Return the first sizes, by their sum, at which ``holds(left - right)`` is false.

    Args:
        left: one side.
        right: the other side.
        holds: what the difference must satisfy.
        lower: the least value of each size.
        conditions: what sizes must satisfy to be looked at.
        most: how many sizes are looked at.
    """
    difference = compiled(left - right)
    checks = tuple(map(compiled_condition, conditions))
    space = made(sorted({*names_of(left), *names_of(right)}), lower, conditions)
    for sizes in islice(space.points(), most):
        check_time()
        if sizes is not None:
            value = difference(sizes)
            if value is not None and not holds(Fraction(value)):
                small = _shrunk(sizes, lambda at: _fails(at, difference, holds, checks), lower)
                return Counterexample(tuple(small.items()), evaluate(left, small), evaluate(right, small))
    return None


def _fails(
    sizes: Mapping[str, int],
    difference: Callable[[Mapping[str, int]], Value],
    holds: Callable[[Fraction], bool],
    conditions: Sequence[Callable[[Mapping[str, int]], bool]],
) -> bool:
    value = difference(sizes)
    return value is not None and not holds(Fraction(value)) and all(one(sizes) for one in conditions)


def _shrunk(
    sizes: dict[str, int], fails: Callable[[Mapping[str, int]], bool], lower: Mapping[str, int]
) -> dict[str, int]:
    """Return sizes of which none can be made smaller alone (of the few values that are tried)."""
    for _ in range(len(sizes)):
        before = dict(sizes)
        for name, size in before.items():
            least = lower.get(name, 1)
            for value in range(least, min(size, least + FEW_VALUES)):
                if fails({**sizes, name: value}):
                    sizes = {**sizes, name: value}
                    break
        if sizes == before:
            break
    return sizes
