"""Points: that hypotheses hold somewhere, and the rules that refute, ``point``, ``lower`` and ``missed``.

All values are worked out with numbers below and above them (see `enclosure`); what is not seen to hold is
taken not to hold. An example satisfies the bounds and every hypothesis, so that nothing is proved from a
contradiction.

``point``: the claim is seen to be false at a point of its domain; of ``all`` a part is, of ``iff`` one side
holds and the other does not.
``lower``, for min f = m: a point with k in the domain at which f < m. For argmin f = k0: one at which f is
less than at k0, where k0 is a possible k if the claim is made for these only.
``missed``, for min f = m: sizes without k, at which all hypotheses without k hold, and f > m for all k of
the domain, so that m is not reached: for each integer k up to one that is stated, a hypothesis is seen not
to hold or f > m is seen; for all above it (or all k, where none is stated), by a proof, with numbers for
all other sizes and the hypothesis ``beyond``, that k is more.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

from .enclosure import value_at
from .form import integer, items, known, mapping, replaced, variables
from .minima import naming
from .orders import compared, true_at
from .refusal import MOST_CASES, need
from .splits import hypothesis

if TYPE_CHECKING:
    from .claim import Claim
    from .enclosure import Point

MEANT = {"equal": "=", "at_least": ">=", "above": ">"}


def satisfying(claim: Claim, values: Any, without: str = "") -> Point:
    """Return a point, which must lie in the bounds and satisfy every hypothesis about it."""
    given = mapping(values)
    names = set(claim.variables) - {without}
    need(set(given) == names, "the point does not give each size a value")
    point: Point = {}
    for name in names:
        low, high = value_at(given[name], {}, claim.context.meter)
        need(low == high, f"{name} is no exact number at the point")
        point[name] = low
        declared = claim.variables[name]
        need(declared.real or low.denominator == 1, f"{name} is no integer at the point")
        least = declared.least
        need(least is None or (low > least if declared.above else low >= least), "the point is out of bounds")
    for name, one in claim.hypotheses.items():
        if not without or without not in variables([one["left"], one["right"]]):
            need(true_hypothesis(claim, one, point) is True, f"{name} does not hold at the point")
    return point


def true_hypothesis(claim: Claim, one: dict[str, Any], point: Point) -> bool | None:
    """Say whether a hypothesis holds at a point; None where it is not seen."""
    left, right = (value_at(one[side], point, claim.context.meter) for side in ("left", "right"))
    if one["kind"] != "divides":
        return compared(MEANT[one["kind"]], left, right)
    if left[0] != left[1] or right[0] != right[1]:
        return None
    return (right[0] / left[0]).denominator == 1 if left[0] else right[0] == 0


def truth(claim: Claim, said: dict[str, Any], point: Point) -> bool | None:
    """Say whether a claim is true at a point; None where it is not seen."""
    meter = claim.context.meter
    if said["relation"] == "iff":
        first, second = (true_at(said[key], point, meter) for key in ("first", "second"))
        return None if first is None or second is None else first == second
    if said["relation"] == "all":
        return False if any(truth(claim, one, point) is False for one in items(said["claims"])) else None
    need(said["relation"] in {"=", "<=", ">=", "<", ">"}, "a point refutes relations only")
    return true_at(said, point, meter)


def by_point(claim: Claim) -> None:
    """The claim is false at one point that satisfies the bounds and the hypotheses."""
    need(claim.refuted, "a point refutes")
    point = satisfying(claim, claim.proof["point"])
    need(truth(claim, claim.said, point) is False, "the claim is not seen to be false at this point")


def by_lower(claim: Claim) -> None:
    """Another value gives less."""
    need(claim.refuted and claim.relation in {"min", "argmin"}, "a lower value refutes a minimum only")
    said, name = claim.said, claim.said["over"]
    known(claim.variables, name, "declared variable")
    need(name not in variables(said["right"]), "what is claimed depends on what varies")
    point = satisfying(claim, claim.proof["point"])
    least = said["right"]
    if claim.relation == "argmin":
        need(variables(said["right"]) <= set(claim.variables), "the place names what is not declared")
        least = replaced(said["left"], {name: said["right"]})
        if "where" in said:
            low, high = value_at(said["right"], point, claim.context.meter)
            need(low == high, "the place is no exact number at the point")
            satisfying(claim, {**claim.proof["point"], name: written(low)})
    lower = {"relation": "<", "left": said["left"], "right": least}
    need(true_at(lower, point, claim.context.meter) is True, "no less is seen at this point")


def written(value: Fraction) -> Any:
    """Return a number as an expression."""
    return ["/", str(value.numerator), str(value.denominator)] if value.denominator > 1 else str(value)


def by_missed(claim: Claim) -> None:
    """Every value gives more than the claimed least one."""
    from .rules import establish

    need(claim.refuted and claim.relation == "min", "this refutes a least value only")
    said, name = claim.said, claim.said["over"]
    declared = known(claim.variables, name, "declared variable")
    need(name not in variables(said["right"]), "what is claimed depends on what varies")
    point = satisfying(claim, claim.proof["point"], without=name)
    given = [] if declared.real or declared.least is None else [str(declared.least)]
    more = {"relation": ">", "left": said["left"], "right": said["right"]}
    if "upto" in claim.proof:
        need(given, "only integers are gone through one by one")
        last = integer(claim.proof["upto"])
        need(declared.least <= last <= declared.least + MOST_CASES, "there are too many values")
        for k in range(declared.least, last + 1):
            at = {**point, name: Fraction(k)}
            excluded = any(true_hypothesis(claim, one, at) is False for one in naming(claim, name))
            need(excluded or true_at(more, at, claim.context.meter) is True, f"more is not seen at {k}")
    values = {other: written(value) for other, value in point.items()}
    claim = replaced_claim(claim, values)
    extra = []
    if "upto" in claim.proof:
        extra = [hypothesis("beyond", {"relation": ">", "left": ["var", name], "right": claim.proof["upto"]})]
    said = {**more, "left": replaced(more["left"], values), "right": replaced(more["right"], values)}
    establish(claim.under(said, claim.proof["beyond"], more=extra))


def replaced_claim(claim: Claim, values: dict[str, Any]) -> Claim:
    """Return a claim about one variable alone, with numbers for all others; only its context is used."""
    from .claim import Claim, Context

    name = claim.said["over"]
    given = {
        one["name"]: {**one, **{side: replaced(one[side], values) for side in ("left", "right")}}
        for one in naming(claim, name)
    }
    context = Context({name: claim.variables[name]}, given, meter=claim.context.meter)
    said = {key: replaced(part, values) for key, part in claim.said.items()}
    return Claim(context, said, {**claim.proof, "uses": {}}, refuted=True)
