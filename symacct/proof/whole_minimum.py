"""Where a formula in one integer or real variable may be least, to be tried."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sympy import ceiling

from symacct.algebra.normal import normal
from symacct.algebra.symbols import symbol
from symacct.proof.tangent import roots_of

if TYPE_CHECKING:
    from sympy import Expr

    from symacct.proof.case import Case


def places(case: Case, name: str) -> list[Expr]:
    """Return formulas for the variable at which the least value may be reached.

    Where ``b*k - a`` is 0 in a square that shows it; for an integer that rounded up.
    """
    found: list[Expr] = []
    at = symbol(name)
    for root in roots_of(case.left, name):
        slope = normal(root.diff(at))
        place = normal(-(root - slope * at) / slope)
        found += [place if case.variables[name].real else normal(ceiling(place))]
    least = case.variables[name].least
    return found if least is None else [*found, normal(0 * at + least)]
