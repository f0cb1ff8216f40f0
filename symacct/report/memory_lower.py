"""What would lower a peak: the step derived again with another choice, at the same sizes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from symacct.adapters import parse_lora
from symacct.algebra.evaluate import evaluate
from symacct.algebra.symbols import as_expr
from symacct.derivation.alive import peak_at
from symacct.derivation.course import Course
from symacct.derivation.timeline import weight
from symacct.errors import RuleError, SymacctError
from symacct.policy import checkpoint

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from fractions import Fraction

    from sympy import Expr

    from symacct.account import Account
    from symacct.derivation.folding import Size
    from symacct.policy import Policy

POLICIES = ("every:1", "sqrt", "selective:core", "store-nothing")
EIGHT_BITS = {"adam": "adam8bit", "adamw": "adam8bit"}
ADAPTERS = "r=16"


@dataclass(frozen=True, slots=True)
class Option:
    """Another choice: its flags, and the peak it gives; None where it cannot be derived here."""

    flags: str
    value: Expr | None
    why: str = ""


def lower(account: Account, sizes: Mapping[str, int], now: Expr) -> tuple[Option, ...]:
    """Return what other choices give at integer sizes, the lowest peak first.

    >>> from symacct.account import derive
    >>> from symacct.readers.files import load
    >>> account = derive(load("mlp"), precision="fp32", checkpoint="every:4")
    >>> sizes = {"B": 64, "D": 4, "L": 16}
    >>> now = account.value("memory.peak", sizes)
    >>> [(one.flags, int(one.value)) for one in lower(account, sizes, now)][:2]
    [('--checkpoint store-nothing', 7048), ('--update fused', 10312)]
    """
    if not account.trains:
        return ()
    free = {name: size for name, size in sizes.items() if name not in account.graph.bound}
    bound = account.bind(free) if free else account
    found = [_option(bound, flags, policy) for flags, policy in _others(account.policy)]
    shown = [one for one in found if one is not None]
    return tuple(
        sorted(shown, key=lambda one: (one.value is None, one.value if one.value is not None else now))
    )


def _others(policy: Policy) -> Iterator[tuple[str, Policy]]:
    """Yield the other choices, each as its flags and the policy."""
    for text in POLICIES:
        other = checkpoint(text)
        if other != replace(policy.checkpoint, recompute="needed"):
            yield f"--checkpoint {text}", replace(policy, checkpoint=other)
    if policy.grads == "kept":
        yield "--grads fresh", replace(policy, grads="fresh")
    if policy.update == "separate" and policy.accumulate == 1:
        yield "--update fused", replace(policy, grads="fresh", update="fused")
    if policy.hold_output:
        yield "no --hold-output", replace(policy, hold_output=False)
    if policy.optimizer in EIGHT_BITS:
        name = EIGHT_BITS[policy.optimizer]
        yield f"--optimizer {name}", replace(policy, optimizer=name)
    if policy.lora is None:
        yield f"--lora {ADAPTERS}", replace(policy, lora=parse_lora(ADAPTERS))


def _option(account: Account, flags: str, policy: Policy) -> Option | None:
    """Return what a choice gives; None where it does not fit the graph."""
    try:
        return Option(flags, _peak(account, policy))
    except SymacctError as error:
        return Option(flags, None, error.what) if isinstance(error, RuleError) else None


def _peak(account: Account, policy: Policy) -> Expr:
    """Return the peak of a graph without free sizes under another policy."""
    from symacct.account import derive

    if policy.lora is not None and account.policy.lora is None:
        account = derive(account.source, policy=policy, convention=account.convention)
        course, beside = account.course, account.beside("memory.peak")
    else:
        other = type(account)(account.source, policy, account.convention)
        schedule = replace(policy, optimizer=account.policy.optimizer) == account.policy
        course = account.course if schedule else Course(account.graph, policy)
        beside = other.beside("memory.peak")

    def weigh(size: Size) -> Fraction:
        return weight(policy, size)

    return evaluate(beside + as_expr(peak_at(course, weigh, {})), {})
