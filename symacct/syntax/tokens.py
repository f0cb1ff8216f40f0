"""Pieces into tokens: each word is decided by what is declared, and by what the whole statement shows of it.

A word is a declared name, a function, a quantity, a unit in a unit's place, a suffix of a number, a product
of letters that are names, or a new name; what could be two of these is refused, each reading written out.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Literal

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
from symacct.syntax.doubts import Doubts, of_unit
from symacct.syntax.figures import SUFFIXES
from symacct.syntax.scan import CLOSING, Raw, scan
from symacct.syntax.source import Source
from symacct.syntax.words import (
    CALLED,
    FUNCTIONS,
    KEYWORDS,
    NOTHING,
    OPERATIONS,
    OVER,
    Evidence,
    Names,
    Vocabulary,
    is_letter,
    key,
    letters_of,
)
from symacct.units import is_unit, long_name, read_unit

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from symacct.syntax.context import Position

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
        self.place = 0
        self.context = Context(self.raws, self.known)
        self.beaten: dict[str, str] = {}
        self.meanings: dict[str, str] = {}
        self.doubts = Doubts(self)

    def run(self) -> list[Token]:
        """Return all tokens, with an end token behind them."""
        for place, raw in enumerate(self.raws):
            self.place = place
            if raw.kind == "word":
                self.word(place)
            elif raw.kind == "quantity":
                self.quantity(place)
            elif raw.kind == "call":
                self.add("function", raw.text, raw)
            elif raw.kind == "percent":
                self.percent(place)
            else:
                self.add(raw.kind, raw.text, raw)
        return self.tokens

    def percent(self, place: int) -> None:
        """Append the sign of a unit, behind what has a value or in another unit.

        Raises:
            FormulaError: nothing before it has a value.
        """
        raw = self.raws[place]
        behind = self.context.last[-1:] and (
            self.context.last[-1] in CLOSING or self.context.last[-1] == "name"
        )
        if self.context.position(raw) == "open" and not behind:
            what = f"{raw.text!r} stands where no unit can"
            raise self.doubts.error(what, place, f"a number in front: 50 {raw.text}", raw.text)
        self.add("unit", raw.text, raw)

    def add(self, kind: Kind, text: str, raw: Raw) -> None:
        """Append a token."""
        self.context.take(kind, text, self.place)
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
            raise self.doubts.unknown_function(place)
        shown = declared or (len(letters) > 1 and all(map(self.stands, letters)))
        unit = self.known.is_unit is not None and len(letters_of(word) or "") > 1 and self.known.is_unit(word)
        if unit and position == "open" and (shown or (self.known.free and _physical(word))):
            raise self.doubts.stray_unit(place, letters if shown else [])
        if shown:
            self.product(raw, letters)
        elif word in CALLED:
            raise self.doubts.no_bracket(place)
        elif self.over_name(word):
            raise self.doubts.not_alone(place)
        elif self.known.free and word not in KEYWORDS | OPERATIONS:
            if misspelled := self.doubts.misspelled(place, position):
                raise misspelled
            if position == "digits" and word.isupper() and len(letters) > 1 and not self.named(word):
                raise self.doubts.capitals(place, letters)
            self.name(raw)
        else:
            raise self.doubts.unit_refused(place, position) or self.doubts.unknown(place)

    def over_name(self, word: str) -> bool:
        """Say whether a word is a limit, or a minimum over a name of the statement: ``min_k`` beside k."""
        head, _, index = word.partition("_")
        return head in OVER and bool(index) and (head == "lim" or self.stands(index) or self.named(index))

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
            self.doubts.check_run(place, position, pieces)
        last = pieces[-1]
        if is_called(self.raws, place) and not self.known.declares(last):
            raise self.doubts.unknown_function(place)
        unknown = next((one for one in pieces if not self.known.free and not self.known.declares(one)), None)
        if unknown is not None:
            raise self.doubts.unknown(place)
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
                raise self.doubts.two_readings(place, position, f"{of_unit(raw.text)}")
            return False
        if position == "loose" and self.named(raw.text):
            return False
        if self.named(raw.text):
            if self.is_name_here(place, position):
                self.beaten[raw.text] = long_name(raw.text)
                return False
            raise self.doubts.two_readings(place, position)
        if self.known.free and is_letter(raw.text) and not raw.upright:
            others = sum(self.may_be_name(one) for one in others_beside(self.raws, place))
            if others > 1:
                return False
            if others and position != "digits":
                raise self.doubts.two_readings(place, position)
        self.meanings[raw.text] = f"the unit {of_unit(raw.text)}"
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
        """Say whether a letter in LaTeX stands alone behind a number beside units, and is no name."""
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
        if unit and position not in {"open", "times", "loose"}:
            raise self.doubts.two_readings(place, position, f"the unit {of_unit(raw.text)}")
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
            raise self.doubts.suffix_apart(place)
        declared = self.known.declares(raw.text)
        factor = declared and not self.known.calc and self.multiplies(place)
        if loose or factor or key(raw.text) in self.evidence.shown:
            return False
        if self.known.calc and not declared:
            self.scaled(raw)
            return True
        raise self.doubts.suffix_or_name(place)

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
            self.named(one.text) or all(map(self.stands, letters_of(one.text) or [one.text]))
            for one in factors_beside(self.raws, place)
            if one.text != self.raws[place].text
        )

    def before_unit(self, place: int) -> bool:
        """Say whether a unit stands behind a piece."""
        after = self.raws[place + 1]
        return after.kind == "word" and bool(self.known.is_unit and self.known.is_unit(after.text))


def _physical(word: str) -> bool:
    return is_unit(word) and read_unit(word)[1].physical
