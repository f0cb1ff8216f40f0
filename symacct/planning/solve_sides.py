"""Both sides of a condition at an integer, exactly: each from its own derivation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from symacct.algebra.evaluate import evaluate
from symacct.algebra.normal import normal
from symacct.errors import LimitError, SymacctError
from symacct.planning.exact_sign import sign_of

if TYPE_CHECKING:
    from sympy import Expr

    from symacct.planning.solve_reading import Asked

Pair = tuple["Expr", "Expr"]


def sides_at(asked: Asked, size: int) -> Pair:
    """Return both sides at a size: by a derivation with it bound where there is one, else by the formulas."""
    if asked.again is not None:
        left, right = asked.again(size)
        return evaluate(left, {}), evaluate(right, {})
    return evaluate(asked.left, {asked.name: size}), evaluate(asked.right, {asked.name: size})


def derived_at(asked: Asked, size: int) -> Pair | None:
    """Return both sides at a size by its own derivation; None where nothing can be derived there.

    Raises:
        LimitError: there is no time left.
    """
    try:
        return sides_at(asked, size)
    except LimitError:
        raise
    except SymacctError:
        return None


def gap_sign(pair: Pair) -> int:
    """Return the sign of left minus right."""
    return sign_of(normal(pair[0] - pair[1]))
