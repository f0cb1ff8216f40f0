"""The gradient of experts' weights: outer products of rows and cotangents, added up by expert."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, final

from sympy import Expr, Integer

from symacct.algebra.normal import normal
from symacct.op import Example
from symacct.ops.broadcast import aligned
from symacct.ops.gradient import GradientOp
from symacct.ops.layout import ordered, require_alike, require_index, sized
from symacct.tensor import Tensor, value

if TYPE_CHECKING:
    from collections.abc import Sequence

    from symacct.op import Call

GROUPED = "a grouped product"


@final
@dataclass(frozen=True, slots=True)
class GroupedWeightGrad(GradientOp):
    """Gradient of the experts' weights: the outer product of each row and its cotangent, added up by expert.

    Inputs: the cotangent g (the indices' axes, then out), x, and the indices. Counts, for N rows: mul N D F,
    and as many scatter_add. They add onto zeros, so that no chain saves an addition and the count does not
    depend on which experts get a row.

    Attributes:
        expert_axis: as in the forward op, as is in_axis.
        experts: the number of experts.
        axes: the weights' axes.
    """

    expert_axis: str
    in_axis: str
    experts: Expr
    axes: tuple[str, ...]

    kind: ClassVar[str] = "contraction"

    def infer(self, *ins: Tensor) -> tuple[Tensor, ...]:
        """Return the weights' axes."""
        g, x, ids = ins
        require_index(GROUPED, ids)
        require_alike(GROUPED, value(g.axes[:-1], g.dims[:-1]), ids)
        sizes = {self.expert_axis: self.experts, self.in_axis: x.dim(self.in_axis)}
        return (value(self.axes, tuple(sizes.get(axis, g.dims[-1]) for axis in self.axes), x.dtype),)

    def _points(self, ins: Sequence[Tensor]) -> Expr:
        return normal(ins[0].numel * ins[1].dim(self.in_axis))

    def issues(self, ins: Sequence[Tensor], outs: Sequence[Tensor]) -> tuple[Expr, ...]:
        """Return one read of both operands per point of the product."""
        points = self._points(ins)
        return (points, points, ins[2].numel)

    def run(self, call: Call) -> tuple[Any, ...]:
        """Make every outer product and add it at its expert."""
        xp, (g, x, ids), rows = call.xp, call.arrays, call.ins[2].axes
        (out,) = (axis for axis in self.axes if axis not in (self.expert_axis, self.in_axis))
        spread = aligned(xp, x, call.ins[1].axes, (*rows, self.in_axis, out))
        outer = spread * aligned(xp, g, (*rows, out), (*rows, self.in_axis, out))
        total = xp.scatter_add(outer, ids, call.size(self.experts))
        return (ordered(xp, total, (self.expert_axis, self.in_axis, out), self.axes),)

    def latex(self, *inputs: str) -> str:
        """Return the sum of outer products."""
        g, x, ids = inputs
        return rf"\operatorname{{scatter}}_{{{self.expert_axis}}}({x}\,{g}, {ids})"

    @classmethod
    def examples(cls) -> tuple[Example, ...]:
        """Return five rows on three experts."""
        ins = (sized(B=5, k=2, F=2), sized(B=5, D=4), sized("index", B=5, k=2))
        return (Example(cls("E", "D", Integer(3), ("E", "D", "F")), ins, frozenset()),)
