"""Whether derived and counted agree on a graph: FLOPs, saved bytes, outputs and gradients, in float64."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from symacct.account import Account, derive
from symacct.algebra.evaluate import evaluate
from symacct.errors import RuleError
from symacct.execution.count import Counted, count
from symacct.execution.gradients import disagreements, execute
from symacct.execution.saved import compare_saved

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from random_graphs import RandomGraph

FLOAT64 = "params=fp64,grads=fp64,states=fp64,activations=fp64"
TOLERANCE = 1e-8


@dataclass(frozen=True)
class Outcome:
    """What a comparison found.

    Attributes:
        problems: each quantity that is not the same on both sides.
        formula: whether the symbolic formulas were compared; else the exact case of these sizes.
        refused: why the engine derives no saved bytes (or nothing at all), if it refuses.
        flops: contractions of both passes that were compared.
        saved: bytes that were compared.
        gradients: arrays that were compared.
    """

    problems: tuple[str, ...]
    formula: bool
    refused: str
    flops: int
    saved: int
    gradients: int


def compare(drawn: RandomGraph) -> Outcome:
    """Derive, run, and compare.

    Raises:
        NotFiniteError: a value is infinite or not a number.
    """
    symbolic = derive(drawn.graph, precision=FLOAT64, saves="torch")
    account, refused = _account(symbolic, drawn.sizes)
    try:
        _ = account.step
    except RuleError as error:
        return Outcome((), formula=False, refused=error.what, flops=0, saved=0, gradients=0)
    counted = count(account.step, drawn.sizes, dtype="fp64", seed=drawn.seed)
    executed = execute(account.step, drawn.sizes, seed=drawn.seed)
    wrong = [one.describe() for one in disagreements(executed, counted, TOLERANCE)]
    wrong += _flops(account, drawn.sizes, counted)
    saved = 0
    if not refused:
        found = compare_saved(account, drawn.sizes, counted.kept)
        saved = sum(found.derived.values())
        wrong += [f"saved by {label}: {pair[0]} != {pair[1]}" for label, pair in found.differences.items()]
    wrong += _gradient_bytes(account, drawn.sizes, counted)
    total = sum(counted.forward.values()) + sum(counted.backward.values())
    arrays = sum(g is not None for g in executed.gradients.values())
    return Outcome(tuple(wrong), account is symbolic, refused, total, saved, arrays)


def _account(symbolic: Account, sizes: Mapping[str, int]) -> tuple[Account, str]:
    """Return the account whose formulas hold at these sizes, and why saved bytes are refused, if they are."""
    try:
        when = symbolic["memory.activations"].when
        if all(sizes.values()) and all(condition.holds(sizes) for condition in when):
            return symbolic, ""
    except RuleError:
        pass
    bound = symbolic.bind(sizes)
    try:
        _ = bound.saved
    except RuleError as error:
        return bound, error.what
    return bound, ""


def _flops(account: Account, sizes: Mapping[str, int], counted: Counted) -> Iterator[str]:
    for phase, found in (("forward", counted.forward), ("backward", counted.backward)):
        derived = int(evaluate(account[f"flops.{phase}.matmul"].expr, sizes))
        if derived != sum(found.values()):
            yield f"flops.{phase}: {derived} != {dict(found)}"


def _gradient_bytes(account: Account, sizes: Mapping[str, int], counted: Counted) -> Iterator[str]:
    """Compare the bytes of the gradients of weights; an iteration that no cotangent reaches has none."""
    tensors = account.graph.tensors
    weights = [g for key, g in counted.gradients.items() if tensors[key[0]].role == "weight"]
    total = sum(g.nbytes for g in weights if g is not None)
    derived = int(evaluate(account["memory.gradients"].expr, sizes))
    if derived != total:
        yield f"memory.gradients: {derived} != {total}"
