"""The picture of a graph as SVG: nothing from outside, light or dark as the reader has it.

It is read without colour: a share is a number and a bar, what comes from outside has a dashed border.
"""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from symacct.plot.graph_boxes import LEADING, MARGIN, Text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from fractions import Fraction

    from symacct.plot.graph_boxes import Box, Frame, Part, Wire
    from symacct.plot.graph_layout import Point

EDGE = 20.0
STEPS = (0, 1, 5, 10, 20)
"""Percents at which the shade of a box gets darker."""
DARKER = 3
"""The shade from which small text is as dark as the rest."""
LIGHT = {
    "paper": "#ffffff", "ink": "#1b1f24", "faint": "#57606a", "line": "#8c959f", "frame": "#f6f8fa",
    "nested": "#eef1f4", "pale": "#ffffff",
    "0": "#ffffff", "1": "#eef3fa", "2": "#dce7f5", "3": "#c3d6ee", "4": "#a6c2e6", "5": "#85abdd",
}  # fmt: skip
DARK = {
    "paper": "#0d1117", "ink": "#e6edf3", "faint": "#9ea7b3", "line": "#6e7681", "frame": "#151b23",
    "nested": "#1c232d", "pale": "#0d1117",
    "0": "#161b22", "1": "#182538", "2": "#1b3049", "3": "#1e3c60", "4": "#21497a", "5": "#245795",
}  # fmt: skip
NAME = "symacct-graph"
MARKER = (
    f'<defs><marker id="{NAME}-arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" '
    'markerHeight="7" orient="auto"><path class="head" d="M0 0.8L8 4L0 7.2z"/></marker></defs>'
)
FONT = "ui-monospace,'DejaVu Sans Mono',Menlo,Consolas,monospace"


def svg(part: Part, title: str, lines: Sequence[Text], about: str, *, shaded: bool) -> str:
    """Return a picture with lines of text over it as an SVG file.

    Args:
        part: boxes, frames and wires.
        title: the name of the picture.
        lines: what stands over it.
        about: what it shows, for those who do not see it.
        shaded: whether boxes have shares, so that a key of shades is drawn.
    """
    key = _key() if shaded else ""
    head = sum(line.height for line in lines) + (34 if shaded else 12)
    width = max(part.width, *(line.width for line in lines), 420 if shaded else 0) + 2 * EDGE
    height = part.height + head + 2 * EDGE
    left = (width - part.width) / 2
    wide, high = _n(width), _n(height)
    room = f'width="{wide}" height="{high}" viewBox="0 0 {wide} {high}"'
    names = f'aria-labelledby="{NAME}-title {NAME}-about"'
    body = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="{NAME}" role="img" {room} {names}>',
        f'<title id="{NAME}-title">{_safe(title)}</title>',
        f'<desc id="{NAME}-about">{_safe(about)}</desc>',
        f"<style>{_style()}</style>",
        MARKER,
        f'<rect class="paper" width="{wide}" height="{high}"/>',
        *_texts(lines, EDGE, EDGE - 4),
        f'<g transform="translate({_n(EDGE)} {_n(EDGE + head - 30)})">{key}</g>' if key else "",
        f'<g transform="translate({_n(left)} {_n(EDGE + head)})">',
        *(_frame(frame) for frame in part.frames),
        *(_wire(wire) for wire in part.wires),
        *(_box(box) for box in part.boxes),
        *(_titled(frame) for frame in part.frames),
        "</g>",
        "</svg>",
    ]
    return "\n".join(line for line in body if line) + "\n"


def shade(share: Fraction | None) -> int:
    """Return how dark a box is, from 0 to 5.

    >>> from fractions import Fraction
    >>> [shade(Fraction(n, 100)) for n in (0, 1, 7, 60)], shade(None)
    ([0, 2, 3, 5], 0)
    """
    if share is None or share <= 0:
        return 0
    return sum(share * 100 >= step for step in STEPS)


def _style() -> str:
    rules = [
        f".{NAME}{{max-width:100%;height:auto;font-family:{FONT}}}",
        *(f".{NAME} .{kind}{{{rule}}}" for kind, rule in SHAPES.items()),
        *_coloured(LIGHT),
        "@media (prefers-color-scheme:dark){", *_coloured(DARK), "}",
    ]  # fmt: skip
    return "\n".join(rules)


SHAPES = {
    "name": "font-weight:600;font-size:12px", "cost": "font-size:12px",
    "op": "font-size:11px", "shape": "font-size:11px", "worth": "font-size:11px;font-weight:600",
    "port": "font-size:11px", "note": "font-size:11px",
    "title": "font-weight:600;font-size:17px", "frame": "font-weight:600;font-size:13px",
    "wire": "fill:none;stroke-width:1.3", "turn": "fill:none;stroke-width:1.3;stroke-dasharray:5 3",
    "box": "stroke-width:1", "outside": "stroke-width:1;stroke-dasharray:3 2",
    "around": "stroke-width:1.2", "halo": "paint-order:stroke;stroke-width:5px;stroke-linejoin:round",
}  # fmt: skip


def _coloured(table: dict[str, str]) -> Iterator[str]:
    """Yield the rules of one table of colours."""
    ink, faint, line = table["ink"], table["faint"], table["line"]
    yield f".{NAME} .paper{{fill:{table['paper']}}}"
    yield f".{NAME} text{{fill:{ink}}}"
    yield f".{NAME} .op,.{NAME} .shape,.{NAME} .note,.{NAME} .port{{fill:{faint}}}"
    yield f".{NAME} .dark{{fill:{ink}}}"
    yield f".{NAME} .wire,.{NAME} .turn{{stroke:{line}}}"
    yield f".{NAME} .head,.{NAME} .bar{{fill:{faint}}}"
    yield f".{NAME} .box,.{NAME} .outside,.{NAME} .around{{stroke:{line}}}"
    yield f".{NAME} .deep0{{fill:{table['frame']}}}"
    yield f".{NAME} .deep1{{fill:{table['nested']}}}"
    yield f".{NAME} .halo{{stroke:{table['frame']}}}"
    yield from (f".{NAME} .s{step}{{fill:{table[str(step)]}}}" for step in range(6))
    yield f".{NAME} .pale{{fill:{table['pale']}}}"


def _texts(lines: Sequence[Text], x: float, y: float, more: str = "") -> Iterator[str]:
    for line in lines:
        y += line.height
        base = y - line.size * (LEADING - 1) * 0.8
        yield f'<text class="{line.kind}{more}" x="{_n(x)}" y="{_n(base)}">{_safe(line.said)}</text>'


def _box(box: Box) -> str:
    """Return a box; an op's is shaded by its share, and has a bar as long."""
    within = box.kind in ("op", "port")
    round_ = {"op": 3.0, "port": box.height / 2}.get(box.kind, 8.0)
    look = f"{'box' if within else 'outside'} {_fill(box)}"
    parts = [f'<g class="is-{box.kind}"><title>{_safe(box.about)}</title>']
    parts.append(_rect(look, (box.x, box.y, box.width, box.height), round_))
    if box.share:
        length = min(max(float(box.share) * box.width, 0.5), box.width)
        parts.append(_rect("bar", (box.x, box.y + box.height - 3, length, 3)))
    dark = " dark" if shade(box.share) >= DARKER else ""
    parts += _texts(box.texts, box.x + MARGIN, box.y + MARGIN / 2, dark)
    return "".join([*parts, "</g>"])


def _rect(look: str, sides: tuple[float, float, float, float], round_: float = 0) -> str:
    x, y, width, height = map(_n, sides)
    corner = f' rx="{_n(round_)}"' if round_ else ""
    return f'<rect class="{look}" x="{x}" y="{y}" width="{width}" height="{height}"{corner}/>'


def _fill(box: Box) -> str:
    return f"s{shade(box.share)}" if box.kind == "op" or box.share else "pale"


def _frame(frame: Frame) -> str:
    sides = frame.x, frame.y, frame.width, frame.height
    border = _rect(f"around deep{frame.depth % 2}", sides, 6)
    return f"<g><title>{_safe(frame.about)}</title>{border}</g>"


def _titled(frame: Frame) -> str:
    return "".join(_texts(frame.texts, frame.x + MARGIN, frame.y + MARGIN / 2, " halo"))


def _wire(wire: Wire) -> str:
    kind = "turn" if wire.kind == "turn" else "wire"
    arrow = f' marker-end="url(#{NAME}-arrow)"' if wire.kind != "out" else ""
    path = _curved(wire.points) if wire.bends else _straight(wire.points)
    return f'<g><title>{_safe(wire.name)}</title><path class="{kind}" d="{path}"{arrow}/></g>'


def _straight(points: Sequence[Point]) -> str:
    (x, y), *others = points
    return f"M{_n(x)} {_n(y)}" + "".join(f"L{_n(a)} {_n(b)}" for a, b in others)


def _curved(points: Sequence[Point]) -> str:
    """Return a path straight down each pair of points, and a curve from each pair to the next."""
    (x, y), *others = points
    path = [f"M{_n(x)} {_n(y)}"]
    for place, (a, b) in enumerate(others):
        if place % 2 == 0 or a == x:
            path += [f"L{_n(a)} {_n(b)}"] if (a, b) != (x, y) else []
        else:
            half = (y + b) / 2
            path.append(f"C{_n(x)} {_n(half)} {_n(a)} {_n(half)} {_n(a)} {_n(b)}")
        x, y = a, b
    return "".join(path)


def _key() -> str:
    """Return the key of shades."""
    parts = ['<text class="note" x="0" y="12">share of the whole:</text>']
    x = 140.0
    names = ["0", "<1%", *(f"≥{step}%" for step in STEPS[1:])]
    for step, name in enumerate(names):
        parts.append(_rect(f"box s{step}", (x, 1, 18, 13), 2))
        parts.append(f'<text class="note" x="{_n(x + 22)}" y="12">{_safe(name)}</text>')
        x += 36 + 6.7 * len(name)
    return "".join(parts)


def _safe(said: str) -> str:
    r"""Return a text as XML holds it: escaped, without characters that XML has none of.

    >>> _safe("a<b & \x00c")
    'a&lt;b &amp;  c'
    """
    return escape("".join(char if char.isprintable() else " " for char in said))


def _n(value: float) -> str:
    """Return a number to one digit, the same everywhere.

    >>> _n(3.0), _n(2.25), _n(-0.01)
    ('3', '2.2', '0')
    """
    said = f"{value:.1f}"
    return "0" if said == "-0.0" else said.removesuffix(".0")
