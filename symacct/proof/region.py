"""Where a claim is made: ``... if B >= k*D, k | L``."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from sympy import Max, Min

from symacct.algebra.condition import Condition
from symacct.algebra.normal import normal
from symacct.errors import FormulaError
from symacct.proof.certified import is_provable
from symacct.proof.decide import decide
from symacct.proof.search import FEW_POINTS
from symacct.syntax import read_formula

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from sympy import Expr

    from symacct.proof.decide import Box

IF = re.compile(r"(?<![\w.])(?<!only )if(?!\w)(?!\s+and\s+only)")
END = re.compile(r"(?<![\w.])where(?!\w)|(?<![\w.])as\s+[\w\s,]{1,80}(?:->|→)")
JOINT = re.compile(r",|(?<!\w)and(?!\w)")
SIGNS = (">=", "<=", "≥", "≤", ">", "<", "=", "|", "∣")
TURNED = {"<=": ">=", "≤": ">=", "<": ">", "≥": ">=", "∣": "|"}
EXPECTED = "FORMULA >= FORMULA, <=, >, <, = or k | L; commas between"


def cut_region(text: str) -> tuple[str, tuple[str, ...]]:
    """Return a claim with spaces in the place of its ``if``, and the conditions in it.

    >>> cut_region("memory.peak = 8*B*D if B >= k*D, k | L")
    ('memory.peak = 8*B*D', ('B >= k*D', 'k | L'))
    """
    start = IF.search(text) if isinstance(text, str) else None
    if start is None:
        return text, ()
    rest = END.search(text, start.end())
    end = rest.start() if rest else len(text)
    conditions = tuple(part.strip() for part in JOINT.split(text[start.end() : end]))
    if not all(conditions):
        raise FormulaError(
            "if is followed by conditions", where=text[:72], expected=EXPECTED, got=text[start.start() :][:64]
        )
    gap = " " * (end - start.start())
    return f"{text[: start.start()]}{gap}{text[end:]}".rstrip(), conditions


def read_region(texts: Iterable[str], names: Collection[str]) -> tuple[Condition, ...]:
    """Return conditions, read: which sizes a claim is about.

    Sizes are integers, so that ``B > D`` is ``B >= D + 1``.

    Raises:
        SymacctError: it is no condition, or a name is unknown.

    >>> [str(one) for one in read_region(["B <= k*D", "k | L"], ["B", "D", "L", "k"])]
    ['D*k >= B', 'k divides L']
    """
    return tuple(_read(text, names) for text in texts)


def _read(text: str, names: Collection[str]) -> Condition:
    sign = next((one for one in SIGNS if one in text), None)
    if sign is None:
        raise _unread(text)
    left, right = (read_formula(part, names) for part in text.split(sign, 1))
    plain = TURNED.get(sign, sign)
    if plain != sign and sign in "<=≤":
        left, right = right, left
    if plain == "|":
        return Condition("divides", left, right)
    if plain == "=":
        return Condition("equal", left, right)
    if plain == ">=":
        return Condition("at_least", left, right)
    gap = normal(left - right)
    if not all(c.is_integer for c in gap.as_coefficients_dict().values()) or gap.as_numer_denom()[1] != 1:
        raise FormulaError(
            "a strict condition is one between integers", where=text, expected="B > D, or >=", got=text
        )
    return Condition("at_least", left, right + 1)


def _unread(text: str) -> FormulaError:
    return FormulaError("cannot use a condition", where=text[:72], expected=EXPECTED, got=text[:64])


def in_region(expr: Expr, box: Box) -> Expr:
    """Return a formula without the operands of a max or min that others are seen to outdo in a box.

    >>> from sympy import Max
    >>> from symacct.algebra.symbols import symbol
    >>> from symacct.proof.decide import Box
    >>> B, D = symbol("B"), symbol("D")
    >>> in_region(Max(2 * B, B + D), Box(conditions=read_region(["B >= D"], ["B", "D"])))
    2*B
    """
    for atom in sorted(expr.atoms(Max, Min), key=str):
        relation = "<=" if isinstance(atom, Max) else ">="
        kept: list[Expr] = []
        for one in sorted(atom.args, key=str):
            if not any(_seen(one, relation, other, box) for other in kept):
                kept = [other for other in kept if not _seen(other, relation, one, box)]
                kept.append(one)
        expr = expr.xreplace({atom: kept[0] if len(kept) == 1 else atom.func(*kept, evaluate=False)})
    return normal(expr)


def _seen(left: Expr, relation: str, right: Expr, box: Box) -> bool:
    """Say whether a relation is proved; a few sizes are tried first."""
    quick = decide(left, relation, right, box, most=FEW_POINTS)
    return quick.outcome == "proved" or (
        quick.outcome == "undecided" and is_provable(left, relation, right, box)
    )
