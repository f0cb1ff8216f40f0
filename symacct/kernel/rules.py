"""The table of rules: what each is called, what proves it, and the fields of its proof."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .equalities import by_both, by_given, by_identity
from .form import field, keys, known
from .limits import by_constants, by_growth, by_rate
from .minima import by_least, by_only
from .orders import by_integral, by_nonnegative, by_numbers
from .points import by_lower, by_missed, by_point
from .refusal import need
from .splits import by_cases, by_lemma, by_parts, by_residues
from .thresholds import by_both_ways

if TYPE_CHECKING:
    from collections.abc import Callable

    from .claim import Claim

LIMIT = {"constant", "from"}
RULES: dict[str, tuple[Callable[[Claim], None], set[str], set[str]]] = {
    "identity": (by_identity, set(), {"multiples"}),
    "both": (by_both, {"below", "above"}, set()),
    "given": (by_given, {"hypothesis", "factor"}, set()),
    "nonnegative": (by_nonnegative, {"witness"}, set()),
    "numbers": (by_numbers, set(), set()),
    "integral": (by_integral, set(), set()),
    "rate": (by_rate, {*LIMIT, "over", "below", "above"}, {"factor"}),
    "constants": (by_constants, {*LIMIT, "below", "above"}, {"least", "witness", "turned"}),
    "growth": (by_growth, {*LIMIT, "over", "witness"}, {"turned"}),
    "cases": (by_cases, {"name", "left", "right", "each"}, set()),
    "residues": (by_residues, {"name", "of", "modulus", "quotient", "each"}, set()),
    "have": (by_lemma, {"name", "lemma", "because", "then"}, set()),
    "all": (by_parts, {"each"}, set()),
    "iff": (by_both_ways, {"if", "unless"}, set()),
    "least": (by_least, {"place", "holds", "bound", "value"}, set()),
    "only": (by_only, {"holds", "above", "below"}, set()),
    "point": (by_point, {"point"}, set()),
    "lower": (by_lower, {"point"}, set()),
    "missed": (by_missed, {"point", "beyond"}, {"upto"}),
}
REFUTING = ("point", "lower", "missed")


def establish(claim: Claim, also: frozenset[str] = frozenset()) -> None:
    """Refuse unless the proof of a claim proves it; `also` are fields that the whole certificate may have."""
    prove, needed, optional = known(RULES, field(claim.proof, "rule"), "rule")
    keys(claim.proof, {"rule", "uses"} | needed, optional | also)
    wanted = {
        "factor": prove is by_rate and claim.refuted,
        "least": prove is by_constants and claim.relation == "Theta",
        "witness": prove is by_constants and claim.relation == "Theta",
    }
    for key, on in wanted.items():
        if key in optional:
            need((key in claim.proof) == on, f"{'missing' if on else 'not known'}: [{key!r}]")
    need(claim.proof.get("turned", "1") == "1", "turned is 1 where it stands")
    prove(claim)
