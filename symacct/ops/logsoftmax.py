"""Log-softmax over a named axis, and its backward as one op."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

from symacct.algebra.normal import product
from symacct.errors import GraphError
from symacct.op import Example, Op
from symacct.ops.gradient import GradientOp
from symacct.ops.layout import opened, position, require_alike, require_floating, sized, without
from symacct.tensor import Tensor, value

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sympy import Expr

    from symacct.op import Arrays, Emit, NodeLike, Size


@final
@dataclass(frozen=True, slots=True)
class LogSoftmax(Op):
    """Log-probabilities over an axis.

    Counts, for n elements in r rows: the largest (max n), subtract it (sub n), exp n, their sum (add n),
    its logarithm (log r), subtract it (sub n); two chains a row. An account that lets finding the largest
    be free has 4 n + r (66 on 2 rows of 8), so this one has n more, listed as ``max``.
    """

    axis: str

    @property
    def kind(self) -> str:
        """A softmax."""
        return "softmax"

    def infer(self, *ins: Tensor) -> tuple[Tensor, ...]:
        """Return the input's axes; masked scores have no finite log-probabilities and are refused."""
        (x,) = ins
        position("log-softmax", x, self.axis)
        require_floating("log-softmax", x)
        if x.mask is not None:
            raise GraphError(
                f"log-softmax of masked scores {x.describe()}: excluded pairs have no finite logarithm",
                expected="scores without a mask",
                got=f"a mask over {x.mask.rows}, {x.mask.cols}",
                fix="use softmax, whose excluded pairs get probability 0",
            )
        return (value(x.axes, x.dims, x.dtype),)

    def counts(self, ins: Sequence[Tensor], outs: Sequence[Tensor]) -> Mapping[str, Expr]:  # noqa: ARG002
        """Return the parts per element, one logarithm and two chains per row."""
        n, rows = ins[0].numel, product(without(ins[0], self.axis)[1])
        return {"max": n, "sub": 2 * n, "exp": n, "add": n, "log": rows, "chain": 2 * rows}

    def vjp(self, emit: Emit, node: NodeLike, g: str, wanted: frozenset[int]) -> dict[int, str]:
        """Read the log-probabilities and the cotangent, in one op."""
        return {0: emit(LogSoftmaxGrad(self.axis), node.outs[0], g, to=0)[0]} if wanted else {}

    def run(
        self, xp: Arrays, arrays: Sequence[Any], ins: Sequence[Tensor], outs: Sequence[Tensor], size: Size
    ) -> tuple[Any, ...]:
        """Subtract each row's largest, then the logarithm of the sum of exponentials."""
        del outs, size
        return (log_probabilities(xp, arrays[0], ins[0].axes.index(self.axis)),)

    def native(
        self,
        torch: Any,
        xp: Arrays,
        arrays: Sequence[Any],
        ins: Sequence[Tensor],
        outs: Sequence[Tensor],
        size: Size,
    ) -> tuple[Any, ...]:
        """Call torch's log_softmax."""
        del xp, outs, size
        return (torch.nn.functional.log_softmax(arrays[0], dim=ins[0].axes.index(self.axis)),)

    def latex(self, *inputs: str) -> str:
        """Return the log-softmax of its operand."""
        return rf"\operatorname{{log\,softmax}}_{{{self.axis}}}({inputs[0]})"

    @classmethod
    def examples(cls) -> tuple[Example, ...]:
        """Return the last axis and a first one."""
        return (
            Example(cls("V"), (sized(B=2, V=8),), frozenset({0})),
            Example(cls("V"), (sized(V=3, B=2),), frozenset({0})),
        )


@final
@dataclass(frozen=True, slots=True)
class LogSoftmaxGrad(GradientOp):
    """Backward of log-softmax: g - exp(y) sum(g), from the log-probabilities y and the cotangent g.

    Counts, for n elements in r rows: exp n, the sum of g (add n, one chain a row), mul n, sub n.
    """

    axis: str

    @property
    def kind(self) -> str:
        """A softmax."""
        return "softmax"

    def infer(self, *ins: Tensor) -> tuple[Tensor, ...]:
        """Return the axes of the log-probabilities."""
        y, g = ins
        position("log-softmax", y, self.axis)
        require_alike("log-softmax", g, y)
        return (value(y.axes, y.dims, y.dtype),)

    def counts(self, ins: Sequence[Tensor], outs: Sequence[Tensor]) -> Mapping[str, Expr]:  # noqa: ARG002
        """Return the parts per element, and one chain per row."""
        n = ins[0].numel
        return {"exp": n, "add": n, "mul": n, "sub": n, "chain": product(without(ins[0], self.axis)[1])}

    def run(
        self, xp: Arrays, arrays: Sequence[Any], ins: Sequence[Tensor], outs: Sequence[Tensor], size: Size
    ) -> tuple[Any, ...]:
        """Subtract each row's total cotangent, weighed by the probabilities."""
        del outs, size
        y, g = arrays
        at = ins[0].axes.index(self.axis)
        return (g - xp.exp(y) * opened(xp, xp.sum(g, [at]), at),)

    def latex(self, *inputs: str) -> str:
        """Return the formula."""
        y, g = inputs
        return rf"{g} - e^{{{y}}} \textstyle\sum_{{{self.axis}}} {g}"

    @classmethod
    def examples(cls) -> tuple[Example, ...]:
        """Return rows of four."""
        return (Example(cls("V"), (sized(B=2, V=4), sized(B=2, V=4)), frozenset()),)


def log_probabilities(xp: Arrays, array: Any, at: int) -> Any:
    """Return the log-softmax over the axis at a position."""
    low = array - opened(xp, xp.max(array, [at]), at)
    return low - opened(xp, xp.log(xp.sum(xp.exp(low), [at])), at)
