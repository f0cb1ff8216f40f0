"""Softmax over a named axis, and its backward as one op."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, final

from symacct.algebra.normal import product
from symacct.errors import GraphError
from symacct.op import Example, Op
from symacct.ops.gradient import GradientOp
from symacct.ops.layout import allowed, opened, position, require_alike, require_floating, sized, without
from symacct.tensor import Mask, Tensor, value

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sympy import Expr

    from symacct.op import Arrays, Emit, NodeLike, Size


@final
@dataclass(frozen=True, slots=True)
class Softmax(Op):
    """Probabilities over an axis; pairs that the scores' structural mask excludes get probability 0.

    Counts, for n elements in r rows: the largest of a row (max n), subtract it (sub n), exp n, their
    sum (add n), divide (div n); two chains a row. Backward reads the output alone.

    >>> from symacct.algebra.symbols import symbol
    >>> x = value(("B", "V"), (symbol("B"), symbol("V")))
    >>> {name: str(n) for name, n in Softmax("V").counts([x], [x]).items()}
    {'max': 'B*V', 'sub': 'B*V', 'exp': 'B*V', 'add': 'B*V', 'div': 'B*V', 'chain': '2*B'}
    """

    axis: str

    @property
    def kind(self) -> str:
        """A softmax."""
        return "softmax"

    def infer(self, *ins: Tensor) -> tuple[Tensor, ...]:
        """Return the input's axes, and its mask."""
        (x,) = ins
        position("softmax", x, self.axis)
        require_floating("softmax", x)
        if x.mask is not None and x.mask.cols != self.axis:
            raise GraphError(
                f"softmax over axis {self.axis} of masked scores {x.describe()}",
                expected=f"axis {x.mask.cols}, along which each row of the mask has a pair",
                got=self.axis,
                fix=f"normalise over {x.mask.cols}, or take the scores without their mask",
            )
        return (value(x.axes, x.dims, x.dtype, x.mask),)

    def counts(self, ins: Sequence[Tensor], outs: Sequence[Tensor]) -> Mapping[str, Expr]:  # noqa: ARG002
        """Return one of each part per element and two chains per row."""
        n, rows = ins[0].numel, product(without(ins[0], self.axis)[1])
        parts = {"max": n, "sub": n, "exp": n, "add": n, "div": n, "chain": 2 * rows}
        return parts if ins[0].mask is None else {"mask": n, **parts}

    def vjp(self, emit: Emit, node: NodeLike, g: str, wanted: frozenset[int]) -> dict[int, str]:
        """Read the probabilities and the cotangent, in one op."""
        return {0: emit(SoftmaxGrad(self.axis), node.outs[0], g, to=0)[0]} if wanted else {}

    def run(
        self, xp: Arrays, arrays: Sequence[Any], ins: Sequence[Tensor], outs: Sequence[Tensor], size: Size
    ) -> tuple[Any, ...]:
        """Subtract each row's largest, take exponentials, divide by their sum."""
        del outs
        at = ins[0].axes.index(self.axis)
        x = _masked(xp, arrays[0], ins[0], size)
        top = xp.exp(x - opened(xp, xp.max(x, [at]), at))
        return (top / opened(xp, xp.sum(top, [at]), at),)

    def native(
        self,
        torch: Any,
        xp: Arrays,
        arrays: Sequence[Any],
        ins: Sequence[Tensor],
        outs: Sequence[Tensor],
        size: Size,
    ) -> tuple[Any, ...]:
        """Call torch's softmax."""
        del outs
        at = ins[0].axes.index(self.axis)
        return (torch.nn.functional.softmax(_masked(xp, arrays[0], ins[0], size), dim=at),)

    def latex(self, *inputs: str) -> str:
        """Return the softmax of its operand."""
        return rf"\operatorname{{softmax}}_{{{self.axis}}}({inputs[0]})"

    @classmethod
    def examples(cls) -> tuple[Example, ...]:
        """Return rows, an axis in the middle, and causal and windowed scores."""
        scores = sized(H=2, S=3, T=5)
        return (
            Example(cls("V"), (sized(B=2, V=4),), frozenset({0})),
            Example(cls("T"), (sized(S=3, T=4, H=2),), frozenset({0})),
            Example(cls("T"), (replace(scores, mask=Mask("S", "T")),), frozenset({0})),
            Example(cls("T"), (replace(scores, mask=Mask("S", "T", sized(W=2).dims[0])),), frozenset({0})),
        )


@final
@dataclass(frozen=True, slots=True)
class SoftmaxGrad(GradientOp):
    """Backward of softmax: y (g - sum(g y)), from the probabilities y and the cotangent g.

    Counts, for n elements in r rows: mul n, their sum (add n, one chain a row), sub n, mul n.
    """

    axis: str

    @property
    def kind(self) -> str:
        """A softmax."""
        return "softmax"

    def infer(self, *ins: Tensor) -> tuple[Tensor, ...]:
        """Return the axes of the probabilities, and their mask."""
        y, g = ins
        position("softmax", y, self.axis)
        require_alike("softmax", g, y)
        return (value(y.axes, y.dims, y.dtype, y.mask),)

    def counts(self, ins: Sequence[Tensor], outs: Sequence[Tensor]) -> Mapping[str, Expr]:  # noqa: ARG002
        """Return two products, one addition and one subtraction per element, one chain per row."""
        n = ins[0].numel
        return {"mul": 2 * n, "add": n, "sub": n, "chain": product(without(ins[0], self.axis)[1])}

    def run(
        self, xp: Arrays, arrays: Sequence[Any], ins: Sequence[Tensor], outs: Sequence[Tensor], size: Size
    ) -> tuple[Any, ...]:
        """Subtract the mean of the cotangent under the probabilities, and weigh by them."""
        del outs, size
        y, g = arrays
        at = ins[0].axes.index(self.axis)
        return (y * (g - opened(xp, xp.sum(g * y, [at]), at)),)

    def latex(self, *inputs: str) -> str:
        """Return the formula."""
        y, g = inputs
        return rf"{y}\,({g} - \textstyle\sum_{{{self.axis}}} {g}\,{y})"

    @classmethod
    def examples(cls) -> tuple[Example, ...]:
        """Return rows of four."""
        return (Example(cls("V"), (sized(B=2, V=4), sized(B=2, V=4)), frozenset()),)


def _masked(xp: Arrays, array: Any, tensor: Tensor, size: Size) -> Any:
    if tensor.mask is None:
        return array
    return xp.mask(array, allowed(xp, tensor.mask, tensor.axes, tensor.dims, size), float("-inf"))
