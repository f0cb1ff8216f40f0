"""Choosing the k largest scores, as a router does; the chosen experts' products are in ``grouped``."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any, ClassVar, final

from sympy import Expr, Integer

from symacct.algebra.normal import normal
from symacct.errors import GraphError, SizeError
from symacct.op import Example, Op
from symacct.ops.gradient import GradientOp
from symacct.ops.layout import position, require_floating, require_index, sized
from symacct.tensor import Tensor, value

if TYPE_CHECKING:
    from collections.abc import Sequence

    from symacct.op import Call, Emit, NodeLike


@final
@dataclass(frozen=True, slots=True)
class TopK(Op):
    """The k largest scores along an axis, largest first, and where they stand.

    Outputs: the values, and their indices, which backward reads; both have a new axis in place of the
    scores'. Counts, for E scores a row: k passes, each over the scores that are left, so k E - k (k + 1) / 2
    comparisons.

    >>> op = TopK("E", Integer(2), "k")
    >>> [out.describe() for out in op.infer(sized(B=3, E=8))]
    ['[B=3, k=2]', '[B=3, k=2]']

    Attributes:
        axis: the axis of the scores.
        k: how many are taken.
        out_axis: the name of the axis of those taken.
    """

    axis: str
    k: Expr
    out_axis: str

    kind: ClassVar[str] = "route"

    def infer(self, *ins: Tensor) -> tuple[Tensor, ...]:
        """Return values and indices."""
        (scores,) = ins
        at = position("top-k", scores, self.axis)
        require_floating("top-k", scores)
        if self.out_axis in scores.axes and self.out_axis != self.axis:
            raise GraphError(
                f"top-k makes axis {self.out_axis}, which {scores.describe()} has already",
                expected="a new name",
                got=self.out_axis,
                fix="name the axis of those taken otherwise",
            )
        if (normal(scores.dim(self.axis) - self.k)).is_negative:
            raise SizeError(
                f"top-k takes more than {scores.describe()} has along {self.axis}",
                expected=f"k of at most {scores.dim(self.axis)}",
                got=str(self.k),
                fix="take fewer",
            )
        axes = (*scores.axes[:at], self.out_axis, *scores.axes[at + 1 :])
        dims = (*scores.dims[:at], self.k, *scores.dims[at + 1 :])
        return (value(axes, dims, scores.dtype), value(axes, dims, "index"))

    def needs(self, ins: Sequence[Tensor]) -> tuple[tuple[Expr, int], ...]:
        """Return how many scores are left behind."""
        return ((normal(ins[0].dim(self.axis) - self.k), 0),)

    def vjp(self, emit: Emit, node: NodeLike, g: str, wanted: frozenset[int]) -> dict[int, str]:
        """Put each cotangent at the score it belongs to."""
        if not wanted:
            return {}
        op = TopKGrad(self.axis, emit.tensor(node.ins[0]).dim(self.axis), self.out_axis)
        return {0: emit(op, g, node.outs[1], to=0)[0]}

    def run(self, call: Call) -> tuple[Any, ...]:
        """Take the largest."""
        return call.xp.topk(call.arrays[0], call.size(self.k), call.at(self.axis))

    def latex(self, *inputs: str) -> str:
        """Return the choice of its operand."""
        return rf"\operatorname{{top}}_{{{self.axis}}}({inputs[0]})"

    @classmethod
    def examples(cls) -> tuple[Example, ...]:
        """Return the last axis, and one in the middle."""
        return (
            Example(cls("E", Integer(2), "k"), (sized(B=3, E=5),), frozenset({0})),
            Example(cls("E", Integer(2), "k"), (sized(B=2, E=4, S=3),), frozenset({0})),
        )


@final
@dataclass(frozen=True, slots=True)
class TopKGrad(GradientOp):
    """Backward of top-k: zeros, with each cotangent added at the index it was taken from.

    Inputs: the cotangent and the indices. Counts: one scatter_add for each element of the cotangent.

    Attributes:
        axis: the axis of the scores.
        count: its size.
        out_axis: the axis of those taken, in the indices.
    """

    axis: str
    count: Expr
    out_axis: str

    kind: ClassVar[str] = "route"

    def infer(self, *ins: Tensor) -> tuple[Tensor, ...]:
        """Return the axes of the scores."""
        g, ids = ins
        require_index("top-k", ids)
        at = position("top-k", ids, self.out_axis)
        axes = (*ids.axes[:at], self.axis, *ids.axes[at + 1 :])
        return (value(axes, (*ids.dims[:at], self.count, *ids.dims[at + 1 :]), g.dtype),)

    def run(self, call: Call) -> tuple[Any, ...]:
        """Number the scores of all rows in one go, add, and give the result its shape."""
        xp, count = call.xp, call.size(self.count)
        at, last = call.at(self.out_axis, 1), len(call.ins[1].axes) - 1
        order = [*(i for i in range(last + 1) if i != at), at]
        g, ids = (xp.permute(array, order) for array in call.arrays)
        shape = xp.shape(ids)
        rows = prod(shape[:-1])
        first = xp.reshape(xp.arange(rows) * count, [*shape[:-1], 1])
        total = xp.scatter_add(xp.reshape(g, [-1]), xp.reshape(ids + first, [-1]), rows * count)
        back = [*range(at), last, *range(at, last)]
        return (xp.permute(xp.reshape(total, [*shape[:-1], count]), back),)

    def latex(self, *inputs: str) -> str:
        """Return the scattered sum."""
        return rf"\operatorname{{scatter}}_{{{self.axis}}}({', '.join(inputs)})"

    @classmethod
    def examples(cls) -> tuple[Example, ...]:
        """Return two of three scores in each row."""
        ins = (sized(B=2, k=2), sized("index", B=2, k=2))
        return (Example(cls("E", Integer(3), "k"), ins, frozenset()),)
