"""A measurement for people: each op predicted and measured, each step, and what was calibrated."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from symacct.execution.measure_run import number
from symacct.machines.machine import in_words
from symacct.report.amount import SECOND, digits, shown
from symacct.report.blocks import Grid, Lines
from symacct.report.roofline_words import brief
from symacct.report.table import GAP, Column, Table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from symacct.evaluation.points import Measured
    from symacct.execution.measure import Measurement
    from symacct.execution.measure_calibrate import Rate
    from symacct.execution.measure_clock import Spread
    from symacct.execution.measure_run import OpTime, Run
    from symacct.report.blocks import Block

READ_AS = (
    "predicted is the roofline of the calibrated machine; measured is the median; spread is the distance "
    "between the quartiles over the median"
)
FASTER = "a ratio below 1 is of an op whose arrays a cache holds: the bandwidth is that of main memory"
OTHER = "views and bookkeeping"


def blocks(made: Measurement, *, math: bool = False) -> list[Block]:
    """Return a measurement as blocks; it has no formulas."""
    del math
    runs = (Grid(_ops(run), _at(run), close=True) for run in made.runs)
    return [Lines(tuple(_facts(made))), *runs, Grid(_steps(made))]


def _facts(made: Measurement) -> Iterator[tuple[str, str]]:
    account = made.runs[0].roofline.account
    yield "graph", account.graph.name
    yield "policy", account.policy.describe()
    yield "machine", f"{made.machine.name}: {made.machine.title}"
    for rate in made.rates:
        yield rate.name, f"{_amount(rate)} ({rate.note(made.setting)})"
    yield "read", READ_AS
    if any(one.ratio is not None and one.ratio < 1 for run in made.runs for one in run.ops):
        yield "note", FASTER
    yield "left out of the prediction", "launching ops, and memory that is asked for and given back"


def _amount(rate: Rate) -> str:
    return brief(Fraction(round(rate.value)), rate.unit)


def _at(run: Run) -> str:
    name = run.roofline.account.graph.name
    return f"{name} at {', '.join(f'{k} = {n:,}' for k, n in run.sizes.items())}" if run.sizes else name


def _seconds(value: Fraction) -> str:
    from sympy import Rational

    return shown(Rational(value.numerator, value.denominator), SECOND)


def percent(value: Fraction | None) -> str:
    """Return a share in percent, to three digits; of none, a dash.

    >>> percent(Fraction(2, 3)), percent(None)
    ('66.7 %', '-')
    """
    return "-" if value is None else f"{float(value * 100):.3g} %"


def _ratio(value: Fraction | None) -> str:
    return "-" if value is None else f"{float(value):.3g}"


def _timed(predicted: Fraction, spread: Spread, ratio: Fraction | None) -> tuple[str, ...]:
    said = _seconds(predicted) if predicted else "-"
    return said, _seconds(spread.median), percent(spread.share), _ratio(ratio)


def _ops(run: Run) -> Table:
    """Return a row for each op, then what they come to beside the whole step."""
    columns = (
        Column("op"), Column("FLOPs", right=True), Column("bytes", right=True),
        Column("predicted", right=True), Column("measured", right=True), Column("spread", right=True),
        Column("ratio", right=True), Column("rate", right=True),
    )  # fmt: skip
    rows: list[tuple[str, ...] | str] = []
    phase = None
    for one in run.ops:
        if one.timing.operation.phase != phase:
            phase = one.timing.operation.phase
            rows.append(str(phase))
        rows.append(_op(one))
    rows.append("together")
    if run.rest is not None:
        rest = (_seconds(run.rest.median), percent(run.rest.share), "", "")
        rows.append((GAP + OTHER, "", "", "", *rest))
    together = sum((one.measured.median for one in run.ops), run.rest.median if run.rest else Fraction(0))
    rows.append((GAP + "sum of the ops", "", "", "", _seconds(together), "", "", ""))
    flops, moved = number(run.roofline.flops), number(run.roofline.moved)
    whole = _timed(run.predicted, run.step, run.ratio)
    rate = _rate(flops, run.step.median)
    rows.append((GAP + _whole(run), brief(flops, "FLOP"), brief(moved, "byte"), *whole, rate))
    return Table(columns, tuple(rows))


def _whole(run: Run) -> str:
    return "the step" if run.roofline.account.trains else "the forward pass"


def _op(one: OpTime) -> tuple[str, ...]:
    operation = one.timing.operation
    flops, moved = number(operation.flops), number(operation.moved)
    times = _timed(one.predicted, one.measured, one.ratio)
    return (
        GAP + operation.label, brief(flops, "FLOP"), brief(moved, "byte"), *times,
        _rate(flops, one.measured.median),
    )  # fmt: skip


def _rate(flops: Fraction, seconds: Fraction) -> str:
    return in_words(Fraction(f"{float(flops / seconds):.4g}"), "FLOP/second") if flops else ""


def _steps(made: Measurement) -> Table:
    """Return a row for each set of sizes."""
    columns = (
        Column("sizes"), Column("predicted", right=True), Column("measured", right=True),
        Column("spread", right=True), Column("ratio", right=True), Column("runs", right=True),
        Column("MFU", right=True), Column("MFU bound", right=True),
    )  # fmt: skip
    rows = []
    for run in made.runs:
        times = _timed(run.predicted, run.step, run.ratio)
        shares = (percent(run.mfu), percent(run.mfu_bound))
        rows.append((run.name or "its own", *times, digits(Fraction(run.step.count)), *shares))
    return Table(columns, tuple(rows))


def points_csv(found: tuple[Measured, ...]) -> str:
    r"""Return measured points as ``symacct roofline --points`` reads them.

    >>> from symacct.evaluation.points import Measured
    >>> points_csv((Measured("mm", Fraction(2), Fraction(6), Fraction(1, 8)),))
    'name,flops,bytes,seconds\nmm,2,6,0.125\n'
    """
    from symacct.evaluation.points import COLUMNS
    from symacct.report.table import as_csv

    rows = [(one.name, *map(decimal, (one.flops, one.moved, one.seconds))) for one in found]
    return as_csv([COLUMNS, *rows]) + "\n"


def decimal(value: Fraction) -> str:
    """Return a number as a decimal: whole ones exactly, others to twelve digits.

    >>> decimal(Fraction(7)), decimal(Fraction(1, 3))
    ('7', '0.333333333333')
    """
    return str(value.numerator) if value.denominator == 1 else f"{float(value):.12g}"
