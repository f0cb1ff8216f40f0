"""Where in a text a word stands: behind digits, in a unit's place, or anywhere else; and what words show."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from symacct.syntax.figures import SUFFIXES
from symacct.syntax.scan import CLOSING, OPENING, Raw
from symacct.syntax.words import FUNCTIONS, Evidence, is_letter, key, letters_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from symacct.syntax.words import Vocabulary

MOST_BESIDE, MOST_FACTORS = 40, 200
"""So many pieces are looked at around a word: nobody writes longer products by hand."""
KEEPS_UNIT = frozenset({"*", "/", "^", "(", ")"})
KEEPS_AMOUNT = frozenset({"*", "/", "(", ")"})
EXPONENTS = (["^", "number"], ["^", "-", "number"])
BRACKETED = (["^", "(", "number", ")"], ["^", "(", "-", "number", ")"])

Position = Literal["open", "digits", "number", "value", "beside", "times", "below", "loose"]
"""``digits``: directly behind a number; ``number``, ``value``: behind one, or what has a value, and a space;
``beside``, ``times``, ``below``: where a unit goes on; ``loose``: behind an amount in brackets and a sign,
where a name wins; ``open``: where no unit can be."""


class Context:
    """What stands before a word, as it was decided."""

    def __init__(self, raws: Sequence[Raw], known: Vocabulary) -> None:
        """Begin with nothing, and find the brackets that hold units alone."""
        self.of_units = unit_brackets(raws, known)
        self.free = known.free
        self.lead = ""
        self.last: list[str] = []
        self.in_unit = False
        self.behind_amount = False
        self.opened: list[bool] = []

    def take(self, kind: str, text: str, place: int) -> None:
        """Note a piece: its kind, the sign that it is, and its place."""
        if kind == "sign":
            self.pass_sign(text, place)
        else:
            self.behind_amount = False
            if kind == "number":
                self.in_unit = self.in_unit and self.last[-1:] in (["^"], ["-"])
            elif kind != "raised":
                self.in_unit = kind == "unit"
        self.last = [*self.last[-7:], text if kind == "sign" else kind]

    def pass_sign(self, text: str, place: int) -> None:
        """Note a sign: a unit goes on over some, and over a bracket that was opened in it."""
        raised = self.last[-1:] == ["^"]
        if text in OPENING:
            self.lead = self.lead if self.last[-1:] == ["("] else (self.last or [""])[-1]
            self.in_unit = self.in_unit and place in self.of_units
            self.opened.append(self.in_unit)
        elif text in CLOSING and not (self.opened.pop() if self.opened else False):
            self.behind_amount, self.in_unit = self.in_unit, False
        self.behind_amount = self.behind_amount and text in KEEPS_AMOUNT and not self.free
        self.in_unit = self.in_unit and (text in KEEPS_UNIT or (text == "-" and raised))

    def position(self, raw: Raw, *, latex: bool = False) -> Position:
        """Return where the next word stands."""
        spaced = raw.spaced or (latex and raw.upright)
        before = self.last[-1] if self.last else ""
        if self.behind_amount and before in {"*", "/", "("}:
            return "loose"
        if self.in_unit:
            sign = self.lead if before == "(" else before
            return "times" if sign == "*" else "below" if sign == "/" else "beside"
        if before == "raised" or any(self.last[-len(one) :] == one for one in (*EXPONENTS, *BRACKETED)):
            return "value" if spaced or self.base_is_number() else "open"
        if before == "number":
            return "number" if spaced else "digits"
        valued = before in CLOSING or before in {"name", "quantity", "!"}
        return "value" if valued and spaced else "open"

    def base_is_number(self) -> bool:
        """Say whether the power that was just read is one of a number."""
        if self.last[-1] == "raised":
            return self.last[-2:-1] == ["number"]
        found = next(one for one in (*EXPONENTS, *BRACKETED) if self.last[-len(one) :] == one)
        return self.last[-len(found) - 1 : -len(found)] == ["number"]


def unit_brackets(raws: Sequence[Raw], known: Vocabulary) -> frozenset[int]:
    """Return where brackets open that hold units alone, as in ``FLOP/(parameter*token)``."""
    if known.is_unit is None:
        return frozenset()
    found: set[int] = set()
    opened, only = 0, False
    for place, raw in enumerate(raws):
        if raw.is_sign("("):
            opened, only = place, True
        elif raw.is_sign(")"):
            found |= {opened} if only and place > opened + 1 else set()
            only = False
        elif raw.kind in {"word", "quantity"}:
            only = only and known.is_unit(raw.text)
        elif raw.kind == "number":
            only = only and (raws[place - 1].is_sign("^") or raws[place - 2].is_sign("^"))
        elif raw.kind not in {"percent", "raised"} and not raw.is_sign("*", "/", "^", "-"):
            only = False
    return frozenset(found)


def may_be_unit(known: Vocabulary, raws: Sequence[Raw], place: int, position: Position) -> bool:
    """Say whether a word is the name of a unit; ``B`` is one only above or below another: ``B/s``."""
    word, is_a_unit = raws[place].text, known.is_unit
    if is_a_unit is None:
        return False
    if word != "B":
        return is_a_unit(word)
    line, *after = raws[place + 1 : place + 4]
    below = [one for one in after if not one.is_sign("(")][:1]
    quotient = line.is_sign("/") and below and below[0].kind == "word" and is_a_unit(below[0].text)
    return position == "below" or bool(quotient)


def is_called(raws: Sequence[Raw], place: int) -> bool:
    """Say whether a bracket follows a piece; those that stand for a line or a brace are none."""
    return raws[place + 1].is_sign("(") and raws[place + 1].typed


def is_powered(raws: Sequence[Raw], place: int) -> bool:
    """Say whether a power follows a piece."""
    return raws[place + 1].kind == "raised" or raws[place + 1].is_sign("^")


def is_suffix(known: Vocabulary, raws: Sequence[Raw], place: int, position: Position) -> bool:
    """Say whether a suffix stands before a unit: the B of ``70B param``."""
    after = raws[place + 1]
    if raws[place].text not in SUFFIXES or raws[place].upright or position != "digits" or not known.is_unit:
        return False
    word = after.kind == "word" and len(letters_of(after.text) or after.text) > 1
    return after.spaced and ((word and known.is_unit(after.text)) or (after.kind == "percent"))


def pieces_of(word: str) -> list[str]:
    """Return the letters of a run in LaTeX, an index kept at the letter before it.

    >>> pieces_of("BDK"), pieces_of("Bd_k")
    (['B', 'D', 'K'], ['B', 'd_k'])
    """
    head, below, index = word.partition("_")
    digits = head.rstrip("0123456789")
    letters = letters_of(digits)
    if not letters:
        return [word]
    letters[-1] += head[len(digits) :] + below + index
    return letters


def gather(raws: Sequence[Raw], known: Vocabulary, *, latex: bool) -> Evidence:
    """Return what a text shows of its words.

    >>> from symacct.syntax.scan import scan
    >>> from symacct.syntax.source import Source
    >>> from symacct.syntax.words import Vocabulary
    >>> from symacct.units import is_unit
    >>> words = Vocabulary(frozenset(), is_unit=is_unit, free=True)
    >>> found = gather(scan(Source("2k*n + 3 s + k^2"), words), words, latex=False)
    >>> sorted(found.letters)
    ['k', 'n']
    """
    context = Context(raws, known)
    letters: set[str] = set()
    shown: set[str] = set()
    spelled: dict[str, str] = {}
    units = False
    for place, raw in enumerate(raws):
        if raw.kind != "word":
            context.take({"percent": "unit", "call": "function"}.get(raw.kind, raw.kind), raw.text, place)
            continue
        position = context.position(raw, latex=latex)
        kind = _kind(raws, place, position, known, latex=latex)
        units |= kind == "unit" and (raw.upright or not is_letter(raw.text))
        context.take("name" if kind == "unsure" else kind, raw.text, place)
        if kind == "name":
            plain = latex and not raw.upright and not known.declares(raw.text)
            parts = pieces_of(raw.text) if plain else [raw.text]
            for part in parts:
                spelled.setdefault(key(part), part)
            found = {key(part) for part in parts}
            letters |= {one for one in found if is_letter(one) or (plain and len(parts) > 1)}
            shown |= found if position != "digits" or len(parts) > 1 or is_powered(raws, place) else set()
    return Evidence(frozenset(letters), frozenset(shown), tuple(spelled.items()), units)


def _kind(raws: Sequence[Raw], place: int, position: Position, known: Vocabulary, *, latex: bool) -> str:
    """Return what a word looks like before anything is known of the others; ``unsure`` shows nothing."""
    raw = raws[place]
    declared = known.declares(raw.text)
    plain = latex and not raw.upright
    if not declared and is_called(raws, place):
        return "function" if key(raw.text) in FUNCTIONS else "unsure"
    if is_suffix(known, raws, place, position):
        return "number"
    unit = position != "open" and not plain and may_be_unit(known, raws, place, position)
    if unit:
        return "unsure" if declared else "unit"
    if raw.text in SUFFIXES and not is_powered(raws, place):
        return "unsure" if position == "digits" else "name"
    if raw.text == "per" and context_is_unit(position):
        return "unsure"
    return "name"


def context_is_unit(position: Position) -> bool:
    """Say whether a unit goes on at a position."""
    return position in {"beside", "times", "below"}


def others_beside(raws: Sequence[Raw], place: int) -> Iterator[Raw]:
    """Yield the other words in the run of words without signs in which one stands; powers stand in it too."""
    yield from _words(raws[place + 1 : place + 1 + MOST_BESIDE])
    yield from _words(raws[max(0, place - MOST_BESIDE) : place][::-1])


def _words(raws: Iterable[Raw]) -> Iterator[Raw]:
    for raw in raws:
        if raw.kind == "word":
            yield raw
        elif raw.kind not in {"raised", "number"} and not raw.is_sign("^"):
            return


def factors_beside(raws: Sequence[Raw], place: int) -> Iterator[Raw]:
    """Yield the words that a piece is multiplied with: those of its product above any line.

    What follows a ``/`` is below the line, up to the next ``*``.
    """
    yield from _factors(raws, range(place + 1, min(len(raws), place + MOST_FACTORS)), forward=True)
    yield from _factors(raws, range(place - 1, max(-1, place - MOST_FACTORS), -1), forward=False)


def _factors(raws: Sequence[Raw], places: range, *, forward: bool) -> Iterator[Raw]:
    deeper, closing = (("(", "["), (")", "]")) if forward else ((")", "]"), ("(", "["))
    depth, below, held = 0, False, list[Raw]()
    for place in places:
        raw = raws[place]
        if raw.kind == "end" or (not depth and raw.is_sign("+", "-", ",", *closing)):
            break
        depth += raw.is_sign(*deeper) - raw.is_sign(*closing)
        if not depth and raw.is_sign("*", "/"):
            if forward:
                below = raw.text == "/"
            else:
                held = [] if raw.text == "/" else held
                yield from held
                held = []
        elif raw.kind == "word" and not (is_called(raws, place) and raw.text in FUNCTIONS) and not below:
            if forward:
                yield raw
            else:
                held.append(raw)
    yield from held
