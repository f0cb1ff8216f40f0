"""Places where a number once could go wrong without a word: each with the right value."""

import pytest

from symacct.account import derive
from symacct.algebra.normal import same
from symacct.algebra.symbols import symbol
from symacct.build import Builder
from symacct.convention import BYTES, convention
from symacct.errors import GraphError, SizeError
from symacct.syntax import read_formula

B, D, K, S, L, M = (symbol(name) for name in "BDKSLM")


def moved(graph, name="bytes.forward", **choices):
    """Return a byte quantity under each account."""
    return {w: derive(graph, convention=convention(bytes=w), **choices)[name].expr for w in BYTES}


def test_an_index_does_not_capture_an_inner_one():
    """An outer index with the name that an inner repeat would get by default leaves the inner one alone."""
    for index in ("i", "i_1"):
        b = Builder("nested", "B D L M")

        def outer(i, x, b=b):
            def inner(y):
                w = b.weight("w", "D W", W=i + 1)
                return b.einsum("B W, D W -> B D", b.einsum("B D, D W -> B W", y, w), w)

            return b.repeat("M", inner, x, name="inner")

        account = derive(b.build(b.repeat("L", outer, b.input("x", "B D"), name="outer", index=index)))
        assert same(account["params"].expr, D * M * L * (L + 1) / 2)
    b = Builder("clash", "B L M")
    with pytest.raises(GraphError, match="an index around it"):
        b.repeat("L", lambda i, x: b.repeat("M", lambda i, y: b.tanh(y), x, name="in", index="i"),
                 b.input("x", "B"), name="out", index="i")  # fmt: skip


def test_compulsory_bytes_follow_an_input_into_a_carry():
    """x is read and y is written, whatever the number of layers."""
    b = Builder("chain", "B D L")
    x = b.input("x", "B D")
    graph = b.build(b.repeat("L", lambda y: b.einsum("B D, D E -> B E", y, b.weight("w", "D E", E="D")), x))
    assert same(moved(graph, workload="forward")["compulsory"], 2 * D**2 * L + 4 * B * D)


def test_a_part_that_is_read_twice_is_touched_once():
    """Two readers of one slice touch it once; overlapping slices touch no more than the whole."""
    b = Builder("twice", "B S")
    s = b.slice(b.input("x", "B S"), "S", 0, 2)
    ways = moved(b.build(b.add(b.relu(s), b.tanh(s))), workload="forward")
    assert ways["compulsory"] == ways["fused"] == 8 * B
    b = Builder("overlap", "B S")
    x = b.input("x", "B S")
    graph = b.build(b.add(b.relu(b.slice(x, "S", 0, "S-1")), b.tanh(b.slice(x, "S", 1, "S"))))
    account = derive(graph, convention=convention(bytes="compulsory"), workload="forward")
    assert account.value("bytes.forward.read", {"B": 3, "S": 10}) == 2 * 3 * 10


def test_a_gradient_behind_a_view_has_the_precision_of_gradients():
    """Rearranging a weight changes no byte of its gradient."""
    for turned in (False, True):
        b = Builder("turned", "B D")
        w = b.weight("w", "D E", E="D")
        w = b.rearrange("D E -> E D", w) if turned else w
        words = "B D, E D -> B E" if turned else "B D, D E -> B E"
        graph = b.build(b.einsum(words, b.input("x", "B D"), w))
        ways = moved(graph, "bytes.backward.written", precision="bf16-master-fp32grad")
        assert set(ways.values()) == {4 * D**2}


def test_an_expanded_cotangent_has_no_elements_of_its_own():
    """The cotangent of a sum is one element, also where slices of its expansion are read."""
    b = Builder("sum", "B D")
    x, z = b.input("x", "B D", grad=True), b.input("z", "B D", grad=True)
    graph = b.build(b.reduce("B D ->", b.concatenate([b.tanh(x), b.tanh(z)], "B"), "sum"))
    terms = derive(graph, precision="fp32").terms("bytes.backward.read")
    assert [t.expr for t in terms if "seed" in t.note] == [4, 4]


@pytest.mark.parametrize("preset", ["default", "strict"])
@pytest.mark.parametrize("attention", ["exact", "half"])
def test_pairs_are_told_apart_before_and_after_binding(preset, attention):
    """Terms per pair are scaled, terms per row are not, also where S and T are numbers."""
    b = Builder("masked", "B S T K")
    q, k, v = b.input("q", "B S K", grad=True), b.input("k", "B T K"), b.input("v", "B T K")
    scores = b.einsum("B S K, B T K -> B S T", q, k, mask=b.causal("S", "T"))
    mean = b.reduce("B S T -> B S", scores, "mean")
    graph = b.build(b.attention(q, k, v), mean)
    account = derive(graph, convention=convention(preset, attention=attention))
    sizes = {"B": 2, "S": 4, "T": 7, "K": 3}
    for name in ("flops.forward.all", "flops.backward.all"):
        assert account[name].value(sizes) == account.value(name, sizes)


@pytest.mark.parametrize(
    ("build", "good", "bad"),
    [
        (lambda b: b.relu(b.slice(b.input("x", "B S"), "S", 2, "S")), {"S": 3}, {"S": 2}),
        (lambda b: b.relu(b.slice(b.input("x", "B S"), "S", 0, 5)), {"S": 5}, {"S": 4}),
        (lambda b: b.topk(b.input("x", "B S"), "S", "K", "k")[0], {"S": 3, "K": 3}, {"S": 3, "K": 4}),
        (lambda b: b.relu(b.input("x", "B W", W="S-3")), {"S": 4}, {"S": 3}),
        (lambda b: b.relu(b.input("x", "B W", W="S/K")), {"S": 6, "K": 3}, {"S": 7, "K": 3}),
        (
            lambda b: b.attention(b.input("q", "B S K"), b.input("k", "B T K"), b.input("v", "B T K")),
            {"S": 3, "T": 3, "K": 2},
            {"S": 4, "T": 3, "K": 2},
        ),
    ],
)
def test_sizes_that_vanish_are_refused(build, good, bad):
    """A size that would be 0, negative or fractional is a condition of the graph, and is refused."""
    b = Builder("sizes", "B S T K")
    account = derive(b.build(build(b)), workload="forward")
    rest = dict.fromkeys(("B", "S", "T", "K"), 2)
    assert account.value("flops.forward.all", {**rest, **good}) >= 0
    assert account["flops.forward.all"].when
    with pytest.raises(SizeError):
        account.value("flops.forward.all", {**rest, **bad})


def test_sizes_that_depend_on_an_index_stay_positive():
    """Width S - i exists for i < S alone, so that L <= S."""
    b = Builder("shrinking", "B S L")
    x = b.input("x", "B")

    def layer(i, y):
        return b.tanh(b.einsum("B, B W -> B", y, b.weight("w", "B W", W=S - i)))

    graph = b.build(b.repeat("L", layer, x, index="i"))
    account = derive(graph)
    assert account.value("params", {"B": 2, "S": 4, "L": 4}) == 2 * (4 + 3 + 2 + 1)
    with pytest.raises(SizeError):
        account.value("params", {"B": 2, "S": 4, "L": 5})


@pytest.mark.parametrize("text", ["log(B)", "sqrt(B)", "D+1", "D"])
def test_a_size_stands_for_whole_numbers_alone(text):
    """A root, a logarithm and the size itself are refused; a product is fine, a quotient must divide."""
    b = Builder("linear", "B D")
    graph = b.build(b.linear(b.input("x", "B D"), "D -> E", E="D", name="up"))
    with pytest.raises(SizeError, match="cannot stand for"):
        graph.bind({"D": read_formula(text, ["B", "D"])})
    assert derive(graph.bind({"D": 4 * B})).value("params", {"B": 3}) == 144
    with pytest.raises(SizeError):
        derive(graph.bind({"D": B / 2})).value("params", {"B": 3})


@pytest.mark.parametrize(
    ("build", "each"),
    [
        (lambda b, y: b.mul(y, b.weight("s", "K")), 6),
        (lambda b, y: b.mul(y, b.weight("s", "K", trainable=False)), 4),
        (lambda b, y: b.add(y, b.weight("s", "K")), 6),
        (lambda b, y: b.mul(y, b.cast(b.weight("s", "K"), "float")), 6),
    ],
)  # fmt: skip
def test_parameters_used_elementwise_are_priced_by_their_gradients(build, each):
    """Under palm: 2 forward, 2 for the gradient of the parameter, 2 for that of the other operand."""
    b = Builder("scaled", "B D K")
    y = b.einsum("B D, D K -> B K", b.input("x", "B D"), b.weight("w", "D K"))
    account = derive(b.build(build(b, y)), convention="palm")
    assert same(account["flops.model"].expr, 4 * B * D * K + each * B * K)


def test_a_weight_is_seen_through_a_cast_a_scale_and_a_carry():
    """What a contraction reads is a parameter, whichever way it came."""
    b = Builder("seen", "B D K")
    x, w = b.input("x", "B D"), b.weight("w", "D K")
    graph = b.build(b.einsum("B D, D K -> B K", x, b.scale(w, "1/2")))
    for preset in ("default", "kaplan", "chinchilla"):
        assert derive(graph, convention=preset)["flops.model"].expr == 4 * B * D * K
    assert derive(graph)["params.matmul"].expr == D * K


def test_a_mask_stays_through_a_repeat_and_two_masks_do_not_mix():
    """Scores carried through a repeat keep their mask; a carry that loses it is refused."""
    b = Builder("carried", "B S K L")
    q, k = b.input("q", "B S K"), b.input("k", "B T K", T="S")
    scores = b.einsum("B S K, B T K -> B S T", q, k, mask=b.causal("S", "T"))
    kept = b.repeat("L", lambda s: b.scale(s, 2), scores)
    account = derive(b.build(b.softmax(kept, "T")), convention=convention(attention="exact"))
    at = {"B": 1, "S": 4, "K": 2}
    each = account.value("flops.forward.all", {**at, "L": 1}) - account.value(
        "flops.forward.all", {**at, "L": 0}
    )
    assert each == 10
    other = b.einsum("B S K, B T K -> B S T", q, k, mask=b.causal("S", "T", window=2))
    with pytest.raises(GraphError, match="different structural masks"):
        b.add(scores, other)


def test_memory_data_carries_the_conditions_of_what_is_saved():
    """Whether an input is saved depends on the count, and that is said."""
    b = Builder("shift", "B L")
    x = b.input("x", "B")
    p, q = b.repeat("L", lambda p, q: (q, b.tanh(q)), (x, x))
    account = derive(b.build(b.mul(p, b.weight("w", "B")), q), precision="fp32")
    assert [c.text for c in account["memory.data"].when] == [
        c.text for c in account["memory.activations"].when
    ]
    assert account["memory.data"].when
