"""Reductions, and views: splitting, merging, reordering and slicing axes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from symacct.algebra.normal import normal, product, same
from symacct.build.scope import Scope, Var
from symacct.build.words import worded
from symacct.errors import GraphError, SizeError, unknown
from symacct.ops.einsum import bind_words
from symacct.ops.join import Concatenate, Slice
from symacct.ops.reduce import Reduce
from symacct.ops.view import Rearrange
from symacct.patterns import fill, sides, words

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sympy import Expr

    from symacct.tensor import Dim

HOW = ("sum", "mean", "max")


@worded
class Views(Scope):
    """Patterns in words over the axes of one tensor."""

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
        right = tuple(
            g for group in right_groups for g in ([(a,) for a in spread] if group == ("...",) else [group])
        )
        dims: dict[str, Expr] = {}
        given = {axis: self._positive(size, f"rearrange, axis {axis}") for axis, size in sizes.items()}
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

    def _split(
        self, group: tuple[str, ...], axis: str, dim: Expr, given: Mapping[str, Expr], pattern: str
    ) -> dict[str, Expr]:
        known = {a: given[a] for a in group if a in given}
        open_ = [a for a in group if a not in known]
        for name in open_[: -1 if len(open_) > 1 or not open_ else None]:
            if len(open_) > 1 and name in self.sizes:
                known[name] = self.size(name)
        open_ = [a for a in group if a not in known]
        where = f"rearrange {pattern!r}, axis {axis} = {dim}"
        if len(open_) > 1:
            raise SizeError(
                f"the sizes of {' and '.join(open_)} are not known",
                where=where,
                expected="all but one size of a split",
                got=", ".join(f"{a}={s}" for a, s in known.items()) or "none",
                fix=f"give them by keyword: {open_[0]}=...",
            )
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
        return self._needs(quotient, 1, where)

    def concatenate(self, tensors: Sequence[Var], axis: str, *, label: str | None = None) -> Var:
        """Join tensors along a named axis (a copy)."""
        return self._one(Concatenate(axis), *tensors, label=label, default="concatenate")

    def slice(self, x: Var, axis: str, start: Dim, stop: Dim, *, label: str | None = None) -> Var:
        """Take ``start .. stop-1`` of an axis (a view)."""
        first, last = self._formula(start), self._formula(stop)
        return self._one(Slice(axis, first, last), x, label=label, default="slice")

    def _named(
        self, x: Var, own: tuple[str, ...], out: tuple[str, ...], label: str | None, default: str
    ) -> Var:
        dims = tuple(zip(own, x.dims, strict=True))
        op = Rearrange(tuple((w,) for w in own), tuple((w,) for w in out), dims, out)
        return self._one(op, x, label=label, default=default)


def _spread(
    groups: tuple[tuple[str, ...], ...], axes: tuple[str, ...], pattern: str
) -> tuple[tuple[tuple[str, ...], ...], list[str]]:
    """Return the groups of a left side with its ellipsis filled in, and the axes it stood for."""
    plain = tuple("..." if g == ("...",) else f"\0{i}" for i, g in enumerate(groups))
    full = fill(plain, axes, pattern)
    if len(full) != len(axes):
        raise GraphError(
            f"rearrange {pattern!r} has {len(full)} axes on its left",
            expected=f"{len(axes)}: {' '.join(axes)}",
            got=str(len(full)),
        )
    spread = [axis for axis in full if not axis.startswith("\0")]
    return tuple(groups[int(a[1:])] if a.startswith("\0") else (a,) for a in full), spread
