"""The largest integer that fits, with the reason that it is the largest: what is asked never falls."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sympy import Add, Max, Mul, Pow, ceiling, floor

from symacct.algebra.evaluate import substitute
from symacct.algebra.normal import normal
from symacct.algebra.symbols import symbol
from symacct.errors import SizeError
from symacct.planning.solve_integers import conditions_set

if TYPE_CHECKING:
    from collections.abc import Callable

    from sympy import Expr

    from symacct.algebra.condition import Condition
    from symacct.algebra.domain import Domain
    from symacct.planning.solve_integers import Ranges

MOST_STEPS = 20_000
"""How many integers are looked at for one that divides, or is divided."""
MOST = 2**40
"""Integers beyond this are not tried: what still fits there is said to have no end."""


@dataclass(frozen=True, slots=True)
class Largest:
    """The largest integer that fits.

    Attributes:
        name: of the size.
        value: the integer; 0 where not even the least fits, None where all that were tried fit.
        least: the least integer that is allowed.
        after: the next integer that is allowed, which does not fit; None where there is none.
        binds: the conditions that allow none after it.
    """

    name: str
    value: int | None
    least: int = 1
    after: int | None = None
    binds: tuple[Condition, ...] = ()


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


def largest(fits: Callable[[int], bool], name: str, domain: Domain) -> Largest:
    """Return the largest integer of a domain that fits, where nothing larger than one that does not fit does.

    Raises:
        SizeError: a domain without integers.

    >>> from symacct.algebra.domain import Domain, domain_of
    >>> found = largest(lambda n: 3 * n <= 22, "B", Domain())
    >>> found.value, found.after, largest(lambda n: n > 5 * n, "B", Domain()).value
    (7, 8, 0)
    >>> from symacct.planning.solve_conditions import read_conditions
    >>> even = domain_of(read_conditions(["2 | B", "B < 6"], ["B"]))
    >>> found = largest(lambda n: 3 * n <= 22, "B", even)
    >>> found.value, [str(one) for one in found.binds]
    (4, ['6 > B'])
    """
    runs = conditions_set(domain.conditions, name, max(1, domain.least(name)))
    least = _next(runs, name, domain, 1)
    if least is None:
        raise SizeError(
            f"no {name} satisfies the conditions", got=", ".join(map(str, domain.conditions))[:200]
        )
    if not fits(least):
        return Largest(name, 0, least)
    most = runs[-1][1]
    if most is None:
        top = _doubled(fits, least)
        if top is None:
            return Largest(name, None, least)
    elif fits(most):
        value = _before(runs, name, domain, most)
        failing = [
            one for one in _alone(domain, name) if one.kind != "divides" and not one.holds({name: most + 1})
        ]
        return Largest(name, value, least, None, tuple(failing))
    else:
        top = most
    low = least
    while top - low > 1:
        middle = (low + top) // 2
        low, top = (middle, top) if fits(middle) else (low, middle)
    value = _before(runs, name, domain, low)
    after = _next(runs, name, domain, low + 1)
    return Largest(name, value, least, after, () if after else _failing(domain, name, low + 1))


def _said(domain: Domain) -> str:
    return ", ".join(map(str, domain.conditions))[:200]


def _failing(domain: Domain, name: str, size: int) -> tuple[Condition, ...]:
    """Return the conditions that a size fails: those that compare, if there are such."""
    found = [one for one in _alone(domain, name) if not one.holds({name: size})]
    return tuple([one for one in found if one.kind != "divides"] or found)


def _doubled(fits: Callable[[int], bool], least: int) -> int | None:
    """Return an integer that does not fit; None where all that were tried do."""
    top = 2 * least
    while fits(top):
        top *= 2
        if top > MOST:
            return None
    return top


def _alone(domain: Domain, name: str) -> list[Condition]:
    return [one for one in domain.conditions if one.names == [name]]


def is_allowed(domain: Domain, name: str, size: int) -> bool:
    """Say whether a size satisfies what a domain says of it alone.

    >>> from symacct.algebra.domain import Domain
    >>> is_allowed(Domain({"B": 4}), "B", 3)
    False
    """
    return size >= domain.least(name) and all(one.holds({name: size}) for one in _alone(domain, name))


def _next(runs: Ranges, name: str, domain: Domain, size: int) -> int | None:
    """Return the first integer from one on that is allowed; None where none is."""
    for first, last in runs:
        start = max(first, size)
        end = start + MOST_STEPS if last is None else min(last, start + MOST_STEPS)
        found = next((n for n in range(start, end + 1) if is_allowed(domain, name, n)), None)
        if found is not None:
            return found
    return None


def _before(runs: Ranges, name: str, domain: Domain, size: int) -> int:
    """Return the last integer up to one that is allowed; there is one."""
    for first, last in reversed(runs):
        end = size if last is None else min(last, size)
        found = next((n for n in range(end, first - 1, -1) if is_allowed(domain, name, n)), None)
        if found is not None:
            return found
    raise SizeError(f"no {name} satisfies the conditions", got=str(size))


def divisors(whole: int) -> list[int]:
    """Return the divisors of an integer of at least 1, largest first.

    >>> divisors(12)
    [12, 6, 4, 3, 2, 1]
    """
    small = [one for one in range(1, min(whole, ROOT) + 1) if one * one <= whole and whole % one == 0]
    return sorted({*small, *(whole // one for one in small)}, reverse=True)


ROOT = 10**6
"""Divisors are looked for up to this, and their counterparts: all of them for integers up to its square."""
