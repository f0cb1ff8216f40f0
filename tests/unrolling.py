"""Unrolling: the graph without repeats that does the same, each body copied once for every iteration."""

from dataclasses import replace
from types import MappingProxyType

from symacct.algebra.evaluate import substitute
from symacct.nodes import Graph, Node, Repeat, bind_tensor


def unrolled(graph: Graph) -> Graph:
    """Return the graph with every repeat replaced by copies of its body; its counts are integers."""
    return Unrolling(graph).done()


class Unrolling:
    """Copies made so far; ``names`` map a tensor to its copy in the iteration ``at`` hand."""

    def __init__(self, graph):
        self.graph = graph
        self.tensors = {name: graph.tensors[name] for name in graph.inputs}
        self.nodes = []
        self.trainable = set(graph.trainable)

    def done(self):
        names = {}
        self.expand(self.graph.nodes, names, {}, ())
        for name, t in self.graph.tensors.items():
            if t.role == "weight" and not t.path:
                self.tensors.setdefault(name, t)
        return replace(
            self.graph,
            tensors=MappingProxyType(self.tensors),
            nodes=tuple(self.nodes),
            outputs=tuple(names.get(o, o) for o in self.graph.outputs),
            trainable=frozenset(name for name in self.trainable if name in self.tensors),
        )

    def expand(self, body, names, index, at):
        for node in body:
            if isinstance(node, Repeat):
                self.expand_repeat(node, names, index, at)
            else:
                self.copy(node, names, index, at)

    def copy(self, node, names, index, at):
        ins = tuple(self.source(name, names, index, at) for name in node.ins)
        for name in node.outs:
            names[name] = self.make(name, index, at)
        outs = tuple(names[name] for name in node.outs)
        self.nodes.append(Node(node.op.substitute(index), ins, outs, tagged(node.label, at)))

    def expand_repeat(self, repeat, names, index, at):
        lo, hi = (int(substitute(end, index)) for end in (repeat.lo, repeat.hi))
        carried = [self.source(c.init, names, index, at) for c in repeat.carry]
        for i in range(lo, hi):
            inner = {name: copy for name, copy in names.items() if repeat.name not in self.path(name)}
            inner |= {c.enter: value for c, value in zip(repeat.carry, carried, strict=True)}
            self.expand(repeat.body, inner, {**index, repeat.index.name: i}, (*at, i))
            carried = [inner[c.leave] for c in repeat.carry]
        names |= {c.result: value for c, value in zip(repeat.carry, carried, strict=True)}

    def path(self, name):
        return self.graph.tensors[name].path

    def source(self, name, names, index, at):
        """Return the copy of a tensor that is read; weights and constants are copied when first read."""
        if name in names:
            return names[name]
        copy = self.make(name, index, at[: len(self.path(name))])
        if name in self.graph.trainable:
            self.trainable.add(copy)
        return copy

    def make(self, name, index, at):
        copy = tagged(name, at)
        if copy not in self.tensors:
            bound = bind_tensor(self.graph.tensors[name], index)
            self.tensors[copy] = replace(bound, name=copy, path=())
        return copy


def tagged(name, at):
    """Return a name with the iteration it belongs to."""
    return "#".join((name, *map(str, at)))
