"""The lines of a verdict that say how its claim was read: the claim in full, and what each name is."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from symacct.claims.said import condition_said, names_of, names_said, said
from symacct.printers import text
from symacct.proof.region import cut_region
from symacct.syntax import parse

if TYPE_CHECKING:
    from symacct.account import Account
    from symacct.proof.prove import Verdict

ALONE = "integers of at least 1"


def read_line(verdict: Verdict) -> str:
    """Return a claim in full, as it was read; typed again, it is the same claim.

    >>> from symacct.proof.prove import prove
    >>> print(read_line(prove(None, "2BD <= 3BD if B > 2D")))
    2*B*D <= 3*B*D if B > 2*D
    """
    claim, extremum, threshold = verdict.claim, verdict.extremum, verdict.threshold
    taken = names_of(claim)
    _, regions = cut_region(threshold.text if threshold else verdict.stated)
    conditions = [condition_said(one, taken) for one in regions]
    head = ""
    if extremum is not None:
        head = f"{extremum.form}_{extremum.name}"
        claim = replace(claim, right=parse(extremum.claimed, taken)) if extremum.form == "argmin" else claim
    iff = f"{threshold.name} {threshold.relation} {text(threshold.value)}" if threshold else ""
    return said(claim, conditions, head=head, iff=iff)


def names_line(verdict: Verdict, account: Account | None) -> str:
    """Return what each name of a claim is; nothing where it has none."""
    if account is None:
        return names_said(verdict.claim, {}, ALONE)
    return names_said(verdict.claim, account.graph.sizes, f"sizes of {account.graph.name}")
