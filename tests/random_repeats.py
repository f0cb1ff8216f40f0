"""Repeats of random graphs: carries that are updated, swapped, shifted or replaced, sizes that grow."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from random_ops import fitted

if TYPE_CHECKING:
    from sketch import Sketch

    from symacct.build import Var

COUNTS = ("L", "M")
DEEPEST = 2


def repeated(s: Sketch) -> Var | None:
    """Repeat a random body with one to three carries."""
    if s.depth >= DEEPEST:
        return None
    carries = [s.var() for _ in range(s.dice.choice((1, 1, 2, 2, 3)))]
    count = (
        s.dice.choice((*COUNTS, *COUNTS, 1, 2, 3, 4)) if s.depth == 0 else s.dice.choice((*COUNTS, 1, 2, 3))
    )
    index = s.name("i") if s.chance(0.35) else None
    if s.indices and s.chance(0.6):
        count = f"{s.dice.choice(list(s.indices))} + 1"

    def body(*enters: Any) -> Any:
        if index is not None:
            _, *rest = enters
            enters = tuple(rest)
        indices = {**s.indices, index: 3} if index is not None else s.indices
        inner = s.inside(list(enters), indices)
        if index is not None and any(v.axes for v in inner.pool) and s.chance(0.7):
            inner.pool.append(widened(inner, index))
        for _ in range(s.dice.randint(1, 4 - s.depth)):
            inner.add()
        leaves = leave(inner, list(enters))
        s.count = inner.count
        return leaves if len(leaves) > 1 else leaves[0]

    results = s.b.repeat(
        count, body, tuple(carries) if len(carries) > 1 else carries[0], name=s.name("r"), index=index
    )
    results = results if isinstance(results, tuple) else (results,)
    s.pool += results[1:]
    return results[0]


def widened(s: Sketch, index: str) -> Var:
    """Go through a hidden axis whose size grows with the iteration."""
    x = s.var(axes=1)
    axis, width = s.axis(x), s.b.size(f"{index} + 2")
    up = s.b.weight(s.name("up"), f"{axis} W", **{axis: x.tensor.dim(axis), "W": width})
    kept = [a for a in x.axes if a != axis]
    y = s.b.tanh(s.b.einsum(f"{' '.join(x.axes)}, {axis} W -> {' '.join((*kept, 'W'))}", x, up))
    down = s.b.weight(s.name("down"), f"W {axis}", **{axis: x.tensor.dim(axis), "W": width})
    return s.b.einsum(f"{' '.join((*kept, 'W'))}, W {axis} -> {' '.join(x.axes)}", y, down)


def leave(s: Sketch, enters: list[Var]) -> tuple[Var, ...]:
    """Return what the carries leave as: an update, another carry (a swap or a shift), or something new."""
    leaves: list[Var] = []
    for enter in enters:
        twins = [e for e in enters if e.name != enter.name and e.axes == enter.axes and same_dims(e, enter)]
        if twins and s.chance(0.35):
            leaves.append(s.dice.choice(twins))
        elif s.chance(0.15):
            leaves.append(fitted(s, s.var(), enter))
        else:
            leaves.append(s.b.add(s.b.tanh(enter), fitted(s, s.var(), enter)))
    return tuple(leaves)


def same_dims(x: Var, y: Var) -> bool:
    """Return whether two tensors have the same sizes."""
    return x.dims == y.dims
