"""What stands in the picture of a graph: boxes with lines of text, frames around repeats, and wires."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from fractions import Fraction

    from symacct.plot.graph_layout import Point

CELL = 0.605
"""The width of a character of a monospaced font, in its size."""
SIZES = {"name": 12, "cost": 12, "title": 17, "frame": 13}
SMALL = 11
LEADING = 1.36
MARGIN = 8.0
SIGNS = ("+", "−", "-", "=")
MOST, MOST_OP, MOST_LINES = 36, 42, 6
"""Characters in a line of a box, and of an op, and lines of one formula; the rest is in the box's title."""


@dataclass(frozen=True, slots=True)
class Text:
    """A line of text, and what it is: name, op, shape, cost, worth, frame, title or note."""

    said: str
    kind: str

    @property
    def size(self) -> int:
        """The size of its font."""
        return SIZES.get(self.kind, SMALL)

    @property
    def width(self) -> float:
        """Its width in a monospaced font; wide characters count as two."""
        return cells(self.said) * self.size * CELL

    @property
    def height(self) -> float:
        """The height of its line."""
        return self.size * LEADING


@dataclass(frozen=True, slots=True)
class Box:
    """A box: an op, a tensor from outside, or a port by which a value enters or leaves a repeat."""

    name: str
    kind: str
    texts: tuple[Text, ...]
    about: str
    x: float = 0
    y: float = 0
    share: Fraction | None = None

    @property
    def width(self) -> float:
        """As wide as its widest line."""
        return round(max((text.width for text in self.texts), default=0) + 2 * MARGIN, 1)

    @property
    def height(self) -> float:
        """As high as its lines."""
        return round(sum(text.height for text in self.texts) + 1.5 * MARGIN, 1)

    def moved(self, x: float, y: float) -> Box:
        """Return the box shifted."""
        return replace(self, x=self.x + x, y=self.y + y)


@dataclass(frozen=True, slots=True)
class Frame:
    """The border around the body of a repeat, with its title."""

    name: str
    texts: tuple[Text, ...]
    about: str
    width: float
    height: float
    x: float = 0
    y: float = 0
    depth: int = 0

    def moved(self, x: float, y: float) -> Frame:
        """Return the frame shifted."""
        return replace(self, x=self.x + x, y=self.y + y)


@dataclass(frozen=True, slots=True)
class Wire:
    """An edge: a tensor on its way. ``bends`` is whether it curves between pairs of points."""

    name: str
    points: tuple[Point, ...]
    kind: str = "data"

    @property
    def bends(self) -> bool:
        """Whether it runs by pairs of points with a curve between them."""
        return self.kind == "data"

    def moved(self, x: float, y: float) -> Wire:
        """Return the wire shifted."""
        return replace(self, points=tuple((a + x, b + y) for a, b in self.points))


@dataclass(frozen=True, slots=True)
class Part:
    """A piece of a picture, from its own corner."""

    boxes: tuple[Box, ...] = ()
    frames: tuple[Frame, ...] = ()
    wires: tuple[Wire, ...] = ()
    width: float = 0
    height: float = 0

    def moved(self, x: float, y: float) -> Part:
        """Return the piece shifted."""
        return replace(
            self,
            boxes=tuple(one.moved(x, y) for one in self.boxes),
            frames=tuple(one.moved(x, y) for one in self.frames),
            wires=tuple(one.moved(x, y) for one in self.wires),
        )

    def beside(self, other: Part) -> Part:
        """Return the two pieces as one, each where it stands; the room is this one's."""
        return replace(
            self,
            boxes=self.boxes + other.boxes,
            frames=self.frames + other.frames,
            wires=self.wires + other.wires,
        )


def cells(said: str) -> int:
    """Return how many characters wide a text is in a monospaced font.

    >>> cells("6BD²L"), cells("层")
    (5, 2)
    """
    return sum(2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in said)


def shortened(said: str, most: int = MOST) -> str:
    """Return a text, or its end where it is longer.

    >>> shortened("layers/attention/core/mix", 12)
    '…on/core/mix'
    """
    if cells(said) <= most:
        return said
    kept = said
    while cells(kept) > most - 1:
        kept = kept[1:]
    return f"…{kept}"


def clipped(said: str, most: int = MOST) -> str:
    """Return a text, or its beginning where it is longer."""
    if cells(said) <= most:
        return said
    kept = said
    while cells(kept) > most - 1:
        kept = kept[:-1]
    return f"{kept}…"


def folded(said: str, most: int = MOST, lines: int = MOST_LINES) -> tuple[str, ...]:
    """Return a text as lines, broken at blanks, a sign kept with what follows it; the rest is counted.

    >>> folded("6BD²L − 2BD² + 4BDL + L", 12), folded("6BD²L − 2BD² + 4BDL + L", 12, 1)
    (('6BD²L − 2BD²', '+ 4BDL + L'), ('6BD²L …',))
    """
    found: list[str] = []
    for piece in _pieces(said):
        for one in _cut(piece, most):
            if found and cells(found[-1]) + 1 + cells(one) <= most:
                found[-1] += f" {one}"
            else:
                found.append(one)
    if len(found) > lines:
        found = [*found[: lines - 1], f"{_room(found[lines - 1], most)} …"]
    return tuple(found)


def _pieces(said: str) -> list[str]:
    words = said.split()
    pieces: list[str] = []
    for word in words:
        if pieces and pieces[-1] in SIGNS:
            pieces[-1] += f" {word}"
        else:
            pieces.append(word)
    return pieces


def _cut(piece: str, most: int) -> Sequence[str]:
    """Return a piece in parts that fit into a line."""
    parts = []
    while cells(piece) > most:
        kept = clipped(piece, most + 1)[:-1]
        parts.append(kept)
        piece = piece[len(kept) :]
    return [*parts, piece]


def _room(line: str, most: int) -> str:
    """Return the beginning of a line with room for a sign that more follows."""
    while cells(line) > most - 2 or line.endswith(SIGNS):
        line = line.rpartition(" ")[0] or line[:-1]
    return line
