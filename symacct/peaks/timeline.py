"""What is alive after each step of a schedule, at integer sizes: its worst moment, and what is there then."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from fractions import Fraction
from math import isqrt
from typing import TYPE_CHECKING, Protocol

from symacct.algebra.evaluate import evaluate
from symacct.algebra.normal import normal
from symacct.algebra.symbols import as_expr
from symacct.errors import SizeError
from symacct.nodes import Graph, Repeat, walk
from symacct.peaks.closing import closed
from symacct.peaks.layers import structure
from symacct.peaks.placement import MOST_TURNS, Cut, outermost, placed
from symacct.peaks.schedule import Choices, Schedule, Storage, scheduled

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from sympy import Expr

    from symacct.peaks.schedule import Action
    from symacct.policy import Policy

GRADIENT = "parameter gradient"

MOST_MICRO = 3
"""Micro-batches that are written out: from the second on, all are alike."""


class Weighed(Protocol):
    """What the bytes of an element depend on."""

    @property
    def dtype(self) -> str:
        """The dtype of an element."""
        ...

    @property
    def kind(self) -> str:
        """Value, recomputed, gradient, parameter gradient or loss."""
        ...


@dataclass(frozen=True, slots=True)
class Moment:
    """The worst moment of a schedule.

    Attributes:
        nbytes: alive then, without parameters, graph inputs and what the optimizer keeps.
        action: the step that ran.
        alive: the storages, oldest first.
    """

    nbytes: Fraction
    action: Action | None
    alive: tuple[Storage, ...]


def weight(policy: Policy, storage: Weighed) -> Fraction:
    """Return bytes per element of a storage; the ``paper`` account leaves statistics out."""
    if policy.saves == "paper" and storage.dtype == "stat":
        return Fraction(0)
    return policy.nbytes(storage.dtype, "weight gradient" if storage.kind == GRADIENT else "activation")


def choices_of(policy: Policy, micro: int) -> Choices:
    """Return what of a policy a schedule depends on."""
    return Choices(
        policy.saves,
        policy.checkpoint.recompute,
        policy.hold_output,
        policy.grads,
        policy.update,
        policy.input_grad,
        micro,
        as_expr(policy.accumulate),
        policy.loss == "none",
    )


def at_sizes(graph: Graph, policy: Policy, sizes: Mapping[str, int]) -> Schedule:
    """Return the schedule of a graph at integer sizes, every iteration written out.

    Raises:
        SizeError: there are too many iterations.
    """
    known = {name: as_expr(size) for name, size in sizes.items()}
    turns = {r.name: int(evaluate(r.count, known)) for r in outermost(graph)}
    if sum(turns.values()) > MOST_TURNS:
        raise SizeError(
            f"graph {graph.name} has too many iterations to write them out",
            expected=f"at most {MOST_TURNS}",
            got=str(sum(turns.values())),
            fix="take a smaller count",
        )
    micro = int(evaluate(as_expr(policy.accumulate), known))
    each = {} if structure(graph).several else turns
    cuts = {name: cut for name, n in each.items() if (cut := integer_cut(policy, n, known)) is not None}
    placement = placed(graph, policy.checkpoint, cuts, sizes)
    choices = choices_of(policy, min(micro, MOST_MICRO))
    whole = closed(graph) if policy.loss == "sum" else graph
    return scheduled(whole, graph.outputs, placement, choices, sizes)


def integer_cut(policy: Policy, count: int, known: Mapping[str, Expr]) -> Cut | None:
    """Return the segments of a policy for a count of iterations; the root of it is rounded up."""
    if policy.checkpoint.kind == "sqrt":
        size = isqrt(count - 1) + 1 if count else 1
    elif policy.checkpoint.every is not None:
        size = int(evaluate(policy.checkpoint.every, known))
    else:
        return None
    segments = max(-(-count // size), 1)
    return Cut(as_expr(segments), as_expr(size), as_expr(max(count - (segments - 1) * size, 0)))


def deaths(schedule: Schedule) -> Mapping[int, list[Storage]]:
    """Return the storages that die after each step, by its position."""
    found: defaultdict[int, list[Storage]] = defaultdict(list)
    for storage in schedule.storages:
        if not storage.forever:
            found[storage.last].append(storage)
    return found


def worst(
    schedule: Schedule, size: Callable[[Storage], Fraction], only: Callable[[Storage], bool] | None = None
) -> Moment:
    """Return the worst moment of a schedule, the first of several.

    Args:
        schedule: the steps.
        size: bytes of a storage.
        only: which storages count; all of them if left out.
    """
    ends, level, best, at = deaths(schedule), Fraction(0), Fraction(0), -1
    for position, action in enumerate(schedule.actions):
        level += sum(size(s) for s in action.makes if only is None or only(s))
        if level > best:
            best, at = level, position
        level -= sum(size(s) for s in ends.get(position, ()) if only is None or only(s))
    if at < 0:
        return Moment(best, None, ())
    alive = tuple(
        s
        for s in schedule.storages
        if s.born <= at and (s.forever or s.last >= at) and (only is None or only(s))
    )
    return Moment(best, schedule.actions[at], alive)


def sizes_at(graph: Graph, policy: Policy, sizes: Mapping[str, int]) -> Callable[[Storage], Fraction]:
    """Return the function that says how many bytes a storage takes at integer sizes."""
    indices = {r.name: r.index.name for r, _ in walk(graph.nodes) if isinstance(r, Repeat)}
    known: dict[tuple[object, ...], Fraction] = {}

    def size(storage: Storage) -> Fraction:
        key = (storage.tensor.dims, storage.tensor.dtype, storage.kind == GRADIENT, storage.at)
        if key not in known:
            at = {indices[name]: turn for name, turn in zip(storage.tensor.path, storage.at, strict=False)}
            elements = evaluate(normal(storage.tensor.numel), {**sizes, **at})
            known[key] = weight(policy, storage) * Fraction(int(elements.p), int(elements.q))
        return known[key]

    return size
