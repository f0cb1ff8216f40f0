"""One maker a kind of claim: each returns a claim that it made true, or of which it knows nothing."""

from __future__ import annotations

from dataclasses import replace

from .claim import Claim, Condition
from .making import tree as random_tree
from .making import (
    collect, condition, expand, monomial, polynomial, positive, some_names, strictly_positive, tie,
)  # fmt: skip
from .trees import add, call, div, mul, names, num, power, sub, var
from .trees import replace as put


def ready(rng, claim):
    """Say conditions as assumptions, print in LaTeX, bind parts by `where`, now and then."""
    if claim.graph and rng.random() < 0.7:
        return claim
    if claim.form == "relation" and len(claim.names) > 1 and rng.random() < 0.05 and not claim.units[0]:
        return replace(claim, at=((rng.choice(claim.names), rng.randint(1, 6)),), may_refuse=bool(claim.conditions))
    if claim.conditions and rng.random() < 0.4:
        every = rng.random() < 0.6
        marked = tuple(replace(one, assume=every or rng.random() < 0.5) for one in claim.conditions)
        claim = replace(claim, conditions=marked)
    if claim.grows and rng.random() < 0.3:
        claim = replace(claim, grow_option=True)
    roll = rng.random()
    inside = any(not one.assume for one in claim.conditions) or claim.binds
    single = all(len(name) == 1 for name in claim.names)
    if claim.graph:
        return claim
    if roll < 0.15 and claim.form in ("relation", "asymptotic") and not inside and single:
        if not (claim.grows and not claim.grow_option) and claim.sign not in ("O", "Theta"):
            return replace(claim, style="latex")
    if claim.form == "relation" and not claim.units[0] and rng.random() < 0.15:
        return replace(claim, style=rng.choice(["unicode", "decimal"]))
    if roll < 0.3:
        claim = replace(claim, style="tight")
    if 0.3 < roll < 0.4 and claim.form == "relation" and not claim.binds:
        return bound(rng, claim)
    return claim


def bound(rng, claim):
    """Give a part of the right side a name by `where`."""
    pieces = [one for one in claim.right[1:] if isinstance(one, tuple) and one[0] in ("mul", "pow", "call", "div")]
    free = [name for name in ("W", "Z", "u_0") if name not in claim.names]
    if not pieces or not free:
        return claim
    return replace(claim, binds=((free[0], rng.choice(pieces)),))


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
    ]  # fmt: skip
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
        (call("floor", div(one, num(2))), div(sub(one, num(1)), num(2)), Condition(num(2), "|", add(one, num(1)))),
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
            left, right = mul(num(2), one, other), add(power(one, 2), power(other, 2), *((more,) if strict else ()))
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
            left, right = rng.choice([(first.left, first.right), (div(first.right, first.left), first.right), (num(1), div(first.right, first.left)), (left, right)])
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
    below = rng.choice([sub(one, num(c)), sub(one, other) if one != other else sub(one, num(2)), sub(mul(num(2), one), num(2 * c)), sub(power(one, 2), num(c * c))])
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


def growth(rng):
    """Make a claim about leading order, O or Theta."""
    chosen = some_names(rng)
    grows = tuple(sorted(rng.sample(chosen, rng.randint(1, len(chosen)))))
    rest = [name for name in chosen if name not in grows]
    lead = mul(num(rng.choice([1, 2, 3, 5])), monomial(rng, list(grows), 3), *([monomial(rng, rest, 1)] if rest and rng.random() < 0.7 else []))
    one = var(grows[0])
    lower = [num(rng.randint(1, 9))]
    if rest:
        lower.append(mul(num(rng.choice([1, -1, 3])), monomial(rng, rest, 2)))
    degree = _degree(lead, grows)
    if degree > 1:
        lower.append(mul(num(rng.choice([1, 2, -2])), monomial(rng, list(grows), degree - 1)) if _degree_ok(rng) else one)
    lower.append(rng.choice([call("log", one), call("sqrt", one), call("ceil", div(one, num(2)))]) if degree > 1 else num(2))
    lower = [term for term in lower if _degree(term, grows) < degree]
    rng.shuffle(lower)
    left = add(lead, *lower[: rng.randint(1, 2)])
    sign = rng.choice(["~", "~", "O", "Theta"])
    right = lead
    if sign != "~":
        right = mul(*(part for part in (lead[1:] if lead[0] == "mul" else (lead,)) if part[0] != "num")) if lead[0] != "num" else lead
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
        left = sub(top, var(grows[1])) if rng.random() < 0.7 else sub(power(var(grows[0]), 2), mul(num(2), var(grows[0]), var(grows[1])))
        right = var(grows[0]) if left[1] == top else power(var(grows[0]), 2)
        return replace(claim, left=left, right=right, sign=rng.choice(["Theta", "~", "O"]), made=None)
    if roll < 0.4:
        pairs = [
            (call("log", one), one), (mul(num(3), one, call("log", one)), power(one, 2)), (call("log2", one), call("log", one)),
            (call("sqrt", add(power(one, 2), one)), one), (call("ceil", div(one, num(3))), one), (sub(call("sqrt", add(one, num(1))), call("sqrt", one)), num(1)),
            (call("max", power(one, 2), mul(num(100), one)), power(one, 2)), (call("log", power(one, 2)), call("log", one)),
            (div(add(power(one, 3), one), add(one, num(2))), power(one, 2)), (sub(call("sqrt", add(power(one, 2), one)), one), num(1)),
            (call("abs", sub(num(9), one)), one), (call("min", power(one, 2), mul(num(7), one)), one),
        ]  # fmt: skip
        left, right = rng.choice(pairs)
        return Claim("growth", "asymptotic", left, rng.choice(["~", "O", "Theta"]), right, grows=(grows[0],))
    return claim


def _degree_ok(rng):
    return rng.random() < 0.8


def _degree(tree, grows):
    if tree[0] == "var":
        return 1 if tree[1] in grows else 0
    if tree[0] == "pow":
        return tree[2] * _degree(tree[1], grows)
    if tree[0] == "mul":
        return sum(_degree(one, grows) for one in tree[1:])
    if tree[0] == "add":
        return max(_degree(one, grows) for one in tree[1:])
    if tree[0] == "call":
        return {"log": 0.1, "sqrt": 0.5}.get(tree[1], 1) * (1 if names(tree) & set(grows) else 0)
    return 0


def growth_if(rng):
    """Make a claim about growth under conditions."""
    claim = growth(rng)
    claim = replace(claim, kind="growth if")
    grows = list(claim.grows) or sorted(claim.names)
    rest = [name for name in claim.names if name not in grows]
    roll = rng.random()
    one = var(grows[0])
    if roll < 0.3 and rest:
        other = var(rng.choice(rest))
        needed = rng.choice([Condition(one, ">=", mul(num(rng.choice([1, 2])), other)), Condition(other, "|", one), Condition(one, ">", other)])
        return replace(claim, conditions=(needed,))
    if roll < 0.45 and rest:
        other = rng.choice(rest)
        needed = rng.choice([Condition(var(other), ">=", num(2)), Condition(var(other), "=", num(1)), Condition(var(other), ">", num(1))])
        return replace(claim, conditions=(needed,))
    if roll < 0.53:
        return tied_growth(rng)
    if roll < 0.63:
        return replace(claim, conditions=(Condition(one, "<=", rng.choice([num(8), *map(var, rest)])),), may_refuse=True, made=None)
    if roll < 0.85 and len(claim.names) > 1:
        free = [name for name in claim.names if name != grows[0]]
        binding = Condition(one, "=", mul(num(rng.choice([1, 2, 3])), *map(var, free[: rng.randint(1, 2)])))
        grown = () if rng.random() < 0.6 else tuple(sorted({*claim.grows, *free}))
        return replace(claim, conditions=(binding,), grows=grown, made=None, may_refuse=bool(grown))
    if len(grows) > 1 and rng.random() < 0.4:
        other, k = var(grows[1]), num(rng.choice([1, 2, 3]))
        needed = Condition(one, rng.choice([">=", ">", "<="]), mul(num(rng.choice([1, 2, 3])), other))
        left = sub(one, mul(k, other))
        return Claim("growth if", "asymptotic", left, rng.choice(["Theta", "O", "~"]), rng.choice([one, other]), (needed,), grows=tuple(sorted((one[1], other[1]))))
    if len(grows) > 1:
        other = var(grows[1])
        needed = rng.choice([Condition(one, ">=", mul(num(rng.choice([1, 2, 3])), other)), Condition(one, "=", power(other, 2)), Condition(one, "=", mul(num(2), other))])
        return replace(claim, conditions=(needed,), may_refuse=needed.right[0] == "pow", made=claim.made if needed.sign != "=" else None)
    return replace(claim, conditions=(Condition(one, ">=", num(rng.randint(2, 9))),))


def tied_growth(rng):
    """Make a claim about growth of sizes of which one is a formula of the others."""
    top, first, second = (var(name) for name in rng.sample("DHKFLn", 3))
    scale = num(rng.choice([1, 2, 3]))
    whole = mul(scale, first, second)
    needed = rng.choice([Condition(top, "=", whole), Condition(whole, "=", top), Condition(top, "=", mul(scale, first))])
    left = add(mul(num(rng.choice([1, 2])), top), mul(num(rng.choice([1, 3])), first, second), *([first] if rng.random() < 0.5 else []))
    right = rng.choice([mul(first, second), top, mul(num(3), first, second), mul(num(1 + int(scale[1])), first, second), mul(num(2), top)])
    sign = rng.choice(["~", "~", "O", "Theta"])
    return Claim("growth if", "asymptotic", left, sign, right, (needed,), may_refuse=True)


def rewritten(rng):
    """Make an equality by a rule that holds for some values only."""
    chosen = some_names(rng)
    a, b = random_tree(rng, chosen, 1), random_tree(rng, chosen, rng.randint(1, 2))
    c, k = sub(var(chosen[0]), num(rng.randint(1, 6))), num(rng.choice([2, 3]))
    n = var(chosen[-1])
    rules = [
        (call("sqrt", power(c, 2)), c), (call("sqrt", power(a, 2)), a), (call("abs", c), c), (call("abs", mul(a, b)), mul(call("abs", a), call("abs", b))),
        (call("floor", add(a, b)), add(call("floor", a), call("floor", b))), (call("floor", add(a, n)), add(call("floor", a), n)),
        (call("ceil", mul(k, div(n, num(3)))), mul(k, call("ceil", div(n, num(3))))), (mul(c, call("max", a, b)), call("max", mul(c, a), mul(c, b))),
        (mul(c, call("min", a, b)), call("min", mul(c, a), mul(c, b))), (mul(num(-1), call("max", a, b)), call("min", mul(num(-1), a), mul(num(-1), b))),
        (call("log", mul(a, b)), add(call("log", a), call("log", b))), (call("log", power(c, 2)), mul(num(2), call("log", c))),
        (add(call("floor", div(n, k)), num(1)), call("ceil", div(n, k))), (div(mul(c, a), c), a), (mul(c, div(a, c)), a),
        (call("sqrt", mul(c, a)), mul(call("sqrt", c), call("sqrt", a))), (call("ceil", call("sqrt", n)), add(call("floor", call("sqrt", sub(n, num(1)))), num(1))),
        (call("floor", div(call("floor", div(n, k)), num(2))), call("floor", div(n, mul(k, num(2))))), (call("ceil", div(call("ceil", div(n, k)), num(2))), call("ceil", div(n, mul(k, num(2))))),
        (call("max", a, call("min", a, b)), a), (call("max", power(a, 2), power(b, 2)), power(call("max", a, b), 2)), (call("sqrt", add(power(n, 2), num(1))), n),
        (call("max", sub(n, num(3)), num(0)), sub(n, num(3))), (power(call("sqrt", c), 2), c), (call("floor", mul(num(-1), a)), mul(num(-1), call("ceil", a))),
    ]  # fmt: skip
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
    return Claim("wild", "relation", left, rng.choice(["<=", ">=", "<", ">", "="]), right, conditions, may_refuse=True)


def far(rng):
    """Make a claim that fails at few sizes, large ones."""
    chosen = some_names(rng)
    one, other = var(chosen[0]), var(chosen[-1])
    c = rng.choice([rng.randint(5, 90), rng.randint(100, 5000), rng.randint(10**4, 10**7)])
    gap = sub(one, num(c))
    witness = {name: 1 for name in chosen} | {chosen[0]: c}
    rules = [
        (power(gap, 2), ">=", num(1)), (power(gap, 2), ">", num(0)), (mul(num(c), one), "<=", add(num(c * c - 1), power(gap, 2), mul(num(c), gap))),
        (call("abs", gap), ">=", num(1)), (call("max", one, num(c)), ">", num(c)), (mul(power(gap, 2), other), ">=", num(1)),
        (mul(one, other), "<=", num(c)), (one, "<", num(c)), (power(one, 2), "<=", num(c * c - 1)),
    ]  # fmt: skip
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


def limit(rng):
    """Make a claim about a limit."""
    name = rng.choice(["n", "N", "x"])
    one = var(name)
    rest = [other for other in some_names(rng, 1) if other != name]
    degree = rng.randint(1, 2)
    a, b = (mul(num(rng.randint(1, 5)), *([var(rest[0])] if rest and rng.random() < 0.4 else [])) for _ in range(2))
    below = add(mul(b, power(one, degree)), num(rng.randint(1, 5)))
    above = add(mul(a, power(one, degree)), mul(num(rng.choice([1, -1, 3])), power(one, degree - 1)), *map(var, rest))
    left, right = div(above, below), div(a, b) if names(a) | names(b) else num(a[1] / b[1])
    roll = rng.random()
    if roll < 0.15:
        left, right = rng.choice([
            (div(call("log", one), one), num(0)), (sub(call("sqrt", add(power(one, 2), one)), one), num(1, 2)),
            (div(call("ceil", div(one, num(3))), one), num(1, 3)), (div(call("max", one, num(5)), one), num(1)),
            (call("min", one, num(7)), num(7)), (div(one, call("sqrt", add(power(one, 2), num(3)))), num(1)),
        ])  # fmt: skip
        return Claim("limit", "lim", left, "=", right, name=name, made=True)
    claim = Claim("limit", "lim", left, "=", right, name=name, made=True)
    if roll < 0.3 and rest:
        return replace(claim, left=div(above, mul(sub(var(rest[0]), num(1)), below)), right=div(right, sub(var(rest[0]), num(1))), made=None, may_refuse=True)
    if roll < 0.45:
        needed = rng.choice([Condition(one, ">=", num(4)), Condition(one, "<=", num(9))] + ([Condition(var(rest[0]), "=", num(2))] if rest else []))
        return replace(claim, conditions=(needed,), may_refuse=needed.sign == "<=", made=None if needed.sign == "<=" else True)
    return claim


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
        choices += [Condition(k, "<=", rest[0]), Condition(k, "|", rest[0]), Condition(k, ">=", rest[0]), Condition(rest[0], ">=", num(c)), Condition(rest[0], "=", num(c * c))]
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
    c = add(*map(var, rest), num(rng.randint(1, 7))) if rest and rng.random() < 0.6 else num(rng.randint(1, 20))
    sign = rng.choice(["<=", "<", ">=", ">"])
    factor = rng.choice([num(1), num(1), var(rest[0]) if rest else num(2), sub(var(rest[0]), num(1)) if rest else num(3)])
    left = mul(factor, add(mul(num(a), var(one)), num(b)))
    right = mul(factor, add(c, num(b)))
    if rng.random() < 0.25:
        left, right = power(var(one), 2), power(c, 2)
        a, factor = 1, num(1)
    elif rng.random() < 0.2:
        left, right = call("sqrt", var(one)), c
        return Claim("threshold", "iff", left, sign, right, name="", threshold=(one, sign, power(c, 2)), made=True)
    elif rng.random() < 0.2:
        left, right = call("ceil", div(var(one), num(2))), c
        return Claim("threshold", "iff", left, sign, right, threshold=(one, sign, mul(num(2), c)))
    bound = div(c, num(a))
    claim = Claim("threshold", "iff", expand(left), sign, expand(right), threshold=(one, sign, bound), made=True if factor[0] != "add" else None)
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


BYTES = {"bit": (1, 8), "byte": (1, 1), "kB": (1000, 1), "KiB": (1024, 1), "MB": (10**6, 1), "GB": (10**9, 1), "GiB": (2**30, 1)}
OTHERS = {"FLOP": (1, 1), "GFLOP": (10**9, 1), "TFLOP": (10**12, 1)}


def units(rng):
    """Make a claim with units on both sides."""
    table = BYTES if rng.random() < 0.7 else OTHERS
    first, second = rng.choice(list(table)), rng.choice(list(table))
    from fractions import Fraction

    one, other = Fraction(*table[first]), Fraction(*table[second])
    base = polynomial(rng, some_names(rng), terms=2, degree=2, signs=False)
    left, right = base, expand(mul(num(one / other), base))
    sign = rng.choice(["=", "<=", ">="])
    if right[0] == "num":
        right = add(right, var("n"))
        sign = "<="
    return Claim("units", "relation", left, sign, right, units=(first, second), unit_form=rng.choice(["", "times"]), made=True, extra={"scale": (one, other)})


MAKERS = {
    "equality": (equality, 10), "equality if": (equality_if, 9), "order": (order, 10), "order if": (order_if, 14),
    "order under equality": (equal_order, 5), "contradictory": (contradictory, 4), "pole": (pole, 5), "growth": (growth, 9), "growth if": (growth_if, 9),
    "limit": (limit, 5), "minimum": (minimum, 5), "minimum if": (minimum_if, 6), "threshold": (threshold, 6), "within": (within, 2),
    "units": (units, 3), "captured": (captured, 1), "rewritten": (rewritten, 6), "wild": (wild, 6), "far": (far, 4),
}  # fmt: skip
