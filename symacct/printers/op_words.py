"""An op in a few words: its name, and what it was made with."""

from __future__ import annotations

import re
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from sympy import Expr

from symacct.printers.text import text

if TYPE_CHECKING:
    from collections.abc import Sequence


def op_text(op: Any, order: Sequence[str] = ()) -> str:
    """Return an op, a frozen dataclass, in a few words; sizes are printed in an order.

    >>> from symacct.ops.dropout import Dropout
    >>> from sympy import Rational
    >>> op_text(Dropout(Rational(1, 10)))
    'dropout rate=1/10'
    """
    if hasattr(op, "equation"):
        return f'einsum "{op.equation}"'
    name = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", type(op).__name__).lower()
    words = [_word(field.name, getattr(op, field.name), order) for field in fields(op)]
    return " ".join([*([] if name == "elementwise" else [name]), *(word for word in words if word)])


def _word(name: str, value: object, order: Sequence[str]) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, Expr):
        return f"{name}={text(value, order)}"
    if isinstance(value, bool):
        return name if value else ""
    if isinstance(value, tuple):
        return " ".join(one if isinstance(one, str) else "" for one in value).strip()
    return "" if value is None else name
