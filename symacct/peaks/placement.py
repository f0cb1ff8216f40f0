"""Which nodes are run again in backward: the segments of a checkpoint policy, placed on a graph."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import groupby
from types import MappingProxyType
from typing import TYPE_CHECKING

from symacct.algebra.evaluate import substitute
from symacct.errors import UsageError, unknown
from symacct.nodes import Graph, Node, Repeat, walk
from symacct.peaks.layers import Layered, has_layers, structure
from symacct.policy import Checkpoint

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from sympy import Expr

    from symacct.nodes import Step_


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
        layers: segments that go through repeats or bodies; None: each iteration of a repeat is a layer.
    """

    regions: Mapping[str, str]
    cuts: Mapping[str, Cut] = field(default_factory=lambda: MappingProxyType({}))
    nothing: bool = False
    kept: frozenset[str] = frozenset()
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
    return Checkpoint() if has_layers(whole) and not has_layers(graph) else checkpoint


def placed(graph: Graph, checkpoint: Checkpoint, cuts: Mapping[str, Cut] | None = None) -> Placement:
    """Return where a checkpoint policy puts its segments, with those that the graph has itself.

    Raises:
        UnknownNameError: a region or op that the graph does not have.
        UsageError: the policy wants a repeat and there is none, or segments would stand in segments.
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
    found = structure(graph)
    if not found.stacks:
        raise UsageError(
            f"graph {graph.name} repeats nothing, so that there are no blocks to cut",
            where=f"checkpoint {checkpoint.describe()}",
            expected="a graph with a repeat, or with layers that b.layer marks",
            got="none",
            fix="use selective:REGION with the name of a region or an op",
        )
    nothing = checkpoint.kind == "store-nothing"
    known = MappingProxyType({} if nothing else dict(cuts or {}))
    layers = Layered(found, checkpoint, known) if found.several else None
    return Placement(MappingProxyType({}), cuts=known, nothing=nothing, layers=layers)


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
