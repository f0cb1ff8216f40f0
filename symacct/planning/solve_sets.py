"""Where a condition in one unknown holds, over real numbers: cut at roots and poles, tried in between."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING

from sympy import Abs, Max, Min, Mul, Pow, Rational, factor_list

from symacct.algebra.budget import check_time
from symacct.algebra.normal import normal
from symacct.errors import LimitError, RuleError
from symacct.planning.exact_sign import sign_at
from symacct.planning.real_symbol import as_real, real_symbol
from symacct.planning.solve_defined import Need, needs_of
from symacct.planning.solve_roots import Root, polynomials, roots

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from sympy import Expr, Poly, Symbol

MOST_BRANCHES = 3000
HOLDS: dict[str, Callable[[int], bool]] = {
    "<=": lambda sign: sign <= 0,
    ">=": lambda sign: sign >= 0,
    "<": lambda sign: sign < 0,
    ">": lambda sign: sign > 0,
    "=": lambda sign: sign == 0,
}


@dataclass(frozen=True, slots=True)
class Span:
    """An interval: None below stands for 0, None above for no end.

    Attributes:
        low: where it begins.
        low_in: whether that belongs to it.
        high: where it ends.
        high_in: whether that belongs to it.
    """

    low: Root | None
    low_in: bool
    high: Root | None
    high_in: bool

    @property
    def point(self) -> bool:
        """Whether it is one number."""
        return self.low is not None and self.low == self.high

    def integers(self, least: int) -> tuple[int, int | None] | None:
        """Return the first and the last integer in it from `least` on; None where there is none.

        >>> Span(None, False, None, False).integers(1)
        (1, None)
        """
        first = least if self.low is None else self.low.below() + 1
        if self.low is not None and self.low_in and self.low.rational and self.low.low == first - 1:
            first -= 1
        last = None if self.high is None else self.high.below()
        if self.high is not None and not self.high_in and self.high.rational and self.high.low == last:
            last = self.high.below() - 1
        first = max(first, least)
        return None if last is not None and last < first else (first, last)


def branches(expr: Expr) -> list[Expr]:
    """Return what a formula may be: each `Max`, `Min` and absolute value is one of its arguments.

    Raises:
        LimitError: there are too many.

    >>> a, b = real_symbol("a"), real_symbol("b")
    >>> branches(Max(a, b) + 1)
    [a + 1, b + 1]
    """
    done: dict[Expr, None] = {}
    todo = [expr]
    while todo:
        check_time()
        here = todo.pop()
        atom = _innermost(here)
        if atom is None:
            done[here] = None
            continue
        found = atom.args if isinstance(atom, Max | Min) else (atom.args[0], -atom.args[0])
        todo += [here.xreplace({atom: one}) for one in sorted(found, key=str, reverse=True)]
        if len(done) + len(todo) > MOST_BRANCHES:
            what = "a condition holds too many maxima"
            raise LimitError(what, expected=f"at most {MOST_BRANCHES} cases", got=str(expr)[:64])
    return list(done)


def _innermost(expr: Expr) -> Expr | None:
    found = sorted(expr.atoms(Max, Min, Abs), key=lambda one: (one.count_ops(), str(one)))
    return found[0] if found else None


def real_set(gap: Expr, relation: str, name: str, needs: Iterable[Need] = ()) -> list[Span]:
    """Return where ``gap RELATION 0`` holds and everything is defined, for real values of the name above 0.

    Args:
        gap: a formula in that name alone.
        relation: ``=``, ``<=``, ``>=``, ``<`` or ``>``.
        name: the unknown.
        needs: formulas in that name that must have certain signs besides.

    Raises:
        RuleError: it is no quotient of polynomials and roots, or a value could not be told from 0.

    >>> from sympy import sqrt
    >>> n = real_symbol("n")
    >>> [(one.low, one.high.low, one.high_in) for one in real_set(3 * n - 7, "<=", "n")]
    [(None, Fraction(7, 3), True)]
    >>> [(one.low.low, one.high.low) for one in real_set(sqrt(15 - n) - 3, "<=", "n")]
    [(Fraction(6, 1), Fraction(15, 1))]
    """
    condition = _Condition(normal(gap), relation, name, needs)
    cuts = condition.cuts
    cells = [condition.holds(_between(low, high)) for low, high in pairwise([None, *cuts, None])]
    return list(_spans(cuts, cells, [condition.holds(cut) for cut in cuts]))


class _Condition:
    """A formula in one name, with the places where its sign may change or it begins or ends to be defined."""

    def __init__(self, gap: Expr, relation: str, name: str, needs: Iterable[Need]) -> None:
        self.gap, self.relation, self.name = unsquared(as_real(gap, name), name), relation, name
        self.needs = tuple(Need(unsquared(as_real(one.expr, name), name), one.signs) for one in needs)
        at = real_symbol(name)
        whole = [self.gap, *(one.expr for one in self.needs)]
        forms = dict.fromkeys([*whole, *(one.expr for part in whole for one in needs_of(part))])
        polys = [poly for form in forms for one in branches(form) for poly in _polynomials(normal(one), at)]
        self.cuts = [here for root in roots(polys) if (here := _above_zero(root)) is not None]

    def holds(self, at: Fraction | Root) -> bool:
        """Say whether everything is defined at a number, and the relation holds."""
        for need in self.needs:
            if sign_at(need.expr, self.name, at) not in need.signs:
                return False
        sign = sign_at(self.gap, self.name, at)
        return sign is not None and HOLDS[self.relation](sign)


def _polynomials(form: Expr, at: Symbol) -> tuple[Poly, ...]:
    """Return polynomials with all zeros and poles of a formula among their roots.

    Raises:
        RuleError: roots cancel, so that nothing is known of the zeros.
    """
    if form == 0:
        return ()
    found = polynomials(form, at)
    if any(one.is_zero for one in found):
        what = "roots cancel in the condition, so that its zeros are not known"
        raise RuleError(what, expected="roots that do not cancel", got=str(form)[:64])
    return found


def unsquared(expr: Expr, name: str) -> Expr:
    """Return a formula with the roots of squares taken.

    >>> n = real_symbol("n")
    >>> unsquared((n**2 - 6 * n + 9) ** Rational(1, 2), "n")
    Abs(n - 3)
    """
    known: dict[Expr, Expr] = {}
    for power in expr.atoms(Pow):
        if not (power.exp.is_Rational and power.exp.q == 2 and power.base.is_polynomial(real_symbol(name))):
            continue
        content, factors = factor_list(power.base, real_symbol(name))
        if factors and content > 0 and all(count % 2 == 0 for _, count in factors):
            root = Mul(*(Abs(factor) ** (count // 2) for factor, count in factors))
            known[power] = (content ** Rational(1, 2) * root) ** int(power.exp.p)
    return expr.xreplace(known) if known else expr


def _above_zero(root: Root) -> Root | None:
    """Return a root whose interval is above 0; None where it is not."""
    while root.low < 0 < root.high or (not root.rational and root.low == 0):
        root = root.halved()
    return root if root.low > 0 else None


def _between(low: Root | None, high: Root | None) -> Fraction:
    """Return a short rational number between two neighbouring cuts."""
    first = Fraction(0) if low is None else low.high
    return simplest(first, first + 2 if high is None else high.low)


def simplest(low: Fraction, high: Fraction) -> Fraction:
    """Return the rational number between two others, neither of them, with the smallest divisor.

    >>> simplest(Fraction(0), Fraction(7, 3)), simplest(Fraction(1, 3), Fraction(1, 2))
    (Fraction(1, 1), Fraction(2, 5))
    """
    whole = low.__floor__()
    if whole + 1 < high:
        return Fraction(whole + 1)
    if low == whole:
        return whole + Fraction(1, (1 / (high - whole)).__floor__() + 1)
    return whole + 1 / simplest(1 / (high - whole), 1 / (low - whole))


def _spans(cuts: Sequence[Root], cells: Sequence[bool], at: Sequence[bool]) -> Iterator[Span]:
    """Yield the joined intervals of the cells and cuts where a condition holds."""
    low: Root | None = None
    low_in = False
    is_open = cells[0]
    for place, cut in enumerate(cuts):
        before, after = cells[place], cells[place + 1]
        if before and not (at[place] and after):
            yield Span(low, low_in, cut, at[place])
            is_open = False
        elif not before and at[place] and not after:
            yield Span(cut, low_in=True, high=cut, high_in=True)
        if after and not (before and at[place]):
            low, low_in, is_open = cut, at[place] and not before, True
    if is_open:
        yield Span(low, low_in, None, high_in=False)


def union_of(spans: Sequence[Span], least: int) -> list[tuple[int, int | None]]:
    """Return the integers of intervals as ranges, neighbours joined.

    >>> union_of(real_set((real_symbol("n") - 2) * (real_symbol("n") - 5), ">=", "n"), 1)
    [(1, 2), (5, None)]
    """
    found: list[tuple[int, int | None]] = []
    for one in filter(None, (span.integers(least) for span in spans)):
        if found and found[-1][1] is not None and found[-1][1] + 1 >= one[0]:
            found[-1] = (found[-1][0], one[1])
        else:
            found.append(one)
    return found
