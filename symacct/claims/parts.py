"""The text of a claim into its parts: two sides, a relation, what names stand for, what grows."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from symacct.algebra.symbols import check_name
from symacct.errors import FormulaError
from symacct.syntax import Source
from symacct.syntax.source import CLOSE, FUNCTION, NAME

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

Relation = Literal["=", "~", "<=", ">=", "<", ">", "O", "Theta"]
SIGNS: dict[str, Relation] = {
    "<=": "<=", "=<": "<=", ">=": ">=", "==": "=", "≤": "<=", "≥": ">=",
    "∈": "O", "=": "=", "~": "~", "<": "<", ">": ">",
}  # fmt: skip
OPENING, CLOSING = "([⌈⌊\ue003", ")]⌉⌋\ue004"
WORD = rf"[{NAME}{FUNCTION}]?(?<!\w){{}}(?!\w){CLOSE}?"
WHERE = re.compile(rf"(?<![\w.])(?:where|其中)(?!\w){CLOSE}?")
GROWS = re.compile(
    rf"(?<![\w.]){NAME}?as(?!\w){CLOSE}?\s+(?P<names>[^=<>→∞]{{1,200}}?)\s*(?:->|→)\s*(?:∞|{NAME}?(?:oo|inf|infinity)\b)"
)
MARKS = re.compile(f"[{NAME}{FUNCTION}{CLOSE}]")
ORDER = re.compile(rf"(?<=[\s{CLOSE})\]])(?:is\s+|in\s+)?{NAME}?(?:O|Theta|Θ){CLOSE}?\s*\(")
JOINT = re.compile(r"[,;]|(?<!\w)and(?!\w)")
REFUSED = {"!=": "a claim is not a denial", "≠": "a claim is not a denial"}
LONGEST = 160


@dataclass(frozen=True, slots=True)
class Span:
    """A part of a text, by its place."""

    start: int
    end: int

    def of(self, text: str) -> str:
        """Return the part, behind as many spaces as there is text before it."""
        return " " * self.start + text[self.start : self.end]


@dataclass(frozen=True, slots=True)
class Parts:
    """The parts of a claim's text."""

    text: str
    left: Span
    relation: Relation
    right: Span
    where: tuple[tuple[str, Span], ...]
    grows: tuple[str, ...]


def parts_of(text: str, names: Collection[str]) -> Parts:
    """Return the parts of a claim.

    Raises:
        FormulaError: there is not one relation, or a ``where`` is not NAME = FORMULA.

    >>> found = parts_of("time.step ~ N*D where N = params as L -> oo", ["L"])
    >>> found.relation, [name for name, _ in found.where], found.grows
    ('~', ['N'], ('L',))
    """
    return _Splitter(_undollared(text), names).parts()


def binding_of(text: str) -> tuple[str, Span]:
    """Return the name and the formula of ``NAME = FORMULA``.

    >>> binding_of("N = 70e9 parameter")
    ('N', Span(start=3, end=18))
    """
    splitter = _Splitter(text, ())
    return splitter.binding(0, len(splitter.plain))


def _undollared(text: str) -> str:
    """Return a text with the dollar signs of LaTeX around it replaced by spaces."""
    bare = text.strip() if isinstance(text, str) else ""
    if len(bare) > 2 and bare[0] == bare[-1] == "$":
        first, last = text.index("$"), text.rindex("$")
        return f"{text[:first]} {_undollared(text[first + 1 : last])} {text[last + 1 :]}"
    return text


class _Splitter:
    def __init__(self, text: str, names: Collection[str]) -> None:
        self.source = Source(text)
        self.plain = self.source.plain
        self.names = names
        self.depths = list(self._depths())

    def _depths(self) -> Iterator[int]:
        depth = 0
        for char in self.plain:
            depth += char in OPENING
            yield depth
            depth -= char in CLOSING

    def span(self, start: int, end: int) -> Span:
        """Return where a part of the plain form was written, with the commands and braces around it."""
        first = self.source.end(start)
        last = self.source.start(end) if end < len(self.plain) else len(self.source.text)
        return Span(first, max(first, last))

    def fail(self, what: str, place: int, expected: str, got: str, fix: str | None = None) -> FormulaError:
        return self.source.error(what, self.source.start(place), expected=expected, got=got[:64], fix=fix)

    def first(self, pattern: re.Pattern[str], start: int, end: int) -> re.Match[str] | None:
        """Return the first match outside brackets."""
        found = pattern.finditer(self.plain, start, end)
        return next((one for one in found if not self.depths[one.start()]), None)

    def parts(self) -> Parts:
        """Return the parts of the whole text."""
        end = len(self.plain)
        growth, where = self.first(GROWS, 0, end), self.first(WHERE, 0, end)
        starts = [one.start() for one in (growth, where) if one]
        main = min(starts, default=end)
        grows: tuple[str, ...] = ()
        bound: tuple[tuple[str, Span], ...] = ()
        if growth:
            grows = tuple(self.growing(growth))
            following = min((one for one in starts if one > growth.start()), default=end)
            if self.plain[growth.end() : following].strip(" ,;)"):
                raise self.fail(
                    "something follows what grows", growth.end(), "where ..., or the end", "more text"
                )
        if where:
            following = min((one for one in starts if one > where.start()), default=end)
            bound = tuple(self.bindings(where.end(), following))
        start, after, relation = self.relation(main)
        for name, first, last in (("left", 0, start), ("right", after, main)):
            if not self.plain[first:last].strip():
                raise self.fail(f"the {name} side is empty", start, "a formula on both sides", "nothing")
        return Parts(self.source.text, self.span(0, start), relation, self.span(after, main), bound, grows)

    def growing(self, match: re.Match[str]) -> Iterator[str]:
        for name in re.split(r"\s*(?:,|\band\b)\s*", MARKS.sub("", match["names"])):
            yield check_name(name.strip())

    def bindings(self, start: int, end: int) -> Iterator[tuple[str, Span]]:
        """Yield what a ``where`` binds; commas stand between, and ``and`` may."""
        joints = JOINT.finditer(self.plain, start, end)
        cuts = [one for one in joints if not self.depths[one.start()]]
        first = start
        for stop, following in [*((one.start(), one.end()) for one in cuts), (end, end)]:
            if self.plain[first:stop].strip():
                yield self.binding(first, stop)
            first = following
        if not self.plain[start:end].strip():
            raise self.fail("where binds nothing", start - 1, "where NAME = FORMULA", "the end")

    def binding(self, start: int, end: int) -> tuple[str, Span]:
        equals = self.plain.find("=", start, end)
        written = self.plain[start:end].strip()
        if equals < 0 or "=" in self.plain[equals + 1 : end]:
            what = "a name is bound as NAME = FORMULA"
            raise self.fail(what, start, "N = params.nonembedding", MARKS.sub("", written) or "nothing")
        name = MARKS.sub("", self.plain[start:equals]).strip()
        try:
            return check_name(name), self.span(equals + 1, end)
        except FormulaError as error:
            raise error.at(self.fail("", start, "", "").where or "") from None

    def relation(self, end: int) -> tuple[int, int, Relation]:
        """Return where the relation stands, where what follows it starts, and the relation."""
        found: list[tuple[int, int, Relation]] = []
        place = 0
        while place < end:
            sign = next((sign for sign in SIGNS if self.plain.startswith(sign, place)), None)
            for refused, what in REFUSED.items():
                if self.plain.startswith(refused, place):
                    raise self.fail(what, place, " ".join(dict.fromkeys(SIGNS.values())), refused)
            if sign and not self.depths[place]:
                found.append((place, place + len(sign), SIGNS[sign]))
            place += len(sign) if sign else 1
        if len(found) > 1:
            got = self.plain[found[1][0] : found[1][1]]
            raise self.fail(
                "a claim has one relation", found[1][0], "one of = ~ <= >= < >", f"a second {got}"
            )
        return found[0] if found else self.order(end)

    def order(self, end: int) -> tuple[int, int, Relation]:
        """Return the place of ``is O(...)``, or of ``O(...)`` behind a formula."""
        match = self.first(ORDER, 0, end)
        name = MARKS.sub("", match.group()).removeprefix("is").removeprefix("in").strip(" (") if match else ""
        if match is None or name in self.names or self.plain[: match.start()].rstrip()[-1:] in set("+-*/^,"):
            what = "a claim has a relation"
            raise self.fail(what, max(0, end - 1), "LEFT RELATION RIGHT with = ~ <= >= < > or O(...)", "none")
        words = re.compile(r"(?:is|in)\s+").match(self.plain, match.start())
        return match.start(), words.end() if words else match.start(), "O"
