"""What is said of sizes beside a claim: ``if`` and ``--assume``, with what the claim binds put in."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

from symacct.claims import resolve
from symacct.claims.claim import names_in
from symacct.claims.sides import Scope
from symacct.errors import FormulaError, UnitError
from symacct.proof.conditions import Conditions, Pair, pairs_of, read_conditions, sides_of, signs_of
from symacct.syntax import Names, parse
from symacct.syntax.words import NOTHING
from symacct.units import is_unit

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable
    from typing import Any

    from sympy import Expr

    from symacct.claims import Claim
    from symacct.claims.sides import Lookup
    from symacct.syntax import Tree


def conditions_beside(
    claim: Claim,
    written: Iterable[str],
    assumed: Iterable[str] = (),
    find: Lookup | None = None,
    real: Collection[str] = (),
) -> Conditions:
    """Return the conditions of a claim; a name that it binds stands for its formula in them too.

    Args:
        claim: the claim.
        written: what stands behind ``if``.
        assumed: what is assumed outside of the claim.
        find: gives the quantities that bindings name.
        real: the names that stand for real numbers.

    Raises:
        SymacctError: one cannot be read, a name is unknown, or units disagree; or what is assumed names a
            size that the claim binds to something else.

    >>> from symacct.claims import read_claim
    >>> claim = read_claim("n <= 2*k where M = 2*k", None, beside=["M >= n"])
    >>> [str(one) for one in conditions_beside(claim, ["M >= n"]).conditions]
    ['2*k >= n']
    """
    reader = _Reader(claim, find)
    inside = read_conditions(written, claim.names, real, reader.inside)
    outside = read_conditions(assumed, claim.names, real, reader.outside)
    both = ((getattr(one, part) for one in (inside, outside)) for part in Conditions.__slots__)
    return Conditions(*(sum(parts, ()) for parts in both))


def place_beside(claim: Claim, text: str, find: Lookup | None = None) -> Expr:
    """Return a size that is claimed beside a formula: the place of a minimum.

    Raises:
        SymacctError: it cannot be read, or has a unit.

    >>> from symacct.claims import read_claim
    >>> place_beside(read_claim("L/k + k = L/k + k where r = sqrt(L)", None), "2*r")
    2*sqrt(L)
    """
    scope = Scope(find)
    for binding in claim.where:
        scope.bind(binding)
    typed = scope.typed(parse(text, _Reader(claim, find).names), text)
    if not typed.dims.pure:
        raise UnitError("a size has no unit", where=text[:72], expected="a pure number", got=str(typed.dims))
    return typed.expr


def trees_beside(claim: Claim, texts: Iterable[str]) -> list[Tree]:
    """Return the trees of the formulas in conditions."""
    reader = _Reader(claim, None)
    return [tree for text in texts for tree in reader.trees(text)]


class _Reader:
    """Reads conditions with the names that a claim binds."""

    def __init__(self, claim: Claim, find: Lookup | None) -> None:
        self.claim, self.find = claim, find
        self.bound = {one.name: one for one in claim.where if one.name not in names_in(one.tree)}
        evidence = claim.names.evidence if isinstance(claim.names, Names) else NOTHING
        self.names = Names({*claim.names, *self.bound}, evidence)

    def inside(self, text: str) -> list[Pair]:
        """Return the formulas of a condition that stands in the claim."""
        trees = self.trees(text)
        if not self.used(trees):
            return pairs_of(text, self.claim.names)
        return [
            self.pair(text, sign, *two) for sign, two in zip(signs_of(text), pairwise(trees), strict=True)
        ]

    def outside(self, text: str) -> list[Pair]:
        """Return the formulas of a condition that stands outside of the claim.

        Raises:
            FormulaError: it names a size that the claim binds to something else.
        """
        trees = self.trees(text) if self.bound else []
        for name in sorted(self.used(trees) & self.claim.names):
            one = self.bound[name]
            raise FormulaError(
                f"{name} is a size, and the claim binds it to something else",
                where=text[:72],
                expected="a name with one meaning",
                got=f"{name} = {one.text[one.tree.start : one.tree.end].strip()}"[:64],
                fix=f"bind another name in the claim; or write if {text} there, if that {name} is meant",
            )
        return self.inside(text)

    def trees(self, text: str) -> list[Tree]:
        """Return the trees of the formulas in a condition; units are read where a bound name may have one."""
        units = is_unit if self.bound else None
        return [parse(side, self.names, units, (), text) for side in sides_of(text)]

    def used(self, trees: Iterable[Tree]) -> set[str]:
        """Return the bound names in some trees."""
        return {name for tree in trees for name in names_in(tree) if name in self.bound}

    def pair(self, text: str, sign: str, left: Tree, right: Tree) -> Pair:
        """Return what stands on both sides of a sign, in one unit."""
        more: dict[str, Any] = {"grows": (), "tolerance": None, "notes": ()}
        stated = replace(self.claim, left=left, relation="=", right=right, text=text, **more)
        sides = resolve(stated, self.find)
        when = (*sides.left.when, *sides.right.when)
        return Pair(sign, sides.left.expr, sides.right.expr, when, sides.notes)
