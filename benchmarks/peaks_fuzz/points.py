"""Integer sizes at which a case is judged, drawn by conditions that are compiled here."""

from __future__ import annotations

import math
from fractions import Fraction

from sympy import Pow

from symacct.algebra.evaluate import evaluate
from symacct.counts import may_be_zero
from symacct.nodes import Node, Repeat

COUNTS = "LNPMk"
WIDTHS = (1, 2, 3, 4, 5, 8, 13, 40, 100)
TRIES, WORK, MOST_WORK = 4000, 700, 2500


KNOWN = {
    "ceiling": lambda value: Fraction(math.ceil(value)),
    "floor": lambda value: Fraction(math.floor(value)),
    "Max": max, "Min": min, "Fraction": Fraction, "__builtins__": {},
}  # fmt: skip


class Compiled:
    """A formula as Python computes it, with fractions."""

    def __init__(self, expr):
        self.names = sorted(free.name for free in expr.free_symbols)
        self.expr = expr
        self.rooted = any(not one.exp.is_integer for one in expr.atoms(Pow))
        self.code = compile(str(expr), "<formula>", "eval")

    def __call__(self, sizes):
        """Return the value; roots that are multiplied are so before they are taken: sqrt(2)*sqrt(L)."""
        if self.rooted:
            found = evaluate(self.expr, sizes)
            return Fraction(int(found.p), int(found.q)) if found.is_Rational else Fraction(float(found))
        at = {name: Fraction(sizes[name]) for name in self.names}
        found = eval(self.code, KNOWN, at)  # noqa: S307 (a printed formula)
        return Fraction(found)


class Condition:
    """A condition, compiled."""

    def __init__(self, one):
        self.kind, self.left, self.right = one.kind, Compiled(one.left), Compiled(one.right)

    def __call__(self, sizes):
        """Say whether it holds."""
        left, right = self.left(sizes), self.right(sizes)
        if self.kind == "divides":
            return right == 0 if left == 0 else (right / left).denominator == 1
        return {"equal": left == right, "at_least": left >= right, "above": left > right}[self.kind]


class Conditions:
    """Several conditions."""

    def __init__(self, conditions):
        self.all = [Condition(one) for one in conditions]

    def __call__(self, sizes):
        """Say whether all hold."""
        try:
            return all(one(sizes) for one in self.all)
        except ZeroDivisionError:
            return False


class Sizes:
    """Draws sizes at which a graph runs under a policy."""

    def __init__(self, rng, account):
        self.rng, self.graph = rng, account.source
        self.names = [*account.source.order, *account.policy.names]
        self.zeros = set(may_be_zero(account.source))
        self.valid = Conditions(account.source.conditions)
        self.work = Work(account.source.nodes)
        every = account.policy.checkpoint.every
        self.every = every is not None
        self.found = {}

    def one(self, span):
        """Draw sizes, right or not."""
        rng, found = self.rng, {}
        for name in self.names:
            if name not in COUNTS:
                found[name] = rng.choice(WIDTHS)
            elif name == "M":
                found[name] = rng.choice((1, 2, 3, 5, 9))
            else:
                found[name] = rng.randint(*rng.choice(span))
                if found[name] == 0 and name not in self.zeros:
                    found[name] = 1
        return found

    def draw(self, holds, span, most, work=WORK):
        """Return up to so many different sizes at which a test says yes."""
        found = {}
        for _ in range(TRIES):
            sizes = self.one(span)
            key = tuple(sizes.items())
            if key not in found and self.valid(sizes) and self.work(sizes) <= work and holds(sizes):
                found[key] = sizes
                if len(found) == most:
                    break
        return list(found.values())


class Work:
    """How many nodes run in a forward pass, at most."""

    def __init__(self, nodes):
        self.nodes = sum(isinstance(node, Node) for node in nodes)
        self.repeats = [
            (Compiled(node.hi - node.lo), node.index.name, Work(node.body))
            for node in nodes if isinstance(node, Repeat)
        ]  # fmt: skip

    def __call__(self, sizes):
        """Return a bound."""
        found = self.nodes
        for count, index, body in self.repeats:
            times = count(sizes)
            if times > 0:
                found += times * body({**sizes, index: times - 1})
        return found
