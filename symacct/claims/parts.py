"""The text of a claim into its parts: two sides, a relation, what names stand for, what grows."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Literal
from unicodedata import normalize

from symacct.algebra.symbols import check_name
from symacct.errors import FormulaError
from symacct.syntax import Source
from symacct.syntax.refusals import said
from symacct.syntax.source import APART, CLOSE, FUNCTION, NAME

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

Relation = Literal["=", "~", "<=", ">=", "<", ">", "O", "Theta", "within"]
SIGNS: dict[str, Relation] = {
    "<=": "<=", "=<": "<=", ">=": ">=", "==": "=", "≤": "<=", "≥": ">=",
    "≈": "within", "∈": "O", "=": "=", "~": "~", "<": "<", ">": ">",
}  # fmt: skip
OPENING, CLOSING = "([⌈⌊\ue003", ")]⌉⌋\ue004"
WORD = rf"[{NAME}{FUNCTION}]?(?<!\w){{}}(?!\w){CLOSE}?"
WHERE = re.compile(rf"(?<![\w.])(?:where|其中)(?!\w){CLOSE}?")
GROWS = re.compile(
    rf"(?<![\w.]){NAME}?as(?!\w){CLOSE}?\s+(?P<names>[^=<>→∞]{{1,200}}?)\s*(?:->|→)\s*(?:∞|{NAME}?(?:oo|inf|infinity)\b)"
)
MARKS = re.compile(f"[{NAME}{FUNCTION}{CLOSE}{APART}]")
WITHIN = re.compile(
    rf"(?<![\w.]){NAME}?within(?!\w){CLOSE}?\s*(?P<share>[0-9]+(?:\.[0-9]+)?)\s*(?P<percent>%|{NAME}?percent{CLOSE}?)?\s*"
)
DOLLARS = re.compile(r"(?<![0-9\\])(?<![0-9]\s)\$(?=[^\s/*^)$])([^$]+?)(?<=\S)\$")
"""A part of a text that is LaTeX; in ``2 $/hour`` the sign is a unit."""
DOUBLE = re.compile(r"\$\$(.*?)\$\$", re.DOTALL)
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
    tolerance: Fraction | None = None
    dollars: tuple[Span, ...] = ()

    def is_latex(self, span: Span) -> bool:
        """Say whether a part stands between dollar signs."""
        return any(span.start < one.end and one.start < span.end for one in self.dollars)


def parts_of(text: str, names: Collection[str]) -> Parts:
    """Return the parts of a claim.

    Raises:
        FormulaError: there is not one relation, or a ``where`` is not NAME = FORMULA.

    >>> found = parts_of("time.step ~ N*D where N = params as L -> oo", ["L"])
    >>> found.relation, [name for name, _ in found.where], found.grows
    ('~', ['N'], ('L',))
    """
    plain, dollars = _undollared(text)
    return _Splitter(plain, names, dollars).parts()


def binding_of(text: str) -> tuple[str, Span]:
    """Return the name and the formula of ``NAME = FORMULA``.

    >>> binding_of("N = 70e9 parameter")
    ('N', Span(start=3, end=18))
    """
    splitter = _Splitter(text, ())
    return splitter.binding(0, len(splitter.plain))


def _undollared(text: str) -> tuple[str, tuple[Span, ...]]:
    """Return a text with spaces in the place of the dollar signs around LaTeX, and where that stands."""
    if not isinstance(text, str):
        return text, ()
    plain = DOUBLE.sub(r" $\1$ ", normalize("NFC", text))
    found = tuple(Span(one.start(), one.end()) for one in DOLLARS.finditer(plain))
    for one in found:
        plain = f"{plain[: one.start]} {plain[one.start + 1 : one.end - 1]} {plain[one.end :]}"
    return plain, found


class _Splitter:
    def __init__(self, text: str, names: Collection[str], dollars: tuple[Span, ...] = ()) -> None:
        self.source = Source(text, latex=bool(dollars))
        self.dollars = dollars
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
        main, end, tolerance = self.within(main)
        start, after, relation = self.relation(main)
        if relation == "within" and tolerance is None:
            raise self.unbounded(start, main)
        if tolerance is not None:
            if relation not in {"=", "within"}:
                raise self.fail(
                    "within follows an equation", main, "A = B within 3 %", f"{relation} ... within"
                )
            relation = "within"
        for name, first, last in (("left", 0, start), ("right", after, main)):
            if not self.plain[first:last].strip():
                raise self.fail(f"the {name} side is empty", start, "a formula on both sides", "nothing")
        return Parts(self.source.text, self.span(0, start), relation, self.span(after, main), bound, grows,
                     tolerance, self.dollars)  # fmt: skip

    def within(self, end: int) -> tuple[int, int, Fraction | None]:
        """Return where the sides end, where ``within P %`` behind them does, and the share.

        Raises:
            FormulaError: it is no percentage, or more text follows.
        """
        found = self.first(WITHIN, 0, end)
        if found is None:
            return end, end, None
        if found["percent"] is None or self.plain[found.end() : end].strip(" ,;"):
            got = self.plain[found.start() : end].strip()
            raise self.fail(
                "within is followed by a percentage", found.start(), "within 3 %", MARKS.sub("", got)
            )
        return found.start(), end, Fraction(found["share"]) / 100

    def unbounded(self, place: int, end: int) -> FormulaError:
        """Return the error for a ``≈`` that does not say how near."""
        text, last = self.source.text, self.span(0, end).end
        near = f"{text[:last].rstrip()} within 3 % {text[last:].strip()}".strip()
        start = self.source.start(place)
        sign = text[start] if text[start] != "\\" else "\\approx"
        leading = f"{text[:start]}~{text[start + len(sign) :]}"
        what = "how near two sides are is not said"
        return self.fail(
            what, place, "A ≈ B within P %, or A ~ B for the leading term", "≈", said([near, leading])
        )

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
        signs = [place for place in range(start, end) if self.plain[place] == "=" and not self.depths[place]]
        equals = signs[0] if signs else -1
        written = self.plain[start:end].strip()
        if len(signs) != 1:
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
