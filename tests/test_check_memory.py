"""Checks of memory: graphs pass at several sizes, what is wrong is found, what cannot be run is refused."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

torch = pytest.importorskip("torch")

from symacct import graph, load  # noqa: E402
from symacct.account import derive  # noqa: E402
from symacct.algebra.symbols import as_expr  # noqa: E402
from symacct.cli import main  # noqa: E402
from symacct.errors import RuleError, SizeError, UsageError  # noqa: E402
from symacct.execution.memory_batches import batch_of, batch_rows  # noqa: E402
from symacct.execution.memory_check import FP32, check_memory, plan_of, usual  # noqa: E402
from symacct.execution.memory_compare import RUNS, STEP, Compared  # noqa: E402
from symacct.execution.memory_points import points  # noqa: E402
from symacct.execution.schedule import run  # noqa: E402
from symacct.nodes import Remat  # noqa: E402
from symacct.policy import Policy, checkpoint, precision  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Mapping

GPT = {"b": 1, "s": 3, "t": 3, "a": 2, "h": 4, "V": 5}


def under(text: str, **choices: Any) -> Policy:
    """Return a policy with a checkpoint."""
    return Policy(FP32, checkpoint=checkpoint(text), **choices)


@pytest.mark.few(1)
@pytest.mark.parametrize("name", ["mlp", "deep_linear", "linear", "attention_core"])
def test_a_graph_passes_at_every_point(name: str) -> None:
    found = check_memory(load(name))
    assert found.passed, found.differences
    assert {row.policy for row in found.rows} == {
        policy.checkpoint.describe() for policy in usual(load(name), Policy(FP32))
    }


def test_points_are_on_both_sides_of_each_boundary_and_short_repeats_are_among_them() -> None:
    account = derive(load("mlp"), policy=under("none"))
    chosen = [point.sizes for point in points(account, {})]
    assert {1, 2} <= {sizes["L"] for sizes in chosen}
    regions = {2 * sizes["B"] < sizes["D"] for sizes in chosen}, {sizes["B"] > sizes["D"] for sizes in chosen}
    assert regions == ({True, False}, {True, False})
    every = [point.sizes["L"] for point in points(derive(load("mlp"), policy=under("every:2")), {})]
    assert {length % 2 for length in every} == {0, 1}
    assert [point.sizes for point in points(account, {"B": 2, "D": 3, "L": 4})] == [{"B": 2, "D": 3, "L": 4}]


@pytest.mark.few(1)
@pytest.mark.parametrize("text", ["every:2", "sqrt:full", "selective:core", "selective:core+gelu:full"])
def test_a_transformer_passes_under_checkpoints(text: str) -> None:
    found = check_memory(load("gpt"), {**GPT, "L": 3}, [under(text, hold_output=True)])
    assert found.passed, found.differences
    assert {row.what for row in found.rows} >= {RUNS, STEP, "flops.recompute.all"}


def test_choices_and_micro_batches_pass() -> None:
    sizes = {"B": 4, "D": 3, "L": 3}
    policies = [
        under("every:k", grads="kept").bind({"k": 2}),
        under("none", update="fused"),
        under("store-nothing", input_grad=True),
        under("every:1", accumulate=as_expr(2)),
    ]
    found = check_memory(load("mlp"), sizes, policies)
    assert found.passed, found.differences
    assert [row.what for row in found.others if "micro" in row.what] == [
        "gradients of 2 micro-batches of B = 4, sum",
        "gradients of 2 micro-batches of B = 4, mean",
    ]


def test_a_wrong_number_differs_and_is_explained() -> None:
    one, sizes, policy = load("mlp"), {"B": 3, "D": 2, "L": 3}, under("every:1")
    tracked = run(one, sizes, plan_of(policy))
    account = derive(one, policy=policy)

    def verdicts(**wrong: Any) -> Mapping[str, str]:
        compared = Compared(account, sizes, replace(tracked, **wrong))
        assert bool(list(compared.differences())) == bool({"peak", "again"} & wrong.keys())
        return {row.what: row.verdict for row in compared.rows() if row.verdict != "equal"}

    assert verdicts() == {}
    assert set(verdicts(peak=tracked.peak + 4)) == {STEP, "memory.peak"}
    assert set(verdicts(saved_peak=tracked.saved_peak - 4)) == {"memory.activations.peak"}
    assert set(verdicts(saved=())) == {"memory.activations"}
    assert set(verdicts(end=0)) == {"memory.gradients"}
    matmul, relu = (tracked.again[f"layers/{label}"] for label in ("matmul", "relu"))
    swapped = {"layers/matmul": matmul + 1, "layers/relu": relu - 1}
    assert RUNS in verdicts(again=swapped)


@graph({"B": "rows", "D": "features"})
def coupled(b: Any) -> Any:
    """Softmax over the batch: each row depends on all others."""
    return b.square(b.softmax(b.linear(b.input("x", "B D"), "D -> E", E="D", name="up"), "B"))


def test_rows_of_a_batch_that_depend_on_each_other_differ() -> None:
    assert {row.verdict for row in batch_rows(coupled(), {"B": 4, "D": 3}, 2, 0)} == {"differs"}
    assert {row.verdict for row in batch_rows(load("mlp"), {"L": 2}, 3, 0)} == {"equal"}
    assert (batch_of(load("llama")), batch_of(load("dot"))) == ("B", None)


def test_what_cannot_be_run_is_said() -> None:
    one = load("mlp")
    kept = replace(one, remats=(Remat("layer", ("layers",), ("layers/relu",)),))
    found = check_memory(kept, {"B": 2, "D": 3, "L": 2})
    assert (found.rows, found.passed) == ((), True)
    assert any("layers/relu is kept although its region runs again" in text for text in found.unvouched)
    again = replace(one, remats=(Remat("layer", ("layers",)),))
    assert check_memory(again, {"B": 2, "D": 3, "L": 2}).passed


def test_refusals() -> None:
    with pytest.raises(RuleError, match="nothing trains in graph gelu"):
        check_memory(load("gelu"))
    assert check_memory(load("gelu"), None, [Policy(FP32, input_grad=True)]).passed
    with pytest.raises(UsageError, match="k is the symbol of a policy"):
        check_memory(load("mlp"), {"B": 2}, [under("every:k")])
    with pytest.raises(UsageError, match="steps are run in fp32"):
        plan_of(Policy(precision("bf16")))
    with pytest.raises(UsageError, match="the seed is out of range"):
        check_memory(load("mlp"), seed=-1)
    with pytest.raises(SizeError, match="too large to run"):
        check_memory(load("mlp"), {"B": 2, "D": 10**6, "L": 3})


Command = Callable[..., tuple[int, str, str]]


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str]) -> Command:
    """Run the command in process and return its status, output and complaint."""

    def call(*words: str) -> tuple[int, str, str]:
        status = main(list(words))
        captured = capsys.readouterr()
        return status, captured.out, captured.err

    return call


def test_the_command_shows_each_policy_and_its_verdict(command: Command) -> None:
    status, out, err = command(
        "check", "mlp", "--memory", "--at", "B=2,D=3,L=3", "--checkpoint", "none,every:2"
    )
    assert (status, err) == (0, "")
    assert "checkpoint every:2" in out
    assert "nothing differs in" in out
    words = ("check", "mlp", "--memory", "--at", "B=2,D=3,L=3,k=2", "--checkpoint", "every:k")
    status, out, _ = command(*words, "--format", "json")
    made = json.loads(out)["result"]
    assert (status, made["passed"], made["rows"][0]["checkpoint"]) == (0, True, "every:2")


@pytest.mark.parametrize(
    "wrong",
    [
        ("--grads", "kept"),
        ("--checkpoint", "none"),
        ("--memory", "--against", "module:function"),
        ("--memory", "--checkpoint", "evrey:2"),
        ("--memory", "--checkpoint", "every:k"),
    ],
)
def test_the_command_refuses(command: Command, wrong: tuple[str, ...]) -> None:
    status, out, err = command("check", "mlp", "--at", "B=2,D=3,L=3", *wrong)
    assert (status, out) == (2, "")
    assert "expected" in err


def test_a_difference_is_status_1(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "symacct.execution.memory_check.run",
        lambda *args, **kwargs: replace(run(*args, **kwargs), peak=4),
    )
    status, out, _ = command("check", "linear", "--memory", "--at", "B=2,D=3,K=4")
    assert status == 1
    assert "at the peak only the interpreter has" in out


def test_many_points_are_folded(command: Command) -> None:
    """A line for each policy comes first; rows are shown where they are asked for, and few."""
    words = ("check", "mlp", "--memory", "--at", "B=2,D=3", "--checkpoint", "none,every:2")
    status, out, _ = command(*words)
    assert status == 0
    assert re.search(r"^checkpoint +points +equal +differs +not vouched$", out, re.MULTILINE)
    assert re.search(r"^every:2 +[3-9] +\d+ +0 +0$", out, re.MULTILINE)
    assert re.search(r"^parameters, states, micro-batches +\d+ +0 +0$", out, re.MULTILINE)
    assert "memory.peak above" not in out
    assert out.rstrip().endswith("(--all shows every row)")
    assert "memory.peak above" in command(*words, "--all")[1]
    assert "(--all" not in command(*words, "--all")[1]


def test_points_that_differ_are_not_folded(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    """A difference is shown with the rows of its point; the other points stay folded."""

    def wrong(*args: Any, **kwargs: Any) -> Any:
        found = run(*args, **kwargs)
        return replace(found, peak=4) if args[1]["L"] == 1 else found

    monkeypatch.setattr("symacct.execution.memory_check.run", wrong)
    status, out, _ = command("check", "mlp", "--memory", "--at", "B=2,D=3", "--checkpoint", "none")
    assert status == 1
    assert "at B = 2, D = 3, L = 1 " in out
    assert "at B = 2, D = 3, L = 2 " not in out
