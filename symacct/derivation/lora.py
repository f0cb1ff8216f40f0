"""Low-rank adapters as a rewrite of the graph: everything frozen, a product of two small weights beside some.

A contraction ``y = x W`` becomes ``y = x W + (x A) B``. Forward and backward work, saved tensors, gradients
and states then come out of the ordinary derivation. Source: Hu et al. 2021 (arXiv:2106.09685), section 4.1.
"""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING

from symacct.adapters import USUAL
from symacct.algebra.evaluate import substitute
from symacct.algebra.normal import same
from symacct.algebra.symbols import as_expr, check_name, symbol
from symacct.derivation.beside import DOWN, UP, Rewriter, layer_of
from symacct.derivation.storage import Storage
from symacct.derivation.weight_use import Use
from symacct.errors import RuleError, SizeError, UsageError, nearest, unknown
from symacct.nodes import Graph, Node, Repeat, walk
from symacct.ops.einsum import Einsum
from symacct.ops.grouped import GroupedMatmul

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sympy import Expr

    from symacct.adapters import Lora

ORDINARY = ("weight", "matmul")
"""What every linear layer calls its weight and its product: no name of a layer."""

MEANING = "rank of the adapters"


def lora(graph: Graph, rank: int | str, on: Sequence[str] = USUAL, scale: Expr | int | None = None) -> Graph:
    """Return the graph with every weight frozen and trainable adapters beside some.

    Each contraction that reads a weight named in ``on`` gets two weights ``A`` and ``B`` of the rank, in the
    repeats that the weight lives in; a weight that several contractions read has one pair for all of them.

    Args:
        graph: any forward graph.
        rank: an integer, or the name of a new symbol.
        on: last words of weights' or contractions' names (``q``), parts of their paths (``ffn/up``), or
            regions (``attention``).
        scale: what ``(x A) B`` is multiplied by: alpha/r.

    Raises:
        UnknownNameError: a name that nothing in the graph has.
        RuleError: the named weight is in no contraction, or in one that has no low-rank form.
        SizeError: the rank is no size, or a symbol that the graph has already.

    >>> from symacct.build import graph
    >>> @graph({"B": "rows", "D": "inputs", "K": "outputs"})
    ... def product(b):
    ...     return b.linear(b.input("x", "B D"), "D -> K", name="q")
    >>> made = lora(product(), "r", on=("q",))
    >>> [t.describe() for name, t in made.tensors.items() if name in made.trainable]
    ['q/lora_a[D, r]', 'q/lora_b[r, K]']
    """
    names = (on,) if isinstance(on, str) else tuple(on)
    sized, size = _sized(graph, rank)
    return Rewriter(sized, size, scale).run(_chosen(graph, names))


def adapted(graph: Graph, choice: Lora) -> Graph:
    """Return the graph with the adapters of a choice; one that has them already is returned as it is.

    >>> from symacct.adapters import parse_lora
    >>> from symacct.build import graph
    >>> @graph({"B": "rows", "D": "inputs"})
    ... def square(b):
    ...     return b.linear(b.input("x", "B D"), "D -> E", E="D", name="q")
    >>> adapted(square(), parse_lora("r=4,on=q,alpha=8")).nodes[3].op
    Elementwise(function='scale', constant=2)
    """
    rank = symbol(check_name(choice.rank)) if isinstance(choice.rank, str) else as_expr(choice.rank)
    if _stands(graph, choice, substitute(rank, graph.bound)):
        return graph
    if choice.alpha is None:
        return lora(graph, choice.rank, choice.on)
    return lora(graph, choice.rank, choice.on, as_expr(choice.alpha) / rank)


def _stands(graph: Graph, choice: Lora, rank: Expr) -> bool:
    """Say whether these and no other weights have trainable adapters of this rank."""
    there = {name for name in graph.trainable if name.endswith(f"/{DOWN}")}
    if not there:
        return False
    wanted = {f"{layer_of(use.root)}/{DOWN}" for use in _chosen(graph, choice.on)}
    return there == wanted and all(same(graph.tensors[name].dims[-1], rank) for name in there)


def _sized(graph: Graph, rank: int | str) -> tuple[Graph, Expr]:
    """Return the graph that knows the rank as a size, and the rank."""
    if isinstance(rank, bool) or not isinstance(rank, int | str) or (isinstance(rank, int) and rank < 1):
        raise SizeError(
            "the rank of the adapters is no size", expected="an integer of at least 1, or a new symbol",
            got=repr(rank)[:80],
        )  # fmt: skip
    if isinstance(rank, int):
        return graph, as_expr(rank)
    taken = {*graph.sizes, *graph.aliases}
    taken |= {node.index.name for node, _ in walk(graph.nodes) if isinstance(node, Repeat)}
    if check_name(rank) in taken:
        raise SizeError(
            f"{rank} is a size of graph {graph.name} already",
            expected="an integer, or a new symbol for the rank of the adapters",
            got=rank,
            fix="take another letter",
        )
    return replace(graph, sizes=MappingProxyType({**graph.sizes, rank: MEANING})), symbol(rank)


# ---- which weights ----


def _runs(name: str) -> set[str]:
    """Return the runs of words of a path, and the path itself; the ordinary words alone name nothing.

    >>> sorted(_runs("ffn/up/weight"))
    ['ffn', 'ffn/up', 'ffn/up/weight', 'up', 'up/weight']
    """
    words = name.split("/")
    ends = range(len(words))
    runs = {"/".join(words[i : j + 1]) for i in ends for j in ends if i <= j}
    return (runs - set(ORDINARY)) | {name}


def _names(use: Use) -> set[str]:
    """Return what a contraction of a weight goes by: words of the weight's name and of its own.

    An adapter that stands there already goes by its own name alone.
    """
    last = use.root.rpartition("/")[2]
    if last.startswith((DOWN, UP)):
        return {use.root, last}
    return _runs(use.root) | _runs(use.node.label)


def _uses(graph: Graph) -> Iterator[Use]:
    """Yield each contraction of a weight."""
    storage = Storage(graph)
    for node, _ in walk(graph.nodes):
        if isinstance(node, Node) and isinstance(node.op, Einsum | GroupedMatmul) and node.op.contracted():
            for slot, name in enumerate(node.ins[:2]):
                root = storage.parameter(name)
                if root is not None:
                    yield Use(node, slot, root, graph.tensors[name])


def _chosen(graph: Graph, on: Sequence[str]) -> tuple[Use, ...]:
    """Return the contractions that the names choose, in the graph's order.

    Raises:
        UsageError: no name.
        UnknownNameError: a name that nothing has.
        RuleError: what it names is in no contraction.
    """
    if not on:
        raise UsageError("adapters need the names of weights", expected="names such as q, v", got="none")
    uses = tuple(_uses(graph))
    names = {name for use in uses for name in _names(use)}
    for target in on:
        if target in names:
            continue
        beside = [name for name in graph.weights if target in _runs(name)]
        if beside:
            raise RuleError(
                f"no contraction reads {beside[0]}: an adapter stands beside a product with a weight",
                where=f"graph {graph.name}, adapters on {target}",
                expected=f"one of: {nearest(target, sorted(_words(uses)), 'weight') or 'there is none'}",
                got=target,
            )
        raise unknown("weight", target, _words(uses), where=f"graph {graph.name}, adapters")
    wanted = set(on)
    return tuple(use for use in uses if not wanted.isdisjoint(_names(use)))


def _words(uses: Sequence[Use]) -> set[str]:
    return {name for use in uses for name in _names(use) if "/" not in name}
