"""A chain of layers as a user of torch writes it, and what a tracked training step of it takes.

Nothing here knows of graphs: weights are a list, layers are Python, and segments go through
``torch.utils.checkpoint``.
"""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass
from functools import cache
from typing import Any

import torch
from torch.utils.checkpoint import checkpoint, set_checkpoint_early_stop

from symacct.execution.track import Tracker

FP32 = 4


@dataclass(frozen=True)
class Chain:
    """A chain, and how its step is run.

    ``body`` is one layer: ``linear`` (x @ w), ``relu``, ``gelu`` (an activation after it), ``bias`` (relu of
    a linear with bias) or ``double`` (two linears, each with relu). ``every`` is the length of a checkpoint;
    with ``slots`` checkpoints stand in checkpoints, so that so many states are kept at a time.
    """

    rows: int
    width: int
    layers: int
    body: str = "relu"
    every: int | None = None
    held: bool = False
    kept: bool = False
    fused: bool = False
    micro: int = 1
    full: bool = False
    slots: int | None = None


@dataclass(frozen=True)
class Stepped:
    """The peak in elements of fp32 above parameters, kept gradients and the input; and the gradients."""

    peak: int
    names: tuple[tuple[str, int], ...]
    gradients: tuple[Any, ...]


def layer(body: str, x: Any, own: tuple[Any, ...]) -> Any:
    """Run one layer."""
    if body == "bias":
        return torch.relu(torch.addmm(own[1], x, own[0]))
    if body == "double":
        return torch.relu(torch.relu(x @ own[0]) @ own[1])
    y = x @ own[0]
    return {"linear": lambda: y, "relu": y.relu, "gelu": lambda: torch.nn.functional.gelu(y)}[body]()


def weights(chain: Chain) -> list[tuple[Any, ...]]:
    """Draw the weights."""
    D = chain.width
    shapes = {"bias": ((D, D), (D,)), "double": ((D, D), (D, D))}.get(chain.body, ((D, D),))
    generator = torch.Generator().manual_seed(1)
    return [
        tuple((torch.randn(s, generator=generator) / D**0.5).requires_grad_() for s in shapes)
        for _ in range(chain.layers)
    ]


def forward(chain: Chain, x: Any, own: list[tuple[Any, ...]]) -> Any:
    """Run the layers, in segments where the chain has them."""

    def segment(x: Any, lo: int, hi: int) -> Any:
        for one in own[lo:hi]:
            x = layer(chain.body, x, one)
        return x

    def reversible(x: Any, lo: int, hi: int, slots: int) -> Any:
        if hi - lo == 1:
            return segment(x, lo, hi)
        middle = lo + fewest(hi - lo, slots)[1]
        x = checkpoint(reversible, x, lo, middle, slots, use_reentrant=False, preserve_rng_state=False)
        return reversible(x, middle, hi, slots - 1)

    if chain.slots is not None:
        return reversible(x, 0, chain.layers, chain.slots)
    if chain.every is None:
        return segment(x, 0, chain.layers)
    for lo in range(0, chain.layers, chain.every):
        hi = min(lo + chain.every, chain.layers)
        x = checkpoint(segment, x, lo, hi, use_reentrant=False, preserve_rng_state=False)
    return x


@cache
def fewest(count: int, slots: int) -> tuple[int, int]:
    """Return how many layers run again at least, tried split by split, and the longest best first part."""
    if count == 1:
        return 0, 0
    if not slots:
        return 10**9, 0
    ways = [
        (part + fewest(count - part, slots - 1)[0] + fewest(part, slots)[0], -part)
        for part in range(1, count)
    ]
    best, part = min(ways)
    return best, -part


def drop(parameter: Any) -> None:
    """Use a gradient up as soon as it is there."""
    parameter.grad = None


def train(chain: Chain) -> Stepped:
    """Run one step under the tracker."""
    warmed()
    own = weights(chain)
    x = torch.randn((chain.rows, chain.width), generator=torch.Generator().manual_seed(2))
    parameters = [w for one in own for w in one]
    for w in parameters:
        if chain.kept:
            w.grad = torch.zeros_like(w)
        if chain.fused:
            w.register_post_accumulate_grad_hook(drop)
    stop = set_checkpoint_early_stop(enable=False) if chain.full else nullcontext()
    with stop, Tracker(torch) as tracker:
        for _ in range(chain.micro):
            micro_step(chain, x, own)
    assert tracker.peak % FP32 == 0
    return Stepped(tracker.peak // FP32, tracker.at_peak, tuple(w.grad for w in parameters))


def micro_step(chain: Chain, x: Any, own: list[tuple[Any, ...]]) -> None:
    """Run forward and backward; names end with the function."""
    if chain.held:
        y = forward(chain, x, own)
        loss = y.sum()
    else:
        loss = forward(chain, x, own).sum()
    loss.backward()


@cache
def warmed() -> None:
    """Run one checkpoint: the first of a process imports, and leaves cycles that keep its tensors alive."""
    x = torch.ones(1, requires_grad=True)
    checkpoint(torch.exp, x, use_reentrant=False, preserve_rng_state=False).sum().backward()
