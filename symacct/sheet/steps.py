"""How a derived quantity comes about, step by step: what each op costs, how often, the sum, its shape."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from sympy import Add

from symacct.algebra.evaluate import evaluate, names_of
from symacct.algebra.normal import is_zero, normal, total
from symacct.algebra.symbols import symbol
from symacct.nodes import Node, walk
from symacct.printers import degree
from symacct.printers import text as plain_text
from symacct.sheet.chain import amount_text, chained, product_text
from symacct.sheet.charges import CONTRACTION, Charge, charges
from symacct.sheet.data import Cell, Math, Row, Step
from symacct.sheet.steps_words import say
from symacct.terms import PHASES, STATIC, unit_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from sympy import Expr

    from symacct.account import Account

MOST_GROUPS, MOST_LABELS = 8, 3
OF_RATIOS = {
    "intensity.forward": (("flops.forward.all",), "bytes.forward"),
    "intensity.step": (("flops.hardware.all", "flops.optimizer.all"), "bytes.step"),
}
OTHERS = ("tokens",)
"""Quantities that are stated by the graph: there is nothing to derive."""


def with_steps(
    rows: Sequence[Row], account: Account, sizes: Mapping[str, int], lang: str = "en"
) -> list[Row]:
    """Return rows of quantities with how each comes about; one may refer to another.

    Raises:
        FormulaError: a step is not equal to the one before.
    """
    above = [row.quantity for row in rows]
    return [_with_steps(row, account, sizes, above, lang) for row in rows]


def _with_steps(row: Row, account: Account, sizes: Mapping[str, int], above: Sequence[str], lang: str) -> Row:
    maths = [item for item in row.formula if isinstance(item, Math)]
    text = maths[0].text if len(maths) == 1 else ""
    foreign = maths[0].names - {*account.graph.order} if text else frozenset()
    letters = dict.fromkeys(foreign, account["params"].expr)
    made = Derivation(account, row.quantity, sizes, above, (text, letters), lang)
    return replace(row, steps=made.steps())


class Derivation:
    """The steps of one quantity.

    Args:
        account: what was derived.
        name: the quantity.
        sizes: example sizes, by which the largest part stands first.
        above: quantities whose derivations stand on the same sheet.
        written: the formula as the sheet shows it, read with these names.
        lang: the language of words.
    """

    def __init__(
        self,
        account: Account,
        name: str,
        sizes: Mapping[str, int],
        above: Collection[str] = (),
        written: tuple[str, Mapping[str, Expr]] = ("", {}),
        lang: str = "en",
    ) -> None:
        """Prepare; nothing is worked out yet."""
        self.account = account
        self.name = name
        self.sizes = sizes
        self.above = above
        self.written, self.letters = written
        self.lang = lang
        self.order = account.graph.order
        self.names = frozenset({*self.order, *account.policy.names})
        self.unit = str(unit_of(name))
        self.expr = account[name].expr

    def steps(self) -> tuple[Step, ...]:
        """Return the steps.

        Raises:
            FormulaError: one of them is not equal to the one before.
        """
        if self.name in OTHERS or self.expr == 0:
            return ()
        if self.name in OF_RATIOS:
            return tuple(self.of_ratio())
        same = next((one for one in self.above if one != self.name and self.is_same(one)), None)
        if same is not None:
            return (Step(say("same", self.lang, same)),)
        parts = self.parts()
        made = list(self.of_parts(parts) if len(parts) > 1 else self.of_charges())
        last = made[-1].cell if made else ()
        return (*made, *(one for one in self.shaped() if one.cell[:1] != last[-2:-1]))

    # ---- by parts that are derived above ----

    def is_same(self, other: str) -> bool:
        """Say whether another quantity, derived before this one on the sheet, has the same terms as often."""
        account = self.account
        before = list(self.above)
        if before.index(other) >= (before.index(self.name) if self.name in before else len(before)):
            return False
        if other in OTHERS or other in OF_RATIOS or unit_of(other) != unit_of(self.name):
            return False
        same = Counter(_terms(account, other)) == Counter(_terms(account, self.name))
        return same and is_zero(account[other].expr - self.expr)

    def parts(self) -> list[str]:
        """Return the quantities on this sheet that add up to this one."""
        base, _, last = self.name.rpartition(".")
        suffix = f".{last}" if last in {"all", "matmul"} else ""
        root = base if suffix else self.name
        if root in PHASES and len(PHASES[root]) > 1:
            found = [f"flops.{phase}{suffix}" for phase in PHASES[root]]
        elif self.name == "memory.static":
            found = [f"memory.{part}" for part in STATIC]
        elif self.name == "bytes.step":
            found = ["bytes.forward", "bytes.backward"]
        else:
            return []
        found = [one for one in found if self.account.has(one) and self.account[one].expr != 0]
        whole = total(self.account[one].expr for one in found)
        return found if set(found) <= {*self.above} and is_zero(whole - self.expr) else []

    def of_parts(self, parts: Sequence[str]) -> Iterator[Step]:
        """Yield the sum of what is derived elsewhere on the sheet."""
        shown = [f"({self.plain(self.account[one].expr)})" for one in parts]
        yield Step(say("of parts", self.lang, " + ".join(parts)), self.cell([" + ".join(shown)], self.expr))

    def of_ratio(self) -> Iterator[Step]:
        """Yield FLOPs over bytes, and the fraction reduced."""
        names, below = OF_RATIOS[self.name]
        above = [one for one in names if self.account.has(one)]
        top, bottom = total(self.account[one].expr for one in above), self.account[below].expr
        ratio = f"({self.plain(top)})/({self.plain(bottom)})"
        said = say("ratio", self.lang, " + ".join(above), below)
        yield Step(said, self.cell([ratio], self.expr))
        reduced = self.written or self.plain(self.expr)
        if reduced != ratio:
            yield Step(say("reduced", self.lang), self.cell([reduced], self.expr))

    # ---- by charges ----

    def of_charges(self) -> Iterator[Step]:
        """Yield what is charged, pass by pass, and the sum."""
        found = charges(self.account, self.name)
        bundles: list[tuple[Expr, Expr]] = []
        for phase in dict.fromkeys(one.phase for one in found):
            inside = [one for one in found if one.phase == phase]
            yield Step(self.head(phase))
            if phase == "backward" and self.name.startswith("flops") and (missing := self.not_formed()):
                yield Step(missing, level=1)
            for path, times, own in self.bundled(inside):
                bundles.append((total(one.once for one in own), times))
                yield from self.bundle(own, path, times)
        if len(bundles) == 1:
            once, times = bundles[0]
            self.cell([self.repeated(once, times)], self.expr)
        else:
            text = " + ".join(self.repeated(once, times) for once, times in bundles)
            yield Step(say("sum", self.lang), self.cell([text.replace("+ -", "- ")], self.expr))

    def bundled(self, found: Sequence[Charge]) -> list[tuple[tuple[str, ...], Expr, list[Charge]]]:
        """Return what is charged by where and how often it is, the largest first."""
        keys = dict.fromkeys((one.path, one.times) for one in found)
        made = [(*key, [one for one in found if (one.path, one.times) == key]) for key in keys]
        return sorted(made, key=lambda one: self.weight(total(part.whole for part in one[2])), reverse=True)

    def bundle(self, own: Sequence[Charge], path: Sequence[str], times: Expr) -> Iterator[Step]:
        """Yield what is charged in one iteration, the largest first, and what all iterations come to."""
        yield Step(self.place(path, times), level=1)
        ranked = sorted(own, key=lambda one: self.weight(one.once), reverse=True)
        shown = ranked if len(ranked) <= MOST_GROUPS else ranked[: MOST_GROUPS - 1]
        for one in shown:
            yield Step(self.labelled(one), self.cell(self.charged(one), one.once), level=2)
        rest = ranked[len(shown) :]
        if rest:
            small = total(one.once for one in rest)
            number = sum(len(one.labels) for one in rest)
            yield Step(say("smaller", self.lang, number), self.cell([self.plain(small)], small), level=2)
        once = total(one.once for one in own)
        if times != 1:
            whole = normal(once * times)
            said = say("all of", self.lang, path[-1]) if path else say("together", self.lang)
            yield Step(said, self.cell([self.repeated(once, times), self.plain(whole)], whole), level=1)
        elif len(own) > 1:
            yield Step(say("together", self.lang), self.cell([self.plain(once)], once), level=1)

    def weight(self, expr: Expr) -> tuple[float, float]:
        """Return what a formula is worth at the example sizes, or its degree."""
        if set(names_of(expr)) <= self.sizes.keys():
            return float(evaluate(expr, self.sizes)), 0.0
        return 0.0, float(max(map(degree, Add.make_args(expr)), default=0))

    def charged(self, one: Charge) -> list[str]:
        """Return a charge as a product of its number, its price and its sizes, and multiplied out."""
        number = [str(len(one.labels))] if len(one.labels) > 1 else []
        price = amount_text(one.each, self.unit)
        factors = product_text(one.factors, self.order)
        texts = [*number, *([price] if price else []), *factors] or ["1"]
        return ["*".join(texts), self.plain(one.once)]

    def repeated(self, once: Expr, times: Expr) -> str:
        """Return what one iteration has, times their number."""
        if times == 1:
            return self.plain(once)
        (count,) = product_text([times], self.order)
        inner = self.plain(once)
        return f"{count}*({inner})" if once.is_Add else f"{count}*{inner}"

    # ---- the end ----

    def shaped(self) -> Iterator[Step]:
        """Yield the formula multiplied out, and in the shape in which the sheet shows it."""
        plain = self.plain(self.expr)
        yield Step(say("collected", self.lang), self.cell([plain], self.expr))
        if not self.written or self.written == plain:
            return
        if not self.letters:
            yield Step(say("shape", self.lang), self.cell([self.written], self.expr))
            return
        letter, weights = next(iter(self.letters.items()))
        stands = normal(self.expr / weights) * symbol(letter)
        cell = chained([self.written], stands, [letter], self.name, self.unit, self.lang)
        yield Step(say("weights", self.lang, letter), cell)

    # ---- words ----

    def head(self, phase: str) -> str:
        """Return what a pass is charged, and why."""
        family = self.name.partition(".")[0]
        if family == "params":
            return say("params", self.lang)
        if family == "bytes":
            return say(self.account.convention.bytes, self.lang, phase)
        if family == "memory":
            return say("saved", self.lang) if phase == "saved" else say("held", self.lang, phase)
        facts = {"forward": self.account.convention.price("fma"), "optimizer": self.account.policy.optimizer}
        return say(phase, self.lang, facts.get(phase, ""))

    def place(self, path: Sequence[str], times: Expr) -> str:
        """Return where something is charged, and how often."""
        if not path and times == 1:
            return say("outside", self.lang)
        named = path[-1] if path else say("outside", self.lang)
        return (
            say("in once", self.lang, named)
            if times == 1
            else say("in", self.lang, named, plain_text(times, self.order))
        )

    def labelled(self, one: Charge) -> str:
        """Return what is charged alike: its first names, and what it is; each where they are unlike."""
        first = one.path[0] if one.path else ""
        root = first.partition("/")[0] + "/" if first else ""
        short = [label.removeprefix(root) for label in one.labels]
        alike = len({*one.equations}) < 2
        names = (
            short
            if alike
            else [label + self.as_what(text) for label, text in zip(short, one.equations, strict=True)]
        )
        labels = [f"{times} × {label}" if times > 1 else label for label, times in Counter(names).items()]
        shown = ", ".join(labels[:MOST_LABELS])
        if len(labels) > MOST_LABELS:
            shown = say("and more", self.lang, shown, len(labels) - MOST_LABELS)
        if one.kind.startswith(("reads", "writes")):
            return say(one.kind, self.lang, shown)
        kind = one.equations[0] if one.kind == CONTRACTION else one.kind
        known = not kind or labels == [kind] or labels[0].endswith(f"/{kind}")
        return shown if known or not alike else shown + self.as_what(kind)

    def as_what(self, kind: str) -> str:
        """Return what an op is, to stand behind its name."""
        return say("where", self.lang, kind.replace("->", "→"))

    def not_formed(self) -> str:
        """Return the gradients of operands that are not wanted, where the op's other operand has one."""
        step = self.account.step
        nodes = {one.label: one for one, _ in walk(step.graph.nodes) if isinstance(one, Node)}
        missing = []
        for (label, path), wanted in step.wanted.items():
            node = nodes[label]
            for slot, name in enumerate(node.ins):
                if node.op.contracted() and slot not in wanted and step.tensor(name).floating:
                    at = " ".join((label, *(f"({one})" for one in path)))
                    missing.append(say("gradient of", self.lang, name, at))
        return say("not formed", self.lang, ", ".join(missing)) if missing else ""

    # ---- formulas ----

    def plain(self, expr: Expr) -> str:
        """Return an expression as text, in the declared order."""
        return plain_text(expr, self.order)

    def cell(self, texts: Iterable[str], expr: Expr) -> Cell:
        """Return equal formulas with their unit."""
        return chained(texts, expr, self.names, self.name, self.unit, self.lang)


def _terms(account: Account, name: str) -> Iterator[tuple[str, Expr]]:
    for term in account.terms(name):
        yield term.label, term.expr
