"""Minima and limits: ``argmin_k(L/k + k) = sqrt(L)``, ``min_k(...) = FORMULA``, ``lim_n(...) = FORMULA``."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from sympy import Integer, ceiling, floor

from symacct.algebra.evaluate import evaluate, names_of, substitute
from symacct.algebra.factorials import COUNTED
from symacct.algebra.leading import degree_in, leading_term
from symacct.algebra.normal import normal
from symacct.algebra.stationary import stationary
from symacct.algebra.symbols import symbol
from symacct.errors import FormulaError, RuleError, SizeError
from symacct.messages import Message
from symacct.proof.certified import certify_minimum, certify_tending
from symacct.proof.decide import NO_SIZES, Decision, are_apart, seen_along
from symacct.proof.growth import rays, together
from symacct.proof.least import compare_least

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from sympy import Expr

    from symacct.algebra.condition import Condition
    from symacct.algebra.domain import Domain
    from symacct.proof.case import Rest
    from symacct.proof.growth import Regime

__all__ = ["Extremum", "judge_limit", "judge_minimum", "read_extremum"]

HEAD = re.compile(r"\s*\\?(argmin|min|lim)_\{?(\w+)\}?\s*\(")
BARE = re.compile(
    r"\s*\\?(argmin|min|lim)_\{?(\w+)\}?\s+([a-z_]+(?:\.[a-z_]+)+(?:\([^()]*\))?)\s*=\s*(.+)", re.DOTALL
)
RELATION = re.compile(r"\s*(=)\s*(.+)", re.DOTALL)
WHERE = re.compile(r"(?<![\w.])(?:where|其中)\s+\w+\s*=(?!=)")

LEVEL = Fraction(0), Fraction(0)
"""The order of what tends to a number."""
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
        where: the text of its bindings, from the word ``where`` on; empty where it has none.
    """

    text: str
    form: str
    name: str
    inner: str
    claimed: str
    where: str = ""

    @property
    def equation(self) -> str:
        """The text of an equation that reads the parts; an argmin is a size without a unit."""
        claimed = self.inner if self.form == "argmin" else self.claimed
        return f"({self.inner}) = ({claimed}) {self.where}".rstrip()


def read_extremum(text: str) -> Extremum | None:
    """Return a claim about a minimum or a limit, or None where it is none.

    Raises:
        FormulaError: it begins like one and goes on otherwise.

    >>> read_extremum("argmin_k(L/k + k) = sqrt(L)").claimed
    'sqrt(L)'
    >>> read_extremum("argmin_k memory.peak = sqrt(L)").inner
    'memory.peak'
    >>> read_extremum("min_k(k + L/k) = 2*r where r = sqrt(L)").equation
    '(k + L/k) = (2*r) where r = sqrt(L)'
    """
    bare = BARE.fullmatch(text)
    if bare is not None:
        return Extremum(text, bare[1], bare[2], bare[3], *_cut(bare[4]))
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
    return Extremum(text, head.group(1), head.group(2), text[head.end() : end - 1], *_cut(rest.group(2)))


def _cut(claimed: str) -> tuple[str, str]:
    """Return what is claimed, and the bindings behind it."""
    where = WHERE.search(claimed)
    start = where.start() if where else len(claimed)
    return claimed[:start].strip(), claimed[start:].strip()


def is_over_integers(name: str, inner: Expr, conditions: Collection[Condition]) -> bool:
    """Say whether a minimum is one over integers: the formula rounds, or the name divides by a condition."""
    divides = any(one.kind == "divides" and name in one.names for one in conditions)
    rounds = any(name in names_of(atom) for atom in inner.atoms(ceiling, floor, *COUNTED))
    return divides or rounds


def judge_minimum(form: str, name: str, inner: Expr, claimed: Expr, domain: Domain) -> Decision:
    """Return whether a formula has the claimed least value, or its place, on a domain.

    The name varies over the real numbers above 0 that the domain allows where it is among the domain's reals,
    else over integers.

    >>> from sympy import sqrt
    >>> from symacct.algebra.domain import Domain
    >>> L, k = symbol("L"), symbol("k")
    >>> judge_minimum("min", "k", L / k + k, 3 * sqrt(L), Domain(real=frozenset("k"))).outcome
    'refuted'
    """
    _check_names(name, inner, claimed)
    tried = compare_least(form, name, inner, claimed, domain)
    if tried.point is not None:
        return Decision("refuted", tried.reason, tried.point, limit=_true_minimum(form, name, inner, domain))
    if not tried.points:
        return Decision("undecided", tried.reason or NO_SIZES)
    for place in places(form, name, inner, claimed, domain):
        made = certify_minimum(form, name, inner, claimed, place, domain)
        if made is not None:
            why = Message("least_at_integer", name=name)
            if name in domain.real:
                why = Message("least_at_real", name=name, place=f"{name} = {place}")
            return Decision("proved", why, limit=claimed, certificate=made)
    return Decision("undecided", Message("holds_at_points", points=tried.points))


def _true_minimum(form: str, name: str, inner: Expr, domain: Domain) -> Expr | None:
    """Return the least value, or its place, where one is proved."""
    best = stationary(inner, name, domain) if name in domain.real else None
    if best is None:
        return None
    true = best if form == "argmin" else normal(substitute(inner, {name: best}))
    return true if certify_minimum(form, name, inner, true, best, domain) is not None else None


def _check_names(name: str, inner: Expr, claimed: Expr) -> None:
    if name in names_of(claimed):
        raise FormulaError(f"{name} varies, and cannot stand in what is claimed", got=str(claimed))
    if name not in names_of(inner):
        raise FormulaError(f"{name} is not in the formula", expected=f"a formula in {name}", got=str(inner))


def places(form: str, name: str, inner: Expr, claimed: Expr, domain: Domain) -> Iterator[Expr]:
    """Yield where a formula may be least: as claimed, where its derivative is 0, at the domain's ends."""
    if form == "argmin":
        yield claimed
        return
    plain = inner.replace(ceiling, lambda inside: inside).replace(floor, lambda inside: inside)
    best = stationary(plain, name, domain)
    if best is not None:
        yield best
        if name not in domain.real:
            yield ceiling(best)
            yield floor(best)
    yield Integer(domain.least(name))
    for one in domain.conditions:
        gap = normal(one.left - one.right)
        slope = gap.diff(symbol(name))
        if one.kind == "at_least" and slope != 0 and name not in names_of(slope):
            yield normal(symbol(name) - gap / slope)


def judge_limit(
    name: str, inner: Expr, claimed: Expr, regime: Regime, rests: Sequence[Rest] = ()
) -> Decision:
    """Return whether a formula has the claimed limit as a size grows.

    >>> from symacct.proof.growth import regimes_of
    >>> n = symbol("n")
    >>> judge_limit("n", (n + 1) / n, Integer(2), regimes_of([], {}, ("n",), frozenset())).reason
    'it tends to 1 as n -> oo'
    """
    _check_names(name, inner, claimed)
    sides = [regime.domain.apply(side) for side in (inner, claimed)]
    seen = 0
    grown = together((name,))
    for ray in (ways := rays(regime, sides)):
        found = ray.trend(sides[0])
        if found is None:
            continue
        seen += 1
        if found.factor != 0 and found.order > LEVEL:
            return Decision("refuted", Message("grows_without_end", grown=grown), ray=ray.describe())
        value = found.factor if found.order == LEVEL else Integer(0)
        try:
            goal = evaluate(sides[1], dict(ray.fixed))
        except SizeError:
            continue
        if are_apart(value, goal):
            true = _limit_of(sides[0], name)
            shown = value if true is None else true
            return Decision(
                "refuted",
                Message("tends_to", value=shown, grown=grown),
                limit=true,
                ray=ray.describe(),
            )
    if not ways:
        return Decision("undecided", NO_SIZES)
    made = certify_tending(inner, claimed, regime, rests)
    if made is not None:
        why = Message("degree_zero", grown=grown)
        return Decision("proved", why, limit=claimed, certificate=made)
    return Decision("undecided", seen_along(seen, grown))


def _limit_of(inner: Expr, name: str) -> Expr | None:
    """Return the limit as a formula in the other sizes, where the leading term shows it."""
    try:
        degree = degree_in(inner, [name])
        limit = Integer(0) if degree < 0 else leading_term(inner, [name])[0]
    except RuleError:
        return None
    return None if degree > 0 or name in names_of(limit) else limit
