"""Where a condition in one unknown holds, over real numbers: cut at roots and poles, tried in between."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING

from sympy import Abs, Max, Min, Pow

from symacct.algebra.budget import check_time
from symacct.algebra.normal import normal
from symacct.algebra.symbols import symbol
from symacct.algebra.value import value_of
from symacct.errors import LimitError, RuleError, SizeError
from symacct.planning.solve_roots import Root, as_rational, polynomials, roots

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from sympy import Expr

MOST_BRANCHES = 3000
DIGITS = 60
FINE = Fraction(1, 10**DIGITS)
ZERO = Fraction(1, 10**30)
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

    >>> a, b = symbol("a"), symbol("b")
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


def real_set(gap: Expr, relation: str, name: str) -> list[Span]:
    """Return where ``gap RELATION 0`` holds, for real values of the name above 0.

    Args:
        gap: a formula in that name alone.
        relation: ``=``, ``<=``, ``>=``, ``<`` or ``>``.
        name: the unknown.

    Raises:
        RuleError: it is no quotient of polynomials and roots, or a root could not be told from 0.

    >>> n = symbol("n")
    >>> [(one.low, one.high.low, one.high_in) for one in real_set(3 * n - 7, "<=", "n")]
    [(None, Fraction(7, 3), True)]
    """
    condition = _Condition(gap, name)
    holds = HOLDS[relation]
    cuts = condition.cuts
    cells = [condition.between(low, high) for low, high in pairwise([None, *cuts, None])]
    truths = [sign is not None and holds(sign) for sign in cells]
    at = [condition.sign_at(cut, *signs) for cut, signs in zip(cuts, pairwise(cells), strict=True)]
    return list(_spans(cuts, truths, [sign is not None and holds(sign) for sign in at]))


class _Condition:
    """A formula in one name, with the places where its sign may change."""

    def __init__(self, gap: Expr, name: str) -> None:
        self.gap, self.name, self.at = gap, name, symbol(name)
        self.forms = [(one, *polynomials(one, self.at)) for one in branches(normal(gap))]
        polys = [poly for _, top, below in self.forms for poly in (top, below)]
        self.cuts: list[Root] = []
        for root in roots(polys):
            here = root
            while here.low < 0 < here.high:
                here = here.halved()
            if here.high > 0 and here.low >= 0:
                self.cuts.append(here if here.rational or here.low > 0 else _off_zero(here))

    def value(self, at: Fraction) -> Expr | None:
        """Return the value at a rational number; None where there is none."""
        try:
            return normal(value_of(self.gap, {self.name: at if at.denominator != 1 else int(at)}))
        except SizeError:
            return None

    def sign(self, at: Fraction) -> int | None:
        """Return the sign at a rational number."""
        value = self.value(at)
        if value is None:
            return None
        if value.is_Rational:
            return int(value.p > 0) - int(value.p < 0)
        shown = Fraction(str(value.evalf(DIGITS)))
        if abs(shown) < ZERO:
            raise RuleError(
                "a value could not be told from 0", expected="a number that is not 0", got=str(value)[:64]
            )
        return 1 if shown > 0 else -1

    def between(self, low: Root | None, high: Root | None) -> int | None:
        """Return the sign between two neighbouring cuts."""
        first = Fraction(0) if low is None else low.high
        return self.sign((first + high.low) / 2 if high is not None else 2 * first + 1)

    def sign_at(self, cut: Root, left: int | None, right: int | None) -> int | None:
        """Return the sign at a cut, between cells of known signs."""
        if cut.rational:
            return self.sign(cut.low)
        if left is None or right is None or any(below.rem(cut.poly).is_zero for _, _, below in self.forms):
            return None
        if left != right or left == 0:
            return 0
        vanishing = [form for form, top, _ in self.forms if top.rem(cut.poly).is_zero]
        if not vanishing:
            return left
        if len(self.forms) == 1 and not _has_roots(self.gap):
            return 0
        return self._touching(cut, left)

    def _touching(self, cut: Root, side: int) -> int:
        """Return the sign where cells of one sign meet: the active branch is 0 there, or not."""
        form = self.gap
        while (atom := _innermost(form)) is not None:
            form = form.xreplace({atom: self._active(atom, cut)})
        if _has_roots(form):
            value = abs(form.subs(self.at, as_rational(cut.close(FINE).low)).evalf(DIGITS))
            if Fraction(str(value)) < ZERO:
                raise RuleError(
                    "a value could not be told from 0", expected="one that is not 0", got=str(form)[:64]
                )
            return side
        return 0 if polynomials(form, self.at)[0].rem(cut.poly).is_zero else side

    def _active(self, atom: Expr, cut: Root) -> Expr:
        options = list(atom.args) if isinstance(atom, Max | Min) else [atom.args[0], -atom.args[0]]
        best = options[0]
        for other in options[1:]:
            top, below = polynomials(other - best, self.at)
            larger = cut.sign(top) * cut.sign(below)
            if larger * (-1 if isinstance(atom, Min) else 1) > 0:
                best = other
        return best


def _has_roots(expr: Expr) -> bool:
    return any(power.exp.is_Rational and power.exp.q > 1 for power in expr.atoms(Pow))


def _off_zero(root: Root) -> Root:
    while root.low == 0:
        root = root.halved()
    return root


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

    >>> union_of(real_set((symbol("n") - 2) * (symbol("n") - 5), ">=", "n"), 1)
    [(1, 2), (5, None)]
    """
    found: list[tuple[int, int | None]] = []
    for one in filter(None, (span.integers(least) for span in spans)):
        if found and found[-1][1] is not None and found[-1][1] + 1 >= one[0]:
            found[-1] = (found[-1][0], one[1])
        else:
            found.append(one)
    return found
