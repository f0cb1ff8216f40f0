"""What a step takes at integer sizes, by the schedule that is run there, without formulas."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import cached_property

from symacct.algebra.evaluate import evaluate
from symacct.nodes import Repeat, walk
from symacct.peaks.timeline import GRADIENT, at_sizes, sizes_at, worst
from symacct.policy import Checkpoint
from symacct.terms import price

from .points import Compiled

PEAK, SAVED_PEAK, SAVED, AGAIN = (
    "memory.peak", "memory.activations.peak", "memory.activations", "flops.recompute.all",
)  # fmt: skip


class Step:
    """A step of an account in which every size is an integer."""

    def __init__(self, account):
        self.account, self.policy, self.graph = account, account.policy, account.graph
        self.schedule = at_sizes(self.graph, account.running, {})
        self.size = sizes_at(self.graph, self.policy, {})
        self.lecture = self.policy.saves == "lecture"
        ops = (node for node, _ in walk(self.graph.nodes) if not isinstance(node, Repeat))
        self.results = {node.outs[0] for node in ops if not node.op.alias}

    def values(self):
        """Return the value of each quantity."""
        found = {
            PEAK: worst(self.schedule, self.size).nbytes + self.held,
            SAVED_PEAK: worst(self.schedule, self.size, self.saved).nbytes + self.read(),
            SAVED: self.kept() + self.read(),
        }
        return {**found, AGAIN: self.again() if self.account.recomputes else Fraction(0)}

    def saved(self, storage):
        """Say whether a storage counts as saved."""
        return storage.saved and (not self.lecture or storage.tensor.name in self.results)

    def kept(self):
        """Return the bytes kept for backward when the first forward pass ends."""
        start = self.schedule.backward
        return sum(
            self.size(one)
            for one in self.schedule.storages
            if self.saved(one) and one.born < start and (one.forever or one.last >= start)
        )

    def read(self):
        """Return the bytes of the graph inputs that backward reads."""
        return 0 if self.lecture else self.bytes_of(self.schedule.inputs, self.graph)

    # ---- what lives through the step ----

    @cached_property
    def held(self):
        """Return the bytes of parameters, inputs, states, and gradients that lived before."""
        whole = self.account.whole
        weights = [name for name, one in whole.tensors.items() if one.role == "weight"]
        found = self.bytes_of(weights, whole) + self.bytes_of(self.graph.inputs, self.graph)
        for name in ("memory.master", "memory.optimizer"):
            if self.account.has(name):
                found += Fraction(int(self.account.value(name)))
        return found + (self.gradients() if self.policy.grads == "kept" else 0)

    def gradients(self):
        """Return the bytes of the gradients that one micro-batch leaves behind, where none lived before."""
        policy = replace(self.account.running, grads="fresh", accumulate=1, checkpoint=Checkpoint())
        left = at_sizes(self.graph, policy, {}).storages
        return sum(self.size(one) for one in left if one.forever and one.kind == GRADIENT)

    def bytes_of(self, names, graph):
        """Return the bytes of tensors in all their iterations, added up one by one."""
        repeats = {one.name: one for one, _ in walk(graph.nodes) if isinstance(one, Repeat)}
        found = Fraction(0)
        for name in names:
            tensor = graph.tensors[name]
            each = self.policy.nbytes(tensor.dtype, tensor.role)
            if any(one not in repeats for one in tensor.path):
                continue
            count = Compiled(tensor.numel)
            for at in turns([repeats[one] for one in tensor.path], {}):
                found += each * count(at)
        return found

    # ---- what runs again ----

    def again(self):
        """Return the FLOPs of what runs again in one micro-batch after another, each run priced alone."""
        rows = {}
        for row in self.account.forward_work:
            if row.matmul or self.account.convention.elementwise:
                expr = price(self.account.convention, row_once(row), matmul=False)
                rows.setdefault(row.label, []).append(Compiled(expr))
        runs = [one for one in self.schedule.actions if one.phase == "recompute" and one.runs]
        named = {one.name: one.index.name for one, _ in walk(self.graph.nodes) if isinstance(one, Repeat)}
        found = Fraction(0)
        for one in runs:
            at = {named[repeat]: turn for repeat, turn in one.at.items()}
            found += sum(form(at) for form in rows.get(one.label, ()))
        micro = int(evaluate(self.account.micro_batches, {}))
        return found * micro / min(micro, 3)


def row_once(row):
    """Return a row of work as one iteration has it; no op here has structural masks."""
    return replace(row, expr=row.count, half=row.count, exact=row.count)


def turns(path, at):
    """Yield the indices of every iteration of repeats in each other."""
    if not path:
        yield at
        return
    repeat, *rest = path
    lo, hi = Compiled(repeat.lo)(at), Compiled(repeat.hi)(at)
    for index in range(int(lo), int(hi)):
        yield from turns(rest, {**at, repeat.index.name: index})
