"""What would lower a peak: the step derived again with another choice, at the same sizes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from symacct.algebra.evaluate import evaluate
from symacct.algebra.symbols import as_expr
from symacct.alternatives import ADAPTERS, CHECKPOINTS, EIGHT, FRESH, FUSED, RELEASED
from symacct.errors import RuleError, SymacctError
from symacct.peaks.alive import peak_at
from symacct.peaks.timeline import weight
from symacct.planning.subject import batch_size
from symacct.policy import checkpoint

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from fractions import Fraction

    from sympy import Expr

    from symacct.account import Account
    from symacct.peaks.folding import Size
    from symacct.policy import Policy


@dataclass(frozen=True, slots=True)
class Option:
    """Another choice.

    Attributes:
        flags: how it is asked for.
        value: the peak it gives; None where it cannot be derived here.
        why: why it cannot.
        work: FLOPs of contractions of a step over those of the present choice; None where it has none.
    """

    flags: str
    value: Expr | None
    why: str = ""
    work: Expr | None = None


def lower(account: Account, sizes: Mapping[str, int], now: Expr) -> tuple[Option, ...]:
    """Return what other choices give at integer sizes: the lowest peak first, of equal ones the least work.

    >>> from symacct.account import derive
    >>> from symacct.readers.files import load
    >>> account = derive(load("mlp"), precision="fp32", checkpoint="every:4")
    >>> sizes = {"B": 64, "D": 4, "L": 16}
    >>> now = account.value("memory.peak", sizes)
    >>> [(one.flags, int(one.value), str(one.work)) for one in lower(account, sizes, now)][:2]
    [('--accumulate 2 at B=32', 6728, '1'), ('--checkpoint store-nothing', 7048, '61/21')]
    """
    if not account.trains:
        return ()
    free = {name: size for name, size in sizes.items() if name not in account.graph.bound}
    bound = account.bind(free) if free else account
    found = [_option(bound, flags, policy) for flags, policy in _others(account.policy)]
    found.append(_smaller_batch(account, free, bound))
    return tuple(sorted((one for one in found if one is not None), key=lambda one: _rank(one, now)))


def _rank(one: Option, now: Expr) -> tuple[bool, Expr, Expr]:
    value = now if one.value is None else one.value
    return one.value is None, value, as_expr(1) if one.work is None else one.work


def _others(policy: Policy) -> Iterator[tuple[str, Policy]]:
    """Yield the other choices, each as its flags and the policy."""
    for text in CHECKPOINTS:
        other = checkpoint(text)
        if other != replace(policy.checkpoint, recompute="needed"):
            yield f"--checkpoint {text}", replace(policy, checkpoint=other)
    for change in (FRESH, FUSED, RELEASED, EIGHT, ADAPTERS):
        # a fused update drops each gradient, and kept ones with it
        changed = change.of(replace(policy, grads="fresh") if change is FUSED else policy)
        if not isinstance(changed, str):
            yield change.flags, changed


def _option(account: Account, flags: str, policy: Policy) -> Option | None:
    """Return what a choice gives; None where it does not fit the graph."""
    try:
        other = _other(account, policy)
        return Option(flags, _peak(account, other), work=_work(account, other))
    except SymacctError as error:
        return Option(flags, None, error.what) if isinstance(error, RuleError) else None


def _smaller_batch(account: Account, sizes: Mapping[str, int], bound: Account) -> Option | None:
    """Return what two micro-batches of half the size give; None where the batch is odd or has no size."""
    name = _batch(account)
    size = sizes.get(name, 1) if name is not None else 1
    if name is None or size % 2 or account.policy.accumulate != 1 or account.policy.update != "separate":
        return None
    flags = f"--accumulate 2 at {name}={size // 2}"
    try:
        half = type(account)(account.source, replace(account.policy, accumulate=2), account.convention)
        half = half.bind({**sizes, name: size // 2})
        return Option(flags, _peak(half, half), work=_work(bound, half))
    except SymacctError:
        return None


def _batch(account: Account) -> str | None:
    """Return the size that is split into micro-batches: it counts sequences, or whatever a pass works on."""
    tokens = account.graph.tokens
    if tokens is None:
        return None
    return str(tokens) if as_expr(tokens).is_Symbol else batch_size(account)


def _other(account: Account, policy: Policy) -> Account:
    """Return an account without free sizes under another policy."""
    from symacct.account import derive

    if policy.lora is not None and account.policy.lora is None:
        return derive(account.source, policy=policy, convention=account.convention)
    return type(account)(account.source, policy, account.convention)


def _peak(account: Account, other: Account) -> Expr:
    """Return the peak of an account without free sizes; another one may lend its course."""
    policy = other.policy
    same = replace(policy, optimizer=account.policy.optimizer) == account.policy
    course = account.course if same else other.course

    def weigh(size: Size) -> Fraction:
        return weight(policy, size)

    return evaluate(other.beside("memory.peak") + as_expr(peak_at(course, weigh, {})), {})


def _work(account: Account, other: Account) -> Expr | None:
    """Return the FLOPs of contractions of a step over those of another; None where that one has none."""
    mine, theirs = account.policy, other.policy
    if (mine.checkpoint, mine.lora, mine.accumulate) == (theirs.checkpoint, theirs.lora, theirs.accumulate):
        return as_expr(1)
    before, after = (evaluate(one["flops.hardware"].expr, {}) for one in (account, other))
    return None if before == 0 else after / before
