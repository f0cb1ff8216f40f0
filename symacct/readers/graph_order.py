"""Nodes in order: each tensor made once and before it is read, inside its repeat, with its op's shapes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from symacct.algebra.normal import same
from symacct.errors import GraphError, SymacctError, unknown
from symacct.nodes import Graph, Node, Repeat, Step_, check_range, refuse, walk
from symacct.ops.einsum import Einsum

if TYPE_CHECKING:
    from collections.abc import Mapping

    from symacct.nodes import Carry
    from symacct.tensor import Tensor

SOURCES = ("input", "weight", "constant", "cache", "state")
SHAPE_ERRORS = (ValueError, KeyError, IndexError, TypeError, AttributeError, AssertionError)
"""What a shape rule may raise when it is given tensors that no builder would give it."""

Path = tuple[str, ...]


class Order:
    """One walk through a graph; ``made`` holds every tensor that is there by now."""

    def __init__(self, graph: Graph) -> None:
        """Start with the tensors that nobody makes."""
        self.graph = graph
        self.around: list[tuple[Step_, tuple[Step_, ...]]] = []
        self.made = {name for name, t in graph.tensors.items() if t.role in SOURCES}

    def check(self) -> None:
        """Walk through the graph.

        Raises:
            SymacctError: at the first node that is not in order.
        """
        self._scope(self.graph.nodes, ())
        for name in self.graph.outputs:
            if self.graph.tensors[name].path:
                raise self._wrong(
                    name, f"the output {name} lives in a repeat", "a tensor of the outermost level", name
                )
        for name in self.graph.tensors:
            if name not in self.made:
                raise self._wrong(name, f"nobody makes {name}", "a node or a repeat that makes it", "none")

    def _wrong(self, node: str, what: str, expected: str, got: str) -> GraphError:
        return refuse(what, self.graph.name, node, expected=expected, got=got)

    def _known(self, name: str, node: str) -> Tensor:
        if name not in self.graph.tensors:
            raise unknown("tensor", name, self.graph.tensors, where=f"graph {self.graph.name}, node {node}")
        return self.graph.tensors[name]

    def _scope(self, nodes: tuple[Step_, ...], path: Path) -> None:
        for node in nodes:
            self.around.append((node, nodes))
            if isinstance(node, Node):
                for name in node.ins:
                    self._read(name, node, path)
                self._shapes(node)
                self._contraction(node)
                for name in node.outs:
                    self._make(name, node.label, path)
            else:
                self._repeat(node, path)
            self.around.pop()

    def _read(self, name: str, node: Step_, path: Path) -> None:
        tensor = self._known(name, node.label)
        if tensor.path != path[: len(tensor.path)]:
            got = f"{name}, which lives in {'/'.join(tensor.path)}"
            raise self._wrong(
                node.label, f"{node.label} reads a tensor of another repeat", "one from here or outside", got
            )
        if name in self.made:
            return
        for item, scope in reversed(self.around):
            cycle = cycle_through(item, scope)
            if cycle:
                raise self._wrong(
                    node.label, "the graph has a cycle", "nodes in an order", " -> ".join(cycle)
                )
        raise self._wrong(
            node.label, f"{node.label} reads {name} before it is made", f"the maker of {name} first", name
        )

    def _make(self, name: str, node: str, path: Path) -> None:
        tensor = self._known(name, node)
        if name in self.made:
            raise self._wrong(
                node, f"{name} is made twice", "one maker for each tensor", f"a second one, {node}"
            )
        if tensor.path != path:
            got = "/".join(tensor.path) or "the outermost level"
            raise self._wrong(
                node,
                f"{name} is made in another place than it lives",
                "/".join(path) or "the outermost level",
                got,
            )
        self.made.add(name)

    def _shapes(self, node: Node) -> None:
        """Compare the outputs with what the op's shape rule says of its inputs."""
        ins = tuple(self._known(name, node.label) for name in node.ins)
        outs = tuple(self._known(name, node.label) for name in node.outs)
        op = type(node.op).__name__
        try:
            results = node.op.infer(*ins)
        except SymacctError as error:
            raise error.at(f"graph {self.graph.name}, node {node.label}") from None
        except SHAPE_ERRORS:
            got = ", ".join(t.describe() for t in ins) or "nothing"
            raise self._wrong(
                node.label, f"{op} does not fit its inputs", f"inputs as {op} takes them", got
            ) from None
        if not all(map(_formed, results)):
            got = "; ".join(f"axes {' '.join(t.axes)} with {len(t.dims)} sizes" for t in results)
            raise self._wrong(
                node.label, f"{op} makes no tensor of its inputs", "each axis once, each with a size", got
            )
        if len(results) != len(outs):
            raise self._wrong(
                node.label, f"{op} has another number of outputs", str(len(results)), str(len(outs))
            )
        for result, out in zip(results, outs, strict=True):
            if not _alike(result, out) or result.mask != out.mask:
                raise self._wrong(
                    node.label, f"{op} makes another tensor than {out.name}",
                    f"{result.describe() or '[]'} {result.dtype}", f"{out.describe()} {out.dtype}",
                )  # fmt: skip

    def _contraction(self, node: Node) -> None:
        """Compare a contraction's flag with its words; gradients keep the flag of the forward pair."""
        if isinstance(node.op, Einsum) and not node.of and node.op.contraction != node.op.sums:
            raise self._wrong(
                node.label, f"the flag contraction of einsum {node.op.equation!r} is not right",
                "true where an axis is summed, false where none is", str(node.op.contraction).lower(),
            )  # fmt: skip

    def _repeat(self, repeat: Repeat, path: Path) -> None:
        check_range(repeat.name, repeat.lo, repeat.hi)
        inside = (*path, repeat.name)
        for carry in repeat.carry:
            names = self._ends(carry, repeat)
            self._read(names[0], repeat, path)
            self._make(names[1], repeat.name, inside)
        self._scope(repeat.body, inside)
        for carry in repeat.carry:
            init, enter, leave, result = self._ends(carry, repeat)
            self._from_body(leave, repeat, inside)
            self._fits(repeat, (init, enter, leave, result))
            self._make(result, repeat.name, path)
        for inner, outer in repeat.sums:
            self._from_body(inner, repeat, inside)
            self._fits(repeat, (inner, outer))
            self._make(outer, repeat.name, path)

    def _ends(self, carry: Carry, repeat: Repeat) -> tuple[str, str, str, str]:
        if carry.init is None or carry.enter is None or carry.leave is None or carry.result is None:
            raise self._wrong(repeat.name, "a carry has an open end", "init, enter, leave and result", "null")
        return carry.init, carry.enter, carry.leave, carry.result

    def _from_body(self, name: str, repeat: Repeat, inside: Path) -> None:
        tensor = self._known(name, repeat.name)
        if tensor.path != inside or name not in self.made or tensor.role in SOURCES:
            raise self._wrong(
                repeat.name, f"the body of {repeat.name} does not make {name}", "a tensor of the body", name
            )

    def _fits(self, repeat: Repeat, names: tuple[str, ...]) -> None:
        """Compare sizes, by position, and dtypes along a carry or a sum."""
        first, *others = (self._known(name, repeat.name) for name in names)
        for tensor in others:
            sizes = len(first.dims) == len(tensor.dims) and all(map(same, first.dims, tensor.dims))
            if not sizes or first.dtype != tensor.dtype:
                raise self._wrong(
                    repeat.name, f"{repeat.name} hands on a tensor of another size",
                    f"{first.describe()} ({first.dtype})", f"{tensor.describe()} ({tensor.dtype})",
                )  # fmt: skip


def _formed(tensor: Tensor) -> bool:
    return len(set(tensor.axes)) == len(tensor.axes) == len(tensor.dims)


def _alike(a: Tensor, b: Tensor) -> bool:
    return a.axes == b.axes and a.dtype == b.dtype and all(map(same, a.dims, b.dims))


def cycle_through(node: Step_, scope: tuple[Step_, ...]) -> list[str]:
    """Return the labels along a cycle through a node of a scope, its label first and last; else nothing."""
    makers = {name: item for item in scope for name in _made_by(item)}
    needs = {item.label: [makers[n] for n in _read_by(item) if n in makers] for item in scope}
    if node.label not in needs:
        return []
    before: dict[str, str] = {}
    todo = [node.label]
    while todo:
        here = todo.pop()
        for maker in needs[here]:
            if maker.label == node.label:
                return _way(node.label, here, before)
            if maker.label not in before:
                before[maker.label] = here
                todo.append(maker.label)
    return []


def _way(start: str, end: str, before: Mapping[str, str]) -> list[str]:
    """Return the way from the end, which needs the start, back through those that need it."""
    way = [start, end] if end != start else [start]
    while way[-1] != start:
        way.append(before[way[-1]])
    return way if len(way) > 1 else [start, start]


def _made_by(item: Step_) -> tuple[str, ...]:
    if isinstance(item, Node):
        return item.outs
    return tuple(str(c.result) for c in item.carry) + tuple(outer for _, outer in item.sums)


def _read_by(item: Step_) -> tuple[str, ...]:
    if isinstance(item, Node):
        return item.ins
    inside = (name for node, _ in walk(item.body) if isinstance(node, Node) for name in node.ins)
    inits = (str(c.init) for node, _ in walk((item,)) if isinstance(node, Repeat) for c in node.carry)
    return (*inside, *inits)
