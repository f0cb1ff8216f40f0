"""The backward of attention as one op, which makes the probabilities again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, final

from sympy import Expr, S

from symacct.op import Example
from symacct.ops.attention_roles import Roles, check_roles, letters
from symacct.ops.broadcast import aligned
from symacct.ops.gradient import GradientOp
from symacct.ops.layout import allowed, opened, require_alike, sized
from symacct.tensor import Mask, Tensor, value

if TYPE_CHECKING:
    from collections.abc import Sequence

    from symacct.op import Call

Q, K, V = 0, 1, 2


@final
@dataclass(frozen=True, slots=True)
class FusedAttentionGrad(GradientOp):
    """Gradients of q, k and v from the cotangent g of o, in one pass over all pairs.

    Inputs: g, q, k, v, o, logsumexp. Outputs: the wanted gradients, in the order q, k, v; each is a value.

    The probabilities are made again (``again``), then one product for each wanted gradient, and two more
    things for q or k: g v, and the sum of g o in each row. With all three wanted that is five products to
    forward's two.

    Attributes:
        query_axis: as in the forward op, as are key_axis, head_axis, mask and scale.
        slots: which of q, k, v (0, 1, 2) a gradient is wanted for.
    """

    query_axis: str
    key_axis: str
    head_axis: str
    mask: Mask | None = None
    scale: Expr = S.One
    slots: tuple[int, ...] = (Q, K, V)

    kind: ClassVar[str] = "attention"

    def contracted(self) -> frozenset[str]:
        """Return the primitives of the products."""
        return frozenset({"fma", "chain"})

    def _roles(self, ins: Sequence[Tensor]) -> Roles:
        return check_roles(self.query_axis, self.key_axis, self.head_axis, self.mask, ins[1:4])

    @property
    def _scores_wanted(self) -> bool:
        return Q in self.slots or K in self.slots

    def infer(self, *ins: Tensor) -> tuple[Tensor, ...]:
        """Return the axes of each wanted operand."""
        self._roles(ins)
        require_alike("attention", ins[0], ins[4])
        wanted = [ins[1 + slot] for slot in self.slots]
        return tuple(value(t.axes, t.dims, t.dtype) for t in wanted)

    def mask_of(self, ins: Sequence[Tensor], outs: Sequence[Tensor]) -> Mask | None:
        """Return the mask, or None where every pair takes part."""
        return self.mask

    def reads(self, ins: Sequence[Tensor], outs: Sequence[Tensor]) -> tuple[Expr, ...]:
        """Return every input; v and o are not read for the gradient of v alone."""
        scores = self._scores_wanted
        return tuple(t.numel if scores or slot not in (3, 4) else S.Zero for slot, t in enumerate(ins))

    def issues(self, ins: Sequence[Tensor], outs: Sequence[Tensor]) -> tuple[Expr, ...]:
        """Return one read of each operand per point of each product that takes it."""
        points = ins[5].numel * ins[2].dim(self.key_axis)
        head, feature = points * ins[1].dim(self.head_axis), points * (ins[4].numel / ins[5].numel)
        g = feature * ((V in self.slots) + self._scores_wanted) + ins[0].numel * self._scores_wanted
        o = ins[4].numel * self._scores_wanted
        return (
            g,
            head * (1 + (K in self.slots)),
            head * (1 + (Q in self.slots)),
            feature * self._scores_wanted,
            o,
            ins[5].numel,
        )

    def run(self, call: Call) -> tuple[Any, ...]:
        """Make the probabilities again, then each wanted product."""
        xp, ins = call.xp, call.ins
        roles = self._roles(ins)
        g, q, k, v, o, _ = call.arrays
        pair = (*roles.rows, self.key_axis)
        weights = self.again(call)
        grads: dict[int, Any] = {}
        if V in self.slots:
            grads[V] = xp.einsum(letters(pair, roles.out, ins[3].axes), weights, g)
        if self._scores_wanted:
            straight = xp.einsum(letters(roles.out, ins[3].axes, pair), g, v)
            mean = opened(xp, xp.sum(g * o, [roles.out.index(roles.feature)]), len(roles.rows))
            scores = weights * (straight - mean) * call.number(self.scale)
            for slot, other, array in ((Q, ins[2], k), (K, ins[1], q)):
                if slot in self.slots:
                    equation = letters(pair, other.axes, ins[1 + slot].axes)
                    grads[slot] = xp.einsum(equation, scores, array)
        return tuple(grads[slot] for slot in self.slots)

    def again(self, call: Call) -> Any:
        """Make the probabilities of the forward pass from q, k and logsumexp."""
        xp, ins = call.xp, call.ins
        roles = self._roles(ins)
        pair = (*roles.rows, self.key_axis)
        scores = xp.einsum(letters(ins[1].axes, ins[2].axes, pair), call.arrays[1], call.arrays[2])
        scores = scores * call.number(self.scale)
        if self.mask is not None:
            dims = tuple(roles.size(axis, ins[1:4]) for axis in pair)
            scores = xp.mask(scores, allowed(call, self.mask, pair, dims), float("-inf"))
        return xp.exp(scores - aligned(xp, call.arrays[5], roles.rows, pair))

    def latex(self, *inputs: str) -> str:
        """Return the derivative over its operands."""
        return rf"\operatorname{{attention}}'({', '.join(inputs)})"

    @classmethod
    def examples(cls) -> tuple[Example, ...]:
        """Return all gradients of causal heads, and that of the values alone."""
        q, k, stat = sized(H=2, S=2, K=4), sized(H=2, T=3, K=4), sized("stat", H=2, S=2)
        ins = (q, q, k, k, q, stat)
        return (
            Example(cls("S", "T", "K", Mask("S", "T")), ins, frozenset()),
            Example(cls("S", "T", "K", slots=(V,)), ins, frozenset()),
            Example(cls("S", "T", "K", slots=(Q,)), ins, frozenset()),
        )
