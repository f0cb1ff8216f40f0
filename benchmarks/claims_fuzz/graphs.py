"""Claims about shipped graphs, and the values of their quantities at integer sizes."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from random import Random

from .claim import Claim, Condition
from .domain import related
from .kinds_growth import degree_of
from .making import condition, expand, monomial, positive
from .numbers import UndefinedError
from .trees import add, call, compiled, div, mul, names, num, power, quantity, var

PLAIN = (
    "flops.model",
    "flops.forward",
    "params",
    "memory.activations",
    "bytes.forward",
    "memory.activations.peak",
)
GRAPHS = {
    ("deep_linear", ()): PLAIN,
    ("linear", ()): PLAIN,
    ("mlp", ()): PLAIN,
    ("two_layer", ()): PLAIN,
    ("dot", ()): PLAIN,
    ("matvec", ()): PLAIN,
    ("matmul", ()): ("flops.model", "bytes.forward"),
    ("lora", ()): PLAIN[:4],
    ("swiglu", ()): PLAIN[:4],
    ("moe", ()): PLAIN[:4],
    ("attention_core", ()): ("flops.model", "memory.activations", "bytes.forward"),
    ("attention", ()): PLAIN[:4],
    ("gpt", ()): PLAIN[:4],
    ("llama", ()): PLAIN[:3],
    ("mlp", (("checkpoint", "every:k"),)): ("memory.activations.peak", "memory.activations", "flops.model"),
    ("mlp", (("checkpoint", "sqrt"),)): ("memory.activations.peak",),
    ("deep_linear", (("checkpoint", "every:2"),)): ("memory.activations.peak", "flops.model"),
    ("deep_linear", (("precision", "fp32"),)): ("memory.activations", "memory.peak"),
}
ALIASES = {"gpt": {"d": lambda at: divide_whole(at["h"], at["a"]), "t": lambda at: at["s"]}}
WHEN = {"at_least": ">=", "equal": "=", "divides": "|"}


def divide_whole(above, below):
    """Return an alias that is a quotient."""
    if above % below:
        raise UndefinedError
    return above // below


class Values:
    """The quantities of an account at integer sizes, each worked out once."""

    def __init__(self, graph, policy):
        from symacct import derive
        from symacct.readers.files import load

        self.graph, self.account = graph, derive(load(graph), **dict(policy))
        bound = self.account.graph.bound
        self.every = [name for name in self.account.graph.order if name not in bound]
        self.every += [name for name in self.account.policy.names if name not in self.every]
        self.tied = sorted(
            {name for one in self.account.graph.conditions for name in one.names} & set(self.every)
        )
        self.needed = [_ready(one) for one in self.account.graph.conditions]
        self.known, self.sizes, self.when, self.quick = {}, (), [], {}

    def expression(self, name):
        """Return the formula that symacct derives, to make claims of; None where it is no plain formula."""
        try:
            return tree_of(self.account[name].expr)
        except (KeyError, TypeError):
            return None

    def looks_at(self, claim):
        """Keep to the sizes that a claim depends on."""
        found, self.when = set(self.tied), []
        for name in claim.quantities - set(ALIASES.get(self.graph, ())):
            for one in self.account[name].when:
                found |= set(one.names)
                self.when.append(_ready(one))
            found |= {str(one) for one in self.account[name].expr.free_symbols if not str(one).isdigit()}
        self.sizes = tuple(sorted(found & set(self.every)))
        return self

    def __call__(self, name, at):
        """Return a quantity at sizes."""
        if name in ALIASES.get(self.graph, {}):
            return ALIASES[self.graph][name](at)
        if name not in self.quick:
            self.quick[name] = self._checked(name)
        found = self.quick[name](at) if self.quick[name] else self._at(name, at)
        if found is None:
            raise UndefinedError
        return found

    def _checked(self, name):
        """Return a quantity's formula as a function, if it has the values of the account at many sizes."""
        formula, conditions = self.expression(name), [_ready(one) for one in self.account[name].when]
        if formula is None or not self.every:
            return None
        quick, rng, tried = compiled(formula), Random(name), 0
        for _ in range(400):
            at = {one: rng.choice([1, 2, 3, 4, 5, 6, 8, 12, 16, 36]) for one in self.every}
            if not all(
                related(left(at), sign, right(at)) for left, sign, right in [*conditions, *self.needed]
            ):
                continue
            tried += 1
            if quick(at) != self._at(name, at):
                return None
            if tried >= 25:
                break
        return quick if tried >= 8 else None

    def formula_at(self, at):
        """Return whether the formulas are said to hold at sizes."""
        return all(related(left(at), sign, right(at)) for left, sign, right in self.when)

    def allows(self, at):
        """Say whether the graph has such sizes, and the formulas are said to hold there."""
        return self.formula_at(at) and all(
            related(left(at), sign, right(at)) for left, sign, right in self.needed
        )

    def _at(self, name, at):
        from symacct.errors import SymacctError

        sizes = tuple(at.get(one, 1) for one in self.every)
        key = (name, sizes)
        if key not in self.known:
            if len(self.known) > 60000:
                self.known.clear()
            try:
                value = self.account.value(name, dict(zip(self.every, sizes, strict=True)))
                value = int(value) if value.is_Integer else None
            except SymacctError:
                value = None
            self.known[key] = value
        return self.known[key]


def _ready(one):
    """Return a condition of symacct as two functions with a sign between."""
    return compiled(tree_of(one.left)), WHEN[one.kind], compiled(tree_of(one.right))


@lru_cache(maxsize=64)
def values_of(graph, policy):
    """Return the values of a graph under a policy."""
    return Values(graph, policy)


def load_values(claim):
    """Return the account of a claim's graph and its values; None twice for formulas alone."""
    if not claim.graph:
        return None, None
    values = values_of(claim.graph, claim.policy)
    return values.account, values.looks_at(claim)


def tree_of(expr):
    """Return a formula of symacct as a tree, to make claims of; what is true of them is found otherwise."""
    if expr.is_Rational:
        return num(int(expr.p), int(expr.q))
    if expr.is_Symbol:
        return var(str(expr))
    inside = [tree_of(one) for one in expr.args]
    if expr.is_Add:
        return add(*inside)
    return _product(inside) if expr.is_Mul else _power(expr, inside)


def _product(inside):
    below = [one[1] for one in inside if one[0] == "below"]
    above = mul(*(one for one in inside if one[0] != "below"))
    return div(above, mul(*below)) if below else above


def _power(expr, inside):
    if not expr.is_Pow:
        rules = {"Max": "max", "Min": "min", "ceiling": "ceil", "floor": "floor"}
        return call(rules[type(expr).__name__], *inside)
    if str(expr.exp) == "1/2":
        return call("sqrt", inside[0])
    base, exponent = inside[0], int(expr.exp)
    return power(base, exponent) if exponent > 0 else ("below", power(base, -exponent))


def _about(rng):
    """Return values, a quantity and the formula of it, all of a random graph."""
    while True:
        graph, policy = rng.choice(list(GRAPHS))
        values = values_of(graph, policy)
        name = rng.choice(GRAPHS[graph, policy])
        formula = values.expression(name)
        if formula is not None and names(formula) and formula[0] != "below":
            return values, graph, policy, name, formula


def _condition(rng, formula):
    return condition(rng, sorted(names(formula))) if rng.random() < 0.5 else None


def graph_equality(rng):
    """Claim that a quantity is its formula."""
    _, graph, policy, name, formula = _about(rng)
    formula = expand(formula) if rng.random() < 0.5 else formula
    claim = Claim(
        "graph equality", "relation", quantity(name), "=", formula, graph=graph, policy=policy, made=True
    )
    if graph == "gpt" and rng.random() < 0.3:
        swapped = rng.choice([("s", "t"), ("h", "d")])
        if swapped[0] == "s":
            from .trees import replace as put

            return replace(claim, right=put(formula, var("s"), quantity("t")))
        return replace(claim, left=mul(var("a"), quantity("d")), right=var("h"))
    needed = _condition(rng, formula)
    return replace(claim, conditions=(needed,) if needed else ())


def graph_order(rng):
    """Claim a bound of a quantity."""
    _, graph, policy, name, formula = _about(rng)
    sizes = sorted(names(formula))
    needed = _condition(rng, formula)
    conditions = (needed,) if needed else ()
    roll = rng.random()
    terms = list(formula[1:]) if formula[0] == "add" else [formula]
    base = Claim(
        "graph order", "relation", quantity(name), "<=", formula, conditions, graph=graph, policy=policy
    )
    if roll < 0.3:
        return replace(base, right=add(formula, positive(rng, sizes)), made=True)
    if roll < 0.5 and len(terms) > 1:
        return replace(base, sign=">=", right=rng.choice(terms))
    if roll < 0.75:
        other = rng.choice(GRAPHS[graph, policy])
        if other.partition(".")[0] == name.partition(".")[0] or rng.random() < 0.2:
            return replace(base, sign=rng.choice(["<=", ">=", "<"]), right=quantity(other), may_refuse=True)
    scale = mul(num(rng.randint(1, 8)), monomial(rng, sizes, 3))
    return replace(base, sign=rng.choice(["<=", ">="]), right=scale)


def graph_growth(rng):
    """Claim the leading order of a quantity."""
    _, graph, policy, name, formula = _about(rng)
    formula = expand(formula)
    sizes = sorted(names(formula))
    grows = tuple(sorted(rng.sample(sizes, rng.randint(1, min(2, len(sizes))))))
    terms = formula[1:] if formula[0] == "add" else (formula,)
    top = max(degree_of(one, grows) for one in terms)
    lead = add(*(one for one in terms if degree_of(one, grows) == top))
    sign = rng.choice(["~", "O", "Theta"])
    right = (
        lead
        if sign == "~" or lead[0] == "add"
        else mul(*(one for one in lead[1:] if one[0] != "num"))
        if lead[0] == "mul"
        else lead
    )
    plain = all(one[0] in ("mul", "var", "pow", "num") for one in terms)
    claim = Claim(
        "graph growth",
        "asymptotic",
        quantity(name),
        sign,
        right,
        grows=grows,
        graph=graph,
        policy=policy,
        made=True if plain and top else None,
    )
    if graph == "gpt" and rng.random() < 0.2:
        return replace(claim, grows=("t",), may_refuse=True, made=None)
    if rng.random() < 0.5:
        needed = condition(rng, sizes)
        if rng.random() < 0.4 and len(sizes) > 1:
            needed = Condition(
                var(grows[0]),
                ">=",
                mul(num(rng.choice([1, 2])), var(rng.choice([n for n in sizes if n != grows[0]]))),
            )
        elif rng.random() < 0.3 and len(sizes) > 1:
            needed = Condition(
                var(grows[0]),
                "=",
                mul(num(rng.choice([1, 2, 4])), var(rng.choice([n for n in sizes if n != grows[0]]))),
            )
        return replace(
            claim, conditions=(needed,), may_refuse=True, made=claim.made if needed.sign != "=" else None
        )
    return claim


def graph_threshold(rng):
    """Claim where a quantity reaches a formula."""
    _, graph, policy, name, formula = _about(rng)
    size = rng.choice(sorted(names(formula)))
    flat = expand(formula)
    terms = flat[1:] if flat[0] == "add" else (flat,)
    c = num(rng.randint(2, 6))
    from .trees import replace as put

    sign = rng.choice(["<=", ">=", "<", ">"])
    made = True if all(one[0] in ("mul", "var", "pow", "num") and one[0] != "num" for one in terms) else None
    return Claim(
        "graph threshold",
        "iff",
        quantity(name),
        sign,
        put(formula, var(size), c),
        threshold=(size, sign, c),
        graph=graph,
        policy=policy,
        made=made,
    )


def graph_minimum(rng):
    """Claim the least peak over the length of a segment."""
    graph, policy, name = "mlp", (("checkpoint", "every:k"),), "memory.activations.peak"
    size, other = var(rng.choice("BD")), var(rng.choice("BDL"))
    place = rng.choice([call("sqrt", var("L")), call("sqrt", div(var("L"), num(2))), num(1), num(2)])
    scale = num(rng.choice([2, 4, 6]))
    value = mul(scale, var("B"), var("D"), call("sqrt", var("L")))
    form = rng.choice(["min", "argmin"])
    needed = [
        Condition(var("k"), rng.choice([">=", "<="]), num(rng.randint(1, 9))),
        Condition(size, ">=", other),
    ]
    needed += [Condition(var("B"), ">=", mul(var("k"), var("D"))), Condition(var("k"), "=", num(2))]
    chosen = tuple(rng.sample(needed, rng.randint(0, 2)))
    right = place if form == "argmin" else value
    return Claim(
        "graph minimum",
        form,
        quantity(name),
        "=",
        right,
        chosen,
        name="k",
        graph=graph,
        policy=policy,
        may_refuse=True,
    )


def graph_where(rng):
    """Claim something of quantities that are named by `where`."""
    values, graph, policy, _, formula = _about(rng)
    first, second = rng.choice(
        [("params", "flops.model"), ("params", "memory.activations"), ("flops.forward", "flops.model")]
    )
    if values.account.graph.tokens is not None and rng.random() < 0.3:
        first = "tokens"
    sizes = sorted(names(formula))
    scale = num(rng.choice([1, 2, 3, 4, 6]))
    right = mul(scale, quantity(first), *([monomial(rng, sizes, 1)] if rng.random() < 0.5 else []))
    claim = Claim(
        "graph where",
        "relation",
        quantity(second),
        rng.choice(["<=", ">=", "="]),
        right,
        graph=graph,
        policy=policy,
        binds=(("N_", quantity(first)),),
        may_refuse=True,
    )
    needed = _condition(rng, formula)
    return replace(claim, conditions=(needed,) if needed else ())


def graph_bound(rng):
    """Claim something of a model whose sizes are bound."""
    graph = "gpt2"
    roll = rng.random()
    values = values_of(graph, ())
    name = rng.choice(["flops.model", "params", "memory.activations"])
    formula = expand(values.expression(name))
    base = Claim("graph bound", "relation", quantity(name), "=", formula, graph=graph, made=True)
    if roll < 0.4 and names(formula):
        grows = (rng.choice(["L", "D", "H"]),)
        return replace(
            base,
            form="asymptotic",
            sign=rng.choice(["O", "~", "Theta"]),
            right=monomial(rng, sorted(names(formula)), 2),
            grows=grows,
            may_refuse=True,
            made=None,
        )
    if roll < 0.6 and names(formula):
        return replace(
            base, sign=rng.choice(["<=", ">="]), right=mul(num(10 ** rng.randint(5, 11)), var("B"))
        )
    if roll < 0.8 and "S" in names(formula):
        return replace(
            base,
            sign="<=",
            right=add(
                formula, mul(num(10**6), add(num(rng.choice([1023, 1024, 1025])), mul(num(-1), var("S"))))
            ),
            made=True if roll < 0.7 else None,
        )
    return base


GRAPH_MAKERS = {
    "graph equality": (graph_equality, 6),
    "graph order": (graph_order, 8),
    "graph growth": (graph_growth, 8),
    "graph threshold": (graph_threshold, 4),
    "graph bound": (graph_bound, 2),
    "graph minimum": (graph_minimum, 2),
    "graph where": (graph_where, 3),
}
