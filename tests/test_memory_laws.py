"""Laws of memory that hold for every graph: bounds of a peak, what runs again, micro-batches, names."""

from __future__ import annotations

from collections import defaultdict
from functools import cache
from math import prod
from random import Random

import pytest
from hypothesis import assume, given, reject, settings
from hypothesis import strategies as st
from memory_oracle import Exotic, counted
from memory_program import BYTES
from random_graphs import random_graph
from unrolling import unrolled

from symacct import load, terms
from symacct.account import derive
from symacct.algebra.evaluate import evaluate, substitute
from symacct.algebra.normal import normal, total
from symacct.algebra.sign import sign_on_box
from symacct.algebra.symbols import as_expr, symbol
from symacct.errors import RuleError
from symacct.nodes import Node, Repeat, walk
from symacct.peaks.timeline import at_sizes, sizes_at, worst

SEEDS = st.integers(min_value=0, max_value=2**32)
SEGMENTS = ("every:1", "every:2", "every:3:full", "sqrt", "store-nothing", "store-nothing:full")
SIGNS = ("nonnegative", "positive", "zero")
REGIONS = ("core", "attention", "ffn", "attention+ffn", "core+up")
SHIPPED = ("mlp", "deep_linear", "lora", "gpt", "llama")
DECODERS = {
    "gpt": {"b": 2, "s": 3, "t": 3, "a": 2, "h": 4, "L": 3, "V": 7},
    "llama": {"B": 2, "S": 3, "T": 3, "L": 2, "D": 4, "F": 6, "H": 4, "G": 2, "K": 2, "V": 7},
}
few = settings(max_examples=6, deadline=None)


@cache
def shipped(name, **choices):
    return derive(load(name), precision="fp32", **choices)


def repeats(account):
    return any(isinstance(node, Repeat) for node in account.graph.nodes)


# ---- peaks ----


@few
@given(SEEDS)
def test_a_peak_is_between_each_live_set_and_everything(seed):
    drawn = random_graph(seed)
    one = derive(drawn.graph, precision="fp32").bind(drawn.sizes)
    steps = at_sizes(one.graph, one.policy, drawn.sizes)
    size = sizes_at(one.graph, one.policy, drawn.sizes)
    peak = worst(steps, size).nbytes
    for at in range(len(steps.actions)):
        alive = (s for s in steps.storages if s.born <= at and (s.forever or s.last >= at))
        assert sum(map(size, alive)) <= peak
    assert peak <= sum(map(size, steps.storages))
    assert one.value("memory.peak") == peak + one.beside("memory.peak")


@few
@given(SEEDS, st.sampled_from(("none", *SEGMENTS)), st.booleans())
def test_a_peak_at_sizes_is_what_python_counts(seed, checkpoint, held):
    drawn = random_graph(seed)
    one = derive(drawn.graph, precision="fp32", checkpoint=checkpoint, hold_output=held).bind(drawn.sizes)
    assume(repeats(one))
    try:
        whole, kept = counted(one.graph, one.policy, drawn.sizes)
    except Exotic:
        reject()
    assert one.value("memory.peak") == whole.peak + one.beside("memory.peak")
    name = "memory.activations.peak"
    assert one.value(name) == kept.peak + one.beside(name)
    inputs = sum(t.expr for t in terms.inputs(one.graph, one.course.inputs, one.policy))
    assert one.value("memory.activations") == kept.kept + inputs


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("name", "checkpoint"),
    [
        ("mlp", "none"),
        ("deep_linear", "every:k"),
        ("mlp", "every:k"),
        ("lora", "every:k"),
        ("gpt", "every:1"),
    ],
)
def test_names_of_sizes_are_only_names(name, checkpoint):
    one = shipped(name, checkpoint=checkpoint)
    tied = {size for condition in one.source.conditions for size in condition.left.free_symbols}
    free = [size for size in one.source.sizes if symbol(size) not in tied]
    letters = reversed("abcdefghijlmnopqrstuvwxyz"[: len(free)])
    names = {size: symbol(f"n_{letter}") for size, letter in zip(free, letters, strict=True)}
    other = derive(load(name).bind(names), precision="fp32", checkpoint=checkpoint)
    for peak in ("memory.peak", "memory.activations.peak"):
        mine, theirs = {normal(substitute(e, names)) for e in one.candidates(peak)}, {*other.candidates(peak)}
        for spare in mine ^ theirs:  # one that is never needed, which the other order has no reason to drop
            assert never_larger(spare, mine & theirs)
    assert len(one["memory.peak"].when) == len(other["memory.peak"].when)


def never_larger(formula, others):
    """Say whether a formula is at most the largest of others at points drawn from small to large sizes."""
    dice, names = Random(0), sorted({free.name for e in (formula, *others) for free in e.free_symbols})
    for _ in range(40):
        sizes = {name: dice.choice((4, 5, 9, 40, 500)) for name in names}
        if evaluate(formula, sizes) > max(evaluate(e, sizes) for e in others):
            return False
    return True


# ---- running again ----


@few
@given(SEEDS, st.sampled_from(SEGMENTS))
def test_running_again_costs_the_work_of_what_runs_again(seed, checkpoint):
    drawn = random_graph(seed)
    plain = derive(drawn.graph).bind(drawn.sizes)
    one = derive(drawn.graph, checkpoint=checkpoint).bind(drawn.sizes)
    assume(repeats(one))
    try:
        again = counted(one.graph, one.policy, drawn.sizes)[0].again
        more = one.value("flops.hardware.all") - plain.value("flops.hardware.all")
    except (Exotic, RuleError):
        reject()
    assert {label for label, count in again.items() if count} == one.course.runs_again.keys()
    for label in one.course.runs_again:
        assert one.course.again(label, as_expr(1)) == again[label], label
    assert more == one.value("flops.recompute.all") >= 0
    assert one.value("flops.model.all") == plain.value("flops.model.all")


@pytest.mark.few(3)
@pytest.mark.parametrize("name", SHIPPED)
@pytest.mark.parametrize("checkpoint", ["every:k", "every:1:full", "store-nothing"])
def test_no_formula_of_running_again_lowers_work(name, checkpoint):
    plain, one = shipped(name), shipped(name, checkpoint=checkpoint)
    more = normal(one["flops.hardware"].expr - plain["flops.hardware"].expr)
    answer, _ = sign_on_box(substitute(more, {"L": symbol("k") * symbol("M")}))
    assert answer in SIGNS
    if checkpoint != "store-nothing":  # at most one more forward pass
        left = normal(plain["flops.forward"].expr - more)
        assert sign_on_box(substitute(left, {"L": symbol("k") * symbol("M")}))[0] in SIGNS
    assert normal(more - one["flops.recompute"].expr) == 0
    assert one["flops.model"].expr == plain["flops.model"].expr


def saved_with_regions(graph, regions):
    """Return the bytes that a graph without repeats saves where each region keeps what enters it alone.

    Plain, an op's tensors are saved for its readers; what a region alone reads goes, what enters it comes.
    """
    nodes = {node.label: node for node, _ in walk(graph.nodes) if isinstance(node, Node)}
    made = {name: node for node in nodes.values() for name in node.outs}

    def root(name):
        while name in made and made[name].op.alias and made[name].outs[0] == name:
            name = made[name].ins[0]
        return name

    plain = {s.tensor.name: s for s in derive(graph, precision="fp32").saved}
    readers = {label for s in plain.values() for label in s.readers}
    keep = {name for name, s in plain.items() if any(label not in regions for label in s.readers)}
    inside = defaultdict(list)
    for label, region in regions.items():
        inside[region].append(nodes[label])
    for its in inside.values():
        if any(node.label in readers for node in its):
            mine = {name for node in its for name in node.outs}
            enter = {root(name) for node in its for name in node.ins} - mine
            keep |= {name for name in enter if graph.tensors[name].role not in ("weight", "constant")}
        else:
            assume(not any(differentiated(graph, node) for node in its))
    return sum(BYTES[t.dtype] * int(t.numel) for t in map(graph.tensors.get, sorted(keep)))


def differentiated(graph, node):
    """Say whether an op may save parameters alone, which the account of what is saved does not list."""
    return any(graph.tensors[name].role == "weight" for name in node.ins) and node.op.kind != "view"


def regions_of(graph, names):
    """Return the region of each op of a graph without repeats, by the names of regions."""
    found = {}
    for node in graph.nodes:
        label, *turns = node.label.split("#")
        for name in names:
            if f"/{name}/" in f"/{label}/":
                path = f"/{label}/"[: f"/{label}/".index(f"/{name}/") + len(name) + 1]
                found.setdefault(node.label, (path, *turns))
    return found


@pytest.mark.parametrize("name", DECODERS)
@pytest.mark.parametrize("names", REGIONS)
def test_a_region_keeps_what_enters_it(name, names):
    one = shipped(name, checkpoint=f"selective:{names}").bind(DECODERS[name])
    flat = unrolled(one.graph)
    expected = saved_with_regions(flat, regions_of(flat, names.split("+")))
    assert one.value("memory.activations") == expected


@few
@given(SEEDS, st.randoms(use_true_random=False))
def test_an_op_that_runs_again_keeps_what_enters_it(seed, dice):
    drawn = random_graph(seed)
    plain = derive(drawn.graph, precision="fp32").bind(drawn.sizes)
    labels = [node.label for node, _ in walk(plain.graph.nodes) if isinstance(node, Node)]
    label = dice.choice(labels)
    one = derive(drawn.graph, precision="fp32", checkpoint=f"selective:{label}").bind(drawn.sizes)
    flat = unrolled(one.graph)
    assert one.value("memory.activations") == saved_with_regions(flat, regions_of(flat, [label]))


# ---- two ways to what is saved ----


def both_ways(one):
    """Return what is saved by the readers of each storage, and by what the course through memory keeps."""
    by_readers = total(term.expr for term in terms.activations(one.saved, one.policy))
    kept = one.course.saved_when_forward_ends(one.weigh(saved=True))
    parts = [*kept.values(), *(t.expr for t in terms.inputs(one.graph, one.course.inputs, one.policy))]
    return normal(by_readers), normal(total(parts))


@pytest.mark.parametrize("name", [*SHIPPED, "swiglu", "moe"])
@pytest.mark.parametrize("saves", ["backward", "torch", "paper"])
def test_what_is_saved_by_readers_and_by_the_course(name, saves):
    by_readers, kept = both_ways(shipped(name, saves=saves))
    assert by_readers == kept


@pytest.mark.parametrize("name", ["mlp", "gpt", "moe"])
def test_the_lecture_counts_each_output_of_an_op_once(name):
    """Whatever backward reads, and whichever way it is counted; inputs of the graph are data then."""
    one = shipped(name, saves="lecture")
    by_readers, kept = both_ways(one)
    ops = [(node, path) for node, path in walk(one.graph.nodes) if isinstance(node, Node)]
    outputs = {one.graph.tensors[node.outs[0]] for node, _ in ops if not node.op.alias}
    whole = 0
    for tensor in outputs:
        count = tensor.numel * one.policy.nbytes(tensor.dtype, tensor.role)
        for node, path in ops:
            if node.outs[0] == tensor.name:
                whole += count * prod(repeat.count for repeat in path)
    assert by_readers == kept == normal(whole)


@pytest.mark.parametrize("segments", ["every:1", "every:3", "sqrt", "store-nothing"])
def test_segments_keep_outputs_of_ops_alone_for_the_lecture(segments):
    """Of a chain of linear layers with ReLU: what enters each segment but the first, which is no output."""
    sizes = {"B": 5, "D": 3, "L": 9}
    one = derive(load("mlp"), precision="fp32", saves="lecture", checkpoint=segments)
    count = {"every:1": 9, "every:3": 3, "sqrt": 3, "store-nothing": 1}[segments]
    assert one.value("memory.activations", sizes) == 4 * 5 * 3 * (count - 1)
    assert one.value("memory.data", sizes) == 4 * 5 * 3


@few
@given(SEEDS, st.sampled_from(("backward", "torch", "paper")))
def test_what_random_graphs_save_by_readers_and_by_the_course(seed, saves):
    drawn = random_graph(seed)
    by_readers, kept = both_ways(derive(drawn.graph, precision="fp32", saves=saves).bind(drawn.sizes))
    assert by_readers == kept


# ---- micro-batches ----


@few
@given(SEEDS)
def test_micro_batches_add_work_and_no_memory_after_the_second(seed):
    drawn = random_graph(seed)
    ones = [
        derive(drawn.graph, precision="fp32", optimizer="adamw", accumulate=n).bind(drawn.sizes)
        for n in (1, 2, 5)
    ]
    names = ("flops.model.all", "flops.optimizer", "memory.static", "memory.peak")
    values = [{name: one.value(name) for name in names} for one in ones]
    assert [v["flops.model.all"] for v in values] == [n * values[0]["flops.model.all"] for n in (1, 2, 5)]
    assert len({v["flops.optimizer"] for v in values}) == len({v["memory.static"] for v in values}) == 1
    assert values[1]["memory.peak"] == values[2]["memory.peak"] >= values[0]["memory.peak"]


@pytest.mark.few(2)
@pytest.mark.parametrize("name", SHIPPED)
def test_micro_batches_multiply_all_work_but_the_update(name):
    choices = {"checkpoint": "every:1", "optimizer": "adamw"}
    one, many = shipped(name, **choices), shipped(name, accumulate="N", **choices)
    for part in ("forward", "backward", "recompute", "model", "hardware"):
        assert normal(many[f"flops.{part}.all"].expr - symbol("N") * one[f"flops.{part}.all"].expr) == 0
    assert many["flops.optimizer"].expr == one["flops.optimizer"].expr != 0
    assert normal(many["memory.activations"].expr - one["memory.activations"].expr) == 0
