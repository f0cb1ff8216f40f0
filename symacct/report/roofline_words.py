"""Figures and conditions of a roofline, in words."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from symacct.evaluation.regions import ALWAYS, NEVER, grouped
from symacct.machines.machine import in_words
from symacct.printers import text
from symacct.report.amount import as_fraction

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from sympy import Expr

    from symacct.evaluation.points import Measured
    from symacct.evaluation.regions import Region
    from symacct.evaluation.roofline import Roofline
    from symacct.machines import Figure

DIGITS = 4


def sourced(figure: Figure) -> str:
    """Return a figure with who says so, and when."""
    said = f"{figure} ({figure.source}, {figure.date})"
    note = figure.note
    return f"{said}: {note}" if note else said


def brief(value: Fraction, unit: str) -> str:
    """Return a number with a prefix, to four digits.

    >>> brief(Fraction(2147483648), "FLOP"), brief(Fraction(6291456), "byte"), brief(Fraction(0), "FLOP")
    ('2.147 GFLOP', '6.291 MB', '0')
    """
    if value == 0:
        return "0"
    scale = Fraction(10) ** (len(str(value.numerator // value.denominator)) - DIGITS)
    return in_words(round(value / scale) * scale if value >= 1 else value, unit)


def condition(found: Region, order: Sequence[str]) -> str:
    """Return where bytes bind: ``B < I*D*K/(D*K - I*(D + K))``, ``every B`` or ``no B``."""
    if found.above is None or found.below is None or found.critical is None:
        word = {ALWAYS: "every ", NEVER: "no "}.get(found.relation, "")
        return f"{word}{found.name}" if word else f"not a matter of {found.name}"
    said = f"{found.name} {found.relation} "
    if found.critical.is_Rational:
        return said + decimal(as_fraction(found.critical))
    top, bottom = (_linear(one, found.ridge, order) for one in (found.above, found.below))
    whole = top if found.below == 1 else f"{_bracketed(top, found.above)}/{_bracketed(bottom, found.below)}"
    if found.otherwise is None:
        return said + whole
    rest = "every" if found.otherwise == ALWAYS else "no"
    return f"{said}{whole} where {bottom} > 0, else {rest} {found.name}"


def _bracketed(said: str, expr: Expr) -> str:
    return said if expr.is_Symbol or expr.is_Integer or (expr.is_Mul and "/" not in said) else f"({said})"


def _linear(expr: Expr, ridge_symbol: Expr | None, order: Sequence[str]) -> str:
    """Return ``D*K - I*(D + K)``."""
    if ridge_symbol is None:
        return text(expr, order)
    rest, beside = grouped(expr, ridge_symbol)
    if rest == 0 or not beside.is_Add or beside.has(ridge_symbol):
        return text(expr, (ridge_symbol.name, *order))
    return f"{text(rest, order)} - {ridge_symbol}*({text(beside, order)})"


def above(measured: Iterable[Measured], mades: Iterable[Roofline]) -> Iterator[str]:
    """Yield which measured points are above every roof: bytes or work faster than any machine has them.

    The roof of work is the highest that is drawn: what a point computes in is not said.
    """
    drawn = [made for made in mades if made.machine is not None]
    for one in measured:
        found = [list(_faster(one, made)) for made in drawn]
        if all(found):
            yield from (said for each in found for said in each)


def _faster(one: Measured, made: Roofline) -> Iterator[str]:
    """Yield what of a point is faster than a machine."""
    assert made.machine is not None
    width = as_fraction(made.rates.bandwidth())
    peaks = [as_fraction(roof.ridge) * width for roof in made.roofs]
    found = [(one.moved / one.seconds, width, "byte/s", made.over or "main memory")]
    found += [(one.flops / one.seconds, max(peaks), "FLOP/s", "its highest peak")] if peaks else []
    for rate, most, unit, what in found:
        if rate > most:
            said = f"{brief(rate, unit)} where {what} has {brief(most, unit)}"
            yield f"point {one.name} is above the roof of {made.machine.name}: {said}"


def decimal(value: Fraction) -> str:
    """Return a number to two places.

    >>> decimal(Fraction(34515, 100)), decimal(Fraction(886))
    ('345.15', '886')
    """
    return f"{value.numerator:,}" if value.denominator == 1 else f"{float(round(value, 2)):,.2f}"
