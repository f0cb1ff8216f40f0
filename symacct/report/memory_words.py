"""The words and formulas around a peak, in the order in which a reader asks."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from symacct.algebra.symbols import as_expr
from symacct.errors import RuleError
from symacct.nodes import Node, walk
from symacct.planning.peak_cases import open_names
from symacct.printers import latex, text
from symacct.report.amount import as_fraction, digits
from symacct.report.conditions import listed
from symacct.report.factor import factored
from symacct.report.facts import Fact
from symacct.report.figures import percent, valued
from symacct.report.segments import segments_said

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from sympy import Expr

    from symacct.nodes import Graph
    from symacct.planning.peak_cases import Peak
    from symacct.report.memory_page import Memory

MOST_REGIONS, MOST_CONDITIONS, MOST_NAMED, LARGE = 4, 4, 2, 100
NO_USE = "changes nothing or costs more"


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
        count = len(region.conditions) if self.made.every else MOST_CONDITIONS
        said = listed(region.conditions[:count], self.order)
        more = len(region.conditions) - count
        said += [f"and {more} more (--all)"] if more > 0 else []
        return ", ".join(said)

    def head(self) -> list[Fact]:
        """Return the number, the formula, the moment."""
        made, peak = self.made, self.made.peak
        facts = []
        if peak.value is not None:
            whole = valued(peak.value + as_expr(made.reserve), "byte")
            below = (f"with {valued(as_expr(made.reserve), 'byte')} byte reserved: {whole} byte",)
            facts.append(
                Fact("memory.peak", f"{valued(peak.value, 'byte')} byte", below if made.reserve else ())
            )
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
        one = "one formula" if peak.when or self.made.small else "one formula for all sizes"
        of = f"1 of {many} formulas" if many > 1 else one
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
        return text(value if value is not None else expr, self.order).replace(" ", "")

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
        placed = segments_said(self.made.shown.account)
        segments = [Fact("checkpoint", placed)] if placed else []
        return [Fact("choices", "; ".join(said)), *segments, *self._eager(), *self._micro()]

    def _eager(self) -> list[Fact]:
        """Say what attention keeps, where a region of the graph is its core."""
        account = self.made.shown.account
        if account.policy.checkpoint.kind != "none" or not has_core(account.graph):
            return []
        kept = "eager: scores and probabilities are kept"
        return [
            Fact("attention", f"{kept}; --checkpoint selective:core is closest to a fused (flash) kernel")
        ]

    def _micro(self) -> list[Fact]:
        account = self.made.shown.account
        number = account.policy.accumulate
        if number == 1:
            return []
        batch = _each(account.graph, self.show)
        return [
            Fact(
                "accumulation",
                f"the sizes are those of one micro-batch; a step adds up {number} of them{batch}",
                (
                    "kept at once: the activations of one micro-batch, whatever their number",
                    "not lowered: parameters, gradients (alive through all), states, FLOPs of a sample",
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
        if made.every and made.shown.account.trains:
            facts.append(self._transient())
        if made.small:
            said = [f"{case.condition.text}: {self._largest(case.exprs)}" for case in made.small]
            facts.append(Fact("small counts", "", tuple(said)))
        if peak.when:
            facts.append(Fact("holds for", ", ".join(listed(peak.when, self.order))))
        return facts

    def _transient(self) -> Fact:
        """Return what is transient where each formula is the peak: all of it that is in no category."""
        peak, account = self.made.peak, self.made.shown.account
        try:
            quantity, pairs = account["memory.transient"], account.transients()
        except RuleError as error:
            return Fact("transient", "", (error.what,))
        below = [
            f"{self.show(rest)}{f' where {where}' if where else ''}"
            for at, case in enumerate(peak.cases)
            for whole, rest in pairs
            if whole == case.expr
            for where in (self.conditions(peak, at),)
        ]
        own = [one for one in quantity.when if one not in peak.when]
        below += [f"for {', '.join(listed(own, self.order))}"] if own else []
        return Fact("transient", "", tuple(below))

    def _largest(self, exprs: Sequence[Expr]) -> str:
        said = [self.show(expr) for expr in exprs[:MOST_REGIONS]]
        said += ["..."] if len(exprs) > MOST_REGIONS else []
        return said[0] if len(exprs) == 1 else f"the largest of {', '.join(said)}"

    def lower(self) -> list[tuple[str, ...] | str]:
        """Return what other choices give: flags, the peak, what it saves, what work it takes.

        Those that save nothing stand under a title of their own.
        """
        now = self.made.peak.value
        rows, others = list[tuple[str, ...] | str](), list[tuple[str, ...] | str]()
        for one in self.made.options:
            if one.value is None or now is None:
                others.append((one.flags, "", f"not derived: {one.why}", ""))
                continue
            gap = now - one.value
            part = percent(round(abs(Fraction(int(gap.p), int(gap.q)) / as_fraction(now)) * 1000))
            saves = "saves nothing here" if gap == 0 else f"{'saves' if gap > 0 else 'costs'} {part}"
            row = (one.flags, valued(one.value, "byte"), saves, times(one.work))
            (rows if gap > 0 else others).append(row)
        return [*rows, NO_USE, *others] if others else rows

    def unsaid(self) -> str:
        """Return what is wanted before other choices can be compared."""
        account = self.made.shown.account
        missing = open_names(account, self.made.shown.sizes)
        if not missing or len(missing) > MOST_NAMED:
            return "give the sizes (--at) to see what other choices give"
        given = ",".join(f"{name}=..." for name in missing)
        best = ", or --best for the best one" if missing == [str(account.policy.checkpoint.every)] else ""
        return f"give {', '.join(missing)} too (--at {given}) to see what other choices give{best}"


def times(work: Expr | None) -> str:
    """Return work as a multiple of the present.

    >>> times(as_expr(4) / 3), times(as_expr(1)), times(None)
    ('x 1.33 FLOPs', 'x 1 FLOPs', '')
    """
    if work is None:
        return ""
    if as_fraction(work) >= LARGE:
        return f"x {digits(as_fraction(work))} FLOPs"
    hundredths = round(as_fraction(work) * 100)
    whole = f"{hundredths // 100}.{hundredths % 100:02d}".rstrip("0").rstrip(".")
    return f"x {whole} FLOPs"


def has_core(graph: Graph) -> bool:
    """Say whether a region of the graph is the core of an attention that is not fused."""
    labels = [node.label for node, _ in walk(graph.nodes) if isinstance(node, Node)]
    return any("core" in label.split("/")[:-1] and "softmax" in label for label in labels)


def _each(graph: Graph, show: Callable[[Expr], str]) -> str:
    """Return what one micro-batch holds: tokens, or what the one size of them is declared to count."""
    if graph.tokens is None:
        return ""
    count = as_expr(graph.tokens)
    meaning = graph.sizes.get(str(count), "") if count.is_Symbol else ""
    return f", {show(count)} {meaning or 'tokens'} each"
