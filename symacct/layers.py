"""The words a model is written in: einsum, linear, softmax, attention, ... each one or a few nodes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

from sympy import Integer, sqrt

from symacct.algebra.condition import Condition
from symacct.algebra.normal import normal, product, same
from symacct.errors import GraphError, SizeError, unknown
from symacct.ops.attention import FusedAttention
from symacct.ops.cast import Cast
from symacct.ops.dropout import Dropout
from symacct.ops.einsum import Einsum, bind_words
from symacct.ops.elementwise import Elementwise
from symacct.ops.elementwise_table import ROWS as TABLE
from symacct.ops.grouped import GroupedMatmul
from symacct.ops.grouped import GroupedMatmul
from symacct.ops.join import Concatenate, Slice
from symacct.ops.logsoftmax import LogSoftmax
from symacct.ops.logsoftmax import LogSoftmax
from symacct.ops.lookup import Embedding
from symacct.ops.loss import CrossEntropy
from symacct.ops.norm import LayerNorm, RMSNorm
from symacct.ops.reduce import Reduce
from symacct.ops.rotary import Rotary
from symacct.ops.route import TopK
from symacct.ops.softmax import Softmax
from symacct.ops.view import Keys, Rearrange
from symacct.patterns import einsum_words, fill, sides, words
from symacct.tensor import Mask

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from sympy import Expr

    from symacct.build import Var
    from symacct.op import Op

    Dim = str | int | Expr

HOW = ("sum", "mean", "max")


class Layers(ABC):
    """What a builder offers above single nodes. Labels are optional; a label given by hand must be new."""

    sizes: Mapping[str, str]
    conditions: list[Condition]

    @abstractmethod
    def apply(self, op: Op, *ins: Var, label: str) -> tuple[Var, ...]:
        """Add a node."""

    @abstractmethod
    def weight(self, name: str, axes: str, *, trainable: bool = True, **sizes: Dim) -> Var:
        """Declare a parameter."""

    @abstractmethod
    def size(self, dim: Dim) -> Expr:
        """Return a size as an expression."""

    @abstractmethod
    def region(self, name: str) -> AbstractContextManager[None]:
        """Put what is built inside under a name."""

    @abstractmethod
    def require(self, condition: Condition) -> None:
        """Record a condition under which the graph exists."""

    def _one(self, op: Op, *ins: Var, label: str | None, default: str) -> Var:
        return self.apply(op, *ins, label=default if label is None else f"={label}")[0]

    # ---- contractions ----

    def einsum(
        self,
        equation: str,
        *tensors: Var,
        label: str | None = None,
        path: Sequence[tuple[int, int]] | None = None,
        mask: Mask | None = None,
    ) -> Var:
        """Contract tensors: ``b.einsum("B S D, D F -> B S F", x, w)``.

        Words are local and positional; the result's axes are named by them. More than two operands are
        contracted pairwise, left to right or along ``path`` (pairs of positions, the result goes last).
        An axis that only one operand has and the result has not is summed first.
        """
        operands, out = einsum_words(equation, [t.tensor for t in tensors])
        bind_words(equation, operands, [t.tensor for t in tensors])
        left = list(zip(operands, tensors, strict=True))
        name = "einsum" if label is None else label
        steps = iter(path or [(0, 1)] * (len(left) - 1))
        while len(left) > 1:
            i, j = next(steps, (0, 1))
            if not 0 <= i < len(left) or not 0 <= j < len(left) or i == j:
                raise GraphError(f"the path step {(i, j)} of einsum {equation!r} names no pair of {len(left)} operands")
            pair = (left[i], left[j])
            rest = [item for k, item in enumerate(left) if k not in (i, j)]
            needed = {w for ws, _ in rest for w in ws} | set(out)
            left = [*rest, self._pair(pair, out if not rest else None, needed, label if not rest else None, name, mask)]
        final, result = left[0]
        return self._settle(final, result, out, label if len(tensors) == 1 else None, name)

    def _pair(
        self,
        pair: tuple[tuple[tuple[str, ...], Var], tuple[tuple[str, ...], Var]],
        out: tuple[str, ...] | None,
        needed: set[str],
        label: str | None,
        name: str,
        mask: Mask | None,
    ) -> tuple[tuple[str, ...], Var]:
        (left, a), (right, b) = pair
        left, a = self._summed(left, a, needed | set(right), name)
        right, b = self._summed(right, b, needed | set(left), name)
        if out is None:
            out = tuple(w for w in dict.fromkeys((*left, *right)) if w in needed)
        contraction = bool((set(left) | set(right)) - set(out))
        op = Einsum(left, right, out, contraction, mask if label is not None or mask is not None else None)
        return out, self._one(op, a, b, label=label, default=name if label is not None else "einsum")

    def _summed(self, own: tuple[str, ...], x: Var, needed: set[str], name: str) -> tuple[tuple[str, ...], Var]:
        lonely = tuple(w for w in own if w not in needed)
        if not lonely:
            return own, x
        axes = tuple(axis for axis, word in zip(x.axes, own, strict=True) if word in lonely)
        return tuple(w for w in own if w in needed), self._one(
            Reduce("sum", axes), x, label=None, default=f"{name}_sum"
        )

    def _settle(self, own: tuple[str, ...], x: Var, out: tuple[str, ...], label: str | None, name: str) -> Var:
        own, x = self._summed(own, x, set(out), name)
        if own == out and (own == x.axes) and label is None:
            return x
        return x if own == out == x.axes else self._named(x, own, out, label, name)

    def _named(self, x: Var, own: tuple[str, ...], out: tuple[str, ...], label: str | None, default: str) -> Var:
        dims = tuple(zip(own, x.dims, strict=True))
        op = Rearrange(tuple((w,) for w in own), tuple((w,) for w in out), dims, out)
        return self._one(op, x, label=label, default=default)

    def linear(
        self,
        x: Var,
        axes: str,
        *,
        bias: bool = False,
        name: str = "linear",
        trainable: bool = True,
        **sizes: Dim,
    ) -> Var:
        """Multiply by a new weight: ``b.linear(x, "D -> F", name="up")`` turns axis D of x into axis F.

        Every other axis of x is a leading axis. Several axes may go in and out (``"D -> H K"``); an axis
        whose name is no declared size is given by keyword. With ``bias`` one addition per output element.
        """
        before, after = (tuple(side.split()) for side in sides(axes))
        for axis in before:
            if axis not in x.axes:
                raise unknown("axis", axis, x.axes, where=f"linear {name!r} ({axes}) of {x!r}")
        kept = tuple(a for a in x.axes if a not in before)
        clash = [a for a in after if a in kept or a in before]
        if clash:
            raise GraphError(
                f"linear {name!r} makes axis {clash[0]}, which {x!r} has already",
                expected="a new axis name",
                got=axes,
                fix=f'give it a name of its own and this size: "{" ".join(before)} -> {clash[0]}2", '
                f'{clash[0]}2="{clash[0]}"',
            )
        given = {a: x.tensor.dim(a) for a in before} | dict(sizes)
        with self.region(name):
            w = self.weight("weight", " ".join((*before, *after)), trainable=trainable, **given)
            at = x.axes.index(before[-1]) if before else len(kept)
            place = sum(1 for a in x.axes[:at] if a in kept)
            out = (*kept[:place], *after, *kept[place:])
            y = self.einsum(f"{' '.join(x.axes)}, {' '.join((*before, *after))} -> {' '.join(out)}", x, w, label="matmul")
            if not bias:
                return y
            out_sizes = {a: y.tensor.dim(a) for a in after}
            return self.elementwise("add", y, self.weight("bias", " ".join(after), trainable=trainable, **out_sizes), label="add")

    # ---- elementwise, reductions, views ----

    def elementwise(self, function: str, *xs: Var, constant: Dim | None = None, label: str | None = None) -> Var:
        """Apply a function of the elementwise table; axes align by name and broadcast by name."""
        if function not in TABLE:
            raise unknown("elementwise function", function, TABLE)
        value = None if constant is None else normal(self._constant(constant))
        return self._one(Elementwise(function, value), *xs, label=label, default=function)

    def _constant(self, constant: Dim) -> Expr:
        from fractions import Fraction

        from symacct.algebra.symbols import as_expr
        from symacct.syntax import read_formula

        if isinstance(constant, str):
            return read_formula(constant, set(self.sizes))
        return as_expr(Fraction(constant) if isinstance(constant, Fraction) else constant)

    def __getattr__(self, function: str) -> Callable[..., Var]:
        """Offer every function of the elementwise table as a method: ``b.relu(x)``, ``b.silu(x)``."""
        if function.startswith("_") or function not in TABLE:
            if function.startswith("_"):
                raise AttributeError(function)
            raise unknown("builder method", function, [*TABLE, *(m for m in dir(self) if not m.startswith("_"))])

        def call(*xs: Var, label: str | None = None) -> Var:
            return self.elementwise(function, *xs, label=label)

        return call

    def scale(self, x: Var, constant: Dim, *, label: str | None = None) -> Var:
        """Multiply by a constant, which may be symbolic: ``b.scale(x, "1/sqrt(K)")``."""
        return self.elementwise("scale", x, constant=constant, label=label)

    def shift(self, x: Var, constant: Dim, *, label: str | None = None) -> Var:
        """Add a constant."""
        return self.elementwise("shift", x, constant=constant, label=label)

    def cast(self, x: Var, dtype: str, *, label: str | None = None) -> Var:
        """Copy into another dtype."""
        return self._one(Cast(dtype), x, label=label, default="cast")

    def reduce(self, pattern: str, x: Var, how: str = "sum", *, label: str | None = None) -> Var:
        """Reduce axes away: ``b.reduce("B S D -> B D", x, "mean")``; sum, mean or max."""
        if how not in HOW:
            raise unknown("reduction", how, HOW)
        left, right = sides(pattern)
        own = fill(tuple(g[0] for g in words(left, pattern)), x.axes, pattern)
        out_items = tuple(g[0] for g in words(right, pattern))
        bind_words(pattern, (own,), (x.tensor,))
        spread = [a for a in own if a not in {g[0] for g in words(left, pattern)}]
        out = tuple(a for item in out_items for a in (spread if item == "..." else (item,)))
        for word in out:
            if word not in own:
                raise unknown("axis", word, own, where=f"reduce {pattern!r}")
        gone = tuple(axis for axis, word in zip(x.axes, own, strict=True) if word not in out)
        if not gone:
            raise GraphError(f"reduce {pattern!r} removes no axis", fix="use rearrange to reorder axes")
        y = self._one(Reduce(how, gone), x, label=label, default=how)
        kept = tuple(w for w in own if w in out)
        return y if kept == out == y.axes else self._named(y, kept, out, None, f"{how}_view")

    def rearrange(self, pattern: str, x: Var, *, label: str | None = None, **sizes: Dim) -> Var:
        """Split, merge and reorder axes: ``b.rearrange("... (H K) -> ... H K", x, H=8)``.

        Raises:
            SizeError: a split that does not divide; symbolic sizes carry ``H divides D`` as a condition.
        """
        left_text, right_text = sides(pattern)
        left_groups, right_groups = words(left_text, pattern), words(right_text, pattern)
        left, spread = _spread(left_groups, x.axes, pattern)
        right = tuple(g for group in right_groups for g in ([(a,) for a in spread] if group == ("...",) else [group]))
        dims: dict[str, Expr] = {}
        given = {axis: self.size(size) for axis, size in sizes.items()}
        for group, axis, dim in zip(left, x.axes, x.dims, strict=True):
            dims |= self._split(group, axis, dim, given, pattern)
        flat, wanted = [a for g in left for a in g], [a for g in right for a in g]
        if sorted(flat) != sorted(wanted) or len(set(flat)) != len(flat):
            raise GraphError(
                f"rearrange {pattern!r} must have each axis once on both sides",
                expected=" ".join(sorted(set(flat))), got=" ".join(sorted(wanted)),
                fix="use reduce to remove an axis, or elementwise broadcasting to add one",
            )  # fmt: skip
        for axis in given:
            if axis not in dims:
                raise unknown("axis", axis, flat, where=f"rearrange {pattern!r}")
        names = tuple("".join(group) for group in right)
        op = Rearrange(left, right, tuple((a, dims[a]) for a in flat), names)
        return self._one(op, x, label=label, default="rearrange")

    def _split(self, group: tuple[str, ...], axis: str, dim: Expr, given: Mapping[str, Expr], pattern: str) -> dict[str, Expr]:
        known = {a: given[a] for a in group if a in given}
        open_ = [a for a in group if a not in known]
        for name in open_[: -1 if len(open_) > 1 or not open_ else None]:
            if len(open_) > 1 and name in self.sizes:
                known[name] = self.size(name)
        open_ = [a for a in group if a not in known]
        where = f"rearrange {pattern!r}, axis {axis} = {dim}"
        if len(open_) > 1:
            raise SizeError(
                f"the sizes of {' and '.join(open_)} are not known", where=where,
                expected="all but one size of a split", got=", ".join(f"{a}={s}" for a, s in known.items()) or "none",
                fix=f"give them by keyword: {open_[0]}=...",
            )  # fmt: skip
        whole = product(tuple(known.values()))
        if open_:
            known[open_[0]] = self._quotient(dim, whole, where)
        elif not same(whole, dim):
            raise SizeError(
                f"({' '.join(group)}) has another size than the axis it splits", where=where,
                expected=str(dim), got=str(whole),
            )  # fmt: skip
        return {a: known[a] for a in group}

    def _quotient(self, dim: Expr, by: Expr, where: str) -> Expr:
        quotient = normal(dim / by)
        if by == 1:
            return quotient
        if quotient.is_number and not quotient.is_integer:
            raise SizeError(
                f"{by} does not divide {dim}", where=where, expected=f"a multiple of {by}", got=str(dim),
                fix="choose sizes that divide",
            )  # fmt: skip
        condition = Condition("divides", by, dim)
        if not condition.is_certain():
            self.require(condition)
        return quotient

    def concatenate(self, tensors: Sequence[Var], axis: str, *, label: str | None = None) -> Var:
        """Join tensors along a named axis (a copy)."""
        return self._one(Concatenate(axis), *tensors, label=label, default="concatenate")

    def slice(self, x: Var, axis: str, start: Dim, stop: Dim, *, label: str | None = None) -> Var:
        """Take ``start .. stop-1`` of an axis (a view)."""
        first = Integer(0) if start == 0 else self.size(start)
        return self._one(Slice(axis, first, self.size(stop)), x, label=label, default="slice")

    # ---- normalisation, dropout, lookups, loss ----

    def softmax(self, x: Var, axis: str, *, label: str | None = None) -> Var:
        """Softmax over an axis; a structural mask of x is respected."""
        return self._one(Softmax(axis), x, label=label, default="softmax")

    def log_softmax(self, x: Var, axis: str, *, label: str | None = None) -> Var:
        """Logarithm of the softmax over an axis."""
        return self._one(LogSoftmax(axis), x, label=label, default="log_softmax")

    def layernorm(self, x: Var, axis: str, *, weight: bool = True, bias: bool = True, name: str = "norm") -> Var:
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
        """Rotate pairs of an axis by the angles of the constants ``cos`` and ``sin``, one row per position."""
        return self._one(Rotary(axis, positions), x, cos, sin, label=label, default="rotary")

    def cross_entropy(self, logits: Var, targets: Var, axis: str, *, label: str | None = None) -> Var:
        """Mean cross-entropy of logits against integer targets: a scalar."""
        return self._one(CrossEntropy(axis), logits, targets, label=label, default="loss")

    # ---- attention ----

    def keys(self, x: Var, axis: str, name: str, *, label: str | None = None) -> Var:
        """Read the S new tokens of an axis as the T tokens that queries look at (a cache when decoding)."""
        length = self.size(name)
        if axis not in x.axes:
            raise unknown("axis", axis, x.axes, where=f"keys of {x!r}")
        self.require_equal(length, x.tensor.dim(axis))
        return self._one(Keys(axis, name, length), x, label=label, default="keys")

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
        width = None if window is None else self.size(window)
        mask = Mask(query, keys, width) if causal else None
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
            return self.einsum(f"{' '.join(scored)}, {' '.join(v.axes)} -> {' '.join(out)}", x, v, label="mix")

    # ---- experts ----

    def topk(self, scores: Var, axis: str, k: Dim, name: str, *, label: str | None = None) -> tuple[Var, Var]:
        """Return the ``k`` largest values along an axis, and their indices, with a new axis ``name``."""
        op = TopK(axis, self.size(k), name)
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


def _spread(
    groups: tuple[tuple[str, ...], ...], axes: tuple[str, ...], pattern: str
) -> tuple[tuple[tuple[str, ...], ...], list[str]]:
    """Return the groups of a left side with its ellipsis filled in, and the axes it stood for."""
    plain = tuple("..." if g == ("...",) else f"\0{i}" for i, g in enumerate(groups))
    full = fill(plain, axes, pattern)
    if len(full) != len(axes):
        raise GraphError(
            f"rearrange {pattern!r} has {len(full)} axes on its left", expected=f"{len(axes)}: {' '.join(axes)}",
            got=str(len(full)),
        )  # fmt: skip
    spread = [axis for axis in full if not axis.startswith("\0")]
    return tuple(groups[int(a[1:])] if a.startswith("\0") else (a,) for a in full), spread
