"""Cross-entropy with integer targets, and its backward as one op."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, final

from symacct.algebra.symbols import as_expr
from symacct.errors import RuleError
from symacct.op import Example, Kept, Op
from symacct.ops.gradient import GradientOp
from symacct.ops.layout import (
    opened,
    ordered,
    position,
    require_axes,
    require_floating,
    require_index,
    require_sizes,
    sized,
    without,
)
from symacct.ops.softmax import log_probabilities
from symacct.tensor import Tensor, value

if TYPE_CHECKING:
    from collections.abc import Sequence

    from symacct.op import Call, Emit, NodeLike


@final
@dataclass(frozen=True, slots=True)
class CrossEntropy(Op):
    """The mean over all rows of the negative log-probability of each row's target.

    Inputs: logits, and targets of dtype index with the logits' other axes. Outputs: the loss, a scalar,
    and the log-probabilities that backward reads. Torch keeps the log-probabilities, the targets and a
    scalar.

    >>> CrossEntropy("V").infer(sized(B=2, V=5), sized("index", B=2))[0].axes
    ()
    """

    axis: str

    kind: ClassVar[str] = "loss"

    def infer(self, *ins: Tensor) -> tuple[Tensor, ...]:
        """Return a scalar, and log-probabilities shaped like the logits."""
        logits, targets = ins
        position("cross-entropy", logits, self.axis)
        require_floating("cross-entropy", logits)
        require_index("cross-entropy", targets)
        require_axes("cross-entropy", targets, without(logits, self.axis)[0])
        require_sizes("cross-entropy", targets, logits)
        return (value((), (), logits.dtype), value(logits.axes, logits.dims, logits.dtype))

    def vjp(self, emit: Emit, node: NodeLike, g: str, wanted: frozenset[int]) -> dict[int, str]:
        """Read the log-probabilities, the targets and the cotangent, in one op."""
        if 1 in wanted:
            raise RuleError(
                "targets of cross-entropy are indices and have no gradient",
                expected="a gradient of the logits",
                got=f"the gradient of {node.ins[1]}",
                fix="do not mark the targets as trainable",
            )
        return {0: emit(CrossEntropyGrad(self.axis), node.outs[1], node.ins[1], g, to=0)[0]} if wanted else {}

    def run(self, call: Call) -> tuple[Any, ...]:
        """Take the log-softmax, pick each row's target, average."""
        xp, at, (logits, targets) = call.xp, call.at(self.axis), call.ins
        logs = log_probabilities(xp, call.arrays[0], at)
        ids = ordered(xp, call.arrays[1], targets.axes, without(logits, self.axis)[0])
        picked = xp.take_along(logs, opened(xp, ids, at), at)
        mean = xp.sum(picked, range(len(logits.axes))) / call.size(targets.numel)
        return (-mean, logs)

    def native(self, torch: Any, call: Call) -> tuple[Any, ...]:
        """Call torch's cross_entropy on rows; it hands out no log-probabilities."""
        at = call.at(self.axis)
        ids = ordered(call.xp, call.arrays[1], call.ins[1].axes, without(call.ins[0], self.axis)[0])
        rows = call.arrays[0].movedim(at, -1)
        return (torch.nn.functional.cross_entropy(rows.reshape(-1, rows.shape[-1]), ids.reshape(-1)), None)

    def torch_keeps(
        self, ins: Sequence[Tensor], outs: Sequence[Tensor], wanted: frozenset[int]
    ) -> Kept | None:
        """Return the log-probabilities, the targets, and the total weight of the targets (a scalar)."""
        if not wanted:
            return None
        scalar = ("total weight of the targets", as_expr(1), ins[0].dtype)
        return Kept(ins=frozenset({1}), outs=frozenset({1}), extra=(scalar,))

    def latex(self, *inputs: str) -> str:
        """Return the loss of its operands."""
        return rf"\operatorname{{crossentropy}}_{{{self.axis}}}({', '.join(inputs)})"

    @classmethod
    def examples(cls) -> tuple[Example, ...]:
        """Return rows, sequences, and targets whose axes stand in another order."""
        return (
            Example(cls("V"), (sized(B=2, V=5), sized("index", B=2)), frozenset({0})),
            Example(cls("V"), (sized(B=2, S=3, V=5), sized("index", B=2, S=3)), frozenset({0})),
            Example(cls("V"), (sized(B=2, V=5, S=3), sized("index", S=3, B=2)), frozenset({0})),
        )


@final
@dataclass(frozen=True, slots=True)
class CrossEntropyGrad(GradientOp):
    """Backward of cross-entropy: (exp(l) - onehot(t)) (g / r), from the log-probabilities l and targets t.

    Inputs: log-probabilities, targets, and the cotangent of the loss, a scalar. The one-hot rows are cast
    from booleans.
    """

    axis: str

    kind: ClassVar[str] = "loss"

    def infer(self, *ins: Tensor) -> tuple[Tensor, ...]:
        """Return the axes of the log-probabilities."""
        logs, _, g = ins
        position("cross-entropy", logs, self.axis)
        require_axes("the backward of cross-entropy", g, ())
        return (value(logs.axes, logs.dims, logs.dtype),)

    def run(self, call: Call) -> tuple[Any, ...]:
        """Subtract the one-hot targets from the probabilities, and scale."""
        xp, (logs, targets, g), (like, ids, _) = call.xp, call.arrays, call.ins
        rows = without(like, self.axis)[0]
        hot = xp.one_hot(ordered(xp, targets, ids.axes, rows), call.size(like.dim(self.axis)))
        hot = ordered(xp, xp.cast(hot, call.outs[0].dtype), (*rows, self.axis), like.axes)
        return ((xp.exp(logs) - hot) * (g / call.size(ids.numel)),)

    def latex(self, *inputs: str) -> str:
        """Return the formula."""
        logs, targets, g = inputs
        return rf"(e^{{{logs}}} - \operatorname{{onehot}}({targets}))\,{g} / |{targets}|"

    @classmethod
    def examples(cls) -> tuple[Example, ...]:
        """Return rows of five."""
        return (Example(cls("V"), (sized(B=2, V=5), sized("index", B=2), sized()), frozenset()),)
