"""Conditions as people write them: ``L >= 2`` for what was derived as ``L - 2 >= 0``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sympy import Add

from symacct.algebra.normal import normal
from symacct.printers import text

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from sympy import Expr

    from symacct.algebra.condition import Condition


def said(condition: Condition, order: Sequence[str] = ()) -> str:
    """Return a condition as text, with nothing below 0 on either side of a comparison.

    >>> from sympy import Integer
    >>> from symacct.algebra.condition import Condition
    >>> from symacct.algebra.symbols import symbol
    >>> said(Condition("at_least", symbol("L") - 2, Integer(0)))
    'L >= 2'
    """
    if condition.kind != "at_least":
        return condition.text
    left, right = _sides(normal(condition.left - condition.right))
    if left.is_number:
        return f"{text(right, order)} <= {text(left, order)}"
    return f"{text(left, order)} >= {text(right, order)}"


def _sides(gap: Expr) -> tuple[Expr, Expr]:
    """Return what stands on the two sides once each negative term has been brought to the other."""
    terms = Add.make_args(gap)
    negative = [term for term in terms if term.could_extract_minus_sign()]
    return Add(*(term for term in terms if term not in negative)), -Add(*negative)


def listed(conditions: Iterable[Condition], order: Sequence[str] = ()) -> list[str]:
    """Return conditions as texts, each once."""
    return list(dict.fromkeys(said(one, order) for one in conditions))
