"""Spoiled certificates: none may pass unless it is true. Run: python benchmarks/spoil.py [N [SEED]].

Good certificates of every rule are changed at random, in statement, bounds, hypotheses, ledger and proof, and
sealed again. What the kernel accepts is judged by an evaluator of its own at random sizes. A count of crashes
stands beside: the kernel refuses, it never fails.
"""

from __future__ import annotations

import copy
import random
import sys
from collections import Counter
from pathlib import Path
from time import perf_counter

from sympy import Max, Min, ceiling, floor, log
from sympy import sqrt as root

import symacct
from symacct import kernel
from symacct.algebra.condition import Condition
from symacct.algebra.factorials import Binomial, Factorial
from symacct.algebra.symbols import as_expr, symbol
from symacct.proof.certificate import (
    POSITIVE,
    Least,
    certify_all,
    certify_argmin,
    certify_asymptotic,
    certify_identity,
    certify_iff,
    certify_inequality,
    certify_limit,
    certify_min,
    certify_order,
    certify_refutation,
    certify_refuted_iff,
    certify_refuted_limit,
    certify_refuted_min,
    seal,
)
from symacct.proof.ledger import with_ledger
from symacct.proof.rests import rest_of

sys.path.insert(0, str(Path(__file__).parent))
from spoil_judge import judged

B, D, L, k, h, T, S, x = map(symbol, ("B", "D", "L", "k", "h", "T", "S", "x"))
WORDS = [
    "+",
    "*",
    "^",
    "/",
    "min",
    "max",
    "floor",
    "ceil",
    "sqrt",
    "log",
    "var",
    "shift",
    "sum",
    "cases",
    "whole",
    "binomial",
    "factorial",
]
RELATIONS = ["=", "<=", ">=", "<", ">", "~", "O", "Theta", "limit", "min", "argmin", "iff", "all", "refuted"]
KINDS = ["equal", "at_least", "above", "divides"]


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
        *limits(),
        *minima(),
        *parted(),
        *counted(),
    ]
    return [(number, one) for number, one in enumerate(made) if one is not None], made.count(None)


def above(left, right):
    return Condition("above", as_expr(left), as_expr(right))


def limits():
    """Return certificates about limits, logarithms, and sizes that are tied to what grows."""
    account = symacct.derive(symacct.load("deep_linear"))
    rest = [rest_of(account, "params")]
    tied = [Condition("equal", T, 2 * L)]
    return [
        certify_limit((2 * L + 1) / L, as_expr(2), ["L"]),
        certify_limit((D * L + B) / (L + 1), D, ["L"]),
        certify_limit(log(L) / L, as_expr(0), ["L"]),
        certify_limit(B / L + D / k, as_expr(0), ["L", "k"]),
        certify_refuted_limit((2 * L + 1) / L, "limit", as_expr(3), ["L"]),
        certify_refuted_limit((2 * L**2 + 1) / L, "limit", as_expr(3), ["L"]),
        certify_refuted_limit(L * log(L), "O", L, ["L"]),
        certify_order(log(L), L, ["L"]),
        certify_order(3 * L * log(L), L**2, ["L"]),
        certify_asymptotic(L * log(L) + L, L * log(L), ["L"]),
        certify_order(B * L, L, ["L"], bounds=1, hypotheses=[at_least(L, 2 * B)]),
        certify_order(T * L, L**2, ["L"], both=True, bounds=1, hypotheses=tied),
        certify_order(B * L, L, ["L"], bounds=1, hypotheses=[Condition("divides", B, L)]),
        certify_asymptotic(T + B, T, ["L"], 1, tied),
        certify_order(L * k + L, L * k, ["L", "k"], both=True, bounds=1, hypotheses=[at_least(L, 2 * k)]),
        certify_order(D, as_expr(1), ["L"], both=True, rests=rest),
        certify_order((B - 1) * L, L, ["L"], both=True, bounds={"B": 2}),
        certify_limit(x / (x + 1), as_expr(1), ["x"], {"x": POSITIVE}),
    ]


def minima():
    """Return certificates about least values, where they are, and other ones."""
    real, free = {"k": POSITIVE}, {"x": Least(None, real=True)}
    divides, least = Condition("divides", k, L), at_least(L / k, 2)
    return [
        certify_min(L / k + k, "k", 2 * root(L), None, real),
        certify_argmin(L / k + k, "k", root(L), real),
        certify_argmin(L / k + k, "k", root(L), 1, [divides, least], where_possible=True),
        certify_argmin((k - 3) ** 2 + L, "k", as_expr(3)),
        certify_min((k - 3) ** 2 + L, "k", L),
        certify_min(L * k + B, "k", L + B),
        certify_min((x - 3) ** 2 + L, "x", L, as_expr(3), free),
        certify_min(k + ceiling(L / k), "k", ceiling(2 * root(L))),
        certify_min(k * B, "k", D * B, D, 1, [at_least(k, D)]),
        certify_refuted_min("min", L / k + k, "k", 3 * root(L), {"L": 4, "k": 2}, real),
        certify_refuted_min("min", L / k + k, "k", root(L), {"L": 4}, real),
        certify_refuted_min("min", k + ceiling(L / k), "k", ceiling(2 * root(L)), {"L": 5}, 1, [divides]),
        certify_refuted_min("argmin", L / k + k, "k", root(L) + 1, {"L": 4, "k": 2}, real),
    ]


def parted():
    """Return certificates of several parts, of thresholds, integers, numbers, real and strict conditions."""
    real = {"x": POSITIVE, "B": POSITIVE}
    return [
        certify_iff((2 * B, "<=", as_expr(6)), (B, "<=", as_expr(3))),
        certify_iff((B * D, ">", D * k), (B, ">", k)),
        certify_iff((B / x, "<", B / k), (x, ">", k), {**real, "k": POSITIVE}),
        certify_iff((Max(B, D), ">", D), (B, ">", D)),
        certify_refuted_iff((2 * B, "<=", as_expr(6)), (B, "<=", as_expr(2)), {"B": 3}),
        certify_all([(100 * B + 1, "<=", 103 * B), (100 * B + 1, ">=", 97 * B)]),
        certify_identity(ceiling(B / 2) + floor(B / 2), B),
        certify_identity(Max(B, D) + Min(B, D), B + D),
        certify_identity(B**2 + B * k, B * D + B, 1, [Condition("equal", B + k, D + 1)]),
        certify_inequality(B * (k + h), "<=", B * D + 1, 1, [Condition("equal", k + h, D)]),
        certify_identity(B, as_expr(1), 1, [at_least(as_expr(1), B)]),
        certify_inequality(B**2 - 3 * B + 2, ">=", as_expr(0)),
        certify_inequality(root(5), "<", as_expr(3)),
        certify_inequality(root(2) + root(3), ">", as_expr(3)),
        certify_identity(log(2 * B), log(B) + log(2)),
        certify_inequality(log(B), "<", B),
        certify_inequality(x**2 + 1, ">=", 2 * x, {"x": Least(None, real=True)}),
        certify_inequality(x**2, ">", B * x, real, [above(x, B)]),
        certify_inequality(root(B), ">", D, 1, [above(root(B), D)]),
        certify_inequality(2 * B, ">", 2 * k * D, 1, [above(B, k * D)]),
    ]


def counted():
    """Return certificates about factorials and binomials: polynomials, anchors, factorials, facts."""
    less = [at_least(L, k)]
    n, one = Factorial(L), Binomial(L, k)
    return [
        certify_identity(Binomial(L, 2), L * (L - 1) / 2),
        certify_identity(Binomial(L, L - 1), L),
        certify_identity(Binomial(L, L + 1), as_expr(0)),
        certify_identity(one, Binomial(L - 1, k) + Binomial(L - 1, k - 1)),
        certify_identity(k * one, L * Binomial(L - 1, k - 1)),
        certify_identity(Binomial(B + D, B), Binomial(B + D - 1, B) * (B + D) / D),
        certify_identity(Factorial(L + 2), (L + 2) * (L + 1) * n),
        certify_identity(one, n / (Factorial(k) * Factorial(L - k)), 1, less),
        certify_inequality(n, ">=", L),
        certify_inequality(n, ">=", L**2, 1, [at_least(L, 4)]),
        certify_inequality(Binomial(B + D, B), ">=", B + D),
        certify_inequality(one, ">=", as_expr(1), 1, less),
        certify_inequality(Binomial(L - 1, k - 1), "<=", one),
        certify_inequality(Binomial(L, 3), "<=", L**3 / 6),
        certify_order(Binomial(L, 2), L**2, ["L"], both=True),
        certify_asymptotic(Binomial(L + 3, 3), L**3 / 6, ["L"]),
        certify_refutation(n, "<=", L**3, {"L": 6}),
        certify_refutation(one, ">=", as_expr(1), {"L": 1, "k": 2}),
        certify_refuted_limit(Binomial(L, 3), "O", L**2, ["L"]),
    ]


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
        holder[last] = draw.choice(
            [
                None,
                True,
                {"real": True},
                {"least": "0", "real": True, "above": True},
                {},
                [],
                3,
                "",
                "1",
                "0",
                ["var", "B"],
                ["^", "2", "64"],
            ]
        )
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
    if value in KINDS:
        return draw.choice(KINDS)
    names = ["B", "D", "L", "k", "h", "T", "S", "x", "i", "h1", "h2", "fma", "chain", "contraction", "bound"]
    names += ["second", "denied", "apart", "least_there", "h1_there", "large", "most", "room", "possible"]
    return draw.choice([*names, "substitution", "fact", *KINDS, *kernel.RULES])


def judgement(draw, certificate):
    """Return what an accepted certificate is worth; where the judge fails, that is shown."""
    try:
        return judged(draw, certificate)
    except Exception as bug:  # noqa: BLE001 (what cannot be judged is looked at)
        print("not judged:", type(bug).__name__, bug, kernel.canonical(certificate)[:1500])
        return "not judged"


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
            found = judgement(draw, new)
            results[f"accepted, {'statement as before' if same else 'another statement'}, {found}"] += 1
            if found == "FALSE":
                print("accepted but false:", kernel.canonical(new))
        slowest = max(slowest, perf_counter() - before)
    print(f"{count} spoiled in {perf_counter() - start:.0f} s, the slowest {slowest:.2f} s")
    for what, times in [*sorted(results.items()), *reasons.most_common(25)]:
        print(f"{times:>8}  {what}")
    return int(any("FALSE" in what or "CRASHED" in what for what in results))


if __name__ == "__main__":
    raise SystemExit(main(*map(int, sys.argv[1:])))
