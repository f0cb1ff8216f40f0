"""Which integers the formulas of a condition serve, and the others: each has its own derivation.

A formula may hold from a least count on, or for counts that a length divides. It says nothing of
other sizes: they are derived one by one, up to a bound, and an answer that leaves some out says so.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING

from symacct.algebra.budget import check_time, counted
from symacct.algebra.symbols import symbol
from symacct.peaks.layers import layer_counts
from symacct.planning.solve_integers import conditions_set, joined, overlap, without
from symacct.planning.solve_sides import derived_at
from symacct.proof.lookup import UNDER

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from sympy import Expr

    from symacct.algebra.condition import Condition
    from symacct.planning.solve_integers import Ranges
    from symacct.planning.solve_reading import Asked

MOST_DERIVED = 400
"""The most sizes that are derived by themselves."""
MOST_STEPS = 60_000
"""The most steps of training steps that are written out for them: no size is begun after so many."""
HEAD = re.compile(r"\s*\\?(?:arg)?(?:min|max)_(?:\{\w+\}|\w+)\s*")
CALL = re.compile(r"[\w.]\(")


@dataclass(frozen=True, slots=True)
class Cases:
    """The integers from 1 on, by how the condition is known there.

    Attributes:
        served: where the formulas hold.
        alone: the sides at each size that is derived by itself; None where nothing can be derived.
        steady: from this size on everything is as at it; None where that is not known.
        left: where sizes that the formulas do not serve are not looked at.
        parted: whether the formulas serve some sizes between others: those that a length divides.
    """

    served: Ranges
    alone: Mapping[int, tuple[Expr, Expr] | None] = field(default_factory=dict)
    steady: int | None = None
    left: Ranges = field(default_factory=list)
    parted: bool = False

    def ranged(self, sizes: Iterable[int]) -> Ranges:
        """Return sizes as ranges; the one from which on all is as at it stands for those behind it."""
        return [(size, None if size == self.steady else size) for size in sizes]

    def among(self, asked: Asked) -> str:
        """Return which sizes an answer leaves out; nothing where it leaves out none."""
        if not self.left:
            return ""
        if not any(True for _ in overlap(self.served, self.left)):
            return f"{said(asked.name, self.left)} is not looked at"
        own = " and ".join(own_texts(asked))
        return f"of {said(asked.name, self.left)} only those with {own} are looked at"

    def notes(self, asked: Asked) -> tuple[str, ...]:
        """Return which sizes were derived by themselves."""
        if not self.alone:
            return ()
        where = said(asked.name, joined(self.ranged(self.alone)))
        own = " and ".join(own_texts(asked))
        return (f"the formulas hold for {own}; each other size is derived by itself: {where}",)


def said(name: str, ranges: Ranges) -> str:
    """Return ranges of integers in words.

    >>> said("k", [(1, 3), (5, 5), (37, None)])
    '1 <= k <= 3, k = 5, k >= 37'
    """
    return ", ".join(_run(name, first, last) for first, last in ranges)


def _run(name: str, first: int, last: int | None) -> str:
    if last is None:
        return f"{name} >= {first:,}"
    return f"{name} = {first:,}" if first == last else f"{first:,} <= {name} <= {last:,}"


# ---- where formulas hold ----


def own_conditions(asked: Asked) -> tuple[Condition, ...]:
    """Return the conditions on the unknown that formulas have, and neither an assumption nor the graph."""
    others = set(asked.stated.conditions)
    return tuple(one for one in _conditions(asked) if one not in others)


def demands(asked: Asked) -> tuple[Condition, ...]:
    """Return the conditions on the unknown that are assumed, or that the graph itself has."""
    own = own_conditions(asked)
    return tuple(one for one in _conditions(asked) if one not in own)


def with_demands(asked: Asked) -> str:
    """Return the unknown in words, with what it must satisfy: ``k with k divides 50``."""
    found = " and ".join(map(str, demands(asked)))
    return f"{asked.name} with {found}" if found else asked.name


def _conditions(asked: Asked) -> list[Condition]:
    return [one for one in asked.domain.conditions if one.names == [asked.name]]


def own_texts(asked: Asked) -> list[str]:
    """Return what formulas demand of the unknown, in words."""
    least = asked.domain.least(asked.name)
    start = [f"{asked.name} >= {least}"] if least > begins(asked) else []
    return [*start, *map(str, own_conditions(asked))]


def begins(asked: Asked) -> int:
    """Return the least integer that is asked about."""
    return max(1, asked.stated.least(asked.name))


def meant(asked: Asked) -> Ranges:
    """Return the integers that are asked about, those between multiples and divisors included."""
    return conditions_set(demands(asked), asked.name, begins(asked))


def is_meant(asked: Asked, size: int) -> bool:
    """Say whether a size satisfies what is assumed, and what the graph itself demands."""
    return size >= begins(asked) and all(one.holds({asked.name: size}) for one in demands(asked))


def is_served(asked: Asked, size: int) -> bool:
    """Say whether the formulas hold at a size."""
    if size < asked.domain.least(asked.name):
        return False
    return all(one.holds({asked.name: size}) for one in own_conditions(asked))


def cases_of(asked: Asked) -> Cases:
    """Return how the condition is known at each integer; what the formulas do not serve is derived.

    Raises:
        RuleError: nothing is known of where the formulas hold.
    """
    own = own_conditions(asked)
    least, start = max(1, asked.domain.least(asked.name)), begins(asked)
    asked_about = meant(asked)
    served: Ranges = list(overlap(conditions_set(own, asked.name, least), asked_about))
    if asked.again is None or (not own and least <= start):
        return Cases(served)
    parted = any(one.kind == "divides" for one in own)
    missing: Ranges = asked_about if parted else list(without(asked_about, served))
    missing = list(overlap(missing, [(1, _most(asked))]))
    uncut = _uncut(asked) if missing and missing[-1][1] is None else None
    steady = uncut if _is_steady(asked) else None
    behind: Ranges = []
    if uncut is not None:
        behind = list(overlap(missing, [(uncut + 1, None)])) if steady is None else []
        missing = joined([*overlap(missing, [(1, uncut)]), (uncut, uncut)])
    if steady is not None:
        served = list(overlap(served, [(1, steady - 1)]))
    alone, left = _derived(asked, missing, steady)
    left = joined([*left, *behind])
    return Cases(served, alone, steady, left, parted)


def _derived(
    asked: Asked, missing: Ranges, steady: int | None
) -> tuple[dict[int, tuple[Expr, Expr] | None], Ranges]:
    """Return the sides at sizes that the formulas do not serve, and where there were too many of them.

    The one from which on all is as at it comes first: there are endless ones behind it.
    """
    found: dict[int, tuple[Expr, Expr] | None] = {}
    if steady is not None:
        found[steady] = derived_at(asked, steady)
    with counted() as work:
        for size in _each(missing):
            check_time()
            if size in found or not is_meant(asked, size) or is_served(asked, size):
                continue
            if len(found) >= MOST_DERIVED or work.done > MOST_STEPS:
                return found, list(overlap(missing, [(size, None if steady is None else steady - 1)]))
            found[size] = derived_at(asked, size)
    return dict(sorted(found.items())), []


def _each(ranges: Ranges) -> Iterator[int]:
    for first, last in ranges:
        yield from count(first) if last is None else range(first, last + 1)


def _most(asked: Asked) -> int | None:
    """Return the largest size that demands allow: a divisor of a number is not above it."""
    most = [
        int(one.right)
        for one in demands(asked)
        if one.kind == "divides" and one.left == symbol(asked.name) and one.right.is_Integer and one.right > 0
    ]
    return min(most, default=None)


def _uncut(asked: Asked) -> int | None:
    """Return the length of a segment from which on nothing is cut; None where the unknown is no length."""
    if asked.account is None or asked.name in asked.account.source.sizes:
        return None
    counts = layer_counts(asked.account.graph)
    known = bool(counts) and all(one.is_Integer for one in counts)
    return max(1, *map(int, counts)) if known else None


def _is_steady(asked: Asked) -> bool:
    """Say whether the unknown is in a policy alone, so that lengths that cut nothing are all one."""
    if demands(asked):
        return False
    for text in (HEAD.sub("", asked.text), *asked.lets):
        bare = UNDER.sub("", text)
        if CALL.search(bare) or re.search(rf"(?<![\w.]){re.escape(asked.name)}(?!\w)", bare):
            return False
    return True
