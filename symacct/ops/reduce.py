"""Reductions over named axes, and what their gradients are made of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, final

from symacct.algebra.normal import product, same
from symacct.algebra.symbols import as_expr
from symacct.errors import GraphError, SizeError, unknown
from symacct.op import Example, Op, View
from symacct.ops.broadcast import aligned
from symacct.ops.reduce_grad import MaxGrad, MeanGrad
from symacct.ops.transpose import Transpose, require_axes
from symacct.tensor import Tensor, value

if TYPE_CHECKING:
    from sympy import Expr

    from symacct.op import Arrays, Call, Emit, NodeLike

HOWS = ("sum", "mean", "max")


@final
@dataclass(frozen=True, slots=True)
class Reduce(Op):
    """The sum, mean or largest element over named axes.

    ``Reduce("sum", ("B", "S"))(x)``
    Counts: one add (or max) for each element read and one chain for each result; a mean divides once more.
    A maximum has a second output, the flat index of the element over the axes; its gradient reads it.

    >>> from symacct.algebra.symbols import symbol
    >>> x = Tensor("x", ("B", "D"), (symbol("B"), symbol("D")))
    >>> op = Reduce("mean", ("D",))
    >>> op.counts((x,), op.infer(x))
    {'add': B*D, 'chain': B, 'div': B}

    Attributes:
        how: ``sum``, ``mean`` or ``max``.
        axes: the axes that go.
    """

    how: str
    axes: tuple[str, ...]

    def __post_init__(self) -> None:
        """Refuse an unknown reduction, no axis at all, and one axis twice."""
        if self.how not in HOWS:
            raise unknown("reduction", self.how, HOWS)
        if not self.axes or len(set(self.axes)) != len(self.axes):
            raise GraphError(
                f"{self.how} needs axes to go, each once",
                expected="one axis or more, each once",
                got=" ".join(self.axes) or "none",
            )

    kind: ClassVar[str] = "reduction"

    def infer(self, *ins: Tensor) -> tuple[Tensor, ...]:
        """Return the tensor without the axes, and the index of a maximum."""
        (tensor,) = ins
        require_axes(self.how, self.axes, tensor)
        if not tensor.floating:
            raise GraphError(
                f"{self.how} does not take {tensor.describe()}",
                expected="a value",
                got=tensor.dtype,
                fix="cast it",
            )
        axes = self._kept(tensor)
        dims = tuple(tensor.dim(axis) for axis in axes)
        out = value(axes, dims, tensor.dtype, tensor.mask)
        return (out, value(axes, dims, "index")) if self.how == "max" else (out,)

    def _kept(self, tensor: Tensor) -> tuple[str, ...]:
        return tuple(axis for axis in tensor.axes if axis not in self.axes)

    def vjp(self, emit: Emit, node: NodeLike, g: str, wanted: frozenset[int]) -> dict[int, str]:
        """Expand the cotangent, of a mean after dividing it; put that of a maximum in its place."""
        if not wanted:
            return {}
        tensor = emit.tensor(node.ins[0])
        if self.how == "max":
            return {0: emit(MaxGrad(self.axes, tensor.axes, tensor.dims), g, node.outs[1], to=0)[0]}
        if self.how == "mean":
            (g,) = emit(MeanGrad(product(tuple(map(tensor.dim, self.axes)))), g, to=0)
        return {0: emit(Expand(tensor.axes, tensor.dims), g, to=0)[0]}

    def run(self, call: Call) -> tuple[Any, ...]:
        """Sum; or find the index of the maximum over the axes, flattened, and take it."""
        xp, (array,), (tensor,) = call.xp, call.arrays, call.ins
        if self.how == "max":
            flat = self._flat(xp, array, tensor)
            index = xp.argmax(flat, (len(call.outs[0].axes),))
            sizes = xp.shape(index)
            picked = xp.take_along(flat, xp.reshape(index, (*sizes, 1)), len(sizes))
            return (xp.reshape(picked, sizes), index)
        total = xp.sum(array, tuple(map(tensor.axes.index, self.axes)))
        return (total / call.size(product(map(tensor.dim, self.axes))) if self.how == "mean" else total,)

    def _flat(self, xp: Arrays, array: Any, tensor: Tensor) -> Any:
        """Return the array with the axes that go merged into one, at the end."""
        order = [tensor.axes.index(axis) for axis in (*self._kept(tensor), *self.axes)]
        moved = xp.permute(array, order)
        return xp.reshape(moved, (*xp.shape(moved)[: -len(self.axes)], -1))

    def native(self, torch: Any, call: Call) -> tuple[Any, ...]:
        """Call torch's own reduction."""
        (array,), (tensor,) = call.arrays, call.ins
        if self.how == "mean":
            return (torch.mean(array, tuple(map(tensor.axes.index, self.axes))),)
        if self.how == "max":
            return tuple(torch.max(self._flat(call.xp, array, tensor), -1))
        return self.run(call)

    def latex(self, *inputs: str) -> str:
        r"""Return ``\sum_{D} x``, or ``\max_{D} x``."""
        sign = {"sum": r"\sum", "mean": r"\operatorname{mean}", "max": r"\max"}[self.how]
        axes = r"\,".join(self.axes)
        return rf"{sign}_{{{axes}}} {inputs[0]}"

    @classmethod
    def examples(cls) -> tuple[Example, ...]:
        """Return each reduction over one axis, two out of order, and all."""
        x = value(("B", "S", "D"), (as_expr(2), as_expr(3), as_expr(4)))
        axes = (("D",), ("D", "B"), ("S",), ("B", "S", "D"))
        return tuple(Example(cls(how, some), (x,), frozenset({0})) for how in HOWS for some in axes)


@final
@dataclass(frozen=True, slots=True)
class Expand(View):
    """A view that repeats a tensor along axes it lacks; no element moves.

    Attributes:
        axes: all the axes of the result, in order.
        dims: their sizes.
    """

    axes: tuple[str, ...]
    dims: tuple[Expr, ...]

    def infer(self, *ins: Tensor) -> tuple[Tensor, ...]:
        """Return the tensor with all the axes; its own keep their sizes."""
        (tensor,) = ins
        sizes = dict(zip(self.axes, self.dims, strict=True))
        for axis, dim in zip(tensor.axes, tensor.dims, strict=True):
            if axis not in sizes or not same(sizes[axis], dim):
                raise SizeError(
                    f"axis {axis} cannot be expanded",
                    expected=f"{axis} = {dim} among the axes of the result",
                    got=", ".join(f"{name} = {size}" for name, size in sizes.items()),
                    fix="keep the tensor's own axes and sizes; size 1 is not stretched",
                )
        return (value(self.axes, self.dims, tensor.dtype, tensor.mask),)

    def vjp(self, emit: Emit, node: NodeLike, g: str, wanted: frozenset[int]) -> dict[int, str]:
        """Sum over the axes that the input lacks."""
        return {0: unbroadcast(emit, g, emit.tensor(node.ins[0]), 0)} if wanted else {}

    def run(self, call: Call) -> tuple[Any, ...]:
        """Align, then repeat."""
        moved = aligned(call.xp, call.arrays[0], call.ins[0].axes, self.axes)
        return (call.xp.expand(moved, [call.size(dim) for dim in self.dims]),)

    def latex(self, *inputs: str) -> str:
        """Return the operand, its new axes below."""
        axes = r"\,".join(self.axes)
        return rf"\operatorname{{expand}}_{{{axes}}}({inputs[0]})"

    @classmethod
    def examples(cls) -> tuple[Example, ...]:
        """Return a vector repeated, and axes put around others in another order."""
        two, three, four = as_expr(2), as_expr(3), as_expr(4)
        vector, matrix = value(("D",), (four,)), value(("B", "D"), (two, four))
        repeated = cls(("B", "D"), (two, four))
        around = cls(("D", "S", "B"), (four, three, two))
        return (Example(repeated, (vector,), frozenset({0})), Example(around, (matrix,), frozenset({0})))


def unbroadcast(emit: Emit, g: str, tensor: Tensor, slot: int) -> str:
    """Emit the sum of a cotangent over the axes that ``tensor`` lacks, in the order of its axes."""
    missing = tuple(axis for axis in emit.tensor(g).axes if axis not in tensor.axes)
    if missing:
        (g,) = emit(Reduce("sum", missing), g, to=slot)
    if emit.tensor(g).axes != tensor.axes:
        (g,) = emit(Transpose(tensor.axes), g, to=slot)
    return g
