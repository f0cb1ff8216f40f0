"""What a claim rests on: a derived formula, the graph it comes from, and that graph's fingerprint."""

from __future__ import annotations

import json
from hashlib import sha256
from typing import TYPE_CHECKING

from symacct.errors import RuleError
from symacct.proof.case import Rest
from symacct.readers.graph_json import to_data
from symacct.syntax import walk

if TYPE_CHECKING:
    from symacct.account import Account
    from symacct.claims import Claim
    from symacct.nodes import Graph


def fingerprint(graph: Graph) -> str:
    """Return the sha256 of a graph as JSON, without its name, words and notes."""
    data = {key: part for key, part in to_data(graph).items() if key not in {"name", "doc", "notes"}}
    return sha256(json.dumps(data, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def rests_of(claim: Claim, account: Account) -> list[Rest]:
    """Return what the derivation says of each quantity that a claim names of its graph."""
    found: list[Rest] = []
    for name in quantities_of(claim):
        if "(" not in name and account.has(name):
            try:
                found.append(rest_of(account, name))
            except RuleError:
                continue
    return found


def quantities_of(claim: Claim) -> list[str]:
    """Return the quantities that a claim names, those of what it binds too."""
    trees = (claim.left, claim.right, *(one.tree for one in claim.where))
    return list(dict.fromkeys(part.name for tree in trees for part in walk(tree) if part.form == "quantity"))


def rest_of(account: Account, quantity: str) -> Rest:
    """Return a derived formula as what the derivation says.

    >>> from symacct import derive, load
    >>> rest_of(derive(load("deep_linear")), "params").graph
    'deep_linear'
    """
    graph = account.graph
    formula = account[quantity].expr
    sizes = tuple(name for name in graph.order if name not in graph.bound)
    return Rest(quantity, graph.name, fingerprint(graph), formula, sizes)
