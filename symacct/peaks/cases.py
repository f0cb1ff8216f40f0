"""A last segment that is shorter, of a few iterations at most: a form for each number of them, made one.

Segments of three iterations leave one, two or three for the last one. Each of these is folded for itself.
What is summed is then the polynomial in this number with the right value at each. A candidate for the peak
of one case is multiplied by what is 1 there and at most 0 in the others, unless it is below a peak of theirs.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from symacct.algebra.normal import normal, total
from symacct.algebra.sparse import Poly, at_least, plus, product
from symacct.algebra.symbols import as_expr, symbol
from symacct.errors import RuleError
from symacct.peaks.course import Course
from symacct.peaks.forms import Former

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from fractions import Fraction

    from sympy import Expr, Symbol

    from symacct.nodes import Graph
    from symacct.peaks.folding import Size
    from symacct.peaks.pieces import Composer
    from symacct.peaks.runs import Run
    from symacct.peaks.shaping import Shape
    from symacct.policy import Policy


def formed(graph: Graph, policy: Policy, shape: Shape) -> Course:
    """Return the course of a shape, one for each length of a last segment where these are few.

    Raises:
        RuleError: there is no one form for every count.
    """
    if not shape.residues:
        return Course(graph, policy, shape, Former(shape, policy).form())
    name, size = next(iter(shape.residues.items()))
    of = symbol(name)
    parts = tuple(formed(graph, policy, shape.at(of, length)) for length in range(1, size + 1))
    least: dict[Symbol, int] = {}
    for part in parts:
        least |= {one: max(at, least.get(one, 1)) for one, at in part.least.items()}
    form = replace(
        parts[-1].form,
        forward=tuple(item for part in parts for item in part.form.forward),
        whole=tuple(item for part in parts for item in part.whole),
        length=sum(part.form.length for part in parts),
        least=least,
    )
    if any(part.form.inputs != form.inputs for part in parts):
        raise RuleError(f"the inputs that backward of graph {graph.name} reads depend on its counts")
    return Cases(graph, policy, shape, form, of, parts)


@dataclass(frozen=True, eq=False)
class Cases(Course):
    """A course with a form for each length of a last segment; its own form says which sizes there are.

    Attributes:
        of: the length.
        parts: the courses for lengths 1, 2, ...
    """

    of: Symbol
    parts: tuple[Course, ...]

    def serves(self, sizes: Mapping[str, int]) -> bool:  # noqa: ARG002 (a form of its own at no sizes)
        """Say that no sizes have this form: bound, they have one."""
        return False

    @cached_property
    def _formulas(self) -> tuple[Expr, ...]:
        return (*super()._formulas, self.of)

    def composed(self, composer: Composer) -> tuple[Poly, ...]:
        """Return levels of which the peak is the largest, those of each case at most 0 in the others."""
        cases = [part.composed(composer) for part in self.parts]
        found: list[Poly] = []
        for at, levels in enumerate(cases):
            others = cases[:at] + cases[at + 1 :]
            for level in levels:
                everywhere = all(any(at_least(one, level) for one in other) for other in others)
                found.append(level if everywhere else product(level, self._bump(composer, at + 1)))
        return tuple(found)

    def _bump(self, composer: Composer, length: int) -> Poly:
        """Return what is 1 at a length and at most 0 at the others."""
        ring = composer.ring
        one, last = ring.number(1), len(self.parts)
        away = plus(ring.poly(self.of), ring.number(length), -1)
        if length == last:
            return plus(one, away)
        return plus(one, away if length == 1 else product(away, away), -1)

    @cached_property
    def kept(self) -> dict[str, Expr]:
        """What is kept when the forward pass ends, in the policy's bytes and the symbols of the form."""
        return self._joined([part.kept for part in self.parts])

    @cached_property
    def repeated(self) -> dict[str, Expr]:
        """How often each node runs again, in the symbols of the form."""
        return self._joined([part.repeated for part in self.parts])

    def _kept(self, weigh: Callable[[Size], Fraction]) -> dict[str, Expr]:
        return self._joined([part._kept(weigh) for part in self.parts])  # noqa: SLF001 (courses like this one)

    @cached_property
    def runs_again(self) -> dict[str, tuple[Run, ...]]:
        """Where each node runs again in backward, in some case, by label."""
        found: dict[str, tuple[Run, ...]] = {}
        for part in self.parts:
            found |= {label: (*found.get(label, ()), *runs) for label, runs in part.runs_again.items()}
        return found

    def again(self, label: str, expr: Expr) -> Expr:
        """Return what a node costs when it runs again: a formula in its iteration, summed over its runs."""
        each = [part.again(label, expr) if label in part.runs_again else as_expr(0) for part in self.parts]
        return self.restored(self._mean(each))

    def _joined(self, cases: Sequence[Mapping[str, Expr]]) -> dict[str, Expr]:
        names = dict.fromkeys(name for case in cases for name in case)
        return {name: self._mean([case.get(name, as_expr(0)) for case in cases]) for name in names}

    def _mean(self, values: Sequence[Expr]) -> Expr:
        """Return the polynomial in the length that has these values."""
        lengths = range(1, len(values) + 1)
        if all(value == values[0] for value in values):
            return values[0]
        return total(
            normal(value * self._indicator(at, lengths)) for at, value in zip(lengths, values, strict=True)
        )

    def _indicator(self, at: int, lengths: Sequence[int]) -> Expr:
        """Return the polynomial in the length that is 1 at one of them and 0 at the others."""
        found = as_expr(1)
        for other in lengths:
            if other != at:
                found = found * (self.of - other) / (at - other)
        return normal(found)
