"""Layer norm and RMS norm over a named axis; their backward is in ``norm_grad``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

from symacct.algebra.normal import total
from symacct.op import Example, Kept, Op
from symacct.ops.layout import along, opened, require_parameters, sized, without
from symacct.ops.norm_grad import LayerNormGrad, NormWeightGrad, RMSNormGrad
from symacct.tensor import Tensor, value

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sympy import Expr

    from symacct.op import Arrays, Emit, NodeLike, Size


@final
@dataclass(frozen=True, slots=True)
class LayerNorm(Op):
    """``(x - mean) * rstd`` over an axis, times a weight and plus a bias where it has them.

    Inputs: x, then the weight, then the bias. Outputs: y, and the statistics mean and rstd that backward
    reads. Counts, for n elements in r rows: mean (add n, div r), subtract it (sub n), variance (square n,
    add n, div r), its reciprocal root (add r, rsqrt r), scale (mul n), weight (mul n), bias (add n); two
    chains a row. Torch keeps x and both statistics whichever input trains.

    Attributes:
        axis: the axis that is normalised.
        weight: whether there is a weight (a vector of that axis).
        bias: whether there is a bias.
        eps: added to the variance.
    """

    axis: str
    weight: bool = True
    bias: bool = True
    eps: float = 1e-5

    @property
    def kind(self) -> str:
        """A norm."""
        return "norm"

    def infer(self, *ins: Tensor) -> tuple[Tensor, ...]:
        """Return the input's axes, and the statistics' axes without the normalised one."""
        x = require_parameters("layer norm", self.axis, ins, 1 + self.weight + self.bias)
        stat = value(*without(x, self.axis), "stat")
        return (value(x.axes, x.dims, x.dtype), stat, stat)

    def counts(self, ins: Sequence[Tensor], outs: Sequence[Tensor]) -> Mapping[str, Expr]:
        """Return the parts listed above."""
        n, rows = ins[0].numel, outs[1].numel
        return {
            "add": total([(2 + self.bias) * n, rows]),
            "chain": 2 * rows,
            "div": 2 * rows,
            "sub": n,
            "square": n,
            "rsqrt": rows,
            "mul": (1 + self.weight) * n,
        }

    def vjp(self, emit: Emit, node: NodeLike, g: str, wanted: frozenset[int]) -> dict[int, str]:
        """Emit one op for x, one for the weight, and a sum for the bias."""
        x, (mean, rstd) = node.ins[0], node.outs[1:]
        grads = {}
        if 0 in wanted:
            op = LayerNormGrad(self.axis, self.weight)
            grads[0] = emit(op, g, x, mean, rstd, *node.ins[1 : 1 + self.weight], to=0)[0]
        if self.weight and 1 in wanted:
            grads[1] = emit(NormWeightGrad(self.axis, centred=True), g, x, rstd, mean, to=1)[0]
        slot = 1 + self.weight
        if self.bias and slot in wanted:
            grads[slot] = _summed(emit, g, x, self.axis, slot)
        return grads

    def run(
        self, xp: Arrays, arrays: Sequence[Any], ins: Sequence[Tensor], outs: Sequence[Tensor], size: Size
    ) -> tuple[Any, ...]:
        """Centre, scale by the reciprocal root of the variance, then weight and bias."""
        del outs
        at, dim = ins[0].axes.index(self.axis), size(ins[0].dim(self.axis))
        mean = xp.sum(arrays[0], [at]) / dim
        low = arrays[0] - opened(xp, mean, at)
        rstd = xp.rsqrt(xp.sum(xp.square(low), [at]) / dim + self.eps)
        y = low * opened(xp, rstd, at)
        if self.weight:
            y = y * along(xp, arrays[1], at, ins[0])
        if self.bias:
            y = y + along(xp, arrays[-1], at, ins[0])
        return (y, mean, rstd)

    def native(
        self,
        torch: Any,
        xp: Arrays,
        arrays: Sequence[Any],
        ins: Sequence[Tensor],
        outs: Sequence[Tensor],
        size: Size,
    ) -> tuple[Any, ...]:
        """Call torch's layer_norm, which hands out no statistics."""
        del xp, outs, size
        at = ins[0].axes.index(self.axis)
        x, weight = arrays[0].movedim(at, -1), arrays[1] if self.weight else None
        bias = arrays[-1] if self.bias else None
        y = torch.nn.functional.layer_norm(x, x.shape[-1:], weight, bias, self.eps)
        return (y.movedim(-1, at), None, None)

    def torch_keeps(
        self, ins: Sequence[Tensor], outs: Sequence[Tensor], wanted: frozenset[int]
    ) -> Kept | None:
        """Return x, its statistics, weight and bias, whichever input trains."""
        del outs
        return Kept(ins=frozenset(range(len(ins))), outs=frozenset({1, 2})) if wanted else None

    def latex(self, *inputs: str) -> str:
        """Return the norm of its operands."""
        return rf"\operatorname{{layernorm}}_{{{self.axis}}}({', '.join(inputs)})"

    @classmethod
    def examples(cls) -> tuple[Example, ...]:
        """Return all four sets of parameters, and an axis in the middle."""
        x, w = sized(B=2, D=4), sized(D=4)
        return (
            Example(cls("D"), (x, w, w), frozenset({0, 1, 2})),
            Example(cls("D", bias=False), (x, w), frozenset({0, 1})),
            Example(cls("D", weight=False), (x, w), frozenset({0, 1})),
            Example(cls("D", weight=False, bias=False), (x,), frozenset({0})),
            Example(cls("D"), (sized(B=2, D=3, S=4), sized(D=3), sized(D=3)), frozenset({0, 1, 2})),
        )


@final
@dataclass(frozen=True, slots=True)
class RMSNorm(Op):
    """``x * rstd`` over an axis, times a weight where it has one; rstd is 1 / sqrt(mean(x^2) + eps).

    Inputs: x, then the weight. Outputs: y, and rstd, which backward reads. Counts, for n elements in r
    rows: mean square (square n, add n, div r), its reciprocal root (add r, rsqrt r), scale (mul n), weight
    (mul n); one chain a row. Eager torch on the CPU composes it, so that it keeps x and rstd for the
    gradient of x, and a normalised copy of x for that of the weight.

    Attributes:
        axis: the axis that is normalised.
        weight: whether there is a weight (a vector of that axis).
        eps: added to the mean square.
    """

    axis: str
    weight: bool = True
    eps: float = 1e-6

    @property
    def kind(self) -> str:
        """A norm."""
        return "norm"

    def infer(self, *ins: Tensor) -> tuple[Tensor, ...]:
        """Return the input's axes, and the statistic's axes without the normalised one."""
        x = require_parameters("RMS norm", self.axis, ins, 1 + self.weight)
        return (value(x.axes, x.dims, x.dtype), value(*without(x, self.axis), "stat"))

    def counts(self, ins: Sequence[Tensor], outs: Sequence[Tensor]) -> Mapping[str, Expr]:
        """Return the parts listed above."""
        n, rows = ins[0].numel, outs[1].numel
        return {
            "square": n,
            "add": total([n, rows]),
            "chain": rows,
            "div": rows,
            "rsqrt": rows,
            "mul": (1 + self.weight) * n,
        }

    def vjp(self, emit: Emit, node: NodeLike, g: str, wanted: frozenset[int]) -> dict[int, str]:
        """Emit one op for x and one for the weight."""
        x, rstd = node.ins[0], node.outs[1]
        grads = {}
        if 0 in wanted:
            grads[0] = emit(RMSNormGrad(self.axis, self.weight), g, x, rstd, *node.ins[1:], to=0)[0]
        if 1 in wanted:
            grads[1] = emit(NormWeightGrad(self.axis, centred=False), g, x, rstd, to=1)[0]
        return grads

    def run(
        self, xp: Arrays, arrays: Sequence[Any], ins: Sequence[Tensor], outs: Sequence[Tensor], size: Size
    ) -> tuple[Any, ...]:
        """Scale by the reciprocal root of the mean square, then by the weight."""
        del outs
        at, dim = ins[0].axes.index(self.axis), size(ins[0].dim(self.axis))
        rstd = xp.rsqrt(xp.sum(xp.square(arrays[0]), [at]) / dim + self.eps)
        y = arrays[0] * opened(xp, rstd, at)
        return (y * along(xp, arrays[1], at, ins[0]) if self.weight else y, rstd)

    def native(
        self,
        torch: Any,
        xp: Arrays,
        arrays: Sequence[Any],
        ins: Sequence[Tensor],
        outs: Sequence[Tensor],
        size: Size,
    ) -> tuple[Any, ...]:
        """Call torch's rms_norm, which hands out no statistic."""
        del xp, outs, size
        at = ins[0].axes.index(self.axis)
        x, weight = arrays[0].movedim(at, -1), arrays[1] if self.weight else None
        y = torch.nn.functional.rms_norm(x, x.shape[-1:], weight, self.eps)
        return (y.movedim(-1, at), None)

    def torch_keeps(
        self, ins: Sequence[Tensor], outs: Sequence[Tensor], wanted: frozenset[int]
    ) -> Kept | None:
        """Return x, rstd and the weight for the gradient of x, a normalised copy of x for the weight's."""
        del outs
        copy = (("normalised copy of x", ins[0].numel, ins[0].dtype),) if 1 in wanted else ()
        if 0 in wanted:
            return Kept(ins=frozenset(range(len(ins))), outs=frozenset({1}), extra=copy)
        return Kept(extra=copy) if wanted else None

    def latex(self, *inputs: str) -> str:
        """Return the norm of its operands."""
        return rf"\operatorname{{rmsnorm}}_{{{self.axis}}}({', '.join(inputs)})"

    @classmethod
    def examples(cls) -> tuple[Example, ...]:
        """Return it with and without a weight, and over an axis in the middle."""
        return (
            Example(cls("D"), (sized(B=2, D=4), sized(D=4)), frozenset({0, 1})),
            Example(cls("D", weight=False), (sized(B=2, D=4),), frozenset({0})),
            Example(cls("D"), (sized(B=2, D=3, S=4), sized(D=3)), frozenset({0, 1})),
        )


def _summed(emit: Emit, g: str, x: str, axis: str, slot: int) -> str:
    """Emit the sum of the cotangent over every axis but the normalised one, found by position."""
    from symacct.ops.reduce import Reduce

    keep = emit.tensor(x).axes.index(axis)
    axes = tuple(a for i, a in enumerate(emit.tensor(g).axes) if i != keep)
    return emit(Reduce("sum", axes), g, to=slot)[0] if axes else g
