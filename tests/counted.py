"""A number that counts what is done to it."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

TALLY: Counter[str] = Counter()
"""How often each primitive was used since the tally was last cleared."""


class Counted:
    """A number whose operations are counted."""

    __slots__ = ("number",)

    def __init__(self, number: float) -> None:
        """Hold a number."""
        self.number = float(number)

    def __repr__(self) -> str:
        """Show the number."""
        return f"Counted({self.number})"

    def __float__(self) -> float:
        """Return the number."""
        return self.number

    def _with(self, name: str, function: Callable[[float, float], float], other: object) -> Counted:
        TALLY[name] += 1
        return Counted(function(self.number, float(other)))  # type: ignore[arg-type]

    def __add__(self, other: object) -> Counted:
        """Count an addition."""
        return self._with("add", lambda a, b: a + b, other)

    __radd__ = __add__

    def __sub__(self, other: object) -> Counted:
        """Count a subtraction."""
        return self._with("sub", lambda a, b: a - b, other)

    def __rsub__(self, other: object) -> Counted:
        """Count a subtraction."""
        return self._with("sub", lambda a, b: b - a, other)

    def __mul__(self, other: object) -> Counted:
        """Count a multiplication."""
        return self._with("mul", lambda a, b: a * b, other)

    __rmul__ = __mul__

    def __truediv__(self, other: object) -> Counted:
        """Count a division."""
        return self._with("div", lambda a, b: a / b, other)

    def __rtruediv__(self, other: object) -> Counted:
        """Count a division."""
        return self._with("div", lambda a, b: b / a, other)

    def __neg__(self) -> Counted:
        """Count a change of sign."""
        return self._with("neg", lambda a, _: -a, 0)

    def _compared(self, truth: bool) -> bool:  # noqa: FBT001
        TALLY["compare"] += 1
        return truth

    def __gt__(self, other: object) -> bool:
        """Count a comparison."""
        return self._compared(self.number > float(other))  # type: ignore[arg-type]

    def __ge__(self, other: object) -> bool:
        """Count a comparison."""
        return self._compared(self.number >= float(other))  # type: ignore[arg-type]

    def __lt__(self, other: object) -> bool:
        """Count a comparison."""
        return self._compared(self.number < float(other))  # type: ignore[arg-type]

    def __le__(self, other: object) -> bool:
        """Count a comparison."""
        return self._compared(self.number <= float(other))  # type: ignore[arg-type]

    def __eq__(self, other: object) -> bool:
        """Count a comparison."""
        return self._compared(self.number == float(other))  # type: ignore[arg-type]

    def __ne__(self, other: object) -> bool:
        """Count a comparison."""
        return self._compared(self.number != float(other))  # type: ignore[arg-type]

    __hash__ = None  # type: ignore[assignment]


def counted(array: Any) -> Any:
    """Return an array of counted numbers."""
    flat = [Counted(x) for x in np.asarray(array, dtype=float).ravel()]
    return array_of(flat, np.shape(array))


def numbers(array: Any) -> Any:
    """Return the plain numbers of an array."""
    return np.vectorize(float, otypes=[float])(np.asarray(array, dtype=object))


def array_of(flat: Sequence[Any], shape: tuple[int, ...]) -> Any:
    """Return an array of objects."""
    out = np.empty(len(flat), dtype=object)
    for place, item in enumerate(flat):
        out[place] = item
    return out.reshape(shape)
