"""Chains of equal formulas, each proved equal to what was derived when it is made."""

from __future__ import annotations

from typing import TYPE_CHECKING

from symacct.algebra.normal import is_zero
from symacct.errors import FormulaError
from symacct.printers import text as plain_text
from symacct.sheet.data import Cell, Item, Sign, Words
from symacct.sheet.readback import value
from symacct.sheet.statement import formula
from symacct.sheet.steps_words import say

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from sympy import Expr

    from symacct.sheet.data import Math

LONGEST = 420
UNIT_SYMBOL = "u_"


def proved(text: str, expr: Expr, names: Collection[str], where: str) -> Math:
    """Return a formula, proved equal to an expression; an amount counts in base units.

    Raises:
        FormulaError: it is not.

    >>> from symacct.algebra.symbols import symbol
    >>> B, D = symbol("B"), symbol("D")
    >>> proved("(2 FLOP)*B*D*D", 2 * B * D**2, ["B", "D"], "flops.forward").text
    '(2 FLOP)*B*D*D'
    >>> proved("3*B*D^2", 2 * B * D**2, ["B", "D"], "flops.forward").text
    Traceback (most recent call last):
    symacct.errors.FormulaError: a step is not equal to the one before; the sheet is not written
      where     flops.forward
      expected  2*B*D^2
      got       3*B*D^2
    """
    made = formula(text, names)
    found = value(made.tree)
    units = {one: 1 for one in found.free_symbols if one.name.startswith(UNIT_SYMBOL)}
    if not is_zero(found.subs(units) - expr if units else found - expr):
        what = "a step is not equal to the one before; the sheet is not written"
        raise FormulaError(what, where=where, expected=plain_text(expr)[:200], got=text[:200])
    return made


def chained(
    texts: Iterable[str], expr: Expr, names: Collection[str], where: str, unit: str, lang: str
) -> Cell:
    """Return formulas that are equal, with their unit behind; what is too long is left out, and said.

    Raises:
        FormulaError: two are not equal.
    """
    distinct = list({_bare(text): text for text in texts}.values())
    shown = [text for text in distinct if len(text) <= LONGEST]
    if not shown:
        return (Words(say("cut", lang, len(expr.args) or 1)),)
    items: list[Item] = []
    for place, text in enumerate(shown):
        items += [Sign("=")] if place else []
        items.append(proved(text, expr, names, where))
    plain = unit == "1" or f" {unit}" in shown[-1]
    return tuple(items) if plain else (*items, Words(f" [{unit}]"))


def _bare(text: str) -> str:
    """Return a formula without brackets around the whole of it.

    >>> _bare("(4*h)"), _bare("(a)*(b)")
    ('4*h', '(a)*(b)')
    """
    inner = text[1:-1]
    whole = text.startswith("(") and text.endswith(")") and not {"(", ")"} & {*inner}
    return inner if whole else text


def amount_text(number: Expr, unit: str) -> str:
    """Return a number with its unit as the reader of formulas takes it; 1 parameter is left out.

    >>> from sympy import Rational
    >>> [amount_text(Rational(1, below), "byte") for below in (1, 2, 3)]
    ['(1 byte)', '(0.5 byte)', '(1/3)']
    """
    if unit in {"parameter", "1"}:
        return "" if number == 1 else f"{number}"
    if number.is_Integer:
        return f"({number} {unit})"
    below = int(number.q)
    places = next((n for n in range(1, 12) if 10**n % below == 0), None)
    return f"({number})" if places is None else f"({float(number):.{places}f} {unit})"


def product_text(factors: Sequence[Expr], order: Sequence[str]) -> list[str]:
    """Return each factor as it stands in a product.

    >>> from symacct.algebra.symbols import symbol
    >>> h, a = symbol("h"), symbol("a")
    >>> product_text([h, 4 * h, h / a, h + 1], ["h", "a"])
    ['h', '(4*h)', '(h/a)', '(h + 1)']
    """
    shown = [plain_text(one, order) for one in factors]
    return [text if one.is_Symbol or one.is_Integer else f"({text})"
            for one, text in zip(factors, shown, strict=True)]  # fmt: skip


__all__ = ["LONGEST", "amount_text", "chained", "product_text", "proved"]
