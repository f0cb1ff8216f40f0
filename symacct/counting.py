"""An array module whose arrays know their sizes alone and count what is done to them.

Sizes are symbols. Indices, masks and constants are plain: what is done among them is not counted. A sum of n
terms is n ``add`` and one chain. What has no count here is an error, never a zero.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, NoReturn

from sympy import S, ceiling

from symacct.algebra.normal import normal, product, same, total
from symacct.algebra.symbols import as_expr
from symacct.errors import RuleError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from sympy import Expr

    Dims = tuple[Expr, ...]

PLAIN = ("index", "mask")
"""Dtypes of arrays that are plain: work on them alone is not counted."""


def _unknown(what: str) -> RuleError:
    return RuleError(
        f"{what} has no count",
        expected="primitives of symacct.op.Arrays, and + - * / with comparisons",
        fix="write it with these, or say in symacct/counting.py what the new primitive counts",
    )


def _each(primitive: str, *, plain: bool = False) -> Callable[..., Any]:
    return lambda a, *others: a.counting.each(primitive, a, *others, plain=plain)


def _refused(name: str) -> Callable[..., Any]:
    def refuse(*_: object) -> NoReturn:
        raise _unknown(f"{name} of an array, which run asks for,")

    return refuse


class Sized:
    """An array of which the sizes are known and nothing else."""

    __slots__ = ("counting", "dims", "plain")

    def __init__(self, counting: Counting, dims: Dims, *, plain: bool) -> None:
        """Hold who counts, the sizes, and whether work among such arrays is free."""
        self.counting = counting
        self.dims = dims
        self.plain = plain

    __add__ = __radd__ = _each("add")
    __sub__ = __rsub__ = _each("sub")
    __mul__ = __rmul__ = _each("mul")
    __truediv__ = __rtruediv__ = _each("div")
    __neg__ = _each("neg")
    __lt__ = __le__ = __gt__ = __ge__ = _each("compare", plain=True)
    __eq__ = __ne__ = _each("compare", plain=True)
    __hash__ = None  # type: ignore[assignment]
    __bool__ = __float__ = __int__ = __index__ = _refused("the value")
    __iter__ = __len__ = __getitem__ = __contains__ = _refused("an element")
    __pow__ = __rpow__ = __matmul__ = __mod__ = __floordiv__ = _refused("an operator")

    def __getattr__(self, name: str) -> NoReturn:
        """Refuse what an array of sizes does not have."""
        raise _unknown(f".{name} of an array, which run asks for,")


def _function(name: str) -> Callable[..., Sized]:
    return lambda self, a: self.each(name, a)


class Counting:
    """The :class:`symacct.op.Arrays` protocol on arrays of sizes.

    >>> from symacct.algebra.symbols import symbol
    >>> xp = Counting()
    >>> x = xp.array((symbol("B"), symbol("D")))
    >>> y = xp.sum(xp.exp(x) * 2.0, (1,))
    >>> y.dims, xp.counts()
    ((B,), {'exp': B*D, 'mul': B*D, 'add': B*D, 'chain': B})
    """

    def __init__(self, *, products: bool = False, rows: bool = False) -> None:
        """Start at nothing.

        Args:
            products: einsums are contractions (``fma``), else products of elements (``mul`` and ``add``).
            rows: chains of reductions are told apart from those of contractions, as ``row_chain``.
        """
        self.products = products
        self.reduction = "row_chain" if rows else "chain"
        self.tally: Counter[tuple[str, Dims]] = Counter()

    def array(self, dims: Iterable[Expr | int], *, plain: bool = False) -> Sized:
        """Return an array of these sizes."""
        return Sized(self, tuple(map(as_expr, dims)), plain=plain)

    def counts(self) -> dict[str, Expr]:
        """Return what was counted: each primitive with how often it was used."""
        sizes = {dims: product(dims) for _, dims in self.tally}
        found: dict[str, list[Expr]] = {}
        for (primitive, dims), times in self.tally.items():
            found.setdefault(primitive, []).append(sizes[dims] * times)
        return {name: normal(terms[0]) if len(terms) == 1 else total(terms) for name, terms in found.items()}

    def each(self, primitive: str, *operands: Any, plain: bool = False) -> Sized:
        """Count a primitive once for each element, unless all operands are plain or numbers."""
        arrays = [one for one in operands if isinstance(one, Sized)]
        dims = _spread([one.dims for one in arrays])
        free = all(one.plain for one in arrays)
        if not free:
            self.tally[primitive, dims] += 1
        return Sized(self, dims, plain=plain or free)

    def _reduced(self, primitive: str, a: Sized, axes: Sequence[int], *, plain: bool = False) -> Sized:
        kept = tuple(dim for at, dim in enumerate(a.dims) if at not in axes)
        if not a.plain:
            self.tally[primitive, a.dims] += 1
            self.tally[self.reduction, kept] += 1
        return Sized(self, kept, plain=plain or a.plain)

    # ---- what counts ----

    exp, log, sqrt, rsqrt = map(_function, ("exp", "log", "sqrt", "rsqrt"))
    tanh, erf, sigmoid = map(_function, ("tanh", "erf", "sigmoid"))
    abs, sign, square = map(_function, ("abs", "sign", "square"))

    def einsum(self, equation: str, *arrays: Sized) -> Sized:
        """Count a point of the index space as one fma, or one mul and an add where it sums."""
        left, out = equation.split("->")
        sizes = {
            letter: dim
            for word, one in zip(left.split(","), arrays, strict=True)
            for letter, dim in zip(word, one.dims, strict=True)
        }
        points, made = tuple(sizes.values()), tuple(sizes[letter] for letter in out)
        sums = len(made) < len(points)
        self.tally["fma" if self.products else "mul", points] += 1
        if sums and not self.products:
            self.tally["add", points] += 1
        if sums or self.products:
            self.tally["chain", made] += 1
        return Sized(self, made, plain=False)

    def where(self, condition: Sized, a: Any, b: Any) -> Sized:
        """Count one where for each element."""
        return self.each("where", condition, a, b)

    def mask(self, a: Sized, allowed: Sized, fill: float) -> Sized:
        """Count one mask for each element."""
        return self.each("mask", a, allowed, fill)

    def maximum(self, a: Any, b: Any) -> Sized:
        """Count one max for each element."""
        return self.each("max", a, b)

    def sum(self, a: Sized, axes: Sequence[int]) -> Sized:
        """Count an add for each element, and a chain for each result."""
        return self._reduced("add", a, axes) if axes else a

    def max(self, a: Sized, axes: Sequence[int]) -> Sized:
        """Count a max for each element, and a chain for each result."""
        return self._reduced("max", a, axes) if axes else a

    def argmax(self, a: Sized, axes: Sequence[int]) -> Sized:
        """Count what a maximum counts: the index comes with it."""
        return self._reduced("max", a, axes, plain=True)

    def block_max(self, a: Sized, block: int) -> Sized:
        """Count a max for each element, and a chain for each block; the last one may be short."""
        (count,) = a.dims
        self.tally["max", a.dims] += 1
        self.tally[self.reduction, (ceiling(count / block),)] += 1
        return a

    def cumsum(self, a: Sized, axis: int, *, reverse: bool = False) -> Sized:
        """Count an add for each element, and a chain for each row."""
        del reverse
        self._reduced("add", a, (axis,))
        return a

    def topk(self, a: Sized, k: Expr | int, axis: int) -> tuple[Sized, Sized]:
        """Count the comparisons of k passes, each over what is left."""
        dims = tuple(as_expr(k) if at == axis else dim for at, dim in enumerate(a.dims))
        rows = (dim for at, dim in enumerate(a.dims) if at != axis)
        self.tally["compare", (*rows, normal(k * a.dims[axis] - as_expr(k) * (k + 1) / 2))] += 1
        return Sized(self, dims, plain=a.plain), Sized(self, dims, plain=True)

    def take(self, table: Sized, ids: Sized) -> Sized:
        """Count one gather for each element taken."""
        taken = self.rows(table, ids)
        self.tally["gather", taken.dims] += 1
        return taken

    def take_along(self, a: Sized, ids: Sized, axis: int) -> Sized:
        """Count one gather for each element taken."""
        whole = [dim if at != axis else S.One for at, dim in enumerate(a.dims)]
        dims = _spread([tuple(whole), ids.dims])
        self.tally["gather", dims] += 1
        return Sized(self, dims, plain=a.plain)

    def scatter_add(self, rows: Sized, ids: Sized, count: Expr | int) -> Sized:
        """Count one scatter-add for each element added."""
        self.tally["scatter_add", rows.dims] += 1
        return Sized(self, (as_expr(count), *rows.dims[len(ids.dims) :]), plain=rows.plain)

    def bernoulli(self, shape: Sequence[Expr | int], keep: float) -> Sized:
        """Count one mask for each boolean drawn."""
        del keep
        drawn = self.array(shape, plain=True)
        self.tally["mask", drawn.dims] += 1
        return drawn

    def cast(self, a: Sized, dtype: str) -> Sized:
        """Count one cast for each element."""
        self.tally["cast", a.dims] += 1
        return Sized(self, a.dims, plain=dtype in PLAIN)

    # ---- what does not ----

    def permute(self, a: Sized, order: Sequence[int]) -> Sized:
        """Move the sizes."""
        return Sized(self, tuple(a.dims[at] for at in order), plain=a.plain)

    def reshape(self, a: Sized, shape: Sequence[Expr | int]) -> Sized:
        """Take the new sizes; -1 is what is left."""
        dims = tuple(map(as_expr, shape))
        if -1 in dims:
            left = product(a.dims) / product(dim for dim in dims if dim != -1)
            dims = tuple(normal(left) if dim == -1 else dim for dim in dims)
        return Sized(self, dims, plain=a.plain)

    def expand(self, a: Sized, shape: Sequence[Expr | int]) -> Sized:
        """Take the new sizes."""
        return self.array(shape, plain=a.plain)

    def concatenate(self, arrays: Sequence[Sized], axis: int) -> Sized:
        """Add the sizes of the axis."""
        first = arrays[0]
        dims = list(first.dims)
        dims[axis] = total(one.dims[axis] for one in arrays)
        return self.array(dims, plain=all(one.plain for one in arrays))

    def slice(self, a: Sized, axis: int, start: Expr | int, stop: Expr | int) -> Sized:
        """Cut an axis."""
        return self._resized(a, axis, stop - start)

    def pad(self, a: Sized, axis: int, before: Expr | int, after: Expr | int) -> Sized:
        """Lengthen an axis."""
        return self._resized(a, axis, a.dims[axis] + before + after)

    def _resized(self, a: Sized, axis: int, dim: Expr | int) -> Sized:
        return Sized(self, (*a.dims[:axis], normal(dim), *a.dims[axis + 1 :]), plain=a.plain)

    def rows(self, table: Sized, ids: Sized) -> Sized:
        """Read rows where they lie."""
        return Sized(self, (*ids.dims, *table.dims[1:]), plain=table.plain)

    def one_hot(self, ids: Sized, count: Expr | int) -> Sized:
        """Add a last axis; plain."""
        return Sized(self, (*ids.dims, as_expr(count)), plain=True)

    def arange(self, count: Expr | int) -> Sized:
        """Return plain indices."""
        return self.array((count,), plain=True)

    def full(self, shape: Sequence[Expr | int], value: float) -> Sized:
        """Return numbers."""
        del value
        return self.array(shape)

    def shape(self, a: Sized) -> Dims:
        """Return the sizes."""
        return a.dims

    def __getattr__(self, name: str) -> NoReturn:
        """Refuse a primitive that has no rule here."""
        raise _unknown(f"the primitive {name}")


def _spread(shapes: Sequence[Dims]) -> Dims:
    """Return the sizes of arrays spread over each other: a size of 1 takes that of the others."""
    width = max(map(len, shapes))
    dims: list[Expr] = [S.One] * width
    for shape in shapes:
        for at, dim in enumerate(shape, width - len(shape)):
            if dims[at] is S.One:
                dims[at] = dim
            elif dim is not S.One and dim != dims[at] and not same(dim, dims[at]):
                raise RuleError(
                    "run combines arrays whose sizes differ",
                    expected=str(dims[at]),
                    got=str(dim),
                    fix="align the operands by name first",
                )
    return tuple(dims)
