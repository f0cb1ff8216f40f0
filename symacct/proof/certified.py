"""The gate: what the kernel accepts of a claim, and the rows of the derivation that stand behind it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from symacct import kernel
from symacct.algebra.symbols import symbol
from symacct.errors import FormulaError, LimitError, RuleError, SizeError
from symacct.proof.certificate import (
    POSITIVE,
    Least,
    Rest,
    certify_all,
    certify_argmin,
    certify_asymptotic,
    certify_identity,
    certify_iff,
    certify_inequality,
    certify_limit,
    certify_min,
    certify_order,
    certify_refutation,
    certify_refuted_iff,
    certify_refuted_limit,
    with_said,
)
from symacct.proof.ledger import with_ledger
from symacct.proof.read_line import read_line
from symacct.proof.rests import rests_of
from symacct.terms import flops_scope

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from sympy import Expr

    from symacct.account import Account
    from symacct.algebra.domain import Domain
    from symacct.proof.growth import Regime
    from symacct.proof.verdict import Verdict

Certificate = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Certified:
    """A certificate, or why there is none; ``note`` says what it holds besides the statement, or lacks."""

    certificate: Certificate | None
    note: str


def bounds_of(domain: Domain) -> dict[str, int | Least]:
    """Return the declarations of a domain: least values, and which names are positive real numbers."""
    return {**domain.lower, **dict.fromkeys(domain.real, POSITIVE)}


def certify_relation(left: Expr, relation: str, right: Expr, domain: Domain) -> Certificate | None:
    """Return a certificate of a relation on a domain, or None where no proof is found.

    >>> from symacct.algebra.domain import Domain
    >>> from symacct.algebra.symbols import symbol
    >>> n = symbol("n")
    >>> certify_relation(n**2 + 1, ">=", 2 * n, Domain())["statement"]["relation"]
    '>='
    """
    bounds, hypotheses = bounds_of(domain), domain.stated
    if relation == "=":
        return _asked(lambda: certify_identity(left, right, bounds, hypotheses))
    return _asked(lambda: certify_inequality(left, relation, right, bounds, hypotheses))


def certify_together(claims: Sequence[tuple[Expr, str, Expr]], domain: Domain) -> Certificate | None:
    """Return one certificate of several relations on a domain, or None."""
    return _asked(lambda: certify_all(claims, bounds_of(domain), domain.stated))


def certify_growth(
    left: Expr, relation: str, right: Expr, regime: Regime, rests: Sequence[Rest] = ()
) -> Certificate | None:
    """Return a certificate of ``~``, ``O`` or ``Theta`` as sizes grow, or None."""
    growing, hypotheses, bounds = regime.growing, regime.domain.stated, bounds_of(regime.domain)
    if relation == "~":
        return _asked(lambda: certify_asymptotic(left, right, growing, bounds, hypotheses, rests))
    both = relation == "Theta"
    return _asked(
        lambda: certify_order(
            left, right, growing, both=both, bounds=bounds, hypotheses=hypotheses, rests=rests
        )
    )


def certify_threshold(
    condition: tuple[Expr, str, Expr], threshold: tuple[Expr, str, Expr], domain: Domain
) -> Certificate | None:
    """Return a certificate that a condition holds exactly where a size is on one side of a threshold."""
    return _asked(lambda: certify_iff(condition, threshold, bounds_of(domain), domain.stated))


def certify_minimum(
    form: str, name: str, inner: Expr, claimed: Expr, place: Expr, domain: Domain
) -> Certificate | None:
    """Return a certificate that nothing is below a least value, and that a place reaches it."""
    bounds, hypotheses = bounds_of(domain), domain.stated
    if form == "argmin":
        return _asked(lambda: certify_argmin(inner, name, claimed, bounds, hypotheses))
    return _asked(lambda: certify_min(inner, name, claimed, place, bounds, hypotheses))


def certify_tending(
    inner: Expr, claimed: Expr, regime: Regime, rests: Sequence[Rest] = ()
) -> Certificate | None:
    """Return a certificate that a formula tends to a limit."""
    bounds = bounds_of(regime.domain)
    return _asked(lambda: certify_limit(inner, claimed, regime.growing, bounds, regime.domain.stated, rests))


def _asked(build: Callable[[], Certificate | None]) -> Certificate | None:
    """Return what a builder finds; what it refuses, or has no words for, is not proved."""
    try:
        return build()
    except LimitError:
        raise
    except (kernel.Refused, FormulaError, RuleError, SizeError):
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
    whole = None if account is None else _with_rows(made, verdict, account)
    note = f"with the rows that {_total(verdict)} is the sum of" if whole else "of the formulas alone"
    rests = [] if account is None else rests_of(verdict.claim, account)
    said = with_said(whole or made, text=verdict.stated, read=read_line(verdict), rests=rests)
    return Certified(said or whole or made, note)


def _refutation(verdict: Verdict) -> Certificate | None:
    """Return the certificate that a claim fails at sizes, or in the limit."""
    if verdict.sides is None or verdict.extremum is not None:
        return None
    left, right = verdict.sides.left.expr, verdict.sides.right.expr
    relation, domain = verdict.claim.relation, verdict.box
    point, edge = verdict.decision.point, verdict.threshold
    if edge is not None:
        return None if point is None else _asked(
            lambda: certify_refuted_iff(
                (left, relation, right), (symbol(edge.name), edge.relation, edge.value), dict(point.sizes),
                bounds_of(domain), domain.stated,
            )
        )  # fmt: skip
    if point is None:
        return _asked(
            lambda: certify_refuted_limit(
                left, relation, right, verdict.growing, bounds_of(domain), domain.stated
            )
        )
    at = dict(point.sizes)
    return _asked(lambda: certify_refutation(left, relation, right, at, bounds_of(domain), domain.stated))


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
