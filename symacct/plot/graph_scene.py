"""From an account to the picture of its graph: which boxes there are, what they say, where they stand."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING

from symacct.algebra.normal import total
from symacct.nodes import Repeat, walk
from symacct.plot.canvas import amount, number
from symacct.plot.graph_boxes import (
    MARGIN,
    MOST,
    MOST_OP,
    Box,
    Frame,
    Part,
    Text,
    Wire,
    cells,
    clipped,
    folded,
    shortened,
)
from symacct.plot.graph_layout import Edge, layered
from symacct.printers import text
from symacct.printers.op_words import op_text
from symacct.printers.signs import signs

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from sympy import Expr

    from symacct.nodes import Graph, Node, Step_
    from symacct.tensor import Tensor

MADE = ("activation", "gradient")
CHIP_GAP, PAD, LANE, DOWN = 16.0, 14.0, 7.0, 28.0
ONCE = ("weight", "constant")
"""Roles that stand beside the one op that reads them."""


@dataclass(frozen=True, slots=True)
class Cost:
    """What a place costs: a formula, and where all sizes are known a number with its share of the whole."""

    expr: Expr
    value: Expr | None = None
    share: Fraction | None = None


@dataclass(frozen=True, slots=True)
class _Item:
    """Something laid out as one: its piece, and where wires of it end."""

    part: Part
    enters: float = 0
    wide: float = 0
    starts: float | None = None
    ports: Mapping[str, float] = field(default_factory=dict)

    def slot(self, place: int, of: int) -> float:
        """Return where the wire of an input ends."""
        return self.enters + self.wide * (place + 1) / (of + 1)

    @property
    def leaves(self) -> float:
        """Where the wire of the result begins."""
        return self.enters + self.wide / 2


@dataclass(frozen=True, slots=True)
class Scene:
    """The boxes of a graph, with costs."""

    graph: Graph
    costs: Mapping[str, Cost]
    unit: str
    read: Mapping[str, Collection[str]]

    def part(self) -> Part:
        """Return the picture, without title."""
        return self.body(self.graph.nodes, None, ())[0].part

    # ---- boxes ----

    def op(self, node: Node, path: tuple[Repeat, ...]) -> Box:
        """Return the box of an op."""
        graph, label = self.graph, node.label
        words, shape = op_text(node.op, graph.order), self.shape(graph.tensors[node.outs[0]])
        cost = self.costs.get(label)
        both = f"{words} {shape}"
        short = cells(both) <= MOST and not hasattr(node.op, "equation")
        said = [Text(shortened(_within(label, path)), "name")]
        said += [Text(clipped(one, MOST_OP), "op") for one in ((both,) if short else (words, shape))]
        said += self.worth(cost, "0")
        about = f"{label}: {words} -> {shape}{self.told(cost)}"
        return Box(label, "op", tuple(said), about, share=None if cost is None else cost.share)

    def source(self, tensor: Tensor, near: str, path: tuple[Repeat, ...]) -> Box:
        """Return the box of a tensor that nobody makes, named from the region of the op that reads it."""
        name = _within(tensor.name, path)
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

    # ---- scopes ----

    def body(
        self, nodes: Sequence[Step_], repeat: Repeat | None, path: tuple[Repeat, ...]
    ) -> tuple[_Item, Mapping[str, str]]:
        """Return what runs in one scope as an item, and its ports with what they need from outside."""
        scope = _Scope(self, repeat, path)
        scope.fill(nodes)
        return scope.drawn(), scope.needed

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


class _Scope:
    """The items and edges of one scope while they are collected."""

    def __init__(self, scene: Scene, repeat: Repeat | None, path: tuple[Repeat, ...]) -> None:
        self.scene, self.repeat, self.path = scene, repeat, path
        self.items: dict[str, _Item] = {}
        self.edges: list[Edge] = []
        self.makers: dict[str, tuple[str, float]] = {}
        self.homes = scene.homes(path)
        self.needed: dict[str, str] = {}
        self.first: list[str] = []
        self.last: list[str] = []

    def fill(self, nodes: Sequence[Step_]) -> None:
        """Collect the nodes of the scope, with the ports of its repeat around them."""
        if self.repeat is not None:
            for carry in self.repeat.carry:
                if carry.enter is not None:
                    self.port(carry.enter, "in", "first" if carry.leave else "in")
        for node in nodes:
            if isinstance(node, Repeat):
                self.inner(node)
            else:
                self.op(node)
        self.unread()
        self.ends()

    def op(self, node: Node) -> None:
        """Add an op, with the parameters that it alone reads at its left."""
        box = self.scene.op(node, self.path)
        beside = [name for name in dict.fromkeys(node.ins) if self.alone(name, node)]
        chips = [self.scene.source(self.homes[name], node.label, self.path) for name in beside]
        data = [name for name in node.ins if name not in beside]
        for name in data:
            self.source(name)
        self.items[node.label] = item = _joined(box, chips)
        for place, name in enumerate(data):
            self.join(name, node.label, item.slot(place, len(data)))
        self.makers |= dict.fromkeys(node.outs, (node.label, item.leaves))

    def alone(self, name: str, node: Node) -> bool:
        """Return whether a tensor is a parameter or a table that one op of the scope reads, and no other."""
        tensor = self.homes.get(name)
        return tensor is not None and tensor.role in ONCE and self.scene.read[name] == {node.label}

    def inner(self, repeat: Repeat) -> None:
        """Add a repeat: its body in a frame, with wires to what it needs."""
        item, needs = self.scene.body(repeat.body, repeat, (*self.path, repeat))
        for name in needs.values():
            self.source(name)
        self.items[repeat.name] = item
        for key, name in needs.items():
            self.join(name, repeat.name, item.ports[key])
        for key, at in item.ports.items():
            way, _, name = key.partition(" ")
            if way == "out":
                self.makers[name] = repeat.name, at

    def source(self, name: str) -> None:
        """Add what makes a tensor, where it is not here yet: a box of its own, or a port to the outside."""
        if name in self.makers:
            return
        if name in self.homes:
            self.add(name, self.scene.source(self.homes[name], "", self.path))
        else:
            self.port(name, "in", "in")

    def join(self, name: str, head: str, at: float) -> None:
        """Add the wire of a tensor to an item."""
        tail, leaves = self.makers[name]
        self.edges.append(Edge(tail, head, leaves, at, name, self.items[tail].starts))

    def add(self, name: str, box: Box) -> None:
        """Add a box of its own that holds a tensor."""
        self.items[name] = item = _joined(box, [])
        self.makers[name] = name, item.leaves

    def port(self, name: str, way: str, kind: str) -> None:
        """Add the port by which a tensor comes into the repeat."""
        key = f"{way} {name}"
        carry = None if self.repeat is None else next((c for c in self.repeat.carry if c.enter == name), None)
        outer = name if carry is None else carry.init
        said = f"{_within(name, self.path)}" + (" ↺" if kind == "first" else "")
        about = f"{name}, from outside" if carry is None else f"{name}: first {outer}, then {carry.leave}"
        self.items[key] = item = _joined(Box(key, "port", (Text(shortened(said, 28), "port"),), about), [])
        self.first.append(key)
        self.makers[name] = key, item.leaves
        if outer is not None:
            self.needed[key] = outer

    def unread(self) -> None:
        """Add the tensors of this scope that nothing reads."""
        for name in self.homes:
            if not self.scene.read.get(name):
                self.source(name)

    def ends(self) -> None:
        """Add the ports by which values leave the repeat, or go on to its next iteration."""
        if self.repeat is None:
            for name in dict.fromkeys(self.scene.graph.outputs):
                self.leave(name, name, ": result", f"{name}: a result of the graph")
            return
        for carry in self.repeat.carry:
            if carry.leave is not None:
                about = f"{carry.leave}: next {carry.enter}, at last {carry.result}"
                self.leave(carry.leave, carry.result or carry.leave, " ↺" if carry.enter else "", about)
        for inside, outside in self.repeat.sums:
            self.leave(inside, outside, f" summed over {self.repeat.index}", f"{outside}: sum of {inside}")

    def leave(self, inside: str, outside: str, mark: str, about: str) -> None:
        key = f"out {outside}"
        said = shortened(f"{_within(inside, self.path)}{mark}", 28)
        self.source(inside)
        self.items[key] = item = _joined(Box(key, "port", (Text(said, "port"),), about), [])
        self.last.append(key)
        self.join(inside, key, item.leaves)

    # ---- drawn ----

    def drawn(self) -> _Item:
        """Return the scope laid out; a repeat's in its frame."""
        sizes = {name: (item.part.width, item.part.height) for name, item in self.items.items()}
        drawing = layered(sizes, self.edges, first=self.first, last=self.last, down=DOWN)
        part = Part(width=drawing.width, height=drawing.height)
        for name, (x, y) in drawing.places.items():
            part = part.beside(self.items[name].part.moved(x, y))
        wires = (Wire(edge.name, run) for edge, run in zip(self.edges, drawing.routes, strict=True))
        part = part.beside(Part(wires=tuple(wires)))
        if self.repeat is None:
            return _Item(part)
        return _framed(self.scene, self.repeat, self.path, part, self)


def _joined(box: Box, chips: Sequence[Box]) -> _Item:
    """Return a box with smaller ones at its left, each with an arrow to it."""
    wide = max((chip.width for chip in chips), default=0)
    left = wide + CHIP_GAP if chips else 0.0
    boxes, wires, y = [box.moved(left, 0)], [], 0.0
    for chip in chips:
        boxes.append(chip.moved(wide - chip.width, y))
        middle = y + chip.height / 2
        at = min(middle, box.height - MARGIN)
        wires.append(Wire(chip.name, ((wide, middle), (left, at)), "beside"))
        y += chip.height + 5
    height = max(box.height, y - 5 if chips else 0)
    return _Item(Part(tuple(boxes), (), tuple(wires), left + box.width, height), left, box.width, box.height)


def _framed(scene: Scene, repeat: Repeat, path: tuple[Repeat, ...], part: Part, scope: _Scope) -> _Item:
    """Return a body in the frame of its repeat, with the ways around for what goes on to the next turn."""
    turns = [c for c in repeat.carry if c.enter is not None and c.leave is not None]
    lanes = LANE * len(turns)
    titles = tuple(_titles(scene, repeat, path))
    head = sum(one.height for one in titles) + MARGIN
    top, right = head + lanes + PAD, PAD + lanes + (LANE if turns else 0)
    inner = part.moved(PAD, top)
    width = max(part.width + PAD + right, max(one.width for one in titles) + 2 * PAD)
    height = top + part.height + lanes + PAD
    spots = {box.name: box for box in inner.boxes if box.kind == "port"}
    ports = {key: spots[key].x + spots[key].width / 2 for key in (*scope.needed, *scope.last)}
    wires = [Wire(outer, _down(spots[key], 0.0), "into") for key, outer in scope.needed.items()]
    wires += [Wire(key, _out(spots[key], height), "out") for key in scope.last]
    for lane, carry in enumerate(turns):
        key = f"out {carry.result or carry.leave}"
        way = _around(spots[key], spots[f"in {carry.enter}"], width, lane)
        wires.append(Wire(str(carry.enter), way, "turn"))
    about = f"{repeat.name}: repeat {repeat.index} = {text(repeat.lo)} .. {text(repeat.hi)} - 1"
    frame = Frame(repeat.name, titles, about, width, height, depth=len(path))
    drawn = Part((), (frame,), tuple(wires), width, height).beside(inner)
    return _Item(drawn, 0, width, None, ports)


def _titles(scene: Scene, repeat: Repeat, path: tuple[Repeat, ...]) -> Iterator[Text]:
    """Yield what stands over a frame: the name with the count, and what all of it costs together."""
    order = scene.graph.order
    name = shortened(_within(repeat.name, path[:-1]), 28)
    yield Text(f"{name} × {clipped(signs(repeat.count, order), 28)}", "frame")
    places = {node.label for node, _ in walk(repeat.body)} | {repeat.name}
    places |= {n for n, t in scene.graph.tensors.items() if t.role not in MADE and repeat.name in t.path}
    inside = [cost for place, cost in scene.costs.items() if place in places]
    if len(inside) > 1:
        values = [cost.value for cost in inside if cost.value is not None]
        shares = [cost.share for cost in inside if cost.share is not None]
        whole = Cost(
            total(cost.expr for cost in inside),
            total(values) if values else None,
            sum(shares, Fraction(0)) if shares else None,
        )
        for place, line in enumerate(scene.worth(whole, "")):
            yield Text(f"{'' if place else 'all: '}{line.said}", line.kind)


def _down(port: Box, top: float) -> tuple[tuple[float, float], ...]:
    x = port.x + port.width / 2
    return ((x, top), (x, port.y))


def _out(port: Box, bottom: float) -> tuple[tuple[float, float], ...]:
    x = port.x + port.width / 2
    return ((x, port.y + port.height), (x, bottom))


def _around(last: Box, first: Box, width: float, lane: int) -> tuple[tuple[float, float], ...]:
    """Return the way from the port at the bottom to the one at the top, along the right side."""
    step = LANE * (lane + 1)
    x, low = last.x + last.width * 0.75, last.y + last.height
    end, high = first.x + first.width * 0.75, first.y
    side = width - LANE - step + LANE
    under, over = low + step, high - step
    return ((x, low), (x, under), (side, under), (side, over), (end, over), (end, high))


def _within(name: str, path: Sequence[Repeat]) -> str:
    """Return a name from inside repeats, whose own it begins with."""
    for repeat in reversed(path):
        if name.startswith(f"{repeat.name}/"):
            return name[len(repeat.name) + 1 :]
    return name


def percent(share: Fraction) -> str:
    """Return a share in percent, to one digit; what would round to 0 is said to be less.

    >>> percent(Fraction(1, 3)), percent(Fraction(1, 10**6)), percent(Fraction(0))
    ('33.3%', '<0.1%', '0%')
    """
    tenths = round(share * 1000)
    if share == 0:
        return "0%"
    return "<0.1%" if tenths == 0 and share > 0 else f"{tenths / 10:.1f}%"
