"""Time on a machine: for each op the larger of compute and memory, for a graph the sum. A formula first.

No time for communication is in it, and none for launching ops: it is a lower bound, and a plan.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from sympy import Integer, Max

from symacct.algebra.evaluate import evaluate, names_of, substitute
from symacct.algebra.extremum import standing
from symacct.algebra.normal import normal, total
from symacct.errors import RuleError, UnknownNameError, unknown
from symacct.evaluation.operations import TENSOR, VECTOR, Operation, operations
from symacct.evaluation.rates import Rates
from symacct.units import Unit

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sympy import Expr

    from symacct.account import Account
    from symacct.algebra.condition import Condition
    from symacct.machines import Machine

MEMORY = "memory"
QUANTITIES: Mapping[str, Unit] = {
    "time.forward": Unit("second"),
    "time.step": Unit("second"),
    "time.token": Unit("second/token"),
    "throughput.tokens": Unit("token/second"),
    "mfu.bound": Unit("1"),
}
"""Quantities of an account on a machine, and their units."""


@dataclass(frozen=True, slots=True)
class Timing:
    """An op on a machine: seconds of each resource, of which the longest counts.

    Attributes:
        operation: the op.
        tensor: for contractions.
        vector: for all other work, as far as its rate is known.
        memory: for its bytes.
        known: whether the rates of all its work are known.
    """

    operation: Operation
    tensor: Expr
    vector: Expr
    memory: Expr
    known: bool

    @property
    def candidates(self) -> tuple[tuple[str, Expr], ...]:
        """The resources that it uses, with their seconds."""
        found = ((TENSOR, self.tensor), (VECTOR, self.vector), (MEMORY, self.memory))
        return tuple(one for one in found if one[1] != 0)

    @property
    def expr(self) -> Expr:
        """The formula: the largest of the candidates."""
        found = list(dict.fromkeys(seconds for _, seconds in self.candidates))
        if not found:
            return Integer(0)
        if all(one.is_Rational for one in found):
            return max(found)
        return standing(Max, found)

    def at(self, sizes: Mapping[str, int]) -> Timing:
        """Return the same at sizes."""
        tensor, vector, memory = (bound(one, sizes) for one in (self.tensor, self.vector, self.memory))
        loads = tuple(replace(one, flops=bound(one.flops, sizes)) for one in self.operation.loads)
        operation = replace(self.operation, loads=loads, moved=bound(self.operation.moved, sizes))
        return Timing(operation, tensor, vector, memory, self.known)

    @property
    def binds(self) -> str | None:
        """What takes longest: ``tensor``, ``vector`` or ``memory``; None while a size is free."""
        if any(seconds.free_symbols for _, seconds in self.candidates) or not self.candidates:
            return None
        return str(max(reversed(self.candidates), key=lambda one: one[1])[0])


@dataclass(frozen=True)
class Timed:
    """A quantity of an account on a machine: the times of its ops, and what is made of their sum.

    Attributes:
        name: its name.
        unit: its unit.
        timings: the ops.
        above: where set, the quantity is this over the sum of the times, else the sum itself.
        when: conditions under which the formulas hold.
        notes: why it is a bound, and what it leaves out.
    """

    name: str
    unit: Unit
    timings: tuple[Timing, ...]
    above: Expr | None = None
    when: tuple[Condition, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def terms(self) -> tuple[tuple[str, Expr], ...]:
        """The label of each op, and its time as a formula."""
        return tuple((one.operation.label, one.expr) for one in self.timings)

    @cached_property
    def expr(self) -> Expr:
        """The formula: of a sum of maxima, each of one op."""
        seconds = total(one.expr for one in self.timings)
        if self.above is None:
            return seconds
        if seconds == 0:
            raise RuleError(
                f"{self.name} is not defined where nothing takes time",
                expected="an op that works or moves bytes",
                got="0 second",
            )
        return self.above / seconds

    def at(self, sizes: Mapping[str, int]) -> Timed:
        """Return the same at sizes."""
        above = None if self.above is None else bound(self.above, sizes)
        timings = tuple(one.at(sizes) for one in self.timings)
        return Timed(self.name, self.unit, timings, above, self.when, self.notes)

    def value(self, sizes: Mapping[str, int] | None = None) -> Expr:
        """Return the exact value at sizes that bind everything.

        Raises:
            SizeError: a size has no value.
        """
        return evaluate(self.at(sizes or {}).expr, {})


def bound(expr: Expr, sizes: Mapping[str, int]) -> Expr:
    """Return a formula at sizes: a number where these are all that it holds."""
    if not sizes:
        return expr
    return evaluate(expr, sizes) if sizes.keys() >= set(names_of(expr)) else substitute(expr, sizes)


def timings(account: Account, rates: Rates, *, step: bool) -> tuple[Timing, ...]:
    """Return the time of each op of the forward pass, or of a whole step.

    Raises:
        RuleError: the machine lacks a peak, or its bandwidth.
    """
    bandwidth = rates.bandwidth()
    return tuple(_timing(one, rates, bandwidth) for one in operations(account, step=step))


def _timing(operation: Operation, rates: Rates, bandwidth: Expr) -> Timing:
    seconds: dict[str, list[Expr]] = {TENSOR: [], VECTOR: []}
    known = True
    for load in operation.loads:
        rate = rates.rate(load.unit, load.dtype)
        known &= rate is not None
        if rate is not None:
            seconds[TENSOR if rates.joined else load.unit].append(normal(load.flops / rate))
    return Timing(
        operation,
        total(seconds[TENSOR]),
        total(seconds[VECTOR]),
        normal(operation.moved / bandwidth),
        known,
    )


def quantity(
    account: Account, machine: Machine | None, name: str, *, over: str | None = None, symbolic: bool = False
) -> Timed:
    """Return a quantity of an account on a machine; without one, or if asked, a formula in its symbols.

    ``time.forward``, ``time.step``: the sum over ops of the larger of compute and memory.
    ``time.token``: decoding, from one token of a sequence to its next. ``throughput.tokens``: tokens of a
    pass over its time. ``mfu.bound``: model FLOPs of contractions over what the peak does in that time.

    Raises:
        UnknownNameError: there is no such quantity, or this account has none of it.
        RuleError: the machine lacks a figure that is needed.

    >>> from symacct.account import derive
    >>> from symacct.printers import text
    >>> from symacct.readers.files import load
    >>> text(quantity(derive(load("relu")), None, "time.forward").expr)
    'max(4*B*D/W_mem, B*D/V_bf16)'
    """
    if name not in QUANTITIES:
        raise unknown("quantity", name, QUANTITIES, where=f"graph {account.graph.name} on a machine")
    if name == "time.token" and account.policy.workload != "decode":
        raise UnknownNameError(
            "time.token is the time from one token to the next",
            where=f"graph {account.graph.name}, {account.policy.describe()}",
            expected="the workload decode",
            got=account.policy.workload,
            fix="use throughput.tokens, or the workload decode",
        )
    rates = Rates(machine, over, symbolic)
    found = timings(account, rates, step=account.trains and name != "time.forward")
    if name == "throughput.tokens":
        above: Expr | None = account["tokens"].expr
    else:
        above = _work_at_peak(account, rates) if name == "mfu.bound" else None
    return Timed(name, QUANTITIES[name], found, above, account.conditions, notes(found, machine))


def _work_at_peak(account: Account, rates: Rates) -> Expr:
    """Return the seconds that the model's contractions take at the peak."""
    work = account["flops.model.matmul"].expr if account.trains else account["flops.forward.matmul"].expr
    if work == 0:
        return Integer(0)
    rate = rates.rate(TENSOR, account.policy.precision.activations)
    assert rate is not None
    return normal(work / rate)


def notes(found: Sequence[Timing], machine: Machine | None) -> tuple[str, ...]:
    """Return why the times are bounds."""
    said = [machine.bound] if machine is not None and machine.bound else []
    formats = sorted(
        {load.dtype for one in found if not one.known for load in one.operation.loads if load.unit == VECTOR}
    )
    if formats and machine is not None:
        said.append(
            f"{machine.name} states no vector rate for {', '.join(formats)}: "
            "for that work the bytes alone are timed"
        )
    if any(one.operation.uneven for one in found):
        said.append("sizes differ between iterations of a repeat: there the larger of the sums is taken")
    return tuple(said)


def intensity(flops: Expr, moved: Expr, where: str) -> Expr:
    """Return FLOPs over bytes.

    Raises:
        RuleError: nothing is moved.
    """
    if moved == 0:
        raise RuleError(f"the intensity of {where} is not defined", expected="bytes moved", got="0 byte")
    return normal(flops / moved)
