"""The counts of a graph: what its sizes, repeats and ops need in order to exist."""

from __future__ import annotations

from typing import TYPE_CHECKING

from symacct.algebra.condition import Condition, merge
from symacct.algebra.needs import needs
from symacct.algebra.symbols import as_expr, index_symbol
from symacct.nodes import Graph, Node, Repeat, walk

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from sympy import Expr, Symbol

    from symacct.op import Op
    from symacct.tensor import Tensor

    Ranges = Mapping[Symbol, tuple[Expr, Expr]]


def of_node(op: Op, ins: Sequence[Tensor], outs: Sequence[Tensor]) -> Iterator[tuple[Expr, int]]:
    """Yield each formula that a node makes a count of, with the least that it may be.

    They are the sizes of its results, the pairs that a structural mask leaves, and what the op says itself.
    """
    for tensor in outs:
        yield from ((dim, 1) for dim in tensor.dims if not dim.is_Symbol)
        if tensor.mask is not None:
            yield from tensor.mask.needs(tensor.dim(tensor.mask.rows), tensor.dim(tensor.mask.cols))
    yield from op.needs(ins)


def of_graph(graph: Graph) -> tuple[Condition, ...]:
    """Return all that the counts of a graph need; a graph that was built holds these conditions already.

    Raises:
        SizeError: a count is negative or fractional for all sizes.
    """
    found = dict.fromkeys(graph.conditions)
    repeats = {node.name: (*path, node) for node, path in walk(graph.nodes) if isinstance(node, Repeat)}
    for tensor in graph.tensors.values():
        ranges = _ranges(repeats[tensor.path[-1]] if tensor.path else ())
        for dim in (dim for dim in tensor.dims if not dim.is_Symbol):
            found |= dict.fromkeys(needs(dim, 1, ranges, [*found]))
    for node, path in walk(graph.nodes):
        ranges = _ranges(path)
        for expr, least in _formulas(graph, node):
            found |= dict.fromkeys(needs(expr, least, ranges, [*found]))
    return merge(found)


def _formulas(graph: Graph, node: Node | Repeat) -> Iterator[tuple[Expr, int]]:
    if isinstance(node, Repeat):
        yield node.count, 0
        return
    ins, outs = ([graph.tensors[name] for name in names] for names in (node.ins, node.outs))
    yield from of_node(node.op, ins, outs)


def _ranges(path: Sequence[Repeat]) -> Ranges:
    return {repeat.index: (repeat.lo, repeat.hi) for repeat in path}


def may_be_zero(graph: Graph) -> tuple[str, ...]:
    """Return the free sizes that may be 0, all at once: they say how often something runs, and no more.

    >>> from symacct.build import Builder
    >>> b = Builder("g", "B L M")
    >>> x = b.repeat("L", b.tanh, b.input("x", "B"), name="first")
    >>> may_be_zero(b.build(b.repeat("M + L - 1", b.tanh, x, name="second")))
    ('L',)
    """
    repeats = [node for node, _ in walk(graph.nodes) if isinstance(node, Repeat)]
    found = {free.name for repeat in repeats for free in repeat.count.free_symbols}
    forms = [(repeat.count, 0) for repeat in repeats]
    forms += [(form, 1) for form in _sizes(graph)]
    kept: list[str] = []
    for name in (name for name in graph.order if name in found):
        if not any(_breaks(form, least, name, kept) for form, least in forms):
            kept.append(name)
    return tuple(kept)


def _sizes(graph: Graph) -> set[Expr]:
    """Return what is at least 1 wherever it stands: sizes of tensors, windows, the number of tokens."""
    found = {dim for tensor in graph.tensors.values() for dim in tensor.dims}
    found |= {
        t.mask.window for t in graph.tensors.values() if t.mask is not None and t.mask.window is not None
    }
    return found if graph.tokens is None else {*found, graph.tokens}


def _breaks(form: Expr, least: int, name: str, zeros: Sequence[str]) -> bool:
    """Return whether a count is right for all sizes of at least 1, but not where this one is 0 too."""
    free = next((one for one in form.free_symbols if one.name == name), None)
    if free is None or not Condition("at_least", form, as_expr(least)).is_certain():
        return False
    low = {one: index_symbol(one.name) for one in form.free_symbols if one.name in zeros}
    gone = form.xreplace({**low, free: as_expr(0)})
    return not gone.is_finite or not Condition("at_least", gone, as_expr(least)).is_certain()
