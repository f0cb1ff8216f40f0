"""The backward of a composite op, which is one op again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from symacct.errors import RuleError
from symacct.op import Op

if TYPE_CHECKING:
    from symacct.op import Emit, NodeLike


class GradientOp(Op):
    """The backward of a composite op as one op: as several elementwise ones it would move more bytes.

    It has no derivative of its own.
    """

    __slots__ = ()

    def vjp(self, emit: Emit, node: NodeLike, g: str, wanted: frozenset[int]) -> dict[int, str]:
        """Refuse: there is no second derivative.

        Raises:
            RuleError: always.
        """
        raise RuleError(
            f"{type(self).__name__} has no derivative",
            expected="a first derivative",
            got=f"the gradient of {node.outs[0]}",
            fix="differentiate once; or write the op out of elementwise ones and einsums",
        )
