"""Letters of different scripts that look the same: Latin B, Greek Β and Cyrillic В."""

from __future__ import annotations

from typing import TYPE_CHECKING
from unicodedata import name as unicode_name

from symacct.errors import FormulaError

if TYPE_CHECKING:
    from collections.abc import Iterable

PAIRS = (
    ("ΑΒΕΖΗΙΚΜΝΟΡΤΥΧο", "ABEZHIKMNOPTYXo"),
    ("АВЕКМНОРСТХУІЅЈ", "ABEKMHOPCTXYISJ"),
    ("аеорсхуіѕјһԁԛԝ", "aeopcxyisjhdqw"),
)
"""Greek capitals, Cyrillic capitals and Cyrillic small letters, beside the Latin ones that they look like."""
LATIN = {other: latin for others, latins in PAIRS for other, latin in zip(others, latins, strict=True)}


def looks(word: str) -> str:
    """Return a word with Latin letters in the place of those that look like them.

    >>> looks("В_s") == looks("B_s"), looks("β") == looks("B")
    (True, False)
    """
    return "".join(LATIN.get(char, char) for char in word)


def check_lookalikes(words: Iterable[str], shown: str) -> None:
    """Check that no two words of a statement look the same and are not.

    Raises:
        FormulaError: two do.

    >>> check_lookalikes(["B", "Β"], "B + Β")
    Traceback (most recent call last):
    symacct.errors.FormulaError: two names look the same: B and Β
      where     B + Β
      expected  letters of one script
      got       LATIN CAPITAL LETTER B and GREEK CAPITAL LETTER BETA
      fix       write B + B
    """
    seen: dict[str, str] = {}
    for word in words:
        other = seen.setdefault(looks(word), word)
        if other != word:
            first, second = next((a, b) for a, b in zip(other, word, strict=True) if a != b)
            mended = "".join(LATIN.get(char, char) for char in shown)
            raise FormulaError(
                f"two names look the same: {other} and {word}",
                where=shown[:72],
                expected="letters of one script",
                got=f"{unicode_name(first, first)} and {unicode_name(second, second)}",
                fix=f"write {mended[:400].strip()}",
            )
