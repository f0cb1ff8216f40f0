"""Rows of claims: each judged now, and shown as what it is worth; nothing refuted is shown as proved."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from sympy import Integer

from symacct.claims import amount
from symacct.errors import SymacctError
from symacct.printers import text as plain_text
from symacct.proof.judge import Judged, account_key, judge, machine_of
from symacct.report.amount import shown as shown_amount
from symacct.report.conditions import listed
from symacct.sheet.data import Cell, Item, Origin, Row, Sign, Words
from symacct.sheet.right_terms import meaning, read_statement, right_term
from symacct.sheet.statement import comparison, figures, formula, guessed

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from sympy import Expr

    from symacct.account import Account
    from symacct.proof.verdict import Verdict
    from symacct.readers.stated import Stated
    from symacct.sheet.statement import Statement

LONGEST_START = 16
PERCENT = Integer(100)
LIKE_UNIT = re.compile(r"(\w+) is a name here, not a unit")
PLAIN = frozenset({"optimizer", "precision", "workload"})
"""Choices whose value says what they are."""


class Claims:
    """Judges claims, one account for all that make the same choices."""

    def __init__(self) -> None:
        """Start without accounts."""
        self.pools: dict[str | None, dict[object, Account]] = {}
        self.differs: list[str] = []

    def row(self, stated: Stated, folder: Path, name: str = "") -> Row:
        """Return the row of one claim.

        Raises:
            SymacctError: what was printed does not read back.
        """
        pool = self.pools.setdefault(stated.graph, {})
        worked_out = stated.calc and stated.value is None and stated.expect == "reported"
        found = judge(replace(stated, expect="proved") if worked_out else stated, folder, pool)
        if not found.ok:
            self.differs.append(f"{stated.name}: expected {stated.expect}, got {found.got}")
        account = pool.get(account_key(stated))
        title = name or stated.name
        if stated.calc:
            row = _calculated(found, title)
        elif found.verdict is None:
            row = _unjudged(found, title)
        else:
            row = _judged(found, found.verdict, account, title)
        return replace(row, origin=Origin(account, found, machine_of(stated.on, folder)))


def _judged(found: Judged, verdict: Verdict, account: Account | None, title: str) -> Row:
    stated = found.stated
    said = read_statement(stated, stated.claim, verdict)
    if said is None:
        return _row(stated, title, (Words(stated.claim, code=True),), mark=_mark(stated, verdict))
    mark = _mark(stated, verdict)
    return _row(
        stated,
        title,
        said.cell,
        quantity=said.quantity,
        holds=tuple(_holds(stated, said, verdict, account)),
        mark=mark,
        worth=tuple(_worth(verdict, mark)),
        instead=right_term(found, said, verdict, account),
        topic=said.topic,
    )


def _row(stated: Stated, title: str, cell: Cell, **more: object) -> Row:
    return Row(title, cell, source=stated.source, comment=stated.comment, **more)  # type: ignore[arg-type]


def _mark(stated: Stated, verdict: Verdict) -> str:
    """Return the verdict; a weaker sense in its place only where the file itself claims no more than that."""
    found = verdict.instead
    if verdict.outcome != "refuted" or found is None:
        return verdict.outcome
    weaker = ["leading order"] * bool(found.leading) + [f"{found.bound} bound"] * bool(found.bound)
    return stated.expect if stated.expect in weaker else verdict.outcome


def _holds(stated: Stated, said: Statement, verdict: Verdict, account: Account | None) -> Iterator[Cell]:
    """Yield the graph, the choices, what is bound and assumed, and the conditions of the derivation."""
    yield from _places(stated)
    choices = [value if key in PLAIN else f"{key} {value}" for key, value in stated.choices]
    choices += ["input gradient"] * stated.input_grad + ["output held"] * stated.hold_output
    yield from ((Words(choice),) for choice in choices)
    yield from said.where
    yield from said.regions
    given = (*stated.assume, *(part for part in stated.at.split(",") if part.strip()))
    shown = [_condition(text, said.names) for text in given]
    yield from shown
    known = {meaning(cell) for cell in (*said.regions, *shown)}
    for text in _own(verdict, account):
        cell = _condition(text, said.names)
        if meaning(cell) not in known:
            known.add(meaning(cell))
            yield cell
    yield from ((Words(f"{name}: a size, not a unit"),) for name in sorted(_like_units(verdict)))


def _own(verdict: Verdict, account: Account | None) -> list[str]:
    """Return the conditions of the derivation, those of an `if` among them, and least values above 1."""
    order = account.graph.order if account is not None else ()
    found = listed(verdict.box.conditions, order)
    return found + [f"{name} >= {least}" for name, least in sorted(verdict.box.lower.items()) if least > 1]


def _like_units(verdict: Verdict) -> set[str]:
    """Return names of sizes that are written where a unit might stand."""
    found = (LIKE_UNIT.match(note) for note in verdict.notes)
    return {one[1] for one in found if one} & set(verdict.claim.names)


def _condition(text: str, names: frozenset[str]) -> Cell:
    try:
        return comparison(text, names)
    except SymacctError:
        return (Words(text),)


def _worth(verdict: Verdict, mark: str) -> Iterator[Item]:
    """Yield what grows, or from where on the error is small, or the smallest counterexample."""
    if mark == "leading order" and verdict.instead is not None:
        wanted = [way for way in verdict.instead.leading if set(way.growing) == set(verdict.growing)]
        way = (wanted or list(verdict.instead.leading))[0]
        yield from _grows(way.growing, verdict)
        tight = [one for one in way.thresholds if one.start is not None and _short(one.start)]
        if tight:
            best = min(tight, key=lambda one: one.tolerance)
            names = verdict.claim.names
            yield Words("; for ")
            yield formula(best.name, names)
            yield Sign(">=")
            yield formula(plain_text(best.start), names)
            yield Words(" within ")
            yield formula(f"{best.tolerance * PERCENT}", ())
            yield Words(" %")
    elif (verdict.growing and mark == "proved") or (mark == "refuted" and verdict.growing):
        yield from _grows(verdict.growing, verdict)
    elif mark == "refuted" and verdict.decision.point is not None and verdict.decision.point.sizes:
        yield Words(", e.g. at ")
        for place, (name, size) in enumerate(verdict.decision.point.sizes):
            if place:
                yield Sign(",")
            yield from (formula(name, [name]), Sign("="), formula(str(size), ()))


def _short(expr: Expr) -> bool:
    return len(plain_text(expr)) <= LONGEST_START


def _grows(growing: tuple[str, ...], verdict: Verdict) -> Iterator[Item]:
    yield Words("as ")
    for place, name in enumerate(growing):
        if place:
            yield Sign(",")
        yield formula(name, verdict.claim.names)
    yield Sign("-> oo")
    if len(growing) > 1:
        yield Words(" in fixed proportion")


def _unjudged(found: Judged, title: str) -> Row:
    """Return the row of a claim without a verdict: reported, or refused as wrong input."""
    stated = found.stated
    if found.got == "refused":
        return _refused(found, stated.claim, title)
    cell = guessed(stated.claim, figures(stated.claim) if stated.on else ())
    return _row(stated, title, cell, mark="reported")


def _refused(found: Judged, text: str, title: str) -> Row:
    """Return the row of wrong input, as it was written: why, and how to mend it, as its judge says."""
    facts = found.detail.splitlines()[1:]
    fixes = [line.strip().removeprefix("fix").strip() for line in facts if line.startswith("  fix ")]
    row = _row(found.stated, title, (Words(text, code=True),), holds=_places(found.stated), mark="refused")
    return replace(row, comment=found.why, fix=f"fix: {fixes[-1]}" if fixes else "")


def _places(stated: Stated) -> tuple[Cell, ...]:
    """Return the graph and the machine that a claim is about."""
    return tuple((Words(one, code=True),) for one in (stated.graph, stated.on) if one)


def _calculated(found: Judged, title: str) -> Row:
    stated = found.stated
    own = [one.partition("=")[0].strip() for one in stated.let]
    of = figures(" ".join((stated.calc, *stated.let))) if stated.on else ()
    holds = (*_places(stated), *_lets(stated, [*own, *of]))
    if found.got == "refused":
        return replace(_refused(found, stated.calc, title), topic=frozenset({"calc"}))
    try:
        cell: Cell = (formula(stated.calc, [*own, *of]),)
        result = found.amount or amount(stated.calc, stated.to, stated.let)
    except SymacctError as error:
        row = _row(stated, title, (Words(stated.calc, code=True),), mark="refused")
        return replace(row, comment=error.what)
    came = shown_amount(result.value, result.unit, stated.to)
    topic = frozenset({"calc"})
    if stated.value is None or found.got == "proved":
        return _row(stated, title, cell, holds=holds, mark="computed", worth=(Words(came),), topic=topic)
    if stated.expect == "reported":
        return _row(
            stated, title, cell, holds=holds, mark="reported", worth=(Words(_claimed(stated)),), topic=topic
        )
    if found.got != "refuted":
        row = _row(stated, title, cell, holds=holds, mark=found.got, topic=topic)
        return replace(row, comment=found.detail.splitlines()[0] if found.detail else "")
    worth: Cell = (Words(_claimed(stated)), Words("; comes to "), Words(_in_one_unit(came)))
    instead = _right_calculation(found, [*own, *of])
    return _row(stated, title, cell, holds=holds, mark="refuted", worth=worth, instead=instead, topic=topic)


def _claimed(stated: Stated) -> str:
    return f"{stated.value} {'' if stated.to == '1' else stated.to or ''}".strip()


def _right_calculation(found: Judged, names: Iterable[str]) -> Cell:
    """Return the calculation that comes to what is claimed, and what it comes to; empty without one."""
    stated = found.stated
    if found.right is None:
        return ()
    of = figures(stated.instead) if stated.on else ()
    came = shown_amount(found.right.value, found.right.unit, stated.to)
    return (formula(stated.instead, [*names, *of]), Words(f" = {_in_one_unit(came)}"))


def _in_one_unit(came: str) -> str:
    """Return an amount without what it is in another unit.

    >>> _in_one_unit("104 GB = 96.86 GiB")
    '104 GB'
    """
    return came.partition(" = ")[0]


def _lets(stated: Stated, names: Iterable[str]) -> tuple[Cell, ...]:
    """Return what names of a calculation stand for."""
    return tuple(_condition(one, frozenset(names)) for one in stated.let)
