"""Sizes that are bound already: by a model, by what is assumed, or by the workload."""

from __future__ import annotations

from typing import TYPE_CHECKING

from symacct.errors import SizeError, nearest, unknown

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Mapping

    from symacct.nodes import Graph


def check_free(name: str, graph: Graph, where: str, fix: str = "") -> None:
    """Check that a name is a size of the graph that is still free; ``fix`` says what to do where it is not.

    Raises:
        UnknownNameError: it is no size.
        SizeError: it is bound already.
    """
    if name not in graph.sizes and name not in graph.aliases:
        known = [*graph.order, *graph.aliases]
        raise unknown("size", name, known, where=f"{where}, graph {graph.name}")
    if name in graph.bound:
        raise SizeError(
            f"size {name} of {graph.name} is bound already",
            where=where,
            expected=f"one of: {nearest(name, sorted(graph.order)) or 'none is free'}",
            got=f"{name}, which is {graph.bound[name]}",
            fix=fix or f"leave {name} out, or write --symbolic for a model",
        )


def has_anyway(name: str, size: int, sizes: Mapping[str, int], graph: Graph) -> bool:
    """Say whether a size that is bound has the value given, with the other sizes given put in."""
    from symacct.algebra.evaluate import substitute

    return name in graph.bound and substitute(graph.bound[name], sizes) == size


def fix_of_workload(name: str, args: Namespace, graph: Graph) -> str:
    """Return what to do where the workload binds a size, and not the graph; nothing elsewhere."""
    from symacct.cli.options import read_graph

    if name not in graph.bound or not all(hasattr(args, one) for one in ("graph", "assume", "workload")):
        return ""
    if name in read_graph(args).bound:
        return ""
    if args.workload == "decode" or not graph.bound[name].is_Symbol:
        return f"leave {name} out"
    return f"leave {name} out; --workload decode has a KV cache of {name} tokens"
