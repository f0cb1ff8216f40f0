"""How a claim was judged, step by step: as stated, derived formulas put in, the difference, the verdict."""

from __future__ import annotations

from dataclasses import replace
from decimal import Context, Decimal
from fractions import Fraction
from math import ceil, floor
from typing import TYPE_CHECKING

from sympy import Add, Integer, Max, Min, Rational

from symacct import messages
from symacct.algebra.evaluate import evaluate, names_of, substitute
from symacct.algebra.normal import is_zero, normal
from symacct.errors import FormulaError, SymacctError
from symacct.nodes import repeat_counts
from symacct.printers import text as plain_text
from symacct.proof.growth import together
from symacct.proof.lookup import lookup
from symacct.proof.worked import crossing_of, holds_above, limit_of, shifted, value_at_place
from symacct.report.amount import as_fraction
from symacct.report.amount import shown as shown_amount
from symacct.report.factor import factored
from symacct.sheet.chain import LONGEST, chained, proved
from symacct.sheet.chinese import cited
from symacct.sheet.data import Cell, Item, Math, Row, Sign, Step, Words
from symacct.sheet.examples import example_sizes
from symacct.sheet.retold import exact, with_names_replaced, worked_in
from symacct.sheet.statement import formula
from symacct.sheet.steps_calculated import calculated
from symacct.sheet.steps_words import say
from symacct.sheet.words import word
from symacct.syntax import walk
from symacct.units import ONE, Unit

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from sympy import Expr

    from symacct.account import Account
    from symacct.proof.instead import LeadingOrder
    from symacct.proof.judge import Judged
    from symacct.proof.verdict import Verdict

SHORT, MOST_OPERANDS, LONGEST_NUMBER, MOST_DECIMALS, PRECISE = 170, 2, 18, 6, 40
PERCENT = Integer(100)
HALF = Fraction(1, 2)
ORDERS = frozenset({"O", "Theta"})


def with_claim_steps(row: Row, lang: str = "en") -> Row:
    """Return the row of a claim or of a calculation with how it was judged.

    Raises:
        FormulaError: a step is not equal to the one before.
    """
    judged = row.origin.judged if row.origin is not None else None
    if row.origin is None or judged is None or row.mark in {"reported", "refused"}:
        return row
    if judged.stated.calc:
        return replace(row, steps=tuple(calculated(row.origin, judged, row.name, lang)))
    if judged.verdict is None:
        return row
    return replace(row, steps=_Judging(row, judged.verdict, row.origin.account, judged, lang).steps())


class _Judging:
    def __init__(
        self, row: Row, verdict: Verdict, account: Account | None, judged: Judged, lang: str
    ) -> None:
        self.row = row
        self.verdict = verdict
        self.account = account
        self.stated = judged.stated
        self.lang = lang
        graph = account.graph if account is not None else None
        self.order = graph.order if graph is not None else ()
        self.counts = repeat_counts(graph) if graph is not None else ()
        self.unit = str(verdict.sides.left.unit) if verdict.sides is not None else "1"
        sides = [side for side in (verdict.left, verdict.right) if side is not None]
        self.names = frozenset(name for side in sides for name in names_of(side)) | {*self.order}

    def steps(self) -> tuple[Step, ...]:
        return (
            Step(say("as stated", self.lang), self.whole()),
            *(Step(say("read", self.lang, self.noted(note))) for note in self.verdict.notes),
            *self.replaced(),
            *self.put_in(),
            *self.compared(),
            *self.placed(),
            self.settlement(),
            *self.example(),
        )

    def noted(self, text: str) -> str:
        """Return how something was read, and who says so."""
        return cited(messages.said(text, self.lang)) if self.lang == "zh" else text

    def settlement(self) -> Step:
        """Return what the claim is worth, and why."""
        mark, decision = self.row.mark, self.verdict.decision
        why = messages.said(decision.reason, self.lang)
        if mark != decision.outcome:
            why = say(f"not equal, {mark}", self.lang)
        return Step(say("verdict", self.lang, word(mark, self.lang), why))

    # ---- what is claimed ----

    def whole(self) -> Cell:
        """Return the statement with the quantity that stands on its left."""
        if not self.row.quantity:
            return self.row.formula
        signed = bool(self.row.formula) and isinstance(self.row.formula[0], Sign)
        between: Cell = () if signed else (Sign("="),)
        return (formula(self.row.quantity, ()), *between, *self.row.formula)

    def sides(self) -> tuple[Math, Math]:
        claim = self.verdict.claim
        names = claim.names | {one.name for one in claim.where}
        return Math(claim.left, claim.text, names), Math(claim.right, claim.text, names)

    def told(self) -> tuple[Math, Math] | None:
        """Return both sides with names replaced; None where they are written in a way that sheets lack."""
        where = self.verdict.claim.where
        try:
            left, right = (with_names_replaced(one, where, self.row.name) for one in self.sides())
        except FormulaError as error:
            if error.where == self.row.name:
                raise
            return None
        except SymacctError:
            return None
        return left, right

    def replaced(self) -> Iterator[Step]:
        """Yield the claim with its names replaced by what they stand for."""
        told = self.told() if self.verdict.claim.where and self.verdict.extremum is None else None
        if told is not None:
            yield Step(say("replaced", self.lang), self.related(*told))

    def related(self, left: Math, right: Math) -> Cell:
        """Return two sides and the relation between them."""
        relation = self.verdict.claim.relation
        if relation in ORDERS:
            return (left, Sign("="), Sign(f"{relation}("), right, Sign(")"))
        return (left, Sign(relation), right)

    # ---- what was derived ----

    def put_in(self) -> Iterator[Step]:
        """Yield both sides as formulas in sizes."""
        left, right = self.verdict.left, self.verdict.right
        if left is None or right is None or not self.is_derived():
            return
        self.check(left, right)
        extremum = self.verdict.extremum
        if extremum is not None:
            yield Step(say("varies", self.lang, extremum.name), self.cell(left, self.shaped(left)))
            return
        texts = [self.shaped(side) for side in (left, right)]
        if any(len(text) > LONGEST for text in texts):
            number = sum(len(Add.make_args(side)) for side in (left, right))
            yield Step(say("derived", self.lang), (Words(say("cut", self.lang, number)),))
            return
        sides = [proved(text, side, self.names, self.row.name)
                 for text, side in zip(texts, (left, right), strict=True)]  # fmt: skip
        assumed = [*self.stated.assume, *(part.strip() for part in self.stated.at.split(",") if part.strip())]
        said = say("assumed", self.lang, ", ".join(assumed)) if assumed else ""
        yield Step(say("derived", self.lang) + said, (*self.related(*sides), *self.united()))

    def is_derived(self) -> bool:
        claim = self.verdict.claim
        trees = (claim.left, claim.right, *(one.tree for one in claim.where))
        return any(part.form == "quantity" for tree in trees for part in walk(tree))

    def check(self, left: Expr, right: Expr) -> None:
        """Check the sides against the statement itself, read anew, with quantities put in.

        Raises:
            FormulaError: they differ.
        """
        plain = not (self.stated.assume or self.stated.at or self.stated.on or self.verdict.extremum)
        told = self.told() if plain else None
        if told is None or self.account is None:
            return
        known = self.quantities(told)
        for math, side in zip(told, (left, right), strict=True):
            found = worked_in(math, known)
            if found is not None and not is_zero(found - side):
                what = "what was put in for a claim is not what its words say; the sheet is not written"
                raise FormulaError(what, where=self.row.name, expected=str(found)[:200], got=str(side)[:200])

    def quantities(self, told: tuple[Math, Math]) -> dict[str, Expr]:
        find = lookup(self.account)
        found: dict[str, Expr] = {}
        for part in (one for math in told for one in walk(math.tree) if one.form == "quantity"):
            try:
                found[part.name] = find(part.name).expr if find is not None else Integer(0)
            except SymacctError:
                continue
        return found

    def united(self) -> Cell:
        return () if self.unit == "1" else (Words(f" [{self.unit}]"),)

    def shaped(self, expr: Expr) -> str:
        return plain_text(factored(expr, self.counts), self.order)

    def cell(self, expr: Expr, *before: str, unit: str | None = None) -> Cell:
        """Return a formula, after others that are equal to it."""
        texts = [*before, plain_text(expr, self.order)]
        return chained(texts, expr, self.names, self.row.name, unit or self.unit, self.lang)

    # ---- how they compare ----

    def compared(self) -> Iterator[Step]:
        """Yield the difference, and what settles the relation."""
        verdict = self.verdict
        left, right = verdict.left, verdict.right
        if left is None or right is None or verdict.extremum is not None:
            return
        gap = normal(left - right)
        if verdict.claim.relation not in {"~", *ORDERS} and not gap.has(Max, Min):
            one, other = self.shaped(left), self.shaped(right)
            apart = f"({one}) - ({other})"
            if one != other:
                cell = self.cell(gap, *([apart] if len(apart) < SHORT else []))
                yield Step(say("difference", self.lang), cell)
            if verdict.claim.relation != "=" and verdict.threshold is None:
                yield from self.signed(gap)
        yield from self.settled()
        yield from self.crossing()
        yield from self.failing()

    def is_readable(self, expr: Expr) -> bool:
        return not any(len(atom.args) > MOST_OPERANDS for atom in expr.atoms(Max, Min))

    def settled(self) -> Iterator[Step]:
        """Yield what the leading order, the bound or the limit is."""
        verdict, found = self.verdict, self.verdict.instead
        ways = list(found.leading) if found is not None else []
        wanted = [way for way in ways if set(way.growing) == set(verdict.growing)]
        limit = verdict.decision.limit
        if verdict.growing:
            yield from self.tends(limit)
        if wanted or self.row.mark == "leading order":
            yield from self.leading((wanted or ways)[0], limit_shown=limit is not None)
        if found is not None and found.bound and self.row.mark in {"upper bound", "lower bound"}:
            never = "below" if found.bound == "upper" else "above"
            never = {"below": "小", "above": "大"}[never] if self.lang == "zh" else never
            bound = word(f"{found.bound} bound", self.lang)
            yield Step(say("bound", self.lang, never, bound), self.cell(found.difference))
            yield from self.signed(found.difference)

    def tends(self, limit: Expr | None) -> Iterator[Step]:
        """Yield the limit of the quotient of both sides; of the turned one where the quotient grows."""
        left, right = self.verdict.left, self.verdict.right
        grown = messages.said(together(self.verdict.growing), self.lang)
        if limit is None and left is not None and right is not None:
            limit, turned = limit_of(left, right, self.verdict), limit_of(right, left, self.verdict)
            if limit is None and turned is not None and is_zero(turned):
                yield Step(say("tends turned", self.lang, grown), self.cell(turned, unit="1"))
        if limit is not None:
            yield Step(say("tends", self.lang, grown), self.cell(limit, unit="1"))

    def leading(self, way: LeadingOrder, *, limit_shown: bool) -> Iterator[Step]:
        """Yield the ratio's limit, the error, and from where on it is small."""
        if not limit_shown:
            grown = messages.said(together(way.growing), self.lang)
            yield Step(say("tends", self.lang, grown), self.cell(Integer(1), unit="1"))
        if way.error != 0 and self.is_readable(way.error):
            yield Step(say("error", self.lang), self.cell(way.error, unit="1"))
        for one in way.thresholds:
            if one.start is not None and one.tolerance:
                names = self.names | {one.name}
                start = formula(plain_text(one.start, self.order), names)
                said = say("small from", self.lang, one.tolerance * PERCENT)
                yield Step(said, (formula(one.name, names), Sign(">="), start))

    def signed(self, gap: Expr) -> Iterator[Step]:
        """Yield a difference counted from the least sizes, where all its coefficients have one sign then."""
        moved = shifted(gap, self.verdict.box)
        if moved is None:
            return
        text = _counted_from(moved.expr, moved.starts, self.order)
        if len(text) <= SHORT:
            signs = ("positive", "negative") if self.lang == "en" else ("正", "负")
            said = say("shifted", self.lang, signs[0] if moved.positive else signs[1])
            yield Step(said, (proved(text, gap, self.names, self.row.name), *self.united()))

    def crossing(self) -> Iterator[Step]:
        """Yield where both sides are equal, for a claim about a threshold, and what that is for integers."""
        threshold, found = self.verdict.threshold, crossing_of(self.verdict)
        if threshold is None or found is None:
            return
        name = formula(found.name, self.names | {found.name})
        at = proved(plain_text(found.value, self.order), found.value, self.names, self.row.name)
        about = self.about(found.value)
        yield Step(say("crossing", self.lang, found.name), (name, Sign("="), at, *about))
        holds = holds_above(self.verdict, found)
        if holds is None:
            return
        side = say("larger" if found.above else "smaller side", self.lang)
        yield Step(say("above", self.lang, found.name, side), (name, Sign(holds), at, *about))
        claimed = threshold.value
        if found.value.is_Rational and claimed.is_Rational and not is_zero(found.value - claimed):
            stated = (name, Sign(threshold.relation), proved(str(claimed), claimed, (), self.row.name))
            same = first_beyond(holds, found.value) == first_beyond(threshold.relation, claimed)
            if same:
                yield Step(say("integers", self.lang, found.name), stated)

    def about(self, value: Expr) -> Cell:
        """Return a fraction to a few digits, behind what it is exactly."""
        shown = exact(as_fraction(value)) if value.is_Rational else ""
        if ("/" not in shown and len(shown) <= MOST_DECIMALS) or value.is_Integer:
            return ()
        below = Context(prec=PRECISE).divide(Decimal(int(value.p)), Decimal(int(value.q)))
        return (Words(f" ≈ {below:,.2f}"),)

    def placed(self) -> Iterator[Step]:
        """Yield the least value at the place that is claimed, for a claim about where it is."""
        extremum, right, at = self.verdict.extremum, self.verdict.right, value_at_place(self.verdict)
        if extremum is None or right is None or at is None:
            return
        said = say("there", self.lang, f"{extremum.name} = {plain_text(right, self.order)}")
        yield Step(said, self.cell(at, unit=str(self.unit)))

    # ---- numbers ----

    def failing(self) -> Iterator[Step]:
        """Yield the counterexample with both values."""
        point = self.verdict.decision.point
        if point is not None and self.row.mark == "refuted" and not point.places:
            yield self.valued("fails at", dict(point.sizes))

    def example(self) -> Iterator[Step]:
        """Yield both sides at sizes that satisfy the conditions."""
        verdict = self.verdict
        refuted = self.row.mark == "refuted" and verdict.decision.point is not None
        if verdict.left is None or verdict.right is None or refuted or verdict.extremum is not None:
            return
        found = sorted({*names_of(verdict.left), *names_of(verdict.right)}, key=self.place)
        if self.account is not None and not {*found} <= {*self.order, *self.account.policy.names}:
            return
        sizes = example_sizes(found, verdict.box.conditions, self.counts, verdict.box.lower)
        if found and sizes:
            try:
                yield self.valued("example", {**sizes, **self.portions()})
            except SymacctError:
                return

    def portions(self) -> dict[str, Fraction]:
        """Return one half for each name of an identity that stands in ``1 - NAME``: it is a share."""
        if self.verdict.claim.relation != "=" or self.row.mark != "proved" or self.account is not None:
            return {}
        texts = [math.text.replace(" ", "") for math in self.sides()]
        return {name: HALF for name in self.names if any(f"(1-{name})" in text for text in texts)}

    def place(self, name: str) -> tuple[int, str]:
        return (self.order.index(name) if name in self.order else len(self.order), name)

    def valued(self, key: str, sizes: Mapping[str, int | Fraction]) -> Step:
        left, right = self.verdict.left, self.verdict.right
        assert left is not None
        assert right is not None
        values = [self.worth(side, sizes) for side in (left, right)]
        items: list[Item] = []
        for place, one in enumerate(values):
            items += [*([Words(", ")] if place else []), *self.number(one)]
        at = ", ".join(f"{name} = {size}" for name, size in sizes.items())
        return Step(say(key, self.lang, at) if at else say("values", self.lang), tuple(items))

    def worth(self, side: Expr, sizes: Mapping[str, int | Fraction]) -> Expr:
        """Return what a side comes to, shares of 1 put in as fractions."""
        parts = {name: Rational(size.numerator, size.denominator) for name, size in sizes.items()
                 if isinstance(size, Fraction)}  # fmt: skip
        whole = {name: size for name, size in sizes.items() if isinstance(size, int)}
        return evaluate(substitute(side, parts) if parts else side, whole)

    def number(self, value: Expr) -> Cell:
        """Return a value with its unit: exactly where that is short, else in words."""
        shown = exact(as_fraction(value)) if value.is_Rational else plain_text(value)
        if len(shown) > LONGEST_NUMBER:
            return (Words(shown_amount(value, Unit(self.unit) if self.unit != "1" else ONE)),)
        return (proved(shown, value, (), self.row.name), *self.united())


def first_beyond(relation: str, value: Expr) -> tuple[str, int]:
    """Return on which side of a number a relation is true, and the first integer there.

    >>> first_beyond("<", Integer(7) / 2), first_beyond("<=", Integer(3)), first_beyond(">", Integer(3))
    (('<', 3), ('<', 3), ('>', 4))
    """
    number = as_fraction(value)
    if relation[0] == "<":
        return "<", ceil(number) - 1 if relation == "<" else floor(number)
    return ">", floor(number) + 1 if relation == ">" else ceil(number)


def _counted_from(moved: Expr, starts: Mapping[str, int], order: tuple[str, ...]) -> str:
    """Return a polynomial with each size written as what it is above its least value."""
    text = plain_text(moved, order)
    names = [name for name, least in starts.items() if least]
    parsed = formula(text, [*starts])
    leaves = [part for part in walk(parsed.tree) if part.form == "name" and part.name in names]
    for part in sorted(leaves, key=lambda one: one.start, reverse=True):
        text = f"{text[: part.start]}({part.name} - {starts[part.name]}){text[part.end :]}"
    return text
