"""The lines of a verdict that say how its claim was read: the claim in full, and what each name is."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from symacct.claims.said import condition_said, names_of, names_said, said
from symacct.printers import text
from symacct.proof.conditions import cut_conditions
from symacct.proof.format_facts import CALLED
from symacct.syntax import parse

if TYPE_CHECKING:
    from symacct.account import Account
    from symacct.claims import Claim
    from symacct.proof.verdict import Verdict
    from symacct.syntax import Tree

ALONE, REAL = "integers of at least 1", "positive real numbers"


def read_line(verdict: Verdict) -> str:
    """Return a claim in full, as it was read; typed again, it is the same claim.

    >>> from symacct.proof.prove import prove
    >>> print(read_line(prove(None, "2BD <= 3BD if B > 2D")))
    2*B*D <= 3*B*D if B > 2*D
    """
    extremum, threshold = verdict.extremum, verdict.threshold
    claim = _with_facts(verdict.claim, verdict.written or verdict.claim.text)
    taken = names_of(claim)
    _, regions = cut_conditions(threshold.text if threshold else verdict.stated)
    conditions = [condition_said(one, taken) for one in regions]
    head = ""
    if extremum is not None:
        head = f"{extremum.form}_{extremum.name}"
        claim = replace(claim, right=parse(extremum.claimed, taken)) if extremum.form == "argmin" else claim
    iff = f"{threshold.name} {threshold.relation} {text(threshold.value)}" if threshold else ""
    return said(claim, conditions, head=head, iff=iff)


def _with_facts(claim: Claim, text: str) -> Claim:
    """Return a claim with the numbers of formats called as they were typed: ``epsilon(bf16)``."""
    called: dict[str, str] = {}

    def named(tree: Tree) -> Tree:
        found = CALLED.match(text, tree.start) if tree.form == "name" else None
        name = found[0] if found and tree.name.startswith(f"{found[1]}_") else tree.name
        called[tree.name] = name
        return replace(tree, name=name, parts=tuple(named(part) for part in tree.parts))

    left, right = named(claim.left), named(claim.right)
    where = tuple(replace(one, name=called.get(one.name, one.name)) for one in claim.where)
    return replace(claim, left=left, right=right, where=where)


def names_line(verdict: Verdict, account: Account | None) -> str:
    """Return what each name of a claim is; nothing where it has none."""
    claim = _with_facts(verdict.claim, verdict.written or verdict.claim.text)
    real = dict.fromkeys(verdict.box.real, REAL)
    if account is None:
        return names_said(claim, real, ALONE)
    return names_said(claim, {**real, **account.graph.sizes}, f"sizes of {account.graph.name}")
