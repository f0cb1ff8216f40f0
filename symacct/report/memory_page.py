"""The memory of one policy for people: the peak in the order in which a reader asks."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING

from symacct.algebra.normal import total
from symacct.algebra.symbols import as_expr
from symacct.printers import latex, text
from symacct.report.conditions import listed
from symacct.report.data import Line, Report, Section
from symacct.report.facts import Fact
from symacct.report.factor import factored
from symacct.report.figures import shares, valued
from symacct.report.memory import Peak, Peaks, Small, at_sizes, beside, categories, peak, small_cases, tensors
from symacct.report.memory_lower import Option, lower
from symacct.report.summary import report

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sympy import Expr

    from symacct.account import Account
    from symacct.derivation.alive import Held
    from symacct.report.summary import View

MOST_ALIVE = 12
MOST_REGIONS, MOST_CONDITIONS = 4, 4
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
        saved: the peak of what is saved and recomputed.
        peak: the peak of everything.
        alive: what is alive at the peak, a line for each tensor, the largest first.
        small: counts that are cases of their own.
        options: what other choices give at the sizes.
        reserve: bytes that are added to the peak.
        every: whether nothing is folded.
    """

    shown: View
    tables: tuple[Section, ...]
    saved: Peak
    peak: Peak
    alive: tuple[Line, ...]
    small: tuple[Small, ...]
    options: tuple[Option, ...]
    reserve: Fraction
    every: bool

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
    found = peak(Peaks(shown.account), shown.sizes, every=every)
    saved = peak(Peaks(shown.account, "memory.activations.peak"), shown.sizes, every=every)
    tables = (*categories(shown), *tensors(shown, explain))
    known = found.given and shown.account.trains
    return Memory(
        shown,
        tuple(tables),
        saved,
        found,
        tuple(_alive(shown, found)),
        () if shown.sizes or not shown.account.trains else small_cases(shown.account),
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
        share = None if rest[0].share is None else sum(one.share or 0 for one in rest)
        expr = total(one.expr for one in rest)
        lines.append(Line(f"{len(rest)} others (--all)", expr, "byte", value=value, share=share))
    share = None if lines[0].share is None else sum(line.share or 0 for line in lines)
    return [*lines, replace(whole, share=share)]


class Words:
    """Says what there is to say, with formulas as text or in LaTeX."""

    def __init__(self, made: Memory, *, math: bool = False) -> None:
        """Keep the order of sizes."""
        self.made, self.math = made, math
        page = made.page()
        self.order, self.counts = page.order, page.counts

    def show(self, expr: Expr) -> str:
        """Return a formula."""
        body = factored(expr, self.counts)
        return f"${latex(body, self.order)}$" if self.math else text(body, self.order)

    def conditions(self, peak: Peak, at: int) -> str:
        """Return where a formula holds, the first few conditions of it."""
        region = peak.cases[at].region
        if region is None:
            return ""
        said = listed(region.conditions, self.order)
        more = len(said) - MOST_CONDITIONS
        if more > 0 and not self.made.every:
            said = [*said[:MOST_CONDITIONS], f"and {more} more (--all)"]
        return ", ".join(said)

    def head(self) -> list[Fact]:
        """Return the number, the formula, the moment."""
        made, peak = self.made, self.made.peak
        facts = []
        if peak.value is not None:
            below = (f"with {valued(as_expr(made.reserve), 'byte')} byte reserved: "
                     f"{valued(peak.value + as_expr(made.reserve), 'byte')} byte",)  # fmt: skip
            facts.append(Fact("memory.peak", f"{valued(peak.value, 'byte')} byte", below if made.reserve else ()))
        if peak.value is None or peak.cases[0].expr.free_symbols:
            facts.append(self._formula())
        if peak.moment is not None and peak.moment.label:
            facts.append(Fact("at", self._moment()))
        return facts

    def _formula(self) -> Fact:
        peak = self.made.peak
        where = self.conditions(peak, 0)
        many = len(peak.cases)
        word = "formula here" if peak.value is not None else "memory.peak"
        of = f"1 of {many} formulas" if many > 1 else "one formula for all sizes"
        below = [f"where {where}"] if where else []
        if self.made.reserve and peak.value is None:
            below.append(f"{valued(as_expr(self.made.reserve), 'byte')} byte reserved beside")
        return Fact(word, f"{self.show(peak.cases[0].expr)} byte ({of})", tuple(below))

    def _moment(self) -> str:
        peak = self.made.peak
        assert peak.moment is not None
        turns = [
            f"turn {self._number(turn)} of {self._number(count)} of {name}"
            for name, turn, count in peak.moment.turns
        ]
        said = ", ".join([f"{peak.moment.phase} of {peak.moment.label}", *turns])
        if not peak.given:
            point = ", ".join(f"{name} = {size}" for name, size in peak.point.items())
            said += f"; found at {point}, and checked to add up to the formula for all sizes"
        return said

    def _number(self, expr: Expr) -> str:
        value = self.made.shown.value(expr)
        return text(value if value is not None else expr, self.order)

    def choices(self) -> list[Fact]:
        """Return the choices in force, and what a step of several micro-batches changes."""
        policy = self.made.shown.account.policy
        if not self.made.shown.account.trains:
            return [Fact("choices", "nothing is kept for backward; the outputs are held")]
        said = [
            "output held" if policy.hold_output else "output not held",
            f"gradients {policy.grads}",
            f"update {policy.update}",
            f"checkpoint {policy.checkpoint.describe()}"
            + (f", recompute {policy.checkpoint.recompute}" if policy.checkpoint.kind != "none" else ""),
            f"saves {policy.saves}",
            "input gradients formed" if policy.input_grad else "no input gradients",
            f"{policy.accumulate} micro-batch{'es' if policy.accumulate != 1 else ''}",
        ]
        return [Fact("choices", "; ".join(said)), *self._micro()]

    def _micro(self) -> list[Fact]:
        account = self.made.shown.account
        number = account.policy.accumulate
        if number == 1:
            return []
        tokens = account.graph.tokens
        batch = f": {self.show(as_expr(tokens))} token each" if tokens is not None else ""
        return [
            Fact(
                "accumulation",
                f"the sizes are those of one micro-batch; a step adds up {number} of them{batch}",
                (
                    "kept at once: the activations of one micro-batch, whatever their number",
                    "not lowered: parameters, gradients (which live through all of them), states, FLOPs of a sample",
                ),
            )
        ]

    def regions(self) -> list[Fact]:
        """Return the other regions, the small counts, and when the formulas hold."""
        made, peak = self.made, self.made.peak
        facts = []
        others = list(enumerate(peak.cases))[1:]
        known = [(at, case) for at, case in others if case.region is not None]
        shown = known if made.every else known[: MOST_REGIONS - 1]
        below = [f"{self.show(case.expr)} where {self.conditions(peak, at)}" for at, case in shown]
        if len(others) > len(shown):
            below.append(f"{len(others) - len(shown)} more (--all)")
        if below:
            facts.append(Fact("elsewhere", "", tuple(below)))
        if made.small:
            said = [f"{case.condition.text}: {self._largest(case.exprs)}" for case in made.small]
            facts.append(Fact("small counts", "", tuple(said)))
        if peak.when:
            facts.append(Fact("holds for", ", ".join(listed(peak.when, self.order))))
        return facts

    def _largest(self, exprs: Sequence[Expr]) -> str:
        said = [self.show(expr) for expr in exprs[:MOST_REGIONS]]
        said += ["..."] if len(exprs) > MOST_REGIONS else []
        return said[0] if len(exprs) == 1 else f"the largest of {', '.join(said)}"

    def lower(self) -> list[tuple[str, str, str]]:
        """Return what other choices give: flags, the peak, what it saves."""
        now = self.made.peak.value
        rows = []
        for one in self.made.options:
            if one.value is None or now is None:
                rows.append((one.flags, "", f"not derived: {one.why}"))
                continue
            gap = now - one.value
            saves = "saves nothing here" if gap == 0 else f"saves {valued(gap, 'byte')}"
            rows.append((one.flags, valued(one.value, "byte"), saves if gap >= 0 else f"costs {valued(-gap, 'byte')}"))
        return rows
