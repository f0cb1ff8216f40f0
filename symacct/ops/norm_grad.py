"""The backward of the norms: one op for the input, one for the weight."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, final

from symacct.op import Example
from symacct.ops.gradient import GradientOp
from symacct.ops.layout import along, opened, position, require_alike, sized
from symacct.tensor import Tensor, value

if TYPE_CHECKING:
    from symacct.op import Call


@dataclass(frozen=True, slots=True)
class OfNorm(GradientOp):
    """A gradient that is made of z, the normalised x, which is no extra tensor: torch makes it again too.

    Attributes:
        axis: the axis that is normalised.
        centred: whether the norm takes the mean away.
    """

    axis: str
    centred: bool

    kind: ClassVar[str] = "norm"

    def require(self, what: str, g: Tensor, x: Tensor) -> None:
        """Refuse a cotangent that does not fit x.

        Raises:
            GraphError: x has no such axis.
            SizeError: the cotangent has another shape.
        """
        position(what, x, self.axis)
        require_alike(what, g, x)


@final
@dataclass(frozen=True, slots=True)
class NormGrad(OfNorm):
    """Backward of a norm in x: rstd (h - mean(h) - z mean(h z)), with h = g w and z the normalised x.

    Inputs: g, x, the mean where it is centred, rstd, then the weight. Without centring mean(h) is not there.
    """

    weight: bool = True

    def infer(self, *ins: Tensor) -> tuple[Tensor, ...]:
        """Return the axes of x."""
        self.require("layer norm" if self.centred else "RMS norm", *ins[:2])
        return (value(ins[1].axes, ins[1].dims, ins[1].dtype),)

    def run(self, call: Call) -> tuple[Any, ...]:
        """Take the cotangent's mean and its part along z away, and scale by rstd."""
        xp, at, (g, x, *stats) = call.xp, call.at(self.axis, 1), call.arrays
        dim, scale = call.size(call.ins[1].dim(self.axis)), opened(xp, stats[self.centred], at)
        z = (x - opened(xp, stats[0], at) if self.centred else x) * scale
        h = g * along(xp, stats[-1], at, call.ins[1]) if self.weight else g
        low = h - opened(xp, xp.sum(h, [at]) / dim, at) if self.centred else h
        return (scale * (low - z * opened(xp, xp.sum(h * z, [at]) / dim, at)),)

    def latex(self, *inputs: str) -> str:
        """Return the derivative over its operands."""
        name = "layernorm" if self.centred else "rmsnorm"
        return rf"\operatorname{{{name}}}'_{{{self.axis}}}({', '.join(inputs)})"

    @classmethod
    def examples(cls) -> tuple[Example, ...]:
        """Return both norms with and without a weight."""
        x, stat, w = sized(B=2, D=4), sized("stat", B=2), sized(D=4)
        return tuple(
            Example(cls("D", centred, weight), (x, x, *(stat,) * (1 + centred), *(w,) * weight), frozenset())
            for centred in (True, False)
            for weight in (True, False)
        )


@final
@dataclass(frozen=True, slots=True)
class NormWeightGrad(OfNorm):
    """Backward of a norm in its weight: the sum of g z over all rows, z the normalised x.

    Inputs: g, x, rstd, then the mean where it is centred.
    """

    def infer(self, *ins: Tensor) -> tuple[Tensor, ...]:
        """Return the normalised axis."""
        self.require("a norm's weight gradient", *ins[:2])
        return (value((self.axis,), (ins[1].dim(self.axis),), ins[1].dtype),)

    def run(self, call: Call) -> tuple[Any, ...]:
        """Sum the cotangent times z over every axis but the normalised one."""
        xp, at, (g, x, rstd, *mean) = call.xp, call.at(self.axis, 1), call.arrays
        low = x - opened(xp, mean[0], at) if self.centred else x
        product = g * (low * opened(xp, rstd, at))
        others = [i for i in range(len(call.ins[1].axes)) if i != at]
        return (xp.sum(product, others),)

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
