"""Checkpoints of repeats that run 0 times: nothing is cut, and what stands outside of them is as ever."""

from __future__ import annotations

import pytest

from symacct import derive, load
from symacct.errors import UnknownNameError, UsageError

torch = pytest.importorskip("torch")

from random_graphs import random_graph  # noqa: E402
from test_track_random import policies  # noqa: E402

from symacct.execution.check import EQUAL  # noqa: E402
from symacct.execution.memory_check import plan_of  # noqa: E402
from symacct.execution.memory_compare import Compared  # noqa: E402
from symacct.execution.schedule import run  # noqa: E402

NONE = {"b": 2, "s": 4, "a": 2, "h": 8, "L": 0, "V": 11}
SEGMENTS = ("every:1", "every:2:full", "sqrt", "store-nothing", "selective:core")
ASKED = ("memory.peak", "memory.activations", "memory.activations.peak", "flops.recompute", "flops.hardware")


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
