"""The backward of attention as one op, which makes the probabilities again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

from sympy import Expr, S

from symacct.op import Example
from symacct.ops.attention_roles import Roles, check_roles, letters
from symacct.ops.broadcast import aligned
from symacct.ops.elementwise import number
from symacct.ops.gradient import GradientOp
from symacct.ops.layout import allowed, opened, require_alike, sized
from symacct.tensor import Mask, Tensor, value

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from symacct.op import Arrays, Size

Q, K, V = 0, 1, 2


@final
@dataclass(frozen=True, slots=True)
class FusedAttentionGrad(GradientOp):
    """Gradients of q, k and v from the cotangent g of o, in one pass over all pairs.

    Inputs: g, q, k, v, o, logsumexp. Outputs: the wanted gradients, in the order q, k, v; each is a value.

    Counts, for P pairs in R rows, heads of K and features of V, in the order of work:
    the probabilities again (fma P K, chain P, mul P, sub P, exp P), which is what ``recomputed`` returns;
    for v, p g (fma P V, chain for each element of v);
    for q or k, g v (fma P V, chain P), sum(g o) (mul R V, add R V, one row_chain a row), their difference
    (sub P), times p and the scale (mul 2 P), then one product each (fma P K, chain for each element of
    q or k).
    With all three wanted that is five products to forward's two.

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

    @property
    def kind(self) -> str:
        """Attention."""
        return "attention"

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

    def pairs(self, ins: Sequence[Tensor]) -> tuple[Mask, Expr, Expr] | None:
        """Return the mask and the sizes of its axes, or None where every pair takes part."""
        if self.mask is None:
            return None
        return self.mask, ins[1].dim(self.query_axis), ins[2].dim(self.key_axis)

    def _full(self, ins: Sequence[Tensor]) -> Expr:
        return ins[1].dim(self.query_axis) * ins[2].dim(self.key_axis)

    def counts(self, ins: Sequence[Tensor], outs: Sequence[Tensor]) -> Mapping[str, Expr]:
        """Return the counts when every query meets every key."""
        return self.counts_at(ins, outs, self._full(ins))

    def counts_at(self, ins: Sequence[Tensor], outs: Sequence[Tensor], pairs: Expr) -> Mapping[str, Expr]:
        """Return the counts when ``pairs`` (query, key) pairs take part in each head."""
        parts = dict(self.recomputed_at(ins, outs, pairs))
        rows, result = ins[5].numel, ins[4].numel
        points = rows / ins[1].dim(self.query_axis) * pairs
        head, feature = ins[1].dim(self.head_axis), result / rows
        widths = {Q: head, K: head, V: feature}
        for slot in self.slots:
            parts["fma"] += points * widths[slot]
            parts["chain"] += ins[1 + slot].numel
        if self._scores_wanted:
            parts["fma"] += points * feature
            parts["chain"] += points
            parts["mul"] += 2 * points + result
            parts["sub"] += points
            parts |= {"add": result, "row_chain": rows}
        return parts

    def recomputed(self, ins: Sequence[Tensor], outs: Sequence[Tensor]) -> Mapping[str, Expr]:
        """Return the probabilities made again, when every query meets every key."""
        return self.recomputed_at(ins, outs, self._full(ins))

    def recomputed_at(self, ins: Sequence[Tensor], outs: Sequence[Tensor], pairs: Expr) -> Mapping[str, Expr]:
        """Return the probabilities made again, when ``pairs`` pairs take part in each head."""
        del outs
        points = ins[5].numel / ins[1].dim(self.query_axis) * pairs
        fma = points * ins[1].dim(self.head_axis)
        parts = {"fma": fma, "chain": points, "mul": points, "sub": points, "exp": points}
        return parts if self.mask is None else {**parts, "mask": points}

    def reads(self, ins: Sequence[Tensor], outs: Sequence[Tensor]) -> tuple[Expr, ...]:  # noqa: ARG002
        """Return every input; v and o are not read for the gradient of v alone."""
        scores = self._scores_wanted
        return tuple(t.numel if scores or slot not in (3, 4) else S.Zero for slot, t in enumerate(ins))

    def issues(self, ins: Sequence[Tensor], outs: Sequence[Tensor]) -> tuple[Expr, ...]:
        """Return one read of each operand per point of each product that takes it."""
        del outs
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

    def run(
        self, xp: Arrays, arrays: Sequence[Any], ins: Sequence[Tensor], outs: Sequence[Tensor], size: Size
    ) -> tuple[Any, ...]:
        """Make the probabilities again, then each wanted product."""
        del outs
        roles = self._roles(ins)
        g, q, k, v, o, _ = arrays
        pair = (*roles.rows, self.key_axis)
        weights = self._weights(xp, arrays, ins, roles, size)
        grads: dict[int, Any] = {}
        if V in self.slots:
            grads[V] = xp.einsum(letters(pair, roles.out, ins[3].axes), weights, g)
        if self._scores_wanted:
            straight = xp.einsum(letters(roles.out, ins[3].axes, pair), g, v)
            mean = opened(xp, xp.sum(g * o, [roles.out.index(roles.feature)]), len(roles.rows))
            scores = weights * (straight - mean) * number(self.scale, size)
            for slot, other, array in ((Q, ins[2], k), (K, ins[1], q)):
                if slot in self.slots:
                    equation = letters(pair, other.axes, ins[1 + slot].axes)
                    grads[slot] = xp.einsum(equation, scores, array)
        return tuple(grads[slot] for slot in self.slots)

    def _weights(
        self, xp: Arrays, arrays: Sequence[Any], ins: Sequence[Tensor], roles: Roles, size: Size
    ) -> Any:
        pair = (*roles.rows, self.key_axis)
        scores = xp.einsum(letters(ins[1].axes, ins[2].axes, pair), arrays[1], arrays[2])
        scores = scores * number(self.scale, size)
        if self.mask is not None:
            dims = tuple(roles.size(axis, ins[1:4]) for axis in pair)
            scores = xp.mask(scores, allowed(xp, self.mask, pair, dims, size), float("-inf"))
        return xp.exp(scores - aligned(xp, arrays[5], roles.rows, pair))

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
