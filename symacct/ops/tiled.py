"""Moves between slow and fast memory, one block of an axis at a time.

In a graph that holds them, whole tensors lie in slow memory and everything else in fast memory: what the
slow memory sees is the sum of the loads and stores.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, final

from sympy import Expr, Integer, S

from symacct.algebra.normal import normal, same
from symacct.errors import RuleError, SizeError
from symacct.op import Example, Op
from symacct.ops.layout import position, require_axes, require_sizes, sized
from symacct.tensor import Tensor, value

if TYPE_CHECKING:
    from collections.abc import Sequence

    from symacct.op import Call, Emit, NodeLike


@final
@dataclass(frozen=True, slots=True)
class Load(Op):
    """One block of an axis, copied from slow into fast memory; slow memory sees one read per element.

    >>> Load("T", Integer(2), Integer(0)).infer(sized(T=6, K=3))[0].describe()
    '[T=2, K=3]'

    Attributes:
        axis: the axis that is cut into blocks.
        block: the size of a block.
        index: which block; the index of a repeat, as a rule.
    """

    axis: str
    block: Expr
    index: Expr

    kind: ClassVar[str] = "copy"

    def infer(self, *ins: Tensor) -> tuple[Tensor, ...]:
        """Return the tensor with the block's size on the axis."""
        (whole,) = ins
        at = position("load", whole, self.axis)
        dims = (*whole.dims[:at], self.block, *whole.dims[at + 1 :])
        return (value(whole.axes, dims, whole.dtype),)

    def needs(self, ins: Sequence[Tensor]) -> tuple[tuple[Expr, int], ...]:
        """Return which block it is, and what is left of the axis behind it."""
        return _inside(ins[0].dim(self.axis), self.index, self.block)

    def reads(self, ins: Sequence[Tensor], outs: Sequence[Tensor]) -> tuple[Expr, ...]:
        """Return the elements of the block."""
        return (outs[0].numel,)

    def vjp(self, emit: Emit, node: NodeLike, g: str, wanted: frozenset[int]) -> dict[int, str]:
        """Refuse: see :func:`_no_backward`."""
        raise _no_backward(node)

    def run(self, call: Call) -> tuple[Any, ...]:
        """Cut the block out."""
        start, block = call.size(self.index * self.block), call.size(self.block)
        return (call.xp.slice(call.arrays[0], call.at(self.axis), start, start + block),)

    def latex(self, *inputs: str) -> str:
        """Return the block of its operand."""
        return rf"\operatorname{{load}}_{{{self.axis}}}({inputs[0]})"

    @classmethod
    def examples(cls) -> tuple[Example, ...]:
        """Return the second of three blocks."""
        return (Example(cls("T", Integer(2), Integer(1)), (sized(B=2, T=6),), frozenset()),)


@final
@dataclass(frozen=True, slots=True)
class Store(Op):
    """A tensor with one block of an axis replaced; slow memory sees one write per element of the block.

    Inputs: the whole tensor, and the block.

    Attributes:
        axis: the axis that is cut into blocks.
        index: which block.
    """

    axis: str
    index: Expr

    kind: ClassVar[str] = "copy"

    def infer(self, *ins: Tensor) -> tuple[Tensor, ...]:
        """Return the whole tensor's axes."""
        whole, block = ins
        position("store", whole, self.axis)
        require_axes("store", block, whole.axes)
        rest = tuple(a for a in block.axes if a != self.axis)
        require_sizes("store", value(rest, tuple(map(block.dim, rest))), whole)
        if same(block.dim(self.axis), 0):
            raise SizeError("a block is empty", expected="at least 1", got="0", fix="choose a larger block")
        return (value(whole.axes, whole.dims, whole.dtype),)

    def needs(self, ins: Sequence[Tensor]) -> tuple[tuple[Expr, int], ...]:
        """Return which block it is, and what is left of the axis behind it."""
        return _inside(ins[0].dim(self.axis), self.index, ins[1].dim(self.axis))

    def reads(self, ins: Sequence[Tensor], outs: Sequence[Tensor]) -> tuple[Expr, ...]:
        """Return the block, which lies in fast memory; the other elements stay where they are."""
        return (S.Zero, ins[1].numel)

    def writes(self, ins: Sequence[Tensor], outs: Sequence[Tensor]) -> tuple[Expr, ...]:
        """Return the elements of the block."""
        return (ins[1].numel,)

    def vjp(self, emit: Emit, node: NodeLike, g: str, wanted: frozenset[int]) -> dict[int, str]:
        """Refuse: see :func:`_no_backward`."""
        raise _no_backward(node)

    def run(self, call: Call) -> tuple[Any, ...]:
        """Put the block between what stands before and after it."""
        xp = call.xp
        whole, block = call.ins
        at, count = whole.axes.index(self.axis), call.size(whole.dim(self.axis))
        width = call.size(block.dim(self.axis))
        start = call.size(self.index) * width
        before = xp.slice(call.arrays[0], at, 0, start)
        after = xp.slice(call.arrays[0], at, start + width, count)
        order = [block.axes.index(axis) for axis in whole.axes]
        return (xp.concatenate([before, xp.permute(call.arrays[1], order), after], at),)

    def latex(self, *inputs: str) -> str:
        """Return the stored tensor."""
        return rf"\operatorname{{store}}_{{{self.axis}}}({', '.join(inputs)})"

    @classmethod
    def examples(cls) -> tuple[Example, ...]:
        """Return the middle block of three."""
        ins = (sized(B=2, T=6), sized(T=2, B=2))
        return (Example(cls("T", Integer(1)), ins, frozenset()),)


def _inside(dim: Expr, index: Expr, block: Expr) -> tuple[tuple[Expr, int], ...]:
    """Return what a block needs in order to lie inside its axis."""
    return ((index, 0), (normal(dim - (index + 1) * block), 0))


def _no_backward(node: NodeLike) -> RuleError:
    """Return the refusal of a derivative: a tiled graph states what moves in one pass."""
    return RuleError(
        "a move between slow and fast memory has no derivative",
        expected="a graph of one pass",
        got=f"the gradient of {node.outs[0]}",
        fix="differentiate the graph that is not cut into blocks",
    )
