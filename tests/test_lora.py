"""Low-rank adapters as a rewrite of the graph: against torch, against hand-written graphs, against papers."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest
from decoders import assert_formula
from sympy import Rational

from symacct import Builder, derive, graph, load, prove
from symacct.adapters import Lora, parse_lora
from symacct.algebra.evaluate import evaluate
from symacct.algebra.normal import same
from symacct.algebra.symbols import symbol
from symacct.cli import main
from symacct.derivation.lora import adapted, lora
from symacct.errors import RuleError, SizeError, SymacctError, UnknownNameError, UsageError
from symacct.readers.graph_check import check as well_formed
from symacct.readers.graph_json import from_json, to_json

MODULES = Path(__file__).parent / "lora_modules.py"
GPT3 = {"h": 12288, "L": 96, "a": 96, "V": 50257, "s": 2048, "b": 1}


@graph({"B": "rows", "D": "features", "F": "hidden features", "K": "outputs"}, tokens="B")
def biased(b):
    """Two layers with biases."""
    x = b.linear(b.input("x", "B D"), "D -> F", bias=True, name="up")
    return b.linear(x, "F -> D", bias=True, name="down")


def trained(one):
    """Return the shapes of what is trained, by name."""
    return {name: one.tensors[name].describe() for name in one.tensors if name in one.trainable}


# ---- what is added ----


def test_the_hand_written_graph_comes_out():
    """L frozen layers with a path of rank r beside each: every quantity is that of the hand-written graph."""
    ours, theirs = (
        derive(g, optimizer="adamw") for g in (lora(load("deep_linear"), "r", ("w",)), load("lora"))
    )
    assert ours.names() == theirs.names()
    for name in ours.names():
        assert same(ours[name].expr, theirs[name].expr), name
    assert_formula(ours, "params.trainable", "2*D*r*L")
    frozen, beside = "2*B*D^2*(L - 1)", "4*B*D*r*L + 2*B*r*D*L + 2*B*r*D*(L - 1)"
    assert_formula(ours, "flops.backward", f"{frozen} + {beside}")


def test_everything_else_is_frozen():
    """Only adapters have gradients, master copies and states; all weights are held."""
    whole = load("llama")
    made = lora(whole, "r")
    assert trained(made) == {
        "layers/attention/q/lora_a": "layers/attention/q/lora_a[D, r]",
        "layers/attention/q/lora_b": "layers/attention/q/lora_b[r, H, K]",
        "layers/attention/v/lora_a": "layers/attention/v/lora_a[D, r]",
        "layers/attention/v/lora_b": "layers/attention/v/lora_b[r, G, K]",
    }
    account = derive(made, optimizer="adamw", precision="bf16-master")
    beside = "L*r*(2*D + H*K + G*K)"
    for name, each in (("gradients", 2), ("master", 4), ("optimizer", 8)):
        assert_formula(account, f"memory.{name}", f"{each}*{beside}")
        assert {term.label for term in account.terms(f"memory.{name}")} == set(trained(made))
    before = derive(whole)["memory.parameters"].expr
    assert same(account["memory.parameters"].expr - before, derive(made)["params.trainable"].expr * 2)


@pytest.mark.parametrize(
    ("model", "rank", "on", "published"),
    [
        ("llama-2-7b", 8, ("q", "v"), 4_194_304),
        ("llama-3-8b", 16, ("q", "v"), 6_815_744),
        ("llama-2-7b", 16, ("q", "k", "v", "o", "gate", "up", "down"), 39_976_960),
        ("gpt2", 8, ("q", "v"), 294_912),
    ],
)
def test_the_counts_that_trainers_print(model, rank, on, published):
    """What peft prints as trainable parameters of public models (its quick tour and model cards)."""
    made = lora(load(model), rank, on)
    assert derive(made).value("params.trainable", {"B": 1, "S": 8}) == published


@pytest.mark.few(1)
@pytest.mark.parametrize(("rank", "published"), [(1, 4_718_592), (4, 18_874_368), (8, 37_748_736)])
def test_gpt_3_with_queries_and_values(rank, published):
    """4.7M, 18.9M and 37.7M: Hu et al. 2021 (arXiv:2106.09685), tables 4 and 6, |Theta| = 2 L_lora d r."""
    made = lora(load("gpt"), "r")
    assert prove(made, "params.trainable = 2*M*h*r where M = 2*L").outcome == "proved"
    assert prove(made, "params.trainable = 2*L*h*r").outcome == "refuted"
    assert derive(made).value("params.trainable", {**GPT3, "r": rank}) == published


def test_names_and_ranks_change_counts():
    """Twice the rank is twice the trainable parameters; each name adds its own pair."""
    llama = load("llama")
    one, two = (derive(lora(llama, rank))["params.trainable"].expr for rank in (4, 8))
    assert same(two, 2 * one)
    counts = [derive(lora(llama, "r", on))["params.trainable"].expr for on in (("q",), ("v",), ("q", "v"))]
    assert same(counts[0] + counts[1], counts[2])
    assert not same(counts[0], counts[1])
    region = derive(lora(llama, "r", ("attention",)))["params.trainable"].expr
    assert same(region, derive(lora(llama, "r", ("q", "k", "v", "o")))["params.trainable"].expr)
    assert trained(lora(llama, "r", ("ffn/up",))) == trained(lora(llama, "r", ("layers/ffn/up/weight",)))
    assert trained(lora(llama, "r", "up")) == trained(lora(llama, "r", ("up",)))


def test_nothing_below_the_first_adapter_is_differentiated():
    """With an adapter on the head alone no gradient goes into the layers, and nothing of them is saved."""
    account = derive(lora(load("llama"), "r", ("logits",)))
    assert_formula(account, "flops.backward", "2*B*S*(2*r*V + r*D)")
    assert all(
        term.label.startswith(("norm", "head", "targets", "loss"))
        for term in account.terms("memory.activations")
    )


def test_the_scale_is_an_op_of_its_own():
    """alpha/r multiplies (x A) B: one multiplication for each element, forward and backward."""
    plain, times = (
        derive(lora(load("deep_linear"), "r", ("w",), scale)) for scale in (None, symbol("D") / symbol("r"))
    )
    for phase in ("forward", "backward"):
        extra = times[f"flops.{phase}.all"].expr - plain[f"flops.{phase}.all"].expr
        assert same(extra, symbol("B") * symbol("D") * symbol("L"))
        assert same(times[f"flops.{phase}"].expr, plain[f"flops.{phase}"].expr)
    choice = Lora("r", ("w",), 32)
    scales = [n.op.constant for n in adapted(load("deep_linear"), choice).nodes[0].body if "scale" in n.label]
    assert scales == [32 / symbol("r")]


# ---- against torch ----


@pytest.mark.long
def test_rewritten_graphs_run_as_derived():
    """FLOPs, saved bytes, outputs, gradients and states of rewritten graphs are those of torch."""
    pytest.importorskip("torch")
    from symacct.execution.check import check

    cases = [
        ("deep_linear", "rho", ("w",), None, {"L": 3}),
        ("gpt", 2, ("q", "o", "up", "logits"), 2, {"L": 2, "b": 2, "s": 3, "a": 2, "h": 4, "V": 5}),
        ("llama", 3, ("attention", "down"), None, {"L": 2}),
        ("attention", 2, ("o", "k"), Rational(1, 2), {}),
        ("moe", 2, ("gate", "down"), 3, {}),
        ("mla", 2, ("q", "kv_down", "v"), None, {"L": 1}),
    ]
    for name, rank, on, scale, sizes in cases:
        made = lora(load(name), rank, on, scale)
        result = check(made, sizes, seed=3)
        assert result.passed, (name, result.differences)
        unsure = [row.what for row in result.rows if row.verdict != "equal"]
        assert unsure in ([], ["memory.activations"]), name


@pytest.mark.parametrize(
    ("function", "of", "on", "scale", "sizes"),
    [
        ("chain", "deep_linear", ("w",), None, {"B": 3, "D": 7, "L": 4, "r": 2}),
        ("chain", "deep_linear", ("w",), None, {"B": 2, "D": 5, "L": 1, "r": 6}),
        ("scaled", "deep_linear", ("w",), 2, {"B": 3, "D": 7, "L": 4, "r": 2}),
        ("biased", "biased", ("up",), None, {"B": 3, "D": 5, "F": 7, "r": 2}),
        ("attention", "attention", ("q", "v"), None, {"B": 2, "S": 5, "D": 7, "H": 3, "K": 4, "r": 2}),
    ],
)
def test_a_module_written_in_torch_has_the_same_counts(function, of, on, scale, sizes):
    """A hand-written module of frozen layers and adapters: FLOPs, parameters, trained ones, saved bytes."""
    pytest.importorskip("torch")
    from symacct.execution.against import check_against

    source = biased() if of == "biased" else load(of)
    result = check_against(lora(source, "r", on, scale), f"{MODULES}:{function}", sizes)
    counts = {row.what: (row.derived, row.counted) for row in result.rows}
    assert {"params", "params.trainable", "flops.forward.matmul", "flops.backward.matmul"} <= set(counts)
    assert result.passed, (counts, result.differences)


@pytest.mark.parametrize(
    ("name", "on"),
    [
        ("attention", ("q", "o")),
        ("moe", ("gate", "down")),
        ("two_layer", ("two_layer",)),
        ("shared", ("w",)),
        ("both_ways", ("w",)),
        ("turned", ("first", "second")),
    ],
)
def test_adapters_are_an_update_of_the_weight(name, on):
    """The rewritten graph on W, A and B computes what the graph itself computes on W + s A B."""
    torch = pytest.importorskip("torch")
    from symacct.execution.sizes import choose_sizes
    from symacct.execution.torch_arrays import TorchArrays
    from symacct.execution.values import draw

    own = {"shared": shared, "both_ways": both_ways, "turned": turned}
    whole = own[name]() if name in own else load(name)
    on = whole.weights if on == (name,) else on
    made = lora(whole, 2, on, Rational(3, 2))
    graphs = [derive(one, workload="forward") for one in (made, whole)]
    sizes = choose_sizes(graphs[0].graph, graphs[0].conditions)
    store = draw(graphs[0].graph, sizes, TorchArrays(torch, "fp64", seed=1), 1)
    left = ran(torch, graphs[0].graph, sizes, store)
    right = ran(torch, graphs[1].graph, sizes, merged(torch, made, store, 1.5))
    for ours, theirs in zip(left, right, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-10, atol=1e-10)
    apart = ran(torch, graphs[1].graph, sizes, store)
    assert any((ours - theirs).abs().max() > 1e-6 for ours, theirs in zip(left, apart, strict=True))


def ran(torch, one, sizes, store):
    """Return the outputs of a graph on a store of values."""
    from symacct.execution.interpret import Interpreter, Place
    from symacct.execution.torch_arrays import TorchArrays

    run = Interpreter(TorchArrays(torch, "fp64", seed=1), one.tensors.__getitem__, dict(store))
    run.run(one.nodes, Place(sizes))
    return [run.get(out, Place(sizes)) for out in one.outputs]


def merged(torch, made, store, scale):
    """Return the values with each adapted weight replaced by its sum with the product of its adapters."""
    found = dict(store)
    for (down, at), array in store.items():
        if not down.endswith("lora_a"):
            continue
        up, layer = down.removesuffix("a") + "b", down.removesuffix("/lora_a")
        root = layer if (layer, at) in store else f"{layer}/weight"
        axes = [made.tensors[name].axes for name in (down, up, root)]
        letters = dict(zip(dict.fromkeys((*axes[0], *axes[1])), "abcdefgh", strict=False))
        words = ["".join(letters[axis] for axis in one) for one in axes]
        update = torch.einsum(f"{words[0]},{words[1]}->{words[2]}", array, store[up, at])
        found[root, at] = store[root, at] + scale * update
    return found


# ---- shared weights, views, experts ----


@graph({"B": "rows", "D": "features", "L": "layers"}, tokens="B")
def shared(b):
    """One weight that every layer reads."""
    w = b.weight("w", "D E", E="D")
    return b.repeat("L", lambda x: b.relu(b.einsum("B D, D E -> B E", x, w)), b.input("x", "B D"))


@graph({"B": "rows", "D": "features", "H": "heads", "K": "features of a head"}, tokens="B")
def turned(b):
    """A weight that stands first, its axes in another order, and one that runs along an axis."""
    x = b.einsum("H D K, B D -> B H K", b.weight("w", "H D K"), b.input("x", "B D"), label="first")
    return b.einsum("H E K, B H K -> B E H", b.weight("u", "H E K", E="D"), x, label="second")


@graph({"B": "rows", "D": "features", "F": "hidden"}, tokens="B")
def both_ways(b):
    """One weight that is read forwards, and then backwards."""
    w = b.weight("w", "D F")
    x = b.einsum("B D, D F -> B F", b.input("x", "B D"), w, label="up")
    return b.einsum("B F, D F -> B D", b.relu(x), w, label="down")


def test_a_shared_weight_has_one_pair():
    """A weight outside a repeat has one pair for all iterations; one read both ways one for both."""
    assert_formula(derive(lora(shared(), "r", ("w",))), "params.trainable", "2*D*r")
    account = derive(lora(both_ways(), "r", ("w",)))
    assert_formula(account, "params.trainable", "D*r + r*F")
    assert_formula(account, "params.matmul", "2*D*F + 2*r*(D + F)")


def test_axes_stand_where_the_weight_has_them():
    """A holds the axes that are summed, B those that are made; an axis that both run along is in both."""
    made = lora(turned(), "r", ("first", "second"))
    assert list(trained(made).values()) == [
        "w/lora_a[D, r]", "w/lora_b[r, H, K]", "u/lora_a[H, K, r]", "u/lora_b[H, r, E=D]",
    ]  # fmt: skip


def test_a_tied_table_is_adapted_where_it_is_multiplied():
    """The head reads the token table; an adapter on the head leaves the lookup as it is."""
    made = lora(load("gpt"), "r", ("head",))
    assert_formula(derive(made), "params.trainable", "r*(V + h)")
    assert trained(lora(load("gpt"), "r", ("tokens",))) == trained(made)


def test_experts_have_adapters_each():
    """E experts have E pairs, and a token touches those of its own."""
    account = derive(lora(load("moe"), "r", ("up",)))
    assert_formula(account, "params.trainable", "E*r*(D + F)")
    active = derive(load("moe"))["params.active"].expr
    assert same(
        account["params.active"].expr - active, symbol("k") * symbol("r") * (symbol("D") + symbol("F"))
    )


def test_a_rewritten_graph_is_a_graph():
    """It is well formed, reads back from JSON, keeps its inputs' wishes, and can be rewritten again."""
    for name, on in (("llama", ("q", "v")), ("gpt", ("up",)), ("moe", ("gate",)), ("mla", ("o",))):
        made = lora(load(name), "rho", on)
        assert well_formed(made) is made
        assert from_json(to_json(made)) == made
    again = lora(lora(load("deep_linear"), "r", ("w",)), 4, ("w",))
    assert well_formed(again) is again
    assert set(trained(again).values()) == {"layers/w/lora_a_2[D, r_=4]", "layers/w/lora_b_2[r_=4, E=D]"}
    assert_formula(derive(again, workload="forward"), "params", "L*(D^2 + 2*D*r + 8*D)")
    wished = graph({"B": "", "D": ""})(
        lambda b: b.linear(b.input("x", "B D", grad=True), "D -> E", E="D", name="q")
    )
    assert "x" in lora(wished(), 2, ("q",)).trainable


@pytest.mark.parametrize("text", ["r=4,on=q,v", "r=rho,on=q,v,alpha=8", "r=rho,on=attention"])
def test_a_choice_is_made_once(text):
    """A graph that has the adapters is returned as it is, also with its rank bound; another adds its own."""
    choice = parse_lora(text)
    made = adapted(load("llama"), choice)
    assert adapted(made, choice) is made
    bound = made.bind({"rho": 3, "D": 8}) if choice.rank == "rho" else made.bind({"D": 8})
    assert adapted(bound, choice) is bound
    other = adapted(made, parse_lora("r=4,on=o"))
    again = "_2" if choice.on == ("attention",) else ""
    assert set(trained(other)) == {f"layers/attention/o/lora_{one}{again}" for one in "ab"}
    assert trained(adapted(load("lora"), parse_lora("r=2,on=frozen"))) == {
        "layers/frozen/lora_a": "layers/frozen/lora_a[D, r_=2]",
        "layers/frozen/lora_b": "layers/frozen/lora_b[r_=2, E=D]",
    }


def test_serving_keeps_adapters():
    """Under decode the adapters are weights and work like others; the cache stays as it was."""
    made, whole = (derive(g, workload="decode") for g in (lora(load("llama"), "r"), load("llama")))
    assert same(made["memory.kv_cache"].expr, whole["memory.kv_cache"].expr)
    extra = made["flops.forward"].expr - whole["flops.forward"].expr
    assert same(extra, 2 * symbol("B") * derive(lora(load("llama"), "r"))["params.trainable"].expr)


# ---- refusals ----


@pytest.mark.parametrize(
    ("name", "rank", "on", "error", "text"),
    [
        ("llama", 4, ("query",), UnknownNameError, "unknown weight 'query'"),
        ("llama", 4, ("attention_norm",), RuleError, "no contraction reads layers/attention_norm/weight"),
        ("llama", 4, ("tokens",), RuleError, "no contraction reads embedding/tokens"),
        ("llama", 4, (), UsageError, "need the names of weights"),
        ("llama", "L", ("q",), SizeError, "L is a size of graph llama already"),
        ("gpt", "d", ("q",), SizeError, "d is a size of graph gpt already"),
        ("llama", 0, ("q",), SizeError, "the rank of the adapters is no size"),
        ("llama", True, ("q",), SizeError, "the rank of the adapters is no size"),
        ("llama", "r s", ("q",), SymacctError, "r s"),
    ],
)
def test_refusals(name, rank, on, error, text):
    """A name that nothing has, a weight that nothing multiplies by, a rank that is no size or is taken."""
    with pytest.raises(error, match=text):
        lora(load(name), rank, on)
    assert lora(load(name), 4, ("q",)).trainable


def test_an_unknown_name_lists_those_that_exist():
    """The message is the list of what may be adapted."""
    with pytest.raises(UnknownNameError) as refused:
        lora(load("attention"), 4, ("query",))
    assert str(refused.value) == (
        "unknown weight 'query'\n"
        "  where     graph attention, adapters\n"
        "  expected  one of: k, o, q, v\n"
        "  got       query"
    )


def test_a_weight_that_scales_is_in_no_contraction():
    """An elementwise product in einsum notation sums nothing: there is no product to stand beside."""
    b = Builder("gain", "B D")
    x = b.linear(
        b.einsum("B D, D -> B D", b.input("x", "B D"), b.weight("w", "D")), "D -> E", E="D", name="up"
    )
    with pytest.raises(RuleError, match="no contraction reads w"):
        lora(b.build(x), 2, ("w",))
    assert len(trained(lora(b.build(x), 2, ("up",)))) == 2


def test_products_without_low_rank_are_refused():
    """A vector, a product of two weights, a product under a mask, another part in each iteration."""
    b = Builder("vector", "B D")
    one = b.build(b.einsum("B D, D -> B", b.input("x", "B D"), b.weight("w", "D")))
    with pytest.raises(RuleError, match="w: no axis of it is left in the result"):
        lora(one, 2, ("w",))
    b = Builder("pair", "B D E F")
    w = b.einsum("D E, E F -> D F", b.weight("u", "D E"), b.weight("w", "E F"), label="merged")
    one = b.build(b.einsum("B D, D F -> B F", b.input("x", "B D"), w))
    with pytest.raises(RuleError, match=r"w: it is multiplied by a weight\n.*graph pair, node merged"):
        lora(one, 2, ("w",))
    b = Builder("masked", "B S T D")
    x = b.input("x", "B S D")
    y = b.einsum("B S D, T D -> B S T", x, b.weight("w", "T D"), mask=b.causal("S", "T"))
    with pytest.raises(RuleError, match="w: its product is under a mask"):
        lora(b.build(b.softmax(y, "T")), 2, ("w",))
    b = Builder("pieces", "B D L")
    w = b.weight("w", "N E", N="L*D", E="D")

    def layer(i, x):
        part = b.slice(w, "N", i * symbol("D"), (i + 1) * symbol("D"))
        return b.einsum("B N, N E -> B E", x, part)

    one = b.build(b.repeat("L", layer, b.input("x", "B D"), index="i"))
    with pytest.raises(RuleError, match="w: each iteration reads another part of it"):
        lora(one, 2, ("w",))


def test_two_ways_without_a_common_pair_are_refused():
    """A weight of three axes, summed over one here and over another there."""
    b = Builder("ways", "B D H K")
    w, x = b.weight("w", "D H K"), b.input("x", "B D")
    first = b.einsum("B D, D H K -> B H K", x, w)
    second = b.einsum("B D H, D H K -> B K", b.input("z", "B D H"), w)
    with pytest.raises(RuleError, match="one pair of adapters cannot serve both"):
        lora(b.build(first, second), 2, ("w",))


# ---- the flag ----


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("r=16,on=q,v", Lora(16)),
        (" r = 16 , on = q , v ", Lora(16)),
        ("on=q,r=4", Lora(4, ("q",))),
        ("r=rho,on=ffn/up", Lora("rho", ("ffn/up",))),
        ("r=8,on=q,k,v,o,alpha=32", Lora(8, ("q", "k", "v", "o"), Fraction(32))),
        ("alpha=0.5,r=8", Lora(8, alpha=Fraction(1, 2))),
    ],
)
def test_the_flag_is_read(text, value):
    """Names after on= go on to the next key."""
    read = parse_lora(text)
    assert (read.rank, read.on, read.alpha) == (value.rank, value.on, value.alpha)
    assert (
        parse_lora(
            read.describe().removeprefix("lora ").replace(" on ", ",on=").replace(", alpha ", ",alpha=")
        )
        == read
    )


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("", "is not read"),
        ("16", "'16' is not read"),
        ("on=q,v", "adapters need a rank"),
        ("r=16,r=8", "r is given twice"),
        ("r=16,on=q,,v", "a value is empty"),
        ("r=16,on=", "a value is empty"),
        ("r=16,on=q,q", "a weight is named twice"),
        ("r=0", "the rank of the adapters is no size"),
        ("r=-3", "the rank is no size"),
        ("r=1.5", "the rank is no size"),
        ("r=1000000000", "the rank"),
        ("r=9999999", "the rank of the adapters is no size"),
        ("r=__import__('os')", "the rank is no size"),
        ("r=4,alpha=-2", "alpha is no number"),
        ("r=4,alpha=0", "alpha is no number above 0"),
        ("r=4,alpha=r", "alpha is no number"),
        ("r=4,rank=3", "unknown choice of --lora 'rank'"),
        ("r=4,q", "'q' is not read"),
    ],
)
def test_the_flag_is_refused(text, what):
    """Each wrong flag says what is wrong with it."""
    with pytest.raises(SymacctError, match=what):
        parse_lora(text)


def test_the_command_line(capsys):
    """The flag of every verb: a claim, its sizes with the rank among them, an account, and refusals."""
    rank, one = ["--lora", "r=r,on=q,v"], "h=12288,L=96,a=96,V=50257,s=2048,b=1"
    assert main(["prove", "gpt", "params.trainable = 2*M*h*r where M = 2*L", *rank]) == 0
    assert main(["prove", "gpt", "params.trainable = 37748736", *rank, "--at", f"{one},r=8"]) == 0
    assert main(["prove", "gpt", "params.trainable = 4718592", "--lora", "r=1,on=q,v", "--at", one]) == 0
    assert main(["prove", "gpt", "params.trainable = params", *rank]) == 1
    capsys.readouterr()
    assert main(["derive", "gpt", *rank, "--explain", "params.trainable"]) == 0
    printed = capsys.readouterr().out
    assert "lora r=r on q,v" in printed
    assert "layers/attention/v/lora_b" in printed
    for words in ("r=4,on=qq", "on=q", "r=h", "r=4,on=positions"):
        assert main(["derive", "gpt", "--lora", words]) == 2, words


def test_every_account_has_the_adapters():
    """A policy with adapters means the same in derive, with sizes, and bound later."""
    choices = {"lora": "r=r,on=q,v", "optimizer": "adamw"}
    sizes = {"B": 1, "S": 4, "L": 2, "D": 8, "F": 8, "H": 2, "G": 1, "K": 4, "V": 5, "r": 2}
    late = derive(load("llama"), **choices).bind(sizes)
    early = derive(load("llama"), sizes=sizes, **choices)
    for name in ("params", "params.trainable", "memory.static", "flops.model"):
        assert same(late[name].expr, early[name].expr)
    assert late.value("params.trainable") == 2 * 2 * (2 * 8 + 2 * 4 + 4)


def test_sizes_bind_after_the_rewrite():
    """A symbolic rank is a size like others; the value at sizes is exact."""
    made = lora(load("gpt"), "r")
    bound = derive(made.bind({"r": 3, "h": 8, "a": 2}))
    assert same(bound["params.trainable"].expr, 2 * 2 * symbol("L") * 8 * 3)
    assert evaluate(bound["params.trainable"].expr, {"L": 5}) == 480
