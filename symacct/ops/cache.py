"""The key-value cache of decoding: new tokens are written, all tokens are read later."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, final

from symacct.algebra.symbols import as_expr
from symacct.errors import RuleError
from symacct.op import Example, Op
from symacct.tensor import Tensor, value

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sympy import Expr

    from symacct.op import Call, Emit, NodeLike


@final
@dataclass(frozen=True, slots=True)
class Cached(Op):
    """Write the newest tokens of ``axis`` at the end of a cache whose axis is ``name``.

    ``Cached("S", "T")(new, cache)``: the result shares the cache's storage; only the new elements move.
    Input 0 is the cache, so that the result is a view of it; input 1 holds the new tokens.
    """

    axis: str
    name: str

    kind: ClassVar[str] = "cache"

    @property
    def alias(self) -> bool:
        """The result is the cache itself."""
        return True

    @property
    def moves(self) -> bool:
        """The new elements are written."""
        return True

    def infer(self, *ins: Tensor) -> tuple[Tensor, ...]:
        """Return the cache's axes."""
        return (value(ins[0].axes, ins[0].dims, ins[0].dtype),)

    def reads(self, ins: Sequence[Tensor], outs: Sequence[Tensor]) -> tuple[Expr, ...]:
        """Return the new elements alone; the old ones stay where they are."""
        return (as_expr(0), ins[1].numel)

    def writes(self, ins: Sequence[Tensor], outs: Sequence[Tensor]) -> tuple[Expr, ...]:
        """Return the new elements."""
        return (ins[1].numel,)

    def vjp(self, emit: Emit, node: NodeLike, g: str, wanted: frozenset[int]) -> dict[int, str]:
        """Refuse: decoding has no backward pass."""
        raise RuleError(
            "a key-value cache has no backward pass",
            expected="a training graph",
            got=f"the gradient of {node.outs[0]}",
            fix="use the workload train, or mark nothing as trainable",
        )

    def run(self, call: Call) -> tuple[Any, ...]:
        """Put the new tokens in the place of the last ones of the cache."""
        position = call.at(self.name)
        total, new = call.size(call.ins[0].dim(self.name)), call.size(call.ins[1].dim(self.axis))
        old = call.xp.slice(call.arrays[0], position, 0, total - new)
        return (call.xp.concatenate([old, call.arrays[1]], position),)

    def latex(self, *inputs: str) -> str:
        """Return the update of the cache."""
        return rf"\operatorname{{cache}}({', '.join(inputs)})"

    @classmethod
    def examples(cls) -> tuple[Example, ...]:
        """Return one token written into a cache of three."""
        two, three, four = as_expr(2), as_expr(3), as_expr(4)
        cache = value(("B", "T", "K"), (two, three, four))
        return (
            Example(cls("S", "T"), (cache, value(("B", "S", "K"), (two, as_expr(1), four))), frozenset()),
        )
