"""Random graphs: the interpreter and the formulas say of memory what tracked runs take, to the byte."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from random_graphs import random_graph

from symacct.account import derive
from symacct.algebra.symbols import as_expr
from symacct.errors import RuleError
from symacct.execution.check import EQUAL
from symacct.execution.memory_check import FP32, plan_of
from symacct.execution.memory_compare import Compared
from symacct.execution.schedule import run
from symacct.nodes import Repeat
from symacct.peaks.timeline import at_sizes, sizes_at, worst
from symacct.policy import Policy, checkpoint

if TYPE_CHECKING:
    from collections.abc import Iterator

    from symacct.execution.memory_compare import MemoryRow

CHOICES: tuple[dict[str, Any], ...] = (
    {"hold_output": True},
    {"grads": "kept"},
    {"update": "fused"},
    {"input_grad": True},
    {"accumulate": as_expr(2)},
    {"accumulate": as_expr(3), "hold_output": True},
)
SEGMENTS = ("every:1", "every:2", "every:2:full", "sqrt", "store-nothing", "store-nothing:full")
GROUPS, EACH = 8, 5
MISSED = (810041, 910571, 910272)


def policies(blocks: bool, seed: int) -> list[Policy]:  # noqa: FBT001
    """Return a plain step, two other choices, and three ways to checkpoint, one of them with a choice."""
    some = [{}, CHOICES[seed % len(CHOICES)], CHOICES[(seed // 2 + 3) % len(CHOICES)]]
    found = [Policy(FP32, **choice) for choice in some]
    for at in (0, 1, 3) if blocks else ():
        segments = checkpoint(SEGMENTS[(seed + at) % len(SEGMENTS)])
        found.append(Policy(FP32, checkpoint=segments, **(some[1] if at == 3 else {})))
    return found


def compared(seed: int, all_rows: range) -> Iterator[tuple[Policy, list[MemoryRow]]]:
    """Compare what runs of a random graph at its sizes, all rows for some of the policies."""
    found = random_graph(seed)
    sizes = {name: size for name, size in found.sizes.items() if name in found.graph.order}
    whole = found.graph.bind({name: size for name, size in sizes.items() if not size})
    one = derive(whole).graph
    living = {name: size for name, size in sizes.items() if name in one.order}
    blocks = any(isinstance(node, Repeat) for node in one.nodes)
    for number, policy in enumerate(policies(blocks, seed)):
        try:
            tracked = run(one, living, plan_of(policy))
        except RuleError:  # a repeat of no iterations has all that trains
            continue
        if number in all_rows:
            own = derive(found.graph, policy=policy).bind(sizes)
            yield policy, list(Compared(own, sizes, tracked).rows())
            continue
        schedule, size = at_sizes(one, policy, living), sizes_at(one, policy, living)
        assert worst(schedule, size).nbytes == tracked.peak, (seed, policy.describe())
        saved = worst(schedule, size, lambda storage: storage.saved).nbytes
        assert saved == tracked.saved_peak, (seed, policy.describe())


@pytest.mark.few(1)
@pytest.mark.parametrize("group", range(GROUPS))
def test_memory_of_random_graphs(group: int) -> None:
    for seed in range(group * EACH, (group + 1) * EACH):
        for policy, rows in compared(seed, range(seed % 6, seed % 6 + 1)):
            assert {row.verdict for row in rows} == {EQUAL}, (seed, policy.describe(), rows)


@pytest.mark.few(1)
@pytest.mark.parametrize("seed", MISSED)
def test_what_was_missed_once(seed: int) -> None:
    """Pasts that no gradient reaches, kept with what enters a segment; ops that are dead without turns."""
    for policy, rows in compared(seed, range(6)):
        assert {row.verdict for row in rows} == {EQUAL}, (seed, policy.describe(), rows)
