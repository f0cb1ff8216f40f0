"""The sheets that ship, each made once for all tests that look at it."""

from functools import cache

from symacct.sheet.layout import read_layout, shipped_layouts
from symacct.sheet.making import of_layout

NAMES = tuple(shipped_layouts())


@cache
def shipped_sheet(name, lang="en", style="card"):
    """A shipped sheet."""
    return of_layout(read_layout(shipped_layouts()[name]), lang=lang, style=style)
