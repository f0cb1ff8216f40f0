"""Ops of random graphs, each drawn onto a sketch; values stay moderate."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sketch import MOST_AXES, MOST_ELEMENTS, SIZES

if TYPE_CHECKING:
    from collections.abc import Callable

    from sketch import Sketch

    from symacct.build import Builder, Var


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
