"""Formulas told again: names replaced by what they stand for, amounts in base units; each proved equal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from symacct.algebra.normal import is_zero, normal
from symacct.errors import FormulaError, SymacctError
from symacct.sheet.data import Math
from symacct.sheet.readback import value
from symacct.sheet.spelling import spelled
from symacct.sheet.statement import formula
from symacct.syntax import walk
from symacct.units import read_unit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from fractions import Fraction

    from sympy import Expr

    from symacct.claims.claim import Binding
    from symacct.syntax import Tree

PLACES, MANY, LONG = 12, 6, 7


def with_names_replaced(math: Math, where: Iterable[Binding], place: str) -> Math:
    """Return a formula with bound names replaced by what they stand for.

    Raises:
        FormulaError: what came out says something else.
    """
    bound: dict[str, Math] = {}
    for one in where:
        bound[one.name] = _replaced(Math(one.tree, one.text, math.names), bound, place)
    return _replaced(math, bound, place)


def _replaced(math: Math, bound: Mapping[str, Math], place: str) -> Math:
    def spell(part: Tree) -> str | None:
        known = part.form == "name" and part.name in bound
        return f"({spelled(bound[part.name], 'text')})" if known else None

    made = _rewritten(math, spell)
    known = {name: value(one.tree) for name, one in bound.items()}
    return _same(made, _put(value(math.tree), known), place)


def in_base_units(math: Math, place: str) -> Math:
    """Return a formula with each amount in base units.

    Raises:
        FormulaError: what came out says something else.

    >>> from symacct.sheet.statement import formula
    >>> print(in_base_units(formula("80 GB / (12 byte/param)", ()), "").text)
    (80e9 byte)/(12 byte/parameter)
    """

    def spell(part: Tree) -> str | None:
        if part.form != "product" or part.parts[-1].form != "unit" or part.parts[0].form != "number":
            return None
        scale, unit = read_unit(part.parts[-1].name)
        return f"({with_unit(part.parts[0].value * scale, str(unit))})"

    return _same(_rewritten(math, spell), value(math.tree), place)


def with_unit(number: Fraction, unit: str) -> str:
    """Return an exact amount as the reader of formulas takes it.

    >>> from fractions import Fraction
    >>> with_unit(Fraction(3), "byte"), with_unit(Fraction(1, 3), "byte"), with_unit(Fraction(3), "1/second")
    ('3 byte', '(1/3)*(1 byte)', '3/(1 second)')
    """
    shown = exact(number)
    if unit == "1":
        return shown
    if unit.startswith("1/"):
        return f"{f'({shown})' if '/' in shown else shown}/(1 {unit[2:].strip('()')})"
    return f"({shown})*(1 {unit})" if "/" in shown else f"{shown} {unit}"


def exact(number: Fraction) -> str:
    """Return a number exactly: with a power of ten where that is short, as a decimal, else as a fraction.

    >>> from fractions import Fraction
    >>> [exact(Fraction(n)) for n in ("6.3e24", "0.5", "86400", "989500000000000")], exact(Fraction(1, 3))
    (['6.3e24', '0.5', '86400', '989.5e12'], '1/3')
    """
    above, below = number.numerator, number.denominator
    if below != 1:
        places = next((n for n in range(1, PLACES) if 10**n % below == 0), None)
        if places is None:
            return f"{above}/{below}"
        shown = f"{abs(above) * 10**places // below:0{places + 1}}"
        return f"{'-' if above < 0 else ''}{shown[:-places]}.{shown[-places:]}"
    text = str(abs(above))
    kept = text.rstrip("0")
    if len(text) < LONG or len(kept) > MANY:
        return str(above)
    power = (len(text) - 1) // 3 * 3
    whole, rest = text[: len(text) - power], text[len(text) - power :].rstrip("0")
    return f"{'-' if above < 0 else ''}{whole}{'.' + rest if rest else ''}e{power}"


def _rewritten(math: Math, spell: Callable[[Tree], str | None]) -> Math:
    """Return a formula in which parts are spelled otherwise."""
    plain = formula(spelled(math, "text"), math.names)
    pieces: list[tuple[int, int, str]] = []
    todo = [plain.tree]
    while todo:
        part = todo.pop()
        said = spell(part)
        if said is None:
            todo += part.parts
        else:
            pieces.append((part.start, part.end, said))
    text = plain.text
    for start, end, said in sorted(pieces, reverse=True):
        text = text[:start] + said + text[end:]
    return formula(text, math.names)


def _same(made: Math, expr: Expr, place: str) -> Math:
    if not is_zero(value(made.tree) - expr):
        what = "a formula told again says something else; the sheet is not written"
        raise FormulaError(what, where=place, expected=str(expr)[:200], got=made.text[:200])
    return made


def _put(expr: Expr, known: Mapping[str, Expr]) -> Expr:
    chosen = {free: known[free.name] for free in expr.free_symbols if free.name in known}
    return expr.xreplace(chosen)


def worked_in(math: Math, known: Mapping[str, Expr]) -> Expr | None:
    """Return the expression of a formula with derived quantities put in; None where one is not known.

    Amounts count in base units.
    """
    try:
        expr = value(math.tree)
    except SymacctError:
        return None
    names = {value(part): known.get(part.name) for part in walk(math.tree) if part.form == "quantity"}
    if any(one is None for one in names.values()):
        return None
    units = {free: 1 for free in expr.free_symbols if free.name.startswith("u_")}
    return normal(expr.subs(units).xreplace({**names}))


__all__ = ["exact", "in_base_units", "with_names_replaced", "with_unit", "worked_in"]
