"""What the backward pass of one node does: the ops it runs, what they read, and what it hands on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from symacct.nodes import Node
from symacct.tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Mapping

    from symacct.op import Op

COTANGENT = "cotangent"


@dataclass(frozen=True, slots=True)
class Vjp:
    """The derivative of a node for some of its inputs.

    Attributes:
        nodes: the ops it runs, in order; names are those of the forward graph, :data:`COTANGENT`, or its own.
        results: the name of each wanted input's cotangent, by slot.
        made: the tensors that the ops make, by name.
        reads: names of forward tensors of which the ops touch anything, in order.
    """

    nodes: tuple[Node, ...]
    results: Mapping[int, str]
    made: Mapping[str, Tensor]
    reads: tuple[str, ...]


class _Recorder:
    """An emitter that only writes down what a vjp asks for."""

    def __init__(self, tensors: Mapping[str, Tensor], node: Node) -> None:
        self.tensors = tensors
        self.node = node
        self.made: dict[str, Tensor] = {}
        self.nodes: list[Node] = []

    def tensor(self, name: str) -> Tensor:
        return self.made[name] if name in self.made else self.tensors[name]

    def __call__(self, op: Op, *ins: str, to: int | None = None) -> tuple[str, ...]:
        del to
        label = f"{COTANGENT}.{len(self.nodes)}"
        outs = []
        for slot, made in enumerate(op.infer(*map(self.tensor, ins))):
            name = label if slot == 0 else f"{label}.{slot}"
            path = self.tensors[self.node.outs[0]].path
            self.made[name] = Tensor(name, made.axes, made.dims, made.dtype, "gradient", path, made.mask)
            outs.append(name)
        self.nodes.append(Node(op, ins, tuple(outs), label, self.node.label))
        return tuple(outs)


def vjp_of(tensors: Mapping[str, Tensor], node: Node, wanted: frozenset[int]) -> Vjp:
    """Return the derivative of a node for the wanted input slots."""
    recorder = _Recorder(tensors, node)
    out = tensors[node.outs[0]]
    cotangent = Tensor(COTANGENT, out.axes, out.dims, out.dtype, "gradient", out.path, out.mask)
    recorder.made[COTANGENT] = cotangent
    found = node.op.vjp(recorder, node, COTANGENT, wanted)
    reads: dict[str, None] = {}
    for emitted in recorder.nodes:
        ins = [recorder.tensor(name) for name in emitted.ins]
        outs = [recorder.tensor(name) for name in emitted.outs]
        for name, amount in zip(emitted.ins, emitted.op.reads(ins, outs), strict=True):
            if name not in recorder.made and amount != 0:
                reads[name] = None
    results = {slot: name for slot, name in sorted(found.items()) if slot in wanted}
    return Vjp(tuple(recorder.nodes), results, recorder.made, tuple(reads))
