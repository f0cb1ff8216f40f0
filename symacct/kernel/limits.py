"""The rules ``rate``, ``constants`` and ``growth``, for ``~``, ``limit``, ``O`` and ``Theta``.

What grows is free (see `growth`), and the bounds below are shown for all sizes from the starts on; constants
depend on nothing that grows. Everything in ``over`` tends to infinity: a variable that grows, or the root or
the logarithm of such a thing. The right side is taken with the sign that the shift shows, if it shows one.

``rate``, for left ~ right: |left - f*right| <= C*r*|right| with r the sum of 1/h over ``over`` and right
not 0. So |left/right - f| <= C*r, which tends to 0: the ratio tends to f, which is 1 for ``~``. For a limit
right stands where f does, and 1 where right does: |left - right| <= C*r, with a right side that does not
grow. Refuted: f, seen to differ from 1, or from the right side of a limit; for ``Theta`` f is 0.
``constants``, for O: |left| <= C*right, so that right >= 0; for ``Theta`` also |left| >= c*right with c >
0. ``growth`` refutes ``O``, ``Theta``, ``~`` and a limit: |left| >= c*h*right with c > 0, right > 0 and one
h that tends to infinity, so that |left|/right has no bound; for a limit right is 1 here. A limit is refuted
at sizes: the certificate has an example, and from it on there are large sizes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .form import field, items, operation
from .poly import Ratio, constant
from .refusal import need
from .witness import prove

if TYPE_CHECKING:
    from .claim import Claim


def rates(claim: Claim) -> Ratio:
    """Return the sum of 1/h over what the proof says tends to infinity."""
    over, total = items(field(claim.proof, "over")), constant(0)
    need(over, "a rate needs something that grows")
    for one in over:
        need(tends(claim, one), "a rate is made of what grows, or its root or logarithm")
        total = claim.box.plus(total, claim.box.over(constant(1), claim.box.read(one)))
    return total


def tends(claim: Claim, expr: Any) -> bool:
    """Say whether an expression tends to infinity as what grows does."""
    head, *args = operation(expr)
    if head == "var":
        return len(args) == 1 and args[0] in claim.growing
    return head in {"sqrt", "log"} and len(args) == 1 and tends(claim, args[0])


def positive(claim: Claim) -> Ratio:
    """Return the right side, or its negative, whichever is seen to be positive; 1 for a limit."""
    if claim.relation == "limit":
        return constant(1)
    right = claim.right
    if claim.box.sure(right, strict=True):
        return right
    negative = claim.box.negative(right)
    need(claim.box.sure(negative, strict=True), "the right side is not seen to be positive")
    return negative


def by_rate(claim: Claim) -> None:
    """|left - f*right| is at most C*(1/h + ...)*|right|: the ratio tends to f."""
    box, relation = claim.box, claim.relation
    need(
        relation in {"~", "limit"} or (claim.refuted and relation == "Theta"),
        "a rate is about ~ and limits only",
    )
    right = positive(claim)
    limit = claim.fixed_side() if relation == "limit" else constant(1)
    factor = claim.fixed("factor") if claim.refuted else limit
    if claim.refuted:
        gap = box.minus(factor, limit)
        other = any(box.sure(one, strict=True) for one in (gap, box.negative(gap)))
        need(
            other if relation != "Theta" else not factor[0], "the ratio is not seen to tend to something else"
        )
    room = box.product(box.product(claim.fixed("constant"), rates(claim)), right)
    target = factor if relation == "limit" else box.product(factor, claim.right)
    gap = box.minus(claim.left, target)
    prove(box, box.minus(room, gap), claim.proof["below"])
    prove(box, box.plus(room, gap), claim.proof["above"])


def by_constants(claim: Claim) -> None:
    """|left| <= C*right, and for Theta |left| >= c*right with c > 0."""
    need(claim.relation in {"O", "Theta"} and not claim.refuted, "constants prove O and Theta only")
    box, left, right = claim.box, claim.left, claim.right
    if not box.sure(right) and box.sure(box.negative(right)):
        right = box.negative(right)
    room = box.product(claim.fixed("constant"), right)
    prove(box, box.minus(room, left), claim.proof["below"])
    prove(box, box.plus(room, left), claim.proof["above"])
    if claim.relation == "Theta":
        least = claim.fixed("least")
        need(box.sure(least, strict=True), "the lower constant is not seen to be positive")
        size = box.negative(left) if claim.proof.get("turned") == "1" else left
        prove(box, box.minus(size, box.product(least, right)), claim.proof["witness"])


def by_growth(claim: Claim) -> None:
    """|left| >= c*h*right with c > 0 and right > 0: the ratio has no bound."""
    need(claim.refuted and claim.growing, "growth refutes limits only")
    box, slope, right = claim.box, claim.fixed("constant"), positive(claim)
    rate = rates(claim)
    need(len(claim.proof["over"]) == 1, "growth is that of one size")
    need(box.sure(slope, strict=True), "the constant is not seen to be positive")
    if claim.relation == "limit":
        claim.fixed_side()
    size = box.negative(claim.left) if claim.proof.get("turned") == "1" else claim.left
    under = box.product(slope, box.over(right, rate))
    prove(box, box.minus(size, under), claim.proof["witness"])
