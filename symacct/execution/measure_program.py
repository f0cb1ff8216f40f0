"""A step at integer sizes as a flat list of calls: nothing but the calls themselves is left to time.

Repeats are written out, sizes are numbers, and an array is dropped after the last call that reads it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from math import prod, sqrt
from typing import TYPE_CHECKING, Any

from symacct.errors import LimitError, RuleError
from symacct.execution import values
from symacct.execution.interpret import Key, Place, Store
from symacct.nodes import Node, Repeat, Step_
from symacct.op import Call as Use
from symacct.policy import DTYPE_BITS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from symacct.derivation.differentiate import Step
    from symacct.execution.torch_arrays import TorchArrays
    from symacct.tensor import Tensor

    Way = Callable[[Sequence[Any]], tuple[Any, ...]]

MOST_CALLS = 100_000
FORWARD, BACKWARD = "forward", "backward"
Name = tuple[str, str]


@dataclass(slots=True, eq=False)
class Call:
    """One op in one iteration.

    Attributes:
        name: its phase and label.
        ins: what it reads.
        outs: what it makes.
        ways: how to run it; the first is used.
        nbytes: bytes of what it makes; 0 for a view.
        dies: what nothing reads after it.
    """

    name: Name
    ins: tuple[Key, ...]
    outs: tuple[Key, ...]
    ways: tuple[Way, ...]
    nbytes: tuple[Fraction, ...]
    dies: tuple[Key, ...] = ()


@dataclass(frozen=True, slots=True)
class Program:
    """The calls of a step in order.

    Attributes:
        calls: the calls.
        leaves: the bytes of what is there before.
        same: values that are another one, handed on.
    """

    calls: tuple[Call, ...]
    leaves: Fraction
    same: Mapping[Key, Key]

    @property
    def peak(self) -> Fraction:
        """Bytes alive at the worst call; what a view shows is counted until its maker's array dies."""
        alive, most = self.leaves, self.leaves
        held: dict[Key, Fraction] = {}
        for call in self.calls:
            held |= zip(call.outs, call.nbytes, strict=True)
            alive += sum(call.nbytes)
            most = max(most, alive)
            alive -= sum(held.pop(key, Fraction(0)) for key in call.dies)
        return most

    def prepare(self, leaves: Store) -> None:
        """Run once, and choose for each call the way that makes all that is read later.

        Raises:
            RuleError: torch cannot run an op here.
        """
        store = dict(leaves)
        for call in self.calls:
            try:
                made = _do(call, store)
                if any(a is None and k not in call.dies for k, a in zip(call.outs, made, strict=True)):
                    call.ways = call.ways[1:]
                    made = _do(call, store)
            except RuntimeError as error:
                what = f"torch cannot run {call.name[1]} here"
                said = str(error).strip().split("\n")[0][:120]
                raise RuleError(what, where=call.name[0], expected="an op that runs", got=said) from None
            store |= zip(call.outs, made, strict=True)
            for key in call.dies:
                store.pop(key, None)

    def run(self, leaves: Store, mark: Callable[[], Any] | None = None) -> tuple[Store, list[Any]]:
        """Run all calls; return what is left, and marks, before the first and after each, if asked for."""
        store = dict(leaves)
        marks = [] if mark is None else [mark()]
        for call in self.calls:
            store.update(zip(call.outs, call.ways[0]([store[key] for key in call.ins]), strict=True))
            for key in call.dies:
                store.pop(key, None)
            if mark is not None:
                marks.append(mark())
        return store, marks


def _do(call: Call, store: Store) -> tuple[Any, ...]:
    return call.ways[0]([store[key] for key in call.ins])


def flatten(step: Step, sizes: Mapping[str, int], xp: TorchArrays, *, backward: bool) -> Program:
    """Return the forward pass, or the whole step, as calls.

    Raises:
        LimitError: there are too many.
    """
    flat = _Flat(step, xp)
    place = Place(sizes)
    flat.walk(step.graph.nodes, place, FORWARD)
    if backward:
        flat.walk(step.backward, place, BACKWARD)
    kept = {*step.graph.outputs, *(name for names in step.gradients.values() for name in names)}
    held = {flat.same.get(key, key) for key in flat.known if key[0] in kept}
    last = {key: n for n, call in enumerate(flat.calls) for key in (*call.ins, *call.outs)}
    made = {key for call in flat.calls for key in call.outs}
    dies: dict[int, list[Key]] = {}
    for key, number in last.items():
        if key in made and key not in held:
            dies.setdefault(number, []).append(key)
    for number, keys in dies.items():
        flat.calls[number].dies = tuple(keys)
    return Program(tuple(flat.calls), flat.leaves(sizes, backward=backward), flat.same)


@dataclass(slots=True)
class _Flat:
    """Lists the calls; a carry is the array that was handed on, whatever it is called in this iteration."""

    step: Step
    xp: TorchArrays
    calls: list[Call] = field(default_factory=list)
    same: dict[Key, Key] = field(default_factory=dict)
    known: dict[Key, None] = field(default_factory=dict)

    def walk(self, nodes: tuple[Step_, ...], place: Place, phase: str) -> None:
        for node in nodes:
            if isinstance(node, Repeat):
                self._repeat(node, place, phase)
            else:
                self._node(node, place, phase)

    def _key(self, name: str, place: Place) -> Key:
        key = place.key(self.step.tensor(name))
        return self.same.get(key, key)

    def _alias(self, name: str, place: Place, key: Key) -> None:
        own = place.key(self.step.tensor(name))
        self.same[own] = key
        self.known[own] = None

    def _node(self, node: Node, place: Place, phase: str) -> None:
        ins = tuple(map(self.step.tensor, node.ins))
        outs = tuple(map(self.step.tensor, node.outs))
        xp, op, size = self.xp, node.op, place.size

        def native(arrays: Sequence[Any]) -> tuple[Any, ...]:
            return op.native(xp.torch, Use(xp, arrays, ins, outs, size))

        def primitive(arrays: Sequence[Any]) -> tuple[Any, ...]:
            return op.run(Use(xp, arrays, ins, outs, size))

        keys = tuple(place.key(tensor) for tensor in outs)
        nbytes = [Fraction(0) if op.alias and n == 0 else self._bytes(t, place) for n, t in enumerate(outs)]
        read = tuple(self._key(name, place) for name in node.ins)
        self._add(Call((phase, node.label), read, keys, (native, primitive), tuple(nbytes)))

    def _add(self, call: Call) -> None:
        if len(self.calls) >= MOST_CALLS:
            what = "a step has too many calls to be timed"
            raise LimitError(
                what, expected=f"at most {MOST_CALLS:,}", got="more", fix="choose smaller counts"
            )
        self.calls.append(call)
        self.known |= dict.fromkeys(call.outs)

    def _bytes(self, tensor: Tensor, place: Place) -> Fraction:
        named = {"mask": "int8", "index": "int64", "float": self.xp.floating, "stat": self.xp.floating}
        return Fraction(prod(place.shape(tensor))) * DTYPE_BITS[named.get(tensor.dtype, tensor.dtype)] / 8

    def _repeat(self, repeat: Repeat, place: Place, phase: str) -> None:
        names = (repeat.name,) if repeat.of is None else (repeat.name, repeat.of)
        iterations = range(place.size(repeat.lo), place.size(repeat.hi))
        carried = [None if c.init is None else self._key(c.init, place) for c in repeat.carry]
        totals: dict[str, Key] = {}
        for i in reversed(iterations) if repeat.reverse else iterations:
            inner = place.inside(names, repeat.index, i)
            for c, key in zip(repeat.carry, carried, strict=True):
                if c.enter is not None and key is not None:
                    self._alias(c.enter, inner, key)
            self.walk(repeat.body, inner, phase)
            carried = [None if c.leave is None else self._key(c.leave, inner) for c in repeat.carry]
            for inside, outside in repeat.sums:
                term = self._key(inside, inner)
                totals[outside] = self._sum(outside, totals.get(outside), term, i, place, phase)
        for c, key in zip(repeat.carry, carried, strict=True):
            if c.result is not None and key is not None:
                self._alias(c.result, place, key)
        for _, outside in repeat.sums:
            self._alias(outside, place, totals.get(outside) or self._zeros(outside, place, phase))

    def _sum(self, outside: str, total: Key | None, term: Key, i: int, place: Place, phase: str) -> Key:
        """Return the key of a sum so far with one more term."""
        if total is None:
            return term
        tensor = self.step.tensor(outside)
        made = (f"{outside} so far", (*place.key(tensor)[1], i))
        self._add(
            Call((phase, outside), (total, term), (made,), (_added,), (self._bytes(tensor, place),)),
        )
        return made

    def _zeros(self, outside: str, place: Place, phase: str) -> Key:
        tensor, xp = self.step.tensor(outside), self.xp
        shape, made = place.shape(tensor), (f"{outside} of nothing", place.key(tensor)[1])

        def zeros(_: Sequence[Any]) -> tuple[Any, ...]:
            return (xp.full(shape, 0.0),)

        self._add(Call((phase, outside), (), (made,), (zeros,), (self._bytes(tensor, place),)))
        return made

    def leaves(self, sizes: Mapping[str, int], *, backward: bool) -> Fraction:
        """Return the bytes of inputs, weights, constants, and of the cotangents given."""
        graph, place = self.step.graph, Place(sizes)
        found = [t for t in graph.tensors.values() if t.role in values.LEAVES]
        nbytes = sum(self._bytes(t, here) for t in found for here in values.places(graph, t, place))
        seeds = [self.step.tensor(name) for name in self.step.seeds] if backward else []
        return Fraction(nbytes + sum(self._bytes(tensor, place) for tensor in seeds))


def _added(arrays: Sequence[Any]) -> tuple[Any, ...]:
    total, term = arrays
    return (total + term,)


def draw(step: Step, sizes: Mapping[str, int], xp: TorchArrays, seed: int) -> Store:
    """Return values on the device for all that a step starts from; weights keep activations in range."""
    store = values.draw(step.graph, sizes, xp, seed)
    for (name, _), array in store.items():
        if step.graph.tensors[name].role == "weight" and array.dim() > 1:
            array.mul_(sqrt(2 / max(array.shape)) / values.SPREAD)
    store |= values.seeds(step, sizes, xp, seed)
    return {key: array.to(xp.device) for key, array in store.items()}
