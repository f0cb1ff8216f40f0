"""Saved activations: the forward storages that backward nodes read, each once."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from symacct.algebra.condition import Condition, merge
from symacct.algebra.normal import total
from symacct.algebra.symbols import as_expr
from symacct.derivation.ranges import Box, over_box, union
from symacct.derivation.storage import Storage
from symacct.graph import Node, Repeat, walk

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from sympy import Expr

    from symacct.derivation.differentiate import Step
    from symacct.op import Kept
    from symacct.tensor import Tensor

NEVER_SAVED = ("weight", "constant")


@dataclass(frozen=True, slots=True)
class Saved:
    """One storage kept from forward to backward.

    Attributes:
        tensor: the tensor that owns it.
        boxes: for which iterations of its path, disjoint.
        elements: its elements, all iterations together.
        maker: label of the op that made it; ``input`` for a graph input.
        readers: labels of the forward ops whose gradients read it.
        reason: why eager torch keeps a copy that the graph has no tensor for, if it is one.
    """

    tensor: Tensor
    boxes: tuple[Box, ...]
    elements: Expr
    maker: str
    readers: tuple[str, ...]
    reason: str = ""


@dataclass(slots=True)
class _Reads:
    """What was found to be read: boxes and readers by storage."""

    boxes: dict[str, list[Box]] = field(default_factory=lambda: defaultdict(list))
    readers: dict[str, dict[str, None]] = field(default_factory=lambda: defaultdict(dict))


def saved(step: Step, policy: str) -> tuple[tuple[Saved, ...], tuple[Condition, ...]]:
    """Return what is saved under a policy: ``backward``, ``torch``, ``paper`` or ``lecture``.

    Also returns the conditions under which the ranges hold.
    """
    storage = Storage(step.graph)
    reads = _Reads()
    extra: list[Saved] = []
    if policy == "lecture":
        _every_output(step, storage, reads)
    else:
        _what_backward_reads(step, storage, reads, extra, torch=policy == "torch")
    found, conditions = _collect(step, storage, reads)
    if policy == "paper":
        found = [s for s in found if s.tensor.dtype != "stat"]
    return (*found, *extra), merge(conditions)


def _collect(step: Step, storage: Storage, reads: _Reads) -> tuple[list[Saved], list[Condition]]:
    found: list[Saved] = []
    conditions: list[Condition] = []
    for name, tensor in step.graph.tensors.items():
        if name not in reads.boxes or tensor.role in NEVER_SAVED:
            continue
        boxes, needed = union(reads.boxes[name])
        conditions += needed
        conditions += (
            Condition("at_least", hi, lo) for box in boxes for lo, hi in box if not (hi - lo).is_nonnegative
        )
        indices = storage.indices(tensor.path)
        elements = total(over_box(tensor.numel, indices, box) for box in boxes)
        maker = storage.makers[name].label if name in storage.makers else "input"
        found.append(Saved(tensor, boxes, elements, maker, tuple(reads.readers[name])))
    return found, conditions


def _every_output(step: Step, storage: Storage, reads: _Reads) -> None:
    """Read the value of every op that is no view, on all its iterations."""
    for node, path in walk(step.graph.nodes):
        if isinstance(node, Node) and not node.op.alias:
            box = tuple((r.lo, r.hi) for r in path)
            root = storage.view(node.outs[0])
            reads.boxes[root].append(box)
            reads.readers[root][node.label] = None


def _what_backward_reads(
    step: Step, storage: Storage, reads: _Reads, extra: list[Saved], *, torch: bool
) -> None:
    forward = {node.label: node for node, _ in walk(step.graph.nodes) if isinstance(node, Node)}
    seen: set[tuple[str, tuple[str, ...]]] = set()
    for node, chain in _backward_nodes(step):
        ranges = {str(r.of): (r.lo, r.hi) for r in chain}
        key = (node.of, tuple(r.name for r in chain))
        origin = forward.get(node.of)
        override = (
            _torch_keeps(step, origin, step.wanted[key]) if torch and origin and key in step.wanted else None
        )
        if origin is None or override is None:
            _read(step, storage, reads, _touched(step, node), ranges, node.of)
        elif key not in seen:
            seen.add(key)
            names = [origin.ins[i] for i in sorted(override.ins)] + [
                origin.outs[i] for i in sorted(override.outs)
            ]
            _read(step, storage, reads, tuple(names), ranges, node.of)
            box = tuple(ranges[name] for name in step.graph.tensors[origin.outs[0]].path)
            extra += _copies(step, storage, origin, override, box)


def _touched(step: Step, node: Node) -> tuple[str, ...]:
    """Return the inputs that a backward node reads anything of."""
    ins, outs = ([step.tensor(name) for name in names] for names in (node.ins, node.outs))
    amounts = node.op.reads(ins, outs)
    return tuple(name for name, amount in zip(node.ins, amounts, strict=True) if amount != 0)


def _torch_keeps(step: Step, origin: Node, wanted: frozenset[int]) -> Kept | None:
    ins = [step.graph.tensors[name] for name in origin.ins]
    outs = [step.graph.tensors[name] for name in origin.outs]
    return origin.op.torch_keeps(ins, outs, wanted)


def _copies(step: Step, storage: Storage, origin: Node, kept: Kept, box: Box) -> Iterator[Saved]:
    out = step.graph.tensors[origin.outs[0]]
    indices = storage.indices(out.path)
    for reason, elements, dtype in kept.extra:
        copy = replace(out, name=f"{origin.label} ({reason})", dtype=dtype)
        yield Saved(
            copy, (box,), over_box(as_expr(elements), indices, box), origin.label, (origin.label,), reason
        )


def _read(
    step: Step,
    storage: Storage,
    reads: _Reads,
    names: tuple[str, ...],
    ranges: Mapping[str, tuple[Expr, Expr]],
    reader: str,
) -> None:
    tensors = step.graph.tensors
    for name in names:
        if name not in tensors or tensors[name].role in NEVER_SAVED:
            continue
        box = tuple(ranges[repeat] for repeat in tensors[name].path)
        for root, where in storage.resolve(name, box):
            reads.boxes[root].append(where)
            reads.readers[root][reader] = None


def _backward_nodes(step: Step) -> Iterator[tuple[Node, tuple[Repeat, ...]]]:
    for node, chain in walk(step.backward):
        if isinstance(node, Node):
            yield node, chain
