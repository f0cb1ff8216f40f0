"""Contractions: einsum over any number of tensors, and linear layers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from symacct.build.functions import Functions
from symacct.build.views import Views
from symacct.build.words import worded
from symacct.errors import GraphError, unknown
from symacct.ops.einsum import Einsum, bind_words
from symacct.ops.reduce import Reduce
from symacct.patterns import einsum_words, sides

if TYPE_CHECKING:
    from collections.abc import Sequence

    from symacct.build.scope import Var
    from symacct.tensor import Dim, Mask


@worded
class Contractions(Functions, Views):
    """Contractions are lowered to pairs; each pair is a node."""

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
        contracted pairwise, left to right, the result so far with the next one; or along ``path`` (pairs of
        positions, the result goes last).
        An axis that only one operand has and the result has not is summed first.
        """
        operands, out = einsum_words(equation, [t.tensor for t in tensors])
        bind_words(equation, operands, [t.tensor for t in tensors])
        left = list(zip(operands, tensors, strict=True))
        name = "einsum" if label is None else label
        steps = iter(path or ())
        while len(left) > 1:
            before = (0, 1) if len(left) == len(tensors) else (len(left) - 1, 0)
            i, j = next(steps, before)
            if not 0 <= i < len(left) or not 0 <= j < len(left) or i == j:
                raise GraphError(
                    f"the path step {(i, j)} of einsum {equation!r} names no pair of {len(left)} operands"
                )
            pair = (left[i], left[j])
            rest = [item for k, item in enumerate(left) if k not in (i, j)]
            needed = {w for ws, _ in rest for w in ws} | set(out)
            left = [
                *rest,
                self._pair(pair, out if not rest else None, needed, label if not rest else None, name, mask),
            ]
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

    def _summed(
        self, own: tuple[str, ...], x: Var, needed: set[str], name: str
    ) -> tuple[tuple[str, ...], Var]:
        lonely = tuple(w for w in own if w not in needed)
        if not lonely:
            return own, x
        axes = tuple(axis for axis, word in zip(x.axes, own, strict=True) if word in lonely)
        return tuple(w for w in own if w in needed), self._one(
            Reduce("sum", axes), x, label=None, default=f"{name}_sum"
        )

    def _settle(
        self, own: tuple[str, ...], x: Var, out: tuple[str, ...], label: str | None, name: str
    ) -> Var:
        own, x = self._summed(own, x, set(out), name)
        if own == out and (own == x.axes) and label is None:
            return x
        return x if own == out == x.axes else self._named(x, own, out, label, name)

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
            y = self.einsum(
                f"{' '.join(x.axes)}, {' '.join((*before, *after))} -> {' '.join(out)}", x, w, label="matmul"
            )
            if not bias:
                return y
            out_sizes = {a: y.tensor.dim(a) for a in after}
            return self.elementwise(
                "add", y, self.weight("bias", " ".join(after), trainable=trainable, **out_sizes), label="add"
            )
