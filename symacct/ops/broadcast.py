"""Operands aligned by the names of their axes; size 1 is never stretched."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from symacct.algebra.normal import same
from symacct.errors import SizeError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sympy import Expr

    from symacct.op import Arrays
    from symacct.tensor import Tensor


def joined(what: str, ins: Sequence[Tensor]) -> tuple[tuple[str, ...], tuple[Expr, ...]]:
    """Return the axes of the first operand, then the new ones of the later operands, with their sizes.

    Raises:
        SizeError: one name has two sizes.

    >>> from symacct.algebra.symbols import symbol
    >>> from symacct.tensor import Tensor
    >>> B, D, F = symbol("B"), symbol("D"), symbol("F")
    >>> x, b, up = Tensor("x", ("B", "D"), (B, D)), Tensor("b", ("D",), (D,)), Tensor("up", ("D",), (F,))
    >>> joined("add", (b, x))
    (('D', 'B'), (D, B))
    >>> joined("add", (x, up))
    Traceback (most recent call last):
    symacct.errors.SizeError: axis D of add has two sizes
      expected  D = D (from x[B, D])
      got       D = F (from up[D=F])
      fix       sizes bound so far: B=B, D=D; name the axes apart, or make the sizes equal
    """
    bound: dict[str, tuple[Expr, Tensor]] = {}
    for tensor in ins:
        for axis, dim in zip(tensor.axes, tensor.dims, strict=True):
            first, source = bound.setdefault(axis, (dim, tensor))
            if not same(first, dim):
                shown = ", ".join(f"{name}={size}" for name, (size, _) in bound.items())
                raise SizeError(
                    f"axis {axis} of {what} has two sizes",
                    expected=f"{axis} = {first} (from {source.describe()})",
                    got=f"{axis} = {dim} (from {tensor.describe()})",
                    fix=f"sizes bound so far: {shown}; name the axes apart, or make the sizes equal",
                )
    return tuple(bound), tuple(dim for dim, _ in bound.values())


def aligned(xp: Arrays, array: Any, axes: tuple[str, ...], onto: tuple[str, ...]) -> Any:
    """Return the array with its axes in the order of ``onto``, and size 1 for those it lacks."""
    order = [axes.index(axis) for axis in onto if axis in axes]
    moved = array if order == sorted(order) else xp.permute(array, order)
    if len(axes) == len(onto):
        return moved
    sizes = xp.shape(array)
    return xp.reshape(moved, [sizes[axes.index(axis)] if axis in axes else 1 for axis in onto])
