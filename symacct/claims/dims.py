"""Units with rational exponents, as roots give them, and what is known of a formula's unit."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from symacct.units import ONE, PHYSICAL, PLACES, Unit, of_dims, read_unit

if TYPE_CHECKING:
    from collections.abc import Mapping

MAC = re.compile(r"(?<!\w)[kMGTPE]?MACs?(?!\w)")
SQUARED = frozenset({"byte", "FLOP", "op", "dollar", "joule"})
"""Bases whose squares mean nothing: a formula that ends in one has multiplied what it should have added."""


@dataclass(frozen=True, slots=True)
class Dims:
    """Powers of base units; `mac` is the power to which a MAC was written for 2 FLOP.

    >>> print(Dims.of(Unit("FLOP/second")).times(Dims.of(Unit("second"))))
    FLOP
    """

    powers: tuple[tuple[str, Fraction], ...] = ()
    mac: Fraction = Fraction(0)

    @classmethod
    def of(cls, unit: Unit, mac: int = 0) -> Dims:
        """Return those of a unit."""
        return cls(tuple((name, Fraction(power)) for name, power in unit.dims), Fraction(mac))

    @classmethod
    def read(cls, text: str) -> Dims:
        """Return those of a unit's text.

        >>> Dims.read("GMAC/s").mac
        Fraction(1, 1)
        """
        unit = read_unit(text)[1]
        instead = dict(read_unit(MAC.sub("op", text))[1].dims) if MAC.search(text) else {}
        return cls.of(unit, instead.get("op", 0) - dict(unit.dims).get("op", 0) if instead else 0)

    @property
    def table(self) -> dict[str, Fraction]:
        """The powers by base unit."""
        return dict(self.powers)

    def times(self, other: Dims, power: Fraction | int = 1) -> Dims:
        """Return the product with a power of other ones."""
        table = self.table
        for name, each in other.powers:
            table[name] = table.get(name, Fraction(0)) + each * power
        return _made(table, self.mac + other.mac * power)

    def over(self, other: Dims) -> Dims:
        """Return the quotient."""
        return self.times(other, -1)

    def power(self, exponent: Fraction) -> Dims:
        """Return a power."""
        return Dims().times(self, exponent)

    def like(self, other: Dims) -> bool:
        """Say whether the base units agree, whatever they were written as."""
        return self.powers == other.powers

    @property
    def pure(self) -> bool:
        """Whether there is no unit."""
        return not self.powers

    @property
    def physical(self) -> bool:
        """Whether there is a physical unit."""
        return any(name in PHYSICAL for name, _ in self.powers)

    @property
    def counting(self) -> bool:
        """Whether there is a counting unit."""
        return any(name not in PHYSICAL for name, _ in self.powers)

    @property
    def squared(self) -> str | None:
        """The base that stands squared though its square means nothing."""
        return next((name for name, power in self.powers if abs(power) >= 2 and name in SQUARED), None)

    @property
    def unit(self) -> Unit | None:
        """The unit; None where a power is no integer."""
        if any(power.denominator != 1 for _, power in self.powers):
            return None
        return of_dims((name, int(power)) for name, power in self.powers) if self.powers else ONE

    def __str__(self) -> str:
        """Return the unit's text; a power that is no integer in brackets."""
        if self.unit is None:
            return "*".join(name if power == 1 else f"{name}^({power})" for name, power in self.powers)
        if self.pure:
            return "a pure number"
        if self.mac and self.mac == self.table.get("FLOP"):
            return str(self.unit).replace("FLOP", "MAC")
        return str(self.unit)


def _made(table: Mapping[str, Fraction], mac: Fraction) -> Dims:
    kept = [(name, power) for name, power in table.items() if power]
    return Dims(tuple(sorted(kept, key=lambda one: PLACES[one[0]])), mac)


def dotted(dims: Dims) -> str:
    """Return a unit as it is shown to people.

    >>> dotted(Dims.read("FLOP/(parameter*token)"))
    'FLOP/(parameter·token)'
    """
    return str(dims).replace("*", "·")
