"""The answer to an inverse question, for people: the condition, the values, and the check."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from symacct.algebra.normal import normal
from symacct.planning.solve_cases import own_conditions
from symacct.planning.solve_reading import NO_STATES
from symacct.printers import text
from symacct.report.amount import BYTE, SECOND, as_fraction, shown
from symacct.report.best_segment import best_notes, best_table, integer_lines
from symacct.report.conditions import listed
from symacct.report.facts import Fact, Style, style_of
from symacct.report.verdict import head

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sympy import Expr

    from symacct.planning.solve_answer import Check, Solution
    from symacct.planning.solve_formula import Case
    from symacct.planning.solve_roots import Root
    from symacct.planning.solve_sets import Span

DIGITS = 6
LARGEST_PLAIN = 10**15
LONGEST_EXACT = 60


def six(value: Fraction) -> str:
    """Return a number to six digits, whole ones exactly; large and small ones with a power of a thousand.

    >>> [six(Fraction(n)) for n in ("345.15307", 160, "53333333333.33", "1e-9", 10**15 + 1)]
    ['345.153', '160', '53.3333e9', '1e-9', '1e15']
    """
    if value.denominator == 1 and abs(value) < LARGEST_PLAIN:
        return f"{int(value):,}"
    size = abs(value)
    power = len(str(size.numerator)) - len(str(size.denominator))
    power -= size < Fraction(10) ** power
    group = 0 if -3 <= power < 6 else power // 3 * 3
    scaled = value / Fraction(10) ** group
    places = max(0, DIGITS - 1 - (power - group))
    whole = round(abs(scaled) * 10**places)
    body = (
        f"{whole // 10**places}.{whole % 10**places:0{places}d}".rstrip("0").rstrip(".")
        if places
        else str(whole)
    )
    sign = "-" if value < 0 else ""
    return f"{sign}{body}e{group}" if group else f"{sign}{body}"


def facts_of(found: Solution, *, math: bool = False) -> list[Fact]:
    """Return a solution as facts: choices, the condition, the answer, and its checks."""
    asked = found.asked
    style = style_of(asked.account, math=math)
    unit = "" if str(asked.unit) == "1" else f" ({asked.unit})"
    facts = [*_head(found)] if asked.account else [Fact("", f"formulas alone, over {asked.name} > 0")]
    facts += [
        Fact("question" if found.objective else "condition", _stated(found)),
        Fact("for", f"{asked.name}{unit}"),
    ]
    facts += [Fact(_word(note), note) for note in asked.notes]
    others = () if not found.ranges else own_conditions(asked)
    kept = [one for one in asked.domain.conditions if one not in others]
    if kept:
        facts.append(Fact("holds for", ", ".join(listed(kept, style.order))))
    facts += list(_sides(found, style))
    facts += list(_answer(found, style))
    facts += list(_segment(found, style))
    facts += [Fact("note", note) for note in found.notes]
    return facts + [Fact("check", _check(found, one, style)) for one in found.checks]


def _word(note: str) -> str:
    return "note" if note == NO_STATES else "read" if " read " in note else "with"


def _head(found: Solution) -> Iterator[Fact]:
    """Yield the choices; where states of an optimizer could be meant and there is none, that too."""
    first, *others = head(found.asked.account)
    none = ", optimizer none" if NO_STATES in found.asked.notes else ""
    yield Fact(first.word, first.said + none, first.below)
    yield from others


def _stated(found: Solution) -> str:
    if not found.objective:
        return found.asked.text
    return f"the best {found.asked.name} for {found.objective}"


def _segment(found: Solution, style: Style) -> Iterator[Fact]:
    """Yield the best length of a segment by regions, and the best integer with what stands beside it."""
    if found.segment is not None:
        for k, where, peak, saved in best_table(found.segment, style.order).cells:
            tail = f"; {saved}" if saved else ""
            yield Fact("best", f"{found.segment.name} = {k} for {where}: {peak} byte{tail}")
        yield from (Fact("note", note) for note in best_notes(found.segment, style.order))
    if found.whole is not None:
        yield from (Fact("integer", " ".join(line.split())) for line in integer_lines(found.whole))


def _sides(found: Solution, style: Style) -> Iterator[Fact]:
    asked = found.asked
    if asked.account is None:
        return
    unit = str(asked.sides.left.unit)
    for word, side in (("left", asked.left), ("right", asked.right)):
        if normal(side).free_symbols and not (word == "right" and found.objective):
            yield Fact(word, style.with_unit(normal(side), unit))


def _answer(found: Solution, style: Style) -> Iterator[Fact]:
    name, reason = found.asked.name, found.reason
    if found.kind in ("none", "every"):
        yield Fact("", f"{'NONE' if found.kind == 'none' else 'EVERY ' + name}: {reason}")
        yield from (Fact("real numbers", _span(found, span)) for span in found.spans)
        return
    yield Fact("", "answer" if not reason else f"answer: {reason}")
    for place, case in enumerate(found.cases):
        yield Fact("formula", _case(found, case, style, first=place == 0))
    for span in found.spans if found.kind in ("numbers", "integers") else ():
        yield Fact("real numbers" if found.kind == "integers" else "solution", _span(found, span))
    if found.ranges:
        yield Fact("integers", ", ".join(_run(first, last, name) for first, last in found.ranges))
        if found.kind == "integers":
            yield from _ends(found)


def _ends(found: Solution) -> Iterator[Fact]:
    if found.largest is not None:
        yield Fact("largest", f"{found.largest:,}{_unit(found)}")
    elif found.smallest is not None:
        yield Fact("smallest", f"{found.smallest:,}{_unit(found)}")


def _run(first: int, last: int | None, name: str) -> str:
    if last is None:
        return f"{name} >= {first:,}"
    return f"{name} = {first:,}" if first == last else f"{first:,} <= {name} <= {last:,}"


def _unit(found: Solution) -> str:
    return "" if str(found.asked.unit) == "1" else f" {found.asked.unit}"


def _case(found: Solution, case: Case, style: Style, *, first: bool) -> str:
    if case.value is None:
        word = "none" if case.relation == "none" else f"every {found.asked.name}"
        return word if first else f"otherwise {word}"
    said = f"{found.asked.name} {case.relation} {style.show(case.value)}{_unit(found)}"
    if case.value.is_number:
        said += f" = {six(as_fraction(case.value))}"
    where = " and ".join(f"{style.show(one)} > 0" for one in case.positive)
    return f"{said} where {where}" if where else said


def _span(found: Solution, span: Span) -> str:
    name = found.asked.name
    if span.point and span.low is not None:
        return f"{name} = {_number(found, span.low)}"
    if span.low is None:
        return (
            f"{name} {'<=' if span.high_in else '<'} {_number(found, span.high)}"
            if span.high
            else f"{name} > 0"
        )
    low = f"{name} {'>=' if span.low_in else '>'} {_number(found, span.low)}"
    if span.high is None:
        return low
    return f"{low} and {name} {'<=' if span.high_in else '<'} {_number(found, span.high)}"


def _number(found: Solution, root: Root) -> str:
    """Return a root to six digits, with what is known of it exactly."""
    unit = found.asked.unit
    near = root.close()
    about = f"{six(near.low if root.rational else (near.low + near.high) / 2)}{_unit(found)}"
    if unit in (BYTE, SECOND) and root.exact is not None:
        about += f" = {shown(root.exact, unit)}"
    if root.rational and root.low.denominator == 1:
        return about
    if root.exact is not None:
        exact = text(root.exact)
        return f"{about} (exactly {exact})" if len(exact) <= LONGEST_EXACT else about
    return f"{about} (between {near.low} and {near.high})"


def _check(found: Solution, check: Check, style: Style) -> str:
    asked = found.asked
    if check.at.free_symbols or check.left is None:
        return f"with {asked.name} = {style.show(check.at)}, {check.said}"
    at = f"{asked.name} = {_value(check.at)}"
    unit = "" if str(asked.sides.left.unit) == "1" else f" {asked.sides.left.unit}"
    if check.right is None:
        return f"{at}: {_value(check.left, style)}{unit}, {check.said}"
    return f"{at}: {_value(check.left)} {asked.relation} {_value(check.right)}{unit}: {check.said}"


def _value(value: Expr, style: Style | None = None) -> str:
    if value.free_symbols:
        return (style or Style()).show(value)
    number = as_fraction(value)
    exact = text(value)
    return six(number) if len(exact) > 24 or not value.is_Rational or value.q != 1 else f"{int(value):,}"
