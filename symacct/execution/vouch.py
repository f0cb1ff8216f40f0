"""What a check by torch cannot vouch for, said in full so that silence is no approval."""

from __future__ import annotations

from typing import TYPE_CHECKING

from symacct.algebra.evaluate import evaluate, names_of
from symacct.execution.states import OPTIMIZERS
from symacct.nodes import Node, walk
from symacct.ops.attention import FusedAttention
from symacct.ops.cast import Cast
from symacct.ops.einsum import Einsum
from symacct.ops.grouped import GroupedMatmul
from symacct.ops.optimizer import RULES
from symacct.tensor import FLOATING_DTYPES, FOLLOWING_DTYPES

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sympy import Expr

    from symacct.account import Account
    from symacct.nodes import Graph

EAGER = {
    FusedAttention: "torch's math attention keeps the probabilities, which a fused kernel makes again",
    GroupedMatmul: "torch keeps the rows gathered for each expert and their places, which no tensor here is",
}
"""Ops whose saved bytes in eager torch are another implementation's, with the reason."""

NO_CAST = "torch returns the tensor itself where it has the dtype already, and keeps it once"
IN_FP32 = {"float": "fp32", "stat": "fp32"}

ALWAYS = (
    "FLOPs outside of contractions (.all): torch counts contractions alone",
    "bytes moved and intensity: torch has no counter of them",
)
LOOSE = {"fp32": 1e-4, "bf16": 5e-2, "fp16": 5e-3}
"""How far gradients may differ where a graph casts to this dtype."""


def unmodelled(graph: Graph) -> dict[str, str]:
    """Return the nodes whose saved bytes eager torch makes up otherwise, with the reason."""
    found: dict[str, str] = {}
    for node, _ in walk(graph.nodes):
        if isinstance(node, Node):
            why = NO_CAST if _casts_nothing(graph, node) else EAGER.get(type(node.op))
            found |= {node.label: why} if why else {}
    return found


def _casts_nothing(graph: Graph, node: Node) -> bool:
    """Return whether a cast goes to the dtype that its tensor has in a run in fp32."""
    if not isinstance(node.op, Cast):
        return False
    before, after = (graph.tensors[name].dtype for name in (node.ins[0], node.outs[0]))
    return IN_FP32.get(before, before) == IN_FP32.get(after, after)


def products_of_one(account: Account, phase: str, sizes: Mapping[str, int]) -> int:
    """Return the FLOPs of the contractions that have an axis of size 1, or one that may be in an iteration.

    Torch may run such a contraction as an elementwise product, of which it counts nothing.
    """
    step = account.step
    labels = {
        node.label
        for node, _ in walk(step.graph.nodes if phase == "forward" else step.backward)
        if isinstance(node, Node)
        and isinstance(node.op, Einsum)
        and any(_may_be_one(dim, sizes) for name in node.ins for dim in step.tensor(name).dims)
    }
    terms = account.terms(f"flops.{phase}.matmul")
    return sum(int(evaluate(term.expr, sizes)) for term in terms if term.label in labels)


def _may_be_one(dim: Expr, sizes: Mapping[str, int]) -> bool:
    return not sizes.keys() >= {*names_of(dim)} or evaluate(dim, sizes) == 1


def tolerance(graph: Graph, usual: float) -> tuple[float, str]:
    """Return how far gradients may differ, and the dtype that it is loosened for, if any."""
    casts = {t.dtype for t in graph.tensors.values() if t.dtype in FLOATING_DTYPES} - {
        *FOLLOWING_DTYPES,
        "fp64",
    }
    worst = max(casts, key=lambda dtype: LOOSE[dtype], default="")
    return (LOOSE[worst], worst) if worst else (usual, "")


def cannot_vouch(account: Account) -> tuple[str, ...]:
    """Return what this check says nothing about."""
    found = [*ALWAYS]
    found += [f"saved bytes around {label}: {why}" for label, why in unmodelled(account.graph).items()]
    found += [f"{label}: no output depends on it, so that it is left out" for label in account.dead]
    absent = sorted(set(RULES) - set(OPTIMIZERS))
    if account.step.gradients:
        found.append(f"states of {', '.join(absent)}: torch has no such optimizer")
    else:
        found.append("the backward pass: nothing trains")
    return tuple(found)
