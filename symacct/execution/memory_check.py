"""Memory of a training step: formulas, the reference-count interpreter and a tracked run, side by side."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from symacct.account import Account, derive
from symacct.algebra.symbols import as_expr
from symacct.errors import GraphError, RuleError, UsageError
from symacct.execution.check import DIFFERS, LARGEST_SEED, affordable, static_rows
from symacct.execution.memory_batches import batch_rows
from symacct.execution.memory_compare import Compared, MemoryRow
from symacct.execution.memory_points import points
from symacct.execution.schedule import run
from symacct.execution.schedule_plan import Plan
from symacct.execution.schedule_program import NESTED
from symacct.execution.states import OPTIMIZERS
from symacct.execution.vouch import unmodelled
from symacct.nodes import walk
from symacct.ops.optimizer import RULES
from symacct.peaks.layers import has_layers
from symacct.peaks.placement import WRITTEN_OUT, placed
from symacct.policy import Policy, checkpoint, precision

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from symacct.build import Definition
    from symacct.execution.check import Row
    from symacct.execution.schedule_plan import Tracked
    from symacct.execution.schedule_program import Segments
    from symacct.nodes import Graph

FP32 = precision("fp32")
USUAL = ("none", "every:1", "every:2", "sqrt", "store-nothing")


@dataclass(frozen=True, slots=True)
class MemoryCheck:
    """What a check of memory found.

    Attributes:
        name: of the graph.
        rows: the quantities, by checkpoint policy and sizes.
        others: parameters, the states of optimizers, and gradients of micro-batches.
        differences: ops that ran again another number of times, and what was alive at a peak that differs.
        unvouched: what the check says nothing about.
    """

    name: str
    rows: tuple[MemoryRow, ...]
    others: tuple[Row, ...]
    differences: tuple[str, ...]
    unvouched: tuple[str, ...]

    @property
    def passed(self) -> bool:
        """Whether nothing differs."""
        verdicts = [row.verdict for row in self.rows] + [row.verdict for row in self.others]
        return DIFFERS not in verdicts


def check_memory(
    graph: Graph | Definition,
    sizes: Mapping[str, int] | None = None,
    policies: Sequence[Policy] | None = None,
    seed: int = 0,
) -> MemoryCheck:
    """Run training steps of a graph with torch, track every storage, and compare with what is derived.

    Args:
        graph: a graph, or its definition.
        sizes: some or all sizes, and the symbols of the policies; others are chosen, several of each.
        policies: in fp32, saving what backward reads; the usual checkpoints if left out.
        seed: of the values.

    Raises:
        SizeError: the sizes break a condition of the graph, or are too large to run.
        UsageError: the seed is out of range, or a policy cannot be run.

    >>> from symacct import load
    >>> found = check_memory(load("mlp"), {"B": 2, "D": 3, "L": 2})
    >>> found.passed, found.rows[0].what, found.rows[0].counted
    (True, 'memory.activations', 72)
    """
    if not 0 <= seed <= LARGEST_SEED:
        raise UsageError(
            "the seed is out of range",
            expected=f"an integer from 0 to {LARGEST_SEED}",
            got="less" if seed < 0 else "more",
        )
    first = derive(graph, precision="fp32")
    given = dict(sizes or {})
    _trains(first, policies or ())
    chosen = [one.bind(given) for one in policies or usual(first.source, Policy(FP32))]
    checked = [_Checked(first.source, policy, given, seed) for policy in chosen]
    for one in checked:
        one.run()
    parts = {int(as_expr(policy.accumulate)): one.given for policy, one in zip(chosen, checked, strict=True)}
    batches = (
        row for micro, own in parts.items() if micro > 1 for row in batch_rows(first.graph, own, micro, seed)
    )
    return MemoryCheck(
        first.source.name,
        tuple(row for one in checked for row in one.rows),
        (*_static(checked), *batches),
        tuple(text for one in checked for text in one.differences),
        tuple(_unvouched(first, checked)),
    )


def _trains(account: Account, policies: Sequence[Policy]) -> None:
    """Refuse a graph without a backward pass.

    Raises:
        RuleError: nothing trains.
    """
    if not account.step.gradients and not any(policy.input_grad for policy in policies):
        raise RuleError(
            f"nothing trains in graph {account.source.name}, so that there is no step",
            expected="a graph with weights that train, or gradients of its inputs",
            got="neither",
            fix="form the gradients of the inputs: --input-grad",
        )


def usual(graph: Graph, policy: Policy) -> tuple[Policy, ...]:
    """Return a policy with no checkpoint, and with each usual one where the graph repeats something.

    >>> from symacct import load
    >>> [one.checkpoint.kind for one in usual(load("linear"), Policy(FP32))]
    ['none']
    """
    repeats = not graph.remats and has_layers(graph)
    return tuple(replace(policy, checkpoint=checkpoint(text)) for text in (USUAL if repeats else USUAL[:1]))


def plan_of(policy: Policy, graph: Graph | None = None) -> Plan:
    """Return how a policy is run.

    Args:
        policy: as it is stated; with the segments that are found for it, where it looks for them.
        graph: at given sizes, where the segments of the policy depend on its counts.

    Raises:
        UsageError: the policy has symbols, or is none that is run here.

    >>> plan_of(Policy(FP32, checkpoint=checkpoint("every:2:full"))).segments
    ('every', 2)
    """
    if policy.names:
        raise UsageError(
            f"{policy.names[0]} is the symbol of a policy, and no step can be run with it",
            expected="integers",
            got=policy.names[0],
            fix=f"give it: --at {policy.names[0]}=2",
        )
    chosen = (policy.precision, policy.saves, policy.workload, policy.loss)
    if chosen != (FP32, "backward", "train", "sum"):
        raise UsageError(
            "steps are run in fp32, keep what backward reads, and start from a loss",
            expected="precision fp32, saves backward, workload train, loss sum",
            got=policy.describe(),
        )
    kind, every, regions = policy.checkpoint.kind, policy.checkpoint.every, policy.checkpoint.regions
    nested = placed(graph, policy.checkpoint).segments if graph is not None and kind in WRITTEN_OUT else ()
    segments: dict[str, Segments] = {
        "binomial": (NESTED, nested),
        "optimal": (NESTED, nested),
        "none": None,
        "every": ("every", int(every) if every is not None else 1),
        "sqrt": ("sqrt",),
        "selective": ("regions", regions),
        "store-nothing": ("store-nothing",),
    }
    return Plan(
        segments[kind],
        policy.checkpoint.recompute,
        policy.hold_output,
        policy.grads,
        policy.update,
        int(as_expr(policy.accumulate)),
        policy.input_grad,
    )


class _Checked:
    """The check of one policy."""

    def __init__(self, graph: Graph, policy: Policy, given: Mapping[str, int], seed: int) -> None:
        """Say how the policy is run."""
        self.plan = plan_of(policy)
        self.account = derive(graph, policy=policy)
        self.exact = policy.checkpoint.kind in WRITTEN_OUT
        self.plain = derive(graph, precision=FP32.name)
        self.given = {name: size for name, size in given.items() if name in graph.order}
        self.seed = seed
        self.rows: list[MemoryRow] = []
        self.differences: list[str] = []
        self.refused: str | None = None
        self.first: tuple[Mapping[str, int], Tracked] | None = None

    def run(self) -> None:
        """Compare at every point; a step that cannot be followed is said to be none."""
        for point in points(self.account, self.given):
            affordable(self.plain, point.sizes)
            account = self.account.bind(point.sizes) if self.exact else running(self.account, point.sizes)
            sizes = {name: size for name, size in point.sizes.items() if name in account.graph.order}
            plan = plan_of(account.running, account.graph) if self.exact else self.plan
            try:
                tracked = run(account.graph, sizes, plan, seed=self.seed)
            except GraphError as error:
                self.refused = f"checkpoint {self.account.policy.checkpoint.describe()}: {error.what}"
                return
            self.first = self.first or (point.sizes, tracked)
            compared = Compared(account, point.sizes, tracked)
            self.rows += [replace(row, note=point.why) for row in compared.rows()]
            self.differences += compared.differences()


def running(account: Account, sizes: Mapping[str, int]) -> Account:
    """Return an account, or the one of these sizes if not all of its ops run at them: a repeat may be empty.

    >>> from symacct import load
    >>> account = derive(load("mlp"))
    >>> [running(account, {"B": 2, "D": 3, "L": count}) is account for count in (1, 0)]
    [True, False]
    """
    exact = account.bind(sizes)
    mine, theirs = ({node.label for node, _ in walk(one.graph.nodes)} for one in (account, exact))
    return account if mine == theirs else exact


def _static(checked: Sequence[_Checked]) -> Iterator[Row]:
    """Compare parameters and the states of optimizers, once: they are the same under every policy."""
    for one in checked:
        if one.first is not None:
            sizes, tracked = one.first
            yield from static_rows(running(one.plain, sizes), sizes, tracked.gradients)
            return


def _unvouched(account: Account, checked: Sequence[_Checked]) -> Iterator[str]:
    """Say what a tracked run of the graph's ops does not show."""
    yield from (one.refused for one in checked if one.refused is not None)
    for label, why in unmodelled(account.graph).items():
        yield f"{label} as torch has it: {why}; one op with the storages of the graph was run"
    yield "copies in another layout, and what an op allocates inside: no tensors of the graph"
    yield "what an allocator adds: sizes rounded up, and gaps"
    yield from (f"{label}: no output depends on it, so that it is left out" for label in account.dead)
    absent = sorted(set(RULES) - set(OPTIMIZERS))
    yield f"states of {', '.join(absent)}: torch has no such optimizer"
