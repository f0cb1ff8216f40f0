"""Where the difference between an exact formula and a claim comes from, and which choices make it vanish."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from sympy import Dummy

from symacct.account import Account
from symacct.algebra.normal import is_zero, normal, total
from symacct.algebra.tables import build
from symacct.algebra.terms import read
from symacct.alternatives import READINGS
from symacct.claims import Claim, resolve
from symacct.claims.check import walk
from symacct.errors import SymacctError
from symacct.proof.lookup import lookup
from symacct.quantity import Quantity
from symacct.terms import PEAKS, QUANTITIES

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from sympy import Expr

    from symacct.algebra.domain import Domain
    from symacct.algebra.tables import Monomial
    from symacct.proof.machine_facts import Facts
    from symacct.syntax import Tree
    from symacct.terms import Term

NUMBERED = re.compile(r"_\d+$")


@dataclass(frozen=True, slots=True)
class Part:
    """What an op or a weight has of a difference: its terms with the same powers of sizes.

    Attributes:
        label: the op, the saved tensor or the weight.
        phase: forward, backward, ...; for what a claim counts, the quantity that it counts it by.
        exact: what the exact formula has.
        claimed: what the claim has.
    """

    label: str
    phase: str
    exact: Expr
    claimed: Expr


def variations(claim: Claim, account: Account, domain: Domain, facts: Facts) -> Iterator[str]:
    """Yield the choices under which both sides of a claim would be equal."""
    for words, policy, convention in READINGS:
        other = Account(
            account.source,
            replace(account.policy, **policy),  # type: ignore[arg-type]
            replace(account.convention, **convention),  # type: ignore[arg-type]
        )
        if other.policy == account.policy and other.convention == account.convention:
            continue
        try:
            sides = resolve(claim, lookup(other, facts.quantity))
        except SymacctError:
            continue
        if is_zero(domain.apply(sides.left.expr) - domain.apply(sides.right.expr)):
            yield words


def parts(claim: Claim, account: Account, domain: Domain, difference: Expr, facts: Facts) -> tuple[Part, ...]:
    """Return what each op has of a difference, and each weight that the claim counts by a quantity.

    The rest of the difference, if any, is the claim's own.
    """
    exact, claimed = exact_and_claimed(claim)
    if exact.form != "quantity" or not _adds_up(exact.name) or difference.is_number:
        return ()
    wanted = set(read(difference))
    found: dict[tuple[str, str], tuple[list[Expr], list[Expr]]] = {}
    for term in account.terms(exact.name):
        _add(found, term, term.phase, (domain.apply(term.expr), None), wanted)
    trees = (claimed, *(one.tree for one in claim.where))
    names = sorted({tree.name for whole in trees for tree in walk(whole) if tree.form == "quantity"})
    for name in names:
        factor = _factor(claim, account, name, facts) if _adds_up(name) else None
        for term in account.terms(name) if factor is not None and factor != 0 else ():
            _add(found, term, name, (None, domain.apply(factor * term.expr)), wanted)
    made = (Part(*key, total(left), total(right)) for key, (left, right) in found.items())
    return tuple(part for part in made if part.exact != 0 or part.claimed != 0)


def exact_and_claimed(claim: Claim) -> tuple[Tree, Tree]:
    """Return the side that is derived, and the side that is stated: the one that is no bare quantity."""
    turned = claim.right.form == "quantity" and claim.left.form != "quantity"
    return (claim.right, claim.left) if turned else (claim.left, claim.right)


def _adds_up(name: str) -> bool:
    plain = name in QUANTITIES and name != "tokens" and name not in PEAKS
    return plain and not name.startswith("intensity")


def _add(
    found: dict[tuple[str, str], tuple[list[Expr], list[Expr]]],
    term: Term,
    phase: str,
    exprs: Iterable[Expr | None],
    wanted: Collection[Monomial],
) -> None:
    """Add the terms of a row whose monomials are wanted to those of its op."""
    for place, expr in enumerate(exprs):
        table = read(normal(expr)) if expr is not None else {}
        shared = {monomial: value for monomial, value in table.items() if monomial in wanted}
        if shared:
            key = NUMBERED.sub("", term.label), phase
            found.setdefault(key, ([], []))[place].append(build(shared))


def _factor(claim: Claim, account: Account, name: str, facts: Facts) -> Expr | None:
    """Return what a claim multiplies a quantity by, where it is linear in it."""
    mark = Dummy("mark", positive=True)

    find = lookup(account, facts.quantity)
    assert find is not None

    def marked(wanted: str) -> Quantity:
        quantity = find(wanted)
        return Quantity(quantity.expr + mark, quantity.unit, quantity.when) if wanted == name else quantity

    sides = resolve(claim, marked)
    turned = exact_and_claimed(claim)[0] is claim.right
    factor = normal((sides.left if turned else sides.right).expr.diff(mark))
    return None if mark in factor.free_symbols else factor
