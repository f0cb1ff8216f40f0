"""The layers of a model, whatever was folded: what they stand next to, and which of them make a segment.

A layer is a region that the graph marks as one, or an iteration of an outermost repeat that holds no marked
ones. Layers next to each other are a stack: through the body of a repeat, from iteration to iteration, and
from one outermost repeat to the next where that reads what the last one made. An op outside of layers ends a
stack. The layers of a stack are numbered, and each ``k`` of them are a segment.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby
from math import isqrt
from typing import TYPE_CHECKING

from symacct.algebra.evaluate import evaluate
from symacct.algebra.normal import normal
from symacct.algebra.symbols import as_expr
from symacct.errors import RuleError
from symacct.nodes import Graph, Node, Repeat, walk

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from sympy import Expr

    from symacct.nodes import Step_
    from symacct.peaks.placement import Cut
    from symacct.policy import Checkpoint

Occurrence = tuple[str, tuple[int, ...]]
"""A layer by name, and the iteration of each repeat around it."""


@dataclass(frozen=True, slots=True)
class One:
    """A layer."""

    name: str


@dataclass(frozen=True, slots=True)
class Gap:
    """What ends a stack: an op outside of layers, or a border where what follows reads something else."""

    label: str


@dataclass(frozen=True, slots=True)
class Loop:
    """A repeat with layers in its body, or whose iterations are the layers."""

    repeat: Repeat
    items: tuple[Item, ...]

    @property
    def plain(self) -> bool:
        """Whether an iteration is one layer."""
        return self.items == (One(self.repeat.name),)

    @property
    def solid(self) -> bool:
        """Whether the body is made of layers alone."""
        return all(isinstance(item, One) for item in self.items)

    @property
    def ends(self) -> tuple[int, int]:
        """How many layers the body begins and ends with."""
        runs = [(kind, len(list(run))) for kind, run in groupby(self.items, key=type)]
        first, last = runs[0], runs[-1]
        return first[1] * (first[0] is One), last[1] * (last[0] is One)


Item = One | Gap | Loop


@dataclass(frozen=True, slots=True, eq=False)
class Piece:
    """A segment while it runs.

    Attributes:
        stack: the number of its stack.
        depth: how many loops are around it, without that of micro-batches.
    """

    stack: int
    depth: int


@dataclass(frozen=True, slots=True)
class Structure:
    """The layers of a graph.

    Attributes:
        items: of its outermost scope.
        inside: the layer that a node lies in, by label.
        paths: the repeats around each layer, by its name.
    """

    items: tuple[Item, ...]
    inside: Mapping[str, str]
    paths: Mapping[str, tuple[str, ...]]

    @property
    def stacks(self) -> tuple[tuple[One | Loop, ...], ...]:
        """What is next to each other in the outermost scope."""
        runs = groupby(self.items, key=lambda item: isinstance(item, Gap))
        return tuple(tuple(i for i in run if not isinstance(i, Gap)) for gap, run in runs if not gap)

    @property
    def counts(self) -> tuple[Expr, ...]:
        """The number of layers of each outermost stack, those of its repeats as formulas."""
        return tuple(normal(sum((length(item) for item in stack), as_expr(0))) for stack in self.stacks)

    @property
    def several(self) -> bool:
        """Whether segments are more than the iterations of repeats, each for itself."""
        loops = [item for item in self.items if isinstance(item, Loop)]
        return any(not one.plain for one in loops) or any(
            len(stack) > 1 or isinstance(stack[0], One) for stack in self.stacks
        )

    def occurrences(self, known: Mapping[str, Expr]) -> Iterator[Occurrence | None]:
        """Yield the layers in order of execution at integer counts, and None where a stack ends."""
        yield from _occurrences(self.items, known, ())


@lru_cache(maxsize=64)
def _structure(nodes: tuple[Step_, ...], layers: tuple[str, ...]) -> Structure:
    inside: dict[str, str] = {}
    paths: dict[str, tuple[str, ...]] = {}
    found = _items(nodes, layers, (), (inside, paths))
    spaced: list[Item] = []
    before: set[str] = set()
    for item, part in found:
        if spaced and before.isdisjoint(_read(part)) and not isinstance(item, Gap):
            spaced.append(Gap(item.name if isinstance(item, One) else item.repeat.name))
        spaced.append(item)
        before = _made(part)
    return Structure(tuple(spaced), inside, paths)


def structure(graph: Graph) -> Structure:
    """Return the layers of a graph.

    >>> from symacct.readers.files import load
    >>> [(type(item).__name__, item.plain) for item in structure(load("mlp")).items]
    [('Loop', True)]
    """
    return _structure(graph.nodes, graph.layers)


def _items(
    nodes: Sequence[Step_],
    layers: tuple[str, ...],
    path: tuple[str, ...],
    noted: tuple[dict[str, str], dict[str, tuple[str, ...]]],
) -> list[tuple[Item, list[Step_]]]:
    """Return what a scope holds, with its nodes; note the layer of each node."""

    def of(node: Step_) -> str | None:
        return next((name for name in layers if node.label.startswith(f"{name}/")), None)

    inside, paths = noted
    found: list[tuple[Item, list[Step_]]] = []
    for name, run in groupby(nodes, key=of):
        part = list(run)
        if name is not None:
            found.append((One(name), part))
            inside |= {node.label: name for node, _ in walk(tuple(part))}
            paths[name] = path
            continue
        for node in part:
            if isinstance(node, Node):
                found.append((Gap(node.label), [node]))
                continue
            held = any(of(inner) is not None for inner, _ in walk(node.body))
            if not held and path:
                found.append((Gap(node.label), [node]))
            elif not held:
                found.append((Loop(node, (One(node.name),)), [node]))
                inside |= {inner.label: node.name for inner, _ in walk(node.body)}
                paths[node.name] = (node.name,)
            else:
                body = _items(node.body, layers, (*path, node.name), noted)
                found.append((Loop(node, tuple(item for item, _ in body)), [node]))
    return found


def _made(nodes: Sequence[Step_]) -> set[str]:
    made = {name for node in nodes if isinstance(node, Node) for name in node.outs}
    return made | {str(c.result) for node in nodes if isinstance(node, Repeat) for c in node.carry}


def _read(nodes: Sequence[Step_]) -> set[str]:
    inside = [node for node, _ in walk(tuple(nodes))]
    read = {name for node in inside if isinstance(node, Node) for name in node.ins}
    return read | {str(c.init) for node in inside if isinstance(node, Repeat) for c in node.carry}


def length(item: Item) -> Expr:
    """Return how many layers run in an item of the outermost scope."""
    if not isinstance(item, Loop):
        return as_expr(1 if isinstance(item, One) else 0)
    return normal(item.repeat.count * per_iteration(item))


def per_iteration(loop: Loop) -> Expr:
    """Return how many layers one iteration holds."""
    return normal(sum((length(item) for item in loop.items), as_expr(0)))


def _occurrences(
    items: Sequence[Item], known: Mapping[str, Expr], at: tuple[int, ...]
) -> Iterator[Occurrence | None]:
    for item in items:
        if isinstance(item, Gap):
            yield None
        elif isinstance(item, One):
            yield item.name, at
        else:
            lo, hi = (int(evaluate(end, known)) for end in (item.repeat.lo, item.repeat.hi))
            for i in range(lo, hi):
                yield from _occurrences(item.items, {**known, item.repeat.index.name: as_expr(i)}, (*at, i))


def has_layers(graph: Graph) -> bool:
    """Say whether there is anything that segments are made of."""
    return any(not isinstance(item, Gap) for item in structure(graph).items)


def layer_counts(graph: Graph) -> tuple[Expr, ...]:
    """Return the number of layers of each stack of a graph; ops in bodies are not looked at.

    >>> from symacct.readers.files import load
    >>> layer_counts(load("mlp"))
    (L,)
    """
    return structure(graph).counts


def length_of(checkpoint: Checkpoint, layers: int, known: Mapping[str, Expr]) -> int:
    """Return how many layers make a segment in a stack of so many; the root of it is rounded up.

    Raises:
        RuleError: it is no number here.
    """
    if checkpoint.kind == "sqrt":
        return isqrt(layers - 1) + 1 if layers else 1
    every = as_expr(checkpoint.every if checkpoint.every is not None else 1)
    missing = sorted(one.name for one in every.free_symbols if one.name not in known)
    if missing:
        raise open_length(checkpoint, "its layers stand in no repeat that is cut into equal segments")
    return int(evaluate(every, known))


def open_length(checkpoint: Checkpoint, why: str) -> RuleError:
    """Return the error for segments that have no formula while counts or their length are open."""
    return RuleError(
        "segments of layers have no formula here while the length or a count is open",
        where=f"checkpoint {checkpoint.describe()}",
        expected="a length and counts that are numbers, or a length that goes with the repeats",
        got=why,
        fix="give the length as a number and bind the counts (--at), or choose every:1",
    )


@dataclass(frozen=True, slots=True)
class Layered:
    """Segments of layers, to be numbered at integer counts."""

    structure: Structure
    checkpoint: Checkpoint
    cuts: Mapping[str, Cut]

    def at(self, known: Mapping[str, Expr]) -> Mapping[Occurrence, Piece]:
        """Return the segment of each layer."""
        found: dict[Occurrence, Piece] = {}
        runs = groupby(self.structure.occurrences(known), key=lambda one: one is None)
        stacks = (list(run) for gap, run in runs if not gap)
        for number, stack in enumerate(stacks):
            for segment in self._segments([one for one in stack if one is not None], known):
                piece = Piece(number, self._depth(segment))
                found |= dict.fromkeys(segment, piece)
        return found

    def _segments(
        self, stack: Sequence[Occurrence], known: Mapping[str, Expr]
    ) -> Iterator[Sequence[Occurrence]]:
        tops = (self._top(name) for name, _ in stack)
        cuts = [self.cuts[top] for top in tops if top is not None and top in self.cuts]
        if self.checkpoint.kind == "store-nothing":
            each = 1
        elif cuts:
            each = cuts[0].each or int(evaluate(cuts[0].size, known)) * cuts[0].per
        else:
            each = length_of(self.checkpoint, len(stack), known)
        for start in range(0, len(stack), each):
            yield stack[start : start + each]

    def _top(self, name: str) -> str | None:
        path = self.structure.paths[name]
        return path[0] if path else None

    def _depth(self, segment: Sequence[Occurrence]) -> int:
        """Return how many loops are around all of a segment."""
        if self.checkpoint.kind == "store-nothing":
            return 0
        if self._top(segment[0][0]) in self.cuts:
            return 1
        paths = {(self.structure.paths[name], at) for name, at in segment}
        return len(segment[0][1]) if len(paths) == 1 else 0


@dataclass(frozen=True, slots=True)
class How:
    """How the iterations of an outermost repeat are cut into segments of layers.

    Attributes:
        way: ``cut``: into blocks of iterations; ``body``: inside each iteration; ``apart``: each by itself.
        per: layers of an iteration.
        each: layers of a segment; None: the root of their number.
        last: whether the repeat ends its stack.
    """

    way: str
    per: int = 1
    each: Expr | None = None
    last: bool = True


def ways(graph: Graph, checkpoint: Checkpoint) -> dict[str, How]:
    """Return how each outermost repeat is cut; nothing where each iteration is a layer, all by themselves.

    Raises:
        RuleError: a stack has segments that are alike in no repeat, and its counts or their length are open.
    """
    own = structure(graph)
    if checkpoint.kind not in ("every", "sqrt") or not own.several:
        return {}
    found: dict[str, How] = {}
    for stack in own.stacks:
        found |= _ways(stack, checkpoint)
    return found


def _ways(stack: Sequence[One | Loop], checkpoint: Checkpoint) -> dict[str, How]:
    each = _each(stack, checkpoint)
    found: dict[str, How] = {}
    offset: Expr | None = as_expr(0)
    for place, item in enumerate(stack):
        if isinstance(item, One):
            offset = _after(offset, as_expr(1), each)
            continue
        last = place == len(stack) - 1
        how, offset = _way(item, each, offset, last=last, alone=len(stack) == 1)
        found[item.repeat.name] = how if last or offset == 0 else How("apart")
    if offset is None or any(how.way == "apart" for how in found.values()):
        loops = [item for item in stack if isinstance(item, Loop)]
        if (each is not None and not each.is_Integer) or not all(length(one).is_Integer for one in loops):
            raise open_length(checkpoint, "segments that go on from repeat to repeat, or through groups")
        return {name: How("apart") for name in found}
    return found


def _each(stack: Sequence[One | Loop], checkpoint: Checkpoint) -> Expr | None:
    """Return how many layers make a segment, or None for the root of a number that is open."""
    if checkpoint.kind == "every":
        return as_expr(checkpoint.every if checkpoint.every is not None else 1)
    whole = normal(sum((length(item) for item in stack), as_expr(0)))
    solid = all(isinstance(item, One) or item.solid for item in stack)
    return as_expr(length_of(checkpoint, int(whole), {})) if whole.is_Integer and solid else None


def _after(offset: Expr | None, layers: Expr, each: Expr | None) -> Expr | None:
    """Return how many layers of a segment have begun; None where that is open."""
    if each == 1:
        return as_expr(0)
    if offset is None or each is None or not each.is_Integer or not layers.is_Integer:
        return None
    return as_expr((int(offset) + int(layers)) % int(each))


def _way(
    loop: Loop, each: Expr | None, offset: Expr | None, *, last: bool, alone: bool
) -> tuple[How, Expr | None]:
    """Return how a repeat is cut, and how many layers of a segment have begun at its end."""
    apart = How("apart")
    if each == 1:
        return (How("cut", 1, each, last) if loop.plain else How("body")), as_expr(0)
    if not loop.solid:
        return _through(loop, each, offset, alone=alone)
    per = len(loop.items)
    if offset != 0 or (each is None and not alone):
        return apart, None
    layers = length(loop)
    if layers.is_Integer and each is not None and each.is_Integer:
        end = _after(offset, layers, each)
    else:
        end = as_expr(0)
    return How("cut", per, each, last), end


def _through(loop: Loop, each: Expr | None, offset: Expr | None, *, alone: bool) -> tuple[How, Expr | None]:
    """Return how a repeat is cut whose body holds ops outside of layers."""
    first, tail = loop.ends
    if any(isinstance(item, Loop) for item in loop.items):
        return How("apart"), None
    if each is None and alone and not (first and tail):
        return How("body"), as_expr(0)
    if each is None or not each.is_Integer:
        return How("apart"), None
    whole = not first or (offset == 0 and (not tail or tail % int(each) == 0))
    return How("body" if whole else "apart"), as_expr(tail % int(each))
