"""Checkpoints count the layers of a model, whatever of it is written as a repeat.

A model is written twice, folded and layer by layer; both must take the same memory and run the same again.
What they take is held against steps that torch runs, and against counts that are done by hand.
"""

from __future__ import annotations

import json

import pytest

from symacct import Builder, derive
from symacct.algebra.evaluate import evaluate
from symacct.cli import main
from symacct.convention import convention
from symacct.errors import GraphError, ReadError, RuleError, UsageError
from symacct.execution.memory_check import check_memory, running
from symacct.execution.schedule import run
from symacct.execution.schedule_plan import Plan
from symacct.peaks.timeline import at_sizes, sizes_at, worst
from symacct.policy import Policy, checkpoint, precision
from symacct.readers.configs import read_config
from symacct.readers.decoder import decoder_graph, runs
from symacct.readers.graph_json import from_data, from_json, to_data, to_json
from symacct.report.segments import segments_said

SIZES = {"B": "rows", "D": "features", "F": "inner", "G": "other inner", "H": "heads", "L": "iterations"}
AT = {"B": 5, "D": 3, "F": 7, "G": 2, "H": 4}
QUANTITIES = ("memory.activations", "memory.activations.peak", "memory.peak", "flops.recompute")
POLICIES = ("every:1", "every:2", "every:3", "every:4", "every:5", "sqrt", "store-nothing", "every:2:full")
FP32 = precision("fp32")


def wide(b, x):
    return x + b.linear(b.gelu(b.linear(x, "D -> F", name="up")), "F -> D", name="down")


def slim(b, x):
    return x + b.linear(b.gelu(b.linear(x, "D -> G", name="up")), "G -> D", name="down")


def mixing(b, x):
    return x + b.linear(b.softmax(b.linear(x, "D -> H", name="in"), "H"), "H -> D", name="out")


KINDS = {"w": wide, "s": slim, "m": mixing}


def folded(kinds, *, norm=None, tail="", count="L"):
    """Return a repeat with a body of marked layers, then one repeat for each kind that is left over."""
    b = Builder("folded", SIZES)

    def body(x):
        for place, kind in enumerate(kinds):
            x = b.rmsnorm(x, "D", name="between") if place == norm else x
            with b.layer(f"layer{place}"):
                x = KINDS[kind](b, x)
        return x

    x = b.repeat(count, body, b.input("x", "B D"))
    if tail:
        x = b.repeat(len(tail), lambda x: KINDS[tail[0]](b, x), x, name="tail")
    return b.build(b.square(x))


def written(kinds, norms=()):
    """Return the same layers one by one, without a repeat."""
    b = Builder("written", SIZES)
    x = b.input("x", "B D")
    for place, kind in enumerate(kinds):
        x = b.rmsnorm(x, "D", name=f"between{place}") if place in norms else x
        with b.layer(f"layer{place}"):
            x = KINDS[kind](b, x)
    return b.build(b.square(x))


def both(kinds, times, norm=None, tail=""):
    """Return a model folded and layer by layer."""
    whole = kinds * times + tail
    norms = {at for at in range(len(kinds) * times) if norm is not None and at % len(kinds) == norm}
    return folded(kinds, norm=norm, tail=tail), written(whole, norms)


def amounts(graph, policy, **sizes):
    account = derive(graph, precision="fp32", checkpoint=policy, sizes={**AT, **sizes})
    return [account.value(name) for name in QUANTITIES]


SHAPES = [
    ("ws", 3, None, ""), ("wsm", 2, None, ""), ("ws", 3, 1, ""), ("wsm", 2, 0, ""), ("ws", 4, None, "m"),
    ("w", 3, None, "sssss"), ("wsm", 3, 2, "ww"), ("ws", 10, None, "ww"),
]  # fmt: skip


@pytest.mark.few(5)
@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize(("kinds", "times", "norm", "tail"), SHAPES)
def test_a_folded_model_takes_what_the_same_layers_take_one_by_one(kinds, times, norm, tail, policy):
    """The fold of a body, of iterations and of a shorter repeat at the end changes nothing."""
    one, other = both(kinds, times, norm, tail)
    assert amounts(one, policy, L=times) == amounts(other, policy)


@pytest.mark.few(1)
@pytest.mark.parametrize("policy", ["every:1", "every:2", "every:3", "every:4", "every:k", "store-nothing"])
@pytest.mark.parametrize(("kinds", "norm", "tail"), [("ws", None, ""), ("wsm", None, ""), ("ws", 0, "")])
def test_formulas_for_every_count_hold_where_they_say(kinds, norm, tail, policy):
    """A formula over open counts gives what the layers take one by one, wherever its conditions hold."""
    account = derive(folded(kinds, norm=norm, tail=tail), precision="fp32", checkpoint=policy)
    if norm is not None and policy == "every:k":
        with pytest.raises(RuleError, match="segments of layers have no formula"):
            _ = account["memory.peak"]
        return
    held = 0
    for times in (7, 8, 12):
        length = 6 if len(kinds) == 2 else 12
        sizes = {**AT, "L": times, **({"k": length} if policy == "every:k" else {})}
        own = f"every:{length}" if policy == "every:k" else policy
        _, other = both(kinds, times, norm, tail)
        wanted = dict(zip(QUANTITIES, amounts(other, own), strict=True))
        for name in QUANTITIES:
            quantity = account[name]
            if all(one.holds(sizes) for one in quantity.when):
                held += 1
                assert evaluate(quantity.expr, sizes) == wanted[name], (name, times)
    assert held >= len(QUANTITIES)


@pytest.mark.parametrize(
    ("layers", "policy", "kept"),
    [(6, "every:1", 6), (6, "every:2", 3), (6, "every:4", 2), (6, "sqrt", 2), (6, "store-nothing", 1)],
)
def test_the_inputs_of_segments_are_kept_and_no_others(layers, policy, kept):
    """By hand: a square keeps its input, and each segment the B rows of D features that enter it."""
    account = derive(folded("ws"), precision="fp32", checkpoint=policy, sizes={**AT, "L": layers // 2})
    entered = kept - 1  # x enters the first segment and is an input of the graph
    values = evaluate(account["memory.activations"].expr, {})
    assert values == 4 * AT["B"] * AT["D"] * (entered + 2)


@pytest.mark.few(1)
@pytest.mark.parametrize(
    "graph_and_sizes",
    [
        (folded("ws"), {"L": 3}), (folded("wsm"), {"L": 2}), (folded("ws", norm=1), {"L": 3}),
        (folded("w", tail="sssss"), {"L": 3}), (written("wsmwsm", {2, 5}), {}), (folded("ws"), {"L": 10}),
    ],
)  # fmt: skip
def test_torch_takes_what_is_derived(graph_and_sizes):
    """Torch's own checkpoints around runs of layers, tracked to the byte, ops that run again counted."""
    graph, more = graph_and_sizes
    policies = [Policy(FP32, checkpoint=checkpoint(one)) for one in POLICIES]
    found = check_memory(graph, {**AT, **more}, policies)
    assert found.passed, [row for row in found.rows if row.verdict != "equal"][:3]
    assert not found.differences
    assert len(found.rows) >= 4 * len(POLICIES)


def test_a_step_with_other_segments_takes_something_else():
    """The comparison can fail: a run in segments of 3 keeps less than what every:2 derives."""
    graph, sizes = folded("ws"), {**AT, "L": 6}
    saved = derive(graph, precision="fp32", checkpoint="every:2", sizes=sizes).value("memory.activations")
    tracked = {each: run(graph, sizes, Plan(("every", each))) for each in (2, 3)}
    data = {each: sum(size for _, size in one.data) for each, one in tracked.items()}
    assert tracked[2].saved_bytes + data[2] == saved
    assert tracked[3].saved_bytes + data[3] < saved


def test_the_interpreter_at_sizes_counts_layers_too():
    """With every iteration written out the peak is the one of the formulas."""
    graph, sizes = folded("wsm", tail="ww"), {**AT, "L": 5}
    for policy in POLICIES:
        account = running(derive(graph, precision="fp32", checkpoint=policy), sizes)
        moment = worst(
            at_sizes(account.graph, account.policy, sizes), sizes_at(account.graph, account.policy, sizes)
        )
        beside = evaluate(account.beside("memory.peak"), sizes)
        assert moment.nbytes + int(beside) == amounts(graph, policy, L=5)[2], policy


def in_a_row(first, second):
    """Return two repeats with counts of their own, whose iterations are a stack of layers."""
    b = Builder("row", {**SIZES, "M": "iterations of the second"})
    x = b.repeat(first, lambda x: wide(b, x), b.input("x", "B D"), name="first")
    return b.build(b.square(b.repeat(second, lambda x: slim(b, x), x, name="second")))


def in_each_other(outer, inner):
    """Return repeats of layers in a repeat, with a layer after them in each iteration."""
    b = Builder("deep", {**SIZES, "M": "inner iterations"})

    def marked(x, name, kind):
        with b.layer(name):
            return kind(b, x)

    def body(x):
        x = b.repeat(inner, lambda x: marked(x, "a", wide), x, name="inner")
        return marked(x, "z", mixing)

    return b.build(b.square(b.repeat(outer, body, b.input("x", "B D"), name="outer")))


def holding_repeats(outer):
    """Return layers, two in each iteration, each with a repeat of ops inside."""
    b = Builder("holding", {**SIZES, "M": "iterations inside"})

    def body(x):
        for name in ("a", "z"):
            with b.layer(name):
                x = b.repeat("M", b.gelu, wide(b, x), name=f"in_{name}")
        return x

    return b.build(b.square(b.repeat(outer, body, b.input("x", "B D"), name="outer")))


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("graph", "policy", "counts"),
    [
        (in_a_row("L", "M"), "store-nothing", ("L", "M")),
        (in_a_row("L", 5), "store-nothing:full", ("L",)),
        (in_a_row(3, "L"), "store-nothing", ("L",)),
        (in_a_row("L/2", "L"), "every:2", ("L",)),
        (in_each_other("L", "M"), "store-nothing", ("L", "M")),
        (in_each_other("L", 3), "every:1", ("L",)),
        (holding_repeats(3), "every:4", ("M",)),
        (holding_repeats(3), "sqrt", ("M",)),
        (holding_repeats("L"), "every:2", ("L", "M")),
    ],
)
def test_formulas_are_what_the_interpreter_takes(graph, policy, counts):
    """Segments through several repeats, and repeats in layers: from the least counts on to larger ones."""
    account = derive(graph, precision="fp32", checkpoint=policy)
    quantity, beside = account["memory.peak"], account.beside("memory.peak")
    held = 0
    for times in ((4, 4), (8, 4), (8, 11), (12, 16)):
        sizes = {**AT, **dict(zip(counts, times, strict=False))}
        if all(one.holds(sizes) for one in quantity.when):
            bound = running(account, sizes)
            moment = worst(at_sizes(graph, bound.policy, sizes), sizes_at(graph, bound.policy, sizes))
            assert evaluate(quantity.expr, sizes) == moment.nbytes + int(evaluate(beside, sizes)), sizes
            held += 1
    assert held >= 2


# ---- bytes ----


@pytest.mark.parametrize("moves", ["algorithmic", "issued", "compulsory"])
@pytest.mark.parametrize(
    ("kinds", "tail", "policy"),
    [("ws", "", "every:1"), ("ws", "", "every:2"), ("ws", "", "every:4"), ("w", "ss", "every:2")],
)
def test_a_folded_model_moves_what_the_same_layers_move_one_by_one(kinds, tail, policy, moves):
    def bytes_of(graph, **sizes):
        account = derive(
            graph, precision="fp32", checkpoint=policy, convention=convention("default", bytes=moves)
        )
        return account.bind({**AT, **sizes})["bytes.step"].expr

    one, other = both(kinds, 4, tail=tail)
    assert bytes_of(one, L=4) == bytes_of(other)


@pytest.mark.parametrize("moves", ["algorithmic", "issued", "compulsory", "fused"])
def test_segments_of_one_layer_move_what_regions_move(moves):
    """A layer that is a segment of its own is a region that runs again."""
    found = [
        derive(folded("ws"), precision="fp32", checkpoint=one, convention=convention("default", bytes=moves))
        for one in ("every:1", "selective:layer0+layer1")
    ]
    sizes = {**AT, "L": 7}
    assert all(condition.holds(sizes) for one in found for condition in one["bytes.step"].when)
    assert len({evaluate(one["bytes.step"].expr, sizes) for one in found}) == 1


@pytest.mark.parametrize(
    ("graph", "policy"),
    [(folded("ws"), "every:3"), (folded("ws"), "store-nothing"), (folded("ws"), "binomial:3")],
)
def test_segments_that_differ_have_no_rule_for_fused_bytes(graph, policy):
    fused = convention("default", bytes="fused")
    account = derive(graph, precision="fp32", checkpoint=policy, convention=fused, sizes={**AT, "L": 6})
    with pytest.raises(RuleError, match="no rule for segments like these"):
        _ = account["bytes.step"]


# ---- counts that are quotients ----


def test_half_as_many_pairs_as_layers():
    """A count L/2 with two layers in the body: formulas for every even L, under every policy."""
    pairs, same = folded("ws", count="L/2"), folded("ws")
    for policy in ("every:1", "every:2", "every:4", "store-nothing"):
        account = derive(pairs, precision="fp32", checkpoint=policy)
        for name in QUANTITIES:
            sizes = {**AT, "L": 16}
            assert all(one.holds(sizes) for one in account[name].when)
            assert evaluate(account[name].expr, sizes) == derive(
                same, precision="fp32", checkpoint=policy, sizes={**AT, "L": 8}
            ).value(name)


# ---- stacks ----


def test_an_op_outside_of_layers_ends_a_stack():
    """An encoder's norm stands before a decoder: segments begin anew behind it, whatever is left before."""
    b = Builder("two", SIZES)
    x = b.repeat(3, lambda x: wide(b, x), b.input("x", "B D"), name="encoder")
    x = b.rmsnorm(x, "D", name="norm")
    x = b.repeat(4, lambda x: slim(b, x), x, name="decoder")
    account = derive(b.build(x), precision="fp32", checkpoint="every:2", sizes=AT)
    assert "a run of 3 layers: each is run again, in segments of 2 layers, the last of 1" in segments_said(
        account
    )
    assert check_memory(account.source, {}, [account.policy]).passed


def test_repeats_that_read_something_else_are_stacks_of_their_own():
    """Two towers with an input each share no segment, and two repeats in a row do."""

    def towers(*, apart):
        b = Builder("towers", SIZES)
        x, y = b.input("x", "B D"), b.input("y", "B D")
        left = b.repeat(3, lambda x: wide(b, x), x, name="left")
        right = b.repeat(3, lambda x: slim(b, x), y if apart else left, name="right")
        return derive(b.build(left + right), precision="fp32", checkpoint="every:2", sizes=AT)

    assert segments_said(towers(apart=True)).startswith("2 runs of 3 layers")
    assert segments_said(towers(apart=False)) == "each of the 6 layers is run again, in segments of 2 layers"
    assert check_memory(towers(apart=True).source, {}, [towers(apart=True).policy]).passed


@pytest.mark.long
def test_layers_in_an_inner_repeat_are_layers():
    """Five local layers and a full one, ten times: the inner repeat marks its own."""
    b = Builder("nested", SIZES)

    def local(x):
        with b.layer("local"):
            return wide(b, x)

    def group(x):
        x = b.repeat(2, local, x, name="inner")
        with b.layer("full"):
            return mixing(b, x)

    graph = b.build(b.square(b.repeat("L", group, b.input("x", "B D"))))
    for policy in POLICIES:
        assert amounts(graph, policy, L=3) == amounts(written("wwm" * 3), policy), policy
    policies = [Policy(FP32, checkpoint=checkpoint(one)) for one in POLICIES]
    assert check_memory(graph, {**AT, "L": 3}, policies).passed
    account = derive(graph, precision="fp32", checkpoint="every:1")
    sizes = {**AT, "L": 9}
    assert evaluate(account["memory.peak"].expr, sizes) == amounts(written("wwm" * 9), "every:1")[2]


# ---- refusals ----


@pytest.mark.parametrize("policy", ["sqrt", "every:k"])
def test_open_lengths_without_a_formula_are_refused_with_the_way_out(policy):
    graph = folded("ws", norm=1)
    with pytest.raises(RuleError, match="segments of layers have no formula") as caught:
        _ = derive(graph, precision="fp32", checkpoint=policy)["memory.peak"]
    assert "--at" in str(caught.value)
    sizes = {"L": 3, "k": 2} if policy == "every:k" else {"L": 3}
    bound = derive(graph, precision="fp32", checkpoint=policy).bind(sizes)
    assert bound.candidates()


def test_a_graph_without_layers_is_refused():
    b = Builder("plain", SIZES)
    graph = b.build(wide(b, b.input("x", "B D")))
    with pytest.raises(UsageError, match="repeats nothing") as caught:
        _ = derive(graph, checkpoint="every:1")["memory.activations"]
    assert "b.layer" in str(caught.value)


def test_layers_stand_beside_each_other_and_make_something():
    b = Builder("g", SIZES)
    x = b.input("x", "B D")
    with b.layer("one"):
        b.relu(x)
        with pytest.raises(GraphError, match="a layer stands in another one"), b.layer("two"):
            pass
    with pytest.raises(GraphError, match="a layer makes nothing"), b.layer("empty"):
        pass
    with b.layer("once"):
        b.relu(x)
    with pytest.raises(GraphError, match="given twice"), b.layer("once"):
        b.relu(x)


# ---- files ----


def test_json_keeps_layers_and_refuses_what_are_none():
    graph = folded("ws", norm=1, tail="m")
    assert from_json(to_json(graph)) == graph
    assert from_json(to_json(graph)).layers == ("layers/layer0", "layers/layer1")
    one, two = "layers/layer0", "layers/layer1"
    plain = {**to_data(folded("ws")), "layers": [one, two]}
    assert from_data(plain, "here").layers == (one, two)
    for wrong in (["nothing"], [one, one], [one, f"{one}/up"], ["layers/layer"]):
        with pytest.raises(GraphError, match="is no layer"):
            from_data({**plain, "layers": wrong}, "here")
    body = plain["nodes"][0]["body"]
    half = len(body) // 2
    torn = {**plain["nodes"][0], "body": [body[0], *body[half : half + 1], *body[1:half], *body[half + 1 :]]}
    with pytest.raises(GraphError, match="is no layer"):
        from_data({**plain, "nodes": [torn, *plain["nodes"][1:]]}, "here")
    with pytest.raises(ReadError):
        from_data({**plain, "layers": one}, "here")


def config(kinds):
    words = {"f": "full_attention", "w": "sliding_attention"}
    return {
        "model_type": "qwen3", "hidden_size": 16, "intermediate_size": 24, "num_hidden_layers": len(kinds),
        "num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 50, "head_dim": 4,
        "sliding_window": 3, "use_sliding_window": True, "layer_types": [words[kind] for kind in kinds],
    }  # fmt: skip


def read(kinds):
    return decoder_graph(read_config(config(kinds), "model", "here"))


ALTERNATING = ["wf" * 4, ("wwf" * 3)[:8], "ffwwwww"]
"""As in gemma-2, in gemma-3 with a rest, and with the first layers of another kind as in deepseek."""


@pytest.mark.long
@pytest.mark.parametrize("kinds", ALTERNATING)
def test_configurations_of_layers_of_two_kinds_are_checked_with_torch(kinds):
    policies = [Policy(FP32, checkpoint=checkpoint(one)) for one in ("every:1", "every:3")]
    found = check_memory(read(kinds), {"B": 1, "S": 5}, policies)
    assert found.passed, [row for row in found.rows if row.verdict != "equal"][:3]


@pytest.mark.few(2)
@pytest.mark.parametrize("kinds", ALTERNATING)
@pytest.mark.parametrize("policy", ["every:1", "every:2", "every:3", "sqrt", "store-nothing"])
def test_windows_change_nothing_of_what_is_kept_between_layers(kinds, policy):
    """Windowed scores are as large as full ones here, so that a model of one kind takes the same memory."""
    sizes = {"B": 2, "S": 6}
    mixed, plain = (derive(read(k), checkpoint=policy, sizes=sizes) for k in (kinds, "f" * len(kinds)))
    for name in ("memory.activations", "memory.activations.peak", "memory.peak", "flops.recompute.matmul"):
        assert mixed.value(name) == plain.value(name), name


def test_a_period_with_a_rest_is_two_repeats():
    assert runs(tuple("wwwwwf" * 10 + "ww")) == ((10, tuple("wwwwwf")), (2, ("w",)))
    assert runs(tuple("fff" + "w" * 58)) == ((3, ("f",)), (58, ("w",)))


def test_the_output_names_the_segments(tmp_path, capsys):
    path = tmp_path / "config.json"
    path.write_text(json.dumps(config("wf" * 4)), encoding="utf-8")
    for policy, words in {
        "every:1": "each of the 8 layers is run again, in segments of 1 layer;",
        "every:3": "each of the 8 layers is run again, in segments of 3 layers, the last of 2;",
        "sqrt": "each of the 8 layers is run again, in segments of 3 layers, the last of 2;",
        "every:20": "each of the 8 layers is run again, in one segment;",
        "store-nothing": "each of the 8 layers runs all before it again;",
    }.items():
        assert main(["derive", str(path), "--checkpoint", policy, "--at", "B=1,S=8"]) == 0
        said = " ".join(capsys.readouterr().out.split())
        assert words in said
        assert "an iteration of layers is 2 layers" in said


def test_names_of_outside_ops_and_formulas_are_said():
    outside = derive(folded("ws", norm=1), precision="fp32", checkpoint="every:1")
    assert "no layer holds it: layers/between" in segments_said(outside)
    plain = derive(folded("ws"), precision="fp32", checkpoint="every:k")
    assert segments_said(plain).startswith("each of the 2*L layers is run again, in segments of k layers")
    root = derive(folded("ws"), precision="fp32", checkpoint="sqrt")
    assert "in segments of sqrt(2*L) layers" in segments_said(root)
    assert segments_said(derive(folded("ws"), checkpoint="selective:layer0")) == ""
    assert segments_said(derive(folded("ws"))) == ""
