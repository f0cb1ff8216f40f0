"""How a cache of keys and values grows: how many tokens each of its tensors holds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from symacct.algebra.normal import normal, same
from symacct.derivation.workload import windows
from symacct.nodes import Graph, Node, walk
from symacct.ops.view import Keys

if TYPE_CHECKING:
    from sympy import Expr


def cached_tokens(graph: Graph) -> Expr | None:
    """Return the tokens that a cache holds, sequences times keys; None where a token has no bytes of its own.

    That is so where a layer looks back on a window, so that its cache stops growing; where caches have
    different lengths; and where the graph states no tokens.

    >>> from symacct.build import Builder
    >>> def layer(**choices):
    ...     b = Builder("g", "B S T K W", tokens="B*S")
    ...     q, k = b.input("q", "B S K"), b.keys(b.input("k", "B S K"), "S", "T")
    ...     return b.build(b.attention(q, k, k, **choices))
    >>> cached_tokens(layer()), cached_tokens(layer(window="W"))
    (B*T, None)
    """
    keys = [node for node, _ in walk(graph.nodes) if isinstance(node, Node) and isinstance(node.op, Keys)]
    if not keys or graph.tokens is None or windows(graph, keys):
        return None
    held = [normal(graph.tokens / _new(graph, node) * _length(node)) for node in keys]
    return held[0] if all(same(held[0], other) for other in held) else None


def _length(node: Node) -> Expr:
    assert isinstance(node.op, Keys)
    return node.op.length


def _new(graph: Graph, node: Node) -> Expr:
    """Return how many tokens a pass adds."""
    assert isinstance(node.op, Keys)
    return graph.tensors[node.ins[0]].dim(node.op.axis)
