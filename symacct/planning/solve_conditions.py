"""What is assumed about sizes, read: ``F = 4*D``, ``B >= 8``, ``S <= 4*k``, ``k | L``."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from symacct.algebra.condition import Condition
from symacct.errors import FormulaError
from symacct.syntax import read_formula

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from symacct.algebra.condition import Kind

EXPECTED = "FORMULA, one of = <= >= < >, FORMULA; or k | L (k divides L)"
SIGN = re.compile(r"<<|>>|<=|>=|≤|≥|<|>|=|\|")
KINDS: dict[str, tuple[Kind, bool]] = {
    "=": ("equal", False), ">=": ("at_least", False), "≥": ("at_least", False), "<=": ("at_least", True),
    "≤": ("at_least", True), ">": ("above", False), "<": ("above", True), "|": ("divides", False),
}  # fmt: skip
"""The kind of a condition by its sign, and whether its sides are exchanged."""


def read_conditions(texts: Iterable[str], names: Collection[str]) -> tuple[Condition, ...]:
    """Return conditions, read.

    Raises:
        SymacctError: a text is no condition, or a name is unknown.

    >>> [str(one) for one in read_conditions(["F = 4*D", "S <= 4*k", "k | L"], ["F", "D", "S", "k", "L"])]
    ['F = 4*D', '4*k >= S', 'k divides L']
    """
    return tuple(_read(text, names) for text in texts)


def _read(text: str, names: Collection[str]) -> Condition:
    signs = list(SIGN.finditer(text))
    if len(signs) != 1 or signs[0].group() not in KINDS:
        raise _unread(text, signs[0].group() if signs else "")
    kind, exchanged = KINDS[signs[0].group()]
    sides = [read_formula(part, names) for part in (text[: signs[0].start()], text[signs[0].end() :])]
    left, right = reversed(sides) if exchanged else sides
    return Condition(kind, left, right)


def _unread(text: str, sign: str) -> FormulaError:
    grows = sign in ("<<", ">>")
    return FormulaError(
        "nothing grows where a condition is solved" if grows else f"cannot use the assumption {text[:80]!r}",
        expected=EXPECTED,
        got=text[:80],
        fix="say how large it is, as in D >= 8*S" if grows else "write one condition in each --assume",
    )
