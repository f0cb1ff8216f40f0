"""The answer of ``symacct dtype`` as blocks: facts, rounded values, blocks, codes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from symacct.formats import Block, Format, neighbours
from symacct.formats.facts import facts
from symacct.formats.shown import code_text, dyadic, shown, value_text
from symacct.report.blocks import Grid, Prose
from symacct.report.table import Column, Table

if TYPE_CHECKING:
    from collections.abc import Sequence
    from fractions import Fraction

    from symacct.formats import Element, Quantised, Rounded, Value
    from symacct.formats.answer import Answer, Given
    from symacct.report.blocks import Block as Shown


def blocks(answer: Answer, *, math: bool = False) -> list[Shown]:
    """Return the whole answer as blocks; it has no formulas."""
    del math
    one, made = answer.format, answer.quantised
    head = (f"{one.name}: {one.about} ({one.source})", answer.layout, f"special values: {answer.special}")
    tables = [_facts(one)]
    tables += [_roundings(answer.values)] if answer.values else []
    tables += [_blocks(made)] if made is not None else []
    tables += [_values(one, answer.coded)] if answer.coded else []
    last = [Prose((_storage(made),))] if made is not None else []
    return [Prose(head, wrapped=True, apart=True), *(Grid(table) for table in tables), *last]


def _facts(one: Element | Block) -> Table:
    columns = (Column("fact"), Column("value", right=True, breaks=False), Column("how"))
    return Table(columns, tuple((fact.name, shown(fact.value), fact.why) for fact in facts(one)))


def _roundings(values: Sequence[Given]) -> Table:
    def maybe(number: Fraction | None) -> str:
        return "" if number is None else shown(number)

    rows = []
    for given in values:
        one = given.rounded
        losses = (maybe(one.error), maybe(one.relative), maybe(one.ulps))
        rows.append((given.text, value_text(one.result), given.code, *losses, _outcome(one)))
    titles = ("value", "becomes", "code", "error", "relative", "ulp", "what happens")
    last = len(titles) - 1
    columns = tuple(Column(t, right=0 < at < last, breaks=at == last) for at, t in enumerate(titles))
    return Table(columns, tuple(rows))


def _outcome(one: Rounded) -> str:
    """Return in words what rounding did."""
    if one.outcome == "underflow":
        return f"underflow: at most half of {dyadic(one.element.smallest)}, so 0"
    if one.outcome == "overflow":
        return f"overflow; {value_text(one.clamped)} where a conversion saturates"
    return f"{one.outcome}, subnormal" if one.subnormal else one.outcome


def _values(one: Element | Block, codes: Sequence[tuple[int, Value]]) -> Table:
    assert not isinstance(one, Block)
    cuts = [int(one.signed), int(one.signed) + one.exponent] if isinstance(one, Format) else []
    rows = []
    for code, value in codes:
        bits = f"{code:0{one.width}b}"
        fields = " ".join(filter(None, (bits[a:b] for a, b in zip([0, *cuts], [*cuts, None], strict=True))))
        rows.append(
            (code_text(one, code), fields, value_text(value), dyadic(value.number) if value.finite else "")
        )
    titles = ("code", "bits", "value", "exactly")
    return Table(
        tuple(Column(title, right=at == 2, breaks=False) for at, title in enumerate(titles)), tuple(rows)
    )


def _blocks(made: Quantised) -> Table:
    """Return every element with and without the largest of its block beside it."""
    rows: list[tuple[str, ...] | str] = []
    for at, effect in enumerate(neighbours(made)):
        group, other, place = effect.beside, effect.without, effect.place
        top = shown(group.values[place])
        scale = f"scale {shown(group.scale)} ({code_text(made.format.scale, group.scale_code)})"
        rows.append(f"block {at + 1}: {scale}, set by its largest element, {top}")
        for here, value in enumerate(group.values):
            alone = ("", "") if here == place else (shown(other.results[here]), shown(other.errors[here]))
            code = code_text(made.format.element, group.codes[here])
            rows.append((shown(value), code, shown(group.results[here]), shown(group.errors[here]), *alone))
        beside, without = shown(effect.worst(group)), shown(effect.worst(other))
        zeroed = f"become 0: {effect.zeroed(group)}, without it {effect.zeroed(other)}"
        rows.append(f"  the others lose up to {beside}, without {top} up to {without}; {zeroed}")
    titles = ("value", "code", "becomes", "error", "without the largest", "error then")
    return Table(
        tuple(Column(title, right=at != 1, breaks=False) for at, title in enumerate(titles)), tuple(rows)
    )


def _storage(made: Quantised) -> str:
    count = sum(len(group.values) for group in made.groups)
    one = made.format
    parts = f"{count} * {shown(one.element.bits)} + {len(made.groups)} * {shown(one.scale.bits)}"
    parts += f" + {shown(one.whole.bits)}" if one.whole is not None else ""
    outer = f"; the tensor's scale is {shown(made.whole)}" if one.whole is not None else ""
    return f"stored: {parts} = {shown(made.stored_bits)} bits{outer}"
