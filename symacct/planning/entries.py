"""Numbers that say where they come from: given, derived, or worked out by a formula over the others."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING

from symacct.algebra.symbols import as_expr
from symacct.algebra.value import exact
from symacct.claims import amount
from symacct.errors import UnitError, UsageError
from symacct.printers import text
from symacct.quantity import Quantity
from symacct.syntax import read_amount
from symacct.units import ONE, Unit, read_unit

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

SYMBOL = re.compile(r"(?<![\w.])[A-Za-z]\w*")
PERCENT = 100
TURNED = {"": "", "≥": "≤", "≤": "≥"}
"""The bound of what is divided by, turned round."""

Stated = str | int | Fraction | Quantity
"""A number as it is given: ``"15T token"``, ``"2 week"``, an exact number in the unit that is expected."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One number: exact, in base units, with the formula that it comes from.

    Attributes:
        name: what it is called: ``time.run``.
        symbol: what it is called in the formulas of other entries.
        formula: over the symbols of others, or over the sizes of the graph; empty where it is given.
        value: the number, in base units.
        unit: its base unit.
        about: what it is, and where it is given, by whom.
        bound: ``≥`` or ``≤`` where the number is a bound.
        to: the unit that people want to see; empty where any fits.

    >>> print(Entry("tokens", "D", "", Fraction(15 * 10**12), Unit("token")))
    D = 15000000000000 token
    """

    name: str
    symbol: str
    formula: str
    value: Fraction
    unit: Unit
    about: str = ""
    bound: str = ""
    to: str = ""

    @property
    def quantity(self) -> Quantity:
        """The number with its unit."""
        return Quantity(as_expr(self.value), self.unit)

    def let(self) -> str:
        """Return the entry as a binding of the formula language."""
        unit = "" if self.unit == ONE else f" * 1 {self.unit}"
        return f"{self.symbol} = {self.value}{unit}"

    def __str__(self) -> str:
        """Return symbol, bound, number and unit."""
        unit = "" if self.unit == ONE else f" {self.unit}"
        return f"{self.symbol or self.name} {self.bound or '='} {self.value}{unit}"


@dataclass(frozen=True, slots=True)
class Rule:
    """How one number follows from others.

    The first rule of a symbol whose names are all known is the one that is used; bounds are carried over, and
    turned round where a name stands below the line.
    """

    name: str
    symbol: str
    formula: str
    unit: str
    about: str = ""
    bound: str = ""
    to: str = ""

    @property
    def names(self) -> tuple[str, ...]:
        """The symbols that the formula needs."""
        return tuple(dict.fromkeys(one for one in SYMBOL.findall(_without_units(self.formula))))

    def applied(self, known: Mapping[str, Entry]) -> Entry:
        """Return the number.

        Raises:
            UnitError: the units of the others do not give this unit.
        """
        used = [known[one] for one in self.names]
        found = amount(self.formula, self.unit, [one.let() for one in used])
        bounds = {self.bound, *(_carried(self.formula, one) for one in used)} - {""}
        bound = bounds.pop() if len(bounds) == 1 else ""
        return Entry(
            self.name,
            self.symbol,
            self.formula,
            fraction(found.value),
            found.unit,
            self.about,
            bound,
            self.to,
        )


UNIT_PART = re.compile(r"(?<=[0-9]) [A-Za-z(][\w/(*)]*")


def _without_units(formula: str) -> str:
    return UNIT_PART.sub("", formula)


def _carried(formula: str, entry: Entry) -> str:
    """Return what the bound of an entry says of the formula it stands in."""
    _, _, below = _without_units(formula).partition("/")
    return TURNED[entry.bound] if entry.symbol in SYMBOL.findall(below) else entry.bound


def worked_out(rules: Iterable[Rule], known: Mapping[str, Entry]) -> Iterator[Entry]:
    """Yield what the rules give, each over what is known by then; what cannot be said is left out.

    >>> N = Entry("params", "N", "", Fraction(70 * 10**9), Unit("parameter"))
    >>> half = Rule("memory", "M", "2 byte/parameter * N", "byte")
    >>> more = Rule("memory.device", "m", "M/n", "byte/device")
    >>> [str(one) for one in worked_out([half, more], {"N": N})]
    ['M = 140000000000 byte']
    """
    table = dict(known)
    for rule in rules:
        if rule.symbol not in table and all(name in table for name in rule.names):
            entry = rule.applied(table)
            table[rule.symbol] = entry
            yield entry


def fraction(value: object) -> Fraction:
    """Return an exact rational number.

    Raises:
        UsageError: it is none.
    """
    found = exact(value)
    if isinstance(found, (int, Fraction)):
        return Fraction(found)
    raise UsageError("a number is not rational", expected="an exact rational number", got=text(found)[:64])


def stated(given: Stated, what: str, unit: str, example: str, others: Iterable[str] = ()) -> Quantity:
    """Return a number that somebody gives, with its unit; a bare number is in the unit expected.

    Args:
        given: text with a unit, or an exact number.
        what: what it is, for an error.
        unit: the unit of a bare number; empty where a unit must be written.
        example: how it may be written.
        others: further units that it may have.

    Raises:
        UnitError: its unit is another, or is missing.
        UsageError: it is not positive, or not exact.

    >>> print(stated("15T", "tokens", "token", "15T"))
    15000000000000 token
    >>> print(stated("7", "a time", "", "2 week", ["second"]))
    Traceback (most recent call last):
    symacct.errors.UnitError: a time needs a unit
      expected  second, as in 2 week
      got       7
    """
    found = _quantity(given, what, example)
    allowed = [Unit(one) for one in ([unit] if unit else []) + list(others)]
    expected = f"{' or '.join(str(one) for one in allowed)}, as in {example}"
    if found.unit == ONE and ONE not in allowed:
        if not unit:
            raise UnitError(f"{what} needs a unit", expected=expected, got=str(given)[:64])
        found = replace(found, unit=Unit(unit))
    if found.unit not in allowed:
        raise UnitError(
            f"{what} has another unit", expected=expected, got=f"{str(given)[:64]}, in {found.unit}"
        )
    if fraction(found.expr) <= 0:
        raise UsageError(
            f"{what} is not positive", expected=f"more than 0, as in {example}", got=str(given)[:64]
        )
    return found


def count(given: Stated, what: str, unit: str, example: str) -> Fraction:
    """Return a whole number of things.

    Raises:
        UsageError: it is no integer of at least 1.

    >>> count("70B", "parameters", "parameter", "70B")
    Fraction(70000000000, 1)
    """
    value = fraction(stated(given, what, unit, example).expr)
    if value.denominator != 1:
        raise UsageError(
            f"{what} is no integer", expected=f"an integer, as in {example}", got=str(given)[:64]
        )
    return value


def _quantity(given: Stated, what: str, example: str) -> Quantity:
    if isinstance(given, Quantity):
        return given
    if isinstance(given, str):
        value, unit = read_amount(given)
        return Quantity(as_expr(value), unit)
    if isinstance(given, (int, Fraction)) and not isinstance(given, bool):
        return Quantity(as_expr(given), ONE)
    got = f"{str(given)[:64]} ({type(given).__name__})"
    raise UsageError(
        f"{what} is not exact", expected=f"a text such as {example!r}, or an exact number", got=got
    )


def share(given: Stated, what: str, *, most: int = 1) -> Fraction:
    """Return a share above 0 and at most 1: ``50%``, ``0.5``.

    Raises:
        UsageError: it is none.

    >>> share("50%", "--mfu"), share("0.4", "--mfu")
    (Fraction(1, 2), Fraction(2, 5))
    >>> share("50", "--mfu")
    Traceback (most recent call last):
    symacct.errors.UsageError: --mfu is above 1
      expected  a share above 0 and at most 1, as in 0.5 or 50%
      got       50
      fix       write 50%
    """
    value = fraction(stated(given, what, "1", "0.5 or 50%").expr)
    if value > most:
        near = f"write {given}%" if value <= PERCENT and "%" not in str(given) else None
        raise UsageError(
            f"{what} is above 1",
            expected="a share above 0 and at most 1, as in 0.5 or 50%",
            got=str(given)[:64],
            fix=near,
        )
    return value


def factor(unit: str) -> Fraction:
    """Return how many base units a unit is.

    >>> factor("day")
    Fraction(86400, 1)
    """
    return read_unit(unit)[0]
