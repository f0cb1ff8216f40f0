"""Work: counts of primitives for every node, times the ranges of the repeats around it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from sympy import Add

from symacct.algebra.evaluate import substitute
from symacct.algebra.normal import normal, product, total
from symacct.algebra.symbols import as_expr, symbol
from symacct.derivation.ranges import over
from symacct.derivation.static import trained
from symacct.derivation.storage import Storage
from symacct.nodes import Node, Repeat, Step_, walk
from symacct.ops.cache import Cached
from symacct.ops.lookup import Embedding, EmbeddingGrad
from symacct.ops.optimizer import RULES, Update

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from sympy import Expr

    from symacct.derivation.differentiate import Step
    from symacct.nodes import Graph
    from symacct.op import Counts, Op
    from symacct.tensor import Mask, Tensor

QUERIES, KEYS = "pair_queries", "pair_keys"
PAIR = {symbol(QUERIES), symbol(KEYS)}
"""Stand-ins for the two sizes of a mask, whatever they are bound to."""

ONE_DEVICE = "one device"
ONE_HOT, VECTOR = "one_hot", "vector_use"
"""Two counts that only some conventions price: a lookup as a product with one-hot rows, and each
elementwise use of a parameter as if the parameter were a matmul weight."""


@dataclass(frozen=True, slots=True)
class Pairs:
    """Query-key pairs that a node's work is proportional to: all of them, half of them, those a mask allows.

    The one query of a step of decoding sees every key: half is all of them there.

    Attributes:
        mask: over the op's own names of the axes.
        rows: how many queries.
        cols: how many keys.
        full: all pairs, as half and allowed are some of them.
    """

    mask: Mask
    rows: Expr
    cols: Expr
    full: Expr
    half: Expr
    allowed: Expr


@dataclass(frozen=True, slots=True)
class Row:
    """One primitive of one node, over all iterations.

    Attributes:
        label: the node.
        of: the forward op it serves; its own label in the forward pass.
        path: names of the repeats around it.
        phase: forward, backward, recompute or optimizer.
        kind: what the op is.
        dtype: of its value.
        primitive: what is counted.
        count: in one iteration, with all query-key pairs.
        expr: over all iterations, with all pairs.
        half: the same with half of the pairs.
        exact: the same with the pairs that the mask allows.
        matmul: whether it belongs to the ``.matmul`` totals.
        between: whether it is a product between activations, no parameter in it.
        placement: where it runs.
    """

    label: str
    of: str
    path: tuple[str, ...]
    phase: str
    kind: str
    dtype: str
    primitive: str
    count: Expr
    expr: Expr
    half: Expr
    exact: Expr
    matmul: bool
    between: bool = False
    placement: str = ONE_DEVICE


@dataclass(frozen=True, slots=True)
class _Counted:
    """A node, its tensors and where it stands, on the way to rows."""

    node: Node
    path: tuple[Repeat, ...]
    ins: tuple[Tensor, ...]
    outs: tuple[Tensor, ...]
    between: bool = False

    def rows(self, phase: str, ways: Sequence[Counts], matmul: frozenset[str]) -> Iterator[Row]:
        """Yield a row for each primitive; ``ways`` are the counts with full, half and allowed pairs."""
        names, node = tuple(r.name for r in self.path), self.node
        summed = {n: over(n, self.path) for n in dict.fromkeys(n for way in ways for n in way.values())}
        for primitive, count in ways[0].items():
            whole, half, exact = (summed[way[primitive]] for way in ways)
            yield Row(
                node.label, node.of or node.label, names, phase, node.op.kind, self.outs[0].dtype, primitive,
                count, whole, half, exact, primitive in matmul, self.between,
            )  # fmt: skip


def forward_work(graph: Graph) -> tuple[Row, ...]:
    """Return the rows of the forward pass."""
    return tuple(_rows(graph, graph.nodes, graph.tensors, "forward"))


def backward_work(step: Step, forward: Sequence[Row]) -> tuple[Row, ...]:
    """Return the rows of the backward pass; forward work repeated inside an op is phase ``recompute``."""
    tensors = {**step.graph.tensors, **step.tensors}
    return (*_rows(step.graph, step.backward, tensors, "backward"), *_vector_rows(step, forward))


def optimizer_work(step: Step, optimizer: str | None) -> tuple[Row, ...]:
    """Return the rows of the update of each parameter that has a gradient."""
    if optimizer is None:
        return ()
    op = Update(optimizer)
    rows: list[Row] = []
    for name, paths in trained(step).items():
        tensor = step.graph.tensors[name]
        ins = (tensor,) * (2 + len(RULES[optimizer].states))
        node = Node(op, (name,), (name,), f"{name}/update", name)
        for path in paths:
            at = _Counted(node, path, ins, (tensor,))
            rows += at.rows("optimizer", (op.counts(ins, ()),) * 3, frozenset())
    return tuple(rows)


def _rows(graph: Graph, nodes: Sequence[Step_], tensors: Mapping[str, Tensor], phase: str) -> Iterator[Row]:
    products, storage = _between(graph), Storage(graph)
    decodes = any(isinstance(node, Node) and isinstance(node.op, Cached) for node, _ in walk(graph.nodes))
    for node, path in walk(tuple(nodes)):
        if isinstance(node, Repeat):
            yield from _sum_rows(node, path, tensors, phase)
            continue
        ins, outs = (tuple(tensors[name] for name in names) for names in (node.ins, node.outs))
        at = _Counted(node, path, ins, outs, (node.of or node.label) in products)
        matmul = node.op.contracted()
        counts, again = _ways(node.op, ins, outs, pairs_of(node.op, ins, outs, decodes=decodes))
        yield from at.rows(phase, counts, matmul)
        yield from at.rows("recompute", again, matmul)
        some = _priced_by_some(node, phase, ins, outs, storage)
        yield from at.rows(phase, (some,) * 3, frozenset(some))


Ways = tuple["Counts", "Counts", "Counts"]


def _ways(
    op: Op, ins: tuple[Tensor, ...], outs: tuple[Tensor, ...], pairs: Pairs | None
) -> tuple[Ways, Ways]:
    """Return an op's own work and the forward work it repeats, with full, half and allowed pairs."""
    if pairs is not None:
        ins, outs = (_marked(tensors, words, pairs) for tensors, words in _named(op, ins, outs))
    counts, again = op.counts(ins, outs), op.recomputed(ins, outs)
    own = {p: normal(n - again[p]) if p in again else n for p, n in counts.items()}
    return _each_way(own, pairs), _each_way(again, pairs)


def _each_way(counts: Counts, pairs: Pairs | None) -> Ways:
    """Scale what is done once per query-key pair; what is done once per row or result stays.

    The two sizes of the mask are counted as symbols of their own: a term that holds both is per pair.
    """
    if pairs is None:
        return (counts,) * 3
    known = {count: _scaled(count, pairs) for count in dict.fromkeys(counts.values())}
    full, half, exact = ({p: known[n][place] for p, n in counts.items()} for place in range(3))
    return full, half, exact


def _scaled(count: Expr, pairs: Pairs) -> tuple[Expr, Expr, Expr]:
    back = {QUERIES: pairs.rows, KEYS: pairs.cols}
    full = substitute(count, back)
    terms = Add.make_args(count)
    per_pair = [t for t in terms if t.free_symbols >= PAIR]
    if not per_pair:
        return (full,) * 3
    each = substitute(total(per_pair), back)
    rest = full - each if len(per_pair) < len(terms) else as_expr(0)
    half, exact = (normal(each * (some / pairs.full) + rest) for some in (pairs.half, pairs.allowed))
    return full, half, exact


def _named(
    op: Op, ins: tuple[Tensor, ...], outs: tuple[Tensor, ...]
) -> Iterator[tuple[tuple[Tensor, ...], tuple[tuple[str, ...], ...]]]:
    """Yield the inputs and the outputs, each with the op's own names of their axes."""
    words = op.words(ins, outs)
    yield ins, words[: len(ins)]
    yield outs, words[len(ins) :]


def _marked(
    tensors: tuple[Tensor, ...], words: tuple[tuple[str, ...], ...], pairs: Pairs
) -> tuple[Tensor, ...]:
    """Return the tensors with symbols of their own for the two sizes of the mask."""
    marks = {pairs.mask.rows: symbol(QUERIES), pairs.mask.cols: symbol(KEYS)}
    return tuple(
        replace(t, dims=tuple(marks.get(w, d) for w, d in zip(own, t.dims, strict=True)))
        for t, own in zip(tensors, words, strict=True)
    )


def _between(graph: Graph) -> frozenset[str]:
    """Return the labels of contractions between activations: no operand is a parameter or a view of one."""
    storage = Storage(graph)
    found = set()
    for node, _ in walk(graph.nodes):
        if not isinstance(node, Node) or not node.op.contracted():
            continue
        if all(storage.parameter(name) is None for name in node.ins):
            found.add(node.label)
    return frozenset(found)


def _priced_by_some(
    node: Node, phase: str, ins: tuple[Tensor, ...], outs: tuple[Tensor, ...], storage: Storage
) -> Counts:
    """Return the counts that only some conventions price."""
    if isinstance(node.op, Embedding):
        return {ONE_HOT: product((outs[0].numel, ins[0].dims[0]))}
    if isinstance(node.op, EmbeddingGrad):
        return {ONE_HOT: product((ins[0].numel, outs[0].dims[0]))}
    uses = _vector_uses(node, storage) if phase == "forward" else ()
    return {VECTOR: normal(len(uses) * outs[0].numel)} if uses else {}


def _vector_uses(node: Node, storage: Storage) -> tuple[int, ...]:
    """Return the input slots of an op at which a parameter is used elementwise."""
    return () if node.op.contracted() or node.op.alias else storage.uses(node)


def _vector_rows(step: Step, forward: Sequence[Row]) -> Iterator[Row]:
    """Yield the backward uses of parameters: one for each gradient, as a matmul weight has.

    The gradient of the parameter is one use of it, that of the other operand another.
    """
    storage = Storage(step.graph)
    chains = {(): ()} | {
        tuple(r.name for r in (*path, node)): (*path, node)
        for node, path in walk(step.backward)
        if isinstance(node, Repeat)
    }
    nodes = {node.label: node for node, _ in walk(step.graph.nodes) if isinstance(node, Node)}
    rows = {row.label: row for row in forward if row.primitive == VECTOR}
    for (label, names), wanted in step.wanted.items():
        if label not in rows:
            continue
        uses = _vector_uses(nodes[label], storage)
        others = any(slot not in uses for slot in wanted)
        times = sum((slot in wanted) + others for slot in uses)
        count = normal(times * step.graph.tensors[nodes[label].outs[0]].numel)
        expr = over(count, chains[names])
        yield replace(
            rows[label],
            label=f"{label}/grad",
            path=names,
            phase="backward",
            count=count,
            expr=expr,
            half=expr,
            exact=expr,
        )


def _sum_rows(
    repeat: Repeat, path: tuple[Repeat, ...], tensors: Mapping[str, Tensor], phase: str
) -> Iterator[Row]:
    """Yield n - 1 additions for each gradient that is the sum over n iterations."""
    for inner, outer in repeat.sums:
        count = normal((repeat.count - 1) * tensors[outer].numel)
        whole = over(count, path)
        names = tuple(r.name for r in path)
        yield Row(
            outer, str(repeat.of), names, phase, "elementwise", tensors[inner].dtype, "add",
            count, whole, whole, whole, matmul=False,
        )  # fmt: skip


def pairs_of(op: Op, ins: Sequence[Tensor], outs: Sequence[Tensor], *, decodes: bool = False) -> Pairs | None:
    """Return the pairs that the op's work is proportional to, if a structural mask covers its axes."""
    mask = None if op.alias else op.mask_of(ins, outs)
    if mask is None:
        return None
    tensors, words = (*ins, *outs), op.words(ins, outs)
    sizes = {w: d for own, t in zip(words, tensors, strict=True) for w, d in zip(own, t.dims, strict=True)}
    rows, cols = sizes[mask.rows], sizes[mask.cols]
    full = product((rows, cols))
    half = full if decodes and rows == 1 else full / 2
    return Pairs(mask, rows, cols, full, half, mask.allowed(rows, cols))
