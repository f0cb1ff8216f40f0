"""Constants for limits: how large a ratio can be, and how fast it falls, monomial by monomial."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from symacct import kernel
from symacct.proof.prefix import Prefix, number

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from symacct.kernel import Box, Monomial, Poly, Ratio
    from symacct.proof.witness import Finder

HALF = Fraction(1, 2)
THETA = "what rounding adds"
LOG = "log "
Powers = dict[str, Fraction]


@dataclass(frozen=True, slots=True)
class Rate:
    """|ratio| <= constant * (sum of 1/g for g in over)."""

    constant: Prefix
    over: list[Prefix]

    def falling(self, box: Box) -> Ratio:
        """Return the sum of 1/g."""
        total = kernel.constant(0)
        for one in self.over:
            total = box.plus(total, box.over(kernel.constant(1), box.read(one)))
        return total


def constant_for(
    finder: Finder, ratio: Ratio, growing: Sequence[str], moving: Collection[str]
) -> list[Prefix]:
    """Return constants that |ratio| should not pass, one for each way to bound the logarithms in it."""
    found = (_constant(finder, ratio, growing, moving, roots) for roots in _options(finder, ratio))
    return [one for one in found if one is not None]


def fallers(finder: Finder, ratio: Ratio, growing: Sequence[str], moving: Collection[str]) -> list[Rate]:
    """Return rates at which the ratio should fall, one for each way to bound the logarithms in it."""
    found = (rate_for(finder, ratio, growing, moving, roots) for roots in _options(finder, ratio))
    return [one for one in found if one is not None]


def _options(finder: Finder, ratio: Ratio) -> list[int | None]:
    """Return how logarithms may be bounded: not at all, or by the size, its root, the root of that."""
    has = any(finder.words.get(g, ["var"])[0] == "log" for part in ratio for m in part for g, _ in m)
    return [None, 0, 1, 2] if has else [None]


def _constant(
    finder: Finder, ratio: Ratio, growing: Sequence[str], moving: Collection[str], roots: int | None
) -> Prefix | None:
    """Return a constant that |ratio| should not pass, or None where some term grows."""
    terms: list[Prefix] = []
    top, under = _loose(finder, ratio, roots)
    for monomial, c in top.items():
        best = _match(finder, monomial, under, growing, moving, strict=False)
        if best is None:
            return None
        terms.append(_scaled(abs(c) / best[1], best[0]))
    return _sum(terms)


def rate_for(
    finder: Finder, ratio: Ratio, growing: Sequence[str], moving: Collection[str], roots: int | None = None
) -> Rate | None:
    """Return a rate at which the ratio should fall, or None where some term does not fall."""
    terms: list[Prefix] = []
    over: dict[str, Prefix] = {}
    top, under = _loose(finder, ratio, roots)
    for monomial, c in top.items():
        best = _match(finder, monomial, under, growing, moving, strict=True)
        if best is None:
            return None
        rest, value, falls = best
        terms.append(_scaled(abs(c) / value, rest))
        name = min(falls, key=lambda g: (falls[g], g))
        word = _falling_word(name, falls[name])
        over[kernel.canonical(word)] = word
    if not terms:
        return Rate("0", [["var", growing[0]]])
    return Rate(_sum(terms), [over[key] for key in sorted(over)])


def _falling_word(name: str, power: Fraction) -> Prefix:
    """Return the size, its root or its logarithm, whose inverse falls as slowly as a power."""
    if name.startswith(LOG):
        return ["log", ["var", name.removeprefix(LOG)]]
    word: Prefix = ["var", name]
    for _ in range(3):
        if power <= -1:
            break
        word, power = ["sqrt", word], 2 * power
    return word


def _loose(finder: Finder, ratio: Ratio, roots: int | None) -> Ratio:
    """Return a bound on |ratio|, without a minus.

    A logarithm stands as 2^r times the 2^r-th root of its argument, if r is given.
    floor(x) stands as x - t and ceil(x) as x + t with t from 0 to 1, a min or max as the sum of its operands.
    """
    total = kernel.constant(0)
    rounding: Ratio = {((THETA, 1),): Fraction(1)}, kernel.ONE
    for monomial, c in ratio[0].items():
        value: Ratio = {(): c}, kernel.ONE
        for name, power in monomial:
            word = finder.words.get(name, ["var"])
            part: Ratio = {((name, 1),): Fraction(1)}, kernel.ONE
            if word[0] in {"ceil", "floor"}:
                part = finder.box.plus(finder.box.read(word[1]), rounding, 1 if word[0] == "ceil" else -1)
            elif word[0] == "log" and roots is not None:
                inside = word[1]
                for _ in range(roots):
                    inside = ["sqrt", inside]
                part = finder.box.product(kernel.constant(2**roots), finder.box.read(inside))
            elif word[0] in {"max", "min"}:
                part = kernel.constant(0)
                for operand in word[1:]:
                    part = finder.box.plus(part, _unsigned(finder.box.read(operand)))
            for _ in range(power):
                value = finder.box.product(value, part)
        total = finder.box.plus(total, value)
    result: Poly = {}
    for monomial, c in total[0].items():
        kernel.put(result, {tuple(pair for pair in monomial if pair[0] != THETA): abs(c)})
    return result, finder.box.times(total[1], ratio[1])


def _unsigned(value: Ratio) -> Ratio:
    """Return a fraction with all coefficients above the line positive."""
    return {monomial: abs(c) for monomial, c in value[0].items()}, value[1]


def _match(
    finder: Finder,
    monomial: Monomial,
    below: Poly,
    growing: Sequence[str],
    moving: Collection[str],
    *,
    strict: bool,
) -> tuple[Prefix, Fraction, Powers] | None:
    """Return the fixed part of monomial/term, for the term below that outgrows it best."""
    found = []
    for term, value in below.items():
        powers: dict[str, int] = dict(monomial)
        for name, power in term:
            powers[name] = powers.get(name, 0) - power
        grown = _growth(finder, powers, growing, moving)
        if value <= 0 or grown is None:
            continue
        rest, falls = grown
        if _falls(falls, strict=strict):
            found.append((sum(falls.values()), len(rest), kernel.canonical(term), rest, value, falls))
    if not found:
        return None
    _, _, _, rest, value, falls = min(found, key=lambda one: one[:3])
    return _power_word(finder, rest), value, falls


def _falls(falls: Powers, *, strict: bool) -> bool:
    """Say whether powers do not grow; powers of logarithms count by themselves."""
    return all(p <= 0 for p in falls.values()) and (not strict or any(p < 0 for p in falls.values()))


def _growth(
    finder: Finder, powers: dict[str, int], growing: Sequence[str], moving: Collection[str]
) -> tuple[dict[str, int], Powers] | None:
    """Split a Laurent monomial into its fixed part and its powers of what grows."""
    falls: Powers = {}
    rest: dict[str, int] = {}
    for name, power in powers.items():
        word = finder.words.get(name)
        if power == 0:
            continue
        if name in growing:
            falls[name] = falls.get(name, Fraction(0)) + power
        elif word is not None and (scale := _rooted(word)) is not None and scale[0] in growing:
            falls[scale[0]] = falls.get(scale[0], Fraction(0)) + scale[1] * power
        elif word is not None and word[0] == "log" and word[1][0] == "var" and word[1][1] in growing:
            falls[LOG + word[1][1]] = falls.get(LOG + word[1][1], Fraction(0)) + power
        elif finder.box.inside.get(name, frozenset({name})) & set(moving) or word is None:
            return None
        else:
            rest[name] = power
    return rest, falls


def _rooted(word: Prefix) -> tuple[str, Fraction] | None:
    """Return a size and its power, for a root of a root of it."""
    power = Fraction(1)
    while isinstance(word, list) and word[0] == "sqrt":
        word, power = word[1], power * HALF
    return (word[1], power) if isinstance(word, list) and word[0] == "var" and power < 1 else None


def _power_word(finder: Finder, powers: dict[str, int]) -> Prefix:
    def side(sign: int) -> list[Prefix]:
        return [
            finder.words[g] if abs(e) == 1 else ["^", finder.words[g], str(abs(e))]
            for g, e in sorted(powers.items())
            if e * sign > 0
        ]

    above, below = (_joined(side(sign)) for sign in (1, -1))
    return above if below == "1" else ["/", above, below]


def _joined(factors: list[Prefix]) -> Prefix:
    return factors[0] if len(factors) == 1 else ["*", *factors] if factors else "1"


def _scaled(value: Fraction, rest: Prefix) -> Prefix:
    if rest == "1":
        return number(value)
    return rest if value == 1 else ["*", number(value), rest]


def _sum(terms: list[Prefix]) -> Prefix:
    return terms[0] if len(terms) == 1 else ["+", *terms] if terms else "0"
