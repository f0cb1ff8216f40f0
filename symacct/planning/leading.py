"""What a number of parameters alone says, derived: FLOPs of a token and bytes for each parameter.

Nothing is typed in here. The 6 of 6ND is what a linear layer costs, forward and backward, for each of its
weights; the 12 of 12LHKS is what the attention of a decoder adds.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from symacct.account import derive
from symacct.algebra.evaluate import names_of
from symacct.algebra.normal import normal
from symacct.planning.entries import fraction
from symacct.policy import Policy
from symacct.readers.files import load

if TYPE_CHECKING:
    from fractions import Fraction

    from sympy import Expr

LAYER, DECODER = "linear", "llama"
"""The shipped graphs that the coefficients are derived from."""


@dataclass(frozen=True, slots=True)
class Leading:
    """Cost for each parameter, of a linear layer whose input has a gradient too, as inside a network.

    Attributes:
        forward: FLOPs of a token.
        model: with the backward pass, where there is one.
        static: bytes held; None where they are no multiple of the parameters.
    """

    forward: Fraction
    model: Fraction
    static: Fraction | None


@lru_cache(maxsize=64)
def leading(policy: Policy) -> Leading:
    """Return what a parameter costs under a policy.

    >>> found = leading(Policy(optimizer="adamw"))
    >>> int(found.forward), int(found.model), int(found.static)
    (2, 6, 12)
    """
    trains = policy.workload == "train"
    plain = Policy(
        policy.precision, policy.optimizer, workload="train" if trains else "forward", input_grad=trains
    )
    account = derive(load(LAYER), policy=plain)
    weights, tokens = account["params"].expr, account["tokens"].expr
    forward = fraction(normal(account["flops.forward"].expr / (weights * tokens)))
    model = fraction(normal(account["flops.model"].expr / (weights * tokens))) if trains else forward
    held = normal(account["memory.static"].expr / weights)
    return Leading(forward, model, None if names_of(held) else fraction(held))


@lru_cache(maxsize=8)
def attention(workload: str = "train") -> Expr:
    """Return the FLOPs of a token in which no weight takes part: the two products of attention.

    >>> attention(), attention("prefill")
    (12*H*K*L*S, 4*H*K*L*S)
    """
    trains = workload == "train"
    account = derive(load(DECODER), policy=Policy(workload="train" if trains else "forward"))
    name = "flops.model" if trains else "flops.forward"
    each = leading(Policy(workload=workload)).model
    return normal(account[name].expr / account["tokens"].expr - each * account["params.matmul"].expr)
