"""Checks of whole graphs: what ships passes, what is wrong is found, and what is not vouched for is said."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

torch = pytest.importorskip("torch")

from symacct import load  # noqa: E402
from symacct.account import derive  # noqa: E402
from symacct.algebra.condition import Condition  # noqa: E402
from symacct.algebra.evaluate import evaluate  # noqa: E402
from symacct.algebra.symbols import as_expr  # noqa: E402
from symacct.build import Builder, Var  # noqa: E402
from symacct.errors import SizeError, UnknownNameError, UsageError  # noqa: E402
from symacct.execution.check import check  # noqa: E402
from symacct.execution.sizes import choose_sizes  # noqa: E402
from symacct.ops.einsum import Einsum  # noqa: E402
from symacct.ops.elementwise import Elementwise  # noqa: E402
from symacct.ops.elementwise_table import ROWS  # noqa: E402
from symacct.readers.files import list_graphs  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sympy import Expr

    from symacct.nodes import Graph
    from symacct.tensor import Tensor

MODELS = ("gpt2", "llama-3-8b", "mixtral-8x7b", "qwen3-8b")


@pytest.mark.few(2)
@pytest.mark.parametrize("name", [entry.name for entry in list_graphs()])
def test_a_shipped_graph_passes(name: str) -> None:
    """Derived is counted, at small distinct sizes."""
    result = check(load(name))
    assert result.passed, result.differences
    assert min(result.sizes.values()) >= 2
    assert len(set(result.sizes.values())) == len(result.sizes)


@pytest.mark.few(1)
@pytest.mark.parametrize("name", MODELS)
def test_a_model_passes_at_small_sizes(name: str) -> None:
    """A model's architecture is checked with its sizes free."""
    result = check(load(name, symbolic=True))
    assert result.passed, result.differences


def one_layer() -> Graph:
    """Return a layer whose gradients are easy to break."""
    b = Builder("layer", "B D F")
    return b.build(b.gelu(b.linear(b.input("x", "B D"), "D -> F", name="up")))


def found(graph: Graph, what: str) -> str:
    """Return the verdict on a quantity."""
    return next(row.verdict for row in check(graph).rows if row.what == what)


def test_a_wrong_count_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """An op that counts half of its work differs, forward and backward."""
    honest = Einsum.counts

    def half(op: Einsum, ins: Sequence[Tensor], outs: Sequence[Tensor]) -> dict[str, Expr]:
        return {k: n / 2 for k, n in honest(op, ins, outs).items()}

    monkeypatch.setattr(Einsum, "counts", half)
    assert found(one_layer(), "flops.forward.matmul") == "differs"
    assert found(one_layer(), "flops.backward.matmul") == "differs"


def test_a_wrong_gradient_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """An op that forgets its derivative differs in the gradients, and nowhere else."""
    monkeypatch.setattr(Elementwise, "_gradient", lambda op, emit, node, g, slot: g)
    result = check(one_layer())
    assert "differs" in {
        row.verdict for row in result.rows if row.what in ("gradients", "memory.activations")
    }
    assert any("gradient of up/weight" in line for line in result.differences)


def test_a_wrong_saved_tensor_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """A derivative that reads the output where torch reads the input differs by these two."""
    wrong = {**ROWS, "gelu": replace(ROWS["gelu"], grads=("gelu_grad y g",))}
    monkeypatch.setattr(Elementwise, "row", property(lambda op: wrong[op.function]))
    result = check(one_layer())
    row = next(row for row in result.rows if row.what == "memory.activations")
    assert row.derived == row.counted  # both have one size, so that the total alone would hide it
    assert row.verdict == "differs"
    assert any(line.startswith("saved by gelu: derived") for line in result.differences)


def test_small_counts_are_checked_by_their_exact_case() -> None:
    """Where the formulas need two layers, one layer is derived by itself, and the result says so."""
    b = Builder("shift", "B D L")
    y = b.input("y", "B D")

    def body(p: Var, _: Var) -> tuple[Var, Var]:
        return b.tanh(b.einsum("B D, D E -> B E", p, b.weight("w", "D E", E="D"))), p

    graph = b.build(b.einsum("B D, D -> B", b.repeat("L", body, (y, y))[1], b.weight("v", "D")))
    many, one, none = (check(graph, {"L": count}) for count in (4, 1, 0))
    assert many.passed
    assert one.passed
    assert none.passed
    assert not many.small
    assert one.small
    assert "L >= 1" in none.small


def test_values_that_are_not_finite_are_drawn_again_around_one() -> None:
    """A logarithm of inputs has no finite value for half of all normal numbers."""
    b = Builder("logs", "B D")
    graph = b.build(b.log(b.input("x", "B D", grad=True)))
    assert found(graph, "gradients") == "equal"


def test_what_never_is_finite_is_not_vouched_for() -> None:
    """Nothing is compared, and nothing is claimed."""
    b = Builder("logs", "B D")
    graph = b.build(b.log(b.neg(b.square(b.input("x", "B D", grad=True)))))
    assert found(graph, "gradients") == "not vouched"


def test_fused_attention_is_vouched_for_but_for_what_it_saves() -> None:
    """The math path keeps the probabilities; FLOPs and gradients are checked all the same."""
    b = Builder("fused", "S K")
    q, k, v = (b.linear(b.input(n, "S K"), "K -> K2", K2="K", name=f"{n}_w") for n in "qkv")
    keys = [b.einsum("T K, K -> T K", x, b.weight(f"g{i}", "K")) for i, x in enumerate((k, v))]
    q = b.einsum("S K, K -> S K", q, b.weight("g", "K"))
    result = check(b.build(b.attention(q, *keys, fused=True)))
    verdicts = {row.what: row.verdict for row in result.rows}
    assert verdicts["memory.activations"] == "not vouched"
    assert {verdicts[w] for w in ("flops.forward.matmul", "flops.backward.matmul", "gradients")} == {"equal"}
    assert any("math attention keeps the probabilities" in line for line in result.unvouched)


def test_sizes_meet_every_condition_of_a_graph() -> None:
    """Divisions, integer dims everywhere, k of at most E."""
    b = Builder("sizes", "B E k D G H")
    x = b.input("x", "B D")
    b.rearrange("B (G H) -> B G H", x, G="G", H="D/G")
    b.topk(b.linear(x, "D -> E", name="router"), "E", "k", "chosen")
    graph = b.build(b.linear(x, "D -> F", F="3*D/2", name="up"))
    sizes = choose_sizes(graph)
    assert sizes["D"] % sizes["G"] == 0
    assert 3 * sizes["D"] % 2 == 0
    assert sizes["k"] <= sizes["E"]


def test_sizes_that_cannot_be_met_are_an_error_that_says_so() -> None:
    """A given size that breaks a condition is no endless search."""
    b = Builder("sizes", "D G")
    x = b.input("x", "D")
    graph = b.build(b.rearrange("(G H) -> G H", b.mul(x, b.weight("w", "D")), G="G", H="D/G"))
    with pytest.raises(SizeError):
        check(graph, {"D": 7, "G": 3})
    with pytest.raises(UnknownNameError, match="unknown size 'Q'"):
        check(graph, {"Q": 3})


def test_the_formula_is_what_is_compared() -> None:
    """A check evaluates the account's own formula, not a second derivation."""
    graph = one_layer()
    result = check(graph)
    formula = derive(graph)["flops.forward.matmul"].expr
    row = next(row for row in result.rows if row.what == "flops.forward.matmul")
    assert evaluate(formula, result.sizes) == row.derived == row.counted


def test_a_model_at_its_full_size_is_refused_before_anything_is_allocated() -> None:
    """The derivation says what the run would take."""
    with pytest.raises(SizeError, match="too large to run") as found:
        check(load("llama-2-7b"), {"B": 1, "S": 8})
    assert found.value.got == "6,738,415,616"


def test_sizes_of_which_nothing_is_saved_are_refused_too() -> None:
    """A sum has no parameters, no contraction, and keeps nothing: its bytes say how large it is."""
    b = Builder("add", "N L")
    x = b.input("x", "N")
    graph = b.build(b.repeat("L", lambda c: b.add(c, x), b.input("y", "N")))
    with pytest.raises(SizeError, match="too large to run") as found:
        check(graph, {"N": 10**12, "L": 2})
    assert found.value.expected == "bytes.step of at most 8,000,000,000 byte"
    with pytest.raises(SizeError, match="too large to run") as found:
        check(graph, {"N": 2, "L": 10**6})
    assert found.value.got == "1,000,000"
    assert check(graph, {"N": 2, "L": 3}).passed


@pytest.mark.parametrize(
    ("name", "given"), [("gpt", {"L": 1}), ("gpt2", {"L": 2}), ("mixtral-8x7b", {"L": 1}), ("mlp", {"L": 1})]
)
def test_a_wish_that_no_size_can_grant_ends_no_search(name: str, given: dict[str, int]) -> None:
    """A repeat that runs once or twice, whatever the other sizes are."""
    account = derive(load(name, symbolic=True)).bind(given)
    search = choose_sizes(account.graph, account.conditions)
    assert len(set(search.values())) == len(search) == len(account.graph.order)


def test_a_literal_count_and_a_rule_without_names() -> None:
    """Two iterations always; and a condition that is false whatever the sizes are."""
    b = Builder("literal", "B D")
    graph = b.build(b.repeat(2, lambda x: b.linear(x, "D -> E", E="D"), b.input("x", "B D")))
    assert choose_sizes(graph) == {"B": 2, "D": 3}
    never = Condition("at_least", as_expr(1), as_expr(2))
    with pytest.raises(SizeError, match="no small sizes were found") as found:
        choose_sizes(graph, [never])
    assert found.value.got == "0 tries"


def test_iterations_that_differ_are_all_looked_at() -> None:
    """A slice that grows with the index leaves its axis in the last iteration alone."""
    b = Builder("growing", "B D L")
    x = b.input("x", "B D")
    w = b.weight("w", "D")

    def body(i: Expr, c: Var) -> Var:
        part = b.reduce("B E -> B", b.slice(x, "D", i + 1, i + 2)) if i else c
        return b.add(b.mul(c, w), part)

    sizes = choose_sizes(b.build(b.repeat("L", body, x, index="i")))
    assert sizes["D"] >= sizes["L"] + 1


def test_products_over_an_axis_of_size_one_are_not_vouched_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Torch multiplies elementwise and counts nothing; a wrong count is found all the same."""
    result = check(load("mlp"), {"B": 1, "D": 1, "L": 1})
    verdicts = {row.what: (row.verdict, row.note) for row in result.rows}
    for phase in ("forward", "backward"):
        verdict, note = verdicts[f"flops.{phase}.matmul"]
        assert verdict == "not vouched"
        assert "size 1" in note
    assert result.passed
    assert check(load("mlp"), {"B": 1, "D": 3}).passed
    honest = Einsum.counts

    def double(op: Einsum, ins: Sequence[Tensor], outs: Sequence[Tensor]) -> dict[str, Expr]:
        return {k: 2 * n for k, n in honest(op, ins, outs).items()}

    monkeypatch.setattr(Einsum, "counts", double)
    assert not check(load("mlp"), {"B": 2, "D": 3, "L": 4}).passed


def test_a_seed_is_bounded() -> None:
    """What torch's generator cannot take is an error."""
    for seed in (-1, 2**63 - 1, 10**400):
        with pytest.raises(UsageError, match="the seed is out of range"):
            check(one_layer(), seed=seed)
    assert check(one_layer(), seed=2**63 - 2).passed


@pytest.mark.parametrize(
    ("dtype", "verdict"), [("float", "not vouched"), ("fp32", "not vouched"), ("bf16", "equal")]
)
def test_a_cast_that_changes_nothing_in_fp32_is_not_vouched_for(dtype: str, verdict: str) -> None:
    """Torch returns the tensor itself, so that what is saved twice here is one storage there."""
    b = Builder("cast", "B D")
    x = b.tanh(b.linear(b.input("x", "B D"), "D -> E", E="D"))
    graph = b.build(b.mul(x, b.cast(b.square(b.cast(x, dtype)), "float")))
    result = check(graph)
    assert {row.what: row.verdict for row in result.rows}["memory.activations"] == verdict
    assert result.passed
    assert any("saved bytes around cast" in line for line in result.unvouched) == (verdict != "equal")
