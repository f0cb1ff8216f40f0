"""What grows must be free to grow, to any size, under every hypothesis, whether the proof uses it or not.

The claim, with G the variables that grow and v the values of all others: for every v there are constants,
as the rule says, such that the bound holds at all values of G from the starts on at which the hypotheses
hold. Each of G grows without end, independently of one another: nothing is said of their proportion, so
that the claim holds however they grow. Such a claim is worth nothing where the hypotheses leave no large G,
and little where one of G neither stands in it nor is said to be a free size of a graph that it rests on.
Shown here, for every v at which the hypotheses hold at all: they hold for arbitrarily large G as well. A
hypothesis may

1. name nothing that grows, after definitions are put in;
2. be an equality used to define a variable that does not grow, whose value is at least its bound for all G
   from the starts on, and an integer (if it is one): for all G, or as a polynomial with rational
   coefficients;
3. be an inequality that rises: among the terms of left - right those with something that grows have
   positive coefficients, and are products of things of at least 0 that do not fall as G grows. It holds
   still as G grows;
4. bound one of G alone from below, ``g >= e`` with e without g: it holds for all large g, whatever the
   others;
5. say that e > 0 divides g alone, e without g: it has arbitrarily large multiples;
6. say that g alone is a square, ``g = ceil(sqrt(g))^2``.

By 4 and 5 g comes after what grows in e; the order must not be circular, and e an integer where it grows.
Let the hypotheses hold at v and G0. Large values are found in that order: of g, a square multiple of g0 and
of all growing e that divide it, large enough for 4. Where a polynomial of 2 has denominators, with product
Q, there may be no 6 and no growing e in 5; then g0*(1 + t*Q) with large t keeps it an integer, and is a
multiple of g0.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .form import is_variable, variables
from .poly import ONE, Ratio, constant
from .refusal import need

if TYPE_CHECKING:
    from .box import Box
    from .claim import Claim


def check(claim: Claim) -> None:
    """Refuse unless everything that grows is in the statement, and free to grow."""
    box = claim.box
    reached = variables([claim.said["left"], claim.said["right"]]) | claim.context.free
    reached |= box.names_in(*(box.named(name) for name in reached if name in box.names))
    for name in claim.growing:
        need(name in reached, f"{name} grows and does not occur in the statement")
        need(name not in box.value, f"{name} grows and is defined by a hypothesis")
    after: dict[str, set[str]] = {name: set() for name in claim.growing}
    exact: set[str] = set()
    for name, one in claim.hypotheses.items():
        kind = freedom(claim, name, one, after)
        need(kind, f"{name} might leave no large sizes")
        exact.add(kind)
    need(not {"fraction", "multiple"} <= exact, "the hypotheses might leave no large integers")
    pending = set(after)
    while pending:
        ready = {name for name in pending if not after[name] & pending}
        need(ready, "the hypotheses might leave no large sizes, as they compare what grows in a circle")
        pending -= ready


def freedom(claim: Claim, name: str, one: dict[str, Any], after: dict[str, set[str]]) -> str:  # noqa: PLR0911 (a case each)
    """Return how one hypothesis leaves arbitrarily large sizes, or nothing; note what comes after what."""
    box = claim.box
    written = [box.named(v) for v in variables([one["left"], one["right"]]) if v in box.names]
    if not box.names_in(*written) & box.moving:
        return "still"
    large, rest = (one["right"], one["left"]) if one["kind"] == "divides" else (one["left"], one["right"])
    alone = is_variable(large) and large[1] in claim.growing
    if one["kind"] == "equal":
        if alone and rest == ["^", ["ceil", ["sqrt", large]], "2"]:
            return "multiple"
        return fit(claim, large[1]) if claim.uses.get(name) == "substitution" else ""
    if claim.uses.get(name) == "substitution":
        return ""  # the size that is put in is bounded by what grows, and bounds it
    if one["kind"] != "divides" and rises(box, box.minus(box.read(one["left"]), box.read(one["right"]))):
        return "rising"
    inside = box.names_in(*(box.named(v) for v in variables(rest) if v in box.names))
    if not alone or large[1] in inside:
        return ""
    if one["kind"] == "divides" and not box.sure(box.read(rest), strict=True):
        return ""
    after[large[1]] |= inside & box.moving
    if one["kind"] != "divides" or not inside & box.moving:
        return "after"
    return "multiple" if box.integral(box.read(rest)) else ""


def fit(claim: Claim, name: str) -> str:
    """Return how the value of a defined variable is one that it may have, or nothing."""
    box, one = claim.box, claim.variables[name]
    value = box.named(name)
    if one.least is not None and not box.sure(box.minus(value, constant(one.least)), strict=one.above):
        return ""
    if one.real or box.integral(value):
        return "defined"
    sizes = all(g in box.names and g in box.whole for m in value[0] for g, _ in m)
    return "fraction" if sizes and value[1] == ONE else ""


def rises(box: Box, value: Ratio) -> bool:
    """Say whether a fraction stays at least 0 as more grows, if it is at least 0."""
    return all(
        c > 0 and all(g in box.lower and does_not_fall(box, g) for g, _ in monomial)
        for monomial, c in value[0].items()
        if any(box.inside.get(g, frozenset({g})) & box.moving for g, _ in monomial)
    )


def does_not_fall(box: Box, name: str) -> bool:
    """Say whether a variable or atom does not fall as what grows grows."""
    if name not in box.made or not box.inside[name] & box.moving:
        return True
    head, parts = box.made[name]
    if head == "binomial":  # it falls where what stands below rises past half of what stands above
        return False
    still = not box.names_in(*((part[1], {}) for part in parts)) & box.moving
    return still and all(rises(box, (part[0], part[1])) for part in parts)
