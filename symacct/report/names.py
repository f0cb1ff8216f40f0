"""The names of quantities, what they mean, and how a report groups them. Nothing heavy is imported here."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

_FLOPS = {
    "flops.forward": "work of the forward pass",
    "flops.backward": "work of the backward pass",
    "flops.recompute": "forward work done again in backward",
    "flops.optimizer": "work of the optimizer's step",
    "flops.model": "forward and backward, without recompute",
    "flops.hardware": "forward and backward, with recompute",
}
_BYTES = {
    "bytes.forward": "bytes moved by the forward pass",
    "bytes.backward": "bytes moved by the backward pass",
    "bytes.step": "bytes moved by one training step",
}


_PARAMS = {
    "params": "all weights",
    "params.trainable": "weights that a gradient is wanted for",
    "params.active": "weights that one token touches",
    "params.matmul": "weights that contractions read, once per use (a tied head included)",
    "params.nonembedding": "all weights but the token and position tables",
    "tokens": "tokens of one pass",
}
_OTHERS = {
    "intensity.forward": "all FLOPs of the forward pass over its bytes",
    "intensity.step": "all FLOPs of a training step over its bytes",
    "memory.parameters": "the weights",
    "memory.gradients": "their gradients",
    "memory.master": "the copy of the weights that the optimizer updates",
    "memory.optimizer": "states of the optimizer",
    "memory.static": "parameters, gradients, master copy and optimizer states",
    "memory.data": "graph inputs that are not saved",
    "memory.activations": "what is saved when forward ends, inputs that backward reads included",
    "memory.activations.peak": "the largest amount saved, plus recomputed to be read, alive in backward",
    "memory.peak": "everything alive at the worst step",
    "memory.transient": "the peak less all the categories alive then",
    "memory.kv_cache": "keys and values kept between tokens",
    "memory.kv_cache.token": "the same for one token, where each adds as many bytes",
}
_ON_MACHINE = {
    "time.forward": "on a machine: the forward pass, for each op the larger of compute and memory",
    "time.step": "on a machine: a training step, for each op the larger of compute and memory",
    "time.token": "on a machine: decoding, from one token of a sequence to its next",
    "throughput.tokens": "on a machine: tokens of a pass over its time",
    "mfu.bound": "on a machine: model FLOPs of contractions over what the peak does in that time",
}


def _meanings() -> dict[str, str]:
    table = dict(_PARAMS)
    for name, meaning in _FLOPS.items():
        table[name] = meaning if name == "flops.optimizer" else f"{meaning}: contractions"
        table[f"{name}.matmul"] = f"{meaning}: contractions"
        table[f"{name}.all"] = f"{meaning}: every op"
    for name, meaning in _BYTES.items():
        table[name] = meaning
        table[f"{name}.read"] = f"{meaning}: read"
        table[f"{name}.written"] = f"{meaning}: written"
    return table | _OTHERS | _ON_MACHINE


MEANINGS: Mapping[str, str] = MappingProxyType(_meanings())
"""What each quantity means, by name."""


@dataclass(frozen=True, slots=True)
class Group:
    """Quantities that stand together; ``parts`` add up to ``total`` where there is one."""

    title: str
    parts: tuple[str, ...]
    total: str | None = None
    others: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """All names, parts first."""
        return (*self.parts, *((self.total,) if self.total else ()), *self.others)


GROUPS = (
    Group("parameters", (), None, tuple(name for name in MEANINGS if name.startswith("params"))),
    Group("tokens", (), None, ("tokens",)),
    Group(
        "FLOPs of contractions",
        ("flops.forward.matmul", "flops.backward.matmul", "flops.recompute.matmul"),
        "flops.hardware.matmul",
        ("flops.model.matmul", "flops.optimizer.matmul"),
    ),
    Group(
        "FLOPs of all ops",
        ("flops.forward.all", "flops.backward.all", "flops.recompute.all"),
        "flops.hardware.all",
        ("flops.model.all", "flops.optimizer.all"),
    ),
    Group("bytes of the forward pass", ("bytes.forward.read", "bytes.forward.written"), "bytes.forward"),
    Group("bytes of the backward pass", ("bytes.backward.read", "bytes.backward.written"), "bytes.backward"),
    Group("bytes of a step", ("bytes.step.read", "bytes.step.written"), "bytes.step"),
    Group("intensity", (), None, ("intensity.forward", "intensity.step")),
    Group(
        "static memory",
        ("memory.parameters", "memory.gradients", "memory.master", "memory.optimizer"),
        "memory.static",
    ),
    Group(
        "memory of data",
        (),
        None,
        ("memory.data", "memory.activations", "memory.kv_cache", "memory.kv_cache.token"),
    ),
    Group("peak memory", (), None, ("memory.activations.peak", "memory.peak", "memory.transient")),
    Group("on a machine", (), None, tuple(_ON_MACHINE)),
)
"""The sections of a report, in order."""

SHORT = frozenset(_FLOPS)
"""Names that mean the same as another of the same family: ``flops.forward`` is ``flops.forward.matmul``."""
