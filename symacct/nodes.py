"""The graph: a flat table of tensors and a tuple of nodes, some of which are repeats.

A graph is a value. Names inside a repeat's body are this iteration's, names outside are closed over;
a body needs no link lists.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from sympy import Integer

from symacct.algebra.contradiction import failing, require_together
from symacct.algebra.evaluate import substitute
from symacct.algebra.needs import needs
from symacct.algebra.normal import normal
from symacct.algebra.symbols import as_expr
from symacct.displayed import rendered
from symacct.errors import GraphError, SizeError, unknown

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    import networkx as nx
    from sympy import Expr, Symbol

    from symacct.algebra.condition import Condition
    from symacct.op import Op
    from symacct.tensor import Tensor


@dataclass(frozen=True, slots=True)
class Node:
    """One op applied to named tensors; ``outs[0]`` is the value, the rest are auxiliary.

    ``of`` is, for a backward node, the label of the forward node it was derived from.
    """

    op: Op
    ins: tuple[str, ...]
    outs: tuple[str, ...]
    label: str
    of: str = ""


@dataclass(frozen=True, slots=True)
class Carry:
    """A value handed from one iteration to the next: ``init`` and ``result`` outside, the others inside.

    Each name may be absent in a peeled backward iteration, where a cotangent only comes in or only goes out.
    """

    init: str | None
    enter: str | None
    leave: str | None
    result: str | None


@dataclass(frozen=True, slots=True)
class Repeat:
    """A body run for ``index`` in ``lo .. hi-1``, in reverse order when ``reverse``.

    ``sums`` are pairs (inside, outside): an output that is the sum over the iterations.
    ``of`` is the name of the forward repeat that a backward one revisits.
    """

    name: str
    index: Symbol
    lo: Expr
    hi: Expr
    body: tuple[Step_, ...]
    carry: tuple[Carry, ...] = ()
    sums: tuple[tuple[str, str], ...] = ()
    reverse: bool = False
    of: str | None = None

    @property
    def count(self) -> Expr:
        """The number of iterations."""
        return normal(self.hi - self.lo)

    @property
    def label(self) -> str:
        """The name, so that nodes and repeats can be listed alike."""
        return self.name


Step_ = Node | Repeat


@dataclass(frozen=True, slots=True)
class Remat:
    """A region whose inputs alone are kept for backward: it is run again there.

    ``labels`` are its nodes and repeats, next to each other in one scope; what the nodes in ``keep`` make
    is kept all the same, and these nodes are not run again.
    """

    name: str
    labels: tuple[str, ...]
    keep: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Graph:
    """A model as a computation graph.

    Attributes:
        name: its name.
        sizes: declared sizes and what they mean, in the order formulas print them.
        tensors: every tensor by its unique name.
        inputs: names of the tensors that nobody makes and that are not weights or constants.
        nodes: nodes and repeats in order of execution.
        outputs: names of the results.
        trainable: weights (and inputs) that a gradient is wanted for.
        conditions: what sizes must satisfy for the graph to exist, such as ``G divides H``.
        tokens: the number of tokens a pass works on, where the graph says.
        doc: one paragraph.
        bound: the sizes that were replaced, and by what.
        notes: what a reader of its source left out, such as keys of a configuration that are not read.
        remats: regions that are run again in backward.
        aliases: names that stand for a quotient or product of sizes (``d`` for ``h/a``); they can be bound.
        layers: names of the regions that are layers; where a repeat holds none, each iteration is one.
    """

    name: str
    sizes: Mapping[str, str]
    tensors: Mapping[str, Tensor]
    inputs: tuple[str, ...]
    nodes: tuple[Step_, ...]
    outputs: tuple[str, ...]
    trainable: frozenset[str]
    conditions: tuple[Condition, ...] = ()
    tokens: Expr | None = None
    doc: str = ""
    bound: Mapping[str, Expr] = field(default_factory=lambda: MappingProxyType({}))
    aliases: Mapping[str, Expr] = field(default_factory=lambda: MappingProxyType({}))
    notes: tuple[str, ...] = ()
    remats: tuple[Remat, ...] = ()
    layers: tuple[str, ...] = ()

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle through plain dictionaries."""
        values = {name: getattr(self, name) for name in self.__slots__}
        return (
            _restore,
            ({k: dict(v) if isinstance(v, MappingProxyType) else v for k, v in values.items()},),
        )

    def _repr_svg_(self) -> str | None:
        found: str | None = rendered("svg", self)
        return found

    @property
    def weights(self) -> tuple[str, ...]:
        """Names of the parameters, in order of declaration."""
        return tuple(name for name, t in self.tensors.items() if t.role == "weight")

    @property
    def order(self) -> tuple[str, ...]:
        """The declared order of the sizes that are still free, for printing."""
        return tuple(name for name in self.sizes if name not in self.bound)

    def bind(self, sizes: Mapping[str, int | Expr]) -> Graph:
        """Return the graph with sizes replaced, by name; an unknown name raises.

        An alias among the names is turned into the size that it leaves open.

        Raises:
            UnknownNameError: a name that is no size of this graph.
            SizeError: a condition of the graph fails for good.
        """
        sizes = self.resolved(sizes)
        for name in sizes:
            if name not in self.sizes:
                raise unknown("size", name, [*self.sizes, *self.aliases], where=f"graph {self.name}")
        exact = {name: as_expr(size) for name, size in sizes.items()}
        needed = [c for name, size in exact.items() for c in self._needs(name, size)]
        conditions = tuple(c.substitute(exact) for c in (*self.conditions, *needed))
        for before, condition in zip((*self.conditions, *needed), conditions, strict=True):
            if condition.is_impossible() and (condition.kind != "equal" or not condition.names):
                raise SizeError(
                    f"these sizes break a condition of graph {self.name}",
                    expected=before.text,
                    got=failing(condition, ", ".join(f"{k}={v}" for k, v in exact.items())),
                    fix=self._way(before, condition),
                )
        require_together(conditions, f"graph {self.name}", self._raised(conditions))
        known = {**{k: substitute(v, exact) for k, v in self.bound.items()}, **exact}
        tensors = {name: bind_tensor(t, exact) for name, t in self.tensors.items()}
        for tensor in tensors.values():
            check_dims(tensor, self.name)
        return replace(
            self,
            tensors=MappingProxyType(tensors),
            nodes=tuple(bind_node(n, exact) for n in self.nodes),
            conditions=tuple(c for c in conditions if not c.is_certain()),
            tokens=None if self.tokens is None else substitute(self.tokens, exact),
            bound=MappingProxyType(known),
        )

    def _raised(self, conditions: Iterable[Condition]) -> str | None:
        """Return how a size that is bound is raised, where it keeps low what another condition wants high."""
        conditions = tuple(conditions)
        for low in (one for one in conditions if one.kind == "at_least" and one.left.is_Integer):
            for high in (one for one in conditions if one.kind == "at_least" and one.left == low.right):
                if high.right.is_Integer and high.right > low.left:
                    return self._way(low, replace(low, right=high.right))
        return None

    def _way(self, before: Condition, after: Condition) -> str:
        """Return what mends a condition that fails: other sizes, or another value of a size that is bound."""
        fix = f"choose sizes with {before.text}"
        left = after.left if before.kind == "at_least" and before.left.is_Integer else None
        names = [name for name, value in self.bound.items() if left is not None and value == left]
        if not names:
            return fix
        raised = names[-1]
        others = {name: value for name, value in self.bound.items() if value.is_Integer and name != raised}
        at = ",".join(f"{name}={value}" for name, value in {raised: after.right, **others}.items())
        meant = f"{raised}, {self.sizes[raised]}" if self.sizes.get(raised) else raised
        return f"{left} is {meant}; to raise it: --symbolic --at {at} and what is left"

    def _needs(self, name: str, size: Expr) -> tuple[Condition, ...]:
        """Return what must hold for a formula to stand in the place of a size: whole, at least 1.

        Raises:
            SizeError: it is no quotient of polynomials, or holds the size itself.
        """
        if size.is_number:
            return ()
        free = size.free_symbols
        if not size.is_rational_function(*free) or name in {symbol.name for symbol in free}:
            raise SizeError(
                f"size {name} cannot stand for {size}",
                where=f"graph {self.name}",
                expected="sums, products and quotients of other sizes",
                got=str(size),
            )
        return needs(size, 1)

    def resolved(self, sizes: Mapping[str, Any]) -> dict[str, Any]:
        """Return sizes without aliases: each gives the one size of its formula that is not known yet.

        Raises:
            SizeError: several sizes of the formula are open, the last is no integer, or it disagrees.
        """
        known = {name: size for name, size in sizes.items() if name not in self.aliases}
        for name in (name for name in sizes if name in self.aliases):
            formula = substitute(substitute(self.aliases[name], self.bound), known)
            open_ = sorted(s.name for s in formula.free_symbols)
            where = f"graph {self.name}, {name} = {self.aliases[name]}"
            if len(open_) > 1:
                raise SizeError(
                    f"{name} = {sizes[name]} alone does not say what {' and '.join(open_)} are",
                    where=where,
                    expected=f"all but one of {', '.join(open_)}",
                    got=name,
                    fix=f"bind {open_[0]} too",
                )
            found = _left_open(formula, open_, as_expr(sizes[name]))
            if not found.is_Integer or found < 1:
                raise SizeError(
                    f"{name} = {sizes[name]} does not go with the other sizes",
                    where=where,
                    expected=f"an integer {open_[0]}" if open_ else f"{name} = {formula}",
                    got=f"{open_[0]} = {found}" if open_ else f"{name} = {sizes[name]}",
                )
            if open_:
                known[open_[0]] = int(found)
        return known

    def network(self) -> nx.MultiDiGraph:
        """Return a networkx view: ops and tensors' sources as vertices, one edge per input slot.

        The tuple of nodes is the truth; this is derived from it. Edges carry ``tensor`` and ``slot``.
        """
        import networkx as nx

        view = nx.MultiDiGraph(name=self.name)
        maker: dict[str, str] = {}
        for name, tensor in self.tensors.items():
            if tensor.role != "activation":
                view.add_node(name, role=tensor.role)
                maker[name] = name
        for node, path in walk(self.nodes):
            if isinstance(node, Repeat):
                for c in node.carry:
                    for inner, outer in ((c.enter, c.init), (c.result, c.leave)):
                        if inner is not None and outer is not None and outer in maker:
                            maker[inner] = maker[outer]
                continue
            view.add_node(node.label, op=type(node.op).__name__, kind=node.op.kind, path=path)
            maker |= dict.fromkeys(node.outs, node.label)
        self._join(view, maker)
        return view

    def _join(self, view: nx.MultiDiGraph, maker: dict[str, str]) -> None:
        for node, _ in walk(self.nodes):
            if isinstance(node, Repeat):
                for c in node.carry:
                    if c.leave in maker and c.result is not None:
                        maker[c.result] = maker[c.leave]
                    if c.init in maker and c.enter is not None:
                        maker.setdefault(c.enter, maker[c.init])
        for node, _ in walk(self.nodes):
            if isinstance(node, Node):
                for slot, name in enumerate(node.ins):
                    if name in maker:
                        view.add_edge(maker[name], node.label, key=slot, tensor=name, slot=slot)


def _left_open(formula: Expr, names: list[str], value: Expr) -> Expr:
    """Return the size that makes a formula the value; 1 or 0 (agrees or not) where none is open."""
    if not names:
        return as_expr(1 if normal(formula - value) == 0 else 0)
    symbol = next(iter(formula.free_symbols))
    rising = normal(formula / symbol)
    return normal(value / rising) if not rising.free_symbols else normal(formula * symbol / value)


def _restore(values: dict[str, Any]) -> Graph:
    for name in ("sizes", "tensors", "bound", "aliases"):
        values[name] = MappingProxyType(values[name])
    return Graph(**values)


def walk(
    nodes: tuple[Step_, ...], path: tuple[Repeat, ...] = ()
) -> Iterator[tuple[Step_, tuple[Repeat, ...]]]:
    """Yield every node and repeat with the repeats around it; a repeat comes before its body."""
    for node in nodes:
        yield node, path
        if isinstance(node, Repeat):
            yield from walk(node.body, (*path, node))


def remaining(remats: tuple[Remat, ...], nodes: tuple[Step_, ...]) -> tuple[Remat, ...]:
    """Return regions without the nodes that a graph no longer has."""
    labels = {node.label for node, _ in walk(nodes)}
    found = (
        Remat(
            one.name,
            tuple(label for label in one.labels if label in labels),
            tuple(label for label in one.keep if label in labels),
        )
        for one in remats
    )
    return tuple(one for one in found if one.labels)


def repeat_counts(graph: Graph) -> tuple[str, ...]:
    """Return the free sizes that say how often something is repeated, in declared order; these may be 0."""
    repeats = (node for node, _ in walk(graph.nodes) if isinstance(node, Repeat))
    found = {free.name for repeat in repeats for free in repeat.count.free_symbols}
    return tuple(name for name in graph.order if name in found)


def check_dims(tensor: Tensor, graph: str) -> None:
    """Refuse a tensor with a size that is known and no integer of at least 1."""
    for axis, dim in zip(tensor.axes, tensor.dims, strict=True):
        if dim.is_number and (not dim.is_integer or dim < 1):
            raise SizeError(
                f"axis {axis} of {tensor.name} would have size {dim}",
                where=f"graph {graph}",
                expected="an integer of at least 1",
                got=str(dim),
                fix="choose other sizes",
            )


def bind_tensor(tensor: Tensor, sizes: Mapping[str, Expr]) -> Tensor:
    """Return the tensor with sizes replaced by name."""
    dims = tuple(d if isinstance(d, Integer) else substitute(d, sizes) for d in tensor.dims)
    mask = None if tensor.mask is None else tensor.mask.substitute(sizes)
    return tensor if dims == tensor.dims and mask == tensor.mask else replace(tensor, dims=dims, mask=mask)


def bind_node(node: Step_, sizes: Mapping[str, Expr]) -> Step_:
    """Return the node or repeat with sizes replaced by name."""
    if isinstance(node, Node):
        op = node.op.substitute(sizes)
        return node if op is node.op else replace(node, op=op)
    lo, hi = substitute(node.lo, sizes), substitute(node.hi, sizes)
    check_range(node.name, lo, hi)
    return replace(node, lo=lo, hi=hi, body=tuple(bind_node(n, sizes) for n in node.body))


def check_range(name: str, lo: Expr, hi: Expr) -> None:
    """Refuse a repeat that would run a negative or fractional number of times."""
    count = normal(hi - lo)
    if count.is_number and (not count.is_integer or count < 0):
        raise SizeError(
            f"repeat {name} cannot run {count} times", expected="an integer of at least 0", got=str(count)
        )


def refuse(what: str, graph: str, node: str, **facts: str) -> GraphError:
    """Return a GraphError placed at a node of a graph."""
    return GraphError(what, where=f"graph {graph}, node {node}", **facts)
