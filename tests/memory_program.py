"""A graph at integer sizes as calls in order of execution, and what the derivative of each of them does.

Written for the memory oracle: nothing of the engine's own schedule is used, only the ops and the graph.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import groupby
from math import isqrt

from symacct.algebra.evaluate import evaluate
from symacct.nodes import Repeat
from symacct.peaks.closing import closed
from symacct.tensor import Tensor

BYTES = {"float": 4, "stat": 4, "mask": 1, "index": 8}
G = "incoming"


class Exotic(Exception):  # noqa: N818
    """What this does not follow: a leaf whose gradient is a view, a wanted gradient that is none."""


@dataclass(eq=False)
class Value:
    """A tensor in one iteration, as it is written down: nothing of when it lives."""

    nbytes: int
    need: bool
    role: str = "activation"
    readers: list = field(default_factory=list)


@dataclass(eq=False)
class Call:
    """A node in one iteration."""

    node: object
    ins: list
    outs: list
    need: bool
    segment: object
    at: dict


@dataclass(eq=False)
class Segment:
    """Calls that run again together, after those ``before`` them, which nothing is saved for."""

    before: list = field(default_factory=list)
    calls: list = field(default_factory=list)


@dataclass(eq=False)
class Recorded:
    """What a derivative does; it is also the emitter that it is told to."""

    known: dict
    ops: list = field(default_factory=list)
    results: dict = field(default_factory=dict)
    reads: list = field(default_factory=list)
    extra: tuple = ()

    @property
    def keeps(self):
        """Whether anything is saved for it."""
        return bool(self.reads or self.extra)

    def tensor(self, name):
        return self.known[name]

    def __call__(self, op, *ins, to=None):
        made = op.infer(*(self.known[name] for name in ins))
        outs = tuple(f"made.{len(self.ops)}.{slot}" for slot in range(len(made)))
        self.known |= dict(zip(outs, made, strict=True))
        amounts = op.reads([self.known[name] for name in ins], list(made))
        mine = {G, *(name for _, _, names in self.ops for name in names)}
        self.reads += [n for n, amount in zip(ins, amounts, strict=True) if amount != 0 and n not in mine]
        self.ops.append((op, ins, outs))
        return outs


class Program:
    """A graph at integer sizes as calls in order of execution, cut into segments."""

    def __init__(self, graph, policy, sizes):
        self.held, self.graph, self.policy, self.sizes = graph.outputs, closed(graph), policy, sizes
        self.calls, self.names, self.leaves, self.recorded = [], {}, {}, {}
        self.index = {}
        self.wanted = set(graph.trainable)
        if policy.input_grad:
            self.wanted |= {name for name in graph.inputs if graph.tensors[name].floating}
        self.scope(self.graph.nodes, {}, None)

    def nbytes(self, tensor, at):
        found = BYTES[tensor.dtype]
        for dim in tensor.dims:
            found *= int(evaluate(dim, {**self.sizes, **at}))
        return found

    def get(self, name, at):
        tensor = self.graph.tensors[name]
        if name in self.names:
            return self.names[name]
        key = (name, *(at[self.index[repeat]] for repeat in tensor.path))
        if key not in self.leaves:
            self.leaves[key] = Value(self.nbytes(tensor, at), name in self.wanted, tensor.role)
        return self.leaves[key]

    def region(self, label):
        """Return the path of the first region of the policy around a label."""
        for name in self.policy.checkpoint.regions:
            path = f"/{label}/"
            if f"/{name}/" in path:
                return path[: path.index(f"/{name}/") + len(name) + 1]
        return None

    def scope(self, nodes, at, segment):
        for region, run in groupby(nodes, key=lambda node: self.region(node.label)):
            inside = Segment() if region is not None and segment is None else segment
            for node in run:
                (self.repeat if isinstance(node, Repeat) else self.call)(node, at, inside)

    def repeat(self, node, at, segment):
        kind, outer = self.policy.checkpoint.kind, not at and segment is None
        self.index[node.name] = node.index.name
        lo, hi = (int(evaluate(end, {**self.sizes, **at})) for end in (node.lo, node.hi))
        length = {"every": self.policy.checkpoint.every, "sqrt": isqrt(max(hi - lo - 1, 0)) + 1}.get(kind)
        start, carried = len(self.calls), [self.get(c.init, at) for c in node.carry]
        for i in range(lo, hi):
            if outer and kind == "store-nothing":
                segment = Segment(before=self.calls[start:])
            elif outer and length is not None and (i - lo) % int(length) == 0:
                segment = Segment()
            self.names |= {c.enter: value for c, value in zip(node.carry, carried, strict=True)}
            inner = {**at, node.index.name: i}
            self.scope(node.body, inner, segment)
            carried = [self.get(c.leave, inner) for c in node.carry]
        self.names |= {c.result: value for c, value in zip(node.carry, carried, strict=True)}

    def call(self, node, at, segment):
        ins, tensors = [self.get(n, at) for n in node.ins], [self.graph.tensors[n] for n in node.outs]
        need = tensors[0].floating and any(value.need for value in ins)
        outs = [Value(self.nbytes(t, at), need and not slot) for slot, t in enumerate(tensors)]
        self.names |= dict(zip(node.outs, outs, strict=True))
        self.calls.append(Call(node, ins, outs, need, segment, at))
        for value in ins:
            value.readers.append(self.calls[-1])
        if segment is not None:
            segment.calls.append(self.calls[-1])

    def record(self, call):
        """Return what the derivative of a call does, reads, and keeps beside in torch."""
        node, wanted = call.node, frozenset(slot for slot, value in enumerate(call.ins) if value.need)
        if (node.label, wanted) not in self.recorded:
            tensors = {name: self.graph.tensors[name] for name in (*node.ins, *node.outs)}
            out = tensors[node.outs[0]]
            incoming = Tensor(G, out.axes, out.dims, out.dtype, "gradient", out.path, out.mask)
            found = Recorded({**tensors, G: incoming})
            found.results = dict(sorted(node.op.vjp(found, node, G, wanted).items()))
            found.results = {slot: name for slot, name in found.results.items() if slot in wanted}
            ins, outs = ([tensors[name] for name in names] for names in (node.ins, node.outs))
            kept = node.op.torch_keeps(ins, outs, wanted) if self.policy.saves == "torch" else None
            if kept is not None:
                found.reads = [n for slots, ns in ((kept.ins, node.ins), (kept.outs, node.outs))
                               for slot, n in enumerate(ns) if slot in slots]  # fmt: skip
            found.reads += [node.outs[0]] if self.policy.saves == "lecture" and not node.op.alias else []
            found.extra = () if kept is None else kept.extra
            if found.results.keys() != wanted:
                raise Exotic(node.label)
            self.recorded[node.label, wanted] = found
        return self.recorded[node.label, wanted]
