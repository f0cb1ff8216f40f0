"""One claim of a claim file: its keys, their types, and which of them go together."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from symacct.errors import ReadError, SymacctError, nearest, unknown

if TYPE_CHECKING:
    from collections.abc import Mapping

EXPECTED = (
    "proved", "refuted", "undecided", "leading order", "upper bound", "lower bound", "refused", "reported",
)  # fmt: skip
"""What a claim may be expected to be; ``refused`` is input that is wrong, ``reported`` is not judged."""

POLICY = (
    "workload", "optimizer", "precision", "saves", "checkpoint", "grads", "update", "accumulate", "lora"
)  # fmt: skip
CHOICES = (*POLICY, "convention", "attention", "bytes")
OF_SHEETS = ("name_zh", "section", "section_zh")
PLAIN = (
    *("claim", "calc", "instead", "at", "grow", "on", "within", "source", "comment", "to", "value"),
    *("names", "rename"),
    *OF_SHEETS,
)
TEXTS = ("graph", "model", "expect", *PLAIN, *CHOICES)
LISTS = ("let", "assume")
FLAGS = ("input_grad", "hold_output", "symbolic")
KEYS = ("name", *TEXTS, *LISTS, *FLAGS)
OF_CALCULATIONS = ("calc", "to", "value", "within")
OF_BOTH = ("name", "let", "on", "expect", "instead", "source", "comment", *OF_SHEETS)
LONGEST_NAME = 120
KINDS = {
    str: "a text", bool: "true or false", int: "a number", float: "a number", list: "a list", dict: "a table"
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Stated:
    """One claim of a file, or one calculation.

    Attributes:
        name: what the claim is called, once in a file.
        where: the file and the name, for messages.
        graph: a shipped graph or model, or a path; None compares formulas alone.
        claim: the claim; empty for a calculation.
        calc: numbers and units; empty for a claim.
        expect: the verdict that is expected.
        instead: the right statement, which must be proved; the right calculation, which comes to the value.
        to: the unit of a calculation's result.
        value: what a calculation comes to, a number in that unit.
        within: how far it may be off: a number in that unit, or a share such as ``1 %``.
        let: names, each ``NAME = FORMULA``.
        assume: what may be assumed about sizes.
        at: sizes, as ``--at`` takes them.
        grow: what goes to infinity, as ``--grow`` takes it.
        on: the machine whose times and figures are meant, as ``--on`` takes it; empty for none.
        names: words that are names, as ``--names`` takes them.
        rename: other letters for sizes of the graph, as ``--rename`` takes them.
        choices: those of the policy and the convention that are made, by the name of the flag.
        input_grad: whether the gradients of inputs are formed.
        hold_output: whether the caller holds the output.
        symbolic: whether a model's sizes stay symbols.
        source: who states it, and where.
        comment: what a reader should know.
        name_zh: the name in Chinese.
        section: under which title it stands on a sheet, with those below it; empty for that of the one above.
        section_zh: that title in Chinese.
    """

    name: str
    where: str
    graph: str | None = None
    claim: str = ""
    calc: str = ""
    expect: str = "proved"
    instead: str = ""
    to: str | None = None
    value: str | None = None
    within: str = "0"
    let: tuple[str, ...] = ()
    assume: tuple[str, ...] = ()
    at: str = ""
    grow: str = ""
    on: str = ""
    names: str = ""
    rename: str = ""
    choices: tuple[tuple[str, str], ...] = ()
    input_grad: bool = False
    hold_output: bool = False
    symbolic: bool = False
    source: str = ""
    comment: str = ""
    name_zh: str = ""
    section: str = ""
    section_zh: str = ""

    def called(self, lang: str) -> str:
        """Return the name in a language, where there is one."""
        return (self.name_zh if lang == "zh" else "") or self.name


def read_stated(entry: Any, file: str, number: int) -> Stated:
    """Return one ``[[claim]]`` table, checked.

    Raises:
        ReadError: a key is unknown, misplaced, missing or of a wrong type; the file and the claim are named.

    >>> read_stated({"name": "twice", "claim": "2*n = n + n", "expect": "proved"}, "my.toml", 1).where
    'my.toml, claim twice'
    """
    place = f"{file}, claim {number}"
    if not isinstance(entry, dict):
        raise ReadError("a claim is a table", where=place, expected="[[claim]]", got=kind(entry))
    name = text_of(entry, "name", place)
    if not name:
        raise ReadError("a claim has no name", where=place, expected='name = "..."', got="no name")
    if len(name) > LONGEST_NAME or not name.isprintable():
        expected = f"one line of at most {LONGEST_NAME} characters"
        raise ReadError("a claim has no good name", where=place, expected=expected, got=repr(name[:40]))
    place = f"{file}, claim {name}"
    check_keys(entry, KEYS, place)
    texts = {key: found for key in TEXTS if (found := text_of(entry, key, place)) is not None}
    given: dict[str, Any] = {key: texts[key] for key in PLAIN if key in texts}
    given |= {key: _list_of(entry, key, place) for key in LISTS}
    given |= {key: _flag_of(entry, key, place) for key in FLAGS}
    _check_together(entry, texts, place)
    return Stated(
        name,
        place,
        texts.get("graph", texts.get("model")),
        expect=_expected(texts, place),
        choices=tuple((key, texts[key]) for key in CHOICES if key in texts),
        **given,
    )


def read_toml(text: str, file: str, expected: str) -> dict[str, Any]:
    """Return what a TOML text says.

    Args:
        text: the text.
        file: where it stands, for messages.
        expected: what such a file holds, for messages.

    Raises:
        ReadError: it is broken, or nested too deeply.

    >>> read_toml("a = 1", "my.toml", "a")
    {'a': 1}
    """
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ReadError("the TOML is broken", where=file, expected="valid TOML", got=str(error)) from None
    except RecursionError:
        got = "very many brackets"
        raise ReadError("the TOML is nested too deeply", where=file, expected=expected, got=got) from None


def check_keys(entry: Mapping[str, Any], known: tuple[str, ...], place: str) -> None:
    """Check that a table has known keys alone.

    Raises:
        ReadError: one is unknown; the nearest is named.
    """
    for key in entry:
        if key not in known:
            raise _as_read_error(unknown("key", key, known, where=place))


def text_of(entry: Mapping[str, Any], key: str, place: str) -> str | None:
    """Return the text of a key, without spaces around it; None where the key is absent.

    Raises:
        ReadError: it is no text.
    """
    value = entry.get(key)
    if value is None:
        return None
    if not isinstance(value, str):
        number = isinstance(value, int | float) and not isinstance(value, bool)
        fix = f'write {key} = "{value}"' if number else None
        raise ReadError(f"{key} is text", where=place, expected=f'{key} = "..."', got=kind(value), fix=fix)
    return value.strip()


def kind(value: object) -> str:
    """Return what a value is, and how it starts."""
    return f"{KINDS.get(type(value), type(value).__name__)}: {str(value)[:48]}"


def _check_together(entry: Mapping[str, Any], texts: Mapping[str, str], place: str) -> None:
    """Check that the keys of a claim fit together.

    Raises:
        ReadError: they do not.
    """
    stated = [key for key in ("claim", "calc") if texts.get(key)]
    if len(stated) != 1:
        got = "both" if stated else "neither"
        raise ReadError(
            "a claim states one thing", where=place, expected="claim = ... or calc = ...", got=got
        )
    if texts.get("section_zh") and not texts.get("section"):
        raise ReadError(
            "a title in Chinese has one beside it", where=place, expected='section = "..."', got="none"
        )
    if "graph" in texts and "model" in texts:
        raise ReadError("a claim is of one graph", where=place, expected="graph or model", got="both")
    calculates = stated == ["calc"]
    if calculates and texts.get("instead") and not texts.get("value"):
        what = "instead is the calculation that comes to the value"
        raise ReadError(what, where=place, expected='value = "..."', got="no value")
    allowed = [
        key
        for key in KEYS
        if key in OF_BOTH or (key in OF_CALCULATIONS if calculates else key not in OF_CALCULATIONS)
    ]
    stranger = next((key for key in entry if key not in allowed and key != stated[0]), None)
    if stranger is not None:
        what = f"{stranger} says nothing of a {'calculation' if calculates else 'claim'}"
        near = nearest(stranger, sorted(allowed))
        raise ReadError(what, where=place, expected=f"one of: {near}", got=stranger)


def _expected(texts: Mapping[str, str], place: str) -> str:
    """Return the verdict that is expected; that of a calculation follows from its value."""
    found = texts.get("expect")
    if found is None and "calc" in texts:
        return "proved" if "value" in texts else "reported"
    if found is None:
        raise ReadError(
            "a claim says what is expected of it",
            where=place,
            expected=f"expect = one of: {', '.join(EXPECTED)}",
            got="no expect",
        )
    if found not in EXPECTED:
        raise _as_read_error(unknown("expected verdict", found, EXPECTED, where=place))
    return found


def _list_of(entry: Mapping[str, Any], key: str, place: str) -> tuple[str, ...]:
    value = entry.get(key, [])
    if isinstance(value, list) and all(isinstance(one, str) for one in value):
        return tuple(value)
    fix = f'write {key} = ["{value}"]' if isinstance(value, str) else None
    expected = f'{key} = ["..."]'
    raise ReadError(f"{key} is a list of texts", where=place, expected=expected, got=kind(value), fix=fix)


def _flag_of(entry: Mapping[str, Any], key: str, place: str) -> bool:
    value = entry.get(key, False)
    if not isinstance(value, bool):
        raise ReadError(f"{key} is true or false", where=place, expected=f"{key} = true", got=kind(value))
    return value


def _as_read_error(error: SymacctError) -> ReadError:
    return ReadError(error.what, where=error.where, expected=error.expected, got=error.got, fix=error.fix)
