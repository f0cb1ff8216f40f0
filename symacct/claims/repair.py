"""How units that disagree are mended: by one edit that makes them agree, or the factor that is missing."""

from __future__ import annotations

import re
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from symacct.claims.check import UnlikeError
from symacct.claims.dims import Dims
from symacct.syntax import caret, walk
from symacct.syntax.refusals import BETWEEN
from symacct.units import long_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from symacct.errors import SymacctError
    from symacct.syntax import Tree


WORK = re.compile(r"(?<!\w)([kMGTPE]?(?:FLOPs?|op|ops|MACs?))(?!\w)(?!\s*/\s*(?:s|sec|second)\b)")
RATE = re.compile(r"\s*/\s*(?:s|sec|second)(?!\w)")
MOST_EDITS = 60
SHORT = 2
SHORT_UNIT = re.compile(r"[kmMGTPEnu]?[shJW]")
"""Units that a product of one-letter names may be meant by."""
COUNTED = frozenset({"parameter", "token", "sequence", "layer"})
COUNTED = frozenset({"token", "sequence", "step", "parameter", "layer"})
"""What a number with its unit may be per one of."""
LITERAL = re.compile(r"[0-9][\w.]*\s*[^\W\d]+")
"""A number with one unit."""
FACTORS = {
    "token/sequence": ("* {} token/sequence", "the tokens of one sequence"),
    "sequence/token": ("/ ({} token/sequence)", "the tokens of one sequence"),
    "step/microstep": ("/ ({} microstep/step)", "the microsteps of one step"),
    "microstep/step": ("* {} microstep/step", "the microsteps of one step"),
    "byte/parameter": ("* 2 byte/parameter", "the bytes of one parameter: 2 in bf16, 4 in fp32"),
    "parameter/byte": ("/ (2 byte/parameter)", "the bytes of one parameter: 2 in bf16, 4 in fp32"),
    "byte/token": ("* {} byte/token", "the bytes of one token"),
    "1/device": ("/ ({} device)", "the number of devices"),
    "device": ("* {} device", "the number of devices"),
    "byte/FLOP": ("/ ({} FLOP/byte)", "an intensity, or add the two as times"),
    "FLOP/byte": ("* {} FLOP/byte", "an intensity, or add the two as times"),
}
"""The factor that brings one unit to another, and what it is; the braces hold a letter that is free."""


class Edit(NamedTuple):
    """One change of a text."""

    start: int
    end: int
    new: str
    why: str

    def apply(self, text: str) -> str:
        """Return the text with the change."""
        return f"{text[: self.start]}{self.new}{text[self.end :]}"


def edits(tree: Tree, text: str) -> Iterator[Edit]:
    """Yield the slips that people make with units, undone: a rate for a count, all devices for one, ..."""
    amounts = {
        part.parts[0].start for part in walk(tree) if part.form == "product" and part.parts[1].form == "unit"
    }
    for part in walk(tree):
        if part.form == "unit":
            yield from _unit_edits(part, text)
        elif part.form == "number" and part.start not in amounts and part.value.denominator == 1 < part.value:
            yield Edit(part.end, part.end, " device", "a number of devices has a unit")


def _unit_edits(part: Tree, text: str) -> Iterator[Edit]:
    written = text[part.start : part.end]
    for match in WORK.finditer(written):
        for second in ("s", "second"):
            new = f"{written[: match.end()]}/{second}{written[match.end() :]}"
            yield Edit(part.start, part.end, new, f"{match[1]} is a count, {match[1]}/{second} a rate")
    for match in RATE.finditer(written):
        yield Edit(
            part.start, part.end, written[: match.start()] + written[match.end() :], "a count, not a rate"
        )
        yield Edit(part.end, part.end, "/device", "of one device, not of all")


def _per_what(tree: Tree, text: str, error: UnlikeError) -> Iterator[Edit]:
    """Yield physical units with the parameters and tokens that are missing below them."""
    ratio = error.wanted.over(error.found)
    if ratio.unit is None or ratio.pure or not all(name in COUNTED for name, _ in ratio.powers):
        return
    for part in walk(tree):
        if part.form == "unit" and not (found := Dims.read(part.name)).counting:
            new = str(found.times(ratio))
            if str(found) == text[part.start : part.end].strip():
                yield Edit(part.start, part.end, new, "per what it is counted")


def mended(error: SymacctError, tree: Tree, text: str, works: Callable[[str], bool]) -> SymacctError:
    """Return the error with the corrected line, and its place where one slip explains it.

    Args:
        error: what is wrong.
        tree: the formula, or the parts of a claim under one node.
        text: its text.
        works: says whether the units of another text agree.
    """
    if error.fix is not None or not isinstance(error, UnlikeError):
        return error
    tried = (*edits(tree, text), *_per_what(tree, text, error))
    found = next((edit for edit in islice(tried, MOST_EDITS) if works(edit.apply(text))), None)
    if found:
        error.where = caret(text, found.start - (found.start == found.end))
        error.fix = f"write {found.apply(text).strip()}      ({found.why})"
    else:
        error.fix = missing_factor(error, text)
    named = as_names(tree, text)
    if named is not None:
        error.fix = f"{error.fix}{BETWEEN}{named}" if error.fix else f"write {named}"
    return error


def as_names(tree: Tree, text: str) -> str | None:
    """Return the text with a short word that was read as a unit as a product of names; None without one.

    >>> from symacct.syntax import parse
    >>> from symacct.units import is_unit
    >>> as_names(parse("12h + n", ["n"], is_unit), "12h + n")
    '12*h + n      (12h was read as 12 hour)'
    """
    units = (part for part in walk(tree) if part.form == "unit")
    found = next((one for one in units if len(one.name) <= SHORT and SHORT_UNIT.fullmatch(one.name)), None)
    if found is None or "\\" in text[: found.end]:
        return None
    before = text[: found.start].rstrip()
    number = re.search(r"[\w.)\]]+$", before)
    read = f"{number.group() if number else ''}{text[len(before) : found.end]}"
    long = f"{number.group() if number else ''} {long_name(found.name)}"
    line = f"{before}*{'*'.join(found.name)}{text[found.end :]}".strip()
    return f"{line}      ({read} was read as {long})"


def missing_factor(error: UnlikeError, text: str) -> str | None:
    """Return the line with the factor that is missing."""
    part, ratio = error.part, error.wanted.over(error.found)
    if ratio.pure:
        part = part if error.found.mac > error.wanted.mac else error.first
        factor, why = "* 2 FLOP/MAC", "a MAC is 2 FLOP"
    elif ratio.unit is None:
        return None
    elif error.found.pure:
        factor, why = (
            f"{'' if part.form == 'number' else '* 1 '}{ratio.unit}",
            f"what is added is in {ratio.unit}",
        )
    else:
        unit = str(ratio.unit)
        below = unit.removeprefix("1/").strip("()")
        written = text[part.start : part.end].strip()
        if unit.startswith("1/") and below in COUNTED and LITERAL.fullmatch(written):
            line = f"{text[: part.start]}{written}/{below}{text[part.end :]}"
            return f"write {line.strip()}      (per {below})"
        usual = f"/ ({{}} {below})" if unit.startswith("1/") else f"* {{}} {unit}"
        factor, why = FACTORS.get(unit, (usual, "what connects the two units"))
    letter = next(name for name in ("n", "k", "m", "x", "q") if not re.search(rf"(?<!\w){name}(?!\w)", text))
    where = f" with {letter} for {why}" if "{}" in factor else f"      ({why})"
    written = text[part.start : part.end].strip()
    body = f"({written})" if part.form == "sum" and written[:1] != "(" else written
    return f"write {text[: part.start]}{body} {factor.format(letter)}{text[part.end :]}".rstrip() + where
