"""Words: their letters and spellings, and what is declared."""

from __future__ import annotations

from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import TYPE_CHECKING
from unicodedata import category

from symacct.errors import FormulaError, SymacctError, unknown
from symacct.printers.latex import COMMANDS
from symacct.syntax.source import GREEK

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from collections.abc import Set as AbstractSet

FUNCTIONS = (
    *("abs", "binomial", "ceil", "ceiling", "factorial", "floor", "ln", "log", "log2", "max", "min", "sqrt"),
    *("O", "Theta"),
)
CALLED = frozenset(FUNCTIONS) - {"O", "Theta"}
"""Functions whose word alone is no name unless it is declared."""
OVER = frozenset({"lim", "min", "max", "argmin", "argmax"})
"""What begins a claim about a limit or a minimum over a name: ``min_k``."""
ALONE = "a limit or a minimum alone on the left, in plain text: {}(FORMULA) = FORMULA"
BEHIND = frozenset("+-),")
"""Signs at which what belongs to a function without a bracket surely ends."""
KEYWORDS = frozenset({"where", "if", "as", "iff", "and", "within", "is", "in"})
OPERATIONS = frozenset({"mod", "choose", "div", "xor", "times"})
"""Words between two formulas that are no names; none of them is read."""
NEAR = 0.75
WORD_CATEGORIES = {"Lu", "Ll", "Lt", "Lm", "Lo", "Mn", "Mc", "Nd"}
MARKS = {"Mn", "Mc"}


def key(word: str) -> str:
    """Return a name in the spelling by which names are told apart: ``β`` and ``beta`` are one.

    >>> key("β"), key("μ_n"), key("mu_n"), key("B")
    ('beta', 'mu_n', 'mu_n', 'B')
    """
    base, below, rest = word.partition("_")
    return f"{GREEK.get(base, base)}{below}{GREEK.get(rest, rest)}"


def letters_of(word: str) -> list[str] | None:
    """Return the letters of a word, each with its accents; None where a digit or ``_`` is in it.

    >>> letters_of("BDK"), letters_of("d_ff")
    (['B', 'D', 'K'], None)
    """
    found: list[str] = []
    for char in word:
        kind = category(char)
        if kind in MARKS and found:
            found[-1] += char
        elif kind[0] != "L":
            return None
        else:
            found.append(char)
    return found


def is_letter(name: str) -> bool:
    """Say whether a name is one letter, Greek ones by their names too."""
    return len(letters_of(name) or ()) == 1 or name in COMMANDS


@dataclass(frozen=True, slots=True)
class Evidence:
    """What a statement shows of its words, gathered before any is decided.

    Attributes:
        letters: letters that stand alone as names.
        shown: words that stand where no unit and no suffix can: they are names.
        spelled: the first spelling of each name that is spelled in more than one way.
        units: whether a unit of several letters is written.
    """

    letters: frozenset[str] = frozenset()
    shown: frozenset[str] = frozenset()
    spelled: tuple[tuple[str, str], ...] = ()
    units: bool = False

    def joined(self, other: Evidence) -> Evidence:
        """Return what both show."""
        return Evidence(
            self.letters | other.letters,
            self.shown | other.shown,
            tuple({**dict(other.spelled), **dict(self.spelled)}.items()),
            self.units or other.units,
        )


NOTHING = Evidence()


class Names(frozenset[str]):
    """Declared names, with what the statement they stand in shows of its words."""

    evidence: Evidence

    def __new__(cls, names: Iterable[str] = (), evidence: Evidence = NOTHING) -> Names:  # noqa: PYI034
        """Return names with evidence."""
        made = super().__new__(cls, names)
        made.evidence = evidence
        return made

    def __or__(self, other: AbstractSet[str]) -> Names:  # type: ignore[override]
        """Return more names with the same evidence."""
        return Names({*self, *other}, self.evidence)

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle with the evidence."""
        return Names, (tuple(self), self.evidence)


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """What a word may be.

    Attributes:
        declared: the declared names.
        quantities: names of quantities, with dots.
        is_unit: says which words are units; None reads no units.
        free: whether a word that is not declared is a new name, as in formulas alone.
        calc: whether a suffix behind digits is one wherever no name is declared so.
        by_key: declared names by the spelling that tells them apart.
        longest: the length of the longest name.
    """

    declared: frozenset[str]
    quantities: frozenset[str] = frozenset()
    is_unit: Callable[[str], bool] | None = None
    free: bool = False
    calc: bool = False
    by_key: dict[str, str] = field(init=False, default_factory=dict)
    longest: int = field(init=False, default=0)

    def __post_init__(self) -> None:
        """Know each name by its key, and measure them once."""
        object.__setattr__(self, "by_key", {key(name): name for name in sorted(self.declared)})
        object.__setattr__(self, "longest", max(map(len, self.declared), default=0))

    def declares(self, word: str) -> bool:
        """Say whether a word is a declared name, in any spelling."""
        return word in self.declared or key(word) in self.by_key

    def spelled(self, word: str) -> str:
        """Return a name in the spelling that is declared.

        >>> Vocabulary(frozenset({"β"})).spelled("beta")
        'β'
        """
        return word if word in self.declared else self.by_key.get(key(word), word)

    def no_quantity(self, dotted: str) -> SymacctError:
        """Return the error for a word with dots that is no quantity."""
        if self.quantities:
            return unknown("quantity", dotted[:64], self.quantities)
        what = f"{dotted[:64]} is a quantity of a graph, and there is no graph"
        return FormulaError(what, expected="names and numbers", got=dotted[:64], fix="name a graph in front")


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


def split(word: str, known: Vocabulary) -> list[str] | None:
    """Return a word as a product of declared names, the longest first; None where it is none.

    >>> split("abB", Vocabulary(frozenset({"a", "b", "ab", "B"})))
    ['ab', 'B']
    """
    best: list[str | None] = [None] * len(word) + [""]
    for start in reversed(range(len(word))):
        for size in range(min(known.longest, len(word) - start), 0, -1):
            if best[start + size] is not None and known.declares(word[start : start + size]):
                best[start] = word[start : start + size]
                break
    if best[0] is None:
        return None
    parts: list[str] = []
    while (place := sum(map(len, parts))) < len(word):
        parts.append(best[place] or word[place:])
    return parts


def reach(word: str, known: Vocabulary) -> int:
    """Return how far the longest beginning that is a product of declared letters goes."""
    end = 0
    for letter in letters_of(word) or ():
        if not known.declares(letter):
            break
        end += len(letter)
    return end


def unknown_word(word: str, known: Vocabulary) -> tuple[int, SymacctError]:
    """Return the error for a word that is no product of declared names, and where in the word it is."""
    names = known.declared | {name for name in known.quantities if "." not in name}
    skipped = 0
    if not get_close_matches(word[:64], names, n=1, cutoff=NEAR):
        skipped = reach(word, known)
    error = unknown("name", word[skipped:][:64], known.declared)
    if error.fix is None and word[skipped:] in {"e", "pi", "exp"}:
        error.fix = "no letter is a constant here; write a number"
    return skipped, error
