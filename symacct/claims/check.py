"""The unit of each part of a formula: what is added must be alike, and what is compared too."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from typing import TYPE_CHECKING, NoReturn

from symacct.claims.dims import Dims
from symacct.errors import UnitError
from symacct.messages import Message
from symacct.syntax import caret, fold, walk
from symacct.units import read_unit

if TYPE_CHECKING:
    from collections.abc import Callable

    from symacct.syntax import Tree

__all__ = ["PURE", "SHARES", "Checker", "UnlikeError", "unit_warnings", "walk"]

PURE = Dims()
SHARES = frozenset({"mfu", "hfu"})
LONGEST_SLICE = 40
DECIMAL_BYTES = re.compile(r"(?<!\w)([kMGTPE])B(?:yte)?s?(?!\w)")
BINARY_BYTES = re.compile(r"(?<!\w)([KMGTPE]i)B(?:yte)?s?(?!\w)")
BITS = re.compile(r"(?<!\w)(?:[kMGTPE]i?)?bits?(?!\w)")
BYTES = re.compile(r"(?<!\w)(?:[kKMGTPE]i?B|(?:[kMGTPE]i?)?bytes?)(?!\w)")


class UnlikeError(UnitError):
    """Two units that must be alike are not; the part that differs is known.

    Attributes:
        first: the part that it should be like.
        part: the part that differs.
        wanted: the unit that it should have.
        found: the unit that it has.
    """

    first: Tree
    part: Tree
    wanted: Dims
    found: Dims


@dataclass(frozen=True, slots=True)
class Checker:
    """Finds the units of the parts of one text.

    Attributes:
        text: the text.
        leaf: gives the units of names and quantities.
        constants: names that stand for explicit numbers.
    """

    text: str
    leaf: Callable[[Tree], Dims]
    constants: frozenset[str] = frozenset()

    def dims(self, tree: Tree) -> Dims:
        """Return the unit of a part.

        Raises:
            UnitError: unlike things are added or compared, or a logarithm or an exponent has a unit.
        """
        match tree.form:
            case "number":
                found = PURE
            case "name" | "quantity":
                found = self.leaf(tree)
            case "unit":
                found = Dims.read(tree.name)
            case "negative":
                found = self.dims(tree.parts[0])
            case "sum":
                found = self.alike(tree.parts, "added")
            case "product":
                found = reduce(Dims.times, map(self.dims, tree.parts))
            case "quotient":
                found = self.dims(tree.parts[0]).over(self.dims(tree.parts[1]))
            case "power":
                found = self.power(tree)
            case "call":
                found = self.call(tree)
        return found

    def alike(self, parts: tuple[Tree, ...], verb: str) -> Dims:
        """Return the unit that all parts share; a literal 0 has any."""
        counted = [part for part in parts if not _is_zero(part)] or list(parts[:1])
        found = self.dims(counted[0])
        self.whole(found, counted[0])
        for part in counted[1:]:
            other = self.dims(part)
            if other != found:
                self.refuse(counted[0], found, part, other, verb)
        return found

    def power(self, tree: Tree) -> Dims:
        """Return the unit of a power; an exponent has none, and above a unit it is a number."""
        base, exponent = map(self.dims, tree.parts)
        if not exponent.pure:
            self.needs_pure(tree.parts[1], exponent, "an exponent")
        if base.pure:
            return PURE
        value = fold(tree.parts[1], lambda leaf: _no_number(self, tree, leaf), self.text)
        return base.power(Fraction(int(value.p), int(value.q)))

    def call(self, tree: Tree) -> Dims:
        """Return the unit of a function's value."""
        if tree.name in {"max", "min"}:
            return self.alike(tree.parts, "compared")
        found = self.dims(tree.parts[0])
        for part in tree.parts[1:]:
            if not (other := self.dims(part)).pure:
                self.needs_pure(part, other, f"what {tree.name}() takes")
        if tree.name == "sqrt":
            return found.power(Fraction(1, 2))
        if tree.name != "abs" and not found.pure:
            self.needs_pure(tree.parts[0], found, f"what {tree.name}() takes")
        return found

    def whole(self, found: Dims, tree: Tree) -> None:
        """Refuse a unit that means nothing: byte^2, or a root of a byte.

        Raises:
            UnitError: it does.
        """
        if found.squared:
            place = self.square(tree, found.squared)
            raise UnitError(
                f"{found.squared} is multiplied by {found.squared}",
                where=caret(self.text, place.start),
                expected=f"{found.squared} times a pure number, or a sum",
                got=f"{found}      (of {self.slice(tree)})",
                fix=self.unsquared(place),
            )
        if found.unit is None:
            raise UnitError(
                "a root leaves a unit that is no unit",
                where=caret(self.text, tree.start),
                expected="whole powers of units",
                got=f"{found}      (of {self.slice(tree)})",
            )

    def square(self, tree: Tree, base: str) -> Tree:
        """Return the part in which a base is multiplied by itself."""
        for part in tree.parts if tree.form in {"product", "quotient", "sum", "negative"} else ():
            if abs(self.dims(part).table.get(base, Fraction(0))) >= 2:
                return self.square(part, base)
        carriers = [part for part in tree.parts if self.dims(part).table.get(base, Fraction(0)) >= 1]
        return carriers[1] if tree.form == "product" and len(carriers) > 1 else tree

    def unsquared(self, factor: Tree) -> str | None:
        """Return the line with a factor's unit left out, or with a sum."""
        written = self.text[factor.start : factor.end]
        number = re.match(r"[0-9][0-9_.eE+]*", written)
        if factor.form == "product" and number:
            line = f"{self.text[: factor.start]}{number.group()}{self.text[factor.end :]}"
            return f"write {line.strip()}"
        return None

    def refuse(self, first: Tree, wanted: Dims, part: Tree, found: Dims, verb: str) -> NoReturn:
        """Raise the error for two unlike parts."""
        error = UnlikeError(
            Message(f"not_{verb}", left=dims_name(wanted), right=dims_name(found)),
            where=caret(self.text, part.start),
            expected=f"{wanted}      (as {self.slice(first)})",
            got=f"{found}      (of {self.slice(part)})",
        )
        error.first, error.part, error.wanted, error.found = first, part, wanted, found
        raise error

    def needs_pure(self, part: Tree, found: Dims, what: str) -> NoReturn:
        """Raise the error for something that has a unit where none may be."""
        raise UnitError(
            f"{what} is a pure number",
            where=caret(self.text, part.start),
            expected="a pure number",
            got=f"{found}      (of {self.slice(part)})",
            fix=f"divide by 1 {found}",
        )

    def slice(self, tree: Tree) -> str:
        """Return the text of a part, shortened."""
        written = self.text[tree.start : tree.end].strip()
        return written if len(written) <= LONGEST_SLICE else f"{written[: LONGEST_SLICE - 3]}..."


def dims_name(dims: Dims) -> str:
    """Return a unit as the subject of a message."""
    return str(dims)


def _is_zero(tree: Tree) -> bool:
    return tree.form == "number" and tree.value == 0


def _no_number(checker: Checker, power: Tree, leaf: Tree) -> NoReturn:
    base = power.parts[0]
    raise UnitError(
        "the power of something with a unit is a number",
        where=caret(checker.text, leaf.start),
        expected="a number as the exponent",
        got=f"{checker.slice(power.parts[1])} above {checker.dims(base)}",
    )


def unit_warnings(units: list[str]) -> list[str]:
    """Return what to say of units that are easily confused and stand in one formula.

    >>> unit_warnings(["GB", "GiB"])
    ['GB and GiB stand in one formula: 1 GiB = 1.0737 GB']
    """
    found: list[str] = []
    text = " ".join(units)
    decimal, binary = DECIMAL_BYTES.search(text), BINARY_BYTES.search(text)
    if decimal and binary:
        small, large = f"{binary[1][0].replace('K', 'k')}B", f"{binary[1]}B"
        ratio = read_unit(large)[0] / read_unit(small)[0]
        shown = f"{float(ratio):.4f}".rstrip("0")
        found.append(
            f"{decimal.group()} and {binary.group()} stand in one formula: 1 {large} = {shown} {small}"
        )
    bits, whole = BITS.search(text), BYTES.search(text)
    if bits and whole:
        found.append(f"{bits.group()} and {whole.group()} stand in one formula: 1 byte = 8 bit")
    return found
