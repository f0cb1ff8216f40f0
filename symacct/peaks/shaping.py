"""A graph made ready to be scheduled at small counts: symbols for large counts, segments and quotients."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from math import isqrt, lcm
from types import MappingProxyType
from typing import TYPE_CHECKING

from sympy import Poly, Symbol, ceiling, sqrt

from symacct.algebra.condition import Condition
from symacct.algebra.evaluate import substitute
from symacct.algebra.normal import normal
from symacct.algebra.symbols import as_expr, symbol
from symacct.errors import UsageError
from symacct.nodes import Graph, Repeat, bind_node, bind_tensor, walk
from symacct.peaks.closing import closed
from symacct.peaks.layers import open_length, structure, ways
from symacct.peaks.placement import WRITTEN_OUT, Cut, outermost

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sympy import Expr

    from symacct.nodes import Step_
    from symacct.peaks.layers import How
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
        shorter: for a symbol that stands for a last segment, the one that stands for all others.
        residues: for a symbol that stands for a last segment, the number of iterations of all others.
    """

    graph: Graph
    outputs: tuple[str, ...]
    cuts: Mapping[str, Cut]
    into: Mapping[str, Expr]
    back: Mapping[str, Expr]
    micro: Expr
    conditions: tuple[Condition, ...]
    shorter: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    residues: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))

    def at(self, one: Symbol, value: int) -> Shape:
        """Return the shape with an integer in the place of a count."""
        known = {one.name: as_expr(value)}
        cuts = {name: cut.substituted(known) for name, cut in self.cuts.items()}
        graph = replace(
            self.graph,
            tensors=MappingProxyType({n: bind_tensor(t, known) for n, t in self.graph.tensors.items()}),
            nodes=tuple(bind_node(node, known) for node in self.graph.nodes),
        )
        return replace(
            self,
            graph=graph,
            cuts=MappingProxyType(cuts),
            into=MappingProxyType({name: substitute(e, known) for name, e in self.into.items()}),
            micro=substitute(self.micro, known),
            residues=MappingProxyType({n: size for n, size in self.residues.items() if n != one.name}),
        )


def shaped(graph: Graph, policy: Policy, most: int, *, uneven: bool = False) -> Shape:
    """Return a graph with symbols for counts above ``most``, ready to be scheduled at small ones.

    Where ``uneven`` is true, the length of a segment need not divide a count: the last one may be shorter.
    """
    making = _Making(graph, policy, most, uneven)
    making.own_counts(graph.nodes, frozenset(), always=making.open_segment)
    if making.shifts:
        tensors = {name: bind_tensor(t, making.shifts) for name, t in graph.tensors.items()}
        nodes = tuple(_shifted(node, making.shifts) for node in graph.nodes)
        graph = replace(graph, tensors=MappingProxyType(tensors), nodes=nodes)
    stood = replace(graph, nodes=tuple(map(making.standing, graph.nodes)))
    cuts = {r.name: cut for r in outermost(stood) if (cut := making.cut(r)) is not None}
    making.close()
    micro = as_expr(policy.accumulate)
    if micro.is_Integer and int(micro) > most:
        micro = making.stand(micro, "micro")
    return Shape(
        closed(stood) if policy.workload == "train" and policy.loss == "sum" else stood,
        graph.outputs,
        MappingProxyType(cuts),
        MappingProxyType(making.into),
        MappingProxyType(making.back),
        micro,
        tuple(making.conditions),
        MappingProxyType(making.shorter),
        MappingProxyType(making.residues),
    )


class _Making:
    """A shape while it is made: which symbols stand for what."""

    def __init__(self, graph: Graph, policy: Policy, most: int, uneven: bool) -> None:  # noqa: FBT001
        self.policy = policy
        self.most = most
        self.uneven = uneven
        self.taken = {*graph.sizes, *graph.aliases}
        self.made: dict[tuple[str, Expr], Symbol] = {}
        self.back: dict[str, Expr] = {}
        self.conditions = list(graph.conditions)
        self.shorter: dict[str, str] = {}
        self.residues: dict[str, int] = {}
        self.ways = ways(graph, policy.checkpoint)
        self.layered = structure(graph).several
        self.written = self._written_out(graph)
        self.into = self._quotients()
        self.counts: dict[str, Symbol] = {}
        self.shifts: dict[str, Expr] = {}
        repeats = [node for node, _ in walk(graph.nodes) if isinstance(node, Repeat)]
        self.counted = {r.count for r in repeats if r.count.is_Symbol}

    @property
    def open_segment(self) -> bool:
        """Whether the length of a segment is a symbol."""
        every = self.policy.checkpoint.every
        return every is not None and not every.is_Integer

    def _written_out(self, graph: Graph) -> set[str]:
        """Return the repeats of which every iteration is written out: their segments are not alike."""
        if self.policy.checkpoint.kind in WRITTEN_OUT:
            return {repeat.name for repeat in outermost(graph)}
        apart = {name for name, how in self.ways.items() if how.way == "apart"}
        paths = structure(graph).paths.values()
        return apart | {name for path in paths if apart.intersection(path[:1]) for name in path}

    def fresh(self, name: str) -> Symbol:
        """Return a symbol that no size of the graph has."""
        found = f"{name}_"
        while found in self.taken:
            found += "_"
        self.taken.add(found)
        return symbol(found)

    def stand(self, value: Expr, name: str) -> Symbol:
        """Return the symbol that stands for a value, the same for equal values."""
        if (name, value) not in self.made:
            self.made[name, value] = self.fresh(name)
            self.back[self.made[name, value].name] = value
        return self.made[name, value]

    def _quotients(self) -> dict[str, Expr]:
        """Return ``h = a*q`` for each size that another one divides, so that quotients become sizes."""
        into: dict[str, Expr] = {}
        for condition in self.conditions:
            over, by = condition.right, condition.left
            if condition.kind == "divides" and over.is_Symbol and over.name not in into and by.is_Symbol:
                into[over.name] = by * self.stand(over / by, "quotient")
        return {
            name: normal(substitute(value, {k: v for k, v in into.items() if k != name}))
            for name, value in into.items()
        }

    def own_counts(self, nodes: Sequence[Step_], around: frozenset[Symbol], *, always: bool) -> None:
        """Give each repeat's count a symbol of its own, the outer repeats first.

        A number up to ``most`` stays, unless ``always``; so does a count that is a size, and one that depends
        on the iteration of a repeat ``around``. Iterations count from 0 where they began at a size.
        """
        for repeat in (node for node in nodes if isinstance(node, Repeat)):
            if repeat.lo.free_symbols - around and not repeat.lo.is_number:
                self.shifts[repeat.index.name] = repeat.index + repeat.lo
            count = normal(substitute(repeat.count, self.into))
            if count.is_Integer:
                own = int(count) > self.most or (always and count > 0)
            else:
                own = not count.is_Symbol and not count.free_symbols & around
            if own and repeat.name not in self.written:
                self.counts[repeat.name] = self.count(repeat.count, count)
            self.own_counts(repeat.body, around | {repeat.index}, always=False)

    def count(self, value: Expr, count: Expr) -> Symbol:
        """Return the symbol of a count made of sizes, and write one of these by it where that is a sum.

        For ``L - N`` layers, M of them, L becomes ``M + N``; for ``L/2`` it becomes ``2*M``.
        """
        one = self.stand(value, "count")
        for size in sorted(count.free_symbols, key=str):
            if size.name in self.into or size.name in self.back or size in self.counted:
                continue
            slope = normal(count.diff(size))
            if size in slope.free_symbols or not slope.is_positive:
                continue
            whole = normal((one - (count - slope * size)) / slope)
            if _is_sum(whole):
                self.into[size.name] = whole
                self.close()
                break
        return one

    def close(self) -> None:
        """Put what stands for a size into the formulas of the others."""
        for _ in self.into:
            self.into = {name: normal(substitute(expr, self.into)) for name, expr in self.into.items()}

    def standing(self, node: Step_) -> Step_:
        """Return a node with the symbols of counts put in."""
        if not isinstance(node, Repeat):
            return node
        count = self.counts.get(node.name)
        if count is None:
            count = normal(substitute(node.count, self.into))
        lo = as_expr(0) if node.index.name in self.shifts else node.lo
        return replace(node, lo=lo, hi=normal(lo + count), body=tuple(map(self.standing, node.body)))

    def cut(self, repeat: Repeat) -> Cut | None:
        """Return the segments of an outermost repeat."""
        kind = self.policy.checkpoint.kind
        if kind not in ("every", "sqrt"):
            return None
        whole = normal(substitute(repeat.count, self.back))
        if self.layered:
            how = self.ways.get(repeat.name)
            return None if how is None else self._blocks(repeat.count, whole, how)
        if kind == "sqrt":
            known = whole.is_Integer and whole > 0
            size = as_expr(max(isqrt(int(whole) - 1) + 1, 1)) if known else sqrt(whole)
        else:
            size = as_expr(self.policy.checkpoint.every)
            self._check_new(size)
        if whole.is_Integer and size.is_Integer:
            return self._integers(int(whole), int(size))
        if self.uneven and kind == "every" and size != 1:
            return self._unequal(repeat.count, whole, size)
        return self._equal(repeat.count, whole, size)

    def _blocks(self, count: Expr, whole: Expr, how: How) -> Cut | None:
        """Return blocks of iterations that hold whole segments of layers, one or several."""
        if how.way != "cut":
            return None
        if how.each is None:
            return self._square(count, whole, how.per)
        block = normal(how.each / how.per)
        several, length = 0, block
        if how.each.is_Integer:
            each = int(how.each)
            block = length = as_expr(lcm(each, how.per) // how.per)
            several = each if int(block) * how.per != each else 0
        else:
            self._check_new(how.each)
            length = self._length(how.each, how.per)
        if whole.is_Integer and block.is_Integer:
            cut = self._integers(int(whole), int(block), plain=several > 0)
        elif self.uneven and how.last and not several and length.is_Symbol:
            cut = self._unequal(count, whole, block)
        elif self.uneven and not length.is_Symbol and not length.is_Integer:
            raise open_length(self.policy.checkpoint, "repeats with unlike numbers of layers in an iteration")
        else:
            cut = self._equal(count, whole, block, how.per, length)
        if length != how.each and how.each.is_Symbol:
            self.into.setdefault(how.each.name, normal(how.per * cut.size))
        return replace(cut, per=how.per, each=several)

    def _length(self, each: Expr, per: int) -> Expr:
        """Return the iterations of a segment of layers, in one symbol for all repeats with such segments."""
        alike = [how.per for how in self.ways.values() if how.way == "cut" and how.each == each]
        unit = lcm(*alike)
        if unit == 1:
            return each if each.is_Symbol else self.stand(each, "segment")
        self.conditions.append(Condition("divides", as_expr(unit), each))
        return normal(unit // per * self.stand(normal(each / unit), "segment"))

    def _square(self, count: Expr, whole: Expr, per: int) -> Cut:
        """Return segments as long as there are, in layers: their number is a square."""
        ratio = normal(whole / per)
        size = self.stand(sqrt(ratio), "segment")
        self.conditions.append(Condition("equal", ratio, ceiling(sqrt(ratio)) ** 2))
        if count.is_Symbol:
            self.into[count.name] = per * size**2
        return Cut(per * size, size, size, per)

    def _equal(self, count: Expr, whole: Expr, size: Expr, per: int = 1, length: Expr | None = None) -> Cut:
        """Return segments that are all as long as each other; ``per`` layers are an iteration."""
        if length is None or length.is_Integer:
            plain = size.is_Symbol or (size.is_Integer and int(size) <= self.most)
            length = size if plain else self.stand(size, "segment")
        if self.policy.checkpoint.kind == "sqrt":
            segments: Expr = length
            self.conditions.append(Condition("equal", whole, ceiling(sqrt(whole)) ** 2))
        else:
            segments = self.stand(whole / size, "segments")
            if size != 1:
                self.conditions.append(Condition("divides", size * per, whole * per))
        if count.is_Symbol:
            self.into[count.name] = segments * length
        return Cut(segments, length, length)

    def _unequal(self, count: Expr, whole: Expr, size: Expr) -> Cut:
        """Return segments of which the last one has between one iteration and as many as the others."""
        few = size.is_Integer and int(size) <= self.most
        length = size if size.is_Symbol or few else self.stand(size, "segment")
        segments = self.stand(ceiling(whole / size), "segments")
        last = normal(whole - (ceiling(whole / size) - 1) * size)
        if few:
            short = last if last.is_Integer else self.stand(last, "rest")
            if short.is_Symbol:
                self.residues[short.name] = int(size)
            if count.is_Symbol:
                self.into[count.name] = normal((segments - 1) * size + short)
            return Cut(segments, size, short)
        rest = self.stand(last, "rest")
        self.shorter[rest.name] = length.name
        if length.name not in self.into:
            self.into[length.name] = rest + self.stand(normal(size - last), "gap")
        if count.is_Symbol:
            self.into[count.name] = normal((segments - 1) * self.into[length.name] + rest)
        return Cut(segments, length, rest)

    def _check_new(self, size: Expr) -> None:
        clash = sorted(s.name for s in size.free_symbols if s.name in self.taken)
        if clash:
            raise UsageError(
                f"the length of a segment is called {clash[0]}, which is a size of the graph",
                expected="an integer or a name of its own",
                got=clash[0],
                fix="call it k",
            )

    def _integers(self, count: int, size: int, *, plain: bool = False) -> Cut:
        """Return segments where count and length are integers: the last one may be shorter.

        Where ``plain``, their lengths stay numbers.
        """
        size = min(size, max(count, 1))
        segments = max(-(-count // size), 1)
        rest = max(count - (segments - 1) * size, 0)
        length = as_expr(size) if plain else self._written(size, "segment")
        last = length if rest == size else as_expr(rest) if plain else self._written(rest, "rest")
        return Cut(self._written(segments, "segments"), length, last)

    def _written(self, value: int, name: str) -> Expr:
        return as_expr(value) if value <= self.most else self.stand(as_expr(value), name)


def indices_of(graph: Graph) -> set[Symbol]:
    """Return the symbols that count iterations."""
    return {repeat.index for repeat, _ in walk(graph.nodes) if isinstance(repeat, Repeat)}


def varies(graph: Graph) -> bool:
    """Say whether a size of a tensor depends on the iteration."""
    indices = indices_of(graph)
    return any(indices & dim.free_symbols for t in graph.tensors.values() for dim in t.dims)


def _shifted(node: Step_, shifts: Mapping[str, Expr]) -> Step_:
    """Return a node with iterations that count from 0 in the place of those that began at a size."""
    if not isinstance(node, Repeat):
        return bind_node(node, shifts)
    inner = replace(node, body=tuple(_shifted(one, shifts) for one in node.body))
    lo, hi = (
        substitute(end, {k: e for k, e in shifts.items() if k != node.index.name})
        for end in (node.lo, node.hi)
    )
    return replace(inner, lo=lo, hi=hi)


def _is_sum(expr: Expr) -> bool:
    """Say whether a formula is a polynomial with positive coefficients, so that it grows with each size."""
    free = sorted(expr.free_symbols, key=str)
    return expr.is_polynomial(*free) and all(c > 0 for c in Poly(expr, *free).coeffs())
