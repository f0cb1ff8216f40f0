"""Pieces into tokens: each word is decided by what is declared, and by what the whole statement shows of it.

A word is a declared name, a function, a quantity, a unit in a unit's place, a suffix of a number, a product of
letters that are names, or a new name; what could be two of these is refused, with each reading written out.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Literal

from symacct.errors import FormulaError, SymacctError, UnitError
from symacct.printers.latex import COMMANDS
from symacct.syntax.context import (
    Context,
    context_is_unit,
    factors_beside,
    gather,
    is_called,
    is_suffix,
    may_be_unit,
    others_beside,
    pieces_of,
)
from symacct.syntax.figures import SUFFIXES
from symacct.syntax.refusals import AmbiguousError, Edit, ambiguous
from symacct.syntax.scan import Raw, scan
from symacct.syntax.source import Source
from symacct.syntax.words import (
    FUNCTIONS,
    KEYWORDS,
    NOTHING,
    Evidence,
    Names,
    Vocabulary,
    is_letter,
    key,
    letters_of,
    split,
    unknown_word,
)
from symacct.units import BASES, is_unit, long_name, meant, read_unit, resolve

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from symacct.syntax.context import Position

MOST_LETTERS = 4
"""So many letters without a declaration in one run of LaTeX are a word that was not set upright."""
COUNTED = {"params": "parameter", "tokens": "token"}
POWERS = {"k": 3, "M": 6, "B": 9, "T": 12}

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
    """Splits one formula of a statement.

    Args:
        text: the formula.
        names: the declared names; `Names` carry what the rest of the statement shows.
        is_unit: says which words are units; None reads no units.
        quantities: names of quantities.
        shown: the text that carets are drawn under, of which the formula is a part at the same place.
        free: whether words that are not declared are new names.
        calc: whether suffixes are such wherever a number stands before them.
        latex: whether the text stands between dollar signs.
    """

    def __init__(
        self,
        text: str,
        names: Collection[str],
        is_unit: Callable[[str], bool] | None = None,
        quantities: Collection[str] = (),
        shown: str | None = None,
        *,
        free: bool = False,
        calc: bool = False,
        latex: bool = False,
    ) -> None:
        """Bring the text into plain form, cut it, and gather what it shows."""
        self.source = Source(text, shown, latex=latex)
        self.latex = self.source.latex
        self.known = Vocabulary(frozenset(names), frozenset(quantities), is_unit, free, calc)
        self.raws = scan(self.source, self.known)
        self.evidence: Evidence = names.evidence if isinstance(names, Names) else NOTHING
        self.evidence = self.evidence.joined(gather(self.raws, self.known, latex=self.latex))
        self.tokens: list[Token] = []
        self.context = Context()
        self.beaten: dict[str, str] = {}
        self.meanings: dict[str, str] = {}

    def run(self) -> list[Token]:
        """Return all tokens, with an end token behind them."""
        for place, raw in enumerate(self.raws):
            if raw.kind == "word":
                self.word(place)
            elif raw.kind == "quantity":
                self.quantity(place)
            elif raw.kind == "call":
                self.add("function", raw.text, raw)
            elif raw.kind == "percent":
                self.add("unit", raw.text, raw)
            else:
                self.add(raw.kind, raw.text, raw)
        return self.tokens

    def add(self, kind: Kind, text: str, raw: Raw) -> None:
        """Append a token."""
        self.context.take(kind, text)
        start = self.source.start(raw.place)
        end = start if kind == "end" else self.source.end(raw.end)
        self.tokens.append(Token(kind, text, start, end, raw.value, raw.spaced))

    # ---- words ----

    def word(self, place: int) -> None:
        """Decide a word."""
        raw = self.raws[place]
        declared = self.known.declares(raw.text)
        position = self.context.position(raw, latex=self.latex)
        called = is_called(self.raws, place)
        if called and not declared and (function := self.function(raw)):
            self.add("function", function, raw)
        elif raw.text == "per" and not declared and context_is_unit(position):
            self.add("sign", "/", raw)
        elif self.suffix(place, position) or self.unit(place, position):
            return
        elif declared:
            self.name(raw)
        elif self.latex and not raw.upright:
            self.letters_in_latex(place, position)
        else:
            self.undeclared(place, position, called=called)

    def function(self, raw: Raw) -> str | None:
        """Return the function that a word before a bracket names; a run of letters in LaTeX names O alone."""
        word = {"Θ": "Theta", "log_2": "log2"}.get(raw.text, raw.text)
        plain = self.latex and not raw.upright and word not in {"O", "Theta", "log2"}
        return word if word in FUNCTIONS and not plain else None

    def name(self, raw: Raw, word: str | None = None) -> None:
        """Append a name, in the spelling that is declared or that came first."""
        written = raw.text if word is None else word
        spelled = self.known.spelled(written)
        if not self.known.declares(written):
            spelled = dict(self.evidence.spelled).get(key(written), written)
        self.add("name", spelled, raw)

    def named(self, word: str) -> bool:
        """Say whether a word is a name by declaration, or is shown to be one elsewhere."""
        return self.known.declares(word) or key(word) in self.evidence.shown

    def undeclared(self, place: int, position: Position, *, called: bool) -> None:
        """Decide a word that nobody declares: a product of letters, a new name, or unknown."""
        raw = self.raws[place]
        word = raw.text
        letters = [] if raw.upright else letters_of(word) or []
        declared = len(letters) > 1 and all(map(self.known.declares, letters))
        if called and not declared:
            raise self.unknown_function(place, position)
        shown = declared or (len(letters) > 1 and all(map(self.stands, letters)))
        unit = self.known.is_unit is not None and len(letters_of(word) or "") > 1 and self.known.is_unit(word)
        if unit and position == "open" and (shown or (self.known.free and _physical(word))):
            raise self.stray_unit(place, letters if shown else [])
        if shown:
            self.product(raw, letters)
        elif self.known.free and word not in KEYWORDS:
            if position == "digits" and word.isupper() and len(letters) > 1 and not self.named(word):
                raise self.capitals(place, letters)
            self.name(raw)
        else:
            raise self.unit_refused(place, position) or self.unknown(place)

    def stands(self, letter: str) -> bool:
        """Say whether a letter is a name: declared, or standing alone in the statement."""
        return self.known.declares(letter) or key(letter) in self.evidence.letters

    def product(self, raw: Raw, letters: Sequence[str]) -> None:
        """Append a word as the product of its letters."""
        self.meanings[raw.text] = "*".join(letters)
        place = raw.place
        for number, letter in enumerate(letters):
            piece = replace(raw, place=place, end=place + len(letter), spaced=raw.spaced and not number)
            self.name(piece, letter)
            place += len(letter)

    def letters_in_latex(self, place: int, position: Position) -> None:
        """Decide a run of letters in LaTeX, which multiply."""
        raw = self.raws[place]
        pieces = pieces_of(raw.text)
        if len(pieces) > 1:
            self.check_run(place, position, pieces)
        last = pieces[-1]
        if is_called(self.raws, place) and not self.known.declares(last):
            raise self.unknown_function(place, position)
        unknown = next((one for one in pieces if not self.known.free and not self.known.declares(one)), None)
        if unknown is not None:
            raise self.unknown(place)
        if len(pieces) == 1:
            self.name(raw)
        else:
            self.product(raw, pieces)

    # ---- units ----

    def unit(self, place: int, position: Position) -> bool:
        """Append a word as a unit, where it is one here; say whether it was.

        Raises:
            AmbiguousError: it may be a name just as well.
        """
        raw = self.raws[place]
        if position == "open" or not may_be_unit(self.known, self.raws, place, position):
            return False
        if self.latex and not raw.upright:
            if is_letter(raw.text) and self.lone_letter(place, position):
                raise self.two_readings(place, position, f"{_of(raw.text)}")
            return False
        if self.named(raw.text):
            if self.is_name_here(place, position):
                self.beaten[raw.text] = long_name(raw.text)
                return False
            raise self.two_readings(place, position)
        if self.known.free and is_letter(raw.text) and not raw.upright:
            others = sum(self.may_be_name(one) for one in others_beside(self.raws, place))
            if others > 1:
                return False
            if others and position != "digits":
                raise self.two_readings(place, position)
        self.meanings[raw.text] = f"the unit {_of(raw.text)}"
        self.add("unit", raw.text, raw)
        return True

    def may_be_name(self, raw: Raw) -> bool:
        """Say whether a word beside a letter is a name, and no unit of several letters."""
        return is_letter(raw.text) or self.known.is_unit is None or not self.known.is_unit(raw.text)

    def is_name_here(self, place: int, position: Position) -> bool:
        """Say whether a unit's word that is a name elsewhere is surely the name here."""
        raw = self.raws[place]
        if raw.upright:
            return False
        if position in {"digits", "times"}:
            return True
        among = any(
            self.known.declares(one.text) or not (self.known.is_unit and self.known.is_unit(one.text))
            for one in others_beside(self.raws, place)
        )
        return is_letter(raw.text) and position != "below" and among

    def lone_letter(self, place: int, position: Position) -> bool:
        """Say whether a letter in LaTeX stands alone behind a number where units are written, and is no name."""
        alone = position in {"digits", "number"} and not any(others_beside(self.raws, place))
        return (
            alone
            and self.evidence.units
            and self.known.free
            and not self.known.declares(self.raws[place].text)
        )

    def quantity(self, place: int) -> None:
        """Append a quantity; one that is a unit too is refused behind a number."""
        raw = self.raws[place]
        position = self.context.position(raw, latex=self.latex)
        unit = self.known.is_unit is not None and self.known.is_unit(raw.text)
        if unit and position not in {"open", "times"}:
            raise self.two_readings(place, position, f"the unit {_of(raw.text)}")
        self.add("quantity", raw.text, raw)

    # ---- suffixes ----

    def suffix(self, place: int, position: Position) -> bool:
        """Put a suffix into the number before it; say whether it was one.

        Raises:
            AmbiguousError: it may be a name just as well.
        """
        raw = self.raws[place]
        loose = position == "number" and not self.latex and self.known.is_unit is not None
        if raw.text not in SUFFIXES or raw.upright or not (position == "digits" or loose):
            return False
        if raw.text == "B" and may_be_unit(self.known, self.raws, place, position):
            return False
        if is_suffix(self.known, self.raws, place, position):
            self.scaled(raw)
            return True
        if loose and (self.before_unit(place) or not (self.known.free or self.named(raw.text))):
            raise self.suffix_apart(place)
        if key(raw.text) in self.evidence.shown:
            return False
        declared = self.known.declares(raw.text)
        if declared and not self.known.calc and self.multiplies(place):
            return False
        if self.known.calc and not declared:
            self.scaled(raw)
            return True
        raise self.suffix_or_name(place)

    def scaled(self, raw: Raw) -> None:
        """Multiply the number before a suffix."""
        before = self.tokens.pop()
        value = before.value * SUFFIXES[raw.text]
        made = replace(before, value=value, end=self.source.end(raw.end))
        self.tokens.append(made)
        self.meanings[f"{before.text}{raw.text}"] = str(value)

    def multiplies(self, place: int) -> bool:
        """Say whether a letter is multiplied with another name."""
        return any(
            self.named(one.text) or (letters := letters_of(one.text) or []) and all(map(self.stands, letters))
            for one in factors_beside(self.raws, place)
            if one.text != self.raws[place].text
        )

    def before_unit(self, place: int) -> bool:
        """Say whether a unit stands behind a piece."""
        after = self.raws[place + 1]
        return after.kind == "word" and bool(self.known.is_unit and self.known.is_unit(after.text))

    # ---- refusals ----

    def error(self, what: str, place: int, expected: str, got: str, fix: str | None = None) -> FormulaError:
        """Return an error that points at a piece."""
        start = self.source.start(self.raws[place].place)
        return self.source.error(what, start, expected=expected, got=got[:64], fix=fix)

    def refused(
        self, what: str, place: int, readings: Sequence[str], edits: Sequence[Edit]
    ) -> AmbiguousError:
        """Return the error for a word with several readings."""
        raw = self.raws[place]
        return ambiguous(what, self.source.caret(raw.place), raw.text, readings, self.source.shown, edits)

    def gap(self, place: int, new: str, *, whole: bool = False) -> Edit:
        """Return the edit of what stands between a word and what is before it, or of the word too."""
        raw = self.raws[place]
        start = self.source.end(raw.place)
        last = self.source.start(raw.place)
        return Edit(start, self.source.end(raw.end) if whole else last, new)

    def apart(self, place: int) -> Edit:
        """Return the edit that puts a sign before a word."""
        start = self.tokens[-1].end if self.tokens else 0
        first = self.source.start(self.raws[place].place)
        return Edit(start, first, "*")

    def instead(self, place: int, new: str) -> Edit:
        """Return the edit that writes something in the place of a word."""
        raw = self.raws[place]
        return Edit(self.source.start(raw.place), self.source.end(raw.end), new)

    def two_readings(self, place: int, position: Position, unit: str | None = None) -> AmbiguousError:
        """Return the error for a word that is a unit and a name."""
        raw = self.raws[place]
        long = _of(raw.text)
        named = "a quantity" if raw.kind == "quantity" else "a name"
        what = f"{raw.text} may be {named} or the unit {long} here"
        word = f"\\mathrm{{{long}}}" if self.latex else long
        edit = self.instead(place, word)
        start = self.tokens[-1].end if self.tokens else 0
        if position == "digits" or (self.latex and position == "number"):
            edit = edit._replace(start=start, new=f"\\,{word}" if self.latex else f" {word}")
        if position == "below" and self.context.last[-1] == "/":
            name = self.instead(place, f"(1*{raw.text})")
        else:
            name = self.apart(place)
        return self.refused(what, place, [f"{named}: *{raw.text}", f"the unit {unit or long}"], [name, edit])

    def suffix_or_name(self, place: int) -> AmbiguousError:
        """Return the error for a letter behind digits that is a suffix or a name."""
        raw, number = self.raws[place], self.tokens[-1]
        digits = self.source.text[number.start : number.end]
        value = (
            f"{digits}e{POWERS[raw.text]}" if raw.text in POWERS else str(number.value * SUFFIXES[raw.text])
        )
        if "e" in digits.lower() and raw.text in POWERS:
            value = str(number.value * SUFFIXES[raw.text])
        whole = Edit(number.start, self.source.end(raw.end), value)
        readings, edits = [value], [whole]
        for word, unit in COUNTED.items():
            if self.known.is_unit and re.search(rf"(?<!\w){word}(?!\w)", self.source.shown):
                readings.append(f"{digits}{raw.text} {unit}")
                edits.append(whole._replace(new=f"{digits}{raw.text} {unit}"))
                break
        if self.known.free or self.known.declares(raw.text):
            readings.append(f"{digits}*{raw.text}")
            edits.append(whole._replace(new=f"{digits}*{raw.text}"))
        what = f"{digits}{raw.text} may be a number or a product with {raw.text}"
        if not (self.known.free or self.known.declares(raw.text)):
            what = f"a suffix stands in a claim only before a unit: {digits}{raw.text}"
        return self.refused(what, place, readings, edits)

    def capitals(self, place: int, letters: Sequence[str]) -> AmbiguousError:
        """Return the error for capitals behind digits where nothing says which names they are."""
        raw = self.raws[place]
        product = "*".join(letters)
        edits = [
            self.apart(place)._replace(end=self.source.end(raw.end), new=f"*{product}"),
            self.apart(place),
        ]
        what = f"{raw.text} may be one name or a product of letters"
        return self.refused(what, place, [f"{product} (or --names {','.join(letters)})", raw.text], edits)

    def stray_unit(self, place: int, letters: Sequence[str]) -> AmbiguousError:
        """Return the error for a unit's word that stands where no unit can."""
        raw = self.raws[place]
        long = f"1 {raw.text}" if not self.latex else f"1\\,\\mathrm{{{raw.text}}}"
        edits, readings = [self.instead(place, long)], [f"the unit {_of(raw.text)}"]
        if letters:
            edits.append(self.instead(place, "*".join(letters)))
            readings.append("*".join(letters))
        if self.tokens and self.tokens[-1].text in {")", "]"}:
            edits[0] = edits[0]._replace(new=f" {raw.text}")
            edits[1:] = [self.instead(place, f"*{'*'.join(letters)}")] if letters else []
        what = f"{raw.text} is a unit, and stands where none can"
        return self.refused(what, place, readings, edits)

    def check_run(self, place: int, position: Position, pieces: Sequence[str]) -> None:
        """Refuse a run of letters in LaTeX that spells a word.

        Raises:
            AmbiguousError: it does.
        """
        raw = self.raws[place]
        word = raw.text
        new = [one for one in pieces if not self.known.declares(one)]
        unit = self.known.is_unit is not None and self.known.is_unit(word)
        spells = unit or word in {*FUNCTIONS, *KEYWORDS, *self.known.quantities}
        spells = spells or word.partition("_")[0] in COMMANDS
        if not spells and len(new) < MOST_LETTERS:
            return
        upright = f"\\mathrm{{{word}}}".replace("_", "\\_")
        if word in FUNCTIONS:
            upright = f"\\operatorname{{{word}}}"
        edits = [self.instead(place, " ".join(pieces)), self.instead(place, upright)]
        if unit and position != "open":
            edits[1] = edits[1]._replace(new=f"\\,{upright}")
        what = f"letters multiply in LaTeX, and {word} looks like one word"
        raise self.refused(what, place, ["*".join(pieces), f"one word: {upright}"], edits)

    def unknown_function(self, place: int, position: Position) -> SymacctError:
        """Return the error for a word before a bracket that is no function."""
        raw = self.raws[place]
        word, last = raw.text, self.source.end(raw.end)
        parts = split(word, self.known) if not raw.upright else None
        for size in range(len(word) - 1, 0, -1):
            if word[-size:] in FUNCTIONS and (head := split(word[:-size], self.known) or [word[:-size]]):
                parts = [*head, word[-size:]]
                break
        product = "*".join(parts or [word])
        sign = "" if parts and parts[-1] in FUNCTIONS else "*"
        first = self.source.start(raw.place)
        line = f"{self.source.shown[:first]}{product}{sign}{self.source.shown[last:].lstrip()}".strip()
        fix = f"write {line}      (a product)" if sign else f"write {line}"
        if position == "digits":
            line = f"{self.source.shown[:first]}*{product}{sign}{self.source.shown[last:].lstrip()}".strip()
        what = f"{word} is no function that is known here"
        expected = f"an operator before the bracket, or one of: {', '.join(FUNCTIONS)}"
        return self.error(what, place, expected, f"{word}(", fix)

    def unit_refused(self, place: int, position: Position) -> SymacctError | None:
        """Return why a word that stands where a unit may is refused as one; None where it is none at all."""
        raw = self.raws[place]
        if self.known.is_unit is None or position == "open":
            return None
        word = raw.text
        try:
            resolve(word)
        except UnitError as error:
            if error.what.startswith("unknown unit") and (
                error.fix is None or position not in {"digits", "number"}
            ):
                return None
            if good := meant(word):
                start, text = self.source.start(raw.place), self.source.shown
                line = f"{text[:start]}{good}{text[start + len(word) :]}".strip()
                error = UnitError(error.what, expected=error.expected, got=error.got, fix=f"write {line}")
            return error.at(self.source.caret(raw.place))
        return None

    def suffix_apart(self, place: int) -> SymacctError:
        """Return the error for a suffix that does not stand directly behind its number, before a unit."""
        word, number = self.raws[place].text, self.tokens[-1]
        digits = self.source.text[number.start : number.end]
        fix = f"write {digits}{word} directly behind the number and before a unit: {digits}{word} parameter"
        if word == "B":
            fix = f"write {digits} byte, or {digits}B before a unit: {digits}B parameter"
        return self.error(
            f"{word!r} alone is no unit", place, "a unit, or a suffix without a space", word, fix
        )

    def unknown(self, place: int) -> SymacctError:
        """Return the error for a word that is no name."""
        raw = self.raws[place]
        word = raw.text
        digits = re.search(r"[0-9]", word)
        if digits and (parts := split(word[: digits.start()], self.known)):
            name, number = parts[-1], word[digits.start() :]
            fix = f"write {name}^{number} or {number}*{name}" if number.isdecimal() else None
            what, start = "a number stands directly behind a name", raw.place + digits.start()
            expected = "an operator between them"
            return self.source.error(
                what, self.source.start(start), expected=expected, got=word[:64], fix=fix
            )
        skipped, error = unknown_word(word, self.known)
        start = self.source.start(raw.place + skipped + (self.source.plain[raw.place] != word[:1]))
        if not skipped and (parts := split(word, self.known)) and len(parts) > 1:
            line = f"{self.source.shown[:start]}{'*'.join(parts)}{self.source.shown[start + len(word) :]}"
            error.fix = f"write {line.strip()}"
        return error.at(self.source.caret(raw.place + skipped + (self.source.plain[raw.place] != word[:1])))


def _of(word: str) -> str:
    """Return the long name of a unit, in the singular."""
    singular = word.removesuffix("s")
    return singular if singular in BASES else long_name(word)


def _physical(word: str) -> bool:
    return is_unit(word) and read_unit(word)[1].physical
