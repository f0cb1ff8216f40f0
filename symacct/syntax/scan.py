"""Text into pieces, before anything is decided: numbers, words, raised numbers, signs, quantities.

What a word is depends on all that stands in a statement; so a word is only cut out here.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Literal

from symacct.syntax.figures import MOST_DIGITS
from symacct.syntax.source import APART, BAR, BAR_END, CLOSE, FUNCTION, NAME
from symacct.syntax.words import dotted_at, word_at

if TYPE_CHECKING:
    from symacct.syntax.source import Source
    from symacct.syntax.words import Vocabulary

RAISED = dict(zip("⁰¹²³⁴⁵⁶⁷⁸⁹⁻", "0123456789-", strict=True))
NUMBER = re.compile(r"[0-9]+(?:_[0-9]+)*(?:\.[0-9]+(?:_[0-9]+)*)?|\.[0-9]+")
TAIL = re.compile(r"[eE][+-]?[0-9]+")
GRAPH = re.compile(r"\(\s*([^\W\d][\w./-]*)\s*\)")
CHOICES = re.compile(r"\(\s*([a-z_]+\s*=[^()<>]*?)\s*\)")
ROUNDED = re.compile(r"\(\s*([^\W\d][\w-]*)\s*,\s*([^(),]*?)\s*\)")
SIGNS = ("**", "//", *"+-*/^(),[]⌈⌉⌊⌋!", BAR, BAR_END)
TYPED = frozenset("([（［")
OPENING = frozenset({"(", "[", "⌈", "⌊", BAR})
CLOSING = frozenset({")", "]", "⌉", "⌋", BAR_END})

Kind = Literal["number", "word", "quantity", "call", "percent", "raised", "sign", "end"]


@dataclass(frozen=True, slots=True)
class Raw:
    r"""One piece of a text.

    Attributes:
        kind: what it is; ``call`` is a function that LaTeX or a root sign says is one.
        text: the word, the sign, or the digits.
        place: where it begins in the plain form.
        end: where it ends there.
        spaced: whether a space stands before it.
        upright: whether LaTeX keeps it in one piece: a word in ``\mathrm``, a Greek letter.
        value: the number.
        typed: whether a sign was written as such; a fraction in LaTeX makes brackets.
    """

    kind: Kind
    text: str
    place: int
    end: int
    spaced: bool = False
    upright: bool = False
    value: Fraction = Fraction(0)
    typed: bool = True

    def is_sign(self, *signs: str) -> bool:
        """Say whether it is one of these signs."""
        return self.kind == "sign" and self.text in signs


def scan(source: Source, known: Vocabulary) -> list[Raw]:
    """Return the pieces of a text, with an end behind them.

    Raises:
        FormulaError: a character has no meaning, or a number is too long.

    >>> from symacct.syntax.source import Source
    >>> from symacct.syntax.words import Vocabulary
    >>> [one.text for one in scan(Source("2BD^2 + 1e3 byte"), Vocabulary(frozenset()))]
    ['2', 'BD', '^', '2', '+', '1', 'byte', '']
    """
    return _Scanner(source, known).run()


class _Scanner:
    def __init__(self, source: Source, known: Vocabulary) -> None:
        self.source = source
        self.plain = source.plain
        self.known = known
        self.found: list[Raw] = []

    def run(self) -> list[Raw]:
        place = 0
        while True:
            before = place
            while place < len(self.plain) and self.plain[place].isspace():
                place += 1
            if place == len(self.plain):
                break
            if self.plain[place] == APART:
                place += 1
                continue
            made = self.step(place, spaced=place > before or self.was_spaced(before))
            self.found.append(made)
            place = made.end
        end = len(self.plain)
        return [*self.found, Raw("end", "", end, end)]

    def was_spaced(self, place: int) -> bool:
        """Say whether a space and a mark stand before a place: the mark is none."""
        return self.plain[place - 1 : place] == APART and self.plain[place - 2 : place - 1].isspace()

    def step(self, place: int, *, spaced: bool) -> Raw:
        """Return the piece at a place."""
        char = self.plain[place]
        if NUMBER.match(self.plain, place):
            return self.number(place, spaced=spaced)
        if char in RAISED:
            return self.raised(place)
        if char == "√" or (char in "%$" and self.known.is_unit):
            return Raw("call" if char == "√" else "percent", char, place, place + 1, spaced)
        if char in {NAME, FUNCTION}:
            return self.marked(place, spaced=spaced)
        found = self.word if word_at(self.plain, place) else self.sign
        return found(place, spaced=spaced)

    def number(self, place: int, *, spaced: bool) -> Raw:
        """Return a number, with a power of ten."""
        match = NUMBER.match(self.plain, place)
        assert match is not None
        digits, end = match.group(), match.end()
        if len(digits) > MOST_DIGITS:
            what, expected = "a number is too long", f"at most {MOST_DIGITS} digits"
            raise self.fail(what, place, expected, f"{len(digits)} digits")
        value = Fraction(digits.replace("_", ""))
        tail = TAIL.match(self.plain, end)
        if tail:
            exponent = int(tail.group()[1:]) if len(tail.group()) < 6 else MOST_DIGITS + 1
            if abs(exponent) > MOST_DIGITS:
                what, expected = "a number is too large", f"an exponent of at most {MOST_DIGITS}"
                raise self.fail(what, place, expected, tail.group()[:20])
            value, end = value * Fraction(10) ** exponent, tail.end()
        return Raw("number", digits, place, end, spaced, value=value)

    def raised(self, place: int) -> Raw:
        """Return superscript digits."""
        end = place
        while end < len(self.plain) and self.plain[end] in RAISED:
            end += 1
        written = self.plain[place:end]
        digits = "".join(RAISED[char] for char in written)
        if not digits.removeprefix("-").isdecimal() or len(digits) > MOST_DIGITS:
            raise self.fail("an exponent is no integer", place, "an integer", written[:20])
        return Raw("raised", digits, place, end, value=Fraction(int(digits)))

    def marked(self, place: int, *, spaced: bool) -> Raw:
        """Return a word that LaTeX keeps in one piece."""
        end = self.plain.index(CLOSE, place)
        word = self.plain[place + 1 : end]
        if self.plain[place] == FUNCTION:
            return Raw("call", word, place, end + 1, spaced)
        if word in self.known.quantities and not self.known.declares(word):
            name, behind = self.quantity(word, end + 1)
            return Raw("quantity", name, place, behind, spaced, upright=True)
        return Raw("word", word, place, end + 1, spaced, upright=True)

    def word(self, place: int, *, spaced: bool) -> Raw:
        """Return a word, or a quantity with what stands in brackets behind it."""
        word, dotted = word_at(self.plain, place), dotted_at(self.plain, place)
        upright = self.source.upright[place]
        known = self.known
        if dotted in known.quantities and not (dotted == word and known.declares(word)):
            name, end = self.quantity(dotted, place + len(dotted))
            return Raw("quantity", name, place, end, spaced, upright)
        if "." in dotted and not known.declares(word):
            raise known.no_quantity(dotted).at(self.source.caret(place))
        return Raw("word", word, place, place + len(word), spaced, upright)

    def quantity(self, name: str, end: int) -> tuple[str, int]:
        """Return a quantity with what stands in brackets behind it, and where it ends.

        That is the graph or the region that it is of, the choices, or the number format and the number that
        is rounded; a declared name in brackets multiplies.
        """
        if choices := CHOICES.match(self.plain, end):
            return f"{name}({choices[1]})", choices.end()
        if rounded := ROUNDED.match(self.plain, end):
            return f"{name}({rounded[1]}, {rounded[2]})", rounded.end()
        graph = GRAPH.match(self.plain, end)
        if graph and not self.known.declares(graph[1]) and graph[1] not in self.known.quantities:
            name, end = f"{name}({graph[1]})", graph.end()
        return name, end

    def sign(self, place: int, *, spaced: bool) -> Raw:
        """Return an operator or a bracket."""
        for sign in SIGNS:
            if self.plain.startswith(sign, place):
                typed = self.source.text[self.source.start(place)] in TYPED
                text = "^" if sign == "**" else sign
                return Raw("sign", text, place, place + len(sign), spaced, typed=typed)
        got = self.source.text[self.source.start(place) :][:1]
        what, expected = f"{got!r} has no meaning in a formula", "numbers, names, + - * / ^ and brackets"
        raise self.fail(what, place, expected, got)

    def fail(self, what: str, place: int, expected: str, got: str) -> Exception:
        return self.source.error(what, self.source.start(place), expected=expected, got=got)
