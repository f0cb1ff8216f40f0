"""How a result shows itself in a notebook: as text, as tables and formulas, a graph as a picture.

The renderers stand on floors above the results. Which of them shows what is registered at the top, as
``symacct.RENDERERS``, so that no result imports what renders it.
"""

from __future__ import annotations

from typing import Any

import symacct


def rendered(form: str, result: object) -> Any:
    """Return a result in a form, by the renderer that is registered for it.

    >>> from symacct.readers.files import load
    >>> rendered("svg", load("deep_linear"))[:4]
    '<svg'
    """
    return symacct.RENDERERS[form](result)


class Displayed:
    """What a notebook shows where a result stands alone on the last line of a cell."""

    __slots__ = ()

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        """Return the text and the Markdown of the result; a front end takes what it can show."""
        del include, exclude
        found: dict[str, str] = rendered("bundle", self)
        return found
