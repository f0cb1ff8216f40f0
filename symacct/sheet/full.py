"""What a full sheet has beside its rows: symbols with meaning and unit, steps, sources and choices."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from symacct.claims.sides import Scope
from symacct.errors import SymacctError
from symacct.nodes import repeat_counts
from symacct.printers import text as plain_text
from symacct.proof.lookup import lookup
from symacct.report.names import MEANINGS
from symacct.sheet.chinese import described
from symacct.sheet.data import Cell, Math, Row, Section, Sheet, Words
from symacct.sheet.examples import of_account as example_sizes
from symacct.sheet.from_accounts import symbol_of_weights
from symacct.sheet.statement import comparison, formula
from symacct.sheet.steps import with_steps
from symacct.sheet.steps_claims import with_claim_steps
from symacct.sheet.steps_words import say
from symacct.sheet.words import QUANTITIES, word
from symacct.syntax import walk

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from symacct.account import Account

MOST_GRAPHS = 3
OF_SYMBOLS = ("meaning", "symbol and unit", "least", "example")
OF_USED = ("meaning", "symbol and unit", "graph", "example")
PURE = Words(" [1]")
NOT_PRICED = frozenset({"one_hot", "vector_use"})
"""Counts that some conventions alone price, by rules of their own."""


def completed(sheet: Sheet) -> Sheet:
    """Return a sheet of claims with symbols, and with steps for each row that was derived or judged.

    Raises:
        FormulaError: a step is not equal to the one before.
    """
    if sheet.style != "full":
        return sheet
    sections = tuple(
        replace(one, rows=tuple(_stepped(row, sheet.lang) for row in one.rows)) for one in sheet.sections
    )
    known = Section("symbols", tuple(_used(sheet.rows)), columns=OF_USED)
    return replace(sheet, sections=(*([known] if known.rows else []), *sections))


def _stepped(row: Row, lang: str) -> Row:
    origin = row.origin
    if origin is None or origin.account is None or origin.judged is not None or not row.quantity:
        return with_claim_steps(row, lang)
    sizes = origin.sizes or example_sizes(origin.account)
    return with_steps([row], origin.account, sizes, lang)[0]


# ---- symbols ----


def symbols(account: Account, sizes: Mapping[str, int], lang: str = "en") -> Section:
    """Return what each size of a graph means, with its unit, its least value, and an example."""
    graph = account.graph
    counts = repeat_counts(graph)
    rows = []
    for name in graph.order:
        if name not in graph.bound:
            least = comparison(f"{name} >= {0 if name in counts else 1}", graph.order)
            at = (Words(f"{sizes[name]:,}"),) if name in sizes else ()
            rows.append(_symbol(graph.sizes.get(name, ""), (formula(name, graph.order), PURE), (least,), at))
    for name, expr in graph.bound.items():
        if name in graph.sizes:
            cell = comparison(f"{name} = {plain_text(expr, graph.order)}", [*graph.order, *graph.sizes])
            rows.append(_symbol(graph.sizes[name], (*cell, PURE)))
    letter = symbol_of_weights(account)
    said = QUANTITIES["params"] if lang == "zh" else MEANINGS["params"]
    rows.append(_symbol(said, (formula(letter, [letter]), Words(" [parameter]"))))
    return Section("symbols", tuple(rows), columns=OF_SYMBOLS)


def _symbol(meaning: str, cell: Cell, holds: tuple[Cell, ...] = (), worth: Cell = ()) -> Row:
    return Row(meaning, cell, holds=holds, mark="", worth=worth)


def _used(rows: Iterable[Row]) -> Iterator[Row]:
    """Yield the sizes and the bound names that claims use, each meaning once, with the graphs it is from."""
    graphs: dict[tuple[str, str], dict[str, None]] = {}
    bound: dict[tuple[str, str], tuple[Cell, str]] = {}
    for row in rows:
        account = row.origin.account if row.origin is not None else None
        used = {part.name for math in row.maths for part in walk(math.tree) if part.form == "name"}
        if account is not None:
            meanings = {name: account.source.sizes.get(name, "") for name in account.source.sizes}
            for name in (one for one in meanings if one in used and meanings[one]):
                graphs.setdefault((name, meanings[name]), {})[account.graph.name] = None
        bound |= {key: found for key, found in _bound(row, account) if key not in bound}
    for (name, meaning), named in sorted(graphs.items(), key=lambda one: one[0][0].casefold()):
        yield _symbol(meaning, (formula(name, [name]), PURE), (_listed(named),))
    for cell, unit in bound.values():
        yield _symbol("", (*cell, Words(f" [{unit}]")))


def _listed(names: Iterable[str]) -> Cell:
    found = list(names)
    shown: list[Words] = []
    for name in found[:MOST_GRAPHS]:
        shown += [*([Words(", ")] if shown else []), Words(name, code=True)]
    return (*shown, Words(f", +{len(found) - MOST_GRAPHS}")) if len(found) > MOST_GRAPHS else tuple(shown)


def _bound(row: Row, account: Account | None) -> Iterator[tuple[tuple[str, str], tuple[Cell, str]]]:
    """Yield what the names of a claim stand for, with their units."""
    judged = row.origin.judged if row.origin is not None else None
    if judged is None or judged.verdict is None or judged.stated.on:
        return
    claim, scope = judged.verdict.claim, Scope(lookup(account))
    shown = {cell[0].text: cell for cell in row.holds if cell and isinstance(cell[0], Math)}
    for one in claim.where:
        try:
            unit = str(scope.bind(one).dims)
        except SymacctError:
            return
        if one.name in shown:
            yield (one.name, one.text), (shown[one.name], unit)


# ---- sources ----


def sources(account: Account, lang: str = "en") -> Section:
    """Return where the rows of a graph come from: the graph, the convention with its prices, the choices."""
    convention, policy = account.convention, account.policy
    prices = {
        row.primitive: convention.price(row.primitive)
        for row in account.work
        if row.primitive not in NOT_PRICED and convention.price(row.primitive)
    }
    listed = ", ".join(f"{name} {price}" for name, price in prices.items())
    doc = " ".join(account.graph.doc.split())
    said = {
        f"{word('graph', lang)} {account.graph.name}": doc,
        f"{word('convention', lang)} {convention.name}": convention.about,
        say("prices", lang): listed,
        say("choices", lang): described(policy.describe()) if lang == "zh" else policy.describe(),
    }
    rows = (Row(name, (Words(text),), mark="") for name, text in said.items() if text)
    return Section("source", tuple(rows))
