"""Dropout, which keeps a mask, and its gradient."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, final

from sympy import Rational

from symacct.algebra.symbols import as_expr
from symacct.errors import RuleError, SizeError
from symacct.op import Example, Kept, Op
from symacct.tensor import Tensor, value

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sympy import Expr

    from symacct.op import Call, Emit, NodeLike


@final
@dataclass(frozen=True, slots=True)
class Dropout(Op):
    """Each element kept with probability ``1 - rate`` and divided by it, else zero.

    ``Dropout(Rational(1, 10))(x)``; the second output is the mask, and backward reads it alone.
    Counts: one mask drawn and two multiplications for each element: by the mask, and by 1 / (1 - rate).

    >>> from symacct.algebra.symbols import symbol
    >>> x = Tensor("x", ("B",), (symbol("B"),))
    >>> [out.dtype for out in Dropout(Rational(1, 10)).infer(x)]
    ['float', 'mask']

    Attributes:
        rate: the probability of zero.
    """

    rate: Expr

    def __post_init__(self) -> None:
        """Refuse a rate that leaves nothing, or is no probability."""
        require_rate(self.rate)

    kind: ClassVar[str] = "dropout"

    def infer(self, *ins: Tensor) -> tuple[Tensor, ...]:
        """Return a tensor like the input, and its mask."""
        (tensor,) = ins
        return tuple(value(tensor.axes, tensor.dims, dtype, tensor.mask) for dtype in (tensor.dtype, "mask"))

    def vjp(self, emit: Emit, node: NodeLike, g: str, wanted: frozenset[int]) -> dict[int, str]:
        """Mask and scale the cotangent the same way."""
        return {0: emit(DropoutGrad(self.rate), g, node.outs[1], to=0)[0]} if wanted else {}

    def run(self, call: Call) -> tuple[Any, ...]:
        """Draw the mask and apply it."""
        keep = 1.0 - float(self.rate)
        mask = call.xp.bernoulli([call.size(dim) for dim in call.outs[1].dims], keep)
        return (call.arrays[0] * mask * (1.0 / keep), mask)

    def native(self, torch: Any, call: Call) -> tuple[Any, ...]:
        """Apply a mask in the input's dtype, scaled, as torch's dropout does on CPU."""
        keep = 1.0 - float(self.rate)
        mask = call.xp.bernoulli([call.size(dim) for dim in call.outs[1].dims], keep)
        return (call.arrays[0] * (call.xp.cast(mask, call.ins[0].dtype) / keep), mask)

    def torch_keeps(
        self,
        ins: Sequence[Tensor],
        outs: Sequence[Tensor],
        wanted: frozenset[int],
    ) -> Kept | None:
        """Return the scaled mask, in the input's dtype."""
        return Kept(extra=(("a mask in the input's dtype", ins[0].numel, ins[0].dtype),)) if wanted else None

    def latex(self, *inputs: str) -> str:
        """Return the call."""
        return rf"\operatorname{{dropout}}({inputs[0]})"

    @classmethod
    def examples(cls) -> tuple[Example, ...]:
        """Return a rate of a quarter."""
        x = value(("B", "D"), (as_expr(4), as_expr(5)))
        return (Example(cls(Rational(1, 4)), (x,), frozenset({0})),)


@final
@dataclass(frozen=True, slots=True)
class DropoutGrad(Op):
    """The cotangent of dropout: masked, and divided by ``1 - rate``; its inputs are ``g`` and the mask.

    Attributes:
        rate: the probability of zero.
    """

    rate: Expr

    def __post_init__(self) -> None:
        """Refuse what dropout refuses."""
        require_rate(self.rate)

    kind: ClassVar[str] = "dropout"

    def infer(self, *ins: Tensor) -> tuple[Tensor, ...]:
        """Return a tensor like the cotangent."""
        return (value(ins[0].axes, ins[0].dims, ins[0].dtype, ins[0].mask),)

    def vjp(self, emit: Emit, node: NodeLike, g: str, wanted: frozenset[int]) -> dict[int, str]:
        """Mask and scale once more; the mask has no gradient."""
        if 1 in wanted:
            raise RuleError(
                "a dropout mask has no gradient", expected="the gradient of a value", got=node.ins[1]
            )
        return {0: emit(self, g, node.ins[1], to=0)[0]} if wanted else {}

    def run(self, call: Call) -> tuple[Any, ...]:
        """Apply the mask."""
        return (call.arrays[0] * call.arrays[1] * (1.0 / (1.0 - float(self.rate))),)

    def latex(self, *inputs: str) -> str:
        """Return the call."""
        return rf"\operatorname{{dropout}}'({', '.join(inputs)})"

    @classmethod
    def examples(cls) -> tuple[Example, ...]:
        """Return a rate of a quarter."""
        dims = (as_expr(4), as_expr(5))
        ins = (value(("B", "D"), dims), value(("B", "D"), dims, "mask"))
        return (Example(cls(Rational(1, 4)), ins, frozenset({0})),)


def require_rate(rate: Expr) -> None:
    """Raise SizeError unless the rate is a number of at least 0 and less than 1.

    >>> require_rate(Rational(3, 2))
    Traceback (most recent call last):
    symacct.errors.SizeError: a dropout rate of 3/2 leaves no element
      expected  a number of at least 0 and less than 1
      got       3/2
    """
    if not (as_expr(rate).is_Rational and 0 <= rate < 1):
        raise SizeError(
            f"a dropout rate of {rate} leaves no element",
            expected="a number of at least 0 and less than 1",
            got=str(rate),
        )
