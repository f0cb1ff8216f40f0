"""What can be read in two ways: the error, with the input mended for each reading."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from symacct.errors import FormulaError, SymacctError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

MOST_ROUNDS = 30
LONGEST_LINE = 2000
BETWEEN = "\n            or    "


class Edit(NamedTuple):
    """One change of a text."""

    start: int
    end: int
    new: str


class AmbiguousError(FormulaError):
    """A text can be read in more than one way; each reading is an edit that leaves no other.

    Attributes:
        edits: for each reading, the change of the text that says it.
        text: the text.
    """

    edits: tuple[Edit, ...] = ()
    text: str = ""


def ambiguous(
    what: str, where: str, got: str, readings: Iterable[str], text: str, edits: Sequence[Edit]
) -> AmbiguousError:
    """Return the error for a word that can be read in several ways."""
    error = AmbiguousError(what, where=where, expected=" or ".join(readings), got=got[:64])
    error.edits, error.text = tuple(edits), text
    error.fix = said(applied(text, edit) for edit in edits)
    return error


def said(lines: Iterable[str]) -> str | None:
    """Return lines as a fix, one below the other."""
    found = [line.strip() for line in dict.fromkeys(lines) if len(line) <= LONGEST_LINE]
    return f"write {BETWEEN.join(found)}" if found else None


def applied(text: str, edit: Edit) -> str:
    """Return a text with a change.

    >>> applied("params < 9B", Edit(9, 11, "9e9"))
    'params < 9e9'
    """
    return f"{text[: edit.start]}{edit.new}{text[edit.end :]}"


def completed(
    error: AmbiguousError, read: Callable[[str], object], text: str, whole: str | None = None
) -> AmbiguousError:
    """Return an error whose lines can be read: the same word is mended wherever it stands.

    Args:
        error: what was raised.
        read: reads a text, and raises such an error where it can be read in several ways.
        text: what was read.
        whole: the statement as it was written, of which the text is a part at the same place.
    """
    if error.text != text:
        start = (whole or "").find(error.text) if error.text else -1
        if whole is not None and start >= 0:
            moved = (Edit(one.start + start, one.end + start, one.new) for one in error.edits)
            error.fix = said(applied(whole, one) for one in moved)
        return error
    if len(text) > LONGEST_LINE:
        return error
    error.fix = said(_followed(error, number, read, whole) for number in range(len(error.edits)))
    return error


def _followed(error: AmbiguousError, number: int, read: Callable[[str], object], whole: str | None) -> str:
    """Return a text, mended in one way until nothing in it can be read in several."""
    text, shown, word = error.text, whole, error.got
    for _ in range(MOST_ROUNDS):
        edit = error.edits[min(number, len(error.edits) - 1)]
        shown = None if shown is None else _moved(shown, text, edit)
        text = applied(text, edit)
        try:
            read(text)
        except AmbiguousError as more:
            if more.text != text or more.got != word:
                break
            error = more
        except SymacctError:
            break
        else:
            break
    return text if shown is None else shown


def _moved(whole: str, text: str, edit: Edit) -> str | None:
    """Return the whole statement with a change of a part of it; None where that is not found."""
    part = text[edit.start : edit.end]
    if whole[edit.start : edit.end] == part and (part or whole[: edit.start] == text[: edit.start]):
        return applied(whole, edit)
    around = text[max(0, edit.start - 6) : edit.end]
    start = whole.find(around)
    if start < 0:
        return None
    first = start + len(around) - (edit.end - edit.start)
    return applied(whole, Edit(first, first + edit.end - edit.start, edit.new))
