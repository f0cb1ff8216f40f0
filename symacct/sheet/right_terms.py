"""What is true where a claim is not exact: its file's word, if that is proved, else what is derived."""

from __future__ import annotations

import re
from decimal import Context, Decimal
from fractions import Fraction
from typing import TYPE_CHECKING

from sympy import degree as polynomial_degree
from sympy import fraction, together

from symacct.algebra.evaluate import names_of
from symacct.algebra.normal import is_zero
from symacct.algebra.symbols import symbol
from symacct.claims.parts import binding_of
from symacct.errors import SymacctError
from symacct.evaluation import timing
from symacct.nodes import repeat_counts
from symacct.printers import text as plain_text
from symacct.proof.decide import decide_growth
from symacct.proof.growth import regimes_of
from symacct.report.factor import factored
from symacct.sheet.data import Cell, Math, Sign, Words
from symacct.sheet.readback import value
from symacct.sheet.statement import Statement, figures, formula
from symacct.units import read_unit

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sympy import Expr

    from symacct.account import Account
    from symacct.proof.judge import Judged
    from symacct.proof.verdict import Verdict
    from symacct.readers.stated import Stated
    from symacct.units import Unit

LONGEST, PRECISE = 400, 40
AMOUNT = re.compile(r"=\s*[0-9][0-9.,_eE+-]*\s+(\S.*?)\s*$")
LETTERS = re.compile(r"[^\W\d]+")
NOT_PROVED = "instead is"
LONGER: Cell = (Words("a longer formula; symacct prove shows it"),)


def read_statement(stated: Stated, text: str, verdict: Verdict) -> Statement | None:
    """Return a claim as cells; None where it is read in a way that a sheet has no notation for."""
    claim = verdict.claim
    bound = {one.name for one in claim.where}
    given = {binding_of(let)[0] for let in stated.let}
    outside = {one.name for one in claim.where if one.text != claim.text} - given
    of = figures(" ".join((text, *stated.let))) if stated.on or stated.graph else ()
    try:
        return Statement(text, (claim.names - bound) | outside, stated.let, of)
    except SymacctError:
        return None


def right_term(found: Judged, said: Statement, verdict: Verdict, account: Account | None) -> Cell:
    """Return what is true instead; empty where the claim is proved, or where no single term says it."""
    stated = found.stated
    if verdict.outcome == "proved":
        return ()
    if stated.instead and not found.detail.startswith(NOT_PROVED):
        right = read_statement(stated, stated.instead, verdict)
        return _same_left(right, said) if right is not None else (Words(stated.instead, code=True),)
    return _derived(said, verdict, account)


def _derived(said: Statement, verdict: Verdict, account: Account | None) -> Cell:
    """Return what the derivation says, by the kind of the claim."""
    exact = verdict.right if verdict.turned else verdict.left
    found: Cell = ()
    if verdict.threshold is not None:
        found = _true_threshold(verdict, said)
    elif verdict.extremum is not None:
        found = _true_extremum(verdict, said)
    elif verdict.claim.relation in {"O", "Theta"}:
        found = _true_order(exact, verdict)
    elif verdict.claim.relation in {"=", "~"} and exact is not None:
        if said.quantity and account is not None:
            found = _exact(exact, account, said.quantity, said.names)
        else:
            found = _left_worked_out(exact, account, said, verdict)
    return found


def _exact(exact: Expr, account: Account, quantity: str, names: frozenset[str]) -> Cell:
    text = plain_text(factored(exact, repeat_counts(account.graph)), account.graph.order)
    unit = str(timing.QUANTITIES.get(quantity) or account[quantity].unit)
    if len(text) > LONGEST:
        return LONGER
    cell: Cell = (formula(text, names | set(account.graph.order) | set(names_of(exact))),)
    return cell if unit == "1" else (*cell, Words(f" [{unit}]"))


def _same_left(right: Statement, said: Statement) -> Cell:
    """Return a right statement, without the left side where that is the one of the claim.

    What its names stand for follows where the claim says something else; alone, where only that differs.
    """
    regions = (Words(" if "), *_joined(right.regions)) if right.regions else ()
    known = [meaning(cell) for cell in said.where]
    bound = [cell for cell in right.where if meaning(cell) not in known]
    if bound and meaning(right.cell) == meaning(said.cell) and not regions:
        return _joined(bound)
    where = (Words(" where "), *_joined(bound)) if bound else ()
    if right.quantity and right.quantity != said.quantity:
        return (*right.sides(right.claim), *regions, *where)
    return (*right.cell, *regions, *where)


def meaning(cell: Cell) -> tuple[object, ...]:
    """Return what a cell says, however its formulas are written."""
    return tuple(value(item.tree) if isinstance(item, Math) else item for item in cell)


def _joined(cells: Iterable[Cell]) -> Cell:
    """Return cells with commas between."""
    return tuple(item for place, cell in enumerate(cells) for item in ((Sign(","),) * bool(place) + cell))


def _true_threshold(verdict: Verdict, said: Statement) -> Cell:
    """Return the condition and where it truly holds, where that was solved."""
    found = verdict.threshold
    if found is None or found.crossing is None or found.holds is None:
        return ()
    order = sorted(verdict.claim.names)
    limit = formula(plain_text(found.crossing.value, order), said.names | set(order))
    condition = said.cell[: said.cell.index(Sign("iff"))]
    return (*condition, Sign("iff"), formula(found.name, [found.name]), Sign(found.holds), limit)


def _true_extremum(verdict: Verdict, said: Statement) -> Cell:
    """Return the minimum, its place or the limit as it truly is, where it was found."""
    true = verdict.decision.limit
    if true is None or verdict.outcome != "refuted":
        return ()
    order = sorted(names_of(true))
    head = said.cell[: len(said.cell) - 1 - said.cell[::-1].index(Sign("="))]
    return (*head, Sign("="), formula(plain_text(true, order), said.names | set(order)))


def _true_order(exact: Expr | None, verdict: Verdict) -> Cell:
    """Return the power with which the left side grows, where one size grows and it is rational in that."""
    if exact is None or len(verdict.growing) != 1:
        return ()
    name = verdict.growing[0]
    above, below = fraction(together(exact))
    if not (above.is_polynomial(symbol(name)) and below.is_polynomial(symbol(name))):
        return ()
    power = int(polynomial_degree(above, symbol(name)) - polynomial_degree(below, symbol(name)))
    true = symbol(name) ** power
    regime = regimes_of(verdict.box.stated, {}, verdict.growing, verdict.box.real)
    if decide_growth(exact, "Theta", true, regime).outcome != "proved":
        return ()
    return (Sign("="), Sign("Theta("), formula(plain_text(true), [name]), Sign(")"))


def _in_unit(exact: Expr, unit: Unit, said: Statement) -> str:
    """Return an exact amount in the unit that the claim gives on its other side, else in base units."""
    found = AMOUNT.search(said.claim.text)
    named = found is not None and not set(LETTERS.findall(found[1])).isdisjoint(said.names)
    asked = found[1] if found and not named and _reads_as(found[1], unit) else str(unit)
    number = Fraction(int(exact.p), int(exact.q)) / read_unit(asked)[0]
    decimal = Context(prec=PRECISE).divide(Decimal(number.numerator), Decimal(number.denominator))
    if Fraction(decimal) == number:
        return f"{decimal.normalize():f} {asked}"
    return f"({number.numerator} {asked})/{number.denominator}"


def _reads_as(text: str, unit: Unit) -> bool:
    try:
        return read_unit(text)[1] == unit
    except SymacctError:
        return False


def _left_worked_out(exact: Expr, account: Account | None, said: Statement, verdict: Verdict) -> Cell:
    """Return the left side and what it comes to; empty where that is what the left side says already."""
    left = said.claim.right if verdict.turned else said.claim.left
    unit = verdict.sides.left.unit if verdict.sides is not None else None
    if unit is None or is_zero(value(left) - exact):
        return ()
    head: Cell = (said.math(left, said.claim.text), Sign(verdict.claim.relation))
    plain = str(unit) == "1"
    if exact.is_Rational and not plain:
        return (*head, formula(_in_unit(exact, unit, said), ()))
    order = account.graph.order if account is not None else sorted(names_of(exact))
    text = plain_text(factored(exact, repeat_counts(account.graph) if account is not None else ()), order)
    if len(text) > LONGEST:
        return LONGER
    cell = (*head, formula(text, said.names | set(order) | set(names_of(exact))))
    return cell if plain else (*cell, Words(f" [{unit}]"))
