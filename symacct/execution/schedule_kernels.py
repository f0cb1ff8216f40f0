"""Ops of a graph as functions that torch's autograd runs: one node each, keeping what their derivative reads.

What an op allocates inside does not count, and its results own their storages. A view's result counts as its
source's storage, even where torch has to copy it to merge axes.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from symacct.errors import RuleError
from symacct.execution.schedule_program import Form
from symacct.op import Call
from symacct.tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from symacct.execution.interpret import Key, Place, Store
    from symacct.execution.schedule_program import Instance
    from symacct.execution.torch_arrays import TorchArrays
    from symacct.execution.track import Tracker
    from symacct.op import Op

COTANGENT = "cotangent"
DRAWS = 1_000_003
"""Seeds of two runs are so far apart, and each op's is its number away."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """The derivative of an op for some inputs: its ops, what they read of forward, its results by slot."""

    steps: tuple[tuple[Form, tuple[str, ...], tuple[str, ...], tuple[str, ...]], ...]
    ins: tuple[int, ...]
    outs: tuple[int, ...]
    results: Mapping[int, str]


class Names(NamedTuple):
    """A node as a vjp sees it."""

    ins: tuple[str, ...]
    outs: tuple[str, ...]


class Recorder:
    """An emitter that writes down what a vjp emits.

    >>> from symacct.ops.elementwise import Elementwise
    >>> from symacct.ops.layout import sized
    >>> recorder = Recorder({name: sized(B=2) for name in "xwyg"}, "y")
    >>> Elementwise("mul").vjp(recorder, Names(("x", "w"), ("y",)), "g", frozenset({1}))
    {1: 'y/grad.0'}
    >>> [ins for _, ins, _ in recorder.steps]
    [('g', 'x')]
    """

    def __init__(self, tensors: dict[str, Tensor], label: str) -> None:
        """Start with the tensors that are known."""
        self.tensors = tensors
        self.label = label
        self.steps: list[tuple[Form, tuple[str, ...], tuple[str, ...]]] = []

    def tensor(self, name: str) -> Tensor:
        """Return a tensor by name."""
        return self.tensors[name]

    def __call__(self, op: Op, *ins: str, to: int | None = None) -> tuple[str, ...]:
        """Write an op down and return the names of its results."""
        del to
        tensors = tuple(self.tensors[name] for name in ins)
        made = op.infer(*tensors)
        label = f"{self.label}/grad.{len(self.steps)}"
        names = tuple(label if not slot else f"{label}.{slot}" for slot in range(len(made)))
        outs = tuple(
            Tensor(name, t.axes, t.dims, t.dtype, "gradient", (), t.mask)
            for name, t in zip(names, made, strict=True)
        )
        self.tensors |= dict(zip(names, outs, strict=True))
        self.steps.append((Form(label, op, tensors, outs), ins, names))
        return names


def derive(form: Form, wanted: frozenset[int]) -> Recipe:
    """Return the derivative of an op for the wanted inputs."""
    ins, outs = tuple(t.name for t in form.ins), tuple(t.name for t in form.outs)
    tensors = dict(zip((*ins, *outs), (*form.ins, *form.outs), strict=True))
    recorder = Recorder({**tensors, COTANGENT: form.outs[0]}, form.label)
    results = form.op.vjp(recorder, Names(ins, outs), COTANGENT, wanted)
    results = {slot: name for slot, name in results.items() if slot in wanted}
    read: set[str] = {name for name in results.values() if name in tensors}
    last: dict[str, int] = {}
    for number, (step, names, made) in enumerate(recorder.steps):
        amounts = step.op.reads(step.ins, step.outs)
        read |= {name for name, amount in zip(names, amounts, strict=True) if amount != 0 and name in tensors}
        last |= dict.fromkeys((*names, *made), number)
    kept = {*tensors, COTANGENT, *results.values()}
    dies: list[list[str]] = [[] for _ in recorder.steps]
    for name, number in last.items():
        if name not in kept:
            dies[number].append(name)
    return Recipe(
        tuple((*step, tuple(dead)) for step, dead in zip(recorder.steps, dies, strict=True)),
        tuple(slot for slot, name in enumerate(ins) if name in read and name not in ins[:slot]),
        tuple(slot for slot, name in enumerate(outs) if name in read),
        results,
    )


@dataclass(slots=True, eq=False)
class Run:
    """What the functions of one run share.

    Attributes:
        xp: the array module, whose generator starts anew for each op, so that a mask is drawn again alike.
        tracker: counts what they make.
        leaves: values that nothing makes.
        data: names of graph inputs that backward reads.
        again: ops that were run again, by label.
        backward: whether backward runs.
    """

    xp: TorchArrays
    tracker: Tracker
    leaves: Store
    seed: int
    place: Place
    data: dict[Key, None] = field(default_factory=dict)
    again: Counter[str] = field(default_factory=Counter)
    backward: bool = False
    inputs: dict[int, Key] = field(default_factory=dict)
    recipes: dict[tuple[Form, frozenset[int]], Recipe] = field(default_factory=dict)

    def recipe(self, form: Form, wanted: frozenset[int]) -> Recipe:
        """Return the derivative of an op, worked out once."""
        if (form, wanted) not in self.recipes:
            self.recipes[form, wanted] = derive(form, wanted)
        return self.recipes[form, wanted]

    def kernel(self, form: Form, arrays: Sequence[Any], number: int, names: Sequence[str]) -> tuple[Any, ...]:
        """Run an op: its results count when it is done, while its inputs live."""
        with self.tracker.suspended():
            self.xp.generator.manual_seed(self.seed * DRAWS + number)
            made = form.op.run(Call(self.xp, arrays, form.ins, form.outs, self.place.size))
            if form.op.alias:
                return (self._view(made[0], arrays[0]),)
            made = tuple(_owned(array, arrays) for array in made)
        for array, name in zip(made, names, strict=True):
            self.tracker.register(array, name)
        return made

    def _view(self, array: Any, source: Any) -> Any:
        if array.untyped_storage() is source.untyped_storage():
            return array.detach()
        copy = array.detach().clone(memory_format=self.xp.torch.contiguous_format)
        self.tracker.share(copy, source)
        return copy

    def note(self, arrays: Sequence[Any]) -> None:
        """Note what backward reads: storages, and graph inputs, which lived before."""
        for array in arrays:
            self.tracker.mark(array)
        self._note_inputs(arrays)

    def _note_inputs(self, arrays: Sequence[Any]) -> None:
        if not self.inputs:
            self.inputs |= {id(array.untyped_storage()): key for key, array in self.leaves.items()}
        found = map(self.tracker.source, arrays)
        self.data |= {self.inputs[at]: None for at in found if at in self.inputs}

    def apply(self, one: Instance, arrays: Sequence[Any]) -> tuple[Any, ...]:
        """Run an op of the forward pass, with a node of backward where something needs a gradient."""
        torch = self.xp.torch
        wanted = frozenset(slot for slot, array in enumerate(arrays) if array.requires_grad)
        if self.backward:
            self._note_inputs(arrays)
        if not wanted or not one.form.outs[0].floating or not torch.is_grad_enabled():
            return self.forward(one, arrays)
        keep, kernel, _ = functions(torch)
        slots = self.recipe(one.form, wanted).ins
        before = keep.apply(self.anchor, *(arrays[slot] for slot in slots)) if slots else None
        made: tuple[Any, ...] = kernel.apply(self, one, wanted, (before,), *arrays)
        return made

    @property
    def anchor(self) -> Any:
        """An array without elements that needs a gradient, so that a node is made."""
        with self.tracker.suspended():
            return self.xp.torch.empty(0, requires_grad=True)

    def enter(self, array: Any) -> Any:
        """Return a view that a gradient is wanted for, and no leaf: autograd would keep that."""
        with self.tracker.suspended():
            return functions(self.xp.torch)[2].apply(self.anchor, array)

    def forward(self, one: Instance, arrays: Sequence[Any]) -> tuple[Any, ...]:
        """Run the kernel of an op of the forward pass."""
        if self.backward:
            self.again[one.form.label] += 1
        return self.kernel(one.form, arrays, one.number, [written(key) for key in one.outs])

    def back(self, one: Instance, wanted: frozenset[int], kept: Sequence[Any], g: Any) -> list[Any]:
        """Run the derivative of an op and return a gradient, or None, for each of its inputs."""
        recipe = self.recipe(one.form, wanted)
        form = one.form
        read = [(form.ins[slot], one.ins[slot]) for slot in recipe.ins]
        self.note(kept)
        names = [tensor.name for tensor, _ in read] + [form.outs[slot].name for slot in recipe.outs]
        values: dict[str, Any] = {COTANGENT: g, **dict(zip(names, kept, strict=True))}
        at = written(("", one.outs[0][1]))
        for step, ins, outs, dies in recipe.steps:
            arrays = [
                values[name] if name in values else self._shape_of(tensor)
                for name, tensor in zip(ins, step.ins, strict=True)
            ]
            made = self.kernel(step, arrays, one.number, [name + at for name in outs])
            values |= dict(zip(outs, made, strict=True))
            del arrays, made
            for name in dies:
                values.pop(name, None)
        return [values[recipe.results[s]] if s in recipe.results else None for s in range(len(form.ins))]

    def _shape_of(self, tensor: Tensor) -> Any:
        """Return an array that has the shape of one of which no element is read."""
        with self.tracker.suspended():
            one = self.xp.torch.zeros((), dtype=self.xp.dtype(tensor.dtype))
            return one.expand(self.place.shape(tensor))


def _owned(array: Any, sources: Sequence[Any]) -> Any:
    """Return an array that fills a storage of its own."""
    storage = array.untyped_storage()
    shared = any(storage is source.untyped_storage() for source in sources)
    whole = array.is_contiguous() and storage.nbytes() == array.numel() * array.element_size()
    return array.detach() if whole and not shared else array.detach().contiguous().clone()


def written(key: Key) -> str:
    """Return a value's name with its iterations.

    >>> written(("layers/relu", (2,))), written(("x", ()))
    ('layers/relu[2]', 'x')
    """
    name, at = key
    return f"{name}[{', '.join(map(str, at))}]" if at else name


@cache
def functions(torch: Any) -> tuple[Any, Any, Any]:
    """Return the functions that autograd runs: keep inputs, run an op, and enter an iteration.

    Torch packs an op's inputs before its kernel, so that a recomputation can end there; a function of one's
    own packs after. Hence a function that only keeps: its node is read by the op's and never run.
    """

    class Keep(torch.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, anchor: Any, *arrays: Any) -> Any:
            ctx.save_for_backward(*arrays)
            return torch.empty_like(anchor)

        @staticmethod
        def backward(ctx: Any, *grads: Any) -> Any:
            del ctx, grads
            raise RuleError("the node that keeps inputs is read and never run")

    class Kernel(torch.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(
            ctx: Any, run: Run, one: Instance, wanted: frozenset[int], before: tuple[Any], *arrays: Any
        ) -> Any:
            made = run.forward(one, arrays)
            ctx.set_materialize_grads(False)
            ctx.mark_non_differentiable(*made[1:])
            ctx.save_for_backward(*(made[slot] for slot in run.recipe(one.form, wanted).outs))
            ctx.facts = (run, one, wanted)
            (ctx.before,) = before
            return made

        @staticmethod
        def backward(ctx: Any, *grads: Any) -> Any:
            run, one, wanted = ctx.facts
            nothing = (None, None, None, None)
            if grads[0] is None:
                return (*nothing, *(None for _ in one.ins))
            kept = [] if ctx.before is None else [*ctx.before.grad_fn.saved_tensors]
            found = run.back(one, wanted, [*kept, *ctx.saved_tensors], grads[0])
            ctx.before = None
            return (*nothing, *found)

    class Enter(torch.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, anchor: Any, array: Any) -> Any:
            del ctx, anchor
            return array.detach()

        @staticmethod
        def backward(ctx: Any, *grads: Any) -> Any:
            del ctx, grads
            raise RuleError("what is made again for backward to read is not differentiated")

    return Keep, Kernel, Enter
