"""Proofs of leading terms, O, Theta and limits, and of their refutation, from some sizes on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sympy import Integer

from symacct import kernel
from symacct.algebra.leading import degree_in, leading_term
from symacct.algebra.normal import normal
from symacct.errors import RuleError
from symacct.proof.limits import constant_for, fallers
from symacct.proof.prefix import Prefix, to_prefix

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sympy import Expr

    from symacct.kernel import Box, Ratio
    from symacct.proof.case import Case, Proof
    from symacct.proof.witness import Finder

STARTS = (None, 2, 3, 4, 8, 16, 64, 1024)
TIMES = (1, 2, 4)


def _starts(case: Case) -> Iterator[dict[str, Prefix]]:
    for start in STARTS:
        if start is None:
            yield {}
        else:
            yield {name: str(max(start, case.variables[name].least or 0)) for name in case.growing}


def _opened(
    case: Case, uses: dict[str, str]
) -> Iterator[tuple[dict[str, Prefix], Box, Finder, Ratio, Ratio]]:
    """Yield starts from which both sides can be read, with the box and the sides in it."""
    for starts in _starts(case):
        opened = case.box(uses, starts)
        if opened is None:
            continue
        box, finder = opened
        try:
            sides = [box.read(case.said[side]) for side in ("left", "right")]
        except kernel.Refused:
            continue
        yield starts, box, finder, sides[0], sides[1]


def _sized(box: Box, value: Ratio) -> Ratio | None:
    """Return a fraction with the sign that makes it positive, or None where it has none."""
    if box.sure(value, strict=True):
        return value
    negative = box.negative(value)
    return negative if box.sure(negative, strict=True) else None


def _times(times: int, constant: Prefix) -> Prefix:
    return constant if times == 1 else ["*", str(times), constant]


def rate(case: Case, uses: dict[str, str], factor: Expr | None = None) -> Proof | None:
    """Prove that the ratio tends to 1, or to a factor; or the left side to the right one or a factor."""
    for starts, box, finder, left, right in _opened(case, uses):
        sized: Ratio | None
        if case.relation == "limit":
            sized = box.read("1")
            target = right if factor is None else box.read(to_prefix(factor))
        else:
            sized = _sized(box, right)
            target = right if factor is None else box.product(right, box.read(to_prefix(factor)))
        if sized is None:
            continue
        gap = box.minus(left, target)
        for found in fallers(finder, box.over(gap, sized), case.growing, box.moving):
            for times in TIMES:
                constant = _times(times, found.constant)
                room = box.product(box.product(box.read(constant), found.falling(box)), sized)
                below = finder.find(box.minus(room, gap))
                above = finder.find(box.plus(room, gap)) if below else None
                if not above:
                    continue
                proof = {
                    "rule": "rate", "uses": uses, "constant": constant, "over": found.over,
                    "from": starts, "below": below, "above": above,
                }  # fmt: skip
                proof |= {} if factor is None else {"factor": to_prefix(factor)}
                if made := case.proved(proof):
                    return made
    return None


def bounded(case: Case, uses: dict[str, str]) -> Proof | None:
    """Prove O or Theta."""
    for starts, box, finder, left, right in _opened(case, uses):
        sized = _sized(box, right)
        if sized is None:
            continue
        found = constant_for(finder, box.over(left, sized), case.growing, box.moving)
        if case.hypotheses and len(case.growing) > 1:  # they may say which of what grows is the larger
            found += ["2"]
        for most in found:
            for times in TIMES:
                constant = _times(times, most)
                room = box.product(box.read(constant), sized)
                below = finder.find(box.minus(room, left))
                above = finder.find(box.plus(room, left)) if below else None
                if not above:
                    continue
                proof = {
                    "rule": "constants", "uses": uses, "constant": constant, "from": starts,
                    "below": below, "above": above,
                }  # fmt: skip
                if case.relation == "Theta":
                    proof |= _under(case, box, finder, left, sized) or {}
                if made := case.proved(proof):
                    return made
    return None


def _under(case: Case, box: Box, finder: Finder, left: Ratio, right: Ratio) -> dict[str, Any] | None:
    sized = _sized(box, left)
    if sized is None:
        return None
    for smaller in finder.lowered(sized):
        if not box.sure(smaller, strict=True):
            continue
        for most in constant_for(finder, box.over(right, smaller), case.growing, box.moving):
            for times in TIMES:
                least = ["/", "1", _times(times, most)]
                witness = finder.find(box.minus(sized, box.product(box.read(least), right)))
                if witness:
                    return {"least": least, "witness": witness, **({} if sized == left else {"turned": "1"})}
    return None


def elsewhere(case: Case, uses: dict[str, str]) -> Proof | None:
    """Refute by the limit of the ratio, or of the left side."""
    if case.relation == "O":
        return None
    left, right = (_under_definitions(case, uses, side) for side in (case.left, case.right))
    below = Integer(1) if case.relation == "limit" else right
    growing = list(case.growing)
    try:
        gap = degree_in(left, growing) - degree_in(below, growing)
        leads = [leading_term(side, growing)[0] for side in (left, below)]
    except RuleError:
        return None
    if gap > 0:
        return None
    factor = normal(leads[0] / leads[1]) if gap == 0 and leads[1] != 0 else Integer(0)
    return rate(case, uses, factor)


def unbounded(case: Case, uses: dict[str, str]) -> Proof | None:
    """Refute by growth without bound."""
    for starts, box, finder, left, stated in _opened(case, uses):
        sized = _sized(box, left)
        right = box.read("1") if case.relation == "limit" else _sized(box, stated)
        if sized is None or right is None:
            continue
        for over in (word for g in case.growing for word in _growing_words(g)):
            try:
                grown = box.product(right, box.read(over))
                box.over(right, box.read(over))
            except kernel.Refused:
                continue
            for most in constant_for(finder, box.over(grown, sized), case.growing, box.moving):
                for times in TIMES:
                    slope = ["/", "1", _times(times, most)]
                    witness = finder.find(box.minus(sized, box.product(box.read(slope), grown)))
                    proof = {
                        "rule": "growth", "uses": uses, "constant": slope, "over": [over],
                        "from": starts, "witness": witness,
                    }  # fmt: skip
                    proof |= {} if sized == left else {"turned": "1"}
                    if witness and (made := case.proved(proof)):
                        return made
    return None


def _growing_words(name: str) -> list[Prefix]:
    word: Prefix = ["var", name]
    return [word, ["sqrt", word], ["log", word]]


def _under_definitions(case: Case, uses: dict[str, str], side: Expr) -> Expr:
    for _ in case.hypotheses:
        for name, c in case.hypotheses.items():
            if uses.get(name) == "substitution" and c.kind == "equal":
                side = normal(side.xreplace({c.left: c.right}))
    return side
