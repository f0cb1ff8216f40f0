"""One walk over an expression, in the declared order of its symbols; a notation says how each part looks."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

from sympy import Add, Expr, Integer, Mul, Pow, Sum

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

SUM, PRODUCT, POWER, ATOM = range(4)

CASES = "AtLargest"
"""What :class:`symacct.algebra.winner.AtLargest` is called: formulas, and what stands at the largest."""


class Piece(NamedTuple):
    """A printed part, and how tightly it holds together."""

    text: str
    level: int


@dataclass(frozen=True, slots=True)
class Notation:
    """How the parts of a formula look; each takes pieces and gives one back."""

    number: Callable[[int], Piece]
    name: Callable[[str], Piece]
    total: Callable[[Sequence[tuple[bool, Piece]]], Piece]
    product: Callable[[Sequence[Piece]], Piece]
    quotient: Callable[[Piece, Piece], Piece]
    power: Callable[[Piece, Piece], Piece]
    root: Callable[[Piece], Piece]
    call: Callable[[str, Sequence[Piece]], Piece]
    summation: Callable[[Piece, Piece, Piece, Piece], Piece]


def write(expr: Expr, order: Sequence[str], notation: Notation) -> str:
    """Return the expression in a notation; symbols that `order` leaves out follow, sorted by name."""
    rank = {name: place for place, name in enumerate(order)}
    return _Walk(rank, notation).piece(expr).text


@dataclass(frozen=True, slots=True)
class _Walk:
    rank: dict[str, int]
    notation: Notation

    def symbol_key(self, name: str) -> tuple[int, str]:
        return self.rank.get(name, len(self.rank)), name

    def piece(self, expr: Expr) -> Piece:
        negative, piece = self.signed(expr)
        return self.notation.total([(True, piece)]) if negative else piece

    def signed(self, expr: Expr) -> tuple[bool, Piece]:
        """Return whether a minus stands before the expression, and what follows it."""
        if expr.is_Symbol:
            return False, self.notation.name(expr.name)
        if expr.is_Add:
            return False, self.notation.total([self.signed(term) for term in self.sorted_terms(expr)])
        if expr.is_Rational or expr.is_Mul or expr.is_Pow:
            return self.monomial(expr)
        return False, self.other(expr)

    def sorted_terms(self, expr: Expr) -> list[Expr]:
        return sorted(expr.args, key=self.term_key)

    def term_key(self, term: Expr) -> tuple[Fraction, list[tuple[int, str, Fraction]], str]:
        """Return the sorting key: highest total degree first, then the declared order of symbols."""
        powers: dict[str, Fraction] = {}
        for factor in Mul.make_args(term):
            base, exponent = factor.as_base_exp()
            if base.is_Symbol and exponent.is_Rational:
                powers[base.name] = powers.get(base.name, Fraction(0)) - _fraction(exponent)
        spread = sorted((*self.symbol_key(name), power) for name, power in powers.items())
        return -degree(term), spread, "" if len(powers) == len(Mul.make_args(term)) else self.piece(term).text

    def monomial(self, expr: Expr) -> tuple[bool, Piece]:
        """Return the sign and the rest of a product, as a quotient where anything stands below."""
        top, bottom, coefficient = _split(expr)
        above = self.side(abs(coefficient.numerator), top)
        if coefficient.denominator == 1 and not bottom:
            return coefficient < 0, above
        return coefficient < 0, self.notation.quotient(above, self.side(coefficient.denominator, bottom))

    def side(self, number: int, powers: list[tuple[Expr, Expr]]) -> Piece:
        """Return one side of a quotient: its number, its powers, and its square roots.

        Roots stand under one sign where each is of something that is never negative.
        """
        plain: list[tuple[Expr, Expr]] = []
        under: list[Expr] = []
        apart: list[Expr] = []
        for base, exponent in powers:
            half = exponent.is_Rational and exponent.q == 2 and (base.is_nonnegative or exponent.p == 1)
            whole = exponent - Integer(1) / 2 if half else exponent
            if half:
                (under if base.is_nonnegative else apart).append(base)
            if whole != 0:
                plain.append((base, whole))
        pieces = [self.power(base, exponent) for base, exponent in sorted(plain, key=self.factor_key)]
        if under:
            pieces.append(self.notation.root(self.piece(Mul(*under))))
        pieces += [self.notation.root(piece) for piece in sorted(map(self.piece, apart))]
        if number != 1 or not pieces:
            pieces.insert(0, self.notation.number(number))
        return pieces[0] if len(pieces) == 1 else self.notation.product(pieces)

    def factor_key(self, pair: tuple[Expr, Expr]) -> tuple[int, tuple[int, str], str]:
        """Return the sorting key of a factor: numbers, symbols, functions, then sums."""
        base, _ = pair
        if base.is_Rational:
            return 0, (0, ""), self.piece(base).text
        if base.is_Symbol:
            return 1, self.symbol_key(base.name), ""
        return 3 if base.is_Add else 2, (0, ""), self.piece(base).text

    def power(self, base: Expr, exponent: Expr) -> Piece:
        below = self.piece(base)
        return below if exponent == 1 else self.notation.power(below, self.piece(exponent))

    def other(self, expr: Expr) -> Piece:
        if isinstance(expr, Sum):
            ((index, first, last),) = expr.limits
            return self.notation.summation(*map(self.piece, (expr.function, index, first, last)))
        if not isinstance(expr, Expr) or not expr.args:
            return Piece(str(expr), ATOM)
        pieces = [self.piece(argument) for argument in expr.args]
        if expr.func.__name__ in {"Max", "Min"}:
            pieces.sort(key=lambda piece: piece.text)
        return self.notation.call(expr.func.__name__, pieces)


def _fraction(value: Expr) -> Fraction:
    return Fraction(int(value.p), int(value.q))


def degree(expr: Expr) -> Fraction:
    """Return the total degree in all symbols; an atom has the degree of its largest argument.

    >>> from sympy import Symbol
    >>> B, D = Symbol("B"), Symbol("D")
    >>> print(degree(B * D**2 / 2 + B), degree(D ** (Integer(1) / 2)))
    3 1/2
    """
    if expr.is_Symbol:
        return Fraction(1)
    if expr.is_Mul:
        return sum(map(degree, expr.args), Fraction(0))
    if expr.is_Pow:
        base, exponent = expr.args
        return degree(base) * _fraction(exponent) if exponent.is_Rational else Fraction(0)
    return max((degree(part) for part in expr.args if isinstance(part, Expr)), default=Fraction(0))


def _split(expr: Expr) -> tuple[list[tuple[Expr, Expr]], list[tuple[Expr, Expr]], Fraction]:
    """Return the powers above and below the line, exponents positive, and the rational coefficient."""
    top: list[tuple[Expr, Expr]] = []
    bottom: list[tuple[Expr, Expr]] = []
    coefficient = Fraction(1)
    for factor in Mul.make_args(expr):
        if factor.is_Rational:
            coefficient *= _fraction(factor)
            continue
        base, exponent = factor.args if isinstance(factor, Pow) else (factor, Integer(1))
        if exponent.could_extract_minus_sign():
            bottom.append((base, -exponent))
        else:
            top.append((base, exponent))
    return top, bottom, coefficient


def terms_in_order(expr: Expr, order: Sequence[str] = ()) -> list[Expr]:
    """Return the terms of a sum as they are printed: highest total degree first.

    >>> from sympy import Symbol
    >>> B, D = Symbol("B"), Symbol("D")
    >>> terms_in_order(B + D**2 + 1)
    [D**2, B, 1]
    """
    walk = _Walk({name: place for place, name in enumerate(order)}, _PLAIN)
    return sorted(Add.make_args(expr), key=walk.term_key)


def _plain(*parts: object) -> Piece:
    return Piece(str(parts), ATOM)


_PLAIN = Notation(*[_plain] * 9)
