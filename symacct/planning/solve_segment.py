"""The best length of a segment as an answer: regions with proofs, and the exact integer at sizes."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from symacct.errors import LimitError, RuleError
from symacct.planning.best_integer import best_integer
from symacct.planning.best_segment import best_segment
from symacct.planning.solve_answer import Solution
from symacct.planning.solve_cases import said
from symacct.planning.solve_integers import joined

if TYPE_CHECKING:
    from collections.abc import Iterable

    from symacct.account import Account
    from symacct.planning.best_integer import BestInteger
    from symacct.planning.solve_best import Objective
    from symacct.planning.solve_reading import Asked

PEAKS = ("memory.peak", "memory.activations.peak")


def is_segment(account: Account | None, objective: Objective, assume: Iterable[str]) -> bool:
    """Say whether what is asked is the length of a checkpoint's segment for which a peak is smallest."""
    if account is None or objective.largest or objective.rest or objective.inner.strip() not in PEAKS:
        return False
    every = account.policy.checkpoint.every
    return every is not None and str(every) == objective.name and not tuple(assume)


def with_segment(asked: Asked, objective: Objective, found: Solution | RuleError) -> Solution:
    """Return an answer with the regions in which lengths are best; at sizes the best integer too.

    Args:
        asked: the question.
        objective: the peak that is to be smallest.
        found: what was found by looking at the formula alone, or why nothing was.

    Raises:
        RuleError: neither way gives an answer.
    """
    assert asked.account is not None
    quantity = objective.inner.strip()
    bound = not [name for name in asked.account.source.sizes if name not in asked.account.source.bound]
    try:
        segment = best_segment(asked.account, quantity)
        whole = best_integer(asked.account, quantity) if bound else None
    except (LimitError, RuleError) as error:
        if isinstance(found, RuleError):
            raise found from None
        return replace(found, notes=(*found.notes, f"no regions were derived: {error.what}"))
    if isinstance(found, RuleError):
        if not segment.cases and whole is None:
            raise RuleError(
                found.what, expected="sizes for which the best length is known", got="; ".join(segment.notes),
                fix=found.fix,
            )  # fmt: skip
        found = Solution(asked, "best", "the formulas of the peak are convex in it, and were compared")
    found = replace(found, segment=segment, whole=whole)
    return found if whole is None or found.kind == "every" else _with_ranges(found, whole)


def _with_ranges(found: Solution, whole: BestInteger) -> Solution:
    """Return an answer with the integers that are best, each of which was looked at.

    Raises:
        RuleError: the formulas say otherwise.
    """
    best = [k for k, peak in enumerate(whole.peaks, 1) if peak == whole.peak]
    ranges = tuple(joined([(k, None if k == whole.count else k) for k in best]))
    if found.ranges and found.ranges != ranges and not found.asked.left_out:
        what = f"the formulas and the derivation at each {whole.name} disagree on the best"
        raise RuleError(
            what, expected=said(whole.name, list(ranges)), got=said(whole.name, list(found.ranges))
        )
    return replace(found, ranges=ranges)
