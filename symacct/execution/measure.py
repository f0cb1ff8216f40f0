"""A graph on the machine at hand: calibrated, then timed; the measured step beside the predicted one."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from symacct.errors import SizeError, SymacctError, UsageError
from symacct.evaluation.operations import TENSOR
from symacct.evaluation.roofline import Roofline
from symacct.execution.measure_calibrate import PEAK, again, calibrate, machine_of
from symacct.execution.measure_clock import repeats_for
from symacct.execution.measure_run import ALLOWED, BUDGET, WARM, beside, number, time_step
from symacct.execution.measure_sizes import scales
from symacct.terms import inputs

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from symacct.account import Account
    from symacct.execution.measure_calibrate import Rate, Tell
    from symacct.execution.measure_device import Device
    from symacct.execution.measure_run import OpTime, Run
    from symacct.machines import Machine

ALWAYS = ("fp32", "bf16")
"""Formats that are calibrated whatever is measured, where the device computes in them."""
LONGEST_RUN = 600
LONGEST_CHOSEN = 1
"""Seconds of a step beyond which no larger sizes are chosen."""
TRIES = 3
"""How often the peak is calibrated once more before a step that beats it is refused."""


class TooFastError(SymacctError):
    """A step was faster than the calibrated peak allows."""


@dataclass(frozen=True, slots=True)
class Measurement:
    """A graph on a machine: its rates, and a run at each set of sizes."""

    machine: Machine
    setting: str
    rates: tuple[Rate, ...]
    runs: tuple[Run, ...]


def measure(
    account: Account,
    points: Sequence[Mapping[str, int]],
    device: Device,
    *,
    today: str,
    repeats: int | None = None,
    tell: Tell = lambda _: None,
) -> Measurement:
    """Calibrate a device, time a graph on it, and return prediction and measurement.

    Args:
        account: of the graph; its precision says the number format.
        points: sets of sizes; where one set leaves sizes open, up to three are chosen.
        device: what runs it.
        today: the date of the calibration.
        repeats: how often each step is timed; as often as fits a few seconds where nothing is said.
        tell: is told what is done.

    Raises:
        TooFastError: a step was faster than the calibrated peak allows.
        SymacctError: the device does not compute in the format, or the step is too large for it.
    """
    dtype = account.policy.precision.activations
    device.require(dtype)
    for given in points:
        if set(account.graph.order) <= given.keys():
            _possible(account.bind({name: given[name] for name in account.graph.order}), device)
    rates = calibrate(device, tuple(dict.fromkeys((dtype, *ALWAYS))), tell)
    machine = machine_of(device, rates, today)
    chosen = [sizes for given in points or [{}] for sizes in scales(account, machine, given)]
    found = []
    for given in chosen:
        sizes = {name: given[name] for name in account.graph.order}
        bound = account.bind(sizes) if sizes else account
        _short_enough(bound, machine, repeats)
        tell(f"timing at {', '.join(f'{name}={size}' for name, size in sizes.items()) or 'its own sizes'}")
        found.append(time_step(bound, sizes, device, repeats))
        if not set(account.graph.order) <= set().union(*points) and found[-1].step.median > LONGEST_CHOSEN:
            break
    for _ in range(TRIES):
        rates = again(device, rates, dtype, tell)
        machine = machine_of(device, rates, today)
        runs = tuple(beside(one, machine) for one in found)
        if all(run.mfu is None or run.mfu < 1 for run in runs):
            break
    for run in runs:
        check_rate(run, rates)
    return Measurement(machine, device.setting, rates, runs)


def _possible(account: Account, device: Device) -> None:
    """Refuse, before anything is calibrated, what cannot be held: parameters and inputs live all the while.

    Raises:
        SizeError: they alone are too large.
    """
    held = inputs(account.graph, account.graph.inputs, account.policy)
    nbytes = number(account["memory.parameters"].expr) + sum(number(one.expr) for one in held)
    if device.memory is not None and nbytes > ALLOWED * device.memory:
        raise SizeError(
            f"a step of {account.graph.name} takes more memory than may be used: parameters and inputs alone",
            where=", ".join(f"{name}={size}" for name, size in account.source.bound.items()) or None,
            expected=f"at most {float(ALLOWED * device.memory / 10**9):.3g} GB",
            got=f"{float(nbytes / 10**9):.3g} GB", fix="choose smaller sizes",
        )  # fmt: skip


def _short_enough(account: Account, machine: Machine, repeats: int | None) -> None:
    """Refuse a step whose runs would take too long by prediction alone.

    Raises:
        SizeError: they would.
        UsageError: nothing takes time.
    """
    seconds = number(Roofline(account, machine, {}).time.expr)
    if seconds == 0:
        what = f"there is nothing to measure in {account.graph.name}"
        raise UsageError(what, expected="an op that works or moves bytes", got="views alone")
    _in_time(account, seconds, 2 * (repeats or repeats_for(seconds, BUDGET / 2)) + WARM)


def _in_time(account: Account, seconds: Fraction, count: int) -> None:
    """Refuse so many runs of a step where they would take too long.

    Raises:
        SizeError: they would.
    """
    if seconds * count > LONGEST_RUN:
        raise SizeError(
            f"measuring {account.graph.name} would take too long: one step at least {float(seconds):.3g} s",
            expected=f"{count} runs in {LONGEST_RUN} s", got=f"{float(seconds * count):.3g} s",
            fix="choose smaller sizes, or fewer --repeats",
        )  # fmt: skip


def check_rate(run: Run, rates: Sequence[Rate]) -> None:
    """Refuse a utilisation of 1 or more.

    Raises:
        TooFastError: it is; the likely cause is said.
    """
    if run.mfu is None or run.mfu < 1:
        return
    dtype = run.roofline.account.policy.precision.activations
    peak = next(one for one in rates if one.what == PEAK and one.dtype == dtype)
    raise TooFastError(
        f"an MFU of {float(run.mfu * 100):.4g} % is above what can be",
        where=run.name or None,
        expected=f"less than 1: at most {float(peak.value / 10**9):.4g} GFLOP/s, {peak.shape}",
        got=f"{float(run.flops / run.step.median / 10**9):.4g} GFLOP/s over the whole step",
        fix=_cause(run, peak),
    )


def _cause(run: Run, peak: Rate) -> str:
    """Return what is likely behind it, the likeliest first, by what was seen."""
    faster = [one for one in run.ops if _rate(one) > peak.value]
    causes = []
    if peak.spread.share > Fraction(1, 10):
        share = float(peak.spread.share * 100)
        causes.append(f"the machine was busy while it was calibrated (spread {share:.2g} %)")
    if faster:
        causes.append(
            f"{faster[0].timing.operation.label} alone beat the peak: clocks rose after calibration"
        )
    causes.append("a kernel leaves out work that is counted, or computes in a narrower format (TF32)")
    return f"measure again on a quiet machine; likely: {'; or '.join(causes)}"


def _rate(one: OpTime) -> Fraction:
    loads = [load.flops for load in one.timing.operation.loads if load.unit == TENSOR]
    return sum(map(number, loads), Fraction(0)) / one.measured.median
