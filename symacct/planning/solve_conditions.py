"""What is assumed about sizes where an inverse question is asked: nothing grows there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from symacct.errors import FormulaError
from symacct.proof import beside, conditions

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from symacct.algebra.condition import Condition
    from symacct.claims import Claim
    from symacct.claims.sides import Lookup

LARGE = ("<<", ">>", "≪", "≫")


def conditions_with(claim: Claim, texts: Iterable[str], find: Lookup | None = None) -> tuple[Condition, ...]:
    """Return what is assumed beside a question, as `read_conditions`; names that it binds may stand there."""
    return _at_rest(beside.conditions_beside(claim, (), texts, find, claim.names))


def read_conditions(texts: Iterable[str], names: Collection[str]) -> tuple[Condition, ...]:
    """Return conditions, read as those behind ``if`` in a claim; strict ones stay strict.

    Raises:
        SymacctError: a text is no condition, a name is unknown, or a size is said to be large.

    >>> [str(one) for one in read_conditions(["F = 4*D", "S <= 4*k", "k | L"], ["F", "D", "S", "k", "L"])]
    ['F = 4*D', '4*k >= S', 'k divides L']
    """
    return _at_rest(conditions.read_conditions(texts, names, real=names))  # the unknown may be a real number


def _at_rest(found: conditions.Conditions) -> tuple[Condition, ...]:
    if found.growing:
        raise FormulaError(
            "nothing grows where a condition is solved",
            expected="F = 4*D, B >= 8, S <= 4*k, k | L",
            got=next(text for text in found.texts if any(sign in text for sign in LARGE)),
            fix="say how large it is, as in D >= 8*S",
        )
    return found.conditions
