"""Named axes in another order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

from symacct.algebra.symbols import as_expr
from symacct.errors import GraphError
from symacct.op import Example, View
from symacct.tensor import Tensor, value

if TYPE_CHECKING:
    from symacct.op import Call, Emit, NodeLike


@final
@dataclass(frozen=True, slots=True)
class Transpose(View):
    """A view with the axes in another order; no element moves.

    >>> from symacct.algebra.symbols import symbol
    >>> x = Tensor("x", ("B", "D"), (symbol("B"), symbol("D")))
    >>> Transpose(("D", "B")).infer(x)[0].dims
    (D, B)

    Attributes:
        axes: all the axes, in the new order.
    """

    axes: tuple[str, ...]

    def infer(self, *ins: Tensor) -> tuple[Tensor, ...]:
        """Return the tensor with its axes reordered."""
        (tensor,) = ins
        if sorted(self.axes) != sorted(tensor.axes):
            raise GraphError(
                f"transpose names other axes than {tensor.describe()} has",
                expected=f"each once: {' '.join(tensor.axes)}",
                got=" ".join(self.axes),
            )
        return (value(self.axes, tuple(map(tensor.dim, self.axes)), tensor.dtype, tensor.mask),)

    def vjp(self, emit: Emit, node: NodeLike, g: str, wanted: frozenset[int]) -> dict[int, str]:
        """Put the axes back."""
        return {0: emit(Transpose(emit.tensor(node.ins[0]).axes), g, to=0)[0]} if wanted else {}

    def run(self, call: Call) -> tuple[Any, ...]:
        """Permute."""
        return (call.xp.permute(call.arrays[0], [call.ins[0].axes.index(axis) for axis in self.axes]),)

    def latex(self, *inputs: str) -> str:
        """Return the operand with its axes below."""
        order = r"\,".join(self.axes)
        return rf"{inputs[0]}_{{{order}}}"

    @classmethod
    def examples(cls) -> tuple[Example, ...]:
        """Return a cyclic permutation, which is not its own inverse."""
        x = value(("B", "S", "D"), (as_expr(2), as_expr(3), as_expr(4)))
        return (Example(cls(("S", "D", "B")), (x,), frozenset({0})),)


def require_axes(what: str, axes: tuple[str, ...], tensor: Tensor) -> None:
    """Raise GraphError unless the tensor has each of the axes."""
    absent = [axis for axis in axes if axis not in tensor.axes]
    if absent:
        raise GraphError(
            f"{what} names axis {absent[0]}, which {tensor.describe()} has not",
            expected=f"one of: {' '.join(sorted(tensor.axes)) or 'no axis (a scalar)'}",
            got=absent[0],
        )
