"""The layers of networks: softmax, norms, dropout, embeddings, attention, experts, the loss."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sympy import sqrt

from symacct.algebra.condition import Condition
from symacct.algebra.symbols import check_name
from symacct.build.contractions import Contractions
from symacct.build.words import worded
from symacct.errors import GraphError, unknown
from symacct.ops.attention import FusedAttention
from symacct.ops.dropout import Dropout
from symacct.ops.grouped import GroupedMatmul
from symacct.ops.lookup import Embedding
from symacct.ops.loss import CrossEntropy
from symacct.ops.norm import LayerNorm, RMSNorm
from symacct.ops.rotary import Rotary
from symacct.ops.route import TopK
from symacct.ops.softmax import LogSoftmax, Softmax
from symacct.ops.view import Keys
from symacct.tensor import Mask

if TYPE_CHECKING:
    from sympy import Expr

    from symacct.build.scope import Var
    from symacct.tensor import Dim


@worded
class Networks(Contractions):
    """What models are made of, each one or a few nodes."""

    def softmax(self, x: Var, axis: str, *, label: str | None = None) -> Var:
        """Softmax over an axis; a structural mask of x is respected."""
        return self._one(Softmax(axis), x, label=label, default="softmax")

    def log_softmax(self, x: Var, axis: str, *, label: str | None = None) -> Var:
        """Logarithm of the softmax over an axis."""
        return self._one(LogSoftmax(axis), x, label=label, default="log_softmax")

    def layernorm(
        self, x: Var, axis: str, *, weight: bool = True, bias: bool = True, name: str = "norm"
    ) -> Var:
        """Layer normalisation over an axis with its own scale and shift."""
        with self.region(name):
            ins = [x, *(self._vector(n, x, axis) for n, on in (("weight", weight), ("bias", bias)) if on)]
            return self._one(LayerNorm(axis, weight, bias), *ins, label="layernorm", default="")

    def rmsnorm(self, x: Var, axis: str, *, weight: bool = True, name: str = "norm") -> Var:
        """Root-mean-square normalisation over an axis with its own scale."""
        with self.region(name):
            ins = [x, *([self._vector("weight", x, axis)] if weight else [])]
            return self._one(RMSNorm(axis, weight), *ins, label="rmsnorm", default="")

    def _vector(self, name: str, x: Var, axis: str) -> Var:
        if axis not in x.axes:
            raise unknown("axis", axis, x.axes, where=f"norm of {x!r}")
        return self.weight(name, axis, **{axis: x.tensor.dim(axis)})

    def dropout(self, x: Var, rate: Dim = "1/10", *, label: str | None = None) -> Var:
        """Drop elements at random and scale the rest; the mask is kept for backward."""
        return self._one(Dropout(self._constant(rate)), x, label=label, default="dropout")

    def embedding(self, table: Var, ids: Var, *, label: str | None = None) -> Var:
        """Look rows of a table up; 0 FLOP."""
        return self._one(Embedding(), table, ids, label=label, default="embedding")

    def rotary(
        self, x: Var, cos: Var, sin: Var, *, axis: str, positions: str = "S", label: str | None = None
    ) -> Var:
        """Rotate pairs of an axis by the angles of the constants ``cos`` and ``sin``."""
        return self._one(Rotary(axis, positions), x, cos, sin, label=label, default="rotary")

    def cross_entropy(self, logits: Var, targets: Var, axis: str, *, label: str | None = None) -> Var:
        """Mean cross-entropy of logits against integer targets: a scalar."""
        return self._one(CrossEntropy(axis), logits, targets, label=label, default="loss")

    def keys(self, x: Var, axis: str, name: str, *, label: str | None = None) -> Var:
        """Read the S new tokens of an axis as the T tokens that queries look at (a cache when decoding)."""
        length = self.size(name)
        if axis not in x.axes:
            raise unknown("axis", axis, x.axes, where=f"keys of {x!r}")
        self.require_equal(length, x.tensor.dim(axis))
        return self._one(Keys(axis, name, length), x, label=label, default="keys")

    def causal(self, rows: str, cols: str, *, window: Dim | None = None) -> Mask:
        """Return a structural mask for scores: ``b.einsum(..., mask=b.causal("S", "T"))``.

        Query i of S meets key j of T when j <= i + T - S, and with a window W when j > i + T - S - W.
        Nothing is stored for it.
        """
        return Mask(rows, cols, None if window is None else self._count(window, 1, "the window of a mask"))

    def require_equal(self, left: Expr, right: Expr) -> None:
        """Record that two sizes are equal in every graph that trains."""
        condition = Condition("equal", left, right)
        if not condition.is_certain() and condition not in self.conditions:
            self.require(condition)

    def attention(
        self,
        q: Var,
        k: Var,
        v: Var,
        *,
        query: str = "S",
        keys: str = "T",
        head: str = "K",
        causal: bool = True,
        window: Dim | None = None,
        dropout: Dim | None = None,
        fused: bool = False,
    ) -> Var:
        """Scaled dot-product attention in region ``core``: scores, scale, softmax, (dropout,) mix.

        Axes by name: ``q[.., S, K]``, ``k[.., T, K]``, ``v[.., T, K]``; axes that only q has (the query
        heads of a group) broadcast. ``fused`` makes it one op that keeps no scores and recomputes them.
        """
        for x, axes in ((q, (query, head)), (k, (keys, head)), (v, (keys,))):
            for axis in axes:
                if axis not in x.axes:
                    raise unknown("axis", axis, x.axes, where=f"attention over {x!r}")
        if query == keys:
            raise _one_axis(query, k, v)
        mask = self.causal(query, keys, window=window) if causal else None
        scale = 1 / sqrt(q.tensor.dim(head))
        if fused:
            op = FusedAttention(query, keys, head, mask, scale)
            return self._one(op, q, k, v, label=None, default="attention")
        with self.region("core"):
            scored = tuple(a for a in (*q.axes, keys) if a != head)
            mixed = tuple(a for a in q.axes if a != head)
            rest = tuple(a for a in v.axes if a not in (*q.axes, keys))
            out = (*mixed, *(rest or (head,)))
            text = f"{' '.join(q.axes)}, {' '.join(k.axes)} -> {' '.join(scored)}"
            x = self.einsum(text, q, k, label="scores", mask=mask)
            x = self.softmax(self.scale(x, scale, label="scale"), keys, label="softmax")
            if dropout is not None:
                x = self.dropout(x, dropout, label="dropout")
            return self.einsum(
                f"{' '.join(scored)}, {' '.join(v.axes)} -> {' '.join(out)}", x, v, label="mix"
            )

    def topk(self, scores: Var, axis: str, k: Dim, name: str, *, label: str | None = None) -> tuple[Var, Var]:
        """Return the ``k`` largest values along an axis, and their indices, with a new axis ``name``."""
        op = TopK(axis, self._count(k, 1, "the choices of top-k"), check_name(name))
        values, indices = self.apply(op, scores, label="topk" if label is None else f"={label}")
        return values, indices

    def grouped(
        self,
        x: Var,
        w: Var,
        experts: Var,
        *,
        expert: str = "E",
        over: str = "D",
        choice: str = "k",
        label: str | None = None,
    ) -> Var:
        """Multiply each row by the weight of its expert: exact work, however rows are spread over experts.

        ``experts[.., k]`` are indices; axis ``over`` of ``x[.., D]`` or ``x[.., k, D]`` and of
        ``w[E, D, F]`` is summed; the result is ``[.., k, F]``.
        """
        op = GroupedMatmul(expert, over, choice)
        return self._one(op, x, w, experts, label=label, default="grouped")


def _one_axis(axis: str, k: Var, v: Var) -> GraphError:
    """Return the error for attention whose queries and keys have one axis: scores have both."""
    other = next(name for name in ("T", "U", "keys") if name not in {axis, *k.axes, *v.axes})
    return GraphError(
        "queries and keys need two axes",
        where=f"attention over {k!r}",
        expected=f"query={axis!r} and another name for keys",
        got=f"query={axis!r}, keys={axis!r}",
        fix=f'k, v = b.keys(k, "{axis}", "{other}"), b.keys(v, "{axis}", "{other}"), with a size {other} of '
        f'the graph, then keys="{other}": when training both are as long',
    )
