"""Judging a claim: proved, refuted or undecided, and what is true instead."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from symacct.account import Account
from symacct.algebra.evaluate import names_of
from symacct.algebra.normal import is_zero, normal, total
from symacct.algebra.tables import build
from symacct.algebra.terms import read
from symacct.claims import Claim, Sides, read_claim, resolve
from symacct.errors import SymacctError
from symacct.nodes import Repeat, walk
from symacct.proof.assume import Assumptions, bind, read_assumptions
from symacct.proof.decide import Box, Decision, decide
from symacct.proof.instead import Instead, instead
from symacct.terms import QUANTITIES

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from sympy import Expr

ASYMPTOTIC = ("~", "O", "Theta")
NUMBERED = re.compile(r"_\d+$")
VARIATIONS: tuple[tuple[str, dict[str, object], dict[str, object]], ...] = (
    ("the gradient of the input is formed (--input-grad)", {"input_grad": True}, {}),
    ("attention counts the pairs that its mask allows (--attention exact)", {}, {"attention": "exact"}),
    ("attention counts half of the pairs (--attention half)", {}, {"attention": "half"}),
    ("products between activations are left out", {}, {"attention": "none"}),
    ("lookups are priced as products with one-hot rows", {}, {"embedding": "matmul"}),
    ("parameters used elementwise are priced like matmul weights (palm)", {}, {"vectors": "matmul"}),
    ("the product with the vocabulary is left out", {}, {"head": "left out"}),
    ("a sum of n terms costs n - 1 (--convention strict)", {}, {"strict": True}),
    ("statistics of norms are left out (--saves paper)", {"saves": "paper"}, {}),
    ("each op's output is saved (--saves lecture)", {"saves": "lecture"}, {}),
)
"""Choices under which a claim may hold: the words, and what changes of the policy and of the convention."""


@dataclass(frozen=True, slots=True)
class Part:
    """An op that a difference comes from, and the terms of its formula that are in the difference."""

    label: str
    phase: str
    expr: Expr


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a derivation says of a claim.

    Attributes:
        claim: the claim, read.
        decision: the outcome for the relation as written.
        sides: both sides in one unit.
        left: the left side, assumptions put in.
        right: the right side, assumptions put in.
        box: the sizes that are looked at.
        growing: what grows, for asymptotic relations.
        notes: how the claim was read.
        instead: what is true instead, where the relation as written is not proved.
        holds_if: choices under which the relation would be proved as written.
        parts: the ops that a difference comes from.
    """

    claim: Claim
    decision: Decision
    sides: Sides
    left: Expr
    right: Expr
    box: Box
    growing: tuple[str, ...]
    notes: tuple[str, ...]
    instead: Instead | None = None
    holds_if: tuple[str, ...] = ()
    parts: tuple[Part, ...] = ()

    @property
    def outcome(self) -> str:
        """proved, refuted or undecided."""
        return self.decision.outcome

    @property
    def weaker(self) -> tuple[str, ...]:
        """What is proved in a weaker sense: leading order, an upper or a lower bound."""
        if self.instead is None:
            return ()
        ways = [f"leading order as {', '.join(w.growing)} -> oo" for w in self.instead.leading]
        return (*ways, *([f"{self.instead.bound} bound"] if self.instead.bound else []))


def prove(
    account: Account | None,
    text: str,
    *,
    sizes: Mapping[str, int] | None = None,
    lets: Iterable[str] = (),
    assume: Iterable[str] = (),
    grow: tuple[str, ...] = (),
) -> Verdict:
    """Judge a claim against an account, or compare formulas where there is none.

    Args:
        account: the derivation that quantities are looked up in; None compares formulas alone.
        text: the claim.
        sizes: sizes to bind first.
        lets: names and what they stand for.
        assume: what may be assumed about sizes.
        grow: what goes to infinity, if the claim does not say.

    Raises:
        SymacctError: the claim cannot be read, a name is unknown, or units disagree.
    """
    names = None if account is None else [*account.source.sizes]
    claim = read_claim(text, names, QUANTITIES, lets)
    assumptions = read_assumptions(assume, claim.names)
    if account is not None:
        bind(assumptions, {**account.graph.bound, **account.source.resolved(sizes or {})})
    sides = resolve(claim, _lookup(account))
    left, right = (assumptions.apply(side.expr) for side in (sides.left, sides.right))
    box = assumptions.box((*sides.left.when, *sides.right.when))
    ways = _ways(account, claim, assumptions, grow, left, right)
    decision, growing = _decided(claim, left, right, box, ways)
    notes = tuple(dict.fromkeys((*claim.notes, *sides.notes, *(f"assuming {t}" for t in assumptions.texts))))
    verdict = Verdict(claim, decision, sides, left, right, box, growing, notes)
    if decision.outcome == "proved":
        return verdict
    return _explained(verdict, account, assumptions)


def _lookup(account: Account | None):  # type: ignore[no-untyped-def]  # noqa: ANN202
    return None if account is None else account.__getitem__


def _ways(
    account: Account | None,
    claim: Claim,
    assumptions: Assumptions,
    grow: tuple[str, ...],
    left: Expr,
    right: Expr,
) -> tuple[tuple[str, ...], ...]:
    """Return what may grow: as stated, or each repeat count alone, then all sizes."""
    stated = claim.grows or grow or tuple(assumptions.growing)
    if stated:
        return (tuple(stated),)
    present = sorted({*names_of(left), *names_of(right)})
    counts = [] if account is None else [n for n in repeat_counts(account) if n in present]
    return (*((name,) for name in counts), *([tuple(present)] if present else []))


def repeat_counts(account: Account) -> tuple[str, ...]:
    """Return the sizes that say how often something is repeated."""
    repeats = (r for r, _ in walk(account.graph.nodes) if isinstance(r, Repeat))
    found = {symbol.name for r in repeats for symbol in r.count.free_symbols}
    return tuple(name for name in account.graph.order if name in found)


def _decided(
    claim: Claim, left: Expr, right: Expr, box: Box, ways: tuple[tuple[str, ...], ...]
) -> tuple[Decision, tuple[str, ...]]:
    if claim.relation not in ASYMPTOTIC:
        return decide(left, claim.relation, right, box), ()
    tried = [(decide(left, claim.relation, right, box, way), way) for way in ways]
    if not tried:
        if is_zero(left - right):
            return Decision("proved", "both sides are equal"), ()
        return Decision("refuted", "nothing is left that could grow, and the sides differ"), ()
    return next((one for one in tried if one[0].outcome == "proved"), tried[0])


def _explained(verdict: Verdict, account: Account | None, assumptions: Assumptions) -> Verdict:
    """Add what is true instead."""
    left, right = verdict.left, verdict.right
    names = sorted({*names_of(left), *names_of(right)})
    ways: list[tuple[str, ...]] = [(name,) for name in names]
    ways += [tuple(names)] if len(names) > 1 else []
    found = instead(left, right, verdict.box, tuple(ways))
    holds = tuple(_variations(verdict, account, assumptions)) if account is not None else ()
    parts = tuple(_parts(verdict, account, found.difference)) if account is not None else ()
    return replace(verdict, instead=found, holds_if=holds, parts=parts)


def _variations(verdict: Verdict, account: Account, assumptions: Assumptions) -> Iterator[str]:
    """Yield the choices under which the relation holds as written."""
    for words, policy, convention in VARIATIONS:
        other = Account(
            account.source,
            replace(account.policy, **policy),  # type: ignore[arg-type]
            replace(account.convention, **convention),  # type: ignore[arg-type]
        )
        if other.policy == account.policy and other.convention == account.convention:
            continue
        try:
            sides = resolve(verdict.claim, other.__getitem__)
        except SymacctError:
            continue
        left, right = (assumptions.apply(side.expr) for side in (sides.left, sides.right))
        if is_zero(left - right):
            yield words


def _parts(verdict: Verdict, account: Account, difference: Expr) -> Iterator[Part]:
    """Yield the ops whose terms have the monomials of a difference."""
    name = verdict.claim.left.name if verdict.claim.left.form == "quantity" else ""
    if not name or name == "tokens" or name.startswith("intensity") or difference.is_number:
        return
    wanted = set(read(difference))
    found: dict[tuple[str, str], list[Expr]] = {}
    for term in account.terms(name):
        table = read(normal(term.expr))
        shared = {monomial: value for monomial, value in table.items() if monomial in wanted}
        if shared:
            found.setdefault((NUMBERED.sub("", term.label), term.phase), []).append(build(shared))
    for (label, phase), exprs in found.items():
        expr = total(exprs)
        if expr != 0:
            yield Part(label, phase, expr)
