"""Checkpoints of repeats that run 0 times: nothing is cut, and what stands outside of them is as ever."""

from __future__ import annotations

from typing import Any

import pytest

from symacct import derive, graph, load
from symacct.errors import UnknownNameError, UsageError

torch = pytest.importorskip("torch")

from random_graphs import random_graph  # noqa: E402
from test_track_random import policies  # noqa: E402

from symacct.execution.check import EQUAL  # noqa: E402
from symacct.execution.memory_check import check_memory, plan_of  # noqa: E402
from symacct.execution.memory_compare import Compared  # noqa: E402
from symacct.execution.schedule import run  # noqa: E402

NONE = {"b": 2, "s": 4, "a": 2, "h": 8, "L": 0, "V": 11}
SEGMENTS = ("every:1", "every:2:full", "sqrt", "store-nothing", "selective:core")
ASKED = ("memory.peak", "memory.activations", "memory.activations.peak", "flops.recompute", "flops.hardware")


@pytest.mark.few(1)
@pytest.mark.parametrize("seed", [700095, 810007, 810140])
def test_a_step_whose_only_repeat_does_not_run_takes_what_torch_takes(seed: int) -> None:
    found = random_graph(seed)
    sizes = {name: size for name, size in found.sizes.items() if name in found.graph.order}
    one = derive(found.graph).graph
    living = {name: size for name, size in sizes.items() if name in one.order}
    assert living["M"] == 0
    for policy in policies(blocks=True, seed=seed):
        tracked = run(one, living, plan_of(policy))
        compared = Compared(derive(found.graph, policy=policy).bind(sizes), sizes, tracked)
        assert {row.verdict for row in compared.rows()} == {EQUAL}, policy.describe()


@pytest.mark.parametrize("segments", SEGMENTS)
def test_without_layers_no_checkpoint_changes_anything(segments: str) -> None:
    """The embedding and the head of a transformer alone: a shorter way to write the same step."""
    plain, cut = (derive(load("gpt"), checkpoint=one, precision="fp32") for one in ("none", segments))
    assert [cut.value(name, NONE) for name in ASKED] == [plain.value(name, NONE) for name in ASKED]


def test_what_is_never_there_is_refused_all_the_same() -> None:
    with pytest.raises(UnknownNameError, match="unknown region or op 'cor'"):
        derive(load("gpt"), checkpoint="selective:cor").value("memory.peak", NONE)
    with pytest.raises(UsageError, match="repeats nothing"):
        derive(load("linear"), checkpoint="every:1").value("memory.peak", {"B": 2, "D": 3, "K": 4})


@graph({"B": "rows", "D": "features", "M": "turns"})
def beside(b: Any) -> Any:
    """Without turns no output depends on the second layer, nor on its weight."""
    x, w, v = b.input("x", "B D"), b.weight("w", "D E", E="D"), b.weight("v", "E F", E="D", F="D")
    h = b.tanh(b.einsum("B D, D E -> B E", x, w))
    side = b.tanh(b.einsum("B E, E F -> B F", h, v))
    ends = b.reduce("B E -> B", h, "sum"), b.reduce("B F -> B", side, "sum")
    return b.repeat("M", lambda c, d: (b.tanh(b.mul(c, d)), b.tanh(d)), ends, name="r")[0]


@pytest.mark.parametrize(("turns", "gradients"), [(0, 36), (1, 72)])
def test_a_check_runs_what_is_left_without_turns(turns: int, gradients: int) -> None:
    found = check_memory(beside(), {"B": 2, "D": 3, "M": turns})
    assert found.passed
    assert [row.derived for row in found.others if row.what == "memory.gradients"] == [gradients]
