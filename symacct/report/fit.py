"""Whether a run fits, for people: the verdict, what no batch mends, what fits by time, and what does not."""

from __future__ import annotations

from typing import TYPE_CHECKING

from symacct.algebra.normal import total
from symacct.algebra.symbols import as_expr
from symacct.planning.fit_changes import WORDS
from symacct.planning.fit_peak import CATEGORIES
from symacct.printers import text
from symacct.report.amount import BYTE, SECOND, digits, shown
from symacct.report.blocks import Grid, Lines
from symacct.report.conditions import listed
from symacct.report.table import Column, Table

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from fractions import Fraction

    from symacct.planning.fit import Fit
    from symacct.planning.fit_changes import Static
    from symacct.planning.fit_options import Option
    from symacct.planning.fit_search import Largest
    from symacct.report.blocks import Block

MOST_FITTING, MOST_SHORT = 12, 6
"""How many rows people are shown; the record has all."""
NUMBERS = tuple(
    Column(title, right=True, breaks=False) for title in ("peak", "spare", "step", "of asked", "devices")
)


def nbytes(value: Fraction) -> str:
    """Return bytes in powers of ten and of two.

    >>> from fractions import Fraction
    >>> nbytes(Fraction(84 * 10**9))
    '84 GB = 78.23 GiB'
    """
    return shown(as_expr(value), BYTE)


def short(value: Fraction) -> str:
    """Return bytes in powers of ten alone; a sign where they are missing."""
    return shown(as_expr(value), BYTE).partition(" = ")[0]


def head(found: Fit) -> Iterator[tuple[str, str]]:
    """Yield the choices, the graph, the sizes, and the room."""
    account, room = found.account, found.room
    yield "", f"convention {account.convention.describe()}; {account.policy.describe()}"
    doc = " ".join(account.graph.doc.split("\n\n")[0].split())
    yield "model", f"{account.graph.name}: {doc}" if doc else account.graph.name
    if found.at:
        taken = [
            f"{name} = {size:,}" + (" (not given)" if name in found.assumed else "")
            for name, size in found.at
        ]
        yield "at", ", ".join(taken)
    kept = f", less {short(room.reserve)} reserved on each" if room.reserve else ""
    yield (
        "room",
        f"{room.machine.name}: {room.count} x {nbytes(room.each)} nominal{kept}: {nbytes(room.total)}",
    )
    yield "capacity", room.source


def verdict(found: Fit) -> Iterator[tuple[str, str]]:
    """Yield the answer, and the largest sizes that fit."""
    room, static, asked = found.room, found.static, found.asked
    sign = f"{room.bound} " if room.bound else ""
    if not static.fits:
        yield "DOES NOT FIT", _static_words(found, sign)
    elif asked is not None:
        word = "FITS" if asked.fits else "DOES NOT FIT"
        rest = f"{nbytes(-asked.over)} to spare" if asked.fits else f"{nbytes(asked.over)} too much"
        yield word, f"the peak is {sign}{nbytes(asked.held.nbytes)}: {rest}"
    for one in found.limits if static.fits else ():
        yield "largest", _largest(found, one)
    if asked is not None and not asked.fits and not found.options:
        yield "nothing", _nothing(found)
    elif asked is not None and not asked.fits and all(one.devices > room.count for one in found.options):
        yield "nothing", f"{_nothing(found)}; more devices alone do"


def _static_words(found: Fit, sign: str) -> str:
    static = found.static
    ratio = digits(static.nbytes / found.room.total)
    return (
        f"the static state alone is {sign}{nbytes(static.nbytes)}, {ratio} times the room; "
        "no micro-batch and no checkpoint mends that. It needs at least "
        f"{static.devices:,} of these devices, or fewer bytes for each parameter"
    )


def _largest(found: Fit, one: Largest) -> str:
    name = one.name
    if one.value is None:
        return f"every {name} that was tried fits"
    others = [f"{other} = {size:,}" for other, size in found.at if other != name]
    rest = f", with {', '.join(others)}" if others else ""
    if one.value == 0:
        return f"not even {name} = {one.least:,} fits{rest}"
    if one.after is None:
        binds = " and ".join(listed(one.binds, found.account.graph.order))
        return f"{name} = {one.value:,} fits{rest}, and the graph allows no more: {binds}"
    after = f"{name} = {one.after:,} does not"
    return f"{name} = {one.value:,} fits and {after}{rest}; the peak never falls with {name}"


def _nothing(found: Fit) -> str:
    rows = [*found.short, *([] if found.asked is None else [found.asked])]
    least = min((one for one in rows if one.devices == found.room.count), key=lambda one: one.held.nbytes)
    changes = ", ".join(least.changes) or "as asked"
    return (
        f"nothing that was tried fits these devices; the least is {nbytes(least.held.nbytes)} ({changes}), "
        f"{nbytes(least.over)} too much"
    )


# ---- rows ----


def static_table(found: Fit) -> Table:
    """Return the static state as asked and under changes."""
    columns = (
        Column("static state"), Column("bytes", right=True, breaks=False),
        Column("spare", right=True, breaks=False), Column("devices", right=True, breaks=False),
    )  # fmt: skip
    rows: list[tuple[str, ...] | str] = []
    for one in (found.static, *found.statics):
        rows += [_static_cells(found, one), _static_remark(found, one)]
    return Table(columns, tuple(rows))


def _static_cells(found: Fit, one: Static) -> tuple[str, ...]:
    sign = f"{found.room.bound} " if found.room.bound else ""
    return (
        " + ".join(one.changes) or "as asked", sign + nbytes(one.nbytes), short(-one.over), f"{one.devices:,}"
    )  # fmt: skip


def _static_remark(found: Fit, one: Static) -> str:
    said = [_parts(one.parts), one.per]
    whole = total(expr for _, expr in one.formulas)
    if whole.free_symbols:
        said.append(f"{text(whole, found.account.graph.order)} byte")
    if one.host:
        said.append(f"{short(one.host)} on the host")
    return "  " + "; ".join(said)


def _parts(parts: Iterable[tuple[str, Fraction]]) -> str:
    known = {part: value for part, value in parts if value}
    return ", ".join(f"{part} {short(known[part])}" for part in CATEGORIES if part in known)


def option_table(found: Fit, options: Iterable[Option]) -> Table:
    """Return the step as asked, and options."""
    rows: list[tuple[str, ...] | str] = []
    for one in options:
        rows += [_option_cells(one), _option_remark(found, one)]
    return Table((Column("run"), *NUMBERS), tuple(rows))


def _option_cells(one: Option) -> tuple[str, ...]:
    sign = f"{one.bound} " if one.bound else ""
    seconds = "" if one.seconds is None else sign + shown(as_expr(one.seconds), SECOND)
    ratio = "" if one.relative is None else digits(one.relative)
    count = f"{one.devices if one.fits else one.needed:,}"
    return (
        " + ".join(one.changes) or "as asked",
        sign + short(one.held.nbytes),
        short(-one.over),
        seconds,
        ratio,
        count,
    )


def _option_remark(found: Fit, one: Option) -> str:
    order = found.account.graph.order
    formula = one.held.formula
    said = [_parts(one.held.parts)]
    said += [f"peak = {text(formula, order)} byte"] if formula.free_symbols else []
    said += [f"{short(one.host)} on the host"] if one.host else []
    return "  " + "; ".join(said)


def tables(found: Fit) -> Iterator[tuple[str, Table]]:
    """Yield titles and tables, what no batch mends first."""
    if not found.static.fits:
        yield "static state: what no micro-batch and no checkpoint mends", static_table(found)
    if found.asked is not None:
        yield "the step", option_table(found, [found.asked])
    if found.options:
        yield (
            _title("fits, by predicted time of the same effective batch", found.options, MOST_FITTING),
            option_table(found, found.options[:MOST_FITTING]),
        )
    if found.short:
        yield (
            _title("does not fit, by peak", found.short, MOST_SHORT),
            option_table(found, found.short[:MOST_SHORT]),
        )


def _title(what: str, rows: tuple[Option, ...], most: int) -> str:
    return what if len(rows) <= most else f"{what} (the first {most} of {len(rows)}; --format json has all)"


def tail(found: Fit) -> Iterator[tuple[str, str]]:
    """Yield what the changes mean, which have no meaning here, and notes."""
    used = {change for static in found.statics for change in static.changes}
    used |= {c for one in (*found.options[:MOST_FITTING], *found.short[:MOST_SHORT]) for c in one.changes}
    yield from ((change, meaning) for change, meaning in WORDS.items() if change in used)
    yield from (("not tried", f"{name}: {why}") for name, why in found.unfit)
    yield from (("note", note) for note in found.notes)


def blocks(found: Fit, *, math: bool = False) -> list[Block]:
    """Return the answer as blocks; it has no formula that would look otherwise in Markdown."""
    del math
    grids = (Grid(table, title) for title, table in tables(found))
    return [Lines((*head(found), *verdict(found))), *grids, Lines(tuple(tail(found)))]
