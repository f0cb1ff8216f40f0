"""Words into declared names: a product is written without signs, the longest name first."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import TYPE_CHECKING
from unicodedata import category

from symacct.errors import SymacctError, unknown
from symacct.printers.latex import COMMANDS
from symacct.syntax.source import GREEK

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

FUNCTIONS = (
    *("abs", "ceil", "ceiling", "floor", "ln", "log", "log2", "max", "min", "sqrt"),
    *("O", "Theta"),
)
NEAR = 0.75
WORD_CATEGORIES = {"Lu", "Ll", "Lt", "Lm", "Lo", "Mn", "Mc", "Nd"}
LETTERS = {name: letter for letter, name in GREEK.items() if letter not in "µϵ"}
UNSURE = re.compile(r"[^\W\d_]+")
AMOUNT = re.compile(r"[0-9]\s+\Z")
JOINS = re.compile(r"\s*/\s*\(?\s*")
TIMES = re.compile(r"\s*[*·/]\s*")
POWERED = re.compile(r"(?:[0-9][0-9_]*(?:\.[0-9]+)?|\.[0-9]+)(?:[eE][+-]?[0-9]+(?![^\W\d]|[.0-9]))?")


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """What a word may be.

    Attributes:
        declared: the declared names.
        quantities: names of quantities, with dots.
        is_unit: says which words are units; None reads no units.
        names: the declared names and their other spellings: ``beta`` and ``β`` are one.
        longest: the length of the longest name.
    """

    declared: frozenset[str]
    quantities: frozenset[str] = frozenset()
    is_unit: Callable[[str], bool] | None = None
    names: frozenset[str] = field(init=False, default=frozenset())
    longest: int = field(init=False, default=0)

    def __post_init__(self) -> None:
        """Add other spellings, and measure the names once."""
        others = {_other(name) for name in self.declared}
        object.__setattr__(self, "names", self.declared | others)
        object.__setattr__(self, "longest", max(map(len, self.names), default=0))

    def is_a_unit(self, word: str) -> bool:
        """Say whether a word is a unit and no declared name."""
        return self.is_unit is not None and word not in self.names and self.is_unit(word)

    def spelled(self, word: str) -> str:
        """Return a name in the spelling that is declared.

        >>> Vocabulary(frozenset({"β"})).spelled("beta")
        'β'
        """
        other = _other(word)
        return other if word not in self.declared and other in self.declared else word


def _other(name: str) -> str:
    """Return the other spelling of a Greek letter; any other name as it is."""
    return LETTERS.get(name) or GREEK.get(name, name)


def word_at(text: str, start: int) -> str:
    """Return the longest run of letters, digits and ``_`` at a place, or nothing where none begins.

    >>> word_at("2BD²", 1)
    'BD'
    """
    if start >= len(text) or category(text[start]) in {"Nd", "Mn", "Mc"}:
        return ""
    end = start
    while end < len(text) and (text[end] == "_" or category(text[end]) in WORD_CATEGORIES):
        end += 1
    return text[start:end]


def dotted_at(text: str, start: int) -> str:
    """Return a word and what is joined to it with dots.

    >>> dotted_at("flops.model = 6*N", 0)
    'flops.model'
    """
    found = word_at(text, start)
    while found and (more := word_at(text, start + len(found) + 1)) and text[start + len(found)] == ".":
        found += f".{more}"
    return found


def split(word: str, names: Vocabulary, *, called: bool) -> tuple[list[str] | None, bool]:
    """Return a word as declared names, and whether it splits in more than one way.

    The longest name comes first; before a bracket a function may stand last.

    >>> split("abB", Vocabulary(frozenset({"a", "b", "ab", "B"})), called=False)
    (['ab', 'B'], True)
    """
    best: list[str | None] = [None] * len(word) + [""]
    ways = [0] * len(word) + [1]
    for start in reversed(range(len(word))):
        for size in range(min(names.longest, len(word) - start), 0, -1):
            if ways[start + size] and word[start : start + size] in names.names:
                best[start] = best[start] or word[start : start + size]
                ways[start] = min(2, ways[start] + ways[start + size])
        if called and word[start:] in FUNCTIONS and word[start:] not in names.names:
            best[start], ways[start] = word[start:], 1
    if not ways[0]:
        return None, False
    parts: list[str] = []
    place = 0
    while place < len(word):
        parts.append(best[place] or word[place:])
        place += len(parts[-1])
    return parts, ways[0] > 1


def reach(word: str, names: Vocabulary) -> int:
    """Return how far the longest beginning that is a product of declared names goes."""
    ends = {0}
    for start in range(len(word)):
        if start in ends:
            sizes = range(1, min(names.longest, len(word) - start) + 1)
            ends.update(start + size for size in sizes if word[start : start + size] in names.names)
    return max(ends)


def unknown_word(word: str, names: Vocabulary) -> tuple[int, SymacctError]:
    """Return the error for a word that is no product of declared names, and where in the word it is."""
    known = names.declared | {name for name in names.quantities if "." not in name}
    skipped = 0
    if not get_close_matches(word[:64], known, n=1, cutoff=NEAR):
        skipped = reach(word, names)
    error = unknown("name", word[skipped:][:64], names.declared)
    if error.fix is None and word[skipped:] in {"e", "pi", "exp"}:
        error.fix = "no letter is a constant here; write a number"
    return skipped, error


def guess_names(
    text: str, taken: Collection[str] = (), is_unit: Callable[[str], bool] | None = None
) -> list[str]:
    """Return the names in a formula for which none are declared, in their order.

    A word with ``_`` or a digit, a Greek name, one of other scripts than Latin, or an upright one is one
    name; other words are products of letters. The names in `taken` are left out; ``1e-8`` is a number, and
    the units of an amount (``450 GB/s``; a single letter only behind another unit) are no names.

    >>> guess_names("6ND + 2*n_layer*beta")
    ['N', 'D', 'n_layer', 'beta']
    >>> guess_names("450 GB/s + 34 s b h", (), {"GB", "s"}.__contains__)
    ['s', 'b', 'h']
    """
    found: dict[str, None] = {}
    place = unit = 0
    below = False
    while place < len(text):
        word = word_at(text, place)
        if not word:
            number = POWERED.match(text, place)
            place = number.end() if number else place + 1
            continue
        between = TIMES if below else JOINS
        joined = unit and between.fullmatch(text, unit, place)
        starts = len(word) > 1 and AMOUNT.search(text, max(0, place - 8), place)
        if word in taken:
            place += len(word)
            continue
        if is_unit and (joined or starts) and is_unit(word) and word not in FUNCTIONS:
            below = bool(joined) and (below or "(" in text[unit:place])
            place = unit = place + len(word)
            continue
        whole = UNSURE.fullmatch(word) is None or not word.isascii() or word in COMMANDS
        called = text[place + len(word) :].lstrip().startswith("(")
        if not (called and word in FUNCTIONS):
            found |= dict.fromkeys([word] if whole or text[place - 1 : place] == "\ue000" else word)
        place += len(word)
    return list(found)
