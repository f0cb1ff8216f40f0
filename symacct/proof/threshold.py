"""Thresholds: ``A <= B iff NAME <= FORMULA``, and where two formulas are equal."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING

from symacct.algebra.budget import check_time
from symacct.algebra.evaluate import names_of
from symacct.algebra.normal import is_zero, normal
from symacct.algebra.sign import sign_on_box
from symacct.algebra.symbols import symbol
from symacct.algebra.tables import build
from symacct.algebra.terms import fraction, read
from symacct.claims import Claim, read_claim, resolve
from symacct.errors import FormulaError
from symacct.messages import Message
from symacct.proof.certified import certify_threshold
from symacct.proof.decide import EXACT, NO_SIZES, Decision, counterexample_at
from symacct.proof.enclosure import UndefinedError, sign_between
from symacct.proof.points import Space, sample, smallest

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping
    from fractions import Fraction

    from sympy import Expr

    from symacct.algebra.domain import Domain
    from symacct.proof.verdict import Verdict

IFF = re.compile(r"(?<!\w)(?:iff|if\s+and\s+only\s+if)(?!\w)|⇔|⟺|<=>")
WHERE = re.compile(r"(?<![\w.])where(?!\w)")
FLIPPED = {"<=": ">=", ">=": "<=", "<": ">", ">": "<"}
SIGNS = {"positive": 1, "negative": -1}
FEW_MORE = 1500
BOTH_WAYS = Message("both_ways")


@dataclass(frozen=True, slots=True)
class Crossing:
    """Where two formulas are equal, solved for one size.

    Attributes:
        name: the size.
        value: what it is there; a size is an integer, so that it may lie between two.
        above: whether the first formula is the larger one above it; None where that depends on other sizes.
    """

    name: str
    value: Expr
    above: bool | None


@dataclass(frozen=True, slots=True)
class Written:
    """The text of a claim about a threshold, cut at its ``iff``; each part keeps the ``where``."""

    text: str
    condition: str
    threshold: str


@dataclass(frozen=True, slots=True)
class Threshold:
    """What is claimed of a size, and what is true of it.

    Attributes:
        text: the claim as it was written.
        name: the size.
        relation: how it compares, as claimed.
        value: with what, as claimed.
        crossing: where the two sides are equal; None where that is not linear in the size, or where the claim
            is true between integers alone.
        holds: the relation under which the condition holds, where it is known.
    """

    text: str
    name: str
    relation: str
    value: Expr
    crossing: Crossing | None
    holds: str | None


def crossing(left: Expr, right: Expr, name: str, domain: Domain) -> Crossing | None:
    """Return where two formulas are equal, for one size in which their difference is linear.

    >>> from symacct.algebra.domain import Domain
    >>> B, D = symbol("B"), symbol("D")
    >>> crossing(B / 2, 2 * D + 3, "B", Domain())
    Crossing(name='B', value=4*D + 6, above=True)
    """
    table, below = fraction(read(left - right))
    at = symbol(name)
    powers = {dict(monomial).get(at, 0) for monomial in table}
    if not powers or any(base.has(at) for monomial in table for base, _ in monomial if base != at):
        return None
    least = min(powers)
    if powers != {least, least + 1}:
        return None
    top = normal(build(table) * at**-least)
    slope = normal(top.diff(at))
    value = normal((slope * at - top) / slope)
    signs = [SIGNS.get(sign_on_box(slope, domain.corner)[0])]
    signs += [SIGNS.get(sign_on_box(base, domain.corner)[0]) for base, power in below.items() if power % 2]
    if None in signs:
        return Crossing(name, value, None)
    return Crossing(name, value, sum(sign == -1 for sign in signs) % 2 == 0)


def is_threshold(text: str) -> bool:
    """Say whether a claim has an ``iff``.

    >>> is_threshold("a*n <= b iff n <= b/a"), is_threshold("a <= b")
    (True, False)
    """
    return isinstance(text, str) and IFF.search(text) is not None


def read_threshold(text: str, names: Collection[str] | None) -> Written:
    """Return the two parts of a claim about a threshold.

    Raises:
        FormulaError: there are more than two.
    """
    cut = WHERE.search(text) if "where" not in (names or ()) else None
    main, where = (text[: cut.start()], text[cut.start() :]) if cut else (text, "")
    sides = IFF.split(main)
    if len(sides) != 2:
        raise FormulaError("a claim has one iff", where=text[:72], expected="A <= B iff NAME <= FORMULA",
                           got=f"{len(sides) - 1} before where")  # fmt: skip
    return Written(text, f"{sides[0].strip()} {where}".strip(), f"{sides[1].strip()} {where}".strip())


def judge_threshold(
    verdict: Verdict, written: Written, domain: Domain, known: Callable[[Expr], Expr]
) -> Verdict:
    """Return the verdict on a threshold, from its condition read; `known` puts in sizes that have a value.

    Raises:
        FormulaError: a part is no comparison, or the size does not stand alone.
    """
    claim = verdict.claim
    assert verdict.sides is not None
    left, right = verdict.sides.left.expr, verdict.sides.right.expr
    stated = read_claim(written.threshold, claim.names, ())
    for one in (claim, stated):
        if one.relation not in FLIPPED:
            raise FormulaError("a threshold compares", where=one.text, expected="<= >= < >", got=one.relation)
    name, relation, value = _bare(stated)
    value = known(value)
    found = crossing(domain.apply(left), domain.apply(right), name, domain)
    holds = None
    if found is not None and found.above is not None:
        holds = claim.relation if found.above else FLIPPED[claim.relation]
    threshold = Threshold(written.text, name, relation, value, found, holds)
    decision = _decided(claim.relation, left, right, threshold, domain)
    if decision.outcome == "proved" and found is not None and not is_zero(found.value - domain.apply(value)):
        threshold = replace(threshold, crossing=None)
    return replace(verdict, decision=decision, threshold=threshold)


def _bare(stated: Claim) -> tuple[str, str, Expr]:
    """Return the size of ``NAME <= FORMULA``, the relation seen from it, and the formula."""
    sides = resolve(stated)
    pairs = ((stated.left, sides.left, sides.right, stated.relation),
             (stated.right, sides.right, sides.left, FLIPPED[stated.relation]))  # fmt: skip
    for tree, mine, other, relation in pairs:
        if tree.form == "name" and mine.expr.is_Symbol and tree.name not in names_of(other.expr):
            return mine.expr.name, relation, other.expr
    raise FormulaError(
        "a threshold is one of a size", where=stated.text, expected="NAME <= FORMULA", got=stated.text
    )


def _decided(relation: str, left: Expr, right: Expr, threshold: Threshold, domain: Domain) -> Decision:
    """Try both sides of ``iff`` at points, then ask for a certificate of both directions."""
    name, value = symbol(threshold.name), threshold.value
    gap, distance = sign_between(left, right), sign_between(name, value)
    condition, bound = EXACT[relation], EXACT[threshold.relation]
    shown = tuple(sorted({*names_of(left), *names_of(right), *names_of(value), threshold.name}))
    space = Space(shown, domain)

    def differ(point: Mapping[str, int | Fraction]) -> bool | None:
        try:
            signs = gap(point), distance(point)
        except UndefinedError:
            return None
        return None if None in signs else (signs[0] in condition) != (signs[1] in bound)

    seen = 0
    borders = [normal(domain.apply(left - right)), normal(domain.apply(name - value))]
    for point in chain(sample(space, borders), space.small(FEW_MORE)):
        check_time()
        found = differ(point)
        if found:
            best, least = smallest(space, lambda at: bool(differ(at)), point)
            at = counterexample_at(left, right, best, shown, (), smallest=least)
            return Decision("refuted", Message("one_holds"), at)
        seen += found is not None
    if not seen:
        return Decision("undecided", NO_SIZES)
    made = certify_threshold((left, relation, right), (name, threshold.relation, value), domain)
    if made is not None:
        return Decision("proved", BOTH_WAYS, certificate=made)
    return Decision("undecided", Message("holds_at_points", points=seen))
