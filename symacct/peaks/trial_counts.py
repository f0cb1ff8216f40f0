"""The integers that a schedule is run at: small ones, at which no loop is empty by chance, or larger ones."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

from symacct.algebra.evaluate import evaluate, substitute
from symacct.algebra.normal import normal
from symacct.errors import RuleError
from symacct.nodes import Graph, Repeat, walk
from symacct.peaks.placement import outermost
from symacct.peaks.shaping import indices_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from sympy import Expr

    from symacct.peaks.shaping import Shape

MOST_RAISED = 400
"""How often a count is raised by 1 until no loop is empty by chance."""

FIRST_TURNS, FIRST_MICRO = 4, 3
"""Counts that the search begins with: two first turns, one in the middle and two last ones are the rule."""


def small_counts(shape: Shape) -> dict[str, int]:
    """Return the integers to begin with, for every symbol that a count is made of."""
    repeats = [r for r, _ in walk(shape.graph.nodes) if isinstance(r, Repeat)]
    indices = {r.index.name for r in repeats}
    free = {s.name for r in repeats for end in (r.lo, r.hi) for s in end.free_symbols} - indices
    counts = dict.fromkeys(sorted(s.name for s in shape.micro.free_symbols), FIRST_MICRO)
    counts |= dict.fromkeys(sorted(free), FIRST_TURNS)
    for cut in shape.cuts.values():
        parts = (cut.segments, cut.size, cut.rest)
        counts |= {s.name: FIRST_TURNS for part in parts for s in part.free_symbols}
    return completed(shape, counts)


def completed(shape: Shape, counts: Mapping[str, int]) -> dict[str, int]:
    """Return counts with segments at least as long as the last one, and what they add up to."""
    found = dict(counts)
    for cut in shape.cuts.values():
        size, rest = (int(evaluate(part, found)) for part in (cut.size, cut.rest))
        if size < rest:
            found |= {one.name: found[one.name] + rest - size for one in cut.size.free_symbols}
    return found | derived_counts(shape, found)


def thick(shape: Shape, counts: Mapping[str, int]) -> dict[str, int]:
    """Return counts at which no loop is empty by chance: larger ones where that takes larger ones.

    A loop whose turns depend on the turn of another one may be empty whatever the counts are: ``i`` turns, in
    the first turn. One of ``(N - 5)*(i + 1)`` turns is empty where N is 5, and what it does is not seen.

    Raises:
        RuleError: some loop stays empty.
    """
    found = dict(counts)
    for _ in range(MOST_RAISED):
        empty = next(_empty(shape.graph, found), None)
        if empty is None:
            return found
        raised = completed(shape, found | {name: found[name] + 1 for name in growing(empty, found)})
        if raised == found:
            break
        found = raised
    raise no_form(shape, [empty] if empty is not None else [], found)


def no_form(shape: Shape, counts: Iterable[Expr], at: Mapping[str, int]) -> RuleError:
    """Return the error that there is no one form; ``counts`` is where, ``at`` what was tried."""
    return RuleError(
        f"the schedule of graph {shape.graph.name} has no one form for every count",
        where=", ".join(sorted({str(shape.back.get(str(count), count)) for count in counts})),
        expected="turns of a loop after which what lives on from turn to turn stays the same",
        got=f"none within {max(at.values())} turns",
        fix="bind the counts of its repeats",
    )


def turning(graph: Graph) -> tuple[Repeat, ...]:
    """Return the repeats whose number of turns depends on the turn of another one."""
    indices = indices_of(graph)
    repeats = (node for node, _ in walk(graph.nodes) if isinstance(node, Repeat))
    return tuple(one for one in repeats if one.count.free_symbols & indices)


def growing(count: Expr, counts: Mapping[str, int]) -> tuple[str, ...]:
    """Return the symbols with which a number of turns grows, among those that counts are made of."""
    others = {one.name: 0 for one in count.free_symbols if one.name not in counts}
    here = evaluate(count, {**counts, **others})
    names = sorted(one.name for one in count.free_symbols if one.name in counts)
    return tuple(
        name for name in names if evaluate(count, {**counts, **others, name: counts[name] + 1}) > here
    )


def _empty(graph: Graph, counts: Mapping[str, int]) -> Iterator[Expr]:
    """Yield the number of turns of a loop where it is 0 or less, and would not be at other counts."""
    bound = turning(graph)
    for repeat, path in walk(graph.nodes):
        if repeat not in bound:
            continue
        for at in _iterations(path, counts):
            if int(evaluate(repeat.count, {**counts, **at})) > 0:
                continue
            ways = product(*((False, True) for _ in path))
            seen = [_seen_from(repeat.count, path, at, counts, way) for way in ways]
            if not any(one.is_Integer for one in seen):
                yield seen[0]


def _iterations(path: Sequence[Repeat], counts: Mapping[str, int]) -> Iterator[dict[str, int]]:
    """Yield the iterations of the loops around something."""
    if not path:
        yield {}
        return
    *outer, last = path
    for around in _iterations(outer, counts):
        low, high = (int(evaluate(end, {**counts, **around})) for end in (last.lo, last.hi))
        for here in range(low, high):
            yield {**around, last.index.name: here}


def _seen_from(
    count: Expr,
    path: Sequence[Repeat],
    at: Mapping[str, int],
    counts: Mapping[str, int],
    ends: Sequence[bool],
) -> Expr:
    """Return a number of turns with each iteration around told from the first one, or from the last one."""
    for repeat, end in zip(reversed(path), reversed(ends), strict=True):
        near = repeat.hi if end else repeat.lo
        there = int(evaluate(near, {**counts, **at}))
        count = substitute(count, {repeat.index.name: near + at[repeat.index.name] - there})
    return normal(count)


def reaching(shape: Shape, counts: Mapping[str, int]) -> dict[str, int]:
    """Return completed counts, with more segments where a count that these make up is to be larger."""
    found = completed(shape, counts)
    for repeat in outermost(shape.graph):
        cut = shape.cuts.get(repeat.name)
        names = {one.name for one in repeat.count.free_symbols}
        more = [one.name for one in cut.segments.free_symbols] if cut is not None else []
        while more and any(found[name] < counts[name] for name in names & counts.keys()):
            found = completed(shape, found | {name: found[name] + 1 for name in more})
    return found


def derived_counts(shape: Shape, counts: Mapping[str, int]) -> dict[str, int]:
    """Return the counts of repeats that are cut, from their segments."""
    found: dict[str, int] = {}
    for repeat in outermost(shape.graph):
        cut = shape.cuts.get(repeat.name)
        if cut is None:
            continue
        segments, size, rest = (int(evaluate(part, counts)) for part in (cut.segments, cut.size, cut.rest))
        whole = (segments - 1) * size + rest
        for one in repeat.count.free_symbols:
            found[one.name] = (
                counts.get(one.name, 0)
                + whole
                - int(evaluate(repeat.count, {**counts, one.name: counts.get(one.name, 1)}))
            )
    return found
