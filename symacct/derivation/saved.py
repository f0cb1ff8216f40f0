"""Saved activations: the forward storages that backward nodes read, each once."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from symacct.algebra.condition import Condition, merge
from symacct.algebra.evaluate import substitute
from symacct.algebra.normal import normal, same, total
from symacct.algebra.symbols import as_expr
from symacct.derivation.ranges import Box, Range, at_ends, over_box, required, union
from symacct.derivation.storage import Storage
from symacct.nodes import Node, Repeat, Step_, walk

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from sympy import Expr, Symbol

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
    guards: dict[tuple[str, Box], list[tuple[Condition, ...]]] = field(
        default_factory=lambda: defaultdict(list)
    )


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
    return (*found, *extra), merge((*conditions, *storage.conditions))


def _collect(step: Step, storage: Storage, reads: _Reads) -> tuple[list[Saved], list[Condition]]:
    found: list[Saved] = []
    conditions: list[Condition] = []
    for name, tensor in step.graph.tensors.items():
        if name not in reads.boxes or tensor.role in NEVER_SAVED:
            continue
        indices = storage.indices(tensor.path)
        boxes, needed = union(reads.boxes[name], indices)
        conditions += needed
        for box in dict.fromkeys(reads.boxes[name]):
            guards = reads.guards.get((name, box), [()])
            conditions += next((guard for guard in guards if not guard), guards[0])
        for box in boxes:
            ranges = (Condition("at_least", hi, lo) for lo, hi in box if not (hi - lo).is_nonnegative)
            around = dict(zip(indices, box, strict=True))
            conditions += (c for one in ranges for c in at_ends(one, around))
        elements = total(over_box(tensor.numel, indices, box) for box in boxes)
        maker = storage.makers[name].label if name in storage.makers else "input"
        found.append(Saved(tensor, boxes, elements, maker, tuple(reads.readers[name])))
    return found, conditions


def _every_output(step: Step, storage: Storage, reads: _Reads) -> None:
    """Read the value of every op that is no view, where it has a derivative or where backward reads it."""
    makers = {node.label: node for node, _ in walk(step.graph.nodes) if isinstance(node, Node)}
    chains = {tuple(r.name for r in (*path, node)): (*path, node) for node, path in _repeats(step.backward)}
    for (label, names), slots in step.wanted.items():
        node, ranges = makers[label], _ranges(chains.get(names, ()))
        if slots and not node.op.alias and _runs(ranges):
            root = storage.view(node.outs[0])
            reads.boxes[root].append(tuple(ranges[name] for name in step.graph.tensors[node.outs[0]].path))
            reads.readers[root][label] = None
    read = _Reads()
    _what_backward_reads(step, storage, read, [], torch=False)
    results = {node.outs[0] for node in makers.values() if not node.op.alias}
    for root in (name for name in read.boxes if name in results):
        own = reads.boxes[root]
        for box in read.boxes[root]:
            if not any(_inside(box, one) for one in own):
                own.append(box)
                reads.readers[root] |= read.readers[root]
                reads.guards[root, box] += read.guards[root, box]


def _inside(box: Box, other: Box) -> bool:
    """Say whether the iterations of one box are certainly among those of another."""
    return all(
        (lo - low).is_nonnegative and (high - hi).is_nonnegative
        for (lo, hi), (low, high) in zip(box, other, strict=True)
    )


def _what_backward_reads(
    step: Step, storage: Storage, reads: _Reads, extra: list[Saved], *, torch: bool
) -> None:
    kept = _kept_by_torch(step) if torch else {}
    for node, chain in _backward_nodes(step):
        ranges = _ranges(chain)
        if (node.of, tuple(r.name for r in chain)) not in kept and _runs(ranges):
            _read(step, storage, reads, _touched(step, node), ranges, node.of)
    chains = {tuple(r.name for r in (*path, node)): (*path, node) for node, path in _repeats(step.backward)}
    for (label, names), (origin, override) in kept.items():
        ranges = _ranges(chains.get(names, ()))
        if not _runs(ranges):
            continue
        slots = [origin.ins[i] for i in sorted(override.ins)] + [
            origin.outs[i] for i in sorted(override.outs)
        ]
        _read(step, storage, reads, slots, ranges, label)
        box = tuple(ranges[name] for name in step.graph.tensors[origin.outs[0]].path)
        extra += _copies(step, storage, origin, override, box)


def _kept_by_torch(step: Step) -> dict[tuple[str, tuple[str, ...]], tuple[Node, Kept]]:
    """Return what torch keeps of each differentiated node where that is not what backward reads."""
    forward = {node.label: node for node, _ in walk(step.graph.nodes) if isinstance(node, Node)}
    found = {key: _torch_keeps(step, forward[key[0]], slots) for key, slots in step.wanted.items()}
    return {key: (forward[key[0]], kept) for key, kept in found.items() if kept is not None}


def _ranges(chain: Sequence[Repeat]) -> dict[str, Range]:
    """Return the range of each forward repeat that a chain of backward ones revisits.

    Where a range is a single iteration its index is known, and put into the ranges inside.
    """
    found: dict[str, Range] = {}
    known: dict[str, Expr] = {}
    for r in chain:
        lo, hi = (normal(substitute(end, known)) for end in (r.lo, r.hi))
        found[str(r.of)] = (lo, hi)
        if same(hi, lo + 1):
            known[r.index.name] = lo
    return found


def _runs(ranges: Mapping[str, Range]) -> bool:
    """Say whether no range is known to be empty."""
    return not any(same(hi, lo) for lo, hi in ranges.values())


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
    names: Sequence[str],
    ranges: Mapping[str, Range],
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
            reads.guards[root, where].append(_guard(storage, ranges, tensors[root].path))


def _guard(storage: Storage, ranges: Mapping[str, Range], path: tuple[str, ...]) -> tuple[Condition, ...]:
    """Return when a storage outside of some repeats is read at all: each of them must run."""
    found: list[Condition] = []
    around: dict[Symbol, Range] = {}
    for name, (lo, hi) in ranges.items():
        if name not in path:
            found += required(normal(hi - lo), 1, around)
        around[storage.repeats[name].index] = (lo, hi)
    return tuple(found)


def _repeats(nodes: tuple[Step_, ...]) -> Iterator[tuple[Repeat, tuple[Repeat, ...]]]:
    for node, path in walk(nodes):
        if isinstance(node, Repeat):
            yield node, path


def _backward_nodes(step: Step) -> Iterator[tuple[Node, tuple[Repeat, ...]]]:
    for node, chain in walk(step.backward):
        if isinstance(node, Node):
            yield node, chain
