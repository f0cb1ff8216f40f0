"""Spoiled certificates: none may pass unless it is true. Run: python benchmarks/spoil.py [N [SEED]].

Good certificates of every rule are changed at random, in statement, bounds, hypotheses, ledger and proof, and
sealed again. What the kernel accepts is judged by an evaluator of its own at random sizes. A count of crashes
stands beside: the kernel refuses, it never fails.
"""

from __future__ import annotations

import copy
import math
import random
import sys
from collections import Counter
from fractions import Fraction
from math import ceil, isqrt, prod, sqrt
from time import perf_counter

from sympy import Max, Min, ceiling, floor
from sympy import sqrt as root

import symacct
from symacct import kernel
from symacct.algebra.condition import Condition
from symacct.algebra.symbols import as_expr, symbol
from symacct.proof.certificate import (
    certify_asymptotic,
    certify_identity,
    certify_inequality,
    certify_order,
    certify_refutation,
    certify_refuted_limit,
    seal,
)
from symacct.proof.ledger import with_ledger

B, D, L, k, h, T, S = map(symbol, ("B", "D", "L", "k", "h", "T", "S"))
POINTS, ENOUGH, TRIES = 40, 3, 400
TOLERANCE, LONGEST = 1e-9, 500
WORDS = ["+", "*", "^", "/", "min", "max", "floor", "ceil", "sqrt", "var", "shift", "sum", "cases"]
RELATIONS = ["=", "<=", ">=", "<", ">", "~", "O", "Theta", "refuted"]


class TooLongError(Exception):
    """A sum is too long to be added up term by term."""


def at_least(left, right):
    return Condition("at_least", left, as_expr(right))


def good():
    """Return certificates of every rule and witness."""
    equal, divides = Condition("equal", T, S), Condition("divides", k, L)
    first, second = (L + 1) * B * D + D**2, B * D + L * D**2
    made = [
        certify_identity(6 * B * D**2 * L, 2 * B * D * (3 * D * L)),
        certify_identity((B**2 - D**2) / (B + D), B - D),
        certify_identity(6 * B * D * h, 24 * B * D**2, 1, [Condition("equal", h, 4 * D)]),
        certify_identity(2 * B * S * T + S, 2 * B * S**2 + T, 1, [equal]),
        certify_identity(k * ceiling(L / k), L, 1, [divides]),
        certify_identity(Max(B, D, (B + D) / 2), Max(B, D)),
        certify_inequality(2 * B * D, "<=", B**2 + D**2),
        certify_inequality(L / k + k, ">=", 2 * root(L)),
        certify_inequality(B * D, "<", B * D + B),
        certify_inequality(B * D, ">=", k * D**2, 1, [at_least(B, k * D)]),
        certify_inequality(B**2, ">=", D * B, 1, [at_least(2 * B, 2 * D)]),
        certify_inequality(L * D, ">=", 3 * D, 1, [at_least(L, 3)]),
        certify_inequality(Max(B, D), "<=", B + D),
        certify_inequality(Min(B, D), "<=", (B + D) / 2),
        certify_inequality((first + second) / 2, "<=", Max(first, second), {"L": 2}),
        certify_inequality(ceiling(L / k), "<=", L / k + 1),
        certify_inequality(2 * B * D / (B + D), "<=", (B + D) / 2),
        certify_asymptotic(6 * B * D**2 * L - 2 * B * D**2, 6 * B * D**2 * L, ["L"]),
        certify_asymptotic(6 * B * D**2 * L, 6 * B * D**2 * L - 2 * B * D**2, ["L"]),
        certify_asymptotic((L**2 + L * B) / (L + D), L, ["L"]),
        certify_asymptotic(12 * L * h**2 + 13 * L * h, 12 * L * h**2, ["L", "h"]),
        certify_asymptotic(L * T + S, L * S, ["L"], 1, [equal]),
        certify_asymptotic(L + root(L) * B, L, ["L"]),
        certify_asymptotic(k * ceiling(L / k), L, ["L"]),
        certify_order(6 * B * D**2 * L - 2 * B * D**2, L * D**2, ["L"]),
        certify_order(6 * B * D**2 * L - 2 * B * D**2, L, ["L"], both=True),
        certify_refutation(6 * B * D, "=", 6 * B * D**2, {"D": 2}),
        certify_refutation(Max(B, D), "<=", B, {"D": 5}),
        certify_refutation(T + 1, "=", S, {"T": 2, "S": 2}, 1, [equal]),
        certify_refuted_limit(8 * B * D * L + D, "~", 6 * B * D * L, ["L"]),
        certify_refuted_limit(8 * B * D * L**2 + D, "O", 6 * B * D * L, ["L"]),
        certify_refuted_limit(8 * B * D * L + D, "Theta", L**2, ["L"]),
        certify_identity(B * ceiling(root(2)) + floor(Max(root(5), B)), floor(Max(root(5), B)) + 2 * B),
        certify_inequality(floor(root(L)) + Min(B, ceiling(root(3))), "<=", root(L) + B),
        summed(),
        *ledgers(),
    ]
    return [(number, one) for number, one in enumerate(made) if one is not None], made.count(None)


def summed():
    """Return a sum over an index with its closed form."""
    i, b, n = ["var", "i"], ["var", "B"], ["var", "L"]
    whole = ["sum", "i", "0", n, ["+", b, ["*", "2", i]]]
    form = ["+", ["*", b, i], ["^", i, "2"], ["*", "-1", i]]
    right = ["+", ["*", b, n], ["^", n, "2"], ["*", "-1", n]]
    proof = {"rule": "identity", "uses": {}, "closed": [{"sum": whole, "form": form}]}
    return seal(
        {
            "format": kernel.FORMAT,
            "statement": {"relation": "=", "left": whole, "right": right},
            "variables": {"B": "1", "L": "1"},
            "hypotheses": [],
            "proof": proof,
        }
    )


def ledgers():
    """Yield certificates about graphs, with the rows that add up."""
    for name in ("deep_linear", "mlp", "attention"):
        account = symacct.derive(symacct.load(name))
        quantity = account["flops.model"]
        bare = certify_identity(quantity.expr, quantity.expr, 1, quantity.when)
        rows = [row for row in account.work if row.phase in {"forward", "backward"}]
        yield with_ledger(bare, rows, account.step, account.convention, quantity="flops.model")


# ---- spoiling ----


def places(value, path=()):
    """Yield the path of every part of a value."""
    yield path
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in inside:
        yield from places(part, (*path, key))


def spoiled(draw, certificate, donor):
    """Return a certificate with one to three changes, sealed again."""
    new = copy.deepcopy({key: value for key, value in certificate.items() if key != "digest"})
    for _ in range(draw.choice((1, 1, 1, 2, 3))):
        top = draw.choice(("statement", "statement", "variables", "hypotheses", "proof", "proof", "ledger"))
        if not new.get(top):
            top = "statement"
        paths = [(top, *path) for path in places(new[top]) if path]
        if paths:
            change(draw, new, draw.choice(paths), donor)
    return seal(new)


def change(draw, new, path, donor):
    """Change one part in place."""
    holder = new
    for key in path[:-1]:
        holder = holder[key]
    last, value = path[-1], holder[path[-1]]
    way = draw.random()
    if isinstance(value, str):
        holder[last] = other_text(draw, value)
    elif way < 0.2 and isinstance(holder, list) and len(holder) > 1:
        holder.pop(last)
    elif way < 0.35 and isinstance(value, list):
        draw.shuffle(value)
    elif way < 0.5 and isinstance(value, list) and value:
        value.append(copy.deepcopy(draw.choice(value)))
    elif way < 0.6 and isinstance(holder, dict):
        holder.pop(last)
    elif way < 0.7:
        holder[last] = draw.choice([None, True, {}, [], 3, "", "1", "0", ["var", "B"], ["^", "2", "64"]])
    else:
        paths = [path for path in places(donor) if path]
        for key in draw.choice(paths):
            donor = donor[key]
        holder[last] = copy.deepcopy(donor)


def other_text(draw, value):
    """Return another string of the same sort."""
    if value.lstrip("-").isdigit():
        number = int(value)
        near = [number + 1, number - 1, -number, 2 * number, 0, 1, number + 10, 10**30]
        return str(draw.choice(near))
    if value in WORDS:
        return draw.choice(WORDS)
    if value in RELATIONS:
        return draw.choice(RELATIONS)
    names = ["B", "D", "L", "k", "h", "T", "S", "i", "h1", "fma", "chain", "contraction", "bound"]
    return draw.choice([*names, "substitution", "fact", "equal", "at_least", "divides", *kernel.RULES])


# ---- an evaluator that shares nothing with the kernel ----


def value_of(expr, sizes):  # noqa: PLR0911 (one for each kind of expression)
    """Return an exact value, or a float below a root."""
    if isinstance(expr, str):
        return Fraction(expr)
    head, *parts = expr
    if head == "var":
        return Fraction(sizes[parts[0]])
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
    if head == "/":
        return values[0] / values[1]
    return {
        "+": sum,
        "*": prod,
        "min": min,
        "max": max,
        "floor": lambda v: math.floor(v[0]),
        "ceil": lambda v: ceil(v[0]),
    }[head](values)


def exact_or_float(value):
    if isinstance(value, Fraction):
        top, below = isqrt(value.numerator), isqrt(value.denominator)
        if top * top == value.numerator and below * below == value.denominator:
            return Fraction(top, below)
    return sqrt(value)


def holds(hypothesis, sizes):
    left, right = value_of(hypothesis["left"], sizes), value_of(hypothesis["right"], sizes)
    if hypothesis["kind"] == "divides":
        return left != 0 and right % left == 0
    return left == right if hypothesis["kind"] == "equal" else left >= right


def sample(draw, certificate):
    """Return sizes within bounds that satisfy the hypotheses."""
    bounds = {name: int(low) for name, low in certificate["variables"].items()}
    bounds |= {g: max(bounds[g], int(low)) for g, low in certificate["proof"].get("from", {}).items()}
    found = [dict(bounds)]
    for _ in range(TRIES):
        width = draw.choice((1, 2, 4, 12, 100))
        sizes = {name: low + draw.randrange(width) for name, low in bounds.items()}
        for one in certificate["hypotheses"]:
            target = one["right" if one["kind"] == "divides" else "left"]
            if target[0] == "var" and draw.random() < 0.9:
                other = value_of(one["left" if one["kind"] == "divides" else "right"], sizes)
                more = draw.randrange(4)
                sizes[target[1]] = {"equal": other, "at_least": other + more, "divides": other * (1 + more)}[
                    one["kind"]
                ]
        found.append(sizes)
        if len(found) >= POINTS and not certificate["hypotheses"]:
            break
    whole = [s for s in found if all(v == int(v) and v >= bounds[n] for n, v in s.items())]
    return [s for s in whole if all(holds(one, s) for one in certificate["hypotheses"])][:POINTS]


def about(left, right):
    """Return left - right with what rounding may do to it taken away."""
    gap = left - right
    return 0 if isinstance(gap, float) and abs(gap) <= TOLERANCE * max(1, abs(left), abs(right)) else gap


def true_at(certificate, sizes):
    """Say whether what the certificate claims is true at these sizes."""
    statement, proof = certificate["statement"], certificate["proof"]
    refuted = statement["relation"] == "refuted"
    said = statement["claim"] if refuted else statement
    left, right = value_of(said["left"], sizes), value_of(said["right"], sizes)
    relation = said["relation"]
    if refuted and proof["rule"] == "point":
        return not compare(relation, about(left, right))
    constant = value_of(proof.get("constant", "0"), sizes)
    if proof["rule"] == "rate":
        limit = value_of(proof.get("factor", "1"), sizes)
        room = constant * sum(1 / value_of(g, sizes) for g in proof["over"])
        return about(abs(left / right - limit), room) <= 0 and (not refuted or limit != 1)
    if proof["rule"] == "growth":
        return constant > 0 and about(left, constant * value_of(proof["over"][0], sizes) * right) >= 0
    if proof["rule"] == "constants":
        under = about(left, value_of(proof.get("least", "0"), sizes) * right) >= 0
        return about(abs(left), constant * right) <= 0 and (relation == "O" or under)
    return compare(relation, about(left, right))


def compare(relation, gap):
    return {"=": gap == 0, "<=": gap <= 0, ">=": gap >= 0, "<": gap < 0, ">": gap > 0}[relation]


def ledger_true(certificate, sizes):
    """Say whether the rows add up at these sizes, each iteration counted."""
    if "ledger" not in certificate:
        return True
    statement = certificate["statement"]
    left = statement.get("claim", statement)["left"]
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


def judged(draw, certificate):
    """Return what an accepted certificate is worth: true, FALSE, or too few points to tell."""
    if certificate["proof"]["rule"] == "point":
        points = [{name: int(value) for name, value in certificate["proof"]["point"].items()}]
        good_point = all(holds(one, points[0]) for one in certificate["hypotheses"])
        return "true" if good_point and true_at(certificate, points[0]) else "FALSE"
    points = []
    for sizes in sample(draw, certificate):
        try:
            if not (true_at(certificate, sizes) and ledger_true(certificate, sizes)):
                return "FALSE"
        except TooLongError:
            continue
        points.append(sizes)
    return "true" if len(points) >= ENOUGH or not certificate["variables"] else "few points"


def main(count=20_000, seed=7):
    """Print the table; return 1 where a false certificate passed or the kernel crashed."""
    draw = random.Random(seed)
    base, missing = good()
    rules = Counter(one["proof"]["rule"] for _, one in base)
    print(f"{len(base)} good certificates ({missing} not found): {dict(rules)}")
    results: Counter[str] = Counter()
    reasons: Counter[str] = Counter()
    start, slowest = perf_counter(), 0.0
    for _ in range(count):
        _, one = draw.choice(base)
        new = spoiled(draw, one, draw.choice(base)[1])
        before = perf_counter()
        try:
            kernel.check(new)
        except kernel.Refused as why:
            results["refused"] += 1
            reasons[str(why).split(":")[0].split('"')[0][:60]] += 1
        except Exception as bug:  # noqa: BLE001 (any failure of the kernel is what is looked for)
            results["CRASHED"] += 1
            print("crashed:", type(bug).__name__, bug, kernel.canonical(new)[:1500])
        else:
            same = new["statement"] == one["statement"] and new["variables"] == one["variables"]
            same = same and new["hypotheses"] == one["hypotheses"]
            found = judged(draw, new)
            results[f"accepted, {'statement as before' if same else 'another statement'}, {found}"] += 1
            if found == "FALSE":
                print("accepted but false:", kernel.canonical(new)[:3000])
        slowest = max(slowest, perf_counter() - before)
    print(f"{count} spoiled in {perf_counter() - start:.0f} s, the slowest {slowest:.2f} s")
    for what, times in [*sorted(results.items()), *reasons.most_common(25)]:
        print(f"{times:>8}  {what}")
    return int(any("FALSE" in what or "CRASHED" in what for what in results))


if __name__ == "__main__":
    raise SystemExit(main(*map(int, sys.argv[1:])))
