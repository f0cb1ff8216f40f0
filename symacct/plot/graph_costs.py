"""What each place of a graph costs: terms of a quantity, put to the op, tensor or repeat that they serve."""

from __future__ import annotations

from typing import TYPE_CHECKING

from symacct.algebra.normal import total
from symacct.nodes import Repeat, walk

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from sympy import Expr

    from symacct.account import Account

ELSEWHERE = ""
"""The place of terms that belong to nothing that is drawn."""
UPDATE, SCALES, GRAD = "/update", "/scales", "/grad"


def costs(account: Account, quantity: str) -> dict[str, Expr]:
    """Return the part of each place in a quantity, by its label or name; the parts add up to the quantity.

    What backward does counts for the op whose gradient it forms, and an update for its parameter.

    Raises:
        UnknownNameError: there is no such quantity.
        RuleError: it is no sum.

    >>> from symacct import derive, load
    >>> costs(derive(load("mlp")), "flops.forward.all")
    {'layers/matmul': 2*B*D**2*L, 'layers/relu': B*D*L}
    """
    terms = account.terms(quantity)
    known = dict(_places(account))
    found: dict[str, list[Expr]] = {}
    for term in terms:
        found.setdefault(_place(term.label, known), []).append(term.expr)
    return {place: total(parts) for place, parts in found.items()}


def _places(account: Account) -> Iterator[tuple[str, str]]:
    """Yield labels and names, each with the place that stands for it; the most telling come last."""
    graph = account.graph
    forward = list(walk(graph.nodes))
    for name in graph.tensors:
        yield name, name
    for node, _ in forward:
        if isinstance(node, Repeat):
            for carry in node.carry:
                yield from ((one, node.name) for one in (carry.enter, carry.result) if one)
            yield from ((outside, node.name) for _, outside in node.sums)
        else:
            yield from ((name, node.label) for name in node.outs)
    if account.trains:
        for node, _ in walk(account.step.backward):
            of = node.of or ELSEWHERE
            yield node.label, of
            if isinstance(node, Repeat):
                yield from ((outside, of) for _, outside in node.sums)
            else:
                yield from ((name, of) for name in node.outs)
    yield from ((node.label, node.label) for node, _ in forward)


def _place(label: str, known: Mapping[str, str]) -> str:
    """Return the place of a term, by its label, else by the label without what was done there."""
    for ending in ("", UPDATE, SCALES, GRAD):
        one = label.removesuffix(ending)
        if one in known:
            return _end(known[one], known)
    return ELSEWHERE


def _end(place: str, known: Mapping[str, str]) -> str:
    """Return the place that a place stands for: a gradient's op may be named by what it makes."""
    for _ in range(len(known)):
        further = known.get(place, ELSEWHERE)
        if further == place:
            return place
        place = further
    return ELSEWHERE
