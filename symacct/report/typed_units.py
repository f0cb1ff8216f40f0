"""Numbers of a claim in the units that its author typed: 2.985 ms beside 4 ms, not fractions of a second."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sympy import Rational

from symacct.report.amount import as_fraction, digits
from symacct.syntax import walk
from symacct.units import Unit, read_unit

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sympy import Expr

    from symacct.syntax import Tree


def typed_unit(trees: Iterable[Tree], unit: Unit) -> str | None:
    """Return the last unit in formulas that is one of amounts like these; None where there is none.

    >>> from symacct.syntax import parse
    >>> from symacct.units import is_unit
    >>> sides = [parse(side, (), is_unit) for side in ("10 GB/(3.35 TB/s)", "4 ms")]
    >>> typed_unit(sides, Unit("second"))
    'ms'
    """
    written = [part.name for tree in trees for part in walk(tree) if part.form == "unit"]
    return next((one for one in reversed(written) if read_unit(one)[1] == unit), None)


def in_unit(values: Iterable[Expr], unit: str) -> list[str]:
    """Return numbers in base units in another, to four digits; exactly where these do not tell them apart.

    >>> in_unit([Rational(1, 335), Rational(1, 250)], "ms")
    ['2.985 ms', '4 ms']
    >>> in_unit([Rational(1), Rational(10001, 10000)], "s")
    ['1 s', '10001/10000 s']
    """
    scale = read_unit(unit)[0]
    amounts = [value / Rational(scale.numerator, scale.denominator) for value in values]
    shown = [digits(as_fraction(amount)) for amount in amounts]
    if len(set(shown)) < len(set(amounts)):
        shown = [str(amount) for amount in amounts]
    return [f"{one} {unit}" for one in shown]
