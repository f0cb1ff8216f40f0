"""The picture of a roofline: log axes, a roof for each machine, ops as points, measurements beside them.

It is read without colour: machines differ in line style, ops in marker, and measured points are filled.
"""

from __future__ import annotations

from math import log10
from typing import TYPE_CHECKING, Any

from symacct.errors import ReadError, UsageError
from symacct.evaluation.operations import TENSOR
from symacct.evaluation.roofline import MAIN

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from sympy import Expr

    from symacct.evaluation.points import Measured
    from symacct.evaluation.roofline import Point, Roofline

ENDINGS = (".svg", ".png")
SALT = "symacct"
LINES = ("-", "--", "-.", ":")
MARKERS = "osD^v<>ph*X8"
FILLS = ("none", "0.8", "0.55", "0.3")
MOST_NAMED = 12
"""Ops that are drawn, and measured points that are named."""
NEAR = 0.05
"""Decades within which one marker would cover another."""
RAISED = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")
SETTINGS = {
    "svg.hashsalt": SALT,
    "svg.fonttype": "path",
    "font.family": "DejaVu Sans",
    "font.size": 9,
    "text.parse_math": False,
}


def draw(mades: Sequence[Roofline], measured: Sequence[Measured], path: Path) -> None:
    """Draw rooflines, all in one picture, and write it; the same input gives the same bytes.

    Raises:
        UsageError: matplotlib is missing, a machine or a size is, or the ending is another.
        ReadError: the file cannot be written.
    """
    if path.suffix.lower() not in ENDINGS:
        raise UsageError(
            "a picture is SVG or PNG", expected=" or ".join(ENDINGS), got=path.suffix or "no ending"
        )
    for made in mades:
        _check(made)
    mpl = matplotlib()
    with mpl.rc_context(SETTINGS):
        figure = _figure(mades, measured)
        metadata = {"Date": None, "Creator": SALT} if path.suffix.lower() == ".svg" else {"Software": SALT}
        try:
            figure.savefig(path, format=path.suffix[1:].lower(), dpi=144, metadata=metadata)
        except OSError as error:
            raise ReadError(
                "a picture cannot be written", where=str(path)[:200], got=str(error)[:120]
            ) from None


def _check(made: Roofline) -> None:
    if made.machine is None:
        raise UsageError("a picture is one of a machine", expected="--on MACHINE", got="none")
    if free := sorted(one.name for one in made.time.expr.free_symbols):
        raise UsageError(
            f"a picture needs every size: {', '.join(free)}",
            expected="--at with all sizes",
            got=", ".join(f"{k}={n}" for k, n in made.sizes.items()) or "none",
            fix="add --at " + ",".join(f"{name}=..." for name in free),
        )
    if not made.points():
        raise UsageError(
            f"there is nothing to draw: no op of {made.account.graph.name} works",
            expected="an op with FLOPs and bytes",
            got="0 FLOP",
        )


def matplotlib() -> Any:
    """Return matplotlib.

    Raises:
        UsageError: it is missing.
    """
    try:
        import matplotlib as mpl
    except ImportError:
        raise UsageError(
            "pictures need matplotlib", expected="the extra plot", got="matplotlib is not installed",
            fix="pip install 'symacct[plot]'",
        ) from None  # fmt: skip
    return mpl


def _figure(mades: Sequence[Roofline], measured: Sequence[Measured]) -> Any:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10.4, 5.4), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    axes.set_xscale("log")
    axes.set_yscale("log")
    points = [(place, point) for place, made in enumerate(mades) for point in _named(made)]
    extent = _extent(mades, [point for _, point in points], measured)
    for place, made in enumerate(mades):
        _roofs(axes, made, LINES[place % len(LINES)], extent)
    _points(axes, points)
    _measured(axes, measured)
    axes.set_xlim(*extent)
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(_tick)
    axes.set_xlabel("intensity (FLOP/byte)")
    axes.set_ylabel("rate (FLOP/s)")
    bound = ", a bound" if any(made.time.notes for made in mades) else ""
    at = ", ".join(f"{name} = {size:,}" for name, size in mades[0].sizes.items())
    axes.set_title(f"{mades[0].account.graph.name}: {mades[0].main}{bound}" + (f"\n{at}" if at else ""))
    axes.grid(visible=True, which="major", color="0.85", linewidth=0.6)
    figure.legend(loc="outside right upper", fontsize=7.5, frameon=False, handlelength=3)
    return figure


def _tick(value: float, _place: float = 0) -> str:
    """Return a power of ten.

    >>> _tick(1e12), _tick(0.01)
    ('10¹²', '10⁻²')
    """
    return f"10{str(round(log10(value))).translate(RAISED)}"


def _named(made: Roofline) -> list[Point]:
    """Return the points that are drawn: where there are many, those that take longest, and the whole."""
    found = list(made.points())
    if not found:
        return []
    *ops, whole = found
    seconds = {one.operation.label: one.expr for one in made.time.timings}
    ops = sorted(ops, key=lambda one: -float(seconds[one.name]))[:MOST_NAMED]
    return [*ops, whole] if len(ops) > 1 else [whole]


def _extent(
    mades: Sequence[Roofline], points: Sequence[Point], measured: Sequence[Measured]
) -> tuple[float, float]:
    """Return the range of intensities: all points and all ridges, with room around them."""
    found = [float(point.intensity) for point in points]
    found += [float(one.flops / one.moved) for one in measured]
    found += [float(roof.ridge) for made in mades for roof in made.roofs]
    return min(found) / 4, max(found) * 6


def _roofs(axes: Any, made: Roofline, line: str, extent: tuple[float, float]) -> None:
    """Draw the flat roofs of the rates that are used, and the slope of each bandwidth."""
    assert made.machine is not None
    bandwidth = float(made.rates.bandwidth())
    top = max((float(roof.ridge) for roof in made.roofs), default=extent[1])
    name = made.machine.name
    figure = made.rates.bandwidth_figure()
    slope = [extent[0], min(top, extent[1])]
    label = f"{name}: {made.over or MAIN}, {figure}"
    axes.plot(slope, [x * bandwidth for x in slope], line, color="black", linewidth=1.4, label=label)
    for roof in made.roofs:
        rate, ridge = float(roof.ridge) * bandwidth, float(roof.ridge)
        what = (
            roof.dtype if roof.unit == TENSOR or made.machine.one_peak else f"{roof.dtype}, not contractions"
        )
        width, shade = (1.4, "black") if roof.unit == TENSOR else (0.9, "0.45")
        axes.plot([ridge, extent[1]], [rate, rate], line, color=shade, linewidth=width,
                  label=f"{name}: {what}, {roof.figure}")  # fmt: skip
    for level in made.levels:
        if level.name != (made.over or MAIN):
            other = float(level.figure.value)
            ends = [extent[0], min(top * bandwidth / other, extent[1])]
            axes.plot(ends, [x * other for x in ends], line, color="0.65", linewidth=0.7,
                      label=f"{name}: {level.name}, {level.figure}")  # fmt: skip


def _points(axes: Any, points: Sequence[tuple[int, Point]]) -> None:
    """Draw ops as markers, those at one place as one of them, and each whole graph as a large plus."""
    markers: dict[str, str] = {}
    for machine in dict.fromkeys(place for place, _ in points):
        *ops, whole = [point for place, point in points if place == machine]
        groups = together([(float(one.intensity), float(one.rate)) for one in ops])
        fill = FILLS[machine % len(FILLS)]
        for group in groups:
            place = (ops[group[0]].intensity, ops[group[0]].rate)
            label = joined([ops[n].name for n in group], [one.name for one in ops])
            shown = None if label in markers else label
            marker = markers.setdefault(label, MARKERS[len(markers) % len(MARKERS)])
            _mark(axes, place, marker, 7, fill, shown)
        _mark(axes, (whole.intensity, whole.rate), "P", 11, fill, None if machine else whole.name)


def together(places: Sequence[tuple[float, float]]) -> list[list[int]]:
    """Return points that markers would cover, by their numbers: those near the first of each group.

    >>> together([(1.0, 1e12), (1000.0, 1e12), (1.02, 1.02e12)])
    [[0, 2], [1]]
    """
    groups: list[list[int]] = []
    for number, place in enumerate(places):
        for group in groups:
            if all(abs(log10(a / b)) <= NEAR for a, b in zip(places[group[0]], place, strict=True)):
                group.append(number)
                break
        else:
            groups.append([number])
    return groups


def joined(names: Sequence[str], known: Sequence[str]) -> str:
    """Return one label for ops at one place: the ends of two names that tell them from all others.

    >>> names = ["a/q/matmul", "a/o/matmul", "a/k/matmul"]
    >>> joined(names, [*names, "a/add"])
    'q/matmul, o/matmul and 1 more'
    """
    if len(names) == 1:
        return names[0]
    more = f" and {len(names) - 2} more" if len(names) > 2 else ""
    return ", ".join(_end(name, known) for name in names[:2]) + more


def _end(name: str, known: Sequence[str]) -> str:
    """Return the shortest end of a path that no other path has."""
    parts = name.split("/")
    for count in range(1, len(parts)):
        end = "/".join(parts[-count:])
        if sum(one == end or one.endswith(f"/{end}") for one in known) == 1:
            return end
    return name


def _mark(axes: Any, place: tuple[Expr, Expr], marker: str, size: int, fill: str, label: str | None) -> None:
    x, y = (float(one) for one in place)
    axes.plot([x], [y], linestyle="none", marker=marker, markersize=size, color="black",
              markerfacecolor=fill, label=label, zorder=3)  # fmt: skip


def _measured(axes: Any, measured: Sequence[Measured]) -> None:
    """Draw measurements as filled markers; those that take longest have their names beside them."""
    places = [(float(one.flops / one.moved), float(one.flops / one.seconds)) for one in measured]
    groups = together(places)
    longest = sorted(groups, key=lambda group: -max(measured[n].seconds for n in group))[:MOST_NAMED]
    for place, (x, y) in enumerate(places):
        axes.plot([x], [y], linestyle="none", marker="o", markersize=6, color="black", zorder=4,
                  label="measured" if place == 0 else None)  # fmt: skip
    names = [one.name for one in measured]
    for group in longest:
        label = joined([names[n] for n in group], names)
        axes.annotate(label, places[group[0]], textcoords="offset points", xytext=(6, -9), fontsize=7)
