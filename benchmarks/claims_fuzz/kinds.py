"""The kinds of claims, each with its maker and how often it is made, and how a claim is put into words."""

from __future__ import annotations

from dataclasses import replace

from .kinds_edge import captured, contradictory, far, pole, rewritten, wild
from .kinds_growth import growth, growth_if, limit
from .kinds_order import equal_order, equality, equality_if, order, order_if
from .kinds_other import minimum, minimum_if, threshold, units, within
from .kinds_wild import growing, lowest, tending


def ready(rng, claim):
    """Say conditions as assumptions, print in LaTeX, bind parts by `where`, now and then."""
    if claim.graph and rng.random() < 0.7:
        return claim
    plain = claim.form == "relation" and not claim.units[0] and not (claim.policy or _peaks(claim))
    if plain and len(claim.names) > 1 and rng.random() < 0.05:
        given = (rng.choice(claim.names), rng.randint(1, 6))
        return replace(claim, at=(given,), may_refuse=bool(claim.conditions))
    claim = _with_options(rng, claim)
    return claim if claim.graph else _styled(rng, claim, plain=plain)


def _peaks(claim):
    """Say whether a claim is of peaks: of bound sizes these are derived again, with other conditions."""
    return any("peak" in name for name in claim.quantities)


def _styled(rng, claim, *, plain):
    """Print a claim in another style, now and then."""
    if rng.random() < 0.15 and _latex_reads(claim):
        return replace(claim, style="latex")
    if plain and rng.random() < 0.15:
        return replace(claim, style=rng.choice(["unicode", "decimal"]))
    if claim.form == "relation" and not claim.binds and rng.random() < 0.1:
        return bound(rng, claim)
    return replace(claim, style="tight") if rng.random() < 0.15 else claim


def _with_options(rng, claim):
    """Move conditions and what grows into options, now and then."""
    if claim.conditions and rng.random() < 0.4:
        every = rng.random() < 0.6
        marked = tuple(replace(one, assume=every or rng.random() < 0.5) for one in claim.conditions)
        claim = replace(claim, conditions=marked)
    return replace(claim, grow_option=True) if claim.grows and rng.random() < 0.3 else claim


def _latex_reads(claim):
    """Say whether a claim can stand between dollar signs as a whole."""
    if claim.form not in ("relation", "asymptotic") or claim.sign in ("O", "Theta") or claim.binds:
        return False
    if any(not one.assume for one in claim.conditions) or (claim.grows and not claim.grow_option):
        return False
    return all(len(name) == 1 for name in claim.names)


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
    "equality": (equality, 10),
    "equality if": (equality_if, 9),
    "order": (order, 10),
    "order if": (order_if, 14),
    "order under equality": (equal_order, 5),
    "contradictory": (contradictory, 4),
    "pole": (pole, 5),
    "growth": (growth, 9),
    "growth if": (growth_if, 9),
    "limit": (limit, 5),
    "minimum": (minimum, 5),
    "minimum if": (minimum_if, 6),
    "threshold": (threshold, 6),
    "within": (within, 2),
    "units": (units, 3),
    "captured": (captured, 1),
    "rewritten": (rewritten, 6),
    "wild": (wild, 6),
    "far": (far, 4),
    "wild growth": (growing, 6),
    "wild minimum": (lowest, 5),
    "wild limit": (tending, 3),
}
