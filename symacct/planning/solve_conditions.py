"""What is assumed about sizes where an inverse question is asked: nothing grows there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from symacct.errors import FormulaError
from symacct.proof import conditions

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from symacct.algebra.condition import Condition


def read_conditions(texts: Iterable[str], names: Collection[str]) -> tuple[Condition, ...]:
    """Return conditions, read as those behind ``if`` in a claim; strict ones stay strict.

    Raises:
        SymacctError: a text is no condition, a name is unknown, or a size is said to be large.

    >>> [str(one) for one in read_conditions(["F = 4*D", "S <= 4*k", "k | L"], ["F", "D", "S", "k", "L"])]
    ['F = 4*D', '4*k >= S', 'k divides L']
    """
    texts = tuple(texts)
    found = conditions.read_conditions(texts, names, real=names)  # the unknown may be a real number
    if found.growing:
        raise FormulaError(
            "nothing grows where a condition is solved",
            expected="F = 4*D, B >= 8, S <= 4*k, k | L",
            got=next(text for text in texts if "<<" in text or ">>" in text or "≪" in text or "≫" in text),
            fix="say how large it is, as in D >= 8*S",
        )
    return found.conditions
