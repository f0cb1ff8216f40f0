"""The builder: patterns, names, sizes and repeats, each refusal beside what is accepted."""

import pickle
from itertools import pairwise

import pytest

import symacct
from symacct.algebra.normal import same
from symacct.algebra.symbols import symbol
from symacct.build import Builder, graph
from symacct.errors import GraphError, SizeError, SymacctError, UnknownNameError
from symacct.readers.graph_check import check


def start():
    """Return a builder with an input x[B, S, D]."""
    b = Builder("g", "B S D F H K L")
    return b, b.input("x", "B S D")


@pytest.mark.parametrize(
    ("pattern", "sizes", "axes", "dims"),
    [
        ("B S D -> B D S", {}, ("B", "D", "S"), ("B", "D", "S")),
        ("B S (H K) -> B H S K", {"H": 8}, ("B", "H", "S", "K"), ("B", "8", "S", "D/8")),
        ("... (H K) -> ... H K", {"H": "H"}, ("B", "S", "H", "K"), ("B", "S", "H", "D/H")),
        ("... D -> D ...", {}, ("D", "B", "S"), ("D", "B", "S")),
        ("B S D -> (B S) D", {}, ("BS", "D"), ("B*S", "D")),
        ("b s d -> s (d b)", {}, ("s", "db"), ("S", "B*D")),
    ],
)
def test_rearrange(pattern, sizes, axes, dims):
    """Splits, merges, ellipses; words are positional on the left and name the axes on the right."""
    b, x = start()
    y = b.rearrange(pattern, x, **sizes)
    assert y.axes == axes
    assert tuple(str(d) for d in y.dims) == dims


@pytest.mark.parametrize(
    ("pattern", "sizes", "words"),
    [
        ("B S D -> B S", {}, "each axis once on both sides"),
        ("B S D -> B S D E", {}, "each axis once on both sides"),
        ("B S (H K) -> B S H K", {"Q": 2}, "unknown axis 'Q'"),
        ("B S (P Q) -> B S P Q", {}, "the sizes of P and Q are not known"),
        ("B S -> S B", {}, "axes"),
        ("B S (D -> B S D", {}, "unbalanced"),
        ("B S D", {}, "one arrow"),
        ("B S 1 -> B S 1", {}, "not an axis name"),
    ],
)
def test_rearrange_refuses(pattern, sizes, words):
    """What cannot be a view is refused."""
    b, x = start()
    with pytest.raises(SymacctError, match=words):
        b.rearrange(pattern, x, **sizes)


def test_a_split_must_divide():
    """100 does not split into 8 heads, 96 does; symbolic sizes carry the condition."""
    b = Builder("g", "B D H")
    with pytest.raises(SizeError, match="8 does not divide 100"):
        b.rearrange("B (H K) -> B H K", b.input("x", "B E", E=100), H=8)
    assert b.rearrange("B (H K) -> B H K", b.input("y", "B E", E=96), H=8).dims[2] == 12
    y = b.rearrange("B (H K) -> B H K", b.input("z", "B D"), H="H")
    built = b.build(y)
    assert [c.text for c in built.conditions] == ["H divides D"]
    with pytest.raises(SizeError, match="H divides D"):
        built.bind({"D": 100, "H": 8})
    assert built.bind({"D": 96, "H": 8}).conditions == ()


@pytest.mark.parametrize(
    ("equation", "axes"),
    [
        ("B S D, D F -> B S F", ("B", "S", "F")),
        ("... D, D F -> ... F", ("B", "S", "F")),
        ("...d,df->...f", ("B", "S", "f")),
        ("bsd,df->bsf", ("b", "s", "f")),
        ("B S D, D F -> F", ("F",)),
        ("B S D, D F ->", ()),
    ],
)
def test_einsum_reads_words_and_letters(equation, axes):
    """With blanks words, without blanks letters; ellipses keep the axes' names."""
    b, x = start()
    assert b.einsum(equation, x, b.weight("w", "D F")).axes == axes


@pytest.mark.parametrize(
    ("equation", "words"),
    [
        ("B S D, S F -> B S F", "axis S .* has two sizes"),
        ("B S D, D -> B S", "has 2 axes, its part"),
        ("B S D, D F -> B S G", "axis G of the result is in no operand"),
        ("B S D, D F -> B S S", "twice in the result"),
        ("B S D, D D -> B S", "twice in one operand"),
        ("B S D -> B S", "1 operand"),
        ("B S D, D F, F -> B", "3 operands"),
    ],
)
def test_einsum_refuses(equation, words):
    """Each mismatch says which axis, where, and what was bound."""
    b, x = start()
    w = b.weight("w", "D F")
    with pytest.raises(SymacctError, match=words):
        b.einsum(equation, x, w)


def test_diagonals_are_refused_by_name():
    """A trace is refused, never counted as something else."""
    b = Builder("g", "N")
    x = b.input("x", "N M", M="N")
    for equation in ("ii->i", "i i ->"):
        with pytest.raises(GraphError, match="axis i appears twice"):
            b.einsum(equation, x)
    assert b.einsum("ij->i", x).axes == ("i",)


def test_size_one_is_not_stretched():
    """1 against 5 on one named axis is an error that names both."""
    b = Builder("g", "B K")
    x, w = b.input("x", "B J", J=1), b.weight("w", "J K", J=5)
    with pytest.raises(SizeError) as caught:
        b.einsum("B J, J K -> B K", x, w)
    assert "expected  J = 1" in str(caught.value)
    assert "got       J = 5" in str(caught.value)
    with pytest.raises(SizeError):
        b.add(x, b.input("y", "B J", J=5))
    assert b.add(x, b.input("z", "B J", J=1)).dims[1] == 1


def test_pairwise_lowering():
    """Three operands are two nodes; an axis of one operand alone is summed first; a path may be given."""
    b = Builder("g", "B D F K")
    x, v, w = b.input("x", "B D"), b.weight("v", "D F"), b.weight("w", "F K")
    b.einsum("B D, D F, F K -> B K", x, v, w, label="left")
    b.einsum("B D, D F, F K -> B K", x, v, w, label="right", path=[(1, 2), (0, 1)])
    b.einsum("B D, F K -> B K", x, w, label="lonely")
    built = b.build(b.einsum("B D -> B", x))
    work = [(n.label, type(n.op).__name__, n.ins) for n in built.nodes]
    assert [kind for _, kind, _ in work].count("Reduce") == 3
    forward = symacct.derive(b.build(b.einsum("B D, D F, F K -> B K", x, v, w, path=[(1, 2), (0, 1)])))
    D, F, K, B = (symbol(n) for n in "DFKB")
    assert same(forward["flops.forward"].expr, 2 * D * F * K + 2 * B * D * K)


@pytest.mark.parametrize("size", [0, -3, "0", "B - B", 2.5, True, "1/2"])
def test_sizes_are_whole_and_positive(size):
    """A size of 0, a negative, fractional or boolean one is refused; 1 is fine."""
    b = Builder("g", "B")
    with pytest.raises(SymacctError):
        b.input("x", "B E", E=size)
    assert b.input("y", "B E", E=1).dims[1] == 1


def test_names_are_given_once():
    """A name that is taken is refused; in another region it is free, and automatic names count up."""
    b, x = start()
    b.relu(x, label="act")
    with pytest.raises(GraphError, match="the name act is given twice"):
        b.gelu(x, label="act")
    with b.region("part"):
        assert b.gelu(x, label="act").name == "part/act"
    assert [b.relu(x).name, b.relu(x).name] == ["relu", "relu_2"]
    with pytest.raises(GraphError, match="given twice"):
        b.input("x", "B")


def test_unknown_words_name_the_nearest():
    """Sizes, axes and functions."""
    b, x = start()
    for call, near in (
        (lambda: b.input("y", "B Q"), None),
        (lambda: b.linear(x, "G -> F"), None),
        (lambda: b.rellu(x), "relu"),
        (lambda: b.elementwise("gelo", x), "gelu"),
        (lambda: b.reduce("B S D -> B", x, "men"), "mean"),
        (lambda: b.softmax(x, "Z"), None),
    ):
        with pytest.raises(SymacctError) as caught:
            call()
        assert near is None or f"did you mean {near!r}" in str(caught.value)


def test_linear_keeps_leading_axes():
    """Every other axis leads; the weight has the named axes; a repeated name is refused with the fix."""
    b, x = start()
    y = b.linear(x, "D -> H K", name="q", bias=True)
    assert y.axes == ("B", "S", "H", "K")
    assert b.tensors["q/weight"].axes == ("D", "H", "K")
    assert b.tensors["q/bias"].axes == ("H", "K")
    assert b.linear(y, "H K -> D", name="o").axes == ("B", "S", "D")
    with pytest.raises(GraphError, match='D2="D"'):
        b.linear(x, "D -> D", name="square")
    assert b.linear(x, "D -> E", E="D", name="square").dims[2] == symbol("D")


def test_repeats():
    """Weights inside are one per iteration, outside shared; carries keep their own axis names."""
    b, x = start()
    shared = b.weight("shared", "D E", E="D")

    def layer(y):
        own = b.weight("own", "D E", E="D")
        return b.einsum("B S D, D E -> B S E", b.einsum("B S D, D E -> B S E", y, own), shared)

    y = b.repeat("L", layer, x)
    assert y.axes == ("B", "S", "D")
    assert b.tensors["layers/own"].path == ("layers",)
    assert b.tensors["shared"].path == ()


def test_repeats_refuse():
    """An unchanged carry, other sizes, a wrong number, inputs inside, a tensor that leaves its repeat."""
    b, x = start()
    inside = []
    bodies = {
        "unchanged": lambda y: y,
        "sizes it entered": lambda y: b.linear(y, "D -> F", name="up"),
        "as many tensors": lambda y: (y, y),
        "declared inside repeat": lambda y: b.add(y, b.input("z", "B")),
        "does not make": lambda y: x,
    }
    for at, (words, body) in enumerate(bodies.items()):
        with pytest.raises(SymacctError, match=words):
            b.repeat("L", body, x, name=f"r{at}")
    b.repeat("L", lambda y: inside.append(b.relu(y)) or b.gelu(y), x, name="ok")
    with pytest.raises(GraphError, match="lives inside repeat ok"):
        b.relu(inside[0])
    with pytest.raises(SizeError, match="cannot run -1 times"):
        b.repeat(-1, b.relu, x, name="negative")
    assert b.repeat(0, b.relu, x, name="none").axes == x.axes


def test_a_built_graph_is_a_value():
    """It pickles, binds, views as a network with parallel edges, and is well formed."""

    @graph({"B": "rows", "L": "layers"})
    def squares(b):
        """x to the power 2^L."""
        return b.repeat("L", lambda y: b.mul(y, y), b.input("x", "B"))

    built = squares()
    assert built.doc == "x to the power 2^L."
    assert pickle.loads(pickle.dumps(built)) == built  # noqa: S301
    assert check(built) == built
    view = built.network()
    assert view.number_of_edges("x", "layers/mul") == 2
    assert squares(L=3).nodes[0].count == 3
    assert squares(L=3) == built.bind({"L": 3})
    with pytest.raises(UnknownNameError, match="unknown size 'Q'"):
        built.bind({"Q": 3})


def test_aliases_are_bound_through_their_formula():
    """d = h/a: any two of the three say the third; a contradiction and a lone one are refused."""
    gpt = symacct.load("gpt")
    rest = {"b": 1, "s": 8, "L": 2, "V": 11}
    account = symacct.derive(gpt)
    want = account.value("params", {**rest, "h": 12, "a": 3})
    for given in ({"a": 3, "d": 4}, {"h": 12, "d": 4}, {"h": 12, "a": 3, "d": 4}):
        assert account.value("params", {**rest, **given}) == want
    for given, words in (
        ({"d": 4}, "does not say what a and h are"),
        ({"h": 12, "a": 3, "d": 5}, "does not go with"),
        ({"h": 12, "d": 5}, "an integer a"),
    ):
        with pytest.raises(SizeError, match=words):
            account.value("params", {**rest, **given})


def test_a_quotient_given_to_a_split_must_be_whole():
    """``R="F/H"`` records that H divides F, as leaving R out does."""
    for given in ({"R": "F/H"}, {"H": "H"}):
        b = Builder("g", "B F H")
        y = b.rearrange("B (H R) -> B H R", b.input("x", "B F"), **given)
        assert [c.text for c in b.build(y).conditions] == ["H divides F"]


@pytest.mark.parametrize("count", [2, 3, 4, 5])
def test_a_chain_of_tensors_is_contracted_from_its_left(count):
    """The rows meet one matrix after another: no product of two weights is formed, each weight is used."""
    words = "sepqrt"[: count + 1]
    b = Builder("chain", " ".join(("B", *words)))
    pairs = list(pairwise(words))
    weights = [b.weight(f"w{place}", f"{left} {right}") for place, (left, right) in enumerate(pairs)]
    equation = ", ".join([f"B {words[0]}", *(" ".join(pair) for pair in pairs)]) + f" -> B {words[-1]}"
    out = b.einsum(equation, b.input("x", f"B {words[0]}"), *weights)
    account = symacct.derive(b.build(out))
    sizes = {"B": 3, **{word: place + 2 for place, word in enumerate(words)}}
    by_hand = sum(sizes[left] * sizes[right] for left, right in pairs)
    assert account.value("params.matmul", sizes) == by_hand
    assert account.value("flops.forward", sizes) == 2 * sizes["B"] * by_hand
