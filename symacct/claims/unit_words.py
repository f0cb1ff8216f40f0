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
LONG = {"B": "byte", "$": "dollar"}
"""What is never printed: a bare ``B``, and a sign that begins LaTeX."""


def unit_words(unit: str, taken: Collection[str], *, long: bool = False) -> str:
    """Return the text of a unit with no word in it that is a name.

    Args:
        unit: the text, as it was written.
        taken: the names of the statement.
        long: whether a unit of one letter is written in full, as it must be behind anything but a number.

    Raises:
        UnitError: every spelling of a unit is a name.

    >>> unit_words("TB/s", ["s", "B"]), unit_words("h", ["B"]), unit_words("FLOP/(params tokens)", [])
    ('TB/second', 'h', 'FLOP/(parameter*token)')
    """
    joined = GAP.sub("*", unit.strip())
    return WORD.sub(lambda found: _word(found[0], frozenset(taken), long=long), joined)


@lru_cache(maxsize=1 << 10)
def _word(word: str, taken: frozenset[str], *, long: bool) -> str:
    if word in LONG:
        word = LONG[word]
    elif (long and len(word) == 1) or (word.endswith("s") and is_unit(word[:-1])):
        word = long_name(word)
    if word not in taken:
        return word
    full = long_name(word)
    for other in (full, f"{full}s", *spellings(word)):
        if other not in taken and is_unit(other) and resolve(other) == resolve(word):
            return other
    what = f"the unit {word!r} cannot be written: each of its spellings is a name"
    raise UnitError(what, expected=f"a name other than {full}", got=word, fix=f"rename the size {full}")
