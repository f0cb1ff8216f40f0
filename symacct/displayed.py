"""How a result shows itself in a notebook: as text, as tables and formulas, a graph as a picture."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from symacct.nodes import Graph


class Displayed:
    """What a notebook shows where a result stands alone on the last line of a cell."""

    __slots__ = ()

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        """Return the text and the Markdown of the result; a front end takes what it can show."""
        del include, exclude
        from symacct.report.display import bundle

        return bundle(self)


def drawing(graph: Graph) -> str | None:
    """Return the picture of a graph with what each op costs; None where it cannot be derived or drawn."""
    from symacct.plot.graph import shown

    return shown(graph)
