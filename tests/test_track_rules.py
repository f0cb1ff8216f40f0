"""What torch does at the edges of its allocation rules, each in the smallest graph that shows it.

Expected peaks are in bytes: X is one tensor of B times D (24 bytes), beside scalars of 4 bytes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from test_track_timeline import interpreted

from symacct import graph
from symacct.execution.schedule import run
from symacct.execution.schedule_plan import Plan

if TYPE_CHECKING:
    from symacct.build import Definition

B, D = 2, 3
X = 4 * B * D
ENDS = 8
"""The loss and its unit cotangent."""


@graph({"B": "", "D": ""})
def met(b: Any) -> Any:
    """An expanded gradient meets another use of its leaf: the sum is an array, and nothing is copied."""
    x = b.input("x", "B D", grad=True)
    return b.add(b.reduce("B D ->", x, "mean"), b.tanh(b.reduce("B D ->", x, "mean")))


@graph({"B": "", "D": ""})
def permuted(b: Any) -> Any:
    """A permuted gradient of a leaf is copied into the leaf's layout."""
    return b.rearrange("B D -> D B", b.weight("w", "B D")) * b.input("x", "D B")


@graph({"B": "", "D": ""})
def expanded(b: Any) -> Any:
    """So is an expanded one, unless there is a gradient that it is added to."""
    return b.reduce("B D ->", b.weight("w", "B D"), "mean")


@graph({"B": "", "D": ""})
def leaf_first(b: Any) -> Any:
    """A cotangent that a sum hands to a leaf and to another: the leaf copies it, whichever side it is on."""
    w, v = b.weight("w", "B D"), b.weight("v", "B D")
    return b.tanh(w + b.tanh(v))


@graph({"B": "", "D": ""})
def leaf_last(b: Any) -> Any:
    """The same with the sides swapped."""
    w, v = b.weight("w", "B D"), b.weight("v", "B D")
    return b.tanh(b.tanh(v) + w)


@graph({"B": "", "D": ""})
def squared(b: Any) -> Any:
    """All gradients that a node makes live until each has been handed on, sums included."""
    e = b.tanh(b.weight("w", "B D"))
    return b.add(b.reduce("B D ->", e * e, "sum"), b.reduce("B D ->", e, "sum"))


@graph({"B": "", "D": "", "L": ""})
def stopped(b: Any) -> Any:
    """What is made again lives until the recomputation ends where its reader is not reached."""

    def body(x: Any) -> Any:
        return b.tanh(x) + b.tanh(b.scale(b.weight("w", "B D"), 2))

    return b.repeat("L", body, b.input("x", "B D"))


@graph({"B": "", "D": "", "L": ""})
def crossed(b: Any) -> Any:
    """So does what the segment returns."""

    def body(x: Any, y: Any) -> Any:
        return x + b.tanh(y), b.tanh(x)

    return b.repeat("L", body, (b.input("x", "B D", grad=True), b.input("y", "B D", grad=True)))


@graph({"B": "", "D": "", "L": ""})
def shifted(b: Any) -> Any:
    """The last iteration's ops lead nowhere: what they save lives until their result is dropped."""

    def body(x: Any, y: Any) -> Any:
        del y
        return b.tanh(b.sigmoid(b.exp(b.tanh(b.sigmoid(x * b.weight("w", "B D")))))), x

    return b.repeat("L", body, (b.input("x", "B D"), b.input("y", "B D")))[1]


@graph({"B": "", "D": "", "L": ""})
def frozen(b: Any) -> Any:
    """A segment that trains nothing keeps its inputs while it runs."""

    def body(x: Any) -> Any:
        y = b.tanh(x)
        return b.tanh(y) + b.exp(y)

    x = b.repeat("L", body, b.tanh(b.input("x", "B D")))
    return b.relu(x * b.weight("w", "B D"))


@graph({"B": "", "D": "", "L": ""})
def left(b: Any) -> Any:
    """What an op saves that leads nowhere lives until its result is dropped when it runs again too."""

    def body(x: Any) -> Any:
        y = x * b.weight("w", "B D")

        def inner(x: Any, z: Any) -> Any:
            del x
            return b.tanh(z), b.tanh(b.sigmoid(b.exp(b.tanh(b.sigmoid(z * y)))))

        return b.repeat("2", inner, (y, y))[0]

    return b.repeat("L", body, b.input("x", "B D"))


@graph({"B": "", "D": "", "L": ""})
def viewed(b: Any) -> Any:
    """A segment's input lives until all has run again, although only a view of it is read at first."""

    def body(x: Any) -> Any:
        y = b.scale(b.rearrange("B D -> D B", x), 2)
        return b.tanh(b.rearrange("D B -> B D", b.exp(b.sigmoid(y)))) + b.weight("w", "B D")

    return b.repeat("L", body, b.tanh(b.input("x", "B D")))


@graph({"B": "", "D": ""})
def handed_on(b: Any) -> Any:
    """A repeated gradient is copied into a leaf's layout, also where a sum hands it on."""
    total = b.reduce("B D -> B", b.input("x", "B D"), "sum") + b.weight("w", "B")
    return b.add(b.reduce("B ->", total, "mean"), b.reduce("B D ->", b.input("y", "B D"), "sum"))


@graph({"B": "", "D": ""})
def summed(b: Any) -> Any:
    """A gradient of two steps, of which the last does not read the cotangent: it lives to the end of both."""
    return b.tanh(b.weight("w", "D") * b.input("x", "B D"))


EVERY_1, EVERY_2 = Plan(("every", 1)), Plan(("every", 2))
CASES = (
    (met, Plan(), X + ENDS + 8),
    (permuted, Plan(), 2 * X + ENDS),
    (expanded, Plan(), X + ENDS + 4),
    (expanded, Plan(grads="kept"), ENDS + 4),
    (expanded, Plan(micro=2), X + ENDS + 4),
    (leaf_first, Plan(), 4 * X + ENDS),
    (leaf_last, Plan(), 4 * X + ENDS),
    (squared, Plan(), 5 * X + ENDS),
    (stopped, EVERY_1, 5 * X + ENDS),
    (crossed, EVERY_2, 6 * X + ENDS),
    (shifted, Plan(), 15 * X),
    (frozen, EVERY_1, 4 * X),
    (left, EVERY_1, 14 * X + ENDS),
    (left, EVERY_2, 19 * X + ENDS),
    (viewed, EVERY_1, 6 * X + ENDS),
    (viewed, Plan(("store-nothing",)), 6 * X + ENDS),
    (handed_on, Plan(), ENDS + 4 + 4 * B),
    (summed, Plan(), 2 * X + 4 * D + ENDS),
)


@pytest.mark.parametrize(("one", "plan", "peak"), CASES)
def test_the_edges_of_the_rules(one: Definition, plan: Plan, peak: int) -> None:
    built = one()
    count = 3 if one is shifted else 1 if one is frozen else 2
    sizes = {"B": B, "D": D, "L": count}
    sizes = {name: sizes[name] for name in built.order}
    assert run(built, sizes, plan).peak == peak == interpreted(built, sizes, plan)


def test_a_micro_batch_leaves_nothing_but_gradients() -> None:
    built, sizes = squared(), {"B": B, "D": D}
    once, more = (run(built, sizes, Plan(micro=n, hold_output=True)) for n in (1, 3))
    assert once.end == more.end == X
    assert more.peak == once.peak + X == run(built, sizes, Plan(micro=2, hold_output=True)).peak
