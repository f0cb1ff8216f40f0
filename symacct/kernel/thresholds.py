"""The rule ``iff``, for a claim that two comparisons hold at the same sizes.

``if``: the first, with the second as a hypothesis named ``second``. ``unless``: the denial of the first, with
the denial of the second as a hypothesis named ``denied``. At any sizes the second holds or is denied: in the
one case both hold, in the other neither.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .form import keys, known
from .orders import DENIED
from .refusal import need
from .splits import hypothesis

if TYPE_CHECKING:
    from .claim import Claim


def by_both_ways(claim: Claim) -> None:
    """Prove that a comparison holds where another does, and fails where that fails."""
    from .rules import establish

    need(claim.relation == "iff" and not claim.refuted, "two ways prove iff only")
    first, second = claim.said["first"], claim.said["second"]
    for one in (first, second):
        keys(one, {"relation", "left", "right"})
        known(DENIED, one["relation"], "comparison")
    establish(claim.under(first, claim.proof["if"], more=[hypothesis("second", second)]))
    denied = [{**one, "relation": DENIED[one["relation"]]} for one in (first, second)]
    establish(claim.under(denied[0], claim.proof["unless"], more=[hypothesis("denied", denied[1])]))
