"""Thresholds: ``A <= B iff NAME <= FORMULA``, and where two formulas are equal."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import islice
from math import lcm
from typing import TYPE_CHECKING

from symacct.algebra.budget import check_time
from symacct.algebra.condition import Condition
from symacct.algebra.evaluate import evaluate, names_of
from symacct.algebra.normal import is_zero, normal
from symacct.algebra.sign import sign_on_box
from symacct.algebra.symbols import as_expr, symbol
from symacct.algebra.tables import build
from symacct.algebra.terms import fraction, read
from symacct.claims import Claim, read_claim, resolve
from symacct.errors import FormulaError
from symacct.proof.certified import is_provable
from symacct.proof.compiled import compiled
from symacct.proof.decide import Box, Decision
from symacct.proof.search import FEW_POINTS, MOST_POINTS, Counterexample, counterexample
from symacct.proof.sizes import is_whole, made

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from sympy import Expr

    from symacct.proof.assume import Assumptions
    from symacct.proof.prove import Verdict

IFF = re.compile(r"(?<!\w)(?:iff|if\s+and\s+only\s+if)(?!\w)|⇔|⟺|<=>")
WHERE = re.compile(r"(?<![\w.])where(?!\w)")
FLIPPED = {"<=": ">=", ">=": "<=", "<": ">", ">": "<"}
DENIED = {"<=": ">", ">=": "<", "<": ">=", ">": "<="}
TESTS: dict[str, Callable[[Fraction], bool]] = {
    "<=": lambda value: value <= 0,
    ">=": lambda value: value >= 0,
    "<": lambda value: value < 0,
    ">": lambda value: value > 0,
}
SIGNS = {"positive": 1, "negative": -1}
BOTH_WAYS = "on one side of it the condition is proved, on the other its denial; the kernel accepts both"


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


def crossing(left: Expr, right: Expr, name: str, box: Box) -> Crossing | None:
    """Return where two formulas are equal, for one size in which their difference is linear.

    >>> from symacct.algebra.symbols import as_expr, symbol
    >>> B, D = symbol("B"), symbol("D")
    >>> crossing(B / 2, 2 * D + 3, "B", Box())
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
    signs = [SIGNS.get(sign_on_box(slope, box.lower)[0])]
    signs += [SIGNS.get(sign_on_box(base, box.lower)[0]) for base, power in below.items() if power % 2]
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


def judge_threshold(verdict: Verdict, written: Written, assumptions: Assumptions) -> Verdict:
    """Return the verdict on a threshold, from that on its condition.

    Raises:
        FormulaError: a part is no comparison, or the size does not stand alone.
    """
    claim, left, right = verdict.claim, verdict.left, verdict.right
    assert left is not None
    assert right is not None
    stated = read_claim(written.threshold, claim.names, ())
    for one in (claim, stated):
        if one.relation not in FLIPPED:
            raise FormulaError("a threshold compares", where=one.text, expected="<= >= < >", got=one.relation)
    name, relation, value = _bare(stated)
    value = assumptions.apply(value)
    found = crossing(left, right, name, verdict.box)
    holds = None
    if found is not None and found.above is not None:
        holds = claim.relation if found.above else FLIPPED[claim.relation]
    threshold = Threshold(written.text, name, relation, value, found, holds)
    decision = _judged(verdict, threshold, left, right)
    if decision.outcome == "proved" and found is not None and not is_zero(found.value - value):
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


def _judged(verdict: Verdict, threshold: Threshold, left: Expr, right: Expr) -> Decision:
    found = threshold.crossing
    same = found is not None and is_zero(found.value - threshold.value)
    if same and threshold.holds == threshold.relation:
        return Decision("proved", _alone(left - right, threshold.name))
    near = found is None or not names_of(found.value - threshold.value)
    if near and _both_ways(verdict, threshold, left, right):
        return Decision("proved", BOTH_WAYS)
    point = _disagreement(verdict, threshold, left, right)
    if point is not None:
        return Decision("refuted", "one holds and the other does not at a point", point)
    if found is None:
        return Decision("undecided", f"where the sides are equal was not solved for {threshold.name}")
    return Decision("undecided", "no sizes were found at which one holds and the other does not")


def _alone(gap: Expr, name: str) -> str:
    """Return why a difference has one sign below its only root and the other above it."""
    table, below = fraction(read(gap))
    at = symbol(name)
    linear = {dict(monomial).get(at, 0) for monomial in table} == {0, 1}
    if linear and not any(base.has(at) for base in below):
        return f"the difference is linear in {name}, and 0 there"
    return f"the difference changes its sign there, and nowhere else as {name} grows"


def _both_ways(verdict: Verdict, threshold: Threshold, left: Expr, right: Expr) -> bool:
    """Say whether the condition is seen to hold on one side of the threshold, and its denial on the other."""
    sides = (
        (threshold.relation, verdict.claim.relation),
        (DENIED[threshold.relation], DENIED[verdict.claim.relation]),
    )
    for where, relation in sides:
        condition = _beyond(symbol(threshold.name), where, threshold.value)
        if condition is None:
            return False
        box = replace(verdict.box, conditions=(*verdict.box.conditions, condition))
        if counterexample(left, right, TESTS[relation], box.lower, box.conditions, FEW_POINTS):
            return False
        if not is_provable(left, relation, right, box):
            return False
    return True


def _beyond(name: Expr, relation: str, value: Expr) -> Condition | None:
    """Return what a size satisfies as a condition; between integers ``>`` is ``>=`` and one more."""
    scale = lcm(*(int(c.q) for c in value.as_coefficients_dict().values() if c.is_Rational))
    gap = normal((name - value if relation[0] == ">" else value - name) * scale)
    if relation in (">=", "<="):
        return Condition("at_least", gap, as_expr(0))
    return Condition("at_least", gap, as_expr(1)) if is_whole(gap) else None


def _disagreement(verdict: Verdict, threshold: Threshold, left: Expr, right: Expr) -> Counterexample | None:
    """Return the first sizes at which exactly one of condition and threshold holds."""
    gap, distance = compiled(left - right), compiled(symbol(threshold.name) - threshold.value)
    condition, bound = TESTS[verdict.claim.relation], TESTS[threshold.relation]
    names = sorted({*names_of(left), *names_of(right), *names_of(threshold.value), threshold.name})
    space = made(names, verdict.box.lower, verdict.box.conditions)
    for sizes in islice(space.points(), MOST_POINTS):
        check_time()
        if sizes is not None:
            apart, past = gap(sizes), distance(sizes)
            if apart is None or past is None or condition(Fraction(apart)) == bound(Fraction(past)):
                continue
            return Counterexample(tuple(sizes.items()), evaluate(left, sizes), evaluate(right, sizes))
    return None
