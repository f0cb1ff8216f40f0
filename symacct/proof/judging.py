"""A claim on its way to a verdict: its sides, the domain that it is about, and what decides it."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING

from sympy import preorder_traversal

from symacct.algebra.condition import Condition
from symacct.algebra.domain import Domain, domain_of
from symacct.algebra.evaluate import names_of, substitute
from symacct.algebra.normal import is_zero
from symacct.algebra.sign import sign_on_box
from symacct.algebra.symbols import as_expr, symbol
from symacct.algebra.whole import is_whole
from symacct.claims import Claim, Sides, read_claim, resolve
from symacct.claims.sides import WHOLE
from symacct.errors import SizeError, UsageError, unknown
from symacct.messages import Message
from symacct.proof.beside import place_beside, trees_beside
from symacct.proof.conditions import Conditions, over_integers
from symacct.proof.decide import (
    ASYMPTOTIC,
    Decision,
    decide,
    decide_growth,
    decide_within,
    is_shown,
)
from symacct.proof.extremum import Extremum, is_over_integers, judge_limit, judge_minimum
from symacct.proof.growth import rays, regimes_of, ways_of
from symacct.proof.lookup import lookup
from symacct.proof.rests import quantities_of, rests_of
from symacct.proof.threshold import Written, judge_threshold
from symacct.syntax import walk

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from sympy import Expr

    from symacct.account import Account
    from symacct.proof.case import Rest
    from symacct.proof.growth import Regime
    from symacct.proof.machine_facts import Facts
    from symacct.syntax import Tree

from symacct.proof.verdict import Verdict

DEEPEST = 8
BENT = frozenset({"max", "min", "abs"})
ROUNDED = frozenset({"ceil", "ceiling", "floor", "binomial", "factorial"})


class Judging:
    """One claim on its way to a verdict: its sides, and the domain that it is about."""

    def __init__(
        self, account: Account | None, claim: Claim, facts: Facts, said: Conditions, grow: tuple[str, ...],
        values: Mapping[str, Expr],
    ) -> None:  # fmt: skip
        self.account, self.claim, self.facts = account, claim, facts
        self.stated_growth = tuple(claim.grows) or grow or said.growing
        self.values = values
        self.texts = said.texts
        self.said = tuple(self.put(one) for one in said.conditions)
        self.domain = Domain()

    @property
    def real(self) -> frozenset[str]:
        """The symbols of rates that the claim names or its quantities hold, once these are looked up."""
        return frozenset(self.facts.rates)

    def put(self, one: Condition) -> Condition:
        """Return a condition with known sizes put in."""
        for _ in range(DEEPEST):
            if not set(one.names) & set(self.values):
                break
            one = one.substitute(self.values)
        return one

    def known(self, expr: Expr) -> Expr:
        """Return a formula with known sizes put in; one may stand for others."""
        for _ in range(DEEPEST):
            if not set(names_of(expr)) & set(self.values):
                break
            expr = substitute(expr, self.values)
        return expr

    def filled(self, sides: Sides) -> Sides:
        """Return the sides of a claim with known sizes put in."""
        return replace(
            sides,
            left=replace(sides.left, expr=self.known(sides.left.expr)),
            right=replace(sides.right, expr=self.known(sides.right.expr)),
            divisors=tuple(map(self.known, sides.divisors)),
            inside=tuple((relation, self.known(expr)) for relation, expr in sides.inside),
        )

    def verdict(self, written: Written | None, extremum: Extremum | None) -> Verdict:
        """Return the verdict as written."""
        sides = resolve(self.claim, lookup(self.account, self.facts.quantity))
        self.check_growing(sides)
        sides = self.filled(sides)
        when = tuple(self.put(one) for one in (*sides.left.when, *sides.right.when, *self.of_graph(sides)))
        _check_sizes(when, self.values)
        if extremum is not None:
            return self.of_extremum(extremum, sides, when)
        conditions = (*self.said, *when)
        self.domain = domain_of(conditions, real=self.real)
        left, right = (self.domain.apply(side.expr) for side in (sides.left, sides.right))
        made = Verdict(
            self.claim, Decision("undecided", ""), sides, left, right, self.domain, notes=sides.notes
        )
        undefined = self.undefined(sides)
        if undefined is None and written is not None:
            undefined = self.undefined(
                self.filled(resolve(read_claim(written.threshold, self.claim.names, ())))
            )
        if undefined is not None:
            return replace(made, decision=undefined)
        if written is not None:
            return judge_threshold(made, written, self.domain, self.known)
        if self.claim.relation in ASYMPTOTIC:
            decision, growing = self.of_growth(sides, conditions)
            return replace(made, decision=decision, growing=growing)
        return replace(made, decision=self.of_relation(sides))

    def of_relation(self, sides: Sides) -> Decision:
        """Decide an equation, an inequality, or that one side is within a share of the other."""
        left, right = sides.left.expr, sides.right.expr
        if self.claim.tolerance is None:
            return decide(left, self.claim.relation, right, self.domain)
        pair = (right, left) if self.is_exact_left() else (left, right)
        return decide_within(*pair, self.claim.tolerance, self.domain)

    def of_graph(self, sides: Sides) -> list[Condition]:
        """Return what the graph asks of the sizes of a claim that names none of its quantities."""
        if self.account is None or quantities_of(self.claim):
            return []
        among = {*names_of(sides.left.expr), *names_of(sides.right.expr)}
        open_ = [self.put(one) for one in self.account.graph.conditions]
        found: list[Condition] = []
        for _ in range(DEEPEST):
            more = [one for one in open_ if among & set(one.names) and one not in found]
            found += more
            among |= {name for one in more for name in one.names}
        return found

    def is_exact_left(self) -> bool:
        """Say whether the left side is the derived one: an error is a share of it, else of the right."""
        left, right = self.claim.left.form == "quantity", self.claim.right.form == "quantity"
        return left and not right

    def rests(self) -> list[Rest]:
        """Return the derived formulas that the claim rests on, with the sizes of their graph."""
        return [] if self.account is None else rests_of(self.claim, self.account)

    def check_growing(self, sides: Sides) -> None:
        """Refuse what grows and is no size of the claim or its graph, or is one that is bound."""
        known = [*self.claim.names, *names_of(sides.left.expr), *names_of(sides.right.expr)]
        bound = {} if self.account is None else self.account.graph.bound
        for name in self.stated_growth:
            if name not in known:
                raise unknown("size", name, known, where="what grows")
            if name in bound:
                what = f"{name} is {bound[name]} here, and cannot grow"
                raise UsageError(what, expected="a size that is free", got=name, fix=_free(bound, name))

    def undefined(self, sides: Sides) -> Decision | None:
        """Return that nothing can be judged, where something the claim divides by is 0 or may be."""
        for divisor in sides.divisors:
            below = self.domain.apply(divisor)
            if _is_product(below) or sign_on_box(below, self.domain.corner)[0] in ("positive", "negative"):
                continue
            if any(is_shown(divisor, sign, as_expr(0), self.domain) for sign in "<>"):
                continue
            zero = decide(divisor * divisor, ">", as_expr(0), self.domain).point
            if zero is not None:
                at = ", ".join(f"{name} = {size}" for name, size in zero.sizes)
                why = Message("divides_by_zero", divisor=divisor, at=at)
                return Decision("undecided", why)
            return Decision("undecided", Message("may_divide_by_zero", divisor=divisor))
        if self.claim.relation in ASYMPTOTIC:
            return None
        return next(filter(None, (self.outside(sides, *one) for one in sides.inside)), None)

    def outside(self, sides: Sides, relation: str, inside: Expr) -> Decision | None:
        """Return that what a root, a logarithm or a factorial is taken of was not shown to allow that."""
        counted = (WHOLE, inside) in sides.inside
        if relation == WHOLE:
            return None if self.is_whole(inside, self.domain) else self.not_whole(inside)
        good = ("positive",) if relation == ">" else ("positive", "nonnegative", "zero")
        if sign_on_box(self.domain.apply(inside), self.domain.corner)[0] in good:
            return None
        if is_shown(inside, relation, as_expr(0), self.domain):
            return None
        what = "logarithm" if relation == ">" else "factorial or binomial" if counted else "root"
        return Decision("undecided", Message("outside", what=what, inside=inside, relation=relation))

    def not_whole(self, inside: Expr) -> Decision:
        """Return that a factorial or a binomial is taken of what may be no integer."""
        why = Message("not_whole", inside=inside)
        return Decision("undecided", why)

    def is_whole(self, expr: Expr, domain: Domain) -> bool:
        """Say whether a formula is seen to be an integer on a domain; one that a real number is in is not."""
        real = {*self.real, *domain.real} & {*names_of(expr), *names_of(domain.apply(expr))}
        return not real and is_whole(domain.apply(expr), domain.conditions)

    def undefined_far(self, sides: Sides, regime: Regime) -> Decision | None:
        """Return that nothing can be judged, where a part has no value however far out along a ray."""
        needs = [("!=", one) for one in sides.divisors]
        needs += [one for one in sides.inside if one[0] != WHOLE]
        whole = (one for sign, one in sides.inside if sign == WHOLE)
        open_whole = next((one for one in whole if not self.is_whole(one, regime.domain)), None)
        if open_whole is not None:
            return self.not_whole(open_whole)
        apart = [(sign, regime.domain.apply(one)) for sign, one in needs]
        box = regime.domain.corner
        open_ = [(sign, one) for sign, one in apart if sign_on_box(one, box)[0] != "positive"]
        ways = rays(regime, [sides.left.expr, sides.right.expr, *(one for _, one in open_)]) if open_ else []
        for ray, (sign, one) in product(ways, open_):
            found = ray.trend(one)
            if found is None:
                continue
            if (found.factor == 0 and sign != ">=") or (sign != "!=" and found.factor.is_negative):
                at = f" where {ray.describe()}" if ray.describe() else ""
                why = Message("no_value_far", sizes=f"{', '.join(regime.growing)}{at}", part=one, sign=sign)
                return Decision("undecided", why)
        return None

    def of_growth(self, sides: Sides, conditions: tuple[Condition, ...]) -> tuple[Decision, tuple[str, ...]]:
        """Return the first way of growing in which the claim is proved, else what came of the first."""
        ways = ways_of(
            self.account, self.stated_growth, *(self.domain.apply(s.expr) for s in (sides.left, sides.right))
        )
        tried: list[tuple[Decision, tuple[str, ...]]] = []
        held: SizeError | None = None
        for way in ways:
            try:
                regime = regimes_of(conditions, {}, way, self.real)
                pair = sides.left.expr, self.claim.relation, sides.right.expr
                decision = self.undefined_far(sides, regime) or decide_growth(*pair, regime, self.rests())
            except SizeError as error:
                held = held or error
                continue
            tried.append((decision, regime.growing))
            if decision.outcome == "proved":
                break
        if held is not None and not tried:
            raise held
        if not tried:
            if is_zero(sides.left.expr - sides.right.expr):
                return decide(sides.left.expr, "=", sides.right.expr, self.domain), ()
            return Decision("refuted", Message("nothing_grows")), ()
        return next((one for one in tried if one[0].outcome == "proved"), tried[0])

    def of_extremum(self, extremum: Extremum, sides: Sides, when: tuple[Condition, ...]) -> Verdict:
        """Judge a minimum or a limit; what is claimed of an argmin is a size."""
        name, inner, claimed = extremum.name, sides.left.expr, sides.right.expr
        if extremum.form == "argmin":
            claimed = place_beside(self.claim, extremum.claimed, lookup(self.account, self.facts.quantity))
            claimed = self.known(claimed)
        made = Verdict(self.claim, Decision("undecided", ""), sides, inner, claimed, extremum=extremum)
        if extremum.form == "lim":
            regime = regimes_of((*self.said, *when), {}, (name,), self.real)
            decision = self.undefined_far(sides, regime)
            decision = decision or judge_limit(name, inner, claimed, regime, self.rests())
            return replace(made, decision=decision)
        whole = is_over_integers(name, inner, self.said) or _calls(self.claim, name, ROUNDED)
        self.said = tuple(over_integers(self.said, self.real)) if whole else self.said
        if not whole and (_calls(self.claim, name, BENT) or self.bends(name)):
            why = Message("bends", name=name)
            return replace(made, decision=Decision("undecided", why))
        place = claimed if extremum.form == "argmin" else None
        free, notes = self.of_quantity(name, place, when, whole=whole)
        real = self.real if whole else self.real | {name}
        if not whole and self.account is not None and not any(_at_least_one(one, name) for one in free):
            free.append(Condition("at_least", symbol(name), as_expr(1)))
        self.domain = domain_of((*self.said, *free), real=real, keep=(name,))
        undefined = self.undefined(sides)
        if undefined is not None:
            return replace(made, decision=undefined)
        left, right = (self.domain.apply(side) for side in (inner, claimed))
        decision = judge_minimum(extremum.form, name, inner, claimed, self.domain)
        return replace(made, decision=decision, left=left, right=right, box=self.domain, notes=notes)

    def bends(self, name: str) -> bool:
        """Say whether a condition may hold a name in a function that was simplified for integers."""
        return _calls(self.claim, name, BENT | ROUNDED, trees_beside(self.claim, self.texts))

    def of_quantity(
        self, name: str, place: Expr | None, when: Sequence[Condition], *, whole: bool
    ) -> tuple[list[Condition], tuple[str, ...]]:
        """Return when a formula holds over real values of what varies: that it divides is set aside."""
        if whole:
            return list(when), ()
        kept: list[Condition] = []
        notes: list[str] = []
        for one in when:
            if one.kind == "divides" and name in one.names:
                notes.append(Message("varies_over_reals", name=name, condition=one))
            elif name in one.names and place is not None:
                kept += [one, one.substitute({name: place})]
                condition = one.substitute({name: place})
                notes.append(Message("one_of_these", place=place, name=name, condition=condition))
            else:
                kept.append(one)
        return kept, tuple(dict.fromkeys(notes))


def _calls(claim: Claim, name: str, functions: Collection[str], trees: Iterable[Tree] | None = None) -> bool:
    """Say whether a name stands in one of some functions, through bindings and quantities too.

    These were simplified for integers of at least 1 as they were read. Looks at `trees`, else at the claim.
    """
    among = {name}
    for one in claim.where:  # in the order in which they use one another
        among |= {one.name} if any(leaf.name in among for leaf in walk(one.tree)) else set()
    trees = (claim.left, claim.right, *(one.tree for one in claim.where)) if trees is None else trees
    calls = (part for tree in trees for part in walk(tree) if part.form == "call" and part.name in functions)
    return any(leaf.name in among or leaf.form == "quantity" for call in calls for leaf in walk(call))


def _is_product(expr: Expr) -> bool:
    """Say whether a formula is a product of powers of sizes, which are all positive."""
    plain = all(
        one.is_Symbol or one.is_Rational or one.is_Mul or one.is_Pow for one in preorder_traversal(expr)
    )
    return plain and bool(expr.is_positive)


def _at_least_one(one: Condition, name: str) -> bool:
    """Say whether a condition says of a size that it is at least a number of 1 or more."""
    return one.kind == "at_least" and str(one.left) == name and bool(one.right.is_Rational and one.right >= 1)


def _check_sizes(when: Iterable[Condition], values: Mapping[str, Expr]) -> None:
    """Refuse sizes at which a formula of the claim does not hold."""
    for one in when:
        if one.is_impossible():
            got = ", ".join(f"{name} = {value}" for name, value in values.items())
            what = "the formulas do not hold at these sizes"
            raise SizeError(what, expected=str(one), got=got[:200] or str(one))


def _free(bound: Mapping[str, Expr], name: str) -> str:
    others = names_of(bound[name])
    if others:
        return f"write as {', '.join(others)} -> oo"
    return "--symbolic leaves the sizes of a model free"
