"""Where the derivative of a formula is 0, and whether it is convex."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sympy import Integer, fraction, together

from symacct.algebra.normal import normal
from symacct.algebra.sign import sign_on_box
from symacct.algebra.symbols import symbol

if TYPE_CHECKING:
    from sympy import Expr

    from symacct.algebra.domain import Domain

NOT_NEGATIVE = ("positive", "nonnegative", "zero")


def stationary(inner: Expr, name: str, domain: Domain) -> Expr | None:
    """Return the value above 0 where the derivative is 0, where that is a root of a quotient; else None.

    >>> from symacct.algebra.domain import Domain
    >>> print(stationary(symbol("L") / symbol("k") + 4 * symbol("k"), "k", Domain()))
    sqrt(L)/2
    """
    at = symbol(name)
    top = normal(fraction(together(normal(inner).diff(at)))[0])
    parts: dict[Expr, Expr] = {}
    for term in top.as_ordered_terms():
        rest, power = term.as_independent(at)
        exponent = power.as_powers_dict().get(at, Integer(0)) if power != 1 else Integer(0)
        if power not in (1, at**exponent):
            return None
        parts[exponent] = parts.get(exponent, Integer(0)) + rest
    if len(parts) != 2:
        return None
    low, high = sorted(parts)
    ratio = normal(-parts[low] / parts[high])
    if not (high - low).is_Integer or sign_on_box(ratio, domain.corner)[0] != "positive":
        return None
    return normal(ratio ** (Integer(1) / (high - low)))


def is_convex(inner: Expr, name: str, domain: Domain) -> bool:
    """Say whether the second derivative is not negative for all real values above 0.

    >>> from symacct.algebra.domain import Domain
    >>> n = symbol("n")
    >>> is_convex(n**2 + 3 / n, "n", Domain()), is_convex(-(n**2), "n", Domain())
    (True, False)
    """
    at = symbol(name)
    top, below = fraction(together(normal(inner).diff(at, 2)))
    signs = []
    for part in (normal(top), normal(below)):
        powers = [term.as_powers_dict().get(at, 0) for term in part.as_ordered_terms()]
        signs.append(sign_on_box(normal(part * at ** -min(powers)), {**domain.corner, name: 0})[0])
    return all(sign in NOT_NEGATIVE for sign in signs)
