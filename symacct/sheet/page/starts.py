"""Sizes that a page starts from: those that are given, else powers of two that satisfy the conditions."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

from symacct.algebra.evaluate import evaluate
from symacct.algebra.symbols import as_expr

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from symacct.algebra.condition import Condition

USUAL, USUAL_COUNT = 64, 16
POWERS = tuple(1 << n for n in range(17))
ROUNDS, MOST_TOGETHER = 12, 2


def start_of(
    names: Sequence[str],
    given: Mapping[str, int],
    conditions: Iterable[Condition],
    counts: Iterable[str] = (),
) -> dict[str, int]:
    """Return a size for each name: the given ones, and powers of two under which the most conditions hold.

    Args:
        names: the sizes.
        given: those that are known.
        conditions: what should hold; those that cannot hold together are not all met.
        counts: sizes that count repeats, which start smaller.

    >>> from symacct.algebra.condition import Condition
    >>> from symacct.algebra.symbols import as_expr, symbol
    >>> B, D = symbol("B"), symbol("D")
    >>> start_of(["B", "D"], {"D": 48}, [Condition("at_least", B, 4 * D), Condition("divides", D, B * 3)])
    {'B': 256, 'D': 48}
    """
    few = frozenset(counts)
    sizes = {name: given.get(name, USUAL_COUNT if name in few else USUAL) for name in names}
    free = [name for name in names if name not in given]
    wanted = [one for one in conditions if set(one.names) <= sizes.keys()]
    for _ in range(ROUNDS):
        broken = [one for one in wanted if not holds(one, sizes)]
        if not broken:
            break
        best = min(_moves(broken, sizes, free), key=lambda move: _price(move, sizes, wanted), default=None)
        if best is None or not _better(best, sizes, wanted):
            break
        sizes |= best
    return sizes


def holds(condition: Condition, sizes: Mapping[str, int]) -> bool:
    """Return whether a condition holds at sizes, which may be fractions."""
    exact = {name: as_expr(value) for name, value in sizes.items()}
    if all(value.is_Integer for value in exact.values()):
        return condition.holds({name: int(value) for name, value in exact.items()})
    left, right = (evaluate(side, exact) for side in (condition.left, condition.right))
    if condition.kind == "divides":
        return bool((right / left).is_Integer) if left != 0 else bool(right == 0)
    return bool(left == right) if condition.kind == "equal" else bool(left >= right)


def _moves(
    broken: Iterable[Condition], sizes: Mapping[str, int], free: Sequence[str]
) -> Iterator[dict[str, int]]:
    """Yield changes of one size, or of two, that stand in a broken condition."""
    for one in broken:
        names = [name for name in free if name in one.names]
        for first, name in enumerate(names):
            yield from ({name: value} for value in POWERS if value != sizes[name])
            for other in names[first + 1 :]:
                yield from ({name: a, other: b} for a, b in product(POWERS[:12], repeat=MOST_TOGETHER))


def _price(
    move: Mapping[str, int], sizes: Mapping[str, int], wanted: Sequence[Condition]
) -> tuple[int, int, int]:
    """Return how many conditions a change leaves broken, how many sizes it changes, and how far."""
    at = {**sizes, **move}
    far = sum(abs(value.bit_length() - sizes[name].bit_length()) for name, value in move.items())
    return sum(not holds(one, at) for one in wanted), len(move), far


def _better(move: Mapping[str, int], sizes: Mapping[str, int], wanted: Sequence[Condition]) -> bool:
    return _price(move, sizes, wanted)[0] < sum(not holds(one, sizes) for one in wanted)
