"""What a word may be where it is doubtful, and why one is refused: errors with the input mended."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from symacct.errors import FormulaError, SymacctError, UnitError
from symacct.printers.latex import COMMANDS
from symacct.syntax.context import is_called
from symacct.syntax.figures import SUFFIXES
from symacct.syntax.refusals import AmbiguousError, Edit, ambiguous
from symacct.syntax.words import ALONE, BEHIND, CALLED, FUNCTIONS, KEYWORDS, OVER, split, unknown_word
from symacct.units import BASES, long_name, meant, resolve

if TYPE_CHECKING:
    from collections.abc import Sequence

    from symacct.syntax.context import Position
    from symacct.syntax.tokens import Tokenizer

MOST_LETTERS = 4
"""So many letters without a declaration in one run of LaTeX are a word that was not set upright."""
HEXADECIMAL = re.compile(r"0[xX][0-9a-fA-F]{1,16}")
COUNTED = {"params": "parameter", "tokens": "token"}
SEVERAL = frozenset({"max", "min"})
"""Functions of several numbers."""
POWERS = {"k": 3, "M": 6, "B": 9, "T": 12}


class Doubts:
    """Makes the errors for the words of one formula; nothing is decided here."""

    def __init__(self, one: Tokenizer) -> None:
        """Keep what splits the formula."""
        self.one = one

    def error(self, what: str, place: int, expected: str, got: str, fix: str | None = None) -> FormulaError:
        """Return an error that points at a piece."""
        start = self.one.source.start(self.one.raws[place].place)
        return self.one.source.error(what, start, expected=expected, got=got[:64], fix=fix)

    def refused(
        self, what: str, place: int, readings: Sequence[str], edits: Sequence[Edit]
    ) -> AmbiguousError:
        """Return the error for a word with several readings."""
        raw = self.one.raws[place]
        return ambiguous(
            what, self.one.source.caret(raw.place), raw.text, readings, self.one.source.shown, edits
        )

    def apart(self, place: int) -> Edit:
        """Return the edit that puts a sign before a word."""
        start = self.one.tokens[-1].end if self.one.tokens else 0
        first = self.one.source.start(self.one.raws[place].place)
        return Edit(start, first, "*")

    def instead(self, place: int, new: str) -> Edit:
        """Return the edit that writes something in the place of a word."""
        raw = self.one.raws[place]
        return Edit(self.one.source.start(raw.place), self.one.source.end(raw.end), new)

    def two_readings(self, place: int, position: Position, unit: str | None = None) -> AmbiguousError:
        """Return the error for a word that is a unit and a name."""
        raw = self.one.raws[place]
        long = of_unit(raw.text)
        named = "a quantity" if raw.kind == "quantity" else "a name"
        what = f"{raw.text} may be {named} or the unit {long} here"
        word = f"\\mathrm{{{long}}}" if self.one.latex else long
        edit = self.instead(place, word)
        start = self.one.tokens[-1].end if self.one.tokens else 0
        if position == "digits" or (self.one.latex and position == "number"):
            edit = edit._replace(start=start, new=f"\\,{word}" if self.one.latex else f" {word}")
        if position == "below":
            bare = self.one.context.last[-1] != "/"
            name = self.instead(place, f"1*{raw.text}" if bare else f"(1*{raw.text})")
        else:
            name = self.apart(place)
        return self.refused(what, place, [f"{named}: *{raw.text}", f"the unit {unit or long}"], [name, edit])

    def suffix_or_name(self, place: int) -> AmbiguousError:
        """Return the error for a letter behind digits that is a suffix or a name."""
        raw, number = self.one.raws[place], self.one.tokens[-1]
        digits = self.one.source.text[number.start : number.end]
        value = (
            f"{digits}e{POWERS[raw.text]}" if raw.text in POWERS else str(number.value * SUFFIXES[raw.text])
        )
        if "e" in digits.lower() and raw.text in POWERS:
            value = str(number.value * SUFFIXES[raw.text])
        whole = Edit(number.start, self.one.source.end(raw.end), value)
        readings, edits = [value], [whole]
        for word, unit in COUNTED.items():
            if self.one.known.is_unit and re.search(rf"(?<!\w){word}(?!\w)", self.one.source.shown):
                readings.append(f"{digits}{raw.text} {unit}")
                edits.append(whole._replace(new=f"{digits}{raw.text} {unit}"))
                break
        if self.one.known.free or self.one.known.declares(raw.text):
            readings.append(f"{digits}*{raw.text}")
            edits.append(whole._replace(new=f"{digits}*{raw.text}"))
        what = f"{digits}{raw.text} may be a number or a product with {raw.text}"
        if not (self.one.known.free or self.one.known.declares(raw.text)):
            what = f"a suffix stands in a claim only before a unit: {digits}{raw.text}"
        return self.refused(what, place, readings, edits)

    def capitals(self, place: int, letters: Sequence[str]) -> AmbiguousError:
        """Return the error for capitals behind digits where nothing says which names they are."""
        raw = self.one.raws[place]
        product = "*".join(letters)
        edits = [
            self.apart(place)._replace(end=self.one.source.end(raw.end), new=f"*{product}"),
            self.apart(place),
        ]
        what = f"{raw.text} may be one name or a product of letters"
        return self.refused(what, place, [f"{product} (or --names {','.join(letters)})", raw.text], edits)

    def stray_unit(self, place: int, letters: Sequence[str]) -> AmbiguousError:
        """Return the error for a unit's word that stands where no unit can."""
        raw = self.one.raws[place]
        long = f"1 {raw.text}" if not self.one.latex else f"1\\,\\mathrm{{{raw.text}}}"
        edits, readings = [self.instead(place, long)], [f"the unit {of_unit(raw.text)}"]
        if letters:
            edits.append(self.instead(place, "*".join(letters)))
            readings.append("*".join(letters))
        if self.one.tokens and self.one.tokens[-1].text in {")", "]"}:
            edits[0] = edits[0]._replace(new=f" {raw.text}")
            edits[1:] = [self.instead(place, f"*{'*'.join(letters)}")] if letters else []
        what = f"{raw.text} is a unit, and stands where none can"
        return self.refused(what, place, readings, edits)

    def check_run(self, place: int, position: Position, pieces: Sequence[str]) -> None:
        """Refuse a run of letters in LaTeX that spells a word.

        Raises:
            AmbiguousError: it does.
            FormulaError: it spells a function, and no bracket follows.
        """
        raw = self.one.raws[place]
        word = raw.text
        new = [one for one in pieces if not self.one.known.declares(one)]
        unit = self.one.known.is_unit is not None and self.one.known.is_unit(word)
        spells = unit or word in {*FUNCTIONS, *KEYWORDS, *self.one.known.quantities}
        spells = spells or word.partition("_")[0] in COMMANDS
        if not spells and len(new) < MOST_LETTERS:
            return
        upright = f"\\mathrm{{{word}}}".replace("_", "\\_")
        if word in CALLED and not is_called(self.one.raws, place):
            raise self.no_bracket(place)
        if word in FUNCTIONS:
            upright = f"\\operatorname{{{word}}}"
        edits = [self.instead(place, " ".join(pieces)), self.instead(place, upright)]
        if unit and position != "open":
            edits[1] = edits[1]._replace(new=f"\\,{upright}")
        what = f"letters multiply in LaTeX, and {word} looks like one word"
        raise self.refused(what, place, ["*".join(pieces), f"one word: {upright}"], edits)

    def unknown_function(self, place: int) -> SymacctError:
        """Return the error for a word before a bracket that is no function."""
        raw = self.one.raws[place]
        word, last = raw.text, self.one.source.end(raw.end)
        if word.partition("_")[0] in {"", *OVER}:
            return self.not_alone(place)
        parts = split(word, self.one.known) if not raw.upright else None
        for size in range(len(word) - 1, 0, -1):
            if word[-size:] in FUNCTIONS and (head := split(word[:-size], self.one.known) or [word[:-size]]):
                parts = [*head, word[-size:]]
                break
        product = "*".join(parts or [word])
        sign = "" if parts and parts[-1] in FUNCTIONS else "*"
        first = self.one.source.start(raw.place)
        shown = self.one.source.shown
        line = f"{shown[:first]}{product}{sign}{shown[last:].lstrip()}".strip()
        fix = f"write {line}      (a product)" if sign else f"write {line}"
        what = f"{word} is no function that is known here"
        expected = f"an operator before the bracket, or one of: {', '.join(FUNCTIONS)}"
        return self.error(what, place, expected, f"{word}(", fix)

    def not_alone(self, place: int) -> SymacctError:
        """Return the error for a limit or a minimum inside a formula, or without its bracket."""
        word = self.one.raws[place].text
        head, _, index = word.partition("_")
        whole = f"{head or 'min'}_{index or 'n'}"
        return self.error(
            f"{word} stands where no limit or minimum is read", place, ALONE.format(whole), word
        )

    def no_bracket(self, place: int) -> SymacctError:
        """Return the error for a function without a bracket; mended where one word or number follows."""
        raw, after = self.one.raws[place], self.one.raws[place + 1 : place + 3]
        fix = None
        behind = after[-1].kind == "end" or (after[-1].kind == "sign" and after[-1].text in BEHIND)
        if after[0].kind in {"word", "number"} and raw.text not in SEVERAL and behind:
            first, last = self.one.source.start(raw.place), self.one.source.end(after[0].end)
            argument, shown = self.one.source.start(after[0].place), self.one.source.shown
            word = f"\\operatorname{{{raw.text}}}" if self.one.latex else raw.text
            line = f"{shown[:first]}{word}({shown[argument:last]}){shown[last:]}"
            fix = f"write {line.strip()}"
        return self.error(f"{raw.text} needs a bracket", place, f"{raw.text}(...)", raw.text, fix)

    def unit_refused(self, place: int, position: Position) -> SymacctError | None:
        """Return why a word that stands where a unit may is refused as one; None where it is none at all."""
        raw = self.one.raws[place]
        if self.one.known.is_unit is None or position == "open":
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
                start, text = self.one.source.start(raw.place), self.one.source.shown
                line = f"{text[:start]}{good}{text[start + len(word) :]}".strip()
                error = UnitError(error.what, expected=error.expected, got=error.got, fix=f"write {line}")
            return error.at(self.one.source.caret(raw.place))
        return None

    def misspelled(self, place: int, position: Position) -> SymacctError | None:
        """Return why a new name behind a number is none: ``80 Gb``, ``3 TFLOPS``, ``0x10``."""
        raw, before = self.one.raws[place], self.one.tokens[-1:]
        if position not in {"digits", "number"} or len(raw.text) < 2:
            return None
        if position == "digits" and before[0].text == "0":
            number = f"0{raw.text}"
            fix = f"write {int(number, 16)}" if HEXADECIMAL.fullmatch(number) else None
            return self.error("a number has no letters in it", place, "decimal digits", number, fix)
        refused = self.unit_refused(place, position)
        near = meant(raw.text)
        known = refused is None or refused.what.startswith("unknown unit")
        return None if known and (near is None or near.lower() != raw.text.lower()) else refused

    def suffix_apart(self, place: int) -> SymacctError:
        """Return the error for a suffix that does not stand directly behind its number, before a unit."""
        word, number = self.one.raws[place].text, self.one.tokens[-1]
        digits = self.one.source.text[number.start : number.end]
        fix = f"write {digits}{word} directly behind the number and before a unit: {digits}{word} parameter"
        if word == "B":
            fix = f"write {digits} byte, or {digits}B before a unit: {digits}B parameter"
        return self.error(
            f"{word!r} alone is no unit", place, "a unit, or a suffix without a space", word, fix
        )

    def unknown(self, place: int) -> SymacctError:
        """Return the error for a word that is no name."""
        raw = self.one.raws[place]
        word = raw.text
        digits = re.search(r"[0-9]", word)
        if digits and (parts := split(word[: digits.start()], self.one.known)):
            name, number = parts[-1], word[digits.start() :]
            fix = f"write {name}^{number} or {number}*{name}" if number.isdecimal() else None
            what, start = "a number stands directly behind a name", raw.place + digits.start()
            expected = "an operator between them"
            return self.one.source.error(
                what, self.one.source.start(start), expected=expected, got=word[:64], fix=fix
            )
        skipped, error = unknown_word(word, self.one.known)
        start = self.one.source.start(raw.place + skipped + (self.one.source.plain[raw.place] != word[:1]))
        if not skipped and (parts := split(word, self.one.known)) and len(parts) > 1:
            shown = self.one.source.shown
            line = f"{shown[:start]}{'*'.join(parts)}{shown[start + len(word) :]}"
            error.fix = f"write {line.strip()}"
        return error.at(
            self.one.source.caret(raw.place + skipped + (self.one.source.plain[raw.place] != word[:1]))
        )


def of_unit(word: str) -> str:
    """Return the long name of a unit, in the singular."""
    singular = word.removesuffix("s")
    return singular if singular in BASES else long_name(word)
