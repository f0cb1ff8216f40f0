"""The examples of every op, with arrays for them, and their gradients run on a tape."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import torch
from tape import Node, Tape, shape, size, xp64

from symacct.op import Call
from symacct.ops import OPS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from symacct.op import Example
    from symacct.tensor import Tensor

EXAMPLES: dict[str, Example] = {
    f"{kind.__name__}-{place}": example for kind in OPS for place, example in enumerate(kind.examples())
}
DIFFERENTIABLE = {name: example for name, example in EXAMPLES.items() if example.wanted}


def over(examples: Mapping[str, Example]) -> pytest.MarkDecorator:
    """Return the mark that runs a test on each of the examples."""
    return pytest.mark.parametrize("example", [pytest.param(one, id=name) for name, one in examples.items()])


def drawn(tensors: Sequence[Tensor], *, positive: bool) -> list[np.ndarray]:
    """Return random arrays for the tensors, away from zero."""
    rng = np.random.default_rng(7)
    arrays: list[Any] = []
    for tensor in tensors:
        if tensor.dtype == "index":
            arrays.append(rng.integers(0, 2, shape(tensor)))
        elif tensor.dtype == "mask":
            arrays.append(rng.random(shape(tensor)) < 0.6)
        else:
            signs = 1 if positive else rng.choice([-1, 1], shape(tensor))
            arrays.append(np.asarray(rng.uniform(0.3, 1.5, shape(tensor)) * signs))
    return arrays


def inputs(example: Example) -> list[np.ndarray]:
    """Return arrays on which the op is finite: signed ones, or positive ones where that needs it."""
    arrays = drawn(example.ins, positive=False)
    outs = example.op.infer(*example.ins)
    values = example.op.run(Call(xp64(), [torch.as_tensor(a) for a in arrays], example.ins, outs, size))
    finite = all(bool(torch.isfinite(v).all()) for v in values)
    return arrays if finite else drawn(example.ins, positive=True)


def cotangent(like: Any) -> np.ndarray:
    """Return a random cotangent."""
    return np.asarray(np.random.default_rng(11).uniform(0.5, 1.5, np.shape(like)))


def differentiated(example: Example, xp: Any, convert: Any) -> tuple[Tape, Node, dict[int, str]]:
    """Run an example and its vjp on a tape."""
    tape = Tape(xp)
    ins = tuple(tape.give(t, convert(t, a)) for t, a in zip(example.ins, inputs(example), strict=True))
    node = Node(ins, tape(example.op, *ins))
    if not example.wanted:
        return tape, node, {}
    out = tape.tensor(node.outs[0])
    g = tape.give(replace(out, role="gradient"), convert(out, cotangent(np.zeros(shape(out)))))
    return tape, node, example.op.vjp(tape, node, g, example.wanted)


def as_torch(_: Tensor, array: np.ndarray) -> Any:
    """Return an array of torch."""
    return torch.as_tensor(array)
