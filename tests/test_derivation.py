"""Formulas of small graphs against what is known of them, and how they change when the graph does."""

import pytest
from sympy import Rational

from symacct.account import derive
from symacct.algebra.normal import normal, same
from symacct.algebra.symbols import symbol
from symacct.build import Builder
from symacct.convention import CONVENTIONS, convention
from symacct.errors import RuleError, SizeError, UnknownNameError

B, D, L, F, S, K, H, E = (symbol(name) for name in "BDLFSKHE")


def chain(*, bias=False, activation=None, width="D", frozen=False, grad=False, carried=1):
    """L square linear layers, with what a test wants to change."""
    b = Builder("chain", "B D L", tokens="B")

    def layer(*xs):
        x = xs[0]
        y = b.einsum("B D, D E -> B E", x, b.weight("w", "D E", D=width, E=width, trainable=not frozen))
        if bias:
            y = b.add(y, b.weight("b", "E", E=width))
        if activation:
            y = getattr(b, activation)(y)
        return (*xs[1:], y) if carried > 1 else y

    x = b.input("x", "B D", D=width, grad=grad)
    xs = tuple(b.scale(x, k + 2) for k in range(carried)) if carried > 1 else x
    result = b.repeat("L", layer, xs)
    return b.build(*(result if carried > 1 else (result,)))


def test_a_chain_of_linears():
    """The lecture's chain, with and without the gradient of the input."""
    account = derive(chain())
    assert account["params"].expr == L * D**2
    assert account["flops.forward"].expr == 2 * B * D**2 * L
    assert same(account["flops.backward"].expr, 4 * B * D**2 * L - 2 * B * D**2)
    assert same(account["flops.model"].expr, 6 * B * D**2 * L - 2 * B * D**2)
    assert account["memory.activations"].expr == 2 * B * D * L
    assert derive(chain(), input_grad=True)["flops.model"].expr == 6 * B * D**2 * L
    assert derive(chain(grad=True))["flops.model"].expr == 6 * B * D**2 * L


@pytest.mark.parametrize(
    ("change", "quantity", "difference"),
    [
        ({"bias": True}, "params", D * L),
        ({"bias": True}, "flops.model", 0),
        ({"bias": True}, "flops.forward.all", B * D * L),
        ({"bias": True}, "flops.backward.all", B * D * L),
        ({"activation": "relu"}, "flops.model", 0),
        ({"activation": "relu"}, "flops.forward.all", B * D * L),
        ({"activation": "gelu"}, "flops.forward.all", 5 * B * D * L),
        ({"activation": "relu"}, "memory.activations", 2 * B * D),
        ({"activation": "gelu"}, "memory.activations", 2 * B * D * L),
        ({"width": "2*D"}, "params", 3 * D**2 * L),
        ({"width": "2*D"}, "flops.model", 18 * B * D**2 * L - 6 * B * D**2),
        ({"width": "2*D"}, "memory.activations", 2 * B * D * L),
    ],
)
def test_a_change_of_the_graph_changes_the_formula(change, quantity, difference):
    """Each change shows in the formula by its exact amount."""
    before, after = derive(chain())[quantity].expr, derive(chain(**change))[quantity].expr
    assert same(after - before, normal(difference)), after


def test_a_frozen_chain_has_no_backward_pass():
    """Nothing is trainable, so nothing is differentiated, saved or updated."""
    account = derive(chain(frozen=True), optimizer="adamw")
    names = ("flops.backward.all", "memory.activations", "memory.gradients", "memory.optimizer")
    assert [account[name].expr for name in (*names, "flops.optimizer")] == [0] * 5
    assert account["flops.model"].expr == 2 * B * D**2 * L


def test_frozen_weights_still_pass_the_cotangent_on():
    """A frozen chain whose input trains forms input gradients alone."""
    account = derive(chain(frozen=True, grad=True))
    assert account["flops.backward"].expr == 2 * B * D**2 * L
    assert account["memory.activations"].expr == 0


@pytest.mark.parametrize("count", [0, 1, 2, 3, 7, 10**6])
def test_integer_counts_agree_with_the_formula(count):
    """The formula is the derivation at that count; where its condition fails, the small case stands."""
    account = derive(chain(activation="relu"), optimizer="sgd")
    exact = derive(chain(activation="relu").bind({"L": count}), optimizer="sgd")
    sizes = {"B": 3, "D": 5, "L": count}
    for name in ("flops.model.all", "bytes.step", "memory.activations", "memory.static"):
        assert account.value(name, sizes) == exact.value(name, {"B": 3, "D": 5})
        if count >= 1:
            formula = account[name]
            needed = {n: sizes[n] for n in formula.names()}
            assert formula.at(**needed) == account.value(name, sizes)
    if count == 0:
        assert account.value("flops.model.all", sizes) == 0


@pytest.mark.parametrize("carried", [2, 3])
def test_shifting_carries_peel_the_first_iterations(carried):
    """A path that needs several iterations to reach every carry is counted iteration by iteration."""
    account = derive(chain(carried=carried))
    for count in range(1, 7):
        unrolled = Builder("unrolled", "B D")
        x = unrolled.input("x", "B D")
        xs = [unrolled.scale(x, k + 2) for k in range(carried)]
        for _ in range(count):
            y = unrolled.einsum("B D, D E -> B E", xs[0], unrolled.weight(f"w{_}", "D E", E="D"))
            xs = [*xs[1:], y]
        other = derive(unrolled.build(*xs))
        for name in ("flops.backward.all", "flops.forward.all", "memory.activations", "bytes.backward"):
            assert account.value(name, {"B": 2, "D": 3, "L": count}) == other.value(name, {"B": 2, "D": 3}), (
                name
            )


def test_carries_that_trade_places_are_refused_for_a_symbolic_count():
    """Which carry needs a gradient changes with each iteration, so that no formula in L exists."""
    b = Builder("swap", "B L")
    x, y = b.input("x", "B"), b.mul(b.input("y", "B"), b.weight("w", "B"))
    left, right = b.repeat("L", lambda p, q: (b.tanh(q), b.tanh(p)), (x, y))
    with pytest.raises(RuleError, match="trade places"):
        derive(b.build(left, right))["flops.backward.all"]
    graph = b.build(left, right)
    assert derive(graph.bind({"L": 3})).value("flops.backward.all", {"B": 4}) > 0


def test_a_body_that_depends_on_the_index():
    """Layer i has width (i + 1) B: the sum over the layers is a polynomial in L."""
    b = Builder("growing", "B L")

    def layer(i, x):
        w = b.weight("w", "B E", E=(i + 1) * B)
        y = b.einsum("B, B E -> E", x, w)
        return b.einsum("E, B E -> B", y, w)

    account = derive(b.build(b.repeat("L", layer, b.input("x", "B"), index="i")))
    assert same(account["params"].expr, B**2 * L * (L + 1) / 2)
    assert same(account["flops.forward"].expr, 2 * B**2 * L * (L + 1))
    assert account.value("flops.forward", {"B": 3, "L": 4}) == sum(4 * 9 * (i + 1) for i in range(4))


def test_nested_repeats_multiply():
    """M groups of L layers, the weight of a group shared by its layers."""
    b = Builder("nested", "B D L M")

    def group(x):
        w = b.weight("w", "D E", E="D")
        return b.repeat("L", lambda y: b.einsum("B D, D E -> B E", y, w), x, name="layers")

    account = derive(b.build(b.repeat("M", group, b.input("x", "B D"), name="groups")))
    M = symbol("M")
    assert account["params"].expr == D**2 * M
    assert account["flops.forward"].expr == 2 * B * D**2 * L * M
    assert account.value("flops.backward", {"B": 2, "D": 3, "L": 4, "M": 5}) == 18 * 2 * (2 * 20 - 1)
    sums = account["flops.backward.all"].expr - account["flops.backward"].expr
    assert same(sums, D**2 * (L - 1) * M), "the gradient of a shared weight is a sum of L terms"


# ---- conventions ----


def test_one_matrix_product():
    """2BDK FLOP, and bytes of its three matrices."""
    b = Builder("product", "B D K")
    account = derive(b.build(b.einsum("B D, D K -> B K", b.input("x", "B D"), b.input("y", "D K"))))
    assert account["flops.forward"].expr == 2 * B * D * K
    assert same(account["bytes.forward"].expr, 2 * (B * D + D * K + B * K))
    square = account["intensity.forward"].expr.subs({B: S, D: S, K: S})
    assert same(square, S / 3)


def elementwise(function):
    """One function of n elements."""
    b = Builder(function, "n")
    return b.build(getattr(b, function)(b.input("x", "n")))


@pytest.mark.parametrize(
    ("function", "preset", "flops", "intensity"),
    [
        ("relu", "default", 1, Rational(1, 4)),
        ("relu", "lecture", 1, Rational(1, 4)),
        ("gelu", "lecture", 20, 5),
        ("gelu", "default", 5, Rational(5, 4)),
        ("gelu", "torch", 0, 0),
    ],
)
def test_elementwise_prices(function, preset, flops, intensity):
    """The same counts, priced by two accounts."""
    account = derive(elementwise(function), convention=preset, workload="forward")
    assert account["flops.forward.all"].expr == flops * symbol("n")
    assert account["flops.forward.matmul"].expr == 0
    assert account["intensity.forward"].expr == intensity


def test_intensities_of_products_tend_to_their_limits():
    """dot to 1/2, matrix-vector to 1, square matrix to n/3 in 16 bits."""
    n = 10**9
    for words, sizes, limit in (("N, N ->", {"N": n}, 0.5), ("M N, N -> M", {"M": n, "N": n}, 1.0)):
        b = Builder("p", next(iter(sizes)) if len(sizes) == 1 else "M N")
        left, right = (part.strip() for part in words.split("->")[0].split(","))
        graph = b.build(b.einsum(words, b.input("x", left), b.input("y", right)))
        assert float(derive(graph).value("intensity.forward", sizes)) == pytest.approx(limit, rel=1e-6)


def test_strict_counts_one_addition_less_per_sum():
    """A product of n terms costs 2n - 1, a sum n - 1, and nothing else changes."""
    b = Builder("product", "B D K")
    graph = b.build(b.einsum("B D, D K -> B K", b.input("x", "B D"), b.input("y", "D K")))
    assert same(derive(graph, convention="strict")["flops.forward"].expr, B * K * (2 * D - 1))
    c = Builder("sum", "B D")
    total = c.build(c.reduce("B D -> B", c.input("x", "B D"), "sum"))
    assert derive(total)["flops.forward.all"].expr == B * D
    assert same(derive(total, convention="strict")["flops.forward.all"].expr, B * (D - 1))


def scores(*, causal=True, window=None, fused=False):
    """Attention over inputs."""
    b = Builder("scores", "B H S T K W", tokens="B*S")
    q, k, v = b.input("q", "B H S K", grad=True), b.input("k", "B H T K", grad=True), b.input("v", "B H T K")
    mixed = b.attention(q, k, v, causal=causal, window=window, fused=fused)
    return b.build(mixed)


@pytest.mark.parametrize("fused", [False, True])
@pytest.mark.parametrize(
    ("s", "t", "w"), [(5, 5, None), (3, 7, None), (6, 6, 2), (6, 6, 9), (4, 9, 3), (1, 8, 3)]
)
def test_exact_attention_counts_the_allowed_pairs(s, t, w, fused):
    """Pairs counted one by one: causal, windows on both sides of S, more keys than queries."""
    graph = scores(window=None if w is None else "W", fused=fused)
    sizes = {"B": 2, "H": 3, "S": s, "T": t, "K": 4, "W": w or 1}
    if w is None:
        graph = graph.bind({"W": 1})
        sizes.pop("W")
    pairs = sum(1 for i in range(s) for j in range(t) if j <= i + t - s and (w is None or j > i + t - s - w))
    for attention, count in (("exact", pairs), ("full", s * t), ("half", Rational(s * t, 2)), ("none", 0)):
        account = derive(graph, convention=convention(attention=attention))
        assert account.value("flops.forward", sizes) == 2 * 3 * 4 * 4 * count
        backward = 2 * 3 * 4 * 2 * count
        assert account.value("flops.backward", sizes) == 3 * backward


def test_exact_attention_scales_what_is_done_per_pair_alone():
    """The softmax of a causal row has one sum a row, whatever the pairs; under strict that shows."""
    graph = scores().bind({"W": 1})
    sizes = {"B": 1, "H": 1, "S": 4, "T": 4, "K": 3}
    exact = derive(graph, convention=convention("strict", attention="exact"), workload="forward")
    pairs, rows, width = 10, 4, 3
    products = pairs * (2 * width - 1) + 2 * pairs * width - rows * width
    softmax = pairs * 5 - 2 * rows
    assert exact.value("flops.forward.all", sizes) == products + pairs + softmax


def test_the_products_between_activations_alone_are_left_out_of_a_leading_account():
    """Kaplan and Chinchilla count parameters; what is left is 6 per matmul weight and token."""
    from symacct.readers.files import load

    gpt = load("gpt")
    values = dict(zip((n for n in gpt.sizes if n != "t"), (3, 8, 2, 12, 5, 11), strict=True))
    kaplan, chinchilla = derive(gpt, convention="kaplan"), derive(gpt, convention="chinchilla")
    tokens, matmul = kaplan.value("tokens", values), kaplan.value("params.matmul", values)
    head = values["V"] * values["h"]
    assert chinchilla.value("flops.model", values) == 6 * matmul * tokens
    assert kaplan.value("flops.model", values) == 6 * (matmul - head) * tokens
    assert "leading term" in CONVENTIONS["kaplan"].describe()


def test_unknown_names_are_refused_with_the_nearest():
    """A quantity, a convention, an optimizer, a precision: each names what was meant."""
    graph = chain()
    for wrong, call in (
        ("flops.modl", lambda: derive(graph)["flops.modl"]),
        ("lectur", lambda: derive(graph, convention="lectur")),
        ("adamv", lambda: derive(graph, optimizer="adamv")),
        ("bf16-mster", lambda: derive(graph, precision="bf16-mster")),
        ("trian", lambda: derive(graph, workload="trian")),
    ):
        with pytest.raises(UnknownNameError, match=wrong) as caught:
            call()
        assert "did you mean" in str(caught.value)
    with pytest.raises(UnknownNameError, match=r"this account has no flops\.backward"):
        derive(graph, workload="forward")["flops.backward"]


def test_sizes_are_exact_integers():
    """0, negative, fractional, boolean and unknown sizes are refused; a count of layers may be 0."""
    account = derive(chain())
    for sizes in ({"B": 0, "D": 2, "L": 2}, {"B": -1, "D": 2, "L": 2}, {"B": True, "D": 2, "L": 2}):
        with pytest.raises(SizeError):
            account.value("flops.model", sizes)
    with pytest.raises(SizeError):
        account.value("flops.model", {"B": 2.0, "D": 2, "L": 2})
    with pytest.raises(SizeError):
        account.value("flops.model", {"B": 2, "D": 2, "L": -1})
    with pytest.raises(UnknownNameError):
        account.value("flops.model", {"B": 2, "D": 2, "L": 2, "Q": 2})
    with pytest.raises(SizeError, match="D"):
        account.value("flops.model", {"B": 2, "L": 2})
    assert account.value("flops.model", {"B": 2, "D": 2, "L": 0}) == 0
