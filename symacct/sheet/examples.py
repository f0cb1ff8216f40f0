"""Sizes for examples where none are given: powers of two that satisfy what the formulas ask for."""

from __future__ import annotations

import random
import re
from itertools import islice
from typing import TYPE_CHECKING

from symacct.errors import SymacctError
from symacct.nodes import repeat_counts

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from symacct.account import Account
    from symacct.algebra.condition import Condition

TRIES, SEED = 400, 0
FEW = re.compile(r"([\w-]+ )?(heads|experts)\b")
"""Meanings of sizes of which there are few."""
COUNT, SMALLEST, STEPS = 4, 3, 6


def example_sizes(
    names: Sequence[str],
    conditions: Iterable[Condition],
    counts: Iterable[str] = (),
    lower: Mapping[str, int] | None = None,
    few: Iterable[str] = (),
) -> dict[str, int]:
    """Return a size for each name, always the same; none where no such sizes were found.

    A size that divides others is small, as are those of which there are few; one that divides, or is at most,
    another of these is 4, as is one that counts repeats; the others grow from name to name.

    >>> from symacct.algebra.condition import Condition
    >>> from symacct.algebra.symbols import symbol
    >>> example_sizes(["h", "a", "L"], [Condition("divides", symbol("a"), symbol("h"))], ["L"])
    {'h': 16, 'a': 8, 'L': 4}
    """
    conditions, least = tuple(conditions), lower or {}
    for sizes in islice(_tried(names, conditions, frozenset(counts), frozenset(few)), TRIES):
        if all(size >= least.get(name, 1) for name, size in sizes.items()) and _fit(sizes, conditions):
            return sizes
    return {}


def of_account(account: Account) -> dict[str, int]:
    """Return example sizes for a whole account."""
    graph = account.graph
    names = [*(name for name in graph.order if name not in graph.bound), *account.policy.names]
    conditions = (*account.conditions, *(one for name in account.names() for one in _when(account, name)))
    few = [name for name, meaning in graph.sizes.items() if FEW.match(meaning)]
    return example_sizes(names, conditions, repeat_counts(graph), few=few)


def _when(account: Account, name: str) -> tuple[Condition, ...]:
    try:
        return account[name].when
    except SymacctError:
        return ()


def _tried(
    names: Sequence[str], conditions: Sequence[Condition], counts: frozenset[str], few: frozenset[str]
) -> Iterator[dict[str, int]]:
    divides = [(each.left, each.right) for each in conditions if each.kind == "divides"]
    most = [(each.right, each.left) for each in conditions if each.kind == "at_least"]
    small = few.union(one.name for left, _ in divides for one in left.free_symbols)
    below = {
        a.name for a, b in (*divides, *most) if a.is_Symbol and b.is_Symbol and {a.name, b.name} <= small
    }
    first: dict[str, int] = {}
    for place, name in enumerate(name for name in names if name not in counts):
        first[name] = (
            2 ** (SMALLEST if name in small else SMALLEST + 1 + place % STEPS) if name not in below else COUNT
        )
    yield {name: first.get(name, COUNT) for name in names}
    dice = random.Random(SEED)  # noqa: S311 (examples, the same ones each time)
    while True:
        yield {name: 2 ** dice.randint(1, SMALLEST + STEPS) for name in names}


def _fit(sizes: Mapping[str, int], conditions: Iterable[Condition]) -> bool:
    try:
        return all(one.holds(sizes) for one in conditions)
    except SymacctError:
        return False
