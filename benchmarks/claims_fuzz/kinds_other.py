"""Makers of claims about minima, thresholds, nearness and units."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from .claim import Claim, Condition
from .making import (
    condition,
    expand,
    polynomial,
    some_names,
)
from .trees import add, call, div, mul, num, power, sub, var
from .trees import replace as put


def minimum(rng):
    """Make a claim about a minimum or its place, over real numbers or integers."""
    name = rng.choice(["k", "k", "j", "x"])
    k = var(name)
    rest = some_names(rng, 1)
    size = var(rest[0]) if rng.random() < 0.6 else num(rng.choice([4, 9, 16, 25, 5, 12]))
    if size == k:
        size = num(9)
    a = num(rng.choice([1, 1, 2, 3]))
    form = rng.choice(["min", "argmin"])
    roll = rng.random()
    if roll < 0.2:
        left = add(k, call("ceil", div(size, k)))
        right = call("ceil", mul(num(2), call("sqrt", size)))
        return Claim("minimum", "min", left, "=", right, name=name)
    left = add(mul(a, k), div(size, k))
    place = call("sqrt", div(size, a)) if a != num(1) else call("sqrt", size)
    value = mul(num(2), call("sqrt", mul(a, size)))
    if roll < 0.35:
        c = num(rng.randint(1, 6))
        left, value = add(left, c), add(value, c)
    elif roll < 0.45:
        left, place, value = power(sub(k, num(3)), 2), num(3), num(0)
    elif roll < 0.5:
        extra = div(num(1), sub(var("a"), num(1)))
        return Claim("minimum", "min", add(left, extra), "=", add(value, extra), name=name, may_refuse=True)
    return Claim("minimum", form, left, "=", value if form == "min" else place, name=name, made=True)


def minimum_if(rng):
    """Make a claim about a minimum under conditions."""
    claim = replace(minimum(rng), kind="minimum if")
    k = var(claim.name)
    rest = [var(name) for name in claim.names]
    c = rng.randint(1, 9)
    choices = [Condition(k, ">=", num(c)), Condition(k, "<=", num(c)), Condition(k, ">", num(c))]
    if rest:
        choices += [
            Condition(k, "<=", rest[0]),
            Condition(k, "|", rest[0]),
            Condition(k, ">=", rest[0]),
            Condition(rest[0], ">=", num(c)),
            Condition(rest[0], "=", num(c * c)),
        ]
    else:
        choices += [Condition(k, "|", num(rng.choice([6, 12, 16, 5])))] * 2
    chosen = rng.choice(choices)
    claim = replace(claim, conditions=(chosen,), made=claim.made if chosen.left != k else None)
    if chosen.left == k and chosen.sign == ">=" and chosen.right == num(c) and rng.random() < 0.5:
        at = put(claim.left, k, num(c))
        return replace(claim, right=at if claim.form == "min" else num(c))
    return claim


def threshold(rng):
    """Make a claim about a threshold."""
    one = rng.choice(["n", "B", "L"])
    rest = [name for name in some_names(rng, 2) if name != one]
    a, b = rng.randint(1, 4), rng.randint(0, 5)
    c = (
        add(*map(var, rest), num(rng.randint(1, 7)))
        if rest and rng.random() < 0.6
        else num(rng.randint(1, 20))
    )
    sign = rng.choice(["<=", "<", ">=", ">"])
    factor = rng.choice(
        [num(1), num(1), var(rest[0]) if rest else num(2), sub(var(rest[0]), num(1)) if rest else num(3)]
    )
    left = mul(factor, add(mul(num(a), var(one)), num(b)))
    right = mul(factor, add(c, num(b)))
    if rng.random() < 0.25:
        left, right = power(var(one), 2), power(c, 2)
        a, factor = 1, num(1)
    elif rng.random() < 0.2:
        left, right = call("sqrt", var(one)), c
        return Claim(
            "threshold", "iff", left, sign, right, name="", threshold=(one, sign, power(c, 2)), made=True
        )
    elif rng.random() < 0.2:
        left, right = call("ceil", div(var(one), num(2))), c
        return Claim("threshold", "iff", left, sign, right, threshold=(one, sign, mul(num(2), c)))
    bound = div(c, num(a))
    claim = Claim(
        "threshold",
        "iff",
        expand(left),
        sign,
        expand(right),
        threshold=(one, sign, bound),
        made=True if factor[0] != "add" else None,
    )
    if rng.random() < 0.25:
        needed = condition(rng, sorted({one, *rest}))
        return replace(claim, kind="threshold if", conditions=(needed,))
    return claim


def within(rng):
    """Make a claim that two formulas are near."""
    chosen = some_names(rng)
    lead = polynomial(rng, chosen, terms=2, signs=False, constant=False)
    p = rng.choice([1, 2, 5, 10])
    scale = num(100 + rng.choice([0, p]), 100) if rng.random() < 0.5 else num(1)
    right = add(mul(scale, lead), *([num(1)] if rng.random() < 0.5 else []))
    needed = (Condition(var(chosen[0]), ">=", num(100)),) if len(chosen) == 1 and rng.random() < 0.5 else ()
    return Claim("within", "within", lead, "≈", right, needed, percent=p, may_refuse=False)


BYTES = {
    "bit": (1, 8),
    "byte": (1, 1),
    "kB": (1000, 1),
    "KiB": (1024, 1),
    "MB": (10**6, 1),
    "GB": (10**9, 1),
    "GiB": (2**30, 1),
}


OTHERS = {"FLOP": (1, 1), "GFLOP": (10**9, 1), "TFLOP": (10**12, 1)}


def units(rng):
    """Make a claim with units on both sides."""
    table = BYTES if rng.random() < 0.7 else OTHERS
    first, second = rng.choice(list(table)), rng.choice(list(table))
    one, other = Fraction(*table[first]), Fraction(*table[second])
    base = polynomial(rng, some_names(rng), terms=2, degree=2, signs=False)
    left, right = base, expand(mul(num(one / other), base))
    sign = rng.choice(["=", "<=", ">="])
    if right[0] == "num":
        right = add(right, var("n"))
        sign = "<="
    return Claim(
        "units",
        "relation",
        left,
        sign,
        right,
        units=(first, second),
        unit_form=rng.choice(["", "times"]),
        made=True,
        extra={"scale": (one, other)},
    )
