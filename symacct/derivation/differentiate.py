"""The backward pass, derived op by op, only on a path to something trainable.

A repeat is differentiated by segments: a steady body for all iterations whatever their number, and, where
the first or last iterations differ (nothing upstream needs a gradient yet, a result has no cotangent),
iterations peeled off either end. The condition on the count travels with the result.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING

from symacct.algebra.condition import Condition, merge
from symacct.algebra.evaluate import substitute
from symacct.algebra.normal import normal
from symacct.algebra.symbols import as_expr
from symacct.errors import RuleError
from symacct.nodes import Carry, Graph, Node, Repeat, Step_
from symacct.ops.elementwise import Elementwise
from symacct.tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sympy import Expr

    from symacct.op import Op

LONGEST_UNROLL = 4096
Slots = frozenset[int]
Cotangents = defaultdict[str, list[str]]


@dataclass(frozen=True, slots=True)
class Step:
    """A graph with its backward pass.

    Attributes:
        graph: the forward graph.
        tensors: the tensors that the backward pass makes.
        backward: its nodes and repeats, in order of execution.
        gradients: for each trainable tensor that a cotangent reaches, the names of its gradient: one name,
            or one for each range of iterations that was differentiated apart.
        seeds: the given cotangents of the outputs; they cost nothing and are not saved.
        conditions: what repeat counts must satisfy.
        wanted: the input slots that get a gradient, by forward label and path of backward repeats.
    """

    graph: Graph
    tensors: Mapping[str, Tensor]
    backward: tuple[Step_, ...]
    gradients: Mapping[str, tuple[str, ...]]
    seeds: tuple[str, ...]
    conditions: tuple[Condition, ...]
    wanted: Mapping[tuple[str, tuple[str, ...]], frozenset[int]]

    def tensor(self, name: str) -> Tensor:
        """Return a tensor of either pass."""
        return self.tensors[name] if name in self.tensors else self.graph.tensors[name]


def differentiate(graph: Graph, *, input_grad: bool = False) -> Step:
    """Return the graph with its backward pass.

    Args:
        graph: the forward graph.
        input_grad: also want the gradients of all floating inputs.
    """
    wanted = set(graph.trainable)
    if input_grad:
        wanted |= {name for name in graph.inputs if graph.tensors[name].floating}
    return _Differentiation(graph, frozenset(wanted)).step()


class _Differentiation:
    """The state of one differentiation: the emitter that vjps see, and the scopes being filled."""

    def __init__(self, graph: Graph, wanted: frozenset[str]) -> None:
        self.graph = graph
        self.wanted = wanted
        self.made: dict[str, Tensor] = {}
        self.gradients: dict[str, list[str]] = {}
        self.conditions: list[Condition] = []
        self.around: list[Repeat] = []
        self.scope: list[Step_] = []
        self.path: tuple[str, ...] = ()
        self.origin: Node | None = None
        self.taken: dict[str, int] = {}
        self.used: set[str] = set(graph.tensors)
        self.slots: dict[tuple[str, tuple[str, ...]], Slots] = {}

    # ---- the emitter ----

    def tensor(self, name: str) -> Tensor:
        return self.made[name] if name in self.made else self.graph.tensors[name]

    def __call__(self, op: Op, *ins: str, to: int | None = None) -> tuple[str, ...]:
        origin = self.origin
        if origin is None:
            raise RuleError("a vjp emitted a node outside of a node")
        target = "" if to is None else "." + origin.ins[to].rsplit("/", 1)[-1]
        return self._emit(op, ins, f"{origin.label}/grad{target}", origin.label)

    def _emit(self, op: Op, ins: tuple[str, ...], label: str, origin: str) -> tuple[str, ...]:
        label = self._fresh(label)
        results = op.infer(*(self.tensor(name) for name in ins))
        outs = []
        for slot, r in enumerate(results):
            name = label if slot == 0 else f"{label}.{slot}"
            self.made[name] = Tensor(name, r.axes, r.dims, r.dtype, "gradient", self.path, r.mask)
            self.used.add(name)
            outs.append(name)
        self.scope.append(Node(op, ins, tuple(outs), label, origin))
        return tuple(outs)

    def _fresh(self, label: str) -> str:
        """Return a label that is not taken; one with a number may itself be the name of something."""
        count = self.taken.get(label, 0) + 1
        fresh = label if count == 1 else f"{label}_{count}"
        while fresh in self.used:
            count += 1
            fresh = f"{label}_{count}"
        self.taken[label] = count
        self.used.add(fresh)
        return fresh

    def _like(self, name: str, label: str, path: tuple[str, ...] | None = None) -> str:
        """Make a tensor for the cotangent of a forward tensor."""
        label = self._fresh(label)
        t = self.tensor(name)
        where = self.path if path is None else path
        self.made[label] = Tensor(label, t.axes, t.dims, t.dtype, "gradient", where, t.mask)
        return label

    def _sum(self, names: list[str], of: str) -> str:
        """Return the sum of cotangents: n - 1 additions."""
        total = names[0]
        for name in names[1:]:
            total = self._emit(Elementwise("add"), (total, name), f"{of}/grad_sum", of)[0]
        return total

    # ---- what needs a gradient ----

    def flow(self, nodes: tuple[Step_, ...], need: set[str]) -> None:
        """Add to ``need`` every tensor on a path from something in it."""
        for node in nodes:
            if isinstance(node, Node):
                if self.graph.tensors[node.outs[0]].floating and any(name in need for name in node.ins):
                    need.add(node.outs[0])
            else:
                history = self.needs(node, need)
                for slot in history[-1]:
                    result = node.carry[slot].result
                    if result is not None:
                        need.add(result)

    def needs(self, repeat: Repeat, need: set[str]) -> list[Slots]:
        """Return N[0], N[1], ...: the carries that need a gradient on entering each iteration.

        The list ends where it becomes constant, or with the count of an integer repeat.
        """
        history = [frozenset(s for s, c in enumerate(repeat.carry) if c.init in need)]
        count = repeat.count
        limit = int(count) if count.is_Integer else None
        while limit is None or len(history) <= limit:
            inside = self.inside(repeat, need, history[-1])
            after = frozenset(s for s, c in enumerate(repeat.carry) if c.leave in inside)
            if after == history[-1]:
                break
            if limit is None and after in history:
                raise _trading(repeat)
            if len(history) > LONGEST_UNROLL:
                raise _trading(repeat)
            history.append(after)
        return history

    def inside(self, repeat: Repeat, need: set[str], slots: Slots) -> set[str]:
        """Return what needs a gradient inside a body, given the carries that do."""
        inner = set(need)
        inner |= {str(repeat.carry[s].enter) for s in slots}
        self.flow(repeat.body, inner)
        return inner

    # ---- backwards ----

    def step(self) -> Step:
        need = set(self.wanted)
        self.flow(self.graph.nodes, need)
        cotangents: Cotangents = defaultdict(list)
        seeds = []
        for output in dict.fromkeys(self.graph.outputs):
            if output in need:
                seed = self._like(output, f"{output}/seed")
                seeds.append(seed)
                cotangents[output].append(seed)
        self.back(self.graph.nodes, need, cotangents)
        for name in self.graph.tensors:
            if name in self.wanted and cotangents[name]:
                self.gradients.setdefault(name, []).append(self._sum(cotangents[name], name))
        return Step(
            self.graph,
            MappingProxyType(self.made),
            tuple(self.scope),
            MappingProxyType({name: tuple(gs) for name, gs in self.gradients.items()}),
            tuple(seeds),
            merge(self.conditions),
            MappingProxyType(self.slots),
        )

    def back(self, nodes: tuple[Step_, ...], need: set[str], cotangents: Cotangents) -> None:
        """Differentiate nodes in reverse; ``cotangents`` collects what reaches each tensor."""
        for node in reversed(nodes):
            if isinstance(node, Repeat):
                self.back_repeat(node, need, cotangents)
                continue
            incoming = cotangents.pop(node.outs[0], None)
            slots = frozenset(slot for slot, name in enumerate(node.ins) if name in need)
            if not incoming or not slots:
                continue
            g = self._sum(incoming, node.label)
            self.origin = node
            self.slots[node.label, self.path] = slots
            for slot, grad in sorted(node.op.vjp(self, node, g, slots).items()):
                if slot in slots:
                    self._name_axes(grad, node.ins[slot])
                    cotangents[node.ins[slot]].append(grad)
            self.origin = None

    def _name_axes(self, grad: str, of: str) -> None:
        """Name a cotangent's axes as those of its tensor; an equation's words are its own."""
        made, tensor = self.made[grad], self.tensor(of)
        if made.axes != tensor.axes:
            mask = None if made.mask is None else tensor.mask
            self.made[grad] = replace(made, axes=tensor.axes, mask=mask)

    def back_repeat(self, repeat: Repeat, need: set[str], cotangents: Cotangents) -> None:
        """Differentiate a repeat by segments, from its last iterations to its first."""
        given: dict[int, str] = {}
        for slot, c in enumerate(repeat.carry):
            incoming = cotangents.pop(str(c.result), None)
            if incoming:
                given[slot] = self._sum(incoming, repeat.name)
        if not given:
            return
        history = self.needs(repeat, need)
        self.around.append(repeat)
        self._place_all(repeat, history, given, need, cotangents)
        self.around.pop()
        for slot, g in given.items():
            init = str(repeat.carry[slot].init)
            if slot in history[0] and init in need:
                cotangents[init].append(g)

    def _place_all(
        self,
        repeat: Repeat,
        history: list[Slots],
        given: dict[int, str],
        need: set[str],
        cotangents: Cotangents,
    ) -> None:
        """Place segments from the end; ``given`` is left with what reaches the inits."""
        lo, hi, last = repeat.lo, repeat.hi, len(history) - 1
        first = normal(lo + last)
        tried: set[Slots] = set()
        while given and not (hi - first).is_nonpositive:
            before = frozenset(given)
            segment = self._segment(repeat, history[last], given, need)
            if segment.after == before:
                self._require(normal(hi - first), 1 if segment.outer else 0)
                self._place(segment, first, hi, given, cotangents)
                hi = first
                break
            if (before in tried and not repeat.count.is_Integer) or len(self.scope) > LONGEST_UNROLL:
                raise _trading(repeat)
            tried.add(before)
            self._require(normal(hi - 1 - first), 0)
            self._place(segment, normal(hi - 1), hi, given, cotangents)
            hi = normal(hi - 1)
        whole = normal(hi - lo)
        for position in range(min(int(whole), last) if whole.is_Integer else last, 0, -1):
            if given:
                segment = self._segment(repeat, history[position - 1], given, need)
                self._place(segment, normal(lo + position - 1), normal(lo + position), given, cotangents)

    def _segment(self, repeat: Repeat, slots: Slots, given: dict[int, str], need: set[str]) -> _Segment:
        """Differentiate the body once, with a fresh cotangent for each carry in ``given``."""
        name = self._fresh(f"{repeat.name}/backward")
        mine = tuple(around.name for around in self.around)
        saved = (self.scope, self.path)
        self.scope, self.path = [], (*self.path, name)
        inner: Cotangents = defaultdict(list)
        enters: dict[int, str] = {}
        for slot in sorted(given):
            leave = str(repeat.carry[slot].leave)
            enters[slot] = self._like(leave, f"{name}/carry.{slot}")
            inner[leave].append(enters[slot])
        self.back(repeat.body, self.inside(repeat, need, slots), inner)
        leaves: dict[int, str] = {}
        for slot in sorted(slots):
            reached = inner.pop(str(repeat.carry[slot].enter), None)
            if reached:
                leaves[slot] = self._sum(reached, repeat.name)
        outer: dict[str, str] = {}
        for tensor in sorted(inner):
            total = self._sum(inner[tensor], tensor)
            if self.graph.tensors[tensor].path == mine:
                self.gradients.setdefault(tensor, []).append(total)
            else:
                outer[tensor] = total
        body = tuple(self.scope)
        self.scope, self.path = saved
        return _Segment(repeat, name, body, enters, leaves, outer)

    def _place(
        self, segment: _Segment, lo: Expr, hi: Expr, given: dict[int, str], cotangents: Cotangents
    ) -> None:
        """Put a segment on a range of iterations and pass the cotangents on."""
        carries, after = [], {}
        for slot in sorted({*segment.enters, *segment.leaves}):
            leave = segment.leaves.get(slot)
            if leave is not None:
                after[slot] = self._like(leave, f"{segment.name}.{slot}", self.path)
            carries.append(Carry(given.get(slot), segment.enters.get(slot), leave, after.get(slot)))
        sums = []
        for tensor, total in segment.outer.items():
            whole = self._like(total, f"{segment.name}/sum.{tensor.rsplit('/', 1)[-1]}", self.path)
            sums.append((total, whole))
            cotangents[tensor].append(whole)
        of = segment.repeat
        placed = (segment.name, of.index, lo, hi, segment.body, tuple(carries), tuple(sums))
        self.scope.append(Repeat(*placed, reverse=True, of=of.name))
        given.clear()
        given.update(after)

    def _require(self, left: Expr, right: int) -> None:
        """Record ``left >= right``, at both ends of every index around the repeat."""
        ends = [left]
        for around in reversed(self.around[:-1]):
            if any(around.index in end.free_symbols for end in ends):
                at = (around.lo, normal(around.hi - 1))
                ends = [normal(substitute(end, {around.index.name: value})) for end in ends for value in at]
        for end in ends:
            condition = Condition("at_least", end, as_expr(right))
            if condition.is_impossible():
                raise RuleError(
                    f"the first or last iterations of repeat {self.around[-1].name} differ, and for some "
                    "iteration around it there are too few of them",
                    expected=condition.text,
                    got="a count that can be smaller",
                    fix="peel these iterations of the outer repeat by hand",
                )
            self.conditions.append(condition)


@dataclass(frozen=True, slots=True)
class _Segment:
    """A differentiated body: cotangents that enter and leave by carry slot, and totals for outer tensors."""

    repeat: Repeat
    name: str
    body: tuple[Step_, ...]
    enters: Mapping[int, str]
    leaves: Mapping[int, str]
    outer: Mapping[str, str]

    @property
    def after(self) -> Slots:
        """The carries that have a cotangent when the iteration has run backwards."""
        return frozenset(self.leaves)


def _trading(repeat: Repeat) -> RuleError:
    return RuleError(
        f"the carries of repeat {repeat.name} trade places and never settle",
        expected="carries whose need for a gradient becomes constant",
        got="a pattern that changes with each iteration",
        fix="give the repeat an integer count, or unroll two iterations into one body",
    )
