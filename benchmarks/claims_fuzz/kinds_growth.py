"""Makers of claims about what grows, and of limits."""

from __future__ import annotations

from dataclasses import replace

from .claim import Claim, Condition
from .making import (
    monomial,
    some_names,
)
from .trees import add, call, div, mul, names, num, power, sub, var


def growth(rng):
    """Make a claim about leading order, O or Theta."""
    chosen = some_names(rng)
    grows = tuple(sorted(rng.sample(chosen, rng.randint(1, len(chosen)))))
    rest = [name for name in chosen if name not in grows]
    lead = mul(
        num(rng.choice([1, 2, 3, 5])),
        monomial(rng, list(grows), 3),
        *([monomial(rng, rest, 1)] if rest and rng.random() < 0.7 else []),
    )
    one = var(grows[0])
    lower = [num(rng.randint(1, 9))]
    if rest:
        lower.append(mul(num(rng.choice([1, -1, 3])), monomial(rng, rest, 2)))
    degree = degree_of(lead, grows)
    if degree > 1:
        lower.append(
            mul(num(rng.choice([1, 2, -2])), monomial(rng, list(grows), degree - 1))
            if rng.random() < 0.8
            else one
        )
    lower.append(
        rng.choice([call("log", one), call("sqrt", one), call("ceil", div(one, num(2)))])
        if degree > 1
        else num(2)
    )
    lower = [term for term in lower if degree_of(term, grows) < degree]
    rng.shuffle(lower)
    left = add(lead, *lower[: rng.randint(1, 2)])
    sign = rng.choice(["~", "~", "O", "Theta"])
    right = lead
    if sign != "~":
        right = (
            mul(*(part for part in (lead[1:] if lead[0] == "mul" else (lead,)) if part[0] != "num"))
            if lead[0] != "num"
            else lead
        )
        if sign == "O" and rng.random() < 0.5:
            right = mul(right, var(rng.choice(grows)))
    roll = rng.random()
    claim = Claim("growth", "asymptotic", left, sign, right, grows=grows, made=True)
    if set(grows) == names(left) | names(right) and rng.random() < 0.3:
        claim = replace(claim, grows=())
    if roll < 0.15 and rest:
        return replace(claim, right=mul(sub(var(rest[0]), num(1)), right), made=None)
    if roll < 0.3 and len(grows) > 1:
        top = mul(num(2), var(grows[0]))
        left = (
            sub(top, var(grows[1]))
            if rng.random() < 0.7
            else sub(power(var(grows[0]), 2), mul(num(2), var(grows[0]), var(grows[1])))
        )
        right = var(grows[0]) if left[1] == top else power(var(grows[0]), 2)
        return replace(claim, left=left, right=right, sign=rng.choice(["Theta", "~", "O"]), made=None)
    if roll < 0.4:
        pairs = [
            (call("log", one), one),
            (mul(num(3), one, call("log", one)), power(one, 2)),
            (call("log2", one), call("log", one)),
            (call("sqrt", add(power(one, 2), one)), one),
            (call("ceil", div(one, num(3))), one),
            (sub(call("sqrt", add(one, num(1))), call("sqrt", one)), num(1)),
            (call("max", power(one, 2), mul(num(100), one)), power(one, 2)),
            (call("log", power(one, 2)), call("log", one)),
            (div(add(power(one, 3), one), add(one, num(2))), power(one, 2)),
            (sub(call("sqrt", add(power(one, 2), one)), one), num(1)),
            (call("abs", sub(num(9), one)), one),
            (call("min", power(one, 2), mul(num(7), one)), one),
        ]
        left, right = rng.choice(pairs)
        return Claim("growth", "asymptotic", left, rng.choice(["~", "O", "Theta"]), right, grows=(grows[0],))
    return claim


def degree_of(tree, grows):
    if tree[0] == "var":
        return 1 if tree[1] in grows else 0
    if tree[0] == "pow":
        return tree[2] * degree_of(tree[1], grows)
    if tree[0] == "mul":
        return sum(degree_of(one, grows) for one in tree[1:])
    if tree[0] == "add":
        return max(degree_of(one, grows) for one in tree[1:])
    if tree[0] == "call":
        return {"log": 0.1, "sqrt": 0.5}.get(tree[1], 1) * (1 if names(tree) & set(grows) else 0)
    return 0


def growth_if(rng):
    """Make a claim about growth under conditions."""
    claim = replace(growth(rng), kind="growth if")
    grows = list(claim.grows) or sorted(claim.names)
    rest = [name for name in claim.names if name not in grows]
    roll = rng.random()
    if roll < 0.15:
        return tied_growth(rng)
    if roll < 0.5 and rest:
        return replace(claim, conditions=(_of_rest(rng, var(grows[0]), var(rng.choice(rest))),))
    if roll < 0.6:
        bound = Condition(var(grows[0]), "<=", rng.choice([num(8), *map(var, rest)]))
        return replace(claim, conditions=(bound,), may_refuse=True, made=None)
    if roll < 0.8 and len(claim.names) > 1:
        return _made_equal(rng, claim, grows)
    if len(grows) > 1:
        return _between(rng, claim, var(grows[0]), var(grows[1]))
    return replace(claim, conditions=(Condition(var(grows[0]), ">=", num(rng.randint(2, 9))),))


def _of_rest(rng, one, other):
    """Return a condition between what grows and what does not, or on the latter."""
    return rng.choice(
        [
            Condition(one, ">=", mul(num(rng.choice([1, 2])), other)),
            Condition(other, "|", one),
            Condition(one, ">", other),
            Condition(other, ">=", num(2)),
            Condition(other, "=", num(1)),
            Condition(other, ">", num(1)),
        ]
    )


def _made_equal(rng, claim, grows):
    """Make one size a product of the others."""
    free = [name for name in claim.names if name != grows[0]]
    product = mul(num(rng.choice([1, 2, 3])), *map(var, free[: rng.randint(1, 2)]))
    grown = () if rng.random() < 0.6 else tuple(sorted({*claim.grows, *free}))
    binding = Condition(var(grows[0]), "=", product)
    return replace(claim, conditions=(binding,), grows=grown, made=None, may_refuse=bool(grown))


def _between(rng, claim, one, other):
    """Make a claim under a condition between two sizes that grow; terms cancel at its border now and then."""
    needed = Condition(one, rng.choice([">=", ">", "<="]), mul(num(rng.choice([1, 2, 3])), other))
    if rng.random() < 0.5:
        left, right = sub(one, mul(num(rng.choice([1, 2, 3])), other)), rng.choice([one, other])
        both = tuple(sorted((one[1], other[1])))
        sign = rng.choice(["Theta", "O", "~"])
        return Claim("growth if", "asymptotic", left, sign, right, (needed,), grows=both)
    tied = rng.choice([needed, Condition(one, "=", power(other, 2)), Condition(one, "=", mul(num(2), other))])
    return replace(
        claim, conditions=(tied,), may_refuse=tied != needed, made=claim.made if tied == needed else None
    )


def tied_growth(rng):
    """Make a claim about growth of sizes of which one is a formula of the others."""
    top, first, second = (var(name) for name in rng.sample("DHKFLn", 3))
    scale = num(rng.choice([1, 2, 3]))
    whole = mul(scale, first, second)
    needed = rng.choice(
        [Condition(top, "=", whole), Condition(whole, "=", top), Condition(top, "=", mul(scale, first))]
    )
    left = add(
        mul(num(rng.choice([1, 2])), top),
        mul(num(rng.choice([1, 3])), first, second),
        *([first] if rng.random() < 0.5 else []),
    )
    right = rng.choice(
        [
            mul(first, second),
            top,
            mul(num(3), first, second),
            mul(num(1 + int(scale[1])), first, second),
            mul(num(2), top),
        ]
    )
    sign = rng.choice(["~", "~", "O", "Theta"])
    return Claim("growth if", "asymptotic", left, sign, right, (needed,), may_refuse=True)


def limit(rng):
    """Make a claim about a limit."""
    name = rng.choice(["n", "N", "x"])
    one = var(name)
    rest = [other for other in some_names(rng, 1) if other != name]
    degree = rng.randint(1, 2)
    a, b = (
        mul(num(rng.randint(1, 5)), *([var(rest[0])] if rest and rng.random() < 0.4 else []))
        for _ in range(2)
    )
    below = add(mul(b, power(one, degree)), num(rng.randint(1, 5)))
    above = add(
        mul(a, power(one, degree)), mul(num(rng.choice([1, -1, 3])), power(one, degree - 1)), *map(var, rest)
    )
    left, right = div(above, below), div(a, b) if names(a) | names(b) else num(a[1] / b[1])
    roll = rng.random()
    if roll < 0.15:
        left, right = rng.choice(
            [
                (div(call("log", one), one), num(0)),
                (sub(call("sqrt", add(power(one, 2), one)), one), num(1, 2)),
                (div(call("ceil", div(one, num(3))), one), num(1, 3)),
                (div(call("max", one, num(5)), one), num(1)),
                (call("min", one, num(7)), num(7)),
                (div(one, call("sqrt", add(power(one, 2), num(3)))), num(1)),
            ]
        )
        return Claim("limit", "lim", left, "=", right, name=name, made=True)
    claim = Claim("limit", "lim", left, "=", right, name=name, made=True)
    if roll < 0.3 and rest:
        return replace(
            claim,
            left=div(above, mul(sub(var(rest[0]), num(1)), below)),
            right=div(right, sub(var(rest[0]), num(1))),
            made=None,
            may_refuse=True,
        )
    if roll < 0.45:
        needed = rng.choice(
            [Condition(one, ">=", num(4)), Condition(one, "<=", num(9))]
            + ([Condition(var(rest[0]), "=", num(2))] if rest else [])
        )
        return replace(
            claim,
            conditions=(needed,),
            may_refuse=needed.sign == "<=",
            made=None if needed.sign == "<=" else True,
        )
    return claim
