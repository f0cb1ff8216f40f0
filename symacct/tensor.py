"""Tensors with named axes, and structural masks over pairs of axes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sympy import Expr, Integer, Max, Min

from symacct.algebra.evaluate import substitute
from symacct.algebra.normal import normal, product

if TYPE_CHECKING:
    from collections.abc import Mapping

Dim = str | int | Expr
"""A size as a user writes it: a formula over declared sizes, an integer, or an expression."""

ROLES = ("input", "weight", "activation", "constant", "cache", "gradient", "state")
"""What a tensor is to the graph; only ``activation`` and ``gradient`` tensors are made by nodes."""

FOLLOWING_DTYPES = ("float", "stat", "mask", "index")
"""Dtypes that the policy resolves: values, norm and softmax statistics, dropout masks, integer indices."""

FLOATING_DTYPES = ("float", "stat", "fp64", "fp32", "bf16", "fp16")


@dataclass(frozen=True, slots=True)
class Mask:
    """A structural mask: which (query, key) pairs take part. Nothing is stored for it.

    Query ``i`` of S and key ``j`` of T (S <= T, aligned at their ends) pair when
    ``j <= i + T - S`` and, with a window W, ``j > i + T - S - W``.

    >>> from symacct.algebra.symbols import symbol
    >>> S = symbol("S")
    >>> Mask("S", "T").allowed(S, S)
    S**2/2 + S/2
    """

    rows: str
    cols: str
    window: Expr | None = None

    def allowed(self, rows: Expr, cols: Expr) -> Expr:
        """Return the exact number of allowed pairs for the sizes of the two axes."""
        past = cols - rows
        if self.window is None:
            return normal(rows * past + rows * (rows + 1) / 2)
        width = Min(self.window, cols)
        if rows == 1:
            return width
        growing = Max(Integer(0), Min(rows, width - past))
        return normal(growing * past + growing * (growing + 1) / 2 + (rows - growing) * width)

    def needs(self, rows: Expr, cols: Expr) -> tuple[tuple[Expr, int], ...]:
        """Return the counts that the mask takes, each with the least it may be: T - S, and a window.

        With more queries than keys some queries would see no key at all.
        """
        past = (normal(cols - rows), 0)
        return (past,) if self.window is None else (past, (self.window, 1))

    def covers(self, axes: tuple[str, ...]) -> bool:
        """Say whether both axes of the mask are among ``axes``."""
        return self.rows in axes and self.cols in axes

    def renamed(self, names: Mapping[str, str]) -> Mask | None:
        """Return the mask over renamed axes, or None when one of them is gone."""
        if self.rows not in names or self.cols not in names:
            return None
        return Mask(names[self.rows], names[self.cols], self.window)

    def substitute(self, sizes: Mapping[str, Expr]) -> Mask:
        """Return the mask with sizes replaced by name."""
        return self if self.window is None else Mask(self.rows, self.cols, substitute(self.window, sizes))


@dataclass(frozen=True, slots=True)
class Tensor:
    """A named tensor: axes (names), dims (sizes), dtype, role, and the repeats it lives in.

    ``path`` lists the repeats around it; the sizes are those of one iteration. An axis's name and
    its size are different things: S and T may both have size S.
    """

    name: str
    axes: tuple[str, ...]
    dims: tuple[Expr, ...]
    dtype: str = "float"
    role: str = "activation"
    path: tuple[str, ...] = ()
    mask: Mask | None = None

    @property
    def numel(self) -> Expr:
        """The number of elements of one iteration's tensor."""
        return product(self.dims)

    @property
    def floating(self) -> bool:
        """Whether a gradient can flow to it."""
        return self.dtype in FLOATING_DTYPES

    def dim(self, axis: str) -> Expr:
        """Return the size of a named axis."""
        return self.dims[self.axes.index(axis)]

    def describe(self) -> str:
        """Return ``name[B=.., D=..]`` for messages.

        >>> from symacct.algebra.symbols import symbol
        >>> Tensor("x", ("B", "E"), (symbol("B"), symbol("D"))).describe()
        'x[B, E=D]'
        """
        parts = (a if str(d) == a else f"{a}={d}" for a, d in zip(self.axes, self.dims, strict=True))
        return f"{self.name}[{', '.join(parts)}]"


def value(
    axes: tuple[str, ...], dims: tuple[Expr, ...], dtype: str = "float", mask: Mask | None = None
) -> Tensor:
    """Return an unnamed tensor, as a shape rule states its result; a mask that lost an axis is dropped."""
    kept = mask if mask is not None and mask.covers(axes) else None
    return Tensor("", axes, dims, dtype, mask=kept)
