"""The certificate of a verdict, with the rows of the derivation where the claim is about a derived total."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import ceil, prod
from typing import TYPE_CHECKING, Any

from sympy import Integer, Max, Min, ceiling

from symacct import kernel
from symacct.algebra.evaluate import substitute
from symacct.algebra.normal import normal
from symacct.algebra.terms import read
from symacct.errors import LimitError, RuleError
from symacct.proof.certificate import (
    certify_asymptotic,
    certify_identity,
    certify_inequality,
    certify_order,
    certify_refutation,
    certify_refuted_limit,
    certify_square,
)
from symacct.proof.ledger import with_ledger
from symacct.proof.split import by_operands
from symacct.proof.tangent import tangent
from symacct.terms import flops_scope

if TYPE_CHECKING:
    from sympy import Expr

    from symacct.account import Account
    from symacct.proof.decide import Box
    from symacct.proof.extremum import Extremum
    from symacct.proof.prove import Verdict

Certificate = dict[str, Any]
MOST_TERMS, MOST_MOVED, MOST_OPERANDS = 400, 20_000, 12


@dataclass(frozen=True, slots=True)
class Certified:
    """A certificate, or why there is none; ``note`` says what it holds besides the statement, or lacks."""

    certificate: Certificate | None
    note: str


def certify(verdict: Verdict, account: Account | None = None) -> Certified:
    """Return the certificate of a verdict; the kernel has accepted it.

    A relation that is proved, or refuted by a point or by a limit, has one where a witness is found. What is
    assumed is put in: ``F = 4*D`` makes it one about D.
    """
    left, right = verdict.left, verdict.right
    if left is None or right is None or (lack := _lack(verdict, left - right)):
        return Certified(None, lack if left is not None else "the formulas are too large to expand")
    try:
        made = _built(verdict, left, right)
    except kernel.Refused as refused:
        return Certified(None, f"the kernel refuses it: {refused}")
    except RuleError as error:
        return Certified(None, error.what)
    if made is None:
        return Certified(None, "no witness was found that the kernel can check")
    whole = None if account is None else _with_rows(made, verdict, account)
    if verdict.extremum is not None:
        return Certified(made, f"that no {verdict.extremum.name} gives less")
    note = f"with the rows that {_total(verdict)} is the sum of" if whole else "of the formulas alone"
    return Certified(whole or made, note)


def _lack(verdict: Verdict, gap: Expr) -> str:
    """Return why no certificate is looked for; nothing where one is."""
    if verdict.outcome == "undecided":
        return "an undecided claim has none"
    one = verdict.extremum
    if one is not None and (one.form == "lim" or verdict.outcome != "proved"):
        return "none is written for a limit, or a minimum that is refuted"
    if verdict.threshold is not None:
        return "none is written for a threshold"
    return "" if _small(gap) else "the formulas are too large for one"


def _built(verdict: Verdict, left: Expr, right: Expr) -> Certificate | None:
    relation, box, growing = verdict.claim.relation, verdict.box, verdict.growing
    bounds, hypotheses = box.lower, box.conditions
    if verdict.extremum is not None:
        return _lowest(left, right, verdict.extremum, box)
    if verdict.outcome == "refuted":
        point = verdict.decision.point
        at = None if point is None else dict(point.sizes)
        if at is not None:
            return certify_refutation(left, relation, right, at, bounds, hypotheses)
        return certify_refuted_limit(left, relation, right, growing, bounds, hypotheses)
    return _certified(left, relation, right, growing, box)


def _certified(
    left: Expr, relation: str, right: Expr, growing: tuple[str, ...], box: Box
) -> Certificate | None:
    bounds, hypotheses = box.lower, box.conditions
    if relation == "=":
        return certify_identity(left, right, bounds, hypotheses)
    if relation == "~":
        return certify_asymptotic(left, right, growing, bounds, hypotheses)
    if relation in ("O", "Theta"):
        both = relation == "Theta"
        return certify_order(left, right, growing, both=both, bounds=bounds, hypotheses=hypotheses)
    return certify_inequality(left, relation, right, bounds, hypotheses)


def _lowest(inner: Expr, claimed: Expr, extremum: Extremum, box: Box) -> Certificate | None:
    """Return a certificate that a formula is nowhere below its least value."""
    name = extremum.name
    if inner.has(ceiling):
        under = claimed.args[0] if claimed.func is ceiling else claimed
        return certify_inequality(inner, ">=", under, box.lower, box.conditions)
    found = tangent(inner, name)
    if found is not None:
        return certify_square(inner, found[0], found[1], name, box.lower, box.conditions)
    least = substitute(inner, {name: claimed}) if extremum.form == "argmin" else claimed
    return certify_inequality(inner, ">=", normal(least), box.lower, box.conditions)


def is_provable(left: Expr, relation: str, right: Expr, box: Box) -> bool:
    """Say whether a search for a witness shows what the sign of the difference alone does not.

    What is the largest or least of several is taken apart first; the rest must be small enough for one.
    """
    if _is_given(left, relation, right, box):
        return True
    sizes = [len(atom.args) for side in (left, right) for atom in side.atoms(Max, Min)]
    if sizes and _taken_apart(left, relation, right, box):
        return True
    if sum(sizes) > MOST_OPERANDS or not _small(left - right):
        return False
    bounds, hypotheses = box.lower, box.conditions
    try:
        if relation == "=":
            return certify_identity(left, right, bounds, hypotheses) is not None
        return certify_inequality(left, relation, right, bounds, hypotheses) is not None
    except LimitError:
        raise
    except (kernel.Refused, RuleError):
        return False


def _taken_apart(left: Expr, relation: str, right: Expr, box: Box) -> bool:
    """Say whether a relation is seen operand by operand."""

    def prove(gap: Expr, strict: bool) -> bool:  # noqa: FBT001
        return is_provable(gap, ">" if strict else ">=", Integer(0), box)

    below, above = right - left, left - right
    gaps = {"=": (below, above), "<": (below,), "<=": (below,), ">": (above,), ">=": (above,)}[relation]
    return all(by_operands(gap, box, prove, strict=relation in "<>") for gap in gaps)


def _is_given(left: Expr, relation: str, right: Expr, box: Box) -> bool:
    """Say whether a relation is a condition of the box itself, up to a factor: nothing is left to prove."""
    if relation not in ("<=", ">="):
        return False
    gap = normal(left - right if relation == ">=" else right - left)
    given = (normal(one.left - one.right) for one in box.conditions if one.kind == "at_least")
    ratios = (normal(gap / one) for one in given if one != 0)
    return any(ratio.is_Rational and ratio > 0 for ratio in ratios)


def _small(gap: Expr) -> bool:
    """Say whether a search in a difference, and the kernel's shift, stay small."""
    table = read(gap)
    if len(table) > MOST_TERMS:
        return False
    powers = ((abs(Fraction(power)) for _, power in monomial) for monomial in table)
    return sum(prod(ceil(power) + 1 for power in one) for one in powers) <= MOST_MOVED


def _total(verdict: Verdict) -> str | None:
    """Return the derived total that stands alone on the left."""
    left = verdict.claim.left
    return left.name if left.form == "quantity" and left.name.startswith("flops.") else None


def _with_rows(made: Certificate, verdict: Verdict, account: Account) -> Certificate | None:
    name = _total(verdict)
    if name is None or not account.has(name):
        return None
    phases, matmul = flops_scope(name)
    rows = [row for row in account.work if row.phase in phases]
    try:
        return with_ledger(made, rows, account.step, account.convention, quantity=name, matmul=matmul)
    except (kernel.Refused, RuleError):
        return None
