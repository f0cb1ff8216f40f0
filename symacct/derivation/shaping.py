"""A graph made ready to be scheduled at small counts: symbols for large counts, segments and quotients."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import isqrt
from types import MappingProxyType
from typing import TYPE_CHECKING

from sympy import Symbol, ceiling, sqrt

from symacct.algebra.condition import Condition
from symacct.algebra.evaluate import evaluate, substitute
from symacct.algebra.normal import normal
from symacct.algebra.symbols import as_expr, symbol
from symacct.derivation.closing import closed
from symacct.derivation.placement import Cut, outermost
from symacct.errors import UsageError
from symacct.nodes import Graph, Repeat, bind_node, bind_tensor, walk

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sympy import Expr

    from symacct.nodes import Step_
    from symacct.policy import Policy


@dataclass(frozen=True, slots=True)
class Shape:
    """A graph made ready to be folded.

    Attributes:
        graph: closed, with symbols in the place of large counts.
        outputs: what a caller may hold.
        cuts: the segments of outermost repeats.
        into: formulas that are put in the place of sizes (``h = a*q``, ``L = M*k``).
        back: what the symbols of the folded form stand for.
        micro: the number of micro-batches.
        conditions: what must hold beside the counts.
    """

    graph: Graph
    outputs: tuple[str, ...]
    cuts: Mapping[str, Cut]
    into: Mapping[str, Expr]
    back: Mapping[str, Expr]
    micro: Expr
    conditions: tuple[Condition, ...]

    def at(self, one: Symbol, value: int) -> Shape:
        """Return the shape with an integer in the place of a count."""
        known = {one.name: as_expr(value)}
        parts = {name: (cut.segments, cut.size, cut.rest) for name, cut in self.cuts.items()}
        graph = replace(
            self.graph,
            tensors=MappingProxyType({n: bind_tensor(t, known) for n, t in self.graph.tensors.items()}),
            nodes=tuple(bind_node(node, known) for node in self.graph.nodes),
        )
        return replace(
            self,
            graph=graph,
            cuts=MappingProxyType({n: Cut(*(substitute(e, known) for e in p)) for n, p in parts.items()}),
            into=MappingProxyType({name: substitute(e, known) for name, e in self.into.items()}),
            micro=substitute(self.micro, known),
        )


def open_counts(shape: Shape) -> bool:
    """Say whether a count of repeats, segments or micro-batches is no integer."""
    repeats = [r for r, _ in walk(shape.graph.nodes) if isinstance(r, Repeat)]
    free = {s for r in repeats for end in (r.lo, r.hi) for s in end.free_symbols} - {r.index for r in repeats}
    parts = [part for cut in shape.cuts.values() for part in (cut.segments, cut.size, cut.rest)]
    return bool(free) or any(part.free_symbols for part in (*parts, shape.micro))


def shaped(graph: Graph, policy: Policy, most: int) -> Shape:
    """Return a graph with symbols for counts above ``most``, ready to be scheduled at small ones."""
    names = _Names(graph)
    back: dict[str, Expr] = {}
    into, conditions = _quotients(graph, names, back)
    cut = policy.checkpoint.every is not None and not policy.checkpoint.every.is_Integer
    nodes = tuple(_standing(node, names, back, most, always=cut) for node in graph.nodes)
    stood = replace(graph, nodes=nodes)
    cuts: dict[str, Cut] = {}
    for repeat in outermost(stood):
        cut = _cut(repeat, policy, names, back, into, conditions, most)
        if cut is not None:
            cuts[repeat.name] = cut
    micro = as_expr(policy.accumulate)
    if micro.is_Integer and int(micro) > most:
        micro = names.stand(micro, "micro", back)
    return Shape(
        closed(stood) if policy.workload == "train" else stood,
        graph.outputs,
        MappingProxyType(cuts),
        MappingProxyType(into),
        MappingProxyType(back),
        micro,
        tuple(conditions),
    )


class _Names:
    """New symbols that no size of the graph has."""

    def __init__(self, graph: Graph) -> None:
        self.taken = {*graph.sizes, *graph.aliases}
        self.made: dict[tuple[str, Expr], Symbol] = {}

    def fresh(self, name: str) -> Symbol:
        found = f"{name}_"
        while found in self.taken:
            found += "_"
        self.taken.add(found)
        return symbol(found)

    def stand(self, value: Expr, name: str, back: dict[str, Expr]) -> Symbol:
        """Return the symbol that stands for a value, the same for equal values."""
        if (name, value) not in self.made:
            self.made[name, value] = self.fresh(name)
            back[self.made[name, value].name] = value
        return self.made[name, value]


def _quotients(graph: Graph, names: _Names, back: dict[str, Expr]) -> tuple[dict[str, Expr], list[Condition]]:
    """Return ``h = a*q`` for each size that another one divides, so that quotients become sizes."""
    into: dict[str, Expr] = {}
    for condition in graph.conditions:
        over, by = condition.right, condition.left
        if condition.kind == "divides" and over.is_Symbol and over.name not in into and by.is_Symbol:
            quotient = names.stand(over / by, "quotient", back)
            into[over.name] = by * quotient
    chained = {
        name: normal(substitute(value, {k: v for k, v in into.items() if k != name}))
        for name, value in into.items()
    }
    return chained, list(graph.conditions)


def _standing(node: Step_, names: _Names, back: dict[str, Expr], most: int, *, always: bool = False) -> Step_:
    """Return a node with a symbol in the place of every large integer count, or of this one in any case."""
    if not isinstance(node, Repeat):
        return node
    body = tuple(_standing(inner, names, back, most) for inner in node.body)
    count = node.count
    if count.is_Integer and (int(count) > most or (always and count > 0)):
        return replace(node, body=body, hi=node.lo + names.stand(count, "count", back))
    return replace(node, body=body)


def _cut(
    repeat: Repeat,
    policy: Policy,
    names: _Names,
    back: dict[str, Expr],
    into: dict[str, Expr],
    conditions: list[Condition],
    most: int,
) -> Cut | None:
    """Return the segments of an outermost repeat."""
    kind = policy.checkpoint.kind
    if kind not in ("every", "sqrt"):
        return None
    count = repeat.count
    whole = normal(substitute(count, back))
    if kind == "sqrt":
        size = as_expr(max(isqrt(int(whole) - 1) + 1, 1)) if whole.is_Integer and whole > 0 else sqrt(whole)
    else:
        size = as_expr(policy.checkpoint.every)  # type: ignore[arg-type]
        _check_new(size, names)
    if whole.is_Integer and size.is_Integer:
        return _integers(int(whole), int(size), names, back, most)
    length = (
        size
        if size.is_Symbol or (size.is_Integer and int(size) <= most)
        else names.stand(size, "segment", back)
    )
    if kind == "sqrt":
        segments: Expr = length
        conditions.append(Condition("equal", whole, ceiling(sqrt(whole)) ** 2))
    else:
        segments = names.stand(whole / size, "segments", back)
        conditions.append(Condition("divides", size, whole))
    if count.is_Symbol:
        into[count.name] = segments * length
    return Cut(segments, length, length)


def _check_new(size: Expr, names: _Names) -> None:
    clash = sorted(s.name for s in size.free_symbols if s.name in names.taken)
    if clash:
        raise UsageError(
            f"the length of a segment is called {clash[0]}, which is a size of the graph",
            expected="an integer or a name of its own",
            got=clash[0],
            fix="call it k",
        )


def _integers(count: int, size: int, names: _Names, back: dict[str, Expr], most: int) -> Cut:
    """Return segments where count and length are integers: the last one may be shorter."""
    size = min(size, max(count, 1))
    segments = max(-(-count // size), 1)
    rest = max(count - (segments - 1) * size, 0)

    def stand(value: int, name: str) -> Expr:
        return as_expr(value) if value <= most else names.stand(as_expr(value), name, back)

    length = stand(size, "segment")
    return Cut(stand(segments, "segments"), length, length if rest == size else stand(rest, "rest"))


def small_counts(shape: Shape, base: int) -> dict[str, int]:
    """Return small integers for every symbol that a count is made of."""
    repeats = [r for r, _ in walk(shape.graph.nodes) if isinstance(r, Repeat)]
    indices = {r.index.name for r in repeats}
    free = {s.name for r in repeats for end in (r.lo, r.hi) for s in end.free_symbols} - indices
    free |= {s.name for s in shape.micro.free_symbols}
    counts = dict.fromkeys(sorted(free), base)
    for cut in shape.cuts.values():
        for part in (cut.segments, cut.size, cut.rest):
            counts |= {s.name: base - 1 for s in part.free_symbols}
    counts |= derived_counts(shape, counts)
    for _ in range(base):
        short = [r for r in repeats if not r.count.free_symbols & {q.index for q in repeats}]
        low = [r for r in short if r.count.free_symbols and int(evaluate(r.count, counts)) < base - 1]
        if not low or shape.cuts:
            break
        for r in low:
            counts |= {s.name: counts[s.name] + 1 for s in r.count.free_symbols}
    return counts


def derived_counts(shape: Shape, counts: Mapping[str, int]) -> dict[str, int]:
    """Return the counts of repeats that are cut, from their segments."""
    found: dict[str, int] = {}
    for repeat in outermost(shape.graph):
        cut = shape.cuts.get(repeat.name)
        if cut is None:
            continue
        segments, size, rest = (int(evaluate(part, counts)) for part in (cut.segments, cut.size, cut.rest))
        whole = (segments - 1) * size + rest
        for one in repeat.count.free_symbols:
            found[one.name] = (
                counts.get(one.name, 0)
                + whole
                - int(evaluate(repeat.count, {**counts, one.name: counts.get(one.name, 1)}))
            )
    return found
