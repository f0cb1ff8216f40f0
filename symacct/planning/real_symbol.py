"""The symbol of an unknown that is a real number: a formula of it is not read as one of an integer."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from sympy import Symbol

from symacct.algebra.symbols import check_name, symbol

if TYPE_CHECKING:
    from sympy import Expr


@lru_cache(maxsize=256)
def real_symbol(name: str) -> Symbol:
    """Return the symbol of a positive real number.

    A size is an integer of at least 1, so that ``min(9, 59*x)`` of a size is 9; of a number it is not.

    >>> from sympy import Min
    >>> Min(9, 59 * symbol("x")), Min(9, 59 * real_symbol("x"))
    (9, Min(9, 59*x))
    """
    return Symbol(check_name(name), positive=True)


def as_real(expr: Expr, name: str) -> Expr:
    """Return a formula in which a name stands for a real number."""
    return expr.xreplace({symbol(name): real_symbol(name)})


def as_size(expr: Expr, name: str) -> Expr:
    """Return a formula in which a name stands for an integer."""
    return expr.xreplace({real_symbol(name): symbol(name)})
