"""The picture of shares: how much of a quantity each op makes up, as bars parted by pass.

It is read without colour: passes differ in shade and hatching.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

from symacct.algebra.evaluate import evaluate
from symacct.errors import UsageError
from symacct.plot.canvas import FAINT, amount, check, legend, number, require, title, written

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from symacct.account import Account

FILLS = ("0.35", "white", "0.72", "0.95", "white", "0.5")
HATCHES = ("", "////", "", "....", "xxxx", "\\\\\\\\")
MOST_BARS = 16

Bars = list[tuple[str, dict[str, Fraction]]]
"""For each op its amounts by pass, the largest op first."""


def draw(account: Account, quantity: str, sizes: Mapping[str, int], path: Path) -> None:
    """Draw the share of each op in a quantity that adds up.

    Raises:
        UsageError: matplotlib or a size is missing, there is nothing to draw, or the ending is no picture's.
        RuleError: the quantity is no sum.
        ReadError: the file cannot be written.
    """
    check(path)
    bound = require(account, sizes)
    found = bars(bound, quantity)
    if not found:
        raise UsageError(
            f"there is nothing to draw: {quantity} of {bound.graph.name} is 0",
            expected="a quantity above 0", got="0",
        )  # fmt: skip
    rows = len(fewer(found, MOST_BARS))
    written(path, (8.4, 1.9 + 0.27 * rows), lambda figure: _bars(figure, bound, quantity, sizes, found))


def bars(account: Account, quantity: str) -> Bars:
    """Return what each op makes up of a quantity at bound sizes, gradients with the op they are of.

    >>> from symacct import derive, load
    >>> found = bars(derive(load("linear"), sizes={"B": 2, "D": 3, "K": 5}), "flops.model")
    >>> [(op, {phase: int(amount) for phase, amount in parts.items()}) for op, parts in found]
    [('linear/matmul', {'forward': 60, 'backward': 60})]
    """
    found: dict[str, dict[str, Fraction]] = {}
    for term in account.terms(quantity):
        parts = found.setdefault(term.label.partition("/grad.")[0], {})
        parts[term.phase] = parts.get(term.phase, Fraction(0)) + number(evaluate(term.expr, {}))
    return sorted(found.items(), key=lambda one: (-sum(one[1].values()), one[0]))


def fewer(found: Bars, most: int) -> Bars:
    """Return at most so many bars; the smallest are put together."""
    if len(found) <= most:
        return found
    rest: dict[str, Fraction] = {}
    for _, parts in found[most - 1 :]:
        for phase, part in parts.items():
            rest[phase] = rest.get(phase, Fraction(0)) + part
    return [*found[: most - 1], (f"{len(found) - most + 1} others", rest)]


def _bars(
    figure: Any, account: Account, quantity: str, sizes: Mapping[str, int], every: Sequence[Any]
) -> None:
    found = fewer(list(every), MOST_BARS)
    whole = sum((part for _, parts in found for part in parts.values()), Fraction(0))
    axes = figure.add_subplot()
    places = list(range(len(found)))
    left = [0.0] * len(found)
    phases = list(dict.fromkeys(phase for _, parts in found for phase in parts))
    for look, phase in enumerate(phases):
        widths = [float(parts.get(phase, Fraction(0)) / whole) * 100 for _, parts in found]
        fill, hatch = FILLS[look % len(FILLS)], HATCHES[look % len(HATCHES)]
        axes.barh(places, widths, left=left, height=0.7, color=fill, hatch=hatch, edgecolor="black",
                  linewidth=0.6, label=phase)  # fmt: skip
        left = [start + width for start, width in zip(left, widths, strict=True)]
    for place, end in zip(places, left, strict=True):
        axes.text(end + 0.4, place, f"{end:.1f} %", va="center", fontsize=8)
    axes.set_yticks(places, [op for op, _ in found])
    axes.invert_yaxis()
    axes.set_xlim(0, max(left) * 1.12)
    axes.set_xlabel(f"share of {quantity} (%)")
    said = f"{quantity}: {amount(whole, str(account[quantity].unit))}"
    axes.set_title(title(account, sizes, said), fontsize=9, loc="left")
    axes.grid(axis="x", **FAINT)
    axes.set_axisbelow(True)
    legend(figure, 4)
