"""Looking quantities up: of the graph at hand, a region of it, another graph, or under another choice."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from symacct.account import Account
from symacct.adapters import parse_lora
from symacct.algebra.winner import AtLargest
from symacct.errors import RuleError, UsageError, unknown
from symacct.nodes import walk
from symacct.policy import Policy, checkpoint, precision, whole_or_symbol
from symacct.quantity import Quantity, add_up
from symacct.readers.files import list_graphs, list_models, load
from symacct.terms import PEAKS, QUANTITIES

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from symacct.terms import Term

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

REGION, GRAPH, AXIS = "region", "graph", "axis"
"""Keywords in the brackets of a quantity, beside choices of a policy; the last is kept for later."""

FILES = (".py", ".json")

_OTHERS: WeakKeyDictionary[Account, dict[str, Account]] = WeakKeyDictionary()


@dataclass(frozen=True, slots=True)
class Place:
    """What a name with brackets is of: an account, its plain quantity, and a region of its graph or None."""

    account: Account
    quantity: str
    region: str | None = None

    def terms(self) -> tuple[Term, ...]:
        """Return the terms of the quantity; of those of a region, which may be none.

        Raises:
            RuleError: it is no sum of terms.
        """
        found = self.account.terms(self.quantity)
        return found if self.region is None else tuple(one for one in found if _under(self.region, one.label))


def lookup(
    account: Account | None, of: Callable[[Account, str], Quantity] = Account.__getitem__
) -> Callable[[str], Quantity] | None:
    """Return what finds quantities by name; `of` gives that of an account.

    ``flops.model`` is one of the graph at hand, ``flops.model(core)`` of a region of it or of an op by its
    label, ``flops.model(gelu)`` of another graph under the same policy and convention, ``memory.peak(
    checkpoint=none)`` of this one under another choice. ``region=`` and ``graph=`` say which is meant. Sizes
    of one name are the same.

    >>> from symacct.account import derive
    >>> find = lookup(derive(load("relu"), workload="forward"))
    >>> print(find("flops.forward.all"), find("flops.forward.all(gelu)"))
    B*D FLOP 5*B*D FLOP
    >>> find = lookup(derive(load("deep_linear"), checkpoint="every:1"))
    >>> print(find("memory.activations(checkpoint=none, precision=fp32)"))
    4*B*D*L byte
    >>> print(lookup(derive(load("gpt")))("flops.forward(region=core)"))
    4*L*b*h*s^2 FLOP when a divides h
    """
    if account is None:
        return None

    def find(name: str) -> Quantity:
        found = place(account, name)
        if found.region is not None:
            return _of_region(found)
        quantity = of(found.account, found.quantity)
        _require_one_formula(quantity, name, found.account)
        return quantity

    return find


def _require_one_formula(quantity: Quantity, name: str, account: Account) -> None:
    """Refuse what is another formula in each region of sizes: a statement would be of none of them.

    Raises:
        RuleError: it is.
    """
    several = quantity.expr.atoms(AtLargest)
    if several:
        raise RuleError(
            f"{name} of graph {account.graph.name} is another formula where another formula is the peak",
            expected="sizes at which it is one formula",
            got=f"{max(len(one.pairs) for one in several)} formulas, each in its region",
            fix="bind the sizes (--at)",
        )


def place(account: Account, name: str) -> Place:
    """Return what a name is of: the brackets hold a region, a graph, or keywords.

    Raises:
        UnknownNameError: there is no such region, graph or choice.
        UsageError: a word is both a region and a graph; a keyword is given twice, or has no value.
    """
    elsewhere = ELSEWHERE.fullmatch(name)
    if elsewhere is None:
        return Place(account, name)
    quantity, inside = elsewhere.group(1), elsewhere.group(2).strip()
    if "=" not in inside:
        return _bare(account, quantity, inside)
    given = _keywords(inside)
    label, graph = given.pop(REGION, None), given.pop(GRAPH, None)
    owner = account if graph is None else _other(account, graph)
    owner = owner if not given else _chosen(owner, given)
    if label is not None and not _adds_up(quantity):
        what, expected = f"{quantity} does not add up over the ops of a region", "a quantity that adds up"
        raise RuleError(what, where=name, expected=expected, got=quantity)
    if label is not None and label not in _regions(owner, quantity):
        known = [one for one in _regions(owner, quantity) if one]
        raise unknown("region or op", label, known, where=f"{name}, graph {owner.graph.name}")
    return Place(owner, quantity, label)


def _bare(account: Account, quantity: str, word: str) -> Place:
    """Return what a word alone in brackets names: a region of the graph, or another graph."""
    inside = _adds_up(quantity) and word in _regions(account, quantity)
    outside = word.endswith(FILES) or word in _graphs()
    if inside and outside:
        raise UsageError(
            f"{word} is a region of {account.graph.name}, and a graph of its own",
            where=f"{quantity}({word})",
            expected=f"{quantity}({REGION}={word}) or {quantity}({GRAPH}={word})",
            got=word,
        )
    if inside:
        return Place(account, quantity, word)
    if not outside:
        known = [*_regions(account, quantity), *_graphs()]
        raise unknown("region or graph", word, known, where=f"{quantity}({word})")
    return Place(_other(account, word), quantity)


def _adds_up(quantity: str) -> bool:
    """Say whether a quantity is a sum of terms, each of an op, a tensor or a weight."""
    return quantity in QUANTITIES and quantity not in (*PEAKS, "tokens") and "intensity" not in quantity


def _graphs() -> list[str]:
    return [*(entry.name for entry in list_graphs()), *(entry.name for entry in list_models())]


def _regions(account: Account, quantity: str) -> list[str]:
    """Return the regions of a graph and its ops by their labels, also by the last parts of them."""
    labels = [str(node.label) for node, _ in walk(account.graph.nodes)]
    labels += [name for name in account.graph.tensors if name in account.graph.weights]
    if quantity in QUANTITIES and account.has(quantity):
        labels += _labels(account, quantity)
    parts = (label.split("/") for label in labels)
    spans = (
        "/".join(one[start:end])
        for one in parts
        for start in range(len(one))
        for end in range(start + 1, len(one) + 1)
    )
    return list(dict.fromkeys(spans))


def _labels(account: Account, quantity: str) -> list[str]:
    """Return the labels of the terms of a quantity; none where it is no sum."""
    try:
        return [term.label for term in account.terms(quantity)]
    except RuleError:
        return []


def _under(region: str, label: str) -> bool:
    return f"/{region}/" in f"/{label}/"


def _of_region(found: Place) -> Quantity:
    """Return what the ops of a region have of a quantity: a sum over them."""
    whole = found.account[found.quantity]
    parts = (Quantity(term.expr, term.unit) for term in found.terms())
    return Quantity(add_up(parts, whole.unit).expr, whole.unit, whole.when)


def _other(account: Account, graph: str) -> Account:
    """Return the account of another graph under the same choices; derived once."""
    others = _OTHERS.setdefault(account, {})
    if graph not in others:
        others[graph] = Account(load(graph), account.policy, account.convention)
    return others[graph]


def _chosen(account: Account, given: Mapping[str, str]) -> Account:
    """Return the account of the same graph under other choices; derived once."""
    others = _OTHERS.setdefault(account, {})
    key = ", ".join(f"{name}={value}" for name, value in sorted(given.items()))
    if key not in others:
        others[key] = Account(account.source, chosen(account.policy, given), account.convention)
    return others[key]


def _keywords(text: str) -> dict[str, str]:
    """Return what stands in brackets by keyword: ``region=core, checkpoint=none``.

    Raises:
        UnknownNameError: no such keyword.
        UsageError: one is given twice, or has no value; or is one that is not read yet.
    """
    given: dict[str, str] = {}
    for part in text.split(","):
        name, _, value = (piece.strip() for piece in part.partition("="))
        name = name.replace("-", "_")
        if name == AXIS:
            what, expected = "axis= is kept for later, and not read", f"{REGION}=, {GRAPH}= or a choice"
            raise UsageError(what, where=f"({text})", expected=expected, got=part.strip())
        if name not in (*READERS, REGION, GRAPH):
            raise unknown("choice", name, sorted([*READERS, REGION, GRAPH]), where=f"({text})")
        if name in given or not value:
            raise UsageError("a choice is made once", expected="NAME=VALUE, NAME=VALUE", got=text)
        given[name] = value
    return given


def under(policy: Policy, text: str) -> Policy:
    """Return a policy with other choices: ``checkpoint=none, grads=kept``; a region and a graph are none.

    Raises:
        UnknownNameError: no such choice.
        UsageError: one is given twice, or has no value.

    >>> found = under(Policy(), "checkpoint=every:4, grads=kept")
    >>> found.checkpoint.describe(), found.grads
    ('every:4', 'kept')
    """
    given = _keywords(text)
    return chosen(policy, {name: value for name, value in given.items() if name not in (REGION, GRAPH)})


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
