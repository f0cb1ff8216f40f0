"""The kinds of claims, each with its maker and how often it is made, and how a claim is put into words."""

from __future__ import annotations

from dataclasses import replace

from .kinds_edge import captured, contradictory, far, pole, rewritten, wild
from .kinds_growth import growth, growth_if, limit
from .kinds_order import equal_order, equality, equality_if, order, order_if
from .kinds_other import minimum, minimum_if, threshold, units, within


def ready(rng, claim):
    """Say conditions as assumptions, print in LaTeX, bind parts by `where`, now and then."""
    if claim.graph and rng.random() < 0.7:
        return claim
    if claim.form == "relation" and len(claim.names) > 1 and rng.random() < 0.05 and not claim.units[0]:
        return replace(
            claim, at=((rng.choice(claim.names), rng.randint(1, 6)),), may_refuse=bool(claim.conditions)
        )
    if claim.conditions and rng.random() < 0.4:
        every = rng.random() < 0.6
        marked = tuple(replace(one, assume=every or rng.random() < 0.5) for one in claim.conditions)
        claim = replace(claim, conditions=marked)
    if claim.grows and rng.random() < 0.3:
        claim = replace(claim, grow_option=True)
    roll = rng.random()
    inside = any(not one.assume for one in claim.conditions) or claim.binds
    single = all(len(name) == 1 for name in claim.names)
    if claim.graph:
        return claim
    if roll < 0.15 and claim.form in ("relation", "asymptotic") and not inside and single:
        if not (claim.grows and not claim.grow_option) and claim.sign not in ("O", "Theta"):
            return replace(claim, style="latex")
    if claim.form == "relation" and not claim.units[0] and rng.random() < 0.15:
        return replace(claim, style=rng.choice(["unicode", "decimal"]))
    if roll < 0.3:
        claim = replace(claim, style="tight")
    if 0.3 < roll < 0.4 and claim.form == "relation" and not claim.binds:
        return bound(rng, claim)
    return claim


def bound(rng, claim):
    """Give a part of the right side a name by `where`."""
    pieces = [
        one for one in claim.right[1:] if isinstance(one, tuple) and one[0] in ("mul", "pow", "call", "div")
    ]
    free = [name for name in ("W", "Z", "u_0") if name not in claim.names]
    if not pieces or not free:
        return claim
    return replace(claim, binds=((free[0], rng.choice(pieces)),))


MAKERS = {
    "equality": (equality, 10), "equality if": (equality_if, 9), "order": (order, 10), "order if": (order_if, 14),
    "order under equality": (equal_order, 5), "contradictory": (contradictory, 4), "pole": (pole, 5), "growth": (growth, 9), "growth if": (growth_if, 9),
    "limit": (limit, 5), "minimum": (minimum, 5), "minimum if": (minimum_if, 6), "threshold": (threshold, 6), "within": (within, 2),
    "units": (units, 3), "captured": (captured, 1), "rewritten": (rewritten, 6), "wild": (wild, 6), "far": (far, 4),
}  # fmt: skip
