"""What a contraction does with the axes of a weight: runs along some, sums some, hands the others on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from symacct.errors import RuleError
from symacct.ops.einsum import Einsum
from symacct.ops.grouped import GroupedMatmul

if TYPE_CHECKING:
    from symacct.nodes import Node
    from symacct.tensor import Tensor


@dataclass(frozen=True, slots=True)
class Use:
    """One contraction of a weight: ``root`` is the weight, ``read`` the view of it that is contracted."""

    node: Node
    slot: int
    root: str
    read: Tensor


@dataclass(frozen=True, slots=True)
class Roles:
    """What a contraction does with each axis of a weight: runs along it, sums it, or hands it on."""

    along: tuple[str, ...]
    summed: tuple[str, ...]
    made: tuple[str, ...]


def roles_of(use: Use) -> Roles:
    """Return what a contraction does with each axis of the weight it reads.

    Raises:
        RuleError: no axis is summed, or none is left, so that there is nothing of low rank.
    """
    op = use.node.op
    if isinstance(op, GroupedMatmul):
        known = (op.expert_axis, op.in_axis)
        rest = tuple(axis for axis in use.read.axes if axis not in known)
        return Roles((op.expert_axis,), (op.in_axis,), rest)
    assert isinstance(op, Einsum)
    other, named = other_words(use), weight_words(use)
    shared = {axis: (named[axis] in other, named[axis] in op.out) for axis in use.read.axes}
    along, summed, made = (
        tuple(axis for axis, found in shared.items() if found == wanted)
        for wanted in ((True, True), (True, False), (False, True))
    )
    if not summed or not made:
        which = "no axis of it is summed" if not summed else "no axis of it is left in the result"
        raise refused(use, which, "a weight that turns axes into other axes", op.equation)
    return Roles(along, summed, made)


def other_words(use: Use) -> tuple[str, ...]:
    """Return the words of the other operand."""
    assert isinstance(use.node.op, Einsum)
    return use.node.op.right if use.slot == 0 else use.node.op.left


def weight_words(use: Use) -> dict[str, str]:
    """Return the word of each axis of the weight; none for experts, whose axes have their own names."""
    op = use.node.op
    if not isinstance(op, Einsum):
        return {}
    return dict(zip(use.read.axes, op.left if use.slot == 0 else op.right, strict=True))


def refused(use: Use, why: str, expected: str, got: str) -> RuleError:
    """Return the error for a weight that no adapter can stand beside."""
    return RuleError(
        f"no adapter stands beside {use.root}: {why}",
        expected=expected,
        got=got,
    )
