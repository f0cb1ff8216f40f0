"""Checkpoint policies that are worth a try on a graph, and the segment length with the lowest peak."""

from __future__ import annotations

from dataclasses import replace
from math import gcd
from typing import TYPE_CHECKING

from symacct.account import Account
from symacct.algebra.evaluate import evaluate
from symacct.alternatives import CHECKPOINTS
from symacct.errors import RuleError, SymacctError
from symacct.peaks.layers import layer_counts
from symacct.planning.entries import fraction
from symacct.planning.fit_peak import uneven
from symacct.planning.fit_search import divisors
from symacct.policy import Checkpoint, checkpoint

if TYPE_CHECKING:
    from collections.abc import Iterator
    from fractions import Fraction

    from symacct.planning.fit_changes import Static
    from symacct.planning.fit_options import Step

FEW = 12
"""Counts of iterations up to this are tried with every length of a segment."""
LENGTH = "k"
UNEVEN = "its last segment would be shorter, which takes long to derive: ask for it; every:k divides evenly"


def checkpoints(step: Step, asked: Static) -> tuple[list[Checkpoint], list[tuple[str, str]]]:
    """Return the checkpoints that the graph has, the one asked first; what has no meaning, and why."""
    mine = asked.policy.checkpoint
    found, unfit = [mine], []
    if not step.account.trains:
        return found, []
    for name in CHECKPOINTS:
        one = checkpoint(name)
        if one == mine:
            continue
        reason = _reason(step, asked, one)
        if reason:
            unfit.append((name, reason))
        else:
            found.append(one)
    try:
        best = best_length(step, asked)
    except SymacctError as error:
        unfit.append(("every:k", error.what))
        return found, unfit
    if best is not None and best not in found:
        found.append(best)
    return found, unfit


def _reason(step: Step, asked: Static, one: Checkpoint) -> str:
    """Return why a checkpoint is not tried; empty where it is."""
    account = Account(
        step.account.source, replace(asked.policy, checkpoint=one, accumulate=1), step.account.convention
    )
    try:
        if account.recomputes and uneven(account):
            return UNEVEN
        step.peak(asked, one, 1).nbytes(step.micro)
    except SymacctError as error:
        return error.what
    return ""


def best_length(step: Step, asked: Static) -> Checkpoint | None:
    """Return the checkpoint ``every:k`` whose peak is lowest at the micro-batch asked; None without layers.

    Where layers are many, the lengths are those that divide their number.
    """
    found = layer_counts(step.account.graph)
    if not found or not all(one.is_Integer for one in found):
        return None
    counts = [int(one) for one in found]
    whole = gcd(*counts)
    lengths = range(1, max(counts) + 1) if max(counts) <= FEW else divisors(whole)
    peaks = dict(_symbolic(step, asked, whole)) if max(counts) > FEW else {}
    for length in lengths:
        if length in peaks or (length == max(counts) and length > 1):
            continue
        one = step.peak(asked, _every(length), step.accumulate)
        if not uneven(one.account):
            peaks[length] = one.walked(step.micro).nbytes
    if not peaks:
        return None
    best = min(sorted(peaks), key=lambda length: peaks[length])
    return _every(best)


def _every(length: int) -> Checkpoint:
    return checkpoint(f"every:{length}")


def _symbolic(step: Step, asked: Static, whole: int) -> Iterator[tuple[int, Fraction]]:
    """Yield peaks of lengths from the formula over the length, where it holds."""
    name = _new_name(step.account)
    policy = replace(asked.policy, checkpoint=checkpoint(f"every:{name}"), accumulate=min(step.accumulate, 2))
    account = Account(step.account.source, policy, step.account.convention)
    try:
        formulas, conditions = account.candidates(), account.course.conditions
    except RuleError:
        return
    for length in divisors(whole):
        sizes = {
            name: length,
            **({} if step.batch is None or step.micro is None else {step.batch: step.micro}),
        }
        if all(one.holds(sizes) for one in conditions):
            yield length, max(fraction(evaluate(one, sizes)) for one in formulas)


def _new_name(account: Account) -> str:
    name = LENGTH
    while name in account.graph.sizes or name in account.graph.aliases:
        name += "_"
    return name
