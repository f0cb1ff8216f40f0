"""A graph's step with real tensors: peaks like those of torch code, and gradients that no plan changes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import torch
from random_graphs import random_graph
from torch_chain import FP32, Chain, train

from symacct import graph, load
from symacct.account import derive
from symacct.errors import GraphError, RuleError, UnknownNameError, UsageError
from symacct.execution import values
from symacct.execution.interpret import Interpreter, Place
from symacct.execution.schedule import run
from symacct.execution.schedule_plan import Plan
from symacct.execution.torch_arrays import TorchArrays

if TYPE_CHECKING:
    from symacct.nodes import Graph

SCALARS = 2 * FP32
CLOSE = 1e-10
PLANS = (
    Plan(hold_output=True),
    Plan(("every", 1)),
    Plan(("every", 2)),
    Plan(("every", 2), recompute="full", hold_output=True),
    Plan(("every", 3), grads="kept"),
    Plan(("every", 2), update="fused"),
    Plan(("regions", ("core", "ffn")), recompute="full"),
    Plan(("regions", "attention")),
    Plan(("store-nothing",)),
    Plan(("store-nothing",), recompute="full"),
)
CHOICES: tuple[dict[str, Any], ...] = (
    {},
    {"held": True},
    {"kept": True},
    {"micro": 2},
    {"fused": True},
    {"full": True},
)
SMALL = {
    "mlp": {"B": 5, "D": 6, "L": 4},
    "deep_linear": {"B": 3, "D": 4, "L": 5},
    "lora": {"B": 5, "D": 4, "L": 3, "r": 2},
    "swiglu": {"B": 2, "S": 3, "D": 4, "F": 5},
    "moe": {"B": 2, "S": 3, "D": 4, "F": 5, "E": 3, "k": 2},
    "gpt": {"b": 2, "s": 3, "t": 3, "a": 2, "h": 4, "L": 3, "V": 7},
    "llama": {"B": 2, "S": 3, "T": 3, "L": 3, "D": 4, "F": 6, "H": 4, "G": 2, "K": 2, "V": 7},
}


def assert_alike(mine: Any, theirs: Any, what: object) -> None:
    """Compare gradients by tensor and iteration; no gradient is a gradient of zeros."""
    assert mine.keys() == theirs.keys()
    for key, one in mine.items():
        pair = [array for array in (one, theirs[key]) if array is not None]
        assert all(array.isfinite().all() for array in pair), (what, key)
        zero = torch.zeros((), dtype=torch.float64)
        a, b = pair if len(pair) == 2 else (*pair, zero) if pair else (zero, zero)
        assert float((a - b).abs().max()) <= CLOSE * max(1.0, float(b.abs().max())), (what, key)


def by_primitives(one: Graph, sizes: dict[str, int]) -> dict[Any, Any]:
    """Return torch's gradients of the sum of the outputs, without any of the functions under test."""
    xp = TorchArrays(torch, "fp64")
    store = values.draw(one, sizes, xp, 0)
    leaves = {key: array.requires_grad_() for key, array in store.items() if key[0] in one.trainable}
    runner = Interpreter(xp, one.tensors.__getitem__, dict(store))
    runner.run(one.nodes, Place(sizes))
    outputs = [runner.get(name, Place(sizes)) for name in dict.fromkeys(one.outputs)]
    total = sum(array.sum() for array in outputs if array.is_floating_point())
    grads = torch.autograd.grad(total, list(leaves.values()), allow_unused=True)
    return dict(zip(leaves, grads, strict=True))


@pytest.mark.few(1)
@pytest.mark.parametrize("name", SMALL)
def test_gradients_are_those_of_the_plain_run_for_every_plan(name: str) -> None:
    one, sizes = load(name), SMALL[name]
    plain = run(one, sizes, dtype="fp64")
    assert any(array is not None and array.any() for array in plain.gradients.values())
    if name != "gpt":
        assert_alike(plain.gradients, by_primitives(one, sizes), name)
    for plan in PLANS:
        found = run(one, sizes, plan, dtype="fp64")
        assert found.loss == pytest.approx(plain.loss, rel=1e-12)
        assert_alike(found.gradients, plain.gradients, (name, plan))
    for plan in (Plan(micro=3), Plan(("every", 2), micro=3, hold_output=True)):
        tripled = {key: None if g is None else 3 * g for key, g in plain.gradients.items()}
        assert_alike(run(one, sizes, plan, dtype="fp64").gradients, tripled, (name, plan))


@pytest.mark.few(1)
@pytest.mark.parametrize("seed", range(8))
def test_gradients_of_random_graphs_do_not_depend_on_the_plan(seed: int) -> None:
    found = random_graph(seed)
    one = derive(found.graph).graph
    sizes = {name: size for name, size in found.sizes.items() if name in one.order}
    plain = run(one, sizes, dtype="fp64")
    for plan in PLANS[1:]:
        assert_alike(run(one, sizes, plan, dtype="fp64").gradients, plain.gradients, plan)


@pytest.mark.long
def test_peaks_of_the_graph_are_those_of_the_same_chain_written_by_hand() -> None:
    one, points = load("mlp"), 0
    for B, D in ((2, 9), (24, 4)):
        for L in (1, 2, 4):
            for k in (None, *range(1, L + 1)):
                segments = None if k is None else ("every", k)
                for choice in CHOICES:
                    plan = Plan(
                        segments,
                        recompute="full" if "full" in choice else "needed",
                        hold_output="held" in choice,
                        grads="kept" if "kept" in choice else "fresh",
                        update="fused" if "fused" in choice else "separate",
                        micro=choice.get("micro", 1),
                    )
                    found = run(one, {"B": B, "D": D, "L": L}, plan).peak
                    assert found == FP32 * train(Chain(B, D, L, every=k, **choice)).peak, (B, D, L, plan)
                    points += 1
    assert points == 120


@pytest.mark.parametrize(("name", "body"), [("deep_linear", "linear"), ("mlp", "relu")])
def test_saved_and_rerun_are_what_the_segments_leave(name: str, body: str) -> None:
    B, D, L = 3, 4, 7
    one, sizes = load(name), {"B": B, "D": D, "L": L}
    tensors = L - 1 if body == "linear" else L
    plain = run(one, sizes)
    assert (plain.saved_bytes, plain.data) == (FP32 * B * D * tensors, (("x", FP32 * B * D),))
    assert plain.again == {}
    for k in range(1, L + 1):
        segments = -(-L // k)
        for recompute in ("needed", "full"):
            found = run(one, sizes, Plan(("every", k), recompute=recompute))
            assert found.saved_bytes == FP32 * B * D * (segments - 1)
            skipped = segments if body == "linear" and recompute == "needed" else 0
            assert found.again.get("layers/matmul", 0) == L - skipped
    for recompute, again in (("needed", L * (L - 1) // 2), ("full", L * (L + 1) // 2)):
        found = run(one, sizes, Plan(("store-nothing",), recompute=recompute))
        extra = L if body == "relu" and recompute == "needed" else 0
        assert (found.saved_bytes, found.again["layers/matmul"]) == (0, again + extra)


def test_what_is_alive_at_the_peak_adds_up_to_it_and_is_named() -> None:
    found = run(load("mlp"), {"B": 8, "D": 2, "L": 2})
    assert sum(nbytes for _, nbytes in found.at_peak) == found.peak
    assert {"layers/relu[0]", "loss", "cotangent of the loss"} <= {name for name, _ in found.at_peak}


def test_kept_gradients_live_before_and_fused_ones_not_after() -> None:
    one, sizes = load("mlp"), {"B": 3, "D": 4, "L": 2}
    weights = FP32 * 2 * 4 * 4
    assert [run(one, sizes, Plan(grads=grads)).kept for grads in ("fresh", "kept")] == [0, weights]
    assert run(one, sizes).end == weights
    assert run(one, sizes, Plan(grads="kept")).end == 0
    assert run(one, sizes, Plan(update="fused")).end == 0


def test_an_input_gets_a_gradient_where_one_is_wanted() -> None:
    one, sizes = load("mlp"), {"B": 3, "D": 4, "L": 2}
    assert ("x", ()) not in run(one, sizes).gradients
    found = run(one, sizes, Plan(input_grad=True))
    assert found.gradients["x", ()].shape == (3, 4)
    assert found.end == FP32 * (2 * 4 * 4 + 3 * 4)


def test_a_region_is_run_again_up_to_the_last_tensor_it_saves() -> None:
    one, sizes = load("gpt"), SMALL["gpt"]
    needed = run(one, sizes, Plan(("regions", "core")))
    full = run(one, sizes, Plan(("regions", "core"), recompute="full"))
    assert set(full.again) - set(needed.again) == {"layers/attention/core/mix"}
    assert all("core" in label.split("/") for label in full.again)
    assert needed.saved == full.saved
    assert needed.saved_bytes < run(one, sizes).saved_bytes


@graph({"B": "rows", "D": "features"})
def handed(b: Any) -> Any:
    """A sum hands one gradient to both of its sides."""
    x, w = b.input("x", "B D", grad=True), b.weight("w", "B D")
    return b.tanh(x) + b.tanh(w)


def test_a_sum_hands_its_cotangent_on_without_a_copy() -> None:
    B, D = 3, 5
    # both tanh, saved, and the sum; then both and the second's gradient, without a copy of the cotangent
    found = run(handed(), {"B": B, "D": D})
    assert found.peak == FP32 * 3 * B * D + SCALARS


def test_refusals() -> None:
    with pytest.raises(UnknownNameError, match="way to checkpoint"):
        Plan(("evrey", 2))
    with pytest.raises(UnknownNameError, match="recompute"):
        Plan(recompute="some")
    with pytest.raises(UsageError, match="are counted"):
        Plan(("every", 0))
    with pytest.raises(UsageError, match="are counted"):
        Plan(micro=0)

    @graph({"B": "rows"})
    def frozen(b: Any) -> Any:
        return b.relu(b.input("x", "B"))

    with pytest.raises(RuleError, match="nothing trains in graph frozen"):
        run(frozen(), {"B": 2})
    assert run(frozen(), {"B": 2}, Plan(input_grad=True)).peak


def test_a_step_that_writes_into_a_cache_is_refused() -> None:
    decoding = derive(load("llama"), workload="decode").graph
    sizes = {name: SMALL["llama"].get(name, 2) for name in decoding.order}
    with pytest.raises(GraphError, match="writes into a cache"):
        run(decoding, sizes)
