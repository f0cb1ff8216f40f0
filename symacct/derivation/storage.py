"""Which storage a tensor is: views share their source's, a carry that of what was handed on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from symacct.algebra.normal import normal, same
from symacct.derivation.ranges import required
from symacct.errors import RuleError
from symacct.nodes import Carry, Graph, Node, Repeat, walk
from symacct.ops.cast import Cast
from symacct.ops.elementwise import Elementwise

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sympy import Expr, Symbol

    from symacct.algebra.condition import Condition
    from symacct.derivation.ranges import Box


Seen = tuple[tuple[str, "Expr"], ...]


class Storage:
    """The storages of a forward graph."""

    def __init__(self, graph: Graph) -> None:
        """Index who makes what."""
        self.graph = graph
        self.makers: dict[str, Node] = {}
        self.repeats: dict[str, Repeat] = {}
        self.conditions: list[Condition] = []
        self._enters: dict[str, tuple[Repeat, Carry]] = {}
        self._results: dict[str, tuple[Repeat, Carry]] = {}
        for node, _ in walk(graph.nodes):
            if isinstance(node, Node):
                self.makers |= dict.fromkeys(node.outs, node)
                continue
            self.repeats[node.name] = node
            for c in node.carry:
                self._enters[str(c.enter)] = (node, c)
                self._results[str(c.result)] = (node, c)

    def view(self, name: str) -> str:
        """Follow views within the same iteration to the tensor that owns the storage, or to a carry."""
        while name in self.makers:
            node = self.makers[name]
            if not node.op.alias or node.outs[0] != name:
                return name
            name = node.ins[0]
        return name

    def parameter(self, name: str) -> str | None:
        """Return the weight that a tensor is, seen through views, casts, unary functions and carries."""
        while True:
            root = self.view(name)
            if self.graph.tensors[root].role == "weight":
                return root
            if root in self._enters:
                name = str(self._enters[root][1].init)
            elif root in self._results:
                name = str(self._results[root][1].leave)
            elif root in self.makers and len(self.makers[root].ins) == 1:
                node = self.makers[root]
                if not isinstance(node.op, Cast | Elementwise):
                    return None
                name = node.ins[0]
            else:
                return None

    def uses(self, node: Node) -> tuple[int, ...]:
        """Return the input slots of an op that hold parameters, where it also has another input."""
        slots = tuple(slot for slot, name in enumerate(node.ins) if self.parameter(name) is not None)
        return slots if len(slots) < len(node.ins) else ()

    def indices(self, path: tuple[str, ...]) -> tuple[Symbol, ...]:
        """Return the iteration indices of a path."""
        return tuple(self.repeats[name].index for name in path)

    def whole(self, path: tuple[str, ...]) -> Box:
        """Return all iterations of a path."""
        return tuple((self.repeats[name].lo, self.repeats[name].hi) for name in path)

    def resolve(self, name: str, box: Box, seen: Seen = ()) -> Iterator[tuple[str, Box]]:
        """Yield the storages behind a tensor on a box of iterations, each with its own box.

        What must hold for the iterations to exist is added to ``conditions``. ``seen`` are the carries that
        were followed on the way here, with the first iteration each was asked for.

        Raises:
            RuleError: carries trade places, and which one a result is depends on the count.
        """
        root = self.view(name)
        box = box[: len(self.graph.tensors[root].path)]
        if root in self._enters:
            yield from self._entered(root, box, seen)
        elif root in self._results:
            repeat, carry = self._results[root]
            if same(repeat.hi, repeat.lo):
                yield from self.resolve(str(carry.init), box)
                return
            around = dict(zip(self.indices(self.graph.tensors[root].path), box, strict=True))
            self.conditions += required(repeat.count, 1, around)
            yield from self.resolve(str(carry.leave), (*box, (normal(repeat.hi - 1), repeat.hi)))
        else:
            yield root, box

    def _entered(self, root: str, box: Box, seen: Seen) -> Iterator[tuple[str, Box]]:
        """Follow what enters a body: the init at first, then what the iteration before has left."""
        repeat, carry = self._enters[root]
        *outer, (lo, hi) = box
        around = dict(zip(self.indices(self.graph.tensors[root].path), box, strict=True))
        first, symbolic = normal(lo - repeat.lo), not repeat.count.is_Integer
        if first == 0:
            if symbolic and (root, first) in seen:
                return  # carries that only trade places: what they are was found on the first turn
            if seen:
                self.conditions += required(normal(hi - lo), 1, around)
            yield from self.resolve(str(carry.init), tuple(outer))
            if not same(hi, lo + 1):
                yield from self.resolve(
                    str(carry.leave), (*outer, (lo, normal(hi - 1))), (*seen, (root, first))
                )
            return
        if symbolic and not first.is_number and any(root == one for one, _ in seen):
            raise RuleError(
                f"carries of repeat {repeat.name} trade places: what is saved depends on the count",
                expected="an integer count, or carries that settle",
                got=f"{repeat.count} iterations",
                fix="bind the count first, or put two iterations into one body",
            )
        self.conditions += required(first, 1, around)
        before = (*outer, (normal(lo - 1), normal(hi - 1)))
        yield from self.resolve(str(carry.leave), before, (*seen, (root, first)))
