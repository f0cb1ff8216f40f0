"""Looking quantities up: those of the graph at hand, those of another one, and those under another choice."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from symacct.account import Account
from symacct.adapters import parse_lora
from symacct.errors import UsageError, unknown
from symacct.policy import Policy, checkpoint, precision, whole_or_symbol
from symacct.readers.files import load

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from symacct.quantity import Quantity

ELSEWHERE = re.compile(r"([\w.]+)\((.+)\)")
UNDER = re.compile(r"[\w.]\(\s*([a-z_]+\s*=[^()<>]*)\)")
FLAGS = {"true": True, "false": False}


def _flag(text: str) -> bool:
    if text not in FLAGS:
        raise unknown("answer", text, FLAGS)
    return FLAGS[text]


READERS: Mapping[str, Callable[[str], object]] = {
    "checkpoint": checkpoint,
    "precision": precision,
    "lora": parse_lora,
    "accumulate": lambda text: whole_or_symbol(text, "the number of micro-batches"),
    "workload": str, "optimizer": str, "saves": str, "grads": str, "update": str,
    "hold_output": _flag, "input_grad": _flag,
}  # fmt: skip
"""How the choices of a policy are read that a claim may name, by the name of the field."""

_OTHERS: WeakKeyDictionary[Account, dict[str, Account]] = WeakKeyDictionary()


def lookup(
    account: Account | None, of: Callable[[Account, str], Quantity] = Account.__getitem__
) -> Callable[[str], Quantity] | None:
    """Return what finds quantities by name; `of` gives that of an account.

    ``flops.model`` is one of the graph at hand, ``flops.model(gelu)`` of another graph under the same policy
    and convention, ``memory.peak(checkpoint=none)`` of this one under another choice. Sizes of one name are
    the same.

    >>> from symacct.account import derive
    >>> find = lookup(derive(load("relu"), workload="forward"))
    >>> print(find("flops.forward.all"), find("flops.forward.all(gelu)"))
    B*D FLOP 5*B*D FLOP
    >>> find = lookup(derive(load("deep_linear"), checkpoint="every:1"))
    >>> print(find("memory.activations(checkpoint=none, precision=fp32)"))
    4*B*D*L byte
    """
    if account is None:
        return None

    def find(name: str) -> Quantity:
        elsewhere = ELSEWHERE.fullmatch(name)
        if elsewhere is None:
            return of(account, name)
        return of(_other(account, elsewhere.group(2)), elsewhere.group(1))

    return find


def _other(account: Account, text: str) -> Account:
    """Return the account of another graph, or of this one under other choices; derived once."""
    others = _OTHERS.setdefault(account, {})
    if text not in others:
        if "=" in text:
            others[text] = Account(account.source, under(account.policy, text), account.convention)
        else:
            others[text] = Account(load(text), account.policy, account.convention)
    return others[text]


def under(policy: Policy, text: str) -> Policy:
    """Return a policy with other choices: ``checkpoint=none, grads=kept``.

    Raises:
        UnknownNameError: no such choice.
        UsageError: one is given twice, or has no value.

    >>> found = under(Policy(), "checkpoint=every:4, grads=kept")
    >>> found.checkpoint.describe(), found.grads
    ('every:4', 'kept')
    """
    given: dict[str, str] = {}
    for part in text.split(","):
        name, _, value = (piece.strip() for piece in part.partition("="))
        name = name.replace("-", "_")
        if name not in READERS:
            raise unknown("choice", name, sorted(READERS), where=f"({text})")
        if name in given or not value:
            raise UsageError("a choice is made once", expected="NAME=VALUE, NAME=VALUE", got=text)
        given[name] = value
    return chosen(policy, given)


def chosen(policy: Policy, given: Mapping[str, str]) -> Policy:
    """Return a policy with choices that are given as texts."""
    return replace(policy, **{name: READERS[name](value) for name, value in given.items()})  # type: ignore[arg-type]


def names_under(text: str, policy: Policy) -> list[str]:
    """Return the symbols of the policies that a claim names: the k of ``memory.peak(checkpoint=every:k)``.

    >>> names_under("memory.peak(checkpoint=every:q) <= memory.peak", Policy())
    ['q']
    """
    found = [name for part in UNDER.findall(text) for name in under(policy, part).names]
    return list(dict.fromkeys([*policy.names, *found]))
