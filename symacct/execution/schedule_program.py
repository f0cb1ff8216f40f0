"""A graph at integer sizes as a flat list of ops, in parts: run as they stand, or run again."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import groupby
from math import isqrt
from typing import TYPE_CHECKING

from symacct.algebra.evaluate import names_of
from symacct.errors import GraphError
from symacct.execution.interpret import Key, Place
from symacct.nodes import Graph, Node, Repeat, Step_, bind_tensor

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from collections.abc import Set as AbstractSet

    from symacct.op import Op
    from symacct.tensor import Tensor

Segments = tuple[str | int | tuple[str, ...] | tuple[tuple[int, int], ...], ...] | None
Group = tuple[object, ...]
Groups = tuple[Group, ...]
"""The parts that an op stands in, the outermost first."""

PLAIN, AGAIN, FROM_START = "plain", "checkpoint", "store-nothing"
NESTED = "nested"
BY_LAYERS = ("every", "sqrt", FROM_START)
"""Ways to checkpoint that count layers."""


@dataclass(frozen=True, slots=True, eq=False)
class Form:
    """A node with its sizes bound: its op, and its tensors in and out."""

    label: str
    op: Op
    ins: tuple[Tensor, ...]
    outs: tuple[Tensor, ...]


@dataclass(frozen=True, slots=True)
class Instance:
    """A node in one iteration: which values it reads and makes, by the tensor that was first made."""

    form: Form
    ins: tuple[Key, ...]
    outs: tuple[Key, ...]
    number: int


@dataclass(frozen=True, slots=True)
class Layer:
    """A layer that runs: its name, the iterations around it, what stands for it in the outermost scope."""

    name: str
    at: tuple[int, ...]
    top: str


@dataclass(frozen=True, slots=True)
class Part:
    """Consecutive ops that are run in one way.

    Attributes:
        kind: ``plain``; ``checkpoint``: run again from what it reads; ``store-nothing``: run again from
            ``before``, which reads what the first iteration reads.
        instances: the ops.
        before: for ``store-nothing``, the ops of the iterations before this one.
        reads: values made earlier that are handed to it, and kept if it is run again.
        enters: for ``store-nothing``, values that iterations before have made; they are made again.
        gives: values that it makes and something later reads.
        dies: for each op, the values that nothing needs after it.
        dies_before: the same for the ops before.
        parts: what a part that is run again consists of, if parts of it are run again from within.
        lasts: for each of these parts, the values that are needed after it.
    """

    kind: str
    instances: tuple[Instance, ...]
    before: tuple[Instance, ...] = ()
    reads: tuple[Key, ...] = ()
    enters: tuple[Key, ...] = ()
    gives: tuple[Key, ...] = ()
    dies: tuple[tuple[Key, ...], ...] = ()
    dies_before: tuple[tuple[Key, ...], ...] = ()
    parts: tuple[Part, ...] = ()
    lasts: tuple[frozenset[Key], ...] = ()


@dataclass(frozen=True, slots=True)
class Program:
    """The parts in order, the values of the graph's outputs, and what is needed after each part."""

    parts: tuple[Part, ...]
    outputs: tuple[Key, ...]
    lasts: tuple[frozenset[Key], ...]


def linearise(
    graph: Graph, sizes: Mapping[str, int], segments: Segments, held: Sequence[str] = ()
) -> Program:
    """Return a graph at integer sizes as parts; its values are the graph's outputs and those that are held.

    Raises:
        GraphError: a repeat that sums over its iterations, an op that writes into a cache, a region of the
            graph's own that keeps some of its results.
    """
    kept = [label for region in graph.remats for label in region.keep]
    if kept:
        raise GraphError(f"{kept[0]} is kept although its region runs again, which is not run here")
    flat = _Flat(graph, segments)
    place = Place(sizes)
    flat.walk(graph.nodes, place, (), depth=0)
    outputs = tuple(dict.fromkeys(flat.resolve(name, place) for name in (*graph.outputs, *held)))
    made = {key: None for one, *_ in flat.found for key in one.outs}
    parts, lasts = _joined(list(flat.parts()), made, {key for key in outputs if key in made})
    return Program(parts, outputs, lasts)


@dataclass(slots=True)
class _Flat:
    """Lists the ops; a carry is the value that was handed on, whatever it is called in this iteration."""

    graph: Graph
    segments: Segments
    found: list[tuple[Instance, Groups, Layer | None]] = field(default_factory=list)
    same: dict[Key, Key] = field(default_factory=dict)
    forms: dict[str, Form] = field(default_factory=dict)
    groups: int = 0
    unit: int = 0
    open: list[tuple[int, Group]] = field(default_factory=list)

    def walk(
        self,
        nodes: tuple[Step_, ...],
        place: Place,
        group: Groups,
        depth: int,
        layer: Layer | None = None,
    ) -> None:
        """List nodes.

        ``group`` is the parts that they belong to, none where each scope decides; ``layer`` is their layer.
        """
        current: tuple[str, Group] | None = None
        for node in nodes:
            own = group
            region = self._region(node.label) if not group else None
            if region is None:
                current = None
            else:
                same = current is not None and current[0] == region
                current = current if same else (region, self._fresh(AGAIN))
                own = (current[1],) if current is not None else ()
            here = self._layer(node, place) if layer is None else layer
            if isinstance(node, Repeat):
                self._repeat(node, place, own, depth, here)
            else:
                self._node(node, place, own if depth else (*own, *self._nested()), here)

    def _nested(self) -> Groups:
        """Return the parts of the next unit, where the segments are given by units."""
        kind, *rest = self.segments or ("",)
        if kind != NESTED:
            return ()
        at, self.unit = self.unit, self.unit + 1
        self.open = [(end, group) for end, group in self.open if end > at]
        chosen = rest[0] if isinstance(rest[0], tuple) else ()
        ends = sorted((int(pair[1]) for pair in chosen if int(pair[0]) == at), reverse=True)
        self.open += [(end, self._fresh(AGAIN)) for end in ends]
        return tuple(group for _, group in self.open)

    def _layer(self, node: Step_, place: Place) -> Layer | None:
        """Return the layer that a node begins or goes on with."""
        names = [name for name in self.graph.layers if node.label.startswith(f"{name}/")]
        top = next(iter(place.at), None)
        return Layer(names[0], tuple(place.at.values()), top or names[0]) if names else None

    def _region(self, label: str) -> str | None:
        """Return the region that a node belongs to: one of the graph's own, or the last of those named."""
        kind, *rest = self.segments or ("own",)
        if kind == "own":
            return next((one.name for one in self.graph.remats if label in one.labels), None)
        if kind != "regions":
            return None
        names = rest[0] if isinstance(rest[0], tuple) else (str(rest[0]),)
        for name in reversed(names):
            at = f"/{label}/".find(f"/{name}/")
            if at >= 0:
                return label[: at + len(name)]
        return None

    def _fresh(self, kind: str, *facts: object) -> Group:
        self.groups += 1
        return (kind, self.groups, *facts)

    def resolve(self, name: str, place: Place) -> Key:
        """Return the value that a name stands for here."""
        key = place.key(self.graph.tensors[name])
        return self.same.get(key, key)

    def _repeat(self, repeat: Repeat, place: Place, group: Groups, depth: int, layer: Layer | None) -> None:
        if repeat.sums:
            raise GraphError(f"repeat {repeat.name} sums over its iterations, which is not run here")
        carried = [self.resolve(str(c.init), place) for c in repeat.carry]
        iterations = range(place.size(repeat.lo), place.size(repeat.hi))
        marked = any(name.startswith(f"{repeat.name}/") for name in self.graph.layers)
        for i in reversed(iterations) if repeat.reverse else iterations:
            inner = place.inside((repeat.name,), repeat.index, i)
            for c, key in zip(repeat.carry, carried, strict=True):
                self.same[inner.key(self.graph.tensors[str(c.enter)])] = key
            groups = (*group, *self._nested()) if depth == 0 else group
            alone = depth == 0 and not marked and layer is None
            own = Layer(repeat.name, (i,), repeat.name) if alone else layer
            self.walk(repeat.body, inner, groups, depth + 1, own)
            carried = [self.resolve(str(c.leave), inner) for c in repeat.carry]
        for c, key in zip(repeat.carry, carried, strict=True):
            self.same[place.key(self.graph.tensors[str(c.result)])] = key

    def _node(self, node: Node, place: Place, group: Groups, layer: Layer | None) -> None:
        if node.op.alias and node.op.moves:
            raise GraphError(f"{node.label} writes into a cache, which no training step does")
        form = self.forms.get(node.label) or self._form(node, place)
        ins = tuple(self.resolve(name, place) for name in node.ins)
        outs = tuple(place.key(self.graph.tensors[name]) for name in node.outs)
        self.found.append((Instance(form, ins, outs, len(self.found)), group, layer))

    def _form(self, node: Node, place: Place) -> Form:
        exact = place.exact
        tensors = [self.graph.tensors[name] for name in (*node.ins, *node.outs)]
        bound = [bind_tensor(t, exact) for t in tensors]
        op = node.op.substitute(exact)
        form = Form(node.label, op, tuple(bound[: len(node.ins)]), tuple(bound[len(node.ins) :]))
        indices = {name for name in place.sizes if name not in self.graph.sizes}
        plain = node.op.substitute({name: exact[name] for name in exact if name not in indices}) == op
        if plain and not any(indices & {*names_of(dim)} for t in tensors for dim in t.dims):
            self.forms[node.label] = form
        return form

    def _by_layers(self) -> None:
        """Put ops into parts: those of consecutive layers together, up to an op that is in none."""
        kind, *rest = self.segments or ("",)
        for stack in self._stacks():
            length = int(str(rest[0])) if rest else 1 if kind == FROM_START else isqrt(len(stack) - 1) + 1
            start = self.groups
            for first in range(0, len(stack), length):
                nothing = kind == FROM_START
                own = self._fresh(FROM_START, start) if nothing else self._fresh(AGAIN)
                for at in (at for run in stack[first : first + length] for at in run):
                    self.found[at] = (self.found[at][0], (own,), None)

    def _stacks(self) -> list[list[list[int]]]:
        """Return stacks of layers, each layer as the positions of its ops."""
        made: dict[str, set[Key]] = {}
        read: dict[str, set[Key]] = {}
        for one, _, layer in self.found:
            if layer is not None:
                made.setdefault(layer.top, set()).update(one.outs)
                read.setdefault(layer.top, set()).update(one.ins)
        stacks: list[list[list[int]]] = []
        before: Layer | None = None
        numbered = enumerate(self.found)
        for layer, run in groupby(numbered, key=lambda entry: entry[1][2]):
            if layer is not None:
                joined = before is not None and (
                    before.top == layer.top or not made[before.top].isdisjoint(read[layer.top])
                )
                if not joined:
                    stacks.append([])
                stacks[-1].append([at for at, _ in run])
            before = layer
        return stacks

    def parts(self) -> Iterator[Part]:
        """Yield what was listed, part by part."""
        earlier: dict[object, tuple[Instance, ...]] = {}
        if self.segments is not None and self.segments[0] in BY_LAYERS:
            self._by_layers()
        for group, run in groupby(self.found, key=lambda entry: entry[1][:1]):
            pairs = [(instance, groups[1:]) for instance, groups, _ in run]
            instances = tuple(instance for instance, _ in pairs)
            if not group:
                yield Part(PLAIN, instances)
            elif group[0][0] == AGAIN:
                yield Part(AGAIN, instances, parts=_inner(pairs))
            else:
                before = earlier.get(group[0][2], ())
                earlier[group[0][2]] = (*before, *instances)
                yield Part(FROM_START, instances, before)


def _inner(pairs: Sequence[tuple[Instance, Groups]]) -> tuple[Part, ...]:
    """Return the parts of a part that is run again; none where no part of it is run again from within."""
    if not any(groups for _, groups in pairs):
        return ()
    found = []
    for group, run in groupby(pairs, key=lambda pair: pair[1][:1]):
        own = [(instance, groups[1:]) for instance, groups in run]
        instances = tuple(instance for instance, _ in own)
        found.append(Part(AGAIN, instances, parts=_inner(own)) if group else Part(PLAIN, instances))
    return tuple(found)


def _joined(
    parts: Sequence[Part], made: Mapping[Key, None], beyond: AbstractSet[Key]
) -> tuple[tuple[Part, ...], tuple[frozenset[Key], ...]]:
    """Find what each part reads of earlier ones, what later ones read of it, and what is needed after each.

    Args:
        parts: in order.
        made: all that any op makes, in order.
        beyond: what is needed after the last of them.
    """
    reads = [_read(part.instances, made) for part in parts]
    handed = [_read((*part.before, *part.instances), made) for part in parts]
    lasts: list[frozenset[Key]] = []
    needed = frozenset(beyond)
    for direct, kept in zip(reversed(reads), reversed(handed), strict=True):
        lasts.insert(0, needed)
        needed |= {*direct, *kept}
    done = []
    for part, direct, kept, later in zip(parts, reads, handed, lasts, strict=True):
        own = dict.fromkeys(key for one in part.instances for key in one.outs)
        gives = {key for key in own if key in later}
        inner, inner_lasts = _joined(part.parts, made, gives) if part.parts else ((), ())
        done.append(
            replace(
                part,
                reads=tuple(kept),
                enters=tuple(key for key in direct if key not in kept),
                gives=tuple(key for key in own if key in gives),
                dies=_deaths(part.instances, made, later if part.kind == PLAIN else gives),
                dies_before=_deaths(part.before, made, {*direct}),
                parts=inner,
                lasts=inner_lasts,
            )
        )
    return tuple(done), tuple(lasts)


def _deaths(
    instances: Sequence[Instance], made: Mapping[Key, None], later: AbstractSet[Key]
) -> tuple[tuple[Key, ...], ...]:
    """Return the values that die after each op: they are read for the last time, or made and never read."""
    last = {
        key: number for number, one in enumerate(instances) for key in (*one.ins, *one.outs) if key in made
    }
    dies: list[list[Key]] = [[] for _ in instances]
    for key, number in last.items():
        if key not in later:
            dies[number].append(key)
    return tuple(map(tuple, dies))


def _read(instances: Sequence[Instance], made: Mapping[Key, None]) -> dict[Key, None]:
    """Return what is read that other ops have made before."""
    own: set[Key] = set()
    found: dict[Key, None] = {}
    for one in instances:
        found |= {key: None for key in one.ins if key in made and key not in own}
        own |= {*one.outs}
    return found
