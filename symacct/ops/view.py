"""Views: rearranging axes, and reading a freshly made key axis as the axis of all keys."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

from symacct.algebra.normal import product, same
from symacct.algebra.symbols import as_expr
from symacct.errors import GraphError, SizeError
from symacct.op import Example, View
from symacct.tensor import Mask, Tensor, value

if TYPE_CHECKING:
    from sympy import Expr

    from symacct.op import Call, Emit, NodeLike

Groups = tuple[tuple[str, ...], ...]


@final
@dataclass(frozen=True, slots=True)
class Rearrange(View):
    """A view with axes split, merged and reordered; no element moves in this account.

    Attributes:
        left: one group of elementary axes for each axis of the input.
        right: one group for each axis of the result; each elementary axis stands on both sides once.
        dims: the elementary axes with their sizes, in the order of ``left``.
        names: the axes' names of the result.
        mask: a structural mask over the result's axes.
    """

    left: Groups
    right: Groups
    dims: tuple[tuple[str, Expr], ...]
    names: tuple[str, ...]
    mask: Mask | None = None

    def __post_init__(self) -> None:
        """Refuse sides that are no rearrangement of each other.

        Raises:
            GraphError: an elementary axis is missing on a side, repeated, or without a size.
        """
        left, right = (sorted(axis for group in side for axis in group) for side in (self.left, self.right))
        if left != right or left != sorted(dict(self.dims)) or len(left) != len(self.dims):
            raise GraphError(
                "the sides of a rearrangement must have the same axes",
                expected=f"each of {', '.join(name for name, _ in self.dims)} once on both sides",
                got=f"{' '.join(left)} -> {' '.join(right)}",
            )

    def infer(self, *ins: Tensor) -> tuple[Tensor, ...]:
        """Return the merged and reordered axes.

        Raises:
            SizeError: a group has another size than the axis it splits.
        """
        sizes = dict(self.dims)
        split, dims = (
            tuple(product(tuple(sizes[a] for a in group)) for group in side)
            for side in (self.left, self.right)
        )
        if len(split) != len(ins[0].dims) or not all(map(same, split, ins[0].dims)):
            raise SizeError(
                f"the groups of a rearrangement do not fit {ins[0].describe()}",
                expected=", ".join(map(str, ins[0].dims)),
                got=", ".join(map(str, split)),
            )
        return (value(self.names, dims, ins[0].dtype, self.mask or self._inherited(ins[0])),)

    def _inherited(self, tensor: Tensor) -> Mask | None:
        if tensor.mask is None:
            return None
        single = {
            group[0]: name for group, name in zip(self.right, self.names, strict=True) if len(group) == 1
        }
        names = {
            axis: single[group[0]]
            for axis, group in zip(tensor.axes, self.left, strict=True)
            if len(group) == 1 and group[0] in single
        }
        return tensor.mask.renamed(names)

    def vjp(self, emit: Emit, node: NodeLike, g: str, wanted: frozenset[int]) -> dict[int, str]:
        """Rearrange the cotangent back."""
        if not wanted:
            return {}
        tensor = emit.tensor(node.ins[0])
        order = tuple(axis for group in self.right for axis in group)
        sizes = dict(self.dims)
        back = Rearrange(self.right, self.left, tuple((a, sizes[a]) for a in order), tensor.axes, tensor.mask)
        return {0: emit(back, g, to=0)[0]}

    def run(self, call: Call) -> tuple[Any, ...]:
        """Split, permute, merge."""
        xp = call.xp
        flat = [axis for group in self.left for axis in group]
        sizes = dict(self.dims)
        split = xp.reshape(call.arrays[0], [call.size(sizes[a]) for a in flat])
        order = [flat.index(axis) for group in self.right for axis in group]
        moved = split if order == sorted(order) else xp.permute(split, order)
        return (xp.reshape(moved, [call.size(d) for d in call.outs[0].dims]),)

    def latex(self, *inputs: str) -> str:
        """Return the pattern over its operand."""
        pattern = r"\to ".join(r"\,".join(_group(g) for g in side) for side in (self.left, self.right))
        return rf"\operatorname{{rearrange}}_{{{pattern}}}({inputs[0]})"

    @classmethod
    def examples(cls) -> tuple[Example, ...]:
        """Return a split with a transpose, and a merge."""
        dims = tuple((a, as_expr(n)) for a, n in (("B", 2), ("H", 3), ("K", 4)))
        whole = value(("B", "D"), (as_expr(2), as_expr(12)))
        heads = value(("B", "H", "K"), tuple(d for _, d in dims))
        split = cls((("B",), ("H", "K")), (("H",), ("B",), ("K",)), dims, ("H", "B", "K"))
        merge = cls((("B",), ("H",), ("K",)), (("B",), ("K", "H")), dims, ("B", "KH"))
        return (Example(split, (whole,), frozenset({0})), Example(merge, (heads,), frozenset({0})))


@final
@dataclass(frozen=True, slots=True)
class Keys(View):
    """A sequence axis of S new tokens read as the axis of all T keys.

    In training and prefill S = T and this is a view. In decoding it becomes :class:`Cached`.
    """

    axis: str
    name: str
    length: Expr

    def infer(self, *ins: Tensor) -> tuple[Tensor, ...]:
        """Return the tensor with the axis renamed and resized."""
        position = ins[0].axes.index(self.axis)
        axes, dims = list(ins[0].axes), list(ins[0].dims)
        axes[position], dims[position] = self.name, self.length
        return (value(tuple(axes), tuple(dims), ins[0].dtype),)

    def vjp(self, emit: Emit, node: NodeLike, g: str, wanted: frozenset[int]) -> dict[int, str]:
        """Read the cotangent of the keys as that of the new tokens."""
        if not wanted:
            return {}
        tensor = emit.tensor(node.ins[0])
        return {0: emit(Keys(self.name, self.axis, tensor.dim(self.axis)), g, to=0)[0]}

    def run(self, call: Call) -> tuple[Any, ...]:
        """Return the array as it is."""
        return (call.arrays[0],)

    def latex(self, *inputs: str) -> str:
        """Return the operand, its axis renamed."""
        return rf"{inputs[0]}_{{{self.axis}\to {self.name}}}"

    @classmethod
    def examples(cls) -> tuple[Example, ...]:
        """Return one rename."""
        keys = value(("B", "S", "K"), (as_expr(2), as_expr(3), as_expr(4)))
        return (Example(cls("S", "T", as_expr(3)), (keys,), frozenset({0})),)


def _group(group: tuple[str, ...]) -> str:
    return group[0] if len(group) == 1 else "(" + r"\,".join(group) + ")"
