"""What a claim rests on: a derived formula, the graph it comes from, and that graph's fingerprint."""

from __future__ import annotations

import json
from hashlib import sha256
from typing import TYPE_CHECKING

from symacct.proof.case import Rest
from symacct.readers.graph_json import to_data

if TYPE_CHECKING:
    from symacct.account import Account
    from symacct.nodes import Graph


def fingerprint(graph: Graph) -> str:
    """Return the sha256 of a graph as JSON, without its name, words and notes."""
    data = {key: part for key, part in to_data(graph).items() if key not in {"name", "doc", "notes"}}
    return sha256(json.dumps(data, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


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
