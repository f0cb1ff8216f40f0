"""Witnesses by one linear program over facts and their products, strict and free ones too.

What is at least 0 (hypotheses, what holds of roundings, logarithms and integers, squares that are
suggested, and products of two of these) is taken times monomials; what is 0 with either sign. The weights
leave a polynomial that the shift sees.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations_with_replacement
from math import comb, floor
from typing import TYPE_CHECKING, Any

from symacct import kernel
from symacct.algebra.feasible import weights
from symacct.proof.prefix import Prefix, number

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from symacct.kernel import Monomial, Poly, Ratio
    from symacct.proof.witness import Finder

MOST_FACTS, MOST_COLUMNS, MOST_TERMS, FEW, FEW_TERMS, MOST_TIMES = 40, 220, 80, 8, 16, 10
STRICT = "more than 0"
EPSILON = Fraction(1, 10**6)


@dataclass(frozen=True, slots=True)
class Known:
    """Factors whose product is at least 0 (`strict`: more), or one that is 0, and what that is."""

    factors: tuple[dict[str, Any], ...]
    worth: Ratio
    strict: bool = False
    zero: bool = False


@dataclass(frozen=True, slots=True)
class Column:
    """What is known, times a monomial, as shifted coefficients."""

    known: Known
    times: Prefix
    moved: dict[object, Fraction]
    strict: bool
    sign: int = 1


def combined(finder: Finder, value: Ratio, *, strict: bool) -> dict[str, Any] | None:
    """Return a witness that weighted facts make, or None."""
    if not value[0] or len(value[0]) > MOST_TERMS:
        return None
    target = moved(finder, value)
    facts = list(known(finder, value))[:MOST_FACTS]
    if len(facts) > FEW or len(value[0]) > FEW_TERMS:
        return solved(finder, value, target, facts, strict=strict)
    pairs = [product(finder, one, other) for one, other in combinations_with_replacement(facts, 2)]
    for chosen in (facts, [*facts, *pairs[:MOST_FACTS]]):
        if chosen and (found := solved(finder, value, target, chosen, strict=strict)):
            return found
    return None


def moved(finder: Finder, value: Ratio) -> dict[object, Fraction]:
    """Return the coefficients after the shift; a variable without a bound stays, and must cancel.

    A monomial with such a variable stands twice, with either sign, so that both must be at least 0.
    """
    box = finder.box
    free = {g for m in value[0] for g, _ in m if g not in box.lower}
    bounded = moved_poly(value[0], {g: box.lower[g] for m in value[0] for g, _ in m if g not in free})
    found: dict[object, Fraction] = {}
    for monomial, c in bounded.items():
        found[monomial] = c
        if any(g in free for g, _ in monomial):
            found[monomial, "turned"] = -c
    return found


def moved_poly(poly: Poly, lower: Mapping[str, int]) -> Poly:
    """Return a polynomial in variables counted from their bounds."""
    for name in sorted(lower):
        if not lower[name]:
            continue
        before, poly = poly, {}
        for monomial, c in before.items():
            power = dict(monomial).get(name, 0)
            rest = tuple(pair for pair in monomial if pair[0] != name)
            for k in range(power + 1):
                y: Monomial = ((name, k),) if k else ()
                times = comb(power, k) * lower[name] ** (power - k)
                kernel.put(poly, {kernel.join(rest, y): c if times == 1 else c * times})
    return poly


def known(finder: Finder, value: Ratio) -> Iterator[Known]:
    """Yield what is known of what stands in a fraction."""
    box = finder.box
    for name, given in box.facts.items():
        yield Known(({"hypothesis": name},), given, name in box.strict)
    for name, zero in box.zeros.items():
        if zero[0]:
            yield Known(({"hypothesis": name},), zero, zero=True)
    for base in [*finder.hints, *_vertices(finder, value)]:
        yield _fact(finder, {"square": base})
    for word in finder.atoms_of(value):
        for side, _ in finder.sides(word):
            yield _fact(finder, {"atom": word, "side": str(side)})
    yield from _logarithms(finder, value)
    for name in sorted(box.whole & box.names):
        if name not in box.value and (middle := _middle(value[0], name)) is not None:
            yield _fact(finder, {"consecutive": ["+", ["var", name], str(-floor(middle))]})


def _vertices(finder: Finder, value: Ratio) -> Iterator[Prefix]:
    """Yield what is squared in a polynomial of variables without a bound."""
    free = sorted({g for m in value[0] for g, _ in m if g not in finder.box.lower and g in finder.box.names})
    for name in free:
        middle = _middle(value[0], name)
        yield ["var", name] if middle is None else ["+", ["var", name], number(-middle)]
        for monomial, c in value[0].items():
            a, powers = value[0].get(((name, 2),)), dict(monomial)
            if a and a > 0 and powers.pop(name, 0) == 1 and powers:
                other = finder.written({tuple(sorted(powers.items())): c / (2 * a)})
                yield ["+", ["var", name], other]


def _fact(finder: Finder, factor: dict[str, Any]) -> Known:
    worth, strict = finder.fact(factor)
    return Known((factor,), worth, strict)


def _logarithms(finder: Finder, value: Ratio) -> Iterator[Known]:
    """Yield how slowly the logarithms in a fraction grow, seen at roots."""
    for word in finder.atoms_of(value):
        if word[0] == "log":
            inside = word[1]
            for _ in range(2):
                inside = ["sqrt", inside]
                try:
                    yield _fact(finder, {"atom": ["log", inside], "side": "0"})
                except kernel.Refused:
                    return


def _middle(poly: Poly, name: str) -> Fraction | None:
    """Return where a quadratic in one variable, with numbers as coefficients, is least."""
    square, slope = poly.get(((name, 2),)), poly.get(((name, 1),))
    return -slope / (2 * square) if square and slope and square > 0 else None


def product(finder: Finder, one: Known, other: Known) -> Known:
    """Return the product of two facts."""
    if one.zero or other.zero:
        return one
    worth = finder.box.product(one.worth, other.worth)
    return Known((*one.factors, *other.factors), worth, one.strict and other.strict)


def solved(
    finder: Finder, value: Ratio, target: dict[object, Fraction], facts: list[Known], *, strict: bool
) -> dict[str, Any] | None:
    """Return the witness of a linear program over facts times monomials."""
    columns = [column for one in facts for column in _columns(finder, value, one)]
    columns = columns[:MOST_COLUMNS]
    scales: list[Poly] = [{(): Fraction(1)}, *finder.multipliers(value[0])[1:6]]
    stretched = [moved(finder, (finder.box.times(m, value[0]), kernel.ONE)) for m in scales[1:]]
    right: dict[object, Fraction] = {m: -c for m, c in target.items()}
    strictly = [_row(finder, one.moved) for one in columns]
    rows = [{m: -c for m, c in one.moved.items()} for one in columns]
    rows += [dict(one) for one in stretched]
    if strict:
        right[STRICT] = EPSILON - _row(finder, target)
        for row, column, share in zip(rows, columns, strictly, strict=False):
            row[STRICT] = Fraction(int(column.strict)) - share
        for row, wide in zip(rows[len(columns) :], stretched, strict=True):
            row[STRICT] = _row(finder, wide)
    found = weights(rows, right) if rows else None
    return None if found is None else _witness(finder, value, columns, scales, found)


def _row(finder: Finder, moved: dict[object, Fraction]) -> Fraction:
    """Return the sum of the coefficients of what is above 0 itself."""
    above = finder.box.above
    return sum((c for m, c in moved.items() if _above(m, above)), Fraction(0))


def _above(monomial: object, above: set[str]) -> bool:
    """Say whether a monomial holds nothing but what is above its bound."""
    pairs = monomial if isinstance(monomial, tuple) else ()
    return all(isinstance(pair, tuple) and pair[0] in above for pair in pairs)


def _columns(finder: Finder, value: Ratio, one: Known) -> Iterator[Column]:
    box = finder.box
    below = one.worth[1]
    for each in _quotients(finder, value, one.worth):
        monomial: Poly = {each: Fraction(1)}
        times: Ratio = (monomial, kernel.ONE)
        worth = box.product(times, (one.worth[0], kernel.ONE))
        if worth[1] != kernel.ONE:
            continue
        shifted = moved(finder, worth)
        weight = finder.written(box.times(monomial, below))
        strict = one.strict and box.sure(times, strict=True)
        yield Column(one, weight, shifted, strict)
        if one.zero:
            yield Column(one, weight, {m: -c for m, c in shifted.items()}, strict=False, sign=-1)


def _quotients(finder: Finder, value: Ratio, worth: Ratio) -> list[Monomial]:
    """Return by what a fact is taken times: what makes the most of its terms terms of the fraction."""
    found: Counter[Monomial] = Counter([()])
    for wanted in value[0]:
        powers = dict(wanted)
        for term in worth[0]:
            if all(powers.get(g, 0) >= e for g, e in term):
                under = dict(term)
                found[tuple((g, e - under.get(g, 0)) for g, e in wanted if e > under.get(g, 0))] += 1
    kept = [m for m in found if all(g in finder.box.lower for g, _ in m)]
    return sorted(kept, key=lambda m: (-found[m], sum(e for _, e in m), m))[:MOST_TIMES]


def _witness(
    finder: Finder, value: Ratio, columns: list[Column], scales: list[Poly], found: list[Fraction]
) -> dict[str, Any]:
    terms, equal = [], []
    for weight, one in zip(found, columns, strict=False):
        if not weight:
            continue
        times = _times(number(weight * one.sign), one.times)
        if one.known.zero:
            equal.append({"hypothesis": one.known.factors[0]["hypothesis"], "times": times})
        else:
            terms.append({"times": times, "factors": list(one.known.factors)})
    scale = dict(kernel.ONE)
    for weight, monomial in zip(found[len(columns) :], scales[1:], strict=True):
        kernel.put(scale, dict.fromkeys(monomial, weight) if weight else {})
    made = {"kind": "sum", "scale": finder.written(finder.box.times(scale, value[1])), "terms": terms}
    return {**made, "equal": equal} if equal else made


def _times(left: Prefix, right: Prefix) -> Prefix:
    return right if left == "1" else left if right == "1" else ["*", left, right]


def combination(finder: Finder, gap: Ratio) -> list[dict[str, Any]]:
    """Return multiples of what hypotheses say is 0 that add up to a fraction, if there are any."""
    target = moved(finder, (gap[0], kernel.ONE))
    columns = [
        one for name, zero in finder.box.zeros.items() if zero[0]
        for one in _columns(finder, gap, Known(({"hypothesis": name},), zero, zero=True))
    ][:MOST_COLUMNS]  # fmt: skip
    rows: list[dict[object, Fraction]] = [
        {**{(m, 1): c for m, c in one.moved.items()}, **{(m, -1): -c for m, c in one.moved.items()}}
        for one in columns
    ]
    right: dict[object, Fraction] = {(m, 1): c for m, c in target.items()}
    right |= {(m, -1): -c for m, c in target.items()}
    found = weights(rows, right) if rows else None
    below = finder.written(gap[1])
    return [
        {
            "hypothesis": one.known.factors[0]["hypothesis"],
            "times": ["/", _times(number(w * one.sign), one.times), below],
        }
        for w, one in zip(found or [], columns, strict=False)
        if w
    ]
