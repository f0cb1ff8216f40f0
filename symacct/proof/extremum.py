"""Minima and limits: ``argmin_k(L/k + k) = sqrt(L)``, ``min_k(...) = FORMULA``, ``lim_n(...) = FORMULA``."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from itertools import chain, islice
from typing import TYPE_CHECKING

from sympy import Integer, Max, Min, Rational, Symbol, ceiling, floor, fraction, together

from symacct.algebra.budget import check_time
from symacct.algebra.condition import Condition
from symacct.algebra.evaluate import evaluate, names_of, substitute
from symacct.algebra.leading import degree_in, leading_term
from symacct.algebra.normal import is_zero, normal
from symacct.algebra.sign import sign_on_box
from symacct.algebra.symbols import as_expr, symbol
from symacct.errors import FormulaError, RuleError
from symacct.proof.compiled import compiled, compiled_condition
from symacct.proof.decide import Box, Decision
from symacct.proof.search import MOST_POINTS, Counterexample
from symacct.proof.sizes import made
from symacct.proof.whole import judge_whole

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from sympy import Expr

HEAD = re.compile(r"\s*\\?(argmin|min|lim)_\{?(\w+)\}?\s*\(")
BARE = re.compile(
    r"\s*\\?(argmin|min|lim)_\{?(\w+)\}?\s+([a-z_]+(?:\.[a-z_]+)+(?:\([^()]*\))?)\s*=\s*(.+)", re.DOTALL
)
RELATION = re.compile(r"\s*(=)\s*(.+)", re.DOTALL)
MOST_TRIES, DIGITS, CERTAIN, MOST_BEATEN = 200, 60, 40, 1500
"""How many sizes are tried, with how many digits, and how large a difference of roots must be to be one."""
ORDERED = ("at_least", "equal")
"""Conditions that a place satisfies or not; which real numbers divide another is not asked."""

NOT_NEGATIVE = ("positive", "nonnegative", "zero")


@dataclass(frozen=True, slots=True)
class Extremum:
    """A claim about a minimum or a limit, taken apart.

    Attributes:
        text: the claim as it was written.
        form: ``argmin``, ``min`` or ``lim``.
        name: the size that varies.
        inner: the text of the formula.
        claimed: the text of what it is claimed to be.
    """

    text: str
    form: str
    name: str
    inner: str
    claimed: str

    @property
    def equation(self) -> str:
        """The text of an equation that reads the parts; an argmin is a size without a unit."""
        return (
            f"({self.inner}) = ({self.inner})"
            if self.form == "argmin"
            else f"({self.inner}) = ({self.claimed})"
        )


def read_extremum(text: str) -> Extremum | None:
    """Return a claim about a minimum or a limit, or None where it is none.

    Raises:
        FormulaError: it begins like one and goes on otherwise.

    >>> read_extremum("argmin_k(L/k + k) = sqrt(L)").claimed
    'sqrt(L)'
    >>> read_extremum("argmin_k memory.peak = sqrt(L)").inner
    'memory.peak'
    """
    bare = BARE.fullmatch(text)
    if bare is not None:
        return Extremum(text, bare[1], bare[2], bare[3], bare[4].strip())
    head = HEAD.match(text)
    if head is None:
        return None
    depth, end = 1, head.end()
    while end < len(text) and depth:
        depth += {"(": 1, ")": -1}.get(text[end], 0)
        end += 1
    rest = RELATION.fullmatch(text[end:])
    if depth or rest is None:
        raise FormulaError(
            f"a claim about {head.group(1)} is an equation",
            where=text[:72],
            expected=f"{head.group(1)}_{head.group(2)}(FORMULA) = FORMULA",
            got=text[end : end + 40].strip() or "an open bracket",
        )
    return Extremum(text, head.group(1), head.group(2), text[head.end() : end - 1], rest.group(2).strip())


def judge_extremum(form: str, name: str, inner: Expr, claimed: Expr, box: Box) -> Decision:
    """Return whether a formula has the claimed minimum over real values above 0, or the claimed limit.

    A formula that rounds is looked at over integers of at least 1.

    >>> from sympy import sqrt
    >>> L, k = symbol("L"), symbol("k")
    >>> judge_extremum("argmin", "k", L / k + k, sqrt(L), Box()).outcome
    'proved'
    >>> judge_extremum("min", "k", L / k + k, 2 * sqrt(L), Box()).outcome
    'proved'
    """
    if name in names_of(claimed):
        raise FormulaError(f"{name} varies, and cannot stand in what is claimed", got=str(claimed))
    if name not in names_of(inner):
        raise FormulaError(f"{name} is not in the formula", expected=f"a formula in {name}", got=str(inner))
    if form == "lim":
        return _limit(name, inner, claimed)
    if form == "min" and inner.has(ceiling, floor):
        return judge_whole(name, inner, claimed, box)
    if inner.has(Max, Min):
        what = "which formula is the largest depends on the sizes: say where, as in: if B >= k*D"
        beaten = _beaten(name, inner, claimed, box) if form == "argmin" else None
        return beaten or Decision("undecided", what)
    return _smooth(form, name, inner, claimed, box)


def _smooth(form: str, name: str, inner: Expr, claimed: Expr, box: Box) -> Decision:
    """Judge a minimum over real values by the derivative."""
    best = stationary(inner, name, box)
    if best is None or not is_convex(inner, name, box):
        return Decision("undecided", f"no single point was found where the derivative by {name} is 0")
    true = best if form == "argmin" else normal(substitute(inner, {name: best}))
    if is_zero(true - claimed):
        return Decision(
            "proved", f"convex for all real {name} > 0, and the derivative is 0 there", limit=true
        )
    if form == "argmin":
        point = _apart((claimed, best), name, inner, box)
    else:
        point = _differs(true, claimed, (best,), name, box)
    if point is None:
        return Decision("undecided", "no sizes were found that tell it from what is claimed")
    return Decision("refuted", f"it is {true}, over real {name} > 0", point, true)


def _beaten(name: str, inner: Expr, claimed: Expr, box: Box) -> Decision | None:
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


def _apart(places: tuple[Expr, Expr], name: str, inner: Expr, box: Box) -> Counterexample | None:
    """Return sizes at which two places, both allowed there, give different values."""
    left, right = (substitute(inner, {name: at}) for at in places)
    found = _differs(left, right, places, name, box)
    if found is None:
        return None
    sizes = dict(found.sizes)
    return replace(found, places=tuple(_at(place, sizes) for place in places))


def _differs(left: Expr, right: Expr, places: Sequence[Expr], name: str, box: Box) -> Counterexample | None:
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


def stationary(inner: Expr, name: str, box: Box) -> Expr | None:
    """Return the value above 0 where the derivative is 0, where that is a root of a quotient; else None.

    >>> print(stationary(symbol("L") / symbol("k") + 4 * symbol("k"), "k", Box()))
    sqrt(L)/2
    """
    at = symbol(name)
    top, _ = fraction(together(normal(inner).diff(at)))
    top = normal(top)
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
    if not (high - low).is_Integer or sign_on_box(ratio, box.lower)[0] != "positive":
        return None
    return normal(ratio ** (Integer(1) / (high - low)))


def is_convex(inner: Expr, name: str, box: Box) -> bool:
    """Say whether the second derivative is not negative for all real values above 0."""
    at = symbol(name)
    top, below = fraction(together(normal(inner).diff(at, 2)))
    signs = []
    for part in (normal(top), normal(below)):
        powers = [term.as_powers_dict().get(at, 0) for term in part.as_ordered_terms()]
        lowest = min(powers)
        signs.append(sign_on_box(normal(part * at**-lowest), {**box.lower, name: 0})[0])
    return all(sign in NOT_NEGATIVE for sign in signs)


def _limit(name: str, inner: Expr, claimed: Expr) -> Decision:
    try:
        degree = degree_in(inner, [name])
        limit = Integer(0) if degree < 0 else leading_term(inner, [name])[0]
    except RuleError as error:
        return Decision("undecided", error.what)
    if degree > 0:
        return Decision("refuted", f"it grows without end as {name} -> oo")
    if Symbol(name) in limit.free_symbols or name in names_of(limit):
        return Decision("undecided", f"no limit was found as {name} -> oo")
    if is_zero(limit - claimed):
        return Decision("proved", f"the leading term has degree 0 as {name} -> oo", limit=limit)
    return Decision("refuted", f"it tends to {limit} as {name} -> oo", limit=limit)


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
