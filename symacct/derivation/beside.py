"""Two small weights beside a large one: ``y = x W`` becomes ``y = x W + (x A) B`` in the graph."""

from __future__ import annotations

from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING

from symacct.algebra.symbols import as_expr
from symacct.derivation.storage import Storage
from symacct.derivation.weight_use import Roles, Use, other_words, refused, roles_of, weight_words
from symacct.errors import RuleError
from symacct.nodes import Graph, Node, Repeat, walk
from symacct.ops.einsum import Einsum
from symacct.ops.elementwise import Elementwise
from symacct.ops.grouped import GroupedMatmul
from symacct.tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sympy import Expr

    from symacct.nodes import Step_
    from symacct.op import Op

DOWN, UP = "lora_a", "lora_b"
"""What the two weights are called."""

RANK = "r"
"""The name of the inner axis, where the rank is a number."""


@dataclass(frozen=True, slots=True)
class _Pair:
    """The two weights beside one, and what the contraction that they were made for does with its axes."""

    down: str
    up: str
    roles: Roles


class Rewriter:
    """Collects new tensors, and the nodes that follow each contraction; then puts them in their places."""

    def __init__(self, graph: Graph, rank: Expr, scale: Expr | int | None) -> None:
        """Index what the names and views of the graph are."""
        self.graph = graph
        self.rank = rank
        self.scale = None if scale is None else as_expr(scale)
        self.storage = Storage(graph)
        self.tensors: dict[str, Tensor] = dict(graph.tensors)
        self.taken = {*graph.tensors, *(node.label for node, _ in walk(graph.nodes))}
        self.axis = _fresh(
            rank.name if rank.is_Symbol else RANK, {axis for t in graph.tensors.values() for axis in t.axes}
        )
        self.pairs: dict[str, _Pair] = {}
        self.beside: dict[str, list[str]] = {}
        self.after: dict[str, list[Node]] = {}
        self.renamed: dict[str, str] = {}

    def run(self, uses: Iterable[Use]) -> Graph:
        """Return the graph with adapters beside these contractions, and everything else frozen."""
        for use in uses:
            try:
                self._require_plain(use)
                self._adapt(use)
            except RuleError as error:
                raise error.at(f"graph {self.graph.name}, node {use.node.label}") from None
        ordered = [name for old in self.graph.tensors for name in (old, *self.beside.get(old, ()))]
        ordered += [name for name in self.tensors if name not in set(ordered)]
        inputs = self.graph.trainable & set(self.graph.inputs)
        return replace(
            self.graph,
            tensors=MappingProxyType({name: self.tensors[name] for name in ordered}),
            nodes=self._placed(self.graph.nodes),
            outputs=tuple(self.renamed.get(name, name) for name in self.graph.outputs),
            trainable=inputs | {name for names in self.beside.values() for name in names},
        )

    def _placed(self, nodes: tuple[Step_, ...]) -> tuple[Step_, ...]:
        """Return the nodes with what follows them; readers of a frozen product read the sum instead."""
        now = self.renamed
        found: list[Step_] = []
        for node in nodes:
            if isinstance(node, Repeat):
                carry = tuple(
                    replace(c, init=now.get(str(c.init), c.init), leave=now.get(str(c.leave), c.leave))
                    for c in node.carry
                )
                found.append(replace(node, body=self._placed(node.body), carry=carry))
            else:
                found.append(replace(node, ins=tuple(now.get(name, name) for name in node.ins)))
                found += self.after.get(node.label, ())
        return tuple(found)

    # ---- one contraction ----

    def _adapt(self, use: Use) -> None:
        """Put ``(x A) B`` beside one product, and their sum in its place."""
        node, base = use.node, f"{layer_of(use.root)}/lora"
        x = self.renamed.get(node.ins[1 - use.slot], node.ins[1 - use.slot])
        pair, roles = self._pair(use)
        down, up = (pair.down, pair.up) if roles == pair.roles else (pair.up, pair.down)
        steps = (
            self._chosen_rows(use, roles)
            if isinstance(node.op, GroupedMatmul)
            else self._products(use, roles)
        )
        for weight, op, word in zip((down, up), steps, ("down", "up"), strict=True):
            ins = (weight, x) if use.slot == 0 else (x, weight)
            x = self._made(use, op, (*ins, *node.ins[2:]), f"{base}/{word}")
        if self.scale is not None:
            x = self._made(use, Elementwise("scale", self.scale), (x,), f"{base}/scale")
        self.renamed[node.outs[0]] = self._made(use, Elementwise("add"), (node.outs[0], x), f"{base}/add")

    def _products(self, use: Use, roles: Roles) -> tuple[Op, Op]:
        """Return ``x A`` and ``.. B`` as contractions, in the words of the product they stand beside."""
        op = use.node.op
        assert isinstance(op, Einsum)
        given, words = other_words(use), weight_words(use)
        inner = _fresh(self.axis, {*op.left, *op.right, *op.out})
        along, summed, made = (
            tuple(words[axis] for axis in axes) for axes in (roles.along, roles.summed, roles.made)
        )
        low = _low(given, set(summed), inner)
        swapped = roles != self.pairs[use.read.name].roles
        first, second = (*along, *summed, inner), (*along, inner, *made)
        if swapped:  # A and B trade places, and each has its inner axis where it was declared
            first, second = (*along, inner, *summed), (*along, *made, inner)
        if use.slot == 0:
            return Einsum(first, given, low, contraction=True), Einsum(second, low, op.out, contraction=True)
        return Einsum(given, first, low, contraction=True), Einsum(low, second, op.out, contraction=True)

    def _chosen_rows(self, use: Use, roles: Roles) -> tuple[Op, Op]:
        """Return ``x A`` and ``.. B`` as products with the weights of each row's expert."""
        op = use.node.op
        assert isinstance(op, GroupedMatmul)
        return replace(op, in_axis=roles.summed[0]), replace(op, in_axis=self.axis)

    def _made(self, use: Use, op: Op, ins: tuple[str, ...], label: str) -> str:
        """Add a node that follows a contraction, and return the name of what it makes."""
        name = self._named(label)
        made = op.infer(*(self.tensors[one] for one in ins))[0]
        path = self.tensors[use.node.outs[0]].path
        self.tensors[name] = replace(made, name=name, path=path)
        self.after.setdefault(use.node.label, []).append(Node(op, ins, (name,), name))
        return name

    # ---- the two weights ----

    def _pair(self, use: Use) -> tuple[_Pair, Roles]:
        """Return the weights beside what a contraction reads, and what it does with the axes.

        Raises:
            RuleError: another contraction sums other axes of the same weight.
        """
        roles, read = roles_of(use), use.read
        if read.name not in self.pairs:
            down = self._weight(use, DOWN, (*roles.along, *roles.summed), last=True)
            up = self._weight(use, UP, (*roles.along, *roles.made), last=False)
            self.pairs[read.name] = _Pair(down, up, roles)
        pair = self.pairs[read.name]
        if roles not in (pair.roles, replace(pair.roles, summed=pair.roles.made, made=pair.roles.summed)):
            raise refused(
                use, "another contraction sums other axes of it, and one pair of adapters cannot serve both",
                f"{' '.join(pair.roles.summed)} summed", f"{' '.join(roles.summed)} summed",
            )  # fmt: skip
        return pair, roles

    def _weight(self, use: Use, word: str, axes: tuple[str, ...], *, last: bool) -> str:
        """Declare one of the two weights; its inner axis stands last, or before the axes that are made."""
        read = use.read
        name = self._named(f"{layer_of(use.root)}/{word}")
        along = len(roles_of(use).along)
        at = len(axes) if last else along
        names = (*axes[:at], self.axis, *axes[at:])
        dims = tuple(self.rank if axis == self.axis else read.dim(axis) for axis in names)
        path = self.graph.tensors[use.root].path
        self.tensors[name] = Tensor(name, names, dims, read.dtype, "weight", path)
        self.beside.setdefault(use.root, []).append(name)
        return name

    # ---- names and refusals ----

    def _named(self, name: str) -> str:
        """Return a name that nothing has yet."""
        found, count = name, 2
        while found in self.taken:
            found, count = f"{name}_{count}", count + 1
        self.taken.add(found)
        return found

    def _require_plain(self, use: Use) -> None:
        """Refuse contractions that ``(x A) B`` cannot stand beside.

        Raises:
            RuleError: both operands are weights, a mask is on the product, or the view of the weight that is
                read is another one in each iteration.
        """
        op = use.node.op
        if all(self.storage.parameter(name) is not None for name in use.node.ins[:2]):
            raise refused(use, "it is multiplied by a weight", "an activation times a weight", "two weights")
        if isinstance(op, Einsum) and (op.mask or use.read.mask or self.graph.tensors[use.node.outs[0]].mask):
            raise refused(use, "its product is under a mask", "a product without a mask", "a mask")
        inside = self.graph.tensors[use.node.outs[0]].path[len(self.graph.tensors[use.root].path) :]
        indices = {self.storage.repeats[name].index.name: as_expr(1) for name in inside}
        name = use.read.name
        while name in self.storage.makers:
            maker = self.storage.makers[name]
            if maker.op.substitute(indices) is not maker.op:
                raise refused(
                    use, "each iteration reads another part of it", "the same part in each", maker.label
                )
            name = maker.ins[0]


def layer_of(name: str) -> str:
    """Return where the adapters of a weight belong: beside a layer's ``weight``, or under its own name.

    >>> layer_of("attention/q/weight"), layer_of("layers/w")
    ('attention/q', 'layers/w')
    """
    layer, _, last = name.rpartition("/")
    return layer if layer and last == "weight" else name


def _low(words: tuple[str, ...], summed: set[str], inner: str) -> tuple[str, ...]:
    """Return the words of ``x A``: the inner one in the place of the first that is summed.

    >>> _low(("B", "H", "K", "S"), {"H", "K"}, "r")
    ('B', 'r', 'S')
    """
    first = next(word for word in words if word in summed)
    return tuple(inner if word == first else word for word in words if word == first or word not in summed)


def _fresh(name: str, taken: set[str]) -> str:
    while name in taken:
        name += "_"
    return name
