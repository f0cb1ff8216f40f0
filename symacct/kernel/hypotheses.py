"""Hypotheses, and how a proof may use them.

A hypothesis is ``left >= right``, ``left > right`` (above), ``left = right`` or ``left divides right``
(right = left times an integer). The statement is about the sizes where all of them hold. A proof uses each
in one way:

- ``bound``: a variable g >= N or g > N with an integer N. Its least value is N (or N + 1 for an integer
  above N) if that is more than was known.
- ``substitution``: a variable is put in as an expression: T = e; T >= e or T > e as e + y with y >= 0 or y
  > 0, where y is an integer if T and e are; k divides T as k*q, with an integer q >= 1, as T >= 1 and k >
  0. No variable is defined twice, nor by itself, and none that grows or has a further bound in use.
- ``fact``: left - right is at least 0, or above 0, or is 0. If left - right, times the divisors q of its
  coefficients, is an integer, then above 0 it is at least 1/q.
- ``from G``: a variable that grows is at least what the proof says, from there on.
"""

from __future__ import annotations

from fractions import Fraction
from math import lcm
from typing import TYPE_CHECKING, Any

from .form import check_form, integer, is_variable, known, mapping, short, variables
from .poly import ONE, Ratio, constant
from .refusal import need

if TYPE_CHECKING:
    from .box import Box
    from .claim import Claim

SIGNS = {"equal": "=", "at_least": ">=", "above": ">", "divides": "divides"}
WAYS = ("bound", "substitution", "fact")
OPEN = "what {} leaves open"


def defining(one: dict[str, Any]) -> Any:
    """Return the side of a hypothesis that a definition is read from."""
    return one["left"] if one["kind"] == "divides" else one["right"]


def defined(one: dict[str, Any]) -> Any:
    """Return the side of a hypothesis that is defined."""
    return one["right"] if one["kind"] == "divides" else one["left"]


def put_to_use(claim: Claim) -> None:
    """Put the hypotheses that a proof names in force in its box."""
    box, pending = claim.box, taken(claim)
    while pending:
        ready = [name for name, one in pending.items() if not variables(defining(one)) & set(pending)]
        need(ready, "the definitions are circular")
        for name in ready:
            define(claim, name, pending.pop(name))
    for name in claim.uses:
        as_fact(box, name, claim.hypotheses[name])


def taken(claim: Claim) -> dict[str, Any]:
    """Raise the bounds that hypotheses give, and return the definitions by what they define."""
    simple, pending = set(claim.growing), dict[str, Any]()
    for name, way in claim.uses.items():
        one = claim.hypotheses[name]
        need(way in WAYS, f"no such use of a hypothesis: {short(way)}")
        target = defined(one)
        if way == "fact":
            continue
        need(is_variable(target) and target[1] in claim.variables, f"{name} is not about one size")
        if way == "bound":
            need(one["kind"] in {"at_least", "above"}, f"{name} is no bound")
            raised(claim.box, target[1], integer(one["right"]), above=one["kind"] == "above")
            simple.add(target[1])
        else:
            need(target[1] not in pending, f"{target[1]} has two definitions")
            pending[target[1]] = one
    need(simple.isdisjoint(pending), "a size with a definition grows, or has a further bound")
    return pending


def raised(box: Box, name: str, least: int, *, above: bool = False) -> None:
    """Raise the least value of a variable, if this is more than was known."""
    if above and name in box.whole:
        least, above = least + 1, False
    before = box.lower.get(name)
    if before is None or least > before:
        if least < 0:
            return
        box.lower[name] = least
        box.above.discard(name)
    if above and box.lower[name] == least:
        box.above.add(name)


def define(claim: Claim, name: str, one: dict[str, Any]) -> None:
    """Put a definition in force; ``>=`` leaves a difference open, ``divides`` a quotient of at least 1."""
    box, kind = claim.box, one["kind"]
    value = box.read(defining(one))
    if kind != "equal":
        open_ = OPEN.format(one["name"])
        rest: Ratio = {((open_, 1),): Fraction(1)}, ONE
        if kind == "divides":
            declared = claim.variables[name]
            positive = (declared.least or 0) >= 1 or declared.above
            need(positive and box.sure(value, strict=True), f"{one['name']} is not about positive sizes")
            box.whole.add(open_)
            box.lower[open_], value = 1, box.product(value, rest)
        else:
            box.lower[open_] = 0
            if name in box.whole and box.integral(value):
                box.whole.add(open_)
            raised(box, open_, 0, above=kind == "above")
            value = box.plus(value, rest)
    box.value[name] = value


def as_fact(box: Box, name: str, one: dict[str, Any]) -> None:
    """Keep what a hypothesis says of the difference of its sides."""
    if one["kind"] == "divides":
        return
    gap = box.minus(box.read(one["left"]), box.read(one["right"]))
    if one["kind"] == "equal":
        box.zeros[name] = gap
        return
    box.facts[name] = gap
    if one["kind"] == "above":
        scale = lcm(*(c.denominator for c in gap[0].values()))
        if box.integral(box.product(gap, constant(scale))):
            box.facts[name] = box.minus(gap, constant(Fraction(1, scale)))
        else:
            box.strict.add(name)


def starts(claim: Claim) -> None:
    """Let what grows start where the proof says: at an integer, or at an expression in what does not grow."""
    box = claim.box
    for name, low in mapping(claim.proof.get("from", {})).items():
        need(name in claim.growing, f"{short(name)} is not said to grow")
        if isinstance(low, str):
            raised(box, name, integer(low))
            continue
        value = box.read(low)
        need(not box.names_in(value) & box.moving, f"the start of {name} depends on what grows")
        box.facts[f"from {name}"] = box.minus(box.named(name), value)


def check_stated(one: Any, names: dict[str, Any]) -> None:
    """Refuse a hypothesis of a form that is not known."""
    known(SIGNS, one["kind"], "kind of hypothesis")
    for side in ("left", "right"):
        check_form(one[side])
    need(variables([one["left"], one["right"]]) <= set(names), f"{one['name']} names what is not declared")
