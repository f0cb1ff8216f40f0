"""A formula alone, read as an equation of itself with itself; errors show it as it was written."""

from __future__ import annotations

from typing import TYPE_CHECKING

from symacct.syntax.refusals import AmbiguousError, applied, said
from symacct.syntax.source import MARGIN, caret

if TYPE_CHECKING:
    from symacct.errors import SymacctError


def doubled(text: str, rest: str = "") -> str:
    """Return the equation that reads a formula.

    >>> doubled("B*D"), doubled("L/k", "where L = 8")
    ('(B*D) = (B*D)', '(L/k) = (L/k) where L = 8')
    """
    return f"({text}) = ({text}) {rest}".rstrip()


def undoubled(error: SymacctError, equation: str, text: str, start: int = 0) -> SymacctError:
    r"""Return an error of the equation, its place shown in the text as it was written.

    Args:
        error: what was raised.
        equation: what was read.
        text: what was written.
        start: where in that the formula begins.

    >>> from symacct.errors import FormulaError
    >>> error = FormulaError("no", where=caret("(a b) = (a b)", 3))
    >>> undoubled(error, "(a b) = (a b)", "a b").where == caret("a b", 2)
    True
    """
    equation = equation.strip()
    shown, _, mark = (error.where or "").partition("\n")
    if mark.strip() == "^":
        place = _place(error, equation, shown, len(mark) - 1 - MARGIN)
        error.where = caret(text, start + place)
    elif error.where is not None:
        error.where = error.where.replace(equation, text).replace(equation[:60], text[:60])
    if error.got == equation[:72]:
        error.got = text[:72]
    if isinstance(error, AmbiguousError) and error.text.strip() == equation:
        error.fix = _of_one(error, text, start)
    return error.at(text[:72])


def _of_one(error: AmbiguousError, text: str, start: int) -> str | None:
    """Return the lines that mend a formula, from the changes of the equation that reads it."""
    moved = (one._replace(start=one.start - 1 + start, end=one.end - 1 + start) for one in error.edits)
    return said(applied(text, one) for one in moved)


def _place(error: SymacctError, equation: str, shown: str, column: int) -> int:
    """Return where in the formula a place in the equation is, or in the part of it that is shown."""
    first = equation.find(shown.strip())
    half = len(equation.partition(") = (")[0]) + 4
    if shown.strip() and first >= 0 and column >= 0:
        return (first + column - 1) % half
    return max(0, equation.find(error.got or "(") - 1)
