"""What is derived of a graph under a policy, each part when it is asked for."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Self

from symacct.algebra.condition import Condition, merge
from symacct.algebra.evaluate import evaluate
from symacct.algebra.symbols import as_expr
from symacct.derivation.differentiate import Step, differentiate
from symacct.derivation.growth import cached_tokens
from symacct.derivation.lora import adapted
from symacct.derivation.saved import Saved, saved
from symacct.derivation.static import Parameter, parameters
from symacct.derivation.traffic import Traffic, Traffics
from symacct.derivation.work import Row, backward_work, forward_work, optimizer_work
from symacct.derivation.workload import caches, living, prepared, without_empty
from symacct.errors import UnknownNameError, UsageError, nearest, unknown
from symacct.nodes import Repeat, walk
from symacct.peaks.again import work_again
from symacct.peaks.again_traffic import TrafficsAgain
from symacct.peaks.course import Course, course_of
from symacct.peaks.optimal import fitted
from symacct.peaks.placement import WRITTEN_OUT, left, outermost
from symacct.terms import PEAKS, QUANTITIES, price

if TYPE_CHECKING:
    from collections.abc import Callable

    from sympy import Expr

    from symacct.convention import Convention
    from symacct.nodes import Graph
    from symacct.peaks.steps import Instance
    from symacct.policy import Policy

TRAINING = (
    "flops.backward", "flops.recompute", "flops.optimizer", "bytes.backward", "memory.gradients",
    "memory.master", "memory.optimizer", "memory.activations",
)  # fmt: skip
"""Quantities that only training has."""

SERVING = ("prefill", "decode")
"""Workloads that fill or read a cache of keys and values."""

UPDATING = ("flops.optimizer", "memory.optimizer")
"""Quantities that need an optimizer."""


class Derived:
    """What is derived of a graph; see :class:`symacct.account.Account`."""

    def __init__(
        self, source: Graph, policy: Policy, convention: Convention, *, uneven: bool = False
    ) -> None:
        """Prepare the workload's graph; everything else is derived when it is asked for."""
        self._uneven = uneven
        self.source = source if policy.lora is None else adapted(source, policy.lora)
        self.policy = policy
        self.convention = convention
        policy.check()
        _check_symbols(self.source, policy)
        self.whole = prepared(self.source, policy.workload)
        self.graph, self.dead = living(without_empty(self.whole))

    @property
    def trains(self) -> bool:
        """Whether there is a backward pass."""
        return self.policy.workload == "train"

    # ---- what is derived ----

    @cached_property
    def step(self) -> Step:
        """The graph with its backward pass (empty unless the workload is ``train``)."""
        if self.trains:
            return differentiate(self.graph, input_grad=self.policy.input_grad)
        return Step(self.graph, {}, (), {}, (), (), {})

    @cached_property
    def course(self) -> Course:
        """The step through memory: peaks, what is kept, what runs again."""
        return course_of(self.graph, self.running, uneven=self._uneven)

    @cached_property
    def running(self) -> Policy:
        """The policy as it runs: without segments in repeats that never do, with the best ones if asked.

        Raises:
            RuleError: the best segments are wanted, and a size is open, or none fit.
        """
        policy = replace(
            self.policy, checkpoint=left(self.policy.checkpoint, living(self.whole)[0], self.graph)
        )
        checkpoint = policy.checkpoint
        if not self.trains or checkpoint.nbytes is None or checkpoint.segments is not None:
            return policy
        return replace(policy, checkpoint=fitted(self.graph, policy, self._flops_of()))

    def _flops_of(self) -> Callable[[Instance], Fraction]:
        """Return what says how many FLOPs an op takes in one iteration, all sizes being bound."""
        rows: dict[str, list[tuple[Expr, Fraction]]] = {}
        for row in self.forward_work:
            flops = price(self.convention, row, matmul=False)
            if flops != 0:
                rows.setdefault(row.label, []).append((row.count, _fraction(flops / row.expr)))
        indices = {r.name: r.index.name for r, _ in walk(self.graph.nodes) if isinstance(r, Repeat)}

        def flops_of(one: Instance) -> Fraction:
            at = {indices[name]: turn for name, turn in one.at.items()}
            found = rows.get(one.node.label, ())
            return sum((_fraction(evaluate(count, at)) * each for count, each in found), start=Fraction(0))

        return flops_of

    @property
    def uneven(self) -> Self:
        """The same account where a segment's length need not divide the count: the last one may be shorter.

        Raises:
            UsageError: nothing is cut into segments of a length.
        """
        if self.policy.checkpoint.kind != "every":
            raise UsageError(
                "only segments of a length may leave a shorter one",
                where=self.policy.describe(),
                expected="checkpoint every:K",
                got=f"checkpoint {self.policy.checkpoint.describe()}",
            )
        return type(self)(self.source, self.policy, self.convention, uneven=True)

    @cached_property
    def one_pass(self) -> Course:
        """The course of one micro-batch: what it keeps, and what runs again in it."""
        if self.micro_batches == 1:
            return self.course
        return course_of(self.graph, replace(self.running, accumulate=1), uneven=self._uneven)

    @property
    def recomputes(self) -> bool:
        """Whether a part of the graph runs again in backward."""
        return self.trains and (self.policy.checkpoint.kind != "none" or bool(self.graph.remats))

    @property
    def wanted(self) -> frozenset[str]:
        """The sizes that the segments of the policy cannot do without: counts, or for optimal all."""
        kind = self.policy.checkpoint.kind
        if not self.trains or kind not in WRITTEN_OUT:
            return frozenset()
        if kind == "optimal":
            return frozenset(self.graph.order)
        return frozenset(s.name for r in outermost(self.graph) for s in r.count.free_symbols)

    @cached_property
    def forward_work(self) -> tuple[Row, ...]:
        """Counts of primitives in the forward pass, a row for each node and primitive."""
        return forward_work(self.graph)

    @cached_property
    def work(self) -> tuple[Row, ...]:
        """Counts of primitives of a whole step."""
        again = work_again(self.one_pass, self.forward_work) if self.recomputes else ()
        return (*self.work_once, *again)

    @cached_property
    def work_once(self) -> tuple[Row, ...]:
        """Counts of primitives of a whole step without what runs again."""
        update = optimizer_work(self.step, self.policy.optimizer)
        return (*self.forward_work, *backward_work(self.step, self.forward_work), *update)

    @property
    def traffic(self) -> tuple[Traffic, ...]:
        """Elements moved, under the byte account of the convention."""
        return (*self.traffic_once, *self.traffic_again)

    @cached_property
    def _traffics(self) -> Traffics:
        if self.recomputes:
            return TrafficsAgain(self.step, self.policy.optimizer, self.one_pass)
        return Traffics(self.step, self.policy.optimizer)

    @cached_property
    def traffic_once(self) -> tuple[Traffic, ...]:
        """Elements moved by all but what runs again."""
        return self._traffics.rows(self.convention.bytes)

    @cached_property
    def traffic_again(self) -> tuple[Traffic, ...]:
        """Elements moved by what runs again in backward."""
        traffics = self._traffics
        return traffics.rows_again(self.convention.bytes) if isinstance(traffics, TrafficsAgain) else ()

    @cached_property
    def saved_when(self) -> tuple[tuple[Saved, ...], tuple[Condition, ...]]:
        """What the forward pass keeps where nothing runs again, and when that holds."""
        return saved(self.step, self.policy.saves)

    @property
    def saved(self) -> tuple[Saved, ...]:
        """What the forward pass keeps for the backward pass."""
        return self.saved_when[0]

    @cached_property
    def parameters(self) -> tuple[Parameter, ...]:
        """Every weight, and what it counts as."""
        return parameters(self.whole, self.graph)

    @cached_property
    def conditions(self) -> tuple[Condition, ...]:
        """Conditions under which the formulas of this account hold."""
        return merge((*self.graph.conditions, *self.step.conditions))

    @cached_property
    def warnings(self) -> tuple[str, ...]:
        """What a reader should know: dead ops, trainable weights that no gradient reaches."""
        found = list(self.graph.notes)
        found += [f"no output depends on {label}: it is left out of every total" for label in self.dead]
        if self.trains:
            found += [
                f"no gradient reaches {name}, which is marked as trainable"
                for name in self.graph.tensors
                if name in self.graph.trainable and name not in self.step.gradients
            ]
        if self.trains and self.micro_batches != 1:
            found += [
                f"{name} is one tensor, which every micro-batch reads: its gradients are added up in one"
                for name in self.graph.inputs
                if name in self.step.gradients
            ]
        return tuple(found)

    def has(self, name: str) -> bool:
        """Say whether this account has a quantity: some belong to training, an optimizer, or decoding."""
        if name not in QUANTITIES or (name.startswith(TRAINING) and not self.trains):
            return False
        if name.startswith(UPDATING):
            return self.policy.optimizer is not None
        if name.startswith("memory.kv_cache"):
            served = self.policy.workload in SERVING and caches(self.source) is not None
            return served and (name == "memory.kv_cache" or cached_tokens(self.source) is not None)
        return name != "tokens" or self.graph.tokens is not None

    @property
    def micro_batches(self) -> Expr:
        """How many micro-batches a step adds up."""
        return as_expr(self.policy.accumulate)

    def names(self) -> tuple[str, ...]:
        """Return the quantities of this account that are sums of terms, in the order of a report."""
        return tuple(name for name in QUANTITIES if name not in PEAKS and self.has(name))

    def require(self, name: str) -> None:
        """Check that this account has a quantity.

        Raises:
            UnknownNameError: no such quantity, or this account has none of it: with the choice that would.
        """
        if name not in QUANTITIES:
            raise unknown("quantity", name, self.names(), where=f"graph {self.graph.name}")
        if not self.has(name):
            akin = [known for known in self.names() if _akin(known, name)]
            raise UnknownNameError(
                f"this account has no {name}",
                where=f"graph {self.graph.name}, {self.policy.describe()}",
                expected=f"one of: {nearest(name, akin, 'quantity')}",
                got=name,
                fix=_why_absent(name, serves=self.policy.workload in SERVING),
            )


def _check_symbols(graph: Graph, policy: Policy) -> None:
    """Refuse a symbol of the policy that means a size of the graph, or two things of the policy.

    Raises:
        UsageError: there is one.
    """
    every = getattr(policy.checkpoint.every, "free_symbols", ())
    micro = getattr(policy.accumulate, "free_symbols", ())
    both = sorted({one.name for one in every} & {one.name for one in micro})
    taken = [name for name in policy.names if name in graph.sizes or name in graph.aliases]
    if both or taken:
        name = (both or taken)[0]
        meant = "the length of a segment and the number of micro-batches" if both else f"graph {graph.name}"
        raise UsageError(
            f"{name} has two meanings",
            where=policy.describe(),
            expected="a name of its own" if both else f"a name that is no size of graph {graph.name}",
            got=f"{name}, of {meant}",
            fix="call it k, or N",
        )


def _fraction(number: Expr) -> Fraction:
    return Fraction(int(number.p), int(number.q))


def _akin(name: str, other: str) -> bool:
    return name.partition(".")[0] == other.partition(".")[0]


def _why_absent(name: str, *, serves: bool) -> str:
    if name.startswith(UPDATING):
        return "name an optimizer (--optimizer adamw)"
    if name == "memory.kv_cache.token" and serves:
        return (
            "read memory.kv_cache at a length: tokens differ in what they add (a window), or are not stated"
        )
    if name.startswith("memory.kv_cache"):
        return "use the workload prefill or decode"
    return "the graph states no tokens" if name == "tokens" else "use the workload train"
