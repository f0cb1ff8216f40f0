"""Factorials and binomials: exact values of bounded size, and what they are as polynomials.

``binomial(n, k)`` is that of integers, with n at least 0: it is 0 where k is below 0 or above n. Where n is
below 0, or n or k is no integer, it has no value; so has a factorial of what is no integer of at least 0.
"""

from __future__ import annotations

from fractions import Fraction
from math import comb, factorial
from typing import TYPE_CHECKING, TypeGuard

from sympy import Expr, Function, Integer

from symacct.errors import SizeError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sympy.printing.str import StrPrinter

    from symacct.algebra.value import Value

MOST_BITS, LARGEST_FACTORIAL = 14_000, 1500
"""Numbers of more bits, about 4200 digits, are not worked out."""
MOST_FACTORS = 64


class Factorial(Function):  # type: ignore[misc]
    """The factorial of an integer of at least 0; that of a number is worked out where it is not too large.

    >>> Factorial(5), Factorial(Integer(10) ** 9)
    (120, factorial(1000000000))
    """

    nargs = 1

    @classmethod
    def eval(cls, n: Expr) -> Expr | None:
        """Return the value of a number."""
        return Integer(factorial(int(n))) if n.is_Integer and 0 <= n <= LARGEST_FACTORIAL else None

    def _eval_is_integer(self) -> bool:
        return True

    def _eval_is_positive(self) -> bool:
        return True

    def _sympystr(self, printer: StrPrinter) -> str:
        return f"factorial({printer.doprint(self.args[0])})"


class Binomial(Function):  # type: ignore[misc]
    """The number of ways to take k of n things; that of numbers is worked out where it is not too large.

    >>> Binomial(5, 2), Binomial(5, 6), Binomial(-1, 0)
    (10, 0, binomial(-1, 0))
    """

    nargs = 2

    @classmethod
    def eval(cls, n: Expr, k: Expr) -> Expr | None:
        """Return the value of numbers."""
        numbers = n.is_Integer and k.is_Integer and n >= 0
        return Integer(_chosen(int(n), int(k))) if numbers and not is_large(int(n), int(k)) else None

    def _eval_is_integer(self) -> bool:
        return True

    def _eval_is_nonnegative(self) -> bool:
        return True

    def _eval_is_positive(self) -> bool | None:
        n, k = self.args
        return True if k.is_nonnegative and (n - k).is_nonnegative else None

    def _sympystr(self, printer: StrPrinter) -> str:
        return f"binomial({', '.join(map(printer.doprint, self.args))})"


COUNTED = (Binomial, Factorial)


def is_counted(expr: object) -> TypeGuard[Expr]:
    """Say whether an expression is a binomial or a factorial."""
    return isinstance(expr, COUNTED)


def _chosen(n: int, k: int) -> int:
    return comb(n, k) if k >= 0 else 0


def is_large(n: int, k: int | None = None) -> bool:
    """Say whether a factorial, or a binomial, has too many digits to be worked out.

    >>> is_large(10**9), is_large(10**9, 3), is_large(10**9, 10**6)
    (True, False, True)
    """
    if k is None:
        return n > LARGEST_FACTORIAL
    return n > MOST_BITS and min(k, n - k) * n.bit_length() > MOST_BITS


def factorial_of(value: Value) -> int:
    """Return a factorial.

    Raises:
        SizeError: it is that of no integer of at least 0, or too large to be worked out.

    >>> factorial_of(4)
    24
    """
    n = _whole(value, "a factorial", least=0)
    if is_large(n):
        expected = f"the factorial of at most {LARGEST_FACTORIAL}"
        raise SizeError("a factorial is too large to evaluate", expected=expected, got=str(n)[:64])
    return factorial(n)


def binomial_of(above: Value, below: Value) -> int:
    """Return a binomial.

    Raises:
        SizeError: it is not one of integers, the first of at least 0, or too large to be worked out.

    >>> binomial_of(5, 2), binomial_of(5, 6), binomial_of(0, 0)
    (10, 0, 1)
    """
    n, k = _whole(above, "a binomial", least=0), _whole(below, "a binomial")
    if is_large(n, k):
        expected = f"a result of at most {MOST_BITS} bits"
        raise SizeError(
            "a binomial is too large to evaluate", expected=expected, got=f"binomial({n}, {k})"[:64]
        )
    return _chosen(n, k)


def counted(expr: Expr) -> int:
    """Return the binomial or factorial of numbers.

    Raises:
        SizeError: it has no value, or is too large to be worked out.

    >>> counted(Factorial(Integer(-1)))
    Traceback (most recent call last):
    symacct.errors.SizeError: a factorial of -1 has no value
      expected  an integer of at least 0
      got       -1
    """
    values = [Fraction(int(one.p), int(one.q)) if one.is_Rational else one for one in expr.args]
    return (factorial_of if isinstance(expr, Factorial) else binomial_of)(*values)


def _whole(value: Value, what: str, least: int | None = None) -> int:
    """Return an integer; refuse what is none, or below the least."""
    bad = isinstance(value, Expr) or Fraction(value).denominator != 1 or (least is not None and value < least)
    if bad:
        expected = "an integer" if least is None else f"an integer of at least {least}"
        raise SizeError(f"{what} of {str(value)[:32]} has no value", expected=expected, got=str(value)[:64])
    return int(value)


def bases(expr: Expr) -> Iterator[tuple[Expr, tuple[Expr, ...]]]:
    """Yield what must be an integer of at least 0, and what must be an integer, in each of them.

    >>> from symacct.algebra.symbols import symbol
    >>> list(bases(1 + Binomial(symbol("n") - 3, 2)))
    [(n - 3, (n - 3, 2))]
    """
    for one in sorted(expr.atoms(*COUNTED), key=str):
        yield one.args[0], one.args


def falling(base: Expr, count: int) -> Expr:
    """Return ``base*(base - 1)*...``, so many factors.

    >>> from symacct.algebra.symbols import symbol
    >>> falling(symbol("n"), 3)
    n*(n - 2)*(n - 1)
    """
    result: Expr = Integer(1)
    for step in range(count):
        result *= base - step
    return result


def expanded(expr: Expr) -> Expr:
    """Return a formula with each binomial of a number below, or of all but a number, as a polynomial.

    It is equal wherever the formula has a value, and may have one where the formula has none.

    >>> from symacct.algebra.symbols import symbol
    >>> n, s = symbol("n"), symbol("s")
    >>> expanded(Binomial(n, 2)), expanded(Binomial(n + 1, n)), expanded(Binomial(n, s))
    (n*(n - 1)/2, n + 1, binomial(n, s))
    """
    if not expr.has(Binomial):
        return expr
    known = {}
    for one in expr.atoms(Binomial):
        n, k = map(expanded, one.args)
        count = k if k.is_Integer else (n - k).expand()
        if count.is_Integer and count <= MOST_FACTORS:
            known[one] = falling(n, int(count)) / factorial(int(count)) if count >= 0 else Integer(0)
    return expr.xreplace(known)
