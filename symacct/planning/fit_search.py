"""The largest integer that fits, with the reason that it is the largest: what is asked never falls."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from sympy import Add, Max, Mul, Pow, ceiling, floor

from symacct.algebra.evaluate import substitute
from symacct.algebra.normal import normal
from symacct.algebra.symbols import as_expr, symbol

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from sympy import Expr

    from symacct.algebra.condition import Condition

MOST = 2**40
"""Integers beyond this are not tried: what still fits there is said to have no end."""


@dataclass(frozen=True, slots=True)
class Largest:
    """The largest integer that fits.

    Attributes:
        name: of the size.
        value: the integer; 0 where not even 1 fits, None where all that were tried fit.
        limit: the condition of the graph that allows no larger one; empty where memory is what is short.
    """

    name: str
    value: int | None
    limit: str = ""


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
    (Largest(name='B', value=7, limit=''), 0)
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


def allowed(found: Largest, conditions: Iterable[Condition]) -> Largest:
    """Return the largest integer that fits and that the graph allows; conditions on other sizes say nothing.

    >>> from symacct.algebra.condition import Condition
    >>> few = Condition("at_least", as_expr(1024), symbol("T"))
    >>> allowed(Largest("T", 5000), [few]), allowed(Largest("T", 7), [few])
    (Largest(name='T', value=1024, limit='1024 >= T'), Largest(name='T', value=7, limit=''))
    """
    own = [one for one in conditions if one.names == [found.name]]
    value, limit = MOST if found.value is None else found.value, ""
    for one in own:
        cap = _cap(one, found.name)
        if cap is not None and cap < value:
            value, limit = cap, one.text
    for _ in range(LONGEST_SEARCH):
        broken = next((one for one in own if value > 0 and not one.holds({found.name: value})), None)
        if broken is None:
            return replace(found, value=value, limit=limit) if limit else found
        value, limit = value - 1, broken.text
    return replace(found, value=0, limit=limit)


LONGEST_SEARCH = 10_000
"""How far below what fits a size is looked for that the graph allows."""


def _cap(condition: Condition, name: str) -> int | None:
    """Return the largest size that ``left >= right`` allows, where it is linear and falls with it."""
    if condition.kind != "at_least":
        return None
    gap = normal(condition.left - condition.right)
    slope = normal(substitute(gap, {name: symbol(name) + 1}) - gap)
    if not slope.is_Rational or slope >= 0:
        return None
    return int(normal(substitute(gap, {name: as_expr(0)}) / -slope) // 1)


def divisors(whole: int) -> list[int]:
    """Return the divisors of an integer of at least 1, largest first.

    >>> divisors(12)
    [12, 6, 4, 3, 2, 1]
    """
    small = [one for one in range(1, min(whole, ROOT) + 1) if one * one <= whole and whole % one == 0]
    return sorted({*small, *(whole // one for one in small)}, reverse=True)


ROOT = 10**6
"""Divisors are looked for up to this, and their counterparts: all of them for integers up to its square."""
