"""Random graphs: nested repeats, several carries, shared and frozen weights, broadcasting, views, norms.

One seed gives one graph and its sizes. Values stay moderate: no chains of exp, no division by what can be
0, and every carry is squashed or averaged. A graph through which nothing trainable reaches an output is
thrown away, since nothing would be compared.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random
from typing import TYPE_CHECKING, Any

from symacct.build import Builder, Var
from symacct.derive import derive
from symacct.errors import RuleError
from symacct.graph import Repeat, walk

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from symacct.graph import Graph

SIZES = {"B": 2, "S": 3, "D": 4, "E": 5, "F": 6}
COUNTS = ("L", "M")
TWINS = ("", "_b", "_c")
MOST_AXES = 4
MOST_ELEMENTS = 600


@dataclass(frozen=True)
class RandomGraph:
    """A graph, and the sizes to run it at."""

    seed: int
    graph: Graph
    sizes: dict[str, int]


@dataclass
class Sketch:
    """A graph being drawn: the builder, the dice, and the tensors that can be used here."""

    b: Builder
    dice: Random
    pool: list[Var]
    shared: list[Var]
    ids: Var
    tables: tuple[Var, Var]
    sizes: dict[str, int]
    depth: int = 0
    count: int = 0
    indices: dict[str, int] = field(default_factory=dict)

    # ---- choosing ----

    def name(self, stem: str) -> str:
        """Return a new name."""
        self.count += 1
        return f"{stem}{self.count}"

    def chance(self, part: float) -> bool:
        """Return True with this probability."""
        return self.dice.random() < part

    def var(self, *, axes: int = 0) -> Var:
        """Return a tensor with at least so many axes, a recent one more often."""
        fitting = [v for v in self.pool if len(v.axes) >= axes and v.tensor.floating]
        recent = fitting[-2:] if self.chance(0.75) else fitting
        return self.dice.choice(recent)

    def axis(self, x: Var) -> str:
        """Return one of its axes."""
        return self.dice.choice(x.axes)

    def numel(self, dims: Sequence[Any]) -> int:
        """Return a number of elements, at the sizes the graph will run at."""
        whole = 1
        for dim in dims:
            whole *= int(dim.subs({s: {**self.sizes, **self.indices}[s.name] for s in dim.free_symbols}))
        return whole

    def own(self, axis: str) -> bool:
        """Return whether an axis is one of the plain ones."""
        return axis in SIZES

    def new_axis(self, taken: Sequence[str]) -> tuple[str, str]:
        """Return an axis that is not taken, and the size it has."""
        size = self.dice.choice(list(SIZES))
        free = [size + twin for twin in TWINS if size + twin not in taken]
        return (self.dice.choice(free), size) if free else self.new_axis(taken)

    def weight(self, x: Sequence[tuple[str, Any]], stem: str = "w") -> Var:
        """Return a parameter with these axes: a new one, a frozen one, or one that is shared."""
        known = [w for w in self.shared if list(zip(w.axes, w.dims, strict=True)) == list(x)]
        if known and self.chance(0.5):
            return self.dice.choice(known)
        sizes = dict(x)
        w = self.b.weight(self.name(stem), " ".join(sizes), trainable=self.chance(0.8), **sizes)
        if self.depth == 0:
            self.shared.append(w)
        return w

    # ---- ops ----

    def add(self) -> None:
        """Add one random op to the pool."""
        op = self.dice.choice(OPS)
        x = op(self) if any(v.axes for v in self.pool) else unary(self)
        if x is not None and len(x.axes) <= MOST_AXES and self.numel(x.dims) <= MOST_ELEMENTS:
            self.pool.append(x)


def linear(s: Sketch) -> Var:
    """Multiply by a weight: an axis goes and another comes, under words of the equation's own."""
    x = s.var(axes=1)
    gone = s.axis(x)
    new, size = s.new_axis(x.axes)
    w = s.weight([(gone, x.tensor.dim(gone)), (new, s.b.size(size))])
    kept = [a for a in x.axes if a != gone]
    out = [*kept, new]
    if s.chance(0.3):
        s.dice.shuffle(out)
    if s.chance(0.2):
        w, order = s.b.rearrange(f"{gone} {new} -> {new} {gone}", w), f"{new} {gone}"
    else:
        order = f"{gone} {new}"
    return s.b.einsum(f"{' '.join(x.axes)}, {order} -> {' '.join(out)}", x, w)


def renamed(s: Sketch) -> Var:
    """Multiply by a weight under words that are not the names of the axes, then name them as before."""
    x = s.var(axes=1)
    words = [f"r{i}" for i in range(len(x.axes))]
    gone = s.dice.randrange(len(words))
    w = s.weight([("p", x.dims[gone]), ("q", x.dims[gone])])
    out = [*words]
    out[gone] = "q"
    y = s.b.einsum(f"{' '.join(words)}, {words[gone]} q -> {' '.join(out)}", x, w)
    gate = s.weight([(x.axes[0], x.dims[0])])
    return s.b.einsum(f"{' '.join(x.axes)}, {x.axes[0]} -> {' '.join(x.axes)}", y, gate)


def product(s: Sketch) -> Var | None:
    """Contract two or three tensors of the pool; the axes they share are summed or kept."""
    xs = [s.var() for _ in range(s.dice.choice((2, 2, 2, 3)))]
    union = list(dict.fromkeys(a for x in xs for a in x.axes))
    out = [a for a in union if s.chance(0.6)][:MOST_AXES]
    if s.chance(0.3):
        s.dice.shuffle(out)
    if len(union) > MOST_AXES + 2:
        return None
    dims = {a: d for x in xs for a, d in zip(x.axes, x.dims, strict=True)}
    if s.numel(list(dims.values())) > MOST_ELEMENTS * 4:
        return None
    y = s.b.einsum(f"{', '.join(' '.join(x.axes) for x in xs)} -> {' '.join(out)}", *xs)
    return s.dice.choice((s.b.tanh, s.b.sigmoid))(y)


UNARY: tuple[Callable[[Builder, Var], Var], ...] = (
    lambda b, x: b.relu(x), lambda b, x: b.gelu(x), lambda b, x: b.gelu_tanh(x), lambda b, x: b.silu(x),
    lambda b, x: b.tanh(x), lambda b, x: b.sigmoid(x), lambda b, x: b.neg(x), lambda b, x: b.abs(x),
    lambda b, x: b.square(b.tanh(x)), lambda b, x: b.exp(b.tanh(x)), lambda b, x: b.scale(x, "1/2"),
    lambda b, x: b.scale(x, "1/sqrt(D)"), lambda b, x: b.shift(x, 1),
    lambda b, x: b.log(b.shift(b.square(b.tanh(x)), 1)),
    lambda b, x: b.sqrt(b.shift(b.square(b.tanh(x)), 1)), lambda b, x: b.rsqrt(b.shift(b.square(x), 1)),
)  # fmt: skip


def unary(s: Sketch) -> Var:
    """Apply a function."""
    return s.dice.choice(UNARY)(s.b, s.var())


def binary(s: Sketch) -> Var:
    """Combine two tensors whose axes align by name, one of them perhaps a parameter."""
    x, b = s.var(), s.b
    if s.chance(0.4) and x.axes:
        some = [a for a in x.axes if s.chance(0.5)] or [s.axis(x)]
        y = s.weight([(a, x.tensor.dim(a)) for a in some])
    else:
        y = s.var()
    if s.chance(0.3):
        x, y = y, x
    kind = s.dice.choice(("add", "add", "sub", "mul", "maximum", "div", "where"))
    if kind == "div":
        return b.div(x, b.shift(b.square(b.tanh(y)), 1))
    if kind == "where":
        return b.where(b.greater(x, y), x, y)
    return b.elementwise(kind, x, y)


def reduced(s: Sketch) -> Var:
    """Reduce some axes away."""
    x = s.var(axes=1)
    gone = [a for a in x.axes if s.chance(0.4)] or [s.axis(x)]
    kept = [a for a in x.axes if a not in gone]
    if s.chance(0.2):
        s.dice.shuffle(kept)
    return s.b.reduce(
        f"{' '.join(x.axes)} -> {' '.join(kept)}", x, s.dice.choice(("sum", "mean", "mean", "max"))
    )


def normalised(s: Sketch) -> Var:
    """Apply a softmax or a norm over an axis."""
    x, b = s.var(axes=1), s.b
    axis = s.axis(x)
    kind = s.dice.choice(("softmax", "log_softmax", "layernorm", "rmsnorm"))
    if kind == "softmax":
        return b.softmax(x, axis)
    if kind == "log_softmax":
        return b.log_softmax(x, axis)
    if kind == "layernorm":
        return b.layernorm(x, axis, weight=s.chance(0.6), bias=s.chance(0.5), name=s.name("ln"))
    return b.rmsnorm(x, axis, weight=s.chance(0.6), name=s.name("rms"))


def rearranged(s: Sketch) -> Var:
    """Move axes, or merge two and split them again."""
    x, b = s.var(axes=1), s.b
    axes = list(x.axes)
    s.dice.shuffle(axes)
    y = b.rearrange(f"{' '.join(x.axes)} -> {' '.join(axes)}", x)
    if len(axes) < 2 or s.chance(0.5):
        return y
    one, two, *rest = axes
    merged = b.rearrange(f"{one} {two} {' '.join(rest)} -> ({one} {two}) {' '.join(rest)}", y)
    merged = s.dice.choice(UNARY)(b, merged)
    sizes = {one: y.tensor.dim(one), two: y.tensor.dim(two)}
    return b.rearrange(f"({one} {two}) {' '.join(rest)} -> {two} {one} {' '.join(rest)}", merged, **sizes)


def joined(s: Sketch) -> Var:
    """Cut an axis and join the parts, or two tensors, along it."""
    x, b = s.var(axes=1), s.b
    axis = s.axis(x)
    size = x.tensor.dim(axis)
    first = b.slice(x, axis, 0, 1)
    if s.chance(0.4):
        last = b.slice(x, axis, size - 1, size)
        return b.reduce(f"{' '.join(x.axes)} -> {' '.join(a for a in x.axes if a != axis)}", last, "sum")
    rest = b.slice(x, axis, 1, size)
    return b.concatenate([s.dice.choice(UNARY)(b, rest), first], axis)


def dropped(s: Sketch) -> Var:
    """Drop elements."""
    return s.b.dropout(s.var(), "1/4")


def looked_up(s: Sketch) -> Var:
    """Look rows of a table up."""
    ids = s.ids
    size = s.dice.choice([n for n in SIZES if n not in ids.axes])
    table = s.weight([("V_t", s.b.size("E")), (size, s.b.size(size))], "table")
    return s.b.embedding(table, ids)


def scored(s: Sketch) -> Var:
    """Take the cross-entropy of logits made from a tensor, a scalar."""
    x = fitted(s, s.var(), s.ids)
    logits = s.b.einsum("B S, E -> B S E", x, s.weight([("E", s.b.size("E"))]))
    return s.b.cross_entropy(logits, s.ids, "E")


def turned(s: Sketch) -> Var | None:
    """Turn pairs of features by the position, with one table for every use."""
    if not any({"S", "D"} <= set(v.axes) for v in s.pool):
        return None
    x = s.dice.choice([v for v in s.pool if {"S", "D"} <= set(v.axes)])
    return s.b.rotary(x, *s.tables, axis="D", positions="S")


def repeated(s: Sketch) -> Var | None:
    """Repeat a random body with one to three carries."""
    if s.depth >= 2:
        return None
    carries = [s.var() for _ in range(s.dice.choice((1, 1, 2, 2, 3)))]
    count = (
        s.dice.choice((*COUNTS, *COUNTS, 1, 2, 3, 4)) if s.depth == 0 else s.dice.choice((*COUNTS, 1, 2, 3))
    )
    index = s.name("i") if s.chance(0.35) else None
    if s.indices and s.chance(0.6):
        count = f"{s.dice.choice(list(s.indices))} + 1"

    def body(*enters: Any) -> Any:
        if index is not None:
            _, *rest = enters
            enters = tuple(rest)
        indices = {**s.indices, index: 3} if index is not None else s.indices
        inner = Sketch(
            s.b, s.dice, [*s.pool[-4:], *enters], s.shared, s.ids, s.tables, s.sizes, s.depth + 1, s.count, indices
        )
        if index is not None and any(v.axes for v in inner.pool) and s.chance(0.7):
            inner.pool.append(widened(inner, index))
        for _ in range(s.dice.randint(1, 4 - s.depth)):
            inner.add()
        leaves = leave(inner, list(enters))
        s.count = inner.count
        return leaves if len(leaves) > 1 else leaves[0]

    results = s.b.repeat(
        count, body, tuple(carries) if len(carries) > 1 else carries[0], name=s.name("r"), index=index
    )
    results = results if isinstance(results, tuple) else (results,)
    s.pool += results[1:]
    return results[0]


def widened(s: Sketch, index: str) -> Var:
    """Go through a hidden axis whose size grows with the iteration."""
    x = s.var(axes=1)
    axis, width = s.axis(x), s.b.size(f"{index} + 2")
    up = s.b.weight(s.name("up"), f"{axis} W", **{axis: x.tensor.dim(axis), "W": width})
    kept = [a for a in x.axes if a != axis]
    y = s.b.tanh(s.b.einsum(f"{' '.join(x.axes)}, {axis} W -> {' '.join((*kept, 'W'))}", x, up))
    down = s.b.weight(s.name("down"), f"W {axis}", **{axis: x.tensor.dim(axis), "W": width})
    return s.b.einsum(f"{' '.join((*kept, 'W'))}, W {axis} -> {' '.join(x.axes)}", y, down)


def leave(s: Sketch, enters: list[Var]) -> tuple[Var, ...]:
    """Return what the carries leave as: an update, another carry (a swap or a shift), or something new."""
    leaves: list[Var] = []
    for enter in enters:
        twins = [e for e in enters if e.name != enter.name and e.axes == enter.axes and same_dims(e, enter)]
        if twins and s.chance(0.35):
            leaves.append(s.dice.choice(twins))
        elif s.chance(0.15):
            leaves.append(fitted(s, s.var(), enter))
        else:
            leaves.append(s.b.add(s.b.tanh(enter), fitted(s, s.var(), enter)))
    return tuple(leaves)


def same_dims(x: Var, y: Var) -> bool:
    """Return whether two tensors have the same sizes."""
    return x.dims == y.dims


def fitted(s: Sketch, x: Var, like: Var) -> Var:
    """Return a new tensor with the axes of another one, made from x."""
    fits = [a for a in x.axes if a in like.axes]
    if len(fits) < len(x.axes):
        x = s.b.reduce(f"{' '.join(x.axes)} -> {' '.join(fits)}", x, "mean")
    missing = [a for a in like.axes if a not in fits]
    if missing:
        w = s.weight([(a, like.tensor.dim(a)) for a in missing])
        return s.b.tanh(s.b.einsum(f"{' '.join(x.axes)}, {' '.join(missing)} -> {' '.join(like.axes)}", x, w))
    y = s.b.tanh(x)
    return y if y.axes == like.axes else s.b.rearrange(f"{' '.join(y.axes)} -> {' '.join(like.axes)}", y)


def attention(s: Sketch) -> Var | None:
    """Attend over an axis, causally, in a window or to all; the scores are masked by structure."""
    if all(len(v.axes) < 2 for v in s.pool):
        return None
    x, b = s.var(axes=2), s.b
    query, head = s.dice.sample(x.axes, 2)
    if len(x.axes) > MOST_AXES - 1 or not s.own(query):
        return None
    words = " ".join(f"{a}_k" if a == query else a for a in x.axes)
    gates = [s.weight([(head, x.tensor.dim(head))]) for _ in range(3)]
    with b.region(s.name("att")):
        q = b.einsum(f"{' '.join(x.axes)}, {head} -> {' '.join(x.axes)}", x, gates[0])
        k, v = (b.einsum(f"{words}, {head} -> {words}", x, gate) for gate in gates[1:])
        window, rate = s.dice.choice((None, None, 2)), s.dice.choice((None, None, "1/4"))
        keys = f"{query}_k"
        causal = s.chance(0.7)
        return b.attention(
            q, k, v, query=query, keys=keys, head=head, causal=causal, window=window, dropout=rate
        )


def chosen(s: Sketch) -> Var | None:
    """Take the largest two along an axis."""
    x = s.var(axes=1)
    axis = s.axis(x)
    values, _ = s.b.topk(x, axis, 2, "top")
    return s.b.reduce(
        f"{' '.join(values.axes)} -> {' '.join(a for a in values.axes if a != 'top')}", values, "mean"
    )


def gathered(s: Sketch) -> Var:
    """Add up the means of several tensors, so that little of the graph is dead."""
    some = s.dice.sample(s.pool, min(len(s.pool), s.dice.randint(2, 5)))
    means = [s.b.reduce(f"{' '.join(x.axes)} ->", x, "mean") if x.axes else x for x in some]
    total = means[0]
    for mean in means[1:]:
        total = s.b.add(total, s.b.tanh(mean))
    return total


OPS: tuple[Callable[[Sketch], Var | None], ...] = (
    linear, linear, linear, renamed, product, product, unary, unary, binary, binary, reduced, normalised,
    rearranged, joined, dropped, looked_up, scored, turned, chosen, attention, repeated, repeated, repeated,
)  # fmt: skip


def random_graph(seed: int, steps: int | None = None) -> RandomGraph:
    """Return the graph of a seed; seeds whose graph trains nothing, or is refused, move on to another one."""
    for attempt in range(100):
        found = attempted(seed, attempt, steps)
        if found is not None:
            return found
    raise AssertionError(f"seed {seed} gives no graph that trains")


def attempted(seed: int, attempt: int, steps: int | None) -> RandomGraph | None:
    """Draw one graph."""
    dice = Random(f"{seed}/{attempt}")
    sizes = {**SIZES, "L": dice.randint(2, 5), "M": dice.choice((0, 1, 1, 2, 2, 3))}
    b = Builder(f"random_{seed}", dict.fromkeys(sizes, ""))
    ids = b.input("ids", "B S", dtype="index")
    tables = (b.constant("cos", "S D"), b.constant("sin", "S D"))
    s = Sketch(b, dice, [], [], ids, tables, sizes)
    s.pool.append(b.input("x", "B S D", grad=dice.random() < 0.3))
    s.pool.append(b.input("y", "B D", grad=dice.random() < 0.3))
    for _ in range(steps or dice.randint(3, 10)):
        s.add()
    outputs = [gathered(s) if s.chance(0.6) else s.pool[-1], *([s.var()] if s.chance(0.25) else [])]
    if s.chance(0.3) and outputs[0].axes:
        outputs[0] = b.reduce(f"{' '.join(outputs[0].axes)} ->", outputs[0], s.dice.choice(("sum", "mean")))
    graph = b.build(*outputs)
    try:
        trains = bool(derive(graph).step.gradients)
    except RuleError:
        return None
    repeats = (node for node, _ in walk(graph.nodes) if isinstance(node, Repeat))
    counts = {free.name for repeat in repeats for free in repeat.hi.free_symbols}
    sizes["M"] = sizes["M"] if "M" in counts else 1
    return RandomGraph(seed, graph, sizes) if trains else None
