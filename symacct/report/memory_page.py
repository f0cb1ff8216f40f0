"""The memory of one policy for people: the peak in the order in which a reader asks."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING

from symacct.algebra.normal import total
from symacct.planning.peak_cases import FEW, Peak, Peaks, Small, peak, small_cases
from symacct.planning.reductions import Option, lower
from symacct.printers import text
from symacct.report.amount import as_fraction
from symacct.report.data import Line, Report, Section
from symacct.report.figures import share, shares
from symacct.report.memory import BESIDE, STATIC, at_sizes, beside, categories, tensors
from symacct.report.quantities import explained as quantities
from symacct.report.segments import segments_said
from symacct.report.summary import report

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sympy import Expr

    from symacct.account import Account
    from symacct.peaks.alive import Held
    from symacct.report.quantities import Explained
    from symacct.report.summary import View

MOST_ALIVE = 12
KINDS = {
    "value": "made by forward",
    "recomputed": "made again",
    "gradient": "gradient",
    "parameter gradient": "gradient of a parameter",
    "loss": "loss, and its cotangent",
}


@dataclass(frozen=True, slots=True)
class Memory:
    """What there is to say of the memory of a run.

    Attributes:
        shown: the account, and the sizes.
        tables: sections of categories, of tensors where asked for.
        saved: the peak of what is saved and recomputed; None where nothing is.
        peak: the peak of everything.
        alive: what is alive at the peak, a line for each tensor, the largest first.
        small: counts that are cases of their own.
        options: what other choices give at the sizes.
        reserve: bytes that are added to the peak.
        every: whether nothing is folded.
    """

    shown: View
    tables: tuple[Section, ...]
    saved: Peak | None
    peak: Peak
    alive: tuple[Line, ...]
    small: tuple[Small, ...]
    options: tuple[Option, ...]
    reserve: Fraction
    every: bool

    @property
    def choices(self) -> str:
        """The choices of the run, in words."""
        return self.shown.account.policy.describe()

    @property
    def segments(self) -> str | None:
        """Which segments a checkpoint policy has placed, in words; None where it has none."""
        return segments_said(self.shown.account) or None

    @property
    def quantities(self) -> dict[str, Explained]:
        """The categories, with their terms."""
        names = (*STATIC, "memory.static", *BESIDE[:-1])
        return quantities(self.shown, [name for name in names if self.shown.account.has(name)])

    @property
    def with_reserve(self) -> Fraction | None:
        """The peak and what is added to it; None while a size is free."""
        return None if self.peak.value is None else as_fraction(self.peak.value) + self.reserve

    @property
    def counts(self) -> tuple[str, ...]:
        """The names of the sizes that count repeats."""
        return self.page().counts

    def page(self) -> Report:
        """Return the categories as a report, its facts without what the peak says itself."""
        made = report(self.shown, self.tables)
        facts = tuple((word, said) for word, said in made.facts if word != "holds for")
        return replace(made, facts=facts)


def memory(
    account: Account,
    sizes: Mapping[str, int],
    *,
    explain: Sequence[str] = (),
    reserve: Fraction = Fraction(0),
    every: bool = False,
) -> Memory:
    """Return the memory of a run.

    Args:
        account: what was derived.
        sizes: a value for each size, for some (these are bound), or for none.
        explain: categories of which every tensor is shown.
        reserve: bytes that are added to the peak.
        every: whether every candidate, tensor and region is shown.
    """
    shown = at_sizes(account, sizes)
    found = peak(Peaks(shown.account), shown.sizes, every=every, alive=True)
    name = "memory.activations.peak"
    saved = peak(Peaks(shown.account, name), shown.sizes, every=every) if shown.account.trains else None
    tables = (*categories(shown, saved), *tensors(shown, explain))
    known = found.given and shown.account.trains
    small = not shown.sizes and shown.account.trains and (every or len(found.cases) <= FEW)
    return Memory(
        shown,
        tuple(tables),
        saved,
        found,
        tuple(_alive(shown, found)),
        small_cases(shown.account) if small else (),
        lower(shown.account, shown.sizes, found.value) if known and found.value is not None else (),
        reserve,
        every,
    )


def _alive(shown: View, found: Peak) -> list[Line]:
    """Return what is alive at the moment of a peak, what lives through the whole step first."""
    if found.moment is None:
        return []
    held = [_line(shown, one) for one in found.moment.alive]
    lines = [*beside(shown), *held]
    if shown.sizes or not any(line.expr.free_symbols for line in lines):
        split = len(lines) - len(held)
        held = sorted(lines[split:], key=lambda line: -line.amount)
        lines = [*lines[:split], *held]
        parts = shares([line.amount for line in lines], total(line.amount for line in lines))
        if parts is not None:
            lines = [replace(line, share=part) for line, part in zip(lines, parts, strict=True)]
    return lines


def _line(shown: View, held: Held) -> Line:
    times = "" if held.count == 1 else f" × {_count(held.count, shown)}"
    kind = KINDS[held.kind] + (", saved" if held.saved and held.kind != "gradient" else "")
    return Line(
        f"{held.name}{times}", held.nbytes, "byte", value=shown.value(held.nbytes), remark=kind, phase=kind
    )


def _count(count: Expr, shown: View) -> str:
    value = shown.value(count)
    if value is not None and value.is_number:
        return text(value)
    body = text(count, shown.account.graph.order)
    return f"({body})" if count.is_Add else body


def folded(made: Memory) -> list[Line]:
    """Return the lines of what is alive, those beyond the first dozen as one, and their total."""
    lines = list(made.alive)
    if not lines:
        return []
    whole = Line("all of it", total(line.expr for line in lines), "byte", total=True,
                 value=made.shown.value(total(line.expr for line in lines)))  # fmt: skip
    if not made.every and len(lines) > MOST_ALIVE + 1:
        rest = lines[MOST_ALIVE:]
        lines = lines[:MOST_ALIVE]
        value = None if rest[0].value is None else total(one.value for one in rest if one.value is not None)
        part = None if rest[0].share is None else share(total(one.amount for one in rest), whole.amount)
        expr = total(one.expr for one in rest)
        lines.append(Line(f"{len(rest)} others (--all)", expr, "byte", value=value, share=part))
    part = None if lines[0].share is None else share(whole.amount, whole.amount)
    return [*lines, replace(whole, share=part)]
