"""From layouts, claim files, graphs and machines to a sheet."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from symacct.account import Account
from symacct.convention import convention
from symacct.errors import ReadError, SymacctError, unknown
from symacct.machines import load as load_machine
from symacct.policy import Policy
from symacct.proof.lookup import chosen
from symacct.readers.claim_files import read_claim_file
from symacct.readers.documents import documents
from symacct.readers.files import load
from symacct.readers.stated import POLICY
from symacct.sheet.chinese import described
from symacct.sheet.data import Bench, Row, Section, Sheet, Words
from symacct.sheet.examples import of_account as example_sizes
from symacct.sheet.from_accounts import quantity_rows, terms
from symacct.sheet.from_claims import Claims
from symacct.sheet.from_formats import block_section, format_section, is_block
from symacct.sheet.from_machines import machine_section, machines_section
from symacct.sheet.full import completed, sources, symbols
from symacct.sheet.layout import Entry, Layout, Part, claim_path
from symacct.sheet.steps import with_steps
from symacct.sheet.words import QUANTITIES, word
from symacct.syntax import read_sizes

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from symacct.readers.claim_files import ClaimFile
    from symacct.readers.stated import Stated

TOPICS = ("params", "tokens", "flops", "bytes", "intensity", "memory", "time", "throughput", "mfu", "calc",
          "reported", "machine", "formats")  # fmt: skip
"""What ``--rows`` selects by: the first word of a quantity, or what kind of row it is."""
PARTS = {
    "parameters and tokens": {"params", "tokens"},
    "work": {"flops"},
    "bytes moved": {"bytes", "intensity"},
    "memory": {"memory"},
}
"""The sections of a graph's sheet, and the first words of the quantities in them."""
FEW = 10
"""Rows that need no sections of their own."""
PRICES = ("attention", "bytes")


@documents()
def of_layout(layout: Layout, *, lang: str = "en", style: str = "card") -> Sheet:
    """Return the sheet that a layout describes, every claim judged.

    Raises:
        SymacctError: a claim, a graph or a machine is unknown.
    """
    made = _Laid(layout, lang)
    sections = tuple(made.section(part) for part in layout.parts)
    sections += tuple(_sections(made.claims, layout.more, lang)) if layout.more else ()
    head = layout.head
    differs = tuple(made.claims.differs)
    return completed(Sheet(
        head.get("title", lang) or layout.name, head.get("about", lang), sections, style, lang, differs,
        layout.sizes, tuple(made.bench(entry) for entry in layout.benches),
    ))  # fmt: skip


class _Laid:
    """The rows of a layout."""

    def __init__(self, layout: Layout, lang: str) -> None:
        self.layout = layout
        self.lang = lang
        self.claims = Claims()
        self.stated = dict(_stated(layout))
        self.accounts: dict[object, Account] = {}

    def section(self, part: Part) -> Section:
        """Return one section, with its note."""
        with _placed(part.head):
            return self._section(part)

    def _section(self, part: Part) -> Section:
        title, note = (part.head.get(key, self.lang) for key in ("title", "note"))
        if part.machine:
            made = machine_section(load_machine(part.machine), self.lang)
            rows = tuple(replace(row, topic=frozenset({"machine"})) for row in made.rows)
            return Section(title or made.title, rows, note=note)
        if part.table:
            return replace(_table(part), title=title, note=note)
        return Section(title, tuple(self.row(entry) for entry in part.rows), note=note)

    def row(self, entry: Entry) -> Row:
        """Return one row, with its note."""
        with _placed(entry):
            row = self.plain(entry)
        if entry.cited and not row.source:
            raise ReadError("a cited row has a source", where=entry.where, expected="source", got="none")
        return replace(row, note=entry.get("note", self.lang), cited=entry.cited)

    def plain(self, entry: Entry) -> Row:
        if said := entry.get("say", self.lang):
            source = entry.get("source", self.lang)
            name = entry.get("name", self.lang)
            return Row(name, (Words(said),), mark="reported", source=source, topic=frozenset({"reported"}))
        if entry.get("quantity"):
            return self.quantity(entry)
        name = entry.get("claim")
        if name not in self.stated:
            raise _missing(name, self.stated, entry)
        stated, folder = self.stated[name]
        row = self.claims.row(stated, folder, _name(entry, stated, self.lang))
        return replace(row, source=entry.get("source", self.lang) or row.source)

    def account(self, entry: Entry) -> tuple[Account, Mapping[str, str]]:
        """Return the account of a graph under choices, and the choices."""
        choices = {key: entry.texts[key] for key in (*POLICY, "convention", *PRICES) if key in entry.texts}
        key = (entry.get("graph"), tuple(choices.items()))
        if key not in self.accounts:
            self.accounts[key] = _account(entry.get("graph"), choices)
        return self.accounts[key], choices

    def bench(self, entry: Entry) -> Bench:
        with _placed(entry):
            account, _ = self.account(entry)
        return Bench(entry.get("title", self.lang) or account.graph.name, account)

    def quantity(self, entry: Entry) -> Row:
        account, choices = self.account(entry)
        sizes = read_sizes(entry.get("at")) if entry.get("at") else {}
        name = entry.get("quantity")
        row = quantity_rows(account, sizes, [name], target=entry.get("graph"))[0]
        said = [entry.get("graph"), *choices.values(), *([entry.get("at")] if sizes else [])]
        holds = (*((Words(one, code=place == 0),) for place, one in enumerate(said)), *row.holds)
        title = entry.get("name", self.lang) or _titled(name, row.name, self.lang)
        return replace(row, name=title, holds=holds)


@contextmanager
def _placed(entry: Entry) -> Iterator[None]:
    """Name the entry of the layout in an error that names no place."""
    try:
        yield
    except SymacctError as error:
        raise error.at(entry.where) from None


def _table(part: Part) -> Section:
    """Return a section that is one table: of machines, or of number formats."""
    if part.table == "machines":
        return machines_section(load_machine(name) for name in part.names)
    return block_section(part.names) if is_block(part.names[0]) else format_section(part.names)


def _name(entry: Entry, stated: Stated, lang: str) -> str:
    """Return what a claim is called: by the layout in the language, else by its file, else by the layout."""
    own = entry.texts.get("name_zh") if lang == "zh" else ""
    return own or (stated.name_zh if lang == "zh" else "") or entry.texts.get("name", "")


def _titled(quantity: str, meaning: str, lang: str) -> str:
    return QUANTITIES.get(quantity, meaning) if lang == "zh" else meaning


def _missing(name: str, known: Mapping[str, object], entry: Entry) -> ReadError:
    error = unknown("claim", name, known, where=entry.where)
    return ReadError(error.what, where=entry.where, expected=error.expected, got=error.got, fix=error.fix)


def _stated(layout: Layout) -> Iterator[tuple[str, tuple[Stated, Path]]]:
    """Yield the claims of a layout's files; the first file that has a name counts."""
    seen: set[str] = set()
    for name in layout.claims:
        path = claim_path(name, layout.folder)
        for one in read_claim_file(path).claims:
            if one.name not in seen:
                seen.add(one.name)
                yield one.name, (one, path.parent)


def _account(target: str, choices: Mapping[str, str]) -> Account:
    policy = chosen(Policy(), {name: text for name, text in choices.items() if name in POLICY})
    prices = {name: choices[name] for name in PRICES if name in choices}
    return Account(load(target), policy, convention(choices.get("convention", "default"), **prices))


@documents()
def of_claims(files: Sequence[ClaimFile], *, lang: str = "en", style: str = "card") -> Sheet:
    """Return the sheet of whole claim files: their sections, a row for each claim."""
    claims = Claims()
    sections = tuple(section for file in files for section in _sections(claims, file, lang))
    title = files[0].title(lang) if len(files) == 1 else ", ".join(file.name for file in files)
    source = "; ".join(dict.fromkeys(file.source for file in files if file.source))
    return completed(Sheet(title, source, sections, style, lang, tuple(claims.differs)))


def _sections(claims: Claims, file: ClaimFile, lang: str) -> Iterator[Section]:
    """Yield the sections of a file: a claim stands under the last title above it, else under the file's.

    What is reported is the word of the file's source, where it names none; what was worked out here is not.
    """
    title, rows = file.title(lang), list[Row]()
    for stated in file.claims:
        if stated.section:
            if rows:
                yield Section(title, tuple(rows))
            title, rows = (stated.section_zh if lang == "zh" else "") or stated.section, []
        row = claims.row(stated, file.path.parent, stated.called(lang))
        told = row.mark == "reported" and not row.source
        rows.append(replace(row, source=file.source) if told else row)
    yield Section(title, tuple(rows))


def of_account(
    account: Account,
    sizes: Mapping[str, int],
    only: Sequence[str],
    *,
    lang: str = "en",
    style: str = "card",
    target: str = "",
) -> tuple[str, tuple[Section, ...]]:
    """Return the line on a graph and its sections: quantities; with ``full``, symbols and terms by op.

    A row that is too long says how to see it, with the graph as it was asked for: its target.
    """
    full = style == "full"
    shown = [
        name for name in only if any(one == name or one.startswith(f"{name}.") for one in account.names())
    ]
    titles = QUANTITIES if lang == "zh" else None
    chosen_here = full and not sizes
    sizes = example_sizes(account) if chosen_here else sizes
    rows = quantity_rows(account, sizes, shown, full=full, names=titles, target=target)
    rows = with_steps(rows, account, sizes, lang) if full else rows
    doc = " ".join(account.graph.doc.split("\n\n")[0].split())
    at = ", ".join(f"{name} = {size:,}" for name, size in sizes.items())
    at = f"{word('examples at', lang)} {at}" if at and chosen_here else at
    chosen = [f"convention {account.convention.describe()}", account.policy.describe()]
    about = [*(map(described, chosen) if lang == "zh" else chosen), *([at] if at else [])]
    sections = [symbols(account, sizes, lang)] if full else []
    sections += _by_topic(account.graph.name, doc, rows, lang)
    if full:
        sections += [*terms(account, sizes, [row.quantity for row in rows], lang), sources(account, lang)]
    return word("; ", lang).join(about), tuple(one for one in sections if one.rows)


def _by_topic(name: str, doc: str, rows: Sequence[Row], lang: str) -> Iterator[Section]:
    """Yield the rows of a graph: few in one section, else by topic; the title says what the graph is."""
    if len(rows) <= FEW:
        yield Section(f"{name}{word(': ', lang)}{doc}", tuple(rows))
        return
    for title, topics in PARTS.items():
        found = tuple(row for row in rows if row.topic & topics)
        if found:
            yield Section(f"{name}{word(': ', lang)}{word(title, lang)}", found, note=doc)
            doc = ""


def selected(sheet: Sheet, only: Iterable[str]) -> Sheet:
    """Return a sheet with the rows whose topic is asked for; all, where nothing is.

    Raises:
        UnknownNameError: there is no such topic.
    """
    wanted = set(only)
    for name in sorted(wanted):
        if name.partition(".")[0] not in TOPICS:
            raise unknown("kind of row", name, TOPICS, where="--rows")
    if not wanted:
        return sheet
    sections = (
        replace(one, rows=tuple(row for row in one.rows if not row.mark or _wanted(row, wanted)))
        for one in sheet.sections
    )
    return replace(sheet, sections=tuple(one for one in sections if one.rows))


def _wanted(row: Row, wanted: set[str]) -> bool:
    own = {*row.topic, *([row.mark] if row.mark == "reported" else [])}
    return bool(own & wanted) or any(
        row.quantity == name or row.quantity.startswith(f"{name}.") for name in wanted
    )
