"""Which nodes are run again in backward: the segments of a checkpoint policy, placed on a graph."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import groupby
from types import MappingProxyType
from typing import TYPE_CHECKING

from symacct.algebra.evaluate import substitute
from symacct.algebra.normal import normal
from symacct.algebra.symbols import as_expr
from symacct.errors import LimitError, RuleError, UsageError, unknown
from symacct.nodes import Graph, Node, Repeat, walk
from symacct.peaks.binomial import again, least_slots, segments
from symacct.peaks.layers import Layered, has_layers, structure
from symacct.policy import Checkpoint

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from sympy import Expr

    from symacct.nodes import Step_


WRITTEN_OUT = ("binomial", "optimal")
"""Policies whose segments differ from iteration to iteration: all of them are written out."""

MOST_TURNS = 2_000
"""How many iterations of outermost repeats a schedule is written out for."""

MOST_AGAIN = 20_000
"""How many iterations that run again a schedule is written out for."""


@dataclass(frozen=True, slots=True)
class Cut:
    """How the iterations of the outermost repeats are cut into segments.

    ``segments - 1`` of them have ``size`` iterations, the last one has ``rest``: formulas, integers at a run.

    Attributes:
        per: layers of an iteration.
        each: layers of a segment where these are blocks of several segments; 0: a block is a segment.
    """

    segments: Expr
    size: Expr
    rest: Expr
    per: int = 1
    each: int = 0

    def substituted(self, known: Mapping[str, Expr]) -> Cut:
        """Return it with symbols replaced by name."""
        segments, size, rest = (substitute(one, known) for one in (self.segments, self.size, self.rest))
        return Cut(segments, size, rest, self.per, self.each)


@dataclass(frozen=True, slots=True)
class Placement:
    """Where segments stand.

    Attributes:
        regions: the region that a node or repeat belongs to, by label.
        cuts: how outermost repeats are cut, by name, if they are.
        nothing: whether the outermost repeats save nothing at all.
        kept: labels of nodes in a region whose outputs are kept all the same.
        segments: the first unit of a segment and the one after its last: any two of them stand apart, or one
            in the other. A unit is an iteration of an outermost repeat, or a node outside of repeats.
        layers: segments that go through repeats or bodies; None: each iteration of a repeat is a layer.
    """

    regions: Mapping[str, str]
    cuts: Mapping[str, Cut] = field(default_factory=lambda: MappingProxyType({}))
    nothing: bool = False
    kept: frozenset[str] = frozenset()
    segments: tuple[tuple[int, int], ...] = ()
    layers: Layered | None = None

    def runs(self, nodes: Sequence[Step_]) -> Iterator[tuple[str | None, list[Step_]]]:
        """Yield the nodes of one scope in order, those of one region together."""
        for region, run in groupby(nodes, key=lambda node: self.regions.get(node.label)):
            yield region, list(run)


def outermost(graph: Graph) -> tuple[Repeat, ...]:
    """Return the repeats that stand in no other one."""
    return tuple(node for node in graph.nodes if isinstance(node, Repeat))


def left(checkpoint: Checkpoint, whole: Graph, graph: Graph) -> Checkpoint:
    """Return what is left of a checkpoint policy for a graph without its repeats that run 0 times.

    What the whole graph does not have either stays, so that it is refused.
    """
    if checkpoint.kind == "selective":
        gone = [name for name in checkpoint.regions if _hits(whole, name) and not _hits(graph, name)]
        regions = tuple(name for name in checkpoint.regions if name not in gone)
        return replace(checkpoint, regions=regions) if regions else Checkpoint()
    if checkpoint.kind == "optimal":
        return checkpoint
    there = outermost if checkpoint.kind == "binomial" else has_layers
    return Checkpoint() if there(whole) and not there(graph) else checkpoint


def placed(
    graph: Graph,
    checkpoint: Checkpoint,
    cuts: Mapping[str, Cut] | None = None,
    sizes: Mapping[str, int] | None = None,
) -> Placement:
    """Return where a checkpoint policy puts its segments, with those that the graph has itself.

    Args:
        graph: the graph.
        checkpoint: the policy.
        cuts: how its outermost repeats are cut, if they are.
        sizes: what is known of the graph's sizes, beside those that are bound.

    Raises:
        UnknownNameError: a region or op that the graph does not have.
        UsageError: the policy wants a repeat and there is none, or segments would stand in segments.
        RuleError: the policy wants a count that is a symbol, or more iterations than are written out.
    """
    own = _own(graph)
    kept = frozenset(label for remat in graph.remats for label in remat.keep)
    if checkpoint.kind == "none":
        return Placement(MappingProxyType(own), kept=kept)
    if own:
        raise UsageError(
            f"graph {graph.name} has regions of its own that are run again",
            where=f"checkpoint {checkpoint.describe()}",
            expected="checkpoint none, or a graph without such regions",
            got=", ".join(sorted(set(own.values()))),
            fix="segments inside of segments are not derived: leave one of them out",
        )
    if checkpoint.kind == "selective":
        return Placement(MappingProxyType(_selected(graph, checkpoint.regions)))
    if checkpoint.segments is not None:
        return Placement(MappingProxyType({}), segments=checkpoint.segments)
    found = structure(graph)
    if not (outermost(graph) if checkpoint.slots is not None else found.stacks):
        raise UsageError(
            f"graph {graph.name} repeats nothing, so that there are no blocks to cut",
            where=f"checkpoint {checkpoint.describe()}",
            expected="a graph with a repeat, or with layers that b.layer marks",
            got="none",
            fix="use selective:REGION with the name of a region or an op",
        )
    if checkpoint.slots is not None:
        chosen = tuple(_binomial(graph, checkpoint.slots, sizes or {}))
        return Placement(MappingProxyType({}), segments=chosen)
    nothing = checkpoint.kind == "store-nothing"
    known = MappingProxyType({} if nothing else dict(cuts or {}))
    layers = Layered(found, checkpoint, known) if found.several else None
    return Placement(MappingProxyType({}), cuts=known, nothing=nothing, layers=layers)


def _binomial(graph: Graph, slots: int, sizes: Mapping[str, int]) -> Iterator[tuple[int, int]]:
    """Yield the segments of each outermost repeat, in units.

    Raises:
        RuleError: a count is a symbol.
        LimitError: there are too many iterations, or too many run again.
    """
    known = {name: as_expr(size) for name, size in sizes.items()}
    counts = {node.name: normal(substitute(node.count, known)) for node in outermost(graph)}
    for node in outermost(graph):
        if not counts[node.name].is_Integer:
            raise open_count(node, f"binomial:{slots}")
    _require_few(graph, [int(count) for count in counts.values()], slots)
    start = 0
    for step in graph.nodes:
        length = int(counts[step.name]) if isinstance(step, Repeat) else 1
        if isinstance(step, Repeat):
            yield from segments(length, slots, start)
        start += length


def _require_few(graph: Graph, counts: Sequence[int], slots: int) -> None:
    """Refuse what has too many iterations, or runs too many of them again, to be written out."""
    where, turns = f"checkpoint binomial:{slots}", sum(counts)
    if turns > MOST_TURNS:
        raise LimitError(
            f"graph {graph.name} has too many iterations to write their segments out",
            where=where,
            expected=f"at most {MOST_TURNS}",
            got=str(turns),
            fix="take a smaller count, or every:K, which has a formula",
        )
    runs = sum(again(count, slots) for count in counts if count)
    if runs > MOST_AGAIN:
        longest = max(counts)
        enough = least_slots(longest, MOST_AGAIN * longest // turns)
        raise LimitError(
            f"binomial:{slots} runs too many iterations of graph {graph.name} again to write them out",
            where=where,
            expected=f"at most {MOST_AGAIN} iterations that run again",
            got=str(runs),
            fix=f"use binomial:{enough}, which keeps more states, or take a smaller count",
        )


def open_count(repeat: Repeat, policy: str) -> RuleError:
    """Return the error for a repeat whose count has to be known."""
    names = ", ".join(f"{name}=8" for name in sorted(s.name for s in repeat.count.free_symbols))
    return RuleError(
        f"the segments of {policy} are others for each count of {repeat.name}: no formula holds for all",
        expected="an integer for the count",
        got=str(repeat.count),
        fix=f"bind it: --at {names}",
    )


def _own(graph: Graph) -> dict[str, str]:
    """Return the region of each node that stands in one of the graph's own, or below its name."""
    found: dict[str, str] = {}
    labels = [node.label for node, _ in walk(graph.nodes)] if graph.remats else []
    for remat in graph.remats:
        inside = {label for label in labels if label.startswith(f"{remat.name}/")}
        found |= dict.fromkeys((*remat.labels, *sorted(inside)), remat.name)
    return found


def _selected(graph: Graph, names: tuple[str, ...]) -> dict[str, str]:
    """Return the region of every node or repeat that lies in one of the named ones, or is one."""
    found: dict[str, str] = {}
    for name in names:
        hits = _hits(graph, name)
        if not hits:
            nodes = (node for node, _ in walk(graph.nodes) if isinstance(node, Node))
            parts = {part for node in nodes for part in node.label.split("/")}
            raise unknown("region or op", name, sorted(parts), where=f"graph {graph.name}")
        found |= hits
    return found


def _hits(graph: Graph, name: str) -> dict[str, str]:
    """Return the path of the named region around each node or repeat that lies in it, by label."""
    labels = [node.label for node, _ in walk(graph.nodes)]
    return {label: at for label in labels if (at := _within(label, name)) is not None}


def _within(label: str, name: str) -> str | None:
    """Return the path of the region with that name around a label, or None.

    >>> _within("layers/attention/core/mix", "core"), _within("layers/up", "core")
    ('layers/attention/core', None)
    """
    parts, wanted = label.split("/"), name.split("/")
    for start in range(len(parts) - len(wanted) + 1):
        if parts[start : start + len(wanted)] == wanted:
            return "/".join(parts[: start + len(wanted)])
    return None
