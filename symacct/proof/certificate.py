"""Certificates from formulas: each builder finds a proof, lets the kernel check it, or returns None."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from symacct.algebra.factorials import Binomial
from symacct.proof import minima, relations, tending, thresholds
from symacct.proof.case import POSITIVE, Least, Rest, accepted, made_case, seal
from symacct.proof.prefix import from_prefix, number, to_prefix
from symacct.proof.stated import statement_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sympy import Expr

    from symacct.algebra.condition import Condition
    from symacct.proof.case import Bounds, Case

__all__ = [
    "POSITIVE", "Least", "Rest", "accepted", "certify_all", "certify_argmin", "certify_asymptotic",
    "certify_identity", "certify_iff", "certify_inequality", "certify_limit", "certify_min", "certify_order",
    "certify_refutation", "certify_refuted_iff", "certify_refuted_limit", "certify_refuted_min",
    "certify_square", "from_prefix", "number", "seal", "statement_of", "to_prefix", "with_said",
]  # fmt: skip

Certificate = dict[str, Any]


def certify_identity(
    lhs: Expr, rhs: Expr, bounds: Bounds = 1, hypotheses: Sequence[Condition] = ()
) -> Certificate | None:
    """Return a certificate that both sides are equal: the same fraction, or each at most the other.

    >>> from symacct.algebra.symbols import symbol
    >>> B, D = symbol("B"), symbol("D")
    >>> certify_identity(B * (D + 1), B * D + B)["proof"]["rule"]
    'identity'
    """
    return _related(made_case(lhs, "=", rhs, bounds, hypotheses))


def certify_inequality(
    lhs: Expr, relation: str, rhs: Expr, bounds: Bounds = 1, hypotheses: Sequence[Condition] = ()
) -> Certificate | None:
    """Return a certificate of ``<=``, ``>=``, ``<`` or ``>`` with a witness found here, or None."""
    return _related(made_case(lhs, relation, rhs, bounds, hypotheses))


def _related(case: Case) -> Certificate | None:
    """Return a certificate of a relation, with binomials as they are, or written in factorials."""
    found = case.certificate(relations.relation(case))
    if found is not None or not any(isinstance(one, Binomial) for one in case.counts):
        return found
    split = replace(case, factorials=True)
    return split.certificate(relations.relation(split))


def certify_all(
    claims: Sequence[tuple[Expr, str, Expr]], bounds: Bounds = 1, hypotheses: Sequence[Condition] = ()
) -> Certificate | None:
    """Return one certificate of several relations, as ``within 3 %`` is two of them."""
    sides = [side for left, _, right in claims for side in (left, right)]
    left, relation, right = claims[0]
    case = made_case(left, relation, right, bounds, hypotheses, also=sides)
    parts = [case.under(*claim) for claim in claims]
    proofs = [relations.relation(part) for part in parts]
    if None in proofs:
        return None
    statement = {"relation": "all", "claims": [part.said for part in parts]}
    return case.certificate({"rule": "all", "uses": {}, "each": proofs}, statement)


def certify_asymptotic(
    lhs: Expr,
    rhs: Expr,
    growing: Sequence[str],
    bounds: Bounds = 1,
    hypotheses: Sequence[Condition] = (),
    rests: Sequence[Rest] = (),
) -> Certificate | None:
    """Return a certificate that the ratio of the sides tends to 1, with a constant and a threshold."""
    case = made_case(lhs, "~", rhs, bounds, hypotheses, growing, rests=rests)
    return case.certificate(case.first(tending.rate))


def certify_limit(
    lhs: Expr,
    rhs: Expr,
    growing: Sequence[str],
    bounds: Bounds = 1,
    hypotheses: Sequence[Condition] = (),
    rests: Sequence[Rest] = (),
) -> Certificate | None:
    """Return a certificate that lhs tends to rhs, which does not depend on what grows.

    >>> from symacct.algebra.symbols import as_expr, symbol
    >>> n = symbol("n")
    >>> certify_limit((2 * n + 1) / n, as_expr(2), ["n"])["proof"]["constant"]
    '1'
    """
    case = made_case(lhs, "limit", rhs, bounds, hypotheses, growing, rests=rests)
    return case.certificate(case.first(tending.rate))


def certify_order(
    lhs: Expr,
    rhs: Expr,
    growing: Sequence[str],
    *,
    both: bool = False,
    bounds: Bounds = 1,
    hypotheses: Sequence[Condition] = (),
    rests: Sequence[Rest] = (),
) -> Certificate | None:
    """Return a certificate that lhs is O(rhs), or Theta(rhs) when `both`."""
    case = made_case(lhs, "Theta" if both else "O", rhs, bounds, hypotheses, growing, rests=rests)
    return case.certificate(case.first(tending.bounded))


def certify_refutation(
    lhs: Expr,
    relation: str,
    rhs: Expr,
    point: Mapping[str, int | Fraction],
    bounds: Bounds = 1,
    hypotheses: Sequence[Condition] = (),
) -> Certificate | None:
    """Return a certificate that the claim is false at a point, or None where it is true there."""
    case = made_case(lhs, relation, rhs, bounds, hypotheses, refuted=True)
    return case.certificate({"rule": "point", "uses": {}, "point": _at(case, point)})


def certify_refuted_limit(
    lhs: Expr,
    relation: str,
    rhs: Expr,
    growing: Sequence[str],
    bounds: Bounds = 1,
    hypotheses: Sequence[Condition] = (),
    rests: Sequence[Rest] = (),
) -> Certificate | None:
    """Return a certificate that ``~``, O, Theta or ``limit`` is false."""
    case = made_case(lhs, relation, rhs, bounds, hypotheses, growing, refuted=True, rests=rests)
    return case.certificate(
        case.first(lambda one, uses: tending.elsewhere(one, uses) or tending.unbounded(one, uses))
    )


def certify_square(
    lhs: Expr, least: Expr, root: Expr, name: str, bounds: Bounds = 1, hypotheses: Sequence[Condition] = ()
) -> Certificate | None:
    """Return a certificate of ``lhs >= least``, where the difference is a square over a size."""
    case = made_case(lhs, ">=", least, bounds, hypotheses)
    return case.certificate(relations.square(case, root, name))


def certify_iff(
    first: tuple[Expr, str, Expr],
    second: tuple[Expr, str, Expr],
    bounds: Bounds = 1,
    hypotheses: Sequence[Condition] = (),
) -> Certificate | None:
    """Return a certificate that two comparisons hold at the same sizes.

    >>> from symacct.algebra.symbols import as_expr, symbol
    >>> n = symbol("n")
    >>> certify_iff((2 * n, "<=", as_expr(6)), (n, "<=", as_expr(3)))["proof"]["rule"]
    'iff'
    """
    case = made_case(*first, bounds, hypotheses, also=(second[0], second[2]))
    parts = [case.under(*one) for one in (first, second)]
    statement = {"relation": "iff", "first": parts[0].said, "second": parts[1].said}
    return case.certificate(thresholds.both_ways(*parts), statement)


def certify_refuted_iff(
    first: tuple[Expr, str, Expr],
    second: tuple[Expr, str, Expr],
    point: Mapping[str, int | Fraction],
    bounds: Bounds = 1,
    hypotheses: Sequence[Condition] = (),
) -> Certificate | None:
    """Return a certificate that at a point one comparison holds and the other does not."""
    case = made_case(*first, bounds, hypotheses, also=(second[0], second[2]), refuted=True)
    parts = [case.under(*one) for one in (first, second)]
    statement = {"relation": "iff", "first": parts[0].said, "second": parts[1].said}
    return case.certificate({"rule": "point", "uses": {}, "point": _at(case, point)}, statement)


def certify_min(
    inner: Expr,
    name: str,
    least: Expr,
    place: Expr | None = None,
    bounds: Bounds = 1,
    hypotheses: Sequence[Condition] = (),
) -> Certificate | None:
    """Return a certificate that the least value over a variable is `least`, reached at a place.

    >>> from symacct.algebra.symbols import symbol
    >>> from sympy import sqrt
    >>> n, k = symbol("n"), symbol("k")
    >>> certify_min(n / k + k, "k", 2 * sqrt(n), sqrt(n), {"k": POSITIVE})["proof"]["rule"]
    'least'
    """
    case = made_case(inner, "=", least, bounds, hypotheses, also=() if place is None else (place,))
    return minima.minimum(case, name, place)


def certify_argmin(
    inner: Expr,
    name: str,
    place: Expr,
    bounds: Bounds = 1,
    hypotheses: Sequence[Condition] = (),
    *,
    where_possible: bool = False,
) -> Certificate | None:
    """Return a certificate that the least value over a variable is at `place`, and nowhere else.

    With `where_possible` this is claimed only of sizes at which the place is one of the values of the
    variable.
    """
    case = made_case(inner, "=", place, bounds, hypotheses)
    return minima.place_of(case, name, possible=where_possible)


def certify_refuted_min(
    form: str,
    inner: Expr,
    name: str,
    claimed: Expr,
    point: Mapping[str, int | Fraction],
    bounds: Bounds = 1,
    hypotheses: Sequence[Condition] = (),
    *,
    where_possible: bool = False,
) -> Certificate | None:
    """Return a certificate that a least value, or where it is, is another.

    It is less at a point, or more everywhere there.

    Args:
        form: ``min`` or ``argmin``.
        inner: the formula.
        name: what varies.
        claimed: the least value, or the place.
        point: the sizes; with `name` where that gives less.
        bounds: the least values.
        hypotheses: the conditions.
        where_possible: an argmin is claimed only where the place is possible.
    """
    case = made_case(inner, "=", claimed, bounds, hypotheses, refuted=True)
    return minima.refuted(case, form, name, {key: Fraction(value) for key, value in point.items()},
                          possible=where_possible)  # fmt: skip


def _at(case: Any, point: Mapping[str, int | Fraction]) -> dict[str, Any]:
    """Return a point with the least value of what it does not name."""
    return {
        name: number(Fraction(point.get(name, (one.least or 0) + one.above)))
        for name, one in case.variables.items()
    }


def with_said(
    certificate: Certificate, *, text: str = "", read: str = "", rests: Sequence[Rest] = ()
) -> Certificate | None:
    """Return the certificate with the text as typed, the claim as read, and what the derivation says.

    All of it is covered by the digest, and said by ``verify``.
    """
    said = {"text": text, "read": read, "rests": [one.said for one in rests]}
    kept = {key: value for key, value in certificate.items() if key != "digest"}
    more = {key: value for key, value in said.items() if value}
    made = seal({**kept, "statement": {**certificate["statement"], **more}})
    return made if accepted(made) else None
