"""Rows of derived quantities, factored as people write them, with values at sizes; and the terms of a row."""

from __future__ import annotations

from dataclasses import replace
from shlex import quote
from typing import TYPE_CHECKING

from sympy import Add, Integer, Mul, Pow, fraction

from symacct.algebra.normal import is_zero, normal
from symacct.errors import SymacctError
from symacct.nodes import repeat_counts
from symacct.printers import degree
from symacct.printers import text as plain_text
from symacct.report.amount import as_fraction, digits
from symacct.report.conditions import listed
from symacct.report.explain import explained
from symacct.report.factor import factored
from symacct.report.figures import percent, scaled
from symacct.report.names import MEANINGS, SHORT
from symacct.report.summary import View, chosen, is_defined, view
from symacct.sheet.data import Cell, Item, Math, Origin, Row, Section, Words
from symacct.sheet.statement import comparison, formula
from symacct.sheet.words import word

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from sympy import Expr

    from symacct.account import Account
    from symacct.report.data import Line

LONGEST_CARD, LONGEST_FULL = 200, 900
FIELD, SIMPLE = "flops", 1000
EXPLAINED = ("flops.model", "memory.activations")
WEIGHTS = ("N", "P", "W")


def as_written(expr: Expr, account: Account, *, leading: bool) -> Expr:
    """Return an equal formula in the shape that the field prints.

    A leading term stands before a bracket, ``72*L*h^2*(1 + s/(6*h))``: of the terms of highest degree the one
    with the largest coefficient, where the others are simple beside it; else what repeats stands together. A
    fraction has whole coefficients above and below.
    """
    above, below = fraction(expr.together()) if expr.is_Mul else (expr, Integer(1))
    if below.has(Add):
        return Mul(normal(above), Pow(normal(below), -1, evaluate=False), evaluate=False)
    terms = Add.make_args(expr)
    counts = repeat_counts(account.graph)
    if not leading or len(terms) < 3:
        return factored(expr, counts)
    most = max(map(degree, terms))
    highest = [term for term in terms if degree(term) == most]
    largest = max(highest, key=lambda term: abs(term.as_coeff_Mul()[0]))
    ratios = [normal(term / largest) for term in terms if term is not largest]
    if any(ratio.is_Add or len(ratio.free_symbols) > 3 or not _is_simple(ratio) for ratio in ratios):
        return factored(expr, counts)
    return Mul(*Mul.make_args(largest), Add(1, *ratios, evaluate=False), evaluate=False)


def _is_simple(ratio: Expr) -> bool:
    number = ratio.as_coeff_Mul()[0]
    return bool(number.is_Rational and max(abs(number.p), number.q) < SIMPLE)


def symbol_of_weights(account: Account) -> str:
    """Return a name for the parameters that no size of the graph has."""
    taken = {name.casefold() for name in account.graph.order}
    return next((name for name in WEIGHTS if name.casefold() not in taken), "n_params")


def quantity_rows(
    account: Account,
    sizes: Mapping[str, int],
    only: Iterable[str],
    *,
    full: bool = False,
    names: Mapping[str, str] | None = None,
    target: str = "",
) -> list[Row]:
    """Return the rows of an account's quantities.

    Args:
        account: what was derived.
        sizes: values of sizes, for the worth of each row.
        only: names of quantities, or their first words.
        full: whether long formulas are shown too.
        names: what quantities are called, where not by their meaning.
        target: the graph as it was asked for; else by its name.

    Raises:
        UnknownNameError: a name fits none.
    """
    wanted = list(only)
    found = [name for name in chosen(account, wanted) if name in wanted or _is_main(name)]
    shown = view(account, sizes, found)
    rows = [_row(name, shown, target, full=full) for name in found if is_defined(shown.account, name)]
    rows = [replace(row, origin=Origin(account, sizes=sizes)) for row in rows]
    titles = names or {}
    return [row if row.quantity not in titles else _named(row, titles[row.quantity]) for row in rows]


def _named(row: Row, name: str) -> Row:
    return replace(row, name=name)


def _is_main(name: str) -> bool:
    """Say whether a quantity stands on a sheet by itself: each once, reads and writes together."""
    if name.rpartition(".")[0] in SHORT:
        return name.endswith(".all")
    return not name.endswith((".read", ".written"))


def _row(name: str, shown: View, target: str, *, full: bool) -> Row:
    account = shown.account
    quantity = account[name]
    order = account.graph.order
    cell = cell_of(account, name, full=full, target=target)
    holds = tuple(_condition(text, order) for text in listed(quantity.when, order))
    letter = symbol_of_weights(account)
    if any(isinstance(item, Math) and letter in item.names for item in cell) and letter not in order:
        holds = (comparison(f"{letter} = params", [letter]), *holds)
    worth: Cell = ()
    if (value := shown.value(quantity.expr)) is not None and not value.free_symbols:
        worth = (Words(_number(value, str(quantity.unit))),)
    return Row(
        MEANINGS.get(name, name), cell, name, holds, worth=worth, topic=frozenset({name.partition(".")[0]})
    )


def cell_of(account: Account, name: str, *, full: bool = False, target: str = "") -> Cell:
    """Return the formula of a quantity as it stands on a sheet, with its unit; where it is long, how long."""
    quantity = account[name]
    unit = "" if str(quantity.unit) == "1" else f" [{quantity.unit}]"
    cell = _formula(quantity.expr, account, name, unit, full=full)
    return cell or _counted(quantity.expr, target or account.graph.name)


def _number(value: Expr, unit: str) -> str:
    number = as_fraction(value)
    return scaled(number, unit) or f"{digits(number)}{'' if unit == '1' else ' ' + unit}"


def _condition(text: str, order: Iterable[str]) -> Cell:
    try:
        return comparison(text, list(order))
    except SymacctError:
        return (Words(text),)


def _formula(expr: Expr, account: Account, name: str, unit: str, *, full: bool) -> Cell:
    """Return a formula with its unit; nothing where it is too long."""
    weights = _of_weights(expr, account) if not name.startswith("params") else None
    if weights is not None:
        letter = symbol_of_weights(account)
        return (formula(f"{weights}*{letter}" if weights != 1 else letter, [letter]), Words(unit))
    written = as_written(expr, account, leading=name.startswith(FIELD))
    text = plain_text(written, account.graph.order)
    if len(text) > (LONGEST_FULL if full else LONGEST_CARD):
        return ()
    items: list[Item] = [formula(text, account.graph.order)]
    return (*items, Words(unit)) if unit else tuple(items)


def _counted(expr: Expr, target: str) -> Cell:
    """Return how many terms a formula has, above and below a fraction bar, and what shows them."""
    above, below = fraction(expr.together())
    parts = (above, below) if below.has(Add) else (expr,)
    counts = [len(Add.make_args(normal(part))) for part in parts]
    said: list[Item] = []
    for count in counts:
        said += [*([Words(" over ")] if said else []), Words(str(count)), Words(" term" + "s" * (count != 1))]
    return (*said, Words("; "), Words(f"symacct derive {quote(target)}", code=True), Words(" shows them"))


def _of_weights(expr: Expr, account: Account) -> Expr | None:
    """Return how many times the parameters a formula is, where that is a number."""
    weights = account["params"].expr
    if expr == 0 or is_zero(weights) or not expr.free_symbols:
        return None
    ratio = normal(expr / weights)
    return ratio if ratio.is_Integer else None


def terms(
    account: Account, sizes: Mapping[str, int], among: Iterable[str], lang: str = "en"
) -> Iterator[Section]:
    """Yield how rows come about: the terms by op of those that are asked about most, and their totals."""
    for name in (one for one in EXPLAINED if one in {*among}):
        if name not in account.names() or not is_defined(account, name):
            continue
        lines = explained(view(account, sizes, [name]), name).lines
        yield Section(
            f"{name}{word(', ', lang)}{word('by op', lang)}", tuple(_term(line, account) for line in lines)
        )


def _term(line: Line, account: Account) -> Row:
    expr, unit = line.expr, line.unit
    text = plain_text(factored(expr, repeat_counts(account.graph)), account.graph.order)
    cell: Cell = (formula(text, account.graph.order),) if len(text) <= LONGEST_FULL else (Words("..."),)
    cell = cell if unit == "1" else (*cell, Words(f" [{unit}]"))
    share = percent(line.share)
    return Row(line.name, cell, mark="", worth=(Words(share),) if share else (), level=line.level)
