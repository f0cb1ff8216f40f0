"""The array module that ops run on, by torch."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

from symacct.errors import unknown

if TYPE_CHECKING:
    from collections.abc import Sequence

DTYPES = {
    "fp64": "float64", "fp32": "float32", "bf16": "bfloat16", "fp16": "float16",
    "fp8_e4m3": "float8_e4m3fn", "fp8_e5m2": "float8_e5m2", "int8": "int8",
    "mask": "bool", "index": "int64",
}  # fmt: skip
"""What torch calls a dtype; ``float`` and ``stat`` are the module's own choice."""


class TorchArrays:
    """Torch behind the :class:`symacct.op.Arrays` protocol.

    Values are made in one floating dtype, random masks by one seeded generator, so that two of the same
    seed draw the same masks.

    >>> import torch
    >>> xp = TorchArrays(torch, "fp64")
    >>> xp.argmax(torch.tensor([[1.0, 5.0], [7.0, 2.0]]), (1, 0)).item()
    1
    """

    def __init__(self, torch: Any, dtype: str = "fp32", *, seed: int = 0, device: str = "cpu") -> None:
        """Keep the module, the dtype of ``float`` and ``stat``, the device, and a generator of the seed."""
        self.torch = torch
        self.floating = dtype
        self.device = device
        self.generator = torch.Generator(device).manual_seed(seed)

    def dtype(self, name: str) -> Any:
        """Return torch's dtype of a name."""
        resolved = self.floating if name in ("float", "stat") else name
        if resolved not in DTYPES:
            raise unknown("dtype", resolved, DTYPES)
        return getattr(self.torch, DTYPES[resolved])

    def einsum(self, equation: str, *arrays: Any) -> Any:
        """Contract."""
        return self.torch.einsum(equation, *arrays)

    def exp(self, a: Any) -> Any:
        """Return e to the power a."""
        return self.torch.exp(a)

    def log(self, a: Any) -> Any:
        """Return the natural logarithm."""
        return self.torch.log(a)

    def sqrt(self, a: Any) -> Any:
        """Return the root."""
        return self.torch.sqrt(a)

    def rsqrt(self, a: Any) -> Any:
        """Return one over the root."""
        return self.torch.rsqrt(a)

    def tanh(self, a: Any) -> Any:
        """Return the hyperbolic tangent."""
        return self.torch.tanh(a)

    def erf(self, a: Any) -> Any:
        """Return the error function."""
        return self.torch.erf(a)

    def sigmoid(self, a: Any) -> Any:
        """Return the logistic function."""
        return self.torch.sigmoid(a)

    def abs(self, a: Any) -> Any:
        """Return the absolute value."""
        return self.torch.abs(a)

    def sign(self, a: Any) -> Any:
        """Return -1, 0 or 1."""
        return self.torch.sign(a)

    def square(self, a: Any) -> Any:
        """Return the square."""
        return self.torch.square(a)

    def maximum(self, a: Any, b: Any) -> Any:
        """Return the larger of each pair; ``b`` may be a number."""
        return self.torch.maximum(a, b) if self.torch.is_tensor(b) else self.torch.clamp(a, min=b)

    def where(self, condition: Any, a: Any, b: Any) -> Any:
        """Choose; one side may be a number."""
        return self.torch.where(condition, a, b)

    def mask(self, a: Any, allowed: Any, fill: float) -> Any:
        """Return a where allowed, else the number."""
        return self.torch.where(allowed, a, fill)

    def sum(self, a: Any, axes: Sequence[int]) -> Any:
        """Sum over the axes, which go."""
        return self.torch.sum(a, tuple(axes)) if axes else a

    def max(self, a: Any, axes: Sequence[int]) -> Any:
        """Return the largest over the axes, which go."""
        return self.torch.amax(a, tuple(axes)) if axes else a

    def argmax(self, a: Any, axes: Sequence[int]) -> Any:
        """Return the flat index of the largest over the axes, in their order."""
        kept = [axis for axis in range(a.dim()) if axis not in axes]
        moved = a.permute([*kept, *axes])
        return moved.reshape([*(a.shape[axis] for axis in kept), -1]).argmax(-1)

    def block_max(self, a: Any, block: int) -> Any:
        """Return, for each element of a vector, the largest of its block; the last block may be short."""
        parts = self.torch.split(a, block)
        return self.torch.cat([part.amax().expand(len(part)) for part in parts])

    def cumsum(self, a: Any, axis: int, *, reverse: bool = False) -> Any:
        """Return the running sums along an axis, from its end where they are reversed."""
        return self.torch.cumsum(a.flip(axis), axis).flip(axis) if reverse else self.torch.cumsum(a, axis)

    def topk(self, a: Any, k: int, axis: int) -> tuple[Any, Any]:
        """Return the k largest along an axis, and where they stand."""
        found = self.torch.topk(a, k, axis)
        return found.values, found.indices

    def permute(self, a: Any, order: Sequence[int]) -> Any:
        """Return a view with the axes in another order."""
        return a.permute(tuple(order))

    def reshape(self, a: Any, shape: Sequence[int]) -> Any:
        """Return the same elements in another shape."""
        return a.reshape(tuple(shape))

    def expand(self, a: Any, shape: Sequence[int]) -> Any:
        """Return a view that repeats axes of size 1."""
        return a.expand(tuple(shape))

    def concatenate(self, arrays: Sequence[Any], axis: int) -> Any:
        """Join along an axis."""
        return self.torch.cat(list(arrays), axis)

    def slice(self, a: Any, axis: int, start: int, stop: int) -> Any:
        """Return a view of a part of an axis."""
        return a.narrow(axis, start, stop - start)

    def pad(self, a: Any, axis: int, before: int, after: int) -> Any:
        """Return a copy with zeros before and after along an axis."""
        later = a.dim() - 1 - axis
        return self.torch.nn.functional.pad(a, [0, 0] * later + [before, after])

    def take(self, table: Any, ids: Any) -> Any:
        """Return rows of the table."""
        return table[ids]

    def rows(self, table: Any, ids: Any) -> Any:
        """Return rows of the table, for a product that reads them where they lie."""
        return table[ids]

    def take_along(self, a: Any, ids: Any, axis: int) -> Any:
        """Return the elements of an axis that the ids name."""
        return self.torch.take_along_dim(a, ids, axis)

    def scatter_add(self, rows: Any, ids: Any, count: int) -> Any:
        """Return ``count`` rows of zeros with the rows added where the ids say."""
        rest = tuple(rows.shape[ids.dim() :])
        zeros = self.torch.zeros((count, *rest), dtype=rows.dtype, device=rows.device)
        return zeros.index_add(0, ids.reshape(-1), rows.reshape((prod(ids.shape), *rest)))

    def one_hot(self, ids: Any, count: int) -> Any:
        """Return booleans with a last axis, true where it equals the id."""
        return ids.unsqueeze(-1) == self.arange(count)

    def arange(self, count: int) -> Any:
        """Return 0 to count - 1."""
        return self.torch.arange(count, device=self.device)

    def full(self, shape: Sequence[int], value: float) -> Any:
        """Return a value repeated."""
        return self.torch.full(tuple(shape), value, dtype=self.dtype("float"), device=self.device)

    def bernoulli(self, shape: Sequence[int], keep: float) -> Any:
        """Return booleans, true with probability ``keep``."""
        drawn = self.torch.rand(tuple(shape), generator=self.generator, device=self.device)
        return drawn < keep

    def cast(self, a: Any, dtype: str) -> Any:
        """Return the array in another dtype."""
        return a.to(self.dtype(dtype))

    def shape(self, a: Any) -> tuple[int, ...]:
        """Return the sizes."""
        return tuple(a.shape)
