"""Text into tokens: numbers, declared names, functions, units, signs, each with its place."""

from __future__ import annotations

import re
from dataclasses import dataclass
from difflib import get_close_matches
from fractions import Fraction
from typing import TYPE_CHECKING, Literal
from unicodedata import category, east_asian_width, normalize

from symacct.errors import FormulaError, SymacctError, unknown
from symacct.syntax.figures import MOST_DIGITS, SUFFIXES

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

LONGEST_TEXT = 10_000
SHOWN = 72
MARGIN = 12
FUNCTIONS = ("abs", "ceil", "ceiling", "floor", "log", "max", "min", "sqrt")
WIDE = {chr(code): chr(code - 0xFEE0) for code in range(0xFF01, 0xFF5F)} | {"\u3000": " "}
SIGNS = WIDE | dict.fromkeys("×·⋅∙", "*") | dict.fromkeys("−–‐", "-") | {"÷": "/", "，": ",", "、": ","}
RAISED = dict(zip("⁰¹²³⁴⁵⁶⁷⁸⁹⁻", "0123456789-", strict=True))
NUMBER = re.compile(r"[0-9]+(?:_[0-9]+)*(?:\.[0-9]+(?:_[0-9]+)*)?|\.[0-9]+")
TAIL = re.compile(r"[eE][+-]?[0-9]+(?![^\W\d]|[.0-9])")
NEAR = 0.75
CALL = re.compile(r"\s*\(")
WORD_CATEGORIES = {"Lu", "Ll", "Lt", "Lm", "Lo", "Mn", "Mc", "Nd"}
SUFFIX = re.compile(rf"({'|'.join(sorted(SUFFIXES, key=len, reverse=True))})(?=\s+([^\W\d]\w*))")

Kind = Literal["number", "name", "function", "unit", "sign", "raised", "end"]


@dataclass(frozen=True, slots=True)
class Token:
    """One token; `text` is a name, a sign, or the digits of a number; `value` the number."""

    kind: Kind
    text: str
    start: int
    end: int
    value: Fraction = Fraction(0)
    spaced: bool = False


def word_at(text: str, start: int) -> str:
    """Return the longest run of letters, digits and ``_`` at a place, or nothing where none begins.

    >>> word_at("2BD²", 1)
    'BD'
    """
    end = start
    while end < len(text) and (text[end] == "_" or category(text[end]) in WORD_CATEGORIES):
        end += 1
    return text[start:end] if end > start and category(text[start]) not in {"Nd", "Mn", "Mc"} else ""


def caret(text: str, start: int) -> str:
    """Return the part of a text around a place, with a caret under the place on a second line.

    >>> print("  where     " + caret("6*N*X", 4))
      where     6*N*X
                    ^
    """
    first = max(0, min(start - SHOWN // 2, len(text) - SHOWN))
    shown = "".join(char if char.isprintable() else " " for char in text[first : first + SHOWN])
    ahead = sum(2 if east_asian_width(char) in "WF" else 1 for char in shown[: start - first])
    return f"{shown}\n{' ' * (MARGIN + ahead)}^"


class Tokenizer:
    """Splits one formula, with the declared names.

    A word is a declared name, or a product of declared names, the longest match first. A function is one
    where a bracket follows, unless its name is declared. A unit is one only where `is_unit` is given, after a
    number or in one term with another unit.
    """

    def __init__(
        self, text: str, names: Collection[str], is_unit: Callable[[str], bool] | None = None
    ) -> None:
        """Keep the text, its plain form of the same length, and the names."""
        if not isinstance(text, str) or len(text) > LONGEST_TEXT:
            got = f"{len(text)} characters" if isinstance(text, str) else type(text).__name__
            what = "a formula is a text of bounded length"
            raise FormulaError(what, expected=f"at most {LONGEST_TEXT} characters", got=got)
        self.text = normalize("NFC", text)
        self.plain = "".join(SIGNS.get(char, char) for char in self.text)
        self.names = frozenset(names)
        self.is_unit = is_unit
        self.longest = max(map(len, self.names), default=0)
        self.tokens: list[Token] = []
        self.in_unit = False
        self.doubtful: list[str] = []

    def error(
        self, what: str, start: int, *, expected: str, got: str, fix: str | None = None
    ) -> FormulaError:
        """Return an error that points at a place."""
        return FormulaError(what, where=caret(self.text, start), expected=expected, got=got, fix=fix)

    def run(self) -> list[Token]:
        """Return all tokens, with an end token behind them."""
        place = 0
        while True:
            before = place
            while place < len(self.plain) and self.plain[place].isspace():
                place += 1
            if place == len(self.plain):
                break
            place = self.step(place, spaced=place > before)
        self.tokens.append(Token("end", "", len(self.plain.rstrip()), len(self.plain)))
        return self.tokens

    def step(self, place: int, *, spaced: bool) -> int:
        """Read one token or word at a place; return the place behind it."""
        char = self.plain[place]
        if NUMBER.match(self.plain, place):
            return self.number(place, spaced=spaced)
        if char in RAISED:
            return self.raised(place)
        if char == "√" and "sqrt" not in self.names:
            return self.add("function", "sqrt", place, place + 1)
        if word := word_at(self.plain, place):
            return self.word(word, place, spaced=spaced)
        if char in "%$" and self.is_unit:
            self.in_unit = True
            return self.add("unit", char, place, place + 1, spaced=spaced)
        for sign in ("**", *"+-*/^(),"):
            if self.plain.startswith(sign, place):
                self.in_unit = self.in_unit and sign not in "+-,"
                return self.add("sign", "^" if sign == "**" else sign, place, place + len(sign))
        what = f"{char!r} has no meaning in a formula"
        raise self.error(what, place, expected="numbers, names, + - * / ^ and brackets", got=char)

    def add(self, kind: Kind, text: str, start: int, end: int, *, spaced: bool = False) -> int:
        """Append a token; return the place behind it."""
        self.tokens.append(Token(kind, text, start, end, spaced=spaced))
        return end

    def number(self, place: int, *, spaced: bool) -> int:
        """Read a number, with an exponent or (before a unit) a suffix."""
        match = NUMBER.match(self.plain, place)
        assert match is not None
        digits, end = match.group(), match.end()
        if len(digits) > MOST_DIGITS:
            expected = f"at most {MOST_DIGITS} digits"
            raise self.error("a number is too long", place, expected=expected, got=f"{len(digits)} digits")
        value = Fraction(digits.replace("_", ""))
        tail = TAIL.match(self.plain, end)
        if tail and not any(name[0] == tail.group()[0] for name in self.names):
            exponent = int(tail.group()[1:]) if len(tail.group()) < 6 else MOST_DIGITS + 1
            if abs(exponent) > MOST_DIGITS:
                expected = f"an exponent of at most {MOST_DIGITS}"
                raise self.error("a number is too large", place, expected=expected, got=tail.group()[:20])
            value, end = value * Fraction(10) ** exponent, tail.end()
        suffix = SUFFIX.match(self.plain, end) if self.is_unit else None
        if suffix and self.is_unit and suffix[2] not in self.names and self.is_unit(suffix[2]):
            value, end = value * SUFFIXES[suffix[1]], suffix.end(1)
        self.tokens.append(Token("number", digits, place, end, value, spaced))
        return end

    def raised(self, place: int) -> int:
        """Read superscript digits as an exponent."""
        end = place
        while end < len(self.plain) and self.plain[end] in RAISED:
            end += 1
        digits = "".join(RAISED[char] for char in self.plain[place:end])
        if not digits.removeprefix("-").isdecimal() or len(digits) > MOST_DIGITS:
            raise self.error(
                "an exponent is no integer", place, expected="an integer", got=self.text[place:end][:20]
            )
        self.tokens.append(Token("raised", digits, place, end, Fraction(int(digits))))
        return end

    def word(self, word: str, place: int, *, spaced: bool) -> int:
        """Read a word as a declared name, a function, a unit, or a product of names."""
        end = place + len(word)
        called = CALL.match(self.plain, end) is not None
        if word not in self.names:
            if called and word in FUNCTIONS:
                return self.add("function", word, place, end, spaced=spaced)
            after_number = bool(self.tokens) and self.tokens[-1].kind == "number" and spaced
            allowed = self.is_unit and (after_number or self.in_unit)
            if allowed and self.is_unit and (self.is_unit(word) or (word == "B" and self.in_unit)):
                self.in_unit = True
                return self.add("unit", word, place, end, spaced=spaced)
        parts = self.split(word, called=called)
        if parts is None:
            raise self.unknown(word, place)
        for number, part in enumerate(parts):
            kind: Kind = "name" if part in self.names else "function"
            self.add(kind, part, place, place + len(part), spaced=spaced and number == 0)
            place += len(part)
        return end

    def split(self, word: str, *, called: bool) -> list[str] | None:
        """Return a word as declared names, longest first; before a bracket a function may stand last."""
        best: list[str | None] = [None] * len(word) + [""]
        ways = [0] * len(word) + [1]
        for start in reversed(range(len(word))):
            for size in range(min(self.longest, len(word) - start), 0, -1):
                if ways[start + size] and word[start : start + size] in self.names:
                    best[start] = best[start] or word[start : start + size]
                    ways[start] = min(2, ways[start] + ways[start + size])
            if called and word[start:] in FUNCTIONS and word[start:] not in self.names:
                best[start], ways[start] = word[start:], 1
        if not ways[0]:
            return None
        if ways[0] > 1:
            self.doubtful.append(word)
        parts, start = [], 0
        while start < len(word):
            part = best[start] or word[start:]
            parts.append(part)
            start += len(part)
        return parts

    def reach(self, word: str) -> int:
        """Return how far the longest beginning that is a product of declared names goes."""
        ends = {0}
        for start in range(len(word)):
            if start in ends:
                sizes = range(1, min(self.longest, len(word) - start) + 1)
                ends.update(start + size for size in sizes if word[start : start + size] in self.names)
        return max(ends)

    def unknown(self, word: str, place: int) -> SymacctError:
        """Return the error for a word that is no product of declared names."""
        digits = re.search(r"[0-9]", word)
        if digits and self.split(word[: digits.start()], called=False):
            what, name = "a number stands directly behind a name", word[: digits.start()]
            number = word[digits.start() :]
            fix = f"write {name[-1]}^{number} or {number}*{name[-1]}" if number.isdecimal() else None
            return self.error(
                what, place + digits.start(), expected="an operator between them", got=word[:64], fix=fix
            )
        if not get_close_matches(word[:64], self.names, n=1, cutoff=NEAR):
            reach = self.reach(word)
            word, place = word[reach:], place + reach
        return unknown("name", word[:64], self.names, where=caret(self.text, place))
