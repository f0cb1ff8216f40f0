"""Execution: the interpreter, the sizes it chooses, and what torch counts beside what is derived."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

from symacct.build import Builder  # noqa: E402
from symacct.derivation.differentiate import differentiate  # noqa: E402
from symacct.errors import GraphError  # noqa: E402
from symacct.execution.count import count  # noqa: E402
from symacct.execution.gradients import disagreements, execute  # noqa: E402
from symacct.graph import Node, walk  # noqa: E402


def test_a_cotangent_has_the_axes_of_its_tensor_not_the_words_of_an_equation() -> None:
    """A tensor used under two sets of words gets one gradient, the sum of two."""
    b = Builder("words", "B D")
    x, w = b.input("x", "B D", grad=True), b.weight("w", "D D2", D2="D")
    y = b.einsum("r c, c d -> r d", x, w)
    z = b.maximum(b.einsum("r d, r -> r d", y, b.weight("v", "B")), y)
    step = differentiate(b.build(z, b.tanh(x)))
    sizes = {"B": 2, "D": 3}
    assert {step.tensor(name).axes for name in step.gradients["x"]} == {("B", "D")}
    assert not disagreements(execute(step, sizes), count(step, sizes, dtype="fp64"))


def test_an_einsum_of_indices_is_refused() -> None:
    """Indices are no numbers, so a product of them is an error where it is written."""
    b = Builder("indices", "B D")
    ids = b.input("ids", "B", dtype="index")
    with pytest.raises(GraphError, match="einsum needs numbers"):
        b.einsum("B D, B -> D", b.input("x", "B D"), ids)


def test_names_of_the_backward_pass_are_unique() -> None:
    """The second gradient of ``sum`` is not named as the gradient of ``sum_2`` is."""
    b = Builder("names", "B D")
    w = b.weight("w", "B D")
    left, right = b.reduce("B D -> B", b.tanh(w)), b.reduce("B D -> B", b.sigmoid(w))
    y = b.repeat(3, lambda x: b.add(b.tanh(x), b.einsum("B, B -> B", left, right, label="mix")), b.input("x", "B"))
    step = differentiate(b.build(y))
    made = [out for node, _ in walk(step.backward) if isinstance(node, Node) for out in node.outs]
    assert len(made) == len(set(made))
    sizes = {"B": 2, "D": 3}
    assert not disagreements(execute(step, sizes), count(step, sizes, dtype="fp64"))
