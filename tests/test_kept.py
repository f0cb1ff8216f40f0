"""What backward reads of the forward pass, against what eager torch packs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from examples import DIFFERENTIABLE, as_torch, differentiated, inputs, over
from tape import size, xp64

from symacct.op import Call
from symacct.ops.cast import Cast
from symacct.ops.dropout import Dropout
from symacct.ops.elementwise import Elementwise
from symacct.ops.join import Concatenate, Pad, Slice
from symacct.ops.reduce import Expand, Reduce
from symacct.ops.transpose import Transpose

if TYPE_CHECKING:
    from symacct.op import Example
    from symacct.tensor import Tensor

PLAIN = (Elementwise, Reduce, Dropout, Concatenate, Slice, Pad, Cast, Transpose, Expand)


@over({name: example for name, example in DIFFERENTIABLE.items() if type(example.op) in PLAIN})
def test_backward_keeps_what_torch_keeps(example: Example) -> None:
    """The forward tensors that the gradient's nodes read are those that eager torch packs."""
    tape, node, _ = differentiated(example, xp64(), as_torch)
    read = {name for ran in tape.ran[1:] for name in ran.names}
    ours = {
        (side, slot)
        for side, names in (("in", node.ins), ("out", node.outs))
        for slot, name in enumerate(names)
        if name in read
    }
    outs = tuple(map(tape.tensor, node.outs))
    kept = example.op.torch_keeps(example.ins, outs, example.wanted)
    if kept is not None:
        ours = {("in", slot) for slot in kept.ins} | {("out", slot) for slot in kept.outs}
    packed, found = packed_by_torch(example, outs)
    assert found == ours
    extra = [] if kept is None else [size(elements) for _, elements, _ in kept.extra]
    assert sorted(t.numel() for t in packed) == sorted(extra)


def packed_by_torch(example: Example, outs: tuple[Tensor, ...]) -> tuple[list[Any], set[tuple[str, int]]]:
    """Return what torch packs: tensors that are neither inputs nor outputs, and which inputs and outputs."""
    arrays = [torch.as_tensor(a) for a in inputs(example)]
    for slot in example.wanted:
        arrays[slot].requires_grad_()
    packed: list[Any] = []
    with torch.autograd.graph.saved_tensors_hooks(lambda t: packed.append(t.detach()), lambda t: t):
        results = example.op.native(torch, Call(xp64(), arrays, example.ins, outs, size))
    places = {a.untyped_storage().data_ptr(): ("in", slot) for slot, a in enumerate(arrays)}
    places |= {a.untyped_storage().data_ptr(): ("out", slot) for slot, a in enumerate(results)}
    found = [(t, places.get(t.untyped_storage().data_ptr())) for t in packed]
    return [t for t, place in found if place is None], {place for _, place in found if place is not None}
