"""Why no value satisfies a condition, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sympy import Integer, ceiling, floor

from symacct.algebra.evaluate import names_of
from symacct.algebra.factorials import COUNTED
from symacct.algebra.leading import degree_in, leading_term
from symacct.algebra.normal import normal
from symacct.errors import RuleError
from symacct.planning.real_symbol import as_size
from symacct.planning.solve_defined import is_certain, needs_of
from symacct.planning.solve_integers import defined_set
from symacct.planning.solve_sets import HOLDS, real_set
from symacct.planning.solve_sides import derived_at, gap_sign

if TYPE_CHECKING:
    from sympy import Expr

    from symacct.planning.solve_reading import Asked


def reason_of(asked: Asked, least: int | None) -> str:
    """Return why nothing satisfies a condition in one unknown.

    Args:
        asked: the question.
        least: the smallest integer that is looked at; None for real numbers.
    """
    gap = normal(asked.gap)
    where = _defined(asked, gap, least)
    if where is None:
        return f"no {asked.name} gives both sides a value"
    if asked.relation == "=":
        return _never_equal(asked, gap, least, where)
    over = asked.relation in ("<=", "<")
    words = "above" if over else "below"
    if least is not None:
        pair = derived_at(asked, least)
        if pair is not None and not HOLDS[asked.relation](gap_sign(pair)):
            already = f"at {asked.name} = {least} the left side is already {words} the right one"
            return already + _as_it_grows(asked)
    return f"the left side is {words} the right one for every {asked.name}{where}" + _as_it_grows(asked)


def _defined(asked: Asked, gap: Expr, least: int | None) -> str | None:
    """Return of which values it is spoken: nothing where it is all of them, None where there is none."""
    needs = (*asked.needs, *needs_of(gap))
    if all(is_certain(one, asked.domain) for one in needs):
        return ""
    try:
        if least is None:
            some = bool(real_set(Integer(0), "=", asked.name, needs))
        else:
            some = bool(defined_set(gap, asked.name, least, asked.needs))
    except RuleError:
        some = True
    return " at which both have a value" if some else None


def _never_equal(asked: Asked, gap: Expr, least: int | None, where: str) -> str:
    if least is not None and not gap.has(ceiling, floor, *COUNTED):
        try:
            points = [span for span in real_set(gap, "=", asked.name) if span.low is not None]
        except RuleError:
            points = []
        near = [span.low.below() for span in points if span.low is not None and span.low.below() >= least - 1]
        if near:
            between = ", ".join(f"{n} and {n + 1}" for n in near)
            return f"the two sides are equal between {between}, at no integer"
    return f"the two sides are equal for no {asked.name}{where}" + _as_it_grows(asked)


def _as_it_grows(asked: Asked) -> str:
    """Return what the left side tends to, where that says more."""
    if asked.gap.has(ceiling, floor, *COUNTED):
        return ""
    left, right = (as_size(one, asked.name) for one in (asked.left, asked.right))
    for side, other in ((left, right), (right, left)):
        if names_of(normal(other)):
            continue
        try:
            if degree_in(side, [asked.name]) == 0:
                limit = leading_term(side, [asked.name])[0]
                if not names_of(limit) and names_of(normal(side)):
                    against = _short(normal(other))
                    return f"; as {asked.name} grows it tends to {_short(limit)}, against {against}"
        except RuleError:
            continue
    return ""


def _short(value: Expr) -> str:
    return f"{float(value):.6g}"
