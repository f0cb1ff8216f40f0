"""Judging a claim: proved, refuted or undecided, and what is true instead."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from sympy import Max, Min

from symacct.account import Account, derive
from symacct.algebra.budget import within
from symacct.algebra.evaluate import check_sizes, names_of
from symacct.algebra.normal import is_zero
from symacct.algebra.sign import sign_on_box
from symacct.build import Definition
from symacct.claims import Claim, Sides, resolve
from symacct.displayed import Displayed
from symacct.errors import LimitError, SizeError, unknown
from symacct.nodes import Graph
from symacct.proof.assume import Assumptions, bind, read_assumptions
from symacct.proof.certified import is_provable
from symacct.proof.decide import Box, Decision, decide, together
from symacct.proof.extremum import Extremum, among, judge_extremum, read_extremum
from symacct.proof.growth import ways_of
from symacct.proof.instead import Instead, instead
from symacct.proof.lookup import lookup, names_under
from symacct.proof.machine_facts import Facts, read_facts
from symacct.proof.region import cut_region, in_region, read_region
from symacct.proof.search import FEW_POINTS, counterexample
from symacct.proof.sources import Part, exact_and_claimed, parts, variations
from symacct.proof.threshold import Threshold, is_threshold, judge_threshold, read_threshold
from symacct.syntax import read_formula

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    from sympy import Expr

ASYMPTOTIC = ("~", "O", "Theta")
SECONDS, LEAST_POINTS = 5.0, 150
OF_INTEGERS = "it is seen for whole rates of the machine alone"
ONE_BY_ONE = "the formulas of each maximum were compared, and witnesses found"


@dataclass(frozen=True, slots=True)
class Verdict(Displayed):
    """What a derivation says of a claim.

    Attributes:
        claim: the claim, read.
        decision: the outcome for the relation as written.
        sides: both sides in one unit; None where they are too large to expand.
        left: the left side, assumptions put in.
        right: the right side, assumptions put in.
        box: the sizes that are looked at.
        growing: what grows, for asymptotic relations.
        notes: how the claim was read, and what could not be worked out.
        instead: how the two sides differ, where they do.
        holds_if: choices under which both sides would be equal.
        parts: what the difference comes from.
        threshold: for ``A <= B iff NAME <= FORMULA``, what is claimed of the name, and what is true of it.
        written: the claim as it was written, where it was taken apart to be read.
        extremum: for a claim about a minimum or a limit, its parts.
    """

    claim: Claim
    decision: Decision
    sides: Sides | None = None
    left: Expr | None = None
    right: Expr | None = None
    box: Box = field(default_factory=Box)
    growing: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    instead: Instead | None = None
    holds_if: tuple[str, ...] = ()
    parts: tuple[Part, ...] = ()
    threshold: Threshold | None = None
    written: str = ""
    extremum: Extremum | None = None

    def __str__(self) -> str:
        """Return the outcome, the claim, and why."""
        return f"{self.outcome}: {self.stated} ({self.decision.reason})"

    @property
    def stated(self) -> str:
        """The claim as it was written."""
        return (self.written or self.claim.text).strip()

    @property
    def outcome(self) -> str:
        """proved, refuted or undecided."""
        return self.decision.outcome

    @property
    def turned(self) -> bool:
        """Whether the derived side stands on the right."""
        return exact_and_claimed(self.claim)[0] is self.claim.right

    @property
    def weaker(self) -> tuple[str, ...]:
        """What is proved in a weaker sense: leading order, an upper or a lower bound."""
        if self.instead is None:
            return ()
        ways = [f"leading order as {together(w.growing)}" for w in self.instead.leading]
        return (*ways, *([f"{self.instead.bound} bound"] if self.instead.bound else []))


def prove(
    account: Account | Graph | Definition | None,
    text: str,
    *,
    sizes: Mapping[str, int] | None = None,
    lets: Iterable[str] = (),
    assume: Iterable[str] = (),
    grow: tuple[str, ...] = (),
    seconds: float = SECONDS,
    brief: bool = False,
    on: str | None = None,
    dirs: Sequence[str | Path] = (),
    dtype: str | None = None,
    names: Iterable[str] = (),
) -> Verdict:
    """Judge a claim against an account, or compare formulas where there is none.

    Args:
        account: the derivation that quantities are looked up in, or a graph to derive as by default; None
            compares formulas alone.
        text: the claim; ``A <= B iff NAME <= FORMULA`` is one about a threshold.
        sizes: sizes to bind first.
        lets: names and what they stand for.
        assume: what may be assumed about sizes.
        grow: what goes to infinity, if the claim does not say.
        seconds: processor time for the decision, and again for what is true instead.
        brief: leave out where a difference comes from, and under which choices the claim would hold.
        on: the machine whose times and figures are meant; without one times are formulas in its symbols.
        dirs: folders with more machines.
        dtype: the format whose peak is meant; that of the activations where none is named.
        names: words that are names, as ``--names`` declares them.

    Raises:
        SymacctError: the claim cannot be read, a name is unknown, or units disagree.

    >>> print(prove(None, "2*n*k <= n^2 + k^2"))
    proved: 2*n*k <= n^2 + k^2 (a witness was found that the kernel accepts)
    """
    if isinstance(account, Graph | Definition):
        account = derive(account)
    known, sizes = None, dict(sizes or {})
    if account is not None:
        own = names_under(text, account.policy)
        known = [*account.source.sizes, *own]
        given = {name: sizes[name] for name in own if name in sizes}
        account, sizes = placed(account, sizes)
        sizes = {**sizes, **given}
    facts = read_facts(text, lets, account, on=on, dirs=dirs, dtype=dtype)
    bare, where = cut_region(facts.text)
    written = read_threshold(bare, known) if is_threshold(bare) else None
    extremum = read_extremum(bare)
    stated = written.condition if written else extremum.equation if extremum else bare
    assume = tuple(assume)
    index = [extremum.name] if extremum else []
    claim = facts.claim(
        stated, known, account, declared=(*names, *index), whole=text,
        beside=(*where, *assume, *([written.threshold] if written else ())),
    )  # fmt: skip
    facts.check_region(where, assume)
    assumptions = _assumed(assume, claim, account, sizes, grow)
    assumptions.conditions += read_region(where, claim.names)
    notes = [*(f"{name} = {size}" for name, size in sizes.items()), *assumptions.texts]
    notes = [*claim.notes, *(f"assuming {one}" for one in (*notes, *where))]
    as_written = text if where or facts.text != text else ""
    try:
        with within(seconds):
            if extremum is not None:
                found = _of_extremum(extremum, claim, account, assumptions, facts)
                return replace(found, notes=facts.said((*notes, *found.notes)), written=text)
            verdict = _judged(claim, account, assumptions, grow, facts)
            verdict = replace(verdict, notes=facts.said((*verdict.notes, *notes)), written=as_written)
            if written is not None:
                verdict = judge_threshold(verdict, written, assumptions)
                whole = facts.of_integers(verdict)
                return replace(verdict, decision=Decision("undecided", OF_INTEGERS)) if whole else verdict
    except LimitError as error:
        return Verdict(
            claim, Decision("undecided", _too_large(error)), notes=facts.said(notes), written=as_written
        )
    if verdict.outcome == "proved" and claim.relation in ("=", "O", "Theta"):
        return verdict
    return _explained(verdict, None if brief else account, assumptions, seconds, facts)


def _assumed(
    assume: Iterable[str],
    claim: Claim,
    account: Account | None,
    sizes: Mapping[str, int],
    grow: tuple[str, ...],
) -> Assumptions:
    """Return what may be assumed, sizes that are bound included; check the names of what grows."""
    assumptions = read_assumptions(assume, claim.names)
    if account is not None:
        bind(assumptions, {**account.graph.bound, **sizes})
    elif sizes:
        bind(assumptions, check_sizes(sizes, claim.names))
    for name in grow:
        if name not in claim.names:
            raise unknown("size", name, claim.names, where="what grows")
    return assumptions


def _of_extremum(
    extremum: Extremum, claim: Claim, account: Account | None, assumptions: Assumptions, facts: Facts
) -> Verdict:
    """Judge a minimum or a limit; what is claimed of an argmin is a size."""
    sides = resolve(claim, lookup(account, facts.quantity))
    inner, claimed = (assumptions.apply(side.expr) for side in (sides.left, sides.right))
    if extremum.form == "argmin":
        claimed = assumptions.apply(read_formula(extremum.claimed, claim.names))
    box = assumptions.box((*sides.left.when, *sides.right.when))
    inner = in_region(inner, box)
    decision = judge_extremum(extremum.form, extremum.name, inner, claimed, box)
    notes = among(extremum.name, claimed, box) if extremum.form == "argmin" else ()
    said = [f"{claimed} is one of these {extremum.name} where {', '.join(notes)}"] if notes else []
    return Verdict(claim, decision, None, inner, claimed, box, (), tuple(said), extremum=extremum)


def placed(account: Account, sizes: Mapping[str, int]) -> tuple[Account, Mapping[str, int]]:
    """Return an account with sizes bound, derived again, and the sizes that are still to be put in.

    Decoding gives sizes a meaning that the graph does not have (one query, many keys): they are put in later.

    Raises:
        SymacctError: a size is unknown, bound already, or out of range.
    """
    if account.policy.workload != "decode":
        return (account.bind(sizes), {}) if sizes else (account, {})
    bound = account.graph.bound
    given = {name: size for name, size in account.source.resolved(sizes).items() if bound.get(name) != size}
    return account, check_sizes(given, [name for name in account.graph.order if name not in bound])


def _too_large(error: LimitError) -> str:
    return f"{error.what} ({error.expected})" if error.expected else error.what


def _judged(
    claim: Claim, account: Account | None, assumptions: Assumptions, grow: tuple[str, ...], facts: Facts
) -> Verdict:
    sides = resolve(claim, lookup(account, facts.quantity))
    left, right = (assumptions.apply(side.expr) for side in (sides.left, sides.right))
    when = (*sides.left.when, *sides.right.when)
    for condition in when:
        if condition.substitute(assumptions.replaced).is_impossible():
            got = ", ".join(f"{name} = {assumptions.replaced.get(name, name)}" for name in condition.names)
            raise SizeError("the formulas do not hold at these sizes", expected=str(condition), got=got)
    box = assumptions.box(when)
    pole = _pole(sides, assumptions, box)
    if pole is not None:
        return Verdict(claim, pole, sides, left, right, box, notes=(*claim.notes, *sides.notes))
    ways = ways_of(account, claim, assumptions, grow, left, right)
    decision, growing = _decided(claim, left, right, box, ways)
    if facts.rates and decision.outcome == "proved" and claim.relation not in ASYMPTOTIC:
        decision, growing = _decided(claim, *facts.shared(left, right, box), ways)
    return Verdict(claim, decision, sides, left, right, box, growing, (*claim.notes, *sides.notes))


def _pole(sides: Sides, assumptions: Assumptions, box: Box) -> Decision | None:
    """Return that nothing can be judged, where something the claim divides by is 0 or may be."""
    for divisor in sides.divisors:
        below = assumptions.apply(divisor)
        if sign_on_box(below, box.lower)[0] in ("positive", "negative"):
            continue
        zero = counterexample(below, below - below, lambda gap: gap != 0, box.lower, box.conditions)
        if zero is not None:
            at = ", ".join(f"{name} = {size}" for name, size in zero.sizes)
            return Decision(
                "undecided", f"it divides by {divisor}, which is 0 at {at}; --assume sizes without that"
            )
        return Decision("undecided", f"it divides by {divisor}, which could not be shown to be other than 0")
    return None


def _decided(
    claim: Claim, left: Expr, right: Expr, box: Box, ways: tuple[tuple[str, ...], ...]
) -> tuple[Decision, tuple[str, ...]]:
    if claim.relation not in ASYMPTOTIC:
        operands = sum(len(atom.args) for side in (left, right) for atom in side.atoms(Max, Min))
        few = max(LEAST_POINTS, FEW_POINTS // (1 + operands // 4))
        decision = decide(left, claim.relation, right, box, most=few)
        if decision.outcome == "undecided":
            if is_provable(left, claim.relation, right, box):
                return Decision(
                    "proved", ONE_BY_ONE if operands else "a witness was found that the kernel accepts"
                ), ()
            decision = decide(left, claim.relation, right, box)
        return decision, ()
    tried = [(decide(left, claim.relation, right, box, way), way) for way in ways]
    if not tried:
        if is_zero(left - right):
            return Decision("proved", "both sides are equal"), ()
        return Decision("refuted", "nothing is left that could grow, and the sides differ"), ()
    return next((one for one in tried if one[0].outcome == "proved"), tried[0])


def _explained(
    verdict: Verdict, account: Account | None, assumptions: Assumptions, seconds: float, facts: Facts
) -> Verdict:
    """Add how the sides differ; what takes too long is left out, with a note."""
    left, right = (verdict.right, verdict.left) if verdict.turned else (verdict.left, verdict.right)
    assert left is not None
    assert right is not None
    names = sorted({*names_of(left), *names_of(right)})
    ways = [(name,) for name in names] + ([tuple(names)] if len(names) > 1 else [])
    ways += [verdict.growing] if verdict.growing and verdict.growing not in ways else []
    verdict = _with(
        verdict,
        seconds,
        "what is true instead",
        lambda: {"instead": instead(left, right, verdict.box, tuple(ways))},
    )
    if account is None or verdict.instead is None:
        return verdict
    difference = verdict.instead.difference
    verdict = _with(
        verdict, seconds, "where it comes from",
        lambda: {"parts": parts(verdict.claim, account, assumptions, difference, facts)},
    )  # fmt: skip
    if verdict.outcome == "proved":
        return verdict
    return _with(
        verdict, seconds, "under which choices it holds",
        lambda: {"holds_if": tuple(variations(verdict.claim, account, assumptions, facts))},
    )  # fmt: skip


def _with(verdict: Verdict, seconds: float, what: str, work: Callable[[], dict[str, Any]]) -> Verdict:
    """Return the verdict with what some work found, or with a note that it was too much."""
    try:
        with within(seconds):
            return replace(verdict, **work())
    except LimitError as error:
        return replace(verdict, notes=(*verdict.notes, f"{what} is not worked out: {_too_large(error)}"))
