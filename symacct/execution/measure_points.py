"""Measured points for the picture of a roofline."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from symacct.evaluation.points import Measured
from symacct.execution.measure_run import number

if TYPE_CHECKING:
    from collections.abc import Sequence

    from symacct.execution.measure_run import OpTime, Run

NAMED = 6


def points(runs: Sequence[Run]) -> tuple[Measured, ...]:
    """Return measured points for a roofline: the ops that work and move bytes, and each step."""
    found = []
    for run, at in zip(runs, _apart(runs), strict=True):
        found += [_point(f"{one.timing.operation.label} {at}".strip(), [one]) for one in _drawn(run)]
        found += _whole(run, at)
    return tuple(found)


def few_points(runs: Sequence[Run]) -> tuple[Measured, ...]:
    """Return points for a picture: each step, and the ops of the last, those of one intensity together."""
    groups: dict[Fraction, list[OpTime]] = {}
    for one in _drawn(runs[-1]):
        operation = one.timing.operation
        groups.setdefault(number(operation.flops) / number(operation.moved), []).append(one)
    longest = sorted(groups.values(), key=lambda group: -sum(one.measured.median for one in group))
    found = []
    for group in longest[:NAMED]:
        more = f" and {len(group) - 1} more" if len(group) > 1 else ""
        found.append(_point(f"{group[0].timing.operation.label}{more}", group))
    steps = (_whole(run, at) for run, at in zip(runs, _apart(runs), strict=True))
    return (*found, *(one for step in steps for one in step))


def _drawn(run: Run) -> list[OpTime]:
    return [one for one in run.ops if one.timing.operation.flops != 0 and one.timing.operation.moved != 0]


def _apart(runs: Sequence[Run]) -> list[str]:
    """Return the sizes of each run that are not the same in all."""
    varied = [name for name in runs[0].sizes if len({run.sizes[name] for run in runs}) > 1]
    return [" ".join(f"{name}={run.sizes[name]}" for name in varied) for run in runs]


def _whole(run: Run, at: str) -> list[Measured]:
    whole = run.roofline
    if whole.flops == 0 or whole.moved == 0:
        return []
    name = f"{whole.account.graph.name} {at}".strip()
    return [Measured(name, number(whole.flops), number(whole.moved), run.step.median)]


def _point(name: str, group: Sequence[OpTime]) -> Measured:
    flops, moved, seconds = (
        sum(parts, Fraction(0))
        for parts in zip(
            *(
                (number(o.timing.operation.flops), number(o.timing.operation.moved), o.measured.median)
                for o in group
            ),
            strict=True,
        )
    )
    return Measured(name, flops, moved, seconds)
