"""A comparison for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

from symacct.algebra.normal import normal
from symacct.printers import text
from symacct.report.conditions import listed
from symacct.report.facts import Fact

if TYPE_CHECKING:
    from collections.abc import Iterator

    from symacct.proof.compare import Comparison
    from symacct.proof.decide import Counterexample
    from symacct.proof.threshold import Crossing
    from symacct.report.facts import Style

MOST_LINES = 24
SAID = {
    "equal": "A and B are equal, for all sizes",
    "A": "A is the larger one, for all sizes",
    "A or equal": "A is never below B",
    "B": "B is the larger one, for all sizes",
    "B or equal": "B is never below A",
    "either": "which one is the larger depends on the sizes",
    "unknown": "which one is the larger could not be decided",
}


def facts_of(found: Comparison, style: Style) -> Iterator[Fact]:
    """Yield a comparison as facts."""
    unit = str(found.unit)
    for note in found.notes:
        first, _, rest = note.partition(" ")
        yield Fact(first, rest) if first == "assuming" else Fact("read", note)
    if found.when:
        yield Fact("holds for", ", ".join(listed(found.when, style.order)))
    yield Fact("A", style.with_unit(found.left, unit))
    yield Fact("B", style.with_unit(found.right, unit))
    yield Fact("", SAID[found.larger])
    if found.larger == "equal":
        return
    yield Fact(
        "difference", f"A - B = {style.with_unit(found.difference, unit)}", tuple(_parts(found, style))
    )
    if found.ratio is not None:
        limits = (f"tends to {style.show(limit)} as {name} -> oo" for name, limit in found.limits)
        yield Fact("ratio", f"A / B = {style.show(found.ratio)}", tuple(limits))
    for one in found.crossings:
        yield Fact("equal at", _crossing(one, style))
    for word, point in (("A is the larger", found.a_larger), ("B is the larger", found.b_larger)):
        if point is not None:
            yield Fact(word, f"at {_point(point, unit)}")


def _parts(found: Comparison, style: Style) -> Iterator[str]:
    for one in found.parts[:MOST_LINES]:
        gap = style.show(normal(one.left - one.right))
        yield f"{one.label}: {gap} (A {style.show(one.left)}, B {style.show(one.right)})"
    if len(found.parts) > MOST_LINES:
        yield f"{len(found.parts) - MOST_LINES} more ops differ (--format json lists all)"


def _crossing(one: Crossing, style: Style) -> str:
    where = f"{one.name} = {style.show(one.value)}"
    if one.above is None:
        return where
    return f"{where}; above it {'A' if one.above else 'B'} is the larger"


def _point(point: Counterexample, unit: str) -> str:
    at = ", ".join(f"{name} = {size:,}" for name, size in point.sizes)
    unit = "" if unit == "1" else f" {unit}"
    return f"{at}: A {text(point.left)}{unit}, B {text(point.right)}{unit}"
