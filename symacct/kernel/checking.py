"""Checking one certificate as a whole.

The digest covers everything but the proof. Where there are hypotheses, an example must satisfy them all, as
from a contradiction anything follows; for an argmin that is claimed where it is possible, the example has
it. A claim may not be proved with a hypothesis that says the same up to a factor, unless the rule is
``given``, by which the theorem says so. The formulas that the statement rests on are what the derivation
says: they are read, and said, and not checked.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .claim import LIMITS, STATED, Claim, context_of
from .enclosure import value_at
from .form import digest, field, items, keys, load, mapping
from .ledger import check_ledger
from .points import satisfying
from .refusal import FORMAT, LARGEST_FILE, Refused, need
from .rules import REFUTING, establish
from .theorem import words

if TYPE_CHECKING:
    from .poly import Ratio

SAID = {"digest", "format", "statement", "variables", "hypotheses", "proof"}


def check(data: Any) -> list[str]:
    """Return the theorem in words, line by line.

    Raises:
        Refused: the certificate does not prove its statement.
    """
    keys(data, SAID, {"ledger"})
    need(data["format"] == FORMAT, f"the format is not {FORMAT}")
    need(data["digest"] == digest(data), "the digest does not fit statement, bounds, hypotheses and ledger")
    claim = claim_of(data)
    wanted = bool(claim.hypotheses or conditional(claim)) and claim.proof.get("rule") not in REFUTING
    need(("example" in claim.proof) == wanted, "missing: ['example']" if wanted else "not known: ['example']")
    if wanted:
        check_example(claim)
    establish(claim, frozenset({"closed", "anchors", "factorials", "example"}))
    if claim.proof["rule"] != "given":
        for name in claim.uses:
            not_circular(claim, name)
    unchecked = (
        check_ledger(data["ledger"], claim.box, claim.box.read(first(claim.said))) if "ledger" in data else []
    )
    return words(claim, {key: data["statement"][key] for key in STATED & set(data["statement"])}, unchecked)


def claim_of(data: dict[str, Any]) -> Claim:
    """Return the claim of a certificate, with the hypotheses that its proof uses in force."""
    statement = mapping(data["statement"])
    refuted = field(statement, "relation") == "refuted"
    said = {key: part for key, part in statement.items() if key not in STATED}
    for key in ("text", "read"):
        need(isinstance(statement.get(key, ""), str), f"the {key} is a text")
    if refuted:
        keys(said, {"relation", "claim"})
        said = mapping(said["claim"])
    need(field(said, "relation") != "whole", "this is no statement by itself")
    return Claim(context_of(data), said, data["proof"], refuted=refuted)


def first(said: dict[str, Any]) -> Any:
    """Return the left side of a statement, or of its first part."""
    if said["relation"] == "all":
        return first(items(said["claims"])[0])
    return first(said["first"]) if said["relation"] == "iff" else said["left"]


def conditional(claim: Claim) -> bool:
    """Say whether the claim is made only where a place is possible."""
    return "where" in claim.said


def check_example(claim: Claim) -> None:
    """Refuse unless all hypotheses hold at an example, and the place of an argmin is possible there."""
    point = satisfying(claim, claim.proof["example"])
    if conditional(claim):
        low, high = value_at(claim.said["right"], point, claim.context.meter)
        need(low == high == point.get(claim.said["over"]), "the place is not possible at the example")


def not_circular(claim: Claim, name: str) -> None:
    """Refuse a hypothesis that says what is to be proved, up to a factor, both as they are written."""
    one = claim.hypotheses[name]
    if claim.refuted or claim.relation in LIMITS or one["kind"] == "divides" or "left" not in claim.said:
        return
    try:
        box = Claim(claim.context, claim.said, {**claim.proof, "uses": {}}).box
        said, given = (gap_of(box, sides) for sides in (claim.said, one))
    except Refused:  # without the hypothesis the statement cannot be read: it says something else
        return
    if said and set(said) == set(given):
        turn = -1 if claim.relation[0] == "<" else 1
        ratio = turn * next(iter(said.values())) / given[next(iter(said))]
        same = all(turn * said[m] == ratio * given[m] for m in said)
        weak = one["kind"] == "equal" or (claim.relation != "=" and ratio > 0)
        need(not (same and weak), f"{name} is what is to be proved")


def gap_of(box: Any, sides: dict[str, Any]) -> dict[Any, Any]:
    """Return the numerator of the difference of two sides."""
    gap: Ratio = box.minus(box.read(sides["left"]), box.read(sides["right"]))
    return gap[0]


def run(path: str) -> tuple[int, str]:
    """Return 0 and the theorem in a file, 1 and why it is refused, or 2 and why it cannot be read."""
    try:
        with open(path, "rb") as file:  # noqa: PTH123 (as few imports as possible)
            data = load(file.read(LARGEST_FILE + 1))
    except (OSError, ValueError) as error:
        return 2, f"unreadable: {error}"
    try:
        return 0, "accepted: " + "\n  ".join(check(data))
    except Refused as why:
        return 1, f"refused: {why}"
