"""Execution: the interpreter, the sizes it chooses, and what torch counts beside what is derived."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

from symacct.account import derive  # noqa: E402
from symacct.build import Builder, Var  # noqa: E402
from symacct.derivation.differentiate import differentiate  # noqa: E402
from symacct.errors import GraphError, RuleError  # noqa: E402
from symacct.execution.count import count  # noqa: E402
from symacct.execution.gradients import disagreements, execute  # noqa: E402
from symacct.execution.saved import compare_saved  # noqa: E402
from symacct.nodes import Graph, Node, walk  # noqa: E402


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
    y = b.repeat(
        3, lambda x: b.add(b.tanh(x), b.einsum("B, B -> B", left, right, label="mix")), b.input("x", "B")
    )
    step = differentiate(b.build(y))
    made = [out for node, _ in walk(step.backward) if isinstance(node, Node) for out in node.outs]
    assert len(made) == len(set(made))
    sizes = {"B": 2, "D": 3}
    assert not disagreements(execute(step, sizes), count(step, sizes, dtype="fp64"))


def counted_bytes(graph: Graph, sizes: dict[str, int]) -> tuple[int, int]:
    """Return the saved bytes of the formula (of the exact case where it does not hold), and torch's."""
    account = derive(graph, precision="fp32", saves="torch")
    quantity = account["memory.activations"]
    exact = account if all(c.holds(sizes) for c in quantity.when) else account.bind(sizes)
    saved = compare_saved(exact, sizes, count(exact.step, sizes).kept)
    return sum(saved.derived.values()), sum(saved.counted.values())


@pytest.mark.parametrize("count_of_layers", [1, 2, 3, 4])
def test_a_result_handed_on_for_several_iterations_says_how_many_there_must_be(count_of_layers: int) -> None:
    """A shift register of three: its last carry is what was made two iterations before the last."""
    b = Builder("shift", "B D L")
    y, w = b.input("y", "B D"), b.weight("w", "D E", E="D")
    z = b.tanh(b.einsum("B D, D E -> B E", y, w))
    results = b.repeat("L", lambda p, q, _: (b.tanh(p), p, q), (y, y, z))
    graph = b.build(b.einsum("B D, D E -> B E", results[2], b.weight("v", "D E", E="D")))
    mine, torchs = counted_bytes(graph, {"B": 2, "D": 3, "L": count_of_layers})
    assert mine == torchs


@pytest.mark.parametrize("count_of_layers", [1, 2, 3])
def test_what_a_range_without_iterations_would_read_is_not_saved(count_of_layers: int) -> None:
    """The first iteration needs no gradient of its carry, so that with one layer x is never read."""
    b = Builder("closed", "B D L")
    x = b.input("x", "B D")

    def body(carry: Var) -> Var:
        inner = b.einsum("B D, B D -> B", carry, x)
        return b.add(b.tanh(carry), b.einsum("B, D -> B D", b.tanh(inner), b.weight("w", "D")))

    graph = b.build(b.reduce("B D ->", b.repeat("L", body, x)))
    mine, torchs = counted_bytes(graph, {"B": 2, "D": 3, "L": count_of_layers})
    assert mine == torchs


def test_torch_keeps_the_statistics_of_a_norm_whose_bias_alone_trains() -> None:
    """No op of the backward pass reads them: the bias's gradient is the cotangent itself."""
    b = Builder("bias", "D")
    mine, torchs = counted_bytes(b.build(b.layernorm(b.input("x", "D"), "D", weight=False)), {"D": 3})
    assert mine == torchs > 0


@pytest.mark.parametrize("count_of_layers", [1, 2, 3, 4, 5])
def test_carries_that_trade_places_are_saved_once_each(count_of_layers: int) -> None:
    """What enters is one of two storages in every iteration, however often they are swapped."""
    b = Builder("swap", "B D L")
    y, z = b.input("y", "B D"), b.input("z", "B D")

    def body(p: Var, q: Var, x: Var) -> tuple[Var, Var, Var]:
        return q, p, b.tanh(b.einsum("B D, D E -> B E", b.mul(p, x), b.weight("w", "D E", E="D")))

    graph = b.build(b.repeat("L", body, (y, z, y))[2])
    mine, torchs = counted_bytes(graph, {"B": 2, "D": 3, "L": count_of_layers})
    assert mine == torchs


def test_a_result_that_depends_on_the_parity_of_the_count_is_refused() -> None:
    """After L swaps the first carry is one or the other; with an integer count it is known."""
    b = Builder("parity", "B D L")
    p, _ = b.repeat("L", lambda p, q: (q, p), (b.input("y", "B D"), b.input("z", "B D")))
    graph = b.build(b.einsum("B D, D -> B", p, b.weight("w", "D")))
    with pytest.raises(RuleError, match="trade places"):
        derive(graph, precision="fp32")["memory.activations"]
    assert derive(graph, precision="fp32").value("memory.activations", {"B": 2, "D": 3, "L": 3}) == 24


def test_a_weight_has_a_gradient_only_in_iterations_that_a_cotangent_reaches() -> None:
    """The second carry of the last iteration is not used, so that its weight there gets no gradient."""
    b = Builder("last", "B D L")

    def body(p: Var, q: Var) -> tuple[Var, Var]:
        return b.add(b.tanh(p), q), b.einsum("B D, D E -> B E", q, b.weight("w", "D E", E="D"))

    graph = b.build(b.repeat("L", body, (b.input("x", "B D"), b.input("y", "B D")))[0])
    account = derive(graph, precision="fp32", optimizer="momentum")
    sizes = {"B": 2, "D": 3, "L": 4}
    counted = [g for g in count(account.step, sizes).gradients.values() if g is not None]
    assert account.value("memory.gradients", sizes) == sum(g.nbytes for g in counted) == 3 * 36
    assert account.value("memory.optimizer", sizes) == 3 * 36
    assert account.value("flops.optimizer", sizes) == 3 * 9 * 4


def test_conditions_speak_of_sizes_alone() -> None:
    """A range that depends on the iteration outside of it is required at both ends, not by its index."""
    b = Builder("triangle", "B D L")

    def outer(i: object, x: Var) -> Var:
        return b.repeat("i + 1", lambda y: b.tanh(b.einsum("B D, D E -> B E", y, w)), x, name="inner")

    w = b.weight("w", "D E", E="D")
    graph = b.build(b.repeat("L", outer, b.input("x", "B D", grad=True), index="i"))
    when = derive(graph, precision="fp32", saves="torch")["memory.activations"].when
    assert all(set(condition.names) <= {"B", "D", "L"} for condition in when)
    mine, torchs = counted_bytes(graph, {"B": 2, "D": 3, "L": 3})
    assert mine == torchs
