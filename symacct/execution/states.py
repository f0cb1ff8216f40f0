"""Bytes of parameters and optimizer states, of real torch parameters and optimizers after one step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from symacct.execution.framework import load_torch
from symacct.execution.interpret import Place
from symacct.execution.values import places

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from symacct.nodes import Graph

OPTIMIZERS: Mapping[str, Callable[[Any, Any], Any]] = {
    "sgd": lambda optim, ps: optim.SGD(ps, lr=1e-3),
    "momentum": lambda optim, ps: optim.SGD(ps, lr=1e-3, momentum=0.9),
    "adagrad": lambda optim, ps: optim.Adagrad(ps),
    "rmsprop": lambda optim, ps: optim.RMSprop(ps),
    "adam": lambda optim, ps: optim.Adam(ps),
    "adamw": lambda optim, ps: optim.AdamW(ps),
    "amsgrad": lambda optim, ps: optim.AdamW(ps, amsgrad=True),
}
"""The optimizers that torch has, by our names; lion is not one of them."""

TORCH_NAMES = {"fp32": "float32", "bf16": "bfloat16"}


@dataclass(frozen=True, slots=True)
class StateBytes:
    """Bytes of one optimizer after a step: parameters, states of their shape, and step counters apart."""

    parameters: int
    states: int
    counters: int


def shapes(graph: Graph, sizes: Mapping[str, int]) -> Iterator[tuple[int, ...]]:
    """Yield the shape of each weight, once for every iteration it lives in."""
    for name in graph.weights:
        for place in places(graph, graph.tensors[name], Place(sizes)):
            yield place.shape(graph.tensors[name])


def step_once(optimizer: str, dtype: str, sizes: list[tuple[int, ...]]) -> StateBytes:
    """Return the bytes that parameters of these sizes and their optimizer take after one step.

    >>> step_once("adamw", "fp32", [(3, 4)])
    StateBytes(parameters=48, states=96, counters=4)
    """
    torch = load_torch()
    made = [torch.zeros(one, dtype=getattr(torch, TORCH_NAMES[dtype])) for one in sizes]
    parameters = [torch.nn.Parameter(array) for array in made]
    for parameter in parameters:
        parameter.grad = torch.ones_like(parameter)
    states = counters = 0
    if parameters:
        chosen = OPTIMIZERS[optimizer](torch.optim, parameters)
        chosen.step()
        for state in chosen.state.values():
            for key, array in state.items():
                if torch.is_tensor(array):
                    counters += array.nbytes if key == "step" else 0
                    states += array.nbytes if key != "step" else 0
    return StateBytes(sum(p.nbytes for p in parameters), states, counters)
