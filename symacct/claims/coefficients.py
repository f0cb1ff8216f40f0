"""Units that coefficients carry without saying so: ``6`` for ``6 FLOP/(parameter·token)`` in ``6*N*D``."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from symacct.claims.check import PURE, Checker
from symacct.claims.dims import Dims, dotted
from symacct.errors import SymacctError
from symacct.messages import Message
from symacct.syntax import walk

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from symacct.syntax import Tree

MOST_POWER = 64
DESCENDED = frozenset({"abs", "max", "min"})


class NoReadingError(Exception):
    """A side has no coefficient that could carry the unit that is missing."""


def absorbed(tree: Tree, target: Dims, checker: Checker, *, physical: bool) -> list[str]:
    """Return how the coefficients of a side are read, so that it has a unit.

    Args:
        tree: the side.
        target: the unit that it is to have.
        checker: gives the units of its parts.
        physical: whether the side writes a physical unit, so that it takes none.

    Raises:
        NoReadingError: no explicit coefficient can take what is missing.
    """
    return list(dict.fromkeys(_Reading(checker, physical=physical).read(tree, target)))


class _Reading:
    def __init__(self, checker: Checker, *, physical: bool) -> None:
        self.checker = checker
        self.physical = physical

    def read(self, tree: Tree, target: Dims) -> Iterator[str]:
        found = self.known(tree)
        if found == target or (tree.form == "number" and tree.value == 0):
            return
        if tree.form == "sum" or (tree.form == "call" and tree.name in DESCENDED):
            if found is not None and found.pure and not self.physical:
                yield self.whole(tree, target)
                return
            for part in tree.parts:
                yield from self.read(part, target)
        elif tree.form == "negative":
            yield from self.read(tree.parts[0], target)
        else:
            yield from self.product(tree, target)

    def known(self, tree: Tree) -> Dims | None:
        try:
            return self.checker.dims(tree)
        except SymacctError:
            return None

    def whole(self, tree: Tree, target: Dims) -> str:
        return Message("read_in", text=self.checker.slice(tree), unit=dotted(target))

    def product(self, tree: Tree, target: Dims) -> Iterator[str]:
        factors = list(_factors(tree, 1, self.checker.constants))
        fixed = self.checker.constants
        others = [(part, power) for part, power in factors if not is_constant(part, fixed)]
        constants = [(part, power) for part, power in factors if is_constant(part, fixed)]
        unclear = [(part, power) for part, power in others if self.known(part) is None]
        if len(unclear) > 1 or any(power < 0 for _, power in unclear):
            raise NoReadingError
        missing = target
        for part, power in others:
            missing = missing.times(self.known(part) or PURE, -power)
        if unclear:
            if unclear[0][0] is tree:
                raise NoReadingError
            yield from self.read(unclear[0][0], missing)
            return
        if missing == PURE:
            return
        if missing.unit is None or missing.mac or (self.physical and missing.physical):
            raise NoReadingError
        if constants:
            shown = self.coefficient(constants)
            yield Message("read_as", text=shown, meaning=f"{shown} {dotted(missing)}")
        elif not missing.counting or all((self.known(part) or PURE).pure for part, _ in others):
            yield self.whole(tree, target)
        else:
            yield from self.descended(others, missing)

    def descended(self, others: list[tuple[Tree, int]], missing: Dims) -> Iterator[str]:
        """Read a sum among the factors, where it is the only one, as what carries the unit."""
        sums = [part for part, power in others if power == 1 and part.form == "sum"]
        if len(sums) != 1:
            raise NoReadingError
        yield from self.read(sums[0], missing.times(self.known(sums[0]) or PURE))

    def coefficient(self, constants: list[tuple[Tree, int]]) -> str:
        named = any(part.form == "name" for whole, _ in constants for part in walk(whole))
        if len(constants) == 1 and constants[0][1] == 1:
            return self.checker.slice(constants[0][0])
        if named:
            return "*".join(f"{self.checker.slice(part)}{'^-1' * (power < 0)}" for part, power in constants)
        value = Fraction(1)
        for part, power in constants:
            value *= constant(part) ** power
        return str(value)


def _factors(tree: Tree, power: int, fixed: Collection[str]) -> Iterator[tuple[Tree, int]]:
    """Yield the factors of a product; a number with its unit is one factor, and so is a constant."""
    if is_constant(tree, fixed) or _is_amount(tree):
        yield tree, power
    elif tree.form == "product":
        for part in tree.parts:
            yield from _factors(part, power, fixed)
    elif tree.form == "quotient":
        yield from _factors(tree.parts[0], power, fixed)
        yield from _factors(tree.parts[1], -power, fixed)
    else:
        yield tree, power


def _is_amount(tree: Tree) -> bool:
    return tree.form == "product" and len(tree.parts) == 2 and tree.parts[1].form == "unit"


def is_constant(tree: Tree, fixed: Collection[str] = ()) -> bool:
    """Say whether a part is an explicit number, ``6``, ``3/2``, ``2^10``, or a name bound to one."""
    if tree.form == "number" or (tree.form == "name" and tree.name in fixed):
        return True
    inside = tree.form in {"negative", "product", "quotient", "power"}
    return inside and all(is_constant(part, fixed) for part in tree.parts)


def constant(tree: Tree) -> Fraction:
    """Return the value of a constant without names; a power or quotient that has none counts as its base."""
    if tree.form == "number":
        return tree.value
    values = [constant(part) for part in tree.parts]
    if tree.form == "negative":
        return -values[0]
    if tree.form == "quotient":
        return values[0] / values[1] if values[1] else values[0]
    if tree.form == "power":
        small = values[1].denominator == 1 and abs(values[1]) <= MOST_POWER
        return values[0] ** int(values[1]) if small and values[0] else values[0]
    result = Fraction(1)
    for value in values:
        result *= value
    return result
