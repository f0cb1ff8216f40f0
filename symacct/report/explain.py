"""Where a quantity comes from: its terms, with the op and the repeat each came from."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from symacct.algebra.normal import total
from symacct.report.data import Line, Report, Section
from symacct.report.figures import share, shares
from symacct.report.summary import View, report, view

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from symacct.account import Account

ONCE = "outside of repeats"


def explanation(account: Account, names: Sequence[str], sizes: Mapping[str, int] | None = None) -> Report:
    """Return a report with a section of terms for each quantity.

    Raises:
        UnknownNameError: there is no such quantity.
    """
    for name in names:
        account.require(name)
    shown = view(account, sizes or {}, names)
    return report(shown, [explained(shown, name) for name in names])


def explained(shown: View, name: str) -> Section:
    """Return the terms of a quantity, those of one repeat together, under their subtotals, and its total."""
    whole = replace(shown.line(name), total=True)
    terms = terms_of(shown, name)
    if not terms:
        return Section(name, (whole,))
    found = shares([term.amount for term in terms], whole.amount)
    if found is not None:
        terms = [replace(term, share=one) for term, one in zip(terms, found, strict=True)]
        whole = replace(whole, share=share(whole.amount, whole.amount))
    return Section(name, (*_grouped(terms, whole), whole))


def terms_of(shown: View, name: str) -> list[Line]:
    """Return one line for each term of a quantity; none where it is no sum."""
    if name == "tokens" or name.startswith("intensity."):
        return []
    return [
        Line(
            term.label,
            term.expr,
            str(term.unit),
            value=shown.value(term.expr),
            remark=term.note,
            phase=term.phase,
            path=term.path,
        )
        for term in shown.account.terms(name)
    ]


def _grouped(terms: Sequence[Line], whole: Line) -> list[Line]:
    """Return the terms by phase and outermost repeat, each group of several under its subtotal."""
    groups: dict[tuple[str, str], list[Line]] = {}
    for term in terms:
        groups.setdefault((term.phase, term.path[0] if term.path else ""), []).append(term)
    lines: list[Line] = []
    for (phase, repeat), members in groups.items():
        title = f"{phase}, {f'all of {repeat}' if repeat else ONCE}" if phase else repeat or ONCE
        lines.append(_subtotal(title, members, whole))
        lines += [replace(term, level=1) for term in members]
    return lines


def _subtotal(title: str, members: Sequence[Line], whole: Line) -> Line:
    first = members[0]
    value = None if first.value is None else total(one.value for one in members if one.value is not None)
    part = None if first.share is None else share(total(one.amount for one in members), whole.amount)
    return Line(title, total(one.expr for one in members), first.unit, (), value, part)
