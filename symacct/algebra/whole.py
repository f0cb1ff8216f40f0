"""When a formula is a whole number: conditions of divisibility, sums below the line included."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import product as every
from math import gcd, lcm
from typing import TYPE_CHECKING

from sympy import (
    Add,
    Dummy,
    Expr,
    Integer,
    Max,
    Min,
    Poly,
    Pow,
    ceiling,
    factor_list,
    floor,
    fraction,
    together,
)

from symacct.algebra.condition import Condition
from symacct.algebra.contradiction import implied
from symacct.algebra.factorials import is_counted
from symacct.algebra.normal import normal
from symacct.algebra.symbols import as_expr
from symacct.errors import SizeError
from symacct.printers import text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


MOST_RESIDUES = 5000
"""Points at which a polynomial is looked at to see whether a number divides it everywhere, or nowhere."""


@dataclass(slots=True)
class Atoms:
    """What stands for the parts of a formula that are no polynomials: ``ceil``, ``max``, ``2^L``."""

    back: dict[Expr, Expr] = field(default_factory=dict)
    conditions: list[Condition] = field(default_factory=list)

    def plain(self, form: Expr) -> Expr:
        """Return a formula with a symbol in the place of each such part.

        Raises:
            SizeError: a part need not be whole: a root, a logarithm.
        """
        if form.is_Symbol or form.is_Rational:
            return form
        if form.is_Add or form.is_Mul:
            return form.func(*map(self.plain, form.args))
        if form.is_Pow and form.exp.is_Integer:
            return Pow(self.plain(form.base), form.exp)
        return self._stand(form)

    def _stand(self, form: Expr) -> Expr:
        if isinstance(form, Max | Min):
            self.conditions += [c for part in form.args for c in whole(part)]
        elif form.is_Pow and form.exp.is_integer and form.base.is_integer:
            self.conditions += [*whole(form.base), *whole(form.exp)]
            self.conditions += at_least(form.exp, 0)
        elif not (isinstance(form, ceiling | floor) or is_counted(form)):
            raise SizeError(
                f"{text(form)} is no whole number for all sizes",
                expected="sums, products and quotients of sizes",
                got=text(form),
                fix="give the root a name: declare a size R, and write R*R for what stands under it",
            )
        known = next((stand for stand, value in self.back.items() if value == form), None)
        if known is None:
            known = Dummy("n", integer=True, positive=at_least_one(form) or None)
            self.back[known] = form
        return known

    def put_back(self, form: Expr) -> Expr:
        """Return a formula with the parts themselves."""
        return normal(form.xreplace(self.back)) if self.back else normal(form)


def at_least_one(form: Expr) -> bool:
    """Return whether a formula is seen to be at least 1, being whole, for all sizes of at least 1."""
    if isinstance(form, ceiling):
        return bool(form.args[0].is_positive)
    if isinstance(form, Max):
        return any(map(at_least_one, form.args))
    if isinstance(form, Min):
        return all(map(at_least_one, form.args))
    if isinstance(form, floor) or form.is_Add:
        inside = form.args[0] if isinstance(form, floor) else form
        return Condition("at_least", inside, as_expr(1)).is_certain()
    return bool(form.is_positive)


def whole(form: Expr, known: Sequence[Condition] = ()) -> list[Condition]:
    """Return the conditions under which a formula without indices is a whole number.

    What stands below a line is at least 1; where its sign could be either, ``known`` conditions decide.

    >>> from symacct.algebra.symbols import symbol
    >>> L, D, F = symbol("L"), symbol("D"), symbol("F")
    >>> [str(c) for c in whole(L / 2 + 3)], whole(L * (L - 1) / 2), [str(c) for c in whole(D / (F - 1))]
    (['2 divides L'], [], ['F >= 2', 'F - 1 divides D'])

    Raises:
        SizeError: it is whole for no sizes, or holds a root or a logarithm.
    """
    atoms = Atoms()
    over, by = parted(atoms.plain(normal(form)), known)
    found = [*atoms.conditions]
    if by.is_Integer:
        found += _of_number(over, int(by), atoms)
    else:
        found += _of_sizes(over, by, atoms, known)
    return [one for one in found if not one.is_certain() and not _follows(one, known)]


def is_whole(form: Expr, known: Sequence[Condition] = ()) -> bool:
    """Say whether a formula is seen to be a whole number, where conditions hold.

    >>> from symacct.algebra.symbols import symbol
    >>> n = symbol("n")
    >>> is_whole(n * (n - 1) / 2), is_whole(n / 2), is_whole(n / 2, [Condition("divides", as_expr(2), n)])
    (True, False, True)
    """
    if form.is_integer:
        return True
    try:
        return not whole(form, known)
    except SizeError:
        return False


def _follows(condition: Condition, known: Sequence[Condition]) -> bool:
    """Return whether a divisibility is seen to be that of another one, less or plus a multiple."""
    by, over = condition.left, condition.right
    return condition.kind == "divides" and any(
        Condition("divides", by, over + sign * one.right).is_certain()
        for one in known
        if one.kind == "divides" and one.left == by
        for sign in (1, -1)
    )


def parted(form: Expr, known: Sequence[Condition] = ()) -> tuple[Expr, Expr]:
    """Return numerator and denominator without fractions, the denominator's sign chosen to be positive.

    >>> from symacct.algebra.symbols import symbol
    >>> parted(symbol("D") / (5 - symbol("F")))
    (D, 5 - F)
    """
    over, by = fraction(together(form) if form.is_Add or any(p.is_Add for p in form.args) else form)
    over, by = normal(over), normal(by)
    return (normal(-over), normal(-by)) if _turned(over, by, known) else (over, by)


def _turned(over: Expr, by: Expr, known: Sequence[Condition]) -> bool:
    """Return whether a denominator has the other sign."""
    sign = _sign(by, known)
    return sign < 0 or (sign == 0 and _is_negative(over))


def _sign(form: Expr, known: Sequence[Condition]) -> int:
    """Return the sign of a formula that is not 0, factor by factor; 0 where it could be either."""
    if form.is_number or form.is_positive:
        return 1 if form.is_positive else -1
    constant, factors = factor_list(form)
    sign = 1 if constant > 0 else -1
    for factor, power in factors:
        above, below = (Condition("at_least", part, as_expr(1)) for part in (factor, -factor))
        if above.is_certain() or implied(above, known):
            continue
        if not (below.is_certain() or implied(below, known)):
            return 0
        sign *= (-1) ** power
    return sign


def _is_negative(form: Expr) -> bool:
    return all(term.as_coeff_Mul()[0] < 0 for term in Add.make_args(form)) and form != 0


def _of_number(over: Expr, by: int, atoms: Atoms) -> list[Condition]:
    """Return when a number divides a polynomial: what is left of it once whole terms are taken out."""
    if by == 1:
        return []
    rest = normal(Add(*(_left(term, by) for term in Add.make_args(over))))
    if rest == 0:
        return []
    by = lcm(*(int(term.as_coeff_Mul()[0].q) for term in Add.make_args(rest)))
    common = gcd(*(int(term.as_coeff_Mul()[0] * by) for term in Add.make_args(rest)))
    rest = normal(rest * by / (common if gcd(common, by) == 1 else 1))
    everywhere, nowhere = _residues(rest, by)
    if nowhere:
        raise SizeError(
            f"{text(normal(atoms.put_back(over) / by))} is whole for no sizes",
            expected="a whole number",
            got=f"{by} never divides {text(atoms.put_back(rest))}",
        )
    return [] if everywhere else [Condition("divides", as_expr(by), atoms.put_back(rest))]


def _left(term: Expr, by: int) -> Expr:
    """Return a term over a number, less the multiple of what stands beside its coefficient."""
    coefficient, rest = term.as_coeff_Mul()
    return Integer(int(coefficient) % by) * rest / by


def _residues(form: Expr, by: int) -> tuple[bool, bool]:
    """Return whether a number divides a polynomial at all integers, and whether at none, as far as seen."""
    names = sorted(form.free_symbols, key=str)
    if not names:
        whole_number = int(form) % by == 0
        return whole_number, not whole_number
    if by ** len(names) > MOST_RESIDUES:
        return False, False
    terms = [(powers, int(value)) for powers, value in Poly(form, *names).terms()]
    seen = {_at(terms, point, by) == 0 for point in every(range(by), repeat=len(names))}
    return seen == {True}, seen == {False}


def _at(terms: list[tuple[tuple[int, ...], int]], point: tuple[int, ...], by: int) -> int:
    total = 0
    for powers, value in terms:
        for base, power in zip(point, powers, strict=True):
            value = value * pow(base, power, by) % by  # noqa: PLW2901
        total += value
    return total % by


def _of_sizes(over: Expr, by: Expr, atoms: Atoms, known: Sequence[Condition]) -> list[Condition]:
    """Return when a formula of sizes divides another one, and that it is at least 1."""
    below = atoms.put_back(by)
    return [*positive(below, known), Condition("divides", below, atoms.put_back(over))]


def positive(form: Expr, known: Sequence[Condition]) -> Iterator[Condition]:
    """Yield that a whole formula is at least 1, unless it is seen."""
    if _sign(form, known) < 1:
        yield from at_least(form, 1)


def at_least(form: Expr, least: int) -> Iterator[Condition]:
    """Yield that a whole formula is at least a number, with the terms that fall on the other side.

    >>> from symacct.algebra.symbols import symbol
    >>> L, T, S = symbol("L"), symbol("T"), symbol("S")
    >>> [str(c) for f, n in ((L - 4, 0), (2 * L - 9, 0), (T - S, 0), (L, 1)) for c in at_least(f, n)]
    ['L >= 4', 'L >= 5', 'T >= S']

    Raises:
        SizeError: it is smaller for all sizes.
    """
    gap = normal(form - least)
    condition = Condition("at_least", gap, as_expr(0))
    if condition.is_certain():
        return
    if condition.is_impossible():
        what = f"{text(form)} is never at least {least}"
        raise SizeError(what, expected=f"at least {least}", got=text(form))
    yield _sides(gap)


def _sides(gap: Expr) -> Condition:
    """Return ``gap >= 0`` over whole numbers, each term on the side where it is positive."""
    terms = [term.as_coeff_Mul() for term in Add.make_args(gap)]
    scale = lcm(*(int(value.q) for value, _ in terms))
    values = [(int(value * scale), rest) for value, rest in terms]
    common = gcd(*(value for value, rest in values if rest != 1))
    # over the common factor a constant is rounded down: both sides are whole
    kept = [(value // common, rest) for value, rest in values]
    left = Add(*(value * rest for value, rest in kept if value > 0 and rest != 1))
    right = Add(*(-value * rest for value, rest in kept if value < 0 and rest != 1))
    constant = sum(value for value, rest in kept if rest == 1)
    if constant < 0 or right == 0:
        return Condition("at_least", left, normal(right - constant))
    return Condition("at_least", normal(left + constant), right)
