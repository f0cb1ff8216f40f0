"""Other choices of a run that are worth a look: the one list, from which every verb takes its part."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from symacct.adapters import Lora
from symacct.policy import precision

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from symacct.policy import Policy

CHECKPOINTS = ("selective:core", "every:1", "sqrt", "store-nothing")
"""Checkpoint policies that need no choice of a number."""

OFFERED: Mapping[str, tuple[str, ...]] = {
    "workload": ("train", "prefill", "decode"),
    "checkpoint": ("none", *CHECKPOINTS[:2]),
    "saves": ("backward", "torch"),
    "precision": ("bf16", "bf16-master", "fp32"),
    "optimizer": ("sgd", "adamw", "adam8bit"),
}
"""Values of flags that a page offers beside those of a row."""


@dataclass(frozen=True, slots=True)
class Change:
    """One other choice.

    Attributes:
        name: what it is called.
        flags: how it is asked for; empty where no flag does.
        meaning: what it means.
        of: a policy with it, or why it has no meaning there.
    """

    name: str
    flags: str
    meaning: str
    of: Callable[[Policy], Policy | str]


def _eight(policy: Policy) -> Policy | str:
    if policy.optimizer not in ("adam", "adamw"):
        return f"{policy.optimizer or 'no optimizer'} has no states that adam8bit keeps in 8 bits"
    return replace(policy, optimizer="adam8bit")


def _fused(policy: Policy) -> Policy | str:
    if policy.update == "fused":
        return "there is no separate update"
    if policy.accumulate != 1 or policy.grads == "kept":
        return "gradients of several micro-batches, or kept ones, are added up before the update"
    return replace(policy, update="fused")


def _fresh(policy: Policy) -> Policy | str:
    return replace(policy, grads="fresh") if policy.grads == "kept" else "gradients are fresh already"


def _released(policy: Policy) -> Policy | str:
    return replace(policy, hold_output=False) if policy.hold_output else "the output is not held"


def _pure(policy: Policy) -> Policy | str:
    return replace(policy, precision=precision("bf16-pure"))


def _adapters(policy: Policy) -> Policy | str:
    return "adapters are trained already" if policy.lora is not None else replace(policy, lora=Lora(16))


EIGHT = Change(
    "8-bit states",
    "--optimizer adam8bit",
    "optimizer adam8bit: states in 8 bits, one fp32 scale for each block",
    _eight,
)
FUSED = Change(
    "fused update",
    "--update fused",
    "each gradient updates its parameter as it comes, and is dropped: no gradients are kept",
    _fused,
)
OFFLOAD = Change(
    "states on the host",
    "",
    "master copy and states of the optimizer in the memory of the host, and the update there",
    lambda policy: policy,
)
PURE = Change(
    "bf16-pure", "--precision bf16-pure", "precision bf16-pure: states in bf16, no master copy", _pure
)
ADAPTERS = Change(
    "LoRA",
    "--lora r=16",
    "r=16 on q,v: the weights are frozen, adapters alone are trained (another method)",
    _adapters,
)
FRESH = Change("fresh gradients", "--grads fresh", "gradients are dropped after each step", _fresh)
RELEASED = Change("output released", "no --hold-output", "the caller drops the output", _released)

STATES = (EIGHT, FUSED, OFFLOAD, PURE, ADAPTERS)
"""Changes to what is held through the whole step, which no micro-batch and no checkpoint lowers."""

READINGS: tuple[tuple[str, Mapping[str, object], Mapping[str, object]], ...] = (
    ("the gradient of the input is formed (--input-grad)", {"input_grad": True}, {}),
    ("attention counts the pairs that its mask allows (--attention exact)", {}, {"attention": "exact"}),
    ("attention counts half of the pairs (--attention half)", {}, {"attention": "half"}),
    ("products between activations are left out", {}, {"attention": "none"}),
    ("lookups are priced as products with one-hot rows", {}, {"embedding": "matmul"}),
    ("parameters used elementwise are priced like matmul weights (palm)", {}, {"vectors": "matmul"}),
    ("the product with the vocabulary is left out", {}, {"head": "left out"}),
    ("a sum of n terms costs n - 1 (--convention strict)", {}, {"strict": True}),
    ("masks take one byte and statistics are left out (--saves paper)", {"saves": "paper"}, {}),
    ("each op's output is saved (--saves lecture)", {"saves": "lecture"}, {}),
    ("what eager torch keeps is saved (--saves torch)", {"saves": "torch"}, {}),
)
"""Choices under which a claim may hold: the words, and what changes of the policy and of the convention."""
