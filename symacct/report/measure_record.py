"""A measurement as a record, for JSON: derived numbers are exact, measured ones in seconds, as text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from symacct.report.measure import decimal, rate_name

if TYPE_CHECKING:
    from fractions import Fraction

    from symacct.execution.measure import Measurement
    from symacct.execution.measure_clock import Spread
    from symacct.execution.measure_run import OpTime, Run


def record(made: Measurement) -> dict[str, Any]:
    """Return what JSON holds of a measurement."""
    return {
        "machine": made.machine.name,
        "title": made.machine.title,
        "setting": made.setting,
        "rates": [
            {
                "what": rate_name(one),
                "value": decimal(one.value),
                "unit": "byte/second" if one.what == "copy" else "FLOP/second",
                "call": one.shape,
                **_spread(one.spread),
            }
            for one in made.rates
        ],
        "runs": [_run(one) for one in made.runs],
    }


def _run(run: Run) -> dict[str, Any]:
    return {
        "sizes": {name: str(size) for name, size in run.sizes.items()},
        "quantity": run.roofline.main,
        "flops": str(run.flops),
        "peak": str(run.peak),
        "predicted": decimal(run.predicted),
        **_spread(run.step),
        "ratio": decimal(run.ratio),
        "mfu": _maybe(run.mfu),
        "mfu_bound": _maybe(run.mfu_bound),
        "ops": [_op(one) for one in run.ops],
        "rest": None if run.rest is None else _spread(run.rest),
    }


def _op(one: OpTime) -> dict[str, Any]:
    operation = one.timing.operation
    return {
        "label": operation.label,
        "phase": operation.phase,
        "path": list(operation.path),
        "flops": str(operation.flops),
        "bytes": str(operation.moved),
        "predicted": decimal(one.predicted),
        **_spread(one.measured),
        "ratio": _maybe(one.ratio),
    }


def _spread(one: Spread) -> dict[str, Any]:
    return {
        "measured": decimal(one.median),
        "lower_quartile": decimal(one.lower),
        "upper_quartile": decimal(one.upper),
        "times": one.count,
    }


def _maybe(value: Fraction | None) -> str | None:
    return None if value is None else decimal(value)
