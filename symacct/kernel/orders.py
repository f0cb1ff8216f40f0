"""The rules ``nonnegative``, for ``<= >= < >``, ``numbers``, for claims without variables, and ``integral``.

``nonnegative``: the larger side less the smaller is at least 0, or more than 0, by a witness.
``numbers``: both sides are worked out with numbers below and above them (see `enclosure`). If one lies wholly
on one side of the other, the relation follows; equality only if both are exact.
``integral``: for the obligation that a value is an integer: it is a polynomial with integer coefficients in
variables and atoms that are integers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .enclosure import value_at
from .refusal import need
from .witness import prove

if TYPE_CHECKING:
    from .claim import Claim
    from .enclosure import Point, Span
    from .refusal import Meter

ORDERS = ("<=", ">=", "<", ">")
DENIED = {"<=": ">", ">=": "<", "<": ">=", ">": "<="}


def by_nonnegative(claim: Claim) -> None:
    """The difference is at least 0, or more."""
    need(claim.relation in ORDERS and not claim.refuted, "a sign proves an inequality only")
    sides = (claim.right, claim.left) if claim.relation[0] == "<" else (claim.left, claim.right)
    prove(claim.box, claim.box.minus(*sides), claim.proof["witness"], strict=claim.relation in "<>")


def by_numbers(claim: Claim) -> None:
    """Both sides are numbers."""
    need(claim.relation in (*ORDERS, "=") and not claim.refuted, "numbers prove a relation between numbers")
    need(
        true_at(claim.said, {}, claim.context.meter) is True, "the relation is not seen between these numbers"
    )


def by_integral(claim: Claim) -> None:
    """The value is an integer."""
    need(claim.relation == "whole", "this proves that a value is an integer only")
    need(claim.box.integral(claim.left), "the value is not seen to be an integer")


def true_at(said: dict[str, Any], point: Point, meter: Meter) -> bool | None:
    """Say whether a relation is true at a point; None where it is not seen."""
    left, right = (value_at(said[side], point, meter) for side in ("left", "right"))
    return compared(said["relation"], left, right)


def compared(relation: str, left: Span, right: Span) -> bool | None:
    """Say whether a relation holds between two numbers, of which bounds are known."""
    if relation in {">", ">="}:
        return compared("<" if relation == ">" else "<=", right, left)
    if relation == "=":
        if left[0] == left[1] == right[0] == right[1]:
            return True
        return False if left[1] < right[0] or right[1] < left[0] else None
    if relation == "<":
        return True if left[1] < right[0] else False if left[0] >= right[1] else None
    return True if left[1] <= right[0] else False if left[0] > right[1] else None
