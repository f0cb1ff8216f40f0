"""What goes to infinity where a claim about growth does not say."""

from __future__ import annotations

from typing import TYPE_CHECKING

from symacct.algebra.evaluate import names_of
from symacct.nodes import repeat_counts

if TYPE_CHECKING:
    from sympy import Expr

    from symacct.account import Account
    from symacct.claims import Claim
    from symacct.proof.assume import Assumptions


def ways_of(
    account: Account | None,
    claim: Claim,
    assumptions: Assumptions,
    grow: tuple[str, ...],
    left: Expr,
    right: Expr,
) -> tuple[tuple[str, ...], ...]:
    """Return what may grow: as stated, or each repeat count alone, then all sizes."""
    stated = claim.grows or grow or tuple(assumptions.growing)
    if stated:
        return (tuple(stated),)
    present = sorted({*names_of(left), *names_of(right)})
    counts = [] if account is None else [n for n in repeat_counts(account.graph) if n in present]
    return (*((name,) for name in counts), *([tuple(present)] if present else []))
