"""A verdict for people and as a record: as written, and what is true instead."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sympy import Add, Max, Min

from symacct.algebra.evaluate import names_of
from symacct.algebra.normal import is_zero, normal
from symacct.claims.check import walk
from symacct.printers import text
from symacct.proof.growth import together
from symacct.proof.read_line import names_line, read_line
from symacct.report.amount import as_fraction, digits
from symacct.report.conditions import listed
from symacct.report.facts import Fact, style_of
from symacct.report.origins import origins
from symacct.report.segments import segments_said
from symacct.report.typed_units import in_unit, typed_unit
from symacct.units import read_unit

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from fractions import Fraction

    from sympy import Expr

    from symacct.account import Account
    from symacct.proof.instead import Instead, LeadingOrder
    from symacct.proof.verdict import Verdict
    from symacct.report.facts import Style
    from symacct.syntax import Tree

PERCENT = 100
"""Tolerances are printed in percent."""
MOST_OPERANDS = 2
"""A difference with a maximum of more formulas than this says nothing to a reader."""


def facts_of(verdict: Verdict, account: Account | None, *, math: bool = False) -> list[Fact]:
    """Return a verdict as facts: choices, the claim as read, the verdict, and what is true instead."""
    style = style_of(account, math=math)
    found = [*head(account), Fact("claim", _stated(verdict)), Fact("read", read_line(verdict))]
    found += [Fact("names", named)] if (named := names_line(verdict, account)) else []
    found += [_note(note) for note in verdict.notes]
    where = [*listed(verdict.box.conditions, style.order), *_starts_of(verdict)]
    found += [Fact("holds for", ", ".join(where))] * bool(where)
    found += list(_sides(verdict, style))
    found.append(Fact("", f"{verdict.outcome.upper()} as written: {verdict.decision.reason}"))
    if verdict.threshold is not None:
        return [*found, *_threshold(verdict, style)]
    true = list(_instead(verdict, style))
    if true:
        title = "what else is true" if verdict.outcome == "proved" else "what is true instead"
        found += [Fact("", title), *true]
    return found


def head(account: Account | None) -> Iterator[Fact]:
    """Yield the choices on the first line, the graph, what is bound, and warnings."""
    if account is None:
        yield Fact("", "formulas alone, for all sizes of at least 1")
        return
    yield Fact("", f"convention {account.convention.describe()}; {account.policy.describe()}")
    doc = " ".join(account.graph.doc.split("\n\n")[0].split())
    yield Fact(f"graph {account.graph.name}", doc)
    if account.graph.bound:
        bound = (f"{name} = {text(value)}" for name, value in account.graph.bound.items())
        yield Fact("bound", ", ".join(bound))
    placed = segments_said(account)
    if placed:
        yield Fact("checkpoint", placed)
    for warning in account.warnings:
        yield Fact("warning", warning)


def _note(note: str) -> Fact:
    """Return how a claim was read, or what is assumed."""
    first, _, rest = note.partition(" ")
    return Fact(first, rest) if first == "assuming" else Fact("read", note)


def _stated(verdict: Verdict) -> str:
    return verdict.threshold.text.strip() if verdict.threshold else verdict.stated


def _sides(verdict: Verdict, style: Style) -> Iterator[Fact]:
    """Yield what stands for the quantities of the claim, and what grows."""
    if verdict.sides is not None and verdict.left is not None and verdict.right is not None:
        unit = str(verdict.sides.left.unit)
        derived = "exact" if any(one.form == "quantity" for one in _trees(verdict)) else ""
        pairs = ((verdict.claim.left, verdict.left), (verdict.claim.right, verdict.right))
        is_place = verdict.extremum is not None and verdict.extremum.form == "argmin"
        for tree, expr in pairs[:1] if is_place else pairs:
            if tree.form == "quantity":
                yield Fact(tree.name, style.with_unit(expr, unit))
            elif derived and any(part.form == "quantity" for part in _within(tree, verdict)):
                yield Fact("claimed", style.with_unit(expr, unit))
    if verdict.growing:
        yield Fact("grows", together(verdict.growing))


def _starts_of(verdict: Verdict) -> Iterator[str]:
    """Yield the least values of sizes where they are not 1."""
    names = {name for side in (verdict.left, verdict.right) if side is not None for name in names_of(side)}
    for name, least in sorted(verdict.box.lower.items()):
        if least > 1 and name in names:
            yield f"{name} >= {least}"


def _trees(verdict: Verdict) -> tuple[Tree, Tree]:
    return verdict.claim.left, verdict.claim.right


def _within(tree: Tree, verdict: Verdict) -> Iterator[Tree]:
    """Yield the parts of a formula and of what its names are bound to."""
    bound = {one.name: one.tree for one in verdict.claim.where}
    for part in walk(tree):
        yield part
        if part.form == "name" and part.name in bound:
            yield from walk(bound[part.name])


def _instead(verdict: Verdict, style: Style) -> Iterator[Fact]:
    found = verdict.instead
    yield from (Fact("as written if", words) for words in verdict.holds_if)
    if found is not None:
        yield from _leading(verdict, found, style)
        limit = verdict.decision.limit
        if verdict.outcome == "refuted" and limit is not None and verdict.growing:
            grows = together(verdict.growing)
            yield Fact("limit", f"left / right tends to {style.show(limit)} as {grows}")
        if not is_zero(found.difference):
            yield from _bound(verdict, found)
            if not any(len(atom.args) > MOST_OPERANDS for atom in found.difference.atoms(Max, Min)):
                yield _difference(verdict, found, style)
        elif verdict.claim.relation != "=" and verdict.left is not None and verdict.left.has(Max, Min):
            exact, claim = _words(verdict)
            yield Fact("equal", f"{claim} = {exact} at all these sizes")
        if found.ratio is not None and not is_zero(found.ratio - 1):
            exact, claim = _words(verdict)
            yield Fact("ratio", f"{claim} / {exact} = {style.show(found.ratio)}")
            if found.ratio.is_Rational:
                share = f"{digits(as_fraction(found.ratio - 1) * PERCENT)} %"
                yield Fact("relative error", f"({claim} - {exact})/{exact} = {share}")
    yield from _true_extremum(verdict, style)
    yield from _counterexample(verdict, style)


def _true_extremum(verdict: Verdict, style: Style) -> Iterator[Fact]:
    """Yield the least value, or its place, as it truly is, where one is proved."""
    extremum, true = verdict.extremum, verdict.decision.limit
    if extremum is None or extremum.form == "lim" or true is None or verdict.outcome != "refuted":
        return
    kind = "real" if extremum.name in verdict.box.real else "integer"
    label = "least value" if extremum.form == "min" else "place"
    at = f"{extremum.name} = " if extremum.form == "argmin" else ""
    yield Fact(label, f"{at}{style.show(true)}, over {kind} {extremum.name}")


def _words(verdict: Verdict) -> tuple[str, str]:
    """Return what the two sides are called: exact and claim where one is derived, else left and right."""
    derived = any(part.form == "quantity" for tree in _trees(verdict) for part in _within(tree, verdict))
    return ("exact", "claim") if derived else ("left", "right")


def _bound(verdict: Verdict, found: Instead) -> Iterator[Fact]:
    if found.bound:
        exact, claim = _words(verdict)
        never = "below" if found.bound == "upper" else "above"
        yield Fact(f"{found.bound} bound", f"{claim} is never {never} {exact}")


def _counterexample(verdict: Verdict, style: Style) -> Iterator[Fact]:
    point = verdict.decision.point
    if verdict.decision.ray:
        yield Fact("fails where", verdict.decision.ray)
    if point is not None and verdict.extremum is not None:
        at = ", ".join(f"{name} = {_size(size)}" for name, size in point.sizes)
        values = f"{style.show(point.left)}, and {style.show(point.right)} is claimed"
        if len(point.places) == 1:
            values = f"{verdict.extremum.name} = {style.show(point.places[0])} is claimed, and not allowed"
        elif point.places:
            claimed, best = (f"{verdict.extremum.name} = {style.show(place)}" for place in point.places)
            values = (
                f"{style.show(point.left)} at {claimed}, as claimed, and {style.show(point.right)} at {best}"
            )
        yield Fact("counterexample", f"{at}: {values}" if at else values)
    elif point is not None and verdict.sides is not None:
        at = ", ".join(f"{name} = {_size(size)}" for name, size in point.sizes)
        left, right = _both(verdict, style)
        values = f"left {left}, right {right}"
        word = "smallest counterexample" if point.smallest else "counterexample"
        yield Fact(word, f"{at}: {values}" if at else values)


def _size(size: int | Fraction) -> str:
    """Return a size, or the value of a real number, with commas where it is whole."""
    return f"{int(size):,}" if size == int(size) else str(size)


def _both(verdict: Verdict, style: Style) -> Sequence[str]:
    """Return both sides at the counterexample, in the unit that was typed where there is one."""
    point, sides = verdict.decision.point, verdict.sides
    assert point is not None
    assert sides is not None
    typed = typed_unit(_trees(verdict), sides.left.unit)
    if typed is None or read_unit(typed)[0] == 1:
        return [style.with_unit(value, str(sides.left.unit)) for value in (point.left, point.right)]
    return in_unit((point.left, point.right), typed)


def _leading(verdict: Verdict, found: Instead, style: Style) -> Iterator[Fact]:
    """Yield each leading term once, with the ways of growing that lead to it."""
    groups: dict[tuple[Expr, Expr], list[LeadingOrder]] = {}
    for way in found.leading:
        groups.setdefault((way.leading, way.error), []).append(way)
    exact, claim = _words(verdict)
    for (leading, error), ways in groups.items():
        below = [f"leading term {style.show(leading)}, remainder {style.show(ways[0].remainder)}"]
        below.append(f"relative error ({claim} - {exact})/{exact} = {style.show(error)}")
        starts = [start for way in ways for start in _starts(way, style)]
        if not starts and (regime := _regime(ways[0], found, style)):
            starts = [f"small where {regime}"]
        said = "; ".join(f"as {together(way.growing)}" for way in ways)
        yield Fact("leading order", said, (*below, *starts))


def _starts(way: LeadingOrder, style: Style) -> Iterator[str]:
    for found in sorted(way.thresholds, key=lambda one: one.tolerance, reverse=True):
        bound = f"at most {found.tolerance * PERCENT} %"
        if found.start is not None:
            sign = "=" if found.start.is_number else ">="
            yield f"{bound} from {found.name} {sign} {style.show(found.start)} on"
        else:
            yield f"{bound} where {style.show(found.condition)} >= 0"


def _regime(way: LeadingOrder, found: Instead, style: Style) -> str:
    """Return what must be small against what, term by term of the difference over the leading term.

    Where one of the terms is a number, others cancel it: no one of them is small.
    """
    if way.leading.is_Add or is_zero(found.difference):
        return ""
    wanted: list[str] = []
    for term in Add.make_args(normal(found.difference / way.leading)):
        above, below = abs_of(term).as_numer_denom()
        if not names_of(above) and not names_of(below):
            return ""
        wanted.append(f"{style.show(above)} << {style.show(below)}")
    return ", ".join(dict.fromkeys(wanted))


def abs_of(term: Expr) -> Expr:
    """Return a term with a positive coefficient."""
    return -term if term.could_extract_minus_sign() else term


def _difference(verdict: Verdict, found: Instead, style: Style) -> Fact:
    unit = str(verdict.sides.left.unit) if verdict.sides else "1"
    exact, claim = _words(verdict)
    said = f"{claim} - {exact} = {style.with_unit(found.difference, unit)}"
    return Fact("difference", said, tuple(origins(verdict.parts, found.difference, style)))


def _threshold(verdict: Verdict, style: Style) -> Iterator[Fact]:
    found = verdict.threshold
    if found is None:
        return
    if found.crossing is not None:
        yield Fact("equal at", f"{found.name} = {style.show(found.crossing.value)}")
        if found.holds is not None and verdict.outcome != "proved":
            condition = verdict.claim.text.strip()
            yield Fact(
                "true", f"{condition} iff {found.name} {found.holds} {style.show(found.crossing.value)}"
            )
    yield from _counterexample(verdict, style)
