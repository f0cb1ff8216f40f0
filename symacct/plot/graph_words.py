"""What the boxes of a graph say: names, ops and shapes, costs as formulas, values and shares."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from symacct.nodes import Repeat, walk
from symacct.plot.canvas import amount, number
from symacct.plot.graph_boxes import MOST, MOST_OP, Box, Text, cells, clipped, folded, shortened
from symacct.printers import text
from symacct.printers.op_words import op_text
from symacct.printers.signs import signs

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from fractions import Fraction

    from sympy import Expr

    from symacct.nodes import Graph, Node
    from symacct.tensor import Tensor

MADE = ("activation", "gradient")
"""Roles of tensors that nodes make."""


@dataclass(frozen=True, slots=True)
class Cost:
    """What a place costs: a formula, and where all sizes are known a number with its share of the whole."""

    expr: Expr
    value: Expr | None = None
    share: Fraction | None = None


@dataclass(frozen=True, slots=True)
class Labels:
    """The boxes of a graph, with what they say."""

    graph: Graph
    costs: Mapping[str, Cost]
    unit: str
    read: Mapping[str, Collection[str]]

    def op(self, node: Node, path: tuple[Repeat, ...]) -> Box:
        """Return the box of an op."""
        graph, label = self.graph, node.label
        words, shape = op_text(node.op, graph.order), self.shape(graph.tensors[node.outs[0]])
        cost = self.costs.get(label)
        both = f"{words} {shape}"
        short = cells(both) <= MOST and not hasattr(node.op, "equation")
        said = [Text(shortened(within(label, path)), "name")]
        said += [Text(clipped(one, MOST_OP), "op") for one in ((both,) if short else (words, shape))]
        said += self.worth(cost, "0")
        about = f"{label}: {words} -> {shape}{self.told(cost)}"
        return Box(label, "op", tuple(said), about, share=None if cost is None else cost.share)

    def source(self, tensor: Tensor, near: str, path: tuple[Repeat, ...]) -> Box:
        """Return the box of a tensor that nobody makes, named from the region of the op that reads it."""
        name = within(tensor.name, path)
        region = near.rpartition("/")[0] + "/"
        if near and tensor.name.startswith(region):
            name = tensor.name[len(region) :]
        cost = self.costs.get(tensor.name)
        said = [Text(shortened(name), "name"), Text(clipped(self.shape(tensor)), "shape")]
        said += self.worth(cost, "")
        frozen = tensor.role == "weight" and tensor.name not in self.graph.trainable
        role = {"weight": "parameter"}.get(tensor.role, tensor.role)
        about = f"{tensor.name}: {'frozen ' * frozen}{role} {self.shape(tensor)}{self.told(cost)}"
        share = None if cost is None else cost.share
        return Box(tensor.name, tensor.role, tuple(said), about, share=share)

    def worth(self, cost: Cost | None, none: str) -> list[Text]:
        """Return the lines of a cost: the formula, and the number with its share."""
        if cost is None:
            return [Text(none, "cost")] if none else []
        lines = []
        if cost.value is None or cost.expr.free_symbols:
            lines += [Text(one, "cost") for one in folded(signs(cost.expr, self.graph.order))]
        if cost.value is not None and cost.share is not None:
            lines.append(Text(f"{amount(number(cost.value), self.unit)} ({percent(cost.share)})", "worth"))
        return lines

    def told(self, cost: Cost | None) -> str:
        """Return a cost as it is told beside a box, whole."""
        if cost is None:
            return ""
        worth = ""
        if cost.value is not None and cost.share is not None:
            worth = f" = {amount(number(cost.value), self.unit)}, {percent(cost.share)}"
        return f"; {text(cost.expr, self.graph.order)} {self.unit}{worth}"

    def shape(self, tensor: Tensor) -> str:
        """Return axes, and sizes where these are not the axes' names."""
        parts = [
            axis if str(dim) == axis else f"{axis}={signs(dim, self.graph.order)}"
            for axis, dim in zip(tensor.axes, tensor.dims, strict=True)
        ]
        return f"[{' '.join(parts)}]"

    def homes(self, path: tuple[Repeat, ...]) -> dict[str, Tensor]:
        """Return the tensors that nobody makes and that live in a scope."""
        names = tuple(repeat.name for repeat in path)
        return {name: t for name, t in self.graph.tensors.items() if t.role not in MADE and t.path == names}


def readers(graph: Graph) -> dict[str, set[str]]:
    """Return the labels of the ops that read each tensor; a repeat that hands it on counts as one."""
    found: dict[str, set[str]] = {}
    for node, _ in walk(graph.nodes):
        if isinstance(node, Repeat):
            names = [name for carry in node.carry for name in (carry.init, carry.leave)]
        else:
            names = list(node.ins)
        for name in names:
            if name is not None:
                found.setdefault(name, set()).add(node.label)
    return found


def within(name: str, path: Sequence[Repeat]) -> str:
    """Return a name from inside repeats, whose own it begins with."""
    for repeat in reversed(path):
        if name.startswith(f"{repeat.name}/"):
            return name[len(repeat.name) + 1 :]
    return name


def percent(share: Fraction) -> str:
    """Return a share in percent, to one digit; what would round to 0 is said to be less.

    >>> from fractions import Fraction
    >>> percent(Fraction(1, 3)), percent(Fraction(1, 10**6)), percent(Fraction(0))
    ('33.3%', '<0.1%', '0%')
    """
    tenths = round(share * 1000)
    if share == 0:
        return "0%"
    return "<0.1%" if tenths == 0 and share > 0 else f"{tenths / 10:.1f}%"
