"""Checkpoint policies side by side: what each keeps, its peak with regions, and what it costs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from sympy import Mul

from symacct.algebra.normal import normal
from symacct.algebra.tables import build, primitive
from symacct.algebra.terms import read
from symacct.planning.peak_cases import Peak, Peaks, peak
from symacct.report.conditions import listed
from symacct.report.data import Line, Report, Section
from symacct.report.memory import WORK, at_sizes
from symacct.report.quantities import explained
from symacct.report.summary import report

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sympy import Expr

    from symacct.account import Account
    from symacct.report.quantities import Explained
    from symacct.report.summary import View

KEPT = "memory.activations"
PEAKS = ("memory.activations.peak", "memory.peak")
RATIO = "flops.hardware/flops.model"
TITLES = {
    KEPT: "saved when forward ends",
    "memory.activations.peak": "saved and recomputed, at most",
    "memory.peak": "peak of everything",
    "flops.recompute": "contractions that run again",
    "flops.model": "contractions without what runs again",
    "flops.hardware": "contractions with it",
}


def common_factor(expr: Expr) -> Expr:
    """Return a sum as a product of what its terms share and the rest, to be printed only.

    >>> from symacct.algebra.symbols import symbol
    >>> from symacct.printers import text
    >>> B, D, L = symbol("B"), symbol("D"), symbol("L")
    >>> text(common_factor(6 * B * D**2 * L - 2 * B * D**2), ["B", "D", "L"])
    '2*B*D^2*(3*L - 1)'
    """
    if not expr.is_Add:
        return expr
    content, shared, rest = primitive(read(expr))
    outer = build({shared: content})
    return expr if outer == 1 else Mul(*Mul.make_args(outer), build(rest), evaluate=False)


def quotient(above: Expr, below: Expr) -> Expr:
    """Return a quotient without a common factor and without fractions in it, to be printed only.

    >>> from symacct.algebra.symbols import symbol
    >>> from symacct.printers import text
    >>> D, L = symbol("D"), symbol("L")
    >>> text(quotient(4 * D * L - D, 3 * D * L - D), ["L"])
    '(4*L - 1)/(3*L - 1)'
    """
    found = normal(above / below)
    top, bottom = found.as_numer_denom()
    return found if found.is_number or bottom == 1 else Mul(top, 1 / bottom, evaluate=False)


def policies(accounts: Sequence[Account], sizes: Mapping[str, int], *, every: bool = False) -> Report:
    """Return checkpoint policies side by side, a section for each quantity."""
    shown = [at_sizes(account, sizes) for account in accounts]
    names = [account.policy.checkpoint.describe() for account in accounts]
    sections = [_plain(KEPT, names, shown)]
    sections += [_peaks(name, names, shown, every=every) for name in PEAKS]
    sections += [_plain(name, names, shown, product=True) for name in WORK]
    sections.append(_ratios(names, shown))
    made = report(shown[0], sections)
    plain = replace(accounts[0].policy, checkpoint=type(accounts[0].policy.checkpoint)())
    facts = tuple((word, said) for word, said in made.facts if word not in ("holds for", "small"))
    return replace(made, policy=plain.describe(), facts=(*facts, *_conditions(names, shown)))


@dataclass(frozen=True, slots=True)
class Compared:
    """One of several checkpoint policies.

    Attributes:
        view: its account at the sizes.
        peak: of everything.
        activations_peak: of what is saved and recomputed.
    """

    view: View
    peak: Peak
    activations_peak: Peak

    @property
    def quantities(self) -> dict[str, Explained]:
        """What is kept and what runs, with their terms."""
        return explained(self.view, [name for name in (KEPT, *WORK) if self.view.account.has(name)])

    @property
    def ratio(self) -> Expr | None:
        """FLOPs with what runs again over those without; None where there are none."""
        model, hardware = (self.view.line(name).expr for name in ("flops.model", "flops.hardware"))
        return None if model == 0 else quotient(hardware, model)


def compared(
    accounts: Sequence[Account], sizes: Mapping[str, int], *, every: bool = False
) -> dict[str, Compared]:
    """Return checkpoint policies by their names."""
    shown = {account.policy.checkpoint.describe(): at_sizes(account, sizes) for account in accounts}
    found = {}
    for policy, one in shown.items():
        saved, whole = (peak(Peaks(one.account, name), one.sizes, every=every) for name in PEAKS)
        found[policy] = Compared(one, whole, saved)
    return found


def _conditions(names: Sequence[str], shown: Sequence[View]) -> list[tuple[str, str]]:
    """Return when the formulas of each policy hold, and which are of a small case."""
    found = []
    for name, one in zip(names, shown, strict=True):
        conditions = (*one.account.conditions, *one.account.course.conditions)
        said = ", ".join(dict.fromkeys(listed(conditions, one.account.graph.order)))
        if one.small:
            said = f"the sizes given alone, below {', '.join(listed(one.small))}"
        if said:
            found.append((f"{name} holds for", said))
    return found


def _plain(name: str, names: Sequence[str], shown: Sequence[View], *, product: bool = False) -> Section:
    lines = []
    for policy, one in zip(names, shown, strict=True):
        line = one.line(name)
        expr = common_factor(line.expr) if product else line.expr
        lines.append(replace(line, name=policy, expr=expr, level=1, when=()))
    return Section(f"{name}: {TITLES[name]}", tuple(lines))


def _peaks(name: str, names: Sequence[str], shown: Sequence[View], *, every: bool) -> Section:
    lines: list[Line] = []
    for policy, one in zip(names, shown, strict=True):
        lines += _cases(policy, peak(Peaks(one.account, name), one.sizes, every=every), one)
    return Section(f"{name}: {TITLES[name]}", tuple(lines))


def _cases(policy: str, found: Peak, one: View) -> list[Line]:
    """Return the formula that holds at the sizes, or those of all regions where they are few."""
    order = one.account.graph.order
    cases = [case for case in found.cases if case.region is not None]
    chosen = cases[:1] if found.given else cases
    lines = []
    for at, case in enumerate(chosen):
        said = "; ".join(listed(case.region.conditions[:3], order)) if case.region else ""
        more = len(case.region.conditions) - 3 if case.region else 0
        said += f"; and {more} more" if more > 0 else ""
        value = found.value if found.given and at == 0 and one.sizes else None
        lines.append(
            Line(policy, case.expr, "byte", value=value, level=1, remark=f"if {said}" if said else "")
        )
    left = len(found.cases) - len(chosen)
    if left and not found.given:
        lines[-1] = replace(lines[-1], remark=f"{lines[-1].remark}; {left} other formulas elsewhere (--at)")
    return lines


def _ratios(names: Sequence[str], shown: Sequence[View]) -> Section:
    lines = []
    for policy, one in zip(names, shown, strict=True):
        model, hardware = (one.line(name).expr for name in ("flops.model", "flops.hardware"))
        if model != 0:
            expr = normal(hardware / model)
            printed = quotient(hardware, model)
            lines.append(Line(policy, printed, "1", value=one.value(expr), level=1))
    return Section(RATIO, tuple(lines))
