"""Two pictures of memory: what is alive step by step, and what the length of a checkpoint's segment costs.

Both are read without colour: bands differ in shade and hatching, curves in line style and marker.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

from symacct.algebra.evaluate import evaluate
from symacct.errors import LimitError
from symacct.peaks.timeline import GRADIENT, at_sizes, deaths, sizes_at
from symacct.planning.best_integer import best_integer, length_name
from symacct.plot.canvas import (
    FAINT,
    amount,
    check,
    legend,
    number,
    prefixed,
    require,
    thinned,
    title,
    written,
)

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from symacct.account import Account
    from symacct.peaks.schedule import Schedule, Storage
    from symacct.planning.best_integer import BestInteger

CATEGORIES = ("saved", "recomputed", "gradients", "parameter gradients", "other")
FILLS = ("0.35", "white", "0.72", "white", "0.93")
HATCHES = ("", "////", "", "....", "")
FEW_STEPS, MOST_STEPS, MOST_LENGTHS = 300, 1_200, 240
BYTE = "byte"


def draw(account: Account, sizes: Mapping[str, int], path: Path) -> None:
    """Draw what is alive at each step of a pass, stacked by category, with the peak marked.

    Bytes that live through the whole pass (parameters, optimizer states, data) are named, not drawn.

    Raises:
        UsageError: matplotlib or a size is missing, or the ending is no picture's.
        SizeError: a size is out of range, or there are too many iterations.
        ReadError: the file cannot be written.
    """
    check(path)
    bound = require(account, sizes)
    course = bound.course
    schedule = at_sizes(course.graph, course.policy, {})
    found = {name: levels for name, levels in bands(bound, schedule).items() if any(levels)}
    beside = number(evaluate(bound.beside("memory.peak"), {}))
    written(path, (8.4, 5.2), lambda figure: _steps(figure, bound, sizes, schedule, found, beside))


def bands(account: Account, schedule: Schedule) -> dict[str, list[Fraction]]:
    """Return the bytes alive at each step, by category; a storage counts from its first step to its last.

    >>> from symacct import derive, load
    >>> account = derive(load("mlp"), precision="fp32", sizes={"B": 8, "D": 4, "L": 3})
    >>> schedule = at_sizes(account.course.graph, account.course.policy, {})
    >>> found = bands(account, schedule)
    >>> most = max(sum(levels) for levels in zip(*found.values()))
    >>> most + account.beside("memory.peak") == account["memory.peak"].expr
    True
    """
    size = sizes_at(account.course.graph, account.course.policy, {})
    ends = deaths(schedule)
    level = dict.fromkeys(CATEGORIES, Fraction(0))
    found: dict[str, list[Fraction]] = {name: [] for name in CATEGORIES}
    for position, action in enumerate(schedule.actions):
        for storage in action.makes:
            level[category(storage)] += size(storage)
        for name, nbytes in level.items():
            found[name].append(nbytes)
        for storage in ends.get(position, ()):
            level[category(storage)] -= size(storage)
    return found


def category(storage: Storage) -> str:
    """Return the band that a storage belongs to."""
    if storage.kind in ("recomputed", "gradient", GRADIENT):
        return storage.kind if storage.kind == "recomputed" else f"{storage.kind}s"
    return "saved" if storage.saved else "other"


def _steps(
    figure: Any,
    account: Account,
    sizes: Mapping[str, int],
    schedule: Schedule,
    found: Mapping[str, list[Fraction]],
    beside: Fraction,
) -> None:
    totals = [sum(levels, Fraction(0)) for levels in zip(*found.values(), strict=True)] or [Fraction(0)]
    peak = max(totals)
    at = totals.index(peak)
    prefix, scale = prefixed(float(peak))
    places = thinned([float(one) for one in totals], MOST_STEPS)
    edges = [*(float(place) for place in places), float(len(totals))]
    axes = figure.add_subplot()
    width = 0.4 if len(places) <= FEW_STEPS else 0.15
    base = [0.0] * len(edges)
    for name, levels in found.items():
        heights = [float(levels[place]) / scale for place in places]
        top = [low + high for low, high in zip(base, [*heights, heights[-1]], strict=True)]
        look = CATEGORIES.index(name)
        axes.fill_between(edges, base, top, step="post", facecolor=FILLS[look], hatch=HATCHES[look],
                          edgecolor="black", linewidth=width, label=name)  # fmt: skip
        base = top
    label = schedule.actions[at].label if schedule.actions else "nothing runs"
    axes.axvline(at + 0.5, color="black", linewidth=0.9, linestyle="--")
    axes.plot([at + 0.5], [float(peak) / scale], "v", color="black", markersize=7, clip_on=False,
              label=f"peak, at {_short(label)}")  # fmt: skip
    if 0 < schedule.backward < len(totals):
        axes.axvline(schedule.backward, color="black", linewidth=0.9, linestyle=":", label="backward begins")
    axes.set_xlim(0, len(totals))
    axes.set_ylim(0, float(peak) / scale * 1.06 or 1)
    axes.set_xlabel("step" if len(places) == len(totals) else _stepped(len(totals), len(places)))
    axes.set_ylabel(f"alive ({prefix}B)")
    axes.set_title(title(account, sizes, _sum(peak, beside)), fontsize=9, loc="left")
    axes.grid(axis="y", **FAINT)
    axes.set_axisbelow(True)
    legend(figure, 4)


def _short(label: str, most: int = 28) -> str:
    """Return the end of a long label.

    >>> _short("layers/attention/core/mix/grad.dropout")
    '…ntion/core/mix/grad.dropout'
    """
    return label if len(label) <= most else "…" + label[len(label) - most + 1 :]


def _stepped(steps: int, drawn: int) -> str:
    return f"step ({steps:,}; of {-(-steps // drawn)} neighbours the largest is drawn)"


def _sum(peak: Fraction, beside: Fraction) -> str:
    whole, drawn, held = (amount(one, BYTE) for one in (peak + beside, peak, beside))
    return f"peak {whole}: {drawn} as drawn, {held} held throughout (parameters, states, data)"


def tradeoff(account: Account, sizes: Mapping[str, int], path: Path) -> None:
    """Draw the peak and the FLOPs that run against the length of a segment, each length derived.

    Args:
        account: under checkpoint ``every:k``, with a name for the length.
        sizes: all the others.
        path: where to.

    Raises:
        UsageError: matplotlib or a size is missing, the length has no name, or the ending is no picture's.
        LimitError: there are too many lengths.
        ReadError: the file cannot be written.
    """
    check(path)
    name = length_name(account)
    every = require(account, {**sizes, name: 1}).graph.bound
    bound = account.bind({one: int(size) for one, size in every.items()}) if every else account
    best = best_integer(bound)
    if best.count > MOST_LENGTHS:
        what = f"{best.count} lengths would have to be drawn"
        raise LimitError(what, expected=f"at most {MOST_LENGTHS}", got=str(best.count))
    flops = [number(bound.value("flops.hardware", {name: k})) for k in range(1, best.count + 1)]
    model = number(bound.value("flops.model", {name: 1}))
    written(path, (8.4, 4.8), lambda figure: _curves(figure, bound, sizes, best, (flops, model)))


def _curves(
    figure: Any,
    account: Account,
    sizes: Mapping[str, int],
    best: BestInteger,
    work: tuple[list[Fraction], Fraction],
) -> None:
    flops, model = work
    lengths = range(1, best.count + 1)
    prefix, scale = prefixed(float(max(*best.peaks, best.plain)))
    ink = {"color": "black", "linewidth": 1.3, "markersize": 4}
    axes = figure.add_subplot()
    axes.plot(lengths, [float(one) / scale for one in best.peaks], "-o", label="peak", **ink)
    axes.axhline(float(best.plain) / scale, color="0.45", linewidth=1, linestyle="-.",
                 label="peak without checkpoints")  # fmt: skip
    axes.plot([best.k], [float(best.peak) / scale], "o", color="black", markersize=11, fillstyle="none",
              label=f"smallest peak: {best.name} = {best.k}")  # fmt: skip
    axes.set_xlabel(f"length of a segment, {best.name}")
    axes.set_ylabel(f"peak ({prefix}B)")
    axes.set_ylim(0, float(max(*best.peaks, best.plain)) / scale * 1.1)
    axes.grid(**FAINT)
    beside = axes.twinx()
    ratios = [float(one / model) for one in flops]
    beside.plot(lengths, ratios, "--s", fillstyle="none", label="FLOPs that run (right)", **ink)
    beside.set_ylabel("hardware FLOPs / model FLOPs")
    beside.set_ylim(1 - 0.05 * (max(ratios) - 1 or 1), max(ratios) + 0.35 * (max(ratios) - 1 or 1))
    said = f"smallest peak {amount(best.peak, BYTE)} at {best.name} = {best.k}"
    axes.set_title(title(account, sizes, said), fontsize=9, loc="left")
    legend(figure, 4)
