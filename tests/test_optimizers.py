"""Optimizer rules against torch.optim, and against the paper where torch has none."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import torch

from symacct.algebra.symbols import symbol
from symacct.errors import GraphError, RuleError, UnknownNameError
from symacct.execution.torch_arrays import TorchArrays
from symacct.ops.optimizer import RULES, Scalars, Update, hoisted
from symacct.tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Callable

STEPS = 6
LR, DECAY, BETA, BETA2, EPS = 0.05, 0.1, 0.8, 0.95, 1e-3
PLAIN = Scalars(LR, LR * DECAY, BETA, BETA2, EPS)
BETAS: dict[str, Any] = {"lr": LR, "betas": (BETA, BETA2), "eps": EPS}
PEERS: dict[str, tuple[Callable[[Any], torch.optim.Optimizer], bool]] = {
    "sgd": (lambda p: torch.optim.SGD([p], lr=LR), False),
    "momentum": (lambda p: torch.optim.SGD([p], lr=LR, momentum=BETA), False),
    "adagrad": (lambda p: torch.optim.Adagrad([p], lr=LR, eps=EPS), False),
    "rmsprop": (lambda p: torch.optim.RMSprop([p], lr=LR, alpha=BETA2, eps=EPS), False),
    "adam": (lambda p: torch.optim.Adam([p], **BETAS), True),
    "adamw": (lambda p: torch.optim.AdamW([p], weight_decay=DECAY, **BETAS), True),
    "amsgrad": (lambda p: torch.optim.Adam([p], amsgrad=True, **BETAS), True),
    "adam8bit": (lambda p: torch.optim.Adam([p], **BETAS), True),
}
PRICES = {
    "sgd": 2,
    "momentum": 4,
    "adagrad": 7,
    "rmsprop": 9,
    "adam": 12,
    "adamw": 14,
    "amsgrad": 13,
    "adam8bit": 20,
    "lion": 11,
}


def gradients() -> list[Any]:
    """Return one gradient for each step; they shrink, so that the largest average is not always the last."""
    drawn = torch.Generator().manual_seed(5)
    return [torch.randn(3, 4, generator=drawn, dtype=torch.float64) / step for step in range(1, STEPS + 1)]


def stepped(rule: str, *, corrected: bool) -> list[Any]:
    """Return the parameter after each step of our rule."""
    xp = TorchArrays(torch, "fp64")
    p = torch.linspace(-1, 1, 12, dtype=torch.float64).reshape(3, 4)
    states = [torch.zeros_like(p) for _ in RULES[rule].states]
    path = []
    for step, g in enumerate(gradients(), 1):
        scalars = hoisted(PLAIN, step) if corrected else PLAIN
        p, *states = RULES[rule].run(xp, scalars, p, g, *states)
        path.append(p)
    return path


@pytest.mark.parametrize("rule", sorted(PEERS))
def test_rules_step_as_torch_does(rule: str) -> None:
    """Six steps agree with torch.optim, with the bias corrections hoisted out."""
    make, corrected = PEERS[rule]
    p = torch.nn.Parameter(torch.linspace(-1, 1, 12, dtype=torch.float64).reshape(3, 4))
    optimizer = make(p)
    for g, ours in zip(gradients(), stepped(rule, corrected=corrected), strict=True):
        p.grad = g.clone()
        optimizer.step()
        torch.testing.assert_close(ours, p.detach(), rtol=1e-12, atol=1e-14)


def test_lion_steps_as_its_paper_says() -> None:
    """Chen et al. 2023, algorithm 2: sign of the interpolation, decoupled decay, then the moving average."""
    p = torch.linspace(-1, 1, 12, dtype=torch.float64).reshape(3, 4)
    m = torch.zeros_like(p)
    for g, ours in zip(gradients(), stepped("lion", corrected=False), strict=True):
        p = p - LR * (torch.sign(BETA * m + (1 - BETA) * g) + DECAY * p)
        m = BETA2 * m + (1 - BETA2) * g
        torch.testing.assert_close(ours, p, rtol=1e-12, atol=1e-14)


def test_every_rule_has_a_peer() -> None:
    """No rule is left unchecked."""
    assert set(RULES) == {*PEERS, "lion"} == set(PRICES)


@pytest.mark.parametrize("rule", sorted(PRICES))
def test_prices_per_parameter(rule: str) -> None:
    """At one each, the primitives of a step sum to the number of the literature; casts are free."""
    n = symbol("N")
    p = Tensor("p", ("N",), (n,))
    ins = (p,) * (2 + len(RULES[rule].states))
    counts = Update(rule).counts(ins, Update(rule).infer(*ins))
    assert sum(count for name, count in counts.items() if name not in ("cast", "chain")) == PRICES[rule] * n


def test_refusals() -> None:
    """A wrong name, a wrong number of states, and differentiating a step are refused."""
    p = Tensor("p", ("N",), (symbol("N"),))
    with pytest.raises(UnknownNameError, match="did you mean 'adamw'"):
        Update("adam_w")
    with pytest.raises(GraphError) as refused:
        Update("adam").infer(p, p, p)
    assert str(refused.value) == (
        "adam takes 4 tensors with the same axes\n  expected  p, g, m, v\n  got       p[N], p[N], p[N]"
    )
    assert len(Update("adam").infer(p, p, p, p)) == 3
    with pytest.raises(RuleError, match="no derivative rule"):
        Update("sgd").vjp(None, type("N", (), {"outs": ("p1",), "ins": ()}), "g", frozenset({0}))  # type: ignore[arg-type]
