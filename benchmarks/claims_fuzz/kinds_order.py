"""Makers of equalities and inequalities, with conditions and without."""

from __future__ import annotations

from dataclasses import replace

from .claim import Claim, Condition
from .making import (
    collect,
    condition,
    expand,
    monomial,
    polynomial,
    positive,
    some_names,
    strictly_positive,
    tie,
)
from .trees import add, call, div, mul, num, power, sub, var
from .trees import replace as put


def equality(rng):
    """Make an identity."""
    chosen = some_names(rng)
    one, other = var(chosen[0]), var(chosen[-1])
    roll = rng.random()
    if roll < 0.45:
        left = mul(polynomial(rng, chosen, terms=2, degree=2), polynomial(rng, chosen, terms=2, degree=1))
        left = left if rng.random() < 0.7 else power(polynomial(rng, chosen, terms=2, degree=1), 2)
        return Claim("equality", "relation", left, "=", expand(left), made=True)
    k = rng.choice([2, 3, 4])
    pairs = [
        (add(*(call("ceil", div(sub(one, num(i)), num(k))) for i in range(k))), one),
        (add(call("ceil", div(one, num(2))), call("floor", div(one, num(2)))), one),
        (call("ceil", div(one, num(k))), call("floor", div(add(one, num(k - 1)), num(k)))),
        (mul(call("sqrt", one), call("sqrt", one)), one),
        (call("sqrt", power(mul(one, other), 2)), collect(mul(one, other))),
        (add(call("max", one, other), call("min", one, other)), add(one, other)),
        (sub(call("max", one, other), call("min", one, other)), call("abs", sub(one, other))),
        (call("log", mul(one, other)), add(call("log", one), call("log", other))),
        (call("log2", mul(num(8), one)), add(num(3), call("log2", one))),
        (div(sub(power(one, 2), num(1)), add(one, num(1))), sub(one, num(1))),
        (call("floor", call("sqrt", power(one, 2))), one),
        (call("sqrt", add(power(one, 2), mul(num(2), one), num(1))), add(one, num(1))),
        (call("max", one, num(1)), one),
        (call("ceil", div(mul(num(k), one), num(k))), one),
    ]
    left, right = rng.choice(pairs)
    extra = polynomial(rng, chosen, terms=1, degree=2, constant=False)
    if rng.random() < 0.4:
        left, right = add(left, extra), add(right, extra)
    elif rng.random() < 0.3:
        left, right = mul(extra, left), mul(extra, right)
    return Claim("equality", "relation", left, "=", right, made=True)


def equality_if(rng):
    """Make an equality that a condition gives."""
    chosen = some_names(rng)
    chosen = chosen if len(chosen) > 1 else sorted({*chosen, rng.choice("nmk")})
    roll = rng.random()
    one, other = var(chosen[0]), var(chosen[-1])
    if roll < 0.5 or one == other:
        rng.shuffle(chosen)
        binding = tie(rng, chosen)
        left = polynomial(rng, chosen, terms=3, degree=2)
        left = add(left, mul(num(rng.choice([1, 2])), binding.left))
        right = expand(put(left, binding.left, binding.right))
        right = right if rng.random() < 0.8 else put(left, binding.left, binding.right)
        return Claim("equality if", "relation", left, "=", right, (binding,), made=True)
    pairs = [
        (call("max", one, other), one, Condition(one, ">=", other)),
        (call("max", one, add(other, num(1))), one, Condition(one, ">", other)),
        (call("min", one, mul(num(2), other)), one, Condition(one, "<=", mul(num(2), other))),
        (call("ceil", div(one, other)), div(one, other), Condition(other, "|", one)),
        (mul(other, call("floor", div(one, other))), one, Condition(other, "|", one)),
        (call("abs", sub(one, other)), sub(one, other), Condition(one, ">=", other)),
        (call("ceil", div(one, num(2))), div(one, num(2)), Condition(num(2), "|", one)),
        (
            call("floor", div(one, num(2))),
            div(sub(one, num(1)), num(2)),
            Condition(num(2), "|", add(one, num(1))),
        ),
        (one, num(1), Condition(one, "<=", num(1))),
        (one, num(3), Condition(one, "<", num(4))),
        (call("floor", div(one, other)), num(0), Condition(one, "<", other)),
        (mul(sub(one, num(1)), sub(one, num(2))), num(0), Condition(one, "<=", num(2))),
        (div(sub(one, other), sub(one, other)), num(1), Condition(one, ">", other)),
        (call("sqrt", mul(one, other)), other, Condition(one, "=", other)),
    ]
    left, right, needed = rng.choice(pairs)
    claim = Claim("equality if", "relation", left, "=", right, (needed,), made=True)
    if needed.right == num(4) and right == num(3):
        return replace(claim, made=None)
    return claim


def order(rng):
    """Make an inequality without conditions."""
    chosen = some_names(rng)
    roll = rng.random()
    one, other = var(chosen[0]), var(chosen[-1])
    strict = rng.random() < 0.3
    more = strictly_positive(rng, chosen) if strict else positive(rng, chosen)
    if roll < 0.3:
        base = polynomial(rng, chosen)
        left, right = base, expand(add(base, more))
    elif roll < 0.55:
        left, right = num(0), expand(add(more, positive(rng, chosen))) if rng.random() < 0.5 else more
        if rng.random() < 0.5:
            left, right = (
                mul(num(2), one, other),
                add(power(one, 2), power(other, 2), *((more,) if strict else ())),
            )
    else:
        k = rng.choice([2, 3])
        pairs = [
            (call("sqrt", mul(one, other)), div(add(one, other), num(2))),
            (call("log", one), sub(one, num(1))),
            (call("log2", one), one),
            (mul(num(2), call("sqrt", one)), add(one, num(1))),
            (call("ceil", div(one, num(k))), div(add(one, num(k - 1)), num(k))),
            (div(one, other), call("ceil", div(one, other))),
            (call("floor", div(one, other)), div(one, other)),
            (call("max", one, other), add(one, other)),
            (div(add(one, other), num(2)), call("max", one, other)),
            (sub(one, other), call("abs", sub(one, other))),
            (div(mul(one, other), add(one, other)), call("min", one, other)),
            (div(mul(num(2), one, other), add(one, other)), call("max", one, other)),
            (call("sqrt", add(one, other)), add(call("sqrt", one), call("sqrt", other))),
            (mul(num(3), sub(one, num(1))), add(power(one, 2), num(-1))),
            (call("min", one, other), call("sqrt", mul(one, other))),
            (div(num(1), add(one, num(1))), div(num(1), one)),
            (div(one, add(one, num(1))), num(1)),
        ]
        left, right = rng.choice(pairs)
        strict = False
    sign = "<" if strict else "<="
    made = None
    claim = Claim("order", "relation", left, sign, right, made=True if roll < 0.55 else made)
    return turned(rng, claim)


def turned(rng, claim):
    """Turn the sides of an inequality now and then."""
    if rng.random() < 0.5 or claim.sign == "=":
        return claim
    sign = {"<=": ">=", "<": ">", ">=": "<=", ">": "<"}[claim.sign]
    return replace(claim, left=claim.right, right=claim.left, sign=sign)


def order_if(rng):
    """Make an inequality that needs its conditions."""
    chosen = some_names(rng)
    if rng.random() < 0.5 and len(chosen) < 2:
        chosen = sorted({*chosen, rng.choice("kc")})
    first = condition(rng, chosen)
    conditions = [first]
    if rng.random() < 0.35:
        conditions.append(condition(rng, chosen))
    roll = rng.random()
    if first.sign == "|" or roll < 0.35:
        left, right = polynomial(rng, chosen, terms=2, degree=2), polynomial(rng, chosen, terms=2, degree=2)
        if first.sign == "|":
            left, right = rng.choice(
                [
                    (first.left, first.right),
                    (div(first.right, first.left), first.right),
                    (num(1), div(first.right, first.left)),
                    (left, right),
                ]
            )
        claim = Claim("order if", "relation", left, "<=", right, tuple(conditions))
        return turned(rng, claim)
    low, high = (first.right, first.left) if first.sign in (">=", ">") else (first.left, first.right)
    sharp = first.sign in (">", "<")
    rational = first.left[0] != "call"
    scale = monomial(rng, chosen, 1) if rng.random() < 0.5 else num(rng.choice([1, 2, 3]))
    base = polynomial(rng, chosen, terms=2, degree=2) if rng.random() < 0.6 else num(0)
    gain = num(0)
    if sharp and rng.random() < 0.5:
        gain = num(1)
    left = add(base, mul(scale, add(low, gain)))
    right = add(base, mul(scale, high), *([positive(rng, chosen)] if rng.random() < 0.3 else []))
    if rng.random() < 0.5:
        left, right = expand(left), expand(right)
    sign = "<" if sharp and gain == num(0) and rng.random() < 0.6 else "<="
    made = None if gain == num(1) and not rational else True
    return turned(rng, Claim("order if", "relation", left, sign, right, tuple(conditions), made=made))


def equal_order(rng):
    """Make an inequality under an equality."""
    claim = equality_if(rng)
    more = positive(rng, sorted(set(claim.names)))
    found = replace(claim, kind="order if", sign="<=", right=add(claim.right, more))
    return turned(rng, replace(found, made=claim.made))
