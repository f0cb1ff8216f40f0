"""Random graphs: nested repeats, several carries, shared and frozen weights, broadcasting, views, norms.

One seed gives one graph and its sizes. Values stay moderate: no chains of exp, no division by what can be
0, and every carry is squashed or averaged. A graph through which nothing trainable reaches an output is
thrown away, since nothing would be compared.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING

from random_ops import (
    attention,
    binary,
    chosen,
    dropped,
    joined,
    linear,
    looked_up,
    normalised,
    product,
    rearranged,
    reduced,
    renamed,
    scored,
    turned,
    unary,
)
from random_repeats import repeated
from sketch import SIZES, Sketch

from symacct.account import derive
from symacct.build import Builder, Var
from symacct.errors import RuleError
from symacct.nodes import Repeat, walk

if TYPE_CHECKING:
    from collections.abc import Callable

    from symacct.nodes import Graph

OPS: tuple[Callable[[Sketch], Var | None], ...] = (
    linear, linear, linear, renamed, product, product, unary, unary, binary, binary, reduced, normalised,
    rearranged, joined, dropped, looked_up, scored, turned, chosen, attention, repeated, repeated, repeated,
)  # fmt: skip


@dataclass(frozen=True)
class RandomGraph:
    """A graph, and the sizes to run it at."""

    seed: int
    graph: Graph
    sizes: dict[str, int]


def random_graph(seed: int, steps: int | None = None) -> RandomGraph:
    """Return the graph of a seed; seeds whose graph trains nothing, or is refused, move on to another one."""
    for attempt in range(100):
        found = attempted(seed, attempt, steps)
        if found is not None:
            return found
    raise AssertionError(f"seed {seed} gives no graph that trains")


def attempted(seed: int, attempt: int, steps: int | None) -> RandomGraph | None:
    """Draw one graph."""
    dice = Random(f"{seed}/{attempt}")
    sizes = {**SIZES, "L": dice.randint(2, 5), "M": dice.choice((0, 1, 1, 2, 2, 3))}
    b = Builder(f"random_{seed}", dict.fromkeys(sizes, ""))
    ids = b.input("ids", "B S", dtype="index")
    tables = (b.constant("cos", "S D"), b.constant("sin", "S D"))
    s = Sketch(b, dice, [], [], ids, tables, OPS, sizes)
    s.pool.append(b.input("x", "B S D", grad=dice.random() < 0.3))
    s.pool.append(b.input("y", "B D", grad=dice.random() < 0.3))
    for _ in range(steps or dice.randint(3, 10)):
        s.add()
    outputs = [gathered(s) if s.chance(0.6) else s.pool[-1], *([s.var()] if s.chance(0.25) else [])]
    if s.chance(0.3) and outputs[0].axes:
        outputs[0] = b.reduce(f"{' '.join(outputs[0].axes)} ->", outputs[0], s.dice.choice(("sum", "mean")))
    graph = b.build(*outputs)
    try:
        trains = bool(derive(graph).step.gradients)
    except RuleError:
        return None
    repeats = (node for node, _ in walk(graph.nodes) if isinstance(node, Repeat))
    counts = {free.name for repeat in repeats for free in repeat.hi.free_symbols}
    sizes["M"] = sizes["M"] if "M" in counts else 1
    return RandomGraph(seed, graph, sizes) if trains else None


def gathered(s: Sketch) -> Var:
    """Add up the means of several tensors, so that little of the graph is dead."""
    some = s.dice.sample(s.pool, min(len(s.pool), s.dice.randint(2, 5)))
    means = [s.b.reduce(f"{' '.join(x.axes)} ->", x, "mean") if x.axes else x for x in some]
    total = means[0]
    for mean in means[1:]:
        total = s.b.add(total, s.b.tanh(mean))
    return total
