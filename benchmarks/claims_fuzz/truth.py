"""What is true of a claim, by brute force: on grids of integers, and along rays for what grows."""

from __future__ import annotations

import random
from dataclasses import dataclass
from fractions import Fraction

import mpmath

from .domain import Domain, rays, related
from .numbers import Real, UncertainError, UndefinedError, compare, digits, real
from .trees import compiled

FACTOR = 720720
FAR = tuple((FACTOR * 10 ** (8 * 2**j)) ** 2 for j in range(6))
FAR_OF_GRAPHS = tuple((FACTOR * 10**j) ** 2 for j in (0, 2, 4, 6))
MANY = 1300


@dataclass(frozen=True)
class Truth:
    """What brute force says: true, false, undefined, empty, or open; and a point that shows it."""

    value: str
    point: object = None
    points: int = 0
    note: str = ""


class Judge:
    """Says at a point whether a claim holds there."""

    def __init__(self, claim, values=None):
        self.claim, self.domain = claim, Domain(claim, values)
        self.left, self.right = compiled(claim.left, values), compiled(claim.right, values)
        self.bound = compiled(claim.threshold[2], values) if claim.form == "iff" else None

    def holds(self, at):
        """Say whether the claim holds at a point of its domain."""
        claim = self.claim
        left, right = self.left(at), self.right(at)
        scale = claim.extra.get("scale")
        if scale:
            left, right = left * scale[0], right * scale[1]
        if claim.form == "within":
            return self._near(left, right)
        here = related(left, claim.sign, right)
        if claim.form != "iff":
            return here
        name, sign, _ = claim.threshold
        return here == related(at[name], sign, self.bound(at))

    def _near(self, left, right):
        gap = abs(real(left) - real(right)) * 100
        share = real(self.claim.percent)
        sides = [gap <= share * abs(real(side)) for side in (left, right)]
        if sides[0] != sides[1]:
            raise UncertainError
        return sides[0]


class Tried:
    """What was seen at points: how many, how many of them uncertain, one where a side is undefined."""

    def __init__(self, judge):
        self.judge, self.seen, self.fuzzy, self.undefined = judge, 0, 0, None

    def fails(self, at):
        """Say whether the claim fails at a point; False and None are points outside, and uncertain ones."""
        if at is None or at is False:
            self.fuzzy += at is None
            return False
        self.seen += 1
        try:
            return not self.judge.holds(at)
        except UncertainError:
            self.fuzzy += 1
        except UndefinedError:
            self.undefined = self.undefined or at
        return False


def decide(claim, values=None, *, thorough=False, seed=0):
    """Return what is true of a claim."""
    if claim.form in ("asymptotic", "lim"):
        return grown(claim, values, seed)
    if claim.form in ("min", "argmin"):
        from .minima import least

        return least(claim, values)
    return _at_points(claim, Judge(claim, values), thorough=thorough, seed=seed)


def _at_points(claim, judge, *, thorough, seed):
    tried = Tried(judge)
    witness = {k: v for k, v in claim.extra.get("witness", {}).items() if k in judge.domain.free}
    shown = [judge.domain.point(witness)] if witness else []
    for at in (*judge.domain.points(), *shown, *judge.domain.large(800 if thorough else 100, seed)):
        if tried.fails(at):
            return Truth("false", at, tried.seen)
    if tried.undefined is not None:
        return Truth("undefined", tried.undefined, tried.seen)
    if not tried.seen:
        return Truth("open" if next(judge.domain.large(4000, seed + 2), None) else "empty")
    return Truth("true" if claim.made and not tried.fuzzy * 2 > tried.seen else "open", None, tried.seen)


# ---- what grows ----


def grown(claim, values, seed):
    """Return what is true of a claim about growth or a limit."""
    domain = Domain(claim, values)
    grows = (claim.name,) if claim.form == "lim" else claim.grows or domain.every
    if claim.form == "lim":
        domain.every = tuple(sorted({*domain.every, claim.name}))
        domain.free = tuple(name for name in domain.every if name not in domain.ties)
    left, right = compiled(claim.left, values), compiled(claim.right, values)
    far = FAR if values is None else FAR_OF_GRAPHS
    seen = agree = 0
    with digits(MANY if values is None else 120):
        for rest, share in rays(domain, grows, random.Random(seed)):
            found = along(claim, domain, left, right, rest, share, far)
            if found == "outside":
                continue
            seen += 1
            if found in ("false", "undefined"):
                return Truth(found, {**rest, **{name: f"{one}*t" for name, one in share.items()}}, seen)
            agree += found == "true"
            if seen >= (90 if values is None else 60):
                break
    if not seen:
        loose = sum(one.sign == "=" for one in claim.conditions) > len(domain.ties)
        tied = loose or not set(grows) <= set(domain.free)
        return Truth("open" if tied else "empty", note="no ray stays within the conditions")
    return Truth("true" if claim.made and agree == seen else "open", None, seen)


def along(claim, domain, left, right, rest, share, far):
    """Return whether a claim about growth holds along one ray: true, false, open, undefined or outside."""
    ratios = []
    for big in far:
        at = domain.point({**rest, **{name: one * big for name, one in share.items()}})
        if not at:
            if at is None:
                return "open"
            continue
        try:
            ratios.append(_compared(claim, left(at), right(at)))
        except UndefinedError:
            ratios.append("undefined")
        except UncertainError:
            return "open"
    if len(ratios) < 3:
        return "outside"
    tail = ratios[-3:]
    if "undefined" in tail:
        return "undefined" if tail == ["undefined"] * 3 else "open"
    if "apart" in tail:
        return "false" if tail == ["apart"] * 3 else "open"
    return _trend(claim, tail)


def _compared(claim, left, right):
    """Return the gap that should vanish, or the ratio that should stay bounded."""
    if claim.form == "lim":
        return abs(real(left) - real(right))
    zero_left, zero_right = (not isinstance(one, Real) and one == 0 for one in (left, right))
    if zero_left and zero_right:
        return mpmath.mpf(0 if claim.sign == "~" else 1)
    if zero_right or (zero_left and claim.sign in ("Theta", "~")):
        return "apart"
    for one in (left, right):
        if isinstance(one, Real):
            compare(one, 0)
    ratio = real(left) / real(right)
    return abs(ratio - 1) if claim.sign == "~" else abs(ratio)


def _trend(claim, tail):
    before, last = tail[-2], tail[-1]
    if claim.form == "lim" or claim.sign == "~":
        if last < mpmath.mpf("1e-5") or last <= before * mpmath.mpf("0.6"):
            return "true"
        return "false" if last > mpmath.mpf("1e-3") and last >= before * mpmath.mpf("0.98") else "open"
    rising = last > before * mpmath.mpf("1.8") and before > tail[-3] * mpmath.mpf("1.8")
    falling = last < before * mpmath.mpf("0.55") and before < tail[-3] * mpmath.mpf("0.55")
    level = abs(last - before) < abs(before) * mpmath.mpf("0.01")
    if claim.sign == "O":
        return "false" if rising else "true" if level or falling else "open"
    return "false" if rising or falling else "true" if level else "open"


def fraction_of(text):
    """Return a number that was printed, or None."""
    try:
        return Fraction(str(text))
    except (ValueError, ZeroDivisionError):
        return None
