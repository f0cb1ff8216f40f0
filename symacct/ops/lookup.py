"""Rows of a table by index, and the gradient of the table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, final

from symacct.errors import GraphError, RuleError
from symacct.op import Example, Op
from symacct.ops.gradient import GradientOp
from symacct.ops.layout import require_floating, require_index, sized
from symacct.tensor import Tensor, value

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sympy import Expr

    from symacct.op import Call, Emit, NodeLike


@final
@dataclass(frozen=True, slots=True)
class Embedding(Op):
    """The row of a table for each index: the indices' axes, then the table's without its first.

    Inputs: the table, whose first axis is looked up, and indices of dtype index. It computes nothing (one
    gather for each element of the result). Of the table only the rows that are looked up are read: as many
    elements as the result has, an upper bound where an index comes twice.

    >>> Embedding().infer(sized(V=9, D=4), sized("index", B=2, S=3))[0].describe()
    '[B=2, S=3, D=4]'
    """

    kind: ClassVar[str] = "lookup"

    @property
    def chosen(self) -> frozenset[int]:
        """The table: an index may come twice."""
        return frozenset({0})

    def infer(self, *ins: Tensor) -> tuple[Tensor, ...]:
        """Return the indices' axes followed by those of a row."""
        table, ids = ins
        require_floating("embedding", table)
        require_index("embedding", ids)
        if not table.axes or set(table.axes[1:]) & set(ids.axes):
            raise GraphError(
                f"embedding cannot look {ids.describe()} up in {table.describe()}",
                expected="a table whose first axis is looked up and whose others the indices have not",
                got=f"the axes {' '.join(table.axes)} and {' '.join(ids.axes)}",
                fix="name the row's axes apart from those of the indices",
            )
        return (value((*ids.axes, *table.axes[1:]), (*ids.dims, *table.dims[1:]), table.dtype),)

    def reads(self, ins: Sequence[Tensor], outs: Sequence[Tensor]) -> tuple[Expr, ...]:
        """Return the rows that are looked up, and the indices."""
        return (outs[0].numel, ins[1].numel)

    def vjp(self, emit: Emit, node: NodeLike, g: str, wanted: frozenset[int]) -> dict[int, str]:
        """Add each row's cotangent into the table's gradient."""
        if 1 in wanted:
            raise RuleError(
                "indices of an embedding have no gradient",
                expected="a gradient of the table",
                got=f"the gradient of {node.ins[1]}",
                fix="do not mark the indices as trainable",
            )
        if not wanted:
            return {}
        table = emit.tensor(node.ins[0])
        return {0: emit(EmbeddingGrad(table.axes[0], table.dims[0]), g, node.ins[1], to=0)[0]}

    def run(self, call: Call) -> tuple[Any, ...]:
        """Take the rows."""
        return (call.xp.take(*call.arrays),)

    def native(self, torch: Any, call: Call) -> tuple[Any, ...]:
        """Call torch's embedding, whose table has two axes."""
        table, ids = call.arrays
        if len(call.ins[0].axes) != 2:
            return (table[ids],)
        return (torch.nn.functional.embedding(ids, table),)

    def latex(self, *inputs: str) -> str:
        """Return the rows of the table."""
        return rf"{inputs[0]}[{inputs[1]}]"

    @classmethod
    def examples(cls) -> tuple[Example, ...]:
        """Return rows for a batch of sequences, rows with two axes, and single elements."""
        ids = sized("index", B=2, S=3)
        tables = (sized(V=7, D=4), sized(V=7, H=2, K=3), sized(V=7))
        return tuple(Example(cls(), (table, ids), frozenset({0})) for table in tables)


@final
@dataclass(frozen=True, slots=True)
class EmbeddingGrad(GradientOp):
    """Gradient of an embedding's table: every row's cotangent is added at its index.

    Inputs: the cotangent and the indices. Counts: one scatter_add for each element of the cotangent. The
    gradient is dense, as torch makes it by default: zeros are written for every row of the table, so that
    all of it is written once; the additions into the touched rows are not counted as further writes.

    Attributes:
        axis: the table's first axis.
        count: its size.
    """

    axis: str
    count: Expr

    kind: ClassVar[str] = "lookup"

    def infer(self, *ins: Tensor) -> tuple[Tensor, ...]:
        """Return the table's axes."""
        g, ids = ins
        require_index("embedding", ids)
        rest = len(ids.axes)
        return (value((self.axis, *g.axes[rest:]), (self.count, *g.dims[rest:]), g.dtype),)

    def run(self, call: Call) -> tuple[Any, ...]:
        """Add the rows into zeros."""
        rows, ids = call.arrays
        return (call.xp.scatter_add(rows, ids, call.size(self.count)),)

    def latex(self, *inputs: str) -> str:
        """Return the scattered sum."""
        return rf"\operatorname{{scatter}}_{{{self.axis}}}({', '.join(inputs)})"

    @classmethod
    def examples(cls) -> tuple[Example, ...]:
        """Return six rows added into a table of five."""
        ins = (sized(B=2, S=3, D=4), sized("index", B=2, S=3))
        return (Example(cls("V", sized(V=5).dims[0]), ins, frozenset()),)
