"""Tensors joined, cut and padded along a named axis."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, Any, ClassVar, final

from symacct.algebra.normal import normal, total
from symacct.algebra.symbols import as_expr
from symacct.errors import GraphError, SizeError
from symacct.op import Example, Op, View
from symacct.ops.broadcast import aligned, joined
from symacct.ops.reduce import unbroadcast
from symacct.ops.transpose import require_axes
from symacct.printers import latex
from symacct.tensor import Tensor, value

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sympy import Expr

    from symacct.op import Call, Emit, NodeLike


@final
@dataclass(frozen=True, slots=True)
class Concatenate(Op):
    """Tensors copied one after the other along an axis that all have.

    ``Concatenate("S")(prompt, answer)``
    Counts: nothing; every element is read and written.

    >>> from symacct.algebra.symbols import symbol
    >>> D, S, T = symbol("D"), symbol("S"), symbol("T")
    >>> Concatenate("S").infer(Tensor("a", ("S", "D"), (S, D)), Tensor("b", ("D", "S"), (D, T)))[0].dims
    (S + T, D)

    Attributes:
        axis: the axis whose sizes add; the other axes align by name.
    """

    axis: str

    kind: ClassVar[str] = "copy"

    def infer(self, *ins: Tensor) -> tuple[Tensor, ...]:
        """Return the first tensor with the sizes of the axis added."""
        if not ins:
            raise GraphError("concatenate takes at least one tensor", expected="one or more", got="none")
        first = ins[0]
        for tensor in ins:
            require_axes("concatenate", (self.axis,), tensor)
            if sorted(tensor.axes) != sorted(first.axes) or tensor.dtype != first.dtype:
                raise GraphError(
                    "concatenate joins tensors that differ",
                    expected=f"the axes and dtype of {first.describe()} {first.dtype}",
                    got=f"{tensor.describe()} {tensor.dtype}",
                )
        rest = [_sized(t, self.axis, as_expr(1)) for t in ins]
        joined("concatenate", rest)
        return (_sized(first, self.axis, total(t.dim(self.axis) for t in ins)),)

    def vjp(self, emit: Emit, node: NodeLike, g: str, wanted: frozenset[int]) -> dict[int, str]:
        """Cut each wanted input's part out of the cotangent: views."""
        tensors = [emit.tensor(name) for name in node.ins]
        ends = list(accumulate((t.dim(self.axis) for t in tensors), lambda a, b: normal(a + b)))
        grads = {}
        for slot in sorted(wanted):
            start = ends[slot - 1] if slot else as_expr(0)
            (part,) = emit(Slice(self.axis, start, ends[slot]), g, to=slot)
            grads[slot] = unbroadcast(emit, part, tensors[slot], slot)
        return grads

    def run(self, call: Call) -> tuple[Any, ...]:
        """Align, then concatenate."""
        axes = call.outs[0].axes
        parts = [aligned(call.xp, a, t.axes, axes) for a, t in zip(call.arrays, call.ins, strict=True)]
        return (call.xp.concatenate(parts, axes.index(self.axis)),)

    def latex(self, *inputs: str) -> str:
        """Return the operands in brackets."""
        parts = r";\,".join(inputs)
        return rf"\left[{parts}\right]_{{{self.axis}}}"

    @classmethod
    def examples(cls) -> tuple[Example, ...]:
        """Return three tensors, one with its axes in another order."""
        two, three, four = as_expr(2), as_expr(3), as_expr(4)
        ins = (value(("B", "S"), (two, three)), value(("S", "B"), (four, two)), value(("B", "S"), (two, two)))
        return (Example(cls("S"), ins, frozenset({0, 1, 2})), Example(cls("S"), ins[:2], frozenset({1})))


@final
@dataclass(frozen=True, slots=True)
class Slice(View):
    """A view of a part of an axis; no element moves.

    Attributes:
        axis: the axis.
        start: the first position.
        stop: the position after the last.
    """

    axis: str
    start: Expr
    stop: Expr

    def infer(self, *ins: Tensor) -> tuple[Tensor, ...]:
        """Return the tensor with the axis shortened."""
        (tensor,) = ins
        require_axes("slice", (self.axis,), tensor)
        end = normal(tensor.dim(self.axis) - self.stop)
        length = normal(self.stop - self.start)
        if self.start.is_negative or end.is_negative or length.is_nonpositive:
            raise SizeError(
                f"slice {self.start}:{self.stop} is not inside axis {self.axis}",
                expected=f"at least one of the positions 0 to {tensor.dim(self.axis)}",
                got=f"{self.start}:{self.stop} of {tensor.describe()}",
            )
        return (_sized(tensor, self.axis, length),)

    def needs(self, ins: Sequence[Tensor]) -> tuple[tuple[Expr, int], ...]:
        """Return where the slice begins, and how much of the axis is left behind it."""
        return ((self.start, 0), (normal(ins[0].dim(self.axis) - self.stop), 0))

    def vjp(self, emit: Emit, node: NodeLike, g: str, wanted: frozenset[int]) -> dict[int, str]:
        """Pad the cotangent with zeros."""
        if not wanted:
            return {}
        after = normal(emit.tensor(node.ins[0]).dim(self.axis) - self.stop)
        return {0: emit(Pad(self.axis, self.start, after), g, to=0)[0]}

    def run(self, call: Call) -> tuple[Any, ...]:
        """Slice."""
        return (call.xp.slice(call.arrays[0], call.at(self.axis), *map(call.size, (self.start, self.stop))),)

    def latex(self, *inputs: str) -> str:
        """Return the operand with the range below."""
        return rf"{inputs[0]}_{{{self.axis}={latex(self.start)}:{latex(self.stop)}}}"

    @classmethod
    def examples(cls) -> tuple[Example, ...]:
        """Return an inner part, and a beginning."""
        x = value(("B", "S"), (as_expr(2), as_expr(5)))
        ranges = ((1, 3), (0, 2))
        return tuple(Example(cls("S", as_expr(a), as_expr(b)), (x,), frozenset({0})) for a, b in ranges)


@final
@dataclass(frozen=True, slots=True)
class Pad(Op):
    """A copy with zeros before and after along an axis.

    Counts: nothing; the input is read, and the whole result is written.

    Attributes:
        axis: the axis.
        before: how many zeros come first.
        after: how many come last.
    """

    axis: str
    before: Expr
    after: Expr

    kind: ClassVar[str] = "copy"

    def infer(self, *ins: Tensor) -> tuple[Tensor, ...]:
        """Return the tensor with the axis lengthened."""
        (tensor,) = ins
        require_axes("pad", (self.axis,), tensor)
        return (_sized(tensor, self.axis, normal(tensor.dim(self.axis) + self.before + self.after)),)

    def needs(self, ins: Sequence[Tensor]) -> tuple[tuple[Expr, int], ...]:
        """Return how many zeros stand on each side."""
        return ((self.before, 0), (self.after, 0))

    def vjp(self, emit: Emit, node: NodeLike, g: str, wanted: frozenset[int]) -> dict[int, str]:
        """Cut the zeros' part off."""
        if not wanted:
            return {}
        stop = normal(self.before + emit.tensor(node.ins[0]).dim(self.axis))
        return {0: emit(Slice(self.axis, self.before, stop), g, to=0)[0]}

    def run(self, call: Call) -> tuple[Any, ...]:
        """Pad."""
        return (call.xp.pad(call.arrays[0], call.at(self.axis), *map(call.size, (self.before, self.after))),)

    def latex(self, *inputs: str) -> str:
        """Return the call."""
        return (
            rf"\operatorname{{pad}}_{{{self.axis}}}({inputs[0]}; {latex(self.before)}, {latex(self.after)})"
        )

    @classmethod
    def examples(cls) -> tuple[Example, ...]:
        """Return zeros on both sides."""
        x = value(("B", "S"), (as_expr(2), as_expr(3)))
        return (Example(cls("S", as_expr(1), as_expr(2)), (x,), frozenset({0})),)


def _sized(tensor: Tensor, axis: str, dim: Expr) -> Tensor:
    """Return the tensor with another size of one axis; a structural mask over that axis is dropped."""
    dims = tuple(dim if name == axis else old for name, old in zip(tensor.axes, tensor.dims, strict=True))
    mask = (
        tensor.mask if tensor.mask is not None and axis not in (tensor.mask.rows, tensor.mask.cols) else None
    )
    return value(tensor.axes, dims, tensor.dtype, mask)
