"""The types of a schedule: storages, loops, steps, and what autograd knows of a forward pass."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sympy import Integer

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from sympy import Expr

    from symacct.nodes import Node
    from symacct.tensor import Tensor

ZERO = Integer(0)

FIXED = ("weight", "constant", "input", "cache")
"""Roles of tensors that live through the whole step, whoever reads them."""

LEAVES = ("weight", "input")
"""Roles of tensors whose gradient is accumulated."""


@dataclass(slots=True, eq=False)
class Storage:
    """One storage, from the step that makes it to its last reader.

    Attributes:
        tensor: what it holds; its sizes are those of the iteration ``at``.
        kind: value, recomputed, gradient or parameter gradient, loss.
        at: the iteration of each repeat in the tensor's path.
        fixed: whether it lives through the whole step and is counted elsewhere.
        saved: whether it is kept for backward.
        born: the step that made it.
        last: the last step that reads it.
        forever: whether it outlives the schedule.
        whole: whether it lives to the end of its micro-batch, whatever runs last there.
    """

    tensor: Tensor
    kind: str
    at: tuple[int, ...]
    fixed: bool = False
    saved: bool = False
    born: int = -1
    last: int = -1
    forever: bool = False
    whole: bool = False

    @property
    def dtype(self) -> str:
        """The dtype of an element."""
        return self.tensor.dtype


@dataclass(frozen=True, slots=True)
class Mark:
    """One turn of a loop of the schedule: its name, which turn in order of execution, how many there are.

    ``count`` is the number of turns as a formula, ``turns`` the number here.
    """

    loop: str
    turn: int
    turns: int
    count: Expr


Marks = tuple[Mark, ...]


@dataclass(frozen=True, slots=True)
class Action:
    """One step of the schedule: an op that runs, where it stands in the loops, what it makes."""

    label: str
    phase: str
    marks: Marks
    makes: tuple[Storage, ...]
    runs: bool
    at: Mapping[str, int]


@dataclass(slots=True, eq=False)
class Value:
    """A tensor that autograd knows: which storage it is, and whether a gradient is wanted."""

    tensor: Tensor
    storage: Storage
    need: bool
    born: int = -1
    """The step that made it; -1 for a leaf."""


Held = tuple[Value, Storage, bool]
"""What a boundary holds: a value, the storage that stands for it there, and a flag."""


@dataclass(frozen=True, slots=True)
class Boundary:
    """What lives on into a turn of a loop.

    Attributes:
        marks: the loops around, and the loop with the turn that begins; after its last turn, their number.
        at: the iteration of each repeat there.
        held: forward, the carried values and whether each wants a gradient; backward, the cotangents that
            wait and whether each is strided; for micro-batches, the leaves whose gradients are there.
        ordered: whether the places in ``held`` have a meaning: carries have, cotangents that wait have not.
    """

    marks: Marks
    at: Mapping[str, int]
    held: tuple[Held, ...]
    ordered: bool


@dataclass(slots=True, eq=False)
class Instance:
    """A node in one iteration."""

    node: Node
    ins: tuple[Value, ...]
    outs: tuple[Value, ...]
    marks: Marks
    at: Mapping[str, int]
    segment: Segment | None
    need: bool
    wanted: frozenset[int]
    """The input slots that a gradient is wanted for."""
    extra: list[Storage] = field(default_factory=list)

    @property
    def made(self) -> tuple[Value, ...]:
        """The values that have storages of their own: a view has not."""
        return self.outs[1 if self.node.op.alias else 0 :]

    def storage(self, name: str) -> Storage:
        """Return the storage of one of the node's tensors, as backward reads it."""
        ins, outs = self.node.ins, self.node.outs
        found = (self.ins[ins.index(name)] if name in ins else self.outs[outs.index(name)]).storage
        return found if self.segment is None else self.segment.now(found)


@dataclass(slots=True, eq=False)
class Segment:
    """Instances that are run again together, those of the segments inside it too.

    Attributes:
        depth: the number of loops around the segment.
        parent: the segment that it stands in: when that runs again, this one runs without saving anything.
        start: how many instances its parent had before it.
        children: the segments that stand in it.
        instances: its ops, in order.
        before: ops that run before it when it runs again, and save nothing.
        again: the storages that running it again has made, by the id of those of the forward pass.
        inputs: what it is run again from.
        enters: the same in the forward pass, once it is known.
        ran: whether it has run again.
        shorter: where nothing is stored, how many turns of the loops around it run again, the last of them
            up to the segment: a number, and as a formula.
    """

    depth: int
    parent: Segment | None = None
    start: int = 0
    children: list[Segment] = field(default_factory=list)
    instances: list[Instance] = field(default_factory=list)
    before: list[Instance] = field(default_factory=list)
    again: dict[int, Storage] = field(default_factory=dict)
    inputs: list[Storage] = field(default_factory=list)
    enters: list[Storage] | None = None
    ran: bool = False
    shorter: Mapping[str, tuple[int, Expr]] = field(default_factory=dict)

    @property
    def around(self) -> Iterator[Segment]:
        """The segment and those that it stands in, the innermost first."""
        one: Segment | None = self
        while one is not None:
            yield one
            one = one.parent

    @property
    def end(self) -> int:
        """How many instances its parent has up to its end."""
        return self.start + len(self.instances)

    def now(self, storage: Storage) -> Storage:
        """Return what stands for a storage of the forward pass where this segment runs again."""
        for one in self.around:
            if id(storage) in one.again:
                return one.again[id(storage)]
        return storage


@dataclass(frozen=True, slots=True)
class Choices:
    """What a schedule depends on beside the graph; see :class:`symacct.policy.Policy`."""

    saves: str
    recompute: str
    hold_output: bool
    grads: str
    update: str
    input_grad: bool
    micro: int
    micro_count: Expr
    given: bool = False
    """Whether cotangents of the outputs are given, and there is no loss."""


@dataclass(frozen=True, slots=True)
class Schedule:
    """A training step at integer counts.

    Attributes:
        actions: the steps in order of execution.
        storages: everything that is made, in order of birth.
        backward: the first action of the first backward pass.
        inputs: graph inputs that backward reads.
        boundaries: what lives on from turn to turn of each loop.
    """

    actions: tuple[Action, ...]
    storages: tuple[Storage, ...]
    backward: int
    inputs: tuple[str, ...]
    boundaries: tuple[Boundary, ...]


def entering(segment: Segment) -> list[Storage]:
    """Return the storages that a segment that has ended reads and does not make."""
    if segment.enters is None:
        todo = [*segment.before, *segment.instances]
        inside = {id(v.storage) for one in todo for v in one.made}
        inputs = {id(v.storage): v.storage for one in todo for v in one.ins}
        segment.enters = [s for key, s in inputs.items() if key not in inside and passing(s)]
    return segment.enters


def handed(segment: Segment) -> bool:
    """Say whether a segment that has ended reads anything that an op before it has made, views included."""
    made = {id(v) for one in segment.instances for v in one.outs}
    return any(v.tensor.role not in FIXED for one in segment.instances for v in one.ins if id(v) not in made)


def passing(storage: Storage) -> bool:
    """Say whether a segment's input is kept for it: parameters and constants live anyway."""
    return not storage.fixed or storage.tensor.role == "input"
