"""Laws of memory that hold for every graph: bounds of a peak, recompute, micro-batches."""

from __future__ import annotations

from hypothesis import assume, given, settings
from hypothesis import strategies as st
from random_graphs import random_graph

from symacct.account import derive
from symacct.derivation.timeline import at_sizes, sizes_at, worst
from symacct.nodes import Repeat

SEEDS = st.integers(min_value=0, max_value=2**32)
few = settings(max_examples=8, deadline=None)


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
@given(SEEDS, st.sampled_from(["every:1", "every:2", "every:3:full", "store-nothing"]))
def test_running_again_costs_work(seed, checkpoint):
    drawn = random_graph(seed)
    plain = derive(drawn.graph, precision="fp32").bind(drawn.sizes)
    assume(any(isinstance(node, Repeat) for node in plain.graph.nodes))
    steps = at_sizes(plain.graph, derive(drawn.graph, checkpoint=checkpoint).policy, drawn.sizes)
    again = [action for action in steps.actions if action.phase == "recompute"]
    assert len([a for a in steps.actions if a.phase != "recompute" and a.runs]) == len(
        [a for a in at_sizes(plain.graph, plain.policy, drawn.sizes).actions if a.runs]
    )
    assert all(s.kind == "recomputed" for action in again for s in action.makes)


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
