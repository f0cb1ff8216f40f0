"""Rows of calculations: the numbers that stand in one, with their units, become what a reader may change."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING

from sympy import Rational, Symbol

from symacct.algebra.normal import normal
from symacct.claims import amount
from symacct.claims.parts import binding_of
from symacct.proof.machine_facts import read_facts
from symacct.sheet.page.parts import Calculator, Result, Size, Variant
from symacct.sheet.page.quantities import addends
from symacct.syntax import Source, fold, parse
from symacct.units import is_unit, read_unit

if TYPE_CHECKING:
    from sympy import Expr

    from symacct.readers.stated import Stated
    from symacct.sheet.data import Origin
    from symacct.syntax import Tree

PLACES = 40


@dataclass(slots=True)
class Taken:
    """A formula whose numbers are taken out: the sizes in their place, and what names stand for."""

    sizes: list[Size] = field(default_factory=list)
    bound: dict[str, Expr] = field(default_factory=dict)

    def of(self, tree: Tree, text: str, name: str = "") -> Expr:
        """Return a formula with a size in the place of each number; `name` is that of an amount alone."""
        if tree.form == "number":
            return self.number(tree, text, name)
        if _is_amount(tree):
            return self.number(tree.parts[0], text, name, tree)
        if tree.form in {"sum", "product", "quotient", "negative"}:
            parts = [self.of(part, text) for part in tree.parts]
            return _joined(tree.form, parts)
        if tree.form == "power":
            return self.of(tree.parts[0], text) ** fold(tree.parts[1], self.leaf, text)
        return fold(tree, self.leaf, text)

    def number(self, tree: Tree, text: str, name: str, whole: Tree | None = None) -> Expr:
        """Return the size in the place of a number, times what its unit is in base units."""
        unit = whole.parts[1].name if whole is not None else ""
        written = text[(whole or tree).start : (whole or tree).end].strip()
        made = f"n{len(self.sizes) + 1}"
        label = name or written
        meaning = "" if label == written else written
        self.sizes.append(Size(made, label, meaning, integer=False, unit=unit, value=decimal(tree.value)))
        return _number(made) * self.unit(unit)

    def unit(self, name: str) -> Expr:
        """Return what a unit is in base units."""
        scale = read_unit(name)[0] if name else Fraction(1)
        return Rational(scale.numerator, scale.denominator)

    def leaf(self, leaf: Tree) -> Expr:
        """Return what a name stands for, or a unit alone."""
        return self.bound[leaf.name] if leaf.form == "name" else self.unit(leaf.name)


def _number(name: str) -> Expr:
    """Return the symbol of a number, which need not be an integer."""
    return Symbol(name, positive=True)


def _joined(form: str, parts: list[Expr]) -> Expr:
    first = parts[0]
    if form == "negative":
        return -first
    for part in parts[1:]:
        first = first + part if form == "sum" else first * part if form == "product" else first / part
    return first


def _is_amount(tree: Tree) -> bool:
    pair = tree.form == "product" and len(tree.parts) == 2
    return pair and tree.parts[0].form == "number" and tree.parts[1].form == "unit"


def decimal(value: Fraction) -> str:
    """Return a fraction as a decimal where it is one.

    >>> decimal(Fraction(1979, 2)), decimal(Fraction(1, 3)), decimal(Fraction(10**12))
    ('989.5', '1/3', '1000000000000')
    """
    places = next((n for n in range(PLACES) if 10**n % value.denominator == 0), None)
    if not places:
        return str(value)
    digits = f"{abs(value.numerator) * 10**places // value.denominator:0{places + 1}}"
    return f"{'-' if value < 0 else ''}{digits[:-places]}.{digits[-places:]}"


def of_calculation(stated: Stated, origin: Origin, scope: str) -> tuple[Calculator, list[Size]] | None:
    """Return a calculation that can be computed, and its numbers; None where its own value is not met.

    Raises:
        SymacctError: it cannot be read any more.
    """
    facts = read_facts(stated.calc, stated.let, on=origin.machine)
    lets = [*facts.lets, *facts.typed]
    taken = Taken()
    for let in lets:
        name, span = binding_of(let)
        tree = parse(span.of(let), list(taken.bound), is_unit)
        taken.bound[name] = taken.of(tree, Source(let).text, name)
    text = Source(facts.text).text
    expr = normal(taken.of(parse(facts.text, list(taken.bound), is_unit), text))
    found = amount(facts.text, stated.to, lets)
    start = {size.name: Rational(*_ratio(size.value)) for size in taken.sizes}
    if normal(expr.subs({_number(name): value for name, value in start.items()}) - found.value) != 0:
        return None
    scale = taken.unit(stated.to or "")
    result = Result("", stated.to or str(found.unit), normal(expr / scale), addends(normal(expr / scale)))
    return Calculator(scope, {"": Variant((result,))}, order=tuple(start)), taken.sizes


def _ratio(text: str) -> tuple[int, int]:
    value = Fraction(text)
    return value.numerator, value.denominator
