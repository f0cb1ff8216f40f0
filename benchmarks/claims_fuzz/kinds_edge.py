"""Makers of claims at the edge: about no sizes, at poles, by rules that hold here and there; false far."""

from __future__ import annotations

from dataclasses import replace

from .claim import Claim, Condition
from .kinds_order import equality, order
from .making import (
    condition,
    expand,
    positive,
    some_names,
)
from .making import tree as random_tree
from .trees import add, call, div, mul, num, power, sub, var


def contradictory(rng):
    """Make a claim about no sizes at all."""
    chosen = some_names(rng)
    base = order(rng) if rng.random() < 0.6 else equality(rng)
    chosen = list(base.names) or chosen
    one = var(chosen[0])
    other = var(chosen[-1])
    c = rng.randint(2, 6)
    empties = [
        (Condition(one, ">=", num(c)), Condition(one, "<", num(c))),
        (Condition(one, ">=", num(c + 1)), Condition(one, "<=", num(c))),
        (Condition(one, "<", num(1)),),
        (Condition(one, "<=", num(0)),),
        (Condition(one, ">", mul(num(2), other)), Condition(other, ">=", one)),
        (Condition(mul(num(2), one), "=", add(mul(num(2), other), num(1))),),
        (Condition(one, "=", num(c)), Condition(one, "=", num(c + 1))),
        (Condition(one, ">", num(c)), Condition(one, "<", num(c + 1))),
        (Condition(num(2), "|", one), Condition(num(2), "|", add(one, num(1)))),
        (Condition(add(one, other), "<=", num(1)),),
        (Condition(power(one, 2), "=", num(2)),),
        (Condition(call("sqrt", one), "<", num(1)),),
        (Condition(num(c), "|", one), Condition(one, "<", num(c))),
    ]
    return replace(base, kind="contradictory", conditions=rng.choice(empties), made=None, may_refuse=True)


def pole(rng):
    """Make a claim that divides by what is 0 somewhere."""
    base = order(rng) if rng.random() < 0.6 else equality(rng)
    chosen = list(base.names) or ["n"]
    one, other = var(chosen[0]), var(chosen[-1])
    c = rng.randint(1, 4)
    below = rng.choice(
        [
            sub(one, num(c)),
            sub(one, other) if one != other else sub(one, num(2)),
            sub(mul(num(2), one), num(2 * c)),
            sub(power(one, 2), num(c * c)),
        ]
    )
    extra = div(num(1), below)
    how = rng.random()
    conditions = ()
    if how < 0.5:
        left, right = add(base.left, extra), add(base.right, extra)
    elif how < 0.8:
        left, right = mul(base.left, div(below, below)), base.right
    else:
        root = call("sqrt", sub(one, num(c)))
        left, right = add(base.left, root), add(base.right, root)
    if rng.random() < 0.5:
        conditions = (Condition(one, ">", num(c) if rng.random() < 0.7 else num(c - 1)),)
    return replace(base, kind="pole", left=left, right=right, conditions=conditions, may_refuse=True)


def rewritten(rng):
    """Make an equality by a rule that holds for some values only."""
    chosen = some_names(rng)
    a, b = random_tree(rng, chosen, 1), random_tree(rng, chosen, rng.randint(1, 2))
    c, k = sub(var(chosen[0]), num(rng.randint(1, 6))), num(rng.choice([2, 3]))
    n = var(chosen[-1])
    rules = [
        (call("sqrt", power(c, 2)), c),
        (call("sqrt", power(a, 2)), a),
        (call("abs", c), c),
        (call("abs", mul(a, b)), mul(call("abs", a), call("abs", b))),
        (call("floor", add(a, b)), add(call("floor", a), call("floor", b))),
        (call("floor", add(a, n)), add(call("floor", a), n)),
        (call("ceil", mul(k, div(n, num(3)))), mul(k, call("ceil", div(n, num(3))))),
        (mul(c, call("max", a, b)), call("max", mul(c, a), mul(c, b))),
        (mul(c, call("min", a, b)), call("min", mul(c, a), mul(c, b))),
        (mul(num(-1), call("max", a, b)), call("min", mul(num(-1), a), mul(num(-1), b))),
        (call("log", mul(a, b)), add(call("log", a), call("log", b))),
        (call("log", power(c, 2)), mul(num(2), call("log", c))),
        (add(call("floor", div(n, k)), num(1)), call("ceil", div(n, k))),
        (div(mul(c, a), c), a),
        (mul(c, div(a, c)), a),
        (call("sqrt", mul(c, a)), mul(call("sqrt", c), call("sqrt", a))),
        (call("ceil", call("sqrt", n)), add(call("floor", call("sqrt", sub(n, num(1)))), num(1))),
        (call("floor", div(call("floor", div(n, k)), num(2))), call("floor", div(n, mul(k, num(2))))),
        (call("ceil", div(call("ceil", div(n, k)), num(2))), call("ceil", div(n, mul(k, num(2))))),
        (call("max", a, call("min", a, b)), a),
        (call("max", power(a, 2), power(b, 2)), power(call("max", a, b), 2)),
        (call("sqrt", add(power(n, 2), num(1))), n),
        (call("max", sub(n, num(3)), num(0)), sub(n, num(3))),
        (power(call("sqrt", c), 2), c),
        (call("floor", mul(num(-1), a)), mul(num(-1), call("ceil", a))),
    ]
    left, right = rng.choice(rules)
    conditions = (condition(rng, chosen),) if rng.random() < 0.3 else ()
    sign = rng.choice(["=", "=", "=", "<=", ">=", "<"])
    return Claim("rewritten", "relation", left, sign, right, conditions, may_refuse=True)


def wild(rng):
    """Make a claim between two random formulas, of which one is near the other now and then."""
    chosen = some_names(rng)
    left = random_tree(rng, chosen, rng.randint(2, 3))
    right = rng.choice([random_tree(rng, chosen, 2), num(0), add(left, positive(rng, chosen)), expand(left)])
    conditions = tuple(condition(rng, chosen) for _ in range(rng.choice([0, 0, 1, 1, 2])))
    return Claim(
        "wild", "relation", left, rng.choice(["<=", ">=", "<", ">", "="]), right, conditions, may_refuse=True
    )


def far(rng):
    """Make a claim that fails at few sizes, large ones."""
    chosen = some_names(rng)
    one, other = var(chosen[0]), var(chosen[-1])
    c = rng.choice([rng.randint(5, 90), rng.randint(100, 5000), rng.randint(10**4, 10**7)])
    gap = sub(one, num(c))
    witness = dict.fromkeys(chosen, 1) | {chosen[0]: c}
    rules = [
        (power(gap, 2), ">=", num(1)),
        (power(gap, 2), ">", num(0)),
        (mul(num(c), one), "<=", add(num(c * c - 1), power(gap, 2), mul(num(c), gap))),
        (call("abs", gap), ">=", num(1)),
        (call("max", one, num(c)), ">", num(c)),
        (mul(power(gap, 2), other), ">=", num(1)),
        (mul(one, other), "<=", num(c)),
        (one, "<", num(c)),
        (power(one, 2), "<=", num(c * c - 1)),
    ]
    left, sign, right = rng.choice(rules)
    if rng.random() < 0.6:
        left, right = expand(left), expand(right)
    if left[0] == "mul" and right == num(c):
        witness = witness | {chosen[0]: c + 1}
    conditions = (Condition(one, ">=", num(c - rng.choice([0, 1]))),) if rng.random() < 0.4 else ()
    if rng.random() < 0.15:
        conditions = (Condition(one, ">", num(c)),)
    return Claim("far", "relation", left, sign, right, conditions, extra={"witness": witness})


def captured(rng):
    """Make a claim with names such as a prover gives to its own helpers."""
    one = var(rng.choice("LDnk"))
    other = var(rng.choice("BHm"))
    helper = var(one[1] + rng.choice(["_more", "_times", "_", "_0", "_1"]))
    scale = num(rng.choice([1, 2]))
    needed = Condition(one, ">=", mul(scale, other)) if rng.random() < 0.6 else Condition(other, "|", one)
    right = add(mul(scale, other), helper) if needed.sign == ">=" else mul(other, helper)
    sign = rng.choice(["=", "<=", ">="])
    return Claim("captured", "relation", one, sign, right, (needed,))
