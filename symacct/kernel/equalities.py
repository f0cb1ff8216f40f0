"""The rules ``identity`` and ``both``, for ``=``, and ``given``, for what is a hypothesis itself.

``identity``: left - right, less given multiples of what hypotheses in use say is 0, is the fraction 0.
``both``: right - left >= 0 and left - right >= 0, each by a witness.
``given``: left - right is a number times what one hypothesis compares: any number but 0 if that is an
equality, a positive one otherwise, with the sides in the order that the relation asks for. A strict
hypothesis and an equality give the weak relations too. The theorem says that nothing else was proved.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .form import known
from .poly import constant, plain
from .refusal import need
from .witness import multiples, prove

if TYPE_CHECKING:
    from .claim import Claim

WEAK = ("at_least", "above", "equal")
GIVES = {"=": ("equal",), ">=": WEAK, "<=": WEAK, ">": ("above",), "<": ("above",)}


def by_identity(claim: Claim) -> None:
    """Both sides are the same fraction."""
    need(claim.relation == "=" and not claim.refuted, "an identity proves = only")
    gap = claim.box.minus(claim.left, claim.right)
    gap = claim.box.minus(gap, multiples(claim.box, claim.proof.get("multiples", [])))
    need(not gap[0], "the two sides differ")


def by_both(claim: Claim) -> None:
    """Each side is at most the other."""
    need(claim.relation == "=" and not claim.refuted, "two inequalities prove = only")
    prove(claim.box, claim.box.minus(claim.right, claim.left), claim.proof["below"])
    prove(claim.box, claim.box.minus(claim.left, claim.right), claim.proof["above"])


def by_given(claim: Claim) -> None:
    """The claim is a hypothesis, up to a factor."""
    one = known(claim.hypotheses, claim.proof["hypothesis"], "hypothesis")
    need(claim.relation in GIVES and not claim.refuted, "a hypothesis gives a relation only")
    need(one["kind"] in GIVES[claim.relation], "the hypothesis says something else")
    box = claim.box
    factor = plain(box.read(claim.proof["factor"]))
    need(
        factor is not None and (factor > 0 or (factor != 0 and one["kind"] == "equal")), "no positive factor"
    )
    said = box.minus(claim.left, claim.right)
    said = box.negative(said) if claim.relation[0] == "<" else said
    given = box.minus(box.read(one["left"]), box.read(one["right"]))
    gap = box.minus(said, box.product(constant(factor or 0), given))
    need(not gap[0], "the claim is not the hypothesis times the factor")
