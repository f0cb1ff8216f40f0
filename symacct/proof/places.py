"""Places of a minimum that are claimed: where they are allowed, and sizes at which another one gives less."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain, islice
from typing import TYPE_CHECKING

from sympy import Integer, Rational

from symacct.algebra.budget import check_time
from symacct.algebra.condition import Condition
from symacct.algebra.evaluate import evaluate, names_of, substitute
from symacct.algebra.symbols import as_expr
from symacct.proof.compiled import compiled, compiled_condition
from symacct.proof.decide import Box, Decision
from symacct.proof.search import MOST_POINTS, Counterexample
from symacct.proof.sizes import made

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from sympy import Expr

MOST_TRIES, DIGITS, CERTAIN, MOST_BEATEN = 200, 60, 40, 1500
"""How many sizes are tried, with how many digits, and how large a difference of roots must be to be one."""
ORDERED = ("at_least", "equal")
"""Conditions that a place satisfies or not; which real numbers divide another is not asked."""


def beaten(name: str, inner: Expr, claimed: Expr, box: Box) -> Decision | None:
    """Refute a place of the minimum by integers: sizes, and another one that gives less."""
    value, place = compiled(inner), compiled(claimed)
    checks = [compiled_condition(one) for one in box.conditions]
    names = sorted({*names_of(inner), *names_of(claimed)})
    for sizes in islice(made(names, box.lower, box.conditions).valid(MOST_POINTS), MOST_BEATEN):
        check_time()
        at = place(sizes)
        if at is None or at != int(at) or at < box.least(name):
            continue
        here = {**sizes, name: int(at)}
        if not all(check(here) for check in checks):
            continue
        less, most = value(sizes), value(here)
        if less is not None and most is not None and less < most:
            others = tuple(pair for pair in sizes.items() if pair[0] != name)
            why = f"{name} = {sizes[name]} gives less than {name} = {int(at)} there"
            places = (Integer(int(at)), Integer(sizes[name]))
            return Decision("refuted", why, Counterexample(others, as_expr(most), as_expr(less), places))
    return None


def apart(places: tuple[Expr, Expr], name: str, inner: Expr, box: Box) -> Counterexample | None:
    """Return sizes at which two places, both allowed there, give different values."""
    left, right = (substitute(inner, {name: at}) for at in places)
    found = differs(left, right, places, name, box)
    if found is None:
        return None
    sizes = dict(found.sizes)
    return replace(found, places=tuple(_at(place, sizes) for place in places))


def differs(left: Expr, right: Expr, places: Sequence[Expr], name: str, box: Box) -> Counterexample | None:
    """Return the first of a few sizes at which two formulas, roots among them, differ for certain.

    Every place must be one of those that the conditions allow there; sizes at which the first one is an
    integer come first.
    """
    tied = [one for place in places for one in _allowed(name, place, box)]
    apart = [one for one in box.conditions if name not in one.names]
    sides = [*names_of(left), *names_of(right), *(n for one in tied for n in one.names)]
    checks = [compiled_condition(one) for one in box.conditions if name in one.names]
    first, late = compiled(places[0]), list[dict[str, int]]()

    def whole() -> Iterator[dict[str, int]]:
        for sizes in made(sorted(set(sides)), box.lower, apart).valid():
            value = first(sizes)
            if value is not None and value == int(value):
                here = {**sizes, name: int(value)}
                if all(check(here) for check in checks):
                    yield sizes
            elif len(late) < MOST_TRIES:
                late.append(sizes)

    for sizes in chain(islice(whole(), MOST_TRIES), late):
        check_time()
        if not all(one.holds(sizes) for one in tied):
            continue
        values = [_at(side, sizes) for side in (left, right)]
        if abs((values[0] - values[1]).evalf(DIGITS)) > Rational(1, 10**CERTAIN):
            return Counterexample(tuple(sizes.items()), values[0], values[1])
    return None


def _at(expr: Expr, sizes: Mapping[str, int]) -> Expr:
    return evaluate(expr, {name: sizes[name] for name in names_of(expr)})


def among(name: str, claimed: Expr, box: Box) -> tuple[str, ...]:
    """Return what must hold for the claimed place to be one of those that conditions allow."""
    found = (one for one in _allowed(name, claimed, box) if one.kind == "at_least")
    return tuple(dict.fromkeys(str(one) for one in found))


def _allowed(name: str, place: Expr, box: Box) -> list[Condition]:
    """Return what must hold for a place to be allowed, less what holds for certain."""
    found = [
        one.substitute({name: place}) for one in box.conditions if name in one.names and one.kind in ORDERED
    ]
    if box.least(name) > 1:
        found.append(Condition("at_least", place, Integer(box.least(name))))
    return [one for one in found if not one.is_certain()]
