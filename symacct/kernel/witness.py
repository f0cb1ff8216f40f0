"""Witnesses: why a fraction v is at least 0, or more than 0, for all sizes of a box.

- ``shift``: the shift shows it (see `box`).
- ``sum``: s > 0 and weights t >= 0 by the shift, facts f >= 0, any multiples of what hypotheses say is 0,
  and a witness for the rest (the shift where none is given): s*v - sum(t*f) - sum(u*0) = rest >= 0. Then
  s*v >= 0, and so v >= 0. It is more than 0 if the rest is, or if one term has t > 0 and nothing but facts
  more than 0.
- ``cases``: for a min or max m in v, a witness with each of its operands in the place of m. At any sizes m
  has the value of one of them. Atoms that hold m inside keep it, and stay equal to themselves.
- ``whole``: v is seen to be an integer, and there is a witness that v + 1 is more than 0; it is at least 0
  then.
"""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING, Any

from .facts import fact
from .form import field, items, keys, known, operation, short
from .poly import Ratio, constant
from .refusal import need
from .roundings import EXTREMES

if TYPE_CHECKING:
    from .box import Box

SHIFT = {"kind": "shift"}


def prove(box: Box, value: Ratio, witness: Any, *, strict: bool = False) -> None:
    """Refuse unless a witness shows that a fraction is at least 0 (more than 0) for all sizes."""
    box.meter.part()
    kind = field(witness, "kind")
    need(isinstance(kind, str) and kind in KINDS, f"no such witness: {short(kind)}")
    KINDS[kind](box, value, witness, strict=strict)


def by_shift(box: Box, value: Ratio, witness: Any, *, strict: bool) -> None:
    """The shift shows it."""
    keys(witness, {"kind"})
    need(box.sure(value, strict=strict), "after the shift a coefficient has the wrong sign")


def by_sum(box: Box, value: Ratio, witness: Any, *, strict: bool) -> None:
    """Subtract facts times weights, and show that the rest is at least 0."""
    keys(witness, {"kind", "terms"}, {"scale", "equal", "rest"})
    scale = box.read(witness.get("scale", "1"))
    need(box.sure(scale, strict=True), "the scale of a witness is not seen to be positive")
    rest, more = box.product(value, scale), False
    for term in items(witness["terms"]):
        keys(term, {"factors"}, {"times"})
        weight = box.read(term.get("times", "1"))
        need(box.sure(weight), "the weight of a term is not seen to be at least 0")
        factors = [fact(box, one) for one in items(term["factors"])]
        rest = box.minus(rest, reduce(box.product, (one for one, _ in factors), weight))
        if strict and not more and factors and all(above for _, above in factors):
            more = box.sure(weight, strict=True)
    rest = box.minus(rest, multiples(box, witness.get("equal", [])))
    if "rest" in witness:
        prove(box, rest, witness["rest"], strict=strict and not more)
        return
    need(box.sure(rest, strict=strict and not more), "the witness leaves a coefficient of the wrong sign")


def multiples(box: Box, terms: Any) -> Ratio:
    """Return the sum of expressions times what hypotheses say is 0."""
    total = constant(0)
    for term in items(terms):
        keys(term, {"hypothesis", "times"})
        zero = known(box.zeros, term["hypothesis"], "equality in use")
        total = box.plus(total, box.product(box.read(term["times"]), zero))
    return total


def by_cases(box: Box, value: Ratio, witness: Any, *, strict: bool) -> None:
    """Put each operand in the place of a min or max."""
    keys(witness, {"kind", "atom", "each"})
    expr, each = operation(witness["atom"]), items(witness["each"])
    need(expr[0] in EXTREMES and len(each) == len(expr) - 1, "cases are those of a min or max")
    atom = box.read(expr)[0]
    need(len(atom) == 1 and all(len(m) == 1 for m in atom), "the atom of the cases is another expression")
    ((((name, power),), scale),) = atom.items()
    need(box.made.get(name, ("",))[0] == expr[0] and power == scale == 1, "cases are those of a min or max")
    need(all(name != g for m in value[1] for g, _ in m), "cases do not reach into a divisor")
    for operand, one in zip(expr[1:], each, strict=True):
        part, result = box.read(operand), constant(0)
        for m, c in value[0].items():
            rest = {tuple(pair for pair in m if pair[0] != name): c}
            times = [part] * dict(m).get(name, 0)
            result = box.plus(result, reduce(box.product, times, (rest, value[1])))
        prove(box, result, one, strict=strict)


def by_whole(box: Box, value: Ratio, witness: Any, *, strict: bool) -> None:
    """An integer that is more than -1 is at least 0."""
    keys(witness, {"kind", "witness"})
    need(box.integral(value), "what is rounded is not seen to be an integer")
    need(not strict, "an integer that is more than -1 may be 0")
    prove(box, box.plus(value, constant(1)), witness["witness"], strict=True)


KINDS = {"shift": by_shift, "sum": by_sum, "cases": by_cases, "whole": by_whole}
