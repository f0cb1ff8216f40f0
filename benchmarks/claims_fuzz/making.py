"""Random formulas and conditions, and ways to spoil a claim by little."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from . import trees
from .claim import Condition
from .trees import add, call, div, mul, num, power, sub, var

LETTERS = ("n", "m", "L", "B", "D", "a", "p", "q", "x", "H", "F", "r")
WORDS = ("n", "rows", "d_ff", "n_layer", "alpha", "L", "width", "B")


def some_names(rng, most=3):
    """Return one to so many names."""
    count = rng.choice([1, 1, 2, 2, 2, 3][: 2 * most])
    return sorted(rng.sample(WORDS if rng.random() < 0.06 else LETTERS, count))


def monomial(rng, names, degree=3):
    """Return a product of sizes."""
    powers = dict.fromkeys(names, 0)
    for _ in range(rng.randint(1, degree)):
        powers[rng.choice(names)] += 1
    return mul(*(power(var(name), one) for name, one in powers.items() if one))


def polynomial(rng, names, *, terms=3, degree=3, signs=True, constant=True):
    """Return a sum of monomials with small coefficients."""
    found, seen = [], set()
    for _ in range(rng.randint(1, terms)):
        one = monomial(rng, names, degree)
        if one in seen:
            continue
        seen.add(one)
        scale = rng.choice([1, 1, 2, 3, 4, 6, 12])
        found.append(mul(num(-scale if signs and rng.random() < 0.3 else scale), one))
    if constant and rng.random() < 0.4:
        found.append(num(rng.choice([1, 2, 3, 5]) * (-1 if signs and rng.random() < 0.5 else 1)))
    return add(*found)


def positive(rng, names, degree=2):
    """Return a formula that is at least 0 for all sizes of at least 1."""
    one = var(rng.choice(names))
    other = var(rng.choice(names))
    return rng.choice(
        [
            monomial(rng, names, degree),
            mul(num(rng.choice([1, 2, 3])), monomial(rng, names, degree)),
            power(sub(one, other), 2) if one != other else power(sub(one, num(rng.randint(1, 4))), 2),
            sub(one, num(1)),
            mul(sub(one, num(1)), monomial(rng, names, 1)),
            mul(sub(one, num(1)), sub(one, num(2))),
            call("abs", sub(one, num(3))),
            div(num(1), one),
            call("sqrt", one),
            sub(call("ceil", div(one, num(rng.choice([2, 3])))), div(one, num(3))),
        ]
    )


def strictly_positive(rng, names):
    """Return a formula that is above 0 for all sizes of at least 1."""
    return rng.choice(
        [add(positive(rng, names), num(1)), monomial(rng, names, 2), call("sqrt", var(rng.choice(names)))]
    )


def expand(tree):
    """Return a tree with products of sums multiplied out, where that stays small."""
    if tree[0] == "pow" and tree[1][0] == "add":
        return expand(_product([tree[1]] * tree[2]))
    if tree[0] == "mul" and any(one[0] == "add" for one in tree[1:]):
        return _product(tree[1:])
    if tree[0] == "add":
        return add(*(expand(one) for one in tree[1:]))
    return tree


def _product(factors):
    terms = [num(1)]
    for factor in factors:
        inside = factor[1:] if factor[0] == "add" else (factor,)
        terms = [mul(one, other) for one in terms for other in inside]
    return add(*map(collect, terms))


def collect(tree):
    """Return a product with equal factors written as powers."""
    factors = tree[1:] if tree[0] == "mul" else (tree,)
    counts = {}
    for one in factors:
        base, times = (one[1], one[2]) if one[0] == "pow" else (one, 1)
        if base[0] == "num":
            counts[base] = counts.get(base, 0) + times
        else:
            counts[base] = counts.get(base, 0) + times
    return mul(
        *(num(base[1] ** times) if base[0] == "num" else power(base, times) for base, times in counts.items())
    )


def condition(rng, names):
    """Return a random condition on sizes."""
    one = rng.choice(names)
    others = [name for name in names if name != one]
    if not others or rng.random() < 0.25:
        return Condition(var(one), rng.choice([">=", ">=", ">", "<=", "<"]), num(rng.randint(2, 9)))
    other, one = var(rng.choice(others)), var(one)
    if rng.random() < 0.13:
        return _mixed(rng, one, other)
    multiple = mul(num(rng.choice([1, 1, 2, 3])), other)
    return rng.choice(
        [
            *[Condition(one, rng.choice([">=", ">", "<=", "<"]), multiple)] * 3,
            *[Condition(other, "|", one)] * 2,
            Condition(call("sqrt", one), rng.choice([">", ">=", "<"]), other),
            Condition(one, ">=", rng.choice([power(other, 2), add(other, num(rng.randint(1, 3)))])),
            Condition(mul(one, other), rng.choice([">=", "<="]), num(rng.choice([4, 6, 12]))),
        ]
    )


def _mixed(rng, one, other):
    """Return a condition of a rarer kind."""
    c = num(rng.randint(2, 12))
    return rng.choice(
        [
            Condition(one, ">=", num(rng.choice([3, 5, 7]), 2)),
            Condition(mul(num(2), one), ">", num(7)),
            Condition(mul(num(2), one), "=", mul(num(3), other)),
            Condition(add(one, other), ">=", c),
            Condition(add(one, other), "=", add(c, num(2))),
            Condition(mul(one, other), "=", num(rng.choice([6, 12]))),
            Condition(call("max", one, other), "<=", c),
            Condition(call("min", one, other), ">=", c),
            Condition(power(one, 2), ">", other),
            Condition(power(one, 2), "<", mul(num(2), other)),
            Condition(call("ceil", div(one, other)), ">=", num(2)),
            Condition(div(one, other), ">", num(3, 2)),
            Condition(call("log2", one), ">=", other),
            Condition(num(rng.choice([2, 3])), "|", add(one, other)),
            Condition(call("abs", sub(one, other)), "<=", num(1)),
            Condition(call("sqrt", mul(one, other)), ">=", c),
            Condition(power(one, 2), "=", power(other, 2)),
            Condition(other, "|", add(one, num(1))),
            Condition(sub(one, other), ">=", num(0)),
            Condition(num(0), "<", sub(one, mul(num(2), other))),
        ]
    )


def tree(rng, chosen, depth=2):
    """Return a random formula with functions in it; it may be negative or undefined somewhere."""
    size = var(rng.choice(chosen))
    if depth == 0 or rng.random() < 0.15:
        return size if rng.random() < 0.7 else num(rng.choice([1, 2, 3, 5]), rng.choice([1, 1, 1, 2]))
    one, other = tree(rng, chosen, depth - 1), tree(rng, chosen, depth - 1)
    name = rng.choice(["sqrt", "ceil", "floor", "abs", "max", "min", "log", "max", "min", "floor", "ceil"])
    inside = (one, other) if name in ("max", "min") else (one,)
    inside = (power(one, 2),) if name == "sqrt" and rng.random() < 0.6 else inside
    return rng.choice(
        [
            *[add(one, other)] * 3,
            *[sub(one, other)] * 2,
            *[mul(one, other)] * 2,
            rng.choice([div(one, add(power(size, 2), num(1))), div(one, size)]),
            one if one[0] == "num" else power(one, 2),
            *[call(name, *inside)] * 3,
        ]
    )


def tie(rng, names):
    """Return an equality that says what one size is."""
    one, rest = names[0], names[1:]
    if not rest:
        return Condition(var(one), "=", num(rng.randint(2, 6)))
    scale = num(rng.choice([1, 2, 3, 4]))
    return Condition(var(one), "=", rng.choice(_ties(scale, rest)))


def _ties(scale, rest):
    """Return formulas that a size may be said to be."""
    first = var(rest[0])
    return [
        mul(scale, *map(var, rest)),
        mul(scale, first),
        power(first, 2),
        div(first, num(2)),
        add(first, num(1)),
    ]


# ---- spoiling ----


def places(tree, path=()):
    """Yield every tree inside with the way to it."""
    yield path, tree
    for index, one in enumerate(tree):
        if isinstance(one, tuple):
            yield from places(one, (*path, index))


def put(tree, path, new):
    """Return a tree with another one at a place."""
    if not path:
        return new
    changed = list(tree)
    changed[path[0]] = put(tree[path[0]], path[1:], new)
    return (
        add(*changed[1:]) if tree[0] == "add" else mul(*changed[1:]) if tree[0] == "mul" else tuple(changed)
    )


def spoil_tree(rng, tree):
    """Return a tree with one small change."""
    spots = [(path, one) for path, one in places(tree) if one[0] in ("num", "add", "mul", "pow", "var")]
    if not spots:
        return mul(num(2), tree)
    path, one = rng.choice(spots)
    if one[0] == "num":
        new = num(one[1] + rng.choice([1, -1]))
        if new == num(0) and path and tree[0] == "div":
            new = num(2)
    elif one[0] == "add":
        index = rng.randrange(1, len(one))
        new = rng.choice(
            [
                add(*one[1:index], *one[index + 1 :]),
                add(*one[1:index], mul(num(-1), one[index]), *one[index + 1 :]),
            ]
        )
    elif one[0] == "pow":
        new = power(one[1], one[2] + rng.choice([1, -1]))
    elif one[0] == "mul" and one[1][0] == "num":
        new = mul(num(one[1][1] + rng.choice([1, -1, Fraction(1, 2)])), *one[2:])
    else:
        name = var(min(trees.names(one))) if trees.names(one) else num(2)
        new = rng.choice([mul(num(2), one), add(one, num(1)), sub(one, num(1)), mul(sub(name, num(1)), one)])
    return put(tree, path, new)


def spoil(rng, claim):
    """Return a claim with one small change, which may make it false."""
    ways = ["left", "right", "right", "sign"]
    ways += ["drop", "drop", "shift", "strict"] if claim.conditions else []
    ways += ["threshold"] * 3 if claim.form == "iff" else []
    ways += ["percent"] if claim.form == "within" else []
    way = rng.choice(ways)
    found = replace(claim, made=False, twist=f"spoiled {way}")
    if way in ("left", "right"):
        return replace(found, **{way: spoil_tree(rng, getattr(claim, way))})
    if way == "sign":
        other = {"<=": "<", ">=": ">", "<": "<=", ">": ">=", "O": "Theta", "Theta": "~", "~": "~", "=": "="}
        return replace(found, sign=other.get(claim.sign, claim.sign))
    if way == "threshold":
        name, sign, bound = claim.threshold
        bound = rng.choice([add(bound, num(1)), sub(bound, num(1)), mul(num(2), bound)])
        return replace(found, threshold=(name, sign, bound))
    if way == "percent":
        return replace(found, percent=claim.percent / 2)
    return replace(found, conditions=_spoiled(rng, claim.conditions, way))


def _spoiled(rng, conditions, way):
    index = rng.randrange(len(conditions))
    one = conditions[index]
    if way == "drop":
        return conditions[:index] + conditions[index + 1 :]
    if way == "strict":
        sign = {">=": ">", "<=": "<", ">": ">=", "<": "<="}.get(one.sign, one.sign)
        return (*conditions[:index], replace(one, sign=sign), *conditions[index + 1 :])
    moved = replace(one, right=add(one.right, num(rng.choice([1, -1]))))
    return (*conditions[:index], moved, *conditions[index + 1 :])
