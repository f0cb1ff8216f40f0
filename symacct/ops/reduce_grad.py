"""The gradients of means and maxima."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any, ClassVar, final

from symacct.algebra.symbols import as_expr
from symacct.errors import RuleError
from symacct.op import Example, Op
from symacct.printers import latex
from symacct.tensor import Tensor, value

if TYPE_CHECKING:
    from sympy import Expr

    from symacct.op import Call, Emit, NodeLike


@final
@dataclass(frozen=True, slots=True)
class MeanGrad(Op):
    """The cotangent of a mean, shared out: divided by the number of elements, before it is expanded.

    Attributes:
        count: how many elements the mean was of.
    """

    count: Expr

    kind: ClassVar[str] = "reduction"

    def infer(self, *ins: Tensor) -> tuple[Tensor, ...]:
        """Return a tensor like the cotangent."""
        return (value(ins[0].axes, ins[0].dims, ins[0].dtype, ins[0].mask),)

    def vjp(self, emit: Emit, node: NodeLike, g: str, wanted: frozenset[int]) -> dict[int, str]:
        """Divide once more."""
        return {0: emit(self, g, to=0)[0]} if wanted else {}

    def run(self, call: Call) -> tuple[Any, ...]:
        """Divide."""
        return (call.arrays[0] / call.size(self.count),)

    def latex(self, *inputs: str) -> str:
        """Return the quotient."""
        return rf"\frac{{{inputs[0]}}}{{{latex(self.count)}}}"

    @classmethod
    def examples(cls) -> tuple[Example, ...]:
        """Return a mean over six elements."""
        return (Example(cls(as_expr(6)), (value(("B",), (as_expr(2),)),), frozenset({0})),)


@final
@dataclass(frozen=True, slots=True)
class MaxGrad(Op):
    """The cotangent of a maximum put where the element came from, zeros elsewhere.

    Its inputs are the cotangent and the flat index over ``axes``.

    Attributes:
        axes: the axes of the maximum, in the order of the flat index.
        into: all the axes of the result.
        dims: their sizes.
    """

    axes: tuple[str, ...]
    into: tuple[str, ...]
    dims: tuple[Expr, ...]

    kind: ClassVar[str] = "reduction"

    def infer(self, *ins: Tensor) -> tuple[Tensor, ...]:
        """Return the tensor that the maximum read."""
        return (value(self.into, self.dims, ins[0].dtype, ins[0].mask),)

    def vjp(self, emit: Emit, node: NodeLike, g: str, wanted: frozenset[int]) -> dict[int, str]:
        """Refuse: the gradient is differentiated once."""
        raise RuleError(
            "the gradient of a maximum has no derivative rule",
            expected="a loss that is differentiated once",
            got=f"the gradient of {node.outs[0]}",
        )

    def run(self, call: Call) -> tuple[Any, ...]:
        """Scatter into rows of the axes merged at the end, then put the axes in order."""
        xp, g, index = call.xp, *call.arrays
        sizes = dict(zip(self.into, map(call.size, self.dims), strict=True))
        row, rows = prod(sizes[axis] for axis in self.axes), call.size(call.ins[0].numel)
        places = xp.arange(rows) * row + xp.reshape(index, [rows])
        flat = xp.scatter_add(xp.reshape(g, [rows]), places, rows * row)
        merged = (*call.ins[0].axes, *self.axes)
        whole = xp.reshape(flat, [sizes[axis] for axis in merged])
        return (xp.permute(whole, [merged.index(axis) for axis in self.into]),)

    def latex(self, *inputs: str) -> str:
        """Return the cotangent scattered by the index."""
        return rf"\operatorname{{scatter}}({', '.join(inputs)})"

    @classmethod
    def examples(cls) -> tuple[Example, ...]:
        """Return the gradient of a maximum over the last and the first of three axes."""
        dims = (as_expr(2), as_expr(3), as_expr(4))
        g, index = value(("S",), dims[1:2]), value(("S",), dims[1:2], "index")
        return (Example(cls(("D", "B"), ("B", "S", "D"), dims), (g, index), frozenset()),)
