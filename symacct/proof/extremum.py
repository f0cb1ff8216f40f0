"""Minima and limits: ``argmin_k(L/k + k) = sqrt(L)``, ``min_k(...) = FORMULA``, ``lim_n(...) = FORMULA``."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sympy import Integer, Max, Min, Symbol, ceiling, floor, fraction, together

from symacct.algebra.evaluate import names_of, substitute
from symacct.algebra.leading import degree_in, leading_term
from symacct.algebra.normal import is_zero, normal
from symacct.algebra.sign import sign_on_box
from symacct.algebra.symbols import symbol
from symacct.errors import FormulaError, RuleError
from symacct.proof.decide import Box, Decision
from symacct.proof.places import among, apart, beaten, differs
from symacct.proof.whole import judge_whole

if TYPE_CHECKING:
    from sympy import Expr

__all__ = ["Extremum", "among", "is_convex", "judge_extremum", "read_extremum", "stationary"]

HEAD = re.compile(r"\s*\\?(argmin|min|lim)_\{?(\w+)\}?\s*\(")
BARE = re.compile(
    r"\s*\\?(argmin|min|lim)_\{?(\w+)\}?\s+([a-z_]+(?:\.[a-z_]+)+(?:\([^()]*\))?)\s*=\s*(.+)", re.DOTALL
)
RELATION = re.compile(r"\s*(=)\s*(.+)", re.DOTALL)

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
        lower = beaten(name, inner, claimed, box) if form == "argmin" else None
        return lower or Decision("undecided", what)
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
        point = apart((claimed, best), name, inner, box)
    else:
        point = differs(true, claimed, (best,), name, box)
    if point is None:
        return Decision("undecided", "no sizes were found that tell it from what is claimed")
    return Decision("refuted", f"it is {true}, over real {name} > 0", point, true)


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
