"""Minima by trying values: integers one by one, real numbers on a grid that is refined, and borders."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import mpmath

from .domain import Domain, related
from .numbers import Real, UncertainError, UndefinedError, real
from .trees import compiled, names, parts

GRID = tuple(
    Fraction(2) ** (Fraction(j, 4).__floor__()) * Fraction([4, 5, 6, 7][j % 4], 4) for j in range(-16, 60)
)
MOST = 150
NARROW = mpmath.mpf(10) ** -9


def rounds(tree):
    """Say whether a formula rounds."""
    return tree[:2] in (("call", "ceil"), ("call", "floor")) or any(rounds(one) for one in parts(tree))


def least(claim, values):
    """Return what is true of a claim about a minimum."""
    from .truth import Truth

    apart = [one for one in claim.conditions if claim.name not in names(one.left) | names(one.right)]
    tied = [one for one in claim.conditions if one not in apart]
    domain = Domain(without(claim, apart), values)
    integers = rounds(claim.left) or any(one.sign == "|" for one in tied)
    seen = fuzzy = empty = 0
    for at in domain.points(500) if values is None else _sizes(domain):
        if seen >= (24 if values is None else 12):
            break
        if at is None:
            fuzzy += 1
            continue
        try:
            found = at_sizes(claim, tied, at, values, integers=integers)
        except UncertainError:
            fuzzy += 1
            continue
        except UndefinedError:
            return Truth("undefined", at, seen)
        if found == "none":
            empty += 1
            continue
        seen += 1
        if found in ("false", "undefined"):
            return Truth(found, at, seen)
        fuzzy += found == "open"
    if not seen:
        return Truth("empty" if values is None else "open")
    return Truth("true" if claim.made and not fuzzy and not empty else "open", None, seen)


def _sizes(domain):
    """Yield sizes of a graph, with counts that have many divisors."""
    counts = (4, 6, 8, 9, 12, 16, 18, 20, 24, 36, 48, 64)
    rest = [name for name in domain.free if name not in ("L", "k")]
    for total in range(1, 9):
        for count in counts:
            for values in product((1, 2, 3, 9), repeat=len(rest)):
                at = {**dict(zip(rest, values, strict=True)), "L": count}
                if sum(values) == total and "L" in domain.free:
                    found = domain.point(at)
                    if found:
                        yield found


def without(claim, apart):
    from dataclasses import replace

    return replace(claim, conditions=tuple(apart))


def at_sizes(claim, tied, at, values, *, integers):
    """Return whether the claim holds at some sizes: true, false, open, or none where nothing is allowed."""
    value, claimed = compiled(claim.left, values), compiled(claim.right, values)(at)
    checks = [(compiled(one.left, values), one.sign, compiled(one.right, values)) for one in tied]

    def allowed(place):
        here = {**at, claim.name: place}
        return all(related(left(here), sign, right(here)) for left, sign, right in checks)

    def worth(place):
        return real(value({**at, claim.name: place}))

    if values is not None:
        return _of_graph(claim, at, values, allowed, claimed)
    places = (
        [k for k in range(1, MOST) if allowed(k)] if integers else _places(claim, tied, at, values, allowed)
    )
    if not places:
        return "none"
    worths = [(worth(place), place) for place in places]
    best, where = min(worths, key=lambda pair: pair[0])
    if not integers:
        best, where = _refined(worth, allowed, where, best)
    scale = max(abs(best), mpmath.mpf(1))
    if claim.form == "argmin":
        return _place(claimed, integers, allowed, worth, best, scale)
    at_0 = not integers and where < GRID[0]
    gap, open_end = real(claimed) - best, at_0 or any(one.sign in "<>" for one in tied)
    if abs(gap) <= NARROW * scale:
        return "open" if open_end else "true"
    if gap > 0 or (integers and where < MOST // 2):
        return "false"
    return "false" if not integers and -gap > scale * mpmath.mpf("1e-5") else "open"


def _of_graph(claim, at, values, allowed, claimed):
    """Return whether integers show that something is not the least; other numbers have no value here."""
    value = compiled(claim.left, values)
    found = {}
    for k in range(1, 40):
        here = {**at, claim.name: k}
        if values.allows(here) and allowed(k):
            found[k] = value(here)
    if not found:
        return "none"
    best = min(found.values())
    if claim.form == "min" and len(found) == 1 and _alone(claim, at, values, allowed, next(iter(found))):
        return "false" if abs(real(claimed) - best) > NARROW * max(1, best) else "open"
    if claim.form == "min":
        return "false" if real(claimed) - best > NARROW * max(1, best) else "open"
    return "false" if isinstance(claimed, int) and claimed in found and found[claimed] > best else "open"


def _alone(claim, at, values, allowed, place):
    """Return whether conditions leave one place alone, among real numbers too."""

    def inside(k):
        here = {**at, claim.name: k}
        kept = [one for one in values.when if one[1] != "|"]
        return allowed(k) and all(related(left(here), sign, right(here)) for left, sign, right in kept)

    near = Fraction(1, 1000)
    others = [k for k in range(1, 40) if k != place] + [place + near, place - near]
    return inside(place) and not any(inside(k) for k in others)


def _place(claimed, integers, allowed, worth, best, scale):
    if integers and not isinstance(claimed, int):
        return "false"
    if real(claimed) <= 0:
        return "false"
    try:
        if not allowed(claimed):
            return "false"
    except UncertainError:
        return "open"
    gap = worth(claimed) - best
    return "false" if gap > NARROW * scale else "true"


def _places(claim, tied, at, values, allowed):
    tried = list(GRID)
    for one in tied:
        for side, other in ((one.left, one.right), (one.right, one.left)):
            if side == ("var", claim.name) and claim.name not in names(other):
                border = compiled(other, values)(at)
                if not isinstance(border, Real):
                    near = Fraction(1, 1000)
                    tried += [
                        border,
                        border + near,
                        border - near,
                        Fraction(border) / 2,
                        Fraction(border) * 2,
                    ]
    return [place for place in tried if place > 0 and _allows(allowed, place)]


def _allows(allowed, place):
    try:
        return allowed(place)
    except UncertainError:
        return False


def _refined(worth, allowed, where, best):
    """Improve a place by smaller and smaller steps."""
    where, step = Fraction(where), Fraction(where) / 4
    for _ in range(50):
        better = [
            (worth(place), place)
            for place in (where - step, where + step)
            if place > 0 and _allows(allowed, place)
        ]
        value, place = min(better, key=lambda pair: pair[0], default=(best, where))
        if value < best:
            best, where = value, place
        else:
            step /= 2
        if step < where / 10**6:
            break
    return best, where
