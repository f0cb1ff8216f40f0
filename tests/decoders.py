"""Graphs that tests build with the builder, and how they compare what is derived with a formula."""

from __future__ import annotations

from symacct import Builder, derive, graph
from symacct.algebra.condition import Condition
from symacct.algebra.normal import same, total
from symacct.ops.norm import RMSNorm
from symacct.syntax import read_formula

DECODER = {
    "B": "sequences",
    "S": "tokens per sequence",
    "T": "tokens that a query looks at (S when training)",
    "L": "layers",
    "D": "features",
    "F": "hidden features",
    "H": "query heads",
    "K": "features of a head",
    "V": "vocabulary",
}

GPT2_SMALL = {"B": 1, "S": 1024, "L": 12, "D": 768, "H": 12, "V": 50257}


def formula(account, text):
    """Read a formula over the sizes of an account's graph."""
    return read_formula(text, set(account.source.sizes))


def assert_formula(account, name, text):
    """Compare a derived quantity with a formula, as polynomials."""
    assert_same(account, account[name].expr, text)


def assert_same(account, derived, text):
    """Compare an expression with a formula."""
    assert same(derived, formula(account, text)), f"{account.source.name}: {derived} is not {text}"


def part(account, name, *labels):
    """Return the sum of the terms of a quantity whose labels start with one of these."""
    return total(term.expr for term in account.terms(name) if term.label.startswith(labels))


def at(account, name, *labels, **sizes):
    """Return the number of a part of a quantity at sizes."""
    return part(account.bind(sizes), name, *labels)


def per_token(account, name="flops.model"):
    """Return a quantity over the tokens of a pass."""
    return (account[name] / account["tokens"]).expr


def inputs(**shapes):
    """Return a builder with one input for each name: ``inputs(x={"B": 2})``."""
    b = Builder("tensors", "N")
    return b, *(b.input(name, " ".join(sizes), **sizes) for name, sizes in shapes.items())


def core(choices=None, *, window=None, causal=True, fused=False, **derived):
    """Return the account of attention alone: queries, keys and values are inputs that want gradients."""

    @graph({n: DECODER[n] for n in "BSTHK"} | {"W": "tokens of a window"}, tokens="B*S")
    def attention(b):
        q, k, v = (b.input(name, "B H S K", grad=True) for name in "qkv")
        k, v = b.keys(k, "S", "T"), b.keys(v, "S", "T")
        return b.attention(q, k, v, window=window, causal=causal, fused=fused)

    return derive(attention, convention=choices or "default", **derived)


def heads(b, x, *, features="D/H", causal=True, norm=None):
    """Multi-head attention without biases; a head has D/H features."""
    if norm:
        x = b.layernorm(x, "D", bias=False, name=norm)
    with b.region("attention"):
        q, k, v = (b.linear(x, "D -> H K", K=features, name=name) for name in "qkv")
        mixed = b.attention(q, b.keys(k, "S", "T"), b.keys(v, "S", "T"), causal=causal)
        return b.linear(mixed, "H K -> D", name="o")


@graph({n: DECODER[n] for n in "BSTLHDV"}, tokens="B*S")
def nanogpt(b):
    """GPT-2 as nanoGPT sizes it: no biases anywhere, learned positions, a tied head."""
    b.require(Condition("divides", b.size("H"), b.size("D")))
    ids, targets = b.input("ids", "B S", dtype="index"), b.input("targets", "B S", dtype="index")

    def block(x):
        x = x + heads(b, x, norm="attention_norm")
        y = b.layernorm(x, "D", bias=False, name="ffn_norm")
        with b.region("ffn"):
            return x + b.linear(b.gelu(b.linear(y, "D -> F", F="4*D", name="up")), "F -> D", name="down")

    table = b.weight("embedding/tokens", "V D")
    place = b.constant("place", "S", dtype="index")
    positions = b.embedding(b.weight("embedding/positions", "S D"), place, label="position")
    x = b.embedding(table, ids, label="token") + positions
    x = b.layernorm(b.repeat("L", block, x), "D", bias=False, name="norm")
    with b.region("head"):
        logits = b.einsum("B S D, V D -> B S V", x, table, label="logits")
    return b.cross_entropy(logits, targets, "V")


@graph(DECODER, tokens="B*S")
def palm(b):
    """Attention and feed-forward side by side, all heads on one key and value head, no biases, tied."""
    ids, targets = b.input("ids", "B S", dtype="index"), b.input("targets", "B S", dtype="index")

    def block(x):
        y = b.layernorm(x, "D", bias=False)
        q = b.linear(y, "D -> H K", name="q")
        k, v = (b.keys(b.linear(y, "D -> K", name=name), "S", "T") for name in "kv")
        mixed = b.linear(b.attention(q, k, v), "H K -> D", name="o")
        gate = b.silu(b.linear(y, "D -> F", name="gate"))
        return x + mixed + b.linear(gate * b.linear(y, "D -> F", name="up"), "F -> D", name="down")

    table = b.weight("tokens", "V D")
    x = b.repeat("L", block, b.embedding(table, ids, label="token"))
    logits = b.einsum("B S D, V D -> B S V", b.layernorm(x, "D", bias=False), table, label="head/logits")
    return b.cross_entropy(logits, targets, "V")


@graph({n: DECODER[n] for n in "BSTLDFHV"}, tokens="B*S")
def encoder(b):
    """An encoder of the BERT kind: every token looks at every token, norms after, biases, a tied head."""
    ids, targets = b.input("ids", "B S", dtype="index"), b.input("targets", "B S", dtype="index")

    def block(x):
        with b.region("attention"):
            q, k, v = (b.linear(x, "D -> H K", K="D/H", bias=True, name=name) for name in "qkv")
            mixed = b.attention(q, b.keys(k, "S", "T"), b.keys(v, "S", "T"), causal=False)
            x = b.layernorm(x + b.linear(mixed, "H K -> D", bias=True, name="o"), "D")
        with b.region("ffn"):
            y = b.gelu(b.linear(x, "D -> F", bias=True, name="up"))
            return b.layernorm(x + b.linear(y, "F -> D", bias=True, name="down"), "D")

    table = b.weight("tokens", "V D")
    place = b.constant("place", "S", dtype="index")
    x = b.embedding(table, ids) + b.embedding(b.weight("positions", "S D"), place)
    x = b.repeat("L", block, b.layernorm(x, "D"))
    return b.cross_entropy(b.einsum("B S D, V D -> B S V", x, table, label="logits"), targets, "V")


@graph(DECODER | {"G": "key-value heads", "r": "rank of the adapters"}, tokens="B*S")
def adapted(b):
    """A frozen decoder of the Llama kind with a trainable low-rank path beside each of four linear layers."""
    ids, targets = b.input("ids", "B S", dtype="index"), b.input("targets", "B S", dtype="index")

    def beside(x, axes, name, **sizes):
        before, after = axes.split(" -> ")
        y = b.linear(x, axes, name=name, trainable=False, **sizes)
        low = b.linear(x, f"{before} -> r", name=f"{name}_a")
        return y + b.linear(low, f"r -> {after}", name=f"{name}_b", **sizes)

    def norm(x, name):
        scale = b.weight(f"{name}/weight", "D", trainable=False)
        return b.apply(RMSNorm("D", weight=True), x, scale, label=f"={name}")[0]

    def block(x):
        y = beside(norm(x, "attention_norm"), "D -> C", "qkv", C="(H + 2*G)*K")
        ends = (("H", 0, "H*K"), ("G", "H*K", "H*K + G*K"), ("G", "H*K + G*K", "(H + 2*G)*K"))
        q, k, v = (
            b.rearrange(f"B S ({n} K) -> B S {n} K", b.slice(y, "C", start, stop), K="K")
            for n, start, stop in ends
        )
        q = b.rearrange("B S (G R) K -> B S G R K", q)
        mixed = b.attention(q, b.keys(k, "S", "T"), b.keys(v, "S", "T"))
        x = x + beside(b.rearrange("B S G R K -> B S (G R K)", mixed), "GRK -> D", "o")
        y = beside(norm(x, "ffn_norm"), "D -> C", "fc1", C="2*F")
        gate, up = b.slice(y, "C", 0, "F"), b.slice(y, "C", "F", "2*F")
        return x + beside(b.silu(gate) * up, "C -> D", "fc2")

    x = b.embedding(b.weight("tokens", "V D", trainable=False), ids, label="token")
    x = norm(b.repeat("L", block, x), "norm")
    return b.cross_entropy(b.linear(x, "D -> V", name="logits", trainable=False), targets, "V")


def frozen_stack(depth, trained):
    """Return ``depth`` square linear layers on rows; those at the places ``trained`` learn."""

    @graph({"B": "rows", "D": "features"}, tokens="B")
    def stack(b):
        x = b.input("x", "B D")
        for place in range(depth):
            w = b.weight(f"w{place}", "D E", E="D", trainable=place in trained)
            x = b.einsum("B D, D E -> B E", x, w, label=f"layer{place}")
        return x

    return stack
