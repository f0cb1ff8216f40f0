"""Text into tokens: numbers, declared names, functions, quantities, units, signs, each with its place."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Literal

from symacct.errors import FormulaError, SymacctError, UnitError, unknown
from symacct.syntax.figures import MOST_DIGITS, SUFFIXES
from symacct.syntax.source import BAR, BAR_END, CLOSE, FUNCTION, GREEK, NAME, Source, caret
from symacct.syntax.words import FUNCTIONS, Vocabulary, dotted_at, split, unknown_word, word_at
from symacct.units import long_name, meant, resolve

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

RAISED = dict(zip("⁰¹²³⁴⁵⁶⁷⁸⁹⁻", "0123456789-", strict=True))
NUMBER = re.compile(r"[0-9]+(?:_[0-9]+)*(?:\.[0-9]+(?:_[0-9]+)*)?|\.[0-9]+")
TAIL = re.compile(r"[eE][+-]?[0-9]+(?![^\W\d]|[.0-9])")
CALL = re.compile(r"\s*\(")
SUFFIX = re.compile(rf"({'|'.join(sorted(SUFFIXES, key=len, reverse=True))})(?=\s+{NAME}?([^\W\d]\w*))")
GRAPH = re.compile(r"\(\s*([^\W\d][\w./-]*)\s*\)")
CHOICES = re.compile(r"\(\s*([a-z_]+\s*=[^()<>]*?)\s*\)")
ROUNDED = re.compile(r"\(\s*([^\W\d][\w-]*)\s*,\s*([^(),]*?)\s*\)")
BELOW = re.compile(r"\s*/\s*[\(" + NAME + r"]?([^\W\d]\w*)")
SIGNS = ("**", *"+-*/^(),[]⌈⌉⌊⌋", BAR, BAR_END)
KEEPS_UNIT = frozenset({"**", *"*/^()"})

Kind = Literal["number", "name", "function", "quantity", "unit", "sign", "raised", "end"]


@dataclass(frozen=True, slots=True)
class Token:
    """One token; `text` is a name, a sign, or the digits of a number; `value` the number."""

    kind: Kind
    text: str
    start: int
    end: int
    value: Fraction = Fraction(0)
    spaced: bool = False


class Tokenizer:
    """Splits one formula, with the declared names.

    A word is a declared name, a quantity, or a product of declared names, the longest match first. A function
    is one where a bracket follows, unless its name is declared. A unit is one only where `is_unit` is given,
    after a number and a space, or in a quotient with another unit.
    """

    def __init__(
        self,
        text: str,
        names: Collection[str],
        is_unit: Callable[[str], bool] | None = None,
        quantities: Collection[str] = (),
        shown: str | None = None,
    ) -> None:
        """Bring the text into plain form, and keep the names."""
        self.source = Source(text, shown)
        self.plain = self.source.plain
        self.names = Vocabulary(frozenset(names), frozenset(quantities), is_unit)
        self.tokens: list[Token] = []
        self.in_unit = False
        self.doubtful: dict[str, str] = {}
        self.beaten: dict[str, str] = {}
        self.tens: dict[str, str] = {}

    def error(
        self, what: str, place: int, *, expected: str, got: str, fix: str | None = None
    ) -> FormulaError:
        """Return an error that points at a place of the plain form."""
        return self.source.error(what, self.source.start(place), expected=expected, got=got, fix=fix)

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
        end = self.source.start(len(self.plain))
        self.tokens.append(Token("end", "", end, end))
        return self.tokens

    def step(self, place: int, *, spaced: bool) -> int:
        """Read one token or word at a place; return the place behind it."""
        char = self.plain[place]
        word = word_at(self.plain, place)
        if NUMBER.match(self.plain, place):
            end = self.number(place, spaced=spaced)
        elif char in RAISED:
            end = self.raised(place)
        elif char == "√":
            end = self.add("function", "√", place, place + 1)
        elif char in {NAME, FUNCTION}:
            end = self.marked(place, spaced=spaced)
        elif word:
            end = self.word(word, place, spaced=spaced)
        elif char in "%$" and self.names.is_unit:
            end = self.add("unit", char, place, place + 1, spaced=spaced)
        else:
            end = self.sign(place)
        return end

    def sign(self, place: int) -> int:
        """Read an operator or a bracket."""
        for sign in SIGNS:
            if self.plain.startswith(sign, place):
                raised = bool(self.tokens) and self.tokens[-1].text == "^"
                self.in_unit = self.in_unit and (sign in KEEPS_UNIT or (sign == "-" and raised))
                return self.add("sign", "^" if sign == "**" else sign, place, place + len(sign))
        what, got = f"{self.shown(place)!r} has no meaning in a formula", self.shown(place)
        raise self.error(what, place, expected="numbers, names, + - * / ^ and brackets", got=got)

    def shown(self, place: int) -> str:
        """Return the character at a place as it was written."""
        return self.source.text[self.source.start(place) :][:1]

    def add(self, kind: Kind, text: str, start: int, end: int, *, spaced: bool = False) -> int:
        """Append a token; return the place behind it."""
        if kind != "sign":
            self.in_unit = kind == "unit"
        first, last = self.source.start(start), self.source.end(end)
        self.tokens.append(Token(kind, text, first, last, spaced=spaced))
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
        if tail and not any(name[0] == tail.group()[0] for name in self.names.declared):
            exponent = int(tail.group()[1:]) if len(tail.group()) < 6 else MOST_DIGITS + 1
            if abs(exponent) > MOST_DIGITS:
                expected = f"an exponent of at most {MOST_DIGITS}"
                raise self.error("a number is too large", place, expected=expected, got=tail.group()[:20])
            value, end = value * Fraction(10) ** exponent, tail.end()
            if digits.strip("0") == "1" and digits != "1":
                self.tens[self.plain[place:end]] = f"1e{exponent + len(digits) - 1}"
        suffix = SUFFIX.match(self.plain, end) if self.names.is_unit else None
        if suffix and self.names.is_a_unit(suffix[2]):
            value, end = value * SUFFIXES[suffix[1]], suffix.end(1)
        self.in_unit = self.in_unit and bool(self.tokens) and self.tokens[-1].text in {"^", "-"}
        first, last = self.source.start(place), self.source.end(end)
        self.tokens.append(Token("number", digits, first, last, value, spaced))
        return end

    def raised(self, place: int) -> int:
        """Read superscript digits as an exponent."""
        end = place
        while end < len(self.plain) and self.plain[end] in RAISED:
            end += 1
        written = self.plain[place:end]
        digits = "".join(RAISED[char] for char in written)
        if not digits.removeprefix("-").isdecimal() or len(digits) > MOST_DIGITS:
            raise self.error("an exponent is no integer", place, expected="an integer", got=written[:20])
        first, last = self.source.start(place), self.source.end(end)
        self.tokens.append(Token("raised", digits, first, last, Fraction(int(digits))))
        return end

    def marked(self, place: int, *, spaced: bool) -> int:
        """Read a word that LaTeX keeps in one piece."""
        end = self.plain.index(CLOSE, place)
        word = self.plain[place + 1 : end]
        called = CALL.match(self.plain, end + 1) is not None
        if self.plain[place] == FUNCTION or (called and word in FUNCTIONS and word not in self.names.names):
            return self.add("function", word, place, end + 1, spaced=spaced)
        if word in self.names.names:
            return self.add("name", self.names.spelled(word), place, end + 1, spaced=spaced)
        if word in self.names.quantities:
            name, behind = self.quantity(word, end + 1)
            return self.add("quantity", name, place, behind, spaced=spaced)
        if self.unit_stands(word, end + 1, spaced=spaced):
            return self.add("unit", word, place, end + 1, spaced=spaced)
        raise self.unknown(word, place + 1)

    def word(self, word: str, place: int, *, spaced: bool) -> int:
        """Read a word as a declared name, a quantity, a function, a unit, or a product of names."""
        end = place + len(word)
        called = CALL.match(self.plain, end) is not None
        if word not in self.names.names:
            kind, name, end = self.kind_of(word, place, end, called=called, spaced=spaced)
            if kind is not None:
                return self.add(kind, name, place, end, spaced=spaced)
        elif self.names.is_unit and self.after_unit(spaced=spaced) and self.names.is_unit(word):
            self.beaten[word] = long_name(word)
        parts, unsure = split(word, self.names, called=called)
        if parts is None:
            raise self.unit_refused(word, place, spaced=spaced) or self.unknown(word, place)
        if unsure:
            self.doubtful[word] = "*".join(parts)
        for number, part in enumerate(parts):
            one: Kind = "name" if part in self.names.names else "function"
            name = self.names.spelled(part)
            self.add(one, name, place, place + len(part), spaced=spaced and number == 0)
            place += len(part)
        return end

    def kind_of(
        self, word: str, place: int, end: int, *, called: bool, spaced: bool
    ) -> tuple[Kind | None, str, int]:
        """Return what a word is that is no declared name, its name, and where it ends; None for a product."""
        dotted = dotted_at(self.plain, place)
        if dotted in self.names.quantities:
            return "quantity", *self.quantity(dotted, place + len(dotted))
        if "." in dotted and self.names.quantities:
            raise self.place_at(unknown("quantity", dotted[:64], self.names.quantities), place)
        function = GREEK.get(word, word)
        if called and function in FUNCTIONS:
            return "function", function, end
        if self.unit_stands(word, end, spaced=spaced):
            return "unit", word, end
        return ("sign", "/", end) if word == "per" and self.in_unit else (None, word, end)

    def quantity(self, name: str, end: int) -> tuple[str, int]:
        """Return a quantity with what stands in brackets behind it, and where it ends.

        That is the graph that it is of, the choices, or the number format and the number that is rounded.
        """
        if choices := CHOICES.match(self.plain, end):
            return f"{name}({choices[1]})", choices.end()
        if rounded := ROUNDED.match(self.plain, end):
            return f"{name}({rounded[1]}, {rounded[2]})", rounded.end()
        graph = GRAPH.match(self.plain, end)
        if graph and graph[1] not in self.names.names and graph[1] not in self.names.quantities:
            name, end = f"{name}({graph[1]})", graph.end()
        return name, end

    def after_unit(self, *, spaced: bool) -> bool:
        """Say whether a unit could stand here."""
        return self.in_unit or self.after_number(spaced=spaced)

    def after_number(self, *, spaced: bool) -> bool:
        """Say whether a number and a space stand before."""
        if not spaced or not self.tokens:
            return False
        return self.tokens[-1].kind in {"number", "raised"} or self.after_power()

    def after_power(self) -> bool:
        """Say whether a number with a number in brackets above it stands before: ``10^{12}``."""
        last = [token.text if token.kind == "sign" else token.kind for token in self.tokens[-6:]]
        return last[-5:] == ["number", "^", "(", "number", ")"] or last == [
            "number",
            "^",
            "(",
            "-",
            "number",
            ")",
        ]

    def unit_stands(self, word: str, end: int, *, spaced: bool) -> bool:
        """Say whether a word is read as a unit here; a bare ``B`` is one only in a quotient of units."""
        if not self.names.is_unit or not self.after_unit(spaced=spaced):
            return False
        if word == "B":
            below = BELOW.match(self.plain, end)
            return self.in_unit or bool(below and self.names.is_a_unit(below[1]))
        return self.names.is_a_unit(word)

    def unit_refused(self, word: str, place: int, *, spaced: bool) -> SymacctError | None:
        """Return why a word that stands where a unit may is refused as one; None where it is none at all."""
        if not self.names.is_unit or not self.after_unit(spaced=spaced):
            return None
        if word in SUFFIXES and (apart := self.suffix_apart(word, place)):
            return apart
        try:
            resolve(word)
        except UnitError as error:
            if error.what.startswith("unknown unit") and error.fix is None:
                return None
            if good := meant(word):
                start, text = self.source.start(place), self.source.shown
                line = f"{text[:start]}{good}{text[start + len(word) :]}".strip()
                error = UnitError(error.what, expected=error.expected, got=error.got, fix=f"write {line}")
            return self.place_at(error, place)
        return None

    def suffix_apart(self, word: str, place: int) -> SymacctError | None:
        """Return the error for a suffix that does not stand directly behind its number, before a unit."""
        if self.tokens[-1].kind != "number":
            return None
        digits = self.tokens[-1].text
        fix = f"write {digits}{word} directly behind the number and before a unit: {digits}{word} parameter"
        if word == "B":
            fix = f"write {digits} byte, or {digits}B before a unit: {digits}B parameter"
        what = f"{word!r} alone is no unit"
        return self.error(what, place, expected="a unit, or a suffix without a space", got=word, fix=fix)

    def unknown(self, word: str, place: int) -> SymacctError:
        """Return the error for a word that is no product of declared names."""
        digits = re.search(r"[0-9]", word)
        if digits and split(word[: digits.start()], self.names, called=False)[0]:
            what, name = "a number stands directly behind a name", word[: digits.start()]
            number = word[digits.start() :]
            fix = f"write {name[-1]}^{number} or {number}*{name[-1]}" if number.isdecimal() else None
            return self.error(
                what, place + digits.start(), expected="an operator between them", got=word[:64], fix=fix
            )
        if self.behind_product(word, place):
            what = "a unit stands behind something that is no number"
            fix = f"write * 1 {word}, or the unit behind the number in front: 6 {word}*..."
            return self.error(what, place, expected="a number and a space before a unit", got=word, fix=fix)
        skipped, error = unknown_word(word, self.names)
        if self.beaten and self.names.is_a_unit(word):
            short, long = next(iter(self.beaten.items()))
            error.fix = f"{short} is a name here: write {long} for the unit"
        return self.place_at(error, place + skipped)

    def behind_product(self, word: str, place: int) -> bool:
        """Say whether a word is a unit that stands, after a space, behind a name or a bracket."""
        before = self.plain[:place].rstrip()
        behind = len(before) < place and (before[-1:].isalpha() or before[-1:] == ")")
        return len(word) > 1 and behind and not self.beaten and self.names.is_a_unit(word)

    def place_at(self, error: SymacctError, place: int) -> SymacctError:
        """Return an error with a caret under a place."""
        return error.at(caret(self.source.shown, self.source.start(place)))
