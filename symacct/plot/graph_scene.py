"""From the boxes of a graph to its picture: what stands in which scope, joined to what, and where."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING

from symacct.algebra.normal import total
from symacct.nodes import Repeat, walk
from symacct.plot.graph_boxes import MARGIN, Box, Frame, Part, Text, Wire, clipped, shortened
from symacct.plot.graph_layout import Edge, layered
from symacct.plot.graph_words import MADE, Cost, within
from symacct.printers import text
from symacct.printers.signs import signs

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from symacct.nodes import Node, Step_
    from symacct.plot.graph_words import Labels

CHIP_GAP, PAD, LANE, DOWN = 16.0, 14.0, 7.0, 28.0
ONCE = ("weight", "constant")
"""Roles that stand beside the one op that reads them."""


def drawn(labels: Labels) -> Part:
    """Return the picture of a graph, without title."""
    scope = _Scope(labels, None, ())
    scope.fill(labels.graph.nodes)
    return scope.drawn().part


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


class _Scope:
    """The items and edges of one scope while they are collected."""

    def __init__(self, labels: Labels, repeat: Repeat | None, path: tuple[Repeat, ...]) -> None:
        self.labels, self.repeat, self.path = labels, repeat, path
        self.items: dict[str, _Item] = {}
        self.edges: list[Edge] = []
        self.makers: dict[str, tuple[str, float]] = {}
        self.homes = labels.homes(path)
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
        box = self.labels.op(node, self.path)
        beside = [name for name in dict.fromkeys(node.ins) if self.alone(name, node)]
        chips = [self.labels.source(self.homes[name], node.label, self.path) for name in beside]
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
        return tensor is not None and tensor.role in ONCE and self.labels.read[name] == {node.label}

    def inner(self, repeat: Repeat) -> None:
        """Add a repeat: its body in a frame, with wires to what it needs."""
        scope = _Scope(self.labels, repeat, (*self.path, repeat))
        scope.fill(repeat.body)
        item, needs = scope.drawn(), scope.needed
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
            self.add(name, self.labels.source(self.homes[name], "", self.path))
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
        said = f"{within(name, self.path)}" + (" ↺" if kind == "first" else "")
        about = f"{name}, from outside" if carry is None else f"{name}: first {outer}, then {carry.leave}"
        self.items[key] = item = _joined(Box(key, "port", (Text(shortened(said, 28), "port"),), about), [])
        self.first.append(key)
        self.makers[name] = key, item.leaves
        if outer is not None:
            self.needed[key] = outer

    def unread(self) -> None:
        """Add the tensors of this scope that nothing reads."""
        for name in self.homes:
            if not self.labels.read.get(name):
                self.source(name)

    def ends(self) -> None:
        """Add the ports by which values leave the repeat, or go on to its next iteration."""
        if self.repeat is None:
            for name in dict.fromkeys(self.labels.graph.outputs):
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
        said = shortened(f"{within(inside, self.path)}{mark}", 28)
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
        return _framed(self.labels, self.repeat, self.path, part, self)


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


def _framed(labels: Labels, repeat: Repeat, path: tuple[Repeat, ...], part: Part, scope: _Scope) -> _Item:
    """Return a body in the frame of its repeat, with the ways around for what goes on to the next turn."""
    turns = [c for c in repeat.carry if c.enter is not None and c.leave is not None]
    lanes = LANE * len(turns)
    titles = tuple(_titles(labels, repeat, path))
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


def _titles(labels: Labels, repeat: Repeat, path: tuple[Repeat, ...]) -> Iterator[Text]:
    """Yield what stands over a frame: the name with the count, and what all of it costs together."""
    order = labels.graph.order
    name = shortened(within(repeat.name, path[:-1]), 28)
    yield Text(f"{name} × {clipped(signs(repeat.count, order), 28)}", "frame")
    places = {node.label for node, _ in walk(repeat.body)} | {repeat.name}
    places |= {n for n, t in labels.graph.tensors.items() if t.role not in MADE and repeat.name in t.path}
    inside = [cost for place, cost in labels.costs.items() if place in places]
    if len(inside) > 1:
        values = [cost.value for cost in inside if cost.value is not None]
        shares = [cost.share for cost in inside if cost.share is not None]
        whole = Cost(
            total(cost.expr for cost in inside),
            total(values) if values else None,
            sum(shares, Fraction(0)) if shares else None,
        )
        for place, line in enumerate(labels.worth(whole, "")):
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
