"""A copy in another dtype."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, final

from symacct.algebra.symbols import as_expr
from symacct.errors import RuleError
from symacct.op import Example, Op
from symacct.tensor import Tensor, value

if TYPE_CHECKING:
    from symacct.op import Call, Emit, NodeLike


@final
@dataclass(frozen=True, slots=True)
class Cast(Op):
    """The same elements in another dtype; the gradient is cast back.

    >>> from symacct.algebra.symbols import symbol
    >>> x = Tensor("x", ("B",), (symbol("B"),), "bf16")
    >>> Cast("fp32").infer(x)[0].dtype
    'fp32'

    Attributes:
        dtype: the dtype of the result.
    """

    dtype: str

    kind: ClassVar[str] = "cast"

    def infer(self, *ins: Tensor) -> tuple[Tensor, ...]:
        """Return the tensor in the new dtype."""
        (tensor,) = ins
        return (value(tensor.axes, tensor.dims, self.dtype, tensor.mask),)

    def vjp(self, emit: Emit, node: NodeLike, g: str, wanted: frozenset[int]) -> dict[int, str]:
        """Cast the cotangent back."""
        if not wanted:
            return {}
        tensor, out = emit.tensor(node.ins[0]), emit.tensor(node.outs[0])
        if not (tensor.floating and out.floating):
            raise RuleError(
                f"the cast of {tensor.describe()} from {tensor.dtype} to {self.dtype} has no gradient",
                expected="two floating dtypes",
                got=f"{tensor.dtype} and {self.dtype}",
            )
        return {0: emit(Cast(tensor.dtype), g, to=0)[0]}

    def run(self, call: Call) -> tuple[Any, ...]:
        """Cast."""
        return (call.xp.cast(call.arrays[0], self.dtype),)

    def latex(self, *inputs: str) -> str:
        """Return the call."""
        return rf"\operatorname{{{self.dtype}}}({inputs[0]})"

    @classmethod
    def examples(cls) -> tuple[Example, ...]:
        """Return a cast to fp32, and a mask read as numbers."""
        dims = (as_expr(2), as_expr(3))
        x, mask = value(("B", "D"), dims), value(("B", "D"), dims, "mask")
        return (Example(cls("fp32"), (x,), frozenset({0})), Example(cls("float"), (mask,), frozenset()))
