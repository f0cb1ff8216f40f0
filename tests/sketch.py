"""A random graph being drawn: the builder, the dice, and the tensors that can be used at this place."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from random import Random

    from symacct.build import Builder, Var

SIZES = {"B": 2, "S": 3, "D": 4, "E": 5, "F": 6}
TWINS = ("", "_b", "_c")
MOST_AXES = 4
MOST_ELEMENTS = 600


@dataclass
class Sketch:
    """A graph being drawn: the builder, the dice, and the tensors that can be used here."""

    b: Builder
    dice: Random
    pool: list[Var]
    shared: list[Var]
    ids: Var
    tables: tuple[Var, Var]
    ops: tuple[Callable[[Sketch], Var | None], ...]
    sizes: dict[str, int]
    depth: int = 0
    count: int = 0
    indices: dict[str, int] = field(default_factory=dict)

    # ---- choosing ----

    def name(self, stem: str) -> str:
        """Return a new name."""
        self.count += 1
        return f"{stem}{self.count}"

    def chance(self, part: float) -> bool:
        """Return True with this probability."""
        return self.dice.random() < part

    def var(self, *, axes: int = 0) -> Var:
        """Return a tensor with at least so many axes, a recent one more often."""
        fitting = [v for v in self.pool if len(v.axes) >= axes and v.tensor.floating]
        recent = fitting[-2:] if self.chance(0.75) else fitting
        return self.dice.choice(recent)

    def axis(self, x: Var) -> str:
        """Return one of its axes."""
        return self.dice.choice(x.axes)

    def numel(self, dims: Sequence[Any]) -> int:
        """Return a number of elements, at the sizes the graph will run at."""
        whole = 1
        for dim in dims:
            whole *= int(dim.subs({s: {**self.sizes, **self.indices}[s.name] for s in dim.free_symbols}))
        return whole

    def own(self, axis: str) -> bool:
        """Return whether an axis is one of the plain ones."""
        return axis in SIZES

    def new_axis(self, taken: Sequence[str]) -> tuple[str, str]:
        """Return an axis that is not taken, and the size it has."""
        size = self.dice.choice(list(SIZES))
        free = [size + twin for twin in TWINS if size + twin not in taken]
        return (self.dice.choice(free), size) if free else self.new_axis(taken)

    def weight(self, x: Sequence[tuple[str, Any]], stem: str = "w") -> Var:
        """Return a parameter with these axes: a new one, a frozen one, or one that is shared."""
        known = [w for w in self.shared if list(zip(w.axes, w.dims, strict=True)) == list(x)]
        if known and self.chance(0.5):
            return self.dice.choice(known)
        sizes = dict(x)
        w = self.b.weight(self.name(stem), " ".join(sizes), trainable=self.chance(0.8), **sizes)
        if self.depth == 0:
            self.shared.append(w)
        return w

    # ---- ops ----

    def add(self) -> None:
        """Add one random op to the pool."""
        with_axes = any(v.axes for v in self.pool)
        x = self.dice.choice(self.ops)(self) if with_axes else self.b.tanh(self.var())
        if x is not None and len(x.axes) <= MOST_AXES and self.numel(x.dims) <= MOST_ELEMENTS:
            self.pool.append(x)

    def inside(self, entered: list[Var], indices: dict[str, int]) -> Sketch:
        """Return a sketch of the body of a repeat, which sees what is here and what enters it."""
        pool, depth = [*self.pool[-4:], *entered], self.depth + 1
        return replace(self, pool=pool, depth=depth, indices=indices)
