"""What belongs to the largest of several formulas: another formula for each of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sympy import Function

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sympy import Expr


class AtLargest(Function):  # type: ignore[misc]
    """``AtLargest(p, a, q, b, ...)``: what stands behind the largest of ``p``, ``q``, ...

    Where several are the largest it is the least of what stands behind these.

    >>> from symacct.algebra.evaluate import evaluate
    >>> from symacct.algebra.symbols import symbol
    >>> B, D = symbol("B"), symbol("D")
    >>> one = AtLargest(2 * B, B, B + D, 3 * D)
    >>> [evaluate(one, {"B": 2, "D": D}) for D in (1, 2, 3)]
    [2, 2, 9]
    >>> AtLargest(2 * B, D, 3 * B, D)
    D
    """

    @classmethod
    def eval(cls, *args: Expr) -> Expr | None:
        """Return the formula where there is but one, or where the largest is known."""
        pairs = list(zip(args[::2], args[1::2], strict=True))
        if len({behind for _, behind in pairs}) == 1:
            return pairs[0][1]
        if all(value.is_Rational for value in args):
            return at_largest(*args)
        return None

    @property
    def pairs(self) -> tuple[tuple[Expr, Expr], ...]:
        """The formulas of which the largest is looked for, each with what stands behind it."""
        return tuple(zip(self.args[::2], self.args[1::2], strict=True))


def at_largest(*values: Any) -> Any:
    """Return what stands behind the largest of numbers.

    >>> at_largest(3, 10, 4, 20, 4, 15)
    15
    """
    pairs: Iterable[tuple[Any, Any]] = zip(values[::2], values[1::2], strict=True)
    return min(pairs, key=lambda pair: (-pair[0], pair[1]))[1]
