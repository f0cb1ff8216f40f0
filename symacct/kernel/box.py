"""The sizes that a statement speaks of, exact arithmetic over them, and the one way to see a sign: the shift.

An expression is read into a fraction of two polynomials. What is no polynomial (floor, ceil, min, max, sqrt,
log, a sum, a factorial, a binomial) is read by a rule of its own, mostly as an *atom*: a variable with what
is known of it.

The shift. Let every variable g of a polynomial have a known least value l(g), an integer. Put g = l(g) +
y(g); then y(g) >= 0, and if no coefficient of the result is negative, each term is at least 0, and so is
the sum. It is more than 0 if some term is: a number, or a product of variables y that are known to be above
0 (g > l(g)). Variables are shifted one by one until no coefficient is negative. None is then if the others
are shifted too, and the result has a term that is above 0 exactly where one of those at hand is made of
variables that are above l(g), or that are not shifted yet and have an l(g) above 0.

A fraction has the sign of its numerator, as its divisor is positive. A divisor is read only if the shift
shows it to be positive, or shows that of its negative, which is then divided by with both signs turned.
"""

from __future__ import annotations

from fractions import Fraction
from functools import reduce
from typing import Any, NamedTuple

from .counts import COUNTS, read_count
from .form import integer, is_variable, operation, short
from .logs import read_log
from .poly import ONE, Poly, Ratio, constant, join, lowest, put, shifted, unique
from .refusal import LONGEST_ATOM, MOST_POWER, Meter, Refused, need
from .roots import read_root
from .roundings import EXTREMES, ROUNDINGS, read_rounding
from .sums import read_sum


class Variable(NamedTuple):
    """A declared variable: an integer of at least `least`, or a real number, perhaps above it."""

    least: int | None
    real: bool = False
    above: bool = False


class Box:
    """The variables of a statement.

    Attributes:
        names: what an expression may name.
        lower: an integer below all values of a variable, where one is known; at least 0.
        above: variables that are more than that, never equal to it.
        whole: variables whose values are integers.
        value: what a name stands for: the definition in a hypothesis, or the end of an index's range.
        inside: the names inside an atom.
        made: what an atom was made of: its operation and the fractions in it.
        roots: the square of each root.
        closed: the closed forms that the certificate offers for sums; each is checked when its sum is read.
        anchors, factorials: in what factorials and binomials are written.
        facts: by hypothesis, what it says is at least 0.
        strict: the facts that are more than 0.
        zeros: by hypothesis, what it says is 0.
        declared: the bounds as they were declared.
        moving: what grows.
    """

    def __init__(self, variables: dict[str, Variable], meter: Meter | None = None) -> None:
        """Start with the declared variables."""
        self.names, self.declared = set(variables), dict(variables)
        self.lower = {name: one.least for name, one in variables.items() if one.least is not None}
        self.above = {name for name, one in variables.items() if one.above}
        self.whole = {name for name, one in variables.items() if not one.real}
        self.inside, self.made = dict[str, frozenset[str]](), dict[str, tuple[str, list[Ratio]]]()
        self.roots, self.closed = dict[str, Poly](), dict[str, Any]()
        self.anchors, self.factorials = list[Any](), False
        self.value, self.facts, self.zeros = dict[str, Ratio](), dict[str, Ratio](), dict[str, Ratio]()
        self.strict, self.moving = set[str](), set[str]()
        self.meter = meter or Meter()

    # -- arithmetic

    def times(self, left: Poly, right: Poly) -> Poly:
        """Return the product of polynomials; the square of a root becomes what is under it."""
        self.meter.spend(len(left) * len(right))
        if ONE in (left, right):
            return dict(right if left == ONE else left)
        raw: Poly = {}
        for first, a in left.items():
            for second, b in right.items():
                put(raw, {join(first, second): a * b})
        return self.unrooted(raw) if self.roots else raw

    def unrooted(self, raw: Poly) -> Poly:
        """Return a polynomial with what is under it in the place of the square of each root."""
        result: Poly = {}
        for monomial, value in raw.items():
            root, power = next(((g, e) for g, e in monomial if e > 1 and g in self.roots), ("", 0))
            piece = {monomial: value}
            if root:
                rest = tuple((g, e % 2 if g == root else e) for g, e in monomial if g != root or e % 2)
                piece = reduce(self.times, [self.roots[root]] * (power // 2), {rest: value})
            put(result, piece)
        return result

    def product(self, left: Ratio, right: Ratio) -> Ratio:
        """Return the product of fractions."""
        return lowest(self.times(left[0], right[0]), self.times(left[1], right[1]), self.lower)

    def plus(self, left: Ratio, right: Ratio, sign: int = 1) -> Ratio:
        """Return left + sign * right."""
        self.meter.spend(len(left[0]) + len(right[0]))
        if left[1] == right[1]:
            return lowest(put(dict(left[0]), right[0], sign), left[1], self.lower)
        top = put(self.times(left[0], right[1]), self.times(right[0], left[1]), sign)
        return lowest(top, self.times(left[1], right[1]), self.lower)

    def added(self, parts: list[Ratio]) -> Ratio:
        """Return a sum: the polynomials first, in one table."""
        total: Poly = {}
        for top, below in parts:
            if below == ONE:
                self.meter.spend(len(top))
                put(total, top)
        return reduce(self.plus, [part for part in parts if part[1] != ONE], (total, ONE))

    def minus(self, left: Ratio, right: Ratio) -> Ratio:
        """Return left - right."""
        return self.plus(left, right, -1)

    def negative(self, value: Ratio) -> Ratio:
        """Return minus a fraction."""
        return put({}, value[0], -1), value[1]

    def over(self, above: Ratio, below: Ratio) -> Ratio:
        """Return a quotient; the divisor must be seen to be positive, or to be negative."""
        top, under = self.times(above[0], below[1]), self.times(above[1], below[0])
        if not self.sure(below, strict=True):
            seen = self.sure(self.negative(below), strict=True)
            need(seen, "a divisor is not seen to differ from 0")
            top, under = put({}, top, -1), put({}, under, -1)
        return lowest(top, under, self.lower)

    def sure(self, value: Ratio, *, strict: bool = False) -> bool:
        """Say whether the shift shows a fraction to be at least 0 (more than 0) for all sizes."""
        moved, left = value[0], sorted({g for m in value[0] for g, _ in m}, reverse=True)
        if any(name not in self.lower for name in left):
            return False
        while not all(c > 0 for c in moved.values()):
            if not left:
                return False
            name = left.pop()
            if self.lower[name]:
                moved = shifted(moved, name, self.lower[name], self.meter)
        over = {g for g in left if self.lower[g]} | self.above
        return not strict or any(all(g in over for g, _ in m) for m in moved)

    def least(self, value: Ratio) -> int | None:
        """Return 1 or 0, whichever is seen to be below a fraction, or None."""
        return next((b for b in (1, 0) if self.sure(self.minus(value, constant(b)))), None)

    # -- reading

    def read(self, expr: Any) -> Ratio:  # noqa: C901, PLR0911 (one for each kind of expression)
        """Return the fraction that an expression in prefix form stands for."""
        if isinstance(expr, str):
            return constant(integer(expr))
        head, *args = operation(expr)
        if head == "var":
            need(is_variable(expr), "a variable has one name")
            return self.named(args[0])
        if head == "sum":
            return read_sum(self, expr)
        if head == "^":
            need(len(args) == 2 and 0 <= integer(args[1]) <= MOST_POWER, "an exponent is out of range")
            return reduce(self.product, [self.read(args[0])] * integer(args[1]), (ONE, ONE))
        parts = [self.read(arg) for arg in args]
        if head in {"+", "*"}:
            return self.added(parts) if head == "+" else reduce(self.product, parts)
        if head in COUNTS:
            return read_count(self, head, parts)
        if head not in EXTREMES and len(parts) != (2 if head == "/" else 1):
            raise Refused(f"{short(head)} has other operands")
        if head not in {*EXTREMES, *ROUNDINGS, "sqrt", "log", "/"}:
            raise Refused(f"no such operation: {short(head)}")
        if head == "/":
            return self.over(*parts)
        if head in {"sqrt", "log"}:
            return (read_root if head == "sqrt" else read_log)(self, parts[0])
        return read_rounding(self, head, parts)

    def named(self, name: str) -> Ratio:
        """Return what a name stands for."""
        if name not in self.names:
            raise Refused(f"{short(name)} is not declared")
        return self.value.get(name, ({((name, 1),): Fraction(1)}, ONE))

    def names_in(self, *values: Ratio) -> frozenset[str]:
        """Return the names in fractions, those inside atoms too."""
        found = {g for value in values for poly in value for m in poly for g, _ in m}
        return frozenset[str]().union(*(self.inside.get(g, {g}) for g in found))

    def integral(self, value: Ratio) -> bool:
        """Say whether a fraction is seen to be an integer for all sizes."""
        number = value[1] == ONE and all(c.denominator == 1 for c in value[0].values())
        return number and all(g in self.whole for m in value[0] for g, _ in m)

    def opaque(
        self, head: str, parts: list[Ratio], bound: int | None, *, above: bool = False, whole: bool = False
    ) -> Ratio:
        """Return an atom as a variable; what is known of it is set anew, as an index inside may differ."""
        name = f"{head}[{'; '.join(sorted({unique(part) for part in parts}))}]"
        need(len(name) <= LONGEST_ATOM, "an atom is too large")
        self.inside[name], self.made[name] = self.names_in(*parts), (head, parts)
        self.lower.pop(name, None)
        for group, inside in ((self.above, above), (self.whole, whole)):
            (group.add if inside else group.discard)(name)
        if bound is not None:
            self.lower[name] = bound
        return {((name, 1),): Fraction(1)}, ONE
