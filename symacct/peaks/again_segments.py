"""What stands in which segment, and how often: what is needed to count what a second pass moves."""

from __future__ import annotations

from typing import TYPE_CHECKING

from symacct.algebra.normal import normal, same
from symacct.algebra.symbols import as_expr
from symacct.derivation.ranges import over
from symacct.errors import RuleError
from symacct.nodes import Repeat, walk
from symacct.peaks.placement import placed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sympy import Expr

    from symacct.derivation.ranges import Box
    from symacct.nodes import Step_
    from symacct.peaks.course import Course
    from symacct.peaks.layers import Occurrence, Piece


class Segments:
    """The segments of a graph, each under a number.

    Attributes:
        of: the segment of each node, and of each repeat that runs again as a whole, by label.
        cut: the repeat whose iterations a segment is made of, by segment.
        alike: whether a node stands in the same segment, or in one like it, in every iteration.
    """

    def __init__(self, course: Course) -> None:
        """Place the segments."""
        self.course = course
        course.conditions  # noqa: B018 (from here on the course has its final form)
        self.placement = placed(course.graph, course.policy.checkpoint, course.shape.cuts)
        self.of: dict[str, int] = {}
        self.cut: dict[int, Repeat] = {}
        together = self._together()
        self.alike = together is not None and not self.placement.segments
        self.together = together or {}
        self.indices = {r.index for r, _ in walk(course.graph.nodes) if isinstance(r, Repeat)}
        self.known: dict[str, Expr] = {}
        self._place(course.graph.nodes, None, outer=True)

    def _place(self, nodes: Sequence[Step_], inside: int | None, *, outer: bool) -> None:
        """Number the segments of a scope, in order; nothing inside of one opens another."""
        for region, run in self.placement.runs(nodes):
            here = inside
            if here is None and region is not None:
                here = self._next()
            for node in run:
                mine = self.together.get(node.label) if here is None else here
                if mine is not None:
                    self.of[node.label] = mine
                if not isinstance(node, Repeat):
                    continue
                if mine is None and outer and self._is_cut(node.name):
                    mine = self._next()
                    self.cut[mine] = node
                self._place(node.body, mine, outer=False)

    def _is_cut(self, name: str) -> bool:
        """Say whether the segments of a repeat are made of whole iterations."""
        cut = self.placement.cuts.get(name)
        return self.placement.nothing if cut is None else not cut.each

    def _together(self) -> dict[str, int] | None:
        """Return the segments of marked layers, each by a number, by label; None where iterations differ."""
        course = self.course
        layers = placed(course.shape.graph, course.policy.checkpoint, course.shape.cuts).layers
        if layers is None:
            return {}
        if self.placement.nothing:
            return None
        counts = {name: as_expr(count) for name, count in course.form.counts.items()}
        pieces: dict[Piece, list[Occurrence]] = {}
        for one, piece in layers.at(counts).items():
            path = layers.structure.paths[one[0]]
            if not path or not self._is_cut(path[0]):
                pieces.setdefault(piece, []).append(one)
        numbers: dict[tuple[str, ...], int] = {}
        found: dict[str, int] = {}
        for ones in pieces.values():
            names = tuple(name for name, _ in ones)
            number = numbers.setdefault(names, len(numbers))
            if len({at for _, at in ones}) > 1 or any(found.setdefault(n, number) != number for n in names):
                return None
        return {label: found[name] for label, name in layers.structure.inside.items() if name in found}

    def _next(self) -> int:
        return 1 + max((*self.of.values(), *self.cut, *self.together.values()), default=-1)

    def runs(self, label: str) -> bool:
        """Say whether a node runs again at all."""
        return label in self.course.runs_again

    # ---- how often ----

    def times(self, label: str, each: Expr) -> Expr:
        """Return a formula in a node's iteration, summed over all the times that it runs again."""
        if each.free_symbols & self.indices:
            return self.course.again(label, each)
        if label not in self.known:
            self.known[label] = self.course.again(label, as_expr(1))
        return normal(each * self.known[label])

    def before_last(self, label: str, each: Expr) -> Expr:
        """Return the same without the last iteration of each segment, for a node in iterations that are cut.

        Raises:
            RuleError: it cannot be told in which iterations the node runs again.
        """
        count, whole, last = self.times(label, as_expr(1)), self.whole(label), self.lasts(label)
        if same(count, normal(whole - last)):
            return self.times(label, each)
        if not same(count, whole):
            raise uncertain(label)
        if each.free_symbols & self.indices:
            raise RuleError(
                f"what {label} hands on within a segment changes from iteration to iteration",
                expected="sizes that are the same in every iteration",
                got="a size that depends on the index of a repeat",
                fix="choose --bytes algorithmic",
            )
        return normal(each * (whole - last))

    def whole(self, label: str) -> Expr:
        """Return how often a node would run again if each segment ran to its end."""
        repeat = self.cut[self.of[label]]
        if self.placement.nothing:
            return normal(repeat.count * (repeat.count + 1) / 2)
        return repeat.count

    def lasts(self, label: str) -> Expr:
        """Return how many segments there are in which a node stands."""
        repeat = self.cut[self.of[label]]
        return repeat.count if self.placement.nothing else self._number(repeat.name)

    def _number(self, name: str) -> Expr:
        return self.course.restored(self.placement.cuts[name].segments)

    # ---- where ----

    def boxes(self, label: str, path: tuple[Repeat, ...]) -> tuple[Box | None, Box]:
        """Return iterations in which a node runs again for certain, if any are, and those in which it may."""
        most = tuple((r.lo, r.hi) for r in path)
        count = self.times(label, as_expr(1))
        repeat = self.cut.get(self.of[label])
        if repeat is None or not self.placement.nothing:
            if same(count, over(as_expr(1), path)):
                return most, most
            return self._first(label, path, count), most
        inner = over(as_expr(1), path[1:])
        if inner.free_symbols & self.indices:
            return None, most
        if same(count, normal(self.whole(label) * inner)):
            return most, most
        if same(count, normal((self.whole(label) - self.lasts(label)) * inner)):
            shorter = ((repeat.lo, normal(repeat.hi - 1)), *most[1:])
            return shorter, shorter
        return None, most

    def _first(self, label: str, path: tuple[Repeat, ...], count: Expr) -> Box | None:
        """Return the first iterations of the first segment, where a node runs in all but the last ones."""
        repeat = self.cut.get(self.of[label])
        if repeat is None:
            return None
        size = self.course.restored(self.placement.cuts[repeat.name].size)
        inner = over(as_expr(1), path[1:])
        rest = normal((repeat.count - self._number(repeat.name)) * inner)
        if not size.is_Integer or not same(count, rest):
            return None
        short = self.course.restored(self.placement.cuts[repeat.name].rest)
        if not same(size, short) and not self._number(repeat.name).is_Integer:
            return None
        first = short if self._number(repeat.name) == 1 else size
        return (repeat.lo, normal(repeat.lo + first - 1)), *((r.lo, r.hi) for r in path[1:])


def uncertain(label: str) -> RuleError:
    """Return the error for a node of which it is not known in which iterations it runs again."""
    return RuleError(
        f"in which iterations {label} runs again has no formula, and the bytes moved depend on it",
        expected="a node that runs again in every iteration, or in all but the last one of a segment",
        got="a node that runs again in others",
        fix="choose --bytes algorithmic, or bind the length of a segment to an integer",
    )
