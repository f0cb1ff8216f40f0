"""Checks of answers: each put into the condition again, by exact evaluation."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from sympy import Integer, Max, Min, Poly, PolynomialError, fraction, together

from symacct.algebra.evaluate import names_of, substitute
from symacct.algebra.normal import is_zero, normal, total
from symacct.algebra.symbols import symbol
from symacct.algebra.tables import as_number
from symacct.algebra.value import value_of
from symacct.errors import RuleError, SymacctError
from symacct.planning.exact_sign import sign_at
from symacct.planning.solve_answer import ENDS, EQUAL, NEARLY, NO_VALUE, POLE, TOUCHES, TURNS, Check
from symacct.planning.solve_cases import demands, is_meant, is_served, meant
from symacct.planning.solve_defined import NOT_ZERO, needs_of
from symacct.planning.solve_integers import holds_at
from symacct.planning.solve_roots import as_rational
from symacct.planning.solve_sets import HOLDS
from symacct.planning.solve_sides import derived_at, gap_sign

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from sympy import Expr

    from symacct.planning.solve_defined import Need
    from symacct.planning.solve_formula import Case
    from symacct.planning.solve_reading import Asked
    from symacct.planning.solve_roots import Root

MOST_STEPS = 20_000
DIGITS, TINY = 60, Integer(10) ** -40
WITH_EQUAL = ("=", "<=", ">=")


def equal(gap: Expr, name: str, value: Expr) -> str | None:
    """Return how a polynomial over another is seen to be 0 with the unknown put in; None where it is not.

    The value goes into the numerator, a power at a time, so that nothing is divided; where roots of the
    unknown stand in it, into the formula as it is.

    >>> from sympy import sqrt
    >>> from symacct.algebra.symbols import symbol
    >>> equal(symbol("n") ** 2 - symbol("a"), "n", sqrt(symbol("a")))
    'both sides are equal'
    """
    top, below = fraction(normal(value))
    try:
        known = {one.name: one for one in gap.free_symbols}
        powers = Poly(fraction(together(gap))[0], known.get(name, symbol(name))).all_coeffs()
    except PolynomialError:
        put = substitute(gap, {name: value})
    else:
        most = len(powers) - 1
        put = total(c * top ** (most - n) * below**n for n, c in enumerate(powers))
    if is_zero(put):
        return EQUAL
    if names_of(put) or not put.is_finite:
        return None
    scale = 1 + sum(abs(term.evalf(DIGITS)) for term in put.as_ordered_terms())
    return NEARLY if abs(put.evalf(DIGITS)) < TINY * scale else None


def check_formula(asked: Asked, case: Case) -> Check | None:
    """Return the check of a formula: with it put in, both sides are equal. None where it is a maximum.

    Raises:
        RuleError: they are not.
    """
    if case.value is None or case.value.has(Max, Min):
        return None
    said = equal(asked.gap, asked.name, case.value)
    if said is None:
        raise RuleError("an answer does not satisfy its equation", expected="0", got=str(case.value)[:72])
    return Check(case.value, None, None, holds=asked.relation in WITH_EQUAL, said=said)


def check_root(asked: Asked, root: Root) -> Check:
    """Return the check of an end of an interval: what the sides are there, or within its bounds."""
    sign = sign_at(asked.gap, asked.name, root)
    exact = root.exact
    at = as_rational(root.close().low) if exact is None else exact
    defined = all(sign_at(one.expr, asked.name, root) in one.signs for one in asked.needs)
    if sign is None or not defined:
        return Check(at, None, None, holds=False, said=POLE if _is_pole(asked, root) else NO_VALUE)
    holds = HOLDS[asked.relation](sign)
    said = ENDS if sign else EQUAL if exact is not None else _near(asked, root.close())
    try:
        left, right = (_at(side, asked.name, at) for side in (asked.left, asked.right))
    except SymacctError:
        return Check(at, None, None, holds=holds, said=said)
    return Check(at, left, right, holds=holds, said=said)


def _is_pole(asked: Asked, root: Root) -> bool:
    """Say whether a divisor is 0 there."""
    needs = (*asked.needs, *needs_of(asked.left), *needs_of(asked.right))
    return any(one.signs == NOT_ZERO and sign_at(one.expr, asked.name, root) == 0 for one in needs)


def _at(side: Expr, name: str, value: Expr) -> Expr:
    """Return the exact value of a side in one name."""
    return normal(value_of(side, {name: as_number(value) if value.is_Rational else value}))


def _near(asked: Asked, near: Root) -> str:
    """Return how the sides compare around a root that is known by its bounds, at which they are equal."""
    signs = [sign_at(asked.gap, asked.name, end) for end in (near.low, near.high)]
    if None in signs:
        return EQUAL
    return TURNS if signs[0] != signs[1] else TOUCHES


def among(asked: Asked) -> tuple[str, ...]:
    """Return which sizes are looked at, where it is assumed, or the graph demands, that they satisfy more."""
    ours = demands(asked)
    return (f"of the {asked.name} with {', '.join(map(str, ours))}",) if ours else ()


def allowed(asked: Asked, size: int) -> bool:
    """Say whether a size is looked at: it is meant, and not one of those that are left out."""
    if not is_meant(asked, size):
        return False
    left = any(first <= size and (last is None or size <= last) for first, last in asked.left_out)
    return not left or is_served(asked, size)


def step(asked: Asked, size: int, by: int) -> int | None:
    """Return the first size from one on, upwards or downwards, that is looked at; None if there is none."""
    where = meant(asked)
    for _ in range(MOST_STEPS):
        if size < 1 or not any(first <= size if by < 0 else _reaches(last, size) for first, last in where):
            return None
        if allowed(asked, size):
            return size
        size += by
    return None


def _reaches(last: int | None, size: int) -> bool:
    return last is None or size <= last


def check_integers(asked: Asked, ranges: Iterable[tuple[int, int | None]]) -> Iterator[Check]:
    """Yield the exact sides at the first and last integers of each range, and at the next ones outside.

    Raises:
        RuleError: the formulas and a derivation with the size bound disagree.
    """
    found: dict[int, None] = {}
    for first, last in ranges:
        ends = [step(asked, first - 1, -1), first]
        ends += [] if last is None else [last, step(asked, last + 1, 1) or last + 1]
        found |= dict.fromkeys(end for end in ends if end is not None)
    for size in sorted(found):
        outside = _outside(asked, size)
        if outside:
            yield Check(Integer(size), None, None, holds=False, said=outside)
        elif allowed(asked, size):
            yield from _check_integer(asked, size)


def _outside(asked: Asked, size: int) -> str:
    """Return which condition a size fails, of those that compare."""
    failing = (one for one in demands(asked) if one.kind != "divides" and not one.holds({asked.name: size}))
    return next((f"not {one}" for one in failing), "")


def _check_integer(asked: Asked, size: int) -> Iterator[Check]:
    """Yield the exact sides at an integer, or that one of them has no value there."""
    pair = derived_at(asked, size)
    served = is_served(asked, size)
    undefined = served and any(_fails(asked, size, one) for one in asked.needs)
    if undefined or (pair is None and asked.again is None):
        yield Check(Integer(size), None, None, holds=False, said=NO_VALUE)
        return
    if pair is None:
        return
    left, right = pair
    holds = HOLDS[asked.relation](gap_sign(pair))
    if served and holds != holds_at(normal(asked.gap), asked.relation, asked.name, size):
        what = f"the formulas and the derivation at {asked.name} = {size} disagree"
        raise RuleError(what, expected="one value", got=f"{left} against {right}")
    yield Check(Integer(size), left, right, holds, "holds" if holds else "does not hold")


def _fails(asked: Asked, size: int, need: Need) -> bool:
    return sign_at(need.expr, asked.name, Fraction(size)) not in need.signs
