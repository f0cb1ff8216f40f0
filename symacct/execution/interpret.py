"""Run a graph, and its derived backward pass, with any array module.

The store is keyed by a tensor's name and the iterations of the repeats it lives in, for forward and
backward alike: a backward body reads a forward tensor by name and means the same iteration.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from symacct.algebra.evaluate import evaluate
from symacct.algebra.symbols import as_expr
from symacct.errors import GraphError, SizeError
from symacct.nodes import Node, Repeat, Step_
from symacct.op import Call

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from sympy import Expr, Symbol

    from symacct.op import Arrays
    from symacct.tensor import Tensor

Key = tuple[str, tuple[int, ...]]
Store = dict[Key, Any]


@dataclass(slots=True)
class Place:
    """Where execution stands: the sizes with the indices around, and the iteration of each repeat around.

    >>> from symacct.algebra.symbols import index_symbol, symbol
    >>> i = index_symbol("i")
    >>> inner = Place({"D": 3}).inside(("layers",), i, 2)
    >>> inner.size(symbol("D") * (i + 1)), inner.at
    (9, {'layers': 2})
    """

    sizes: Mapping[str, int]
    at: Mapping[str, int] = field(default_factory=dict)
    known: dict[Expr, int] = field(default_factory=dict)

    def size(self, dim: Expr | int) -> int:
        """Return a size as an integer.

        Raises:
            SizeError: it is a fraction here, or a name in it has no value.
        """
        if isinstance(dim, int):
            return dim
        if dim not in self.known:
            value = evaluate(dim, self.sizes)
            if not value.is_Integer:
                raise SizeError(f"size {dim} is no integer here", expected="an integer", got=str(value))
            self.known[dim] = int(value)
        return self.known[dim]

    @property
    def exact(self) -> dict[str, Expr]:
        """The sizes and indices as expressions."""
        return {name: as_expr(value) for name, value in self.sizes.items()}

    def inside(self, repeats: tuple[str, ...], index: Symbol, iteration: int) -> Place:
        """Return the place inside one iteration of a repeat, which may go by several names."""
        sizes = {**self.sizes, index.name: iteration}
        return Place(sizes, {**self.at, **dict.fromkeys(repeats, iteration)})

    def key(self, tensor: Tensor) -> Key:
        """Return what a tensor is stored under here."""
        return tensor.name, tuple(self.at[repeat] for repeat in tensor.path)

    def shape(self, tensor: Tensor) -> tuple[int, ...]:
        """Return the tensor's sizes here."""
        return tuple(map(self.size, tensor.dims))


@dataclass(frozen=True, slots=True)
class Interpreter:
    """Runs nodes and repeats on a store of arrays.

    Attributes:
        xp: the array module.
        tensor: the tensors by name.
        store: what has been computed so far; it starts with inputs, weights and constants.
        torch: run ops as a user of torch would write them; with None, by primitives.
        watch: called with each array that a node makes.
    """

    xp: Arrays
    tensor: Callable[[str], Tensor]
    store: Store
    torch: Any = None
    watch: Callable[[Key, Any], None] | None = None

    def run(self, nodes: tuple[Step_, ...], place: Place) -> None:
        """Run nodes and repeats in order."""
        for node in nodes:
            if isinstance(node, Repeat):
                self._repeat(node, place)
            else:
                self._node(node, place)

    def get(self, name: str, place: Place) -> Any:
        """Return the array of a tensor, at this place.

        Raises:
            GraphError: the tensor has not been made here.
        """
        key = place.key(self.tensor(name))
        if key not in self.store:
            at = ", ".join(f"{repeat} {i}" for repeat, i in place.at.items())
            raise GraphError(f"{name} is read before it is made", where=at or None, got=str(key))
        return self.store[key]

    def put(self, name: str, place: Place, array: Any) -> None:
        """Store the array of a tensor, at this place."""
        self.store[place.key(self.tensor(name))] = array

    def _node(self, node: Node, place: Place) -> None:
        ins, outs = map(self.tensor, node.ins), tuple(map(self.tensor, node.outs))
        arrays = [self.get(name, place) for name in node.ins]
        call = Call(self.xp, arrays, tuple(ins), outs, place.size)
        try:
            made = node.op.native(self.torch, call) if self.torch else node.op.run(call)
        except SizeError as error:
            raise error.at(f"node {node.label}") from None
        for tensor, array in zip(outs, made, strict=True):
            key = place.key(tensor)
            self.store[key] = array
            if self.watch is not None and array is not None:
                self.watch(key, array)

    def _repeat(self, repeat: Repeat, place: Place) -> None:
        names = (repeat.name,) if repeat.of is None else (repeat.name, repeat.of)
        iterations = range(place.size(repeat.lo), place.size(repeat.hi))
        carried = [None if c.init is None else self.get(c.init, place) for c in repeat.carry]
        totals: dict[str, Any] = {}
        for i in reversed(iterations) if repeat.reverse else iterations:
            inner = place.inside(names, repeat.index, i)
            for c, array in zip(repeat.carry, carried, strict=True):
                if c.enter is not None:
                    self.put(c.enter, inner, array)
            self.run(repeat.body, inner)
            carried = [None if c.leave is None else self.get(c.leave, inner) for c in repeat.carry]
            for inside, outside in repeat.sums:
                term = self.get(inside, inner)
                totals[outside] = totals[outside] + term if outside in totals else term
        for c, array in zip(repeat.carry, carried, strict=True):
            if c.result is not None:
                self.put(c.result, place, array)
        for _, outside in repeat.sums:
            empty = outside not in totals
            zeros = self.xp.full(place.shape(self.tensor(outside)), 0.0) if empty else totals[outside]
            self.put(outside, place, zeros)
