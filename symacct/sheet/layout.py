"""Layouts: which rows a sheet has, in which sections, and what they are called; TOML, strictly read."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from symacct.errors import ReadError
from symacct.readers.claim_files import find_claim_file, read_claim_file, shipped_claim_files
from symacct.readers.stated import CHOICES, check_keys, kind, read_toml, text_of
from symacct.readers.strict_json import read_text
from symacct.syntax import read_sizes

if TYPE_CHECKING:
    from collections.abc import Mapping

    from symacct.readers.claim_files import ClaimFile

FOLDER = Path(__file__).resolve().parent / "layouts"
TOP = ("title", "title_zh", "about", "about_zh", "style", "claims", "section", "sizes", "bench")
OF_SECTIONS = ("title", "title_zh", "note", "note_zh", "machine", "machines", "formats", "rows")
TABLES = ("machines", "formats")
OF_ROWS = (
    *("claim", "quantity", "say", "name", "name_zh", "say_zh", "source", "source_zh", "note", "note_zh"),
    *("graph", "at"),
    *CHOICES,
)
OF_BENCHES = ("title", "title_zh", "graph", *CHOICES)
STATES = ("claim", "quantity", "say")
CITED = "cited"
"""What makes a card name the source of a claim."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One row of a layout: texts by key, and whether a card names its source."""

    where: str
    texts: Mapping[str, str]
    cited: bool = False

    def get(self, key: str, lang: str = "en") -> str:
        """Return the text of a key, in a language where there is one."""
        own = self.texts.get(f"{key}_zh", "") if lang == "zh" else ""
        return own or self.texts.get(key, "")


@dataclass(frozen=True, slots=True)
class Part:
    """One section of a layout; with a machine, its figures are the rows.

    Attributes:
        head: its texts.
        machine: the machine.
        rows: the rows.
        table: what the section is a table of: ``machines``, ``formats``; empty for none.
        names: the machines or number formats of the table.
    """

    head: Entry
    machine: str
    rows: tuple[Entry, ...]
    table: str = ""
    names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Layout:
    """A whole layout.

    Attributes:
        name: what it is called.
        head: its texts.
        claims: the claim files that its rows are from.
        parts: its sections.
        folder: where it lies.
        sizes: for graphs, the sizes that a live page starts from.
        benches: graphs that a live page sets against machines, each under choices.
        more: a claim file and those of its claims that stand after the sections.
    """

    name: str
    head: Entry
    claims: tuple[str, ...]
    parts: tuple[Part, ...]
    folder: Path
    sizes: Mapping[str, Mapping[str, int]] = field(default_factory=lambda: MappingProxyType({}))
    benches: tuple[Entry, ...] = ()
    more: ClaimFile | None = None


def shipped_layouts() -> Mapping[str, Path]:
    """Return the layouts that ship, by name.

    >>> "lecture" in shipped_layouts()
    True
    """
    return {path.stem: path for path in sorted(FOLDER.glob("*.toml"))}


def layout_of_claims(path: Path) -> Layout | None:
    """Return the shipped layout of a claim file, its claims taken from there; None where it has none.

    A copy of a file that ships has its layout too, wherever it lies and however its claims were changed;
    claims that the file that ships has not stand after the sections.

    Raises:
        ReadError: the file cannot be read, or is no claim file.
    """
    ships, found = shipped_claim_files().get(path.stem), shipped_layouts().get(path.stem)
    if ships is None or found is None:
        return None
    layout, own = read_layout(found), read_claim_file(path)
    names = {one.name for one in own.claims}
    known = {one.name for one in read_claim_file(ships).claims}
    shown = {text for part in layout.parts for entry in part.rows if (text := entry.get("claim"))}
    if not (shown & known) <= names:
        return None
    claims = tuple(str(path.absolute()) if name == path.stem else name for name in layout.claims)
    more = tuple(one for one in own.claims if one.name not in known)
    return replace(layout, claims=claims, more=replace(own, claims=more) if more else None)


def is_layout(path: Path) -> bool:
    """Say whether a TOML file is a layout: it has sections, and no claims."""
    table = read_toml(read_text(path), str(path), "[[section]]")
    return "section" in table and "claim" not in table


def read_layout(path: Path) -> Layout:
    """Return a layout.

    Raises:
        ReadError: it cannot be read; the error names the file and the row.
    """
    file = str(path)
    table = read_toml(read_text(path), file, "[[section]]")
    check_keys(table, TOP, file)
    sections = table.get("section")
    if not isinstance(sections, list) or not sections or not all(isinstance(one, dict) for one in sections):
        raise ReadError(
            "a layout has [[section]] tables", where=file, expected="[[section]]", got=kind(sections)
        )
    texts = {key: text for key in TOP[:5] if (text := text_of(table, key, file))}
    claims = table.get("claims", [])
    if not isinstance(claims, list) or not all(isinstance(one, str) for one in claims):
        raise ReadError("claims is a list of files", where=file, expected='["lecture"]', got=kind(claims))
    parts = tuple(_part(one, f"{file}, section {number}") for number, one in enumerate(sections, 1))
    return Layout(
        path.stem,
        Entry(file, texts),
        tuple(claims),
        parts,
        path.parent,
        _sizes(table, file),
        _benches(table, file),
    )


def _sizes(table: dict[str, Any], file: str) -> Mapping[str, Mapping[str, int]]:
    """Return the sizes of graphs, each a text as ``--at`` takes it."""
    given = table.get("sizes", {})
    if not isinstance(given, dict):
        raise ReadError("sizes is a table", where=file, expected='sizes = { gpt = "b=8" }', got=kind(given))
    where = f"{file}, sizes"
    texts = {name: text_of(given, name, where) or "" for name in given}
    return MappingProxyType({name: read_sizes(text) for name, text in texts.items()})


def _benches(table: dict[str, Any], file: str) -> tuple[Entry, ...]:
    """Return the graphs that a live page sets against machines."""
    given = table.get("bench", [])
    if not isinstance(given, list) or not all(isinstance(one, dict) for one in given):
        raise ReadError("a layout has [[bench]] tables", where=file, expected="[[bench]]", got=kind(given))
    made = []
    for number, one in enumerate(given, 1):
        where = f"{file}, bench {number}"
        check_keys(one, OF_BENCHES, where)
        texts = {key: text for key in OF_BENCHES if (text := text_of(one, key, where))}
        if "graph" not in texts:
            raise ReadError("a bench is one of a graph", where=where, expected='graph = "gpt"', got="none")
        made.append(Entry(where, texts))
    return tuple(made)


def claim_path(name: str, folder: Path) -> Path:
    """Return the path of a claim file that a layout names: one that ships, or one beside the layout."""
    return folder / name if name.endswith(".toml") else find_claim_file(name)


def _part(table: dict[str, Any], where: str) -> Part:
    check_keys(table, OF_SECTIONS, where)
    texts = {key: text for key in OF_SECTIONS[:5] if (text := text_of(table, key, where))}
    held = [key for key in OF_SECTIONS[4:] if table.get(key)]
    rows = table.get("rows", [])
    if len(held) != 1 or not isinstance(rows, list):
        got = " and ".join(held) if len(held) != 1 else kind(rows)
        expected = "rows = [ ... ], or one of machine, machines, formats"
        raise ReadError(
            "a section has rows, or a machine", where=where, expected=expected, got=got or "no rows"
        )
    entries = tuple(_entry(one, f"{where}, row {number}") for number, one in enumerate(rows, 1))
    head = Entry(where, texts)
    if held[0] in TABLES:
        return Part(head, "", (), held[0], _names(table[held[0]], held[0], where))
    return Part(head, texts.get("machine", ""), entries)


def _names(names: object, key: str, where: str) -> tuple[str, ...]:
    if isinstance(names, list) and all(isinstance(one, str) for one in names):
        return tuple(names)
    raise ReadError(f"{key} is a list of names", where=where, expected=f'{key} = ["..."]', got=kind(names))


def _entry(table: object, where: str) -> Entry:
    if not isinstance(table, dict):
        raise ReadError("a row is a table", where=where, expected='{ claim = "..." }', got=kind(table))
    check_keys(table, (*OF_ROWS, CITED), where)
    cited = table.get(CITED, False)
    if not isinstance(cited, bool):
        raise ReadError("cited is true or false", where=where, expected="cited = true", got=kind(cited))
    texts = {key: text for key in OF_ROWS if (text := text_of(table, key, where))}
    stated = [key for key in STATES if key in texts]
    if len(stated) != 1:
        got = " and ".join(stated) or "none"
        raise ReadError("a row states one thing", where=where, expected="claim, quantity or say", got=got)
    if stated == ["say"] and "source" not in texts:
        raise ReadError("what is reported has a source", where=where, expected='source = "..."', got="none")
    if stated == ["quantity"] and "graph" not in texts:
        raise ReadError("a quantity is one of a graph", where=where, expected='graph = "gpt"', got="none")
    return Entry(where, texts, cited)
