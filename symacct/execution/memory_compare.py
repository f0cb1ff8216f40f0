"""One step at integer sizes: what is derived, what the interpreter finds, what was tracked."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING

from symacct.algebra.evaluate import evaluate
from symacct.algebra.symbols import as_expr
from symacct.derivation.ranges import over
from symacct.derivation.workload import prepared
from symacct.errors import RuleError
from symacct.execution.check import DIFFERS, EQUAL
from symacct.execution.schedule_kernels import written
from symacct.execution.states import shapes
from symacct.nodes import Node, Repeat, walk
from symacct.peaks.timeline import GRADIENT, MOST_MICRO, at_sizes, sizes_at, worst

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from symacct.account import Account
    from symacct.execution.schedule_plan import Tracked
    from symacct.peaks.schedule import Storage
    from symacct.peaks.timeline import Moment

FP32_BYTES = 4
PEAK, SAVED, SAVED_PEAK = "memory.peak", "memory.activations", "memory.activations.peak"
AGAIN = "flops.recompute.all"
STEP = "memory.peak above what lives through the step"
RUNS = "ops run again"
MOST_NAMED = 6


@dataclass(frozen=True, slots=True)
class MemoryRow:
    """One quantity of one policy at some sizes; ``interpreted`` is None where the interpreter has no part."""

    policy: str
    sizes: Mapping[str, int]
    what: str
    derived: int
    interpreted: int | None
    counted: int
    unit: str
    verdict: str
    note: str = ""


class Compared:
    """The comparison of one step.

    Args:
        account: under a policy in fp32; its formulas are used where they hold, else the exact case.
        sizes: all of its sizes.
        tracked: what the step took.
    """

    def __init__(self, account: Account, sizes: Mapping[str, int], tracked: Tracked) -> None:
        """Run the interpreter."""
        self.account = account
        self.policy = account.policy
        self.sizes = sizes
        self.tracked = tracked
        self.schedule = at_sizes(account.graph, account.running, sizes)
        self.size = sizes_at(account.graph, self.policy, sizes)
        self.micro = int(as_expr(self.policy.accumulate))

    @cached_property
    def exact(self) -> Account:
        """The account at these sizes."""
        return self.account.bind(self.sizes) if self.account.source.order else self.account

    def value(self, name: str) -> int:
        """Return a derived quantity: the formula, or the exact case where the formula does not hold."""
        if self.account is not self.exact:
            try:
                found = self.account[name]
            except RuleError:  # no formula serves every count
                found = self.exact[name]
            if all(condition.holds(self.sizes) for condition in found.when):
                return int(evaluate(found.expr, self.sizes))
        return int(evaluate(self.exact[name].expr, {}))

    def rows(self) -> Iterator[MemoryRow]:
        """Yield the quantities."""
        tracked, schedule = self.tracked, self.schedule
        read = sum(nbytes for _, nbytes in tracked.data)
        said = sum(map(self._input, schedule.inputs))
        kept = sum(self.size(s) for s in schedule.storages if self._kept(s))
        yield self._row(SAVED, self.value(SAVED), int(kept) + said, tracked.saved_bytes + read)
        most = worst(schedule, self.size, lambda storage: storage.saved).nbytes
        yield self._row(SAVED_PEAK, self.value(SAVED_PEAK), int(most) + said, tracked.saved_peak + read)
        yield self._row("memory.gradients", self.value("memory.gradients"), self._formed(), self.gradients)
        peak = self.value(PEAK)
        beside = int(evaluate(self.account.beside(PEAK), self.sizes))
        yield self._row(STEP, peak - beside, int(self.moment.nbytes), tracked.peak)
        whole = self._parameters() + tracked.inputs + tracked.kept + tracked.peak
        yield self._row(PEAK, peak, None, whole)
        yield from self._again()

    def _input(self, name: str) -> int:
        """Return the bytes of a graph input."""
        tensor = self.account.graph.tensors[name]
        each = as_expr(self.policy.nbytes(tensor.dtype, tensor.role))
        return int(each * evaluate(tensor.numel, self.sizes))

    def _row(
        self, what: str, derived: int, interpreted: int | None, counted: int, unit: str = "byte"
    ) -> MemoryRow:
        same = derived == counted and interpreted in (None, counted)
        policy = self.policy.checkpoint.describe()
        return MemoryRow(
            policy, self.sizes, what, derived, interpreted, counted, unit, EQUAL if same else DIFFERS
        )

    def _kept(self, storage: Storage) -> bool:
        """Say whether a storage is kept for backward when the first forward pass ends."""
        start = self.schedule.backward
        return storage.saved and storage.born < start and (storage.forever or storage.last >= start)

    @cached_property
    def moment(self) -> Moment:
        """The interpreter's worst moment."""
        return worst(self.schedule, self.size)

    def _parameters(self) -> int:
        graph = prepared(self.account.source, self.policy.workload)
        elements = sum(math.prod(shape) for shape in shapes(graph, self.sizes))
        return FP32_BYTES * elements

    # ---- gradients ----

    @property
    def gradients(self) -> int:
        """Bytes of the parameters' gradients that live when the step ends, as tracked."""
        tensors = self.account.graph.tensors
        inputs: int = sum(
            array.nbytes
            for key, array in self.tracked.gradients.items()
            if array is not None and tensors[key[0]].role == "input"
        )
        return self.tracked.end - inputs + self.tracked.kept

    def _formed(self) -> int | None:
        """Return what the interpreter leaves; gradients that lived before are none of its storages."""
        if self.policy.grads == "kept":
            return None
        left = (s for s in self.schedule.storages if s.forever and s.kind == GRADIENT)
        return int(sum(map(self.size, left)))

    # ---- what runs again ----

    def _again(self) -> Iterator[MemoryRow]:
        derived, interpreted, counted = self.runs
        if not (derived or interpreted or counted):
            return
        found = [sum(runs.values()) for runs in (derived, interpreted, counted)]
        row = self._row(RUNS, found[0], found[1] if self.micro <= MOST_MICRO else None, found[2], "run")
        yield row if derived == counted else replace(row, verdict=DIFFERS)
        each = self._flops()
        if each is not None:
            flops = sum(each[label] * times for label, times in counted.items() if label in each)
            yield self._row(AGAIN, self.value(AGAIN), None, int(flops), "FLOP")

    @cached_property
    def runs(self) -> tuple[Counter[str], Counter[str], Counter[str]]:
        """How often each op runs again: derived, interpreted, and as it was run; views do not run."""
        course = self.exact.course
        derived = Counter({label: int(course.again(label, as_expr(1))) for label in course.runs_again})
        interpreted = Counter(a.label for a in self.schedule.actions if a.phase == "recompute" and a.runs)
        views = {n.label for n, _ in walk(self.account.graph.nodes) if isinstance(n, Node) and n.op.alias}
        counted = Counter({label: n for label, n in self.tracked.again.items() if label not in views})
        return +derived, interpreted, counted

    def _flops(self) -> Mapping[str, Fraction] | None:
        """Return the FLOPs of one run of each op, or None where they change from iteration to iteration."""
        graph = self.exact.graph
        indices = {node.index for node, _ in walk(graph.nodes) if isinstance(node, Repeat)}
        if any(row.count.free_symbols & indices for row in self.exact.forward_work):
            return None
        once = {n.label: int(over(as_expr(1), path)) for n, path in walk(graph.nodes) if isinstance(n, Node)}
        found: dict[str, Fraction] = {}
        for term in self.exact.terms("flops.forward.all"):
            each = Fraction(int(term.expr), once[term.label] * self.micro)
            found[term.label] = found.get(term.label, Fraction(0)) + each
        return found

    # ---- what differs ----

    def differences(self) -> Iterator[str]:
        """Yield what differs, by op that ran again, and by what was alive at the peak."""
        at = ", ".join(f"{name} = {size}" for name, size in self.sizes.items())
        where = f"{self.policy.checkpoint.describe()} at {at}"
        derived, _, counted = self.runs
        for label in sorted({*derived, *counted}):
            if derived[label] != counted[label]:
                yield f"{where}: {label} runs again {derived[label]} times, and ran {counted[label]}"
        if self.moment.nbytes != self.tracked.peak:
            mine = Counter(self._name(storage) for storage in self.moment.alive)
            theirs = Counter(name for name, _ in self.tracked.at_peak)
            for who, rest in (("torch", theirs - mine), ("the interpreter", mine - theirs)):
                named = sorted(rest.elements())
                listed = ", ".join(named[:MOST_NAMED]) or "nothing"
                listed += f" and {len(named) - MOST_NAMED} more" if len(named) > MOST_NAMED else ""
                yield f"{where}: at the peak only {who} has {listed}"

    def _name(self, storage: Storage) -> str:
        return written((storage.tensor.name, storage.at))
