"""Long MathML in pieces, so that a line may end before a sign: browsers do not break inside of a formula."""

from __future__ import annotations

from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

if TYPE_CHECKING:
    from collections.abc import Iterator

SIGNS = frozenset("+−-=≤≥<>∼⇔·,/")
LONG, SHORTEST = 26, 8


def in_pieces(markup: str) -> str:
    """Return a formula as one ``math`` element, or as several behind one another where it is long.

    >>> in_pieces("<mi>B</mi>")
    '<math><mrow><mi>B</mi></mrow></math>'
    >>> long = "<mo>+</mo>".join(f"<mi>{'x' * 12}</mi>" for _ in range(4))
    >>> in_pieces(long).count("<math>")
    4
    """
    whole = f"<math><mrow>{markup}</mrow></math>"
    root = ET.fromstring(whole)  # noqa: S314 (made here)
    if _breadth(root) <= LONG:
        return whole
    pieces: list[list[ET.Element]] = [[]]
    for node in _flat(root):
        if node.tag == "mo" and node.text in SIGNS and sum(map(_breadth, pieces[-1])) >= SHORTEST:
            pieces.append([])
            node.set("form", "infix")
        pieces[-1].append(node)
    return " ".join(f"<math><mrow>{''.join(map(_written, piece))}</mrow></math>" for piece in pieces)


def _flat(node: ET.Element) -> Iterator[ET.Element]:
    """Yield the parts of a formula, rows inside of rows opened."""
    for child in node:
        if child.tag == "mrow":
            yield from _flat(child)
        else:
            yield child


def _written(node: ET.Element) -> str:
    return ET.tostring(node, encoding="unicode")


def _breadth(node: ET.Element) -> int:
    """Return how many signs a formula has side by side."""
    if node.tag == "mfrac":
        return max(map(_breadth, node))
    return len((node.text or "").strip("\u2061\u2062")) + sum(map(_breadth, node))
