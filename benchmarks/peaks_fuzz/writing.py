"""A graph while it is drawn, as the lines of a program that builds it."""

from __future__ import annotations

from contextlib import contextmanager
from functools import cache
from types import MappingProxyType

HEAD = "from symacct.build import Builder"


class Writer:
    """The lines so far, and the tensors that can be used here; every one has the axes B and D."""

    def __init__(self, rng, sizes):
        self.rng, self.sizes = rng, list(sizes)
        self.lines, self.depth, self.count = [], 0, 0
        self.pool, self.outer, self.indices = [], [], []
        self.waiting = []

    # ---- lines ----

    def name(self, stem):
        """Return a new name."""
        self.count += 1
        return f"{stem}{self.count}"

    def line(self, text):
        """Add a line."""
        self.lines.append("    " * self.depth + text)

    def put(self, text, stem="v"):
        """Add a tensor to the pool."""
        found = self.name(stem)
        self.line(f"{found} = {text}")
        self.pool.append(found)
        return found

    def chance(self, part):
        """Return True with this probability."""
        return self.rng.random() < part

    def size(self, name):
        """Declare a size."""
        if name not in self.sizes:
            self.sizes.append(name)
        return name

    def source(self, outputs):
        """Return the program."""
        head = [HEAD, f'b = Builder("fuzz", "{" ".join(self.sizes)}")']
        return "\n".join([*head, *self.lines, f"graph = b.build({', '.join(outputs)})", ""])

    # ---- tensors from outside ----

    def input(self, *, grad=None):
        """Make an input."""
        grad = self.chance(0.4) if grad is None else grad
        return self.put(f'b.input("{self.name("in")}", "B D"{", grad=True" if grad else ""})', "x")

    def weight(self, axes="E D", *, frozen=None, **dims):
        """Return the text that makes a weight, one of this place."""
        frozen = self.chance(0.15) if frozen is None else frozen
        named = {**({"E": "D"} if "E" in axes.split() else {}), **dims}
        given = "".join(f', {name}="{size}"' for name, size in named.items())
        return f'b.weight("{self.name("w")}", "{axes}"{", trainable=False" if frozen else ""}{given})'

    def start(self, how=None):
        """Make a tensor to begin with: an input, a layer on one, or a parameter."""
        how = how or self.rng.choice(("input", "layer", "layer", "layer", "weight", "relu"))
        if how == "weight":
            return self.put(self.weight("B D"), "p")
        x = self.input()
        if how == "layer":
            return self.put(linear(self, x, frozen=False))
        return self.put(f"b.relu({x})") if how == "relu" else x

    # ---- repeats ----

    def pick(self, *, recent=0.6):
        """Return a tensor that can be read here, a recent one more often."""
        last = self.pool[-3:] if self.chance(recent) else self.pool
        if self.outer and (not last or self.chance(0.2)):
            return self.rng.choice(self.outer)
        return self.rng.choice(last)

    def repeat(self, count, carries, body, *, index=None):
        """Write a repeat; ``body(names)`` writes what is in it and returns what leaves."""
        called, enters = self.name("body"), [self.name("c") for _ in carries]
        self.line(f"def {called}({', '.join([*([index] if index else []), *enters])}):")
        with self.inside(enters, index):
            leaves = body(enters)
            self.line(f"return ({', '.join(leaves)},)")
        results = [self.name("r") for _ in carries]
        named = f', index="{index}"' if index else ""
        named = f'name="{self.name("rep")}"{named}'
        text = f"b.repeat({count!r}, {called}, ({', '.join(carries)},), {named})"
        self.line(f"{', '.join(results)}, = {text}")
        self.pool += results
        return results

    @contextmanager
    def inside(self, enters, index=None):
        """Write what is in a body."""
        before = self.pool, self.outer, self.indices
        self.outer = [*self.outer, *self.pool]
        self.pool, self.indices = list(enters), [*self.indices, *([index] if index else [])]
        self.depth += 1
        yield
        self.depth -= 1
        self.pool, self.outer, self.indices = before


# ---- ops, each a text made of the names that it reads ----


def linear(w, x, *, frozen=None):
    """Multiply by a weight of this place."""
    return f'b.einsum("B E, E D -> B D", {x}, {w.weight(frozen=frozen)})'


def ffn(w, x):
    """Go through a hidden layer."""
    size = w.size("F")
    up = w.put(f'b.einsum("B D, D F -> B F", {x}, {w.weight("D F")})', "h")
    act = w.rng.choice(("relu", "gelu", "silu", "tanh"))
    w.pool.remove(up)
    return f'b.einsum("B F, F D -> B D", b.{act}({up}), {w.weight(f"{size} D")})'


def growing(w, x):
    """Go through a hidden layer that is wider in later iterations."""
    if not w.indices:
        return linear(w, x)
    index = w.rng.choice(w.indices)
    width = f'b.size("{index} + {w.rng.randint(1, 3)}")'
    up, down = (f'b.weight("{w.name("w")}", "{axes}", W={width})' for axes in ("D W", "W D"))
    up, down = (f'{text[:-1]}, D="D")' for text in (up, down))
    return f'b.einsum("B W, W D -> B D", b.tanh(b.einsum("B D, D W -> B W", {x}, {up})), {down})'


def embedded(w, x):
    """Look rows up, or read the ids inside; the ids get no cotangent."""
    return f"b.add({x}, b.embedding({w.weight('V D', V=w.size('V'))}, ids))"


UNARY = MappingProxyType({
    "relu": "b.relu({x})", "gelu": "b.gelu({x})", "tanh": "b.tanh({x})", "silu": "b.silu({x})",
    "scale": 'b.scale({x}, "1/2")', "neg": "b.neg({x})", "shift": "b.shift({x}, 1)",
    "sigmoid": "b.sigmoid({x})", "softmax": 'b.softmax({x}, "D")', "dropout": 'b.dropout({x}, "1/10")',
    "square": "b.square({x})", "exp": "b.exp(b.tanh({x}))",
})  # fmt: skip
VIEWS = MappingProxyType({
    "turn": 'b.rearrange("D B -> B D", b.{f}(b.rearrange("B D -> D B", {x})))',
    "flat": 'b.rearrange("(B D) -> B D", b.{f}(b.rearrange("B D -> (B D)", {x})), B="B", D="D")',
    "twice": 'b.rearrange("D B -> B D", b.rearrange("B D -> D B", {x}))',
    "cast": 'b.cast(b.cast({x}, "fp32"), "float")',
})  # fmt: skip
BINARY = ("add", "add", "add", "mul", "sub", "maximum")


def unary(w, x):
    """Apply a function."""
    return w.rng.choice(list(UNARY.values())).format(x=x)


def viewed(w, x):
    """Go through a view, or a cast."""
    return w.rng.choice(list(VIEWS.values())).format(x=x, f=w.rng.choice(("relu", "neg", "tanh")))


def binary(w, x):
    """Combine with another tensor."""
    return f"b.{w.rng.choice(BINARY)}({x}, {w.pick()})"


def normed(w, x):
    """Apply a norm."""
    kind = w.rng.choice(("layernorm", "rmsnorm"))
    parts = f", bias={w.chance(0.5)}" if kind == "layernorm" else ""
    return f'b.{kind}({x}, "D", weight={w.chance(0.6)}{parts}, name="{w.name("norm")}")'


def residual(w, x):
    """Add what a layer makes."""
    inner = w.put(normed(w, x) if w.chance(0.5) else x) if w.chance(0.7) else x
    return f"b.add({x}, {w.put(w.rng.choice((linear, ffn, unary))(w, inner))})"


def attention(w, x):
    """Look from each row at all rows; the keys' axis has a name of its own."""
    named = f'with b.region("{w.name("att")}"):'
    q, k, v = (w.name(stem) for stem in "qkv")
    w.line(f'{q} = b.einsum("B E, E D -> B D", {x}, {w.weight()})')
    for name in (k, v):
        w.line(f'{name} = b.einsum("T E, E D -> T D", {x}, {w.weight()})')
    found = w.name("v")
    w.line(named)
    rate = ', dropout="1/10"' if w.chance(0.3) else ""
    given = f'query="B", keys="T", head="D", causal=False{rate}'
    w.line(f"    {found} = b.attention({q}, {k}, {v}, {given})")
    return f"b.add({x}, {found})"


def gated(w, x):
    """Multiply by a gate, or choose between two: what decides gets no cotangent."""
    y = w.pick()
    if w.chance(0.5):
        return f"b.mul({x}, b.sigmoid({y}))"
    return f"b.where(b.greater({x}, {y}), {x}, {y})"


def averaged(w, x):
    """Add a mean, which is broadcast."""
    return f'b.add({x}, b.reduce("B D -> {w.rng.choice(("B", "D"))}", {w.pick()}, "mean"))'


ALL = (
    linear,
    linear,
    ffn,
    unary,
    unary,
    viewed,
    binary,
    binary,
    normed,
    residual,
    gated,
    averaged,
    attention,
)


def some(w, x, ops=ALL):
    """Write one op on a tensor, and return its name."""
    return w.put(w.rng.choice(ops)(w, x))


def several(w, x, most, ops=ALL):
    """Write one to so many ops, one on another."""
    for _ in range(w.rng.randint(1, most)):
        x = some(w, x, ops)
    return x


def made(w, leaves, enters):
    """Return what leaves, each of another name than what enters its slot."""
    return [
        w.put(f"b.tanh({leave})") if leave == enter or leave not in w.pool else leave
        for leave, enter in zip(leaves, enters, strict=True)
    ]


def outputs(w, last):
    """Write what comes after the last repeat, and return the outputs."""
    how = w.rng.choice(("plain", "plain", "ops", "loss", "two", "mean", "entropy"))
    if how == "ops":
        return [several(w, last, 2)]
    if how in ("loss", "mean"):
        return [w.put(f'b.reduce("B D ->", {last}, "{"sum" if how == "loss" else "mean"}")', "l")]
    if how == "two":
        return list(dict.fromkeys((last, w.pick())))
    if how == "entropy" and "ids" in w.waiting:
        logits = f'b.einsum("B D, V D -> B V", {last}, {w.weight("V D", V=w.size("V"))})'
        return [w.put(f'b.cross_entropy({logits}, ids, "V")', "l")]
    return [last]


@cache
def built(source):
    """Return the graph that a program builds."""
    scope = {}
    exec(compile(source, "<drawn>", "exec"), scope)  # noqa: S102 (a program that was drawn here)
    return scope["graph"]
