"""A step timed, whole and op by op, and beside it what the calibrated machine predicts."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from symacct.algebra.symbols import as_expr
from symacct.errors import SizeError
from symacct.evaluation.roofline import Roofline
from symacct.execution.measure_clock import Spread, repeats_for, spread_of, timed
from symacct.execution.measure_program import draw, flatten

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sympy import Expr

    from symacct.account import Account
    from symacct.evaluation.timing import Timing
    from symacct.execution.interpret import Store
    from symacct.execution.measure_device import Device
    from symacct.execution.measure_program import Name, Program
    from symacct.machines import Machine

BUDGET = Fraction(3)
"""Seconds that the runs of one set of sizes may take, where nothing is said."""
WARM = 2
ALLOWED = Fraction(3, 4)
"""The part of the memory that a step may take."""


@dataclass(frozen=True, slots=True)
class OpTime:
    """One op: what is predicted of it, and how long all its iterations in a step took."""

    timing: Timing
    measured: Spread

    @property
    def predicted(self) -> Fraction:
        """Seconds on the calibrated machine."""
        return number(self.timing.expr)

    @property
    def ratio(self) -> Fraction | None:
        """Measured over predicted; None where nothing is predicted."""
        return self.measured.median / self.predicted if self.predicted else None


@dataclass(frozen=True, slots=True)
class Timed:
    """What was measured of a graph at sizes: the step as a whole, and each op inside another run of it."""

    account: Account
    sizes: Mapping[str, int]
    step: Spread
    ops: Mapping[Name, Spread]


@dataclass(frozen=True, slots=True)
class Run:
    """A graph at sizes: predicted and measured.

    Attributes:
        roofline: the prediction.
        sizes: the sizes.
        step: the times of the whole step (of the forward pass, where no backward pass was asked for).
        ops: the ops.
        rest: what views and bookkeeping between ops took; None where there are none.
    """

    roofline: Roofline
    sizes: Mapping[str, int]
    step: Spread
    ops: tuple[OpTime, ...]
    rest: Spread | None

    @property
    def predicted(self) -> Fraction:
        """Seconds of the step on the calibrated machine."""
        return number(self.roofline.time.expr)

    @property
    def ratio(self) -> Fraction:
        """Measured over predicted."""
        return self.step.median / self.predicted

    @property
    def flops(self) -> Fraction:
        """Model FLOPs of contractions."""
        account = self.roofline.account
        return number(account["flops.model" if account.trains else "flops.forward"].expr)

    @property
    def mfu(self) -> Fraction | None:
        """Model FLOPs over the measured time times the calibrated peak; None without a contraction."""
        if self.flops == 0:
            return None
        return self.flops / (self.step.median * self.peak)

    @property
    def mfu_bound(self) -> Fraction | None:
        """The same with the predicted time."""
        return None if self.flops == 0 else self.flops / (self.predicted * self.peak)

    @property
    def peak(self) -> Fraction:
        """The calibrated rate of contractions."""
        machine, precision = self.roofline.machine, self.roofline.account.policy.precision
        assert machine is not None
        return machine.peak(precision.activations).value

    @property
    def name(self) -> str:
        """The sizes in short: ``B=64 D=64 L=2``."""
        return " ".join(f"{name}={size}" for name, size in self.sizes.items())


def time_step(
    account: Account, sizes: Mapping[str, int], device: Device, repeats: int | None = None
) -> Timed:
    """Time the whole step, then its ops, in so many runs each; what a first call loads is left out.

    Raises:
        SizeError: it takes more memory than there is.
        RuleError: torch cannot run an op.
    """
    xp = device.arrays(account.policy.precision.activations)
    with device.torch.no_grad():
        program = flatten(account.step, {}, xp, backward=account.trains)
        if device.memory is not None and program.peak > ALLOWED * device.memory:
            raise SizeError(
                f"a step of {account.graph.name} takes more memory than may be used",
                where=", ".join(f"{name}={size}" for name, size in sizes.items()) or None,
                expected=f"at most {float(ALLOWED * device.memory / 10**9):.3g} GB",
                got=f"{float(program.peak / 10**9):.3g} GB", fix="choose smaller sizes",
            )  # fmt: skip
        leaves = draw(account.step, {}, xp, 0)
        program.prepare(leaves)
        for _ in range(WARM - 1):
            program.run(leaves)
        start = device.clock.mark()
        program.run(leaves)
        (about,) = device.clock.spans([start, device.clock.mark()])
        count = repeats or repeats_for(about, BUDGET / 2)
        step = timed(device.clock, lambda: program.run(leaves), count)
        return Timed(account, sizes, step, _ops(program, leaves, device, count))


def _ops(program: Program, leaves: Store, device: Device, count: int) -> dict[Name, Spread]:
    """Return the time of each op, all its iterations together, over so many runs of the step."""
    found: dict[Name, list[Fraction]] = {call.name: [] for call in program.calls}
    for _ in range(count):
        device.clock.spans([])
        _, marks = program.run(leaves, device.clock.mark)
        spans = device.clock.spans(marks)
        together = dict.fromkeys(found, Fraction(0))
        for call, seconds in zip(program.calls, spans, strict=True):
            together[call.name] += seconds
        for name, seconds in together.items():
            found[name].append(seconds)
    return {name: spread_of(times) for name, times in found.items()}


def beside(one: Timed, machine: Machine) -> Run:
    """Return what was measured beside what a machine predicts."""
    roofline = Roofline(one.account, machine, dict(one.sizes))
    left = dict(one.ops)
    ops = []
    for timing in roofline.time.timings:
        name = (timing.operation.phase, timing.operation.label)
        if name in left and timing.candidates:
            ops.append(OpTime(timing, left.pop(name)))
    between = _together(tuple(left.values())) if left else None
    return Run(roofline, one.sizes, one.step, tuple(ops), between)


def _together(parts: Sequence[Spread]) -> Spread:
    """Return the sum of times, part by part."""
    median, lower, upper = (
        sum(times, Fraction(0)) for times in zip(*((p.median, p.lower, p.upper) for p in parts), strict=True)
    )
    return Spread(median, lower, upper, parts[0].count)


def number(value: Expr | int) -> Fraction:
    """Return a number that a formula came to, as a fraction."""
    from sympy import Rational

    exact = as_expr(value)
    if not exact.is_Rational:
        exact = Rational(str(exact.evalf(30)))
    return Fraction(int(exact.p), int(exact.q))
