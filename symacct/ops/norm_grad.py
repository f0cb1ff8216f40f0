"""The backward of the norms: one op for the input, one for the weight."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

from symacct.op import Example
from symacct.ops.gradient import GradientOp
from symacct.ops.layout import along, opened, position, require_alike, sized
from symacct.tensor import Tensor, value

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sympy import Expr

    from symacct.op import Arrays, Size


@final
@dataclass(frozen=True, slots=True)
class LayerNormGrad(GradientOp):
    """Backward of layer norm in x: rstd (h - mean(h) - z mean(h z)), with h = g w and z the normalised x.

    Inputs: g, x, mean, rstd, then the weight. Counts, for n elements in r rows: z (sub n, mul n), h (mul n
    with a weight), two means (mul n for h z, add 2 n, div 2 r, two chains a row), and the rest (mul n,
    sub 2 n, mul n).
    """

    axis: str
    weight: bool = True

    @property
    def kind(self) -> str:
        """A norm."""
        return "norm"

    def infer(self, *ins: Tensor) -> tuple[Tensor, ...]:
        """Return the axes of x."""
        g, x = ins[:2]
        position("layer norm", x, self.axis)
        require_alike("layer norm", g, x)
        return (value(x.axes, x.dims, x.dtype),)

    def counts(self, ins: Sequence[Tensor], outs: Sequence[Tensor]) -> Mapping[str, Expr]:  # noqa: ARG002
        """Return the parts listed above."""
        n, rows = ins[1].numel, ins[3].numel
        return {"sub": 3 * n, "mul": (4 + self.weight) * n, "add": 2 * n, "div": 2 * rows, "chain": 2 * rows}

    def run(
        self, xp: Arrays, arrays: Sequence[Any], ins: Sequence[Tensor], outs: Sequence[Tensor], size: Size
    ) -> tuple[Any, ...]:
        """Take the cotangent's mean and its part along z away, and scale by rstd."""
        del outs
        g, x, mean, rstd = arrays[:4]
        at, dim = ins[1].axes.index(self.axis), size(ins[1].dim(self.axis))
        scale = opened(xp, rstd, at)
        z = (x - opened(xp, mean, at)) * scale
        h = g * along(xp, arrays[4], at, ins[1]) if self.weight else g
        first = opened(xp, xp.sum(h, [at]) / dim, at)
        second = opened(xp, xp.sum(h * z, [at]) / dim, at)
        return (scale * (h - first - z * second),)

    def latex(self, *inputs: str) -> str:
        """Return the derivative over its operands."""
        return rf"\operatorname{{layernorm}}'_{{{self.axis}}}({', '.join(inputs)})"

    @classmethod
    def examples(cls) -> tuple[Example, ...]:
        """Return it with and without a weight."""
        x, stat = sized(B=2, D=4), sized("stat", B=2)
        return (
            Example(cls("D"), (x, x, stat, stat, sized(D=4)), frozenset()),
            Example(cls("D", weight=False), (x, x, stat, stat), frozenset()),
        )


@final
@dataclass(frozen=True, slots=True)
class RMSNormGrad(GradientOp):
    """Backward of RMS norm in x: rstd (h - z mean(h z)), with h = g w and z = x rstd.

    Inputs: g, x, rstd, then the weight. Counts, for n elements in r rows: z (mul n), h (mul n with a
    weight), the mean of h z (mul n, add n, div r, one chain a row), and the rest (mul n, sub n, mul n).
    """

    axis: str
    weight: bool = True

    @property
    def kind(self) -> str:
        """A norm."""
        return "norm"

    def infer(self, *ins: Tensor) -> tuple[Tensor, ...]:
        """Return the axes of x."""
        g, x = ins[:2]
        position("RMS norm", x, self.axis)
        require_alike("RMS norm", g, x)
        return (value(x.axes, x.dims, x.dtype),)

    def counts(self, ins: Sequence[Tensor], outs: Sequence[Tensor]) -> Mapping[str, Expr]:  # noqa: ARG002
        """Return the parts listed above."""
        n, rows = ins[1].numel, ins[2].numel
        return {"sub": n, "mul": (4 + self.weight) * n, "add": n, "div": rows, "chain": rows}

    def run(
        self, xp: Arrays, arrays: Sequence[Any], ins: Sequence[Tensor], outs: Sequence[Tensor], size: Size
    ) -> tuple[Any, ...]:
        """Take the cotangent's part along z away, and scale by rstd."""
        del outs
        g, x, rstd = arrays[:3]
        at, dim = ins[1].axes.index(self.axis), size(ins[1].dim(self.axis))
        scale = opened(xp, rstd, at)
        z = x * scale
        h = g * along(xp, arrays[3], at, ins[1]) if self.weight else g
        return (scale * (h - z * opened(xp, xp.sum(h * z, [at]) / dim, at)),)

    def latex(self, *inputs: str) -> str:
        """Return the derivative over its operands."""
        return rf"\operatorname{{rmsnorm}}'_{{{self.axis}}}({', '.join(inputs)})"

    @classmethod
    def examples(cls) -> tuple[Example, ...]:
        """Return it with and without a weight."""
        x, stat = sized(B=2, D=4), sized("stat", B=2)
        return (
            Example(cls("D"), (x, x, stat, sized(D=4)), frozenset()),
            Example(cls("D", weight=False), (x, x, stat), frozenset()),
        )


@final
@dataclass(frozen=True, slots=True)
class NormWeightGrad(GradientOp):
    """Backward of a norm in its weight: the sum of g z over all rows, z the normalised x.

    Inputs: g, x, rstd, then mean where the norm centres. z is made again from x and the statistics, as
    torch does: it is no extra tensor. Counts, for n elements: z (sub n where it centres, mul n), times g
    (mul n), summed (add n, one chain for each element of the weight).
    """

    axis: str
    centred: bool

    @property
    def kind(self) -> str:
        """A norm."""
        return "norm"

    def infer(self, *ins: Tensor) -> tuple[Tensor, ...]:
        """Return the normalised axis."""
        g, x = ins[:2]
        position("a norm's weight gradient", x, self.axis)
        require_alike("a norm's weight gradient", g, x)
        return (value((self.axis,), (x.dim(self.axis),), x.dtype),)

    def counts(self, ins: Sequence[Tensor], outs: Sequence[Tensor]) -> Mapping[str, Expr]:
        """Return the parts listed above."""
        n = ins[1].numel
        parts = {"sub": n, "mul": 2 * n} if self.centred else {"mul": 2 * n}
        return parts if len(ins[1].axes) == 1 else {**parts, "add": n, "chain": outs[0].numel}

    def run(
        self, xp: Arrays, arrays: Sequence[Any], ins: Sequence[Tensor], outs: Sequence[Tensor], size: Size
    ) -> tuple[Any, ...]:
        """Sum the cotangent times z over every axis but the normalised one."""
        del outs, size
        g, x, rstd = arrays[:3]
        at = ins[1].axes.index(self.axis)
        low = x - opened(xp, arrays[3], at) if self.centred else x
        product = g * (low * opened(xp, rstd, at))
        others = [i for i in range(len(ins[1].axes)) if i != at]
        return (xp.sum(product, others) if others else product,)

    def latex(self, *inputs: str) -> str:
        """Return the derivative over its operands."""
        return rf"\operatorname{{norm}}'_{{w, {self.axis}}}({', '.join(inputs)})"

    @classmethod
    def examples(cls) -> tuple[Example, ...]:
        """Return it for layer norm and for RMS norm."""
        x, stat = sized(B=2, D=4), sized("stat", B=2)
        return (
            Example(cls("D", centred=True), (x, x, stat, stat), frozenset()),
            Example(cls("D", centred=False), (x, x, stat), frozenset()),
        )
