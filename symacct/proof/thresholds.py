"""Proofs that two comparisons hold at the same sizes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from symacct.algebra.condition import Condition
from symacct.proof.relations import relation

if TYPE_CHECKING:
    from sympy import Expr

    from symacct.proof.case import Case, Proof

DENIED = {"<=": ">", ">=": "<", "<": ">=", ">": "<="}


def assumed(left: Expr, comparison: str, right: Expr) -> Condition:
    """Return a comparison as a condition.

    >>> from symacct.algebra.symbols import as_expr, symbol
    >>> print(assumed(symbol("n"), "<", as_expr(3)))
    3 > n
    """
    more, less = (left, right) if comparison[0] == ">" else (right, left)
    return Condition("at_least" if comparison.endswith("=") else "above", more, less)


def both_ways(first: Case, second: Case) -> Proof | None:
    """Prove the first where the second holds, and its denial where that is denied."""
    if first.relation not in DENIED or second.relation not in DENIED:
        return None
    given = assumed(second.left, second.relation, second.right)
    forward = relation(first.under(first.left, first.relation, first.right, second=given))
    if forward is None:
        return None
    denied = assumed(second.left, DENIED[second.relation], second.right)
    backward = relation(first.under(first.left, DENIED[first.relation], first.right, denied=denied))
    if backward is None:
        return None
    return {"rule": "iff", "uses": {}, "if": forward, "unless": backward}
