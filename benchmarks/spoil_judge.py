"""An evaluator that shares nothing with the kernel: what an accepted certificate is worth.

Its statement is tried at random points that satisfy bounds and hypotheses, exactly, or by floats below roots
and logarithms; least values by going through a grid; limits by the constants that the proof shows, and by
looking for large sizes.
"""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import islice, pairwise, product
from math import ceil, isqrt, prod

POINTS, ENOUGH, TRIES = 40, 3, 400
GRID, MOST_GRID = (1, 40, 7, 4, 2), 64
TOLERANCE, LONGEST, FAR, LARGEST_FLOAT = 1e-9, 500, (10**2, 10**3, 10**4), 1e6


LARGEST_COUNT = 150


class TooLongError(Exception):
    """A sum is too long to be added up term by term."""


def value_of(expr, sizes):  # noqa: PLR0911 (one for each kind of expression)
    """Return an exact value, or a float below a root or a logarithm."""
    if isinstance(expr, str):
        return Fraction(expr)
    head, *parts = expr
    if head == "var":
        return sizes[parts[0]] if isinstance(sizes[parts[0]], float) else Fraction(sizes[parts[0]])
    if head == "sum":
        ends = [value_of(end, sizes) for end in parts[1:3]]
        if ends[1] - ends[0] > LONGEST:
            raise TooLongError
        return sum(value_of(parts[3], {**sizes, parts[0]: i}) for i in range(int(ends[0]), int(ends[1])))
    if head == "^":
        return value_of(parts[0], sizes) ** int(parts[1])
    values = [value_of(part, sizes) for part in parts]
    if head == "sqrt":
        return exact_or_float(values[0])
    if head == "log":
        return Fraction(0) if values[0] == 1 else math.log(values[0])
    if head == "/":
        return values[0] / values[1]
    if head in {"binomial", "factorial"}:
        return counted(values)
    return {
        "+": sum,
        "*": prod,
        "min": min,
        "max": max,
        "floor": lambda v: math.floor(near(v[0])),
        "ceil": lambda v: ceil(near(v[0])),
    }[head](values)


def counted(values):
    """Return a factorial, or a binomial as its row of Pascal's triangle says."""
    whole = [near(one) for one in values]
    if any(one != int(one) for one in whole) or whole[0] < 0:
        raise ValueError
    n, *below = map(int, whole)
    if n > LARGEST_COUNT:
        raise TooLongError
    if not below:
        return Fraction(prod(range(1, n + 1)))
    row = [1]
    for _ in range(n):
        row = [1, *(a + b for a, b in pairwise(row)), 1]
    return Fraction(row[below[0]] if 0 <= below[0] <= n else 0)


def near(value):
    """Return an integer that a float is within rounding of, or the value."""
    if isinstance(value, float) and abs(value) > LARGEST_FLOAT:
        raise TooLongError  # floats are too coarse to be rounded there
    close = isinstance(value, float) and abs(value - round(value)) <= TOLERANCE * max(1, abs(value))
    return round(value) if close else value


def exact_or_float(value):
    if isinstance(value, Fraction):
        top, below = isqrt(value.numerator), isqrt(value.denominator)
        if top * top == value.numerator and below * below == value.denominator:
            return Fraction(top, below)
    return math.sqrt(value)


def about(left, right):
    """Return left - right with what rounding may do to it taken away."""
    gap = left - right
    return 0 if isinstance(gap, float) and abs(gap) <= TOLERANCE * max(1, abs(left), abs(right)) else gap


def compare(relation, gap):
    return {"=": gap == 0, "<=": gap <= 0, ">=": gap >= 0, "<": gap < 0, ">": gap > 0}[relation]


def holds(hypothesis, sizes):
    left, right = value_of(hypothesis["left"], sizes), value_of(hypothesis["right"], sizes)
    if hypothesis["kind"] == "divides":
        return (right / left) % 1 == 0 if left else right == 0
    gap = about(left, right)
    return {"equal": gap == 0, "at_least": gap >= 0, "above": gap > 0}[hypothesis["kind"]]


# ---- points ----


def declared(certificate):
    """Return (least, real, above) by variable."""
    found = {}
    for name, one in certificate["variables"].items():
        if isinstance(one, str):
            found[name] = (int(one), False, False)
        else:
            least = int(one["least"]) if "least" in one else None
            found[name] = (least, True, "above" in one)
    return found


def drawn(draw, one):
    """Return a random value of a variable."""
    least, real, above = one
    width = draw.choice((1, 2, 4, 12, 100))
    value = Fraction(draw.randrange(width))
    if real:
        value = value / draw.choice((1, 1, 2, 3, 7)) + (
            Fraction(1, draw.choice((1, 2, 9, 100))) if above else 0
        )
    return value + least if least is not None else value - draw.choice((0, 0, width))


def completed(draw, certificate, sizes):
    """Return sizes with what hypotheses say of one size put in, mostly."""
    for _ in range(2):
        for one in certificate["hypotheses"]:
            target = one["right" if one["kind"] == "divides" else "left"]
            if target[0] != "var" or draw.random() > 0.9:
                continue
            try:
                other = value_of(one["left" if one["kind"] == "divides" else "right"], sizes)
            except (ArithmeticError, ValueError):
                continue
            more = draw.randrange(4)
            now = {"equal": other, "at_least": other + more, "above": other + 1 + more,
                   "divides": other * (1 + more)}[one["kind"]]  # fmt: skip
            known = certificate["variables"][target[1]]
            sizes[target[1]] = (
                Fraction(ceil(now)) if one["kind"] != "equal" and isinstance(known, str) else now
            )
    return sizes


def legal(certificate, sizes):
    """Say whether sizes are of their kind, in their bounds, and satisfy the hypotheses."""
    for name, (least, real, above) in declared(certificate).items():
        value = sizes[name]
        if not real and value != int(value):
            return False
        if least is not None and (value <= least if above else value < least):
            return False
    try:
        return all(holds(one, sizes) for one in certificate["hypotheses"])
    except (ArithmeticError, ValueError):
        return False


def sample(draw, certificate):
    """Return sizes within bounds that satisfy the hypotheses."""
    kinds = declared(certificate)
    corner = {n: Fraction(one[0] or 0) + (Fraction(1, 50) if one[2] else 0) for n, one in kinds.items()}
    found = [corner]
    for steps in islice(product(range(GRID[min(len(kinds), 4)]), repeat=len(kinds)), MOST_GRID):
        near_corner = {n: corner[n] + step for (n, step) in zip(kinds, steps, strict=True)}
        found.append(completed(draw, certificate, near_corner))
    for _ in range(TRIES):
        sizes = {name: drawn(draw, one) for name, one in kinds.items()}
        found.append(completed(draw, certificate, sizes))
        if len(found) >= POINTS + MOST_GRID and not certificate["hypotheses"]:
            break
    return [sizes for sizes in found if legal(certificate, sizes)][: POINTS + MOST_GRID]


# ---- relations, thresholds, least values ----


def true_at(said, sizes):
    """Say whether a statement without limits and minima is true at sizes."""
    relation = said["relation"]
    if relation == "all":
        return all(true_at(one, sizes) for one in said["claims"])
    if relation == "iff":
        parts = [told(said[key], sizes) for key in ("first", "second")]
        return None in parts or parts[0] == parts[1]
    return told(said, sizes) is not False


def refutes(said, sizes):
    """Say whether a statement is false at sizes, or not told from false."""
    relation = said["relation"]
    if relation == "all":
        return any(refutes(one, sizes) for one in said["claims"])
    if relation == "iff":
        parts = [told(said[key], sizes) for key in ("first", "second")]
        return None in parts or parts[0] != parts[1]
    return told(said, sizes) is not True


def told(said, sizes):
    """Say whether a comparison is true; None where floats are too close to tell."""
    left, right = value_of(said["left"], sizes), value_of(said["right"], sizes)
    gap = about(left, right)
    if gap == 0 and said["relation"] != "=" and (isinstance(left, float) or isinstance(right, float)):
        return None
    return compare(said["relation"], gap)


def values_over(certificate, name, sizes):
    """Yield values of what varies that lie in the domain at sizes."""
    least, real, above = declared(certificate)[name]
    start = Fraction(least or 0)
    steps = [Fraction(n) for n in (*range(60), *FAR)]
    if real:
        steps += [Fraction(n, 7) for n in range(60)] + [Fraction(1, 100)]
    for step in steps:
        for value in {start + step, start + step if least is not None else start - step}:
            at = {**sizes, name: value}
            if (not above or value > start) and legal(certificate, at):
                yield at


def least_true(certificate, sizes):
    """Say whether a claim about a least value, or its place, is true at sizes."""
    said = certificate["statement"]
    name = said["over"]
    place = said["right"] if said["relation"] == "argmin" else certificate["proof"]["place"]
    at = {**sizes, name: value_of(place, sizes)}
    possible = legal_about(certificate, at)
    if not possible and "where" not in said:
        return False
    if not possible:
        return True
    least = value_of(said["left"], at)
    if said["relation"] == "min" and about(least, value_of(said["right"], sizes)) != 0:
        return False
    for other in values_over(certificate, name, sizes):
        gap = about(value_of(said["left"], other), least)
        if gap < 0 or (said["relation"] == "argmin" and gap == 0 and about(other[name], at[name]) != 0):
            return False
    return True


def legal_about(certificate, at):
    """Say whether sizes are legal, where a float may stand for a root."""
    rounded = {name: near(value) if isinstance(value, float) else value for name, value in at.items()}
    return legal(certificate, rounded)


# ---- limits ----


def limit_true_at(certificate, sizes):
    """Say whether the bound that a proof of a limit shows is true at sizes."""
    statement, proof = certificate["statement"], certificate["proof"]
    refuted = statement["relation"] == "refuted"
    said = statement["claim"] if refuted else statement
    left, right = value_of(said["left"], sizes), value_of(said["right"], sizes)
    constant = value_of(proof["constant"], sizes)
    size = -left if "turned" in proof else left
    against = 1 if said["relation"] == "limit" else abs(right)
    if proof["rule"] == "rate":
        limit = value_of(proof["factor"] if refuted else "1", sizes)
        room = constant * sum(1 / value_of(g, sizes) for g in proof["over"])
        if said["relation"] == "limit":
            goal = value_of(proof["factor"], sizes) if refuted else right
            return about(abs(left - goal), room) <= 0 and (not refuted or about(goal, right) != 0)
        return about(abs(left / right - limit), room) <= 0 and (not refuted or limit != 1)
    if proof["rule"] == "growth":
        return constant > 0 and about(size, constant * value_of(proof["over"][0], sizes) * against) >= 0
    under = "least" not in proof or about(size, value_of(proof["least"], sizes) * against) >= 0
    return about(abs(left), constant * against) <= 0 and (said["relation"] == "O" or under)


def started(certificate, sizes):
    """Say whether what grows is past the starts that a proof states."""
    starts = certificate["proof"].get("from", {})
    return all(sizes[g] >= value_of(low, sizes) for g, low in starts.items())


def grows(draw, certificate, growing):
    """Say whether there are large values of what grows, beside some others that are legal."""
    for sizes in sample(draw, certificate)[:12]:
        base = max(1, math.lcm(*(int(v) for v in sizes.values() if v == int(v) and 0 < v < 10**4)))
        base *= ceil(max([1, *(v for v in sizes.values() if v >= 10**4)]))
        for scale in (base**2 * 10**8, base * 10**8, base**2 * 10**8 + 1):
            for far in ({g: Fraction(scale) for g in growing}, {g: scale * sizes[g] ** 0 for g in growing}):
                at = {**sizes, **far}
                for _ in range(4):
                    for one in certificate["hypotheses"]:
                        if (
                            one["kind"] == "equal"
                            and one["left"][0] == "var"
                            and one["left"][1] not in growing
                        ):
                            at[one["left"][1]] = value_of(one["right"], at)
                        lower = one["kind"] in {"at_least", "above"} and one["left"][0] == "var"
                        if lower and one["left"][1] in growing and not holds(one, at):
                            at[one["left"][1]] = Fraction(ceil(value_of(one["right"], at) * base**2 + 1))
                        divided = one["kind"] == "divides" and one["right"][0] == "var"
                        if divided and one["right"][1] in growing and not holds(one, at):
                            at[one["right"][1]] *= abs(value_of(one["left"], at))
                if legal(certificate, at) and all(at[g] >= 10**6 for g in growing):
                    return True
    return False


def names(expr):
    """Return the names in an expression."""
    if isinstance(expr, str):
        return set()
    return {expr[1]} if expr[0] == "var" else set().union(*map(names, expr[1:]))


# ---- the whole ----


def ledger_true(certificate, sizes):
    """Say whether the rows add up at these sizes, each iteration counted."""
    if "ledger" not in certificate:
        return True
    statement = certificate["statement"]
    said = statement.get("claim", statement)
    left = said["left"] if "left" in said else said["first"]["left"]
    total = 0
    for row in certificate["ledger"]["rows"]:
        count = value_of(row["count"], sizes) if not row["ranges"] or "axes" in row else None
        if "axes" in row:
            axes = row["axes"]
            words = {*axes["left"], *axes["right"]} if row["primitive"] == "fma" else set(axes["out"])
            if count != prod(value_of(axes["sizes"][word], sizes) for word in words):
                return False
        worth = ["*", row["price"], row["count"]]
        for one in reversed(row["ranges"]):
            worth = ["sum", *one, worth]
        if value_of(worth, sizes) != value_of(row["total"], sizes):
            return False
        total += value_of(row["total"], sizes)
    return total == value_of(left, sizes)


def refuted_true(certificate):
    """Say whether a refutation by a point, or of a least value, is true."""
    said, proof = certificate["statement"]["claim"], certificate["proof"]
    point = {name: value_of(value, {}) for name, value in proof["point"].items()}
    if proof["rule"] == "point":
        return legal(certificate, point) and refutes(said, point)
    name = said["over"]
    if proof["rule"] == "lower":
        claimed = value_of(said["right"], point)
        if said["relation"] == "argmin":
            if "where" in said and not legal_about(certificate, {**point, name: claimed}):
                return False
            claimed = value_of(said["left"], {**point, name: claimed})
        return legal(certificate, point) and about(value_of(said["left"], point), claimed) < 0
    claimed = value_of(said["right"], point)
    found = list(values_over(certificate, name, point))
    return all(about(value_of(said["left"], at), claimed) > 0 for at in found)


def true_point(certificate, sizes):
    """Say whether what a certificate claims is true at legal sizes."""
    statement, rule = certificate["statement"], certificate["proof"]["rule"]
    said = statement.get("claim", statement)
    if not ledger_true(certificate, sizes):
        return False
    if said["relation"] in {"min", "argmin"}:
        return least_true(certificate, sizes)
    if "growing" in said:
        return rule not in {"rate", "constants", "growth"} or limit_true_at(certificate, sizes)
    return true_at(said, sizes)


def judged(draw, certificate):
    """Return what an accepted certificate is worth: true, FALSE, or too few points to tell."""
    try:
        return worth(draw, certificate)
    except (TooLongError, OverflowError):
        return "few points"


def worth(draw, certificate):
    """Return what an accepted certificate is worth, where its sums and floats can be worked out."""
    statement, rule = certificate["statement"], certificate["proof"]["rule"]
    said = statement.get("claim", statement)
    if rule in {"point", "lower", "missed"}:
        return "true" if refuted_true(certificate) else "FALSE"
    points = []
    for sizes in sample(draw, certificate):
        try:
            if "growing" in said and not started(certificate, sizes):
                continue
            if not true_point(certificate, sizes):
                return "FALSE"
        except (TooLongError, OverflowError):
            continue
        points.append(sizes)
    if "growing" in said:
        free = {name for one in statement.get("rests", []) for name in one["sizes"]}
        defined = {n for one in certificate["hypotheses"] for n in names(one["right"])}
        seen = names(said["left"]) | names(said["right"]) | free | defined
        if not set(said["growing"]) <= seen or not grows(draw, certificate, said["growing"]):
            return "FALSE"
    return "true" if len(points) >= ENOUGH or not certificate["variables"] else "few points"
