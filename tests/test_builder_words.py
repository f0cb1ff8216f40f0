"""Every word of the builder with arguments of other kinds, in another order, too few, too many: one error."""

from __future__ import annotations

from contextlib import suppress
from fractions import Fraction
from functools import partial
from typing import Any

import pytest
from sympy import Float, Symbol

from symacct import graph
from symacct.algebra.condition import Condition
from symacct.algebra.symbols import as_expr, symbol
from symacct.build import Builder
from symacct.errors import GraphError, SymacctError, UnknownNameError
from symacct.ops.elementwise import Elementwise
from symacct.ops.elementwise_table import TABLE

B = symbol("B")


class Words:
    """A builder with tensors of every kind, and a valid call of each word."""

    def __init__(self) -> None:
        b = self.b = Builder("g", "B S D K V E F k H")
        self.x, self.y, w = b.input("x", "B S D"), b.input("y", "B S D"), b.weight("w", "D F")
        mask = b.greater(self.x, self.y)
        ids, table = b.input("ids", "B S", dtype="index"), b.weight("table", "V D")
        cos, sin, logits = b.constant("cos", "S D"), b.constant("sin", "S D"), b.input("logits", "B S V")
        q, k, v = b.input("q", "B H S K"), *(b.input(n, "B H T K", T="S") for n in ("k", "v"))
        scores, experts = b.input("scores", "B S E"), b.input("experts", "B S k", dtype="index")
        w3, label, x = b.weight("w3", "E D F"), {"label": "l"}, self.x
        self.calls: dict[str, tuple[list[Any], dict[str, Any]]] = {
            "size": (["H*K"], {}),
            "input": (["x2", "B D"], {"dtype": "float", "grad": True, "D": 4}),
            "weight": (["w2", "D F"], {"trainable": True, "F": 3}),
            "constant": (["c2", "D"], {"dtype": "float"}),
            "region": (["r"], {}),
            "layer": (["l"], {}),
            "elementwise": (["scale", x], {"constant": "1/2", **label}),
            "cast": ([x, "stat"], label),
            "reduce": (["B S D -> B D", x, "mean"], label),
            "rearrange": (["B S (a b) -> B S a b", x], {**label, "a": 1}),
            "concatenate": ([[x, self.y], "S"], label),
            "slice": ([x, "S", 0, 1], label),
            "einsum": (["B S D, D F -> B S F", x, w], {**label, "path": [(0, 1)], "mask": None}),
            "linear": ([x, "D -> K"], {"bias": True, "name": "up", "trainable": True}),
            "softmax": ([x, "D"], label),
            "log_softmax": ([x, "D"], label),
            "layernorm": ([x, "D"], {"weight": True, "bias": True, "name": "n"}),
            "rmsnorm": ([x, "D"], {"weight": True, "name": "n"}),
            "dropout": ([x, "1/10"], label),
            "embedding": ([table, ids], label),
            "rotary": ([x, cos, sin], {"axis": "D", "positions": "S", **label}),
            "cross_entropy": ([logits, ids, "V"], label),
            "keys": ([x, "S", "S"], label),
            "causal": (["S", "T"], {"window": 2}),
            "require_equal": ([B, B], {}),
            "attention": (
                [q, k, v],
                {"query": "S", "keys": "T", "head": "K", "causal": True, "window": None, "dropout": "1/10",
                 "fused": False},
            ),
            "topk": ([scores, "E", 2, "top"], label),
            "grouped": ([x, w3, experts], {"expert": "E", "over": "D", "choice": "k", **label}),
            "repeat": ([3, lambda i, c: b.tanh(c), x], {"name": "r", "index": "i"}),
            "remat": ([b.tanh, x], {"name": "r", "keep": ("tanh",)}),
            "build": ([x], {}),
            "apply": ([Elementwise("tanh"), x], label),
            "note": ([Condition("at_least", B, as_expr(2))], {}),
            "require": ([Condition("at_least", B, as_expr(2))], {}),
        }  # fmt: skip
        self.calls |= {
            name: ([mask if slot in row.masks else x for slot in range(row.arity)], dict(label))
            for name, row in TABLE.items()
        }
        for name in ("scale", "shift"):
            self.calls[name] = ([x, "1/2"], label)

    def call(self, word: str, args: list[Any], named: dict[str, Any]) -> None:
        """Call a word and build what it left; an error of any other kind gets through."""
        with suppress(SymacctError):
            made = getattr(self.b, word)(*args, **named)
            if word in ("region", "layer"):
                with made:
                    pass
            self.b.build(self.b.tanh(self.x))


def wrong(words: Words) -> list[Any]:
    """Return values of many kinds, some of which fit some places."""
    return [
        None, 5, 0, -1, 2.5, float("nan"), 1j, True, "abc", "", "D -> K", words.y, [], [words.y], (1, 2), (),
        (words.y, words.y), [(0, 7)], {"a": 1}, lambda *a: a[-1], lambda: None, Symbol("Q"), B / 0,
        Float(2.5), Fraction(1, 2), b"D", object(), words.b, {"D"}, 10**40,
        Builder("o", "B S D").input("x", "B S D"),
    ]  # fmt: skip


WORDS = sorted(Words().calls)
COUNT = len(wrong(Words()))


def test_every_word_is_here() -> None:
    assert {name for name in dir(Builder) if not name.startswith("_")} <= set(WORDS)
    assert set(TABLE) <= set(WORDS)


@pytest.mark.parametrize("word", WORDS)
def test_a_valid_call_is_taken(word: str) -> None:
    words = Words()
    args, named = words.calls[word]
    getattr(words.b, word)(*args, **named)


@pytest.mark.few(4)
@pytest.mark.parametrize("word", WORDS)
def test_what_is_not_taken_is_named(word: str) -> None:
    args, named = Words().calls[word]
    for slot in [*range(len(args)), *named]:
        for number in range(COUNT):
            words = Words()
            args, named = words.calls[word]
            named = dict(named)
            value = wrong(words)[number]
            if isinstance(slot, int):
                args[slot] = value
            else:
                named[slot] = value
            words.call(word, args, named)


@pytest.mark.few(29)
@pytest.mark.parametrize("word", WORDS)
def test_the_order_and_the_number_of_arguments(word: str) -> None:
    args, named = Words().calls[word]
    for one in range(len(args)):
        for other in range(one):
            words = Words()
            args, named = words.calls[word]
            args[one], args[other] = args[other], args[one]
            words.call(word, args, named)
        words = Words()
        words.call(word, words.calls[word][0][:one], {})
    words = Words()
    words.call(word, [*words.calls[word][0], words.x, 3], {})
    if word != "build":
        words = Words()
        words.call(word, words.calls[word][0], {"no such": 3})


def test_what_is_said() -> None:
    words = Words()
    b, x = words.b, words.x
    with pytest.raises(GraphError, match="linear takes a tensor for x, and got text") as caught:
        b.linear("D -> K", x)
    assert (caught.value.where, caught.value.fix) == ("graph g", "x and axes have traded places")
    assert caught.value.expected == "linear(x, axes, *, bias, name, trainable, **sizes)"
    with pytest.raises(GraphError, match="einsum takes text for equation, and got a tensor") as caught:
        b.einsum(x, "B S D -> B S D")
    assert caught.value.fix == "equation and tensors have traded places"
    with pytest.raises(GraphError, match="repeat takes a size for count, and got a function"):
        b.repeat(b.tanh, 3, x)
    with pytest.raises(GraphError, match=r"softmax is not called with what it takes: missing .*'axis'"):
        b.softmax(x)
    with pytest.raises(GraphError, match="layernorm takes True or False for bias, and got a size"):
        b.layernorm(x, "D", bias=1)
    with pytest.raises(GraphError, match="concatenate takes a list of tensors for tensors"):
        b.concatenate(x, "D")
    with pytest.raises(GraphError, match="remat takes a tuple of texts for keep"):
        b.remat(b.tanh, x, keep="tanh")
    with pytest.raises(UnknownNameError, match="unknown size 'Q'"):
        b.scale(x, Symbol("Q"))
    assert b.scale(x, 1 / B).dims == x.dims


@pytest.mark.parametrize("at", ["repeat", "remat"])
def test_a_body_takes_what_it_is_handed(at: str) -> None:
    words = Words()
    run = partial(words.b.repeat, 3) if at == "repeat" else words.b.remat
    with pytest.raises(GraphError, match=r"the body does not take what it is handed: missing .* 'more'"):
        run(lambda x, more: x + more, words.x)


def test_numbers_and_operators() -> None:
    x = Words().x
    for make in (lambda: 2 * x, lambda: x * 2, lambda: 1 + x, lambda: 1 - x, lambda: 1 / x, lambda: x - 1):
        with pytest.raises(GraphError, match="takes a tensor for xs, and got a size") as caught:
            make()
        assert caught.value.fix == "use b.scale(x, c) or b.shift(x, c) for numbers"
    for make, fix in ((lambda: x @ x, "b.einsum"), (lambda: x**2, "b.square")):
        with pytest.raises(GraphError, match="is no op of a graph") as caught:
            make()
        assert fix in str(caught.value.fix)
    assert (x + x * x - x / x).dims == (-x).dims == x.dims


@pytest.mark.parametrize("sizes", [5, None, ["B"], {"B": 4}, {1: "rows"}])
def test_the_sizes_of_a_graph(sizes: Any) -> None:
    with pytest.raises(
        GraphError, match="Builder takes names of sizes with what they mean or text for sizes"
    ):
        Builder("g", sizes)
    with pytest.raises(GraphError, match="graph takes names of sizes with what they mean for sizes"):
        graph(sizes)
    with pytest.raises(GraphError, match="Builder takes text for name"):
        Builder(5, "B")


def test_graph_is_written_with_its_sizes() -> None:
    with pytest.raises(GraphError, match="graph takes names of sizes") as caught:
        graph(lambda b: b.input("x", "B"))
    assert caught.value.expected == '@graph({"B": "rows", "D": "features"})'
