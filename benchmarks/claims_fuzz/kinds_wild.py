"""Makers of claims of which nothing is known: formulas that grow, and minima, local ones or at a border."""

from __future__ import annotations

from .claim import Claim, Condition
from .making import condition, monomial, some_names
from .making import tree as random_tree
from .trees import add, call, div, mul, names, num, power, sub, var
from .trees import replace as put


def growing(rng):
    """Make a claim about how a random formula grows."""
    chosen = some_names(rng)
    left = random_tree(rng, chosen, rng.randint(1, 3))
    if not names(left):
        left = add(left, var(chosen[0]))
    grows = tuple(sorted(rng.sample(sorted(names(left)), rng.randint(1, len(names(left))))))
    one = var(grows[0])
    right = rng.choice(
        [
            monomial(rng, list(grows), 2),
            monomial(rng, list(grows), 2),
            mul(num(rng.choice([2, 3])), one),
            call("log", one),
            call("sqrt", one),
            random_tree(rng, sorted(names(left)), 1),
            put(left, one, add(one, num(1))),
            put(left, one, mul(num(2), one)),
        ]
    )
    conditions = (condition(rng, sorted(names(left))),) if rng.random() < 0.4 else ()
    sign = rng.choice(["~", "O", "O", "Theta"])
    return Claim("wild growth", "asymptotic", left, sign, right, conditions, grows=grows, may_refuse=True)


def lowest(rng):
    """Make a claim about a minimum that may be local, at a border, or not there at all."""
    k = var(rng.choice(["k", "x"]))
    size = var(rng.choice("nmL")) if rng.random() < 0.5 else num(rng.choice([4, 9, 12]))
    c, d = num(rng.randint(1, 5)), num(rng.randint(3, 8))
    place = rng.choice([c, d, num(1), call("sqrt", size), size])
    inner = rng.choice(
        [
            add(mul(power(sub(k, c), 2), power(sub(k, d), 2)), div(k, num(rng.choice([3, 10])))),
            mul(power(sub(k, c), 2), power(sub(k, d), 2)),
            add(call("abs", sub(k, c)), div(size, k)),
            call("max", k, div(size, k)),
            add(k, call("max", num(0), sub(size, mul(c, k)))),
            sub(mul(d, k), power(k, 2)),
            add(k, div(size, power(k, 2))),
            add(power(k, 2), div(mul(num(2), size), k)),
            sub(k, call("log", k)),
            sub(k, mul(c, call("sqrt", k))),
            add(call("ceil", div(size, k)), mul(c, k)),
            add(call("ceil", div(size, k)), call("floor", div(k, num(2)))),
            div(add(power(k, 2), size), add(k, num(1))),
            add(div(size, k), div(k, add(k, num(1)))),
            mul(sub(k, c), add(k, div(size, k))),
        ]
    )
    form = rng.choice(["min", "argmin"])
    right = place if form == "argmin" else put(inner, k, place)
    rest = [size] if size[0] == "var" else []
    bounds = [
        Condition(k, ">=", c),
        Condition(k, "<=", d),
        Condition(k, "|", rest[0] if rest else num(12)),
        Condition(k, "<=", rest[0] if rest else num(6)),
    ]
    conditions = tuple(rng.sample(bounds, rng.choice([0, 1, 1, 2])))
    return Claim("wild minimum", form, inner, "=", right, conditions, name=k[1], may_refuse=True)


def tending(rng):
    """Make a claim about a limit of a random quotient."""
    n = var("n")
    rest = ["m"] if rng.random() < 0.4 else []
    above, below = (random_tree(rng, ["n", *rest], rng.randint(1, 2)) for _ in range(2))
    left = div(add(above, n), add(power(n, rng.choice([1, 1, 2])), call("abs", below)))
    claimed = rng.choice([num(0), num(1), num(2), num(1, 2), num(3), *map(var, rest)])
    conditions = (condition(rng, ["n", *rest]),) if rng.random() < 0.25 else ()
    return Claim("wild limit", "lim", left, "=", claimed, conditions, name="n", may_refuse=True)
