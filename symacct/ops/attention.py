"""Attention as one op: the scores are never a tensor of the graph. Its backward is in ``attention_grad``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, final

from sympy import Expr, Integer, S, sqrt

from symacct.errors import RuleError
from symacct.op import Example, Op
from symacct.ops.attention_grad import FusedAttentionGrad
from symacct.ops.attention_roles import check_roles, letters
from symacct.ops.broadcast import aligned
from symacct.ops.layout import allowed, opened, ordered, sized
from symacct.tensor import Mask, Tensor, value

if TYPE_CHECKING:
    from collections.abc import Sequence

    from symacct.op import Call, Emit, NodeLike


@final
@dataclass(frozen=True, slots=True)
class FusedAttention(Op):
    """``softmax(scale q k) v``, with the scores kept in fast memory.

    Inputs: q, k, v. Axes of k other than the key and the head axis are batch axes, which q and v have too;
    further axes of q are groups of queries that share keys (grouped-query attention). v has one feature
    axis; it may be the head axis. Outputs: o, q's axes with the feature axis in place of the head axis; and
    logsumexp, one number for each query, which backward reads with q, k, v and o.

    The result is divided by the sums of its rows, not each probability. ``fma`` and ``chain`` are those of
    the two products alone, and so are what ``.matmul`` totals take; the softmax's chains are ``row_chain``.

    >>> op = FusedAttention("S", "T", "K")
    >>> q, k = sized(B=2, H=3, S=4, K=8), sized(B=2, H=3, T=4, K=8)
    >>> str(op.counts([q, k, k], op.infer(q, k, k))["fma"])
    '1536'

    Attributes:
        query_axis: the axis of the queries, in q.
        key_axis: the axis of the keys, in k and v.
        head_axis: the axis that the scores sum, in q and k.
        mask: a structural mask over the query and key axes.
        scale: the factor of the scores, such as ``1 / sqrt(K)``.
    """

    query_axis: str
    key_axis: str
    head_axis: str
    mask: Mask | None = None
    scale: Expr = S.One

    kind: ClassVar[str] = "attention"

    def contracted(self) -> frozenset[str]:
        """Return the primitives of the two products."""
        return frozenset({"fma", "chain"})

    def infer(self, *ins: Tensor) -> tuple[Tensor, ...]:
        """Return o and logsumexp."""
        roles = check_roles(self.query_axis, self.key_axis, self.head_axis, self.mask, ins)
        q, _, v = ins
        sizes = dict(zip(q.axes, q.dims, strict=True)) | {roles.feature: v.dim(roles.feature)}
        dims = tuple(sizes[axis] for axis in roles.out)
        return (
            value(roles.out, dims, q.dtype),
            value(roles.rows, tuple(sizes[a] for a in roles.rows), "stat"),
        )

    def mask_of(self, ins: Sequence[Tensor], outs: Sequence[Tensor]) -> Mask | None:
        """Return the mask, or None where every pair takes part."""
        return self.mask

    def needs(self, ins: Sequence[Tensor]) -> tuple[tuple[Expr, int], ...]:
        """Return what the mask needs."""
        sizes = ins[0].dim(self.query_axis), ins[1].dim(self.key_axis)
        return () if self.mask is None else self.mask.needs(*sizes)

    def issues(self, ins: Sequence[Tensor], outs: Sequence[Tensor]) -> tuple[Expr, ...]:
        """Return one read of each operand per point of its product."""
        points = outs[1].numel * ins[1].dim(self.key_axis)
        scores, weighted = points * ins[0].dim(self.head_axis), points * (outs[0].numel / outs[1].numel)
        return (scores, scores, weighted)

    def vjp(self, emit: Emit, node: NodeLike, g: str, wanted: frozenset[int]) -> dict[int, str]:
        """Emit one op that makes the probabilities again and gives every wanted gradient."""
        if not wanted:
            return {}
        if not wanted <= {0, 1, 2}:
            raise RuleError("attention has three inputs", expected="q, k, v", got=str(sorted(wanted)))
        slots = tuple(sorted(wanted))
        op = FusedAttentionGrad(self.query_axis, self.key_axis, self.head_axis, self.mask, self.scale, slots)
        return dict(zip(slots, emit(op, g, *node.ins, *node.outs), strict=True))

    def run(self, call: Call) -> tuple[Any, ...]:
        """Score every pair, take exponentials against each row's largest, sum, divide."""
        xp, ins = call.xp, call.ins
        roles = check_roles(self.query_axis, self.key_axis, self.head_axis, self.mask, ins)
        q, k, v = call.arrays
        pair, last = (*roles.rows, self.key_axis), len(roles.rows)
        scores = xp.einsum(letters(ins[0].axes, ins[1].axes, pair), q, k) * call.number(self.scale)
        if self.mask is not None:
            dims = tuple(roles.size(axis, ins) for axis in pair)
            scores = xp.mask(scores, allowed(call, self.mask, pair, dims), float("-inf"))
        top = xp.max(scores, [last])
        weights = xp.exp(scores - opened(xp, top, last))
        row = xp.sum(weights, [last])
        o = xp.einsum(letters(pair, ins[2].axes, roles.out), weights, v)
        return (o / aligned(xp, row, roles.rows, roles.out), top + xp.log(row))

    def native(self, torch: Any, call: Call) -> tuple[Any, ...]:
        """Call torch's scaled_dot_product_attention on its math path, keys repeated for grouped queries."""
        xp, ins = call.xp, call.ins
        roles = check_roles(self.query_axis, self.key_axis, self.head_axis, self.mask, ins)
        lead = (*roles.batch, *roles.groups)
        sizes = [call.size(roles.size(axis, ins)) for axis in lead]
        ends = (
            (self.query_axis, self.head_axis),
            (self.key_axis, self.head_axis),
            (self.key_axis, roles.feature),
        )
        q, k, v = (
            aligned(xp, a, t.axes, (*lead, *end)).expand(*sizes, -1, -1)
            for a, t, end in zip(call.arrays, ins, ends, strict=True)
        )
        keep = None
        if self.mask is not None:
            axes = (self.query_axis, self.key_axis)
            keep = allowed(call, self.mask, axes, tuple(roles.size(a, ins) for a in axes))
        with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
            attend = torch.nn.functional.scaled_dot_product_attention
            o = attend(q, k, v, attn_mask=keep, scale=call.number(self.scale))
        return (ordered(xp, o, (*lead, self.query_axis, roles.feature), roles.out), None)

    def latex(self, *inputs: str) -> str:
        """Return attention over its operands."""
        return rf"\operatorname{{attention}}({', '.join(inputs)})"

    @classmethod
    def examples(cls) -> tuple[Example, ...]:
        """Return heads, a causal mask, grouped queries with a feature axis of its own, and a window."""
        every = frozenset({0, 1, 2})
        q, k = sized(B=2, H=2, S=3, K=4), sized(B=2, H=2, T=3, K=4)
        scale, width = 1 / sqrt(Integer(4)), Integer(2)
        grouped = (sized(B=2, G=2, R=3, S=2, K=4), sized(B=2, G=2, T=3, K=4), sized(B=2, T=3, G=2, V=5))
        return (
            Example(cls("S", "T", "K", scale=scale), (q, k, k), every),
            Example(cls("S", "T", "K", Mask("S", "T"), scale), (q, k, k), every),
            Example(cls("S", "T", "K", Mask("S", "T"), scale), grouped, every),
            Example(cls("S", "T", "K", Mask("S", "T", width), scale), (q, k, k), every),
            Example(cls("S", "T", "K"), (sized(S=2, K=3), sized(T=4, K=3), sized(T=4, V=2)), every),
        )
