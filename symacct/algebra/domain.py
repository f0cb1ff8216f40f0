"""The sizes that a statement is about: least values, what holds between them, and what is an integer."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from math import ceil, floor
from typing import TYPE_CHECKING

from sympy import Add, Expr, Integer, Mul, Rational

from symacct.algebra.condition import Condition, Kind
from symacct.algebra.contradiction import contradictory
from symacct.algebra.evaluate import names_of, substitute
from symacct.algebra.feasible import weights
from symacct.algebra.normal import normal
from symacct.algebra.sign import sign_on_box
from symacct.algebra.symbols import as_expr, symbol
from symacct.errors import SizeError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

ORDERS: tuple[Kind, ...] = ("at_least", "above")


@dataclass(frozen=True, slots=True)
class Domain:
    """Where a statement is judged: every procedure takes one, and drops nothing of it.

    Attributes:
        lower: the least value of a size, 1 where none stands.
        conditions: what must hold, sizes that an equality gives put in.
        real: names that stand for positive real numbers; all others are integers.
        replaced: sizes that an equality gives by others.
        stated: all that must hold, as it was stated, each equality solved for the size that it gives.
    """

    lower: Mapping[str, int] = field(default_factory=dict)
    conditions: tuple[Condition, ...] = ()
    real: frozenset[str] = frozenset()
    replaced: Mapping[str, Expr] = field(default_factory=dict)
    stated: tuple[Condition, ...] = ()

    @property
    def corner(self) -> dict[str, int]:
        """The values from which sizes count: the least of an integer, 0 for a positive real number."""
        return {**self.lower, **dict.fromkeys(self.real, 0)}

    def least(self, name: str) -> int:
        """Return the least value of a size."""
        return self.lower.get(name, 1)

    def apply(self, expr: Expr) -> Expr:
        """Return a formula with the sizes put in that equalities give."""
        return substitute(expr, self.replaced) if self.replaced else normal(expr)

    def with_conditions(self, *more: Condition, real: Iterable[str] = ()) -> Domain:
        """Return the domain narrowed by more conditions.

        Raises:
            SizeError: no sizes satisfy all of them.
        """
        return domain_of((*self.stated, *more), self.lower, real=self.real | frozenset(real))


def domain_of(
    conditions: Iterable[Condition],
    lower: Mapping[str, int] | None = None,
    *,
    real: Iterable[str] = (),
    keep: Collection[str] = (),
) -> Domain:
    """Return the domain of conditions.

    Args:
        conditions: all that must hold.
        lower: least values, where they are not 1.
        real: names of positive real numbers.
        keep: names that stay free where an equality can be solved for another one: what grows or varies.

    Raises:
        SizeError: they contradict one another.

    >>> F, D, B = symbol("F"), symbol("D"), symbol("B")
    >>> found = domain_of([Condition("equal", F, 4 * D), Condition("at_least", D, as_expr(8))])
    >>> found.replaced, found.lower, found.conditions
    ({'F': 4*D}, {'D': 8}, ())
    >>> domain_of([Condition("at_least", D, B + 1), Condition("at_least", B, D)])
    Traceback (most recent call last):
    symacct.errors.SizeError: no sizes satisfy the conditions
      expected  conditions that do not contradict one another
      got       D >= B + 1, B >= D
    """
    stated = tuple(dict.fromkeys(conditions))
    making = _Making(dict(lower or {}), frozenset(real), frozenset(keep))
    rest = making.solved(stated)
    kept = tuple(dict.fromkeys(one for one in making.bounded(rest) if not making.is_certain(one)))
    domain = Domain(making.lower, kept, making.real, making.replaced, tuple(making.oriented(stated)))
    if is_empty(domain):
        got = ", ".join(map(str, stated))
        what = "no sizes satisfy the conditions"
        raise SizeError(what, expected="conditions that do not contradict one another", got=got[:200])
    return domain


class _Making:
    """Equalities solved one after another, least values raised."""

    def __init__(self, lower: dict[str, int], real: frozenset[str], keep: frozenset[str]) -> None:
        self.lower, self.real, self.keep = lower, real, keep
        self.replaced: dict[str, Expr] = {}
        self.solution: dict[Condition, Condition] = {}

    @property
    def corner(self) -> dict[str, int]:
        """The values from which sizes count."""
        return {**self.lower, **dict.fromkeys(self.real, 0)}

    def solved(self, stated: Sequence[Condition]) -> list[Condition]:
        """Solve each equality that can be for one size; return what must hold besides."""
        rest: list[Condition] = []
        pending = list(stated)
        while pending:
            one = pending.pop(0)
            now = one.substitute(self.replaced)
            found = self.solve(now) if one.kind == "equal" else None
            if found is None:
                rest.append(one)
                continue
            name, value = found
            self.solution[one] = Condition("equal", symbol(name), value)
            self.replaced = {other: substitute(old, {name: value}) for other, old in self.replaced.items()}
            self.replaced[name] = value
            rest += self.whole(name, value)
        return [one.substitute(self.replaced) for one in rest]

    def solve(self, equality: Condition) -> tuple[str, Expr] | None:
        """Return a size and the formula that an equality gives it, the best of several."""
        found = list(self.solutions(equality))
        if not found:
            return None
        return min(
            found,
            key=lambda one: (
                one[0] in self.keep, one[0] not in self.real and not is_whole(one[1]),
                not (equality.left.is_Symbol and equality.left.name == one[0]), one[0],
            ),
        )  # fmt: skip

    def solutions(self, equality: Condition) -> Iterator[tuple[str, Expr]]:
        """Yield every size that an equality gives, with its formula."""
        for here, there in ((equality.left, equality.right), (equality.right, equality.left)):
            if here.is_Symbol and here.name not in names_of(there):
                root = there.is_Pow and there.exp == Rational(1, 2) and there.base.is_Symbol
                if root:
                    yield there.base.name, here**2
                elif _is_rational(there):
                    yield here.name, there
        gap = normal(equality.left - equality.right)
        for name in names_of(gap) if _is_rational(gap) else ():
            at = symbol(name)
            slope = normal(gap.diff(at))
            if name in names_of(slope) or sign_on_box(slope, self.corner)[0] not in ("positive", "negative"):
                continue
            yield name, normal(at - gap / slope)

    def whole(self, name: str, value: Expr) -> Iterator[Condition]:
        """Yield that a size is an integer of at least its least value."""
        if name in self.real:
            yield Condition("above", value, Integer(0))
            return
        yield Condition("at_least", value, as_expr(self.lower.get(name, 1)))
        above, below = normal(value).together().as_numer_denom()
        if below != 1:
            yield Condition("divides", below, above)

    def bounded(self, conditions: Iterable[Condition]) -> Iterator[Condition]:
        """Raise least values; yield what is no bound of that kind."""
        for one in conditions:
            bound = bound_of(one)
            name, low = bound[:2] if bound else ("", None)
            if low is None or name in self.real:
                yield one
            else:
                self.lower[name] = max(self.lower.get(name, 1), low)

    def is_certain(self, one: Condition) -> bool:
        """Say whether a condition is seen to hold for all integers of at least 1, and names no others."""
        return not set(one.names) & self.real and one.is_certain()

    def oriented(self, stated: Iterable[Condition]) -> Iterator[Condition]:
        """Yield all conditions, equalities as the size that each gives."""
        for one in stated:
            yield self.solution.get(one, one)


def is_whole(expr: Expr) -> bool:
    """Say whether a formula is a polynomial with integer coefficients.

    >>> is_whole(4 * symbol("D") + 1), is_whole(symbol("D") / 2)
    (True, False)
    """
    for term in Add.make_args(expr):
        for factor in Mul.make_args(term):
            base, exponent = factor.as_base_exp()
            if not (factor.is_Integer or (base.is_Symbol and exponent.is_Integer and exponent > 0)):
                return False
    return True


def _is_rational(expr: Expr) -> bool:
    return (
        bool(expr.is_rational_function(*expr.free_symbols)) if expr.free_symbols else bool(expr.is_Rational)
    )


def bound_of(condition: Condition) -> tuple[str, int | None, int | None] | None:
    """Return a size with the least or largest integer value that a condition on it alone leaves.

    >>> n = symbol("n")
    >>> bound_of(Condition("at_least", 2 * n, as_expr(5))), bound_of(Condition("above", as_expr(9), 2 * n))
    (('n', 3, None), ('n', None, 4))
    """
    if condition.kind not in ORDERS or len(condition.names) != 1:
        return None
    (name,) = condition.names
    gap = normal(condition.left - condition.right)
    slope = gap.diff(symbol(name))
    if not slope.is_Rational or slope == 0:
        return None
    value = normal(-substitute(gap, {name: 0}) / slope)
    if not value.is_Rational:
        return None
    root = Fraction(int(value.p), int(value.q))
    strict = condition.kind == "above"
    if slope > 0:
        return name, floor(root) + 1 if strict else ceil(root), None
    return name, None, ceil(root) - 1 if strict else floor(root)


def is_empty(domain: Domain) -> bool:
    """Say whether conditions are seen to contradict one another (False: not seen).

    A least value above a largest one, a condition that fails for all sizes, or a sum of conditions, each
    times a number, that says 0 > 0.

    >>> n = symbol("n")
    >>> is_empty(Domain({"n": 6}, (Condition("at_least", as_expr(5), n),)))
    True
    """
    gaps: list[tuple[Expr, bool]] = []
    for one in domain.conditions:
        bound = bound_of(one)
        if (
            bound
            and bound[2] is not None
            and bound[0] not in domain.real
            and bound[2] < domain.least(bound[0])
        ):
            return True
        if not one.names and not one.holds({}):
            return True
        for gap in _gaps(one):
            gaps.append((gap, one.kind == "above"))
            sign = sign_on_box(gap, _corner(gap, domain))[0]
            if sign == "negative" or (one.kind == "above" and sign in ("zero", "nonpositive")):
                return True
    whole = [one for one in domain.conditions if not set(one.names) & domain.real]
    return _is_contradiction(gaps, domain) or contradictory(whole)


def _gaps(condition: Condition) -> Iterator[Expr]:
    """Yield what is at least 0 where a condition holds."""
    gap = normal(condition.left - condition.right)
    if condition.kind in (*ORDERS, "equal"):
        yield gap
    if condition.kind == "equal":
        yield normal(-gap)
    if condition.kind == "divides" and sign_on_box(condition.right)[0] == "positive":
        yield normal(condition.right - condition.left)


def _corner(expr: Expr, domain: Domain) -> dict[str, int]:
    return {name: 0 if name in domain.real else domain.least(name) for name in names_of(expr)}


def _is_contradiction(gaps: Sequence[tuple[Expr, bool]], domain: Domain) -> bool:
    """Say whether a sum of conditions, counted from the corner, is negative in every coefficient."""
    columns: list[dict[object, Fraction]] = []
    for gap, strict in gaps:
        if not gap.is_polynomial(*gap.free_symbols):
            continue
        moved = normal(gap.xreplace({symbol(n): symbol(n) + low for n, low in _corner(gap, domain).items()}))
        terms = moved.as_coefficients_dict()
        if not all(c.is_Rational for c in terms.values()):
            continue
        whole = strict and is_whole(gap) and not set(names_of(gap)) & domain.real
        column = {term: -Fraction(int(c.p), int(c.q)) for term, c in terms.items()}
        if whole:
            column[Integer(1)] = column.get(Integer(1), Fraction(0)) + 1
        columns.append(column)
    return len(columns) > 1 and weights(columns, {Integer(1): Fraction(1)}) is not None
