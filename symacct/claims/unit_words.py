"""Units as they are printed: a word that is also a name gives way to a longer one."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from symacct.errors import UnitError
from symacct.units import is_unit, long_name, resolve, spellings

if TYPE_CHECKING:
    from collections.abc import Collection

WORD = re.compile(r"[^\W\d]\w*|[$%]")
GAP = re.compile(r"(?<=[\w)$%])\s+(?=[\w($%])")
BELOW = re.compile(r"/\(?")
QUANTITIES = frozenset({"params", "tokens"})
"""Quantities that are spelled like units."""
LONG = {"B": "byte", "$": "dollar"}
"""What is never printed: a bare ``B``, and a sign that begins LaTeX."""


def unit_words(unit: str, taken: Collection[str]) -> str:
    """Return the text of a unit with no word in it that is a name, and letters alone only below a line.

    A letter behind a number or a ``*`` may be a name; below another unit it is a unit.

    Args:
        unit: the text, as it was written.
        taken: the names of the statement.

    Raises:
        UnitError: every spelling of a unit is a name.

    >>> unit_words("TB/s", ["s", "B"]), unit_words("TB/s", []), unit_words("GPU h", [])
    ('TB/second', 'TB/s', 'GPU*hour')
    >>> unit_words("FLOP/(params tokens)", [])
    'FLOP/(parameter*token)'
    """
    names = QUANTITIES.union(taken)
    joined = GAP.sub("*", unit.strip())
    below = {found.end() for found in BELOW.finditer(joined)}
    return WORD.sub(lambda found: _word(found[0], names, below=found.start() in below), joined)


@lru_cache(maxsize=1 << 10)
def _word(word: str, taken: frozenset[str], *, below: bool) -> str:
    if word in LONG:
        word = LONG[word]
    elif (not below and len(word) == 1 and word != "%") or (word.endswith("s") and is_unit(word[:-1])):
        word = long_name(word)
    if word not in taken:
        return word
    full = long_name(word)
    for other in (full, f"{full}s", *spellings(word)):
        if other not in taken and is_unit(other) and resolve(other) == resolve(word):
            return other
    what = f"the unit {word!r} cannot be written: each of its spellings is a name"
    raise UnitError(what, expected=f"a name other than {full}", got=word, fix=f"rename the size {full}")
