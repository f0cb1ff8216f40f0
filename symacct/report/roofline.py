"""A roofline as tables: each op with what binds it, the graph, the bandwidths, and their sources."""

from __future__ import annotations

from typing import TYPE_CHECKING

from symacct.algebra.normal import normal
from symacct.evaluation.operations import TENSOR
from symacct.evaluation.rates import Rates, ridge
from symacct.evaluation.roofline import VERDICTS, Roofline, verdict
from symacct.evaluation.timing import MEMORY, quantity
from symacct.printers import latex, text
from symacct.report.amount import SECOND, as_fraction, digits, shown
from symacct.report.blocks import Grid, Joined, Lines, Prose
from symacct.report.factor import factored
from symacct.report.figures import percent, shares
from symacct.report.roofline_words import brief, condition, sourced
from symacct.report.table import GAP, Column, Table, as_csv

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sympy import Expr

    from symacct.evaluation.regions import Region
    from symacct.evaluation.timing import Timed, Timing
    from symacct.report.blocks import Block

AT_LEAST, AT_MOST = "≥ ", "≤ "
FEW = 3
HEAD = ("machine", "op", "phase", "path", "flops", "bytes", "time_s", "bound_by", "at_least", "formula")
SYMBOLS = "rates of contractions, of other work, and of bytes; I = P/W_mem, I_v = V/W_mem"
CHOSEN = "the data chooses what some ops read: their bytes are at most these"
LEFT_OUT = "communication, and launching ops"


class Page:
    """How one roofline is written: formulas as text or LaTeX."""

    def __init__(self, made: Roofline, *, math: bool = False) -> None:
        """Keep the roofline and the order in which sizes are printed."""
        from symacct.nodes import repeat_counts

        self.made = made
        self.math = math
        self.order = made.account.graph.order
        self.counts = repeat_counts(made.account.graph)

    # ---- cells ----

    def formula(self, expr: Expr) -> str:
        """Return a formula."""
        kept = factored(expr, self.counts)
        return f"${latex(kept, self.order)}$" if self.math else text(kept, self.order)

    def value(self, expr: Expr, unit: str) -> str:
        """Return a number with a prefix, or a formula while sizes are free."""
        if expr.free_symbols:
            return self.formula(expr)
        if unit == "second":
            return shown(expr, SECOND)
        if unit in ("1", "FLOP/byte"):
            return digits(as_fraction(expr))
        return brief(as_fraction(expr), unit)

    def time(self, expr: Expr) -> str:
        """Return a time; of several devices, or where some work is not timed, as a lower bound."""
        return self._bounded(self.value(expr, "second"), AT_LEAST)

    def larger(self, one: Timing) -> str:
        """Return the time of an op as a formula: ``max(F/P, Q/W)``."""
        rates = Rates(self.made.machine, self.made.over, symbolic=True)
        seconds: dict[str, list[str]] = {}
        for load in one.operation.loads:
            rate = rates.rate(load.unit, load.dtype)
            if rate is not None:
                unit = TENSOR if rates.joined else load.unit
                seconds.setdefault(unit, []).append(self._over(load.flops, rate))
        if one.operation.moved != 0:
            seconds[MEMORY] = [self._over(one.operation.moved, rates.bandwidth())]
        parts = [" + ".join(terms) for terms in seconds.values()]
        inside = ", ".join(parts)
        if self.math:
            return f"${inside}$" if len(parts) == 1 else f"$\\max\\left({inside}\\right)$"
        return inside if len(parts) == 1 else f"max({inside})"

    def _over(self, above: Expr, below: Expr) -> str:
        kept = factored(above, self.counts)
        if self.math:
            return f"\\frac{{{latex(kept, self.order)}}}{{{latex(below)}}}"
        said = text(kept, self.order)
        return f"{f'({said})' if kept.is_Add or '/' in said else said}/{text(below)}"

    def _bounded(self, said: str, sign: str) -> str:
        return sign + said if self.made.time.notes else said

    def region(self, found: Region | None) -> str:
        """Return where it is memory-bound: ``B < 345.15``."""
        return "" if found is None else condition(found, self.order)

    # ---- tables ----

    def ops(self) -> Table:
        """Return a row for each op."""
        made = self.made
        parts = shares([normal(one.expr) for one in made.time.timings], made.time.expr)
        columns = (
            Column("op"),
            Column("FLOPs", right=True),
            Column("bytes", right=True),
            Column("FLOP/byte", right=True),
            Column("time", right=not made.time.expr.free_symbols),
            Column("share", right=True, breaks=False),
            Column("bound by"),
            Column("memory-bound iff"),
        )
        rows: list[tuple[str, ...] | str] = []
        phase = None
        for place, one in enumerate(made.time.timings):
            if not one.candidates:
                continue
            if one.operation.phase != phase:
                phase = one.operation.phase
                rows.append(str(phase))
            rows.append(self._op(one, None if parts is None else parts[place]))
        return Table(columns, tuple(rows)).trimmed()

    def _op(self, one: Timing, share: int | None) -> tuple[str, ...]:
        op = one.operation
        ratio = self.value(op.flops / op.moved, "FLOP/byte") if op.moved != 0 else ""
        symbolic = bool(one.expr.free_symbols)
        return (
            GAP + op.label,
            "" if symbolic else self.value(op.flops, "FLOP"),
            "" if symbolic else self.value(op.moved, "byte"),
            "" if symbolic else ratio,
            self._bounded(self.larger(one), AT_LEAST) if symbolic else self.time(one.expr),
            percent(share),
            verdict(one),
            self.region(self.made.region(one)),
        )

    def totals(self) -> list[tuple[str, str]]:
        """Return what is said of the whole graph, as pairs of a word and a text."""
        made = self.made
        lines = [(made.main, self._summed(made.time))]
        others = [name for name in made.names() if name not in (made.main, "time.forward")]
        lines += [(name, self._quantity(made.quantity(name))) for name in others]
        if made.account.trains:
            lines.append(("time.forward", self._summed(made.quantity("time.forward"))))
        if made.moved != 0 and (not made.intensity.free_symbols or len(made.time.timings) <= FEW):
            lines.append(("intensity", f"{self.value(made.intensity, 'FLOP/byte')} FLOP/byte"))
        if not made.time.expr.free_symbols and made.time.expr != 0:
            rate = self.value(made.realised, "FLOP/second")
            lines.append(("realised", self._bounded(f"{rate}, were each op as fast as its roof", AT_MOST)))
        return [*lines, *self._verdict()]

    def _summed(self, one: Timed) -> str:
        """Return a sum of times: a number, or the formula where it is short."""
        if not one.expr.free_symbols:
            return self.time(one.expr)
        if len(one.timings) > FEW:
            return f"the sum of the {len(one.timings)} times above"
        parts = " + ".join(self.larger(timing) for timing in one.timings)
        return self._bounded(parts, AT_LEAST)

    def _quantity(self, one: Timed) -> str:
        if one.name == "mfu.bound" and one.above == 0:
            return "0 (no contraction)"
        if one.expr.free_symbols:
            return self._symbolic(one)
        if one.name == "time.token":
            said = f"{self.value(one.expr, 'second')}, from one token of a sequence to its next"
            return self._bounded(said, AT_LEAST)
        number = as_fraction(one.expr)
        said = f"{digits(number * 100)} %" if one.name == "mfu.bound" else f"{digits(number)} token/s"
        return self._bounded(said, AT_MOST)

    def _symbolic(self, one: Timed) -> str:
        """Return a quantity that is made of the time, by its name."""
        if one.above is None:
            return self.made.main
        above = self.made.formula(one.name).above
        assert above is not None
        if self.math:
            return f"${latex(above, self.order)}$ / {self.made.main}"
        said = text(factored(above, self.counts), self.order)
        bare = above.is_Symbol or above.is_Integer
        return f"{said if bare else f'({said})'} / {self.made.main}"

    def _verdict(self) -> list[tuple[str, str]]:
        made = self.made
        lines = []
        if made.binds is not None:
            said = VERDICTS[made.binds]
            share = made.share(VERDICTS[MEMORY])
            if share is not None:
                said += f"; {digits(as_fraction(share) * 100)} % of the time is in memory-bound ops"
            lines.append(("the graph", said))
        whole = made.whole_region()
        if whole is not None:
            lines.append(("memory-bound iff", self.region(whole)))
        return lines

    def levels(self) -> Table | None:
        """Return the bandwidths beside each other; None where there is one, or sizes are free."""
        made = self.made
        if len(made.levels) < 2 or made.machine is None or made.time.expr.free_symbols:
            return None
        load = made.main_load
        peak = None if load is None else made.rates.figure(load.unit, load.dtype)
        rows = [
            (
                level.name,
                str(level.figure),
                "" if peak is None else digits(peak.value / level.figure.value),
                self.time(level.seconds),
                level.verdict or "",
            )
            for level in made.levels
        ]
        columns = (Column("bytes over"), Column("bandwidth", right=True), Column("ridge", right=True),
                   Column(made.main, right=True), Column("the graph"))  # fmt: skip
        return Table(columns, tuple(rows)).trimmed()

    def figures(self) -> list[tuple[str, str]]:
        """Return the rates that were used, each with its source and date."""
        made = self.made
        if made.machine is None:
            return [("machine", "none"), ("P_..., V_..., W_mem", SYMBOLS)]
        lines = [("machine", f"{made.machine.name}: {made.machine.title}")]
        for roof in made.roofs:
            if roof.figure is not None:
                what = "contractions" if roof.unit == TENSOR or made.machine.one_peak else "other work"
                lines.append((f"{roof.dtype} {what}", sourced(roof.figure)))
        figure = made.rates.bandwidth_figure()
        if figure is not None:
            lines.append((f"bandwidth of {made.over or 'main memory'}", sourced(figure)))
        load = made.main_load
        if load is not None and load.unit == TENSOR:
            point = digits(ridge(made.rates, load.dtype))
            lines.append(("ridge", f"{point} FLOP/byte for {load.dtype} ({made.ridge_symbol(load)})"))
        lines += [("warning", one) for one in (*made.machine.doubts(), *made.account.graph.notes)]
        if any(one.operation.chosen for one in made.time.timings):
            lines.append(("note", CHOSEN))
        return [*lines, *(("bound", one) for one in made.time.notes), ("left out", LEFT_OUT)]


def blocks(mades: Sequence[Roofline], *, math: bool = False) -> list[Block]:
    """Return rooflines as blocks, one under another."""
    return [block for made in mades for block in _blocks(Page(made, math=math))]


def _blocks(page: Page) -> Iterator[Block]:
    yield _headed(page) if page.math else _head(page)
    if page.math:
        account = page.made.account
        choices = (("convention", account.convention.describe()), ("policy", account.policy.describe()))
        yield Lines((*choices, *page.figures()))
    yield Grid(page.ops())
    yield Lines(tuple(page.totals()))
    levels = page.levels()
    if levels is not None:
        yield Grid(levels)


def _headed(page: Page) -> Block:
    name = "" if page.made.machine is None else f" on {page.made.machine.name}"
    return Prose((f"**{page.made.account.graph.name}{name}**",))


def _head(page: Page) -> Block:
    """Return choices, graph, sizes and figures, line by line."""
    made, account = page.made, page.made.account
    choices = f"convention {account.convention.describe()}, bytes {account.convention.bytes}"
    doc = account.graph.doc.strip().split("\n")[0]
    lines = [f"graph {account.graph.name}: {doc}" if doc else f"graph {account.graph.name}"]
    lines += [f"at: {', '.join(f'{k} = {n:,}' for k, n in made.sizes.items())}"] if made.sizes else []
    first = Prose((f"{choices}; {account.policy.describe()}",), wrapped=True)
    return Joined((first, Prose(tuple(lines)), Lines(tuple(page.figures()))))


def csv_of(mades: Sequence[Roofline]) -> str:
    """Return a row for each op on each machine; the last of a machine is the whole graph."""
    rows: list[tuple[str, ...]] = [HEAD]
    for made in mades:
        machine = "" if made.machine is None else made.machine.name
        order = made.account.graph.order
        symbolic = quantity(made.account, made.machine, made.main, over=made.over, symbolic=True)
        bound = "yes" if made.time.notes else "no"
        formulas = [text(expr, order) for _, expr in symbolic.terms]
        for one, formula in zip(made.time.timings, formulas, strict=True):
            op = one.operation
            cells = (text(op.flops, order), text(op.moved, order), text(one.expr, order))
            path = "/".join(op.path)
            rows.append((machine, op.label, op.phase, path, *cells, verdict(one), bound, formula))
        said = made.verdict or ""
        cells = (text(made.flops, order), text(made.moved, order), text(made.time.expr, order))
        rows.append((machine, made.main, "", "", *cells, said, bound, ""))
    return as_csv(rows)
