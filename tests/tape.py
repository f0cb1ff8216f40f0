"""Running ops on small arrays: sizes of examples, and a tape that runs each node as it is emitted."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import torch
from counted import TALLY

from symacct.algebra.evaluate import evaluate
from symacct.algebra.symbols import as_expr
from symacct.execution.torch_arrays import TorchArrays
from symacct.op import Call

if TYPE_CHECKING:
    from sympy import Expr

    from symacct.op import Op
    from symacct.tensor import Tensor

SIZES = {"B": 2, "S": 3, "D": 4}


def size(dim: Expr | int) -> int:
    """Return a size of an example."""
    return int(evaluate(as_expr(dim), SIZES))


def shape(tensor: Tensor) -> tuple[int, ...]:
    """Return the sizes of an example's tensor."""
    return tuple(map(size, tensor.dims))


@dataclass(frozen=True)
class Node:
    """What a vjp sees of the forward node."""

    ins: tuple[str, ...]
    outs: tuple[str, ...]


@dataclass(frozen=True)
class Ran:
    """A node that was run, with its tensors."""

    op: Op
    names: tuple[str, ...]
    ins: tuple[Tensor, ...]
    outs: tuple[Tensor, ...]
    tally: Counter[str]


class Tape:
    """Emits nodes by running them at once."""

    def __init__(self, xp: Any) -> None:
        """Start with no tensors."""
        self.xp = xp
        self.tensors: dict[str, Tensor] = {}
        self.arrays: dict[str, Any] = {}
        self.ran: list[Ran] = []

    def give(self, tensor: Tensor, array: Any) -> str:
        """Add a tensor and return its name."""
        name = f"t{len(self.tensors)}"
        self.tensors[name] = replace(tensor, name=name)
        self.arrays[name] = array
        return name

    def tensor(self, name: str) -> Tensor:
        """Return the tensor of that name."""
        return self.tensors[name]

    def __call__(self, op: Op, *ins: str, to: int | None = None) -> tuple[str, ...]:
        """Run the op."""
        tensors = tuple(map(self.tensor, ins))
        outs = op.infer(*tensors)
        TALLY.clear()
        arrays = op.run(Call(self.xp, [self.arrays[name] for name in ins], tensors, outs, size))
        self.ran.append(Ran(op, ins, tensors, outs, Counter(TALLY)))
        return tuple(self.give(tensor, array) for tensor, array in zip(outs, arrays, strict=True))


def xp64() -> TorchArrays:
    """Return torch in double precision; equal seeds draw equal masks."""
    return TorchArrays(torch, "fp64", seed=3)
