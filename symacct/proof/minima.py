"""Proofs of least values and of where they are, and of other ones."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from sympy import Integer

from symacct import kernel
from symacct.algebra.condition import Condition
from symacct.algebra.evaluate import substitute
from symacct.algebra.normal import normal
from symacct.algebra.symbols import symbol
from symacct.kernel.minima import domain_of
from symacct.proof.compiled import compiled
from symacct.proof.prefix import from_prefix, number, to_prefix
from symacct.proof.relations import by_comparing, relation
from symacct.proof.tangent import roots_of
from symacct.proof.whole_minimum import places, quotient

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sympy import Expr

    from symacct.proof.case import Case, Certificate, Proof

MOST_EXAMPLES, MOST_VALUES = 400, 60


def minimum(case: Case, name: str, place: Expr | None) -> Certificate | None:
    """Return a certificate that no value gives less, and a place gives as much."""
    statement = {**_sides(case), "relation": "min", "over": name}
    if found := quotient(case, name):
        at, bound, value_proof = found
        holds = _holds(case, name, at, statement)
        proof = {
            "rule": "least",
            "uses": {},
            "place": to_prefix(at),
            "holds": holds,
            "bound": bound,
            "value": value_proof,
        }
        if made := case.certificate(proof, statement):
            return made
    for at in [place] if place is not None else places(case, name):
        holds = _holds(case, name, at, statement)
        if holds is None:
            continue
        value = case.without(name).under(substitute(case.left, {name: at}), "=", case.right)
        reached = relation(value)
        below = _bound(case, name, at) if reached else None
        if reached and below:
            proof = {
                "rule": "least", "uses": {}, "place": to_prefix(normal(at)), "holds": holds,
                "bound": below, "value": reached,
            }  # fmt: skip
            if made := case.certificate(proof, statement):
                return made
    return None


def _bound(case: Case, name: str, place: Expr) -> Proof | None:
    """Return a proof that no value gives less: at once, or on either side of the place."""
    under = case.under(case.left, ">=", case.right)
    return relation(_hinted(under, name)) or by_comparing(under, symbol(name), place, "side", 0)


def place_of(case: Case, name: str, *, possible: bool) -> Certificate | None:
    """Return a certificate that every value but the place gives more."""
    place = case.right
    statement: dict[str, Any] = {**_sides(case), "relation": "argmin", "over": name}
    if possible:
        statement["where"] = "possible"
    holds = [] if possible else _holds(case, name, place, statement)
    example = _example(case, name, possible=possible)
    if holds is None or example is None:
        return None
    at = substitute(case.left, {name: place})
    there = _there(case, name, place)
    proof: Proof = {"rule": "only", "uses": {}, "holds": holds}
    for key, apart in (("above", Condition("above", symbol(name), place)),
                       ("below", Condition("above", place, symbol(name)))):  # fmt: skip
        part = case.under(case.left, ">", at, apart=apart, **there)
        found = relation(_hinted(part, name))
        if found is None:
            return None
        proof[key] = found
    return case.certificate(proof, statement, example)


def refuted(
    case: Case, form: str, name: str, point: Mapping[str, Fraction], *, possible: bool
) -> Certificate | None:
    """Return a certificate that another value gives less, or that all give more."""
    statement: dict[str, Any] = {**_sides(case), "relation": form, "over": name}
    if possible:
        statement["where"] = "possible"
    others = {
        n: number(Fraction(point.get(n, one.least or 1))) for n, one in case.variables.items() if n != name
    }
    if name in point:
        lower = {"rule": "lower", "uses": {}, "point": {**others, name: number(point[name])}}
        return case.certificate(lower, statement)
    for k in _smaller(case, form, name, others):
        lower = {"rule": "lower", "uses": {}, "point": {**others, name: str(k)}}
        if made := case.certificate(lower, statement):
            return made
    return _missed(case, name, statement, others) if form == "min" else None


def _smaller(case: Case, form: str, name: str, others: dict[str, Any]) -> list[int]:
    """Return the integers at which the formula is less than claimed, where the other sizes are numbers."""
    values = {key: from_prefix(value) for key, value in others.items()}
    claimed = case.right if form == "min" else substitute(case.left, {name: case.right})
    gap = compiled(normal(substitute(case.left - claimed, values)))
    one = case.variables[name]
    first = (one.least or 0) + one.above
    found = ((k, gap({name: k})) for k in range(first, first + MOST_VALUES))
    return [k for k, value in found if value is not None and value < 0]


def _missed(case: Case, name: str, statement: dict[str, Any], others: dict[str, Any]) -> Certificate | None:
    """Return a certificate that all values give more, some of them looked at one by one."""
    values = {key: from_prefix(value) for key, value in others.items()}
    left, right = (normal(substitute(side, values)) for side in (case.left, case.right))
    given = {
        key: Condition(one.kind, substitute(one.left, values), substitute(one.right, values))
        for key, one in case.hypotheses.items()
        if name in one.names
    }
    only = type(case)(left, ">", right, {name: case.variables[name]}, given)
    for last in _lasts(only, name):
        more = {} if last is None else {"beyond": Condition("above", symbol(name), Integer(last))}
        found = relation(only.under(left, ">", right, **more))
        if found is None:
            continue
        proof = {"rule": "missed", "uses": {}, "point": others, "beyond": found}
        proof |= {} if last is None else {"upto": str(last)}
        if made := case.certificate(proof, statement):
            return made
    return None


def _lasts(case: Case, name: str) -> list[int | None]:
    """Return up to which integer values are looked at one by one: up to the last that does not give more."""
    one = case.variables[name]
    if one.real or one.least is None:
        return [None]
    value = compiled(case.left - case.right)
    found = [value({name: k}) for k in range(one.least, one.least + MOST_VALUES)]
    last = max((k for k, gap in enumerate(found, one.least) if gap is None or gap <= 0), default=None)
    least = one.least
    return [None] if last is None else [max(last, least), max(last, least) + 1, max(last, least) + 4]


def _sides(case: Case) -> dict[str, Any]:
    return {"left": to_prefix(case.left), "right": to_prefix(case.right)}


def _holds(case: Case, name: str, place: Expr, said: dict[str, Any]) -> list[Proof] | None:
    """Return proofs that a place lies in the domain, in the order that the kernel asks for them."""
    try:
        claim = kernel.Claim(case.context(), said, {"rule": "", "uses": {}})
        asked = domain_of(claim, to_prefix(normal(place)))
    except kernel.Refused:
        return None
    bare, found = case.without(name), []
    for one in asked:
        if one["relation"] == "whole":
            proof = next((p for uses in bare.ways() if (p := _integral(bare, one, uses))), None)
        else:
            sides = from_prefix(one["left"]), one["relation"], from_prefix(one["right"])
            proof = relation(bare.under(*sides))
        if proof is None:
            return None
        found.append(proof)
    return found


def _integral(case: Case, said: dict[str, Any], uses: dict[str, str]) -> Proof | None:
    proof = {"rule": "integral", "uses": uses}
    try:
        claim = kernel.Claim(case.context(), said, proof)
        return proof if claim.box.integral(claim.left) else None
    except kernel.Refused:
        return None


def _there(case: Case, name: str, place: Expr) -> dict[str, Condition]:
    """Return what a possible place satisfies, as the kernel names it."""
    one = case.variables[name]
    found: dict[str, Condition] = {}
    if one.least is not None:
        found["least_there"] = Condition("above" if one.above else "at_least", place, Integer(one.least))
    for key, given in case.hypotheses.items():
        if name in given.names:
            found[f"{key}_there"] = given.substitute({name: place})
    return found


def _hinted(case: Case, name: str) -> Case:
    """Return a claim with the squares that show a least value of a/k + b*k."""
    return replace(case, hints=tuple(roots_of(case.left, name)))


def _example(case: Case, name: str, *, possible: bool) -> dict[str, Any] | None:
    """Return sizes that satisfy all hypotheses; at them the place is the variable, if that is asked for."""
    if not possible:
        return case.example() if case.hypotheses else {}
    for sizes in case.examples(MOST_EXAMPLES):
        values = {key: from_prefix(value) for key, value in sizes.items() if key != name}
        at = normal(substitute(case.right, values))
        if at == from_prefix(sizes[name]):
            return sizes
    return None
