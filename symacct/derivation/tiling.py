"""What slow memory sees of a graph that is cut into blocks: the sum of its loads and stores."""

from __future__ import annotations

from typing import TYPE_CHECKING

from symacct.algebra.evaluate import substitute
from symacct.algebra.normal import normal, total
from symacct.algebra.symbols import symbol
from symacct.derivation.ranges import over
from symacct.nodes import Node, walk
from symacct.ops.tiled import Load, Store

if TYPE_CHECKING:
    from sympy import Expr

    from symacct.nodes import Graph


def slow_traffic(graph: Graph) -> tuple[Expr, Expr]:
    """Return the elements read from and written to slow memory, over all iterations."""
    read: list[Expr] = []
    written: list[Expr] = []
    for node, path in walk(graph.nodes):
        if isinstance(node, Node) and isinstance(node.op, Load | Store):
            moved = graph.tensors[node.outs[0] if isinstance(node.op, Load) else node.ins[1]].numel
            (read if isinstance(node.op, Load) else written).append(over(moved, path))
    return total(read), total(written)


def loaded_blocks(graph: Graph) -> Expr:
    """Return the elements of all blocks that are loaded, one of each: what must fit into fast memory at once.

    Blocks of nested repeats are alive together; what is computed from them is not counted.
    """
    loads = (node for node, _ in walk(graph.nodes) if isinstance(node, Node) and isinstance(node.op, Load))
    return total(graph.tensors[node.outs[0]].numel for node in loads)


def tiled_attention_traffic(graph: Graph, fast: Expr, *, keys: str = "c", head: str = "K") -> Expr:
    """Return the elements moved when blocks are as large as fast memory allows.

    A block of keys and one of values, of queries and of results are alive together. With a quarter of fast
    memory each, the largest block of keys is ``fast / (4 K)``; the size of a block of queries cancels.
    Source: FlashAttention (arXiv:2205.14135), algorithm 1 and theorem 2; the constants are derived here.

    Args:
        graph: attention cut into blocks, such as the shipped graph ``tiled_attention``.
        fast: elements that fast memory holds.
        keys: the size that is the number of keys of a block.
        head: the size that is the number of features.
    """
    read, written = slow_traffic(graph)
    return substitute(normal(read + written), {keys: fast / (4 * symbol(head))})
