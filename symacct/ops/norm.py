"""Layer norm and RMS norm over a named axis; their backward is in ``norm_grad``."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, final

from symacct.op import Example, Kept, Op
from symacct.ops.layout import along, opened, require_parameters, sized, without
from symacct.ops.norm_grad import NormGrad, NormWeightGrad
from symacct.ops.reduce import Reduce
from symacct.tensor import Tensor, value

if TYPE_CHECKING:
    from collections.abc import Sequence

    from symacct.op import Call, Emit, NodeLike


@dataclass(frozen=True, slots=True)
class Norm(Op):
    """x, less its mean where it is centred, over its root mean square; then a weight and a bias.

    Inputs: x, then the weight, then the bias. Outputs: y, and the statistics that backward reads: the mean
    where it is centred, and rstd.

    Attributes:
        axis: the axis that is normalised.
        weight: whether there is a weight (a vector of that axis).
    """

    title: ClassVar[str]
    centred: ClassVar[bool]

    axis: str
    weight: bool = True

    kind: ClassVar[str] = "norm"

    @property
    def bias(self) -> bool:
        """Whether there is a bias."""
        return False

    @property
    @abstractmethod
    def eps(self) -> float:
        """What is added to the mean square."""

    def infer(self, *ins: Tensor) -> tuple[Tensor, ...]:
        """Return the input's axes, and the statistics' axes without the normalised one."""
        x = require_parameters(self.title, self.axis, ins, 1 + self.weight + self.bias)
        stat = value(*without(x, self.axis), "stat")
        return (value(x.axes, x.dims, x.dtype), *(stat,) * (1 + self.centred))

    def vjp(self, emit: Emit, node: NodeLike, g: str, wanted: frozenset[int]) -> dict[int, str]:
        """Emit one op for x, one for the weight, and a sum for the bias."""
        x, stats, bias = node.ins[0], node.outs[1:], 1 + self.weight
        grads = {}
        if 0 in wanted:
            op = NormGrad(self.axis, self.centred, self.weight)
            grads[0] = emit(op, g, x, *stats, *node.ins[1:bias], to=0)[0]
        if self.weight and 1 in wanted:
            grads[1] = emit(NormWeightGrad(self.axis, self.centred), g, x, *reversed(stats), to=1)[0]
        if self.bias and bias in wanted:
            grads[bias] = _summed(emit, g, x, self.axis, bias)
        return grads

    def run(self, call: Call) -> tuple[Any, ...]:
        """Centre, scale by the reciprocal root of the mean square, then weight and bias."""
        xp, at, x = call.xp, call.at(self.axis), call.ins[0]
        dim, low = call.size(x.dim(self.axis)), call.arrays[0]
        means = [xp.sum(low, [at]) / dim] if self.centred else []
        for mean in means:
            low = low - opened(xp, mean, at)
        rstd = xp.rsqrt(xp.sum(xp.square(low), [at]) / dim + self.eps)
        y = low * opened(xp, rstd, at)
        if self.weight:
            y = y * along(xp, call.arrays[1], at, x)
        if self.bias:
            y = y + along(xp, call.arrays[-1], at, x)
        return (y, *means, rstd)

    def _last(self, call: Call) -> tuple[int, Any, Any]:
        """Return where the axis stands, x with that axis last, and the weight."""
        at = call.at(self.axis)
        return at, call.arrays[0].movedim(at, -1), call.arrays[1] if self.weight else None

    def latex(self, *inputs: str) -> str:
        """Return the norm of its operands."""
        name = self.title.lower().replace(" ", "")
        return rf"\operatorname{{{name}}}_{{{self.axis}}}({', '.join(inputs)})"


@final
@dataclass(frozen=True, slots=True)
class LayerNorm(Norm):
    """``(x - mean) * rstd`` over an axis, times a weight and plus a bias where it has them.

    Torch keeps x and both statistics whichever input trains.

    Attributes:
        axis: the axis that is normalised.
        weight: whether there is a weight (a vector of that axis).
        bias: whether there is a bias.
        eps: added to the variance.
    """

    title: ClassVar[str] = "layer norm"
    centred: ClassVar[bool] = True

    bias: bool = True
    eps: float = 1e-5

    def native(self, torch: Any, call: Call) -> tuple[Any, ...]:
        """Call torch's layer_norm, which hands out no statistics."""
        at, x, weight = self._last(call)
        bias = call.arrays[-1] if self.bias else None
        y = torch.nn.functional.layer_norm(x, x.shape[-1:], weight, bias, self.eps)
        return (y.movedim(-1, at), None, None)

    def torch_keeps(
        self, ins: Sequence[Tensor], outs: Sequence[Tensor], wanted: frozenset[int]
    ) -> Kept | None:
        """Return x, its statistics, weight and bias, whichever input trains."""
        return Kept(ins=frozenset(range(len(ins))), outs=frozenset({1, 2})) if wanted else None

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
class RMSNorm(Norm):
    """``x * rstd`` over an axis, times a weight where it has one; rstd is 1 / sqrt(mean(x^2) + eps).

    Eager torch on the CPU composes it, so that it keeps x and rstd for the gradient of x, and a normalised
    copy of x for that of the weight.

    Attributes:
        axis: the axis that is normalised.
        weight: whether there is a weight (a vector of that axis).
        eps: added to the mean square.
    """

    title: ClassVar[str] = "RMS norm"
    centred: ClassVar[bool] = False

    eps: float = 1e-6

    def native(self, torch: Any, call: Call) -> tuple[Any, ...]:
        """Call torch's rms_norm, which hands out no statistic."""
        at, x, weight = self._last(call)
        y = torch.nn.functional.rms_norm(x, x.shape[-1:], weight, self.eps)
        return (y.movedim(-1, at), None)

    def torch_keeps(
        self, ins: Sequence[Tensor], outs: Sequence[Tensor], wanted: frozenset[int]
    ) -> Kept | None:
        """Return x, rstd and the weight for the gradient of x, a normalised copy of x for the weight's."""
        copy = (("normalised copy of x", ins[0].numel, ins[0].dtype),) if 1 in wanted else ()
        if 0 in wanted:
            return Kept(ins=frozenset(range(len(ins))), outs=frozenset({1}), extra=copy)
        return Kept(extra=copy) if wanted else None

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
    keep = emit.tensor(x).axes.index(axis)
    axes = tuple(a for i, a in enumerate(emit.tensor(g).axes) if i != keep)
    return emit(Reduce("sum", axes), g, to=slot)[0] if axes else g
