"""Rules that split a claim: ``cases``, ``residues``, ``have`` and ``all``.

``cases``: two expressions are compared; of any two numbers a >= b or b > a. The claim is proved with each
as a further hypothesis. For what holds from large sizes on, with constants, the larger of the two does for
both.
``residues``: of an integer variable n and m >= 1, n = m*q + r with one r of 0 .. m - 1 and an integer q; as
n is at least its bound L, q >= (L - r)/m, rounded up. The claim is proved with each r as a hypothesis.
``have``: a relation is proved in the same context, and then the claim, with the relation as a hypothesis.
``all``: a claim of several parts, each proved.

Every part has all hypotheses of the whole, so that sizes at which it is claimed lie in one of the parts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .box import Variable
from .claim import LIMITS, RELATIONS
from .form import integer, is_name, items, known, mapping, short
from .refusal import MOST_CASES, need

if TYPE_CHECKING:
    from .claim import Claim

KINDS = {"=": "equal", ">=": "at_least", "<=": "at_least", ">": "above", "<": "above"}


def hypothesis(name: Any, said: dict[str, Any]) -> dict[str, Any]:
    """Return a relation as a hypothesis."""
    kind = known(KINDS, said["relation"], "relation to be assumed")
    sides = (said["left"], said["right"]) if said["relation"][0] != "<" else (said["right"], said["left"])
    return {"name": name, "kind": kind, "left": sides[0], "right": sides[1]}


def splits(claim: Claim) -> None:
    """Refuse to split what cannot be proved part by part."""
    need(not claim.refuted and claim.relation in (*RELATIONS, *LIMITS), "this is not proved case by case")


def by_cases(claim: Claim) -> None:
    """Prove it where one expression is at least another, and where it is less."""
    from .rules import establish

    splits(claim)
    proof, (at_least, less) = claim.proof, pair(claim.proof["each"])
    for side in ("left", "right"):
        claim.box.read(proof[side])
    for relation, one in ((">=", at_least), ("<", less)):
        said = {"relation": relation, "left": proof["left"], "right": proof["right"]}
        establish(claim.under(claim.said, one, more=[hypothesis(proof["name"], said)]))


def pair(value: Any) -> tuple[Any, Any]:
    """Return the two parts of a list."""
    need(len(items(value)) == 2, "there are two cases")
    return value[0], value[1]


def by_residues(claim: Claim) -> None:
    """Prove it for each remainder of an integer."""
    from .rules import establish

    splits(claim)
    proof, modulus = claim.proof, integer(claim.proof["modulus"])
    name, quotient, each = proof["of"], proof["quotient"], items(proof["each"])
    declared = known(claim.variables, name, "declared size")
    need(not declared.real and declared.least is not None, f"{name} is no integer")
    need(1 <= modulus <= MOST_CASES and len(each) == modulus, "there is one case for each remainder")
    need(is_name(quotient) and quotient not in claim.variables, f"{short(quotient)} is no new name")
    for r, one in enumerate(each):
        value = ["+", ["*", str(modulus), ["var", quotient]], str(r)]
        said = {"relation": "=", "left": ["var", name], "right": value}
        least = max(0, -((r - declared.least) // modulus))
        more = {quotient: Variable(least)}
        establish(claim.under(claim.said, one, more=[hypothesis(proof["name"], said)], declared=more))


def by_lemma(claim: Claim) -> None:
    """Prove a relation, and then the claim with it."""
    from .rules import establish

    splits(claim)
    proof = claim.proof
    need(mapping(proof["lemma"]).get("relation") in RELATIONS, "a lemma is a relation")
    establish(claim.under(proof["lemma"], proof["because"]))
    establish(claim.under(claim.said, proof["then"], more=[hypothesis(proof["name"], proof["lemma"])]))


def by_parts(claim: Claim) -> None:
    """Prove each part."""
    from .rules import establish

    need(claim.relation == "all" and not claim.refuted, "this is no claim of several parts")
    claims, each = items(claim.said["claims"]), items(claim.proof["each"])
    need(claims and len(claims) == len(each), "each part has a proof")
    for said, one in zip(claims, each, strict=True):
        establish(claim.under(said, one))
