"""Which sizes a claim is about: points of its domain, small ones first."""

from __future__ import annotations

import random
from fractions import Fraction
from functools import lru_cache
from itertools import product

from .numbers import UncertainError, UndefinedError, compare
from .trees import add, compiled, mul, names, num

SUMS = {0: 0, 1: 260, 2: 62, 3: 24, 4: 15, 5: 13, 6: 12}
GRAPH_SUMS = {0: 0, 1: 120, 2: 40, 3: 20, 4: 14, 5: 12, 6: 12}
SAMPLE = 720720**2 * 10**8
HOLDS = {
    ">=": lambda c: c >= 0,
    "<=": lambda c: c <= 0,
    ">": lambda c: c > 0,
    "<": lambda c: c < 0,
    "=": lambda c: c == 0,
}


def related(left, sign, right):
    """Say whether two numbers stand in a relation; raise where that is uncertain."""
    if sign == "|" and isinstance(left, int) and isinstance(right, Fraction):
        return False
    if sign == "|":
        if not isinstance(left, int) or not isinstance(right, int):
            raise UncertainError
        return left != 0 and right % left == 0
    return HOLDS[sign](compare(left, right))


@lru_cache(maxsize=64)
def small_points(count, total):
    """Return all tuples of so many integers of at least 1 up to a sum, by their sum, then in order."""
    if count == 0:
        return ((),)
    found = []
    for one in range(count, total + 1):
        found += _of_sum(count, one)
    return tuple(found)


def _of_sum(count, total):
    if count == 1:
        return [(total,)]
    return [
        (first, *rest) for first in range(1, total - count + 2) for rest in _of_sum(count - 1, total - first)
    ]


class Domain:
    """The points of a claim's domain, with the quantities of its graph."""

    def __init__(self, claim, values=None):
        self.claim = claim
        self.of = values
        self.fixed = dict(claim.at)
        self.ties = self._ties()
        self.checks = [
            (compiled(one.left, values), one.sign, compiled(one.right, values)) for one in claim.conditions
        ]
        hidden = set() if values is None else set(values.sizes)
        self.varies = {claim.name} if claim.form in ("min", "argmin") else set()
        every = sorted((set(claim.names) | hidden) - set(self.fixed) - self.varies)
        self.every = tuple(every)
        self.free = tuple(name for name in every if name not in self.ties)

    def _ties(self):
        """Equalities that say what one size is, used to find points quickly; every one is checked again."""
        found = {}
        for one in self.claim.conditions:
            if one.sign != "=":
                continue
            for side, other in [*_solved(one.left, one.right), *_solved(one.right, one.left)]:
                if side[0] == "var" and side[1] not in names(other) | set(found) | set(self.fixed):
                    if any(side[1] in names(tree) for tree, _ in found.values()) or names(other) & set(found):
                        continue
                    found[side[1]] = (other, compiled(other, self.of))
                    break
        return found

    def complete(self, at):
        """Return a point with the tied sizes put in, or None where they are no sizes."""
        at = {**self.fixed, **at}
        for name, (_, value) in self.ties.items():
            found = value(at)
            if not isinstance(found, int) or found < 1:
                return None
            at[name] = found
        return at

    def has(self, at):
        """Say whether a complete point satisfies every condition; UncertainError where that is not clear."""
        for left, sign, right in self.checks:
            if not related(left(at), sign, right(at)):
                return False
        return self.of is None or bool(self.varies) or self.of.allows(at)

    def points(self, most=0):
        """Return the points of the domain with small sums, by sum, then in order; uncertain ones as None."""
        sums = GRAPH_SUMS if self.of is not None else SUMS
        total = sums[min(len(self.free), 6)]
        found = []
        for values in small_points(len(self.free), max(total, len(self.free) + 2)):
            at = self.point(dict(zip(self.free, values, strict=True)))
            if at is False:
                continue
            found.append(at)
        found.sort(key=lambda at: (0,) if at is None else (sum(at.values()), *[at[n] for n in self.every]))
        return found[:most] if most else found

    def point(self, at):
        """Return a point with the tied sizes, None where it is uncertain, False where it is outside."""
        try:
            at = self.complete(at)
            return at if at is not None and self.has(at) else False
        except UncertainError:
            return None
        except UndefinedError:
            return False

    @property
    def whole_up_to(self):
        """The sum up to which `points` leaves nothing out."""
        sums = GRAPH_SUMS if self.of is not None else SUMS
        return sums[min(len(self.free), 6)]

    def large(self, count, seed):
        """Yield random points of the domain, of sizes up to 10^9, borders of conditions among them."""
        rng = random.Random(seed)
        top = 9
        for _ in range(count):
            base = rng.choice([1, 1, 2, 6, 12, 720])
            at = {name: base * max(1, int(10 ** rng.uniform(0, rng.uniform(0.3, top)))) for name in self.free}
            if rng.random() < 0.5 and len(self.free) > 1:
                one, other = rng.sample(self.free, 2)
                at[one] = max(1, at[other] * rng.randint(1, 3) + rng.randint(-1, 1))
            at = self.point(self._bordered(at, rng))
            if at:
                yield at

    def _bordered(self, at, rng):
        """Move a point to the border of a condition, where one side of it is a size."""
        for one in self.claim.conditions:
            if one.sign in ("|", "=") or rng.random() < 0.4:
                continue
            for side, other in ((one.left, one.right), (one.right, one.left)):
                if (
                    side[0] == "var"
                    and side[1] in at
                    and names(other) <= set(at)
                    and side[1] not in names(other)
                ):
                    try:
                        value = compiled(other, self.of)(at)
                        near = (
                            int(value)
                            if isinstance(value, int)
                            else int(float(getattr(value, "value", value)))
                        )
                    except (UndefinedError, UncertainError, OverflowError):
                        continue
                    at[side[1]] = max(1, near + rng.choice([0, 0, 1, -1, 5]))
                    break
        return at


def _solved(left, right):
    """Return sizes that stand alone in a side of an equality, and what they are equal to."""
    terms = left[1:] if left[0] == "add" else (left,)
    return [
        (one, add(right, *(mul(num(-1), term) for term in terms if term != one)))
        for one in terms
        if one[0] == "var"
    ]


def rays(domain, grows, rng):
    """Yield the sizes that stay, and the proportion in which the others grow together."""
    moving = [name for name in domain.free if name in grows]
    if not moving:
        return
    rest = [name for name in domain.free if name not in grows]
    proportions = [(1,) * len(moving)]
    if len(moving) > 1:
        pool = [1, 1, 2, 3, 5, 7]
        proportions += list(product((1, 2, 3), repeat=len(moving)))[:26]
        proportions += [tuple(rng.choice(pool) for _ in moving) for _ in range(4)]
        proportions += [tuple(rng.choice([1, 40]) for _ in moving) for _ in range(4)]
    choices = list(dict.fromkeys(proportions))
    for values in _inside(domain, rest, moving, choices, rng):
        for share in choices:
            yield dict(zip(rest, values, strict=True)), dict(zip(moving, share, strict=True))


def _inside(domain, rest, moving, choices, rng):
    """Yield values of what does not grow with a far point in the domain: small ones, then random ones."""
    sums = GRAPH_SUMS if domain.of is not None else SUMS
    most = 12 if len(choices) > 1 else 30
    tried = list(small_points(len(rest), max(len(rest) + 5, sums[min(len(rest), 6)])))[
        : 1500 if len(choices) == 1 else 200
    ]
    tried += (
        [tuple(rng.randint(1, 12) * rng.choice([1, 6, 60]) for _ in rest) for _ in range(40)] if rest else []
    )
    found = 0
    for index, values in enumerate(tried):
        if found >= most and index < len(tried) - 40:
            continue
        if found >= most + 4:
            return
        at = dict(zip(rest, values, strict=True))
        if any(
            domain.point({**at, **{n: s * SAMPLE for n, s in zip(moving, share, strict=True)}}) is not False
            for share in choices
        ):
            found += 1
            yield values
