"""Axes of operands: refusing those that do not fit, and laying arrays out by name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from symacct.algebra.normal import same
from symacct.algebra.symbols import as_expr
from symacct.errors import GraphError, SizeError
from symacct.ops.broadcast import aligned
from symacct.tensor import Tensor, value

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sympy import Expr

    from symacct.op import Arrays, Call
    from symacct.tensor import Mask


def sized(dtype: str = "float", **sizes: int) -> Tensor:
    """Return a small tensor without a name, for examples.

    >>> sized(B=2, D=3).describe()
    '[B=2, D=3]'
    """
    return value(tuple(sizes), tuple(as_expr(n) for n in sizes.values()), dtype)


def position(op: str, tensor: Tensor, axis: str) -> int:
    """Return where an axis stands in a tensor.

    Raises:
        GraphError: the tensor has no such axis.

    >>> position("softmax", sized(B=2, D=3), "D")
    1
    """
    if axis not in tensor.axes:
        raise GraphError(
            f"{op} works over axis {axis}, and {tensor.describe()} has none",
            expected=f"one of: {', '.join(tensor.axes)}" if tensor.axes else "a tensor with axes",
            got=axis,
            fix=f"name an axis of {tensor.name or 'the tensor'}, or rearrange it first",
        )
    return tensor.axes.index(axis)


def without(tensor: Tensor, axis: str) -> tuple[tuple[str, ...], tuple[Expr, ...]]:
    """Return the axes and sizes that stay when one axis goes."""
    kept = [(a, d) for a, d in zip(tensor.axes, tensor.dims, strict=True) if a != axis]
    return tuple(a for a, _ in kept), tuple(d for _, d in kept)


def require_axes(op: str, tensor: Tensor, axes: Sequence[str]) -> None:
    """Refuse a tensor whose axes are not exactly these, in any order.

    Raises:
        GraphError: an axis is missing or left over.

    >>> require_axes("embedding", sized(B=2, S=3), ("S", "B"))
    """
    if sorted(tensor.axes) != sorted(axes):
        raise GraphError(
            f"{op} cannot use {tensor.describe()}: its axes do not fit",
            expected=f"the axes {' '.join(axes)}" if axes else "no axes",
            got=f"the axes {' '.join(tensor.axes)}" if tensor.axes else "no axes",
            fix="name the axes alike, or rearrange the tensor first",
        )


def require_floating(op: str, tensor: Tensor) -> None:
    """Refuse a tensor of indices or booleans where numbers are needed.

    Raises:
        GraphError: the tensor's dtype is not a floating one.
    """
    if not tensor.floating:
        raise GraphError(
            f"{op} needs numbers, and {tensor.describe()} has none",
            expected="a floating dtype",
            got=tensor.dtype,
            fix="give it the values, not the indices",
        )


def require_index(op: str, tensor: Tensor) -> None:
    """Refuse a tensor of numbers where indices are needed.

    Raises:
        GraphError: the tensor's dtype is a floating one.
    """
    if tensor.floating:
        raise GraphError(
            f"{op} needs indices, and {tensor.describe()} holds numbers",
            expected="dtype index",
            got=tensor.dtype,
            fix='declare the input with dtype="index"',
        )


def require_sizes(op: str, tensor: Tensor, like: Tensor) -> None:
    """Refuse a tensor that shares an axis with another one at a different size.

    Raises:
        SizeError: one axis has two sizes.

    >>> require_sizes("layer norm", sized(D=3), sized(B=2, D=3))
    """
    for axis, dim in zip(tensor.axes, tensor.dims, strict=True):
        if axis in like.axes and not same(dim, like.dim(axis)):
            raise SizeError(
                f"axis {axis} of {op} has two sizes",
                expected=f"{like.dim(axis)} (from {like.describe()})",
                got=f"{dim} (from {tensor.describe()})",
                fix="name the axes apart, or make the sizes equal",
            )


def require_parameters(op: str, axis: str, ins: Sequence[Tensor], inputs: int) -> Tensor:
    """Return x, the first input, after checking it and its parameters, which are vectors of one axis.

    Raises:
        GraphError: too few or too many inputs, or axes that do not fit.
        SizeError: a parameter has another size than x.
    """
    if len(ins) != inputs:
        raise GraphError(
            f"{op} has {len(ins)} inputs",
            expected=f"{inputs}: x and its parameters",
            got=", ".join(t.describe() for t in ins),
            fix="say weight= and bias= as they are given",
        )
    position(op, ins[0], axis)
    require_floating(op, ins[0])
    for parameter in ins[1:]:
        require_axes(op, parameter, (axis,))
        require_sizes(op, parameter, ins[0])
    return ins[0]


def require_alike(op: str, tensor: Tensor, like: Tensor) -> None:
    """Refuse a cotangent whose sizes are not those of its tensor, axis by axis (names may differ).

    Raises:
        SizeError: another number of axes, or another size.
    """
    fits = len(tensor.dims) == len(like.dims) and all(map(same, tensor.dims, like.dims))
    if not fits:
        raise SizeError(
            f"{op} got a cotangent of another shape",
            expected=like.describe(),
            got=tensor.describe(),
            fix="give the cotangent the axes of the tensor it belongs to",
        )


def opened(xp: Arrays, array: Any, at: int) -> Any:
    """Return the array with an axis of size 1 put in at a position, so that it spreads over that axis."""
    shape = list(xp.shape(array))
    return xp.reshape(array, [*shape[:at], 1, *shape[at:]])


def along(xp: Arrays, vector: Any, at: int, tensor: Tensor) -> Any:
    """Return a vector laid along the axis at a position, so that it spreads over the tensor's other axes."""
    (count,) = xp.shape(vector)
    return xp.reshape(vector, [count if i == at else 1 for i in range(len(tensor.axes))])


def ordered(xp: Arrays, array: Any, axes: Sequence[str], onto: Sequence[str]) -> Any:
    """Return the array with exactly the axes of ``onto``, in that order."""
    order = [axes.index(axis) for axis in onto]
    return array if order == sorted(order) else xp.permute(array, order)


def allowed(call: Call, mask: Mask, axes: tuple[str, ...], dims: Sequence[Expr]) -> Any:
    """Return which pairs of a structural mask take part, as booleans that spread over ``axes``."""
    sizes = dict(zip(axes, dims, strict=True))
    xp, rows, cols = call.xp, call.size(sizes[mask.rows]), call.size(sizes[mask.cols])
    newest = aligned(xp, xp.arange(rows) + (cols - rows), (mask.rows,), axes)
    key = aligned(xp, xp.arange(cols), (mask.cols,), axes)
    past = key <= newest
    return past if mask.window is None else past * (key > newest - call.size(mask.window))
