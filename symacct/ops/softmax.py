"""Softmax and log-softmax over a named axis, and the backward of each as one op."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, final

from symacct.errors import GraphError
from symacct.op import Example, Op
from symacct.ops.gradient import GradientOp
from symacct.ops.layout import allowed, opened, position, require_alike, require_floating, sized
from symacct.tensor import Mask, Tensor, value

if TYPE_CHECKING:
    from symacct.op import Arrays, Call, Emit, NodeLike


@dataclass(frozen=True, slots=True)
class OverRows(Op):
    """A function of the rows along an axis, with a result of the same axes."""

    title: ClassVar[str] = "softmax"

    axis: str

    kind: ClassVar[str] = "softmax"

    def infer(self, *ins: Tensor) -> tuple[Tensor, ...]:
        """Return the axes of the scores, and their mask."""
        (x,) = ins
        position(self.title, x, self.axis)
        require_floating(self.title, x)
        return (value(x.axes, x.dims, x.dtype, x.mask),)


@dataclass(frozen=True, slots=True)
class OverRowsGrad(GradientOp):
    """The backward of such a function, from its result y and the cotangent g."""

    title: ClassVar[str] = "softmax"

    axis: str

    kind: ClassVar[str] = "softmax"

    def infer(self, *ins: Tensor) -> tuple[Tensor, ...]:
        """Return the axes of the result, and its mask."""
        y, g = ins
        position(self.title, y, self.axis)
        require_alike(self.title, g, y)
        return (value(y.axes, y.dims, y.dtype, y.mask),)

    @classmethod
    def examples(cls) -> tuple[Example, ...]:
        """Return rows of four."""
        return (Example(cls("V"), (sized(B=2, V=4), sized(B=2, V=4)), frozenset()),)


@final
@dataclass(frozen=True, slots=True)
class Softmax(OverRows):
    """Probabilities over an axis; pairs that the scores' structural mask excludes get probability 0.

    Backward reads the output alone.

    >>> from symacct.algebra.symbols import symbol
    >>> x = value(("B", "V"), (symbol("B"), symbol("V")))
    >>> {name: str(n) for name, n in Softmax("V").counts([x], [x]).items()}
    {'max': 'B*V', 'chain': '2*B', 'sub': 'B*V', 'exp': 'B*V', 'add': 'B*V', 'div': 'B*V'}
    """

    def infer(self, *ins: Tensor) -> tuple[Tensor, ...]:
        """Return the axes of the scores, and their mask; it must have a pair in each row."""
        (out,) = OverRows.infer(self, *ins)
        if out.mask is not None and out.mask.cols != self.axis:
            raise GraphError(
                f"softmax over axis {self.axis} of masked scores {ins[0].describe()}",
                expected=f"axis {out.mask.cols}, along which each row of the mask has a pair",
                got=self.axis,
                fix=f"normalise over {out.mask.cols}, or take the scores without their mask",
            )
        return (out,)

    def vjp(self, emit: Emit, node: NodeLike, g: str, wanted: frozenset[int]) -> dict[int, str]:
        """Read the probabilities and the cotangent, in one op."""
        return {0: emit(SoftmaxGrad(self.axis), node.outs[0], g, to=0)[0]} if wanted else {}

    def run(self, call: Call) -> tuple[Any, ...]:
        """Subtract each row's largest, take exponentials, divide by their sum."""
        xp, at, x = call.xp, call.at(self.axis), _masked(call)
        top = xp.exp(x - opened(xp, xp.max(x, [at]), at))
        return (top / opened(xp, xp.sum(top, [at]), at),)

    def native(self, torch: Any, call: Call) -> tuple[Any, ...]:
        """Call torch's softmax."""
        return (torch.nn.functional.softmax(_masked(call), dim=call.at(self.axis)),)

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
class SoftmaxGrad(OverRowsGrad):
    """Backward of softmax: y (g - sum(g y)), from the probabilities y and the cotangent g."""

    def run(self, call: Call) -> tuple[Any, ...]:
        """Subtract the mean of the cotangent under the probabilities, and weigh by them."""
        (y, g), at = call.arrays, call.at(self.axis)
        return (y * (g - opened(call.xp, call.xp.sum(g * y, [at]), at)),)

    def latex(self, *inputs: str) -> str:
        """Return the formula."""
        y, g = inputs
        return rf"{y}\,({g} - \textstyle\sum_{{{self.axis}}} {g}\,{y})"


@final
@dataclass(frozen=True, slots=True)
class LogSoftmax(OverRows):
    """Log-probabilities over an axis.

    An account that lets finding the largest be free has 4 n + r for n elements in r rows (66 on 2 rows of
    8); this one has n more, listed as ``max``.
    """

    title: ClassVar[str] = "log-softmax"

    def infer(self, *ins: Tensor) -> tuple[Tensor, ...]:
        """Return the axes of the scores; masked ones have no finite log-probabilities and are refused."""
        (out,) = OverRows.infer(self, *ins)
        if out.mask is not None:
            raise GraphError(
                f"log-softmax of masked scores {ins[0].describe()}: excluded pairs have no finite logarithm",
                expected="scores without a mask",
                got=f"a mask over {out.mask.rows}, {out.mask.cols}",
                fix="use softmax, whose excluded pairs get probability 0",
            )
        return (out,)

    def vjp(self, emit: Emit, node: NodeLike, g: str, wanted: frozenset[int]) -> dict[int, str]:
        """Read the log-probabilities and the cotangent, in one op."""
        return {0: emit(LogSoftmaxGrad(self.axis), node.outs[0], g, to=0)[0]} if wanted else {}

    def run(self, call: Call) -> tuple[Any, ...]:
        """Subtract each row's largest, then the logarithm of the sum of exponentials."""
        return (log_probabilities(call.xp, call.arrays[0], call.at(self.axis)),)

    def native(self, torch: Any, call: Call) -> tuple[Any, ...]:
        """Call torch's log_softmax."""
        return (torch.nn.functional.log_softmax(call.arrays[0], dim=call.at(self.axis)),)

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
class LogSoftmaxGrad(OverRowsGrad):
    """Backward of log-softmax: g - exp(y) sum(g), from the log-probabilities y and the cotangent g."""

    title: ClassVar[str] = "log-softmax"

    def run(self, call: Call) -> tuple[Any, ...]:
        """Subtract each row's total cotangent, weighed by the probabilities."""
        xp, (y, g), at = call.xp, call.arrays, call.at(self.axis)
        return (g - xp.exp(y) * opened(xp, xp.sum(g, [at]), at),)

    def latex(self, *inputs: str) -> str:
        """Return the formula."""
        y, g = inputs
        return rf"{g} - e^{{{y}}} \textstyle\sum_{{{self.axis}}} {g}"


def log_probabilities(xp: Arrays, array: Any, at: int) -> Any:
    """Return the log-softmax over the axis at a position."""
    low = array - opened(xp, xp.max(array, [at]), at)
    return low - opened(xp, xp.log(xp.sum(xp.exp(low), [at])), at)


def _masked(call: Call) -> Any:
    (x,), (array,) = call.ins, call.arrays
    if x.mask is None:
        return array
    return call.xp.mask(array, allowed(call, x.mask, x.axes, x.dims), float("-inf"))
