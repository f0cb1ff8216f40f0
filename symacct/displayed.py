"""How a result shows itself in a notebook: as text, and as tables and formulas."""

from __future__ import annotations


class Displayed:
    """What a notebook shows where a result stands alone on the last line of a cell."""

    __slots__ = ()

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        """Return the text and the Markdown of the result; a front end takes what it can show."""
        del include, exclude
        from symacct.report.display import bundle

        return bundle(self)
