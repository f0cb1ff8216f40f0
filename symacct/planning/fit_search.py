"""The largest integer that fits, with the reason that it is the largest: what is asked never falls."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sympy import Add, Max, Mul, Pow, ceiling, floor

from symacct.algebra.evaluate import substitute
from symacct.algebra.normal import normal
from symacct.algebra.symbols import symbol

if TYPE_CHECKING:
    from collections.abc import Callable

    from sympy import Expr

MOST = 2**40
"""Integers beyond this are not tried: what still fits there is said to have no end."""


@dataclass(frozen=True, slots=True)
class Largest:
    """The largest integer that fits.

    Attributes:
        name: of the size.
        value: the integer; 0 where not even 1 fits, None where all that were tried fit.
    """

    name: str
    value: int | None


def rises(expr: Expr, name: str) -> bool:
    """Say whether a formula is certain never to fall when a size grows from 1 on; False is no proof.

    The size is put at 1 + x: where no term is negative then, nothing falls.

    >>> B = symbol("B")
    >>> rises(3 * B**2 + 7, "B"), rises(B**2 - B, "B"), rises(7 - B, "B")
    (True, True, False)
    """
    return _rises(expr, name) or _rises(normal(substitute(expr, {name: symbol(name) + 1})), name)


def _rises(expr: Expr, name: str) -> bool:
    if expr.is_number:
        return True
    if expr.is_Symbol:
        return True
    if isinstance(expr, Add | Max):
        return all(_rises(part, name) for part in expr.args)
    if isinstance(expr, ceiling | floor):
        return _rises(expr.args[0], name)
    return _grows(expr, name)


def _grows(expr: Expr, name: str) -> bool:
    """Say whether a product is nowhere negative and never falls."""
    if expr.is_number:
        return bool(expr >= 0)
    if expr.is_Symbol:
        return True
    if isinstance(expr, Mul | Add | Max):
        return all(_grows(part, name) for part in expr.args)
    if isinstance(expr, ceiling | floor):
        return _grows(expr.args[0], name)
    if isinstance(expr, Pow):
        base, power = expr.args
        return bool(power.is_Rational and power > 0 and _grows(base, name))
    return False


def largest(fits: Callable[[int], bool], name: str) -> Largest:
    """Return the largest integer from 1 on that fits, where nothing larger than one that does not fit does.

    >>> largest(lambda n: 3 * n <= 22, "B"), largest(lambda n: n > 5 * n, "B").value
    (Largest(name='B', value=7), 0)
    """
    if not fits(1):
        return Largest(name, 0)
    low = 1
    while fits(2 * low):
        low *= 2
        if low >= MOST:
            return Largest(name, None)
    high = 2 * low
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return Largest(name, low)


def divisors(whole: int) -> list[int]:
    """Return the divisors of an integer of at least 1, largest first.

    >>> divisors(12)
    [12, 6, 4, 3, 2, 1]
    """
    small = [one for one in range(1, min(whole, ROOT) + 1) if one * one <= whole and whole % one == 0]
    return sorted({*small, *(whole // one for one in small)}, reverse=True)


ROOT = 10**6
"""Divisors are looked for up to this, and their counterparts: all of them for integers up to its square."""
