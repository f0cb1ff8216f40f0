"""Products of routed rows with the weights of their experts; the weights' gradient is in ``grouped_grad``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, final

from sympy import Min

from symacct.algebra.normal import normal
from symacct.errors import GraphError
from symacct.op import Example, Op
from symacct.ops.attention_roles import letters
from symacct.ops.broadcast import aligned
from symacct.ops.grouped_grad import GROUPED, GroupedWeightGrad
from symacct.ops.layout import (
    ordered,
    position,
    require_axes,
    require_floating,
    require_index,
    require_sizes,
    sized,
)
from symacct.ops.reduce import Reduce
from symacct.ops.transpose import Transpose
from symacct.tensor import Tensor, value

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sympy import Expr

    from symacct.op import Call, Emit, NodeLike


@final
@dataclass(frozen=True, slots=True)
class GroupedMatmul(Op):
    """Each row times the weight of its expert; the count does not depend on how rows are spread over experts.

    Inputs: x, whose axes are those of the indices, with or without the choice axis, and the axis that is
    summed; weights (experts, in, out in any order); indices, one expert for each row and choice. Without the
    choice axis one x is shared by all its choices. Output: the indices' axes, then the weights' other axis.

    Counts, for N rows (choices counted apart): fma N D F, one chain for each element of the result.
    Of the weights at most min(E, N) experts are read: an upper bound, reached when no two rows agree.

    >>> op = GroupedMatmul("E", "D", "k")
    >>> x, w, ids = sized(B=5, D=3), sized(E=4, D=3, F=7), sized("index", B=5, k=2)
    >>> op.infer(x, w, ids)[0].describe(), str(op.active(1, (x, w, ids)))
    ('[B=5, k=2, F=7]', '42')

    Attributes:
        expert_axis: the axis of the weights that the indices choose from.
        in_axis: the axis that is summed, in x and in the weights.
        choice_axis: the axis of the indices along which one token's choices stand.
    """

    expert_axis: str
    in_axis: str
    choice_axis: str

    kind: ClassVar[str] = "contraction"

    def _out_axis(self, weights: Tensor) -> str:
        rest = [axis for axis in weights.axes if axis not in (self.expert_axis, self.in_axis)]
        if len(rest) != 1 or len(weights.axes) != 3:
            raise GraphError(
                f"{GROUPED} needs weights of experts, inputs and outputs",
                expected=f"axes {self.expert_axis}, {self.in_axis} and one more",
                got=weights.describe(),
                fix="give the weights three axes",
            )
        return rest[0]

    @property
    def chosen(self) -> frozenset[int]:
        """The weights: rows may agree on their expert."""
        return frozenset({1})

    def infer(self, *ins: Tensor) -> tuple[Tensor, ...]:
        """Return one row of outputs for each index."""
        x, weights, ids = ins
        out = self._out_axis(weights)
        require_floating(GROUPED, x)
        require_index(GROUPED, ids)
        position(GROUPED, ids, self.choice_axis)
        shared = self.choice_axis not in x.axes
        rows = tuple(axis for axis in ids.axes if not shared or axis != self.choice_axis)
        require_axes(GROUPED, x, (*rows, self.in_axis))
        require_sizes(GROUPED, x, ids)
        require_sizes(GROUPED, weights, x)
        if out in ids.axes:
            raise GraphError(
                f"{GROUPED} makes axis {out}, which {ids.describe()} has already",
                expected="an output axis with a name of its own",
                got=out,
                fix="rename the weights' output axis",
            )
        return (value((*ids.axes, out), (*ids.dims, weights.dim(out)), x.dtype),)

    def reads(self, ins: Sequence[Tensor], outs: Sequence[Tensor]) -> tuple[Expr, ...]:
        """Return x, the weights of at most as many experts as there are rows, and the indices."""
        x, weights, ids = ins
        experts = weights.dim(self.expert_axis)
        touched = normal(Min(experts, ids.numel) * (weights.numel / experts))
        return (x.numel, touched, ids.numel)

    def issues(self, ins: Sequence[Tensor], outs: Sequence[Tensor]) -> tuple[Expr, ...]:
        """Return one read of x and of the weights per point of the product."""
        points = normal(outs[0].numel * ins[0].dim(self.in_axis))
        return (points, points, ins[2].numel)

    def active(self, slot: int, ins: Sequence[Tensor]) -> Expr:
        """Return the elements of an input that one token touches: of the weights, its choices' alone."""
        if slot != 1:
            return ins[slot].numel
        _, weights, ids = ins
        return normal(weights.numel / weights.dim(self.expert_axis) * ids.dim(self.choice_axis))

    def vjp(self, emit: Emit, node: NodeLike, g: str, wanted: frozenset[int]) -> dict[int, str]:
        """Multiply by the weights the other way for x; add up products of rows for the weights."""
        x, weights = (emit.tensor(name) for name in node.ins[:2])
        out = self._out_axis(weights)
        grads = {}
        if 0 in wanted:
            back = GroupedMatmul(self.expert_axis, out, self.choice_axis)
            (grad,) = emit(back, g, *node.ins[1:], to=0)
            if self.choice_axis not in x.axes:
                (grad,) = emit(Reduce("sum", (self.choice_axis,)), grad, to=0)
            if emit.tensor(grad).axes != x.axes:
                (grad,) = emit(Transpose(x.axes), grad, to=0)
            grads[0] = grad
        if 1 in wanted:
            experts = weights.dim(self.expert_axis)
            op = GroupedWeightGrad(self.expert_axis, self.in_axis, experts, weights.axes)
            grads[1] = emit(op, g, node.ins[0], node.ins[2], to=1)[0]
        return grads

    def run(self, call: Call) -> tuple[Any, ...]:
        """Read each row's weight where it lies, and multiply."""
        (x, weights, ids), (rows, banks, chosen) = call.arrays, call.ins
        inner = (self.in_axis, self._out_axis(banks))
        taken = call.xp.rows(ordered(call.xp, weights, banks.axes, (self.expert_axis, *inner)), ids)
        return (call.xp.einsum(letters(rows.axes, (*chosen.axes, *inner), call.outs[0].axes), x, taken),)

    def native(self, torch: Any, call: Call) -> tuple[Any, ...]:
        """Loop over the experts, one linear layer each on the rows that chose it."""
        (x, weights, ids), ins = call.arrays, call.ins
        shape = [call.size(dim) for dim in ins[2].dims]
        rows = aligned(call.xp, x, ins[0].axes, (*ins[2].axes, self.in_axis)).expand(*shape, -1)
        rows, chosen = rows.reshape(-1, rows.shape[-1]), ids.reshape(-1)
        order = (self.expert_axis, self._out_axis(ins[1]), self.in_axis)
        banks = ordered(call.xp, weights, ins[1].axes, order)
        places = [(chosen == expert).nonzero().squeeze(-1) for expert in range(len(banks))]
        linear = torch.nn.functional.linear
        parts = [linear(rows[at], bank) for at, bank in zip(places, banks, strict=True) if len(at)]
        back = torch.argsort(torch.cat(places))
        return (torch.cat(parts)[back].reshape([call.size(dim) for dim in call.outs[0].dims]),)

    def latex(self, *inputs: str) -> str:
        """Return the product with the chosen weights."""
        x, weights, ids = inputs
        return rf"{x}\,{weights}[{ids}]"

    @classmethod
    def examples(cls) -> tuple[Example, ...]:
        """Return x shared by its choices, x of each choice, and axes in another order."""
        both, ids = frozenset({0, 1}), sized("index", B=2, S=2, k=2)
        op, weights = cls("E", "D", "k"), sized(E=3, D=4, F=2)
        return (
            Example(op, (sized(B=2, S=2, D=4), weights, ids), both),
            Example(op, (sized(B=2, S=2, k=2, D=4), weights, ids), both),
            Example(op, (sized(D=4, S=2, B=2), sized(F=2, E=3, D=4), ids), both),
        )
