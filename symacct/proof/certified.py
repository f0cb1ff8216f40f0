"""The gate: what the kernel accepts of a claim, and the rows of the derivation that stand behind it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from symacct import kernel
from symacct.errors import LimitError, RuleError
from symacct.proof.certificate import (
    certify_asymptotic,
    certify_identity,
    certify_inequality,
    certify_order,
    certify_refutation,
    certify_refuted_limit,
)
from symacct.proof.ledger import with_ledger
from symacct.terms import flops_scope

if TYPE_CHECKING:
    from collections.abc import Callable

    from sympy import Expr

    from symacct.account import Account
    from symacct.algebra.domain import Domain
    from symacct.proof.growth import Regime
    from symacct.proof.prove import Verdict

Certificate = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Certified:
    """A certificate, or why there is none; ``note`` says what it holds besides the statement, or lacks."""

    certificate: Certificate | None
    note: str


def certify_relation(left: Expr, relation: str, right: Expr, domain: Domain) -> Certificate | None:
    """Return a certificate of a relation on a domain, or None where no proof is found.

    >>> from symacct.algebra.domain import Domain
    >>> from symacct.algebra.symbols import symbol
    >>> n = symbol("n")
    >>> certify_relation(n**2 + 1, ">=", 2 * n, Domain())["statement"]["relation"]
    '>='
    """
    bounds, hypotheses = domain.lower, domain.stated
    if relation == "=":
        return _asked(lambda: certify_identity(left, right, bounds, hypotheses))
    return _asked(lambda: certify_inequality(left, relation, right, bounds, hypotheses))


def certify_growth(left: Expr, relation: str, right: Expr, regime: Regime) -> Certificate | None:
    """Return a certificate of ``~``, ``O`` or ``Theta`` as sizes grow, or None."""
    growing, domain = regime.growing, regime.domain
    if relation == "~":
        return _asked(lambda: certify_asymptotic(left, right, growing, domain.lower, domain.stated))
    both = relation == "Theta"
    return _asked(
        lambda: certify_order(left, right, growing, both=both, bounds=domain.lower, hypotheses=domain.stated)
    )


def certify_iff(
    condition: tuple[Expr, str, Expr], threshold: tuple[Expr, str, Expr], domain: Domain
) -> Certificate | None:
    """Return a certificate that a condition holds exactly where a size is on one side of a threshold."""
    del condition, threshold, domain
    return None


def certify_minimum(
    form: str, name: str, inner: Expr, claimed: Expr, place: Expr, domain: Domain
) -> Certificate | None:
    """Return a certificate that nothing is below a least value, and that a place reaches it."""
    del form, name, inner, claimed, place, domain
    return None


def certify_limit(inner: Expr, claimed: Expr, regime: Regime) -> Certificate | None:
    """Return a certificate that a formula tends to a limit."""
    del inner, claimed, regime
    return None


def _asked(build: Callable[[], Certificate | None]) -> Certificate | None:
    """Return what a builder finds; what it refuses, or has no words for, is not proved."""
    try:
        return build()
    except LimitError:
        raise
    except (kernel.Refused, RuleError):
        return None


# ---- the certificate of a verdict ----


def certify(verdict: Verdict, account: Account | None = None) -> Certified:
    """Return the certificate of a verdict; the kernel has accepted it.

    A claim that is proved has one; one that is refuted by sizes or by a limit has one where the kernel can
    follow.
    """
    if verdict.outcome == "undecided":
        return Certified(None, "an undecided claim has none")
    made = verdict.decision.certificate or _refutation(verdict)
    if made is None:
        return Certified(None, "no witness was found that the kernel can check")
    whole = None if account is None or verdict.outcome != "proved" else _with_rows(made, verdict, account)
    note = f"with the rows that {_total(verdict)} is the sum of" if whole else "of the formulas alone"
    return Certified(whole or made, note)


def _refutation(verdict: Verdict) -> Certificate | None:
    """Return the certificate that a claim fails at sizes, or in the limit."""
    left, right, relation, domain = verdict.left, verdict.right, verdict.claim.relation, verdict.box
    if left is None or right is None or verdict.extremum is not None or verdict.threshold is not None:
        return None
    point = verdict.decision.point
    if point is None:
        return _asked(
            lambda: certify_refuted_limit(left, relation, right, verdict.growing, domain.lower, domain.stated)
        )
    at = {name: int(value) for name, value in point.sizes if value == int(value)}
    return _asked(lambda: certify_refutation(left, relation, right, at, domain.lower, domain.stated))


def _total(verdict: Verdict) -> str | None:
    """Return the derived total that stands alone on the left."""
    left = verdict.claim.left
    plain = verdict.extremum is None and verdict.threshold is None
    return left.name if plain and left.form == "quantity" and left.name.startswith("flops.") else None


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
