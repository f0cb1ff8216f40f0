"""What may be changed about a run so that it fits: which have a meaning, and what they hold.

Changes to the static state come first: no micro-batch and no checkpoint mends that.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import TYPE_CHECKING

from symacct.account import Account
from symacct.algebra.evaluate import names_of
from symacct.alternatives import FUSED, OFFLOAD, STATES
from symacct.errors import SizeError, SymacctError
from symacct.planning.entries import fraction
from symacct.planning.fit_peak import HOST
from symacct.policy import DTYPE_BITS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from sympy import Expr

    from symacct.planning.fit_room import Room
    from symacct.policy import Policy

STATIC = ("parameters", "gradients", "master", "optimizer")
NO_OPTIMIZER = {FUSED.name: "there is no separate update", OFFLOAD.name: "there is no optimizer"}
"""What has no meaning where nothing is updated, and why."""
CHANGES = {change.name: change for change in STATES}
WORDS: Mapping[str, str] = {name: change.meaning for name, change in CHANGES.items()}
"""Changes to the static state, with what they mean."""
LEAST_GAIN = Fraction(1, 100)
"""A pair is of use where it holds less than either change alone by this share of what was asked."""


@dataclass(frozen=True, slots=True)
class Static:
    """The static state under some changes.

    Attributes:
        changes: their names; none for what was asked.
        policy: the choices with them.
        parts: bytes by category on the devices, all four.
        formulas: the same as formulas of the account, in its sizes.
        per: the bytes over numbers of parameters, in words.
        host: bytes in the memory of the host.
        fits: whether the devices hold it.
        over: bytes beyond what they hold; negative where they hold it.
        devices: how many hold it at least.
    """

    changes: tuple[str, ...]
    policy: Policy
    parts: tuple[tuple[str, Fraction], ...]
    formulas: tuple[tuple[str, Expr], ...]
    per: str
    host: Fraction
    fits: bool
    over: Fraction
    devices: int

    @property
    def nbytes(self) -> Fraction:
        """All of it."""
        return sum((value for _, value in self.parts), Fraction(0))

    @property
    def offload(self) -> bool:
        """Whether states are on the host."""
        return OFFLOAD.name in self.changes


def changed(policy: Policy, change: str) -> Policy | str:
    """Return a policy with one change to the static state, or why it has no meaning.

    >>> from symacct.policy import Policy
    >>> name = "8-bit states"
    >>> changed(Policy(optimizer="adamw"), name).optimizer, changed(Policy(optimizer="sgd"), name)
    ('adam8bit', 'sgd has no states that adam8bit keeps in 8 bits')
    """
    if policy.workload != "train":
        return "nothing is trained"
    if policy.optimizer is None and change in NO_OPTIMIZER:
        return NO_OPTIMIZER[change]
    return CHANGES[change].of(policy)


def statics(
    account: Account, sizes: Mapping[str, int], room: Room
) -> tuple[list[Static], list[tuple[str, str]]]:
    """Return the static state as asked, of each change and useful pair; and what has no meaning, why.

    Raises:
        SizeError: the static state depends on sizes that are not given.
    """
    asked = static(account, sizes, (), room)
    singles: list[Static] = []
    unfit: list[tuple[str, str]] = []
    for change in WORDS if account.trains else ():
        found = _static_of(account, sizes, (change,), room)
        if isinstance(found, str):
            unfit.append((change, found))
        elif found.nbytes < asked.nbytes:
            singles.append(found)
        else:
            unfit.append((change, "it holds no fewer bytes"))
    return [asked, *singles, *_pairs(account, sizes, room, asked, singles)], unfit


def _pairs(
    account: Account, sizes: Mapping[str, int], room: Room, asked: Static, singles: list[Static]
) -> Iterator[Static]:
    for one, other in combinations(singles, 2):
        found = _static_of(account, sizes, (*one.changes, *other.changes), room)
        least = min(one.nbytes, other.nbytes) - LEAST_GAIN * asked.nbytes
        if not isinstance(found, str) and found.nbytes <= least:
            yield found


def _static_of(
    account: Account, sizes: Mapping[str, int], changes: tuple[str, ...], room: Room
) -> Static | str:
    policy = account.policy
    for change in changes:
        found = changed(policy, change)
        if isinstance(found, str):
            return found
        policy = found
    try:
        other = Account(account.source, policy, account.convention)
        return static(other, sizes, changes, room)
    except SizeError:
        raise
    except SymacctError as error:
        return error.what


def static(account: Account, sizes: Mapping[str, int], changes: tuple[str, ...], room: Room) -> Static:
    """Return the static state of an account under changes that its policy has already.

    Raises:
        SizeError: it depends on sizes that are not given.
    """
    bound = account.bind(sizes) if sizes else account
    formulas = [(p, account[f"memory.{p}"].expr) for p in STATIC if account.has(f"memory.{p}")]
    values = {part: _value(bound, f"memory.{part}") for part, _ in formulas}
    moved = HOST if OFFLOAD.name in changes else ()
    parts = tuple((part, Fraction(0) if part in moved else value) for part, value in values.items())
    whole = sum((value for _, value in parts), Fraction(0))
    host = sum((values.get(part, Fraction(0)) for part in moved), Fraction(0))
    return Static(
        changes, account.policy, parts, tuple((part, expr) for part, expr in formulas if part not in moved),
        per_parameter(bound, dict(parts)), host,
        room.fits(whole), whole - room.total, room.devices(whole),
    )  # fmt: skip


def _value(bound: Account, name: str) -> Fraction:
    expr = bound[name].expr
    if free := names_of(expr):
        meanings = ", ".join(f"{one} ({bound.graph.sizes.get(one, '')})" for one in free)
        raise SizeError(
            f"{name} depends on sizes that are not given", where=f"graph {bound.graph.name}",
            expected=meanings, got="no value", fix=f"add --at {','.join(f'{one}=...' for one in free)}",
        )  # fmt: skip
    return fraction(expr)


def per_parameter(bound: Account, parts: Mapping[str, Fraction]) -> str:
    """Return bytes as numbers of parameters times bytes of each: ``12 byte/parameter * N``.

    ``N`` is every parameter, ``T`` those that are trained where these are others; states in 8 bits
    have scales.

    >>> from symacct.account import derive
    >>> from symacct.readers.files import load
    >>> account = derive(load("mlp"), sizes={"D": 8, "L": 2}, optimizer="adamw")
    >>> per_parameter(account, {"parameters": Fraction(256), "optimizer": Fraction(1024)})
    '(2 + 8) byte/parameter * N = 10 byte/parameter * N'
    """
    whole, trained = fraction(bound["params"].expr), fraction(bound["params.trainable"].expr)
    scales = Fraction(0)
    if bound.policy.optimizer == "adam8bit" and parts.get("optimizer"):
        scales = parts["optimizer"] - 2 * trained * DTYPE_BITS["int8"] / 8
    each = {
        part: (value - (scales if part == "optimizer" else 0)) / (whole if part == "parameters" else trained)
        for part, value in parts.items()
        if value
    }
    tail = f" + 4 byte * {scales / 4} scales" if scales else ""
    if whole == trained:
        numbers = [_short(one) for one in each.values()]
        text = f"{_short(sum(each.values(), Fraction(0)))} byte/parameter * N"
        if scales:
            return f"({' + '.join(numbers)}) byte/parameter * N{tail}"
        return text if len(numbers) == 1 else f"({' + '.join(numbers)}) byte/parameter * N = {text}"
    frozen = f"{_short(each.pop('parameters'))} byte/parameter * N"
    rest = f" + {_short(sum(each.values(), Fraction(0)))} byte/parameter * T" if each else ""
    return f"{frozen}{rest}{tail}, T = {int(trained):,} trained"


def _short(value: Fraction) -> str:
    return str(value) if value.denominator <= 64 else f"{float(value):.4g}"
