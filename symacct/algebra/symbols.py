"""The one maker of symbols, and exact numbers as expressions."""

from __future__ import annotations

import numbers
import re
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING
from unicodedata import category, normalize

from sympy import Basic, Expr, Float, I, Integer, Rational, Symbol, nan, oo, zoo

from symacct.errors import FormulaError, SizeError

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Expr", "Size", "Symbol", "as_expr", "check_name", "index_symbol", "is_name", "symbol"]

LONGEST_NAME = 64
RATE = re.compile(r"[PV]_[a-z]\w*|W_mem")
"""Rates of a machine that is left open: of contractions, of other work, of bytes."""
REFUSED_ATOMS = (Float, type(I), type(oo), type(-oo), type(zoo), type(nan))


def is_name(name: str) -> bool:
    """Return whether `name` is made of letters, digits and ``_``, does not start with a digit, and is short.

    >>> [is_name(name) for name in ("N", "d_ff", "β", "词表", "2B", "a b", "x²", "")]
    [True, True, True, True, False, False, False, False]
    """
    if not 0 < len(name) <= LONGEST_NAME:
        return False
    starts = name[0] == "_" or category(name[0])[0] == "L"
    return starts and all(char == "_" or category(char)[0] in "LM" or category(char) == "Nd" for char in name)


def check_name(name: str) -> str:
    """Return the name in composed Unicode form.

    Raises:
        FormulaError: it is not a name.

    >>> print(check_name("2B"))
    Traceback (most recent call last):
    symacct.errors.FormulaError: '2B' is not a name
      expected  letters, digits and _, not starting with a digit, at most 64 of them
      got       2B
    """
    composed = normalize("NFC", name) if isinstance(name, str) else ""
    if not is_name(composed):
        what = f"{name!r} is not a name"
        expected = f"letters, digits and _, not starting with a digit, at most {LONGEST_NAME} of them"
        raise FormulaError(what, expected=expected, got=str(name)[: 2 * LONGEST_NAME])
    return composed


class Size(Symbol):  # type: ignore[misc]
    """The symbol of a size, which sympy's own symbol of the same name stands for in a substitution.

    To sympy, symbols of one name and other assumptions are other symbols, and a substitution of one for the
    other changes nothing, without a word. Here it changes the size, or is refused where it would be lost.

    >>> (symbol("D") ** 2).subs({"D": 8}), (symbol("D") + 1).xreplace({Symbol("D"): Integer(8)})
    (64, 9)
    >>> (symbol("B") * symbol("D")).subs(Symbol("B") * Symbol("D"), 8)
    Traceback (most recent call last):
    symacct.errors.FormulaError: B*D holds a symbol B that is not the size B
      expected  the sizes of the formula, from its free_symbols
      got       Symbol('B')
      fix       put in one size at a time: .subs(Symbol('B'), ...)
    """

    __slots__ = ()

    def _eval_subs(self, old: Expr, new: Expr) -> Expr | None:
        return new if self.is_meant(old) else None

    def _xreplace(self, rule: Mapping[Expr, Expr]) -> tuple[Expr, bool]:
        if self in rule:
            return rule[self], True
        for old in getattr(rule, "keys", tuple)():  # a rule of sympy may be a function
            if self.is_meant(old):
                return rule[old], True
        return self, False

    def is_meant(self, old: Expr) -> bool:
        """Say whether a symbol that is not this one is put in its place by name.

        Raises:
            FormulaError: such a symbol stands in a formula, which would not be found in one of sizes.
        """
        if not isinstance(old, Basic) or isinstance(old, Size):
            return False
        if old.is_Symbol:
            return type(old) is Symbol and old.name == self.name
        if any(type(one) is Symbol and one.name == self.name for one in old.free_symbols):
            raise _lost(old, self.name)
        return False


Size.__name__ = Symbol.__name__  # by which sympy sorts, hashes and prints


def _lost(old: Expr, name: str) -> FormulaError:
    what = f"{str(old)[:64]} holds a symbol {name} that is not the size {name}"
    expected = "the sizes of the formula, from its free_symbols"
    fix = f"put in one size at a time: .subs(Symbol({name!r}), ...)"
    return FormulaError(what, expected=expected, got=f"Symbol({name!r})", fix=fix)


@lru_cache(maxsize=4096)
def symbol(name: str) -> Symbol:
    """Return the symbol of a size: a positive integer; that of a machine's rate is a positive real number.

    Any letter is a name; none is a constant.

    >>> symbol("N") + symbol("E") - symbol("N")
    E
    >>> symbol("N").is_integer, symbol("P_bf16").is_integer
    (True, None)
    """
    whole = {} if RATE.fullmatch(name) else {"integer": True}
    return Size(check_name(name), positive=True, **whole)


@lru_cache(maxsize=4096)
def index_symbol(name: str) -> Symbol:
    """Return the symbol of a repeat's index: an integer of at least 0.

    >>> index_symbol("i").is_positive is None
    True
    """
    return Size(check_name(name), integer=True, nonnegative=True)


def as_expr(value: object) -> Expr:
    """Return an exact number or expression as an expression.

    Raises:
        SizeError: the value is a float, a boolean, a complex number, or no number at all.

    >>> as_expr(Fraction(3, 4)) * as_expr(8)
    6
    >>> as_expr(0.5)
    Traceback (most recent call last):
    symacct.errors.SizeError: 0.5 is not exact
      expected  an integer, a fraction or an expression of them
      got       float
      fix       write Fraction(1, 2), or read it as text
    """
    if isinstance(value, Expr):
        return _exact(value)
    if isinstance(value, numbers.Integral) and not isinstance(value, bool):
        return Integer(int(value))
    if isinstance(value, Fraction):
        return Rational(value.numerator, value.denominator)
    raise _refused(value)


def _refused(value: object) -> SizeError:
    expected = "an integer, a fraction or an expression of them"
    got = type(value).__name__
    if isinstance(value, float) and value == value and abs(value) < float("inf"):  # noqa: PLR0124 (NaN)
        near = Fraction(value).limit_denominator(1000)
        fix = f"write {near}" if near.denominator == 1 else f"write {near!r}, or read it as text"
        return SizeError(f"{value!r} is not exact", expected=expected, got=got, fix=fix)
    if isinstance(value, str):
        return SizeError(
            f"{value[:64]!r} is text", expected=expected, got=got, fix="read it with read_formula"
        )
    return SizeError(f"{str(value)[:64]} is not an exact number", expected=expected, got=got)


@lru_cache(maxsize=1 << 14)
def _exact(expr: Expr) -> Expr:
    if expr.is_Symbol or expr.is_Rational:
        return expr
    found = sorted(str(atom) for atom in expr.atoms(*REFUSED_ATOMS))
    if "zoo" in found or "nan" in found:
        what = "a formula divides by zero"
        raise FormulaError(what, expected="a divisor that is not 0", got="0")
    if found:
        what = f"an expression holds {found[0]}, which is not an exact real number"
        raise SizeError(what, expected="integers and fractions", got=str(expr)[:64])
    return expr
