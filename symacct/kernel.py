"""The certificate checker: the one file to trust. Standard library only; it imports nothing from here.

A certificate is JSON: a statement about sizes, the hypotheses it stands on, a proof, and optionally the
ledger whose rows add up to the left side. `check` returns the theorem in words or raises `Refused`. It
never searches: whatever is hard to find stands in the certificate. ``python kernel.py FILE`` runs it alone.

How it reasons. A size is an integer of at least its declared bound. An expression is read into a fraction of
two polynomials with rational coefficients, the divisor always shown to be positive. What is no polynomial
(ceil, floor, min, max, sqrt) becomes a variable of its own. A polynomial is seen to be at least 0 in one way
only, the shift: put ``x = bound + y`` for every variable, and all coefficients are at least 0. All the rest
(squares, hypotheses, what holds of an atom, cases) is subtracted or split off first.
"""

from __future__ import annotations

import hashlib
import json
import sys
from fractions import Fraction
from functools import reduce
from math import ceil, comb, floor, isqrt
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

FORMAT = "symacct-certificate/1"
LARGEST_FILE, DEEPEST, MOST_DIGITS, MOST_POWER = 4_000_000, 60, 200, 64
MOST_DEGREE, MOST_BITS, MOST_WORK, LONGEST_SUM, LONGEST_NAME = 300, 12_000, 300_000, 10_000, 64
LONGEST_ATOM = 100_000

Monomial = tuple[tuple[str, int], ...]  # sorted pairs (variable, exponent)
Poly = dict[Monomial, Fraction]  # no zero coefficients
Ratio = tuple[Poly, Poly]  # the second is positive for all sizes that the statement speaks of
ONE: Poly = {(): Fraction(1)}
RELATIONS, LIMITS = ("=", "<=", ">=", "<", ">"), ("~", "O", "Theta")
SIGNS = {"equal": "=", "at_least": ">=", "divides": "divides"}
LABELS = ("label", "of", "phase", "kind", "primitive")
EXTREMES, ROUNDINGS = {"min": min, "max": max}, {"floor": floor, "ceil": ceil}


class Refused(Exception):  # noqa: N818 (it says what happened)
    """The certificate does not prove its statement; the text says why."""


def need(condition: object, why: str) -> None:
    """Refuse unless a condition holds; no assert, so that ``python -O`` checks as well."""
    if not condition:
        raise Refused(why)


# ---- polynomials and fractions -----------------------------------------------------------------------------


def bounded(number: Fraction) -> Fraction:
    """Return a number that is not too large."""
    bits = number.numerator.bit_length() + number.denominator.bit_length()
    need(bits <= MOST_BITS, "a number is too large")
    return number


def put(into: Poly, more: Poly, sign: int = 1) -> Poly:
    """Add sign * more to a polynomial, in place."""
    for monomial, value in more.items():
        new = into.get(monomial, 0) + sign * value
        if new:
            into[monomial] = bounded(new)
        else:
            into.pop(monomial, None)
    return into


def join(left: Monomial, right: Monomial) -> Monomial:
    """Return the product of two monomials."""
    powers = dict(left)
    for name, power in right:
        powers[name] = powers.get(name, 0) + power
        need(powers[name] <= MOST_DEGREE, "a power is too large")
    return tuple(sorted(powers.items()))


def lowest(top: Poly, below: Poly) -> Ratio:
    """Return the fraction without the monomial that all terms share (not 0, as the divisor is not)."""
    if not top:
        return {}, ONE
    shared = dict(next(iter(below)))
    for monomial in (*top, *below):
        powers = dict(monomial)
        shared = {name: min(power, powers[name]) for name, power in shared.items() if name in powers}
    scale = abs(below[max(below)])

    def cut(poly: Poly) -> Poly:
        return {
            tuple((g, e - shared.get(g, 0)) for g, e in m if e > shared.get(g, 0)): c / scale
            for m, c in poly.items()
        }

    return cut(top), cut(below)


def constant(number: Fraction | int) -> Ratio:
    """Return a number as a fraction of polynomials."""
    return {(): Fraction(number)} if number else {}, ONE


def plain(value: Ratio) -> Fraction | None:
    """Return the number that a fraction is, or None where any variable is in it (a root of 2 is one)."""
    number = all(not monomial for poly in value for monomial in poly)
    return value[0].get((), Fraction(0)) / value[1][()] if number else None


def unique(value: Ratio) -> str:
    """Return a text that differs for different fractions; the name of an atom is made of it."""
    sides = [
        " + ".join(str(c) + "".join(f"*{g}^{e}" for g, e in m) for m, c in sorted(poly.items())) or "0"
        for poly in value
    ]
    return f"({sides[0]})/({sides[1]})"


class Box:
    """The sizes that a statement speaks of, and exact arithmetic over them.

    Attributes:
        names: what an expression may name.
        lower: an integer of at least 0 below all values of a variable, where one is known.
        whole: variables whose values are integers.
        value: what a name stands for: the definition in a hypothesis, or the end of an index's range.
        inside: the names inside an atom.
        roots: the square of each root.
        closed: the closed forms that the certificate offers for sums; each is checked when its sum is read.
        facts: by hypothesis, what it says is at least 0.
        declared: the bounds as they were declared.
        open: what a hypothesis leaves open (a slack, a quotient), with the names it may depend on.
        moving: what grows, and what a hypothesis may tie to it.
    """

    def __init__(self, lower: dict[str, int]) -> None:
        """Start with the declared sizes."""
        self.names, self.whole, self.lower, self.declared = set(lower), set(lower), dict(lower), dict(lower)
        self.value: dict[str, Ratio] = {}
        self.inside: dict[str, frozenset[str]] = {}
        self.roots: dict[str, Poly] = {}
        self.closed: dict[str, Any] = {}
        self.facts: dict[str, Ratio] = {}
        self.open: dict[str, frozenset[str]] = {}
        self.moving: set[str] = set()
        self.work = 0

    # -- arithmetic

    def spend(self, work: int) -> None:
        """Count work, and refuse what would take too long."""
        self.work += work
        need(self.work <= MOST_WORK, "the certificate takes too much work to check")

    def times(self, left: Poly, right: Poly) -> Poly:
        """Return the product of polynomials; the square of a root becomes what is under it."""
        self.spend(len(left) * len(right))
        raw: Poly = {}
        for first, a in left.items():
            for second, b in right.items():
                put(raw, {join(first, second): a * b})
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
        return lowest(self.times(left[0], right[0]), self.times(left[1], right[1]))

    def plus(self, left: Ratio, right: Ratio, sign: int = 1) -> Ratio:
        """Return left + sign * right."""
        self.spend(len(left[0]) + len(right[0]))
        if left[1] == right[1]:
            return lowest(put(dict(left[0]), right[0], sign), left[1])
        top = put(self.times(left[0], right[1]), self.times(right[0], left[1]), sign)
        return lowest(top, self.times(left[1], right[1]))

    def minus(self, left: Ratio, right: Ratio) -> Ratio:
        """Return left - right."""
        return self.plus(left, right, -1)

    def over(self, above: Ratio, below: Ratio) -> Ratio:
        """Return a quotient; the divisor must be seen to be positive, or to be negative."""
        top, under = self.times(above[0], below[1]), self.times(above[1], below[0])
        if not self.sure(below, strict=True):
            negative = self.minus(constant(0), below)
            need(self.sure(negative, strict=True), "a divisor is not seen to differ from 0")
            top, under = put({}, top, -1), put({}, under, -1)
        return lowest(top, under)

    def sure(self, value: Ratio, *, strict: bool = False) -> bool:
        """Say whether the shift shows a fraction to be at least 0 (more than 0) for all sizes."""
        moved = dict(value[0])
        for name in sorted({g for m in moved for g, _ in m}):
            if name not in self.lower:
                return False
            start, before, moved = self.lower[name], moved, {}
            for monomial, c in before.items():
                power = dict(monomial).get(name, 0)
                rest = tuple(pair for pair in monomial if pair[0] != name)
                self.spend(power + len(monomial) + 1)
                for k in range(power + 1) if start else [power]:
                    y: Monomial = ((name, k),) if k else ()
                    put(moved, {join(rest, y): c * comb(power, k) * start ** (power - k)})
        return all(c > 0 for c in moved.values()) and (not strict or () in moved)

    # -- reading

    def read(self, expr: Any) -> Ratio:
        """Return the fraction that an expression in prefix form stands for."""
        if isinstance(expr, str):
            return constant(integer(expr))
        head, *args = operation(expr)
        if head in {"var", "sum"}:
            need(head == "sum" or is_variable(expr), "a variable has one name")
            return self.sum(expr) if head == "sum" else self.named(args[0])
        if head == "^":
            need(len(args) == 2 and 0 <= integer(args[1]) <= MOST_POWER, "an exponent is out of range")
            return reduce(self.product, [self.read(args[0])] * integer(args[1]), (ONE, ONE))
        parts = [self.read(arg) for arg in args]
        if head in {"+", "*"}:
            return reduce(self.plus if head == "+" else self.product, parts)
        need(head in EXTREMES or len(parts) == (2 if head == "/" else 1), f"{short(head)} has other operands")
        need(head in {*EXTREMES, *ROUNDINGS, "sqrt", "/"}, f"no such operation: {short(head)}")
        if head in {"/", "sqrt"}:
            return self.over(*parts) if head == "/" else self.root(*parts)
        return self.atom(head, parts)

    def named(self, name: str) -> Ratio:
        """Return what a name stands for."""
        need(name in self.names, f"{short(name)} is not declared")
        return self.value.get(name, ({((name, 1),): Fraction(1)}, ONE))

    def names_in(self, *values: Ratio) -> frozenset[str]:
        """Return the names in fractions, those inside atoms too."""
        found = {g for value in values for poly in value for m in poly for g, _ in m}
        return frozenset[str]().union(*(self.inside.get(g, {g}) for g in found))

    def atom(self, head: str, parts: list[Ratio]) -> Ratio:
        """Return min, max, floor or ceil as a variable of its own, with the bound its operands give it."""
        if head in ROUNDINGS:
            (value,) = parts
            if self.integral(value):
                return value
            if (number := plain(value)) is not None:
                return constant(ROUNDINGS[head](number))
        name = f"{head}[{'; '.join(sorted({unique(part) for part in parts}))}]"
        if head in ROUNDINGS:
            self.whole.add(name)
        bounds = [self.least(part) for part in parts]
        if head == "ceil" and self.sure(parts[0], strict=True):
            bounds = [1]
        seen = [bound for bound in bounds if bound is not None]
        complete = head == "max" or len(seen) == len(bounds)
        bound = EXTREMES["max" if head == "max" else "min"](seen) if seen and complete else None
        return self.opaque(name, parts, bound)

    def least(self, value: Ratio) -> int | None:
        """Return 1 or 0, whichever is seen to be below a fraction, or None."""
        return next((b for b in (1, 0) if self.sure(self.minus(value, constant(b)))), None)

    def opaque(self, name: str, parts: list[Ratio], bound: int | None) -> Ratio:
        """Return an atom as a variable; its bound is set anew, as that of an index inside may differ."""
        need(len(name) <= LONGEST_ATOM, "an atom is too large")
        self.inside[name] = self.names_in(*parts)
        self.lower.pop(name, None)
        if bound is not None:
            self.lower[name] = bound
        return {((name, 1),): Fraction(1)}, ONE

    def root(self, value: Ratio) -> Ratio:
        """Return a square root: of a monomial factor by factor, of a sum as one atom; n/d is n*d/d^2."""
        under, below = self.times(*value), value[1]
        need(self.sure((under, ONE)), "what is under a root is not seen to be at least 0")
        if len(under) > 1:
            factors, outside = [under], ONE
        else:
            ((monomial, c),) = under.items() or [((), Fraction(0))]
            exact = isqrt(whole := c.numerator * c.denominator) ** 2 == whole
            rest = Fraction(isqrt(whole) if exact else 1, c.denominator)
            outside = {tuple((g, e // 2) for g, e in monomial if e > 1): rest} if c else {}
            factors = [{((g, 1),): Fraction(1)} for g, e in monomial if e % 2]
            factors += [] if exact else [{(): Fraction(whole)}]
        result = (outside, ONE)
        for factor in factors:
            name = f"sqrt[{unique((factor, ONE))}]"
            self.roots[name] = factor
            result = self.product(result, self.opaque(name, [(factor, ONE)], self.least((factor, ONE))))
        return self.product(result, lowest(ONE, below))

    def sum(self, expr: list[Any]) -> Ratio:
        """Return a sum over ``index`` from ``lo`` to ``hi - 1``: by its length, or by a closed form G.

        G is a formula in the index with G(index + 1) - G(index) = body; then the sum is G(hi) - G(lo).
        """
        need(len(expr) == 5, "a sum has an index, two ends and a body")
        _, index, lo, hi, body = expr
        need(is_name(index) and index not in self.names, f"the index {short(index)} is not a new name")
        first, end = self.read(lo), self.read(hi)
        length = self.minus(end, first)
        need(self.sure(length), f"the range of {index} may end before it starts")
        need(self.integral(first) and self.integral(length), f"the range of {index} does not end at integers")
        start = plain(first)
        try:
            self.names.add(index)
            self.whole.add(index)
            if start is not None and start >= 0:
                self.lower[index] = floor(start)
            inner = self.read(body)
            if index not in self.names_in(inner):
                return self.product(inner, length)
            need(canonical(expr) in self.closed, f"no closed form is given for the sum over {index}")
            form = self.closed[canonical(expr)]
            now = self.read(form)
            ends = []
            for at in (self.plus(self.named(index), (ONE, ONE)), end, first):
                self.value[index] = at
                ends.append(self.read(form))
                del self.value[index]
            need(not self.minus(self.minus(ends[0], now), inner)[0], f"the closed form over {index} is wrong")
            return self.minus(ends[1], ends[2])
        finally:
            self.names.discard(index)
            self.whole.discard(index)
            self.lower.pop(index, None)
            self.value.pop(index, None)

    def integral(self, value: Ratio) -> bool:
        """Say whether a fraction is seen to be an integer for all sizes."""
        plain = value[1] == ONE and all(c.denominator == 1 for c in value[0].values())
        return plain and all(g in self.whole for m in value[0] for g, _ in m)

    # -- witnesses

    def prove(self, value: Ratio, witness: Any, *, strict: bool = False) -> None:
        """Refuse unless a witness shows that a fraction is at least 0 (more than 0) for all sizes."""
        kind = field(witness, "kind")
        if kind == "shift":
            keys(witness, {"kind"})
            need(self.sure(value, strict=strict), "after the shift a coefficient has the wrong sign")
        elif kind == "cases":
            keys(witness, {"kind", "atom", "each"})
            self.cases(value, witness, strict=strict)
        else:
            need(kind == "sum", f"no such witness: {short(kind)}")
            keys(witness, {"kind", "terms"}, {"scale"})
            scale = self.read(witness.get("scale", "1"))
            need(self.sure(scale, strict=True), "the scale of a witness is not seen to be positive")
            rest = self.product(value, scale)
            for term in items(witness["terms"]):
                keys(term, {"factors"}, {"times"})
                weight = self.read(term.get("times", "1"))
                need(self.sure(weight), "the weight of a term is not seen to be at least 0")
                rest = self.minus(
                    rest, reduce(self.product, map(self.factor, items(term["factors"])), weight)
                )
            need(self.sure(rest, strict=strict), "the witness leaves a coefficient of the wrong sign")

    def factor(self, factor: Any) -> Ratio:
        """Return what is at least 0: a square, a hypothesis, a declared bound, a fact of an atom."""
        keys(factor, set(), {"square", "hypothesis", "bound", "atom", "side"})
        kinds = set(factor) - {"side"}
        need(len(kinds) == 1 and ("side" in factor) == (kinds == {"atom"}), "a factor says one thing")
        if "square" in factor:
            base = self.read(factor["square"])
            return self.product(base, base)
        if "hypothesis" in factor:
            fact: Ratio = known(self.facts, factor["hypothesis"], "inequality in use")
            return fact
        if "bound" in factor:
            low = constant(known(self.declared, factor["bound"], "declared size"))
            gap = self.minus(self.named(factor["bound"]), low)
            need(not self.caps(gap), f"the bound of {factor['bound']} might leave no large sizes")
            return gap
        return self.fact(factor["atom"], integer(factor["side"]))

    def caps(self, value: Ratio) -> bool:
        """Say whether being at least 0 might cap what grows: it stands under a minus, or in an atom."""
        return any(
            (c < 0 or g in self.inside) and self.inside.get(g, {g}) & self.moving
            for monomial, c in value[0].items()
            for g, _ in monomial
        )

    def fact(self, expr: Any, side: int) -> Ratio:
        """Return what is at least 0 for an atom: x - floor and floor + 1 - x, max - x, and their like."""
        head, *args = operation(expr)
        atom, parts = self.read(expr), [self.read(part) for part in args]
        need(head in EXTREMES or head in ROUNDINGS, "only floor, ceil, min and max have facts")
        need(0 <= side < (len(parts) if head in EXTREMES else 2), "the atom has no such side")
        gap = self.minus(atom, parts[side if head in EXTREMES else 0])
        gap = gap if head in {"max", "ceil"} else self.minus(constant(0), gap)
        return self.minus(constant(1), gap) if head in ROUNDINGS and side else gap

    def cases(self, value: Ratio, witness: Any, *, strict: bool) -> None:
        """Refuse unless the fraction is at least 0 with a min or max replaced by each of its operands."""
        expr, each = operation(witness["atom"]), items(witness["each"])
        need(expr[0] in EXTREMES and len(each) == len(expr) - 1, "cases are those of a min or max")
        ((monomial, _),) = self.read(expr)[0].items()
        ((name, _),) = monomial
        need(all(name != g for m in value[1] for g, _ in m), "cases do not reach into a divisor")
        for operand, one in zip(expr[1:], each, strict=True):
            part, result = self.read(operand), constant(0)
            for m, c in value[0].items():
                rest = {tuple(pair for pair in m if pair[0] != name): c}
                result = self.plus(
                    result, reduce(self.product, [part] * dict(m).get(name, 0), (rest, value[1]))
                )
            self.prove(result, one, strict=strict)


# ---- one certificate ---------------------------------------------------------------------------------------


class Claim:
    """A statement under its hypotheses, and the proof that is offered for it."""

    def __init__(self, data: dict[str, Any]) -> None:
        """Read the statement and put the hypotheses that the proof names to use."""
        self.proof, statement = data["proof"], data["statement"]
        self.refuted = field(statement, "relation") == "refuted"
        keys(statement, {"relation", "claim"} if self.refuted else set(statement), {"text"})
        self.said = statement["claim"] if self.refuted else statement
        self.relation = field(self.said, "relation")
        need(self.relation in (*RELATIONS, *LIMITS), f"no such relation: {short(self.relation)}")
        grows = {"growing"} if self.relation in LIMITS else set()
        keys(self.said, {"relation", "left", "right"} | grows, set() if self.refuted else {"text"})
        self.bounds = {name: integer(low) for name, low in mapping(data["variables"]).items()}
        sizes = all(is_name(name) and low >= 0 for name, low in self.bounds.items())
        need(sizes, "a size has a name and a bound of at least 0")
        self.growing = items(self.said["growing"]) if grows else []
        need(self.growing or not grows, "nothing grows")
        for name in self.growing:
            known(self.bounds, name, "declared size")
        self.hypotheses: dict[str, Any] = {}
        for one in items(data["hypotheses"]):
            keys(one, {"name", "kind", "left", "right"})
            fresh = is_name(one["name"]) and one["name"] not in self.hypotheses
            need(fresh, "a hypothesis has a name of its own")
            known(SIGNS, one["kind"], "kind of hypothesis")
            self.hypotheses[one["name"]] = one
        self.uses = mapping(field(self.proof, "uses"))
        need(set(self.uses) <= set(self.hypotheses), "the proof uses a hypothesis that is not stated")
        self.box = self.given(self.uses)
        for name in self.uses:
            self.not_circular(name)
        self.left, self.right = self.box.read(self.said["left"]), self.box.read(self.said["right"])

    def given(self, uses: dict[str, Any]) -> Box:
        """Return the box with these hypotheses in force."""
        box = Box(self.bounds)
        box.moving = set(self.growing)
        for one in items(self.proof.get("closed", [])):
            keys(one, {"sum", "form"})
            box.closed[canonical(one["sum"])] = one["form"]
        for name, low in mapping(self.proof.get("from", {})).items():
            need(name in self.growing, f"{short(name)} is not said to grow")
            box.lower[name] = max(box.lower[name], integer(low))
        pending = self.used(box, uses)
        while pending:
            ready = [name for name, one in pending.items() if not variables(defining(one)) & set(pending)]
            need(ready, "the definitions are circular")
            for name in ready:
                self.define(box, name, pending.pop(name))
        for name in uses:
            one = self.hypotheses[name]
            if one["kind"] == "at_least":
                box.facts[name] = box.minus(box.read(one["left"]), box.read(one["right"]))
        self.tie(box, uses)
        for name, fact in box.facts.items():
            need(not box.caps(fact), f"{name} might leave no large sizes")
        return box

    def tie(self, box: Box, uses: dict[str, Any]) -> None:
        """Let everything move that a hypothesis may tie to what grows, whether the proof uses it or not.

        Definitions are in force already, and a fact in use may not cap what grows. Of the others, ``L >= D``
        and ``D divides L`` leave large L to every D; anything else could be D = L.
        """
        at_work = {*box.facts, *(name for name, way in uses.items() if way == "substitution")}
        ties = [(frozenset({name}), names) for name, names in box.open.items()]
        for name, one in self.hypotheses.items():
            if name in at_work:
                continue
            left, right = (
                box.names_in(*map(box.named, variables(one[side]) & box.names)) for side in ("left", "right")
            )
            large, rest = (one["right"], left) if one["kind"] == "divides" else (one["left"], right)
            free = one["kind"] != "equal" and is_variable(large) and large[1] in self.growing
            ties.append((left | right, rest if free else left | right))
        for _ in ties:  # each pass moves something more, or nothing does
            for names, with_them in ties:
                if with_them & box.moving:
                    box.moving |= names

    def used(self, box: Box, uses: dict[str, Any]) -> dict[str, Any]:
        """Raise the bounds that hypotheses give, and return the definitions by what they define."""
        simple, pending = set(self.growing), dict[str, Any]()
        for name, way in uses.items():
            one = self.hypotheses[name]
            need(way in ("bound", "substitution", "fact"), f"no such use of a hypothesis: {short(way)}")
            target = one["right"] if one["kind"] == "divides" else one["left"]
            if way != "fact":
                need(is_variable(target) and target[1] in self.bounds, f"{name} is not about one size")
            if way == "bound":
                need(one["kind"] == "at_least", f"{name} is no bound")
                box.lower[target[1]] = max(box.lower[target[1]], integer(one["right"]))
                simple.add(target[1])
            elif way == "substitution":
                need(target[1] not in pending, f"{target[1]} has two definitions")
                pending[target[1]] = one
        need(simple.isdisjoint(pending), "a size with a definition grows, or has a further bound")
        return pending

    def define(self, box: Box, name: str, one: dict[str, Any]) -> None:
        """Put a definition in force; ``>=`` leaves a slack open, ``divides`` a quotient of at least 1."""
        value = box.read(defining(one))
        if one["kind"] != "equal":
            open_, divides = f"what {one['name']} leaves open", one["kind"] == "divides"
            if divides:
                positive = self.bounds[name] >= 1 and box.sure(value, strict=True)
                need(positive, f"{one['name']} is not about positive sizes")
                box.whole.add(open_)
            box.open[open_] = box.names_in(value)
            box.lower[open_] = int(divides)
            rest: Ratio = {((open_, 1),): Fraction(1)}, ONE
            value = box.product(value, rest) if divides else box.plus(value, rest)
        box.value[name] = value

    def not_circular(self, name: str) -> None:
        """Refuse a hypothesis that says what is to be proved, up to a factor."""
        one = self.hypotheses[name]
        if self.refuted or self.relation in LIMITS or one["kind"] == "divides":
            return
        try:
            box = self.given({other: way for other, way in self.uses.items() if other != name})
            gaps = (box.minus(box.read(x["left"]), box.read(x["right"]))[0] for x in (self.said, one))
            said, given = gaps
        except Refused:  # without the hypothesis the statement cannot be read: it says something else
            return
        if said and set(said) == set(given):
            first = next(iter(said))
            differs = any(said[m] * given[first] != given[m] * said[first] for m in said)
            need(differs, f"{name} is what is to be proved")

    def fixed(self, key: str) -> Ratio:
        """Return a constant of the proof, which must not depend on what grows."""
        value = self.box.read(field(self.proof, key))
        need(not self.box.names_in(value) & self.box.moving, f"the {key} depends on what grows")
        return value

    def rates(self) -> Ratio:
        """Return the sum of 1/g over what the proof lets grow: sizes that grow, or their roots."""
        over, total = [operation(one) for one in items(field(self.proof, "over"))], constant(0)
        need(over, "a rate needs something that grows")
        for one in over:
            inside = operation(one[1]) if one[0] == "sqrt" else one
            grows = is_variable(inside) and inside[1] in self.growing
            need(grows, "a rate is made of what grows, or its root")
            total = self.box.plus(total, self.box.over(constant(1), self.box.read(one)))
        return total

    def unlimited(self) -> None:
        """Refuse to refute in the limit where the hypotheses might leave no large sizes."""
        for name, one in self.hypotheses.items():
            way = self.uses.get(name)
            plain = way == "bound" or (way == "substitution" and one["kind"] == "equal")
            need(plain, f"{name} might leave no large sizes")
            if way == "substitution":
                value, low = self.box.named(one["left"][1]), constant(self.bounds[one["left"][1]])
                large = self.box.integral(value) and self.box.sure(self.box.minus(value, low))
                need(large, f"{name} might leave no large sizes")


def by_identity(claim: Claim) -> None:
    """Both sides are the same fraction."""
    need(claim.relation == "=" and not claim.refuted, "an identity proves = only")
    need(not claim.box.minus(claim.left, claim.right)[0], "the two sides differ")


def by_both(claim: Claim) -> None:
    """Each side is at most the other."""
    need(claim.relation == "=" and not claim.refuted, "two inequalities prove = only")
    claim.box.prove(claim.box.minus(claim.right, claim.left), claim.proof["below"])
    claim.box.prove(claim.box.minus(claim.left, claim.right), claim.proof["above"])


def by_nonnegative(claim: Claim) -> None:
    """The difference is at least 0, or more."""
    need(claim.relation in RELATIONS[1:] and not claim.refuted, "a sign proves an inequality only")
    sides = (claim.right, claim.left) if claim.relation[0] == "<" else (claim.left, claim.right)
    claim.box.prove(claim.box.minus(*sides), claim.proof["witness"], strict=claim.relation in "<>")


def by_rate(claim: Claim) -> None:
    """|left/right - factor| is at most constant * (1/g + ...): the ratio tends to the factor."""
    box, factor = claim.box, constant(1)
    need(claim.relation == "~" or (claim.refuted and claim.relation == "Theta"), "a rate is about ~ only")
    if claim.refuted:
        factor = claim.fixed("factor")
        gaps = box.minus(factor, constant(1)), box.minus(constant(1), factor)
        other = any(box.sure(gap, strict=True) for gap in gaps) if claim.relation == "~" else not factor[0]
        need(other, "the ratio is not seen to tend to something else")
        claim.unlimited()
    need(box.sure(claim.right, strict=True), "the right side is not seen to be positive")
    room = box.product(box.product(claim.fixed("constant"), claim.rates()), claim.right)
    gap = box.minus(claim.left, box.product(factor, claim.right))
    box.prove(box.minus(room, gap), claim.proof["below"])
    box.prove(box.plus(room, gap), claim.proof["above"])


def by_constants(claim: Claim) -> None:
    """|left| <= constant * right, and for Theta left >= least * right >= 0 with least > 0."""
    need(claim.relation in {"O", "Theta"} and not claim.refuted, "constants prove O and Theta only")
    box = claim.box
    room = box.product(claim.fixed("constant"), claim.right)
    box.prove(box.minus(room, claim.left), claim.proof["below"])
    box.prove(box.plus(room, claim.left), claim.proof["above"])
    if claim.relation == "Theta":
        least = claim.fixed("least")
        need(box.sure(least, strict=True), "the lower constant is not seen to be positive")
        need(box.sure(claim.right), "the right side is not seen to be at least 0")
        box.prove(box.minus(claim.left, box.product(least, claim.right)), claim.proof["witness"])


def by_growth(claim: Claim) -> None:
    """Left >= constant * g * right with constant > 0: the ratio has no bound."""
    need(claim.refuted and claim.relation in LIMITS, "growth refutes limits only")
    box, slope, rates = claim.box, claim.fixed("constant"), claim.rates()
    need(len(claim.proof["over"]) == 1, "growth is that of one size")
    need(box.sure(slope, strict=True), "the constant is not seen to be positive")
    need(box.sure(claim.right, strict=True), "the right side is not seen to be positive")
    claim.unlimited()
    under = box.product(slope, box.over(claim.right, rates))
    box.prove(box.minus(claim.left, under), claim.proof["witness"])


def by_point(claim: Claim) -> None:
    """The claim is false at one point that satisfies the bounds and the hypotheses."""
    need(claim.refuted and claim.relation in RELATIONS, "a point refutes = and inequalities only")
    point = satisfying(claim, "point")
    left, right = (at(claim.said[side], point, claim.box) for side in ("left", "right"))
    holds = {"=": left == right, "<=": left <= right, ">=": left >= right, "<": left < right}
    need(not holds.get(claim.relation, left > right), "the claim is true at this point")


RULES: dict[str, tuple[Callable[[Claim], None], set[str]]] = {
    "identity": (by_identity, set()),
    "both": (by_both, {"below", "above"}),
    "nonnegative": (by_nonnegative, {"witness"}),
    "rate": (by_rate, {"constant", "over", "from", "below", "above"}),
    "constants": (by_constants, {"constant", "from", "below", "above"}),
    "growth": (by_growth, {"constant", "over", "from", "witness"}),
    "point": (by_point, {"point"}),
}


def satisfying(claim: Claim, key: str) -> dict[str, Fraction]:
    """Return a point of the proof, which must lie in the bounds and satisfy every hypothesis."""
    point = {name: Fraction(integer(value)) for name, value in mapping(claim.proof[key]).items()}
    need(set(point) == set(claim.bounds), f"the {key} does not give each size a value")
    need(all(point[name] >= low for name, low in claim.bounds.items()), f"the {key} is out of bounds")
    for name, one in claim.hypotheses.items():
        left, right = (at(one[side], point, claim.box) for side in ("left", "right"))
        holds = left == right if one["kind"] == "equal" else left >= right
        if one["kind"] == "divides":
            holds = left != 0 and (right / left).denominator == 1
        need(holds, f"{name} does not hold at the {key}")
    return point


def at(expr: Any, point: dict[str, Fraction], box: Box) -> Fraction:
    """Return the exact value of an expression at a point; the box counts the work."""
    box.spend(1)
    if isinstance(expr, str):
        return Fraction(integer(expr))
    head, *args = operation(expr)
    if head == "var":
        need(is_variable(expr), "a variable has one name")
        return Fraction(known(point, args[0], "size of the point"))
    if head == "sum":
        need(len(args) == 4 and is_name(args[0]) and args[0] not in point, "a sum needs a new index")
        lo, hi = (at(end, point, box) for end in args[1:3])
        need(lo.denominator == hi.denominator == 1 and 0 <= hi - lo <= LONGEST_SUM, "no such range")
        result = Fraction(0)
        for i in range(int(lo), int(hi)):
            result = bounded(result + at(args[3], {**point, args[0]: Fraction(i)}, box))
        return result
    values = [at(arg, point, box) for arg in args]
    if head in {"+", "*"}:
        result = reduce(lambda a, b: a + b if head == "+" else a * b, values)
    elif head in EXTREMES:
        result = EXTREMES[head](values)
    elif head == "^":
        need(len(args) == 2 and 0 <= integer(args[1]) <= MOST_POWER, "an exponent is out of range")
        result = values[0] ** int(values[1])
    elif head == "/":
        need(len(values) == 2 and values[1] != 0, "a division by 0")
        result = values[0] / values[1]
    else:
        need(len(values) == 1 and head in {*ROUNDINGS, "sqrt"}, f"no such operation: {short(head)}")
        result = Fraction(ROUNDINGS[head](values[0])) if head in ROUNDINGS else exact_root(values[0])
    return bounded(result)


def exact_root(value: Fraction) -> Fraction:
    """Return the square root of the square of a fraction."""
    need(value >= 0, "the root of a negative number")
    root = Fraction(isqrt(value.numerator), isqrt(value.denominator))
    need(root * root == value, "a root is no fraction at this point")
    return root


def check_ledger(ledger: Any, claim: Claim) -> list[str]:
    """Refuse unless the rows add up to the left side; return what of them was taken as given."""
    keys(ledger, {"graph", "quantity", "rows"})
    box, total, given = claim.box, constant(0), dict[str, int]()
    for row in items(ledger["rows"]):
        keys(row, {*LABELS, "ranges", "price", "count", "total"}, {"axes"})
        need(all(isinstance(row[key], str) for key in LABELS), "a row has labels")
        need(not box.names_in(box.read(row["price"])), "a price is a number")
        if "axes" in row:
            check_axes(row, box)
        else:
            what = f"the count of {short(row['primitive'])} for {short(row['kind'])}"
            given[what] = given.get(what, 0) + 1
        worth: Any = ["*", row["price"], row["count"]]
        need(len(items(row["ranges"])) <= DEEPEST, "a row has too many ranges")
        for one in reversed(row["ranges"]):
            need(len(items(one)) == 3, "a range has an index and two ends")
            worth = ["sum", *one, worth]
        whole = box.read(row["total"])
        need(not box.minus(box.read(worth), whole)[0], f"row {short(row['label'])} does not make its total")
        total = box.plus(total, whole)
    need(not box.minus(total, claim.left)[0], "the rows do not add up to the left side")
    graph = f"{short(ledger['quantity'])} of {short(ledger['graph'])}"
    counts = [f"{what} ({n} row{'s' * (n > 1)})" for what, n in given.items()]
    return [f"that the ledger is the model you meant ({graph})", "the prices of the counts", *counts]


def check_axes(row: dict[str, Any], box: Box) -> None:
    """Refuse unless a contraction's count is the product of the sizes of its distinct axes."""
    keys(row["axes"], {"left", "right", "out", "sizes"})
    parts = [items(row["axes"][side]) for side in ("left", "right", "out")]
    need(all(isinstance(word, str) for part in parts for word in part), "an axis is a word")
    need(all(len(set(part)) == len(part) for part in parts), "an axis stands twice in one operand")
    (left, right, out), sizes = map(set, parts), mapping(row["axes"]["sizes"])
    need(out <= left | right == set(sizes), "the axes and their sizes do not agree")
    contracts = row["kind"] == "contraction" and row["primitive"] in {"fma", "chain"}
    need(contracts, "only a contraction has axes")
    counted = sizes.values() if row["primitive"] == "fma" else [sizes[word] for word in out]
    gap = box.minus(reduce(box.product, map(box.read, counted), constant(1)), box.read(row["count"]))
    need(not gap[0], f"row {short(row['label'])} has another count than its axes")


def check(data: Any) -> list[str]:
    """Return the theorem in words, line by line.

    Raises:
        Refused: the certificate does not prove its statement.
    """
    keys(data, {"format", "statement", "variables", "hypotheses", "proof", "digest"}, {"ledger"})
    need(data["format"] == FORMAT, f"the format is not {FORMAT}")
    need(data["digest"] == digest(data), "the digest does not fit statement, bounds, hypotheses and ledger")
    claim = Claim(data)
    prove, needed = known(RULES, field(claim.proof, "rule"), "rule")
    more = {
        "example": bool(claim.hypotheses) and prove is not by_point,
        "least": prove is by_constants and claim.relation == "Theta",
        "witness": prove is by_constants and claim.relation == "Theta",
        "factor": prove is by_rate and claim.refuted,
    }
    keys(claim.proof, {"rule", "uses"} | needed | {key for key, on in more.items() if on}, {"closed"})
    if more["example"]:
        satisfying(claim, "example")
    prove(claim)
    unchecked = check_ledger(data["ledger"], claim) if "ledger" in data else []
    if "text" in data["statement"]:
        unchecked.append(f"the text beside it: {short(data['statement']['text'])}")
    return words(claim, unchecked)


# ---- words -------------------------------------------------------------------------------------------------


def words(claim: Claim, unchecked: list[str]) -> list[str]:
    """Return the theorem, what it stands on, and what was not checked."""
    said, proof = claim.said, claim.proof
    left, right = infix(said["left"]), infix(said["right"])
    whole = f"{claim.relation}({right})"
    shape = f"{left} {claim.relation} {right}" if whole[0] not in "OT" else f"{left} is {whole}"
    grow = f" as {', '.join(claim.growing)} -> oo" if claim.growing else ""
    lines = [("not always: " if claim.refuted else "") + shape + grow]
    sizes = ", ".join(f"{name} >= {low}" for name, low in sorted(claim.bounds.items()))
    lines.append(f"for all integers {sizes}" if sizes else "there are no sizes in it")
    strange = ((name, name.encode("ascii", "backslashreplace").decode()) for name in sorted(claim.bounds))
    lines += [f"where {name} is written {code}" for name, code in strange if name != code]
    for name, one in claim.hypotheses.items():
        way = f"used as {claim.uses[name]}" if name in claim.uses else "not used"
        lines.append(f"given {name}: {infix(one['left'])} {SIGNS[one['kind']]} {infix(one['right'])} ({way})")
    const, least, factor = (infix(proof.get(key, "1"), 1) for key in ("constant", "least", "factor"))
    rate = " + ".join(f"1/{infix(one, 2)}" for one in proof.get("over", []))
    start = ", ".join(f"{g} >= {low}" for g, low in sorted(proof.get("from", {}).items()))
    lower = f", left >= {least}*right" if "least" in proof else ""
    details = {
        "rate": f"|left/right - {factor}| <= {const}*({rate})",
        "constants": f"|left| <= {const}*right{lower}",
        "growth": f"left >= {const}*right/({rate})",
        "point": "false at " + ", ".join(f"{n} = {v}" for n, v in sorted(proof.get("point", {}).items())),
    }
    detail = f": {details[proof['rule']]}" if proof["rule"] in details else ""
    lines.append(f"by the rule {proof['rule']}{detail}" + (f" for {start}" if start else ""))
    return lines + [f"not checked: {what}" for what in unchecked]


def infix(expr: Any, level: int = 0) -> str:
    """Return an expression that has been read as text; level 1 is for factors, 2 for divisors and bases."""
    if isinstance(expr, str):
        return f"({expr})" if expr.startswith("-") and level else expr
    head, *args = expr
    if head == "var":
        return str(args[0])
    if head == "sum":
        return f"sum({infix(args[3])}, {args[0]} = {infix(args[1])} .. {infix(args[2])} - 1)"
    if head == "+":
        text = " + ".join(map(infix, args)).replace("+ -", "- ")
    elif head == "*":
        first = infix(args[0], int(args[0][0] == "+"))
        text = "*".join([first, *(infix(arg, 2 if arg[0] == "/" else 1) for arg in args[1:])])
    elif head == "/":
        text = f"{infix(args[0], 1)}/{infix(args[1], 2)}"
    elif head == "^":
        text = f"{infix(args[0], 2)}^{args[1]}"
    else:
        return f"{head}({', '.join(map(infix, args))})"
    return f"({text})" if level > (head != "+") or (level and text.startswith("-")) else text


# ---- JSON, within bounds -----------------------------------------------------------------------------------


def short(value: Any) -> str:
    """Return a value from a certificate as one short line."""
    text = json.dumps(value)
    return text if len(text) <= 80 else text[:77] + "..."


def canonical(value: Any) -> str:
    """Return the one JSON text of a value."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def digest(data: dict[str, Any]) -> str:
    """Return the sha256 of everything but the proof."""
    stated = {key: value for key, value in data.items() if key not in {"proof", "digest"}}
    return hashlib.sha256(canonical(stated).encode()).hexdigest()


def integer(text: Any) -> int:
    """Return the integer that a string says, written in the one usual way."""
    digits = text.removeprefix("-") if isinstance(text, str) else ""
    good = digits.isascii() and digits.isdigit() and len(digits) <= MOST_DIGITS and str(int(text)) == text
    need(good, f"no integer: {short(text)}")
    return int(text)


def is_name(name: Any) -> bool:
    """Say whether a value is a name."""
    return isinstance(name, str) and name.isidentifier() and len(name) <= LONGEST_NAME


def operation(expr: Any) -> list[Any]:
    """Return an expression that has an operator and operands."""
    good = isinstance(expr, list) and len(expr) > 1 and isinstance(expr[0], str)
    need(good, f"no expression: {short(expr)}")
    return list(expr)


def is_variable(expr: Any) -> bool:
    """Say whether an expression is a name alone."""
    return isinstance(expr, list) and len(expr) == 2 and expr[0] == "var" and isinstance(expr[1], str)


def variables(expr: Any) -> set[str]:
    """Return the names written in an expression."""
    if is_variable(expr):
        return {expr[1]}
    return set[str]().union(*map(variables, expr)) if isinstance(expr, list) else set()


def defining(one: dict[str, Any]) -> Any:
    """Return the side of a hypothesis that a definition is read from."""
    return one["left"] if one["kind"] == "divides" else one["right"]


def keys(value: Any, needed: set[str], optional: set[str] | None = None) -> None:
    """Refuse anything but an object with these keys."""
    found = set(mapping(value))
    need(needed <= found, f"missing: {sorted(needed - found)}")
    strange = sorted(found - needed - (optional or set()))
    need(not strange, f"not known: {short(strange)}")


def known(table: dict[str, Any], name: Any, what: str) -> Any:
    """Return an entry of a table."""
    need(isinstance(name, str) and name in table, f"{short(name)} is no {what}")
    return table[name]


def field(value: Any, key: str) -> Any:
    """Return a field of an object."""
    need(key in mapping(value), f"{key} is missing")
    return value[key]


def items(value: Any) -> list[Any]:
    """Return a list as it is."""
    need(isinstance(value, list), f"no list: {short(value)}")
    return list(value)


def mapping(value: Any) -> dict[str, Any]:
    """Return an object as it is."""
    need(isinstance(value, dict), f"no object: {short(value)}")
    return dict(value)


def load(raw: bytes) -> Any:
    """Return the JSON in a file.

    Raises:
        ValueError: it is too large, too deep, broken, not UTF-8, or has a bare number or a key twice.
    """
    if len(raw) > LARGEST_FILE:
        raise ValueError(f"larger than {LARGEST_FILE} bytes")
    text, depth, deepest, inside, escaped = raw.decode("utf-8"), 0, 0, False, False
    for char in text:
        if inside:
            inside, escaped = escaped or char != '"', char == "\\" and not escaped
        else:
            inside = char == '"'
            depth += (char in "[{") - (char in "]}")
            deepest = max(deepest, depth)
    if deepest > DEEPEST:
        raise ValueError(f"nested deeper than {DEEPEST}")

    def bare(word: str) -> None:
        raise ValueError(f"a number is written as text, not as {word[:20]}")

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if len({key for key, _ in pairs}) < len(pairs):
            raise ValueError("a key is given twice")
        return dict(pairs)

    return json.loads(text, parse_int=bare, parse_float=bare, parse_constant=bare, object_pairs_hook=once)


def run(path: str) -> tuple[int, str]:
    """Return 0 and the theorem in a file, 1 and why it is refused, or 2 and why it cannot be read."""
    try:
        with open(path, "rb") as file:  # noqa: PTH123 (as few imports as possible)
            data = load(file.read(LARGEST_FILE + 1))
    except (OSError, ValueError) as error:
        return 2, f"unreadable: {error}"
    try:
        return 0, "accepted: " + "\n  ".join(check(data))
    except Refused as why:
        return 1, f"refused: {why}"


if __name__ == "__main__":
    status, said = run(sys.argv[1]) if len(sys.argv) == 2 else (2, "usage: python kernel.py FILE")
    sys.stdout.write(said.encode("ascii", "backslashreplace").decode() + "\n")
    raise SystemExit(status)
