"""When bytes bind and when work does, solved for one size: ``memory-bound iff B < ...``."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import gcd, lcm
from typing import TYPE_CHECKING

from symacct.algebra.evaluate import names_of
from symacct.algebra.normal import normal
from symacct.algebra.sign import sign_on_box
from symacct.algebra.symbols import symbol
from symacct.algebra.tables import build, from_number
from symacct.algebra.terms import fraction, read

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sympy import Expr

SIGNS = {"positive": 1, "nonnegative": 1, "zero": 0, "negative": -1, "nonpositive": -1}
BELOW, ABOVE, ALWAYS, NEVER, EITHER = "<", ">", "always", "never", "either"


@dataclass(frozen=True, slots=True)
class Region:
    """Where bytes bind, as a condition on one size.

    Attributes:
        name: the size.
        relation: ``<``, ``>``, ``always``, ``never``; ``either`` where it is a matter of other sizes.
        above: the size is compared with ``above/below``; None where it does not matter.
        below: see there; above 0 wherever the condition is meant.
        otherwise: what holds where ``below`` is not above 0: ``always``, ``never``; None where it surely is.
        ridge: the symbol of the ridge point in ``above`` and ``below``, where it has one.
    """

    name: str
    relation: str
    above: Expr | None = None
    below: Expr | None = None
    otherwise: str | None = None
    ridge: Expr | None = None

    @property
    def critical(self) -> Expr | None:
        """The size at which bytes and work take equally long; None where there is none."""
        return None if self.above is None or self.below is None else normal(self.above / self.below)


def region(work: Expr, moved: Expr, name: str) -> Region | None:
    """Return where ``work < moved``, both in one unit, solved for a size; None where that is not linear.

    >>> from symacct.algebra.symbols import symbol
    >>> B, D, I = symbol("B"), symbol("D"), symbol("I")
    >>> region(2 * B * D, I * (B + 2 * D), "B")
    Region(name='B', relation='<', above=2*D*I, below=2*D - I, otherwise='always', ridge=None)
    >>> region(2 * B * D, I * B * (D + 1), "B").relation
    'either'
    """
    table, below = fraction(read(work - moved))
    at = symbol(name)
    if any(base.has(at) for monomial in table for base, _ in monomial if base != at) or not table:
        return None
    if any(SIGNS.get(sign_on_box(base)[0]) != 1 for base, power in below.items() if power % 2):
        return None
    powers = {dict(monomial).get(at, 0) for monomial in table}
    least = min(powers)
    if not powers <= {least, least + 1}:
        return None
    top = normal(build(table) * at**-least)
    slope = normal(top.diff(at))
    return _solved(name, slope, normal(top - slope * at))


def _solved(name: str, slope: Expr, rest: Expr) -> Region | None:
    """Return where ``slope*name + rest < 0``."""
    rising, start = (_sign(one) for one in (slope, rest))
    if rising == 0:
        return Region(name, EITHER if start is None else ALWAYS if start < 0 else NEVER)
    if rising is not None and start is not None and rising * start >= 0:
        return Region(name, NEVER if rising > 0 else ALWAYS)
    if rising is None and start is None:
        return None
    if rising == 1 or (rising is None and start is not None and start <= 0):
        return Region(name, BELOW, *_reduced(-rest, slope), None if rising else ALWAYS)
    return Region(name, ABOVE, *_reduced(rest, -slope), None if rising else NEVER)


def _sign(expr: Expr) -> int | None:
    if expr.is_Rational:
        return 1 if expr > 0 else -1 if expr < 0 else 0
    return SIGNS.get(sign_on_box(expr)[0])


def _reduced(above: Expr, below: Expr) -> tuple[Expr, Expr]:
    """Return two formulas without the number and the powers that all their terms share."""
    above, below = normal(above), normal(below)
    tables = [read(one) for one in (above, below)]
    numbers = [abs(Fraction(number)) for table in tables for number in table.values()]
    shared = from_number(
        Fraction(gcd(*(n.numerator for n in numbers)), lcm(*(n.denominator for n in numbers)))
    )
    monomials = [dict(monomial) for table in tables for monomial in table]
    for base in monomials[0]:
        power = min(one.get(base, 0) for one in monomials)
        if power > 0:
            shared *= base**power
    return normal(above / shared), normal(below / shared)


def regions(work: Expr, moved: Expr, names: Sequence[str]) -> tuple[Region, ...]:
    """Return the condition solved for each size that it can be solved for.

    Where it holds for all sizes, or for none, that is said once.
    """
    if work == 0 or moved == 0:
        return ()
    found = []
    for name in names:
        if name in {*names_of(work), *names_of(moved)}:
            one = region(work, moved, name)
            if one is not None:
                if one.relation in (ALWAYS, NEVER):
                    return (one,)
                found.append(one)
    return tuple(found)


def grouped(expr: Expr, ridge: Expr) -> tuple[Expr, Expr]:
    """Return a formula that is linear in a symbol as what has it not, and minus what stands beside it."""
    beside = normal(expr.diff(ridge))
    return normal(expr - beside * ridge), normal(-beside)
