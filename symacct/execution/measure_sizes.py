"""Sizes to measure a graph at where none are given: small, middle and large, by what the machine predicts."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from symacct.algebra.evaluate import evaluate, names_of
from symacct.errors import SizeError
from symacct.evaluation.timing import quantity
from symacct.execution.sizes import choose_sizes
from symacct.nodes import repeat_counts

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from sympy import Expr

    from symacct.account import Account
    from symacct.machines import Machine

MOST_POWER = 27
SHORTEST_STEP, LONGEST_STEP = Fraction(1, 10**4), Fraction(3, 20)
MOST_BYTES = 3 * 10**9
FEW: Mapping[str, int] = {
    "heads": 4, "query heads": 4, "key-value heads": 2, "experts": 4, "experts that a token uses": 2,
    "sequences": 2,
}  # fmt: skip
"""Sizes that stay as they are while others grow, by what the graph says they mean."""
COUNT, DIVISOR = 4, 4


def scales(account: Account, machine: Machine, given: Mapping[str, int]) -> tuple[dict[str, int], ...]:
    """Return up to three sets of sizes: those that are free are a power of two, counts stay small.

    The largest takes a fraction of a second by prediction, and a bounded memory.

    Raises:
        SizeError: none is small enough.
    """
    if set(account.graph.order) <= given.keys():
        return (dict(given),)
    found = [sizes for sizes, seconds in _affordable(account, machine, given) if seconds >= SHORTEST_STEP]
    if not found:
        found = [sizes for sizes, _ in _affordable(account, machine, given)][-1:]
    if not found:
        return (_smallest(account, given),)
    places = sorted({0, len(found) // 2, len(found) - 1})
    return tuple(found[place] for place in places)


def _affordable(
    account: Account, machine: Machine, given: Mapping[str, int]
) -> Iterator[tuple[dict[str, int], Fraction]]:
    """Yield sizes, growing, with the seconds that are predicted for them."""
    time = quantity(account, machine, "time.step" if account.trains else "time.forward")
    scope = "step" if account.trains else "forward"
    written, weights = account[f"bytes.{scope}.written"].expr, account["memory.parameters"].expr
    for power in range(1, MOST_POWER):
        sizes = _scaled(account, given, 2**power)
        if not all(one.holds(sizes) for one in account.conditions):
            continue
        seconds = _number(time.value(sizes))
        nbytes = _number(evaluate(written + weights, sizes))
        if seconds > LONGEST_STEP or nbytes > MOST_BYTES:
            return
        yield sizes, seconds


def _scaled(account: Account, given: Mapping[str, int], scale: int) -> dict[str, int]:
    """Return all free sizes at a scale."""
    graph = account.graph
    counts = repeat_counts(graph)
    divisors = {name for one in account.conditions if one.kind == "divides" for name in names_of(one.left)}
    sizes = {}
    for name in graph.order:
        few = FEW.get(graph.sizes.get(name, ""))
        few = COUNT if name in counts else few or (DIVISOR if name in divisors else None)
        sizes[name] = given.get(name, scale if few is None else few)
    return sizes


def _smallest(account: Account, given: Mapping[str, int]) -> dict[str, int]:
    try:
        return dict(choose_sizes(account.graph, account.conditions, given))
    except SizeError as error:
        raise SizeError(
            f"no sizes were found at which to measure {account.graph.name}", expected=error.expected,
            got=error.got, fix="give all sizes with --at",
        ) from None  # fmt: skip


def _number(value: Expr) -> Fraction:
    return Fraction(int(value.p), int(value.q)) if value.is_Rational else Fraction(str(value.evalf(20)))
