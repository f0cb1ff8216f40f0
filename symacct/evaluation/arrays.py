"""A formula as a function of arrays: built from its structure, in few passes over memory, never from text.

Sums of products become nested (Horner) forms: each size is multiplied once for many terms. The array module
is handed in, so that nothing here depends on one.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from sympy import Abs, Expr, Max, Min, Pow, ceiling, floor, log, together
from sympy import fraction as over

from symacct.algebra.factorials import is_counted
from symacct.algebra.normal import normal
from symacct.algebra.tables import Monomial, Number, Terms, from_number
from symacct.algebra.terms import fraction, read
from symacct.errors import RuleError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Arrays = Mapping[str, Any]
    Step = Callable[["Arrays"], Any]

UNIT_ROUNDOFF = Fraction(1, 2**53)
EXACT = 2**53
ULPS_OF_FUNCTION = 4
"""How many roundings a logarithm, or a power that is no integer, counts as."""


@dataclass(frozen=True, slots=True)
class Compiled:
    """A formula as a function of arrays.

    Attributes:
        names: the sizes that it takes.
        step: the function: arrays by name in, one array (or number) out.
        rounded: at most so many roundings are on the way from any size to the result.
        cancels: whether unlike signs are added, so that the bound is one against the sum of absolute terms.
        jumps: whether it rounds what is no quotient of integers, where a tiny error may become 1.
    """

    names: tuple[str, ...]
    step: Step
    rounded: int
    cancels: bool
    jumps: bool

    @property
    def relative(self) -> Fraction:
        """The largest relative error: against the value, or where terms cancel against their absolute sum."""
        return self.rounded * UNIT_ROUNDOFF / (1 - self.rounded * UNIT_ROUNDOFF)


def compiled(expr: Expr, xp: Any) -> Compiled:
    """Return a formula as a function of arrays of float64.

    Args:
        expr: the formula, with exact numbers.
        xp: the array module.

    Raises:
        RuleError: there is no rule for an atom.

    >>> import math
    >>> from symacct.algebra.symbols import symbol
    >>> B, D = symbol("B"), symbol("D")
    >>> made = compiled(2 * B * D**2 - B, math)
    >>> made.step({"B": 3.0, "D": 5.0}), made.rounded, made.cancels
    (147.0, 4, True)
    """
    form = normal(expr)
    maker = _Maker(xp)
    step, rounded = maker.expr(form)
    names = tuple(sorted(free.name for free in form.free_symbols))
    return Compiled(names, step, rounded, maker.cancels, maker.jumps)


class _Maker:
    def __init__(self, xp: Any) -> None:
        self.xp = xp
        self.cancels = False
        self.jumps = False

    def expr(self, expr: Expr) -> tuple[Step, int]:
        """Return the function of a formula, and how many roundings it makes."""
        if expr.is_Symbol:
            return _size(expr.name), 0
        top, below = fraction(read(expr))
        step, rounded = self.table(top)
        for base, count in below.items():
            under, more = self.table(read(base))
            step, rounded = _divided(step, _powered(under, count)), rounded + count * (more + 1)
        return step, rounded

    def table(self, table: Terms) -> tuple[Step, int]:
        """Return a sum of monomials in nested form."""
        if not table:
            return _number(0), 0
        if len(table) == 1:
            ((monomial, value),) = table.items()
            return self.monomial(monomial, value)
        signs = {value > 0 for value in table.values()}
        self.cancels |= len(signs) > 1
        shared = frozenset.intersection(*table)
        if shared:
            inner, rounded = self.table({monomial - shared: value for monomial, value in table.items()})
            outer, more = self.monomial(shared, 1)
            return _times(outer, inner), rounded + more + 1
        factor = _most_shared(table)
        if factor is None:
            return self.plain_sum(table)
        return self.nested(table, factor)

    def nested(self, table: Terms, base: Expr) -> tuple[Step, int]:
        """Return the sum as one formula times a base, plus the rest."""
        inside: Terms = {}
        rest: Terms = {}
        for monomial, value in table.items():
            powers = dict(monomial)
            power = powers.pop(base, 0)
            if power >= 1:
                if power > 1:
                    powers[base] = power - 1
                inside[frozenset(powers.items())] = value
            else:
                rest[monomial] = value
        inner, rounded = self.table(inside)
        outer, more = self.monomial(frozenset(((base, 1),)), 1)
        product, count = _times(outer, inner), rounded + more + 1
        if not rest:
            return product, count
        other, least = self.table(rest)
        return _plus(product, other), max(count, least) + 1

    def plain_sum(self, table: Terms) -> tuple[Step, int]:
        """Return a sum of terms that share nothing, numbers last."""
        parts = [self.monomial(m, v) for m, v in sorted(table.items(), key=lambda one: not one[0])]
        step, rounded = parts[0]
        for other, more in parts[1:]:
            step, rounded = _plus(step, other), max(rounded, more) + 1
        return step, rounded

    def monomial(self, monomial: Monomial, value: Number) -> tuple[Step, int]:
        """Return a product of powers and a number."""
        step: Step | None = None
        rounded = 0
        for base, power in sorted(monomial, key=lambda one: (one[1] < 0, str(one[0]))):
            one, more = self.power(base, power if power > 0 else -power)
            if step is None:
                step, rounded = (one, more) if power > 0 else (_divided(_number(1), one), more + 1)
            else:
                step, rounded = (_times(step, one) if power > 0 else _divided(step, one)), rounded + more + 1
        if step is None:
            return _number(value), int(not _is_float(value))
        top, below = Fraction(value).numerator, Fraction(value).denominator
        if top != 1:
            step, rounded = _times(step, _number(top)), rounded + 1 + (not _is_float(top))
        if below != 1:
            step, rounded = _divided(step, _number(below)), rounded + 1 + (not _is_float(below))
        return step, rounded

    def power(self, base: Expr, power: Number) -> tuple[Step, int]:
        """Return a power of a generator above 0."""
        step, rounded = self.atom(base)
        if power == 1:
            return step, rounded
        if power == int(power):
            return _powered(step, int(power)), rounded * int(power) + int(power) - 1
        root = self.xp.sqrt
        if power == Fraction(1, 2):
            return (lambda at: root(step(at))), rounded + 1
        exponent = float(power)
        return (lambda at: step(at) ** exponent), int(rounded * max(1, power)) + 1 + ULPS_OF_FUNCTION

    def atom(self, base: Expr) -> tuple[Step, int]:
        """Return the function of a generator.

        Raises:
            RuleError: there is no rule for it.
        """
        if base.is_Symbol:
            return _size(base.name), 0
        if base.is_Rational or base.is_Add:
            return self.table(read(base)) if base.is_Add else (_number(Fraction(int(base.p), int(base.q))), 1)
        if isinstance(base, Pow) and base.base.is_Rational:
            inside, rounded = self.expr(base.exp)
            number = float(base.base)
            return (lambda at: number ** inside(at)), rounded + ULPS_OF_FUNCTION
        rules: dict[type[Expr], Callable[..., Any]] = {
            Max: self.xp.maximum, Min: self.xp.minimum, Abs: self.xp.abs,
            ceiling: self.xp.ceil, floor: self.xp.floor, log: self.xp.log,
        }  # fmt: skip
        rule = rules.get(base.func)
        if rule is None:
            known = ", ".join(sorted(kind.__name__ for kind in rules))
            fix = "sweep it exactly: --exact" if is_counted(base) else None
            what = f"no rule sweeps {base.func.__name__.lower()}"
            raise RuleError(what, expected=known, got=str(base)[:64], fix=fix)
        if isinstance(base, ceiling | floor):
            return self.whole(base.args[0], rule)
        self.cancels |= isinstance(base, log)
        parts = [self.expr(one) for one in base.args]
        step, rounded = parts[0]
        if len(parts) == 1:
            inner = step
            return (lambda at: rule(inner(at))), rounded + (ULPS_OF_FUNCTION if isinstance(base, log) else 1)
        for other, more in parts[1:]:
            step, rounded = _joined(rule, step, other), max(rounded, more)
        return step, rounded

    def whole(self, inside: Expr, rule: Callable[..., Any]) -> tuple[Step, int]:
        """Return what is rounded to an integer: one integer over another, divided once, so that it is exact.

        Two integers below 2^53 have a quotient that no rounding takes to, or past, the next integer.
        """
        top, below = over(together(inside))
        whole = all(power.exp.is_Integer for power in inside.atoms(Pow)) and not inside.has(log)
        self.jumps |= not whole
        (above, _), (under, _) = (self.table(read(normal(part))) for part in (top, below))
        largest = self.xp.max

        def rounded(at: Arrays) -> Any:
            first, second = above(at), under(at)
            if max(largest(abs(first)), largest(abs(second))) >= EXACT:
                what = "what is rounded to an integer is too large for an array of float64"
                raise RuleError(
                    what, expected="integers below 2^53", got=str(inside)[:64], fix="sweep it exactly"
                )
            return rule(first / second)

        return rounded, 0


def _most_shared(table: Terms) -> Expr | None:
    """Return the generator that stands in the most terms, if it stands in two."""
    counts = Counter(base for monomial in table for base, power in monomial if power >= 1)
    if not counts:
        return None
    base, count = min(counts.items(), key=lambda one: (-one[1], str(one[0])))
    return base if count > 1 else None


def _size(name: str) -> Step:
    return lambda at: at[name]


def _is_float(value: Number) -> bool:
    """Say whether a number is one of float64 exactly."""
    try:
        return Fraction(float(value)) == value
    except OverflowError:
        return False


def _number(value: Number) -> Step:
    try:
        number = float(value)
    except OverflowError:
        what = "a number of the formula is larger than a float64"
        raise RuleError(what, expected="at most 1.8e308", got=f"{str(from_number(value))[:32]}...") from None
    return lambda at: number  # noqa: ARG005 (all steps take the arrays)


def _times(left: Step, right: Step) -> Step:
    return lambda at: left(at) * right(at)


def _plus(left: Step, right: Step) -> Step:
    return lambda at: left(at) + right(at)


def _divided(left: Step, right: Step) -> Step:
    return lambda at: left(at) / right(at)


def _joined(rule: Callable[..., Any], left: Step, right: Step) -> Step:
    return lambda at: rule(left(at), right(at))


def _powered(step: Step, power: int) -> Step:
    """Return an integer power of at least 1 by multiplications."""
    if power == 1:
        return step

    def raised(at: Arrays) -> Any:
        base = step(at)
        result = base
        for _ in range(power - 1):
            result = result * base
        return result

    return raised
