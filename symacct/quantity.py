"""A formula with its unit and the conditions under which it holds."""

from __future__ import annotations

import numbers
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from sympy import Expr

from symacct.algebra.condition import Condition, merge
from symacct.algebra.evaluate import check_sizes, evaluate, names_of, require, substitute
from symacct.algebra.grid import on_arrays
from symacct.algebra.normal import normal, total
from symacct.algebra.symbols import as_expr
from symacct.errors import SizeError, UnitError
from symacct.printers import escape, latex, text
from symacct.units import ONE, Unit, convert

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from sympy.printing.latex import LatexPrinter


@dataclass(frozen=True, slots=True)
class Quantity:
    """A formula in normal form, its unit in base units, and conditions.

    Quantities of like units add; exact numbers and formulas multiply. Floats never enter.

    >>> from symacct.algebra.symbols import symbol
    >>> work = Quantity(6 * symbol("N"), Unit("FLOP/token")) * Quantity(symbol("D"), Unit("token"))
    >>> print(work)
    6*D*N FLOP
    >>> work + Quantity(1, Unit("byte"))
    Traceback (most recent call last):
    symacct.errors.UnitError: FLOP and byte cannot be added
      expected  FLOP      (of 6*D*N)
      got       byte      (of 1)
      fix       bring both sides to one unit
    """

    expr: Expr
    unit: Unit = ONE
    when: tuple[Condition, ...] = ()

    __array_ufunc__: ClassVar[None] = None
    _op_priority: ClassVar[float] = 1000.0
    """By which sympy leaves arithmetic with its own expressions to a quantity, that no unit is lost there."""

    def __post_init__(self) -> None:
        """Bring the formula into normal form.

        Raises:
            SizeError: it is not exact.
        """
        object.__setattr__(self, "expr", normal(self.expr))
        if not isinstance(self.unit, Unit):
            what = "the unit of a quantity is a Unit"
            raise UnitError(
                what, expected="a Unit", got=repr(self.unit)[:64], fix=f"write Unit({self.unit!r})"
            )

    def _joined(self, other: Quantity) -> tuple[Condition, ...]:
        if not other.when or other.when == self.when:
            return self.when
        return merge((*self.when, *other.when)) if self.when else other.when

    def _like(self, other: object, verb: str) -> Quantity:
        if not isinstance(other, Quantity):
            raise _no_quantity(self, other, verb)
        if other.unit != self.unit:
            what = f"{self.unit} and {other.unit} cannot be {verb}"
            expected, got = (
                f"{self.unit}      (of {text(self.expr)})",
                f"{other.unit}      (of {text(other.expr)})",
            )
            raise UnitError(what, expected=expected, got=got, fix="bring both sides to one unit")
        return other

    def __add__(self, other: object) -> Quantity:
        """Return the sum of two quantities of like units."""
        like = self._like(other, "added")
        return Quantity(total((self.expr, like.expr)), self.unit, self._joined(like))

    def __radd__(self, other: object) -> Quantity:
        """Return the quantity itself for the 0 with which `sum` starts; refuse the rest."""
        if type(other) is int and other == 0:
            return self
        raise _no_quantity(self, other, "added")

    def __sub__(self, other: object) -> Quantity:
        """Return the difference of two quantities of like units."""
        like = self._like(other, "subtracted")
        return Quantity(total((self.expr, -like.expr)), self.unit, self._joined(like))

    def __rsub__(self, other: object) -> Quantity:
        """Refuse to subtract from something that has no unit."""
        raise _no_quantity(self, other, "subtracted")

    def __neg__(self) -> Quantity:
        """Return the quantity with the other sign."""
        return Quantity(-self.expr, self.unit, self.when)

    def __mul__(self, other: object) -> Quantity:
        """Return the product with a quantity, or with an exact number or formula."""
        right = as_quantity(other)
        return Quantity(self.expr * right.expr, self.unit.times(right.unit), self._joined(right))

    def __rmul__(self, other: object) -> Quantity:
        """Return the product with an exact number or formula."""
        return self * other

    def __truediv__(self, other: object) -> Quantity:
        """Return the quotient by a quantity, or by an exact number or formula."""
        right = as_quantity(other)
        return Quantity(self.expr / right.expr, self.unit.over(right.unit), self._joined(right))

    def __rtruediv__(self, other: object) -> Quantity:
        """Return an exact number or formula over the quantity."""
        return as_quantity(other) / self

    def __pow__(self, exponent: int) -> Quantity:
        """Return an integer power."""
        if not isinstance(exponent, numbers.Integral) or isinstance(exponent, bool):
            what = "the power of a quantity is an integer"
            raise SizeError(
                what, expected="an integer", got=f"{str(exponent)[:64]} ({type(exponent).__name__})"
            )
        return Quantity(self.expr ** int(exponent), self.unit.power(int(exponent)), self.when)

    def names(self) -> list[str]:
        """Return the sorted names of the sizes in the formula and its conditions."""
        return sorted({*names_of(self.expr), *(name for one in self.when for name in one.names)})

    def at(self, **sizes: int) -> Expr:
        """Return the exact value in base units.

        Raises:
            SizeError: a size is missing or wrong, or a condition fails.
            UnknownNameError: a size does not occur here.

        >>> from symacct.algebra.symbols import symbol
        >>> L = symbol("L")
        >>> two = Condition("at_least", L, as_expr(2))
        >>> Quantity(L - 1, ONE, (two,)).at(L=12)
        11
        >>> Quantity(L - 1, ONE, (two,)).at(L=1)
        Traceback (most recent call last):
        symacct.errors.SizeError: a formula does not hold at these sizes
          expected  L >= 2
          got       L = 1
        """
        return self.value(sizes)

    def value(self, sizes: Mapping[str, int], counts: frozenset[str] = frozenset()) -> Expr:
        """Return the exact value, as `at`; the sizes named in `counts` may be 0."""
        names = self.names()
        checked = check_sizes(sizes, names, counts)
        require(names, checked)
        check_conditions(self.when, checked)
        return evaluate(self.expr, checked)

    def __call__(self, **sizes: Any) -> Any:
        """Return the exact value, as `at`; and an array where arrays (or lists) are given.

        Arrays broadcast as in numpy. The result is int64 where every value is one, else float64: each is
        worked out exactly, and rounded once.

        Raises:
            SizeError: a size is missing or wrong, or a condition fails.
            UnknownNameError: a size does not occur here.
            LimitError: there are too many points.

        >>> from symacct.algebra.symbols import symbol
        >>> Quantity(symbol("s") ** 2 * symbol("h"), ONE)(s=[[1], [2]], h=[10, 100])
        array([[ 10, 100],
               [ 40, 400]])
        """
        if all(isinstance(size, numbers.Number | Expr | str) for size in sizes.values()):
            return self.at(**sizes)
        return on_arrays(self.value, sizes)

    def subs(self, **sizes: Expr | int) -> Quantity:
        """Return the quantity with sizes replaced, in the conditions too.

        Raises:
            SizeError: a condition fails for certain, or a value is not exact.
        """
        when = tuple(one.substitute(sizes) for one in self.when)
        for before, after in zip(self.when, when, strict=True):
            if after.is_impossible():
                what = "a formula does not hold for these sizes"
                got = ", ".join(f"{name} = {value}" for name, value in sizes.items() if name in before.names)
                raise SizeError(what, expected=str(before), got=got)
        return Quantity(substitute(self.expr, sizes), self.unit, merge(when))

    def to(self, unit: str) -> Expr:
        """Return the formula in another unit of the same kind, as a bare expression.

        >>> Quantity(as_expr(24 * 10**9), Unit("byte")).to("GB")
        24
        """
        return convert(self.expr, self.unit, unit)

    def show(self, order: Sequence[str] = ()) -> str:
        """Return the text, with symbols in a given order."""
        unit = "" if self.unit == ONE else f" {self.unit}"
        body = text(self.expr, order)
        shown = f"({body})" if unit and self.expr.is_Add else body
        when = f" when {', '.join(map(str, self.when))}" if self.when else ""
        return f"{shown}{unit}{when}"

    def __str__(self) -> str:
        """Return the text."""
        return self.show()

    def _sympy_(self) -> Expr:
        """Return the formula in base units: what sympy makes of a quantity."""
        return self.expr

    def _latex(self, printer: LatexPrinter) -> str:
        """Return the formula as sympy prints it; the unit is left to the reader."""
        return str(printer.doprint(self.expr))

    def _repr_latex_(self) -> str:
        unit = "" if self.unit == ONE else f"\\ \\mathrm{{{escape(str(self.unit))}}}"
        body = latex(self.expr)
        shown = f"\\left({body}\\right)" if unit and self.expr.is_Add else body
        return f"${shown}{unit}$"


def check_conditions(conditions: Iterable[Condition], sizes: Mapping[str, int]) -> None:
    """Check that all conditions hold at these sizes.

    Raises:
        SizeError: one fails; it is named.
    """
    for condition in conditions:
        if not condition.holds(sizes):
            got = ", ".join(f"{name} = {sizes[name]}" for name in condition.names)
            raise SizeError("a formula does not hold at these sizes", expected=str(condition), got=got)


def as_quantity(value: object) -> Quantity:
    """Return a quantity as it is, and an exact number or formula as a pure number.

    Raises:
        SizeError: the value is not exact.

    >>> from fractions import Fraction
    >>> print(as_quantity(Fraction(1, 2)))
    1/2
    """
    return value if isinstance(value, Quantity) else Quantity(as_expr(value))


def _no_quantity(one: Quantity, other: object, verb: str) -> UnitError:
    kind = "number" if isinstance(other, Expr) and other.is_number else type(other).__name__
    shown = text(other) if isinstance(other, Expr) else str(other)[:64]
    fix = f"write Quantity({shown}, Unit({str(one.unit)!r}))"
    if isinstance(other, float):
        fix = f"write Quantity(Fraction({shown!r}), Unit({str(one.unit)!r}))"
    what = f"a quantity and a bare {kind} cannot be {verb}"
    return UnitError(what, expected=f"a Quantity in {one.unit}", got=f"{shown} ({kind})", fix=fix)


def add_up(quantities: Iterable[Quantity], unit: Unit) -> Quantity:
    """Return the sum of many quantities of one unit in one go; the empty sum is 0.

    Raises:
        UnitError: one of them has another unit.

    >>> print(add_up((Quantity(as_expr(n), Unit("byte")) for n in range(5)), Unit("byte")))
    10 byte
    """
    zero = Quantity(as_expr(0), unit)
    listed = [zero._like(one, "added") for one in quantities]  # noqa: SLF001 (the same file)
    conditions = dict.fromkeys(condition for one in listed for condition in one.when)
    return Quantity(total(one.expr for one in listed), unit, merge(conditions))
