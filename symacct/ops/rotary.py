"""Rotary position embedding: pairs of features turned by an angle that grows with the position."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, final

from symacct.algebra.normal import normal, same
from symacct.errors import GraphError, RuleError, SizeError
from symacct.op import Example, Op
from symacct.ops.broadcast import aligned
from symacct.ops.layout import position, require_floating, sized
from symacct.tensor import Tensor, value

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sympy import Expr

    from symacct.op import Call, Emit, NodeLike


@final
@dataclass(frozen=True, slots=True)
class Rotary(Op):
    """``x * cos + half(x) * sin``, where half(x) is (-x2, x1) for the two halves x1, x2 of an axis.

    Inputs: x, and two tables whose first axis is the position and whose second is the feature; the tables'
    axes may have other names (S for queries and keys alike) but the sizes must agree. The
    backward turns the other way: it reads the tables and nothing that forward made.

    Attributes:
        axis: the features, an even number of them.
        positions: the axis of x along which the position runs.
        inverse: whether this is the transposed rotation, ``g * cos + half'(g * sin)`` with half' (x2, -x1).
    """

    axis: str
    positions: str
    inverse: bool = False

    kind: ClassVar[str] = "rotary"

    def infer(self, *ins: Tensor) -> tuple[Tensor, ...]:
        """Return the axes of x."""
        x, *tables = ins
        position("rotary embedding", x, self.axis)
        position("rotary embedding", x, self.positions)
        require_floating("rotary embedding", x)
        for table in tables:
            _require_table(x, table, (x.dim(self.positions), x.dim(self.axis)))
        return (value(x.axes, x.dims, x.dtype),)

    def needs(self, ins: Sequence[Tensor]) -> tuple[tuple[Expr, int], ...]:
        """Return the number of pairs of features."""
        return ((normal(ins[0].dim(self.axis) / 2), 1),)

    def vjp(self, emit: Emit, node: NodeLike, g: str, wanted: frozenset[int]) -> dict[int, str]:
        """Turn the cotangent back."""
        if wanted - {0}:
            raise RuleError(
                "the tables of a rotary embedding are constants and have no gradient",
                expected="a gradient of x",
                got=f"the gradient of {node.ins[min(wanted - {0})]}",
                fix="declare the tables with role constant",
            )
        back = Rotary(self.axis, self.positions, inverse=not self.inverse)
        return {0: emit(back, g, *node.ins[1:], to=0)[0]} if wanted else {}

    def run(self, call: Call) -> tuple[Any, ...]:
        """Multiply by both tables and swap halves."""
        xp, axes, x, at = call.xp, call.ins[0].axes, call.arrays[0], call.at(self.axis)
        count, half = (call.size(normal(call.ins[0].dims[at] / parts)) for parts in (1, 2))
        cos, sin = (aligned(xp, t, (self.positions, self.axis), axes) for t in call.arrays[1:])
        turned = x * sin if self.inverse else x
        first, second = xp.slice(turned, at, 0, half), xp.slice(turned, at, half, count)
        swapped = xp.concatenate([second, -first] if self.inverse else [-second, first], at)
        return (x * cos + (swapped if self.inverse else swapped * sin),)

    def latex(self, *inputs: str) -> str:
        """Return the rotation of its operand by its tables."""
        sign = "^{-1}" if self.inverse else ""
        return rf"\operatorname{{rotary}}{sign}_{{{self.axis}}}({', '.join(inputs)})"

    @classmethod
    def examples(cls) -> tuple[Example, ...]:
        """Return heads, keys whose table is named otherwise, and the way back."""
        table = sized(S=3, K=4)
        return (
            Example(cls("K", "S"), (sized(B=2, H=2, S=3, K=4), table, table), frozenset({0})),
            Example(cls("K", "T"), (sized(K=4, T=3, B=2), table, table), frozenset({0})),
            Example(cls("K", "S", inverse=True), (sized(B=2, S=3, K=4), table, table), frozenset({0})),
        )


def _require_table(x: Tensor, table: Tensor, dims: tuple[Expr, Expr]) -> None:
    """Refuse a table that has not one row of features for each position.

    Raises:
        GraphError: the table has not two axes.
        SizeError: a size is not that of x.
    """
    shape = f"{dims[0]} positions by {dims[1]} features (from {x.describe()})"
    if len(table.axes) != len(dims):
        raise GraphError(
            f"a table of a rotary embedding has two axes, {table.describe()} has {len(table.axes)}",
            expected=shape,
            got=table.describe(),
            fix="give cos and sin as tables of positions by features",
        )
    if not all(map(same, table.dims, dims)):
        raise SizeError(
            "a table of a rotary embedding has another size than x",
            expected=shape,
            got=f"{table.dims[0]} by {table.dims[1]} (from {table.describe()})",
            fix="make the table for these positions and features",
        )
