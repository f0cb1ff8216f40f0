"""The reference-count interpreter against tracked runs of the shipped graphs: the same peak, to the byte."""

from __future__ import annotations

import pytest
from test_track_schedule import SMALL

from symacct import load
from symacct.algebra.symbols import as_expr
from symacct.execution.schedule import run
from symacct.execution.schedule_plan import Plan
from symacct.nodes import Graph, Repeat
from symacct.peaks.timeline import at_sizes, sizes_at, worst
from symacct.policy import Policy, checkpoint, precision

LARGER = {
    "mlp": {"B": 2, "D": 11, "L": 3},
    "deep_linear": {"B": 9, "D": 2, "L": 3},
    "lora": {"B": 2, "D": 9, "L": 2, "r": 3},
    "swiglu": {"B": 1, "S": 2, "D": 7, "F": 3},
    "moe": {"B": 1, "S": 7, "D": 3, "F": 4, "E": 5, "k": 2},
    "gpt": {"b": 1, "s": 8, "t": 8, "a": 2, "h": 4, "L": 2, "V": 3},
    "llama": {"B": 1, "S": 9, "T": 9, "L": 2, "D": 2, "F": 3, "H": 2, "G": 2, "K": 2, "V": 3},
}
EVERYWHERE = (
    Plan(),
    Plan(hold_output=True),
    Plan(input_grad=True),
    Plan(grads="kept"),
    Plan(update="fused"),
)
BLOCKS = (
    *(Plan(("every", k), recompute=recompute) for k in (1, 2, 3) for recompute in ("needed", "full")),
    Plan(("every", 1), hold_output=True, grads="kept"),
    Plan(("every", 2), update="fused", input_grad=True),
    Plan(("store-nothing",)),
    Plan(("store-nothing",), recompute="full", hold_output=True),
)
CORE = tuple(Plan(("regions", "core"), recompute=recompute) for recompute in ("needed", "full"))


def policy(plan: Plan) -> Policy:
    """Return the same choices as a policy, in fp32."""
    kind, *rest = plan.segments or ("none",)
    names = {"every": "every", "regions": "selective"}
    text = ":".join([names.get(str(kind), str(kind)), *map(str, rest)])
    return Policy(
        precision=precision("fp32"),
        checkpoint=checkpoint(f"{text}:{plan.recompute}" if plan.segments else text),
        grads=plan.grads,
        update=plan.update,
        hold_output=plan.hold_output,
        input_grad=plan.input_grad,
        accumulate=as_expr(plan.micro),
    )


def interpreted(one: Graph, sizes: dict[str, int], plan: Plan) -> int:
    """Return the interpreter's peak in bytes."""
    chosen = policy(plan)
    return int(worst(at_sizes(one, chosen, sizes), sizes_at(one, chosen, sizes)).nbytes)


@pytest.mark.few(1)
@pytest.mark.parametrize("name", SMALL)
def test_the_interpreter_agrees_with_tracked_runs(name: str) -> None:
    one = load(name)
    blocks = any(isinstance(node, Repeat) for node in one.nodes)
    plans = (*EVERYWHERE, *(BLOCKS if blocks else ()), *(CORE if name in ("gpt", "llama") else ()))
    large = name in ("gpt", "llama")
    for sizes, some in (
        (SMALL[name], plans),
        (LARGER[name], plans[:: 3 if large else 1]),
        ({**SMALL[name], "L": 1}, plans[1 :: 3 if large else 1] if blocks else ()),
    ):
        for plan in some:
            assert run(one, sizes, plan).peak == interpreted(one, sizes, plan), (name, sizes, plan)
