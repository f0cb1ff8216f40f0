"""Choices of a policy that a page offers: the values of each, and the accounts under them, derived once."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING

from symacct.account import Account
from symacct.alternatives import OFFERED
from symacct.errors import SymacctError
from symacct.proof.lookup import chosen
from symacct.sheet.page.parts import Choice

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from symacct.nodes import Graph
    from symacct.policy import Policy

AXES = {axis: OFFERED[axis] for axis in ("checkpoint", "saves", "precision", "optimizer")}
"""The choices that a page offers, those first that change most; a row's own value is added to them."""

NONE = "none"


def value_of(policy: Policy, axis: str) -> str:
    """Return the value of a choice, as its flag takes it.

    >>> from symacct.policy import Policy
    >>> value_of(Policy(), "checkpoint"), value_of(Policy(), "optimizer")
    ('none', 'none')
    """
    found = getattr(policy, axis)
    if axis == "precision":
        return str(found.name)
    return str(found.describe()) if axis == "checkpoint" else str(found or NONE)


class Accounts:
    """Accounts under other choices than those of a row, each derived once for the whole page."""

    def __init__(self) -> None:
        """Start without any."""
        self.found: dict[object, Account | SymacctError] = {}
        self.sources: list[Graph] = []

    def under(self, account: Account, given: Mapping[str, str]) -> Account:
        """Return an account under other choices.

        Raises:
            SymacctError: they are refused.
        """
        place = self._place(account.source)
        if all(value_of(account.policy, axis) == value for axis, value in given.items()):
            self.found.setdefault((place, account.policy, account.convention), account)
            return account
        policy = _chosen(account.policy, given)
        key = (place, policy, account.convention)
        if key not in self.found:
            try:
                self.found[key] = Account(account.source, policy, account.convention)
            except SymacctError as error:
                self.found[key] = error
        made = self.found[key]
        if isinstance(made, SymacctError):
            raise made
        return made

    def _place(self, source: Graph) -> int:
        """Return a number for a graph: the same one for equal graphs."""
        found = next((place for place, known in enumerate(self.sources) if known == source), None)
        if found is not None:
            return found
        self.sources.append(source)
        return len(self.sources) - 1


def _chosen(policy: Policy, given: Mapping[str, str]) -> Policy:
    texts = {axis: value for axis, value in given.items() if (axis, value) != ("optimizer", NONE)}
    plain = replace(policy, optimizer=None) if given.get("optimizer") == NONE else policy
    return chosen(plain, texts)


def offered(policy: Policy, axis: str, differs: Callable[[str], bool | None]) -> Choice | None:
    """Return a choice with its values; None where none makes a difference.

    Args:
        policy: the choices at the start.
        axis: the name of the choice.
        differs: says whether a value makes a difference; None where it is refused.
    """
    start = value_of(policy, axis)
    found = {value: differs(value) for value in AXES[axis] if value != start}
    if not any(found.values()):
        return None
    values = [value for value in AXES[axis] if value == start or found[value] is not None]
    return Choice(axis, tuple(values if start in values else [start, *values]), start)


def limited(choices: Iterator[Choice | None], most: int) -> tuple[Choice, ...]:
    """Return the first choices whose combinations are no more than so many; the rest is not looked at."""
    kept: list[Choice] = []
    while most > 1:
        try:
            choice = next(choices)
        except StopIteration:
            break
        if choice is not None and len(choice.values) <= most:
            most //= len(choice.values)
            kept.append(choice)
    return tuple(kept)


def combinations(choices: Iterable[Choice]) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield every combination of choices: its key, and the value of each.

    >>> from symacct.sheet.page.parts import Choice
    >>> [key for key, _ in combinations([Choice("a", ("x", "y"), "x"), Choice("b", ("z",), "z")])]
    ['x|z', 'y|z']
    """
    found = tuple(choices)
    for values in product(*(choice.values for choice in found)):
        yield "|".join(values), {choice.name: value for choice, value in zip(found, values, strict=True)}
