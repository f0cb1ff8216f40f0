"""A formula in the formula language with every sign written: ``6*N*D``, ``(48 - 24) GB``, ``(a/b)*c``.

What is written is read back as the same tree, up to places, whether names are declared or not: products have
a ``*``, a quotient in a product has brackets, and so has an amount; a unit whose word is a name gets another.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from symacct.claims.unit_words import unit_words

if TYPE_CHECKING:
    from collections.abc import Collection
    from fractions import Fraction

    from symacct.syntax import Tree

SUM, TERM, FACTOR, ATOM = range(4)
"""What stands without brackets first or alone, in a sum, beside a ``*``, and below a ``^``."""
MOST_ZEROS, MOST_PLACES, MOST_DIGITS, LARGEST_POWER = 6, 6, 400, 198


class _Piece(NamedTuple):
    text: str
    level: int


def written(tree: Tree, taken: Collection[str] = ()) -> str:
    """Return a formula as text with every sign.

    Args:
        tree: the formula, read.
        taken: the names of the statement, which no unit may be printed as.

    Raises:
        UnitError: every spelling of a unit is a name.

    >>> from symacct.syntax import parse
    >>> from symacct.units import is_unit
    >>> names = ["B", "D", "s"]
    >>> print(written(parse("6BD^2s + 2 GB/(10 second)", names, is_unit), names))
    6*B*D^2*s + (2 GB)/(10 second)
    """
    return _Writer(frozenset(taken)).piece(tree, first=True).text


def number(value: Fraction, names: Collection[str] = ()) -> str:
    """Return an exact number: its digits, a power of ten where they are many, or a quotient.

    A power of ten is written ``e6``, unless a name begins with that letter and the digits are few.

    >>> from fractions import Fraction
    >>> [number(Fraction(one)) for one in ("48", "70e9", "2.985", "7.82e-9", "1/3", "-2")]
    ['48', '70e9', '2.985', '7.82e-9', '1/3', '-2']
    >>> number(Fraction("70e9"), ["eps"])
    '70000000000'
    """
    sign = "-" if value < 0 else ""
    above, below = abs(value.numerator), value.denominator
    places = _places(below)
    if places is None:
        return f"{sign}{above}/{below}"
    digits = str(above * 10**places // below)
    many = places > MOST_PLACES or (not places and digits.endswith("0" * MOST_ZEROS))
    if len(digits) > LARGEST_POWER or (many and not any(name[:1] in "eE" for name in names)):
        return f"{sign}{_with_power(digits, places)}"
    return f"{sign}{_with_point(digits, places)}"


def _places(below: int) -> int | None:
    """Return how many decimal places a fraction has; None where they do not end soon."""
    return next((one for one in range(MOST_DIGITS) if 10**one % below == 0), None)


def _with_point(digits: str, places: int) -> str:
    """Return digits with a point so many places from the end."""
    digits = digits.zfill(places + 1)
    return f"{digits[:-places]}.{digits[-places:]}" if places else digits


def _with_power(digits: str, places: int) -> str:
    """Return digits with a power of ten, a multiple of three, and up to three digits before the point."""
    power = (len(digits) - places - 1) // 3 * 3
    power = max(-LARGEST_POWER, min(LARGEST_POWER, power))
    shown = _with_point(digits, places + power) if places + power > 0 else digits + "0" * -(places + power)
    shown = shown.rstrip("0").rstrip(".") if "." in shown else shown
    return f"{shown}e{power}"


class _Writer:
    def __init__(self, taken: frozenset[str]) -> None:
        self.taken = taken

    def piece(self, tree: Tree, *, first: bool = False) -> _Piece:  # noqa: PLR0911 (one for each form)
        """Return a part; where it stands first in its bracket, a minus before it needs no bracket."""
        least = TERM if first else SUM
        if tree.form == "number":
            return self.number(tree.value, least)
        if tree.form in {"name", "quantity"}:
            return _Piece(tree.name, ATOM)
        if tree.form == "unit":
            return _Piece(f"1 {unit_words(tree.name, self.taken)}", TERM)
        if tree.form == "sum":
            return _Piece(self.sum(tree.parts), SUM)
        if tree.form == "negative":
            return _Piece(f"-{self.at_least(FACTOR, tree.parts[0])}", least)
        if tree.form == "power":
            return _Piece(self.power(*tree.parts), FACTOR)
        if tree.form == "call":
            return _Piece(self.call(tree), ATOM)
        made = self.amount(tree) if is_amount(tree) else self.joined(tree, first=first)
        return _Piece(made, TERM)

    def at_least(self, level: int, tree: Tree, *, first: bool = False) -> str:
        """Return a part, in brackets where it does not hold together so tightly."""
        made = self.piece(tree, first=first)
        return made.text if made.level >= level else f"({self.piece(tree, first=True).text})"

    def number(self, value: Fraction, least: int) -> _Piece:
        """Return a number as a part."""
        shown = number(value, self.taken)
        if shown[0] == "-":
            return _Piece(shown, least)
        return _Piece(shown, ATOM if shown.isdecimal() else TERM if "/" in shown else FACTOR)

    def sum(self, terms: tuple[Tree, ...]) -> str:
        """Return terms with their signs between."""
        shown = [self.at_least(TERM, terms[0], first=True)]
        for term in terms[1:]:
            minus = term.form == "negative"
            shown.append(f" {'-' if minus else '+'} {self.at_least(TERM, term.parts[0] if minus else term)}")
        return "".join(shown)

    def joined(self, tree: Tree, *, first: bool) -> str:
        """Return a product or a quotient."""
        if tree.form == "product":
            return "*".join(
                self.factor(part, first=first and not place) for place, part in enumerate(tree.parts)
            )
        above, below = tree.parts
        flat = above.form == "product" and not is_amount(above)
        top = self.joined(above, first=first) if flat else self.factor(above, first=first)
        return f"{top}/{self.at_least(FACTOR, below)}"

    def factor(self, tree: Tree, *, first: bool) -> str:
        """Return a factor; a minus before the first one of all needs no bracket."""
        if first and (tree.form == "negative" or (tree.form == "number" and tree.value < 0)):
            return self.piece(tree, first=True).text
        return self.at_least(FACTOR, tree)

    def amount(self, tree: Tree) -> str:
        """Return what a unit stands behind, and the unit."""
        *parts, unit = tree.parts
        if len(parts) > 1:
            inside = "*".join(self.factor(part, first=not place) for place, part in enumerate(parts))
            return f"({inside}) {unit_words(unit.name, self.taken)}"
        (value,) = parts
        if _is_number(value):
            return f"{self.piece(value).text} {unit_words(unit.name, self.taken)}"
        bare = value.form in {"name", "call"}
        inside = self.piece(value, first=True).text
        return f"{inside if bare else f'({inside})'} {unit_words(unit.name, self.taken)}"

    def power(self, base: Tree, exponent: Tree) -> str:
        """Return a power; what is raised to is in brackets unless it is a name or a whole number."""
        raised = self.piece(exponent, first=True)
        bare = exponent.form == "name" or raised.text.isdecimal()
        return f"{self.at_least(ATOM, base)}^{raised.text if bare else f'({raised.text})'}"

    def call(self, tree: Tree) -> str:
        """Return a function of its arguments."""
        return f"{tree.name}({', '.join(self.piece(part, first=True).text for part in tree.parts)})"


def is_amount(tree: Tree) -> bool:
    """Say whether a part is something with a unit behind it."""
    return tree.form == "product" and tree.parts[-1].form == "unit"


def _is_number(tree: Tree) -> bool:
    """Say whether a unit may stand behind a part without a bracket: a number, or a power of one."""
    if tree.form == "power":
        return all(
            part.form == "number" and part.value >= 0 and part.value.denominator == 1 for part in tree.parts
        )
    return tree.form == "number" and tree.value >= 0 and _places(tree.value.denominator) is not None
